"""The scene of a robot as plain data for the script: bodies with shapes, joints, the tree, the floor."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import KinematicsError
from servotwin.mechanism.model import BASE, Array, Mechanism
from servotwin.robot.robot import Robot
from servotwin.scene.body_shapes import bar_radius, flat, joint_sizes, link_shapes, numbers
from servotwin.scene.extent import drawn_room
from servotwin.scene.looks import Looks
from servotwin.scene.parallelograms import cross_bars, forearm_rods
from servotwin.scene.skeleton import Skeleton, body_poses, skeleton

VERSION = 1
SWING = 0.25  # of a joint's range to either side of home: what the first picture has room for,
MOST_SWING = {"rad": 0.6, "m": 0.5}  # rad, m: and no more than this
THICK = 2.0  # half the thickness of a joint over that of a bar
WIDE = {"rad": math.pi, "m": 0.5}  # half the range of a joint without limits


def describe(robot: Robot, q: ArrayLike | None = None, looks: Looks | None = None) -> dict[str, Any]:
    """The scene of a robot at q (n,), default home: what ``ServoTwinScene.create`` takes.

    ``bodies`` begins with the base; every pose is 12 numbers, the first three rows of a 4 x 4 matrix. ``looks``: shapes
    and meshes of its file (``looks_of``); links without any are capsules, plates and boxes.
    """
    mechanism = robot.mechanism
    at = robot.q_home if q is None else np.asarray(q, dtype=np.float64)
    drawn = skeleton(robot)
    poses = body_poses(robot, at[None])
    home = body_poses(robot, robot.q_home[None])
    points = drawn.positions(home)[0]
    radius = bar_radius(points, drawn)
    forearms = forearm_rods(robot, drawn, radius)
    shapes = link_shapes(mechanism, drawn, points, radius, forearms)
    for body, bar in cross_bars(forearms.values()):
        shapes[body].append(bar)
    looks = looks or Looks()
    if looks.shapes:
        plain = {body: own if _massive(mechanism, body) else [] for body, own in shapes.items()}
        shapes = {**plain, **looks.shapes}
    wide = {**looks.shapes, **({BASE: shapes[BASE]} if drawn.rails else {})}  # more than the skeleton shows
    room = np.concatenate([_room(robot, drawn), *drawn_room(wide, looks, home)])
    low, high = room.min(axis=0), room.max(axis=0)
    size = max(float(np.linalg.norm(high - low)), 1e-3)
    tool = mechanism.frame()
    return {
        "version": VERSION,
        "name": robot.name,
        "title": robot.title,
        "bodies": [
            {"name": name, "shapes": shapes[body]} for body, name in enumerate(_body_names(mechanism), BASE)
        ],
        "rods": [] if looks.shapes else [*_rods(drawn, radius), *chain.from_iterable(forearms.values())],
        "poses": [flat(poses[body][0]) for body in range(BASE, mechanism.n_tree)],
        "q": numbers(at),
        "joints": _joints(robot, drawn, points, radius),
        "tree": tree_data(robot, at),
        "tool": {"body": tool.body + 1, "pose": flat(tool.X_body_frame)},
        "size": size,
        "fit": [numbers(p) for p in corners(low - THICK * radius, high + THICK * radius)],
        "floor": floor(low, high, size, min(float(points[:, 2].min()), 0.0)),
        "meshes": looks.meshes,
        "notes": looks.notes,
    }


def _massive(mechanism: Mechanism, body: int) -> bool:
    return body != BASE and bool(mechanism.phi[body, 0] > 0.0)


def body_poses_flat(robot: Robot, q: ArrayLike) -> Array:
    """Poses of all bodies of the scene (..., 12 b) at q (..., n), in the order of ``describe(robot)["bodies"]``."""
    position = np.asarray(q, dtype=np.float64)
    poses = body_poses(robot, position.reshape(-1, robot.n))
    rows = [poses[body][:, :3].reshape(-1, 12) for body in range(BASE, robot.mechanism.n_tree)]
    return np.concatenate(rows, axis=1).reshape(*position.shape[:-1], -1)


def path_scene(name: str) -> dict[str, Any]:
    """The scene of a path without an arm: its second body stands where the tool is. Size, fit and floor are missing."""
    here = flat(np.eye(4))
    return {
        "version": VERSION,
        "name": name,
        "title": "",
        "bodies": [{"name": "base", "shapes": []}, {"name": "tool", "shapes": []}],
        "rods": [],
        "poses": [here, here],
        "q": [],
        "joints": [],
        "tree": None,
        "tool": {"body": 1, "pose": here, "triad": False},
        "base": False,
        "meshes": [],
        "notes": [],
    }


def tree_data(robot: Robot, q: Array) -> dict[str, Any]:
    """The tree for forward kinematics in the browser; ``x``: all free coordinates at q, the joints first."""
    mechanism = robot.mechanism
    return {
        "parent": [int(i) for i in mechanism.parent],
        "prismatic": [bool(i) for i in mechanism.prismatic],
        "X": [flat(X) for X in mechanism.X_tree],
        "G": [numbers(row) for row in mechanism.coupling.G],
        "q0": numbers(mechanism.coupling.q0),
        "actuated": robot.n,
        "x": numbers(robot.coordinates(q)),
        "loops": [
            {
                "kind": loop.kind.value,
                **{
                    side: {"body": frame.body, "pose": flat(frame.X_body_frame)}
                    for side, frame in (
                        ("a", mechanism.frame(loop.frame_a)),
                        ("b", mechanism.frame(loop.frame_b)),
                    )
                },
            }
            for loop in mechanism.loops
        ],
    }


def floor(low: Array, high: Array, size: float, lowest: float) -> dict[str, Any]:
    """A grid below everything, its lines at round numbers [m]."""
    rough = size / 10.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough)
    middle = np.rint(0.5 * (low + high)[:2] / step) * step
    reach = step * math.ceil((0.5 * float(np.max((high - low)[:2])) + 0.35 * size) / step)
    return {"centre": numbers(middle), "reach": reach, "step": step, "z": float(lowest - 0.012 * size)}


def _body_names(mechanism: Mechanism) -> list[str]:
    """Names of the bodies, the base first: of a body with several frames the first."""
    names = dict.fromkeys(range(BASE, mechanism.n_tree), "")
    for frame in reversed(mechanism.frames):
        names[frame.body] = frame.name
    return [names[body] for body in range(BASE, mechanism.n_tree)]


def _rods(drawn: Skeleton, radius: float) -> list[dict[str, Any]]:
    """What lies between a sliding joint and the body that slides."""

    def end(i: int) -> dict[str, Any]:
        return {"body": drawn.bodies[i] + 1, "place": numbers(drawn.places[i])}

    return [{"a": end(a), "b": end(b), "r": 0.62 * radius, "ink": "guide"} for a, b in drawn.slides]


def _joints(robot: Robot, drawn: Skeleton, points: Array, radius: float) -> list[dict[str, Any]]:
    """The joints of q: name, unit, limits (None where there is none), home, and where they are drawn."""
    sizes = joint_sizes(drawn, points, radius)
    places = {joint.name: (joint, size) for joint, size in zip(drawn.joints, sizes, strict=True)}
    found = []
    for k, (name, unit) in enumerate(zip(robot.joint_names, robot.joint_units, strict=True)):
        low, high = float(robot.limits.q_min[k]), float(robot.limits.q_max[k])
        entry: dict[str, Any] = {
            "name": name,
            "unit": unit,
            "low": low if math.isfinite(low) else None,
            "high": high if math.isfinite(high) else None,
            "home": float(robot.q_home[k]),
        }
        if name in places:
            joint, size = places[name]
            body = drawn.bodies[joint.point]
            shift = np.array([0.0, 0.0, 0.0 if joint.prismatic else 2.4 * size * radius])
            entry["label"] = {"body": body + 1, "place": numbers(drawn.places[joint.point] + shift)}
            if unit == "rad" and math.isfinite(low) and math.isfinite(high):
                entry["arc"] = _arc(robot.mechanism, joint.body, low, high, 3.4 * size * radius)
        found.append(entry)
    return found


def _arc(mechanism: Mechanism, body: int, low: float, high: float, r: float) -> dict[str, Any]:
    """The range of a turning joint, drawn on the body that carries it; angles count from its x axis."""
    zero = float(mechanism.coupling.q0[body])
    frame = flat(mechanism.X_tree[body])
    return {
        "body": int(mechanism.parent[body]) + 1,
        "frame": frame,
        "low": low,
        "high": high,
        "r": r,
        "zero": zero,
    }


def _room(robot: Robot, drawn: Skeleton) -> Array:
    """Points (k, 3) of the arm at home and with each joint moved to either side."""
    units = robot.joint_units
    wide = np.array([WIDE[unit] for unit in units])
    low = np.where(np.isfinite(robot.limits.q_min), robot.limits.q_min, robot.q_home - wide)
    high = np.where(np.isfinite(robot.limits.q_max), robot.limits.q_max, robot.q_home + wide)
    found = [drawn.positions(body_poses(robot, robot.q_home[None]))[0]]
    for k in range(robot.n):
        most = MOST_SWING[units[k]]
        for end in (low[k], high[k]):
            q = robot.q_home
            q[k] += float(np.clip(SWING * (end - q[k]), -most, most))
            try:
                found.append(drawn.positions(body_poses(robot, q[None]))[0])
            except KinematicsError:
                continue  # the loops do not close there
    return np.concatenate(found)


def corners(low: Array, high: Array) -> Array:
    """The corners (8, 3) of a box."""
    return np.array([[(low, high)[i >> c & 1][c] for c in range(3)] for i in range(8)])
