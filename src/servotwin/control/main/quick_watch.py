"""Whether a measurement is far from every alarm, at the price of a glance.

Bounds lie inside those of ``alarms.Watch`` by more than rounding can do: what is clear here raises no alarm there,
and whatever is not clear is left to the watch itself.
"""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import helper, strict_kernel
from servotwin.control.main.alarms import Watch
from servotwin.description.frames import Array

INSIDE = 1e-9  # of a bound, and rad, m: far more than two ways to round differ by


class QuickWatch:
    """Bounds for measurements that are ``period`` [s] apart, as compiled code takes them.

    ``numbers``: for each joint how far it may be from its reference and how far it moves in a period at most, its least
    and largest position (n, 4); the matrix of the quantities (k, n); their offset, least and largest value (k, 3).
    """

    def __init__(self, watch: Watch, period: float) -> None:
        n, limits, inner = len(watch.names), watch.limits, 1.0 - INSIDE
        low, high = limits.low - watch.margin + INSIDE, limits.high + watch.margin - INSIDE
        far, step = watch.following * inner, watch.speed * (period * inner)
        quantities = limits.quantities
        self.numbers: tuple[Array, Array, Array] = (
            np.stack([far, step, low[:n], high[:n]], axis=1),
            np.array(quantities.A, dtype=np.float64).reshape(len(quantities.names), n),
            np.stack([quantities.b, low[n:], high[n:]], axis=1),
        )
        self._robot = watch.robot if watch.frame_margin.size else None
        self._frame_margin = watch.frame_margin - INSIDE

    def clear(self, q: Array, before: Array, q_ref: Array) -> bool:
        """Whether joints at q (n,), ``before`` (n,) a period ago, are well for the reference q_ref (n,); NaN is not."""
        here, last, wanted = (np.ascontiguousarray(x) for x in (q, before, q_ref))
        return bool(is_clear(here, last, wanted, *self.numbers)) and self.frames_clear(q)

    def frames_clear(self, q: Array) -> bool:
        """Whether angles and distances between frames are well with the joints at q (n,)."""
        return self._robot is None or bool(
            (self._robot.frame_quantities_beyond(q) <= self._frame_margin).all()
        )


@helper
def within_bounds(q: Array, before: Array, q_ref: Array, joints: Array, A: Array, bounds: Array) -> bool:
    """``QuickWatch.clear`` for compiled code."""
    for i in range(len(q)):
        far, step, low, high = joints[i, 0], joints[i, 1], joints[i, 2], joints[i, 3]
        if not (abs(q[i] - q_ref[i]) <= far and abs(q[i] - before[i]) <= step and low <= q[i] <= high):
            return False
    for k in range(len(bounds)):
        z = bounds[k, 0]
        for i in range(len(q)):
            z += A[k, i] * q[i]
        if not bounds[k, 1] <= z <= bounds[k, 2]:
            return False
    return True


@strict_kernel
def is_clear(q: Array, before: Array, q_ref: Array, joints: Array, A: Array, bounds: Array) -> bool:
    """The same, called from Python."""
    return within_bounds(q, before, q_ref, joints, A, bounds)
