"""Expressions as they are printed: sums with signs, products, quotients, calls, symbols, numbers.

A graph shares nodes; a term is a small tree that stands on one line. Sums and
products are flat and their signs tidy, so that a printer needs no rules of its
own beyond brackets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Where a symbol gets its value."""

    INPUT = "input"  # argument of a function
    PARAMETER = "parameter"  # number of the robot
    CONSTANT = "constant"  # follows from parameters, computed once per robot
    STEP = "step"  # computed at every call


@dataclass(frozen=True)
class Symbol:
    """A named value: ``name`` is an identifier, ``letters`` and ``index`` its parts for typesetting."""

    name: str
    kind: Kind
    letters: str
    index: tuple[str, ...] = ()


@dataclass(frozen=True)
class Number:
    """A literal."""

    value: float


@dataclass(frozen=True)
class Sum:
    """Two or more terms with their signs (True: minus), or one term with a minus."""

    terms: tuple[tuple[bool, Term], ...]


@dataclass(frozen=True)
class Product:
    """Two or more factors."""

    factors: tuple[Term, ...]


@dataclass(frozen=True)
class Quotient:
    """above / below."""

    above: Term
    below: Term


@dataclass(frozen=True)
class Call:
    """sin, cos, sqrt, exp, log or step of an argument."""

    function: str
    argument: Term


Term = Symbol | Number | Sum | Product | Quotient | Call


def total(parts: Sequence[tuple[bool, Term]]) -> Term:
    """Sum of signed parts; inner sums are opened, numbers become one, a positive term leads if any."""
    flat: list[tuple[bool, Term]] = []
    numbers: list[float] = []
    for minus, part in parts:
        inside = part.terms if isinstance(part, Sum) else ((False, part),)
        for inner, term in inside:
            if isinstance(term, Number):
                numbers.append(-term.value if minus != inner else term.value)
            else:
                flat.append((minus != inner, term))
    if numbers and (sum(numbers) or not flat):
        flat.append((sum(numbers) < 0, Number(abs(sum(numbers)))))
    lead = next((k for k, (minus, _) in enumerate(flat) if not minus), 0)
    flat.insert(0, flat.pop(lead))
    if len(flat) == 1 and not flat[0][0]:
        return flat[0][1]
    return Sum(tuple(flat))


def product(factors: Sequence[Term]) -> Term:
    """Product; inner products are opened, one number leads, what belongs to the robot follows."""
    flat: list[Term] = []
    for factor in factors:
        flat += factor.factors if isinstance(factor, Product) else [factor]
    numbers = [factor.value for factor in flat if isinstance(factor, Number)]
    if len(numbers) > 1:
        flat = [Number(math.prod(numbers)), *(f for f in flat if not isinstance(f, Number))]
    return Product(tuple(sorted(flat, key=_rank)))


def _rank(factor: Term) -> int:
    if isinstance(factor, Number):
        return 0
    per_robot = isinstance(factor, Symbol) and factor.kind in (Kind.PARAMETER, Kind.CONSTANT)
    return 1 if per_robot else 2


def parts(term: Term) -> tuple[Term, ...]:
    """Terms directly inside."""
    if isinstance(term, Sum):
        return tuple(inner for _, inner in term.terms)
    if isinstance(term, Product):
        return term.factors
    if isinstance(term, Quotient):
        return (term.above, term.below)
    if isinstance(term, Call):
        return (term.argument,)
    return ()


def symbols(term: Term) -> Iterator[Symbol]:
    """Symbols of a term in the order in which they are printed."""
    if isinstance(term, Symbol):
        yield term
    for inner in parts(term):
        yield from symbols(inner)


NO_OPERATIONS = {"mul": 0, "add": 0, "div": 0, "trig": 0, "neg": 0}


def operations(terms: Sequence[Term]) -> dict[str, int]:
    """Operations as printed, by the names of ``Graph.operations``; square roots count as trig."""
    count = dict(NO_OPERATIONS)
    stack = list(terms)
    while stack:
        term = stack.pop()
        if isinstance(term, Sum):
            count["add"] += len(term.terms) - 1
            count["neg"] += term.terms[0][0]
        elif isinstance(term, Product):
            count["mul"] += len(term.factors) - 1
        elif isinstance(term, Quotient):
            count["div"] += 1
        elif isinstance(term, Call):
            count["trig"] += 1
        stack += parts(term)
    return count
