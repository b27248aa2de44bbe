r"""The arm with some of its shafts stuck, each motor behind its own stiff gear without loss.

With f the joints that move and s those that stick,

.. math:: (M + N^2 J)_{ff}\,\ddot q_f = \tau_f - h_f, \qquad \ddot q_s = 0, \qquad
          p_s = N^{-1} (M_{sf}\,\ddot q_f + h_s)                                        (eq:stuck-arm)

gives the accelerations and the torque p that each gear passes on to hold its joint; ``holding_slack`` says whether
stiction is enough. The general case, with stops and lossy gears, is in ``rates``.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import call_address
from servotwin.drives.friction import holding_slack
from servotwin.drives.records import STUCK


@part
def factor(A: Any, n: int) -> None:
    """Factor A = L D L^T of a symmetric positive definite matrix: L D below the diagonal of A, 1 / D on it."""
    for j in range(n):
        d = A[j, j]
        for k in range(j):
            d -= A[j, k] * A[j, k] * A[k, k]
        A[j, j] = 1.0 / d if d > 0.0 else math.nan  # constraints that depend on each other
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k] * A[k, k]
            A[i, j] = s


@part
def solve(A: Any, n: int, x: Any, at: int) -> None:
    """Solve with the factor; x[at:at+n] is overwritten."""
    for i in range(n):
        s = x[at + i]
        for k in range(i):
            s -= A[i, k] * x[at + k]
        x[at + i] = s * A[i, i]
    for i in range(n - 2, -1, -1):
        s = 0.0
        for k in range(i + 1, n):
            s += A[k, i] * x[at + k]
        x[at + i] -= s * A[i, i]


@helper
def list_moving_joints(world: Any, motors: Any) -> None:
    """Number and list of the joints that move."""
    scratch = world.scratch
    scratch.moving = 0
    for j in range(world.n):
        if motors[j].mode != STUCK:
            scratch.moving_joints[scratch.moving] = j
            scratch.moving += 1


@part
def moving_inertia(world: Any, motors: Any) -> None:
    """Factor of the moving joints' inertia in A, M and h of the arm in ``outputs``, at the state in ``inputs``."""
    scratch, code = world.scratch, world.code
    n = world.n
    call_address(code.motion, code.inputs_at, code.outputs_at, code.motion_data)
    for r in range(scratch.moving):
        i = scratch.moving_joints[r]
        for c in range(r + 1):
            scratch.A[r, c] = scratch.outputs[n * i + scratch.moving_joints[c]]
        scratch.A[r, r] += world.ratio[i] * world.ratio[i] * motors[i].J
    factor(scratch.A, scratch.moving)


@part
def stuck_acceleration(world: Any, motors: Any) -> None:
    """Accelerations in ``qdd`` under the torques in ``motor_torque`` (eq:stuck-arm); what holds the stuck shafts."""
    scratch = world.scratch
    n = world.n
    moving_inertia(world, motors)
    for j in range(n):
        scratch.qdd[j] = 0.0
    for r in range(scratch.moving):
        i = scratch.moving_joints[r]
        scratch.X[r] = world.ratio[i] * scratch.motor_torque[i] - scratch.outputs[n * n + i]
    solve(scratch.A, scratch.moving, scratch.X, 0)
    for r in range(scratch.moving):
        scratch.qdd[scratch.moving_joints[r]] = scratch.X[r]
    for j in range(n):
        motor = motors[j]
        if motor.mode != STUCK:
            continue
        load = scratch.outputs[n * n + j]
        for i in range(n):
            load += scratch.outputs[n * j + i] * scratch.qdd[i]
        motor.transmitted = load * world.inverse_ratio[j]
        motor.slack = holding_slack(motor, scratch.motor_torque[j], motor.transmitted)
