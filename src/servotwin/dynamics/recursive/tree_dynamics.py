"""The numpy face of the recursive algorithms."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from servotwin.dynamics.recursive.aba import aba_batch
from servotwin.dynamics.recursive.common import POSE, tree_of
from servotwin.dynamics.recursive.coriolis import coriolis_batch
from servotwin.dynamics.recursive.crba import crba_batch
from servotwin.dynamics.recursive.energy import energy_batch
from servotwin.dynamics.recursive.hybrid import hybrid_batch
from servotwin.dynamics.recursive.kinematics import (
    fkine_batch,
    frame_batch,
    jacobian_batch,
    jacobian_dot_batch,
)
from servotwin.dynamics.recursive.rnea import rnea_batch
from servotwin.dynamics.recursive.shapes import Shape, batch, checked
from servotwin.errors import ShapeError, UnsupportedError
from servotwin.mechanism.model import BASE, Array, Frame, IntArray, Mechanism

Axes = Literal["world", "frame"]


class RecursiveDynamics:
    """Kinematics and dynamics of the spanning tree of a mechanism.

    Costs are linear in the number of joints n; matrices cost n times the depth
    of the tree. All coordinates are those of the n tree joints (rad or m, and their
    derivatives, N m or N); couplings and loop closures are not applied here.
    Arrays may have any leading shape; the leading shapes of the arguments of
    one call are broadcast against each other and stand in front of the result.
    Optional arguments of several methods:

    ``f_ext`` (..., n, 6)
        external wrench on every body, force [N] then moment [N m] about the
        body origin, in body axes; ``body_wrenches`` makes it from a wrench at a frame.
    ``armature`` (n,)
        inertia added to the diagonal of the mass matrix [kg m2 or kg], such as
        reflected rotor inertia.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.n = mechanism.n_tree
        self._tree = tree_of(mechanism)

    # -- kinematics

    def fkine_all(self, q: ArrayLike) -> Array:
        """X_base_body of every body: q (..., n) -> (..., n, 4, 4)."""
        lead, (q_,) = self._joints(q=q)
        X = np.empty((len(q_), self.n, 4, 4))
        fkine_batch(self._tree, q_, X)
        return X.reshape(*lead, self.n, 4, 4)

    def frame_pose(self, q: ArrayLike, frame: Frame | str | None = None) -> Array:
        """X_base_frame of a frame, a frame name, or the tool (None): q (..., n) -> (..., 4, 4)."""
        lead, (q_,) = self._joints(q=q)
        X = np.empty((len(q_), 4, 4))
        frame_batch(self._tree, *self._carrier(frame), q_, X)
        return X.reshape(*lead, 4, 4)

    def jacobian(self, q: ArrayLike, frame: Frame | str | None = None, axes: Axes = "world") -> Array:
        """Jacobian of the frame origin, q (..., n) -> (..., 6, n).

        Rows: linear velocity of the frame origin, then angular velocity, in the
        axes of the base (``world``) or of the frame itself (``frame``).
        """
        _check_axes(axes)
        lead, (q_,) = self._joints(q=q)
        jac = np.zeros((len(q_), 6, self.n))
        jacobian_batch(self._tree, *self._carrier(frame), q_, jac)
        jac = jac.reshape(*lead, 6, self.n)
        if axes == "world":
            return jac
        R_frame_base = np.swapaxes(self.frame_pose(q, frame)[..., :3, :3], -1, -2)
        return np.concatenate((R_frame_base @ jac[..., :3, :], R_frame_base @ jac[..., 3:, :]), axis=-2)

    def jacobian_dot(self, q: ArrayLike, qd: ArrayLike, frame: Frame | str | None = None) -> Array:
        """Time derivative of the Jacobian in base axes: q, qd (..., n) -> (..., 6, n)."""
        lead, (q_, qd_) = self._joints(q=q, qd=qd)
        jac_dot = np.zeros((len(q_), 6, self.n))
        jacobian_dot_batch(self._tree, *self._carrier(frame), q_, qd_, jac_dot)
        return jac_dot.reshape(*lead, 6, self.n)

    def body_wrenches(
        self, q: ArrayLike, wrench: ArrayLike, frame: Frame | str | None = None, axes: Axes = "world"
    ) -> Array:
        """``f_ext`` (..., n, 6) of a wrench (..., 6) that acts at the origin of a frame.

        The wrench, force [N] then moment [N m], is given in the axes of the base
        or of the frame. A wrench on a frame of the base moves nothing: all zero.
        """
        _check_axes(axes)
        found = self._frame(frame)
        lead, (q_, w_) = batch({"q": (q, (self.n,)), "wrench": (wrench, (6,))})
        f_ext = np.zeros((len(q_), self.n, 6))
        if found.body != BASE:
            X = np.asarray(found.X_body_frame)
            R = np.broadcast_to(X[:3, :3], (len(q_), 3, 3))
            if axes == "world":
                R = np.swapaxes(self.fkine_all(q_)[:, found.body, :3, :3], -1, -2)
            force, moment = np.einsum("kij,kj->ki", R, w_[:, :3]), np.einsum("kij,kj->ki", R, w_[:, 3:])
            f_ext[:, found.body, :3] = force
            f_ext[:, found.body, 3:] = moment + np.cross(X[:3, 3], force)
        return f_ext.reshape(*lead, self.n, 6)

    # -- dynamics

    def rnea(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        f_ext: ArrayLike | None = None,
        armature: ArrayLike | None = None,
    ) -> Array:
        """Joint torques [N m or N] that give the accelerations qdd, gravity included: (..., n)."""
        lead, (q_, qd_, qdd_, f_) = self._joints_and_wrenches(f_ext, q=q, qd=qd, qdd=qdd)
        tau = np.empty_like(q_)
        rnea_batch(self._tree, self._armature(armature), q_, qd_, qdd_, f_, tau)
        return tau.reshape(*lead, self.n)

    def bias(self, q: ArrayLike, qd: ArrayLike, f_ext: ArrayLike | None = None) -> Array:
        """h = C qd + g - sum J^T f_ext, the torques at zero acceleration: (..., n)."""
        return self.rnea(q, qd, np.zeros(self.n), f_ext)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """g(q), the torques that hold the robot at rest: (..., n)."""
        zero = np.zeros(self.n)
        return self.rnea(q, zero, zero)

    def crba(self, q: ArrayLike, armature: ArrayLike | None = None) -> Array:
        """Mass matrix M(q) + diag(armature): (..., n, n)."""
        lead, (q_,) = self._joints(q=q)
        M = np.zeros((len(q_), self.n, self.n))
        crba_batch(self._tree, self._armature(armature), q_, M)
        return M.reshape(*lead, self.n, self.n)

    def coriolis(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Coriolis matrix C(q, qd) of the Christoffel symbols, so that M' - 2 C is skew: (..., n, n)."""
        lead, (q_, qd_) = self._joints(q=q, qd=qd)
        C = np.zeros((len(q_), self.n, self.n))
        coriolis_batch(self._tree, q_, qd_, C)
        return C.reshape(*lead, self.n, self.n)

    def aba(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        armature: ArrayLike | None = None,
    ) -> Array:
        """Joint accelerations under the torques tau: (..., n)."""
        lead, (q_, qd_, tau_, f_) = self._joints_and_wrenches(f_ext, q=q, qd=qd, tau=tau)
        qdd = np.empty_like(q_)
        singular = aba_batch(self._tree, self._armature(armature), q_, qd_, tau_, f_, qdd)
        self._refuse_singular(singular)
        return qdd.reshape(*lead, self.n)

    def hybrid(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        qdd: ArrayLike,
        given_tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        armature: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Complete (tau, qdd), each (..., n), from torques at some joints and accelerations at others.

        ``given_tau`` (n,) is True where tau is given; there the entries of qdd
        are ignored, elsewhere those of tau.
        """
        lead, (q_, qd_, tau_, qdd_, f_) = self._joints_and_wrenches(f_ext, q=q, qd=qd, tau=tau, qdd=qdd)
        mask = np.array(given_tau)
        if mask.shape != (self.n,) or mask.dtype != np.bool_:
            raise ShapeError(
                f"given_tau must be {self.n} truth values, not {mask.dtype} of shape {mask.shape}"
            )
        tau_, qdd_ = tau_.copy(), qdd_.copy()
        singular = hybrid_batch(self._tree, self._armature(armature), mask, q_, qd_, f_, tau_, qdd_)
        self._refuse_singular(singular)
        return tau_.reshape(*lead, self.n), qdd_.reshape(*lead, self.n)

    def energy(self, q: ArrayLike, qd: ArrayLike, armature: ArrayLike | None = None) -> tuple[Array, Array]:
        """Kinetic and potential energy [J], each (...,); potential energy is zero at the base origin."""
        lead, (q_, qd_) = self._joints(q=q, qd=qd)
        kinetic, potential = np.empty(len(q_)), np.empty(len(q_))
        energy_batch(self._tree, self._armature(armature), q_, qd_, kinetic, potential)
        return kinetic.reshape(lead), potential.reshape(lead)

    # -- arguments

    def _joints(self, **vectors: ArrayLike) -> tuple[Shape, list[Array]]:
        """Joint vectors as batches (N, n)."""
        return batch({name: (value, (self.n,)) for name, value in vectors.items()})

    def _joints_and_wrenches(
        self, f_ext: ArrayLike | None, **vectors: ArrayLike
    ) -> tuple[Shape, list[Array]]:
        """Joint vectors as batches (N, n), then f_ext (N, n, 6), or (N, 0, 6) if there is none."""
        if f_ext is None:
            lead, arrays = self._joints(**vectors)
            return lead, [*arrays, np.empty((len(arrays[0]), 0, 6))]
        tails = {name: (value, (self.n,)) for name, value in vectors.items()}
        return batch({**tails, "f_ext": (f_ext, (self.n, 6))})

    def _armature(self, armature: ArrayLike | None) -> Array:
        if armature is None:
            return np.zeros(self.n)
        values = checked("armature", armature, (self.n,))
        if values.ndim != 1:
            raise ShapeError(f"armature has shape {values.shape}; expected ({self.n},)")
        return values.copy()

    def _frame(self, frame: Frame | str | None) -> Frame:
        return frame if isinstance(frame, Frame) else self.mechanism.frame(frame)

    def _carrier(self, frame: Frame | str | None) -> tuple[IntArray, Array]:
        """Chain of bodies from the base to the frame, and the pose row of the frame in the last one."""
        found = self._frame(frame)
        chain = []
        body = found.body
        while body != BASE:
            chain.append(body + 1)
            body = int(self.mechanism.parent[body])
        offset = np.empty(POSE)
        offset[:9] = found.X_body_frame[:3, :3].ravel()
        offset[9:] = found.X_body_frame[:3, 3]
        return np.array(chain[::-1], dtype=np.int64), offset

    def _refuse_singular(self, joint: int) -> None:
        if joint > 0:
            name = self.mechanism.tree_joint_names[joint - 1]
            raise UnsupportedError(
                f"{self.mechanism.name}: joint '{name}' moves no inertia, so a torque does not fix its "
                "acceleration; give the links it carries a mass, or the joint a rotor inertia"
            )


def _check_axes(axes: str) -> None:
    if axes not in ("world", "frame"):
        raise ValueError(f"axes is '{axes}'; expected 'world' or 'frame'")
