"""The compiled part of ``blends``: how far a rounded corner is from its corner, and its largest rates.

Generated kernels of the robot are called by their addresses, as in ``curve_newton``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, kernel
from servotwin.compiled.native_calls import call_address
from servotwin.mechanism.model import Array
from servotwin.motion.curve_sampling import put_cross
from servotwin.motion.joint_path import polynomials_at
from servotwin.motion.peaks import NODES, SLOPES, X, largest_peak

# rows of what is found: squares of the tool point's distance, velocity, acceleration and jerk; shares of the joints
AWAY, TOOL_SPEED, TOOL_ACCELERATION, TOOL_JERK, JOINT_SPEED, JOINT_ACCELERATION, JOINT_JERK = range(7)


@helper
def put_slopes(values: Array, half: float, at: int, out: Array) -> None:
    """The rates of a function in the cell that begins at the row ``at``, from its values there (NODES, n)."""
    for i in range(NODES):
        for j in range(values.shape[1]):
            slope = 0.0
            for k in range(NODES):
                slope += SLOPES[i, k] * values[at + k, j]
            out[at + i, j] = slope / half


@helper
def put_tool(entries: Any, offset: Array, dq: Array, ddq: Array, work: Any) -> None:
    """Velocity and acceleration ``twist`` (2, 6) of the tool point (eq:tool-rates), ``offset`` (3,) in the tool frame.

    ``work``: positions and room for rates (2 n,), room for Jacobians and cross products, the pose Y there, ``twist``.
    """
    inputs, J, rate, cross, Y, twist = work
    n = len(dq)
    for i in range(n):
        inputs[n + i] = dq[i]
    at = inputs.ctypes.data
    call_address(entries[2], at, J.ctypes.data, entries[3])
    call_address(entries[4], at, rate.ctypes.data, entries[5])
    for i in range(6):
        twist[0, i] = twist[1, i] = 0.0
        for j in range(n):
            twist[0, i] += J[i, j] * dq[j]
            twist[1, i] += J[i, j] * ddq[j] + rate[i, j] * dq[j]
    arm, spin, push, turn = cross[0], cross[1], cross[2], cross[3]
    for i in range(3):
        arm[i] = Y[i, 0] * offset[0] + Y[i, 1] * offset[1] + Y[i, 2] * offset[2]
    put_cross(twist[0, 3:], arm, spin)
    put_cross(twist[1, 3:], arm, push)
    put_cross(twist[0, 3:], spin, turn)
    for i in range(3):
        twist[0, i] += spin[i]
        twist[1, i] += push[i] + turn[i]


@helper
def put_squares(
    entries: Any,
    offset: Array,
    corner: Array,
    state: Array,
    tool: bool,
    work: Any,
    squares: Array,
    push: Array,
) -> None:
    """Squares (4, k, 1) but for the jerk, and accelerations (k, 3) of the tool point, at states (3, k, n)."""
    inputs, _, _, _, Y, twist = work
    for i in range(state.shape[1]):
        for j in range(state.shape[2]):
            inputs[j] = state[0, i, j]
        call_address(entries[0], inputs.ctypes.data, Y.ctypes.data, entries[1])
        for j in range(3):
            place = Y[j, 3] + Y[j, 0] * offset[0] + Y[j, 1] * offset[1] + Y[j, 2] * offset[2]
            squares[AWAY, i, 0] += (place - corner[j]) ** 2
        if tool:
            put_tool(entries, offset, state[1, i], state[2, i], work)
            for j in range(3):
                squares[TOOL_SPEED, i, 0] += twist[0, j] ** 2
                squares[TOOL_ACCELERATION, i, 0] += twist[1, j] ** 2
                push[i, j] = twist[1, j]


@helper
def put_shares(state: Array, edges: Array, limits: Array, shares: Array) -> None:
    """Shares (3, k, n) of the joints' speeds, accelerations and jerks at states (3, k, n) of cells."""
    for m in range(len(edges) - 1):
        put_slopes(state[2], 0.5 * (edges[m + 1] - edges[m]), NODES * m, shares[2])
    for i in range(state.shape[1]):
        for j in range(state.shape[2]):
            shares[0, i, j] = state[1, i, j] / limits[2, j]
            shares[1, i, j] = state[2, i, j] / limits[3, j]
            shares[2, i, j] /= limits[4, j]


@kernel
def blend_peaks(
    entries: Any,
    offset: Array,
    corner: Array,
    knots: Array,
    c: Array,
    edges: Array,
    limits: Array,
    tool: bool,
    out: Array,
) -> None:
    """Fill ``out`` (7, 2), size and doubt of the ``largest_peak`` of what the rows above name, over cells of a path.

    ``corner`` (3,): place of the corner; ``edges`` of the cells; the quintics c (m - 1, 6, n) lie between ``knots``
    (m,); ``limits``: a ``MotionLimits.joint_table``. Without ``tool`` its velocity, acceleration and jerk are left out.
    """
    cells, n = len(edges) - 1, c.shape[2]
    k = NODES * cells
    at, state = np.empty(k), np.empty((3, k, n))
    for m in range(cells):
        half = 0.5 * (edges[m + 1] - edges[m])
        for i in range(NODES):
            at[NODES * m + i] = edges[m] + half * (1.0 + X[i])
    polynomials_at(knots, c, at, state[0], state[1], state[2])
    squares, shares, push, jerk = np.zeros((4, k, 1)), np.empty((3, k, n)), np.empty((k, 3)), np.empty((k, 3))
    rates = np.zeros((6, n)), np.zeros((6, n))
    work = (np.zeros(2 * n), rates[0], rates[1], np.empty((4, 3)), np.zeros((4, 4)), np.empty((2, 6)))
    put_squares(entries, offset, corner, state, tool, work, squares, push)
    if tool:
        for m in range(cells):
            put_slopes(push, 0.5 * (edges[m + 1] - edges[m]), NODES * m, jerk)
        for i in range(k):
            squares[TOOL_JERK, i, 0] = jerk[i, 0] ** 2 + jerk[i, 1] ** 2 + jerk[i, 2] ** 2
    put_shares(state, edges, limits, shares)
    for row in range(4):
        out[row, 0], _, _, _, out[row, 1] = largest_peak(squares[row], 0.0)
    for row in range(3):
        out[4 + row, 0], _, _, _, out[4 + row, 1] = largest_peak(shares[row], 0.0)
