"""Programs -> numbered assignments: constants once per robot, then steps at every call, with names for people.

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
from dataclasses import dataclass, field

from servotwin.equations.export import terms
from servotwin.equations.export.cut import named_nodes
from servotwin.equations.export.names import Names, joined
from servotwin.equations.export.parameters import Glossary, Parameter
from servotwin.equations.export.script import Argument, Constant, Function, Result, Step, indices
from servotwin.equations.export.terms import Kind, Number, Symbol, Term
from servotwin.equations.graph import Graph, Op
from servotwin.equations.programs import Block, Program

_TURNS = (Op.SIN, Op.COS)
_CALLS = {Op.SIN: "sin", Op.COS: "cos", Op.SQRT: "sqrt"}


@dataclass(frozen=True)
class Request:
    """A program to be written as a function, with names for its results."""

    name: str
    program: Program
    results: tuple[str, ...]
    summary: str = ""


@dataclass
class Writer:
    """Turns programs that share one graph into functions."""

    graph: Graph
    glossary: Glossary
    wide: bool  # indices may have two digits
    symbols: dict[int, Symbol] = field(default_factory=dict)  # parameters and constants, by node
    names: Names = field(default_factory=Names)

    # --- per robot --------------------------------------------------------------------------------
    def parameters(self, roots: Sequence[int], table: Mapping[str, float]) -> list[Parameter]:
        """Name the parameters that the roots need, in the order of the table."""
        out = []
        for i in self.graph.reachable(roots):
            if self.graph.op[i] == Op.PARAM:
                table_name = self.graph.params[self.graph.a[i]]
                parameter = self.glossary.parameter(table_name, table[table_name])
                self.names.take(parameter.symbol.name)
                self.symbols[i] = parameter.symbol
                out.append(parameter)
        order = {name: k for k, name in enumerate(table)}
        return sorted(out, key=lambda parameter: order[parameter.table_name])

    def constants(self, roots: Sequence[int], table: Mapping[str, float]) -> list[Constant]:
        """Name what the functions below the roots need and parameters alone decide."""
        graph = self.graph
        wanted = _frontier(graph, roots)
        nodes = graph.reachable(wanted)
        named = named_nodes(graph, nodes, (), always=wanted)
        values = graph.evaluate([graph.expr(i) for i in named], {}, [table[name] for name in graph.params])
        out = []
        for k, (i, value) in enumerate(zip(named, values, strict=True), start=1):
            term = self._inside(i, self.symbols)
            symbol = Symbol(self.names.take(f"k{k}"), Kind.CONSTANT, "k", (str(k),))
            self.symbols[i] = symbol
            out.append(Constant(symbol, term, value))
        return out

    # --- per call ---------------------------------------------------------------------------------
    def function(self, request: Request) -> Function:
        """One program as arguments, steps and results."""
        graph, program = self.graph, request.program
        local = dict(self.symbols)
        arguments = [self._argument(block, local) for block in program.inputs]
        results = self._result_symbols(request, {argument.name for argument in arguments})
        roots = [e.id for block in program.outputs for e in block.entries]
        entry_of: dict[int, Symbol] = {}
        for i, symbol in zip(roots, (s for _, block in results for s in block), strict=True):
            entry_of.setdefault(i, symbol)
        taken = {s.name for s in (*local.values(), *entry_of.values())}
        taken |= {s.name for _, block in results for s in block}
        namer = _StepNames(graph, local, Names(taken), self.wide)
        nodes = [i for i in graph.reachable(roots) if not graph.of_params[i]]
        steps = []
        for i in self._turns_first(named_nodes(graph, nodes, roots)):
            term = self._inside(i, local)
            local[i] = entry_of.get(i) or namer.symbol(i)
            steps.append(Step(local[i], term))
        return Function(
            request.name,
            request.summary,
            tuple(arguments),
            tuple(steps),
            tuple(self._result(r, b, local) for r, b in zip(results, program.outputs, strict=True)),
        )

    def _turns_first(self, nodes: Sequence[int]) -> list[int]:
        """Sines and cosines of coordinates in their order, then everything else."""
        graph = self.graph
        turns = [i for i in nodes if graph.op[i] in _TURNS and graph.op[graph.a[i]] == Op.INPUT]
        turns.sort(key=lambda i: (graph.a[i], graph.op[i]))
        return [*turns, *(i for i in nodes if i not in set(turns))]

    def _argument(self, block: Block, local: dict[int, Symbol]) -> Argument:
        graph, first = self.graph, self.glossary.first
        letters = graph.inputs[graph.a[block.entries[0].id]].rstrip("0123456789")
        for entry, index in zip(block.entries, indices(block.shape), strict=True):
            shown = [k + first for k in index]
            name = joined(letters, shown, wide=self.wide)
            local[entry.id] = Symbol(name, Kind.INPUT, letters, tuple(str(k) for k in shown))
        return Argument(letters, block.shape, tuple(local[e.id] for e in block.entries))

    def _result_symbols(self, request: Request, taken: set[str]) -> list[tuple[str, list[Symbol]]]:
        out = []
        names = Names(taken)
        for letters, block in zip(request.results, request.program.outputs, strict=True):
            array = names.take(letters)
            entries = []
            for index in indices(block.shape):
                shown = [k + self.glossary.first for k in index]
                name = joined(array, shown, wide=self.wide)
                entries.append(Symbol(name, Kind.STEP, letters, tuple(str(k) for k in shown)))
            out.append((array, entries))
        return out

    def _result(self, named: tuple[str, list[Symbol]], block: Block, local: Mapping[int, Symbol]) -> Result:
        name, symbols = named
        entries = [
            Step(symbol, self._term(e.id, local)) for symbol, e in zip(symbols, block.entries, strict=True)
        ]
        return Result(name, block.shape, tuple(entries))

    # --- terms ------------------------------------------------------------------------------------
    def _term(self, i: int, known: Mapping[int, Symbol]) -> Term:
        symbol = known.get(i)
        return self._inside(i, known) if symbol is None else symbol

    def _inside(self, i: int, known: Mapping[int, Symbol]) -> Term:
        """The term of a node, down to what has a name."""
        graph = self.graph
        op = graph.op[i]
        if op == Op.CONST:
            return Number(graph.constants[graph.a[i]])
        x = self._term(graph.a[i], known)
        if op == Op.NEG:
            return terms.total([(True, x)])
        if op in _CALLS:
            return terms.Call(_CALLS[Op(op)], x)
        y = self._term(graph.b[i], known)
        if op == Op.MUL:
            return terms.product([x, y])
        if op == Op.DIV:
            return terms.Quotient(x, y)
        return terms.total([(False, x), (op == Op.SUB, y)])


def _frontier(graph: Graph, roots: Sequence[int]) -> list[int]:
    """Compound nodes of parameters that roots are, or that work per call needs."""
    nodes = graph.reachable(roots)
    used = {x for i in nodes if graph.op[i] >= Op.ADD and not graph.of_params[i] for x in _arguments(graph, i)}
    used.update(roots)
    return sorted(i for i in used if graph.of_params[i] and graph.op[i] >= Op.ADD)


def _arguments(graph: Graph, i: int) -> list[int]:
    return [x for x in (graph.a[i], graph.b[i]) if x >= 0]


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
        return Symbol(self.names.take(f"v{self.count}"), Kind.STEP, "v", (str(self.count),))

    def _indexed(self, letters: str, combination: _Combination) -> Symbol:
        index = []
        for i, sign in sorted(combination.signs.items()):
            (shown,) = self.known[i].index
            index.append(shown if sign > 0 else f"-{shown}")
        separator = "_" if self.wide else ""
        name = letters + separator.join(index).replace("-", "m")
        return Symbol(self.names.take(name), Kind.STEP, letters, tuple(index))

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
