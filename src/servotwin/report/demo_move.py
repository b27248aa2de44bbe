r"""A move of every axis through its whole range and back, at its maximum speed.

The speed of an axis rises and falls like a cosine within the ramp time, so
that its acceleration is continuous:

.. math:: v(t) = \tfrac{V}{2} \left(1 - \cos \frac{\pi t}{T_r}\right), \quad 0 \le t \le T_r

and the whole stroke s takes :math:`s/V + T_r`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

RAMP = 0.25  # s; the velocity ramp assumed for the GSIS SCARA, not printed in its paper
DWELL = 0.25  # s at the far end
SAMPLES = 2000


@dataclass(frozen=True)
class Move:
    """A sampled motion: ``t`` (k,) [s]; ``q``, ``qd``, ``qdd`` (k, n) [rad, m and their rates]."""

    t: Array
    q: Array
    qd: Array
    qdd: Array

    @property
    def step(self) -> float:
        """Time between two samples [s]."""
        return float(self.t[1] - self.t[0])


def stroke_time(stroke: float, speed: float, ramp: float) -> float:
    """Time [s] of a stroke at top speed ``speed``, or slower where the stroke is too short to reach it."""
    return max(stroke / speed, ramp) + ramp if stroke > 0.0 else 0.0


def ramped_stroke(t: Array, stroke: float, speed: float, ramp: float) -> tuple[Array, Array, Array]:
    """Position, velocity, acceleration (k,) at times t (k,) of a stroke from 0, at rest before and after."""
    total = stroke_time(stroke, speed, ramp)
    if total == 0.0:
        return np.zeros_like(t), np.zeros_like(t), np.zeros_like(t)
    top = min(speed, stroke / ramp)
    # Mirrored about half the time, the way down is the way up.
    late = t > total / 2
    side = np.clip(np.where(late, total - t, t), 0.0, None)
    rising = np.minimum(side, ramp)
    phase = np.pi * rising / ramp
    s = top / 2 * (rising - ramp / np.pi * np.sin(phase)) + top * (side - rising)
    v = top / 2 * (1.0 - np.cos(phase))
    a = top / 2 * np.pi / ramp * np.sin(phase)
    return np.where(late, stroke - s, s), v, np.where(late, -a, a)


def full_range_move(
    robot: Robot, *, ramp: float = RAMP, dwell: float = DWELL, samples: int = SAMPLES
) -> Move:
    """All axes start together at their lower limits, go to the upper ones, wait, and go back."""
    limits = robot.limits
    strokes, speeds = limits.q_max - limits.q_min, limits.qd_max
    if not (np.isfinite(strokes).all() and np.isfinite(speeds).all()):
        raise UnsupportedError(
            f"{robot.name}: a full-range move needs position and speed limits of every axis"
        )
    slowest = max(stroke_time(s, v, ramp) for s, v in zip(strokes, speeds, strict=True))
    t = np.linspace(0.0, 2.0 * slowest + dwell, samples)
    back = t >= slowest + dwell
    clock = np.where(back, t - slowest - dwell, t)
    columns = [ramped_stroke(clock, s, v, ramp) for s, v in zip(strokes, speeds, strict=True)]
    s, v, a = (np.stack(part, axis=-1) for part in zip(*columns, strict=True))
    sign = np.where(back, -1.0, 1.0)[:, np.newaxis]
    q = np.where(back[:, np.newaxis], limits.q_max - s, limits.q_min + s)
    return Move(t, q, sign * v, sign * a)
