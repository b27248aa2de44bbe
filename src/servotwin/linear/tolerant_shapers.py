r"""Shapers that allow a part of the vibration of damped modes: impulses that meet the conditions on their curve.

With :math:`k` impulses the residual :math:`V(\omega)` of eq:shaper-residual is zero at :math:`k - 1` frequencies, and
as large as allowed in between. For a mode of frequency 1

.. math::

    \sum_i A_i = 1, \qquad V(z_j) = 0, \qquad V(h_j) = V_\mathrm{tol}, \quad \frac{dV}{d\omega}(h_j) = 0,
    \qquad z_1 < h_1 < z_2 < \dots < z_{k-1}                                            (eq:tolerant-shaper)

with :math:`h_1 = 1` of EI (three impulses) and :math:`z_2 = 1` of two-hump (four): as many equations as amplitudes,
times and frequencies. Without damping they have the closed form of eq:shapers, from which damping is raised in steps.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from servotwin.linear.system import Array

STEP = 0.025  # of the damping
NEWTON = 12
HALVINGS = 6
DIFFERENCE = 1e-6
EXACT = 1e-10


@lru_cache(maxsize=1024)
def tolerant_impulses(impulses: int, damping: float, tolerance: float) -> tuple[Array, Array]:
    """Amplitudes (k,) and damped phases (k,) [rad] of EI (3 impulses) or two-hump (4), allowing ``tolerance`` at most.

    Much damping takes away what is allowed before the last impulse comes, so that no such curve exists: then that of
    half the tolerance is taken, and at last that of none, whose zeros all lie at the mode.
    """
    halved = (damped_impulses(impulses, damping, tolerance / 2**k) for k in range(HALVINGS))
    found = next((one for one in halved if one is not None), None) or _without_tolerance(impulses, damping)
    for array in found:
        array.setflags(write=False)  # who asks again is given the same
    return found


def _without_tolerance(impulses: int, damping: float) -> tuple[Array, Array]:
    K = math.exp(-damping * math.pi / math.sqrt(1.0 - damping**2))
    weights = np.array([math.comb(impulses - 1, i) * K**i for i in range(impulses)])
    return weights / weights.sum(), np.linspace(0.0, math.pi * (impulses - 1), impulses)


def damped_impulses(impulses: int, damping: float, tolerance: float) -> tuple[Array, Array] | None:
    """Amplitudes (k,) and damped phases (k,) [rad] that solve eq:tolerant-shaper; None if there are none."""
    x = _undamped(impulses, tolerance)
    for part in np.linspace(0.0, damping, math.ceil(damping / STEP) + 1):
        found = _newton(x, impulses, float(part), tolerance)
        if found is None:
            return None
        x = found
    amplitudes, times, zeros, _ = _parts(x[None], impulses)
    rising = (np.diff(times[0]) > 0.0).all() and (np.diff(zeros[0]) > 0.0).all()
    if not rising or amplitudes[0].min() <= 0.0:
        return None
    return amplitudes[0], times[0] * math.sqrt(1.0 - damping**2)


def undamped_weights(impulses: int, V: float) -> Array:
    """Weights of eq:shapers without damping, not yet divided by their sum."""
    if impulses == 3:
        return np.array([(1.0 + V) / 4.0, (1.0 - V) / 2.0, (1.0 + V) / 4.0])
    X = (V * V * (math.sqrt(1.0 - V * V) + 1.0)) ** (1.0 / 3.0)
    a = (3.0 * X * X + 2.0 * X + 3.0 * V * V) / (16.0 * X)
    return np.array([a, 0.5 - a, 0.5 - a, a])  # eq:shapers


def _undamped(impulses: int, V: float) -> Array:
    """The unknowns without damping: amplitudes, times but the first, zeros and humps that are not the mode."""
    A = undamped_weights(impulses, V)
    times = math.pi * np.arange(1, impulses)
    if impulses == 3:
        away = math.acos((1.0 - V) / (1.0 + V)) / math.pi
        return np.concatenate([A, times, [1.0 - away, 1.0 + away]])
    # with c = cos(pi x), x beside the mode: V = |2 sin(pi x / 2)| |2 a c - (1/2 - 2 a)|, and its largest between zeros
    a = float(A[0])
    away = math.acos((0.5 - 2.0 * a) / (2.0 * a)) / math.pi
    hump = math.acos((0.5 - 2.0 * a) / (6.0 * a) + 2.0 / 3.0) / math.pi
    return np.concatenate([A, times, [1.0 - away, 1.0 + away, 1.0 - hump, 1.0 + hump]])


def _parts(x: Array, impulses: int) -> tuple[Array, Array, Array, Array]:
    """Amplitudes, times (m, k), zeros (m, k - 1) and humps (m, k - 2) of unknowns (m, n)."""
    ones = np.ones((len(x), 1))
    A, times = x[:, :impulses], np.hstack([0.0 * ones, x[:, impulses : 2 * impulses - 1]])
    rest = x[:, 2 * impulses - 1 :]
    if impulses == 3:
        return A, times, rest, ones
    return A, times, np.hstack([rest[:, :1], ones, rest[:, 1:2]]), rest[:, 2:]


def _equations(x: Array, impulses: int, damping: float, V: float) -> Array:
    """What is left of eq:tolerant-shaper (m, n) for unknowns (m, n)."""
    A, times, zeros, humps = _parts(x, impulses)
    pole = damping + 1j * math.sqrt(1.0 - damping**2)
    rates = pole * times - damping * times[:, -1:]
    w = np.hstack([zeros, humps])[:, :, None]
    parts = A[:, None] * np.exp(w * rates[:, None])
    left, slope = parts.sum(axis=2), (parts * rates[:, None]).sum(axis=2)
    z, h, dh = left[:, : impulses - 1], left[:, impulses - 1 :], slope[:, impulses - 1 :]
    heights, slopes = np.abs(h) ** 2 / V**2 - 1.0, 2.0 * np.real(h.conj() * dh) / V**2
    return np.hstack([A.sum(axis=1, keepdims=True) - 1.0, z.real / V, z.imag / V, heights, slopes])


def _newton(x: Array, impulses: int, damping: float, V: float) -> Array | None:
    """The unknowns (n,) that solve eq:tolerant-shaper near x (n,); None if Newton's method finds none."""
    steps = DIFFERENCE * np.eye(len(x))
    for _ in range(NEWTON):
        with np.errstate(all="ignore"):  # far away from a solution that does not exist
            values = _equations(np.concatenate([x[None], x + steps, x - steps]), impulses, damping, V)
        if not np.isfinite(values).all():
            return None
        if np.abs(values[0]).max() < EXACT:
            return x
        slopes = (values[1 : len(x) + 1] - values[len(x) + 1 :]).T / (2.0 * DIFFERENCE)
        try:
            x = x - np.linalg.solve(slopes, values[0])
        except np.linalg.LinAlgError:
            return None
    return None
