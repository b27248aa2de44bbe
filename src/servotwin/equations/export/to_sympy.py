"""Programs as SymPy objects: the steps as they are, or closed expressions of inputs and parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from servotwin.equations.export.assemble import program_script
from servotwin.equations.export.script import Function, Script
from servotwin.equations.export.terms import Call, Number, Product, Quotient, Sum, Symbol, Term
from servotwin.equations.programs import Program
from servotwin.errors import MissingExtraError


@dataclass(frozen=True)
class SympyProgram:
    """A program in SymPy.

    ``arguments``: symbols of every input array. ``parameters``: symbols of the
    robot's numbers and their values. ``steps``: pairs (symbol, expression) in
    order, as ``sympy.cse`` gives them. ``results``: arrays over the steps' symbols.
    """

    arguments: dict[str, list[Any]]
    parameters: dict[Any, float]
    steps: list[tuple[Any, Any]]
    results: dict[str, Any]
    script: Script

    def expressions(self) -> dict[str, Any]:
        """Results over inputs and parameters only. Grows quickly with the number of joints."""
        known: dict[str, Any] = {}
        for step in (*self.script.constants, *self.script.functions[0].steps):
            known[step.symbol.name] = _convert(step.term, known)
        return _results(self.script.functions[0], known)


def to_sympy(
    program: Program,
    *,
    numeric: bool | Collection[str] = False,
    name: str = "program",
    results: Sequence[str] | None = None,
    first: int = 1,
) -> SympyProgram:
    """A program as SymPy objects; ``numeric`` puts the robot's numbers in. Results become matrices."""
    sympy = the_sympy()

    script = program_script(program, name=name, numeric=numeric, results=results, first=first)
    (function,) = script.functions
    steps = [
        (sympy.Symbol(step.symbol.name), _convert(step.term, {}))
        for step in (*script.constants, *function.steps)
    ]
    return SympyProgram(
        {a.name: [sympy.Symbol(s.name) for s in a.symbols] for a in function.arguments},
        {sympy.Symbol(p.symbol.name): p.value for p in script.parameters},
        steps,
        _results(function, {}),
        script,
    )


def the_sympy() -> Any:
    """The package; MissingExtraError where it is not installed."""
    try:
        import sympy
    except ImportError:
        raise MissingExtraError("SymPy objects", "sympy", "sympy") from None
    return sympy


def _results(function: Function, known: Mapping[str, Any]) -> dict[str, Any]:
    import sympy

    out = {}
    for result in function.results:
        entries = [_convert(entry.term, known) for entry in result.entries]
        shape = result.shape
        if len(shape) <= 2:
            out[result.name] = sympy.ImmutableDenseMatrix(*(*shape, 1, 1)[:2], entries)
        else:
            out[result.name] = sympy.ImmutableDenseNDimArray(entries, shape)
    return out


def _convert(term: Term, known: Mapping[str, Any]) -> Any:
    """A term in SymPy; symbols in ``known`` are replaced."""
    import sympy

    if isinstance(term, Symbol):
        found = known.get(term.name)
        return sympy.Symbol(term.name) if found is None else found
    if isinstance(term, Number):
        whole = term.value.is_integer()
        return sympy.Integer(int(term.value)) if whole else sympy.Float(term.value)
    if isinstance(term, Sum):
        return sympy.Add(*(-_convert(t, known) if minus else _convert(t, known) for minus, t in term.terms))
    if isinstance(term, Product):
        return sympy.Mul(*(_convert(factor, known) for factor in term.factors))
    if isinstance(term, Quotient):
        return _convert(term.above, known) / _convert(term.below, known)
    assert isinstance(term, Call)
    argument = _convert(term.argument, known)
    return (
        sympy.Heaviside(argument, 0) if term.function == "step" else getattr(sympy, term.function)(argument)
    )
