r"""The compiled part of ``curves``: poses and rates of lines and blends at many places.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math

import numpy as np

from servotwin.compiled.jit import helper, kernel
from servotwin.mechanism.model import Array

SMALL = 1e-4  # rad; below it the coefficients of a turn come from their series
SMALL_RATE = 1e-2  # rad; the same of its rates


@helper
def put_turned(R: Array, x: float, y: float, z: float, X: Array) -> None:
    """Write R exp[w] (3, 3) of a rotation vector w = (x, y, z) [rad] into the pose X (eq:turn)."""
    theta = math.sqrt(x * x + y * y + z * z)
    if theta < SMALL:
        a, b = 1.0 - theta * theta / 6.0, 0.5 - theta * theta / 24.0
    else:
        half = math.sin(0.5 * theta) / theta
        a, b = math.sin(theta) / theta, 2.0 * half * half
    for i in range(3):
        r0, r1, r2 = R[i, 0], R[i, 1], R[i, 2]
        along = r0 * x + r1 * y + r2 * z
        rest = 1.0 - b * theta * theta  # exp[w] = (1 - b theta^2) I + a [w] + b w w^T
        X[i, 0] = rest * r0 + a * (r1 * z - r2 * y) + b * along * x
        X[i, 1] = rest * r1 + a * (r2 * x - r0 * z) + b * along * y
        X[i, 2] = rest * r2 + a * (r0 * y - r1 * x) + b * along * z


@helper
def put_cross(a: Array, b: Array, out: Array) -> None:
    """The cross product (3,)."""
    out[0], out[1], out[2] = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@helper
def put_turning(w: Array, wd: Array, wdd: Array, work: Array, omega: Array, alpha: Array) -> None:
    """Angular velocity and acceleration (3,) of exp[w], see ``rotations.turning_rates``; ``work`` (5, 3)."""
    square = dot = 0.0
    for i in range(3):
        square += w[i] * w[i]
        dot += w[i] * wd[i]
    theta = math.sqrt(square)
    if theta < SMALL_RATE:
        b = 0.5 - square / 24.0 + square * square / 720.0
        c = 1.0 / 6.0 - square / 120.0 + square * square / 5040.0
        b_rate, c_rate = -1.0 / 12.0 + square / 180.0, -1.0 / 60.0 + square / 1260.0
    else:
        sin, cos = math.sin(theta), math.cos(theta)
        b, c = (1.0 - cos) / square, (theta - sin) / (square * theta)
        b_rate = (theta * sin - 2.0 * (1.0 - cos)) / (square * square)
        c_rate = (3.0 * sin - theta * (2.0 + cos)) / (square * square * theta)
    put_cross(w, wd, work[0])
    put_cross(w, work[0], work[1])
    put_cross(w, wdd, work[2])
    put_cross(wd, work[0], work[3])
    put_cross(w, work[2], work[4])
    for i in range(3):
        omega[i] = wd[i] + b * work[0, i] + c * work[1, i]  # eq:turning-rate
        alpha[i] = (
            wdd[i] + b_rate * dot * work[0, i] + b * work[2, i]
            + c_rate * dot * work[1, i] + c * (work[3, i] + work[4, i])
        )  # fmt: skip


@helper
def solve_turning(w: Array, x: Array, work: Array, out: Array) -> None:
    r"""The rate w' (3,) of the rotation vector w with the angular velocity x: eq:turning-rate, solved for it.

    .. math:: w' = \omega - \tfrac12 w \times \omega
              + \frac{1}{\theta^2}\Big(1 - \frac{\theta}{2} \cot\frac{\theta}{2}\Big)\, w \times (w \times \omega)
                                                                                       (eq:vector-rate)
    """
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    theta = math.sqrt(square)
    if theta < SMALL_RATE:
        d = 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    else:
        d = (1.0 - 0.5 * theta / math.tan(0.5 * theta)) / square
    put_cross(w, x, work[0])
    put_cross(w, work[0], work[1])
    for i in range(3):
        out[i] = x[i] - 0.5 * work[0, i] + d * work[1, i]  # eq:vector-rate


@kernel
def to_vector_rates(corner: Array, y: Array) -> None:
    """Turn angular velocity and acceleration, in base axes, into the rates of the rotation vector, in place.

    ``y`` (3, 6): point and rotation vector in the axes of ``corner``, first and second rates of the point with
    angular velocity and acceleration.
    """
    turning, wd, work = np.empty((4, 3)), np.empty(3), np.empty((5, 3))
    for i in range(3):
        turning[0, i] = turning[1, i] = turning[2, i] = 0.0
        for j in range(3):
            turning[0, i] += corner[j, i] * y[1, 3 + j]
            turning[1, i] += corner[j, i] * y[2, 3 + j]
    w = y[0, 3:]
    solve_turning(w, turning[0], work, wd)
    put_turning(w, wd, turning[2], work, turning[0], turning[3])  # what the acceleration is without w''
    for i in range(3):
        turning[1, i] -= turning[3, i]
        y[1, 3 + i] = wd[i]
    solve_turning(w, turning[1], work, y[2, 3:])


@kernel
def sample_line(X_from: Array, rates: Array, s: Array, X: Array, first: Array, second: Array) -> None:
    """Fill poses (k, 4, 4) and rates (k, 6) of a line at s (k,); ``rates`` (2, 3): its direction and turn (eq:line)."""
    direction, turn = rates[0], rates[1]
    for k in range(len(s)):
        put_turned(X_from, s[k] * turn[0], s[k] * turn[1], s[k] * turn[2], X[k])
        for i in range(3):
            X[k, i, 3] = X_from[i, 3] + s[k] * direction[i]
            X[k, 3, i] = 0.0
            first[k, i] = direction[i]
            first[k, 3 + i] = X_from[i, 0] * turn[0] + X_from[i, 1] * turn[1] + X_from[i, 2] * turn[2]
            second[k, i] = second[k, 3 + i] = 0.0
        X[k, 3, 3] = 1.0


@kernel
def sample_blend(corner: Array, c: Array, s: Array, X: Array, first: Array, second: Array) -> None:
    """Fill poses (k, 4, 4) and rates (k, 6) at s (k,) of a blend with coefficients c (6, 6) (eq:blend)."""
    y, yd, ydd, turning, work = np.empty(6), np.empty(6), np.empty(6), np.empty((2, 3)), np.empty((5, 3))
    for k in range(len(s)):
        u = s[k]
        for j in range(6):
            c0, c1, c2, c3, c4, c5 = c[0, j], c[1, j], c[2, j], c[3, j], c[4, j], c[5, j]
            y[j] = ((((c5 * u + c4) * u + c3) * u + c2) * u + c1) * u + c0
            yd[j] = (((5.0 * c5 * u + 4.0 * c4) * u + 3.0 * c3) * u + 2.0 * c2) * u + c1
            ydd[j] = ((20.0 * c5 * u + 12.0 * c4) * u + 6.0 * c3) * u + 2.0 * c2
        put_turned(corner, y[3], y[4], y[5], X[k])
        put_turning(y[3:], yd[3:], ydd[3:], work, turning[0], turning[1])
        for i in range(3):
            X[k, i, 3], X[k, 3, i] = y[i], 0.0
            first[k, i], second[k, i] = yd[i], ydd[i]
            first[k, 3 + i] = second[k, 3 + i] = 0.0
            for j in range(3):
                first[k, 3 + i] += corner[i, j] * turning[0, j]
                second[k, 3 + i] += corner[i, j] * turning[1, j]
        X[k, 3, 3] = 1.0
