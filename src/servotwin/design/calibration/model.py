r"""Poses of a robot with given parameters, and their exact derivatives.

Every parameter moves what lies behind it as a screw (eq:screw); in closed chains the passive joints follow,

.. math:: \delta x_p = -S_p^{-1} \bigl( S_\theta\,\delta\theta + S_q\,\delta q \bigr)          (eq:calibration-loops)

with the derivatives S of the closures in use. Nothing is differenced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from servotwin.design.calibration.parameters import Actuators, Kind, Parameter
from servotwin.dynamics.builds import (
    LoopEquations,
    TreePoses,
    closed_coordinates,
    joint_screws,
    path_to,
    tree_poses,
)
from servotwin.mechanism.deviation import Built, displaced, displacement, nominal_of, skew
from servotwin.mechanism.model import BASE, Array
from servotwin.robot.robot import Robot

GEOMETRIC = (Kind.POSITION, Kind.ROTATION)
JOINT_ERRORS = (Kind.COMPLIANCE, Kind.SINE, Kind.COSINE)
Screws = tuple[Array, Array, Array]


@dataclass(frozen=True)
class CalibrationModel:
    """A robot and the parameters that may differ from its drawing."""

    robot: Robot  # as drawn, with the load that its gears carry
    parameters: tuple[Parameter, ...]
    compliance: tuple[float, ...] = ()  # of the gears that its file states; parameters add to it

    @cached_property
    def actuators(self) -> Actuators:
        """Gear outputs."""
        return Actuators.of(self.robot.mechanism)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Closure equations in use."""
        return self.robot.closure.rows if self.robot.closed else ()

    def deviations(self, theta: Array) -> dict[str, dict[str, Any]]:
        """Deviations of placements, offsets and scales as ``with_deviations`` takes them."""
        found: dict[str, dict[str, Any]] = {}
        for value, p in zip(theta, self.parameters, strict=True):
            if p.kind in GEOMETRIC:
                found.setdefault(p.place, {}).setdefault(p.kind.value, np.zeros(3))[p.index] = value
            elif p.kind in (Kind.OFFSET, Kind.SCALE):
                found.setdefault(p.place, {})[p.kind.value] = float(value)
        return found

    def value(self, theta: Array, k: int) -> float:
        """The parameter k as a number of its own: a compliance with what the file states of it."""
        p = self.parameters[k]
        stated = self.compliance[p.index] if p.kind is Kind.COMPLIANCE and self.compliance else 0.0
        return float(theta[k]) + stated

    def joint_errors(self, q: Array) -> Array:
        """What one unit of every parameter adds to q: (K, n, P), zero for placements (eq:calibration-joint)."""
        phi = q @ self.actuators.A.T
        out = np.zeros((*q.shape, len(self.parameters)))
        load = self._load(q) if any(p.kind is Kind.COMPLIANCE for p in self.parameters) else None
        for k, p in enumerate(self.parameters):
            if p.kind is Kind.OFFSET:
                out[:, p.index, k] = 1.0
            elif p.kind is Kind.SCALE:
                out[:, p.index, k] = q[:, p.index]
            elif p.kind is Kind.COMPLIANCE and load is not None:
                out[:, :, k] = -load[:, p.index, None] * self.actuators.A_inv[:, p.index]
            elif p.kind is Kind.SINE:
                out[:, :, k] = np.sin(p.order * phi[:, p.index, None]) * self.actuators.A_inv[:, p.index]
            elif p.kind is Kind.COSINE:
                wave = np.cos(p.order * phi[:, p.index, None]) - 1.0
                out[:, :, k] = wave * self.actuators.A_inv[:, p.index]
        return out

    def _joints(self, theta: Array, q: Array) -> tuple[Array, Array]:
        """Where the joints stand (K, n) when q is commanded, and its derivatives (K, n, P) (eq:calibration-joint)."""
        rates = self.joint_errors(q)
        extra = [k for k, p in enumerate(self.parameters) if p.kind in JOINT_ERRORS]
        scales = [k for k, p in enumerate(self.parameters) if p.kind is Kind.SCALE]
        scale = np.zeros(q.shape[1])
        scale[[self.parameters[k].index for k in scales]] = theta[scales]
        # what gears and encoders add; the joint moves 1 + s times that
        stated = self._stated_twist(q)
        drives = rates[..., extra] @ theta[extra] + stated
        moved = q + rates @ theta + stated + scale * drives
        rates[..., extra] *= (1.0 + scale)[:, None]
        for k in scales:
            rates[:, self.parameters[k].index, k] += drives[:, self.parameters[k].index]
        return moved, rates

    def _stated_twist(self, q: Array) -> Array:
        """What the compliance that the file states adds to q (K, n)."""
        if not any(self.compliance):
            return np.zeros_like(q)
        return np.asarray(-(self._load(q) * np.array(self.compliance)) @ self.actuators.A_inv.T)

    def _load(self, q: Array) -> Array:
        """Torque of gravity at the gear outputs (K, n)."""
        return np.asarray(self.robot.gravload(q) @ self.actuators.A_inv)

    def poses(self, theta: Array, q: Array) -> Array:
        """Poses of the tool (K, 4, 4) at commanded positions q (K, n)."""
        return self._evaluated(theta, q).tool

    def jacobian(self, theta: Array, q: Array) -> tuple[Array, Array]:
        """Poses (K, 4, 4), and how each parameter moves the tool (K, 6, P): shift, then turn, in base axes."""
        at = self._evaluated(theta, q)
        J_q = at.independent()
        J = np.einsum("kin,knp->kip", J_q, self._joints(theta, q)[1])
        chosen = [k for k, p in enumerate(self.parameters) if p.kind in GEOMETRIC]
        if chosen:
            J[:, :, chosen] += at.displacing(*self._screws(theta, at, chosen))
        return at.tool, J

    def _evaluated(self, theta: Array, q: Array) -> _Evaluated:
        mechanism = nominal_of(self.robot.mechanism)
        geometry = {
            place: {key: value for key, value in fields.items() if key in ("position", "rotation")}
            for place, fields in self.deviations(theta).items()
        }
        built = displaced(mechanism, geometry)
        moved = self._joints(theta, q)[0]
        x = moved
        if mechanism.loops:
            equations = LoopEquations(mechanism, built, self.rows)
            x = closed_coordinates(equations, moved, self._start(q))
        return _Evaluated(self.robot, built, self.rows, tree_poses(mechanism, built, x))

    def _start(self, q: Array) -> Array:
        """Assembled coordinates of the drawing at q, from which those of a build are near."""
        kept = self.__dict__.setdefault("_starts", {})
        key = q.tobytes()
        if key not in kept:
            kept[key] = self.robot.coordinates(q)
        return np.asarray(kept[key])

    def _screws(self, theta: Array, at: _Evaluated, chosen: Sequence[int]) -> tuple[Screws, list[int | str]]:
        """Screws (K, P', 3) of the displaced placements, and what each displaces."""
        w, v, o = ([] for _ in range(3))
        behind: list[int | str] = []
        stated = self.deviations(theta)
        of_base = stated.get("base", {})
        base = displacement(of_base.get("position", np.zeros(3)), of_base.get("rotation", np.zeros(3)))
        for k in chosen:
            p = self.parameters[k]
            frame, of = at.undisplaced(p.place, base)
            R = frame[..., :3, :3]
            deviation = stated[p.place]
            if p.kind is Kind.POSITION:
                v.append(R[..., p.index])
                w.append(np.zeros_like(v[-1]))
                o.append(w[-1])
            else:
                turn = _left_jacobian(deviation["rotation"])[:, p.index]
                w.append(R @ turn)
                v.append(np.zeros_like(w[-1]))
                shift = deviation.get("position", np.zeros(3))
                o.append(frame[..., :3, 3] + R @ shift)
            behind.append(of)
        return (np.stack(w, axis=-2), np.stack(v, axis=-2), np.stack(o, axis=-2)), behind


@dataclass(frozen=True)
class _Evaluated:
    """Poses of one build at K positions."""

    robot: Robot
    built: Built
    rows: tuple[int, ...]
    poses: TreePoses

    @cached_property
    def tool(self) -> Array:
        m = self.robot.mechanism
        return self.poses.frame(m.frame().body, self.built.frames[m.tool])

    def undisplaced(self, place: str, base: Array) -> tuple[Array, int | str]:
        """The frame (K, 4, 4) of a placement before its deviation, and what a deviation displaces.

        ``base`` (4, 4): where the base stands as built.
        """
        m = self.robot.mechanism
        count = len(self.tool)
        if place in m.tree_joint_names:
            i = m.tree_joint_names.index(place)
            parent = int(m.parent[i])
            X = np.asarray(m.X_tree[i])
            if parent == BASE:
                return np.broadcast_to(base @ X, (count, 4, 4)), i
            return self.poses.bodies[parent] @ X, i
        if place == "base":
            return np.broadcast_to(np.eye(4), (count, 4, 4)), BASE
        name = m.tool if place == "tool" else place
        frame = m.frame(name)
        X = frame.X_body_frame if frame.body != BASE else base @ frame.X_body_frame
        return np.broadcast_to(self.poses.frame(frame.body, X), (count, 4, 4)), name

    def displacing(self, screws: Screws, behind: Sequence[int | str]) -> Array:
        """Shift and turn of the tool (K, 6, P) along screws, passive joints following."""
        J = self._direct(screws, behind)
        if not self.rows:
            return J
        return np.asarray(J - self._following @ self._equations.gradient(self.poses, screws, behind))

    def independent(self) -> Array:
        """Jacobian (K, 6, n) of the tool in the joints of q."""
        n = self.robot.n
        J = self._along_joints
        if not self.rows:
            return J[..., :n]
        S_q = self._along_closures[..., :n]
        return np.asarray(J[..., :n] - self._following @ S_q)

    @cached_property
    def _equations(self) -> LoopEquations:
        return LoopEquations(self.robot.mechanism, self.built, self.rows)

    @cached_property
    def _along_joints(self) -> Array:
        """Shift and turn of the tool (K, 6, n_x) in all free coordinates."""
        m = self.robot.mechanism
        screws = joint_screws(m, self.poses)
        return np.asarray(self._direct(screws, list(range(m.n_tree))) @ self.built.G)

    @cached_property
    def _along_closures(self) -> Array:
        m = self.robot.mechanism
        screws = joint_screws(m, self.poses)
        return np.asarray(self._equations.gradient(self.poses, screws, list(range(m.n_tree))) @ self.built.G)

    @cached_property
    def _following(self) -> Array:
        """J_p S_p^-1 (K, 6, m): how the tool follows what opens the closures."""
        n = self.robot.n
        S_p, J_p = self._along_closures[..., n:], self._along_joints[..., n:]
        if S_p.shape[-1] == S_p.shape[-2]:
            J_t, S_t = np.swapaxes(J_p, -1, -2), np.swapaxes(S_p, -1, -2)
            return np.asarray(np.swapaxes(np.linalg.solve(S_t, J_t), -1, -2))
        return np.asarray(J_p @ np.linalg.pinv(S_p))

    def _direct(self, screws: Screws, behind: Sequence[int | str]) -> Array:
        """Shift and turn of the tool (K, 6, P) with the passive joints held."""
        m = self.robot.mechanism
        path = {BASE, *path_to(m, m.frame().body), m.tool}
        on = np.array([k in path for k in behind], dtype=np.float64)[:, None]
        w, v, o = screws
        shift = on * (v + np.cross(w, self.tool[:, None, :3, 3] - o))
        return np.concatenate([np.swapaxes(shift, -1, -2), np.swapaxes(on * w, -1, -2)], axis=-2)


def _left_jacobian(r: Array) -> Array:
    r"""d of a rotation vector to the turn that it makes, in the axes before it (3, 3).

    .. math:: J_l(r) = E + (1 - \cos\alpha)/\alpha^2\,[r]_\times + (\alpha - \sin\alpha)/\alpha^3\,[r]_\times^2
    """
    angle = float(np.linalg.norm(r))
    K = skew(r)
    third = 1.0 / 6.0 - angle**2 / 120.0 if angle < 1e-3 else (angle - np.sin(angle)) / angle**3
    return np.asarray(np.eye(3) + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * K + third * (K @ K))
