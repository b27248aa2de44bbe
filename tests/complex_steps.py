"""Values and derivatives of a graph at complex inputs: a second way to every derivative, exact to rounding."""

from __future__ import annotations

import cmath

import numpy as np

from servotwin.equations.graph import Graph, Op

UNARY = {
    Op.NEG: lambda z: -z,
    Op.SIN: cmath.sin,
    Op.COS: cmath.cos,
    Op.SQRT: cmath.sqrt,
    Op.EXP: cmath.exp,
    Op.LOG: cmath.log,
    Op.STEP: lambda z: 1.0 if z.real > 0.0 else 0.0,
}


def complex_values(graph: Graph, roots, inputs: dict[str, complex], params=()) -> list[complex]:
    """The roots at complex inputs: with x + ih the imaginary part is h times the derivative, without cancellation."""
    v: dict[int, complex] = {}
    for i in graph.reachable(e.id for e in roots):
        op, a, b = graph.op[i], graph.a[i], graph.b[i]
        if op == Op.CONST:
            v[i] = graph.constants[a]
        elif op == Op.INPUT:
            v[i] = inputs[graph.inputs[a]]
        elif op == Op.PARAM:
            v[i] = params[a]
        elif b < 0:
            v[i] = UNARY[Op(op)](complex(v[a]))
        else:
            x, y = v[a], v[b]
            v[i] = x + y if op == Op.ADD else x - y if op == Op.SUB else x * y if op == Op.MUL else x / y
    return [v[e.id] for e in roots]


def complex_jacobian(graph: Graph, roots, names, at: dict[str, float], params=()) -> np.ndarray:
    h = 1e-30
    columns = [
        [z.imag / h for z in complex_values(graph, roots, {**at, name: at[name] + 1j * h}, params)]
        for name in names
    ]
    return np.array(columns).T
