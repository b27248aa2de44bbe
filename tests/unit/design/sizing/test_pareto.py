"""The front of price and mass, against all sets of a small catalogue."""

from __future__ import annotations

import itertools

import pytest

from servotwin.description.load import read_description
from servotwin.design.sizing.axis_choices import AxisChoices
from servotwin.design.sizing.evaluate import Rules, demand_of
from servotwin.design.sizing.pareto import front_at
from servotwin.design.sizing.search import Problem
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


@pytest.mark.parametrize("seed", [1, 4])
def test_every_set_of_the_front_is_beaten_by_no_set_at_all(seed):
    problem = small_problem(seed)
    masses = tuple(cost_table(axis, "mass") for axis in problem.axes)
    every = all_sets(problem, masses)
    best = {a for a in every if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in every)}
    found = {(p.price, p.mass) for p in front_at(problem, problem.costs, masses, 1.0, 60.0)}
    assert found <= best
    assert {min(best), max(best)} <= found
    assert len(found) >= min(len(best), 5)
