"""An answer is a motion only if its polynomials join, whatever the solver says about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("casadi")

import servotwin as st
from servotwin.motion.errors import PathError
from servotwin.motion.optimal import structured
from servotwin.motion.optimal.feasibility import open_part, verified
from servotwin.motion.optimal.structured import solve_program
from servotwin.motion.optimal.task import Task
from tests.unit.motion.optimal.test_structured import program_of

START, GOAL = np.radians([-60.0, 80.0, 0.0, 0.0]), np.array([1.2, -1.0, 0.1, 1.5])


@pytest.fixture(scope="module")
def solved():
    program = program_of("gsis-scara", Task(intervals=40))
    return program, solve_program(program, program.x0, {})


def test_solution_is_feasible_and_a_moved_goal_is_not(solved):
    program, solution = solved
    assert solution.solved
    assert open_part(program, solution) < 1e-6
    x = solution.x.copy()
    program.nodes(x)[-1, 0] += 1e-4
    assert not verified(program, replace(solution, x=x)).solved


def test_duration_beyond_a_bound_is_not_solved(solved):
    program, solution = solved
    x = solution.x.copy()
    x[program.T_index] *= 1.0 - 1e-4
    assert not verified(program, replace(solution, x=x)).solved


def test_claim_of_the_method_with_open_defects_goes_to_ipopt(solved, monkeypatch):
    program, solution = solved
    x = solution.x.copy()
    program.nodes(x)[-1, 0] += 1e-2
    claim = replace(solution, x=x)
    monkeypatch.setattr(structured, "solve_structured", lambda *_: claim)
    answer = solve_program(program, program.x0, {})
    assert answer.solved
    np.testing.assert_allclose(answer.x[program.T_index], solution.x[program.T_index], rtol=1e-6)


@pytest.mark.parametrize("objective", ["time", "energy", "copper"])
def test_duration_below_the_least_is_refused_with_the_least(objective):
    with pytest.raises(PathError, match=r"0\.5 s are too short; the quickest is 0\.\d+ s"):
        st.optimise_motion("gsis-scara", START, GOAL, objective=objective, duration=0.5)
