r"""The error budget: how much each source contributes to the spread and to the mean error of attained poses.

*Spread.* Covariances of attained positions, mean over the poses, are attributed by ``contributions``: they add up to
that with all sources, and what is left with all sources off is the rest, named and shown. Standard deviations do not
add, and RP neither; covariances do. Each variance is one of a few cycles, and its standard error is told.

*Mean error.* The mean errors of the poses are vectors, and so are the contributions :math:`d_s` to them. Against the
mean error e of the whole

.. math:: \overline{e\,e^T} = \sum_s \tfrac12 \overline{(d_s e^T + e\,d_s^T)}, \qquad
          \sqrt{\overline{|e|^2}} = \sum_s a_s, \quad a_s = \overline{d_s \cdot e} \big/ \sqrt{\overline{|e|^2}}
                                                                                              (eq:mean-error-budget)

with means over the poses: the length along the whole error adds up to its size, and no source has more of it than its
own size :math:`\sqrt{\overline{|d_s|^2}}`. Sources that work against each other are named in pairs.

Geometry, warm links and a base that gives way act on the tool for given joints (``true_kinematics``): sets that differ
in these alone share one run of the drives. A further run, with seeds of its own, has all sources at once, geometry and
base within the simulation of the drives: how far the budget misses it is told. Theory: docs/theory/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from servotwin.design.accuracy.contributions import (
    Sources,
    check_orders,
    contribution,
    paired_orders,
    standard_error,
    steps,
    subsets,
)
from servotwin.design.accuracy.drive_runs import DriveRun, LegResult, truth_of
from servotwin.design.accuracy.pose_test import LEAST_CYCLES, PoseResult, PoseTest
from servotwin.design.accuracy.true_kinematics import KINEMATIC, TrueKinematics
from servotwin.errors import InputError
from servotwin.mechanism.model import Array

REST = "none of them (loops alone)"
GROUPS = {
    "encoders": ("resolution", "eccentricity", "noise"),
    "gears": ("friction", "torsion", "hysteresis", "play", "transmission_error"),
    "arm and base": KINEMATIC,
}
OPPOSED = 0.05  # of the mean square error: pairs of sources that have more in common are named
APART = 900  # number of the test whose seeds the run of its own has


@dataclass(frozen=True)
class Attained:
    """What one set of sources leaves: covariance (3, 3) [m2], standard error of its trace, mean errors (m, 3) [m]."""

    covariance: Array
    error: float
    mean: Array

    @classmethod
    def of(cls, result: PoseResult) -> Attained:
        """Of a pose test."""
        return cls(result.covariance, variance_error(result.positions), result.errors.mean(axis=0))


def variance_error(positions: Array) -> float:
    r"""Standard error [m2] of the variance (trace of the covariance, mean over m poses) of positions (n, m, 3) [m].

    .. math:: s^2 = \frac{1}{m^2} \sum_k \frac{n}{(n - 1)(n - 2)} S^2(d_{jk}^2), \quad
              d_{jk} = \lVert p_{jk} - \bar p_k \rVert                                    (eq:variance-error)

    with the sample variance S^2 over the cycles j of one pose: poses may spread differently. The factor makes it
    exact in the mean for normal spreads, 2 sigma^4 / (n - 1) along one axis. Cycles count as independent. Two cycles
    are at one distance from their mean: there a normal spread along one line is taken.
    """
    square = ((positions - positions.mean(axis=0)) ** 2).sum(axis=2)
    n, m = square.shape
    if n == LEAST_CYCLES:
        of_pose = square.sum(axis=0) ** 2 / 1.5  # the mean of this square is 3 sigma^4
    else:
        of_pose = n / ((n - 1) * (n - 2)) * square.var(axis=0, ddof=1)
    return float(np.sqrt(of_pose.sum()) / m)  # eq:variance-error


@dataclass(frozen=True)
class Share:
    """What one source contributes: covariance (3, 3) [m2], mean errors (m, 3) [m], second moment (3, 3) [m2].

    ``error``: standard error of the variance [m2] by the cycles; ``steps``: least and largest step of the variance
    [m2] over the orders; ``along`` [m]: its length along the whole mean error (eq:mean-error-budget).
    """

    name: str
    covariance: Array
    mean: Array
    mean_square: Array
    along: float
    error: float
    steps: tuple[float, float]

    @property
    def variance(self) -> float:
        """Sum of the variances along x, y, z [m2]."""
        return float(np.trace(self.covariance))

    @property
    def size(self) -> float:
        """Root mean square of its mean errors over the poses [m]."""
        return float(np.sqrt((self.mean**2).sum(axis=1).mean()))

    def data(self) -> dict[str, Any]:
        """As plain data (SI)."""
        return {
            "source": self.name, "covariance_m2": self.covariance.tolist(), "variance_error_m2": self.error,
            "variance_steps_m2": list(self.steps), "mean_square_m2": self.mean_square.tolist(),
            "mean_error_m": self.mean.tolist(), "size_m": self.size, "along_m": self.along,
        }  # fmt: skip


@dataclass(frozen=True)
class ErrorBudget:
    """Shares of all sources, the largest first; what is left without any of them; the totals with all of them."""

    shares: tuple[Share, ...]
    rest: Share
    whole: Attained
    orders: int
    cycles: int
    together: Attained | None = None  # a run of its own with all sources at once

    @property
    def covariance(self) -> Array:
        """With all sources (3, 3) [m2]."""
        return self.whole.covariance

    @property
    def mean_square(self) -> Array:
        """Second moment of the mean errors with all sources (3, 3) [m2]."""
        return np.asarray(self.whole.mean.T @ self.whole.mean / len(self.whole.mean))

    @property
    def rows(self) -> tuple[Share, ...]:
        """All shares and the rest."""
        return (*self.shares, self.rest)

    @property
    def groups(self) -> dict[str, float]:
        """Variances [m2] of the sources by what they belong to."""
        return {
            group: sum(share.variance for share in self.shares if share.name in members)
            for group, members in GROUPS.items()
            if any(share.name in members for share in self.shares)
        }

    @property
    def closure(self) -> float:
        """How far shares and rest miss the total covariance, as a part of it."""
        return self._missed(self.covariance)

    @property
    def independent_closure(self) -> float | None:
        """How far they miss the covariance of the run of its own, as a part of it."""
        return None if self.together is None else self._missed(self.together.covariance)

    @property
    def sampling(self) -> float | None:
        """Standard error of the difference between the two variances by the cycles, as a part of the second."""
        if self.together is None:
            return None
        total = float(np.trace(self.together.covariance))
        return float(np.hypot(self.whole.error, self.together.error) / total) if total > 0.0 else 0.0

    @property
    def independent_mean_closure(self) -> float | None:
        """How far the mean errors miss those of the run of its own, as a part of their size."""
        if self.together is None:
            return None
        size = float(np.linalg.norm(self.together.mean))
        return float(np.linalg.norm(self.whole.mean - self.together.mean)) / size if size > 0.0 else 0.0

    @property
    def pairs(self) -> tuple[tuple[str, str, float], ...]:
        """Pairs of sources and their common part of the mean square error; negative: they act against each other."""
        total = float((self.whole.mean**2).sum())
        found = [
            (one.name, two.name, 2.0 * float((one.mean * two.mean).sum()) / total)
            for one, two in combinations(self.rows, 2)
            if total > 0.0
        ]
        return tuple(sorted((pair for pair in found if abs(pair[2]) > OPPOSED), key=lambda pair: pair[2]))

    def _missed(self, whole: Array) -> float:
        total = sum((share.covariance for share in self.shares), self.rest.covariance)
        size = float(np.abs(whole).max())
        return float(np.abs(total - whole).max() / size) if size > 0.0 else 0.0

    def data(self) -> dict[str, Any]:
        """As plain data (SI)."""
        return {
            "covariance_m2": self.covariance.tolist(), "variance_error_m2": self.whole.error,
            "mean_square_m2": self.mean_square.tolist(), "orders": self.orders, "cycles": self.cycles,
            "closure": self.closure, "independent_closure": self.independent_closure,
            "independent_sampling_error": self.sampling,
            "independent_mean_closure": self.independent_mean_closure,
            "groups_m2": self.groups,
            "pairs": [{"sources": [one, two], "part": part} for one, two, part in self.pairs],
            "shares": [share.data() for share in self.rows],
        }  # fmt: skip


@dataclass(frozen=True)
class BudgetTest:
    """The pose test with growing sets of sources, in pairs of orders."""

    test: PoseTest
    sources: tuple[str, ...]
    pairs: int = 1

    def __post_init__(self) -> None:
        check_orders("orders", self.pairs)
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

    @property
    def _together(self) -> PoseTest:
        """All sources at once within the simulation, with seeds of its own."""
        return replace(self.test, number=APART)

    def runs(self) -> list[DriveRun]:
        """The units of work of all sets, and those of a run with all sources at once, which is apart from the sets."""
        return [run for test in (*self._moving().values(), self._together) for run in test.runs()]

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
        found = {
            on: Attained.of(attained[on - frozenset(KINEMATIC)].seen_by(truths[on & frozenset(KINEMATIC)]))
            for on in subsets(self.orders)
        }
        together = Attained.of(self._together.evaluate(results[-count:], 1.0))
        return replace(budget_of(found, self.orders, self.test.cycles), together=together)

    def _kinematics(self, on: Sources) -> TrueKinematics:
        machine = self.test.machine
        off = (*machine.off, *(name for name in KINEMATIC if name not in on))
        known, _ = truth_of(
            machine.robot, tuple(dict.fromkeys(off)), machine.trial, machine.trial_seed, machine.elapsed
        )
        return TrueKinematics.of(known)


def budget_of(found: Mapping[Sources, Attained], orders: Sequence[Sequence[str]], cycles: int) -> ErrorBudget:
    """The budget from what all sets of sources leave."""
    none, every = frozenset[str](), frozenset(orders[0])
    covariances = {on: one.covariance for on, one in found.items()}
    variances = {on: float(np.trace(one.covariance)) for on, one in found.items()}
    means = {on: one.mean for on, one in found.items()}
    shared = frozenset(KINEMATIC)
    errors: dict[Sources, float] = {}
    for on, one in found.items():
        errors.setdefault(on - shared, one.error)
    whole = found[every]
    shares = [
        _share(
            name, contribution(covariances, orders, name), contribution(means, orders, name), whole.mean,
            standard_error(errors, orders, name, shared), steps(variances, orders, name),
        )
        for name in orders[0]
    ]  # fmt: skip
    rest = _share(
        REST,
        covariances[none],
        means[none],
        whole.mean,
        found[none].error,
        (variances[none], variances[none]),
    )
    ranked = tuple(sorted(shares, key=lambda share: -share.variance))
    return ErrorBudget(ranked, rest, whole, len(orders), cycles)


def _share(
    name: str, covariance: Array, mean: Array, whole: Array, error: float, extremes: tuple[float, float]
) -> Share:
    """A share with its part of the mean error (eq:mean-error-budget)."""
    both = mean.T @ whole / len(whole)
    size = float(np.sqrt((whole**2).sum() / len(whole)))
    along = float(np.trace(both)) / size if size > 0.0 else 0.0  # eq:mean-error-budget
    return Share(name, covariance, mean, 0.5 * (both + both.T), along, error, extremes)
