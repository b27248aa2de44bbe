"""The innermost loop of a hydraulic axis: from the current that the speed loop asks for to that of the valve."""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.control.servo.records import POSITIONS

LEAST_HEAD = 0.05  # of the driving pressure that is counted with, where a load has used it up
OVER_NULL = 0.01  # of the largest current, over which the overlap is jumped


@helper
def watch_load_pressure(axis: Any, p_a: float, p_b: float) -> None:
    """Load pressure from both chambers, counted on the mean area [Pa] (eq:load-pressure)."""
    axis.p_load = axis.area_a_hat * p_a - axis.area_b_hat * p_b


def head_factor(head: float, forward: float, backward: float, i: float, p_load: float) -> float:
    """Current that the load takes, over that without load; 1 without linearisation (eq:valve-loop).

    ``head``, ``forward``, ``backward``: pressures that drive the piston, their mean and both ways; ``p_load`` [Pa].
    """
    if head <= 0.0:
        return 1.0
    left = forward - p_load if i >= 0.0 else backward + p_load
    return math.sqrt(head / max(left, LEAST_HEAD * head))


compiled_head_factor = helper(head_factor)


@helper
def pressure_gain(axis: Any) -> float:
    """Gain of the pressure feedback where the piston is [A/Pa]: linear between the positions of its schedule."""
    if axis.stroke_step <= 0.0:
        return axis.K_pressure  # type: ignore[no-any-return]
    place = (axis.count / axis.counts_per_rad - axis.stroke_from) / axis.stroke_step
    place = min(max(place, 0.0), POSITIONS - 1.0)
    k = min(int(place), POSITIONS - 2)
    return axis.K_stroke[k] + (place - k) * (axis.K_stroke[k + 1] - axis.K_stroke[k])  # type: ignore[no-any-return]


@helper
def valve_current(axis: Any) -> float:
    """Current of the valve [A] (eq:valve-loop), and the limit that it leaves to the speed loop.

    A valve of which nothing is known gets what the speed loop asks for.
    """
    if axis.valve_max <= 0.0:
        return axis.i_ref  # type: ignore[no-any-return]
    counted = axis.head_share * axis.p_slow
    factor = compiled_head_factor(axis.head, axis.head_forward, axis.head_backward, axis.i_ref, counted)
    axis.i_max = axis.valve_max / factor
    i = factor * axis.i_ref - pressure_gain(axis) * (axis.p_load - axis.p_slow)  # eq:valve-loop
    axis.p_slow += axis.slow_part * (axis.p_load - axis.p_slow)
    if axis.overlap > 0.0:
        i += axis.overlap * i / (abs(i) + OVER_NULL * axis.valve_max)
    return min(max(i, -axis.valve_max), axis.valve_max)  # type: ignore[no-any-return]
