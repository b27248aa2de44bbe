"""The kinds of values a description field can hold, and how each is read from text.

Text is what a file gives; a number given from Python is taken as SI.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from servotwin.description.nodes import join, one_line, quoted
from servotwin.description.quantities import PLAIN, dimension_name
from servotwin.description.units import did_you_mean, dimension_of, expectation, parse_quantity

LARGEST = 1e30  # products of a few such values are still finite
FARTHEST = 1e9  # rad, m: of a joint position; beyond, the generated sine and cosine are not defined
LONGEST = 1000  # characters of a message; the list of a motor's fields takes half of them


def problem(text: str, at: str = "") -> PydanticCustomError:
    """What is wrong with a value, or with the field at the dotted path ``at`` below it."""
    return PydanticCustomError("servotwin", "{text}", {"text": one_line(text, LONGEST), "at": at})


class Reader:
    """Base of the field kinds: pydantic calls ``read`` with the raw value."""

    def read(self, raw: object) -> Any:
        """The value of ``raw``; raises ``problem`` if it cannot be accepted."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)


def as_text(raw: object, expected: str) -> str:
    """``raw`` if it is the text of a scalar."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, dict):
        raise problem(f"a mapping stands here; expected {expected}")
    if isinstance(raw, list | tuple):
        raise problem(f"a list stands here; expected {expected}")
    raise problem(f"the value is missing; expected {expected}")


@dataclass(frozen=True)
class Measure(Reader):
    """A quantity read to SI, or ``size`` of them in a list.

    ``unit`` fixes the dimension; with ``linear`` the field is measured in
    ``linear`` when its joint is prismatic, and ``read_for`` must be used. The
    values of a ``rising`` list do not fall.
    """

    unit: str
    linear: str | None = None
    size: int = 0
    angle_optional: bool = False
    minimum: float = -math.inf
    above: float = -math.inf
    maximum: float = math.inf
    rising: bool = False

    def read(self, raw: object) -> Any:
        """The SI value, or a tuple of ``size`` values."""
        return self.read_for(raw, prismatic=False)

    def read_for(self, raw: object, prismatic: bool) -> Any:
        """The value for a field of a prismatic or revolute joint."""
        unit = self.linear if prismatic and self.linear is not None else self.unit
        if self.size == 0:
            return self._one(raw, unit)
        if not isinstance(raw, list | tuple) or len(raw) != self.size:
            given = f"{len(raw)} values" if isinstance(raw, list | tuple) else quoted(raw)
            raise problem(f"{given}; expected a list of {self.size}, each {expectation(unit)}")
        values = tuple(_below(str(i), self._one, item, unit) for i, item in enumerate(raw))
        if self.rising and any(low > high for low, high in pairwise(values)):
            given = ", ".join(str(item) for item in raw)
            raise problem(f"minimum is above maximum in {quoted(f'[{given}]')}; expected [min, max]")
        return values

    def _one(self, raw: object, unit: str) -> float:
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            value = float(raw)
            if not math.isfinite(value):
                raise problem(f"{value} is not finite; expected {expectation(unit)}")
        else:
            text = as_text(raw, expectation(unit))
            try:
                value = parse_quantity(text, unit, angle_optional=self.angle_optional)
            except ValueError as error:
                raise problem(str(error)) from None
        self._check_range(value, raw, unit)
        return value

    def _check_range(self, value: float, raw: object, unit: str) -> None:
        if abs(value) > LARGEST:
            raise problem(f"{quoted(raw)} is beyond all machines; expected at most {LARGEST:g} in SI units")
        if value <= 0.0 < self.minimum and dimension_of(unit) != PLAIN:
            kind = dimension_name(dimension_of(unit)).partition(" ")[2]
            raise problem(f"{quoted(raw)} is too small; expected a positive {kind}")
        if value < self.minimum:
            raise problem(f"{quoted(raw)} is too small; expected at least {_bound(self.minimum, raw, unit)}")
        if value <= self.above:
            raise problem(f"{quoted(raw)} is too small; expected more than {_bound(self.above, raw, unit)}")
        if value > self.maximum:
            raise problem(f"{quoted(raw)} is too large; expected at most {_bound(self.maximum, raw, unit)}")


def _bound(value: float, raw: object, unit: str) -> str:
    """A bound as the field would be written: in percent where percent were given, else in SI.

    >>> _bound(1.0, "120 %", ""), _bound(0.0, "-1 ms", "s"), _bound(100.0, "1 h", "s")
    ('100 %', '0', '100 s')
    """
    if isinstance(raw, str) and raw.rstrip().endswith("%"):
        return f"{100.0 * value:g} %"
    return f"{value:g} {unit}" if unit and value else f"{value:g}"


def _below(at: str, read: Callable[..., Any], *arguments: Any) -> Any:
    """``read(*arguments)``, its problem moved to the field ``at``."""
    try:
        return read(*arguments)
    except PydanticCustomError as error:
        context = error.context or {}
        raise problem(context["text"], join(at, context["at"]) if context["at"] else at) from None


@dataclass(frozen=True)
class Points(Reader):
    """A list of ``least`` to ``most`` points, each a list of two quantities."""

    first: Measure
    second: Measure
    least: int = 1
    most: int = 16

    @property
    def linear(self) -> str | None:
        """Set if the quantities depend on the type of the joint."""
        return self.first.linear

    def read(self, raw: object) -> Any:
        """The points, a tuple of pairs."""
        return self.read_for(raw, prismatic=False)

    def read_for(self, raw: object, prismatic: bool) -> Any:
        """The points for a field of a prismatic or revolute joint."""
        expected = f"{self.least} to {self.most} points, each [{self.words(prismatic)}]"
        if not isinstance(raw, list | tuple):
            raise problem(f"{quoted(raw)}; expected a list of {expected}")
        if not self.least <= len(raw) <= self.most:
            raise problem(f"{len(raw)} points; expected {expected}")
        return tuple(_below(str(i), self._point, item, prismatic) for i, item in enumerate(raw))

    def words(self, prismatic: bool = False) -> str:
        """What the two quantities are."""
        return ", ".join(
            expectation(kind.linear if prismatic and kind.linear is not None else kind.unit)
            for kind in (self.first, self.second)
        )

    def _point(self, raw: object, prismatic: bool) -> tuple[float, float]:
        if not isinstance(raw, list | tuple) or len(raw) != 2:
            given = f"{len(raw)} values" if isinstance(raw, list | tuple) else quoted(raw)
            raise problem(f"{given}; expected a point [{self.words(prismatic)}]")
        return (
            _below("0", self.first.read_for, raw[0], prismatic),
            _below("1", self.second.read_for, raw[1], prismatic),
        )


class JointReader(Protocol):
    """A field kind whose unit depends on the type of the joint, where ``linear`` is set."""

    @property
    def linear(self) -> str | None:
        """Unit for a prismatic joint."""

    def read_for(self, raw: object, prismatic: bool) -> Any:
        """The value for a field of a prismatic or revolute joint."""


def read_at(at: str, measure: JointReader, raw: object, prismatic: bool) -> Any:
    """``measure.read_for`` of a value that stands at the path ``at``."""
    return _below(at, measure.read_for, raw, prismatic)


def read_of_axis(at: str, measure: JointReader, raw: object, prismatic: bool) -> Any:
    """``read_at`` for a field of an axis: what the other type of axis would accept says so."""
    try:
        return read_at(at, measure, raw, prismatic)
    except PydanticCustomError as error:
        found = error.context or {}
        try:
            measure.read_for(raw, not prismatic)
        except PydanticCustomError:
            raise error from None
        hint = "the axis slides ('type: prismatic')"
        if not prismatic:
            hint = "the axis is revolute, and slides with 'type: prismatic'"
        raise problem(f"{found['text']}; {hint}", found["at"]) from None


def read_parts(model: type[Part], raw: object, prismatic: bool) -> object:
    """A copy of the mapping ``raw`` whose joint-dependent measures are read; other values stay."""
    if not isinstance(raw, dict):
        return raw
    read = dict(raw)
    for name, info in model.model_fields.items():
        for kind in info.metadata:
            if getattr(kind, "linear", None) is not None and raw.get(name) is not None:
                read[name] = read_of_axis(name, kind, raw[name], prismatic)
    return read


@dataclass(frozen=True)
class Whole(Reader):
    """A whole number from ``minimum`` to ``maximum``."""

    minimum: int = 0
    maximum: int = 2**53

    def read(self, raw: object) -> int:
        """The number."""
        expected = f"a whole number from {self.minimum}"
        if self.maximum < 2**53:
            expected += f" to {self.maximum}"
        if isinstance(raw, int) and not isinstance(raw, bool):
            value = raw
        else:
            text = as_text(raw, expected)
            try:
                number = parse_quantity(text, "")
            except ValueError:
                number = math.nan
            if not number.is_integer():
                raise problem(f"{quoted(text)} is not a whole number; expected {expected}")
            value = int(number)
        if not self.minimum <= value <= self.maximum:
            raise problem(f"{value} is out of range; expected {expected}")
        return value


@dataclass(frozen=True)
class Bits(Whole):
    """Bits of a converter; 0 for none."""

    maximum: int = 32

    def read(self, raw: object) -> int:
        """The number; one of the bits is the sign."""
        bits = super().read(raw)
        if bits == 1:
            raise problem(f"1 bit is a sign without a value; expected 0 for none, or 2 to {self.maximum}")
        return bits


@dataclass(frozen=True)
class Over256(Whole):
    """The numerator of an integer gain over 256, written '9984' or '9984/256'."""

    maximum: int = 2**63 - 1

    def read(self, raw: object) -> int:
        """The numerator; any other fraction would be misread as a number of its own."""
        if not isinstance(raw, str):
            return super().read(raw)
        if "/" not in raw:
            return super().read(raw)
        over = re.fullmatch(r"\s*(\d+)\s*/\s*256\s*", raw)
        if over is None:
            raise problem(f"{quoted(raw)} is not over 256; expected such as '9984' or '9984/256'")
        return super().read(over.group(1))


@dataclass(frozen=True)
class Words(Reader):
    """A line of text; with ``pattern``, a name of that form."""

    pattern: str = ""
    expected: str = "a line of text"

    def read(self, raw: object) -> str:
        """The text on one line."""
        text = " ".join(as_text(raw, self.expected).split())
        if not text:
            raise problem(f"an empty text; expected {self.expected}")
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise problem(f"{quoted(text)} is not accepted; expected {self.expected}")
        return text


@dataclass(frozen=True)
class Choice(Reader):
    """One of a few words.

    ``former`` words are still read, each as the word that took its place; ``meant`` tells for a word
    of other people what it is called here. Texts of the ``pattern`` are accepted too; ``form`` says so.
    """

    words: tuple[str, ...]
    former: tuple[tuple[str, str], ...] = ()
    meant: tuple[tuple[str, str], ...] = ()
    pattern: str = ""
    form: str = ""

    def read(self, raw: object) -> str:
        """The word."""
        expected = f"one of {', '.join(self.words)}{self.form}"
        text = as_text(raw, expected).strip()
        text = dict(self.former).get(text, text)
        if text not in self.words and not (self.pattern and re.fullmatch(self.pattern, text)):
            hint = dict(self.meant).get(text.lower()) or did_you_mean(text, list(self.words))
            raise problem(f"{quoted(text)} is not accepted; expected {expected}{hint}")
        return text


@dataclass(frozen=True)
class Flag(Reader):
    """Yes or no."""

    def read(self, raw: object) -> bool:
        """The truth value."""
        if isinstance(raw, bool):
            return raw
        text = as_text(raw, "true or false").strip()
        if text.lower() not in ("true", "false"):
            raise problem(f"{quoted(text)} is not accepted; expected true or false")
        return text.lower() == "true"


CELSIUS_ZERO = 273.15  # K; exact by the definition of the Celsius scale


@dataclass(frozen=True)
class Celsius(Reader):
    """A temperature on the Celsius scale, kept as the number of degrees; kelvins are converted."""

    def read(self, raw: object) -> float:
        """The temperature [degC]."""
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            value = float(raw)
        else:
            value = self._of_text(as_text(raw, _TEMPERATURE))
        if not -CELSIUS_ZERO <= value <= MAX_CELSIUS:
            raise problem(f"{quoted(raw)} is out of range; expected -273.15 to {MAX_CELSIUS:g} degC")
        return value

    @staticmethod
    def _of_text(text: str) -> float:
        number, kelvin = text.strip(), True
        for name in ("degC", "\u00b0C", "celsius"):
            if number.endswith(name):
                number, kelvin = number.removesuffix(name), False
                break
        try:
            value = parse_quantity(number, "K" if kelvin else "")
        except ValueError:
            raise problem(f"{quoted(text)} is not a temperature; expected {_TEMPERATURE}") from None
        return value - CELSIUS_ZERO if kelvin else value


MAX_CELSIUS = 5000.0
_TEMPERATURE = "a temperature, such as '25 degC'"
NANOSECONDS = 1e9  # per second


def nanoseconds(seconds: float) -> int:
    """A time as whole nanoseconds, the nearest."""
    return round(seconds * NANOSECONDS)


def is_period(seconds: float) -> bool:
    """True for a whole number of nanoseconds, 1 or more, up to a millionth of it."""
    ns = seconds * NANOSECONDS
    return math.isfinite(ns) and round(ns) >= 1 and abs(ns - round(ns)) <= 1e-6 * ns


@dataclass(frozen=True)
class Period(Reader):
    """A sampling period [s]: a whole number of nanoseconds, so that clocks never drift apart."""

    longest: float = 10.0

    def read(self, raw: object) -> float:
        """The period [s]."""
        value = float(Measure("s", above=0.0, maximum=self.longest).read(raw))
        if not is_period(value):
            raise problem(
                f"{quoted(raw)} is not a whole number of nanoseconds; expected one, such as '0.2 ms'"
            )
        return value


class Part(BaseModel):
    """A mapping of the description with a fixed set of fields; frozen once read."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    other_names: ClassVar[Mapping[str, str]] = {}  # what people call a field elsewhere, and its name here

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, raw: object) -> object:
        names = list(cls.model_fields)
        if isinstance(raw, BaseModel):
            return raw
        if not isinstance(raw, dict):
            stands = "a list" if isinstance(raw, list | tuple) else "nothing" if raw is None else quoted(raw)
            raise problem(f"{stands} stands here; expected a mapping with {', '.join(names)}")
        for key in raw:
            if key not in names:
                meant = cls.other_names.get(str(key))
                hint = f"; did you mean '{meant}'?" if meant else did_you_mean(str(key), names)
                # the hint first: a motor has forty fields
                middle = f"{hint} Expected" if hint else "; expected"
                raise problem(f"unknown field{middle} one of {', '.join(names)}", str(key))
        for name, info in cls.model_fields.items():
            if info.is_required() and name not in raw:
                raise problem(f"{quoted(name)} is missing; it is required here")
        return raw
