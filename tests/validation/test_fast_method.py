"""The fast method against converged RK4 on the moves of the demo.

Encoders count. Where two runs agree to nanometres, a shaft that stands a hair from the edge of a pulse is counted
one higher in one of them; from there on they are two equally good runs, a count apart (10 um at the tool). So runs
are compared as long as every count is the same, and once more with encoders and converters too fine to matter.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import servotwin as st
from servotwin.mechanism.model import Array
from servotwin.simulation.result import Result

MICROMETRE = 1e-6
CONVERGED = (("solver.method", "rk4"), ("solver.steps", "4"))
FINE = (("set.controller.command_bits", "0"), *((f"set.axes.{a}.encoder.lines", "10000000") for a in "ABZW"))


@functools.cache
def result(name: str, *changes: tuple[str, str]) -> Result:
    return st.simulate(name, dict(changes))


def tip_difference(a: Result, b: Result) -> Array:
    return np.sqrt(sum((a.signals[f"tip_{x}_m"] - b.signals[f"tip_{x}_m"]) ** 2 for x in "xyz"))


def first_difference(a: Result, b: Result) -> int:
    """Row in which an encoder first counts differently, or one beyond the last row."""
    columns = [name for name in a.signals if name.endswith("_count")]
    assert len(columns) == 4
    differs = np.any([a.signals[name] != b.signals[name] for name in columns], axis=0)
    return int(np.argmax(differs)) if differs.any() else len(differs)


def test_fast_a_axis_move_is_that_of_converged_rk4_within_a_nanometre() -> None:
    fast, exact = result("scara-a-axis-100deg"), result("scara-a-axis-100deg", *CONVERGED)
    assert tip_difference(fast, exact).max() < 1e-3 * MICROMETRE


def test_fast_full_range_move_is_that_of_converged_rk4_until_a_pulse_is_counted_differently() -> None:
    every = ("record.every", "0.2 ms")  # no count is read between two rows
    fast, exact = result("scara-full-range", every), result("scara-full-range", every, *CONVERGED)
    alike = first_difference(fast, exact)
    assert fast.signals["time_s"][alike - 1] > 1.5
    assert tip_difference(fast, exact)[:alike].max() < 1e-3 * MICROMETRE


def test_fast_full_range_move_with_fine_encoders_stays_within_a_micrometre() -> None:
    fast, exact = result("scara-full-range", *FINE), result("scara-full-range", *FINE, *CONVERGED)
    assert tip_difference(fast, exact).max() < MICROMETRE


@pytest.mark.parametrize("pwm", ["switched", "averaged"])
def test_estimated_error_bounds_the_true_one(pwm: str) -> None:
    """The sum of all windows' estimates is more than what the run is off by, in every joint."""
    solver = ("solver.pwm", pwm)
    fast = result("scara-a-axis-100deg", solver)
    exact = result("scara-a-axis-100deg", solver, *CONVERGED)
    estimate = fast.summary["estimated_step_error"]
    windows = fast.summary["simulated_s"] / 0.2e-3
    off = max(
        np.abs(fast.signals[name] - exact.signals[name]).max()
        for name in fast.signals
        if name.startswith("joint_") and name.endswith(("position_rad", "position_m"))
    )
    assert 0.0 < estimate < 1e-6
    assert off < estimate * windows


def test_rk4_with_fixed_steps_claims_no_estimate() -> None:
    assert result("scara-a-axis-100deg", *CONVERGED).summary["estimated_step_error"] is None
