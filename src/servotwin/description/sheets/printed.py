"""Quantities as data sheets print them: effective values and amplitudes are told apart by their units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from servotwin.description.fields import Measure, Points, as_text, problem
from servotwin.description.nodes import quoted
from servotwin.description.sheets.conventions import Size
from servotwin.description.units import expectation

TINY, HUGE = 1e-15, 1e15  # SI: bounds of printed numbers, so that their products and quotients are finite
_RMS = re.compile(r"(?<![A-Za-z])(m?[AV])[ _.]?(?:rms|RMS|eff)(?![A-Za-z])")
_AMPLITUDE = re.compile(r"(?<![A-Za-z])(m?[AV])[ _.]?(?:pk|peak|amp|0-p|0p)(?![A-Za-z])")


class Printed(NamedTuple):
    """A quantity in SI whose unit may tell what it is of a sine."""

    value: float
    size: Size | None = None  # None: the unit does not tell


@dataclass(frozen=True)
class PrintedMeasure(Measure):
    """A current, a voltage, or a constant with one of them: ``0.71 N*m/Arms``, ``41 Vrms/krpm``, ``5 Apk``."""

    def read(self, raw: object) -> Any:
        """The SI value with what its unit tells."""
        if isinstance(raw, list | tuple) and len(raw) == 2 and isinstance(raw[0], float):
            return Printed(super().read(raw[0]), raw[1])  # read before
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            return Printed(super().read(raw))
        text = as_text(raw, expectation(self.unit))
        plain, rms = _RMS.subn(r"\1", text)
        plain, amplitude = _AMPLITUDE.subn(r"\1", plain)
        if rms and amplitude:
            raise problem(
                f"{quoted(text)} is of an effective value and of an amplitude; expected one of them"
            )
        return Printed(super().read(plain), "rms" if rms else "amplitude" if amplitude else None)


def rising_points(points: tuple[tuple[float, float], ...] | None, at: str, least: int = 1) -> None:
    """Complain about points whose first quantity does not rise."""
    if points is None:
        return
    firsts = [first for first, _ in points]
    if any(b <= a for a, b in pairwise(firsts)):
        raise problem("the first values do not rise from point to point; expected ascending ones", at)
    if len(points) < least:
        raise problem(f"{len(points)} points; expected at least {least}", at)


def interpolated(points: tuple[tuple[float, float], ...], x: float) -> float:
    """The value at ``x`` on straight lines between points; the nearest point beyond them.

    >>> interpolated(((0.0, 1.0), (10.0, 3.0)), 5.0), interpolated(((0.0, 1.0), (10.0, 3.0)), 20.0)
    (2.0, 3.0)
    """
    if x <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[-1][1]


SPEED_TORQUE = Points(
    Measure("rad/s", minimum=0.0, maximum=HUGE), Measure("N*m", minimum=0.0, maximum=HUGE), least=2, most=32
)
