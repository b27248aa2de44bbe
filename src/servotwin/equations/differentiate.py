r"""Exact derivatives on the expression graph: Jacobians and Hessians as further nodes of the same graph.

With :math:`\dot v_i = \partial v_i/\partial x` carried forwards from the inputs, or adjoints
:math:`\bar v_i = \partial y/\partial v_i` carried backwards from the outputs, every operation
:math:`v = \varphi(a, b)` contributes

.. math::

    \dot v = \frac{\partial\varphi}{\partial a}\,\dot a + \frac{\partial\varphi}{\partial b}\,\dot b,
    \qquad
    \bar a \mathrel{+}= \frac{\partial\varphi}{\partial a}\,\bar v, \quad
    \bar b \mathrel{+}= \frac{\partial\varphi}{\partial b}\,\bar v                       (eq:chain-rule)

Nothing is rounded or truncated on the way: a derivative is as exact as the function. Inputs may be any nodes,
which then count as independent; nodes that are ``held`` count as constants, wherever they occur. To differentiate
f(x, v) at v = v(x) with v fixed, give v inputs of its own and ``substitute`` them afterwards: an implicit function
costs no more than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from servotwin.equations.graph import Expr, Graph, Number, Op

Mode = Literal["auto", "forward", "reverse"]


@dataclass(frozen=True)
class SparseMatrix:
    """A matrix of expressions by its entries that are not identically zero, in row-major order."""

    graph: Graph
    shape: tuple[int, int]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    entries: tuple[Expr, ...]

    @classmethod
    def of(cls, graph: Graph, table: Sequence[Sequence[Expr]], width: int) -> SparseMatrix:
        """What of a full table is not zero."""
        places = [(i, j) for i, row in enumerate(table) for j, e in enumerate(row) if e is not graph.zero]
        rows, columns = tuple(i for i, _ in places), tuple(j for _, j in places)
        return cls(graph, (len(table), width), rows, columns, tuple(table[i][j] for i, j in places))

    @property
    def nonzeros(self) -> int:
        """How many entries are not identically zero."""
        return len(self.entries)

    def dense(self) -> list[list[Expr]]:
        """The full table, with zeros."""
        out = [[self.graph.zero] * self.shape[1] for _ in range(self.shape[0])]
        for i, j, entry in zip(self.rows, self.columns, self.entries, strict=True):
            out[i][j] = entry
        return out

    def lower(self) -> SparseMatrix:
        """The lower triangle with the diagonal, as solvers take a symmetric matrix."""
        kept = [k for k, (i, j) in enumerate(zip(self.rows, self.columns, strict=True)) if j <= i]
        return SparseMatrix(
            self.graph,
            self.shape,
            tuple(self.rows[k] for k in kept),
            tuple(self.columns[k] for k in kept),
            tuple(self.entries[k] for k in kept),
        )


class _Path:
    """What lies between inputs and outputs: nodes in order, and on which inputs each depends (as a set of bits)."""

    def __init__(self, graph: Graph, outputs: Sequence[Expr], inputs: Sequence[Expr], held: Iterable[Expr]):
        self.graph = graph
        self.leaves = {e.id: -1 for e in held}
        self.leaves.update((x.id, k) for k, x in enumerate(inputs))
        self.order = _between(graph, [y.id for y in outputs], self.leaves)
        self.depends: dict[int, int] = {}
        for i in self.order:
            place = self.leaves.get(i)
            if place is not None:
                self.depends[i] = 0 if place < 0 else 1 << place
            elif graph.op[i] < Op.ADD:
                self.depends[i] = 0
            else:
                right = self.depends[graph.b[i]] if graph.b[i] >= 0 else 0
                self.depends[i] = self.depends[graph.a[i]] | right

    def inner(self, i: int) -> bool:
        """Whether a node passes derivatives on: it depends on an input and is none."""
        return bool(self.depends[i]) and i not in self.leaves


def _between(graph: Graph, roots: Iterable[int], leaves: dict[int, int]) -> list[int]:
    """Nodes that the roots need, in order, without looking behind the leaves."""
    needed: set[int] = set()
    stack = list(roots)
    while stack:
        i = stack.pop()
        if i in needed:
            continue
        needed.add(i)
        if i not in leaves and graph.op[i] >= Op.ADD:
            stack.append(graph.a[i])
            if graph.b[i] >= 0:
                stack.append(graph.b[i])
    return sorted(needed)


def _partials(graph: Graph, i: int) -> tuple[Expr, Expr | None]:
    """Derivatives of node i with respect to its one or two arguments (eq:chain-rule)."""
    op, x = graph.op[i], graph.expr(graph.a[i])
    if graph.b[i] < 0:
        return graph.slope(i), None
    y = graph.expr(graph.b[i])
    if op == Op.ADD:
        return graph.one, graph.one
    if op == Op.SUB:
        return graph.one, -graph.one
    if op == Op.MUL:
        return y, x
    inverse = 1.0 / y
    return inverse, -(graph.expr(i) * inverse)


def sparsity(
    outputs: Sequence[Expr | Number], inputs: Sequence[Expr], held: Iterable[Expr] = ()
) -> list[tuple[int, ...]]:
    """For every output the inputs on which it may depend, without deriving anything."""
    if not inputs:
        return [() for _ in outputs]
    graph = inputs[0].graph
    exprs = [graph.lift(y) for y in outputs]
    path = _Path(graph, exprs, inputs, held)
    return [tuple(_bits(path.depends[y.id])) for y in exprs]


def jacobian(
    outputs: Sequence[Expr | Number],
    inputs: Sequence[Expr],
    held: Iterable[Expr] = (),
    mode: Mode = "auto",
) -> SparseMatrix:
    r"""First derivatives :math:`J_{ij} = \partial y_i/\partial x_j` as nodes of the graph.

    ``mode``: forward goes once through the graph for every input, reverse for every output; auto takes
    the one that visits fewer nodes.
    """
    if not inputs:
        raise ValueError("a Jacobian needs an input")
    graph = inputs[0].graph
    exprs = [graph.lift(y) for y in outputs]
    path = _Path(graph, exprs, inputs, held)
    if mode == "auto":
        mode = "forward" if _forward_visits(path) <= _reverse_visits(path, exprs) else "reverse"
    table = _forward(path, exprs, inputs) if mode == "forward" else _reverse(path, exprs, inputs)
    return SparseMatrix.of(graph, table, len(inputs))


def gradient(output: Expr, inputs: Sequence[Expr], held: Iterable[Expr] = ()) -> list[Expr]:
    """Derivatives of one output with respect to all inputs, in one pass backwards."""
    return pullback([output], [1.0], inputs, held)


def pullback(
    outputs: Sequence[Expr | Number],
    weights: Sequence[Expr | Number],
    inputs: Sequence[Expr],
    held: Iterable[Expr] = (),
) -> list[Expr]:
    """w^T J in one pass backwards; the weights count as constants."""
    graph = inputs[0].graph
    exprs = [graph.lift(y) for y in outputs]
    path = _Path(graph, exprs, inputs, held)
    seeds: dict[int, Expr] = {}
    for y, w in zip(exprs, weights, strict=True):
        seeds[y.id] = seeds.get(y.id, graph.zero) + w
    return _adjoints(path, seeds, inputs)


def pushforward(
    outputs: Sequence[Expr | Number],
    inputs: Sequence[Expr],
    direction: Sequence[Expr | Number],
    held: Iterable[Expr] = (),
) -> list[Expr]:
    """J v in one pass forwards; the direction counts as constant."""
    graph = inputs[0].graph
    exprs = [graph.lift(y) for y in outputs]
    path = _Path(graph, exprs, inputs, held)
    rate = {x.id: graph.lift(v) for x, v in zip(inputs, direction, strict=True)}
    for i in path.order:
        if path.inner(i):
            rate[i] = _rate(graph, i, rate)
    return [rate.get(y.id, graph.zero) for y in exprs]


def hessian(
    outputs: Expr | Sequence[Expr | Number],
    inputs: Sequence[Expr],
    weights: Sequence[Expr | Number] | None = None,
    held: Iterable[Expr] = (),
) -> SparseMatrix:
    r"""Second derivatives of one output, or of a sum of outputs with constant weights.

    .. math:: H_{jk} = \sum_i w_i\,\frac{\partial^2 y_i}{\partial x_j\,\partial x_k}        (eq:weighted-hessian)

    Forward over reverse. Both triangles are there and share their nodes; ``lower()`` is the half a solver wants.
    """
    held = tuple(held)
    many = [outputs] if isinstance(outputs, Expr) else list(outputs)
    ones: Sequence[Expr | Number] = [1.0] * len(many) if weights is None else weights
    slope = pullback(many, ones, inputs, held)
    fixed = (*held, *_constants(weights, inputs))
    table = jacobian(slope, inputs, fixed, mode="forward").dense()
    for i, row in enumerate(table):
        for j in range(i + 1, len(row)):
            row[j] = table[j][i]  # eq:weighted-hessian is symmetric: the second half costs nothing
    return SparseMatrix.of(inputs[0].graph, table, len(inputs))


def hessian_vector(
    outputs: Expr | Sequence[Expr | Number],
    inputs: Sequence[Expr],
    direction: Sequence[Expr | Number],
    weights: Sequence[Expr | Number] | None = None,
    held: Iterable[Expr] = (),
) -> list[Expr]:
    """H v of eq:weighted-hessian, without the matrix: costs a few times what the outputs cost."""
    held = tuple(held)
    many = [outputs] if isinstance(outputs, Expr) else list(outputs)
    ones: Sequence[Expr | Number] = [1.0] * len(many) if weights is None else weights
    slope = pullback(many, ones, inputs, held)
    return pushforward(slope, inputs, direction, (*held, *_constants(weights, inputs)))


def substitute(roots: Sequence[Expr], values: Mapping[Expr, Expr]) -> list[Expr]:
    """The roots with some inputs replaced by other expressions of the same graph."""
    if not roots:
        return []
    graph = roots[0].graph
    leaves = {x.id: -1 for x in values}
    copies = {x.id: value for x, value in values.items()}
    for i in _between(graph, [e.id for e in roots], leaves):
        if i not in copies:
            copies[i] = _copy(graph, i, copies)
    return [copies[e.id] for e in roots]


def _copy(graph: Graph, i: int, copies: Mapping[int, Expr]) -> Expr:
    """Node i with copies of its arguments; itself if these have not changed."""
    op = graph.op[i]
    if op < Op.ADD:
        return graph.expr(i)
    a = copies[graph.a[i]]
    b = copies[graph.b[i]] if graph.b[i] >= 0 else None
    if a.id == graph.a[i] and (b is None or b.id == graph.b[i]):
        return graph.expr(i)
    if b is not None:
        make = {Op.ADD: graph.add, Op.SUB: graph.sub, Op.MUL: graph.mul, Op.DIV: graph.div}
        return make[Op(op)](a, b)
    return graph.unary(op)(a)


# --- one pass --------------------------------------------------------------------------------------
def _constants(weights: Sequence[Expr | Number] | None, inputs: Sequence[Expr]) -> list[Expr]:
    """Weights that are expressions; one that is itself an input would not be constant."""
    exprs = [w for w in weights or () if isinstance(w, Expr)]
    places = {x.id for x in inputs}
    if any(w.id in places for w in exprs):
        raise ValueError("a weight of a Hessian is one of its inputs")
    return exprs


def _rate(graph: Graph, i: int, rate: dict[int, Expr]) -> Expr:
    """Forward derivative of one node from those of its arguments (eq:chain-rule)."""
    by_a, by_b = _partials(graph, i)
    total = by_a * rate[graph.a[i]] if graph.a[i] in rate else graph.zero
    if by_b is not None and graph.b[i] in rate:
        total = total + by_b * rate[graph.b[i]]
    return total


def _forward(path: _Path, outputs: Sequence[Expr], inputs: Sequence[Expr]) -> list[list[Expr]]:
    graph = path.graph
    columns = []
    for k, x in enumerate(inputs):
        rate = {x.id: graph.one}
        for i in path.order:
            if path.depends[i] >> k & 1 and i not in path.leaves:
                rate[i] = _rate(graph, i, rate)
        columns.append([rate.get(y.id, graph.zero) for y in outputs])
    return [list(row) for row in zip(*columns, strict=True)]


def _reverse(path: _Path, outputs: Sequence[Expr], inputs: Sequence[Expr]) -> list[list[Expr]]:
    return [_adjoints(path, {y.id: path.graph.one}, inputs) for y in outputs]


def _adjoints(path: _Path, seeds: dict[int, Expr], inputs: Sequence[Expr]) -> list[Expr]:
    """Adjoints of the inputs from those of the outputs (eq:chain-rule)."""
    graph = path.graph
    adjoint = dict(seeds)
    for i in reversed(path.order):
        bar = adjoint.get(i)
        if bar is None or bar is graph.zero or not path.inner(i):
            continue
        for argument, partial in zip((graph.a[i], graph.b[i]), _partials(graph, i), strict=True):
            if partial is not None and path.depends[argument]:
                adjoint[argument] = adjoint.get(argument, graph.zero) + partial * bar
    return [adjoint.get(x.id, graph.zero) for x in inputs]


# --- cost ------------------------------------------------------------------------------------------
def _bits(mask: int) -> list[int]:
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


def _forward_visits(path: _Path) -> int:
    return sum(path.depends[i].bit_count() for i in path.order if path.inner(i))


def _reverse_visits(path: _Path, outputs: Sequence[Expr]) -> int:
    graph, visits = path.graph, 0
    wanted: dict[int, int] = {}
    for k, y in enumerate(outputs):
        wanted[y.id] = wanted.get(y.id, 0) | 1 << k
    for i in reversed(path.order):
        if i in wanted and path.inner(i):
            visits += wanted[i].bit_count()
            for argument in (graph.a[i], graph.b[i]):
                if argument >= 0 and path.depends[argument]:
                    wanted[argument] = wanted.get(argument, 0) | wanted[i]
    return visits
