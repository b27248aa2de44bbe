"""Room to stop before the limits of angles and distances between frames, which follow no law of the joints.

The way to rest is sampled at the instants of the main controller; braking goes on along the same way, so that an arm
that keeps it once keeps it until it stands. Theory: docs/theory/time-scaling.md.
"""

from __future__ import annotations

import numpy as np

from servotwin.control.main.alarms import BoolArray, shown_apart
from servotwin.description.frames import Array
from servotwin.robot.robot import Robot

MOST = 400  # instants of a way to rest that are looked at
KEPT = 1e-9  # rad, m: what jogging keeps of the range, for rounding
NUDGE = 1e-4  # rad, m: by which joints are moved to see which of them move a quantity
MOVED = 1e-9  # rad, m: less is rounding


def braking_way(q: Array, qd: Array, acceleration: Array, T: float) -> Array:
    """Positions (k, n) in periods T until every joint, braking for itself, has come to rest (eq:brake-speed)."""
    count = int(np.ceil((np.abs(qd) / (acceleration * T)).max())) if qd.any() else 0
    ends = np.arange(count + 1)[:, None]
    speeds = np.sign(qd) * np.maximum(np.abs(qd) - ends * (acceleration * T), 0.0)
    steps = 0.5 * T * (speeds[:-1] + speeds[1:])
    return np.asarray(q + np.concatenate([np.zeros((1, q.size)), np.cumsum(steps, axis=0)]))


class FrameRoom:
    """The quantities between frames of a robot, as jogging and checks of the reference see them."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.quantities = robot, robot.frame_quantities
        z = self.quantities
        self.needed = bool((np.isfinite(z.low) | np.isfinite(z.high)).any())  # whether any has limits
        if self.needed:
            self.beyond(robot.q_home)  # what the first call compiles is not waited for in a period

    def beyond(self, q: Array) -> Array:
        """How far (..., k) they are outside of their ranges; negative inside."""
        return self.robot.frame_quantities_beyond(q)

    def lost(self, q: Array, way: Array) -> BoolArray:
        """Which quantities (k,) leave their ranges on a way (m, n), or go further out than at q (n,)."""
        chosen = way[np.linspace(0, len(way) - 1, MOST).astype(np.int64)] if len(way) > MOST else way
        beyond = self.beyond(np.concatenate([chosen, q[None]]))
        return np.asarray(beyond[:-1].max(axis=0) > np.maximum(beyond[-1], -KEPT))

    def moved_by(self, way: Array, rows: BoolArray) -> BoolArray:
        """Which joints (n,) change any of the chosen quantities at begin, middle or end of a way (m, n).

        One place is not enough: about an axis that just then points at a frame a joint turns without effect.
        """
        n, places = way.shape[1], way[[0, len(way) // 2, -1]]
        steps = NUDGE * np.concatenate([np.zeros((1, n)), np.eye(n), -np.eye(n)])
        near = self.robot.frame_quantity_values((places[:, None] + steps).reshape(-1, n))[:, rows]
        near = near.reshape(len(places), 2 * n + 1, -1)
        changed = np.asarray((np.abs(near[:, 1:] - near[:, :1]) > MOVED).any(axis=(0, 2)))
        return np.asarray(changed[:n] | changed[n:])

    def fault(self, here: Array, q: Array, rounding: float) -> tuple[str, str] | None:
        """The quantity that a step from ``here`` to q would take out of its range, or further out, and how."""
        further = self.beyond(q) > np.maximum(self.beyond(here), 0.0) + rounding
        if not further.any():
            return None
        i, z = int(np.argmax(further)), self.quantities
        value = float(self.robot.frame_quantity_values(q)[i])
        limit = float(z.high[i] if value > z.high[i] else z.low[i])
        stands, most = shown_apart(value, limit, "m" if z.lengths[i] else "rad")
        return z.names[i], f"{stands}; the limit is {most}"
