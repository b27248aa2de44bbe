"""What sticks lets go at the instant at which it must, in every part of a window of the fast method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from tests import small_drives as small

STIFF = {
    "gear": {"ratio": 100, "stiffness": "20000 N*m/rad", "damping": "10 N*m*s/rad"},
    "friction": {"coulomb": "3 N*m", "static": "5 N*m"},
    "motor": {"kind": "ideal", "torque_constant": "0.1 N*m/A", "rotor_inertia": "1.5e-4 kg*m^2",
              "current_limit": "20 A"},
}  # fmt: skip
SLOW = {"main_period": "8 ms", "axis_period": "1.6 ms", "speed_period": "1.6 ms", "current_period": "0.8 ms"}


@pytest.mark.parametrize("ramp", [0.055, 0.06, 0.08, 0.09])
def test_fast_method_lets_a_joint_go_in_the_window_in_which_it_must(tmp_path: Path, ramp: float) -> None:
    machine = small.robot({"controller": SLOW}, axes={"A": small.axis(**STIFF)})
    move = {
        "move": [{"to": {"A": "0.05 rad"}, "ramp": f"{ramp} s", "dwell": "0.05 s"}],
        "record": {"every": "0.8 ms"},
    }
    speeds = []
    for method in ("fast", "adaptive"):
        result = small.run_case(tmp_path, machine, {**move, "solver": {"method": method, "pwm": "averaged"}})
        speeds.append(result.signals["joint_A_velocity_rad_per_s"])
    row = int(np.flatnonzero(speeds[1])[0])
    assert np.flatnonzero(speeds[0])[0] == row
    assert speeds[0][row] == pytest.approx(
        speeds[1][row], rel=0.01
    )  # a third-order step of 0.8 ms from the event


SMOOTH = {
    "gear": {"ratio": 100, "stiffness": "20000 N*m/rad", "damping": "1 N*m*s/rad"},
    "motor": STIFF["motor"],
    "link": {"mass": "40 kg"},
}


@pytest.mark.parametrize(("torque", "at", "row"), [(0.86, 0.04, 66), (0.58, 0.05, 125), (0.86, 0.05, 131)])
def test_fast_method_lets_a_brake_slip_in_the_window_in_which_it_must(
    tmp_path: Path, torque: float, at: float, row: int
) -> None:
    """Without power a brake stops the motor; its load swings on and tears it loose at the end of a window.

    ``row`` is the one in which that happens.
    """
    machine = small.robot(
        {"controller": SLOW}, axes={"A": small.axis(**SMOOTH, brake={"torque": f"{torque} N*m"})}
    )
    move = {
        "move": [{"to": {"A": "0.3 rad"}, "ramp": "0.06 s", "dwell": "0.1 s"}],
        "faults": [{"at": f"{at} s", "kind": "power-off"}],
        "record": {"every": "0.8 ms"},
    }
    speeds = []
    for method in ("fast", "adaptive"):
        result = small.run_case(tmp_path, machine, {**move, "solver": {"method": method, "pwm": "averaged"}})
        speeds.append(result.signals["motor_A_speed_rad_per_s"])
    fast, exact = speeds
    assert exact[row - 1] == 0.0 != exact[row]
    np.testing.assert_array_equal(fast[: row + 1] == 0.0, exact[: row + 1] == 0.0)


def test_joint_without_breakaway_excess_that_lets_go_does_not_stall_the_run(tmp_path: Path) -> None:
    """Where static and Coulomb friction are equal, the torque that is left at the release is rounding."""
    scenario = tmp_path / "go.yaml"
    scenario.write_text(
        "format: servotwin-scenario/1\nname: go\nrobot: sixaxis-5kg\n"
        "set: {payload.mass: 5 kg, axes.J2.friction.coulomb: 2 N*m}\n"
        "move:\n  - {to: {J1: 40 deg, J2: 20 deg, J3: -10 deg}, profile: s-curve, dwell: 0.2 s}\n"
        "  - {to: {J1: 30 deg, J2: 10 deg}, profile: trapezoid}\n"
    )
    assert st.simulate(scenario).complete
