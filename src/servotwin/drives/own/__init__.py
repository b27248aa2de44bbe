"""Actuators that users write themselves: a few declarations and functions that numba compiles.

A robot file names one by its file, ``kind: slide.py:LAGGED_FORCE``. What it declares is known once its code is
loaded, which a caller must allow; until then it counts as something that takes a current and gives a torque.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from servotwin.drives.kind import ActuatorKind, Feed, Winding, stated_constant

PATTERN = re.compile(r"[^:\n]+\.py:[A-Za-z_]\w*")
EFFORT, POWER, LOSS = range(3)  # places of ``out``
OUTPUTS = 3
# integrals of an axis: what became heat, the work of its effort [J], and what it was commanded [A s]
LOST, WORK, CHARGE = range(3)
INTEGRALS = 3
MOST_STATES, MOST_PARAMETERS = 3, 16
CODE = 4


@dataclass(frozen=True)
class Actuator:
    """An actuator of the user's own, at its motor side in SI.

    ``rates(x, theta, w, command, supply, p, dx, out)`` fills ``dx`` with the rates of its states ``x`` and ``out``
    with what it gives now: ``out[EFFORT]`` torque [N m] or force [N], ``out[POWER]`` what it takes from its supply
    [W], ``out[LOSS]`` what becomes heat [W]. ``theta``, ``w``: angle and speed of its shaft; ``command``: current that
    the servo asks for [A], held for a current period; ``supply``: voltage of the intermediate circuit [V]; both are
    zero while the power is off. ``p``: its ``parameters`` in the order in which they are declared.
    ``energy(x, p)``: what it stores [J]. ``parameters`` and ``states``: names and units.
    """

    rates: Callable[..., None]
    parameters: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    energy: Callable[..., float] | None = None


def _winding(motor: Any) -> Winding:
    K, stated = stated_constant(motor)
    return Winding(torque_constant=K, has_torque_constant=stated)


def own_kind(name: str) -> ActuatorKind:
    """What is known of an own actuator before its code is loaded."""
    return ActuatorKind(
        name=name,
        code=CODE,
        feed=Feed.COMMAND,
        integrals=INTEGRALS,
        winding=_winding,
        driver="own",
        exact=False,
        needed=("torque_constant",),
    )


def is_own(name: str | None) -> bool:
    """Whether a kind is named by a file and a name in it."""
    return name is not None and PATTERN.fullmatch(name) is not None
