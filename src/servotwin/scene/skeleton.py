"""A robot as bars, plates and joint axes between points that move with it: what a drawing of it needs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from servotwin.mechanism.model import BASE, Array, Mechanism
from servotwin.robot.robot import Robot

SAME = 1e-9  # m: points nearer than this are one
SHORTEST = 1e-6  # m: a shorter stroke gives a rail no direction


@dataclass(frozen=True)
class Joint:
    """A drawn joint: the number of its point, and of its body, whose z axis is the joint's."""

    name: str
    point: int
    body: int
    prismatic: bool
    driven: bool


@dataclass(frozen=True)
class Skeleton:
    """Points fixed to bodies (-1: the base) and what is drawn between them, by the points' numbers."""

    bodies: tuple[int, ...]
    places: Array  # (p, 3) in the frame of the body
    bars: tuple[tuple[int, int], ...]
    slides: tuple[tuple[int, int], ...]  # from a driven sliding joint to the body that slides
    plates: tuple[tuple[int, ...], ...]  # corners of a body with three or more joints
    joints: tuple[Joint, ...]
    tool: int
    rails: tuple[
        tuple[int, int], ...
    ] = ()  # on which a slide of a gantry, track or lift runs, from end to end

    @property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """Everything as lines through points: bars, slides, rails and the outlines of plates."""
        closed = ((*plate, plate[0]) for plate in self.plates)
        return (*self.bars, *self.slides, *self.rails, *closed)

    def positions(self, poses: dict[int, Array]) -> Array:
        """The points in the base (k, p, 3); ``poses`` of the bodies from ``body_poses``."""
        columns = [
            np.einsum("kij,j->ki", poses[body][:, :3, :3], place) + poses[body][:, :3, 3]
            for body, place in zip(self.bodies, self.places, strict=True)
        ]
        return np.stack(columns, axis=1)

    def axes(self, poses: dict[int, Array]) -> Array:
        """Directions of the drawn joints' axes in the base (k, j, 3)."""
        count = len(poses[BASE])
        columns = [poses[joint.body][:, :3, 2] for joint in self.joints]
        return np.stack(columns, axis=1) if columns else np.zeros((count, 0, 3))


@dataclass
class _Points:
    """Collects points; those of one body that coincide are one."""

    bodies: list[int] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)

    def number(self, body: int, place: Array) -> int:
        for i, (b, p) in enumerate(zip(self.bodies, self.places, strict=True)):
            if b == body and float(np.abs(p - place).max()) < SAME:
                return i
        self.bodies.append(body)
        self.places.append(np.array(place, dtype=np.float64))
        return len(self.bodies) - 1


def skeleton(robot: Robot) -> Skeleton:
    """The skeleton of a robot, open or closed: every body is a star from its joint to what hangs on it."""
    mechanism = robot.mechanism
    points = _Points()
    bars: list[tuple[int, int]] = []
    plates: list[tuple[int, ...]] = []
    tool = mechanism.frame()
    tip = points.number(tool.body, tool.X_body_frame[:3, 3])
    for body in range(BASE, mechanism.n_tree):
        centre = points.number(body, np.zeros(3))
        ends = [points.number(body, place) for place in _held(mechanism, body)]
        ends = [end for end in dict.fromkeys(ends) if end != centre]
        corners = [i for i in ends if i != tip] + ([] if body == BASE else [centre])
        plate = _outline(corners, points)
        if len(plate) >= 3:
            plates.append(plate)
            ends = [end for end in ends if end == tip and body != BASE]
        bars += [(centre, end) for end in ends]
    slides, rails, joints = [], [], []
    for i, name in enumerate(mechanism.tree_joint_names):
        own = points.number(i, np.zeros(3))
        driven = name in mechanism.joint_names
        if mechanism.prismatic[i]:
            if not driven:
                continue  # a coordinate of the description, such as the place of a platform, not a guide
            parent, X = int(mechanism.parent[i]), mechanism.X_tree[i]
            rail = _rail(robot, i)
            if rail is not None:
                low, high = (points.number(parent, X[:3, 3] + end * X[:3, 2]) for end in rail)
                rails.append((low, high))
                joints.append(Joint(name, own, i, prismatic=True, driven=True))
                continue
            root = points.number(parent, X[:3, 3])
            slides.append((root, own))
            joints.append(Joint(name, root, i, prismatic=True, driven=True))
        else:
            joints.append(Joint(name, own, i, prismatic=False, driven=driven))
    return Skeleton(
        tuple(points.bodies),
        np.array(points.places),
        tuple(bars),
        tuple(slides),
        tuple(plates),
        tuple(joints),
        tip,
        tuple(rails),
    )


def _rail(robot: Robot, i: int) -> tuple[float, float] | None:
    """Both ends of the rail of a sliding joint along its axis [m]; None for a rod, and without limits or stroke.

    A slide on the base (a track, a lift) and one between two slides (of a gantry) runs on a rail. One that a turning
    link carries (the quill of a SCARA) and the last of several (the ram of a gantry) is a rod.
    """
    mechanism = robot.mechanism
    parent = int(mechanism.parent[i])
    carries = any(mechanism.prismatic[j] for j in range(mechanism.n_tree) if mechanism.parent[j] == i)
    if parent != BASE and not (mechanism.prismatic[parent] and carries):
        return None
    k = mechanism.joint_names.index(mechanism.tree_joint_names[i])
    factor, zero = float(mechanism.coupling.G[i, k]), float(mechanism.coupling.q0[i])
    ends = sorted(factor * float(limit[k]) + zero for limit in (robot.limits.q_min, robot.limits.q_max))
    return (ends[0], ends[1]) if np.isfinite(ends).all() and ends[1] - ends[0] > SHORTEST else None


def body_poses(robot: Robot, q: Array) -> dict[int, Array]:
    """Poses (k, 4, 4) of the bodies in the base at joint positions q (k, n), by number; -1 is the base."""
    frames = robot.fkine_all(q)
    poses = {BASE: np.broadcast_to(np.eye(4), (len(q), 4, 4))}
    for frame in robot.mechanism.frames:
        if frame.body not in poses:
            poses[frame.body] = frames[frame.name] @ np.linalg.inv(frame.X_body_frame)
    return poses


def _held(mechanism: Mechanism, body: int) -> list[Array]:
    """Where on a body its neighbours hang: joints of the next bodies, cut joints, the tool."""
    found = [
        mechanism.X_tree[i][:3, 3]
        for i in range(mechanism.n_tree)
        if mechanism.parent[i] == body and not (mechanism.prismatic[i] and _virtual(mechanism, i))
    ]
    cuts = {name for loop in mechanism.loops for name in (loop.frame_a, loop.frame_b)}
    found += [
        frame.X_body_frame[:3, 3]
        for frame in mechanism.frames
        if frame.body == body and (frame.name in cuts or frame.name == mechanism.tool)
    ]
    if not found and body != BASE:  # the end of a branch without tool: the frame of its link
        found = [frame.X_body_frame[:3, 3] for frame in mechanism.frames if frame.body == body]
    return found


def _virtual(mechanism: Mechanism, i: int) -> bool:
    return mechanism.tree_joint_names[i] not in mechanism.joint_names


def _outline(corners: list[int], points: _Points) -> tuple[int, ...]:
    """Those of the corners that bound the others in the plane they span, in order; empty if they span none."""
    if len(corners) < 3:
        return ()
    p = np.array([points.places[i] for i in corners])
    p = p - p.mean(axis=0)
    _, spread, axes = np.linalg.svd(p)
    if spread[1] < 1e-3 * spread[0]:
        return ()
    flat = p @ axes[:2].T
    order = sorted(range(len(corners)), key=lambda i: (flat[i, 0], flat[i, 1]))
    return tuple(corners[i] for i in _chain(order, flat) + _chain(order[::-1], flat))


def _chain(order: list[int], flat: Array) -> list[int]:
    """One side of the convex hull of points in the plane, without its last point (Andrew 1979)."""
    kept: list[int] = []
    for i in order:
        while len(kept) > 1:
            a, b = flat[kept[-1]] - flat[kept[-2]], flat[i] - flat[kept[-2]]
            if a[0] * b[1] - a[1] * b[0] > 0.0:
                break
            kept.pop()
        kept.append(i)
    return kept[:-1]
