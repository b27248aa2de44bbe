"""The time laws of point-to-point moves that have another profile than the cubic ramp."""

from __future__ import annotations

import math

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.laws import Profile, make_profile
from servotwin.motion.profiles import ProfileKind

MoveLaws = tuple[Profile | None, ...]  # one for all joints, or one per joint; None where nothing moves


def move_laws(
    kind: ProfileKind, stroke: Array, tops: Array, accelerations: Array, jerks: Array, together: bool
) -> MoveLaws:
    r"""The quickest laws of a move of ``stroke`` (n,) [rad, m] within the limits (n,) of its joints.

    Joints that end together share one law of the parameter s from 0 to 1 (eq:joint-pace), so that each is at
    its limit or below; otherwise every joint has a law of its own stroke. ``jerks`` are infinite where unlimited.
    """
    step = np.abs(stroke)
    if not step.any():
        return (None,)
    if together or step.size == 1:  # a law that stands alone is one of the parameter
        shares = [float(np.max(step / most)) for most in (tops, accelerations, jerks)]
        speed, acceleration = 1.0 / shares[0], 1.0 / shares[1]
        return (make_profile(kind, 1.0, speed, acceleration, 1.0 / shares[2] if shares[2] > 0.0 else None),)
    rows = zip(step, tops, accelerations, jerks, strict=True)
    return tuple(
        make_profile(kind, float(s), float(v), float(a), None if math.isinf(j) else float(j)) if s else None
        for s, v, a, j in rows
    )


def duration_of(laws: MoveLaws) -> float:
    """How long [s] the move lasts."""
    return max((law.duration for law in laws if law is not None), default=0.0)


def sample_laws(laws: MoveLaws, t: Array, stroke: Array) -> tuple[Array, Array, Array, Array]:
    """The way done, the way left, velocity and acceleration at the times t (k,) [s]; all of them (k, n)."""
    length, sign = np.abs(stroke), np.sign(stroke)
    way, rate, growth = (np.zeros_like(stroke) for _ in range(3))
    for i, law in enumerate(laws):
        if law is None:
            continue
        s, v, a = law.sample(t)
        outside = (t < 0.0) | (t > law.duration)
        v[outside] = a[outside] = 0.0
        if len(laws) == 1:  # of the common parameter from 0 to 1
            way, rate, growth = (x[:, np.newaxis] * length for x in (s, v, a))
        else:
            way[:, i], rate[:, i], growth[:, i] = s, v, a
    return sign * way, sign * (length - way), sign * rate, sign * growth
