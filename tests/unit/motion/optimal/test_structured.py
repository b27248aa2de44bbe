"""The method that works node by node against IPOPT on the same programs: variables and multipliers."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.motion.limits import limits_of
from servotwin.motion.optimal import callbacks as cb
from servotwin.motion.optimal import ipopt, solving, structured
from servotwin.motion.optimal.barrier import largest
from servotwin.motion.optimal.block_nlp import make_table
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.guess import straight_guess
from servotwin.motion.optimal.ipopt import available, solve_nlp
from servotwin.motion.optimal.structured import fits, solve_program, solve_structured
from servotwin.motion.optimal.task import Region, Task
from servotwin.motion.optimal.transcription import Program, mesh_of, power_scale, transcribe

pytestmark = pytest.mark.skipif(not available(), reason="casadi is not installed")
TASKS = {
    "time": Task(intervals=40),
    "heat": Task(intervals=40, temperature=True, rest=0.2),
    "energy": Task(intervals=40, objective="energy", duration=2.0),
    "mixture": Task(intervals=40, energy_weight=1e-3),
    "bus": Task(intervals=40, bus_power=(-20.0, 300.0)),
    "free end": Task(intervals=40, free_end=True),
    "region": Task(intervals=40, keep_out=(Region(x=(0.31, 0.33), y=(-0.02, 0.02)),)),
}


def program_of(name: str, task: Task, seed: int = 3) -> Program:
    robot, description = st.load_robot(name), read_description(name, {})
    rng = np.random.default_rng(seed)
    ends = robot.random_q(rng), robot.random_q(rng)
    limits, drives = limits_of(robot, description), drive_model(robot, description)
    mesh = mesh_of(task.intervals, bool(drives.hold.any()))
    guess = straight_guess(robot, drives, limits, ends, mesh, task.duration, power_scale(task))
    return transcribe(robot, drives, limits, task, guess, ends)


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
@pytest.mark.parametrize("kind", TASKS)
def test_method_node_by_node_finds_what_ipopt_finds(name, kind):
    program = program_of(name, TASKS[kind])
    assert fits(program)
    mine = solve_structured(program, program.x0, 1e-2)
    theirs = solve_nlp(program.nlp, program.x0, program.low, program.high)
    assert mine.solved
    assert theirs.solved
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
    scale = np.abs(theirs.mult_g).max()
    np.testing.assert_allclose(mine.mult_g, theirs.mult_g, atol=1e-6 * scale)
    bounds = [answer.mult_high - answer.mult_low for answer in (mine, theirs)]
    np.testing.assert_allclose(*bounds, atol=1e-6 * scale)


def test_optimality_conditions_hold_with_the_multipliers_that_are_returned():
    """By differences: the gradient of the Lagrangian vanishes along random directions of all variables."""
    program = program_of("gsis-scara", TASKS["heat"])
    answer = solve_structured(program, program.x0, 1e-2)
    table, nlp = make_table(program.nlp), program.nlp
    whole, byte, at = ctypes.c_int, ctypes.c_uint8, ctypes.c_void_p
    f = ctypes.CFUNCTYPE(byte, whole, at, byte, at, at)(cb.eval_f.address)
    g = ctypes.CFUNCTYPE(byte, whole, at, byte, whole, at, at)(cb.eval_g.address)

    def lagrangian(x: np.ndarray) -> float:
        value, rows = np.zeros(1), np.zeros(nlp.m)
        f(nlp.n, x.ctypes.data, 1, value.ctypes.data, table.address)
        g(nlp.n, x.ctypes.data, 1, nlp.m, rows.ctypes.data, table.address)
        return float(value[0] + answer.mult_g @ rows + (answer.mult_high - answer.mult_low) @ x)

    rng = np.random.default_rng(1)
    for _ in range(5):
        way = rng.standard_normal(nlp.n)
        slope = (lagrangian(answer.x + 1e-6 * way) - lagrangian(answer.x - 1e-6 * way)) / 2e-6
        assert abs(slope) < 1e-4 * np.linalg.norm(answer.mult_g)


def test_program_that_the_method_cannot_solve_goes_to_ipopt(monkeypatch):
    program = program_of("gsis-scara", TASKS["time"])
    monkeypatch.setattr(structured, "MOST", 2)
    answer = solve_program(program, program.x0, {})
    assert answer.solved
    assert answer.iterations > 2


def test_largest_magnitude_of_what_is_no_number_is_infinite():
    """A NaN compares as false: a maximum would pass over it, and call an iterate without a gradient optimal."""
    from numba import njit

    run = njit(lambda values: largest(values.size, values))
    assert run(np.array([1.0, -3.0, 2.0])) == 3.0
    for place in range(3):
        values = np.array([1.0, -3.0, 2.0])
        values[place] = np.nan
        assert run(values) == np.inf


@pytest.mark.parametrize("kind", ["time", "heat"])
def test_rows_hold_at_the_variables_that_are_returned(kind):
    """Given variables are returned as given, and all equations hold there as they did for the method."""
    program = program_of("puma560", TASKS[kind])
    answer = solve_structured(program, program.x0, 1e-2)
    table, nlp = make_table(program.nlp), program.nlp
    whole, byte, at = ctypes.c_int, ctypes.c_uint8, ctypes.c_void_p
    g = ctypes.CFUNCTYPE(byte, whole, at, byte, whole, at, at)(cb.eval_g.address)
    rows = np.zeros(nlp.m)
    g(nlp.n, answer.x.ctypes.data, 1, nlp.m, rows.ctypes.data, table.address)
    low, high = np.concatenate(nlp.low), np.concatenate(nlp.high)
    assert np.maximum(low - rows, rows - high).max() < 2e-7
    assert np.maximum(program.low - answer.x, answer.x - program.high).max() < 2e-8
    fixed = program.low == program.high
    np.testing.assert_array_equal(answer.x[fixed], program.low[fixed])


def test_failed_second_solution_begins_anew(monkeypatch):
    """Room for currents between nodes is made by a second solution; where that fails from the first, from the start."""
    ends = np.radians([[-20.0, 60.0, -90.0, 0.0], [20.0, 85.0, -95.0, 0.0]])
    undisturbed = st.optimise_motion("palletizer-4", *ends)
    current = drive_model(st.load_robot("palletizer-4"), read_description("palletizer-4", {})).current
    calls = []

    def solve(program, x0, options, progress=None, warm=None):
        answer = solve_program(program, x0, options, progress, warm)
        makes_room = bool(program.room(current).any())
        calls.append(warm is not None and makes_room)
        return replace(answer, status=3) if calls[-1] else answer

    monkeypatch.setattr(solving, "solve_program", solve)
    motion = st.optimise_motion("palletizer-4", *ends)
    assert (True, False) in pairwise(calls)  # one from the first solution failed, one from the start followed
    assert motion.duration == pytest.approx(undisturbed.duration, rel=1e-4)


def test_thread_is_waited_for_even_if_interrupted_again():
    """Ctrl-C twice must not leave compiled code running in memory that is given back."""

    class Worker:
        left = 3

        def is_alive(self):
            return self.left > 0

        def join(self):
            self.left -= 1
            if self.left:
                raise KeyboardInterrupt

    worker = Worker()
    ipopt._wait(worker)
    assert not worker.is_alive()


def test_currents_beyond_their_limits_between_nodes_are_said(monkeypatch):
    ends = np.radians([[-20.0, 60.0, -90.0, 0.0], [20.0, 85.0, -95.0, 0.0]])
    assert not any("between nodes" in note for note in st.optimise_motion("palletizer-4", *ends).notes)
    monkeypatch.setattr(solving, "ROUNDS", 0)
    monkeypatch.setattr(solving, "FINER", 0)
    assert any("between nodes" in note for note in st.optimise_motion("palletizer-4", *ends).notes)
