"""Units as people and machines read them: the units of a joint, and units inside the names of keys."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from servotwin.description.display import ANGLE, LENGTH


@dataclass(frozen=True)
class JointUnits:
    """Units of one joint: SI ones for files, and those that drawings use (``shown = factor * si``)."""

    position: str
    effort: str
    shown: str
    factor: float

    @property
    def speed(self) -> str:
        """SI unit of the joint's velocity."""
        return f"{self.position}/s"

    @property
    def acceleration(self) -> str:
        """SI unit of the joint's acceleration."""
        return f"{self.position}/s^2"


REVOLUTE = JointUnits("rad", "N*m", ANGLE.unit, ANGLE.factor)
PRISMATIC = JointUnits("m", "N", LENGTH.unit, LENGTH.factor)


def joint_units(unit: str) -> JointUnits:
    """The units of a joint whose position is in ``unit``, 'rad' or 'm'."""
    return PRISMATIC if unit == "m" else REVOLUTE


def unit_key(name: str, unit: str) -> str:
    """The key of a value with its unit in the name.

    >>> unit_key("rotor_inertia", "kg*m^2"), unit_key("speed", "rad/s")
    ('rotor_inertia_kg_m2', 'speed_rad_per_s')
    """
    suffix = re.sub(r"[()^]", "", unit).replace("*", "_").replace("/", "_per_")
    return f"{name}_{suffix}" if suffix else name


def plain_unit(unit: str) -> str:
    """A unit as text for people: ``N*m`` reads ``N m``, ``deg/s^2`` reads ``deg/s2``.

    >>> plain_unit("kg*m^2")
    'kg m2'
    """
    return unit.replace("*", " ").replace("^", "")


def titled(word: str, name: str) -> str:
    """A name with the word for what it is in front, unless the name says so itself.

    >>> titled("Joint", "A"), titled("Joint", "joint_1"), titled("Axis", "axis3")
    ('Joint A', 'joint_1', 'axis3')
    """
    return name if re.match(rf"{word}(?![a-z])", name, re.IGNORECASE) else f"{word} {name}"


def finite(value: Any) -> Any:
    """A number for JSON: plain float, None where it is infinite or unknown."""
    return float(value) if value is not None and math.isfinite(value) else None


def plain(values: Any) -> Any:
    """Arrays as nested lists of floats for JSON, without negative zeros; None where a value is not finite."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, Sequence) and not isinstance(values, str):
        return [plain(value) for value in values]
    number = finite(values)
    return None if number is None else number + 0.0
