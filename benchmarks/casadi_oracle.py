"""Our optimal-motion programs on CasADi: the same graph as SX, its derivatives and its calls of IPOPT."""

from __future__ import annotations

import time
from dataclasses import dataclass

import casadi as ca
import numpy as np

from servotwin.equations.derivation import Derivation
from servotwin.equations.graph import Op
from servotwin.motion.optimal.block_nlp import BlockFunction
from servotwin.motion.optimal.heat_problem import heat_function, rest_heat_function
from servotwin.motion.optimal.ipopt import OPTIONS
from servotwin.motion.optimal.point_problem import link_function, node_function
from servotwin.motion.optimal.transcription import Program
from servotwin.robot.robot import Robot

BINARY = {
    Op.ADD: lambda x, y: x + y,
    Op.SUB: lambda x, y: x - y,
    Op.MUL: lambda x, y: x * y,
    Op.DIV: lambda x, y: x / y,
}
UNARY = {Op.NEG: lambda x: -x, Op.SIN: ca.sin, Op.COS: ca.cos, Op.SQRT: ca.sqrt}


@dataclass(frozen=True)
class OracleAnswer:
    """What CasADi and IPOPT found, and the times [s] for expressions with derivatives, and for solving."""

    x: np.ndarray
    status: str
    iterations: int
    build_s: float
    solve_s: float


def as_function(function: BlockFunction, table: dict[str, float]) -> ca.Function:
    """A block function as SX: (variables, data) -> (cost, rows)."""
    graph = function.derivation.graph
    x, p = ca.SX.sym("x", len(function.variables)), ca.SX.sym("p", len(function.data))
    value = {e.id: x[k] for k, e in enumerate(function.variables)}
    value.update((e.id, p[k]) for k, e in enumerate(function.data))
    roots = [graph.lift(e).id for e in (function.cost, *function.rows)]
    for i in graph.reachable(roots):
        op, a, b = graph.op[i], graph.a[i], graph.b[i]
        if op == Op.CONST:
            value[i] = ca.SX(graph.constants[a])
        elif op == Op.PARAM:
            value[i] = ca.SX(table[graph.params[a]])
        elif op in BINARY:
            value[i] = BINARY[Op(op)](value[a], value[b])
        elif op in UNARY:
            value[i] = UNARY[Op(op)](value[a])
    return ca.Function("block", [x, p], [value[roots[0]], ca.vertcat(*(value[r] for r in roots[1:]))])


def functions_of(robot: Robot, program: Program) -> list[BlockFunction]:
    """The block functions of a program, in the order of its families."""
    kinds = [node_function, link_function]
    if program.form.heated:
        kinds += [heat_function, rest_heat_function]
    return [kind(Derivation(robot.numbers, program.table), program.form) for kind in kinds]


def solve_with_casadi(robot: Robot, program: Program) -> OracleAnswer:
    """The program as one SX expression, differentiated by CasADi and solved by its IPOPT with our options."""
    began = time.perf_counter()
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
    options = {key: value for key, value in OPTIONS.items() if key != "sb"}
    nlp = {"x": x, "f": cost, "g": ca.vertcat(*rows)}
    solver = ca.nlpsol("oracle", "ipopt", nlp, {"ipopt": {**options, "sb": "yes"}, "print_time": 0})
    built = time.perf_counter()
    answer = solver(
        x0=program.x0,
        lbx=program.low,
        ubx=program.high,
        lbg=np.concatenate(program.nlp.low),
        ubg=np.concatenate(program.nlp.high),
    )
    stats = solver.stats()
    return OracleAnswer(
        np.asarray(answer["x"]).ravel(),
        str(stats["return_status"]),
        int(stats["iter_count"]),
        built - began,
        time.perf_counter() - built,
    )
