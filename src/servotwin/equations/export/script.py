"""What a back end reads: parameters, constants per robot, and functions as lists of assignments."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product as every

from servotwin.equations.export.parameters import Parameter
from servotwin.equations.export.terms import Kind, Symbol, Term, operations, symbols


@dataclass(frozen=True)
class Step:
    """symbol = term."""

    symbol: Symbol
    term: Term


@dataclass(frozen=True)
class Constant(Step):
    """A step that is done once per robot, and its value for the robot at hand."""

    value: float


@dataclass(frozen=True)
class Argument:
    """An input array: name, shape, and one symbol per entry in row-major order."""

    name: str
    shape: tuple[int, ...]
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True)
class Result:
    """An output array: name, shape, and symbol and term per entry in row-major order.

    An entry that other lines need is a step already; its term is then its own symbol.
    """

    name: str
    shape: tuple[int, ...]
    entries: tuple[Step, ...]


@dataclass(frozen=True)
class Function:
    """Arguments, steps in order, results."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    steps: tuple[Step, ...]
    results: tuple[Result, ...]

    @property
    def arrays(self) -> list[str]:
        """Names of arguments and results."""
        return [argument.name for argument in self.arguments] + [result.name for result in self.results]

    def terms(self) -> Iterator[Term]:
        """Right-hand sides in order."""
        yield from (step.term for step in self.steps)
        yield from (entry.term for result in self.results for entry in result.entries)

    @property
    def operations(self) -> dict[str, int]:
        """Operations of one call as printed."""
        return operations(list(self.terms()))

    @property
    def used(self) -> list[Symbol]:
        """Symbols that the right-hand sides mention, each once, in order."""
        return list(dict.fromkeys(s for term in self.terms() for s in symbols(term)))


@dataclass(frozen=True)
class Script:
    """A whole export. ``name`` is an identifier, ``title`` is for people."""

    name: str
    title: str
    coordinates: tuple[str, ...]  # what the coordinates are, one line each
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...]
    functions: tuple[Function, ...]
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> list[tuple[Symbol, float]]:
        """What functions need of the robot: parameters, then constants, in order."""
        used = {s for function in self.functions for s in function.used}
        known = [(p.symbol, p.value) for p in self.parameters]
        known += [(c.symbol, c.value) for c in self.constants]
        return [(symbol, value) for symbol, value in known if symbol in used]


def of_robot(symbol: Symbol) -> bool:
    """Whether a symbol belongs to the robot, not to one call."""
    return symbol.kind in (Kind.PARAMETER, Kind.CONSTANT)


def indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Index of every entry in row-major order."""
    return list(every(*(range(size) for size in shape)))


def size(shape: tuple[int, ...]) -> int:
    """Number of entries."""
    return math.prod(shape)


def counted(function: Function) -> str:
    """'24 mul, 17 add, 2 trig'."""
    some = [f"{n} {name}" for name, n in function.operations.items() if n]
    return ", ".join(some) if some else "none"
