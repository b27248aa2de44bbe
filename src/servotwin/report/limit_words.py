"""Limits of an optimal motion in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servotwin.motion.optimal.result import LimitUse

ONE = {"strokes": "stroke"}  # units that are words


def limit_value(use: LimitUse) -> str:
    """What a limit allows; of a range the bound that the motion comes to."""
    unit = unit_word(use) if use.value == 1.0 else use.unit
    return f"{'bound at ' if use.what == 'range' else ''}{use.value:.4g} {unit}"


def unit_word(use: LimitUse) -> str:
    """The unit of a limit, one of it."""
    return ONE.get(use.unit, use.unit)
