"""Names and numbers of a job: as they are written, and where."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from servotwin.description.quantities import Dimension, Quantity
from servotwin.description.units import read_quantity


@dataclass(frozen=True)
class Place:
    """Line and column in the file, both from 1; zero if unknown."""

    line: int = 0
    column: int = 0


NOWHERE = Place()


class Name(str):
    """A name as written, which knows where it stands; compares as its text."""

    __slots__ = ("place",)
    place: Place

    def __new__(cls, text: str, place: Place = NOWHERE) -> Name:
        """The name ``text`` at ``place``."""
        made = super().__new__(cls, text)
        made.place = place
        return made


def place_of(name: str, otherwise: Place = NOWHERE) -> Place:
    """Where a name stands, if it knows."""
    place = getattr(name, "place", NOWHERE)
    return place if place.line else otherwise


@cache
def _one(unit: str) -> Quantity:
    """One of a unit."""
    return read_quantity(f"1 {unit}") if unit else Quantity(1.0)


@dataclass(frozen=True)
class Amount:
    """A number with its unit as written, such as 5 mm; the unit is empty for a plain number."""

    number: float
    unit: str = ""
    place: Place = field(default=NOWHERE, compare=False, repr=False)

    @property
    def si(self) -> float:
        """The value in SI units; a share such as 50% is 0.5."""
        one = _one(self.unit)
        return self.number * one.top / one.bottom  # divided last: 350 mm is exactly 0.35 m

    @property
    def dimension(self) -> Dimension:
        """The exponents of the base units."""
        return _one(self.unit).dimension

    @property
    def is_share(self) -> bool:
        """True for a value in percent."""
        return self.unit == "%"
