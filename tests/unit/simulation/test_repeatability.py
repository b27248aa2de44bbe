"""Accuracy and repeatability of targets that a run comes back to."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.mechanism.model import Array
from servotwin.simulation.results.repeatability import visit_summary, visits_of

TARGET, AWAY = np.array([0.3, 0.4, 0.1]), np.array([0.5, 0.1, 0.0])


def run(offsets: Array, rest: int = 6) -> dict[str, Array]:
    """From a target away and back, once for each offset (k, 3) at which the tool then rests; rows of 10 ms."""
    way = np.linspace(0.0, 1.0, 11)[1:, None]
    wanted, tip = [np.tile(TARGET, (4, 1))], [np.tile(TARGET, (4, 1))]
    for offset in offsets:
        out, back = TARGET + way * (AWAY - TARGET), AWAY + way * (TARGET - AWAY)
        stand = np.tile(TARGET, (rest, 1))
        wanted += [out, back, stand]
        tip += [out, back, stand + offset]
    rows = {"tip_": np.concatenate(tip), "tip_ref_": np.concatenate(wanted)}
    signals = {f"{name}{a}_m": values[:, i] for name, values in rows.items() for i, a in enumerate("xyz")}
    return {"time_s": 0.01 * np.arange(len(rows["tip_"])), **signals}


def test_spread_of_known_offsets_is_that_of_the_standard() -> None:
    offsets = 1e-5 * np.random.default_rng(3).normal(size=(12, 3)) + [2e-5, 0.0, 0.0]
    (found,) = visits_of(run(offsets))
    np.testing.assert_allclose(found.target, TARGET)
    np.testing.assert_allclose(found.places, TARGET + offsets, atol=1e-15)
    mean = offsets.mean(axis=0)
    size = np.linalg.norm(offsets - mean, axis=1)
    assert found.accuracy == pytest.approx(np.linalg.norm(mean))
    assert found.repeatability == pytest.approx(
        size.mean() + 3.0 * np.sqrt(((size - size.mean()) ** 2).sum() / 11)
    )
    assert found.rest == pytest.approx(0.06, rel=1e-9)  # six rows from the arrival to the departure


def test_the_start_is_no_visit_and_few_visits_say_nothing() -> None:
    assert not visits_of(run(np.zeros((4, 3))))
    (found,) = visit_summary(run(np.zeros((5, 3))))
    assert (found["visits"], found["accuracy_m"], found["repeatability_m"]) == (5, 0.0, 0.0)


def test_a_target_that_is_only_passed_is_no_place_of_rest() -> None:
    (found,) = visits_of(run(np.zeros((6, 3))))
    assert len(found.places) == 6  # the turning point away from it is not among them


def test_a_run_without_rows_or_motion_has_no_visits() -> None:
    nothing = {name: values[:0] for name, values in run(np.zeros((5, 3))).items()}
    assert not visits_of(nothing)
    still = {name: np.full(50, values[0]) for name, values in run(np.zeros((5, 3))).items()}
    assert not visits_of(still)
