"""What a robot with closed loops can be asked beyond its actuated joints."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import ShapeError, UnsupportedError
from servotwin.mechanism.model import Array, Mechanism
from servotwin.robot.arguments import joint_array

if TYPE_CHECKING:
    from servotwin.robot.closed_engine import ClosedEngine
    from servotwin.robot.closure import Closure
    from servotwin.robot.robot import Robot


class Singularity(NamedTuple):
    """Measures (...) that are 0 at a singularity and 1 at best."""

    passive: Array  # how firmly the actuated joints hold the passive ones
    platform: Array  # how well the actuated joints move the tool


class FullMotion(NamedTuple):
    """Accelerations of all free coordinates (..., n_x), and the wrench (..., 6) at every cut, by name."""

    xdd: Array
    forces: dict[str, Array]


class ClosedChain:
    """Questions to a robot with loops; x are all free coordinates, the actuated joints q first."""

    mechanism: Mechanism
    _engine: object

    if TYPE_CHECKING:

        def _changed(self, mechanism: Mechanism) -> Robot: ...
        def _joint_array(self, name: str, value: ArrayLike) -> Array: ...
        def fkine(self, q: ArrayLike, frame: str | None = None) -> Array:
            """See ``Robot``."""

        def energy(self, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
            """See ``Robot``."""

    @property
    def closed(self) -> bool:
        """True if the robot has loops; q are then its actuated joints only."""
        return bool(self.mechanism.loops)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of all free coordinates x: the joints of q, then the passive ones."""
        return self.mechanism.joint_names + self.mechanism.passive_names

    def coordinates(self, q: ArrayLike) -> Array:
        """All free coordinates x (..., n_x) at q, on the assembly branch of the home pose; q itself without loops."""
        q = self._joint_array("q", q)
        return self._loops("coordinates").full(q) if self.closed else q.copy()

    def full_motion(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array, Array]:
        """(x, xd, xdd), each (..., n_x), of a motion given at the actuated joints."""
        engine = self._loops("full_motion")
        return engine.motion(
            *(self._joint_array(name, v) for name, v in (("q", q), ("qd", qd), ("qdd", qdd)))
        )

    def fkine_at(self, x: ArrayLike) -> Array:
        """Pose of the tool (..., 4, 4) at all coordinates x (..., n_x); q itself without loops.

        Nothing is assembled: it holds on any branch, and as near to a singularity as x is.
        """
        if not self.closed:
            return self.fkine(x)
        return self._loops("fkine_at").tree.fkine(self._coordinates("x", x), self.mechanism.tool)

    def energy_at(self, x: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
        """Kinetic and potential energy (...) [J] at all coordinates x (..., n_x); q itself without loops."""
        if not self.closed:
            return self.energy(x, qd)
        return self._loops("energy_at").energy_at(self._coordinates("x", x), self._joint_array("qd", qd))

    def projection(self, x: ArrayLike) -> Array:
        """T (..., n_x, n) with xd = T qd at closed coordinates x; by virtual work tau = T^T tau_tree (eq:closed)."""
        engine = self._loops("projection")
        point = self._coordinates("x", x)
        engine.require_closed(point)
        return np.asarray(engine.kernel("projection").call(point))

    @property
    def closure(self) -> Closure:
        """How the loops hold the robot: mobility, independent and dropped equations, ``text()`` for people."""
        return self._loops("closure").closure

    def assemblies(self, q: ArrayLike, starts: int = 200) -> Array:
        """All ways (k, n_x) to assemble the loops at q (n,), as far as ``starts`` random searches find them."""
        from servotwin.robot.assemblies import find_assemblies

        engine = self._loops("assemblies")
        point = self._joint_array("q", q)
        if point.ndim != 1 or not np.isfinite(point).all():
            raise ShapeError(
                f"q is {point.tolist()}; expected one position: {self.mechanism.n_q} finite numbers"
            )
        if starts < 1:
            raise ShapeError(f"starts is {starts}; expected at least 1")
        return find_assemblies(engine, point, starts)

    def with_assembly(self, x: ArrayLike) -> Robot:
        """The robot on the assembly branch of the coordinates x (n_x,), for instance a row of ``assemblies``.

        Its home pose is the actuated part of x.
        """
        engine = self._loops("with_assembly")
        point = self._coordinates("x", x)
        if point.ndim != 1:
            raise ShapeError(f"x has shape {point.shape}; expected one row of coordinates")
        engine.require_closed(point)
        n = self.mechanism.n_q
        return self._changed(self.mechanism.with_(q_home=point[:n].copy(), passive_home=point[n:].copy()))

    def singularity(self, q: ArrayLike) -> Singularity:
        """How far from singular the position q (..., n) is, see ``Singularity``."""
        return Singularity(*self._loops("singularity").singularity(self._joint_array("q", q)))

    def constraint_forces(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> dict[str, Array]:
        """Wrench (..., 6) at every cut, by the name of its loop: force [N], then moment [N m], in base axes.

        It is what the second link of the loop's ``between`` does to the first one, at the origin of the
        second one's frame ``<loop>.b``; the first does the opposite to the second. The part of it that
        belongs to redundant, dropped equations cannot be known of rigid links and counts zero.
        """
        engine = self._loops("constraint_forces")
        given = (self._joint_array(name, v) for name, v in (("q", q), ("qd", qd), ("qdd", qdd)))
        return self._by_loop(engine.wrenches(*given))

    def accel_full(self, x: ArrayLike, xd: ArrayLike, tau: ArrayLike, *, drives: bool = False) -> FullMotion:
        """Accelerations (..., n_x) and cut wrenches under torques tau (..., n) at a closed state (x, xd).

        Works through positions where the actuated joints do not determine the passive ones. Integrated as it
        is the state drifts off the loops; ``project`` brings it back.
        """
        engine = self._loops("accel_full")
        point, rate = self._coordinates("x", x), self._coordinates("xd", xd)
        engine.require_closed(point)
        names, sliding = self._free
        torque = joint_array("tau", tau, names[: engine.n], sliding[: engine.n])
        xdd, wrenches = engine.forward(point, rate, torque, drives)
        return FullMotion(xdd, self._by_loop(wrenches))

    def project(self, x: ArrayLike, xd: ArrayLike) -> tuple[Array, Array]:
        """The state (x, xd), each (..., n_x), after the least change that closes the loops and keeps them so."""
        engine = self._loops("project")
        return engine.project(self._coordinates("x", x), self._coordinates("xd", xd))

    # --- internals --------------------------------------------------------------------------------
    def _loops(self, what: str) -> ClosedEngine:
        from servotwin.robot.closed_engine import ClosedEngine

        if not isinstance(self._engine, ClosedEngine):
            raise UnsupportedError(f"{self.mechanism.name} has no loops; '{what}' is for closed chains")
        return self._engine

    @cached_property
    def _free(self) -> tuple[tuple[str, ...], list[bool]]:
        """Names of all free coordinates, and which of them slide."""
        kinds = dict(zip(self.mechanism.tree_joint_names, self.mechanism.prismatic, strict=True))
        return self.coordinate_names, [bool(kinds[joint]) for joint in self.coordinate_names]

    def _coordinates(self, name: str, value: ArrayLike) -> Array:
        return joint_array(name, value, *self._free)

    def _by_loop(self, wrenches: Array) -> dict[str, Array]:
        return {loop.name: wrenches[..., k, :] for k, loop in enumerate(self.mechanism.loops)}
