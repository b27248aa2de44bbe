"""Mass matrix and gravity torques straight from the definition of energy, for the catalogue's validation."""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.model import Array, Mechanism


def body_frames(mechanism: Mechanism, q: Array) -> list[Array]:
    """Pose of every body, each (4, 4)."""
    q_tree = mechanism.coupling.G @ q + mechanism.coupling.q0
    frames: list[Array] = []
    for i, value in enumerate(q_tree):
        motion = np.eye(4)
        if mechanism.prismatic[i]:
            motion[2, 3] = value
        else:
            c, s = np.cos(value), np.sin(value)
            motion[:2, :2] = [[c, -s], [s, c]]
        parent = int(mechanism.parent[i])
        X = np.eye(4) if parent < 0 else frames[parent]
        frames.append(X @ mechanism.X_tree[i] @ motion)
    return frames


def tool_pose(mechanism: Mechanism, q: Array) -> Array:
    """Pose of the tool frame, (4, 4)."""
    tool = mechanism.frame()
    return body_frames(mechanism, q)[tool.body] @ tool.X_body_frame


def body_jacobians(mechanism: Mechanism, q: Array) -> list[tuple[Array, Array]]:
    """Linear (of the origin) and angular velocity of every body per joint speed, base axes, (3, n_q) each."""
    frames = body_frames(mechanism, q)
    result = []
    for i in range(mechanism.n_tree):
        linear, angular = np.zeros((3, mechanism.n_tree)), np.zeros((3, mechanism.n_tree))
        k = i
        while k >= 0:
            axis = frames[k][:3, 2]
            if mechanism.prismatic[k]:
                linear[:, k] = axis
            else:
                linear[:, k] = np.cross(axis, frames[i][:3, 3] - frames[k][:3, 3])
                angular[:, k] = axis
            k = int(mechanism.parent[k])
        result.append((linear @ mechanism.coupling.G, angular @ mechanism.coupling.G))
    return result


def mass_matrix(mechanism: Mechanism, q: Array) -> Array:
    """Joint-side mass matrix (n_q, n_q), without rotors: twice the kinetic energy as a quadratic form."""
    frames = body_frames(mechanism, q)
    M = np.zeros((mechanism.n_q, mechanism.n_q))
    for phi, X, (v, w) in zip(mechanism.phi, frames, body_jacobians(mechanism, q), strict=True):
        m, h = phi[0], X[:3, :3] @ phi[1:4]
        Ixx, Ixy, Iyy, Ixz, Iyz, Izz = phi[4:]
        I = X[:3, :3] @ np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]]) @ X[:3, :3].T
        H = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
        cross = w.T @ H @ v
        M += m * v.T @ v + w.T @ I @ w + cross + cross.T
    return M


def gravity_torque(mechanism: Mechanism, q: Array) -> Array:
    """Joint torques (n_q,) that hold the arm against gravity."""
    frames = body_frames(mechanism, q)
    tau = np.zeros(mechanism.n_q)
    for phi, X, (v, w) in zip(mechanism.phi, frames, body_jacobians(mechanism, q), strict=True):
        h = X[:3, :3] @ phi[1:4]
        tau -= phi[0] * v.T @ mechanism.gravity + w.T @ np.cross(h, mechanism.gravity)
    return tau
