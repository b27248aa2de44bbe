"""A hash-consed expression graph: equal expressions are one node, so common parts are free.

Nodes are added by ordinary arithmetic on ``Expr``. Zeros and ones fold away,
signs move outwards until an addition or the output absorbs them, and sums and
products are put in one order, so that what is written twice is stored once.
A node that depends on parameters only (masses, lengths) is marked: the
generated code receives its value instead of computing it at every call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum


class Op(IntEnum):
    """What a node does with its arguments."""

    CONST = 0
    INPUT = 1  # changes at every evaluation: q, qd, ...
    PARAM = 2  # belongs to the robot: mass, length, ...
    ADD = 3
    SUB = 4
    MUL = 5
    DIV = 6
    NEG = 7
    SIN = 8
    COS = 9
    SQRT = 10
    EXP = 11
    LOG = 12
    STEP = 13  # 1 where the argument is above zero, else 0


Number = float | int


class Expr:
    """A node of a graph, with arithmetic. Compare by identity: equal expressions are the same object."""

    __slots__ = ("graph", "id")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.id = index

    def __add__(self, other: Expr | Number) -> Expr:
        return self.graph.add(self, self.graph.lift(other))

    __radd__ = __add__

    def __sub__(self, other: Expr | Number) -> Expr:
        return self.graph.sub(self, self.graph.lift(other))

    def __rsub__(self, other: Expr | Number) -> Expr:
        return self.graph.sub(self.graph.lift(other), self)

    def __mul__(self, other: Expr | Number) -> Expr:
        return self.graph.mul(self, self.graph.lift(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Expr | Number) -> Expr:
        return self.graph.div(self, self.graph.lift(other))

    def __rtruediv__(self, other: Expr | Number) -> Expr:
        return self.graph.div(self.graph.lift(other), self)

    def __neg__(self) -> Expr:
        return self.graph.neg(self)

    def __repr__(self) -> str:
        op = Op(self.graph.op[self.id])
        return f"<{op.name.lower()} {self.id}>"


class Graph:
    """Nodes in creation order: every argument stands before its use."""

    def __init__(self) -> None:
        self.op: list[int] = []
        self.a: list[int] = []  # first argument; for CONST, INPUT, PARAM an index into a table
        self.b: list[int] = []
        self.constants: list[float] = []
        self.inputs: list[str] = []
        self.params: list[str] = []
        self.of_params: list[bool] = []  # True if no input lies below the node
        self._exprs: list[Expr] = []
        self._seen: dict[tuple[int, int, int], int] = {}
        self._constant_ids: dict[float, int] = {}
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)

    def __len__(self) -> int:
        return len(self.op)

    # --- leaves -----------------------------------------------------------------------------------
    def constant(self, value: Number) -> Expr:
        """The node of a number."""
        value = float(value) + 0.0  # -0.0 and 0.0 are one number here
        index = self._constant_ids.get(value)
        if index is None:
            self.constants.append(value)
            index = self._append(Op.CONST, len(self.constants) - 1, -1, True)
            self._constant_ids[value] = index
        return self._exprs[index]

    def input(self, name: str) -> Expr:
        """A value that changes at every evaluation."""
        self.inputs.append(name)
        return self._exprs[self._append(Op.INPUT, len(self.inputs) - 1, -1, False)]

    def param(self, name: str) -> Expr:
        """A value that belongs to the robot."""
        self.params.append(name)
        return self._exprs[self._append(Op.PARAM, len(self.params) - 1, -1, True)]

    def lift(self, value: Expr | Number) -> Expr:
        """Expression as it is, number as a node."""
        return value if type(value) is Expr else self.constant(value)  # type: ignore[arg-type]

    # --- operations -------------------------------------------------------------------------------
    def add(self, x: Expr, y: Expr) -> Expr:
        """x + y."""
        if x is self.zero:
            return y
        if y is self.zero:
            return x
        u, v = self.op[x.id], self.op[y.id]
        if u == Op.CONST and v == Op.CONST:
            return self.constant(self._value(x) + self._value(y))
        if v == Op.NEG:
            return self.sub(x, self._exprs[self.a[y.id]])
        if u == Op.NEG:
            return self.sub(y, self._exprs[self.a[x.id]])
        return self._node(Op.ADD, *sorted((x.id, y.id)))

    def sub(self, x: Expr, y: Expr) -> Expr:
        """x - y."""
        if x is y:
            return self.zero
        if y is self.zero:
            return x
        if x is self.zero:
            return self.neg(y)
        u, v = self.op[x.id], self.op[y.id]
        if u == Op.CONST and v == Op.CONST:
            return self.constant(self._value(x) - self._value(y))
        if v == Op.NEG:
            return self.add(x, self._exprs[self.a[y.id]])
        if u == Op.NEG:
            return self.neg(self.add(self._exprs[self.a[x.id]], y))
        if x.id > y.id:  # one order, so that x - y and y - x share a node
            return self.neg(self._node(Op.SUB, y.id, x.id))
        return self._node(Op.SUB, x.id, y.id)

    def mul(self, x: Expr, y: Expr) -> Expr:
        """x y."""
        if x is self.zero or y is self.zero:
            return self.zero
        if x is self.one:
            return y
        if y is self.one:
            return x
        u, v = self.op[x.id], self.op[y.id]
        if u == Op.CONST and v == Op.CONST:
            return self.constant(self._value(x) * self._value(y))
        if u == Op.NEG:
            return self.neg(self.mul(self._exprs[self.a[x.id]], y))
        if v == Op.NEG:
            return self.neg(self.mul(x, self._exprs[self.a[y.id]]))
        for s, t, kind in ((x, y, u), (y, x, v)):
            if kind == Op.CONST and self._value(s) < 0:
                return self.neg(self.mul(self.constant(-self._value(s)), t))
        return self._node(Op.MUL, *sorted((x.id, y.id)))

    def div(self, x: Expr, y: Expr) -> Expr:
        """x / y."""
        if x is self.zero or y is self.one:
            return x
        u, v = self.op[x.id], self.op[y.id]
        if u == Op.CONST and v == Op.CONST and self._value(y) != 0:
            return self.constant(self._value(x) / self._value(y))
        if u == Op.NEG:
            return self.neg(self.div(self._exprs[self.a[x.id]], y))
        if v == Op.NEG:
            return self.neg(self.div(x, self._exprs[self.a[y.id]]))
        return self._node(Op.DIV, x.id, y.id)

    def neg(self, x: Expr) -> Expr:
        """-x."""
        if self.op[x.id] == Op.CONST:
            return self.constant(-self._value(x))
        if self.op[x.id] == Op.NEG:
            return self._exprs[self.a[x.id]]
        return self._node(Op.NEG, x.id, -1)

    def sin(self, x: Expr) -> Expr:
        """Sine."""
        if self.op[x.id] == Op.NEG:
            return self.neg(self.sin(self._exprs[self.a[x.id]]))
        return self._node(Op.SIN, x.id, -1)

    def cos(self, x: Expr) -> Expr:
        """Cosine."""
        if self.op[x.id] == Op.NEG:
            return self.cos(self._exprs[self.a[x.id]])
        return self._node(Op.COS, x.id, -1)

    def sqrt(self, x: Expr) -> Expr:
        """Square root."""
        return self._node(Op.SQRT, x.id, -1)

    def exp(self, x: Expr) -> Expr:
        """Exponential."""
        return self.one if x is self.zero else self._node(Op.EXP, x.id, -1)

    def log(self, x: Expr) -> Expr:
        """Natural logarithm."""
        return self.zero if x is self.one else self._node(Op.LOG, x.id, -1)

    def step(self, x: Expr) -> Expr:
        """1 where x > 0, else 0: what switches between two laws; its derivative is zero."""
        if self.op[x.id] == Op.CONST:
            return self.one if self._value(x) > 0.0 else self.zero
        return self._node(Op.STEP, x.id, -1)

    def unary(self, op: int) -> Callable[[Expr], Expr]:
        """The operation of one argument behind a code."""
        return {
            Op.NEG: self.neg, Op.SIN: self.sin, Op.COS: self.cos, Op.SQRT: self.sqrt, Op.EXP: self.exp,
            Op.LOG: self.log, Op.STEP: self.step,
        }[Op(op)]  # fmt: skip

    # --- internals --------------------------------------------------------------------------------
    def _value(self, x: Expr) -> float:
        return self.constants[self.a[x.id]]

    def _node(self, op: Op, a: int, b: int) -> Expr:
        key = (op, a, b)
        index = self._seen.get(key)
        if index is None:
            of_params = self.of_params[a] and (b < 0 or self.of_params[b])
            index = self._append(op, a, b, of_params)
            self._seen[key] = index
        return self._exprs[index]

    def _append(self, op: Op, a: int, b: int, of_params: bool) -> int:
        index = len(self.op)
        self.op.append(int(op))
        self.a.append(a)
        self.b.append(b)
        self.of_params.append(of_params)
        self._exprs.append(Expr(self, index))
        return index

    # --- questions --------------------------------------------------------------------------------
    def expr(self, index: int) -> Expr:
        """The expression of a node number."""
        return self._exprs[index]

    def reachable(self, roots: Iterable[int]) -> list[int]:
        """Node numbers that the roots need, in creation order."""
        needed = bytearray(len(self.op))
        stack = list(roots)
        while stack:
            i = stack.pop()
            if needed[i]:
                continue
            needed[i] = 1
            if self.op[i] >= Op.ADD:
                stack.append(self.a[i])
                if self.b[i] >= 0:
                    stack.append(self.b[i])
        return [i for i, flag in enumerate(needed) if flag]

    def evaluate(
        self, roots: Sequence[Expr | Number], inputs: Mapping[str, float], params: Sequence[float] = ()
    ) -> list[float]:
        """Values of the roots by plain Python floats: the reference for the generated code."""
        exprs = [self.lift(r) for r in roots]
        values: dict[int, float] = {}
        for i in self.reachable(e.id for e in exprs):
            values[i] = self._compute(i, values, inputs, params)
        return [values[e.id] for e in exprs]

    def _compute(
        self, i: int, v: Mapping[int, float], inputs: Mapping[str, float], params: Sequence[float]
    ) -> float:
        op, a, b = self.op[i], self.a[i], self.b[i]
        if op == Op.CONST:
            return self.constants[a]
        if op == Op.INPUT:
            return inputs[self.inputs[a]]
        if op == Op.PARAM:
            return params[a]
        return apply(op, v[a], v[b] if b >= 0 else 0.0)

    def operations(self, roots: Sequence[Expr | Number]) -> dict[str, int]:
        """How many operations one evaluation costs: what depends on parameters only is not counted."""
        count = {"mul": 0, "add": 0, "div": 0, "trig": 0, "neg": 0}
        names = {Op.ADD: "add", Op.SUB: "add", Op.MUL: "mul", Op.DIV: "div", Op.NEG: "neg"}
        for i in self.reachable(self.lift(r).id for r in roots):
            if self.op[i] >= Op.ADD and not self.of_params[i]:
                count[names.get(Op(self.op[i]), "trig")] += 1
        return count

    def derivative(self, roots: Sequence[Expr | Number], seeds: Mapping[int, Expr | Number]) -> list[Expr]:
        """Derivative of the roots along a direction: ``seeds`` maps input node numbers to their rates."""
        exprs = [self.lift(r) for r in roots]
        rate: dict[int, Expr] = {}
        for i in self.reachable(e.id for e in exprs):
            if self.of_params[i]:
                rate[i] = self.zero
            elif self.op[i] == Op.INPUT:
                rate[i] = self.lift(seeds.get(i, 0.0))
            else:
                rate[i] = self._differentiate(i, rate)
        return [rate[e.id] for e in exprs]

    def _differentiate(self, i: int, rate: Mapping[int, Expr]) -> Expr:
        op, x = self.op[i], self._exprs[self.a[i]]
        dx = rate[self.a[i]]
        if self.b[i] < 0:
            return self.slope(i) * dx
        y, dy = self._exprs[self.b[i]], rate[self.b[i]]
        if op == Op.ADD:
            return dx + dy
        if op == Op.SUB:
            return dx - dy
        if op == Op.MUL:
            return dx * y + x * dy
        return (dx - self._exprs[i] * dy) / y

    def slope(self, i: int) -> Expr:
        """Derivative of a node of one argument with respect to it."""
        x, value = self._exprs[self.a[i]], self._exprs[i]
        slopes: dict[Op, Callable[[], Expr]] = {
            Op.NEG: lambda: -self.one,
            Op.SIN: lambda: self.cos(x),
            Op.COS: lambda: -self.sin(x),
            Op.SQRT: lambda: 0.5 / value,
            Op.EXP: lambda: value,
            Op.LOG: lambda: 1.0 / x,
            Op.STEP: lambda: self.zero,
        }
        return slopes[Op(self.op[i])]()


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan)


def _quotient(x: float, y: float) -> float:
    return x / y if y else math.copysign(math.inf, x)  # as machine code does


_ON_FLOATS: dict[int, Callable[[float, float], float]] = {
    Op.ADD: lambda x, y: x + y,
    Op.SUB: lambda x, y: x - y,
    Op.MUL: lambda x, y: x * y,
    Op.DIV: _quotient,
    Op.NEG: lambda x, _: -x,
    Op.SIN: lambda x, _: math.sin(x),
    Op.COS: lambda x, _: math.cos(x),
    Op.SQRT: lambda x, _: math.sqrt(x),
    Op.EXP: lambda x, _: math.exp(x),
    Op.LOG: lambda x, _: _log(x),
    Op.STEP: lambda x, _: 1.0 if x > 0.0 else 0.0,
}


def apply(op: int, x: float, y: float) -> float:
    """One operation on floats."""
    return _ON_FLOATS[op](x, y)
