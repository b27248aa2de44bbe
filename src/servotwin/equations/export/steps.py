"""A program as numbered assignments, with names for people.

======  =============================================================================================
name    value
======  =============================================================================================
q2      coordinate 2; ``qd2``, ``qdd2``, ``tau2`` likewise
s2, c2  sine and cosine of the angle of coordinate 2
s23     sine of q2 + q3; ``s2m3`` of q2 - q3
q23     q2 + q3; ``qd23``, ``qdd23`` likewise
a2      an angle with a constant part, such as q2 + th2
k1, k2  constants: follow from the robot's numbers alone
v1, v2  everything else, in order
M12     entry of a result that other lines need too
======  =============================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from servotwin.equations.export.cut import named_nodes
from servotwin.equations.export.names import Names, joined
from servotwin.equations.export.script import Argument, Function, Result, Step, indices
from servotwin.equations.export.terms import Kind, Symbol
from servotwin.equations.export.tree import inside, term_of
from servotwin.equations.graph import Graph, Op
from servotwin.equations.programs import Block, Program

_TURNS = (Op.SIN, Op.COS)


@dataclass(frozen=True)
class Request:
    """A program to be written as a function, with names for its results."""

    name: str
    program: Program
    results: tuple[str, ...]
    summary: str = ""


@dataclass(frozen=True)
class Counting:
    """How indices are written: from ``first``, and with separators where they may have two digits (``wide``)."""

    first: int
    wide: bool

    @classmethod
    def of(cls, request: Request, first: int) -> Counting:
        """For the arrays of a program."""
        blocks = (*request.program.inputs, *request.program.outputs)
        largest = max((n for block in blocks for n in block.shape), default=1)
        return cls(first, wide=largest - 1 + first > 9)

    def symbol(self, array: str, kind: Kind, index: tuple[int, ...]) -> Symbol:
        """An entry of an array."""
        shown = [k + self.first for k in index]
        return Symbol(joined(array, shown, wide=self.wide), kind, array, tuple(str(k) for k in shown))


def write_function(request: Request, robot: Mapping[int, Symbol], counting: Counting) -> Function:
    """One program as arguments, steps and results; ``robot`` names the nodes that belong to the robot."""
    program = request.program
    graph = program.derivation.graph
    known = dict(robot)
    arguments = [_argument(graph, block, known, counting) for block in program.inputs]
    results = _result_symbols(request, {argument.name for argument in arguments}, counting)
    roots = [e.id for block in program.outputs for e in block.entries]
    entries = [symbol for _, block in results for symbol in block]
    entry_of: dict[int, Symbol] = {}
    for i, symbol in zip(roots, entries, strict=True):
        entry_of.setdefault(i, symbol)
    names = Names({s.name for s in (*known.values(), *entries)})
    namer = _StepNames(graph, known, names, counting.wide)
    nodes = [i for i in graph.reachable(roots) if not graph.of_params[i]]
    steps = []
    for i in _turns_first(graph, named_nodes(graph, nodes, roots)):
        term = inside(graph, i, known)
        known[i] = entry_of.get(i) or namer.symbol(i)
        steps.append(Step(known[i], term))
    written = [
        Result(name, block.shape, _entries(graph, symbols, block, known))
        for (name, symbols), block in zip(results, program.outputs, strict=True)
    ]
    return Function(request.name, request.summary, tuple(arguments), tuple(steps), tuple(written))


def _turns_first(graph: Graph, nodes: Sequence[int]) -> list[int]:
    """Sines and cosines of coordinates in their order, then everything else."""
    turns = [i for i in nodes if graph.op[i] in _TURNS and graph.op[graph.a[i]] == Op.INPUT]
    turns.sort(key=lambda i: (graph.a[i], graph.op[i]))
    early = set(turns)
    return [*turns, *(i for i in nodes if i not in early)]


def _argument(graph: Graph, block: Block, known: dict[int, Symbol], counting: Counting) -> Argument:
    letters = graph.inputs[graph.a[block.entries[0].id]].rstrip("0123456789")
    for entry, index in zip(block.entries, indices(block.shape), strict=True):
        known[entry.id] = counting.symbol(letters, Kind.INPUT, index)
    return Argument(letters, block.shape, tuple(known[e.id] for e in block.entries))


def _result_symbols(request: Request, taken: set[str], counting: Counting) -> list[tuple[str, list[Symbol]]]:
    out = []
    names = Names(taken)
    for letters, block in zip(request.results, request.program.outputs, strict=True):
        array = names.take(letters)
        out.append((array, [counting.symbol(array, Kind.STEP, index) for index in indices(block.shape)]))
    return out


def _entries(
    graph: Graph, symbols: Sequence[Symbol], block: Block, known: Mapping[int, Symbol]
) -> tuple[Step, ...]:
    pairs = zip(symbols, block.entries, strict=True)
    return tuple(Step(symbol, term_of(graph, e.id, known)) for symbol, e in pairs)


@dataclass(frozen=True)
class _Combination:
    """Signs of the inputs that a node adds up, and whether a constant is added too."""

    signs: dict[int, int]
    constant: bool


class _StepNames:
    """Names of steps, by what they are."""

    def __init__(self, graph: Graph, known: Mapping[int, Symbol], names: Names, wide: bool) -> None:
        self.graph = graph
        self.known = known
        self.names = names
        self.wide = wide
        self.count = 0
        self.angles = {graph.a[i] for i, op in enumerate(graph.op) if op in _TURNS}

    def symbol(self, i: int) -> Symbol:
        """Name of a node."""
        op = self.graph.op[i]
        if op in _TURNS:
            combination = self._combination(self.graph.a[i])
            if combination is not None:
                return self._indexed("s" if op == Op.SIN else "c", combination)
        elif op in (Op.ADD, Op.SUB, Op.NEG):
            combination = self._combination(i)
            if combination is not None and (i in self.angles or not combination.constant):
                letters = self.known[next(iter(combination.signs))].letters
                return self._indexed("a" if combination.constant else letters, combination)
        self.count += 1
        return self._take(f"v{self.count}", "v", (str(self.count),))

    def _take(self, wish: str, letters: str, index: tuple[str, ...]) -> Symbol:
        name = self.names.take(wish)
        tail = name.removeprefix(wish).strip("_")
        return Symbol(name, Kind.STEP, letters, (*index, f"({tail})") if tail else index)

    def _indexed(self, letters: str, combination: _Combination) -> Symbol:
        index = []
        for i, sign in sorted(combination.signs.items()):
            (shown,) = self.known[i].index
            index.append(shown if sign > 0 else f"-{shown}")
        separator = "_" if self.wide else ""
        return self._take(letters + separator.join(index).replace("-", "m"), letters, tuple(index))

    def _combination(self, i: int) -> _Combination | None:
        """Inputs of one array with signs, plus a constant; None if the node is anything else."""
        found = self._collect(i, 1)
        if found is None or not found.signs:
            return None
        symbols = [self.known[k] for k in found.signs]
        alike = {s.letters for s in symbols}
        return found if len(alike) == 1 and all(len(s.index) == 1 for s in symbols) else None

    def _collect(self, i: int, sign: int) -> _Combination | None:
        graph = self.graph
        op = graph.op[i]
        if graph.of_params[i]:
            return _Combination({}, True)
        if op == Op.INPUT:
            return _Combination({i: sign}, False)
        if op == Op.NEG:
            return self._collect(graph.a[i], -sign)
        if op not in (Op.ADD, Op.SUB):
            return None
        x = self._collect(graph.a[i], sign)
        y = self._collect(graph.b[i], sign if op == Op.ADD else -sign)
        if x is None or y is None or x.signs.keys() & y.signs.keys():
            return None
        return _Combination({**x.signs, **y.signs}, x.constant or y.constant)
