r"""Inverse kinematics of a robot as built: from the branches of its drawing by Newton's method.

Deviations of fractions of a millimetre spoil closed forms, but they move every branch only a little. The drawing
gives the branches of the nearest pose that it can attain; from each, Newton's method goes to the robot as built. An
arm with fewer than six joints cannot attain an orientation that its drawing could. It is given the place first,

.. math:: \Delta q = J_p^+ e_p + N\,(J_o N)^+ (e_o - J_o J_p^+ e_p), \qquad J_p N = 0          (eq:place-first)

and comes as near to the orientation as the rest of its freedom allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.dynamics.ik.branches import distinct, equivalents, limit_miss
from servotwin.dynamics.ik.numeric import Jacobian, Pose, Task, descend, solutions
from servotwin.dynamics.ik.pose import checked_poses, pose_error
from servotwin.dynamics.ik.solve import InverseKinematics
from servotwin.errors import ShapeError, UnreachableError
from servotwin.mechanism.model import Array

STEPS = 40
REACHED = 1e-9  # m, and rad where six joints can meet an orientation
TILT = 0.05  # rad: an orientation further off is none that the drawing attains
LONGEST = 0.3  # rad, m
STARTS = 20
SMALL = 1e-7  # singular values below this part of the largest count as zero


def place_first(J: Array, error: Array) -> Array:
    """A step (n,) that meets the place and then comes nearest to the orientation (eq:place-first)."""
    J_p, J_o = J[:3], J[3:]
    U, s, Vt = np.linalg.svd(J_p)
    rank = int((s > SMALL * max(float(s[0]), 1e-300)).sum())
    step = Vt[:rank].T @ ((U[:, :rank].T @ error[:3]) / s[:rank])
    null = Vt[rank:].T
    if null.shape[1]:
        rest = error[3:] - J_o @ step
        step = step + null @ np.linalg.lstsq(J_o @ null, rest, rcond=SMALL)[0]
    return np.asarray(step)


@dataclass(frozen=True)
class DeviatedInverse:
    """Inverse kinematics of a frame of a robot as built, with that of its drawing."""

    drawn: InverseKinematics
    fk: Pose
    jac: Jacobian

    @classmethod
    def of(cls, drawn: InverseKinematics, fk: Pose, jac: Jacobian) -> DeviatedInverse:
        """The solver of the drawing is made to accept orientations that only the robot as built attains."""
        solver: Any = drawn.solver
        if solver is not None and hasattr(solver, "tilt"):
            drawn = replace(drawn, solver=replace(solver, tilt=TILT))
        return cls(drawn, fk, jac)

    def nearest(
        self, T: ArrayLike, *, q0: ArrayLike | None = None, respect_limits: bool = True, **_: Any
    ) -> Array:
        """For poses (..., 4, 4) the branch nearest to q0, shape (..., n)."""
        poses = checked_poses(T)
        lead, n = poses.shape[:-2], self.drawn.mechanism.n_q
        start = self.drawn.q_home if q0 is None else np.asarray(q0, dtype=np.float64)
        if start.ndim == 0 or start.shape[-1] != n or not np.isfinite(start).all():
            raise ShapeError(f"q0 has shape {start.shape}; expected ({n},) finite numbers")
        refs = np.broadcast_to(start, (*lead, n)).reshape(-1, n)
        rows = []
        for pose, ref in zip(poses.reshape(-1, 4, 4), refs, strict=True):
            inside = self._inside(self._found(pose, ref), respect_limits)
            rows.append(min(inside, key=lambda q, ref=ref: float(np.sum((q - ref) ** 2))))  # type: ignore[misc]
        return np.array(rows).reshape(*lead, n)

    def all(self, T: ArrayLike, *, q0: ArrayLike | None = None, respect_limits: bool = True) -> Array:
        """All branches for one pose T (4, 4), shape (k, n)."""
        pose = checked_poses(T)
        if pose.shape != (4, 4):
            raise ShapeError(f"all branches are computed for one pose (4, 4), got shape {pose.shape}")
        ref = self.drawn.q_home if q0 is None else np.asarray(q0, dtype=np.float64)
        return np.array(self._inside(self._found(pose, ref), respect_limits))

    def _inside(self, found: list[Array], respect: bool) -> list[Array]:
        if not respect:
            return found
        low, high = self.drawn.limits(True)
        period = self.drawn.period
        inside = [q for branch in found for q in equivalents(branch, low, high, period)]
        if not inside:
            raise UnreachableError(limit_miss(found, self.drawn.chain, low, high, period))
        return self.drawn._kept(inside)

    def _found(self, T: Array, ref: Array) -> list[Array]:
        ends = [self._polished(T, q) for q in self._starts(T, ref)]
        kept = distinct([q for q, good in ends if good], self.drawn.period)
        if not kept:
            raise UnreachableError(
                f"{self.drawn.mechanism.name}: the pose is out of reach of the robot as built"
            )
        return kept

    def _starts(self, T: Array, ref: Array) -> list[Array]:
        """Branches of the drawing, or where a search on the drawing ends."""
        if self.drawn.solver is not None:
            return self.drawn.solver.branches(T, ref)
        low, high = self.drawn.limits(True)
        moving = self.drawn.moving
        low, high = np.where(moving, low, ref), np.where(moving, high, ref)
        task = Task(self.fk, self.jac, T, low, high, self.drawn.mask, self.drawn.chain.size)
        found = [descend(task, np.clip(ref, low, high))[0]]
        if self._polished(T, found[0])[1]:
            return found
        return [q for q, _ in solutions(task, ref, STARTS, 0)]

    def _polished(self, T: Array, q: Array) -> tuple[Array, bool]:
        """q after Newton's method on the robot as built, and whether it attains the pose."""
        mask = self.drawn.mask
        full = len(self.drawn.chain.moving) >= 6 or bool(
            self.drawn.mechanism.loops and self.drawn.mechanism.n_q >= 6
        )
        for _ in range(STEPS):
            error, J = mask * pose_error(T, self.fk(q)), mask[:, None] * self.jac(q)
            step = np.linalg.lstsq(J, error, rcond=SMALL)[0] if full else place_first(J, error)
            q = q + step * min(1.0, LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))
            if np.abs(step).max(initial=0.0) < 1e-13:
                break
        error = mask * pose_error(T, self.fk(q))
        turn = float(np.linalg.norm(error[3:]))
        return q, bool(np.linalg.norm(error[:3]) < REACHED and turn < (REACHED if full else TILT))
