r"""The front of price, mass and cycle time: at each speed the cheapest and the lightest set, then sets between two.

Between neighbours A (cheaper) and B (lighter) lies the set of

.. math:: \min\; p + \lambda m \quad \text{with} \quad p < p_B,\; m < m_A, \qquad
          \lambda = (p_B - p_A)/(m_A - m_B)                                               (eq:front-box)

or none. The limits also find sets that no weighting of price against mass alone has as its best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from servotwin.design.sizing.load import Load
from servotwin.design.sizing.nearest import NoChoiceError
from servotwin.design.sizing.result import ParetoPoint
from servotwin.design.sizing.search import Choice, Problem, Search, search
from servotwin.mechanism.model import Array

FACTORS = (0.7, 0.85, 1.0, 1.15, 1.3, 1.5)  # speeds
BETWEEN = 6  # searches between two neighbours at each speed, the widest gap first
TIE = 1e-6  # relative: of two equally good sets the one that is better in the other respect
LONGEST = 5.0  # times the time limit of one search, for all
LEAST_TIME = 0.2  # s for each search
STRICT = 1e-9  # relative: by which a set between two must be better

Tables = tuple[Array, ...]


def pareto_front(
    load: Load,
    problem_at: Callable[[Load], tuple[Problem, Tables, Tables]],
    time_limit: float,
    progress: Callable[[str], None],
) -> tuple[ParetoPoint, ...]:
    """Sets that no other found beats in price, mass and cycle time at once.

    ``problem_at`` gives the choices under a load with the prices and masses (M, G) of the pairs of every axis.
    """
    ends = time.perf_counter() + LONGEST * time_limit
    points: list[ParetoPoint] = []
    for number, factor in enumerate(FACTORS):
        progress(f"Pareto front: {factor:g} times as fast, {len(points)} sets so far")
        now = load.faster(factor)
        share = max(0.0, ends - time.perf_counter()) / (len(FACTORS) - number)
        try:
            points += front_at(*problem_at(now), now.duty.period, share)
        except NoChoiceError:
            break  # faster ones fit even less
    return tuple(p for p in points if not any(other.beats(p) for other in points))


def front_at(
    problem: Problem, prices: Tables, masses: Tables, cycle_time: float, seconds: float
) -> list[ParetoPoint]:
    """The front of price and mass at one speed: the cheapest, the lightest, and sets in between (eq:front-box)."""
    ends = time.perf_counter() + seconds
    each = max(seconds / (BETWEEN + 2), LEAST_TIME)
    ways = (_tied(prices, masses), _tied(masses, prices))
    cheap, light = (
        _point(search(replace(problem, costs=costs), each), prices, masses, cycle_time) for costs in ways
    )
    found = [cheap] if cheap.mass <= light.mass else [cheap, light]
    gaps = [(cheap, light)] if len(found) == 2 else []
    for left in range(BETWEEN, 0, -1):
        if not gaps or time.perf_counter() > ends:
            break
        gaps.sort(key=lambda pair: (pair[1].price - pair[0].price) * (pair[0].mass - pair[1].mass))
        a, b = gaps.pop()
        limit = max((ends - time.perf_counter()) / left, LEAST_TIME)
        between = Search(_box(problem, prices, masses, a, b), limit).found()
        if between is not None:
            point = _point(between, prices, masses, cycle_time)
            found.append(point)
            gaps += [(a, point), (point, b)]
    return [p for p in found if not any(other.beats(p) for other in found)]


def _box(problem: Problem, prices: Tables, masses: Tables, a: ParetoPoint, b: ParetoPoint) -> Problem:
    """The search for a set that is cheaper than b and lighter than a (eq:front-box)."""
    price, mass = b.price * (1.0 - STRICT), a.mass * (1.0 - STRICT)
    slope = (b.price - a.price) / (a.mass - b.mass)
    costs = tuple(p + slope * m for p, m in zip(prices, masses, strict=True))
    limits = ((prices, price), (masses, mass))
    return replace(problem, costs=costs, limits=limits, below=price + slope * mass)


def _tied(first: Tables, second: Tables) -> Tables:
    """Costs by the first tables; the second decide between sets that are equal in them."""
    return tuple(a + TIE * _scale(a) / _scale(b) * b for a, b in zip(first, second, strict=True))


def _scale(table: Array) -> float:
    return max(float(np.max(table[np.isfinite(table)], initial=0.0)), 1e-300)


def _sum(tables: Sequence[Array], choice: Choice) -> float:
    return sum(float(table[pair]) for table, pair in zip(tables, choice.indices, strict=True))


def _point(choice: Choice, prices: Tables, masses: Tables, cycle_time: float) -> ParetoPoint:
    return ParetoPoint(
        cycle_time,
        round(_sum(prices, choice), 9),
        round(_sum(masses, choice), 9),
        tuple(actuator.name for actuator in choice.actuators),
        choice.gap,
    )
