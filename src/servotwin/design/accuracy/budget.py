r"""The error budget: how much each source contributes to the spread and to the mean error of attained poses.

Let v(S) be the covariance of attained positions with the sources S alone. Sources are switched on one after the other
in an order; each contributes the step of v that it makes. Over the orders that are tried the mean of its steps is taken
(Shapley's value, sampled), so that with the sources N

.. math:: v(N) = v(\emptyset) + \sum_{s \in N} \phi_s, \quad
          \phi_s = \frac{1}{|O|} \sum_{o \in O} \left( v(o_{<s} \cup s) - v(o_{<s}) \right)     (eq:error-budget)

for any orders O: contributions add up. What is left with all sources off, v of the empty set, is the rest: it is named
and shown. Orders come in pairs, one the reverse of the other: for sources that interact in pairs at most, a single pair
of orders gives Shapley's value exactly. Standard deviations do not add, and RP neither; covariances do.

Geometry, warm links and a base that gives way act on the tool for given joints (``true_kinematics``): sets that differ
in these alone share one run of the drives. A further run has all sources at once, geometry and base within the
simulation of the drives: how far the shares miss its covariance is told.

The same is done with the second moment of the mean errors over the poses, for the accuracy. Theory:
docs/theory/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from servotwin.design.accuracy.drive_runs import DriveRun, LegResult, truth_of
from servotwin.design.accuracy.pose_test import PoseTest
from servotwin.design.accuracy.true_kinematics import KINEMATIC, TrueKinematics
from servotwin.errors import InputError
from servotwin.mechanism.model import Array

MOST_ORDERS = 100
Sources = frozenset[str]


def paired_orders(names: Sequence[str], pairs: int, seed: int) -> list[tuple[str, ...]]:
    """Orders of the sources: as listed and reversed, then random ones, each with its reverse."""
    rng = np.random.default_rng(seed)
    orders = []
    for k in range(pairs):
        order = tuple(names) if k == 0 else tuple(names[i] for i in rng.permutation(len(names)))
        orders += [order, order[::-1]]
    return orders


def subsets(orders: Sequence[Sequence[str]]) -> list[Sources]:
    """All sets of sources that the orders pass through, each once, the empty one first."""
    found: dict[Sources, None] = {frozenset(): None}
    for order in orders:
        for k in range(1, len(order) + 1):
            found[frozenset(order[:k])] = None
    return list(found)


def contributions(values: dict[Sources, Array], orders: Sequence[Sequence[str]]) -> dict[str, Array]:
    """Mean step that each source makes over the orders, eq:error-budget."""
    steps: dict[str, list[Array]] = {name: [] for name in orders[0]}
    for order in orders:
        for k, name in enumerate(order):
            steps[name].append(values[frozenset(order[: k + 1])] - values[frozenset(order[:k])])
    return {name: np.asarray(np.mean(rows, axis=0)) for name, rows in steps.items()}  # eq:error-budget


@dataclass(frozen=True)
class Share:
    """What one source contributes: covariance (3, 3) [m2], second moment of mean errors (3, 3) [m2].

    ``steps``: least and largest step of the variance [m2] over the orders.
    """

    name: str
    covariance: Array
    mean_square: Array
    steps: tuple[float, float]

    @property
    def variance(self) -> float:
        """Sum of the variances along x, y, z [m2]."""
        return float(np.trace(self.covariance))


@dataclass(frozen=True)
class ErrorBudget:
    """Shares of all sources, the largest first; what is left without any of them; the totals with all of them."""

    shares: tuple[Share, ...]
    rest: Share
    covariance: Array  # (3, 3) [m2]
    mean_square: Array  # (3, 3) [m2]
    orders: int
    cycles: int
    together: Array | None = None  # (3, 3) [m2]: covariance of a run of its own with all sources at once

    @property
    def closure(self) -> float:
        """How far shares and rest miss the total covariance, as a part of it."""
        return self._missed(self.covariance)

    @property
    def independent_closure(self) -> float | None:
        """How far they miss that of the run of its own, as a part of it: closure and the sampling of the cycles."""
        return None if self.together is None else self._missed(self.together)

    def _missed(self, whole: Array) -> float:
        total = sum((share.covariance for share in self.shares), self.rest.covariance)
        size = float(np.abs(whole).max())
        return float(np.abs(total - whole).max() / size) if size > 0.0 else 0.0

    def data(self) -> dict[str, Any]:
        """As plain data (SI)."""
        return {
            "covariance_m2": self.covariance.tolist(),
            "mean_square_m2": self.mean_square.tolist(),
            "orders": self.orders,
            "cycles": self.cycles,
            "closure": self.closure,
            "independent_closure": self.independent_closure,
            "shares": [
                {
                    "source": share.name, "covariance_m2": share.covariance.tolist(),
                    "mean_square_m2": share.mean_square.tolist(), "variance_steps_m2": list(share.steps),
                }
                for share in (*self.shares, self.rest)
            ],
        }  # fmt: skip


REST = "none of them (loops alone)"


@dataclass(frozen=True)
class BudgetTest:
    """The pose test with growing sets of sources, in pairs of orders."""

    test: PoseTest
    sources: tuple[str, ...]
    pairs: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.pairs <= MOST_ORDERS:
            raise InputError(f"{self.pairs}; expected 1 to {MOST_ORDERS} pairs of orders", field="orders")
        if not self.sources:
            raise InputError("no error source is on; expected at least one", field="budget")

    @property
    def orders(self) -> list[tuple[str, ...]]:
        """The orders in which sources are switched on."""
        return paired_orders(self.sources, self.pairs, self.test.seed)

    def _moving(self) -> dict[Sources, PoseTest]:
        """The pose test for every set of sources that act on the drives; all have the same seeds."""
        found = {}
        for on in subsets(self.orders):
            moving = on - frozenset(KINEMATIC)
            if moving not in found:
                off = (*self.test.machine.off, *(n for n in (*self.sources, *KINEMATIC) if n not in moving))
                found[moving] = replace(
                    self.test,
                    machine=replace(self.test.machine, off=tuple(dict.fromkeys(off))),
                    settling=False,
                )
        return found

    def runs(self) -> list[DriveRun]:
        """The units of work of all sets, and those of a run with all sources at once, which is apart from the sets."""
        return [run for test in (*self._moving().values(), self.test) for run in test.runs()]

    def evaluate(self, results: Sequence[Sequence[LegResult]]) -> ErrorBudget:
        """The shares."""
        count = len(self.test.runs())
        attained = {
            moving: test.evaluate(results[k * count : (k + 1) * count], 1.0)
            for k, (moving, test) in enumerate(self._moving().items())
        }
        truths = {
            still: self._kinematics(still)
            for still in {on & frozenset(KINEMATIC) for on in subsets(self.orders)}
        }
        spread, moment = {}, {}
        for on in subsets(self.orders):
            found = attained[on - frozenset(KINEMATIC)].seen_by(truths[on & frozenset(KINEMATIC)])
            spread[on], moment[on] = found.covariance, found.mean_square
        together = self.test.evaluate(results[-count:], 1.0).covariance
        return replace(budget_of(spread, moment, self.orders, self.test.cycles), together=together)

    def _kinematics(self, on: Sources) -> TrueKinematics:
        machine = self.test.machine
        off = (*machine.off, *(name for name in KINEMATIC if name not in on))
        known, _ = truth_of(
            machine.robot, tuple(dict.fromkeys(off)), machine.trial, machine.trial_seed, machine.elapsed
        )
        return TrueKinematics.of(known)


def budget_of(
    spread: dict[Sources, Array], moment: dict[Sources, Array], orders: Sequence[Sequence[str]], cycles: int
) -> ErrorBudget:
    """The budget from covariances and second moments of mean errors of all sets of sources."""
    one, two = contributions(spread, orders), contributions(moment, orders)
    shares = []
    for name in orders[0]:
        steps = [
            float(np.trace(spread[frozenset(o[: o.index(name) + 1])] - spread[frozenset(o[: o.index(name)])]))
            for o in (tuple(order) for order in orders)
        ]
        shares.append(Share(name, one[name], two[name], (min(steps), max(steps))))
    none, every = frozenset[str](), frozenset(orders[0])
    left = float(np.trace(spread[none]))
    return ErrorBudget(
        tuple(sorted(shares, key=lambda share: -share.variance)),
        Share(REST, spread[none], moment[none], (left, left)),
        spread[every],
        moment[every],
        len(orders),
        cycles,
    )
