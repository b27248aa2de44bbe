"""The second engine: the generic recursive engine, linear in the number of joints, plus linear couplings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from servotwin.dynamics.partition import solve_partly
from servotwin.mechanism.model import Array, BoolArray, Frame, Mechanism


class RecursiveDynamics:
    """Recursive algorithms in the independent coordinates. Arguments have shape (..., n)."""

    name = "recursive"

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.G, self.q0 = mechanism.coupling.G, mechanism.coupling.q0
        self.reflected = mechanism.rotors.reflected_inertia
        self.plain = not mechanism.coupled
        diagonal = np.array_equal(self.reflected, np.diag(np.diag(self.reflected)))
        self.separate = diagonal and not mechanism.rotors.spinning  # rotors add to the diagonal of M alone

    @cached_property
    def engine(self) -> Any:
        """The engine; its import compiles or loads the recursive algorithms."""
        from servotwin.dynamics.recursive.tree_dynamics import RecursiveDynamics

        return RecursiveDynamics(self.mechanism)

    def _tree(self, q: Any) -> Any:
        return q if self.plain else np.asarray(q, dtype=np.float64) @ self.G.T + self.q0

    def _rate(self, qd: Any) -> Any:
        return qd if self.plain else np.asarray(qd, dtype=np.float64) @ self.G.T

    def rne(self, q: Any, qd: Any, qdd: Any, drives: bool) -> Array:
        """Inverse dynamics."""
        tau: Array = self.engine.rnea(self._tree(q), self._rate(qd), self._rate(qdd))
        tau = tau if self.plain else tau @ self.G
        if not drives:
            return tau
        tau = tau + np.asarray(qdd, dtype=np.float64) @ self.reflected
        return tau + self._spin_torque(q, qd, qdd) if self.mechanism.rotors.spinning else tau

    def inertia(self, q: Any, drives: bool) -> Array:
        """Mass matrix."""
        M: Array = self.engine.crba(self._tree(q))
        M = M if self.plain else self.G.T @ M @ self.G
        if not drives:
            return M
        M = M + self.reflected
        for J_m, N, axis, Jw in self._spins(q):
            beta = np.einsum("...i,...ij->...j", axis, Jw)
            M = M + J_m * (N[:, None] * beta[..., None, :] + beta[..., :, None] * N)
        return M

    def _spins(self, q: Any) -> Iterator[tuple[float, Array, Array, Array]]:
        """Inertia, ratios (n,), axis (..., 3) in the base, angular Jacobian (..., 3, n) of rotors on moving links."""
        rotors = self.mechanism.rotors
        for k in rotors.spinning:
            frame = self._frame_of(int(rotors.body[k]))
            R = self.fkine(q, frame.name)[..., :3, :3] @ frame.X_body_frame[:3, :3].T
            yield (
                float(rotors.J_m[k]),
                rotors.N[k],
                R @ rotors.axis[k],
                self.jacob0(q, frame.name)[..., 3:, :],
            )

    def _frame_of(self, body: int) -> Frame:
        return next(frame for frame in self.mechanism.frames if frame.body == body)

    def _spin_torque(self, q: Any, qd: Any, qdd: Any) -> Array:
        """Moments on the bodies through their Jacobians, and on the motors (eq:rotor-moment)."""
        rotors = self.mechanism.rotors
        qd, qdd = np.asarray(qd, dtype=np.float64), np.asarray(qdd, dtype=np.float64)
        total: Array = np.zeros(self.mechanism.n_q)
        for k, (J_m, N, axis, Jw) in zip(rotors.spinning, self._spins(q), strict=True):
            rate = self.jacob0_dot(q, qd, self._frame_of(int(rotors.body[k])).name)[..., 3:, :]
            w = np.einsum("...ij,...j->...i", Jw, qd)
            wd = np.einsum("...ij,...j->...i", Jw, qdd) + np.einsum("...ij,...j->...i", rate, qd)
            moment = axis * (qdd @ N)[..., None] + np.cross(w, axis) * (qd @ N)[..., None]
            own = np.sum(axis * wd, axis=-1)
            total = total + J_m * (
                np.einsum("...ij,...i->...j", Jw, moment) + own[..., None] * N
            )  # eq:rotor-moment
        return total

    def coriolis(self, q: Any, qd: Any) -> Array:
        """Coriolis matrix."""
        C: Array = self.engine.coriolis(self._tree(q), self._rate(qd))
        return C if self.plain else self.G.T @ C @ self.G

    def gravload(self, q: Any) -> Array:
        """Gravity torque."""
        g: Array = self.engine.gravity_torque(self._tree(q))
        return g if self.plain else g @ self.G

    def _armature(self, drives: bool) -> Array | None:
        return np.diag(self.reflected).copy() if drives else None

    def accel(self, q: Any, qd: Any, tau: Any, drives: bool) -> Array:
        """Forward dynamics: articulated bodies, or M and h where joints are coupled."""
        if self.plain and (self.separate or not drives):
            return self.engine.aba(q, qd, tau, armature=self._armature(drives))  # type: ignore[no-any-return]
        given = np.ones(self.mechanism.n_q, dtype=bool)
        zero = np.zeros(self.mechanism.n_q)
        return self.hybrid(q, qd, np.asarray(tau, dtype=np.float64), zero, given, drives)[1]

    def hybrid(
        self, q: Any, qd: Any, tau: Array, qdd: Array, given_tau: BoolArray, drives: bool
    ) -> tuple[Array, Array]:
        """Torques and accelerations from some of each, in O(n) unless joints are coupled."""
        if self.plain and (self.separate or not drives):
            out: tuple[Array, Array] = self.engine.hybrid(
                q, qd, tau, qdd, given_tau, armature=self._armature(drives)
            )
            return out
        h = self.rne(q, qd, np.zeros(self.mechanism.n_q), drives)
        return solve_partly(self.inertia(q, drives), h, tau, qdd, given_tau)

    def energy(self, q: Any, qd: Any) -> tuple[Array, Array]:
        """Kinetic and potential energy."""
        both: tuple[Array, Array] = self.engine.energy(self._tree(q), self._rate(qd))
        return both

    def fkine(self, q: Any, frame: str) -> Array:
        """Pose of a frame."""
        return self.engine.frame_pose(self._tree(q), frame)  # type: ignore[no-any-return]

    def fkine_all(self, q: Any) -> dict[str, Array]:
        """Poses of all frames."""
        bodies = self.engine.fkine_all(self._tree(q))
        base = np.broadcast_to(np.eye(4), (*bodies.shape[:-3], 4, 4))
        return {
            f.name: (base if f.body < 0 else bodies[..., f.body, :, :]) @ f.X_body_frame
            for f in self.mechanism.frames
        }

    def jacob0(self, q: Any, frame: str) -> Array:
        """Jacobian in base axes."""
        J: Array = self.engine.jacobian(self._tree(q), frame)
        return J if self.plain else J @ self.G

    def jacob0_dot(self, q: Any, qd: Any, frame: str) -> Array:
        """Time derivative of the Jacobian."""
        J: Array = self.engine.jacobian_dot(self._tree(q), self._rate(qd), frame)
        return J if self.plain else J @ self.G
