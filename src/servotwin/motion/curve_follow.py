r"""The compiled form of ``follow.follow`` for lines and blends, where nothing stands in the way of the path.

Whatever is not clear (another branch, a singular position, more points than there is room for) is left to ``follow``,
which begins anew and says what is wrong. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, kernel
from servotwin.mechanism.model import Array
from servotwin.motion.curve_newton import misses, solve_points
from servotwin.motion.curve_sampling import put_cross, sample_blend, sample_line

LINE, BLEND = range(2)  # curves
UNCLEAR = -1  # instead of a number of points


@helper
def regular(squares: Array, first: int, beyond: int, least: float, L: Array) -> bool:
    """Whether the least eigenvalue of each of the matrices ``first`` .. ``beyond`` (n, n) is above ``least``.

    A matrix without ``least`` on its diagonal then still has a Cholesky factor, which is left in L (n, n).
    """
    n = L.shape[0]
    for m in range(first, beyond):
        for i in range(n):
            for j in range(i + 1):
                total = squares[m, i, j] - (least if i == j else 0.0)
                for k in range(j):
                    total -= L[i, k] * L[j, k]
                if i > j:
                    L[i, j] = total / L[j, j]
                elif total > 0.0:
                    L[i, i] = math.sqrt(total)
                else:
                    return False
    return True


@helper
def to_robot_tool(back: Array, X: Array, first: Array, second: Array, R: Array, work: Array) -> None:
    """Poses and rates of a tool point become those of the robot's tool frame, whose pose is ``back`` (4, 4) in its own.

    ``R`` (3, 3) and ``work`` (5, 3) are scratch.
    """
    arm, spin, push, turn = work[0], work[1], work[2], work[3]
    for k in range(len(X)):
        for i in range(3):
            arm[i] = 0.0
            for j in range(3):
                arm[i] += X[k, i, j] * back[j, 3]
                R[i, j] = X[k, i, 0] * back[0, j] + X[k, i, 1] * back[1, j] + X[k, i, 2] * back[2, j]
        put_cross(first[k, 3:], arm, spin)
        put_cross(second[k, 3:], arm, push)
        put_cross(first[k, 3:], spin, turn)
        for i in range(3):
            X[k, i, 3] += arm[i]
            first[k, i] += spin[i]
            second[k, i] += push[i] + turn[i]
            for j in range(3):
                X[k, i, j] = R[i, j]


@kernel
def targets(
    curve: int, frame: Array, numbers: Array, back: Array, s: Array, X: Array, first: Array, second: Array
) -> None:
    """Poses and rates of the robot's tool frame at s (k,) on a curve; no rows in ``back``: it is the tool point."""
    if curve == LINE:
        sample_line(frame, numbers, s, X, first, second)
    else:
        sample_blend(frame, numbers, s, X, first, second)
    if len(back) > 0:
        to_robot_tool(back, X, first, second, np.empty((3, 3)), np.empty((5, 3)))


@kernel
def follow_curve(
    entries: Any,
    weights: Array,
    curve: int,
    frame: Array,
    numbers: Array,
    back: Array,
    near: Array,
    s: Array,
    path: Array,
    count: int,
) -> int:
    """Points s and joint positions with first and second rates ``path`` (3, k, n) along a curve; how many.

    The first ``count`` of s (k,) and the first position are given. ``near`` (4,): the largest miss between two points,
    the one from which on a point is added, both as ``misses`` gives them; the least interval; the least square of a
    singular value.
    """
    room, n = path.shape[1], path.shape[2]
    q, dq, ddq = path[0], path[1], path[2]
    X, first, second = np.empty((room, 4, 4)), np.empty((room, 6)), np.empty((room, 6))
    squares, L = np.empty((room, n, n)), np.empty((n, n))
    guess, miss, middle = np.empty((room, n)), np.empty(room), np.empty(room)
    rates, bends = np.empty((room, n)), np.empty((room, n))
    m = count
    targets(curve, frame, numbers, back, s[:m], X[:m], first[:m], second[:m])
    solved = solve_points(entries, weights, True, s[:m], X, first, second, q[:m], dq, ddq, squares)
    if solved < m or not regular(squares, 0, m, near[3], L):
        return UNCLEAR
    while True:
        for k in range(m - 1):
            middle[k] = 0.5 * (s[k] + s[k + 1])
        targets(curve, frame, numbers, back, middle[: m - 1], X[: m - 1], first[: m - 1], second[: m - 1])
        misses(entries, weights, s[:m], q, dq, ddq, X, guess, miss)
        if miss[: m - 1].max() < near[0]:
            return m
        far = 0
        for k in range(m - 1):
            if miss[k] >= near[1]:
                if s[k + 1] - s[k] <= near[2]:
                    return UNCLEAR
                X[far], first[far], second[far], guess[far] = X[k], first[k], second[k], guess[k]
                far += 1
        if far == 0 or m + far > room:  # none: a miss is no number
            return UNCLEAR
        solved = solve_points(
            entries, weights, False, middle, X, first, second, guess[:far], rates, bends, squares
        )
        if solved < far or not regular(squares, 0, far, near[3], L):
            return UNCLEAR
        added, last = far, m + far - 1
        for k in range(m - 2, -1, -1):  # from the end, so that no point is overwritten before it is moved
            s[last], q[last], dq[last], ddq[last] = s[k + 1], q[k + 1], dq[k + 1], ddq[k + 1]
            last -= 1
            if miss[k] >= near[1]:
                far -= 1
                s[last], q[last], dq[last], ddq[last] = middle[k], guess[far], rates[far], bends[far]
                last -= 1
        m += added
