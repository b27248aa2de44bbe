r"""The compiled part of ``laws``: laws of two ramps at instants, along a joint path, and where they are smooth.

Theory: docs/theory/motion.md.
"""

from __future__ import annotations

import math

import numpy as np

from servotwin.compiled.jit import helper, kernel
from servotwin.mechanism.model import Array
from servotwin.motion.peaks import NODES, X
from servotwin.motion.ramps import PEAK

LINEAR, CUBIC, JERK_LIMITED = range(3)  # shapes of a ramp
LawNumbers = tuple[
    int, Array
]  # shape; (9,): length, first, top and last speed, times of rise, cruise and fall, their two betas
TABLE = 65  # points of a law between which Newton's method starts to find an instant
NEWTON = 60  # steps of it at most: next to rest it halves its interval first
SETTLED = 1e-14  # of the duration: a smaller step is the last
PARTS = 2  # cells of a piece of a law at least
LEAST = 8  # cells of a segment at least
ROOM = 4 * LEAST  # cells beside those between the points of a path
CLOSEST = 1e-10  # of the whole: edges nearer to each other are one


@helper
def ramp_shape(kind: int, x: float, beta: float) -> tuple[float, float, float]:
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


@helper
def law_at(kind: int, given: Array, t: float) -> tuple[float, float, float]:
    """Distance, speed and acceleration of a law (``LawNumbers``) at an instant [s]."""
    top = given[2]
    duration = given[4] + given[5] + given[6]
    clock = min(max(t, 0.0), duration)
    # The second half is measured back from the end, so that it is met to the last bit.
    late = clock > given[4] + 0.5 * given[5]
    since = duration - clock if late else clock
    T, end, beta = (given[6], given[3], given[8]) if late else (given[4], given[1], given[7])
    change = top - end
    if since < T:
        F, f, rate = ramp_shape(kind, since / T, beta)
        s, v, a = T * change * F + end * since, end + change * f, change / T * rate  # eq:ramp-shape
    else:
        s, v, a = 0.5 * (top + end) * T + top * (since - T), top, 0.0
    return (given[0] - s, v, -a) if late else (s, v, a)


@helper
def rest_law(kind: int, length: float, v_most: float, a: float, j: float, out: Array) -> None:
    """Fill the numbers (9,) of the quickest law from rest to rest, as ``laws.rest_ramps`` computes them."""
    if kind == LINEAR:
        top = min(v_most, math.sqrt(a * length))  # eq:rest-peak
        T, beta = top / a, 0.5  # eq:ramp-time
    elif kind == CUBIC:
        top = min(v_most, math.sqrt(a * length / PEAK), (j / 6.0 * length * length) ** (1.0 / 3.0))
        T, beta = max(PEAK * top / a, math.sqrt(6.0 * top / j)), 0.5
    else:
        c = a * a / j
        if length * j < 2.0 * a * c:
            top = min(v_most, (0.25 * j * length * length) ** (1.0 / 3.0))
        else:
            top = min(v_most, 0.5 * (math.sqrt(c * c + 4.0 * a * length) - c))
        long = top * j > a * a
        T = top / a + a / j if long else 2.0 * math.sqrt(top / j)
        beta = (a / j) / T if long else 0.5
    flat = length - top * T
    out[0], out[1], out[2], out[3] = length, 0.0, top, 0.0
    out[4], out[5], out[6] = T, flat / top if flat > 0.0 and top > 0.0 else 0.0, T
    out[7] = out[8] = beta


@kernel
def sample_ramps(kind: int, given: Array, t: Array, s: Array, v: Array, a: Array) -> None:
    """Fill distance, speed and acceleration (k,) of a law at t (k,)."""
    for k in range(len(t)):
        s[k], v[k], a[k] = law_at(kind, given, t[k])


@kernel
def sample_path(kind: int, given: Array, knots: Array, c: Array, t: Array, out: Array) -> None:
    """Fill position, velocity and acceleration (3, k, n) at t (k,) of a law along quintics c (m - 1, 6, n).

    The quintics lie between ``knots`` (m,) of the path's parameter.
    """
    for k in range(len(t)):
        s, v, a = law_at(kind, given, t[k])
        i, beyond = 0, len(knots) - 1
        while beyond - i > 1:
            middle = (i + beyond) // 2
            if s >= knots[middle]:
                i = middle
            else:
                beyond = middle
        u = s - knots[i]
        for j in range(c.shape[2]):
            c0, c1, c2, c3, c4, c5 = c[i, 0, j], c[i, 1, j], c[i, 2, j], c[i, 3, j], c[i, 4, j], c[i, 5, j]
            slope = (((5.0 * c5 * u + 4.0 * c4) * u + 3.0 * c3) * u + 2.0 * c2) * u + c1
            bend = ((20.0 * c5 * u + 12.0 * c4) * u + 6.0 * c3) * u + 2.0 * c2
            out[0, k, j] = ((((c5 * u + c4) * u + c3) * u + c2) * u + c1) * u + c0
            out[1, k, j] = slope * v
            out[2, k, j] = bend * v * v + slope * a  # eq:path-rates


# --- where a motion is smooth -----------------------------------------------------------------------------
@helper
def fill_corners(kind: int, given: Array, out: Array) -> int:
    """The instants between which a law is smooth, each interval between them in ``PARTS``; how many there are."""
    rise, flat, fall = given[4], given[5], given[6]
    end = rise + flat + fall
    count = 4
    if kind == JERK_LIMITED:
        up, down = rise * given[7], fall * given[8]
        count = 8
        out[1], out[2], out[3], out[4] = up, rise - up, rise, rise + flat
        out[5], out[6] = rise + flat + down, end - down
    else:
        out[1], out[2] = rise, rise + flat
    out[0], out[count - 1] = 0.0, end
    corners = count
    for k in range(corners - 1):
        for part in range(1, PARTS):
            if out[k + 1] > out[k]:
                out[count] = out[k] + part * ((out[k + 1] - out[k]) / PARTS)
                count += 1
    return count


@helper
def fill_instants(kind: int, given: Array, s: Array, table: Array, out: Array, first: int) -> None:
    """The instants at which a law reaches the ascending distances s (k,), into ``out`` from ``first`` on.

    Newton's method between two points of a table; where it would leave them, and next to rest it would, it halves.
    """
    duration = given[4] + given[5] + given[6]
    step = duration / (TABLE - 1)
    for i in range(TABLE):
        table[i] = law_at(kind, given, i * step)[0]
    i = 0
    for k in range(len(s)):
        while i < TABLE - 2 and table[i + 1] < s[k]:
            i += 1
        width = table[i + 1] - table[i]
        share = (s[k] - table[i]) / width if width > 0.0 else 0.0
        t = step * (i + min(max(share, 0.0), 1.0))
        low, high = step * i, step * (i + 1)
        for _ in range(NEWTON):
            way, speed, _ = law_at(kind, given, t)
            if way < s[k]:
                low = t
            else:
                high = t
            before, t = t, t + (s[k] - way) / speed if speed > 0.0 else high
            if not low <= t <= high:
                t = 0.5 * (low + high)
            if abs(t - before) <= SETTLED * duration:
                break
        out[first + k] = t


@kernel
def fill_cells(kind: int, given: Array, s: Array, edges: Array, at: Array) -> int:
    """Edges [s] of at least ``LEAST`` cells of time in which the motion along a path is smooth, and their nodes.

    ``s`` (k,), ascending: where the path is not smooth. There is room for k + ``ROOM`` cells; returns how many are.
    """
    points = np.empty(8 * PARTS + len(s))
    count = fill_corners(kind, given, points)
    if len(s) > 0:
        fill_instants(kind, given, s, np.empty(TABLE), points, count)
    points = np.sort(points[: count + len(s)])
    closest = CLOSEST * (points[-1] - points[0])
    edges[0], m = points[0], 1
    for k in range(1, len(points)):  # of points that are one the last is kept
        last = k == len(points) - 1
        apart = last or points[k + 1] - points[k] > closest
        if apart and (last or m > 1 or points[k] - points[0] > closest):
            edges[m] = points[k]
            m += 1
    while m <= LEAST:
        for k in range(m - 1, 0, -1):
            edges[2 * k] = edges[k]
        for k in range(m - 1):
            edges[2 * k + 1] = 0.5 * (edges[2 * k] + edges[2 * k + 2])
        m = 2 * m - 1
    for k in range(m - 1):
        half = 0.5 * (edges[k + 1] - edges[k])
        for i in range(NODES):
            at[NODES * k + i] = edges[k] + half * (1.0 + X[i])
    return m - 1
