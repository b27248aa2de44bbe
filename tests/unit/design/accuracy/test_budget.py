"""The error budget: shares add up for any set function, and are Shapley's values where sources interact in pairs."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from servotwin.design.accuracy.budget import REST, Attained, budget_of
from servotwin.design.accuracy.contributions import (
    LADDER,
    contribution,
    paired_orders,
    standard_error,
    subsets,
)
from servotwin.design.accuracy.pose_test import PoseResult
from servotwin.design.accuracy.poses import MeasuredPoses

NAMES = ("a", "b", "c", "d")
GEAR = ("resolution", "play", "hysteresis", "noise", "torsion", "friction", "base")


def _set_function(seed: int, largest: int) -> dict[frozenset[str], np.ndarray]:
    """Random matrices whose interactions have at most ``largest`` members, for all sets."""
    rng = np.random.default_rng(seed)
    parts = {}
    for order in permutations(NAMES):
        for k in range(1, largest + 1):
            parts.setdefault(frozenset(order[:k]), rng.normal(size=(3, 3)))
    base = rng.normal(size=(3, 3))
    found = {}
    for order in permutations(NAMES):
        for k in range(len(NAMES) + 1):
            on = frozenset(order[:k])
            found[on] = base + sum((m for members, m in parts.items() if members <= on), np.zeros((3, 3)))
    return found


def _shapley(values: dict[frozenset[str], np.ndarray], name: str) -> np.ndarray:
    steps = [
        values[frozenset(o[: o.index(name) + 1])] - values[frozenset(o[: o.index(name)])]
        for o in permutations(NAMES)
    ]
    return np.mean(steps, axis=0)


@pytest.mark.parametrize("seed", range(5))
def test_one_pair_of_orders_is_shapleys_value_for_interactions_of_pairs(seed: int) -> None:
    values = _set_function(seed, 2)
    orders = paired_orders(NAMES, 1, 0)
    for name in NAMES:
        np.testing.assert_allclose(contribution(values, orders, name), _shapley(values, name), atol=1e-12)


@pytest.mark.parametrize("pairs", [1, 3])
def test_shares_and_rest_add_up_to_the_total_whatever_the_interactions(pairs: int) -> None:
    values, means = _set_function(3, 4), _set_function(4, 4)
    orders = paired_orders(NAMES, pairs, 5)
    found = budget_of({on: Attained(values[on], 0.1, means[on]) for on in subsets(orders)}, orders, 10)
    total = sum((share.covariance for share in found.shares), found.rest.covariance)
    np.testing.assert_allclose(total, values[frozenset(NAMES)], atol=1e-12)
    assert found.closure < 1e-12
    for share in found.shares:
        assert share.steps[0] - 1e-12 <= share.variance <= share.steps[1] + 1e-12
    e = means[frozenset(NAMES)]
    np.testing.assert_allclose(sum(row.mean for row in found.rows), e, atol=1e-12)
    np.testing.assert_allclose(sum(row.mean_square for row in found.rows), e.T @ e / 3.0, atol=1e-12)
    size = np.sqrt((e**2).sum() / 3.0)
    assert sum(row.along for row in found.rows) == pytest.approx(size)
    assert all(abs(row.along) <= row.size + 1e-12 for row in found.rows)


def test_independent_sources_get_their_own_covariances() -> None:
    rng = np.random.default_rng(6)
    own = {name: np.cov(rng.normal(size=(3, 50))) for name in NAMES}
    orders = paired_orders(NAMES, 4, 1)
    values = {on: sum((own[name] for name in on), np.zeros((3, 3))) for on in subsets(orders)}
    for name in NAMES:
        np.testing.assert_allclose(contribution(values, orders, name), own[name], atol=1e-14)


def test_orders_come_in_pairs_and_pass_through_few_sets() -> None:
    orders = paired_orders(NAMES, 1, 0)
    assert orders == [NAMES, NAMES[::-1]]
    assert len(subsets(orders)) == 2 * len(NAMES)  # the empty and the full set are shared
    assert len(subsets(paired_orders(NAMES, 20, 0))) <= 2**4


def test_sources_of_a_gear_are_switched_on_in_their_sequence_side_by_side() -> None:
    for order in paired_orders(GEAR, 6, 3):
        assert sorted(order) == sorted(GEAR)
        first = order.index("friction")
        assert order[first : first + len(LADDER)] == LADDER
    one, two = paired_orders(GEAR, 1, 3)
    assert one == ("resolution", *LADDER, "noise", "base")
    assert two == ("base", "noise", *LADDER, "resolution")


def _measured(positions: np.ndarray) -> PoseResult:
    """A pose test that attained positions (cycles, m, 3) about the origin."""
    cycles, m, _ = positions.shape
    X = np.tile(np.eye(4), (cycles, m, 1, 1))
    X[..., :3, 3] = positions
    poses = MeasuredPoses(tuple(f"P{k}" for k in range(m)), np.tile(np.eye(4), (m, 1, 1)), np.zeros((m, 1)))
    return PoseResult(1.0, poses, X, np.zeros((cycles, m, 1)), 1e-4)


def _plant(on: frozenset[str], cycles: int, seed: int) -> PoseResult:
    """A plant with sources of known covariance: c is damped by d, a and b shift the mean against each other."""
    rng = np.random.default_rng([seed, len(on), *sorted(map(ord, on))])
    p = 0.2 * rng.normal(size=(cycles, 5, 3))
    if "a" in on:
        p += [3.0, 0.0, 0.0] + rng.normal(size=p.shape) * [1.0, 0.5, 0.0]
    if "b" in on:
        p += [-2.0, 1.0, 0.0]
    if "c" in on:
        p += rng.normal(size=p.shape) * (1.0 if "d" in on else 2.0)
    return _measured(p)


def test_budget_of_a_sampled_plant_adds_up_to_a_sample_of_its_own_and_finds_the_covariances() -> None:
    """Runs that no set of the budget has seen: the whole covariance within 5 %, contributions within their errors."""
    orders = paired_orders(NAMES, 1, 0)
    found = budget_of({on: Attained.of(_plant(on, 2000, 1)) for on in subsets(orders)}, orders, 2000)
    apart = Attained.of(_plant(frozenset(NAMES), 2000, 77))
    total = sum((row.covariance for row in found.rows), np.zeros((3, 3)))
    assert np.abs(total - apart.covariance).max() < 0.05 * np.abs(apart.covariance).max()
    known = {"a": 1.25, "b": 0.0, "c": 0.5 * (12.0 + 3.0), "d": -0.5 * 9.0, REST: 0.12}
    for row in found.rows:
        assert abs(row.variance - known[row.name]) < 4.0 * row.error, row.name
        assert row.error < 0.15
    by_name = {row.name: row for row in found.rows}
    size = np.sqrt(2.0)  # of (1, 1, 0)
    assert by_name["a"].along == pytest.approx(3.0 / size, abs=0.05)
    assert by_name["b"].along == pytest.approx(-1.0 / size, abs=0.05)
    assert by_name["a"].size == pytest.approx(3.0, abs=0.05)
    (pair,) = (p for p in found.pairs if p[2] < -1.0)
    assert set(pair[:2]) == {"a", "b"}
    assert pair[2] == pytest.approx(-6.0, rel=0.1)


@pytest.mark.parametrize("cycles", [3, 10, 30])
@pytest.mark.parametrize("sizes", [(1.0, 1.0, 1.0, 1.0, 1.0), (0.1, 0.3, 1.0, 1.0, 3.0)])
def test_standard_error_of_a_variance_is_what_repeated_samples_scatter_by(cycles, sizes) -> None:
    """Also with few cycles, and at poses of which one spreads much more than the others."""
    rng = np.random.default_rng(8)
    drawn = rng.normal(size=(2000, cycles, 5, 3)) * np.array(sizes)[:, None] * [1.0, 0.5, 0.2]
    found = [Attained.of(_measured(p)) for p in drawn]
    scatter = np.std([np.trace(one.covariance) for one in found])
    assert np.sqrt(np.mean([one.error**2 for one in found])) == pytest.approx(scatter, rel=0.06)


def test_standard_error_of_two_cycles_is_that_of_a_normal_spread_along_a_line() -> None:
    drawn = np.zeros((4000, 2, 5, 3))
    drawn[..., 0] = np.random.default_rng(8).normal(size=(4000, 2, 5))
    found = [Attained.of(_measured(p)) for p in drawn]
    scatter = np.std([np.trace(one.covariance) for one in found])
    assert np.sqrt(np.mean([one.error**2 for one in found])) == pytest.approx(scatter, rel=0.06)


def test_sets_that_share_their_run_have_no_sampling_error_between_them() -> None:
    orders = paired_orders(("a", "b", "base"), 1, 0)
    shared = frozenset({"base"})
    errors = {on - shared: 1.0 for on in subsets(orders)}
    assert standard_error(errors, orders, "base", shared) == 0.0
    assert standard_error(errors, orders, "a", shared) == pytest.approx(1.0)
