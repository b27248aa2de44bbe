"""What inverse kinematics reads from a mechanism: the joints between the base and one frame, as screws.

With all joint angles zero, joint k turns about (or slides along) a line through
``points[k]`` in direction ``axes[k]``, and the frame stands at ``home``. The pose
at other angles is the product of the turns about these lines, times ``home``.
Nothing here depends on how the body frames were chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from servotwin.dynamics.ik.pose import cross, rotation
from servotwin.mechanism.model import BASE, Array, Mechanism

PARALLEL = 1e-6  # sine below which two axes count as parallel: right angles in URDF files have six digits


@dataclass(frozen=True)
class ToolChain:
    """The m joints from the base to a frame; ``theta = G @ q + offset`` are their angles and shifts."""

    name: str  # of the mechanism, for messages
    joints: tuple[int, ...]  # tree joints, base first
    joint_names: tuple[str, ...]  # independent joints, the order of q
    prismatic: tuple[bool, ...]
    X: Array  # (m, 4, 4) constant placements
    X_end: Array  # (4, 4) frame in the last body
    G: Array  # (m, n_q)
    offset: Array  # (m,)

    @property
    def n_q(self) -> int:
        """Length of q."""
        return int(self.G.shape[1])

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """Independent joints that move the frame."""
        return tuple(int(j) for j in np.flatnonzero(np.any(self.G != 0.0, axis=0)))

    @cached_property
    def sliding(self) -> tuple[bool, ...]:
        """For every independent joint: it shifts a tree joint of the chain (otherwise it turns)."""
        slides = np.array(self.prismatic, dtype=bool)
        return tuple(bool(np.any(self.G[slides, j] != 0.0)) for j in range(self.n_q))

    @cached_property
    def _screws(self) -> tuple[Array, Array, Array]:
        X = np.eye(4)
        points, axes = np.zeros((len(self.joints), 3)), np.zeros((len(self.joints), 3))
        for k, X_k in enumerate(self.X):
            X = X @ X_k
            points[k], axes[k] = X[:3, 3], X[:3, 2]
        return points, axes, X @ self.X_end

    @property
    def points(self) -> Array:
        """A point of every joint axis at zero angles, (m, 3) in base coordinates."""
        return self._screws[0]

    @property
    def axes(self) -> Array:
        """Direction of every joint axis at zero angles, (m, 3) in base coordinates."""
        return self._screws[1]

    @property
    def home(self) -> Array:
        """Pose of the frame at zero angles, (4, 4)."""
        return self._screws[2]

    @cached_property
    def size(self) -> float:
        """Sum of the distances between consecutive joints [m], the scale of tolerances; 1 if all are zero."""
        points = np.vstack([self.points, self.home[None, :3, 3]])
        length = float(np.sum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
        return length if length > 0.0 else 1.0

    @cached_property
    def one_to_one(self) -> tuple[int, ...] | None:
        """The independent joint behind every joint of the chain, None if the chain is coupled in itself."""
        columns = []
        for row in self.G:
            used = np.flatnonzero(row)
            if len(used) != 1:
                return None
            columns.append(int(used[0]))
        return tuple(columns) if len(set(columns)) == len(columns) else None

    def joint_positions(self, theta: Array, q_ref: Array) -> Array:
        """q of chain angles ``theta`` (m,) if every joint has its own coordinate; others stay as in q_ref."""
        columns = self.one_to_one
        assert columns is not None
        q = np.array(q_ref, dtype=np.float64)
        for k, j in enumerate(columns):
            q[j] = (theta[k] - self.offset[k]) / self.G[k, j]
        return q

    def fkine(self, q: Array) -> Array:
        """Pose of the frame, (4, 4)."""
        X = np.eye(4)
        for X_k, slides, value in zip(self.X, self.prismatic, self.G @ q + self.offset, strict=True):
            X = X @ X_k @ _joint_motion(slides, float(value))
        return np.asarray(X @ self.X_end, dtype=np.float64)

    def jacobian(self, q: Array) -> Array:
        """Jacobian of the frame, (6, n_q): linear rows first, then angular, in base axes."""
        X = np.eye(4)
        frames = np.empty((len(self.joints), 4, 4))
        for k, value in enumerate(self.G @ q + self.offset):
            X = X @ self.X[k] @ _joint_motion(self.prismatic[k], float(value))
            frames[k] = X
        end = (X @ self.X_end)[:3, 3]
        columns = np.zeros((6, len(self.joints)))
        axes, arms = frames[:, :3, 2], end - frames[:, :3, 3]
        slides = np.array(self.prismatic, dtype=bool)
        columns[:3] = np.where(slides[:, None], axes, np.cross(axes, arms)).T
        columns[3:] = np.where(slides[:, None], 0.0, axes).T
        return np.asarray(columns @ self.G, dtype=np.float64)


def _joint_motion(slides: bool, value: float) -> Array:
    X = np.eye(4)
    if slides:
        X[2, 3] = value
    else:
        c, s = np.cos(value), np.sin(value)
        X[0, 0], X[0, 1], X[1, 0], X[1, 1] = c, -s, s, c
    return X


def tool_chain(mechanism: Mechanism, frame: str | None = None) -> ToolChain:
    """The joints from the base to ``frame`` (the tool frame if None)."""
    end = mechanism.frame(frame)
    path: list[int] = []
    body = end.body
    while body != BASE:
        path.append(body)
        body = int(mechanism.parent[body])
    path.reverse()
    index = np.array(path, dtype=np.int64)
    return ToolChain(
        name=mechanism.name,
        joints=tuple(path),
        joint_names=mechanism.joint_names,
        prismatic=tuple(bool(mechanism.prismatic[i]) for i in path),
        X=mechanism.X_tree[index].reshape(-1, 4, 4),
        X_end=end.X_body_frame,
        G=mechanism.coupling.G[index].reshape(-1, mechanism.coupling.G.shape[1]),
        offset=mechanism.coupling.q0[index],
    )


def parallel(a: Array, b: Array) -> bool:
    """True if two unit vectors are parallel or opposite."""
    return bool(np.linalg.norm(cross(a, b)) < PARALLEL)


def perpendicular(u: Array) -> Array:
    """Some unit vector perpendicular to the unit vector u."""
    other = np.zeros(3)
    other[int(np.argmin(np.abs(u)))] = 1.0
    normal = cross(u, other)
    return np.asarray(normal / np.linalg.norm(normal), dtype=np.float64)


def angle_about(u: Array, a: Array, b: Array) -> float:
    """Angle by which a turn about the unit vector u brings a over b (parts along u do not count)."""
    # The parts along u are taken out first: they may be many times larger than what decides.
    a, b = a - (u @ a) * u, b - (u @ b) * u
    return math.atan2(float(u @ cross(a, b)), float(a @ b))


def angle_between(a: Array, b: Array) -> float:
    """Angle between two vectors, 0 .. pi, accurate at both ends."""
    return math.atan2(float(np.linalg.norm(cross(a, b))), float(a @ b))


def turn_angle(u: Array, R: Array) -> float:
    """Angle of the turn R about its axis u."""
    a = perpendicular(u)
    return angle_about(u, a, R @ a)


def turned(u: Array, angle: float, v: Array) -> Array:
    """The vector v after a turn about the unit vector u."""
    return np.asarray(rotation(u, angle) @ v, dtype=np.float64)


def planar(angle: float) -> Array:
    """Turn of the plane, (2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])
