"""The search over all axes together, against trying every set."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from campaign import campaign, cases
from servotwin.description.load import read_description
from servotwin.design.sizing.axis_choices import AxisChoices
from servotwin.design.sizing.evaluate import Rules, demand_of
from servotwin.design.sizing.nearest import NoChoiceError
from servotwin.design.sizing.result import assess
from servotwin.design.sizing.search import Problem, order_of, search
from servotwin.design.sizing.size import cost_table
from tests.sizing_choices import cut_load, gears, job_load, motors


def small_problem(objective: str, seed: int, rules: Rules | None = None, keep=(1, 2, 4)) -> Problem:
    """Three axes of the six-axis arm with 6 motors and 6 gears each; a payload makes the carried masses matter."""
    load = cut_load(job_load("sixaxis-5kg", "sixaxis-frame").with_payload(4.0), list(keep), every=20)
    power = read_description("sixaxis-5kg").power
    some, others = motors(6, seed, 60.0, 1200.0), gears(6, seed + 100, 8.0, 220.0)
    axes = tuple(AxisChoices(load, j, some, others, power, rules or Rules()) for j in range(len(keep)))
    return Problem(load, axes, tuple(cost_table(axis, objective) for axis in axes), (0.0,) * len(keep))


def brute_force(problem: Problem) -> float:
    """The least cost of all 36 x 36 x 36 sets that pass every check, by judging each axis of each set."""
    pairs = list(itertools.product(range(6), range(6)))
    memory: dict[tuple, bool] = {}
    best = np.inf
    for chosen in itertools.product(pairs, repeat=3):
        cost = sum(float(problem.costs[j][pair]) for j, pair in enumerate(chosen))
        if cost >= best:
            continue
        masses = [float(problem.axes[j].mass[pair]) for j, pair in enumerate(chosen)]
        for j in (2, 1, 0):
            key = (j, chosen[j], *masses[j + 1 :])  # what an axis bears are the axes after it
            if key not in memory:
                bears = [0.0] * (j + 1) + masses[j + 1 :]
                load = problem.load.with_masses(bears)
                axis = problem.axes[j]
                demand = demand_of(load, j, axis.pair(*chosen[j]), axis.power, axis.rules)
                memory[key] = demand.passes
            if not memory[key]:
                break
        else:
            best = cost
    return best


@campaign
@pytest.mark.parametrize(("objective", "seed"), [("price", 1), ("mass", 1), ("price", 5)][: cases(2, 3)])
def test_search_finds_the_set_that_trying_all_sets_finds(objective, seed):
    problem = small_problem(objective, seed)
    found = search(problem, time_limit=60.0)
    assert found.gap == 0.0
    assert found.cost == pytest.approx(brute_force(problem), rel=1e-12)
    assert assess(found.load, found.actuators, problem.axes[0].power).passes


def test_carried_masses_change_the_answer():
    """Without the masses of motors the proximal axes would get weaker drives: the search knows what they carry."""
    problem = small_problem("price", 1)
    blind = Problem(
        problem.load, problem.axes, problem.costs, tuple(float(axis.mass.max()) for axis in problem.axes)
    )
    light = search(blind, time_limit=60.0)  # every choice counts as lighter than what is there
    assert light.cost <= search(problem, time_limit=60.0).cost


def test_rms_torques_of_all_pairs_are_those_of_each_pair():
    problem = small_problem("price", 3)
    axis, load = problem.axes[0], problem.load
    m, g = (x.ravel() for x in np.meshgrid(np.arange(6), np.arange(6), indexing="ij"))
    found = axis.rms(load.arm.torque[:, 0], m, g)
    want = [
        demand_of(load, 0, axis.pair(int(i), int(k)), axis.power).rms_torque
        for i, k in zip(m, g, strict=True)
    ]
    assert found == pytest.approx(want, rel=1e-9)


def test_bounds_leave_no_pair_out_that_fits():
    """Pairs that pass under some masses are never refused by the bounds over the range of these masses."""
    problem = small_problem("price", 2)
    axis, load = problem.axes[0], problem.load
    rng = np.random.default_rng(0)
    m, g = (x.ravel() for x in np.meshgrid(np.arange(6), np.arange(6), indexing="ij"))
    ends = [load.with_masses([0.0, a, b]).arm.torque[:, 0] for a in (0.2, 6.0) for b in (0.1, 3.0)]
    low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
    allowed = np.concatenate(list(axis.relaxed(low, high, m, g)))
    for _ in range(10):
        some = load.with_masses([0.0, rng.uniform(0.2, 6.0), rng.uniform(0.1, 3.0)])
        for k in np.flatnonzero(~allowed):
            assert not demand_of(some, 0, axis.pair(int(m[k]), int(g[k])), axis.power).passes


def test_axes_are_chosen_from_the_tool_to_the_base():
    assert order_of(job_load("sixaxis-5kg", "sixaxis-frame")) == [5, 4, 3, 2, 1, 0]
    assert set(order_of(job_load("palletizer-4", "palletizer-line"))[-1:]) == {0}


def test_a_cycle_that_no_entry_satisfies_says_by_how_much_and_where():
    load = cut_load(job_load("sixaxis-5kg", "sixaxis-frame").with_payload(400.0), [1, 2, 4], every=20)
    axes = tuple(AxisChoices(load, j, motors(6, 1, 60.0, 1200.0), gears(6), None, Rules()) for j in range(3))
    problem = Problem(load, axes, tuple(cost_table(axis, "price") for axis in axes), (0.0,) * 3)
    with pytest.raises(
        NoChoiceError, match=r"axis J\d: no entry of the catalogue satisfies the cycle; nearest is"
    ):
        search(problem)


def test_a_search_that_runs_out_of_time_tells_its_gap():
    load = cut_load(job_load("sixaxis-5kg", "sixaxis-frame"), [0, 1, 2, 3, 4, 5], every=10)
    power = read_description("sixaxis-5kg").power
    some, others = motors(60), gears(30)
    axes = tuple(AxisChoices(load, j, some, others, power, Rules()) for j in range(6))
    problem = Problem(load, axes, tuple(cost_table(axis, "price") for axis in axes), (0.0,) * 6)
    found = search(problem, time_limit=0.0)
    assert found.bound <= found.cost
    assert 0.0 <= found.gap < 0.05
    assert assess(found.load, found.actuators, power).passes
