r"""Turns along a path, many at once: rotation vectors, their exponential and its rates.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math

import numpy as np

from servotwin.dynamics.ik.pose import rotation_vector
from servotwin.mechanism.model import Array

_EYE = np.eye(3)
SMALL = 1e-4  # rad; below it the coefficients come from their series


def skew(w: Array) -> Array:
    """Cross-product matrices (..., 3, 3) of vectors (..., 3)."""
    out = np.zeros((*w.shape[:-1], 3, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = w[..., 2], -w[..., 1], w[..., 0]
    return out


def cross(a: Array, b: Array) -> Array:
    """Cross products (k, 3); several times as fast as the general one of numpy."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    out[..., 0], out[..., 1], out[..., 2] = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    return out


def turned(w: Array) -> Array:
    r"""Turns (..., 3, 3) of rotation vectors (..., 3) [rad].

    .. math:: R = I + \frac{\sin\theta}{\theta} [w] + \frac{1 - \cos\theta}{\theta^2} [w]^2    (eq:turn)
    """
    theta = np.sqrt(np.sum(w * w, axis=-1))[..., None, None]
    tiny = theta < SMALL
    safe = np.where(tiny, 1.0, theta)
    a = np.where(tiny, 1.0 - theta**2 / 6.0, np.sin(safe) / safe)
    half = np.sin(0.5 * safe) / safe
    b = np.where(tiny, 0.5 - theta**2 / 24.0, 2.0 * half * half)
    W = skew(w)
    return np.asarray(_EYE + a * W + b * (W @ W))  # eq:turn


def turned_from(R: Array, w: Array, s: Array) -> Array:
    """Orientations (k, 3, 3) of R (3, 3) after the turns s w, s (k,), about one axis: w (3,) in the axes of R."""
    rate = math.sqrt(float(w @ w))
    if rate == 0.0:
        return np.broadcast_to(R, (s.size, 3, 3))
    K = R @ skew(w / rate)
    angle = (rate * s)[:, None, None]
    half = np.sin(0.5 * angle)
    return np.asarray(R + np.sin(angle) * K + 2.0 * half * half * (K @ skew(w / rate)))  # eq:turn


def turn_between(R_from: Array, R_to: Array) -> Array:
    """Rotation vector (3,) in the axes of ``R_from`` that leads from one orientation to the other."""
    return rotation_vector(R_from.T @ R_to)


def turning_rates(w: Array, wd: Array, wdd: Array) -> tuple[Array, Array]:
    r"""Angular velocity and acceleration (k, 3) of exp[w], in the axes that w is written in.

    With :math:`\theta = |w|`, :math:`b = (1-\cos\theta)/\theta^2` and :math:`c = (\theta-\sin\theta)/\theta^3`

    .. math:: \omega = \dot w + b\, w \times \dot w + c\, w \times (w \times \dot w)       (eq:turning-rate)
    """
    theta2 = np.sum(w * w, axis=-1, keepdims=True)
    theta = np.sqrt(theta2)
    dot = np.sum(w * wd, axis=-1, keepdims=True)
    tiny = theta < 1e-2
    safe = np.where(tiny, 1.0, theta)
    sin, cos = np.sin(safe), np.cos(safe)
    b = np.where(tiny, 0.5 - theta2 / 24.0 + theta2**2 / 720.0, (1.0 - cos) / safe**2)
    c = np.where(tiny, 1.0 / 6.0 - theta2 / 120.0 + theta2**2 / 5040.0, (safe - sin) / safe**3)
    # rates of b and c, divided by theta so that they multiply w . wd
    b_rate = np.where(tiny, -1.0 / 12.0 + theta2 / 180.0, (safe * sin - 2.0 * (1.0 - cos)) / safe**4)
    c_rate = np.where(tiny, -1.0 / 60.0 + theta2 / 1260.0, (3.0 * sin - safe * (2.0 + cos)) / safe**5)
    one = cross(w, wd)
    two = cross(w, one)
    omega = wd + b * one + c * two  # eq:turning-rate
    three = cross(w, wdd)
    alpha = wdd + b_rate * dot * one + b * three + c_rate * dot * two + c * (cross(wd, one) + cross(w, three))
    return omega, alpha
