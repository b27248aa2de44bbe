"""Closed chains: kernels of the opened tree with its loop closures, in the actuated joints (eq:closed)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from servotwin.dynamics.partition import solve_partly
from servotwin.equations.derivation import Cut, Numbers
from servotwin.errors import KinematicsError
from servotwin.kernels.hub import Kernel, kernel
from servotwin.mechanism.model import Array, BoolArray, Mechanism
from servotwin.robot.closure import CLOSED, Closure, analyse
from servotwin.robot.graph_road import GraphRoad

STEP = 0.15  # largest change of an actuated joint per step of the walk from home [rad, m]
SINGULAR = 1e-7  # ratio of the diagonal of R of S_p below which torques are not determined


class ClosedRoad:
    """Kinematics and dynamics of a closed chain. Arguments have shape (..., n), actuated joints only."""

    name = "closed"

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.n = mechanism.n_q
        self.tree = GraphRoad(mechanism.opened)
        self.size = 1.0 + float(np.abs(mechanism.X_tree[:, :3, 3]).sum())
        self._kernels: dict[tuple[str, str | None, bool], Kernel] = {}

    @cached_property
    def closure(self) -> Closure:
        """Assembly at home, independent equations and mobility."""
        numbers = self._numbers(())
        gap, gradient = kernel("closed_gap", numbers).call, kernel("closed_gradient", numbers).call
        return analyse(self.mechanism, gap, gradient)

    @cached_property
    def numbers(self) -> Numbers:
        """Numbers of the opened tree and its independent closures."""
        return self._numbers(self.closure.rows)

    def _numbers(self, rows: tuple[int, ...]) -> Numbers:
        loops = tuple((loop.kind, loop.frame_a, loop.frame_b) for loop in self.mechanism.loops)
        return Numbers.of(self.mechanism.opened, Cut(loops, rows, self.n), reflected=self.mechanism.rotors)

    def kernel(self, kind: str, *, frame: str | None = None, drives: bool = False) -> Kernel:
        """The compiled kernel behind a method."""
        found = self._kernels.get((kind, frame, drives))
        if found is None:
            found = kernel(f"closed_{kind}", self.numbers, frame=frame, drives=drives)
            self._kernels[kind, frame, drives] = found
        return found

    # --- closure ----------------------------------------------------------------------------------
    def full(self, q: Any) -> Array:
        """All free coordinates (..., n_x) at q, on the assembly branch of the home pose."""
        q = np.asarray(q, dtype=np.float64)
        if q.ndim == 0 or q.shape[-1] != self.n:
            raise ValueError("q has the wrong length")
        flat = q.reshape(-1, self.n)
        x = np.tile(self.closure.x_home, (len(flat), 1))
        start = x[:, : self.n].copy()
        away = flat - start
        if not np.isfinite(away).all():
            raise KinematicsError(f"{self.mechanism.name}: q is not finite")
        steps = max(1, int(np.ceil(np.abs(away).max(initial=0.0) / STEP)))
        for k in range(1, steps + 1):
            x[:, : self.n] = start + away * (k / steps)
            self._close(x, exact=k == steps)
        return x.reshape(*q.shape[:-1], x.shape[-1])

    def _close(self, x: Array, *, exact: bool) -> None:
        """Newton steps of the passive joints in place; intermediate points of a walk need not be exact."""
        step_of = self.kernel("step").call
        good = CLOSED * self.size if exact else 1e-4 * self.size
        for _ in range(25):
            step, gap, diagonal = np.moveaxis(step_of(x), -2, 0)
            self._refuse_singular(x, diagonal)
            largest = np.abs(step).max(axis=1, initial=0.0)
            x[:, self.n :] += step * np.minimum(1.0, 0.5 / np.maximum(largest, 1e-300))[:, None]
            if np.abs(gap).max(initial=0.0) < good:
                return
        worst = int(np.abs(gap).max(axis=1).argmax())
        raise KinematicsError(
            f"{self.mechanism.name}: the loops do not close at q = {_text(x[worst, : self.n])}: out of reach"
        )

    def _refuse_singular(self, x: Array, diagonal: Array) -> None:
        largest = diagonal.max(axis=1, initial=0.0)
        bad = ~(diagonal.min(axis=1, initial=np.inf) > SINGULAR * largest) if diagonal.size else np.zeros(0)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise KinematicsError(
                f"{self.mechanism.name}: singular near q = {_text(x[at, : self.n])}: "
                "the actuated joints do not determine the passive ones, nor the torques"
            )

    def singularity(self, q: Any) -> tuple[Array, Array]:
        """(passive, platform) measures (...): 0 at a singularity, 1 at best.

        ``passive``: least over largest singular value of S_p (the passive joints follow the actuated ones);
        ``platform``: the same of the tool's Jacobian rows that move at all (the tool follows).
        """
        x = self.full(q)
        S = kernel("closed_gradient", self.numbers).call(x)[..., list(self.closure.rows), self.n :]
        values = np.linalg.svd(S, compute_uv=False)
        J = self.jacob0(q, self.mechanism.tool)
        tool = np.linalg.svd(J, compute_uv=False)[..., : min(6, self.n)]
        return values[..., -1] / values[..., 0], tool[..., -1] / tool[..., 0]

    # --- dynamics ---------------------------------------------------------------------------------
    def rne(self, q: Any, qd: Any, qdd: Any, drives: bool) -> Array:
        """Inverse dynamics."""
        return self.kernel("rne", drives=drives).call(self.full(q), qd, qdd)  # type: ignore[no-any-return]

    def inertia(self, q: Any, drives: bool) -> Array:
        """Mass matrix felt at the actuated joints."""
        return self.kernel("inertia", drives=drives).call(self.full(q))  # type: ignore[no-any-return]

    def coriolis(self, q: Any, qd: Any) -> Array:
        """Coriolis matrix."""
        return self.kernel("coriolis").call(self.full(q), qd)  # type: ignore[no-any-return]

    def gravload(self, q: Any) -> Array:
        """Gravity torque."""
        return self.kernel("gravload").call(self.full(q))  # type: ignore[no-any-return]

    def accel(self, q: Any, qd: Any, tau: Any, drives: bool) -> Array:
        """Forward dynamics."""
        return self.kernel("accel", drives=drives).call(self.full(q), qd, tau)  # type: ignore[no-any-return]

    def hybrid(
        self, q: Any, qd: Any, tau: Array, qdd: Array, given_tau: BoolArray, drives: bool
    ) -> tuple[Array, Array]:
        """Torques and accelerations from some of each."""
        h = self.rne(q, qd, np.zeros(self.n), False)
        return solve_partly(self.inertia(q, drives), h, tau, qdd, given_tau)

    def energy(self, q: Any, qd: Any) -> tuple[Array, Array]:
        """Kinetic and potential energy."""
        both = self.kernel("energy").call(self.full(q), qd)
        return both[..., 0], both[..., 1]

    def multipliers(self, q: Any, qd: Any, qdd: Any) -> Array:
        """Forces of the independent closures (..., m), see ``equations.closed_programs``."""
        return self.kernel("multipliers").call(self.full(q), qd, qdd)  # type: ignore[no-any-return]

    def motion(self, q: Any, qd: Any, qdd: Any) -> tuple[Array, Array, Array]:
        """(x, xd, xdd) of all free coordinates."""
        x = self.full(q)
        both = self.kernel("motion").call(x, qd, qdd)
        return x, both[..., 0, :], both[..., 1, :]

    # --- kinematics -------------------------------------------------------------------------------
    def fkine(self, q: Any, frame: str) -> Array:
        """Pose of a frame."""
        return self.tree.fkine(self.full(q), frame)

    def fkine_all(self, q: Any) -> dict[str, Array]:
        """Poses of all frames."""
        return self.tree.fkine_all(self.full(q))

    def jacob0(self, q: Any, frame: str) -> Array:
        """Jacobian in base axes."""
        return self.kernel("jacob0", frame=frame).call(self.full(q))  # type: ignore[no-any-return]

    def jacob0_dot(self, q: Any, qd: Any, frame: str) -> Array:
        """Time derivative of the Jacobian."""
        return self.kernel("jacob0_dot", frame=frame).call(self.full(q), qd)  # type: ignore[no-any-return]


def _text(q: Array) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in q) + ")"
