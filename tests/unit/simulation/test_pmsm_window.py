"""The window of synchronous motors: against converged RK4, and where it hands over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.simulation.results.result import Result
from servotwin.simulation.windows.choice import Window
from tests import small_drives as small

ABOVE = {"xyz": ["0.4 m", "0 m", "0 m"]}
MOVE = {
    "move": [
        {"to": {"A": "1 rad", "B": "-1 rad"}},
        {"to": {"A": "0 rad", "B": "0.5 rad"}, "dwell": "0.05 s"},
    ],
    "record": {"every": "0.2 ms"},
}
EQUAL = {**small.PMSM, "inductance_q": "0.8 mH"}
LATE = {"controller": {"jitter": "130 us", "computation_delay": 1}}
FINEST = {"bits": 36}  # a count that is read differently moves the arm by less than what is compared
PATHS = {"power": {"bridge": {"dead_time": "2 us", "storage_time": "0.5 us", "on_resistance": "0.05 ohm"}}}


def two(changes: small.Tree | None = None, **axis: Any) -> small.Tree:
    """Two links one behind the other, about flat axes."""
    axis = {"motor": small.PMSM, **axis}
    axes = {
        "A": small.axis(origin=small.HORIZONTAL, **axis),
        "B": small.axis(origin=ABOVE, parent="A", **axis),
    }
    return small.robot(changes, axes=axes)


def both(folder: Path, machine: small.Tree, scenario: small.Tree, **solver: Any) -> tuple[Result, Result]:
    """The fast run and that of converged RK4."""
    fast = small.run_case(folder, machine, {**scenario, "solver": {"method": "fast", **solver}})
    exact = small.run_case(folder, machine, {**scenario, "solver": {"method": "rk4", "steps": 8, **solver}})
    return fast, exact


def largest(fast: Result, exact: Result, ending: str) -> float:
    names = [name for name in fast.signals if name.endswith(ending)]
    assert names
    return max(float(np.abs(fast.signals[name] - exact.signals[name]).max()) for name in names)


@pytest.mark.parametrize(
    ("motor", "changes", "pwm"),
    [
        (small.PMSM, {}, "switched"),
        (EQUAL, {}, "switched"),
        (small.PMSM, {}, "averaged"),
        (small.PMSM, LATE, "switched"),
        (small.PMSM, PATHS, "switched"),
    ],
    ids=["salient", "equal inductances", "averaged", "late tasks", "dead time"],
)
def test_fast_run_is_that_of_converged_rk4(
    tmp_path: Path, motor: small.Tree, changes: small.Tree, pwm: str
) -> None:
    """RK4 with 8 and with 16 steps differ by up to 2e-11 rad and 1e-7 A here, and by 5e-8 in the copper losses."""
    fast, exact = both(tmp_path, two(changes, motor=motor, encoder=FINEST), MOVE, pwm=pwm)
    assert largest(fast, exact, "position_rad") < 4e-11
    assert largest(fast, exact, "current_A") < 1e-6
    for term in ("copper_J", "source_J", "friction_J"):
        assert fast.summary["energy"][term] == pytest.approx(exact.summary["energy"][term], rel=1e-7)
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 2e-9
    for axis, wanted in zip(fast.summary["axes"], exact.summary["axes"], strict=True):
        assert axis["peak_current_A"] == pytest.approx(wanted["peak_current_A"], rel=1e-3)
        assert axis["rms_current_A"] == pytest.approx(wanted["rms_current_A"], rel=1e-5)


def test_window_that_meets_an_end_stop_is_left_to_the_edges(tmp_path: Path) -> None:
    """The encoder loses five whole turns: the motor still turns in step, and on beyond its target."""
    machine = two(limits={"position": ["-1.2 rad", "1.2 rad"], "speed": "4 rad/s"})
    lost = {"at": "0.2 s", "axis": "A", "kind": "encoder-loses-pulses", "value": 5 * 2**24}
    scenario = {**MOVE, "faults": [lost]}
    fast, exact = both(tmp_path, machine, scenario)
    assert fast.summary["energy"]["impact_J"] > 0.0
    assert largest(fast, exact, "position_rad") < 1e-7
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 1e-6


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (two(), Window.PMSM),
        (two(motor={**small.PMSM, "coulomb_friction": "0.02 N*m"}), Window.PMSM_FRICTION),
        (two(gear={"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}), Window.ELASTIC),
        (two({"power": {"capacitance": "1 mF", "supply_resistance": "0.5 ohm"}}), Window.PMSM_FRICTION),
    ],
    ids=["stiff and smooth", "dry friction", "elastic gears", "soft bus"],
)
def test_pmsm_window_serves_stiff_robots_without_dry_friction(
    tmp_path: Path, machine: small.Tree, expected: Window
) -> None:
    run = small.prepared(tmp_path, machine, {**MOVE, "solver": {"method": "fast"}})
    assert run.machine.world["choice"]["window"][0] == expected
    assert (run.machine.world["code"]["windows"][0, Window.PMSM] != 0) == (expected == Window.PMSM)
