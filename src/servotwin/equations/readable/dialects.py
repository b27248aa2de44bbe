"""How mathematics is written: plain text, LaTeX, Mathematica, Python, SymPy and MathML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from typing import Protocol

GREEK = {"tau": r"\tau", "th": r"\theta", "lambda": r"\lambda", "eta": r"\eta", "psi": r"\psi"}
LETTERS = {"tau": "τ", "th": "θ", "psi": "ψ", "lambda": "λ"}  # for MathML


class Dialect(Protocol):
    """Writes numbers, symbols, functions, products and sums."""

    def number(self, value: float) -> str:
        """A number; simple fractions as such."""

    def symbol(self, name: str) -> str:
        """A named quantity such as K2, a3, q1."""

    def rate(self, name: str, order: int) -> str:
        """Time derivative of a coordinate."""

    def function(self, kind: str, argument: str) -> str:
        """sin or cos of an argument."""

    def power(self, base: str, exponent: int) -> str:
        """base ^ exponent."""

    def product(self, factors: Sequence[str]) -> str:
        """Factors side by side."""

    def sum(self, terms: Sequence[tuple[bool, str]]) -> str:
        """Terms with their signs (True: minus)."""

    def bracket(self, inner: str) -> str:
        """A sum that is multiplied."""


def fraction(value: float) -> Fraction | None:
    """The simple fraction that a number is, if it is one."""
    near = Fraction(value).limit_denominator(64)
    return near if abs(float(near) - value) <= 1e-12 * max(1.0, abs(value)) else None


def split_name(name: str) -> tuple[str, str]:
    """Letters and index of a name: 'K12' -> ('K', '12'), 'Izz4' -> ('I', 'zz4'), 'm_cx2' -> ('m_cx', '2')."""
    greek = re.fullmatch(r"(tau|th|lambda|eta|psi)_?([a-z]*[0-9]*)", name)
    if greek:
        return greek[1], greek[2]
    match = re.fullmatch(r"([A-Za-z])_?([a-z]*)_?([0-9]*(?:_[0-9]+)*)", name)
    if match:
        return match[1], match[2] + match[3].replace("_", ",")
    return name, ""


class _Plain:
    """Common parts of the line-oriented dialects."""

    times = "*"
    caret = "**"
    digits = 17  # enough to give the same number back

    def decimal(self, value: float) -> str:
        return repr(value) if self.digits >= 17 else f"{value:.{self.digits}g}"

    def number(self, value: float) -> str:
        simple = fraction(value)
        return self.decimal(value) if simple is None else str(simple)

    def symbol(self, name: str) -> str:
        return name

    def rate(self, name: str, order: int) -> str:
        return f"{name}{'d' * order}"

    def function(self, kind: str, argument: str) -> str:
        return f"{kind}({argument})"

    def power(self, base: str, exponent: int) -> str:
        return base if exponent == 1 else f"{base}{self.caret}{exponent}"

    def product(self, factors: Sequence[str]) -> str:
        return self.times.join(factors)

    def sum(self, terms: Sequence[tuple[bool, str]]) -> str:
        if not terms:
            return "0"
        text = "".join((" - " if minus else " + ") + term for minus, term in terms)
        return text[3:] if not terms[0][0] else "-" + text[3:]

    def bracket(self, inner: str) -> str:
        return f"({inner})"


class Text(_Plain):
    """For terminals: 2 K2 cos(q2 + q3)."""

    times = " "
    caret = "^"
    digits = 9


class Python(_Plain):
    """Valid Python over numpy: 2*K2*np.cos(q2 + q3)."""

    def function(self, kind: str, argument: str) -> str:
        return f"np.{kind}({argument})"


class SymPy(_Plain):
    """Valid for ``sympy.sympify``."""


class Mathematica(_Plain):
    """2*K2*Cos[q2 + q3]; names without underscores, a $ between two indices: S1$13 is not S11$3."""

    caret = "^"

    def symbol(self, name: str) -> str:
        return re.sub(r"(?<=[0-9])_(?=[0-9])", "$", name).replace("_", "")

    def number(self, value: float) -> str:
        return super().number(value).replace("e", "*^")

    def function(self, kind: str, argument: str) -> str:
        return f"{kind.capitalize()}[{argument}]"


class Latex(_Plain):
    """2 K_{2} \\cos(q_{2} + q_{3})."""

    times = r"\,"
    caret = "^"
    digits = 9

    def number(self, value: float) -> str:
        simple = fraction(value)
        if simple is None:
            mantissa, _, exponent = self.decimal(value).partition("e")
            return mantissa if not exponent else rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
        if simple.denominator == 1:
            return str(simple.numerator)
        sign = "-" if simple < 0 else ""
        return rf"{sign}\frac{{{abs(simple.numerator)}}}{{{simple.denominator}}}"

    def symbol(self, name: str) -> str:
        if name.startswith("m_c"):
            axis, index = name[3], name[4:]
            return rf"m_{{{index}}} c_{{{axis}{index}}}"
        if name.startswith(("ca", "sa", "cg", "sg", "cw", "sw")):
            angle = {"a": r"\alpha", "g": r"\gamma", "w": r"\omega"}[name[1]]
            return rf"\{'cos' if name[0] == 'c' else 'sin'} {angle}_{{{name[2:]}}}"
        if name.startswith(("cth", "sth")):
            return rf"\{'cos' if name[0] == 'c' else 'sin'} \theta_{{{name[3:]}}}"
        letters, index = split_name(name)
        letters = GREEK.get(letters, letters)
        return rf"{letters}_{{{index}}}" if index else letters

    def rate(self, name: str, order: int) -> str:
        letters, index = split_name(name)
        mark = r"\dot" if order == 1 else r"\ddot"
        return rf"{mark}{{{GREEK.get(letters, letters)}}}_{{{index}}}"

    def function(self, kind: str, argument: str) -> str:
        name = rf"\{kind}" if kind in ("sin", "cos") else rf"\mathrm{{{kind}}}"
        return f"{name}({argument})"

    def power(self, base: str, exponent: int) -> str:
        return base if exponent == 1 else f"{{{base}}}^{{{exponent}}}"


class MathML(_Plain):
    """Presentation MathML, which browsers draw without any script."""

    digits = 9

    def number(self, value: float) -> str:
        simple = fraction(value)
        if simple is None:
            return f"<mn>{self.decimal(value)}</mn>"
        if simple.denominator == 1:
            return f"<mn>{simple.numerator}</mn>"
        return f"<mfrac><mn>{simple.numerator}</mn><mn>{simple.denominator}</mn></mfrac>"

    def symbol(self, name: str) -> str:
        if name.startswith("m_c"):
            axis, index = name[3], name[4:]
            return f"<msub><mi>m</mi><mn>{index}</mn></msub><msub><mi>c</mi><mi>{axis}{index}</mi></msub>"
        letters, index = split_name(name)
        letters = LETTERS.get(letters, letters)
        base = f"<mi>{escape(letters)}</mi>"
        return f"<msub>{base}<mi>{index}</mi></msub>" if index else base

    def rate(self, name: str, order: int) -> str:
        letters, index = split_name(name)
        # plain dots: accents collide with the letter where no mathematical font is installed
        letters = LETTERS.get(letters, letters)
        over = f"<mover><mi>{letters}</mi><mo>{'.' * order}</mo></mover>"
        return f"<msub>{over}<mi>{index}</mi></msub>"

    def function(self, kind: str, argument: str) -> str:
        return f"<mi>{kind}</mi><mo>&#x2061;</mo><mrow><mo>(</mo>{argument}<mo>)</mo></mrow>"

    def power(self, base: str, exponent: int) -> str:
        return base if exponent == 1 else f"<msup><mrow>{base}</mrow><mn>{exponent}</mn></msup>"

    def product(self, factors: Sequence[str]) -> str:
        return "<mo>&#x2062;</mo>".join(factors)

    def sum(self, terms: Sequence[tuple[bool, str]]) -> str:
        if not terms:
            return "<mn>0</mn>"
        parts = []
        for k, (minus, term) in enumerate(terms):
            sign = "<mo>−</mo>" if minus else ("<mo>+</mo>" if k else "")
            parts.append(sign + term)
        return "".join(parts)

    def bracket(self, inner: str) -> str:
        return f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>"


DIALECTS: dict[str, Dialect] = {
    "text": Text(),
    "python": Python(),
    "sympy": SymPy(),
    "mathematica": Mathematica(),
    "latex": Latex(),
    "mathml": MathML(),
}
