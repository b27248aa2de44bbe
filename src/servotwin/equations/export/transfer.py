"""Copies programs into graphs of their own: with other names, or with numbers in place of parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from servotwin.equations.derivation import Derivation
from servotwin.equations.export.parameters import OWN, group_of
from servotwin.equations.graph import Expr, Graph, Op, apply
from servotwin.equations.programs import Block, Program
from servotwin.mechanism.grouping import MOMENTS

_MOMENT = re.compile(rf"({'|'.join(MOMENTS)})(\d+)")
Leaf = Callable[[str], Expr]  # name -> node


def copied(
    program: Program,
    *,
    numeric: Collection[str] = (),
    own_moments: bool = False,
    inputs: Mapping[str, str] | None = None,
) -> Program:
    """The same program in a graph of its own.

    ``numeric`` names groups of parameters whose values are folded in. ``own_moments``: its moments are of the bodies by
    themselves, not grouped, and get names that say so. ``inputs`` renames input arrays.
    """
    table = program.derivation.table
    target = Derivation(
        program.derivation.numbers,
        {_moment_name(name, own_moments): value for name, value in table.items()},
    )
    graph = target.graph
    renamed = inputs or {}

    def read(name: str) -> Expr:
        letters = name.rstrip("0123456789")
        return graph.input(renamed.get(letters, letters) + name[len(letters) :])

    def number(name: str) -> Expr:
        if group_of(name) in numeric:
            return graph.constant(table[name])
        return graph.param(_moment_name(name, own_moments))

    blocks = [*program.inputs, *program.outputs]
    roots = [e.id for block in blocks for e in block.entries]
    copies = copy_nodes(program.derivation.graph, graph, roots, read, number)
    new = [Block(block.shape, [copies[e.id] for e in block.entries]) for block in blocks]
    count = len(program.inputs)
    return Program(target, new[:count], new[count:])


def copy_nodes(
    source: Graph, target: Graph, roots: Iterable[int], read: Leaf, number: Leaf
) -> dict[int, Expr]:
    """Copies of all nodes that the roots need; ``read`` and ``number`` give those of inputs and parameters."""
    copies: dict[int, Expr] = {}
    for i in source.reachable(roots):
        op, a = source.op[i], source.a[i]
        if op == Op.CONST:
            copies[i] = target.constant(source.constants[a])
        elif op == Op.INPUT:
            copies[i] = read(source.inputs[a])
        elif op == Op.PARAM:
            copies[i] = number(source.params[a])
        elif source.b[i] < 0:
            copies[i] = _unary(target, op, copies[a])
        else:
            copies[i] = _binary(target, op)(copies[a], copies[source.b[i]])
    return copies


def _binary(graph: Graph, op: int) -> Callable[[Expr, Expr], Expr]:
    return {Op.ADD: graph.add, Op.SUB: graph.sub, Op.MUL: graph.mul, Op.DIV: graph.div}[Op(op)]


def _unary(graph: Graph, op: int, x: Expr) -> Expr:
    if graph.op[x.id] == Op.CONST:
        value = graph.constants[graph.a[x.id]]
        defined = {Op.SQRT: value >= 0.0, Op.LOG: value > 0.0}
        if defined.get(Op(op), True):
            return graph.constant(apply(op, value, 0.0))
    if op not in (Op.SIN, Op.COS):
        return graph.unary(op)(x)
    negative = graph.op[x.id] == Op.NEG
    angle = graph.neg(x) if negative else x
    if op == Op.COS:
        return graph.cos(angle)  # cos(-x) = cos(x)
    return graph.neg(graph.sin(angle)) if negative else graph.sin(angle)  # sin(-x) = -sin(x)


def _moment_name(name: str, own: bool) -> str:
    match = _MOMENT.fullmatch(name) if own else None
    return f"{match[1]}{OWN}{match[2]}" if match else name


def has_own_moments(program: Program) -> bool:
    """Whether a program's table holds the moments of the bodies by themselves (as energies need them)."""
    numbers, table = program.derivation.numbers, program.derivation.table
    grouped = numbers.table()
    return any(table[name] != grouped[name] for name in table if _MOMENT.fullmatch(name))
