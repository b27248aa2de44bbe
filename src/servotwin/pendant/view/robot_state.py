"""What the page shows of a robot at a position: pose, Jacobian, torques, ellipsoids, limits, branches (SI)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.errors import KinematicsError, ServotwinError
from servotwin.mechanism.model import Array
from servotwin.mechanism.urdf_export import roll_pitch_yaw
from servotwin.robot.robot import Robot
from servotwin.scene.body_shapes import flat, numbers
from servotwin.scene.looks import packed
from servotwin.scene.reach_surface import reach_surface

if TYPE_CHECKING:
    from servotwin.design.statics import Ellipsoid, Statics

SLACK = 1e-9  # rad, m: beyond a limit by more than rounding
LONGEST = 0.16  # of the picture: the longest half axis of an ellipsoid
ENDLESS = 1.4  # times that: the direction in which a singular arm bears any force
NEAR_SINGULAR = 0.05  # least over largest singular value
MOST_BRANCHES = 64  # that are drawn; joints of more than a turn have every branch several times


def state_of(robot: Robot, q: Array, size: float) -> dict[str, Any]:
    """Everything about a position q (n,); ``size`` [m] of the picture, which ellipsoids are scaled to."""
    # It brings the schema of robot files, which the first picture does not wait for.
    from servotwin.design.statics import statics

    found = statics(robot, q)
    roll, pitch, yaw = roll_pitch_yaw(found.pose[:3, :3])
    return {
        "q": numbers(q),
        "x": numbers(robot.coordinates(q)),
        "pose": flat(found.pose),
        "xyz": numbers(found.pose[:3, 3]),
        "rpy": [float(roll), float(pitch), float(yaw)],
        "jacobian": [numbers(row) for row in found.jacobian],
        "gravity": numbers(found.tau_gravity),
        "share": [_share(robot, found, k) for k in range(robot.n)],
        "singular_values": numbers(found.singular_values),
        "manipulability": found.plane_manipulability,
        "conditioning": found.conditioning,
        "singular": found.singular,
        "near_singular": found.conditioning < NEAR_SINGULAR,
        "velocity": _axes(found.velocity, size),
        "force": _axes(found.force, size),
        "outside": _outside(robot, q),
        "quantities": _quantities(robot, q),
    }


def branches_of(robot: Robot, q: Array) -> dict[str, Any]:
    """All positions with the tool where it is at q, as coordinates for ghosts; a line where they are not known."""
    try:
        found = robot.ikine_all(robot.fkine(q))
    except ServotwinError as error:
        return {"branches": [], "why": str(error)}
    others = [other for other in found if float(np.abs(other - q).max()) > 1e-6]
    drawn = []
    for other in others[:MOST_BRANCHES]:
        try:
            drawn.append({"q": numbers(other), "x": numbers(robot.coordinates(other))})
        except KinematicsError:
            continue  # the loops are assembled another way there
    left = len(others) - len(drawn)
    return {"branches": drawn, "why": f"{left} further branches are not drawn" if left else ""}


def workspace_of(robot: Robot) -> dict[str, str] | None:
    """The surface around what the tool reaches within all limits, for the script; None if there is hardly anything."""
    found = reach_surface(robot)
    return None if found is None else packed(found)


def _share(robot: Robot, found: Statics, k: int) -> float | None:
    """Torque against gravity as a share of the joint's limit."""
    limit = float(robot.limits.tau_max[k])
    return abs(float(found.tau_gravity[k])) / limit if math.isfinite(limit) and limit > 0.0 else None


def _axes(ellipsoid: Ellipsoid, size: float) -> list[float]:
    """Half axes as columns of a matrix, by rows, the longest finite one as long as the picture allows."""
    lengths = np.zeros(3)
    lengths[: len(ellipsoid.lengths)] = ellipsoid.lengths
    finite = lengths[np.isfinite(lengths)]
    largest = float(finite.max(initial=0.0)) or 1.0
    shown = np.where(np.isfinite(lengths), lengths / largest, ENDLESS) * LONGEST * size
    shown = np.maximum(shown, 0.004 * size)  # flat ones stay visible
    axes = np.eye(3)
    axes[:, : ellipsoid.directions.shape[1]] = ellipsoid.directions
    return numbers((axes * shown).ravel())


def _outside(robot: Robot, q: Array) -> list[str]:
    """Names of the joints and quantities beyond their limits."""
    out = (q < robot.limits.q_min - SLACK) | (q > robot.limits.q_max + SLACK)
    names = [name for name, beyond in zip(robot.joint_names, out, strict=True) if beyond]
    wide = robot.quantities.beyond(q) > SLACK
    names += [name for name, beyond in zip(robot.quantities.names, wide, strict=True) if beyond]
    wide = robot.frame_quantities_beyond(q) > SLACK
    return names + [name for name, out in zip(robot.frame_quantities.names, wide, strict=True) if out]


def _quantities(robot: Robot, q: Array) -> list[dict[str, Any]]:
    values = robot.quantity_values(q)
    ranges = [*zip(robot.quantities.low, robot.quantities.high, strict=True)]
    ranges += [*zip(robot.frame_quantities.low, robot.frame_quantities.high, strict=True)]
    lengths = (*robot.quantities.lengths, *robot.frame_quantities.lengths)
    return [
        {
            "name": name,
            "value": float(value),
            "low": _finite(low),
            "high": _finite(high),
            "unit": "m" if length else "rad",
        }
        for (name, value), (low, high), length in zip(values.items(), ranges, lengths, strict=True)
    ]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
