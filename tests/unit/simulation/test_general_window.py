"""The general window against converged adaptive steps: what it cannot follow is left to steps from edge to edge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from servotwin.simulation.results.result import Result
from tests import small_drives as small

SLOW_PULSES = {
    "controller": {
        "main_period": "2 ms",
        "axis_period": "1 ms",
        "speed_period": "1 ms",
        "current_period": "0.25 ms",
        "speed_bandwidth": "60 rad/s",
        "current_bandwidth": "600 rad/s",
    }
}
FINEST = {"bits": 36}
# what swings at 1.2 kHz against a rotor of 1e-4 kg m2 through a gear of 50 : 1
QUICK = {"ratio": 50, "stiffness": "1.42e7 N*m/rad", "damping": "7.5 N*m*s/rad"}
# a rotor so light that current and speed swing with 0.6 rad in a window, behind a gear that swings with 0.2 rad
LIGHT_ROTOR = {**small.DC, "rotor_inertia": "2e-6 kg*m^2", "inductance": "1 mH"}
LIGHT = {"ratio": 50, "stiffness": "3200 N*m/rad", "damping": "1 N*m*s/rad"}


def compared(
    folder: Path, axes: small.Tree, faults: list[small.Tree], pwm: str = "switched"
) -> tuple[Result, float]:
    """A short move by ``fast``, and the largest difference of a joint from ``adaptive`` [rad]."""
    machine = small.robot(SLOW_PULSES, axes=axes)
    runs = [
        small.run_case(
            folder,
            machine,
            {
                "start": {"A": "0 rad"},
                "move": [{"to": {"A": "0.1 rad"}, "dwell": "0.05 s"}],
                "record": {"every": "1 ms"},
                "faults": faults,
                "solver": {"pwm": pwm, **solver},
            },
        )
        for solver in ({"method": "fast"}, {"method": "adaptive", "tolerance": 1e-11})
    ]
    names = [f"joint_{name}_position_rad" for name in axes]
    fast, true = (np.array([run.signals[name] for name in names]) for run in runs)
    return runs[0], float(np.abs(fast - true).max())


@pytest.mark.parametrize("pwm", ["switched", "averaged"])
def test_gear_that_swings_within_a_window_is_followed_from_edge_to_edge(tmp_path: Path, pwm: str) -> None:
    axes = {"A": small.axis(origin=small.HORIZONTAL, gear=QUICK, encoder=FINEST)}
    run, apart = compared(tmp_path, axes, [], pwm)
    assert run.summary["windows"]["rejected"].keys() == {"coarse_step"}
    assert apart < 1e-8  # the general window diverges
    assert abs(run.summary["energy"]["balance_error_relative"]) < 1e-6


def test_window_whose_rounds_do_not_meet_is_left(tmp_path: Path) -> None:
    below = {"xyz": ["0.3 m", "0 m", "0 m"]}
    axes = {
        "A": small.axis(origin=small.HORIZONTAL, motor=LIGHT_ROTOR, gear=LIGHT, encoder=FINEST),
        "B": small.axis(origin=below, parent="A", encoder=FINEST),
    }
    run, apart = compared(tmp_path, axes, [{"at": "0.02 s", "axis": "B", "kind": "winding-open"}])
    assert run.summary["windows"]["rejected"].get("coarse_step", 0) > 0
    assert apart < 1e-6
    assert abs(run.summary["energy"]["balance_error_relative"]) < 1e-6  # 6.7e-5 with what four rounds find
