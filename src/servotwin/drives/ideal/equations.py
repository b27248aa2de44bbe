"""A motor that gives what it is told, in the complete model of a robot: its input is its torque or force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from servotwin.drives.kind import Functions, StateEquations


def _numbers(motor: Any, bridge: float) -> dict[str, float]:
    return {}


def _rates(
    x: Sequence[Any],
    u: Sequence[Any],
    theta: Any,
    w: Any,
    p: Mapping[str, Any],
    f: Functions,
) -> tuple[Sequence[Any], Any]:
    return [], u[0]


EQUATIONS = StateEquations((), (("torque", "N*m"),), _numbers, _rates)
JOINT_EFFORT = StateEquations((), (("effort", "N*m"),), _numbers, _rates)  # of a joint without a motor
