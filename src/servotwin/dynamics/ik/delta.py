"""Closed forms for DELTA robots, both ways.

Each arm turns about a fixed axis; from its elbow a forearm of fixed length
goes to a point of the plate, and the plate only shifts. So each arm angle solves
A cos + B sin = C on its own (two elbows per arm, eight branches), and the plate
is where three spheres meet (two places, of which the robot uses the lower one).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import DEG
from servotwin.dynamics.ik.elementary import EDGE, trig_roots
from servotwin.dynamics.ik.pose import cross, rotation, rotation_vector
from servotwin.errors import ShapeError, UnreachableError, UnsupportedError
from servotwin.mechanism.model import BASE, Array, Mechanism

POSE = 1e-6  # rad: orientations further from the plate's own are refused
TOUCH = 1e-12  # relative: offsets below this are rounding
_Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Arm:
    """One arm: axis (unit, base frame) through ``pivot``; elbow from the pivot at zero angle; forearm length.

    ``mount`` leads from the tool to the forearm's end at the plate, in base axes.
    """

    name: str
    pivot: Array
    axis: Array
    elbow: Array
    forearm: float
    mount: Array

    def elbow_at(self, angle: float) -> Array:
        """Place of the elbow, (3,)."""
        return np.asarray(self.pivot + rotation(self.axis, angle) @ self.elbow, dtype=np.float64)

    def angles(self, tool: Array, free: float) -> list[float]:
        """Angles at which the forearm just reaches from the elbow to the plate with its tool point there."""
        v = tool + self.mount - self.pivot
        flat = self.elbow - (self.elbow @ self.axis) * self.axis
        A, B = float(v @ flat), float(v @ cross(self.axis, flat))
        C = 0.5 * float(v @ v + self.elbow @ self.elbow - self.forearm**2)
        C -= float((v @ self.axis) * (self.elbow @ self.axis))
        scale = self.forearm**2
        if math.hypot(A, B) <= EDGE * scale:  # the plate joint lies on the arm's axis: any angle, or none
            return [free] if abs(C) <= EDGE * scale else []
        return trig_roots(A, B, C)

    def miss(self, tool: Array) -> str:
        """The message: why this arm does not reach the plate."""
        v = tool + self.mount - self.pivot
        aside = float((v - self.elbow) @ self.axis)
        out = float(np.linalg.norm(v - (v @ self.axis) * self.axis))
        if abs(aside) > self.forearm:
            return (
                f"{self.name}: the plate joint is {abs(aside):.4g} m beside the plane of the arm; "
                f"the forearm has {self.forearm:.4g} m"
            )
        l1 = float(np.linalg.norm(self.elbow - (self.elbow @ self.axis) * self.axis))
        l2 = math.sqrt(self.forearm**2 - aside**2)
        return (
            f"{self.name}: the plate joint is {out:.4g} m from the arm's axis; arm and forearm reach "
            f"{abs(l1 - l2):.4g} .. {l1 + l2:.4g} m there"
        )


@dataclass(frozen=True)
class DeltaSolver:
    """Three arms, the constant orientation of the tool and the direction in which the plate hangs."""

    name: str
    arms: tuple[Arm, Arm, Arm]
    R: Array  # (3, 3) of the tool in the base
    down: Array  # (3,) unit
    tilt: float = POSE  # orientations further from the plate's own are refused

    @classmethod
    def of(cls, mechanism: Mechanism) -> DeltaSolver:
        """Geometry of a DELTA robot; UnsupportedError if the mechanism is not one."""
        if mechanism.n_q != 3 or not mechanism.loops:
            raise UnsupportedError(f"{mechanism.name}: a DELTA robot has three active arms and closed loops")
        X_base = _zero_frames(mechanism)
        arms = tuple(_read_arm(mechanism, X_base, name) for name in mechanism.joint_names)
        centre = sum(arm.pivot for arm in arms) / 3.0
        down = np.zeros(3)
        for arm in arms:
            out = arm.pivot - centre
            out = out if np.linalg.norm(out) > TOUCH * arm.forearm else arm.elbow
            down += cross(arm.axis, out / np.linalg.norm(out))
        tool = mechanism.frame()
        R = X_base[tool.body][:3, :3] @ tool.X_body_frame[:3, :3]
        return cls(mechanism.name, (arms[0], arms[1], arms[2]), R, down / np.linalg.norm(down))

    def branches(self, T: Array, q_ref: Array) -> list[Array]:
        """Up to eight q that bring the tool to T, without regard to limits and full turns."""
        turn = float(np.linalg.norm(rotation_vector(T[:3, :3] @ self.R.T)))
        if turn > self.tilt:
            raise UnreachableError(
                f"{self.name}: the plate never turns; the pose has it turned by {DEG * turn:.4g} deg"
            )
        choices = []
        for arm, free in zip(self.arms, q_ref, strict=True):
            angles = arm.angles(T[:3, 3], float(free))
            if not angles:
                raise UnreachableError(f"{self.name}: {arm.miss(T[:3, 3])}")
            choices.append(angles)
        return [np.array([a, b, c]) for a in choices[0] for b in choices[1] for c in choices[2]]

    def fkine(self, q: Array) -> Array:
        """Pose of the tool at arm angles q (3,), the lower of both places, (4, 4)."""
        places = self.tool_places(q)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self.R, places[0]
        return T

    def tool_places(self, q: Array) -> tuple[Array, Array]:
        """Both points where the forearms can meet, the lower one first."""
        centres = [arm.elbow_at(float(angle)) - arm.mount for arm, angle in zip(self.arms, q, strict=True)]
        r1, r2, r3 = (arm.forearm for arm in self.arms)
        a, b = centres[1] - centres[0], centres[2] - centres[0]
        n = cross(a, b)
        area = float(n @ n)
        if area <= (TOUCH * r1**2) ** 2:
            raise UnreachableError(f"{self.name}: singular, the three forearms turn about one line")
        # The point x from centre 1 has x.a = A, x.b = B (differences of the spheres) and |x| = r1.
        A = 0.5 * float(a @ a + r1**2 - r2**2)
        B = 0.5 * float(b @ b + r1**2 - r3**2)
        flat = (A * cross(b, n) + B * cross(n, a)) / area
        rest = r1**2 - float(flat @ flat)
        if rest < -EDGE * r1**2:
            raise UnreachableError(
                f"{self.name}: at these arm angles the elbows are too far apart for the forearms to meet"
            )
        up = n * math.sqrt(max(rest, 0.0) / area) * (-1.0 if n @ self.down > 0.0 else 1.0)
        return centres[0] + flat - up, centres[0] + flat + up


def delta_fkine(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Pose of the tool of a DELTA robot at arm angles q [rad], shape (..., 3) -> (..., 4, 4).

    Of the two places where the forearms can meet, the one on the side to which positive angles move the arms.
    """
    angles = np.asarray(q, dtype=np.float64)
    if angles.ndim == 0 or angles.shape[-1] != 3:
        raise ShapeError(f"q of a DELTA robot has 3 arm angles in its last axis, got shape {angles.shape}")
    solver = DeltaSolver.of(mechanism)
    poses = [solver.fkine(row) for row in angles.reshape(-1, 3)]
    return np.array(poses).reshape(*angles.shape[:-1], 4, 4)


def delta_tree_positions(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Positions (n_tree,) of all tree joints of a DELTA robot that close its loops at arm angles q (3,).

    Of the two ways in which a forearm's joints can point it at the plate, the one with the second joint
    nearer to zero.
    """
    angles = np.asarray(q, dtype=np.float64)
    if angles.shape != (3,):
        raise ShapeError(f"q of a DELTA robot has 3 arm angles, got shape {angles.shape}")
    solver, X_base = DeltaSolver.of(mechanism), _zero_frames(mechanism)
    tool = solver.fkine(angles)[:3, 3]
    x = dict(zip(mechanism.joint_names, angles.tolist(), strict=True))
    for arm in solver.arms:
        index = mechanism.tree_joint_names.index(arm.name)
        forearm, end, _ = _forearm(mechanism, index)
        elbow = int(mechanism.parent[forearm])
        if int(mechanism.parent[elbow]) != index:
            raise UnsupportedError(f"{mechanism.name}: the elbow of {arm.name} needs two joints")
        R_elbow = X_base[index][:3, :3] @ rotation(_Z, x[arm.name]) @ mechanism.X_tree[elbow][:3, :3]
        goal = R_elbow.T @ (tool + arm.mount - arm.elbow_at(x[arm.name]))
        first, second = _pointing(mechanism.X_tree[forearm][:3, :3], end, goal)
        x[mechanism.tree_joint_names[elbow]], x[mechanism.tree_joint_names[forearm]] = first, second
    free = np.array([x[name] for name in mechanism.joint_names + mechanism.passive_names])
    return np.asarray(mechanism.coupling.G @ free + mechanism.coupling.q0, dtype=np.float64)


def _pointing(R: Array, end: Array, goal: Array) -> tuple[float, float]:
    """Angles with Rz(first) R Rz(second) end = goal; the lengths of end and goal are equal."""
    row = R[2]
    A, B = float(row[:2] @ end[:2]), float(row[1] * end[0] - row[0] * end[1])
    roots = trig_roots(A, B, float(goal[2] - row[2] * end[2]))
    second = min((math.remainder(root, math.tau) for root in roots), key=abs)
    v = R @ rotation(_Z, second) @ end
    first = math.atan2(float(goal[1]), float(goal[0])) - math.atan2(float(v[1]), float(v[0]))
    return math.remainder(first, math.tau), second


def _zero_frames(mechanism: Mechanism) -> list[Array]:
    """Pose of every body with all turns zero but for the constant offsets of coupled joints."""
    frames: list[Array] = []
    for i in range(mechanism.n_tree):
        parent = int(mechanism.parent[i])
        X = np.eye(4) if parent == BASE else frames[parent]
        motion = np.eye(4)
        if not mechanism.prismatic[i]:
            motion[:3, :3] = rotation(_Z, float(mechanism.coupling.q0[i]))
        frames.append(X @ mechanism.X_tree[i] @ motion)
    return frames


def _ancestors(mechanism: Mechanism, body: int) -> list[int]:
    """The body and those that carry it, the base excluded, outermost first."""
    path = []
    while body != BASE:
        path.append(body)
        body = int(mechanism.parent[body])
    return path


def _read_arm(mechanism: Mechanism, X_base: list[Array], name: str) -> Arm:
    arm = mechanism.tree_joint_names.index(name)
    forearm, end, mount = _forearm(mechanism, arm)
    path = _ancestors(mechanism, forearm)
    joints = path[: path.index(arm)][::-1]  # the elbow's joints
    offsets = [mechanism.X_tree[i][:3, 3] for i in joints]
    length = float(np.linalg.norm(end))
    crossing = all(float(np.linalg.norm(offset)) <= TOUCH * length for offset in offsets[1:])
    if not joints or not crossing or int(mechanism.parent[arm]) != BASE or length == 0.0:
        raise UnsupportedError(
            f"{mechanism.name}: {name} is no arm of a DELTA robot: it must turn on the base and carry its "
            f"forearm by joints that cross in the elbow"
        )
    X_arm = X_base[arm]
    tool = mechanism.frame()
    R_plate = X_base[tool.body][:3, :3]
    return Arm(
        name=name,
        pivot=X_arm[:3, 3],
        axis=X_arm[:3, 2],
        elbow=X_arm[:3, :3] @ offsets[0],
        forearm=length,
        mount=R_plate @ (mount - tool.X_body_frame[:3, 3]),
    )


def _forearm(mechanism: Mechanism, arm: int) -> tuple[int, Array, Array]:
    """Body of the forearm of an arm, its end in its own frame, and the same point in the plate's frame."""
    plate = mechanism.frame().body
    for loop in mechanism.loops:
        a, b = mechanism.frame(loop.frame_a), mechanism.frame(loop.frame_b)
        for fore, other in ((a, b), (b, a)):
            if other.body == plate and fore.body != plate and arm in _ancestors(mechanism, fore.body):
                return fore.body, fore.X_body_frame[:3, 3], other.X_body_frame[:3, 3]
    # The arm that carries the plate in the tree: its forearm ends where the plate's own joints begin.
    path = _ancestors(mechanism, plate)
    if arm in path:
        outwards = path[: path.index(arm)][::-1]
        shifted = [i for i in outwards[1:] if np.linalg.norm(mechanism.X_tree[i][:3, 3]) > 0.0]
        if len(shifted) == 1:
            return int(mechanism.parent[shifted[0]]), mechanism.X_tree[shifted[0]][:3, 3], np.zeros(3)
    name = mechanism.tree_joint_names[arm]
    raise UnsupportedError(f"{mechanism.name}: {name} carries no forearm to the plate")
