"""Decides which nodes of a graph get a line of their own and which stand inside another line.

A value that is used once stands where it is used, until the line would grow
too long or its brackets too deep. Sines and cosines always get a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from servotwin.equations.graph import Graph, Op

OPERANDS = 8  # most symbols and numbers on the right of one assignment
NESTING = 1  # brackets within brackets: none


@dataclass(frozen=True)
class Form:
    """What an expression looks like: operation, operands, depth of brackets."""

    op: int
    operands: int
    nesting: int


ATOM = Form(Op.INPUT, 1, 0)
_SUMS = (Op.ADD, Op.SUB, Op.NEG)


def count_uses(graph: Graph, nodes: Iterable[int], roots: Iterable[int]) -> Counter[int]:
    """How often the nodes and the roots mention each node."""
    uses = Counter(roots)
    for i in nodes:
        if graph.op[i] >= Op.ADD:
            uses.update(arguments(graph, i))
    return uses


def arguments(graph: Graph, i: int) -> list[int]:
    """Nodes that an operation reads."""
    return [x for x in (graph.a[i], graph.b[i]) if x >= 0]


def named_nodes(
    graph: Graph, nodes: Sequence[int], roots: Sequence[int], always: Collection[int] = ()
) -> list[int]:
    """Those of ``nodes`` that get a line; everything they need outside ``nodes`` has a name already.

    ``roots`` are printed anyway, once for every mention; ``always`` are named whatever they are.
    """
    uses = count_uses(graph, nodes, roots)
    forms: dict[int, Form] = {}
    named: set[int] = set()
    for i in nodes:
        if graph.op[i] < Op.ADD:
            continue
        used = arguments(graph, i)
        form = _combine(graph.op[i], [forms.get(x, ATOM) for x in used])
        while form.operands > OPERANDS or form.nesting > NESTING:
            largest = max(used, key=lambda x: (forms.get(x, ATOM).nesting, forms.get(x, ATOM).operands))
            named.add(largest)
            forms[largest] = ATOM
            form = _combine(graph.op[i], [forms.get(x, ATOM) for x in used])
        if i in always or uses[i] > 1 or graph.op[i] in (Op.SIN, Op.COS):
            named.add(i)
            form = ATOM
        forms[i] = form
    return sorted(named)


def _combine(op: int, parts: Sequence[Form]) -> Form:
    operands = sum(part.operands for part in parts)
    if op in _SUMS:
        deeper = [False] * len(parts)  # sums within sums lose their brackets
    elif op == Op.MUL:
        deeper = [part.op in _SUMS for part in parts]
    elif op == Op.DIV:
        deeper = [parts[0].op in _SUMS, parts[1].op in (*_SUMS, Op.MUL, Op.DIV)]
    else:
        deeper = [True]
    return Form(op, operands, max(part.nesting + more for part, more in zip(parts, deeper, strict=True)))
