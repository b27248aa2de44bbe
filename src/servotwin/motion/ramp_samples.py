"""The compiled part of ``laws``: way, speed and acceleration of two ramps with constant speed between them."""

from __future__ import annotations

from servotwin.dynamics.recursive.jit import helper, kernel
from servotwin.mechanism.model import Array

LINEAR, CUBIC, JERK_LIMITED = range(3)


@helper
def shape(kind: int, x: float, beta: float) -> tuple[float, float, float]:
    """F, f and f' of a ramp at the share x (0 .. 1) of its time, see eq:ramp-shape."""
    if kind == LINEAR:
        return 0.5 * x * x, x, 1.0
    if kind == CUBIC:
        return x * x * x * (1.0 - 0.5 * x), x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x)
    # the trapezoid of acceleration, of height 1/(1 - beta), from both ends
    top, y = 1.0 / (1.0 - beta), min(x, 1.0 - x)
    if y < beta:
        F, f, rate = y * y * y / (6.0 * beta) * top, y * y / (2.0 * beta) * top, y / beta * top
    else:
        F, f, rate = (0.5 * y * (y - beta) + beta * beta / 6.0) * top, (y - 0.5 * beta) * top, top
    return (x - 0.5 + F, 1.0 - f, rate) if x > 0.5 else (F, f, rate)


@kernel
def sample_ramps(
    kind: int, given: Array, times: Array, betas: Array, t: Array, s: Array, v: Array, a: Array
) -> None:
    """Fill way, speed and acceleration (k,) at t (k,); ``given``: length, first, top and last speed; ``times`` and
    ``betas`` as in ``Ramped``."""
    length, v_from, top, v_to = given[0], given[1], given[2], given[3]
    duration = times[0] + times[1] + times[2]
    half = times[0] + 0.5 * times[1]
    for k in range(len(t)):
        clock = min(max(t[k], 0.0), duration)
        # The second half is measured back from the end, so that it is met to the last bit.
        late = clock > half
        since = duration - clock if late else clock
        T, end, beta = (times[2], v_to, betas[1]) if late else (times[0], v_from, betas[0])
        change = top - end
        if since < T:
            F, f, rate = shape(kind, since / T, beta)
            s[k], v[k], a[k] = (
                T * change * F + end * since,
                end + change * f,
                change / T * rate,
            )  # eq:ramp-shape
        else:
            s[k], v[k], a[k] = 0.5 * (top + end) * T + top * (since - T), top, 0.0
        if late:
            s[k], a[k] = length - s[k], -a[k]
