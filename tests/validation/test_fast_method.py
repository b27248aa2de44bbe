"""The fast method against converged RK4 on the moves of the demo.

Encoders count. A shaft that stands a hair from the edge of a pulse may be counted one higher in one of two runs, and
from there on they are a count apart (10 um at the tool). So a run is that of the reference only if it is nearer to it
than any count that is read is to its edge: the readings of a move come as near as a millionth of a count.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import servotwin as st
from servotwin.mechanism.model import Array
from servotwin.simulation.results.result import Result

MICROMETRE = 1e-6
CONVERGED = (("solver.method", "rk4"), ("solver.steps", "8"))


@functools.cache
def result(name: str, *changes: tuple[str, str]) -> Result:
    return st.simulate(name, dict(changes))


def tip_difference(a: Result, b: Result) -> Array:
    return np.sqrt(sum((a.signals[f"tip_{x}_m"] - b.signals[f"tip_{x}_m"]) ** 2 for x in "xyz"))


def counts(result: Result) -> Array:
    columns = [name for name in result.signals if name.endswith("_count")]
    assert len(columns) == 4
    return np.stack([result.signals[name] for name in columns])


def test_fast_a_axis_move_is_that_of_converged_rk4_within_a_nanometre() -> None:
    fast, exact = result("scara-a-axis-100deg"), result("scara-a-axis-100deg", *CONVERGED)
    assert tip_difference(fast, exact).max() < 1e-3 * MICROMETRE


VARIATIONS: list[tuple[tuple[str, str], ...]] = [
    (),
    (("set.payload.mass", "0 kg"),),
    (("set.payload.mass", "2 kg"),),
    (("set.power.bus_voltage", "74 V"),),
    (("set.power.bus_voltage", "90 V"),),
    (("set.controller.position_bandwidth", "20 1/s"),),
]


@pytest.mark.parametrize("changes", VARIATIONS, ids=lambda changes: "-".join(v for _, v in changes) or "demo")
def test_fast_full_range_move_is_that_of_converged_rk4_pulse_by_pulse(
    changes: tuple[tuple[str, str], ...],
) -> None:
    every = ("record.every", "0.2 ms")  # no count is read between two rows
    fast, exact = (
        result("scara-full-range", every, *changes),
        result("scara-full-range", every, *changes, *CONVERGED),
    )
    assert tip_difference(fast, exact).max() < 1e-3 * MICROMETRE
    np.testing.assert_array_equal(counts(fast), counts(exact))


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_fast_move_with_dry_friction_is_that_of_rk4_through_every_start_and_stop(seed: str) -> None:
    """Noise, Coulomb friction at every motor, some thousand events in a second.

    Within a window the ripple of one motor loads its stuck neighbour: a hair of slip that is missed (2e-7 rad of
    motor B at 0.292 s, with the first seed) would put a count on the other side later, and the runs 4 um apart.
    """
    changes = (("seed", seed),)
    fast = result("scara-perturbed-high-speed", *changes)
    exact = result("scara-perturbed-high-speed", *changes, ("solver.method", "rk4"), ("solver.steps", "4"))
    assert tip_difference(fast, exact).max() < 1e-2 * MICROMETRE
    np.testing.assert_array_equal(counts(fast), counts(exact))


def test_energies_of_the_fast_method_are_those_of_converged_rk4() -> None:
    """Copper losses and what the motors take, although most of the current of a light axis is ripple."""
    fast, exact = result("scara-full-range"), result("scara-full-range", *CONVERGED)
    for term in ("copper_J", "source_J", "friction_J"):
        assert fast.summary["energy"][term] == pytest.approx(exact.summary["energy"][term], rel=1e-6)


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
