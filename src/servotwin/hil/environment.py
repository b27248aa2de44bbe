r"""Environment models: forces on links, as functions of pose, velocity and time, added to the arm's bias.

.. math:: h \mathrel{-}= J^T w                                                          (eq:environment)

with J the Jacobian of a frame and w the wrench on it, both in base axes:

.. math:: F = p_0 A \Bigl(\frac{r_0}{r}\Bigr)^2 \cos^2\Bigl(\frac\pi2\,\frac{\varphi}{\varphi_0}\Bigr)\,
              \frac{\mathbf r}{r}, \quad \varphi < \varphi_0                            (eq:plume)

for a plume of half-angle :math:`\varphi_0` whose pressure falls with the squared distance r from its nozzle, and

.. math:: F = \max(0,\; k\,\delta + d\,\dot\delta)\,\mathbf n, \quad \delta = \mathbf n \cdot (\mathbf p - \mathbf x)
                                                                                         (eq:wall)

for a wall at p with the normal n, into which the frame's origin x has gone by :math:`\delta > 0`.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import call_address, call_law
from servotwin.hil.records import CycleStatus


class Kind(IntEnum):
    """Kinds of forces on links."""

    WRENCH = 0  # p: force, moment, from, to
    PLUME = 1  # p: nozzle (3), direction (3), half-angle, pressure, reference distance, area, from, to
    WALL = 2  # p: point (3), normal (3), stiffness, damping
    USER = 3  # a compiled function


BAD_FORCE = int(CycleStatus.BAD_FORCE)
WRENCH, PLUME, WALL, USER = int(Kind.WRENCH), int(Kind.PLUME), int(Kind.WALL), int(Kind.USER)
X, Y, Z = 3, 7, 11  # of a pose, row by row


@helper
def plume_force(force: Any, time: float) -> None:
    """Force of a plume on a frame's origin (eq:plume)."""
    p = force.p
    rx, ry, rz = force.pose[X] - p[0], force.pose[Y] - p[1], force.pose[Z] - p[2]
    r = math.sqrt(rx * rx + ry * ry + rz * rz)
    if r <= 0.0 or time < p[10] or time >= p[11]:
        return
    cosine = (rx * p[3] + ry * p[4] + rz * p[5]) / r
    angle = math.acos(min(max(cosine, -1.0), 1.0))
    if angle >= p[6]:
        return
    fall = math.cos(0.5 * math.pi * angle / p[6]) * p[8] / r
    size = p[7] * p[9] * fall * fall / r  # eq:plume
    force.wrench[0], force.wrench[1], force.wrench[2] = size * rx, size * ry, size * rz


@helper
def wall_force(force: Any) -> None:
    """Force of a spring wall on a frame's origin (eq:wall); ``signals`` hold its velocity."""
    p, v = force.p, force.signals
    depth = p[3] * (p[0] - force.pose[X]) + p[4] * (p[1] - force.pose[Y]) + p[5] * (p[2] - force.pose[Z])
    if depth <= 0.0:
        return
    rate = -(p[3] * v[16] + p[4] * v[17] + p[5] * v[18])
    size = max(0.0, p[6] * depth + p[7] * rate)  # eq:wall
    for k in range(3):
        force.wrench[k] = size * p[3 + k]


@helper
def fill_signals(arm: Any, force: Any, y: Any) -> None:
    """Pose of the frame, then its velocity J qd."""
    n = arm.n
    for k in range(16):
        force.signals[k] = force.pose[k]
    for k in range(6):
        total = 0.0
        for i in range(n):
            total += force.jac[n * k + i] * y[n + i]
        force.signals[16 + k] = total


@part
def add_forces(arm: Any, force: Any, y: Any, time: float) -> None:
    """Take J^T w of one force out of the bias, at the coordinates in ``inputs`` (eq:environment)."""
    n = arm.n
    call_address(force.fkine, arm.inputs_at, force.pose_at, force.fkine_data)
    call_address(force.jacobian, arm.inputs_at, force.jac_at, force.jacobian_data)
    fill_signals(arm, force, y)
    for k in range(6):
        force.wrench[k] = 0.0
    if force.kind == WRENCH:
        if force.p[6] <= time < force.p[7]:
            for k in range(6):
                force.wrench[k] = force.p[k]
    elif force.kind == PLUME:
        plume_force(force, time)
    elif force.kind == WALL:
        wall_force(force)
    else:
        call_law(force.user, time, force.signals_at, force.memory, force.wrench_at)
    for k in range(6):
        if not math.isfinite(force.wrench[k]):
            arm.status = BAD_FORCE
    for i in range(n):
        for k in range(6):
            arm.h[i] -= force.jac[n * k + i] * force.wrench[k]  # eq:environment
