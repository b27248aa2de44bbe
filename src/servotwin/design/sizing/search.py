r"""The best set of motors and gears for all axes together: branch and bound from the tool to the base.

A motor that the arm carries loads the axes before it (eq:carried-mass). Taken from the last axis to the first, what an
axis must bear is known when its turn comes, so that every set is judged exactly. A branch ends where its cost with the
least that the remaining axes can cost,

.. math:: c + \sum_{j} \underline c_j \ge \bar c                                         (eq:search-bound)

reaches the best set found. :math:`\underline c_j` is the least cost of a pair that some masses of the catalogue would
not refuse: torques bounded instant by instant over the range of masses. Of branches that leave the same masses, the
cheapest is kept. Limits of other sums over the set, as of its mass, end branches by the least that the rest adds.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import le

import numpy as np

from servotwin.design.sizing.actuators import Actuator
from servotwin.design.sizing.axis_choices import CHUNK, AxisChoices
from servotwin.design.sizing.load import Load
from servotwin.design.sizing.nearest import NoChoiceError, nearest_pair
from servotwin.errors import InputError
from servotwin.mechanism.model import Array, BoolArray, IntArray

TIME_LIMIT = 8.0  # s of search, after which the best set is told with its gap
PATIENCE = 60.0  # s at least, where no set has been found yet
SAME_MASS = 1e-9  # kg
ROUNDING = 1e-12  # relative, of costs
Progress = Callable[[str], None]
Sorted = tuple[IntArray, IntArray, Array]


@dataclass(frozen=True, eq=False)
class Problem:
    """The axes with their choices, what each pair costs (M, G), and the masses that the file's links contain [kg].

    ``limits``: further tables (M, G) of every axis with the largest sum that a set may have; ``below``: a cost that
    sets must be below.
    """

    load: Load
    axes: tuple[AxisChoices, ...]
    costs: tuple[Array, ...]
    present: tuple[float, ...]
    limits: tuple[tuple[tuple[Array, ...], float], ...] = ()
    below: float = math.inf


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """The best set: motor and gear of every axis, its cost, the least cost that any set has, and how it was found."""

    actuators: tuple[Actuator, ...]
    indices: tuple[tuple[int, int], ...]
    cost: float
    bound: float
    load: Load  # with the masses of the set
    nodes: int
    seconds: float

    @property
    def gap(self) -> float:
        """Relative distance of the cost to the bound; zero if the set is the best for certain."""
        return 0.0 if self.cost <= self.bound else (self.cost - self.bound) / max(self.cost, 1e-300)


def order_of(load: Load) -> list[int]:
    """The actuators from those that bear no other to those that bear them all."""
    influence = influences(load)
    left, order = set(range(len(load.names))), []
    while left:
        free = sorted(j for j in left if not any(influence[k, j] for k in left if k != j))
        if not free or any(influence[j, j] for j in free):
            names = ", ".join(load.names[j] for j in sorted(left))
            raise InputError(f"the motors of {names} carry each other: no order in which to choose them")
        order.append(free[-1])
        left.remove(free[-1])
    return order


def influences(load: Load) -> BoolArray:
    """Whether the mass of actuator k (row) loads actuator j (column)."""
    m = len(load.names)
    out = np.zeros((m, m), dtype=np.bool_)
    for k, part in enumerate(load.carried):
        if part is not None:
            size = np.abs(part.torque).max(axis=0) + np.abs(part.inertia).max(axis=0)
            out[k] = size > 1e-12 * max(float(size.max()), 1e-300)
    return out


@dataclass(order=True)
class _Branch:
    """Choices of the first axes of the order, in the order of their bound."""

    bound: float
    depth: int  # negative: deeper ones first
    number: int
    node: _Node = field(compare=False)


@dataclass
class _Node:
    """The choice of the next axis: what was chosen before, its cost, the least cost of all axes after the next."""

    chosen: tuple[tuple[int, int], ...]
    cost: float
    later: float
    load: Load  # on the next axis
    felt: tuple[float, ...]  # masses that it bears
    pairs: Iterator[tuple[int, int]]
    fruitful: bool = False  # a pair has fitted


class Search:
    """One search; ``best`` gives its answer."""

    def __init__(
        self,
        problem: Problem,
        time_limit: float = TIME_LIMIT,
        progress: Progress | None = None,
    ) -> None:
        self.problem, self.progress = problem, progress or (lambda text: None)
        self.order = order_of(problem.load)
        self.influence = influences(problem.load)
        self.began = time.perf_counter()
        self.nodes = self.number = 0
        self.incumbent: tuple[float, tuple[tuple[int, int], ...]] = (problem.below, ())
        # cost and limited sums of branches by state
        self.seen: dict[tuple[float, ...], list[tuple[float, ...]]] = {}
        self.sorted = [self._by_cost(j) for j in range(len(problem.axes))]
        self.bounds: dict[tuple[object, ...], float] = {}
        self.failed: tuple[int, Load] | None = None  # the first axis that nothing fits, and its load
        self.ranges = self._root()
        self.least = self._rest(())
        self.least_sums = [
            [float(table[j][self.sorted[j][:2]].min(initial=math.inf)) for j in range(len(self.order))]
            for table, _ in problem.limits
        ]
        self.ends = time.perf_counter() + time_limit
        self.complete = True  # False: the search ended for want of time
        self.last = self.ends if math.isfinite(problem.below) else max(self.ends, self.began + PATIENCE)

    def _by_cost(self, j: int) -> Sorted:
        """Motors, gears and costs (p,) of the pairs that turn as fast as asked, the cheapest first."""
        cost = self.problem.costs[j]
        m, g = np.nonzero(self.problem.axes[j].possible & np.isfinite(cost))
        order = np.argsort(cost[m, g], kind="stable")
        return m[order], g[order], cost[m, g][order]

    # --- bounds --------------------------------------------------------------------------------------
    def _root(self) -> dict[int, tuple[float, float]]:
        """Masses [kg] that each axis can add, from what may fit it whatever the others weigh."""
        masses: dict[int, tuple[float, float]] = {}
        for j in self.order:
            axis, (m, g, cost) = self.problem.axes[j], self.sorted[j]
            fits = axis.relaxed_table(*self._torque_range(j, masses), self._spans(j, masses))[m, g]
            if not fits.any():
                fits = np.ones(len(m), dtype=np.bool_)
                if self.failed is None:  # whatever the others weigh, nothing fits
                    light = [masses.get(k, (0.0, 0.0))[0] for k in range(len(self.order))]
                    self.failed = (j, axis.load.with_masses(light))
            own = axis.mass[m[fits], g[fits]] - self.problem.present[j]
            masses[j] = (float(own.min()), float(own.max())) if len(own) else (0.0, 0.0)
            self.sorted[j] = m[fits], g[fits], cost[fits]
        return masses

    def _torque_range(self, j: int, masses: Mapping[int, tuple[float, float]]) -> tuple[Array, Array]:
        """Least and largest output torque (k,) of an axis over the masses of those that it bears."""
        load = self.problem.axes[j].load
        low = high = load.arm.torque[:, 0]
        for k, (least, most) in masses.items():
            part = load.carried[k]
            if part is not None and self.influence[k, j]:
                ends = part.torque[:, 0] * least, part.torque[:, 0] * most
                low, high = low + np.minimum(*ends), high + np.maximum(*ends)
        return low, high

    def _spans(self, j: int, masses: Mapping[int, tuple[float, float]]) -> tuple[object, ...]:
        """The masses that an axis bears."""
        return tuple((k, span) for k, span in masses.items() if self.influence[k, j])

    def _least_cost(self, j: int, masses: Mapping[int, tuple[float, float]]) -> float:
        """The least that an axis can cost while the others weigh as they may (eq:search-bound)."""
        key = (j, self._spans(j, masses))
        if key not in self.bounds:
            self.bounds[key] = self._first_fit(j, masses)
        return self.bounds[key]

    def _first_fit(self, j: int, masses: Mapping[int, tuple[float, float]]) -> float:
        """The cost of the cheapest pair that may fit; infinite if there is none."""
        m, g, cost = self.sorted[j]
        ranges = self.problem.axes[j].relaxed(*self._torque_range(j, masses), m, g)
        for chunk, ok in enumerate(ranges):
            if ok.any():
                return float(cost[chunk * CHUNK + int(np.argmax(ok))])
        return math.inf

    def _possible_masses(self, chosen: Sequence[tuple[int, int]]) -> dict[int, tuple[float, float]]:
        """Masses [kg] that each axis can add after a choice."""
        masses = dict(self.ranges)
        for j, (m, g) in zip(self.order, chosen, strict=False):
            own = float(self.problem.axes[j].mass[m, g] - self.problem.present[j])
            masses[j] = (own, own)
        return masses

    def _rest(self, chosen: Sequence[tuple[int, int]], skip: int = 0) -> float:
        """The least that the axes after those chosen, and after ``skip`` more, can cost together."""
        masses = self._possible_masses(chosen)
        return sum(self._least_cost(j, masses) for j in self.order[len(chosen) + skip :])

    def _sums(self, chosen: Sequence[tuple[int, int]]) -> tuple[float, ...]:
        """What a choice adds to each of the limited sums."""
        pairs = list(zip(self.order, chosen, strict=False))
        return tuple(sum(float(table[j][pair]) for j, pair in pairs) for table, _ in self.problem.limits)

    def _beyond(self, depth: int, sums: Sequence[float]) -> bool:
        """True if a choice of ``depth`` axes cannot end within the limits of the sums."""
        return any(
            own + sum(least[j] for j in self.order[depth:]) > limit
            for own, least, (_, limit) in zip(sums, self.least_sums, self.problem.limits, strict=True)
        )

    def _blocked(self, chosen: Sequence[tuple[int, int]]) -> tuple[int, Load] | None:
        """The next axis that nothing fits after a choice, under the least load that is left to it."""
        masses = self._possible_masses(chosen)
        light = [masses[k][0] for k in range(len(self.order))]
        for j in self.order[len(chosen) :]:
            if not math.isfinite(self._least_cost(j, masses)):
                return j, self.problem.axes[j].load.with_masses(light)
        return None

    # --- branches ------------------------------------------------------------------------------------
    def _masses_of(self, chosen: Sequence[tuple[int, int]]) -> Array:
        """What a choice adds at the places of the actuators (m,) [kg], beside what the file's links contain."""
        masses = np.zeros(len(self.order))
        for j, (m, g) in zip(self.order, chosen, strict=False):
            masses[j] = self.problem.axes[j].mass[m, g] - self.problem.present[j]
        return masses

    def _state(self, chosen: Sequence[tuple[int, int]]) -> tuple[float, ...]:
        """The masses that the axes still to be chosen will feel."""
        rest = self.order[len(chosen) :]
        felt = []
        for j, (m, g) in zip(self.order, chosen, strict=False):
            if self.problem.load.carried[j] is not None and self.influence[j, rest].any():
                felt.append(round(float(self.problem.axes[j].mass[m, g]) / SAME_MASS) * SAME_MASS)
        return (float(len(chosen)), *felt)

    def _node(self, chosen: tuple[tuple[int, int], ...], spent: float) -> _Node:
        """The next axis after a choice; its pairs come from the cheapest on, not yet judged by every check."""
        self.nodes += 1
        j = self.order[len(chosen)]
        axis = self.problem.axes[j]
        load = axis.load.with_masses(self._masses_of(chosen))
        m, g, price = self.sorted[j]
        later = self._rest(chosen, skip=1)
        within = slice(0, int(np.searchsorted(price, self.incumbent[0] - spent - later)))
        pairs = axis.candidates(load.arm.torque[:, 0], m[within], g[within])
        return _Node(chosen, spent, later, load, self._felt_by(j, chosen), pairs)

    def _felt_by(self, j: int, chosen: Sequence[tuple[int, int]]) -> tuple[float, ...]:
        return tuple(
            float(self.problem.axes[k].mass[pair])
            for k, pair in zip(self.order, chosen, strict=False)
            if self.influence[k, j]
        )

    # --- the search ----------------------------------------------------------------------------------
    def best(self) -> Choice:
        """The best set; raises NoChoiceError if there is none."""
        found = self.found()
        if found is not None:
            return found
        if not self.complete:
            raise InputError(
                f"no set was found in {time.perf_counter() - self.began:.0f} s, and it is not certain that there is "
                "none; expected more time or a smaller catalogue",
                field="--time-limit",
            )
        raise self._nothing()

    def found(self) -> Choice | None:
        """The best set; None if there is none, or none was found in time."""
        open_branches = [self._branch(self.least, self._node((), 0.0))]
        bound = self.least
        while open_branches:
            branch = heapq.heappop(open_branches)
            if branch.bound >= self._ceiling:
                bound = self.incumbent[0]
                break
            bound = branch.bound
            if self._time_is_over:
                self.complete = False
                break
            self._expand(branch.node, open_branches)
        else:
            bound = self.incumbent[0]
        return self._answer(bound) if self.incumbent[1] else None

    @property
    def _time_is_over(self) -> bool:
        return time.perf_counter() > (self.ends if self.incumbent[1] else self.last)

    @property
    def _ceiling(self) -> float:
        """Bounds from here on cannot improve the best set by more than rounding."""
        return self.incumbent[0] * (1.0 - ROUNDING)

    def _expand(self, node: _Node, open_branches: list[_Branch]) -> None:
        """The next pair that leads on, the node again for those after it; then down to a whole set at once."""
        while True:
            pair = next(node.pairs, None)
            j = self.order[len(node.chosen)]
            if pair is None:
                if not node.fruitful and self.failed is None:
                    self.failed = (j, node.load)
                return
            cost = node.cost + float(self.problem.costs[j][pair])
            again = cost + node.later  # later pairs cost no less
            if again >= self._ceiling:
                return
            below = self._child(node, j, pair, cost)
            elsewhere = bool(open_branches) and again > open_branches[0].bound and bool(self.incumbent[1])
            elsewhere = elsewhere or self._time_is_over
            if below is not None or elsewhere:
                heapq.heappush(open_branches, self._branch(again, node))
            if below is not None:
                node = below
            elif elsewhere:
                return

    def _child(self, node: _Node, j: int, pair: tuple[int, int], cost: float) -> _Node | None:
        """The node below a pair; None if the pair does not fit, leads to nothing better, or completes a set."""
        chosen = (*node.chosen, pair)
        state, sums = self._state(chosen), self._sums(chosen)
        spent = (cost, *sums)
        if any(all(map(le, other, spent)) for other in self.seen.get(state, ())):
            return None
        rest = self._rest(chosen)
        hopeless = not math.isfinite(rest) and self.failed is None
        if not hopeless and (cost + rest >= self._ceiling or self._beyond(len(chosen), sums)):
            return None
        if not self.problem.axes[j].fits(node.load, *pair, node.felt):
            return None
        if hopeless:
            self.failed = self._blocked(chosen)
            return None
        node.fruitful = True
        if len(chosen) == len(self.order):
            self.incumbent = (cost, chosen)
            self.progress(f"a set of cost {cost:.4g}, at least {self.least:.4g}")
            return None
        self.seen.setdefault(state, []).append(spent)
        return self._node(chosen, cost)

    def _branch(self, bound: float, node: _Node) -> _Branch:
        self.number += 1
        return _Branch(bound, -len(node.chosen), self.number, node)

    def _answer(self, bound: float) -> Choice:
        cost, chosen = self.incumbent
        indices = dict(zip(self.order, chosen, strict=True))
        ordered = tuple(indices[j] for j in range(len(self.order)))
        actuators = tuple(axis.pair(m, g) for axis, (m, g) in zip(self.problem.axes, ordered, strict=True))
        spent = time.perf_counter() - self.began
        return Choice(
            actuators,
            ordered,
            cost,
            min(bound, cost),
            self.problem.load.with_masses(self._masses_of(chosen)),
            self.nodes,
            spent,
        )

    def _nothing(self) -> NoChoiceError:
        """Why there is no set: the first axis that nothing fits, and what comes nearest to it."""
        j, load = self.failed or (self.order[0], self.problem.axes[self.order[0]].load)
        axis = self.problem.axes[j]
        near = nearest_pair(axis, load)
        return NoChoiceError(axis.name, near, None if near is None else near.worst)


def search(problem: Problem, time_limit: float = TIME_LIMIT, progress: Progress | None = None) -> Choice:
    """The best set of a problem; NoChoiceError if there is none."""
    return Search(problem, time_limit, progress).best()
