"""Elementary problems to which the closed forms reduce: a plane arm of two links, A cos + B sin = C."""

from __future__ import annotations

import math

SNAP = 1e-14  # relative: rounding of a distance; closer to the edge an arm counts as stretched or folded
EDGE = 1e-10  # relative: targets this little beyond the edge of the workspace count as lying on it


def two_link_angles(l1: float, l2: float, x: float, y: float, free: float) -> list[tuple[float, float]]:
    """Directions of both links of a plane arm with its tip at (x, y): none, one (stretched, folded) or two.

    Both angles are measured from the x axis. If the tip lies on the first axis, which needs l1 = l2, the
    first angle is arbitrary and ``free`` is taken.

    >>> [[round(math.degrees(a)) for a in pair] for pair in two_link_angles(1.0, 1.0, 1.0, 1.0, 0.0)]
    [[0, 90], [90, 0]]
    """
    r, reach, gap = math.hypot(x, y), l1 + l2, abs(l1 - l2)
    if r > reach * (1.0 + EDGE) or r < gap - reach * EDGE:
        return []
    bend = _bend(l1, l2, r)
    found = []
    for signed in (bend,) if bend in (0.0, math.pi) else (bend, -bend):
        if r <= reach * EDGE:
            first = free
        else:
            first = math.atan2(y, x) - math.atan2(l2 * math.sin(signed), l1 + l2 * math.cos(signed))
        found.append((first, first + signed))
    return found


def _bend(l1: float, l2: float, r: float) -> float:
    """Angle between both links, 0 .. pi, when the tip is r away."""
    reach, gap = l1 + l2, abs(l1 - l2)
    if reach - r <= SNAP * reach:
        return 0.0
    if r - gap <= SNAP * reach:
        return math.pi
    # The sine by Heron's formula: exact to the last digits where the arm is almost stretched or folded.
    heron = (reach - r) * (reach + r) * (r - gap) * (r + gap)
    sine = math.sqrt(max(heron, 0.0)) / (2.0 * l1 * l2)
    return math.atan2(sine, (r * r - l1 * l1 - l2 * l2) / (2.0 * l1 * l2))


def trig_roots(A: float, B: float, C: float) -> list[float]:
    """All angles with A cos + B sin = C: none, one (touching) or two; A and B are not both zero.

    >>> [round(math.degrees(angle)) for angle in trig_roots(1.0, 0.0, 0.5)]
    [60, -60]
    """
    amplitude = math.hypot(A, B)
    if abs(C) > amplitude * (1.0 + EDGE):
        return []
    half = math.atan2(math.sqrt(max((amplitude - C) * (amplitude + C), 0.0)), C)
    middle = math.atan2(B, A)
    return [middle + half, middle - half] if half not in (0.0, math.pi) else [middle + half]
