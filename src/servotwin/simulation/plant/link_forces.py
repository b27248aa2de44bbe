r"""Forces on links as functions of pose, velocity and time; they act on the joints by the Jacobian of a frame.

.. math:: \tau = J^T w                                                                   (eq:environment)

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

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import call_address, call_law


class Kind(IntEnum):
    """Kinds of forces on links."""

    WRENCH = 0  # p: force, moment, from, to
    PLUME = 1  # p: nozzle (3), direction (3), half-angle, pressure, reference distance, area, from, to
    WALL = 2  # p: point (3), normal (3), stiffness, damping
    USER = 3  # a compiled function


WRENCH, PLUME, WALL, USER = int(Kind.WRENCH), int(Kind.PLUME), int(Kind.WALL), int(Kind.USER)
MOST_COLUMNS = 24  # of a Jacobian: joints, with those that move the base
X, Y, Z = 3, 7, 11  # of a pose, row by row

LINK_FORCE: np.dtype[Any] = np.dtype(
    [
        ("kind", np.int64),  # a ``Kind``
        ("fkine", np.int64),  # addresses: pose, Jacobian and their data, function of the user's, its memory
        ("fkine_data", np.int64),
        ("jacobian", np.int64),
        ("jacobian_data", np.int64),
        ("user", np.int64),
        ("memory", np.int64),
        ("pose_at", np.int64),
        ("jac_at", np.int64),
        ("signals_at", np.int64),
        ("wrench_at", np.int64),
        ("p", np.float64, (16,)),  # parameters of its kind
        ("pose", np.float64, (16,)),
        ("jac", np.float64, (6 * MOST_COLUMNS,)),
        ("signals", np.float64, (22,)),  # pose (16), velocity (6) for a function of the user's
        ("wrench", np.float64, (6,)),  # force [N] and moment [N m] on the frame, base axes
    ]
)


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
def fill_signals(force: Any, n: int, y: Any, rates_from: int) -> None:
    """Pose of the frame, then its velocity J qd; rates of the joints stand in y from ``rates_from`` on."""
    for k in range(16):
        force.signals[k] = force.pose[k]
    for k in range(6):
        total = 0.0
        for i in range(n):
            total += force.jac[n * k + i] * y[rates_from + i]
        force.signals[16 + k] = total


@part
def link_wrench(
    force: Any, n: int, inputs_at: int, y: Any, rates_from: int, time: float, middle: float
) -> bool:
    """``wrench`` and ``jac`` of one force at the coordinates at ``inputs_at``; False if it alone is not finite.

    ``middle`` of the step: there it is looked up whether a force acts already, the same for all stages.
    """
    call_address(force.fkine, inputs_at, force.pose_at, force.fkine_data)
    call_address(force.jacobian, inputs_at, force.jac_at, force.jacobian_data)
    fill_signals(force, n, y, rates_from)
    for k in range(6):
        force.wrench[k] = 0.0
    if force.kind == WRENCH:
        if force.p[6] <= middle < force.p[7]:
            for k in range(6):
                force.wrench[k] = force.p[k]
    elif force.kind == PLUME:
        plume_force(force, middle)
    elif force.kind == WALL:
        wall_force(force)
    else:
        call_law(force.user, time, force.signals_at, force.memory, force.wrench_at)
    finite = moves = True
    for k in range(6):
        finite = finite and math.isfinite(force.wrench[k])
        moves = moves and math.isfinite(force.signals[16 + k])
    return finite or not moves


@helper
def joint_effort(force: Any, n: int, i: int) -> float:
    """What a force gives to joint i, n joints in all [N m, N] (eq:environment)."""
    total = 0.0
    for k in range(6):
        total += force.jac[n * k + i] * force.wrench[k]  # eq:environment
    return total
