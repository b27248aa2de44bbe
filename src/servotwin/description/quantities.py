"""Numbers with a dimension, over the base units metre, kilogram, second, ampere, kelvin and radian.

The radian is a base unit here, so that an angle is never taken for a plain
number; the steradian and other derived angle tricks are not needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

Dimension = tuple[int, int, int, int, int, int]

BASE_UNITS = ("m", "kg", "s", "A", "K", "rad")
PLAIN: Dimension = (0, 0, 0, 0, 0, 0)
MAX_EXPONENT = 64


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in SI units (and radians) with the exponents of its base units.

    The value is kept as ``top / bottom``: a millimetre is 1/1000, so that
    350 mm is the float 0.35 and not 350 times the rounded 0.001.
    """

    top: float
    dimension: Dimension = PLAIN
    bottom: float = 1.0

    def __post_init__(self) -> None:
        if not (self.bottom and math.isfinite(self.bottom) and math.isfinite(self.top / self.bottom)):
            raise ValueError("the result is not a finite number")

    @property
    def value(self) -> float:
        """The number in SI units."""
        return self.top / self.bottom

    @property
    def is_plain(self) -> bool:
        """True for a number without unit."""
        return self.dimension == PLAIN

    def __mul__(self, other: Quantity) -> Quantity:
        dimension = _combine(self.dimension, other.dimension, 1)
        return Quantity(self.top * other.top, dimension, self.bottom * other.bottom)

    def __truediv__(self, other: Quantity) -> Quantity:
        if other.top == 0.0:
            raise ValueError("division by zero")
        dimension = _combine(self.dimension, other.dimension, -1)
        return Quantity(self.top * other.bottom, dimension, self.bottom * other.top)

    def __add__(self, other: Quantity) -> Quantity:
        self._same(other, "added to")
        return Quantity(self.value + other.value, self.dimension)

    def __sub__(self, other: Quantity) -> Quantity:
        self._same(other, "subtracted from")
        return Quantity(self.value - other.value, self.dimension)

    def __neg__(self) -> Quantity:
        return Quantity(-self.top, self.dimension, self.bottom)

    def __pow__(self, other: Quantity) -> Quantity:
        if not other.is_plain:
            raise ValueError("an exponent must be a plain number")
        exponent = other.value
        if abs(exponent) > MAX_EXPONENT:
            raise ValueError(f"an exponent beyond {MAX_EXPONENT}")
        try:
            top, bottom = self.top**exponent, self.bottom**exponent
        except (ZeroDivisionError, OverflowError):
            raise ValueError("the power is not a finite number") from None
        if isinstance(top, complex) or isinstance(bottom, complex):
            raise ValueError("a root of a negative number")
        powers = [e * exponent for e in self.dimension]
        if any(p != round(p) or abs(p) > MAX_EXPONENT for p in powers):
            raise ValueError(f"{dimension_name(self.dimension)} to the power {exponent:g} is not a quantity")
        return Quantity(top, _dimension(round(p) for p in powers), bottom)

    def _same(self, other: Quantity, verb: str) -> None:
        if self.dimension != other.dimension:
            left, right = dimension_name(self.dimension), dimension_name(other.dimension)
            raise ValueError(f"{right} cannot be {verb} {left}")

    def text(self) -> str:
        """Value and base units in a form that reads back to exactly this quantity."""
        unit = unit_text(self.dimension)
        separator = "" if not unit or unit.startswith("1/") else " "
        return f"{self.value!r}{separator}{unit.removeprefix('1')}"


def _dimension(exponents: Iterable[int]) -> Dimension:
    m, kg, s, A, K, rad = exponents
    return (m, kg, s, A, K, rad)


def _combine(a: Dimension, b: Dimension, sign: int) -> Dimension:
    exponents = [x + sign * y for x, y in zip(a, b, strict=True)]
    if any(abs(e) > MAX_EXPONENT for e in exponents):
        raise ValueError(f"an exponent beyond {MAX_EXPONENT}")
    return _dimension(exponents)


def unit_text(dimension: Dimension) -> str:
    """Base units of a dimension, such as ``m^2*kg/s^2``; empty for a plain number."""

    def factors(sign: int) -> list[str]:
        pairs = zip(BASE_UNITS, dimension, strict=True)
        return [u if abs(e) == 1 else f"{u}^{abs(e)}" for u, e in pairs if e * sign > 0]

    above, below = factors(1), factors(-1)
    if not below:
        return "*".join(above)
    bottom = "*".join(below) if len(below) == 1 else f"({'*'.join(below)})"
    return f"{'*'.join(above) or '1'}/{bottom}"


# the phrases of messages; a dimension without one is named by its base units
_NAMES: dict[Dimension, str] = {
    PLAIN: "a plain number",
    (1, 0, 0, 0, 0, 0): "a length",
    (2, 0, 0, 0, 0, 0): "an area",
    (3, 0, 0, 0, 0, 0): "a volume",
    (0, 1, 0, 0, 0, 0): "a mass",
    (-2, -1, 3, 0, 0, 0): "a time per energy",
    (0, 0, 1, 0, 0, 0): "a time",
    (0, 0, -1, 0, 0, 0): "a frequency",
    (0, 0, 0, 1, 0, 0): "a current",
    (0, 0, 0, 0, 1, 0): "a temperature",
    (0, 0, 0, 0, 0, 1): "an angle",
    (1, 0, -1, 0, 0, 0): "a speed",
    (1, 0, -2, 0, 0, 0): "an acceleration",
    (1, 0, -3, 0, 0, 0): "a jerk",
    (0, 0, -1, 0, 0, 1): "an angular speed",
    (0, 0, -2, 0, 0, 1): "an angular acceleration",
    (0, 0, -3, 0, 0, 1): "an angular jerk",
    (1, 1, -2, 0, 0, 0): "a force",
    (2, 1, -2, 0, 0, 0): "a torque",
    (2, 1, 0, 0, 0, 0): "a moment of inertia",
    (2, 1, -3, 0, 0, 0): "a power",
    (-1, 1, -2, 0, 0, 0): "a pressure",
    (3, 0, -1, 0, 0, 0): "a volume flow",
    (2, 1, -3, -1, 0, 0): "a voltage",
    (2, 1, -3, -2, 0, 0): "a resistance",
    (2, 1, -2, -2, 0, 0): "an inductance",
    (-2, -1, 4, 2, 0, 0): "a capacitance",
    (0, 0, -2, 0, 0, 0): "a frequency squared",
    (0, 0, 1, 1, 0, -1): "a current per angular speed",
    (0, 0, 0, 1, 0, -1): "a current per angle",
    (2, 1, -4, -2, 0, 0): "a resistance per time",
    (-2, -1, 3, 0, 1, 0): "a thermal resistance",
    (2, 1, -2, 0, -1, 0): "a heat capacity",
    (0, 0, 0, 0, -1, 0): "a change per temperature",
    (2, 1, -2, -1, 0, 0): "a torque per current",
    (2, 1, -2, -1, 0, -1): "a voltage per angular speed",
    (2, 1, -1, 0, 0, -1): "a torque per angular speed",
    (2, 1, -2, 0, 0, -1): "a torque per angle",
    (1, 1, -2, -1, 0, 0): "a force per current",
    (0, 1, -2, 0, 0, 0): "a force per length",
    (0, 1, -1, 0, 0, 0): "a force per speed",
    (-1, 0, 0, 0, 0, 1): "an angle per length",
    (1, 0, 0, 0, 0, -1): "a length per angle",
    (3, 0, 0, 0, 0, -1): "a volume per angle",
    (4, -1, 1, 0, 0, 0): "a volume flow per pressure",
    (3, 0, -1, -1, 0, 0): "a volume flow per current",
}


def dimension_name(dimension: Dimension) -> str:
    """The dimension in words, with its article: ``a torque``."""
    return _NAMES.get(dimension) or f"a quantity in {unit_text(dimension)}"
