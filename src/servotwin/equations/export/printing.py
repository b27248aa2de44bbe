"""Terms -> text, for any notation that has sums, products, quotients, calls and brackets."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Protocol

from servotwin.equations.export.terms import Call, Number, Product, Quotient, Sum, Symbol, Term

_SUM, _PRODUCT, _ATOM = 1, 2, 3  # how tightly an expression holds together


class Notation(Protocol):
    """How one language writes the parts of an expression."""

    powers: bool  # x^2 instead of x*x
    stacked: bool  # a quotient needs no brackets, as a fraction bar separates it

    def number(self, value: float) -> str:
        """A number >= 0."""

    def symbol(self, symbol: Symbol) -> str:
        """A named value."""

    def call(self, function: str, argument: str) -> str:
        """sin, cos, sqrt, exp, log, or step, which is 1 for an argument above zero and else 0."""

    def power(self, base: str, exponent: int) -> str:
        """base to a whole exponent."""

    def product(self, factors: Sequence[str]) -> str:
        """Factors."""

    def quotient(self, above: str, below: str) -> str:
        """above / below."""

    def bracket(self, inner: str) -> str:
        """Brackets."""


class Infix:
    """Notation of most languages: a*b + c/d, f(x). Subclasses say how names and numbers look."""

    powers = False
    stacked = False

    def number(self, value: float) -> str:
        """Shortest text that reads back as the same number."""
        return repr(value)

    def symbol(self, symbol: Symbol) -> str:
        """The name as it is."""
        return symbol.name

    def call(self, function: str, argument: str) -> str:
        """f(x)."""
        return f"{function}({argument})"

    def power(self, base: str, exponent: int) -> str:
        """base^exponent."""
        return f"{base}^{exponent}"

    def product(self, factors: Sequence[str]) -> str:
        """a*b."""
        return "*".join(factors)

    def quotient(self, above: str, below: str) -> str:
        """a/b."""
        return f"{above}/{below}"

    def bracket(self, inner: str) -> str:
        """(a)."""
        return f"({inner})"


def write(term: Term, notation: Notation, tight: int = 0) -> str:
    """Text of a term, in brackets if it holds together less tightly than its place asks for."""
    text, own = _write(term, notation)
    return notation.bracket(text) if own < tight else text


def _write(term: Term, notation: Notation) -> tuple[str, int]:
    if isinstance(term, Symbol):
        return notation.symbol(term), _ATOM
    if isinstance(term, Number):
        text = notation.number(abs(term.value))
        return (text, _ATOM) if term.value >= 0 else (f"-{text}", _SUM)
    if isinstance(term, Call):
        return notation.call(term.function, write(term.argument, notation)), _ATOM
    if isinstance(term, Sum):
        pieces = [(" - " if minus else " + ") + write(t, notation, _PRODUCT) for minus, t in term.terms]
        text = "".join(pieces)
        return ("-" if term.terms[0][0] else "") + text[3:], _SUM
    if isinstance(term, Quotient):
        above = write(term.above, notation, 0 if notation.stacked else _PRODUCT)
        below = write(term.below, notation, 0 if notation.stacked else _ATOM)
        return notation.quotient(above, below), _ATOM if notation.stacked else _PRODUCT
    return notation.product(_factors(term, notation)), _PRODUCT


def _factors(term: Product, notation: Notation) -> list[str]:
    if not notation.powers:
        return [write(factor, notation, _PRODUCT) for factor in term.factors]
    exponents: dict[Term, int] = {}
    for factor in term.factors:
        exponents[factor] = exponents.get(factor, 0) + 1
    return [
        write(factor, notation, _PRODUCT) if n == 1 else notation.power(write(factor, notation, _ATOM), n)
        for factor, n in exponents.items()
    ]


def plain_number(value: float) -> str:
    """A number for people: no '.0' after whole numbers."""
    return repr(value).removesuffix(".0")


TIE = "\0"  # a space at which no line is broken


def folded(head: str, text: str, *, width: int = 100, indent: str = "    ", tail: str = "") -> list[str]:
    """``head`` + ``text`` + ``tail`` on as many lines as it needs; further lines are indented."""
    lines = textwrap.wrap(
        head + text + tail,
        width,
        initial_indent="",
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(TIE, " ") for line in lines] or [""]
