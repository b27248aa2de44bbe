"""Whether a measurement is far from every alarm, at the price of a glance.

Bounds lie inside those of ``alarms.Watch`` by more than rounding can do: what is clear here raises no alarm there,
and whatever is not clear is left to the watch itself.
"""

from __future__ import annotations

import numpy as np

from servotwin.control.main.alarms import Watch
from servotwin.description.frames import Array

INSIDE = 1e-9  # of a bound, and rad, m: far more than two ways to round differ by


class QuickWatch:
    """Bounds for measurements that are ``period`` [s] apart; lists, which for a few joints are quicker than arrays."""

    def __init__(self, watch: Watch, period: float) -> None:
        n, limits, inner = len(watch.names), watch.limits, 1.0 - INSIDE
        low, high = limits.low - watch.margin + INSIDE, limits.high + watch.margin - INSIDE
        far, step = watch.following * inner, watch.speed * (period * inner)
        self._joints = np.stack([far, step, low[:n], high[:n]], axis=1).tolist()
        quantities = limits.quantities
        bounds = np.stack([quantities.b, low[n:], high[n:]], axis=1)
        self._robot = watch.robot if watch.frame_margin.size else None
        self._frame_margin = watch.frame_margin - INSIDE
        self._quantities = list(zip(quantities.A.tolist(), bounds.tolist(), strict=True))

    def clear(self, q: Array, before: Array, q_ref: Array) -> bool:
        """Whether joints at q (n,), ``before`` (n,) a period ago, are well for the reference q_ref (n,); NaN is not."""
        joints = q.tolist()
        rows = zip(joints, before.tolist(), q_ref.tolist(), self._joints, strict=True)
        for here, last, wanted, (far, step, low, high) in rows:
            if not (abs(here - wanted) <= far and abs(here - last) <= step and low <= here <= high):
                return False
        for row, (offset, low, high) in self._quantities:
            z = offset + sum(a * here for a, here in zip(row, joints, strict=True))
            if not low <= z <= high:
                return False
        return self._robot is None or bool(
            (self._robot.frame_quantities_beyond(q) <= self._frame_margin).all()
        )
