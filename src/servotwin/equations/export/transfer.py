"""Copies programs into one graph, so that they share symbols, or with numbers in place of parameters.

Functions that are exported together then share their parameters, and every
value that follows from parameters alone exists once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from servotwin.equations.derivation import Derivation, Numbers
from servotwin.equations.export.parameters import OWN
from servotwin.equations.graph import Expr, Graph, Op, apply
from servotwin.equations.programs import Block, Program
from servotwin.mechanism.grouping import MOMENTS

_MOMENT = re.compile(rf"({'|'.join(MOMENTS)})(\d+)")


class Transfer:
    """A graph that receives programs of one robot; ``numeric`` folds the values of parameters in."""

    def __init__(self, numbers: Numbers, *, numeric: bool = False) -> None:
        self.derivation = Derivation(numbers, {})
        self.numeric = numeric
        self._inputs: dict[str, Expr] = {}
        self._parameters: dict[str, Expr] = {}

    @property
    def graph(self) -> Graph:
        """The receiving graph."""
        return self.derivation.graph

    def program(
        self, program: Program, *, own_moments: bool = False, inputs: Mapping[str, str] | None = None
    ) -> Program:
        """The same program in this graph.

        ``own_moments``: its moments are of the bodies by themselves, not grouped, and get names of
        their own. ``inputs`` renames input arrays.
        """
        source = program.derivation.graph
        for name, value in program.derivation.table.items():
            self.derivation.table.setdefault(_moment_name(name, own_moments), value)
        blocks = [*program.inputs, *program.outputs]
        copies: dict[int, Expr] = {}
        for i in source.reachable(e.id for block in blocks for e in block.entries):
            op, a = source.op[i], source.a[i]
            if op == Op.CONST:
                copies[i] = self.graph.constant(source.constants[a])
            elif op == Op.INPUT:
                copies[i] = self._input(source.inputs[a], inputs or {})
            elif op == Op.PARAM:
                name = source.params[a]
                copies[i] = self._parameter(name, program.derivation.table[name], own_moments)
            else:
                copies[i] = self._operation(op, copies[a], copies.get(source.b[i]))
        new = [Block(block.shape, [copies[e.id] for e in block.entries]) for block in blocks]
        count = len(program.inputs)
        return Program(self.derivation, new[:count], new[count:])

    def _input(self, name: str, renamed: Mapping[str, str]) -> Expr:
        letters = name.rstrip("0123456789")
        name = renamed.get(letters, letters) + name[len(letters) :]
        if name not in self._inputs:
            self._inputs[name] = self.graph.input(name)
        return self._inputs[name]

    def _parameter(self, name: str, value: float, own_moments: bool) -> Expr:
        if self.numeric:
            return self.graph.constant(value)
        name = _moment_name(name, own_moments)
        if name not in self._parameters:
            self._parameters[name] = self.graph.param(name)
        return self._parameters[name]

    def _operation(self, op: int, x: Expr, y: Expr | None) -> Expr:
        graph = self.graph
        if y is None:
            unary: dict[int, Callable[[Expr], Expr]] = {
                Op.NEG: graph.neg,
                Op.SIN: graph.sin,
                Op.COS: graph.cos,
                Op.SQRT: graph.sqrt,
            }
            known = self._value(x)
            if known is not None and not (op == Op.SQRT and known < 0):
                return graph.constant(apply(op, known, 0.0))
            if graph.op[x.id] == Op.NEG and op in (Op.SIN, Op.COS):  # sin(-x) = -sin(x), cos(-x) = cos(x)
                opposite = unary[op](graph.neg(x))
                return graph.neg(opposite) if op == Op.SIN else opposite
            return unary[op](x)
        binary: dict[int, Callable[[Expr, Expr], Expr]] = {
            Op.ADD: graph.add,
            Op.SUB: graph.sub,
            Op.MUL: graph.mul,
            Op.DIV: graph.div,
        }
        return binary[op](x, y)

    def _value(self, x: Expr) -> float | None:
        graph = self.graph
        return graph.constants[graph.a[x.id]] if graph.op[x.id] == Op.CONST else None


def _moment_name(name: str, own: bool) -> str:
    match = _MOMENT.fullmatch(name) if own else None
    return f"{match[1]}{OWN}{match[2]}" if match else name


def has_own_moments(program: Program) -> bool:
    """Whether a program's table holds the moments of the bodies by themselves (as energies need them)."""
    numbers, table = program.derivation.numbers, program.derivation.table
    grouped = numbers.table()
    return any(table[name] != grouped[name] for name in table if _MOMENT.fullmatch(name))
