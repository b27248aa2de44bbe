"""Units in which people read numbers: degrees, millimetres, turns per minute. Inside, everything is SI.

``shown = factor * si``. Messages, tables and figures take their factors from here, and from nowhere else.
"""

from __future__ import annotations

import math
from typing import NamedTuple

DEG = 180.0 / math.pi  # degrees in one rad
RPM = 30.0 / math.pi  # turns per minute in one rad/s
MM, UM = 1e3, 1e6  # millimetres and micrometres in one m
MS, US = 1e3, 1e6  # milliseconds and microseconds in one s
UF = 1e6  # microfarads in one F
BAR, LITRES_PER_MINUTE = 1e-5, 6e4  # bar in one Pa, L/min in one m3/s
MA, PERCENT = 1e3, 1e2  # milliamperes in one A, percent in one
GRAMS = 1e3  # in one kg


class Shown(NamedTuple):
    """How a quantity is shown: what its SI value is multiplied by, and the unit then."""

    factor: float
    unit: str

    def text(self, value: float, pattern: str = ".4g", per: str = "") -> str:
        """A value in SI as people read it; ``per``: of its rate, such as '/s'.

        >>> ANGLE.text(math.pi / 2), LENGTH.text(0.05, ".1f", "/s")
        ('90 deg', '50.0 mm/s')
        """
        return f"{self.factor * value:{pattern}} {self.unit}{per}"

    def rate(self, per: str = "/s") -> Shown:
        """The same per time."""
        return Shown(self.factor, f"{self.unit}{per}")


ANGLE, LENGTH = Shown(DEG, "deg"), Shown(MM, "mm")
MOTOR_SPEED, TORQUE, FORCE = Shown(RPM, "rpm"), Shown(1.0, "N m"), Shown(1.0, "N")


def of_joint(slides: bool) -> Shown:
    """How the position of a joint is shown: of one that slides in mm, else in deg."""
    return LENGTH if slides else ANGLE


def of_unit(unit: str) -> Shown:
    """How a position in ``unit``, 'm' or 'rad', is shown."""
    return of_joint(unit == "m")
