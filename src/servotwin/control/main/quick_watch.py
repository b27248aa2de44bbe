"""Whether a measurement is far from every alarm, at the price of a glance.

Bounds lie inside those of ``alarms.Watch`` by more than rounding can do: what is clear here raises no alarm there,
and whatever is not clear is left to the watch itself.
"""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import kernel
from servotwin.control.main.alarms import Watch
from servotwin.description.frames import Array

INSIDE = 1e-9  # of a bound, and rad, m: far more than two ways to round differ by


@kernel
def is_clear(
    q: Array, before: Array, q_ref: Array, far: Array, step: Array,
    low: Array, high: Array, A: Array, b: Array, z_low: Array, z_high: Array,
) -> bool:  # fmt: skip
    """Whether joints (n,) and quantities A q + b are inside their bounds; a NaN is not."""
    n = q.shape[0]
    for i in range(n):
        if not (abs(q[i] - q_ref[i]) <= far[i] and abs(q[i] - before[i]) <= step[i]):
            return False
        if not low[i] <= q[i] <= high[i]:
            return False
    for k in range(b.shape[0]):
        z = b[k]
        for i in range(n):
            z += A[k, i] * q[i]
        if not z_low[k] <= z <= z_high[k]:
            return False
    return True


class QuickWatch:
    """Bounds for measurements that are ``period`` [s] apart."""

    def __init__(self, watch: Watch, period: float) -> None:
        n, limits = len(watch.names), watch.limits
        low, high = limits.low - watch.margin + INSIDE, limits.high + watch.margin - INSIDE
        inner = 1.0 - INSIDE
        quantities = limits.quantities
        A = quantities.A if quantities.names else np.zeros((0, n))
        self._bounds = tuple(
            np.ascontiguousarray(bound, dtype=np.float64)
            for bound in (
                watch.following * inner,
                watch.speed * period * inner,
                low[:n],
                high[:n],
                A,
                quantities.b,
                low[n:],
                high[n:],
            )
        )

    def clear(self, q: Array, before: Array, q_ref: Array) -> bool:
        """Whether joints measured at q (n,), a period after ``before`` (n,), for the reference q_ref (n,) are well."""
        return bool(is_clear(q, before, q_ref, *self._bounds))
