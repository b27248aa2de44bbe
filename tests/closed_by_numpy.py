r"""Closed chains: the opened tree with its loop closures as constraints.

With x = (q, passive joints) and closure s(x) = 0, the passive rates follow from
the actuated ones, :math:`\dot x = T \dot q` with
:math:`T = [1;\; -S_p^{-1} S_q]`, :math:`S = \partial s / \partial x`, and by the
principle of virtual work

.. math:: \tau = T^T \tau_\mathrm{tree}(x, \dot x, \ddot x), \qquad M = T^T M_\mathrm{tree} T    (eq:closed)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.dynamics.partition import solve_partly
from servotwin.errors import KinematicsError, UnsupportedError
from servotwin.mechanism.model import Array, BoolArray, CutKind, Mechanism
from servotwin.robot.graph_engine import GraphEngine
from servotwin.robot.recursive_engine import RecursiveDynamics

STEP = 0.15  # largest change of an actuated joint per step of the walk from home [rad, m]
CLOSED = 1e-13  # residual, relative to the size of the mechanism, at which a loop counts as closed
SINGULAR = 1e-9


class ClosedByNumpy:
    """Kinematics and dynamics of a closed chain in its actuated joints. Arguments have shape (..., n)."""

    name = "closed"

    def __init__(
        self, mechanism: Mechanism, tree: GraphEngine | RecursiveDynamics, home: Array | None = None
    ) -> None:
        if any(loop.kind is CutKind.PRISMATIC for loop in mechanism.loops):
            raise UnsupportedError(f"{mechanism.name}: prismatic cuts are not written here")
        self.mechanism = mechanism
        self.tree = tree
        self.n = mechanism.n_q
        self.home = np.append(mechanism.q_home, mechanism.passive_home) if home is None else home
        self.size = 1.0 + float(np.abs(mechanism.X_tree[:, :3, 3]).sum())

    # --- closure ----------------------------------------------------------------------------------
    def residual(self, x: Array) -> Array:
        """Gaps of the cut joints at x (m,) [m], and products of the axes of revolute ones."""
        rows = []
        for loop in self.mechanism.loops:
            A, B = self.tree.fkine(x, loop.frame_a), self.tree.fkine(x, loop.frame_b)
            rows.append((A - B)[:3, 3])
            if loop.kind is CutKind.REVOLUTE:
                rows.append(A[:3, :2].T @ B[:3, 2])
        return np.concatenate(rows)

    def gradient(self, x: Array) -> Array:
        """S = ds/dx: (a . b)' = (w_a - w_b) . (a x b) for axes a, b of the two links."""
        rows = []
        for loop in self.mechanism.loops:
            A, B = self.tree.fkine(x, loop.frame_a), self.tree.fkine(x, loop.frame_b)
            J = self.tree.jacob0(x, loop.frame_a) - self.tree.jacob0(x, loop.frame_b)
            rows.append(J[:3])
            if loop.kind is CutKind.REVOLUTE:
                rows.append(np.cross(A[:3, :2].T, B[:3, 2]) @ J[3:])
        return np.vstack(rows)

    def gradient_rate(self, x: Array, xd: Array) -> Array:
        """dS/dt."""
        rows = []
        for loop in self.mechanism.loops:
            A, B = self.tree.fkine(x, loop.frame_a), self.tree.fkine(x, loop.frame_b)
            J_a, J_b = self.tree.jacob0(x, loop.frame_a), self.tree.jacob0(x, loop.frame_b)
            rate = self.tree.jacob0_dot(x, xd, loop.frame_a) - self.tree.jacob0_dot(x, xd, loop.frame_b)
            rows.append(rate[:3])
            if loop.kind is CutKind.REVOLUTE:
                w_a, w_b = J_a[3:] @ xd, J_b[3:] @ xd
                for k in range(2):
                    a, b = A[:3, k], B[:3, 2]
                    turn = np.cross(np.cross(w_a, a), b) + np.cross(a, np.cross(w_b, b))
                    rows.append((turn @ (J_a - J_b)[3:] + np.cross(a, b) @ rate[3:])[None])
        return np.vstack(rows)

    def close(self, x: Array) -> Array:
        """Passive joints by Newton's method from those in x; the actuated ones stay."""
        x = x.copy()
        for _ in range(30):
            gap = self.residual(x)
            if not np.isfinite(gap).all():
                break
            if np.abs(gap).max() < CLOSED * self.size:
                return x
            step = np.linalg.lstsq(self.gradient(x)[:, self.n :], -gap, rcond=1e-12)[0]
            x[self.n :] += step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(self.residual(x)).max() < 1e3 * CLOSED * self.size:
            return x
        raise KinematicsError(f"{self.mechanism.name}: the loops do not close at q = {_text(x[: self.n])}")

    def full(self, q: Array) -> Array:
        """All free coordinates x at q, on the assembly branch of the home pose."""
        x = self.close(self.home)
        start = x[: self.n].copy()
        steps = max(1, int(np.ceil(np.abs(q - start).max() / STEP)))
        for k in range(1, steps + 1):
            x[: self.n] = start + (q - start) * (k / steps)
            x = self.close(x)
        return x

    def motion_map(self, x: Array) -> Array:
        """T with xd = T qd (eq:closed)."""
        S = self.gradient(x)
        passive = S[:, self.n :]
        sizes = np.linalg.svd(passive, compute_uv=False)
        if len(sizes) < passive.shape[1] or sizes[-1] < SINGULAR * sizes[0]:
            raise KinematicsError(
                f"{self.mechanism.name}: singular at q = {_text(x[: self.n])}: "
                "the actuated joints do not determine the passive ones"
            )
        return np.vstack([np.eye(self.n), -np.linalg.lstsq(passive, S[:, : self.n], rcond=None)[0]])

    def drift(self, x: Array, xd: Array) -> Array:
        """The part of xdd that is there without qdd: -S_p^-1 dS/dt xd."""
        S_p = self.gradient(x)[:, self.n :]
        rate = self.gradient_rate(x, xd) @ xd
        return np.append(np.zeros(self.n), -np.linalg.lstsq(S_p, rate, rcond=None)[0])

    # --- dynamics ---------------------------------------------------------------------------------
    def rne(self, q: Any, qd: Any, qdd: Any, drives: bool) -> Array:
        """Inverse dynamics by virtual work (eq:closed)."""

        def one(q: Array, qd: Array, qdd: Array) -> Array:
            x = self.full(q)
            T = self.motion_map(x)
            xd = T @ qd
            return np.asarray(T.T @ self.tree.rne(x, xd, T @ qdd + self.drift(x, xd), drives))

        return _rows(one, (self.n,), q, qd, qdd)

    def inertia(self, q: Any, drives: bool) -> Array:
        """Mass matrix felt at the actuated joints."""

        def one(q: Array) -> Array:
            x = self.full(q)
            T = self.motion_map(x)
            return np.asarray(T.T @ self.tree.inertia(x, drives) @ T)

        return _rows(one, (self.n, self.n), q)

    def coriolis(self, q: Any, qd: Any) -> Array:
        """C = T^T (C_tree T + M_tree dT/dt); dT/dt = -[0; S_p^-1 dS/dt T]."""

        def one(q: Array, qd: Array) -> Array:
            x = self.full(q)
            T = self.motion_map(x)
            xd = T @ qd
            rate = self.gradient_rate(x, xd) @ T
            down = -np.linalg.lstsq(self.gradient(x)[:, self.n :], rate, rcond=None)[0]
            T_dot = np.vstack([np.zeros((self.n, self.n)), down])
            return np.asarray(T.T @ (self.tree.coriolis(x, xd) @ T + self.tree.inertia(x, False) @ T_dot))

        return _rows(one, (self.n, self.n), q, qd)

    def gravload(self, q: Any) -> Array:
        """Gravity torque."""

        def one(q: Array) -> Array:
            x = self.full(q)
            return np.asarray(self.motion_map(x).T @ self.tree.gravload(x))

        return _rows(one, (self.n,), q)

    def accel(self, q: Any, qd: Any, tau: Any, drives: bool) -> Array:
        """Forward dynamics."""
        given = np.ones(self.n, dtype=bool)
        return self.hybrid(q, qd, np.asarray(tau, dtype=np.float64), np.zeros(self.n), given, drives)[1]

    def hybrid(
        self, q: Any, qd: Any, tau: Array, qdd: Array, given_tau: BoolArray, drives: bool
    ) -> tuple[Array, Array]:
        """Torques and accelerations from some of each."""
        h = self.rne(q, qd, np.zeros(self.n), False)
        return solve_partly(self.inertia(q, drives), h, tau, qdd, given_tau)

    def energy(self, q: Any, qd: Any) -> tuple[Array, Array]:
        """Kinetic and potential energy."""

        def one(q: Array, qd: Array) -> Array:
            x = self.full(q)
            return np.array(self.tree.energy(x, self.motion_map(x) @ qd))

        both = _rows(one, (2,), q, qd)
        return both[..., 0], both[..., 1]

    # --- kinematics -------------------------------------------------------------------------------
    def fkine(self, q: Any, frame: str) -> Array:
        """Pose of a frame."""
        return _rows(lambda q: self.tree.fkine(self.full(q), frame), (4, 4), q)

    def fkine_all(self, q: Any) -> dict[str, Array]:
        """Poses of all frames."""
        x = _rows(self.full, (len(self.home),), q)
        return self.tree.fkine_all(x)

    def jacob0(self, q: Any, frame: str) -> Array:
        """Jacobian in base axes."""

        def one(q: Array) -> Array:
            x = self.full(q)
            return np.asarray(self.tree.jacob0(x, frame) @ self.motion_map(x))

        return _rows(one, (6, self.n), q)

    def jacob0_dot(self, q: Any, qd: Any, frame: str) -> Array:
        """Time derivative of the Jacobian."""

        def one(q: Array, qd: Array) -> Array:
            x = self.full(q)
            T = self.motion_map(x)
            xd = T @ qd
            down = -np.linalg.lstsq(self.gradient(x)[:, self.n :], self.gradient_rate(x, xd) @ T, rcond=None)[
                0
            ]
            T_dot = np.vstack([np.zeros((self.n, self.n)), down])
            return np.asarray(self.tree.jacob0_dot(x, xd, frame) @ T + self.tree.jacob0(x, frame) @ T_dot)

        return _rows(one, (6, self.n), q, qd)


def _text(q: Array) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in q) + ")"


def _rows(one: Any, core: tuple[int, ...], *arguments: Any) -> Array:
    """Apply a function of single vectors over broadcast leading axes."""
    arrays = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
    lead = arrays[0].shape[:-1]
    out = np.empty((*lead, *core))
    for index in np.ndindex(*lead):
        out[index] = one(*(a[index] for a in arrays))
    return out
