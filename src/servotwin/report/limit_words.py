"""Limits of an optimal motion in words, in the units that drawings use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servotwin.report.labels import joint_units

if TYPE_CHECKING:
    from servotwin.motion.optimal.result import LimitUse

ONE = {"strokes": "stroke"}  # units that are words
NEAR = 0.995  # share of a limit from which it counts as reached
OF_JOINTS = ("speed", "acceleration", "jerk", "range")


def shown_factor(use: LimitUse) -> tuple[float, str]:
    """What a value is multiplied by for drawings, and its unit there: degrees and millimetres for joints."""
    base, per, rest = use.unit.partition("/")
    if use.what not in OF_JOINTS or base not in ("rad", "m"):
        return 1.0, use.unit
    of = joint_units(base)
    return of.factor, f"{of.shown}{per}{rest}"


def limit_value(use: LimitUse) -> str:
    """What a limit allows; of a range the bound that the motion comes to."""
    factor, unit = shown_factor(use)
    unit = ONE.get(unit, unit) if use.value == 1.0 else unit
    return f"{'bound at ' if use.what == 'range' else ''}{factor * use.value:.4g} {unit}"


def limit_gain(use: LimitUse) -> str:
    """What one more unit of it would take off the objective."""
    return f"{use.gain / shown_factor(use)[0]:.3g}"


def unit_word(use: LimitUse) -> str:
    """The unit of a limit, one of it."""
    unit = shown_factor(use)[1]
    return ONE.get(unit, unit)


def limit_name(use: LimitUse) -> str:
    """What is limited; the torque of a sliding joint is a force."""
    return "joint force" if use.what == "torque" and use.unit == "N" else use.what


def is_reached(use: LimitUse) -> bool:
    """Whether a motion meets a limit; a range at which it only begins or ends does not hold it."""
    return use.active > 0.0 or (use.peak >= NEAR and use.what != "range")
