r"""The compiled form of ``dynamics.ik.numeric.newton``: inverse kinematics at the points of a curve, one by one.

Generated kernels of the robot are called by their addresses, so that one loop serves all robots with up to six joints.
The module imports little, so that few changes elsewhere make its machine code out of date.
Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, kernel
from servotwin.compiled.native_calls import call_address
from servotwin.dynamics.ik.numeric import DAMPING, LAST_STEP, LONGEST_STEP, NEWTON_STEPS, PLACE, TILT
from servotwin.mechanism.model import Array

CLOSE, FARTHEST = 0.02, 1.0  # of a step; rad or m: how well neighbours agree, and how far apart they may be


@helper
def pose_error(goal: Array, Y: Array, error: Array) -> None:
    """Shift and small turn (6,) from a pose Y to the goal, both (4, 4), the turn sin(angle) long."""
    for i in range(3):
        error[i] = goal[i, 3] - Y[i, 3]
        a, b = (i + 1) % 3, (i + 2) % 3
        turn = 0.0
        for k in range(3):
            turn += goal[b, k] * Y[a, k] - goal[a, k] * Y[b, k]
        error[3 + i] = 0.5 * turn


@helper
def factored(J: Array, weights: Array, A: Array, L: Array) -> None:
    """The normal matrix A = J^T W^2 J (n, n) and its Cholesky factor L, damped."""
    n = J.shape[1]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(6):
                total += weights[k] * weights[k] * J[k, i] * J[k, j]
            A[i, j] = A[j, i] = total
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j] + (DAMPING if i == j else 0.0)
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(max(total, DAMPING * DAMPING)) if i == j else total / L[j, j]


@helper
def least_squares(J: Array, weights: Array, L: Array, x: Array, y: Array) -> None:
    """y (n,) with J y = x (6,) as well as possible."""
    n = J.shape[1]
    for i in range(n):
        total = 0.0
        for k in range(6):
            total += weights[k] * weights[k] * J[k, i] * x[k]
        for k in range(i):
            total -= L[i, k] * y[k]
        y[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        total = y[i]
        for k in range(i + 1, n):
            total -= L[k, i] * y[k]
        y[i] = total / L[i, i]


@helper
def same_branch(s: Array, q: Array, dq: Array, ddq: Array, k: int) -> bool:
    r"""Whether point k continues the one before it, by the rates of both.

    .. math:: q_1 - q_0 = \tfrac{h}{2} (q'_0 + q'_1) + \tfrac{h^2}{12} (q''_0 - q''_1) + O(h^5)   (eq:same-branch)
    """
    h = s[k] - s[k - 1]
    gap = size = 0.0
    for i in range(q.shape[1]):
        step = q[k, i] - q[k - 1, i]
        expected = 0.5 * h * (dq[k - 1, i] + dq[k, i]) + h * h / 12.0 * (ddq[k - 1, i] - ddq[k, i])
        gap, size = max(gap, abs(step - expected)), max(size, abs(step))
    return gap < CLOSE * size + 1e-6 and size < FARTHEST  # eq:same-branch


@helper
def newton(
    entries: Any,
    at: int,
    X: Array,
    weights: Array,
    inputs: Array,
    Y: Array,
    J: Array,
    A: Array,
    L: Array,
    step: Array,
    error: Array,
) -> bool:
    """Newton's method from the positions in ``inputs`` (first n) to the pose X; whether it arrives there."""
    n, Y_at, J_at = J.shape[1], Y.ctypes.data, J.ctypes.data
    for _ in range(NEWTON_STEPS):
        call_address(entries[0], at, Y_at, entries[1])
        call_address(entries[2], at, J_at, entries[3])
        pose_error(X, Y, error)
        factored(J, weights, A, L)
        least_squares(J, weights, L, error, step)
        longest = 0.0
        for i in range(n):
            longest = max(longest, abs(step[i]))
            inputs[i] += min(max(step[i], -LONGEST_STEP), LONGEST_STEP)
        if not longest >= LAST_STEP:
            break
    call_address(entries[0], at, Y_at, entries[1])
    pose_error(X, Y, error)
    arrived = longest < LAST_STEP
    for i in range(6):
        if weights[i] != 0.0 and not abs(error[i]) < (PLACE if i < 3 else TILT):
            arrived = False
    return arrived


@kernel
def solve_points(
    entries: Any,
    weights: Array,
    along: bool,
    s: Array,
    X: Array,
    first: Array,
    second: Array,
    q: Array,
    dq: Array,
    ddq: Array,
    squares: Array,
) -> int:
    """Joint positions, first and second rates (m, n) and J^T W^2 J (m, n, n) at m poses and their rates.

    ``entries`` (6,): addresses of fkine, jacob0, jacob0_dot, each with its data. With ``along`` the first position
    is given; every other is predicted from the one before it and must be on the same branch. Otherwise q holds the
    guesses. Stops at the first point that Newton's method does not solve; returns how many are solved before it.
    """
    m, n = len(q), q.shape[1]
    inputs, Y, J, J_rate = np.zeros(2 * n), np.zeros((4, 4)), np.zeros((6, n)), np.zeros((6, n))
    A, L, step, error = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), np.zeros(6)
    at, J_at, rate_at = inputs.ctypes.data, J.ctypes.data, J_rate.ctypes.data
    for k in range(m):
        if along and k > 0:
            h = s[k] - s[k - 1]
            for i in range(n):
                bend = min(max(0.5 * h * h * ddq[k - 1, i], -LONGEST_STEP), LONGEST_STEP)
                q[k, i] = q[k - 1, i] + h * dq[k - 1, i] + bend
        inputs[:n] = q[k]
        if not along or k > 0:
            arrived = newton(entries, at, X[k], weights, inputs, Y, J, A, L, step, error)
            if not arrived:
                return k
            q[k] = inputs[:n]
        # eq:path-inverse
        call_address(entries[2], at, J_at, entries[3])
        factored(J, weights, A, L)
        squares[k] = A
        least_squares(J, weights, L, first[k], dq[k])
        inputs[n:] = dq[k]
        call_address(entries[4], at, rate_at, entries[5])
        for i in range(6):
            error[i] = second[k, i]
            for j in range(n):
                error[i] -= J_rate[i, j] * dq[k, j]
        least_squares(J, weights, L, error, ddq[k])
        if along and k > 0 and not same_branch(s, q, dq, ddq, k):
            return k
    return m


@kernel
def misses(
    entries: Any,
    weights: Array,
    s: Array,
    q: Array,
    dq: Array,
    ddq: Array,
    X: Array,
    guess: Array,
    miss: Array,
) -> None:
    """The quintics of a path (m, n) in the middle of its intervals, and how far the tool is there from the poses X.

    Fills ``guess`` (m - 1, n) and ``miss`` (m - 1,), the largest weighted component of the way to the pose.
    """
    n = q.shape[1]
    inputs, Y, error = np.zeros(n), np.zeros((4, 4)), np.zeros(6)
    at, Y_at = inputs.ctypes.data, Y.ctypes.data
    for k in range(len(s) - 1):
        h = s[k + 1] - s[k]
        for i in range(n):
            turn, bend = h * (dq[k, i] - dq[k + 1, i]), h * h * (ddq[k, i] + ddq[k + 1, i])
            guess[k, i] = 0.5 * (q[k, i] + q[k + 1, i]) + 5.0 / 32.0 * turn + bend / 64.0
            inputs[i] = guess[k, i]
        call_address(entries[0], at, Y_at, entries[1])
        pose_error(X[k], Y, error)
        miss[k] = 0.0
        for i in range(6):
            miss[k] = max(miss[k], abs(weights[i] * error[i]))
