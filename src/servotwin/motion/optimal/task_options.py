"""Options of an optimal motion, as numbers in SI or as text with units, read into a ``Task``.

One reader for the command line, ``st.optimise_motion`` and jobs: every option that is wrong is refused by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from numbers import Real
from typing import Any

import numpy as np

from servotwin.description.nodes import quoted
from servotwin.description.units import expectation, parse_quantity
from servotwin.errors import InputError
from servotwin.motion.optimal.task import AXES, Range, Region, Task

UNLIMITED = ("current", "voltage", "flow", "effort", "speed", "jerk")  # limits that can be left out
FLAGS = (*UNLIMITED, "temperature", "free_start", "free_end")
# option: unit, example
QUANTITIES = {
    "energy_weight": ("s/J", "0.02 s/J"),
    "duration": ("s", "0.8 s"),
    "longest": ("s", "2 s"),
    "rest": ("s", "1 s"),
    "modulation": ("1", "0.95"),
    "reserve": ("1", "0.1"),
}
ACCEPTED = (*(field.name for field in fields(Task)), "regeneration", "without")
LARGEST = 1e9  # in SI units: more than any time, power or length of an arm
REGION = "'x: 200 mm to 400 mm, z: to 100 mm'"
Side = tuple[float | None, float | None]


def read_task(options: Mapping[str, Any], name: Callable[[str], str] = str) -> Task:
    """The task of options by the names of the fields of ``Task``; None stands for the default.

    Besides its fields: ``regeneration`` [W], the largest power that is fed back, and ``without``, names of limits that
    do not count. Quantities are numbers in SI or text with a unit, regions are ``Region`` or text. ``name`` tells how
    an option is called where it was given.
    """
    unknown = [option for option in options if option not in ACCEPTED]
    if unknown:
        raise InputError(
            f"no option {quoted(str(unknown[0]))} of an optimal motion; expected {', '.join(ACCEPTED)}"
        )
    given = {option: value for option, value in options.items() if value is not None}
    out: dict[str, Any] = {}
    for option, value in given.items():
        if option in QUANTITIES:
            out[option] = _number(name(option), value, *QUANTITIES[option])
        elif option in FLAGS:
            out[option] = _flag(name(option), value)
    if "objective" in given:
        out["objective"] = given["objective"]
    if "intervals" in given:
        out["intervals"] = _count(name("intervals"), given["intervals"])
    if "bus_power" in given or "regeneration" in given:
        out["bus_power"] = _powers(given.get("bus_power"), given.get("regeneration"), name)
    if "within" in given:
        out["within"] = _within(name("within"), given["within"])
    if "keep_out" in given:
        out["keep_out"] = _regions(name("keep_out"), given["keep_out"])
    out |= dict.fromkeys(_left_out(name("without"), given.get("without", ())), False)
    try:
        return Task(**out)
    except InputError as error:
        raise InputError(error.message, field=error.field and name(error.field)) from None


def _number(option: str, value: Any, unit: str, example: str) -> float:
    """A quantity in SI from a number, which may be infinite, or from text with its unit."""
    if isinstance(value, str):
        try:
            number = parse_quantity(value, unit, example=example)
        except ValueError as error:
            raise InputError(str(error), field=option) from None
        if abs(number) > LARGEST:
            text = f"{quoted(value)} is beyond all machines; expected {expectation(unit, example)}"
            raise InputError(text, field=option)
        return number
    if not _is_number(value):
        kind = type(value).__name__
        raise InputError(f"a {kind}; expected a number in SI or text such as '{example}'", field=option)
    return float(value)


def _flag(option: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{quoted(str(value))}; expected True or False", field=option)
    return bool(value)


def _count(option: str, value: Any) -> int:
    if not _is_number(value) or not float(value).is_integer():
        raise InputError(f"{quoted(str(value))}; expected a whole number such as 100", field=option)
    return int(float(value))


def _powers(most: Any, back: Any, name: Callable[[str], str]) -> Range:
    """Least and largest power from the bus [W]: of a pair, or of the largest one and what may be fed back."""
    place = name("bus_power")
    if _is_list(most):
        if len(most) != 2 or back is not None:
            beside = "" if back is None else " beside a regeneration"
            text = f"{len(most)} powers{beside}; expected least and largest, such as (-200, 1000)"
            raise InputError(text, field=place)
        low, high = (_number(place, x, "W", "2 kW") for x in most)
        return low, high
    high = math.inf if most is None else _number(place, most, "W", "2 kW")
    low = -math.inf if back is None else -_number(name("regeneration"), back, "W", "200 W")
    return low, high


def _left_out(option: str, words: Any) -> Sequence[str]:
    names = _items(words)
    unknown = [word for word in names if word not in UNLIMITED]
    if unknown:
        text = f"no limit {quoted(str(unknown[0]))}; expected one of {', '.join(UNLIMITED)}"
        raise InputError(text, field=option)
    return names


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and np.ndim(value) > 0


def _items(value: Any) -> list[Any]:
    """What a list holds; of anything else that alone."""
    return list(value) if _is_list(value) else [value]


def _regions(option: str, value: Any) -> tuple[Region, ...]:
    return tuple(_region(option, item) for item in _items(value))


def _region(option: str, value: Any) -> Region:
    if isinstance(value, str):
        region = Region(**read_sides(option, value))
    elif isinstance(value, Region):
        region = value
    else:
        kind = type(value).__name__
        text = f"a {kind} is not a region; expected st.Region(x=(0.2, 0.4)) or intervals such as {REGION}"
        raise InputError(text, field=option)
    try:
        region.faces()
    except InputError as error:
        raise InputError(error.message, field=option) from None
    except (TypeError, ValueError):
        text = f"{quoted(str(region))}; expected two ends in m for each side, such as st.Region(x=(0.2, 0.4))"
        raise InputError(text, field=option) from None
    return region


def _within(option: str, value: Any) -> dict[str, Range]:
    """Ranges of the tool point's coordinates [m], of a mapping or of text; None is an open end."""
    if isinstance(value, Mapping):
        sides = {axis: _pair(option, axis, span) for axis, span in value.items()}
    else:
        items = _items(value)
        if not all(isinstance(item, str) for item in items):
            text = "expected ranges by axis such as {'z': (0.1, 0.5)} or 'z: 100 mm to 500 mm'"
            raise InputError(f"{quoted(str(value))}; {text}", field=option)
        sides = read_sides(option, ", ".join(items))
    return {
        axis: (-math.inf if low is None else low, math.inf if high is None else high)
        for axis, (low, high) in sides.items()
    }


def _pair(option: str, axis: Any, span: Any) -> Side:
    if axis not in list(AXES) or not _is_list(span) or len(span) != 2:
        text = f"{quoted(f'{axis}: {span}')}; expected x, y or z with two ends, such as {{'z': (0.1, 0.5)}}"
        raise InputError(text, field=option)
    low, high = (None if end is None else _number(option, end, "m", "200 mm") for end in span)
    return low, high


def read_sides(option: str, text: str) -> dict[str, Side]:
    """Intervals [m] by axis of text such as 'x: 200 mm to 400 mm, z: to 100 mm'; an open end is None."""
    sides: dict[str, Side] = {}
    for part in text.split(","):
        axis, colon, span = (piece.strip() for piece in part.partition(":"))
        low, word, high = (piece.strip() for piece in span.partition("to"))
        if not (colon and word and axis in list(AXES) and axis not in sides and (low or high)):
            what = f"{quoted(text)} is not a region; expected intervals such as {REGION}"
            raise InputError(what, field=option)
        ends = [_number(option, end, "m", "200 mm") if end else None for end in (low, high)]
        sides[axis] = ends[0], ends[1]
    return sides
