"""Arithmetic with units, names and conditions; nothing is ever evaluated as code.

Grammar, loosest binding first::

    condition  = and {"or" and};  and = not {"and" not};  not = "not" not | comparison
    comparison = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
    sum        = product {("+" | "-") product}
    product    = unary {("*" | "/") unary}
    unary      = ("+" | "-") unary | row
    row        = power {power}                  side by side: 3 kg m^2
    power      = atom [("^" | "**") exponent];  exponent = ["+" | "-"] power
    atom       = number | text | name | name "(" condition {"," condition} ")" | "(" condition ")"

Factors side by side bind tighter than ``*`` and ``/``: ``350 mm / 2 mm`` is 175.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NoReturn

from servotwin.description.nodes import quoted
from servotwin.description.quantities import PLAIN, Quantity, dimension_name

Value = Quantity | str | bool
Lookup = Callable[[str], Value]

MAX_LENGTH = 1000
MAX_NESTING = 40
RADIAN = (0, 0, 0, 0, 0, 1)

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>(?:[^\W\d]|[%°])(?:\w|[%°])*)
  | (?P<text>"[^"]*"|'[^']*')
  | (?P<mark>\*\*|==|!=|<=|>=|[-+*/^()<>,·])
    )""",
    re.VERBOSE,
)
_SPELLINGS = {"**": "^", "·": "*"}
_WORDS = {"and", "or", "not"}


def evaluate(text: str, lookup: Lookup) -> Value:
    """The value of the expression ``text``; ``lookup`` gives the value of a name or raises ValueError."""
    return _Parser(text, lookup).run()


def split(text: str) -> list[tuple[str, str]]:
    """The tokens of ``text`` as (kind, text) pairs."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"longer than {MAX_LENGTH} characters")
    tokens: list[tuple[str, str]] = []
    place = 0
    end = len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"{quoted(text[place:].strip()[:1])} is not understood")
        kind = match.lastgroup or ""
        part = match.group(kind)
        if kind == "name" and part in _WORDS:
            kind = "mark"
        tokens.append((kind, _SPELLINGS.get(part, part)))
        place = match.end()
    return tokens


class _Parser:
    """Recursive descent over the tokens, evaluating on the way."""

    def __init__(self, text: str, lookup: Lookup) -> None:
        self.tokens = split(text)
        self.place = 0
        self.nesting = 0
        self.lookup = lookup

    def run(self) -> Value:
        if not self.tokens:
            raise ValueError("there is nothing to evaluate")
        value = self.condition()
        if self.place < len(self.tokens):
            self.unexpected()
        return value

    def unexpected(self) -> NoReturn:
        if self.place < len(self.tokens):
            raise ValueError(f"{quoted(self.tokens[self.place][1])} is not expected here")
        raise ValueError("something is missing at the end")

    def take(self, *marks: str) -> str:
        """The next token if it is one of ``marks``, else an empty text."""
        if self.place < len(self.tokens):
            kind, text = self.tokens[self.place]
            if kind == "mark" and text in marks:
                self.place += 1
                return text
        return ""

    def condition(self) -> Value:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise ValueError(f"nested deeper than {MAX_NESTING} levels")
        value = self.both()
        while self.take("or"):
            left, right = truth(value), truth(self.both())
            value = left or right
        self.nesting -= 1
        return value

    def both(self) -> Value:
        value = self.negation()
        while self.take("and"):
            left, right = truth(value), truth(self.negation())
            value = left and right
        return value

    def negation(self) -> Value:
        inversions = 0
        while self.take("not"):
            inversions += 1
        value = self.comparison()
        return value if not inversions else truth(value) ^ bool(inversions % 2)

    def comparison(self) -> Value:
        left = self.sum()
        mark = self.take("==", "!=", "<", "<=", ">", ">=")
        return compare(mark, left, self.sum()) if mark else left

    def sum(self) -> Value:
        value = self.product()
        while mark := self.take("+", "-"):
            right = number(self.product())
            value = number(value) + right if mark == "+" else number(value) - right
        return value

    def product(self) -> Value:
        value = self.unary()
        while mark := self.take("*", "/"):
            right = number(self.unary())
            value = number(value) * right if mark == "*" else number(value) / right
        return value

    def unary(self) -> Value:
        sign, signed = 1, False
        while mark := self.take("+", "-"):
            sign, signed = (-sign if mark == "-" else sign), True
        value = self.row()
        if not signed:
            return value
        return number(value) if sign > 0 else -number(value)

    def row(self) -> Value:
        value = self.power()
        while self.place < len(self.tokens):
            kind, text = self.tokens[self.place]
            # a second number in a row is a slip ("1 000 mm"), not a product, but for "30 1/s"
            if kind != "name" and not (kind == "mark" and text == "(") and not self.reciprocal():
                break
            value = number(value) * number(self.power())
        return value

    def reciprocal(self) -> bool:
        """True before ``1/s`` and the like."""
        ahead = self.tokens[self.place : self.place + 3]
        return len(ahead) == 3 and ahead[:2] == [("number", "1"), ("mark", "/")] and ahead[2][0] == "name"

    def power(self) -> Value:
        value = self.atom()
        if self.take("^"):
            self.nesting += 1
            if self.nesting > MAX_NESTING:
                raise ValueError(f"nested deeper than {MAX_NESTING} levels")
            negative = self.take("+", "-") == "-"
            exponent = number(self.power())
            value = number(value) ** (-exponent if negative else exponent)
            self.nesting -= 1
        return value

    def atom(self) -> Value:
        if self.place >= len(self.tokens):
            self.unexpected()
        kind, text = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return Quantity(float(text))
        if kind == "text":
            return text[1:-1]
        if kind == "name":
            is_call = self.place < len(self.tokens) and self.tokens[self.place] == ("mark", "(")
            if is_call and text in FUNCTIONS:
                self.place += 1
                return self.call(text)
            return Quantity(math.pi) if text == "pi" else self.lookup(text)
        if text != "(":
            self.place -= 1
            self.unexpected()
        value = self.condition()
        if not self.take(")"):
            self.unexpected()
        return value

    def call(self, name: str) -> Quantity:
        arguments = [number(self.condition())]
        while self.take(","):
            arguments.append(number(self.condition()))
        if not self.take(")"):
            self.unexpected()
        try:
            return FUNCTIONS[name](*arguments)
        except TypeError:
            raise ValueError(f"{name}() does not take {len(arguments)} values") from None


def number(value: Value) -> Quantity:
    """``value`` if one can calculate with it."""
    if isinstance(value, Quantity):
        return value
    if isinstance(value, bool):
        raise ValueError("a condition stands where a number is expected")
    raise ValueError(f"the text {quoted(value)} stands where a number is expected")


def truth(value: Value) -> bool:
    """``value`` if it is true or false."""
    if isinstance(value, bool):
        return value
    what = dimension_name(value.dimension) if isinstance(value, Quantity) else f"the text {quoted(value)}"
    raise ValueError(f"{what} stands where a condition is expected")


def compare(mark: str, left: Value, right: Value) -> bool:
    """``left mark right`` for two quantities of one dimension, or ``==`` and ``!=`` for texts."""
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        if left.dimension != right.dimension:
            a, b = dimension_name(left.dimension), dimension_name(right.dimension)
            raise ValueError(f"{a} cannot be compared with {b}")
        x, y = left.value, right.value
        orders = {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}
        return orders[mark]
    if type(left) is not type(right):
        raise ValueError("a text, a number and a condition cannot be compared with each other")
    if mark not in ("==", "!="):
        raise ValueError(f"'{mark}' compares numbers only")
    return (left == right) == (mark == "==")


def _of_angle(name: str, f: Callable[[float], float]) -> Callable[[Quantity], Quantity]:
    def function(x: Quantity) -> Quantity:
        if x.dimension != RADIAN:
            raise ValueError(f"{name}() takes an angle, not {dimension_name(x.dimension)}")
        return Quantity(f(x.value))

    return function


def _to_angle(name: str, f: Callable[[float], float]) -> Callable[[Quantity], Quantity]:
    def function(x: Quantity) -> Quantity:
        if not x.is_plain:
            raise ValueError(f"{name}() takes a plain number, not {dimension_name(x.dimension)}")
        try:
            return Quantity(f(x.value), RADIAN)
        except ValueError:
            raise ValueError(f"{name}() takes a number from -1 to 1, not {x.value:g}") from None

    return function


def _atan2(y: Quantity, x: Quantity) -> Quantity:
    (y - x)  # the two must have one dimension
    return Quantity(math.atan2(y.value, x.value), RADIAN)


def _sqrt(x: Quantity) -> Quantity:
    return x ** Quantity(0.5, PLAIN)


def _extreme(pick: Callable[[list[float]], float]) -> Callable[..., Quantity]:
    def function(*values: Quantity) -> Quantity:
        for value in values[1:]:
            (value - values[0])  # all must have one dimension
        return Quantity(pick([v.value for v in values]), values[0].dimension)

    return function


FUNCTIONS: dict[str, Callable[..., Quantity]] = {
    "sin": _of_angle("sin", math.sin),
    "cos": _of_angle("cos", math.cos),
    "tan": _of_angle("tan", math.tan),
    "asin": _to_angle("asin", math.asin),
    "acos": _to_angle("acos", math.acos),
    "atan": _to_angle("atan", math.atan),
    "atan2": _atan2,
    "sqrt": _sqrt,
    "abs": lambda x: Quantity(abs(x.value), x.dimension),
    "min": _extreme(min),
    "max": _extreme(max),
}
