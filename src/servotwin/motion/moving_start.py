r"""A planned motion that begins with speed.

The start speed v falls to zero over the ramp T of the first move while that move accelerates, so that the sum goes
from v to the speed of the move without a dip:

.. math:: q(t) = q_p(t) + v\,T\,(\sigma - \sigma^3 + \tfrac12\sigma^4 - \tfrac12), \qquad
          \sigma = \min(t/T, 1)                                                           (eq:start-speed)

:math:`q_p` is planned from :math:`q_0 + v T/2`, where the joint would come to rest; so q begins at q_0 with v and
without acceleration, and after T it is the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import of_joint
from servotwin.errors import InputError
from servotwin.mechanism.model import Array, Limits
from servotwin.motion.point_moves import PointMotion
from servotwin.motion.ramps import PEAK

SAMPLES = 2001
SLACK = 1e-6  # of a limit, so that it may be used up to the last digit


@dataclass(frozen=True)
class MovingStart:
    """A plan (``reference``) and a start speed (n,) [rad/s, m/s] that falls to zero within ``ramp`` [s]."""

    reference: PointMotion
    speed: Array
    ramp: float

    @property
    def duration(self) -> float:
        """[s]"""
        return max(self.reference.duration, self.ramp)

    @property
    def start_times(self) -> Array:
        """When each move begins (m,) [s]."""
        return self.reference.start_times

    @property
    def durations(self) -> Array:
        """How long each move lasts (m,) [s], the first at least until the start speed is zero."""
        return np.maximum(self.reference.durations, self.ramp - self.reference.start_times)

    @property
    def arrivals(self) -> Array:
        """When the moves have reached their targets (m,) [s]."""
        return np.maximum(self.reference.arrivals, self.ramp)

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at the times ``t`` (k,) [s]."""
        q, qd, qdd = self.reference.sample(t)
        x = np.clip(np.atleast_1d(np.asarray(t, dtype=np.float64)) / self.ramp, 0.0, 1.0)[:, np.newaxis]
        v, T = self.speed, self.ramp
        run_out = x - x**3 + 0.5 * x**4 - 0.5  # eq:start-speed
        slowing = 1.0 - 3.0 * x**2 + 2.0 * x**3
        return q + v * T * run_out, qd + v * slowing, qdd - v / T * 6.0 * (x - x**2)


def run_out_time(speed: Array, ramp: float, limits: Limits, jerk: Array) -> float:
    r"""Time T [s] in which the start speeds fall to zero: the ramp, or longer where acceleration or jerk is limited.

    .. math:: T \ge \frac{3 |v_i|}{2 a_i}, \quad T \ge \sqrt{\frac{6 |v_i|}{j_i}}          (eq:run-out-time)

    ``jerk`` (n,) [rad/s3, m/s3]: largest jerks, infinite where unlimited.
    """
    v = np.abs(speed)
    needed = np.maximum(PEAK * v / limits.qdd_max, np.sqrt(6.0 * v / jerk))  # eq:run-out-time
    return max(ramp, float(needed.max()))


def rest_after(q: Array, speed: Array, ramp: float) -> Array:
    """Where joints at q (n,) with this speed would come to rest: the plan begins there."""
    return np.asarray(q + 0.5 * ramp * speed)


def check_moving_start(
    motion: MovingStart, limits: Limits, jerk: Array, names: Sequence[str], prismatic: Sequence[bool]
) -> None:
    """InputError where the start speed, alone or added to the first move, exceeds a limit of a joint."""
    t = np.linspace(0.0, motion.ramp, SAMPLES)
    q, qd, qdd = motion.sample(t)
    qddd = np.diff(qdd, axis=0) / t[1]
    for i, (name, slides) in enumerate(zip(names, prismatic, strict=True)):
        if motion.speed[i] == 0.0:
            continue
        factor, unit = of_joint(slides)
        for values, most, what in (
            (qd[:, i], limits.qd_max[i], f"{unit}/s"),
            (qdd[:, i], limits.qdd_max[i], f"{unit}/s2"),
            (qddd[:, i], jerk[i], f"{unit}/s3"),
        ):
            worst = float(np.abs(values).max())
            if worst > most * (1.0 + SLACK):
                raise InputError(
                    f"axis {name} would go to {factor * worst:.4g} {what} with the first move; expected at most "
                    f"{factor * most:.4g} {what}: less speed, or a longer ramp of the move",
                    field=f"initial.speed.{name}",
                )
        low, high = float(q[:, i].min()), float(q[:, i].max())
        slack = SLACK * abs(motion.speed[i]) * motion.ramp  # of the distance in which the speed falls to zero
        if low < limits.q_min[i] - slack or high > limits.q_max[i] + slack:
            raise InputError(
                f"axis {name} would run to {factor * (high if high > limits.q_max[i] else low):.4g} {unit}; expected "
                f"{factor * limits.q_min[i]:.4g} to {factor * limits.q_max[i]:.4g} {unit}",
                field=f"initial.speed.{name}",
            )
