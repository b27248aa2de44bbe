"""The error budget: shares add up for any set function, and are Shapley's values where sources interact in pairs."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from servotwin.design.accuracy.budget import budget_of, contributions, paired_orders, subsets

NAMES = ("a", "b", "c", "d")


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
    found = contributions(values, paired_orders(NAMES, 1, 0))
    for name in NAMES:
        np.testing.assert_allclose(found[name], _shapley(values, name), atol=1e-12)


@pytest.mark.parametrize("pairs", [1, 3])
def test_shares_and_rest_add_up_to_the_total_whatever_the_interactions(pairs: int) -> None:
    values = _set_function(3, 4)
    orders = paired_orders(NAMES, pairs, 5)
    needed = {on: values[on] for on in subsets(orders)}
    found = budget_of(needed, needed, orders, 10)
    total = sum((share.covariance for share in found.shares), found.rest.covariance)
    np.testing.assert_allclose(total, values[frozenset(NAMES)], atol=1e-12)
    assert found.closure < 1e-12
    for share in found.shares:
        assert share.steps[0] - 1e-12 <= share.variance <= share.steps[1] + 1e-12


def test_independent_sources_get_their_own_covariances() -> None:
    rng = np.random.default_rng(6)
    own = {name: np.cov(rng.normal(size=(3, 50))) for name in NAMES}
    values = {
        on: sum((own[name] for name in on), np.zeros((3, 3))) for on in subsets(paired_orders(NAMES, 4, 1))
    }
    found = contributions(values, paired_orders(NAMES, 4, 1))
    for name in NAMES:
        np.testing.assert_allclose(found[name], own[name], atol=1e-14)


def test_orders_come_in_pairs_and_pass_through_few_sets() -> None:
    orders = paired_orders(NAMES, 1, 0)
    assert orders == [NAMES, NAMES[::-1]]
    assert len(subsets(orders)) == 2 * len(NAMES)  # the empty and the full set are shared
    assert len(subsets(paired_orders(NAMES, 20, 0))) <= 2**4
