"""The front of price and mass, against all sets of a small catalogue."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from campaign import campaign, cases
from servotwin.description.load import read_description
from servotwin.design.sizing.axis_choices import AxisChoices
from servotwin.design.sizing.evaluate import Rules, demand_of
from servotwin.design.sizing.nearest import NoTimeError
from servotwin.design.sizing.pareto import FACTORS, front_at, gap_words, open_fronts, pareto_front
from servotwin.design.sizing.result import ParetoPoint
from servotwin.design.sizing.search import Problem, Search
from servotwin.design.sizing.size import cost_table
from tests.sizing_choices import cut_load, gears, job_load, motors


def small_problem(seed: int) -> Problem:
    """Three axes of the six-axis arm with 4 motors and 3 gears each."""
    load = cut_load(job_load("sixaxis-5kg", "sixaxis-frame").with_payload(4.0), [1, 2, 4], every=20)
    some, others = motors(4, seed, 60.0, 1200.0), gears(3, seed + 100, 20.0, 220.0)
    power = read_description("sixaxis-5kg").power
    axes = tuple(AxisChoices(load, j, some, others, power, Rules()) for j in range(3))
    return Problem(load, axes, tuple(cost_table(axis, "price") for axis in axes), (0.0,) * 3)


def all_sets(problem: Problem, masses) -> set[tuple[float, float]]:
    """Price and mass of every set of the 1728 that passes every check."""
    pairs = list(itertools.product(range(4), range(3)))
    memory: dict[tuple, bool] = {}

    def passes(j: int, pair, carried: tuple[float, ...]) -> bool:
        key = (j, pair, carried)
        if key not in memory:
            axis, load = problem.axes[j], problem.load.with_masses([0.0] * (j + 1) + list(carried))
            memory[key] = demand_of(load, j, axis.pair(*pair), axis.power, axis.rules).passes
        return memory[key]

    found = set()
    for chosen in itertools.product(pairs, repeat=3):
        own = [float(table[pair]) for table, pair in zip(masses, chosen, strict=True)]
        if all(passes(j, chosen[j], tuple(own[j + 1 :])) for j in (2, 1, 0)):
            price = sum(float(table[pair]) for table, pair in zip(problem.costs, chosen, strict=True))
            found.add((round(price, 9), round(sum(own), 9)))
    return found


def best_of(every: set[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that no other beats, from the cheapest on."""
    return sorted(a for a in every if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in every))


def front_of(problem: Problem, masses, seconds: float = 600.0) -> list[ParetoPoint]:
    return front_at(problem, problem.costs, masses, 1.0, seconds)


@campaign
@pytest.mark.parametrize("seed", [1, 4, 7, 12][: cases(2, 4)])
def test_front_is_that_of_all_sets(seed):
    problem = small_problem(seed)
    masses = tuple(cost_table(axis, "mass") for axis in problem.axes)
    found = front_of(problem, masses)
    assert [(p.price, p.mass) for p in found] == best_of(all_sets(problem, masses))
    assert {p.gap for p in found} == {0.0}


def shuffled(problem: Problem, masses, rng: np.random.Generator, steps: int) -> Problem:
    """The problem with prices that fall with the mass, roughly; with few steps many sets cost the same."""
    size = max(float(table.max()) for table in masses)
    prices = (np.round(steps * (1.2 - m / size + rng.uniform(0.0, 0.5, m.shape))) / steps for m in masses)
    return replace(problem, costs=tuple(prices))


@campaign
@pytest.mark.parametrize("seed", range(cases(3, 6)))
def test_front_of_random_prices_is_that_of_all_sets(seed):
    """Light sets are dear: fronts of many sets, with ties in every second case."""
    problem = small_problem(seed % 3)
    masses = tuple(cost_table(axis, "mass") for axis in problem.axes)
    problem = shuffled(problem, masses, np.random.default_rng(seed), 10 if seed % 2 else 1000)
    best = best_of(all_sets(problem, masses))
    assert len(best) > 8
    assert [(p.price, p.mass) for p in front_of(problem, masses)] == best


def test_front_without_time_bounds_what_it_has_not_found():
    """No set is better than all that were found by more than the gap in price and mass at once (eq:front-gap)."""
    problem = small_problem(1)
    masses = tuple(cost_table(axis, "mass") for axis in problem.axes)
    problem = shuffled(problem, masses, np.random.default_rng(1), 1000)
    best = best_of(all_sets(problem, masses))
    found = front_of(problem, masses, 0.0)
    gap = found[0].gap
    assert len(found) < len(best)
    assert 0.0 < gap < 10.0
    for price, mass in best:
        assert min(max(p.price / price, p.mass / mass) for p in found) <= 1.0 + gap + 1e-9
    assert "better in price or mass by at most: 1 s" in open_fronts(found)[0]
    assert open_fronts([replace(found[0], gap=0.0)]) == []


@pytest.mark.parametrize("price", [0.0, 1.0])
def test_front_of_sets_without_price_bounds_what_it_has_not_found(price):
    """Motors without a price: the least price of a set is zero, and no share of it says how far a set is from it."""
    problem = small_problem(1)
    masses = tuple(cost_table(axis, "mass") for axis in problem.axes)
    prices = [
        np.where(np.arange(m.shape[0])[:, None] == m.argmin() // m.shape[1], 0.0, price) for m in masses
    ]
    problem = replace(
        problem, costs=tuple(np.broadcast_to(p, m.shape) for p, m in zip(prices, masses, strict=True))
    )
    best = best_of(all_sets(problem, masses))
    found = front_of(problem, masses, 0.0)
    for set_price, mass in best:
        free = [p.mass / mass for p in found if p.price == 0.0]
        paid = [max(p.price / set_price, p.mass / mass) for p in found] if set_price > 0.0 else []
        assert min([*free, *paid, np.inf]) <= 1.0 + found[0].gap + 1e-9
    assert [(p.price, p.mass) for p in front_of(problem, masses)] == best


def test_gap_is_told_without_powers_of_ten():
    assert [gap_words(gap) for gap in (0.0123, 0.5, 2.5, 19.0, np.inf)] == [
        "1.2 %",
        "50 %",
        "250 %",
        "1900 %",
        "any amount",
    ]


def test_speed_without_a_set_in_time_leaves_the_front_of_the_others():
    problem = small_problem(1)
    masses = tuple(cost_table(axis, "mass") for axis in problem.axes)
    slow = problem.load.duty.period / FACTORS[0]

    def problem_at(load):
        if load.duty.period == pytest.approx(slow):
            raise NoTimeError(3.0)
        return problem, problem.costs, masses

    found, notes = pareto_front(problem.load, problem_at, 60.0, lambda text: None)
    assert {(p.price, p.mass) for p in found} == set(best_of(all_sets(problem, masses)))
    assert notes == [
        f"the Pareto front has no set of the cycle times {slow:.4g} s: time was over before one was found, and it is "
        "not certain that there is none; --time-limit gives more time"
    ]


def test_search_that_is_out_of_time_says_so(monkeypatch):
    out_of_time = Search(small_problem(1), 0.0)
    monkeypatch.setattr(out_of_time, "found", lambda: None)
    out_of_time.complete = False
    with pytest.raises(
        NoTimeError, match="no set was found in 0 s, and it is not certain that there is none"
    ):
        out_of_time.best()
