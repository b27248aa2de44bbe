"""The compiled callbacks against CasADi: the same graph, differentiated by somebody else."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.motion.limits import limits_of
from servotwin.motion.optimal import callbacks as cb
from servotwin.motion.optimal.block_nlp import make_table
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.guess import straight_guess
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import mesh_of, power_scale, transcribe

ca = pytest.importorskip("casadi")
ROUNDING = 1e-9  # relative to the largest entry: sums of some hundred terms in another order


def program_of(name: str, **options):
    robot, description = st.load_robot(name), read_description(name, {})
    limits, drives = limits_of(robot, description), drive_model(robot, description)
    task = Task(intervals=10, **options)
    rng = np.random.default_rng(7)
    ends = robot.random_q(rng), robot.random_q(rng)
    guess = straight_guess(robot, drives, limits, ends, mesh_of(10, True), None, power_scale(task))
    return robot, transcribe(robot, drives, limits, task, guess, ends)


def oracle(robot, program):
    """Cost and rows of the whole program as one SX expression."""
    from benchmarks.casadi_oracle import as_function, functions_of

    x = ca.SX.sym("x", program.nlp.n)
    cost, rows = ca.SX(0.0), [ca.SX(0.0)] * program.nlp.m
    for family, function in zip(program.nlp.families, functions_of(robot, program), strict=True):
        block = as_function(function, program.table)
        for j, (index, data) in enumerate(zip(family.index, family.data, strict=True)):
            part, values = block(x[[int(k) for k in index]], data)
            cost = cost + part
            for k in range(family.code.n_rows):
                at = family.row + family.stride * j + k
                rows[at] = rows[at] + values[k]
    return x, cost, ca.vertcat(*rows)


def call(callback, *arguments):
    kinds = {
        "int32": ctypes.c_int32,
        "int64": ctypes.c_int64,
        "uint8": ctypes.c_uint8,
        "float64": ctypes.c_double,
    }
    function = ctypes.CFUNCTYPE(ctypes.c_uint8, *(kinds[kind] for kind in callback.arguments))(
        callback.address
    )
    assert function(*arguments) == 1


def close(ours, theirs):
    theirs = np.asarray(theirs)
    assert np.abs(ours - theirs).max() <= ROUNDING * max(np.abs(theirs).max(), 1.0)


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4"])
def test_callbacks_give_what_casadi_derives_from_the_same_graph(name):
    robot, program = program_of(
        name, temperature=True, rest=0.3, bus_power=(-500.0, 2000.0), energy_weight=0.01
    )
    nlp = program.nlp
    table = make_table(nlp)
    rng = np.random.default_rng(1)
    x = program.x0 + 0.01 * rng.standard_normal(nlp.n)
    lam = rng.standard_normal(nlp.m)
    sx, cost, rows = oracle(robot, program)
    weights = ca.SX.sym("w", nlp.m)
    lagrangian = 0.7 * cost + ca.dot(weights, rows)
    hessian = ca.hessian(lagrangian, sx)[0]
    found = ca.Function(
        "f", [sx, weights], [cost, ca.gradient(cost, sx), rows, ca.jacobian(rows, sx), hessian]
    )(x, lam)
    f, gradient, g = np.zeros(1), np.zeros(nlp.n), np.zeros(nlp.m)
    at = x.ctypes.data, 1
    call(cb.eval_f, nlp.n, *at, f.ctypes.data, table.address)
    call(cb.eval_grad_f, nlp.n, *at, gradient.ctypes.data, table.address)
    call(cb.eval_g, nlp.n, *at, nlp.m, g.ctypes.data, table.address)
    close(f, found[0])
    close(gradient, np.asarray(found[1]).ravel())
    close(g, np.asarray(found[2]).ravel())
    (r, c), (hr, hc) = nlp.jacobian_places(), nlp.hessian_places()
    jac, hess = np.zeros(r.size), np.zeros(hr.size)
    call(cb.eval_jac_g, nlp.n, *at, nlp.m, r.size, 0, 0, jac.ctypes.data, table.address)
    call(
        cb.eval_h, nlp.n, *at, 0.7, nlp.m, lam.ctypes.data, 1, hr.size, 0, 0, hess.ctypes.data, table.address
    )  # fmt: skip
    J, H = np.zeros((nlp.m, nlp.n)), np.zeros((nlp.n, nlp.n))
    np.add.at(J, (r, c), jac)
    np.add.at(H, (hr, hc), hess)
    close(J, np.asarray(found[3].full()))
    close(H, np.tril(np.asarray(found[4].full())))
    # exact sparsity: nothing is stored that CasADi does not find, either
    assert {*zip(r.tolist(), c.tolist(), strict=True)} <= {
        *zip(*map(list, found[3].sparsity().get_triplet()), strict=True)
    }


def test_other_masses_and_limits_reuse_the_compiled_functions():
    from servotwin.kernels import kernel_store

    program_of("gsis-scara")
    before = len(kernel_store._loaded)
    robot, description = (
        st.load_robot("gsis-scara", {"variables.load": "3 kg"}),
        read_description("gsis-scara", {"variables.load": "3 kg", "power.bus_voltage": "60 V"}),
    )
    limits, drives = limits_of(robot, description), drive_model(robot, description)
    guess = straight_guess(
        robot, drives, limits, (robot.q_home, robot.q_home + 0.05), mesh_of(10, True), None, 1.0
    )
    transcribe(robot, drives, limits, Task(intervals=10), guess, (robot.q_home, robot.q_home + 0.05))
    assert (
        len(kernel_store._loaded) - before <= 8
    )  # kernels of the loaded robot itself, none of the six of the program
