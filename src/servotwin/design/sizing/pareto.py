r"""The front of price, mass and cycle time: at each speed all sets that no other beats in price and mass.

Between neighbours A (cheaper) and B (lighter) lies the set of

.. math:: \min\; p + \lambda m \quad \text{with} \quad p < p_B,\; m < m_A, \qquad
          \lambda = (p_B - p_A)/(m_A - m_B)                                               (eq:front-box)

or none. Every set between two makes two gaps of one; the front is complete when each gap is known to be empty. The
limits also find sets that no weighting of price against mass alone has as its best. Beyond the cheapest set price
alone is searched, beyond the lightest mass alone. When time is over, a run of open gaps from A to B leaves

.. math:: \varepsilon = \min_X \max\Bigl(\frac{p_X}{p_A}, \frac{m_X}{m_B}\Bigr) - 1          (eq:front-gap)

by which a set that was not found can be better than every set X of the front, in price or in mass. It is infinite
where sets may cost nothing and none of those found does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from servotwin.design.sizing.load import Load
from servotwin.design.sizing.nearest import NoChoiceError
from servotwin.design.sizing.result import ParetoPoint
from servotwin.design.sizing.search import Choice, Problem, Search
from servotwin.mechanism.model import Array

FACTORS = (0.7, 0.85, 1.0, 1.15, 1.3, 1.5)  # speeds
STRICT = 1e-9  # relative: by which a set in a gap must be better
LONGEST = 15.0  # times the time limit of one search, for all
FIRST_TIME = 1.0  # s in which a gap is searched at first; twice as long whenever it stays open

Tables = tuple[Array, ...]
Box = tuple[float, float]  # a price and a mass [kg] that sets must be below
ALL: Box = (math.inf, math.inf)
Progress = Callable[[str], None]


def pareto_front(
    load: Load,
    problem_at: Callable[[Load], tuple[Problem, Tables, Tables]],
    time_limit: float,
    progress: Progress,
) -> tuple[ParetoPoint, ...]:
    """Sets that no other found beats in price, mass and cycle time at once.

    ``problem_at`` gives the choices under a load with the prices and masses (M, G) of the pairs of every axis.
    """
    ends = time.perf_counter() + LONGEST * time_limit
    points: list[ParetoPoint] = []
    for number, factor in enumerate(FACTORS):
        words = f"Pareto front: {factor:g} times as fast, {len(points)} sets before"
        progress(words)
        now = load.faster(factor)
        share = max(0.0, ends - time.perf_counter()) / (len(FACTORS) - number)
        try:
            points += front_at(*problem_at(now), now.duty.period, share, partial(_tell, progress, words))
        except NoChoiceError:
            continue
    return tuple(p for p in points if not any(other.beats(p) for other in points))


def open_fronts(points: Sequence[ParetoPoint]) -> list[str]:
    """What must be said of cycle times at which time has left gaps."""
    gaps = {f"{p.cycle_time:.4g} s {gap_words(p.gap)}": p.cycle_time for p in points if p.gap > 0.0}
    if not gaps:
        return []
    listed = ", ".join(sorted(gaps, key=gaps.__getitem__))
    return [
        "time was over before every gap of the Pareto front was searched; sets that were not found are better in price "
        f"or mass by at most: {listed}; --time-limit gives more time"
    ]


def gap_words(gap: float) -> str:
    """A gap as people read it; it is infinite where sets may cost nothing."""
    if not math.isfinite(gap):
        return "any amount"
    percent = 100.0 * gap
    return f"{percent:.2g} %" if percent < 100.0 else f"{percent:.0f} %"


def _tell(progress: Progress, before: str, text: str) -> None:
    progress(f"{before}, {text}")


def front_at(
    problem: Problem,
    prices: Tables,
    masses: Tables,
    cycle_time: float,
    seconds: float,
    progress: Progress | None = None,
) -> list[ParetoPoint]:
    """The front of price and mass at one speed; its points have the ``gap`` (eq:front-gap) that time has left open."""
    ends = time.perf_counter() + seconds
    front = _Front(problem, prices, masses, cycle_time)
    front.begin(seconds)
    while gaps := front.open_gaps():
        left = ends - time.perf_counter()
        if left <= 0.0:
            break
        if progress is not None:
            progress(f"{len(front.points)} sets now, {len(gaps)} gaps to search")
        front.search(min(gaps, key=front.urgency), left)
    gap = front.uncertainty()
    return [replace(point, gap=gap) for point in front.points]


@dataclass
class _Front:
    """Sets that none of those found beats, from the cheapest to the lightest, and boxes that hold no set."""

    problem: Problem
    prices: Tables
    masses: Tables
    cycle_time: float
    points: list[ParetoPoint] = field(default_factory=list)
    empty: list[Box] = field(default_factory=list)
    allowed: dict[Box, float] = field(default_factory=dict)  # s that a gap may be searched next time
    least: Box = (0.0, 0.0)  # no set has less price or mass

    def begin(self, seconds: float) -> None:
        """The cheapest set; NoChoiceError if there is none at all."""
        cheapest = Search(replace(self.problem, costs=self.prices), min(seconds, FIRST_TIME)).best()
        lightest = Search(replace(self.problem, costs=self.masses), 0.0)
        self.least = cheapest.bound, lightest.least
        self._add(cheapest, ALL)

    # --- gaps ----------------------------------------------------------------------------------------
    def open_gaps(self) -> list[Box]:
        """Gaps between neighbours, and beyond both ends, that may still hold a set."""
        return [box for box in self._gaps() if not self._closed(box)]

    def _gaps(self) -> list[Box]:
        prices, masses = [p.price for p in self.points], [p.mass for p in self.points]
        return list(zip([*prices, math.inf], [math.inf, *masses], strict=True))

    def _closed(self, box: Box) -> bool:
        return any(box[0] <= price and box[1] <= mass for price, mass in self.empty)

    def _corner(self, box: Box) -> Box:
        """Price of the set before a gap and mass of the set after it; beyond the ends the least of any set."""
        before = [p.price for p in self.points if p.mass == box[1]]
        after = [p.mass for p in self.points if p.price == box[0]]
        return (before or [self.least[0]])[0], (after or [self.least[1]])[0]

    def urgency(self, box: Box) -> tuple[float, float]:
        """Gaps that were searched the least come first, of these the widest."""
        price, mass = self._corner(box)
        return self.allowed.get(box, FIRST_TIME), -(box[0] - price) * (box[1] - mass)

    # --- searches ------------------------------------------------------------------------------------
    def search(self, box: Box, left: float) -> None:
        """Search a gap for a set (eq:front-box), in its allowed time at most."""
        allowed = self.allowed.get(box, FIRST_TIME)
        one = Search(self._limited(box), min(allowed, left))
        found = one.found()
        if found is not None:
            self._add(found, box)
        elif one.complete:
            self.empty.append(box)
        else:
            self.allowed[box] = 2.0 * allowed

    def _limited(self, box: Box) -> Problem:
        """The search for a set within a box."""
        price, mass = box[0] * (1.0 - STRICT), box[1] * (1.0 - STRICT)
        if math.isinf(mass):
            return replace(self.problem, costs=self.prices, below=price)
        if math.isinf(price):
            return replace(self.problem, costs=self.masses, below=mass)
        a, b = self._corner(box)
        slope = (box[0] - a) / (box[1] - b)
        costs = tuple(p + slope * m for p, m in zip(self.prices, self.masses, strict=True))
        limits = ((self.prices, price), (self.masses, mass))
        return replace(self.problem, costs=costs, limits=limits, below=price + slope * mass)

    def _add(self, choice: Choice, box: Box) -> None:
        """Take a set of a box into the front; what it beats leaves."""
        point = ParetoPoint(
            self.cycle_time,
            round(_sum(self.prices, choice), 9),
            round(_sum(self.masses, choice), 9),
            tuple(actuator.name for actuator in choice.actuators),
        )
        kept = [p for p in self.points if not point.beats(p)]
        self.points = sorted([*kept, point], key=lambda p: p.price)
        if math.isinf(box[1]):  # by price alone: no set of the box costs less than the bound
            self.least = max(self.least[0], choice.bound), self.least[1]
            self.empty += [(point.price, math.inf)] if choice.gap == 0.0 else []
        elif math.isinf(box[0]):
            self.least = self.least[0], max(self.least[1], choice.bound)
            self.empty += [(math.inf, point.mass)] if choice.gap == 0.0 else []

    # --- what is left --------------------------------------------------------------------------------
    def uncertainty(self) -> float:
        """By how much a set that was not found can be better (eq:front-gap); 0 if the front is complete."""
        worst = 0.0
        for closed, run in groupby(self._gaps(), key=self._closed):
            boxes = list(run)
            if not closed:
                price, mass = self._corner(boxes[0])[0], self._corner(boxes[-1])[1]
                shares = [
                    max(_times(p.price, price), _times(p.mass, mass)) for p in self.points
                ]  # eq:front-gap
                worst = max(worst, min(shares) - 1.0)
        return worst


def _times(value: float, least: float) -> float:
    """How often ``value`` is its lower bound; what costs nothing is not beaten by what costs nothing."""
    if value <= least:
        return 1.0
    return value / least if least > 0.0 else math.inf


def _sum(tables: Sequence[Array], choice: Choice) -> float:
    return sum(float(table[pair]) for table, pair in zip(tables, choice.indices, strict=True))
