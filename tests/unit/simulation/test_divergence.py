"""Runs that leave all bounds, or meet what they have no code for yet: one clear line, no crash, no endless loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import InputError, SimulationError
from servotwin.simulation.plant.status import RunStatus
from servotwin.simulation.run import carry_out
from servotwin.simulation.windows.choice import Window
from tests import small_drives as small

STRIBECK = {"coulomb_friction": "0.03 N*m", "static_friction": "0.045 N*m", "stribeck_speed": "6 rad/s"}
SOFT = {"ratio": 50, "stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}
STIFF = {"ratio": 50}
DEAD_TIME = {"power": {"bridge": {"dead_time": "2 us", "on_resistance": "0.05 ohm"}}}
CAPACITOR = {"power": {"supply_resistance": "0.4 ohm", "capacitance": "1500 uF"}}

# motor, gear, rest of the robot, window
ROBOTS: dict[str, tuple[small.Tree, small.Tree, small.Tree, Window]] = {
    "dc": (small.DC, STIFF, {}, Window.DC),
    "dc, friction": ({**small.DC, **STRIBECK}, STIFF, {}, Window.DC_FRICTION),
    "dc, soft bus": (small.DC, STIFF, CAPACITOR, Window.ELASTIC),
    "dc, elastic": ({**small.DC, **STRIBECK}, SOFT, DEAD_TIME, Window.ELASTIC),
    "synchronous": (small.PMSM, STIFF, {}, Window.PMSM),
    "synchronous, friction": ({**small.PMSM, **STRIBECK}, STIFF, {}, Window.PMSM_FRICTION),
    "synchronous, elastic": ({**small.PMSM, **STRIBECK}, SOFT, DEAD_TIME, Window.ELASTIC),
}


def built(folder: Path, name: str, method: str = "fast", **axis: Any) -> Any:
    """A run of one of the robots: a short move against gravity."""
    motor, gear, changes, window = ROBOTS[name]
    machine = small.robot(
        changes, axes={"A": small.axis(origin=small.HORIZONTAL, motor=motor, gear=gear, **axis)}
    )
    scenario = {"move": [{"to": {"A": "0.1 rad"}}], "solver": {"method": method}}
    run = small.prepared(folder, machine, scenario)
    if method == "fast":
        assert run.machine.world["choice"]["moving"][0] == window
    return run


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e300, 1e19])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_state_beyond_all_numbers_ends_the_run_as_diverged(tmp_path: Path, name: str, value: float) -> None:
    """Joint angle, joint speed, motor, currents and bus in turn: none may become an index, or so many steps."""
    for at in range(int(built(tmp_path, name).machine.world["n_y"][0])):
        run = built(tmp_path, name)
        run.machine.reserve(100_000_000)
        run.machine.advance(20_000_000)
        run.machine.y[at] = value
        run.machine.advance(40_000_000)
        status = RunStatus(int(run.machine.world["state"]["status"][0]))
        # 1e19 V on a bus push a joint against its stop, where it stays
        assert status == RunStatus.DIVERGED or np.isfinite(run.machine.y).all(), at


@pytest.mark.parametrize(
    "name", ["dc, friction", "dc, elastic", "synchronous, friction", "synchronous, elastic"]
)
def test_a_swing_against_the_end_stop_is_carried_from_edge_to_edge(tmp_path: Path, name: str) -> None:
    """Gains far beyond what the gear bears: a run compiles the steps from edge to edge when it first needs them."""
    motor, gear, changes, _ = ROBOTS[name]
    limits = {"position": ["-0.2 rad", "0.2 rad"], "speed": "4 rad/s"}
    axis = small.axis(origin=small.HORIZONTAL, motor=motor, gear=gear, limits=limits)
    wild = {"controller": {"position_bandwidth": "2000 1/s", "speed_bandwidth": "3000 rad/s"}}
    machine = small.merged(small.robot(changes, axes={"A": axis}), wild)
    # near enough to the stop that every swing of that size meets it, wherever a chaotic one has come to
    scenario = {"move": [{"to": {"A": "0.199 rad"}, "dwell": "0.8 s"}], "solver": {"method": "fast"}}
    result = carry_out(small.prepared(tmp_path, machine, scenario), lambda part: None)
    assert "end stop" in {met["kind"] for met in result.summary["axes"][0]["saturation"]}
    assert np.abs(result.signals["joint_A_position_rad"]).max() <= 0.24
    assert result.summary["energy"]["balance_error_relative"] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "motor", "says"),
    [
        ("synchronous, elastic", {"resistance": "1e15 ohm"}, "diverged at"),
        ("synchronous, friction", {"resistance": "1e15 ohm"}, "diverged at"),
        ("synchronous", {"torque_constant": "1e30 N*m/A"}, "diverged at"),
        ("synchronous, elastic", {"torque_constant": "1e30 N*m/A"}, "diverged at"),
        ("dc, elastic", {"torque_constant": "1e30 N*m/A"}, "loops that cannot be computed"),
        ("dc, friction", {"rotor_inertia": "1e-60 kg*m^2"}, ""),
        ("dc, elastic", {"rotor_inertia": "1e29 kg*m^2"}, ""),
        ("synchronous, elastic", {"rotor_inertia": "1e29 kg*m^2"}, ""),
    ],
)
def test_motors_beyond_all_machines_end_with_one_line_or_stand_still(
    tmp_path: Path, name: str, motor: dict[str, str], says: str
) -> None:
    """Their currents and speeds are so fast that the steps of an interval are no integer any more."""
    base, gear, changes, _ = ROBOTS[name]
    machine = small.robot(changes, axes={"A": small.axis(origin=small.HORIZONTAL, motor=base, gear=gear)})
    lines = {f"set.axes.A.motor.{field}": value for field, value in motor.items()}
    scenario = {"move": [{"to": {"A": "0.1 rad"}}], "solver": {"method": "fast"}}
    path = small.write_case(tmp_path, machine, scenario)
    if says:
        with pytest.raises((InputError, SimulationError), match=rf"\A[^\n]*{says}[^\n]*\Z"):
            st.simulate(path, lines)
    else:
        result = st.simulate(path, lines)
        assert all(np.isfinite(values).all() for values in result.signals.values())


def test_a_quick_winding_is_followed_from_edge_to_edge_by_as_many_steps_as_it_needs(tmp_path: Path) -> None:
    """A current that decays 60 times from edge to edge takes 2000 steps there: more than events are followed."""
    quick = {**small.DC, "inductance": "1.5 uH"}
    axis = small.axis(origin=small.HORIZONTAL, motor=quick, gear=STIFF)
    scenario = {"move": [{"to": {"A": "0.1 rad"}}], "solver": {"method": "fast", "pwm": "averaged"}}
    run = small.prepared(tmp_path, small.robot({}, axes={"A": axis}), scenario)
    run.machine.world["choice"]["moving"] = run.machine.world["choice"]["window"] = Window.EVENT_STEPS
    run.machine.reserve(10_000_000)
    run.machine.advance(3_000_000)
    assert RunStatus(int(run.machine.world["state"]["status"][0])) == RunStatus.RUNNING
    assert run.machine.world["counts"]["carried"][0][Window.EVENT_STEPS] > 0
    assert np.isfinite(run.machine.y).all()
