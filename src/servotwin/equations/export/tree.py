"""Nodes of a graph -> terms, down to the nodes that have a name."""

from __future__ import annotations

from collections.abc import Mapping

from servotwin.equations.export.terms import Call, Number, Quotient, Symbol, Term, product, total
from servotwin.equations.graph import Graph, Op

_CALLS = {
    Op.SIN: "sin", Op.COS: "cos", Op.SQRT: "sqrt", Op.EXP: "exp", Op.LOG: "log", Op.STEP: "step",
}  # fmt: skip


def term_of(graph: Graph, i: int, known: Mapping[int, Symbol]) -> Term:
    """The name of a node, or what it computes."""
    symbol = known.get(i)
    return inside(graph, i, known) if symbol is None else symbol


def inside(graph: Graph, i: int, known: Mapping[int, Symbol]) -> Term:
    """What a node computes."""
    op = graph.op[i]
    if op == Op.CONST:
        return Number(graph.constants[graph.a[i]])
    x = term_of(graph, graph.a[i], known)
    if op == Op.NEG:
        return total([(True, x)])
    if op in _CALLS:
        return Call(_CALLS[Op(op)], x)
    y = term_of(graph, graph.b[i], known)
    if op == Op.MUL:
        return product([x, y])
    if op == Op.DIV:
        return Quotient(x, y)
    return total([(False, x), (op == Op.SUB, y)])
