r"""The arm with some of its shafts stuck, each motor behind its own stiff gear without loss.

With f the joints that move and s those that stick,

.. math:: (M + N^2 J)_{ff}\,\ddot q_f = \tau_f - h_f, \qquad \ddot q_s = 0, \qquad
          p_s = N^{-1} (M_{sf}\,\ddot q_f + h_s)                                        (eq:held-arm)

gives the accelerations and the torque p that each gear passes on to hold its joint; ``holding_slack`` says whether
stiction is enough. The general case, with stops and lossy gears, is in ``plant``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.drives.friction import holding_slack
from servotwin.drives.records import STUCK
from servotwin.dynamics.recursive.jit import helper, part
from servotwin.kernels.address import call_address


@part
def factor(A: Any, n: int) -> None:
    """Cholesky factor in the lower triangle of A."""
    for j in range(n):
        d = A[j, j]
        for k in range(j):
            d -= A[j, k] * A[j, k]
        d = np.sqrt(d)
        A[j, j] = d
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s / d


@part
def solve(A: Any, n: int, x: Any, at: int) -> None:
    """Solve with the factor; x[at:at+n] is overwritten."""
    for i in range(n):
        s = x[at + i]
        for k in range(i):
            s -= A[i, k] * x[at + k]
        x[at + i] = s / A[i, i]
    for i in range(n - 1, -1, -1):
        s = x[at + i]
        for k in range(i + 1, n):
            s -= A[k, i] * x[at + k]
        x[at + i] = s / A[i, i]


@helper
def sort_joints(world: Any, motors: Any) -> None:
    """Number and list of the joints that move."""
    world.moving = 0
    for j in range(world.n):
        if motors[j].mode != STUCK:
            world.row_of[world.moving] = j
            world.moving += 1


@part
def free_inertia(world: Any, motors: Any) -> None:
    """Factor of the moving joints' inertia in A, M and h of the arm in ``outputs``, at the state in ``inputs``."""
    n = world.n
    call_address(world.motion, world.inputs_at, world.outputs_at, world.motion_data)
    for r in range(world.moving):
        i = world.row_of[r]
        for c in range(r + 1):
            world.A[r, c] = world.outputs[n * i + world.row_of[c]]
        world.A[r, r] += world.ratio[i] * world.ratio[i] * motors[i].J
    factor(world.A, world.moving)


@part
def held_acceleration(world: Any, motors: Any) -> None:
    """Accelerations in ``qdd`` under the motor torques in ``force`` (eq:held-arm), and what holds the stuck shafts."""
    n = world.n
    free_inertia(world, motors)
    for j in range(n):
        world.qdd[j] = 0.0
    for r in range(world.moving):
        i = world.row_of[r]
        world.X[r] = world.ratio[i] * world.force[i] - world.outputs[n * n + i]
    solve(world.A, world.moving, world.X, 0)
    for r in range(world.moving):
        world.qdd[world.row_of[r]] = world.X[r]
    for j in range(n):
        motor = motors[j]
        if motor.mode != STUCK:
            continue
        load = world.outputs[n * n + j]
        for i in range(n):
            load += world.outputs[n * j + i] * world.qdd[i]
        motor.transmitted = load * world.unratio[j]
        motor.slack = holding_slack(motor, world.force[j], motor.transmitted)
