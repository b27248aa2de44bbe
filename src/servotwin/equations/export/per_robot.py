"""What belongs to the robot and not to a call: parameters, and constants that follow from them alone.

Functions that are exported together share both. Their programs live on graphs
of their own; the parameter-only parts are gathered in one graph, where equal
expressions are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from servotwin.equations.export.cut import arguments, named_nodes
from servotwin.equations.export.names import Names
from servotwin.equations.export.parameters import Glossary, Parameter
from servotwin.equations.export.script import Constant
from servotwin.equations.export.terms import Kind, Symbol
from servotwin.equations.export.transfer import copy_nodes
from servotwin.equations.export.tree import inside
from servotwin.equations.graph import Expr, Graph, Op
from servotwin.equations.programs import Program


@dataclass
class PerRobot:
    """Parameters and constants of several programs; ``symbols`` gives the names a program's nodes have."""

    parameters: list[Parameter] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    _by_name: dict[str, Symbol] = field(default_factory=dict)
    _shared: list[dict[int, Symbol]] = field(default_factory=list)

    @classmethod
    def of(cls, programs: Sequence[Program], glossary: Glossary) -> PerRobot:
        """Gather what the programs need of the robot."""
        table: dict[str, float] = {}
        for program in programs:
            table.update(program.derivation.table)
        made = cls()
        made._name_parameters(programs, glossary, table)
        made._name_constants(programs, table)
        return made

    def symbols(self, k: int, program: Program) -> dict[int, Symbol]:
        """Names of the nodes of program k that belong to the robot."""
        graph = program.derivation.graph
        out = dict(self._shared[k])
        for i, op in enumerate(graph.op):
            if op == Op.PARAM and graph.params[graph.a[i]] in self._by_name:
                out[i] = self._by_name[graph.params[graph.a[i]]]
        return out

    def _name_parameters(
        self, programs: Sequence[Program], glossary: Glossary, table: dict[str, float]
    ) -> None:
        needed: set[str] = set()
        for program in programs:
            graph = program.derivation.graph
            nodes = graph.reachable(_roots(program))
            needed.update(graph.params[graph.a[i]] for i in nodes if graph.op[i] == Op.PARAM)
        self.parameters = [glossary.parameter(name, table[name]) for name in table if name in needed]
        self._by_name = {p.table_name: p.symbol for p in self.parameters}

    def _name_constants(self, programs: Sequence[Program], table: dict[str, float]) -> None:
        graph = Graph()
        made: dict[str, Expr] = {}

        def number(name: str) -> Expr:
            if name not in made:
                made[name] = graph.param(name)
            return made[name]

        places = []
        for program in programs:
            wanted = frontier(program)
            copies = copy_nodes(program.derivation.graph, graph, wanted, number, number)
            places.append({i: copies[i].id for i in wanted})
        every = sorted({i for place in places for i in place.values()})
        known = {e.id: self._by_name[name] for name, e in made.items()}
        named = named_nodes(graph, graph.reachable(every), (), always=every)
        values = graph.evaluate([graph.expr(i) for i in named], {}, [table[name] for name in graph.params])
        names = Names(p.symbol.name for p in self.parameters)
        for k, (i, value) in enumerate(zip(named, values, strict=True), start=1):
            term = inside(graph, i, known)
            known[i] = Symbol(names.take(f"k{k}"), Kind.CONSTANT, "k", (str(k),))
            self.constants.append(Constant(known[i], term, value))
        self._shared = [{i: known[node] for i, node in place.items()} for place in places]


def frontier(program: Program) -> list[int]:
    """Compound parameter-only nodes that work per call needs, or that are results."""
    graph, roots = program.derivation.graph, _roots(program)
    work = [i for i in graph.reachable(roots) if graph.op[i] >= Op.ADD and not graph.of_params[i]]
    used = {x for i in work for x in arguments(graph, i)}.union(roots)
    return sorted(i for i in used if graph.of_params[i] and graph.op[i] >= Op.ADD)


def _roots(program: Program) -> list[int]:
    return [e.id for block in program.outputs for e in block.entries]
