"""The compiled part of ``pace``: the speed along a curve that takes the least time.

Times of neighbouring speeds hardly differ, so that no operation may be rearranged: the choice would be another one.
"""

from __future__ import annotations

import math

from servotwin.compiled.jit import strict_kernel
from servotwin.mechanism.model import Array

GRID = 32  # speeds that are compared at once
LEFT = 1e-12  # of an acceleration: the least that bends leave
RAMPS, TRAPEZOID, QUINTIC = range(3)  # laws, as far as their times differ
QUINTIC_SPEED = 15.0 / 8.0  # largest rates of 10 x^3 - 15 x^4 + 6 x^5
QUINTIC_ACCELERATION = 10.0 / math.sqrt(3.0)


@strict_kernel
def needed_push(rates: Array, tool: Array, v: float) -> float:
    """The largest share per unit of sdd of the accelerations that the bends leave at the speed v (eq:curve-pace).

    ``rates`` (2, k): shares of the acceleration per unit of sdd and sd^2; ``tool`` (2,): the same of the tool.
    """
    x, need = v * v, 0.0
    for k in range(rates.shape[1]):
        need = max(need, rates[0, k] / max(1.0 - rates[1, k] * x, LEFT))  # eq:curve-pace
    if tool[0] > 0.0:
        bend = tool[1] * v * v
        need = max(need, tool[0] / math.sqrt(max(1.0 - bend * bend, LEFT)))
    return need


@strict_kernel
def quickest_speed(
    rates: Array, tool: Array, length: float, most: float, share: float, law: int, free: float
) -> float:
    """The speed up to ``most`` with the least time, on the falling side of the time.

    ``rates`` (2, k): shares of the acceleration per unit of sdd and sd^2; ``tool`` (2,): the same of the tool.
    Ramps have ``share`` of what the bends leave (eq:curve-pace); ``free`` [s2/m]: the part of the ramps that does
    not count.
    """
    low, high, best, v = 0.0, most, 0, 0.0
    for _ in range(2):
        step, least = high - low, math.inf
        for g in range(1, GRID + 1):
            v = low + step * g / GRID
            need = needed_push(rates, tool, v)
            per_push = 1.0 / (share * (1.0 / need)) if need > 0.0 else 0.0
            if law == QUINTIC:
                by_push = math.sqrt(QUINTIC_ACCELERATION * length * per_push)
                time = max(QUINTIC_SPEED * length / v, by_push)
            else:
                time = length / v + (1.0 if law == TRAPEZOID else 1.5) * v * (per_push - free)
            if time < least:
                least, best = time, g - 1
        before = low + step * best / GRID if best > 0 else low
        low, high = before, low + step * min(best + 2, GRID) / GRID
    return low if best < GRID - 1 else high
