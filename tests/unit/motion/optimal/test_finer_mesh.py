"""Solutions on other meshes, and points that are taken where no step leads on."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("casadi")

import servotwin as st
from servotwin.description.load import read_description
from servotwin.motion.limits import limits_of
from servotwin.motion.optimal import transcription
from servotwin.motion.optimal.between_nodes import motion_of
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.feasibility import verified
from servotwin.motion.optimal.finer_mesh import carried
from servotwin.motion.optimal.guess import refined_guess, split_mesh, straight_guess
from servotwin.motion.optimal.interior_point import ACCEPTED
from servotwin.motion.optimal.structured import solve_structured
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import mesh_of, transcribe

ENDS = np.radians([-60.0, 80.0, 0.0, 0.0]), np.radians([70.0, -60.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def solved():
    """A solved motion, its program, and the program on a mesh with ten intervals cut into three.

    With a light weight on accelerations the bare method solves both; else friction's signs and room would have to help.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcription, "TIE_BREAK", 1e-3)
        return _solved()


def _solved():
    robot, description, task = (
        st.load_robot("gsis-scara"),
        read_description("gsis-scara", {}),
        Task(intervals=40),
    )
    limits, drives = limits_of(robot, description), drive_model(robot, description)
    guess = straight_guess(robot, drives, limits, ENDS, mesh_of(40, True), None, 100.0)
    program = transcribe(robot, drives, limits, task, guess, ENDS)
    solution = solve_structured(program, program.x0, 1e-2)
    motion = motion_of(program, solution.x)
    cut = np.arange(program.mesh.size - 1) % 4 == 1
    finer = refined_guess(guess, motion, program.room(drives.current), split_mesh(program.mesh, cut))
    return program, solution, transcribe(robot, drives, limits, task, finer, ENDS)


def test_solution_carried_to_its_own_mesh_has_its_own_multipliers(solved):
    program, solution, _ = solved
    same = carried(solution, program, program)
    np.testing.assert_allclose(same.mult_g, solution.mult_g, rtol=1e-9, atol=1e-12)
    width = program.form.width
    np.testing.assert_allclose(same.mult_high[:width], solution.mult_high[:width])


def test_price_of_a_limit_is_the_same_on_a_finer_mesh(solved):
    """Sums over all intervals of multipliers in seconds per unit; those of nodes are sampled again."""
    program, solution, finer = solved
    start = carried(solution, program, finer)
    for group, within in (("speed between", 1e-9), ("voltage between", 1e-9)):
        old = program.row_values(group, solution.mult_g).sum(axis=0) * program.objective_scale
        new = finer.row_values(group, start.mult_g).sum(axis=0) * finer.objective_scale
        np.testing.assert_allclose(new, old, rtol=within, atol=1e-12)


def test_start_from_a_coarser_mesh_needs_fewer_iterations(solved):
    program, solution, finer = solved
    cold = solve_structured(finer, finer.x0, 1e-2)
    warm = solve_structured(finer, finer.x0, 1e-5, carried(solution, program, finer))
    assert cold.solved
    assert warm.solved
    assert warm.iterations < 0.7 * cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=1e-3)  # of other local optima too


def test_point_from_which_no_step_leads_on_is_taken_if_its_errors_are_small(solved):
    """A tolerance below rounding cannot be met; what is found is the solution all the same."""
    program, solution, _ = solved
    answer = verified(program, solve_structured(program, program.x0, 1e-2, tol=1e-18))
    assert answer.status == ACCEPTED
    assert answer.solved
    assert answer.objective == pytest.approx(solution.objective, rel=1e-4)


def test_accepted_point_that_is_open_is_not_solved(solved):
    program, _, _ = solved
    stuck = solve_structured(program, program.x0, 1e-2, tol=1e-18)
    assert verified(program, stuck).solved
    far = stuck.x + 1e-3 * np.where(program.low < program.high, 1.0, 0.0)
    moved = type(stuck)(
        ACCEPTED, far, stuck.g, stuck.objective, stuck.mult_g, stuck.mult_low, stuck.mult_high, 1
    )
    assert not verified(program, moved).solved
