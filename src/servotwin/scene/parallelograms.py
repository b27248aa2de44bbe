"""Forearms of a DELTA as the two rods that they are: a plate that never turns is carried by parallelograms.

A robot file has each forearm as one body behind a universal joint, which moves the plate the same way. A picture shows
what is built: two rods from the elbow to the plate, apart along the axis of the arm.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from servotwin.errors import KinematicsError
from servotwin.mechanism.model import BASE, Array, Mechanism
from servotwin.robot.robot import Robot
from servotwin.scene.body_shapes import Shape, numbers
from servotwin.scene.skeleton import SAME, Skeleton, body_poses

APART = 1.9  # half thicknesses from the middle of a forearm to each of its rods
THIN = 0.5  # half the thickness of a rod, in half thicknesses of a link
NEARBY = 0.07  # rad: how far the arms are moved to see whether the plate turns


def forearm_rods(robot: Robot, drawn: Skeleton, radius: float) -> dict[int, list[dict[str, Any]]]:
    """The rods of every forearm that is a parallelogram, by the number of its bar in ``drawn.bars``."""
    mechanism = robot.mechanism
    bars = [k for k, (a, _) in enumerate(drawn.bars) if _is_forearm(mechanism, drawn.bodies[a])]
    if not bars or not mechanism.loops:
        return {}
    poses = _poses_nearby(robot)
    if poses is None:
        return {}
    points = drawn.positions(poses)[0]
    found = {}
    for k in bars:
        a, b = drawn.bars[k]
        arm = int(mechanism.parent[mechanism.parent[drawn.bodies[a]]])
        plate = _plate(drawn, b, points, poses)
        if plate is not None:
            axis = APART * radius * poses[arm][0][:3, 2]
            ends = [
                {
                    "a": _anchor(arm, points[a] + side * axis, poses),
                    "b": _anchor(plate, points[b] + side * axis, poses),
                }
                for side in (-1.0, 1.0)
            ]
            found[k] = [{**rod, "r": THIN * radius, "ink": "link"} for rod in ends]
    return found


def cross_bars(rods: Iterable[list[dict[str, Any]]]) -> Iterable[tuple[int, Shape]]:
    """What holds the two rods of a forearm apart, at the elbow and at the plate: body and shape."""
    for left, right in rods:
        for end in ("a", "b"):
            ends = left[end]["place"], right[end]["place"]
            shape = {"kind": "capsule", "a": ends[0], "b": ends[1], "r": 1.25 * left["r"], "ink": "passive"}
            yield left[end]["body"] - 1, shape


def _is_forearm(mechanism: Mechanism, body: int) -> bool:
    """Whether a body hangs by two passive joints on an arm that is driven at the base."""
    if body == BASE or mechanism.parent[body] == BASE:
        return False
    elbow = int(mechanism.parent[body])
    arm = int(mechanism.parent[elbow])
    if arm == BASE or mechanism.parent[arm] != BASE:
        return False
    names = mechanism.tree_joint_names
    passive = not {names[body], names[elbow]} & set(mechanism.joint_names)
    turning = not any(bool(mechanism.prismatic[i]) for i in (body, elbow, arm))
    return passive and turning and names[arm] in mechanism.joint_names


def _poses_nearby(robot: Robot) -> dict[int, Array] | None:
    """Poses of the bodies at home and with each joint moved a little; None where the loops do not close."""
    q = np.vstack([robot.q_home, robot.q_home + NEARBY * np.eye(robot.n)])
    try:
        return body_poses(robot, q)
    except KinematicsError:
        return None


def _plate(drawn: Skeleton, end: int, points: Array, poses: dict[int, Array]) -> int | None:
    """The body that never turns and has a point where a forearm ends."""
    for i, body in enumerate(drawn.bodies):
        if body in (BASE, drawn.bodies[end]) or float(np.abs(points[i] - points[end]).max()) > 1e3 * SAME:
            continue
        R = poses[body][:, :3, :3]
        if float(np.abs(R - R[0]).max()) < 1e-9:
            return body
    return None


def _anchor(body: int, place: Array, poses: dict[int, Array]) -> dict[str, Any]:
    """A place in the base at home as a point of a body."""
    X = poses[body][0]
    return {"body": body + 1, "place": numbers(X[:3, :3].T @ (place - X[:3, 3]))}
