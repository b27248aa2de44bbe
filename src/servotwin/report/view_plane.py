"""From where a path in space is looked at: from above, unless it is upright."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array

UPRIGHT = 0.1  # a path this many times narrower than high is not seen from above
LEAST = 0.3  # of the longer side of the picture: a straight line still has room around it
MARGIN = 0.06  # of the longer side, all around


@dataclass(frozen=True)
class ViewPlane:
    """The two coordinates (0: x, 1: y, 2: z) that a picture shows to the right and upwards, and their limits (2, 2)."""

    name: str  # where the observer stands
    right: int
    up: int
    low: Array
    high: Array

    def of(self, points: Array) -> tuple[Array, Array]:
        """The coordinates of points (k, 3) in the picture, each (k,)."""
        return points[:, self.right], points[:, self.up]


def view_plane(points: Array, least: float) -> ViewPlane:
    """The view of points (k, 3) that shows most of them; the picture is at least ``least`` wide, in their unit."""
    span = np.ptp(points, axis=0)
    name, right, up = "above", 0, 1
    if min(span[0], span[1]) < UPRIGHT * span[2]:
        name, right, up = ("the front", 0, 2) if span[0] >= span[1] else ("the side", 1, 2)
    shown = points[:, [right, up]]
    low, high = shown.min(axis=0), shown.max(axis=0)
    longest = max(float((high - low).max()), least)
    half = 0.5 * np.maximum(high - low, LEAST * longest) + MARGIN * longest
    middle = 0.5 * (low + high)
    return ViewPlane(name, right, up, middle - half, middle + half)
