"""The robot as a person uses it: kinematics and dynamics in SI units and radians, at the joint side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from servotwin.equations.derivation import Numbers
from servotwin.errors import KinematicsError, ServotwinError, ShapeError, UnsupportedError
from servotwin.mechanism.model import Array, FrameQuantities, Limits, Mechanism, Quantities
from servotwin.presentation import Plots, ShowsItself, Tabulates, present
from servotwin.robot.arguments import explain, given_torques, joint_array, real_array, wrench_array
from servotwin.robot.closed_chain import ClosedChain
from servotwin.robot.graph_engine import GraphEngine
from servotwin.robot.recursive_engine import RecursiveDynamics

if TYPE_CHECKING:
    from servotwin.dynamics.ik import InverseKinematics
    from servotwin.dynamics.ik.deviated import DeviatedInverse
    from servotwin.robot.closed_engine import ClosedEngine
    from servotwin.robot.state_space import StateSpace

EngineName = Literal["auto", "graph", "recursive"]
Wrenches = ArrayLike | Mapping[str, ArrayLike]
REDRAWN = 1000  # times that positions outside the ranges of the quantities are drawn again
GRAPH_JOINTS = 16  # beyond this many joints generated code takes seconds to compile; recursion does not


class Hybrid(NamedTuple):
    """Complete torques and accelerations, each (..., n)."""

    tau: Array
    qdd: Array


class Robot(ClosedChain, Plots, Tabulates, ShowsItself):
    """Kinematics and dynamics of one robot; immutable, every change gives another robot.

    ``q``, ``qd``, ``qdd``, ``tau`` are arrays (..., n): one value per joint in
    ``joint_names``, in rad or m (``joint_units``) and their time derivatives,
    N m or N. Leading axes are free and broadcast against each other. All
    quantities are at the joint side; ``drives=True`` adds the inertia of the
    motors' rotors, reflected through the transmission, and with
    ``rotor_coupling: full`` the moments of those that spin on moving links.

    >>> import servotwin as st
    >>> robot = st.load_robot("met-two-link")
    >>> robot.inertia([0.0, 0.0]).round(3)
    array([[50.59 , 11.122],
           [11.122,  3.603]])
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        engine: EngineName = "auto",
        title: str = "",
        warnings: Sequence[str] = (),
        source: str = "",
    ) -> None:
        if engine not in ("auto", "graph", "recursive"):
            raise ServotwinError(f"engine is '{engine}'; expected 'auto', 'graph' or 'recursive'")
        # Written past __setattr__, which refuses: a robot does not change.
        self.__dict__.update(mechanism=mechanism, title=title, engine_name=engine, warnings=tuple(warnings))
        self.__dict__["source"] = source
        self.__dict__["_engine"] = _pick_engine(mechanism, engine)

    mechanism: Mechanism
    title: str
    engine_name: EngineName
    warnings: tuple[str, ...]  # what its file contradicts, one line each
    source: str  # path of the file it was loaded from, where pictures find its meshes; else empty
    _engine: GraphEngine | RecursiveDynamics | ClosedEngine

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a robot does not change; make another with Robot.with_... ('{name}' was assigned)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled kernels stay behind; they are found again in the cache.
        return _rebuilt, (self.mechanism, self.engine_name, self.title, self.warnings, str(self.source))

    # --- what it is -------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.mechanism.name

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        return self.mechanism.n_q

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints in the order of q."""
        return self.mechanism.joint_names

    @property
    def joint_units(self) -> tuple[str, ...]:
        """'rad' or 'm' for every entry of q."""
        kinds = dict(zip(self.mechanism.tree_joint_names, self.mechanism.prismatic, strict=True))
        return tuple("m" if kinds[name] else "rad" for name in self.joint_names)

    @property
    def limits(self) -> Limits:
        """Joint limits, infinite where none are given."""
        return self.mechanism.limits

    @property
    def quantities(self) -> Quantities:
        """Named angles and lengths that follow from the joints, and their ranges."""
        return self.mechanism.quantities

    @property
    def frame_quantities(self) -> FrameQuantities:
        """Named angles and distances between frames, and their ranges."""
        return self.mechanism.frame_quantities

    def frame_quantity_values(self, q: ArrayLike) -> Array:
        """Values (..., k) [rad, m] of ``frame_quantities`` at q (..., n)."""
        position = self._joint_array("q", q)
        if not self.frame_quantities.names:
            return np.zeros((*position.shape[:-1], 0))
        from servotwin.dynamics.frame_quantities import frame_quantity_values

        if self.closed:  # the loops are closed once for all frames
            return frame_quantity_values(self.frame_quantities, self.fkine_all(position))
        named = dict.fromkeys(name for frames in self.frame_quantities.frames for name in frames)
        return frame_quantity_values(
            self.frame_quantities, {name: self.fkine(position, name) for name in named}
        )

    def quantity_values(self, q: ArrayLike) -> dict[str, Array]:
        """All named quantities (...) [rad, m] at q (..., n): those of joints, then those between frames."""
        position = self._joint_array("q", q)
        both = self.quantities.values(position), self.frame_quantity_values(position)
        names = (*self.quantities.names, *self.frame_quantities.names)
        return dict(zip(names, np.moveaxis(np.concatenate(both, axis=-1), -1, 0), strict=True))

    def frame_quantities_beyond(self, q: ArrayLike) -> Array:
        """How far (..., k) each quantity between frames is outside of its range; negative inside."""
        z, values = self.frame_quantities, self.frame_quantity_values(q)
        return np.maximum(z.low - values, values - z.high)

    @property
    def q_home(self) -> Array:
        """A natural pose (n,)."""
        return self.mechanism.q_home.copy()

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames: base, one per link, tool."""
        return tuple(frame.name for frame in self.mechanism.frames)

    def __repr__(self) -> str:
        joints = ", ".join(
            f"{name} [{unit}]" for name, unit in zip(self.joint_names, self.joint_units, strict=True)
        )
        return f"<Robot {self.name}: {joints}>"

    def random_q(self, rng: np.random.Generator, size: int | tuple[int, ...] = ()) -> Array:
        """Joint positions drawn evenly within all limits of position (within +-pi or +-1 m where there is none)."""
        wide = np.where(np.array(self.joint_units) == "m", 1.0, np.pi)
        low = np.where(np.isfinite(self.limits.q_min), self.limits.q_min, -wide)
        high = np.where(np.isfinite(self.limits.q_max), self.limits.q_max, wide)
        shape = (int(size),) if isinstance(size, int | np.integer) else size
        q = rng.uniform(low, high, (*shape, self.n))
        for _ in range(REDRAWN):
            out = (self.quantities.beyond(q) > 0.0).any(axis=-1)
            out |= (self.frame_quantities_beyond(q) > 0.0).any(axis=-1)
            if not out.any():
                return q
            q[out] = rng.uniform(low, high, (int(np.count_nonzero(out)), self.n))
        raise KinematicsError(
            f"{self.name}: hardly any position is within the limits of "
            f"{', '.join((*self.quantities.names, *self.frame_quantities.names))}"
        )

    # --- kinematics -------------------------------------------------------------------------------
    def fkine(self, q: ArrayLike, frame: str | None = None) -> Array:
        """Pose (..., 4, 4) of a frame (default: the tool) in the base."""
        try:
            return self._engine.fkine(q, self._frame(frame))
        except (ValueError, TypeError) as error:
            self._explain(error, q=q)

    def fkine_all(self, q: ArrayLike) -> dict[str, Array]:
        """Poses (..., 4, 4) of all frames in the base, by name."""
        try:
            return self._engine.fkine_all(q)
        except (ValueError, TypeError) as error:
            self._explain(error, q=q)

    def fkine_draws(
        self, q: ArrayLike, deviations: Mapping[str, Mapping[str, ArrayLike]], frame: str | None = None
    ) -> Array:
        """Poses (D, K, 4, 4) of a frame (default: the tool) for D draws of deviations at K positions q (K, n).

        ``deviations`` as in ``with_deviations``, each field with a leading axis: position and rotation (D, 3),
        offset and scale (D,). The same as one robot for each draw, many times as fast; q may be (D, K, n).
        """
        from servotwin.robot.draws import fkine_draws

        return fkine_draws(self, q, deviations, self._frame(frame))

    def jacob0(self, q: ArrayLike, frame: str | None = None) -> Array:
        """Jacobian (..., 6, n) of a frame in base axes: velocity of its origin, then angular velocity."""
        try:
            return self._engine.jacob0(q, self._frame(frame))
        except (ValueError, TypeError) as error:
            self._explain(error, q=q)

    def jacobe(self, q: ArrayLike, frame: str | None = None) -> Array:
        """Jacobian (..., 6, n) of a frame in its own axes."""
        J = self.jacob0(q, frame)
        R_frame_base = np.swapaxes(self.fkine(q, frame)[..., :3, :3], -1, -2)
        return np.concatenate([R_frame_base @ J[..., :3, :], R_frame_base @ J[..., 3:, :]], axis=-2)

    def jacob0_dot(self, q: ArrayLike, qd: ArrayLike, frame: str | None = None) -> Array:
        """Time derivative (..., 6, n) of ``jacob0`` along qd."""
        try:
            return self._engine.jacob0_dot(q, qd, self._frame(frame))
        except (ValueError, TypeError) as error:
            self._explain(error, q=q, qd=qd)

    def ikine(
        self,
        T: ArrayLike,
        q0: ArrayLike | None = None,
        *,
        frame: str | None = None,
        mask: ArrayLike | None = None,
        respect_limits: bool = True,
    ) -> Array:
        """Joint position (..., n) that puts the tool (or ``frame``) at pose T (..., 4, 4), nearest to q0.

        ``q0`` (n,) defaults to the home pose. ``mask`` (6,) of truth values
        picks the components of the pose that matter (x, y, z, turns about x, y,
        z of the base). Closed form where there is one, a search within the
        limits otherwise. Raises ``UnreachableError`` with the reason.
        """
        return self._inverse(frame, mask).nearest(T, q0=q0, respect_limits=respect_limits)

    def ikine_all(
        self,
        T: ArrayLike,
        *,
        frame: str | None = None,
        mask: ArrayLike | None = None,
        respect_limits: bool = True,
    ) -> Array:
        """All joint positions (k, n) with the tool (or ``frame``) at pose T (4, 4), one row per branch."""
        return self._inverse(frame, mask).all(T, respect_limits=respect_limits)

    # --- dynamics ---------------------------------------------------------------------------------
    def rne(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        drives: bool = False,
    ) -> Array:
        """Torques and forces (..., n) that the joints must give for a motion: M qdd + C qd + g - sum J^T f.

        ``f_ext``: external wrench (..., 6) on the tool, force [N] then moment
        [N m] at the frame's origin in base axes; or a mapping of frame names to
        such wrenches.
        """
        try:
            tau = self._engine.rne(q, qd, qdd, drives)
        except (ValueError, TypeError) as error:
            self._explain(error, q=q, qd=qd, qdd=qdd)
        return tau if f_ext is None else tau - self._external(q, f_ext)

    def inertia(self, q: ArrayLike, *, drives: bool = False) -> Array:
        """Mass matrix (..., n, n)."""
        try:
            return self._engine.inertia(q, drives)
        except (ValueError, TypeError) as error:
            self._explain(error, q=q)

    def coriolis(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Coriolis matrix (..., n, n) of the Christoffel symbols: M' - 2 C is skew."""
        try:
            return self._engine.coriolis(q, qd)
        except (ValueError, TypeError) as error:
            self._explain(error, q=q, qd=qd)

    def gravload(self, q: ArrayLike) -> Array:
        """Torques and forces (..., n) that hold the robot against gravity."""
        try:
            return self._engine.gravload(q)
        except (ValueError, TypeError) as error:
            self._explain(error, q=q)

    def accel(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        drives: bool = False,
    ) -> Array:
        """Joint accelerations (..., n) under torques tau and external wrenches (see ``rne``)."""
        if f_ext is not None:
            tau = self._joint_array("tau", tau) + self._external(q, f_ext)
        try:
            return self._engine.accel(q, qd, tau, drives)
        except (ValueError, TypeError) as error:
            self._explain(error, q=q, qd=qd, tau=tau)

    def hybrid(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        tau: ArrayLike | None = None,
        qdd: ArrayLike | None = None,
        given: Sequence[str],
        f_ext: Wrenches | None = None,
        drives: bool = False,
    ) -> Hybrid:
        """Complete (tau, qdd), each (..., n), from torques at some joints and accelerations at the others.

        ``given`` says for every joint which of the two is known: 'tau' or
        'qdd'. The entries of the other array at that joint are ignored.
        """
        mask = given_torques(given, self.joint_names)
        known = {}
        for name, value, needed in (("tau", tau, mask.any()), ("qdd", qdd, not mask.all())):
            if value is None and needed:
                raise ShapeError(f"{name} is missing although 'given' names it")
            known[name] = self._joint_array(name, np.zeros(self.n) if value is None else value)
        push = np.zeros(self.n) if f_ext is None else self._external(q, f_ext)
        # What is not given may be anything, NaN included; it must not reach the arithmetic.
        tau_, qdd_ = np.where(mask, known["tau"], 0.0) + push, np.where(mask, 0.0, known["qdd"])
        try:
            tau_out, qdd_out = self._hybrid_engine.hybrid(q, qd, tau_, qdd_, mask, drives)
        except (ValueError, TypeError) as error:
            self._explain(error, q=q, qd=qd, **known)
        return Hybrid(tau_out - push, qdd_out)

    def energy(self, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
        """Kinetic and potential energy (...) [J]; potential energy counts from the base origin."""
        try:
            return self._engine.energy(q, qd)
        except (ValueError, TypeError) as error:
            self._explain(error, q=q, qd=qd)

    def state_space(self) -> StateSpace:
        """The arm as x' = A(x) + B(x) u with the efforts at its joints as inputs; rotors count as inertia.

        A robot knows no windings: ``servotwin.state_space("name")`` has the motors of its file as well.
        """
        from servotwin.robot.complete_model import state_space

        return state_space(self)

    # --- pictures ---------------------------------------------------------------------------------
    def show(self, q: ArrayLike | None = None) -> Any:
        """Itself at q (n,), default home, in space with sliders: notebooks show it, ``.save(path)`` writes a page."""
        return present(self, "show", q)

    def teach(self, q: ArrayLike | None = None, **options: Any) -> Any:
        """Open itself in the browser with sliders for joints and tool, branches, limits, ellipsoids and torques.

        Returns at once; ``close()`` of what it returns ends it, and so does the end of the program. Options: see
        ``servotwin.view``.
        """
        return present(self, "teach", q, **options)

    # --- other robots -----------------------------------------------------------------------------
    def with_payload(
        self,
        mass: float,
        center: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Robot:
        """A robot that carries a further mass [kg] on a frame (default: the tool).

        ``center`` (3,): mass centre in the frame [m]; ``inertia`` (3, 3): tensor
        about the mass centre in the frame's axes [kg m2], default a point mass.
        """
        from servotwin.mechanism.payload import with_payload

        return self._changed(with_payload(self.mechanism, mass, center, inertia, frame))

    def with_deviations(self, deviations: Mapping[str, Any]) -> Robot:
        """The robot as it is built: placements displaced a little from those drawn.

        Maps places to deviations: a joint by its name (in the frame of the joint, z on its axis), ``tool``,
        ``base``, or a side of a loop closure (``cut2.a``). A deviation has ``position`` (3,) [m] and
        ``rotation`` (3,), a rotation vector [rad]; joints of q have ``offset`` [rad, m] and ``scale``
        besides. Deviations replace earlier ones: an empty mapping gives the robot of the drawing.

        >>> import servotwin as st
        >>> built = st.load_robot("met-two-link").with_deviations({"J2": {"position": [1e-4, 0, 0]}})
        >>> moved = built.fkine([0.0, 0.0]) - built.with_deviations({}).fkine([0.0, 0.0])
        >>> moved[:3, 3].round(9)
        array([0.0001, 0.    , 0.    ])
        """
        from servotwin.mechanism.deviation import with_deviations

        return self._changed(with_deviations(self.mechanism, deviations))

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """A robot in another field of gravity: free-fall acceleration (3,) in the base [m/s2]."""
        g = real_array("gravity", gravity)
        if g.shape != (3,) or not np.isfinite(g).all():
            raise ShapeError(f"gravity has shape {g.shape}; expected 3 finite accelerations [m/s2]")
        return self._changed(self.mechanism.with_(gravity=g))

    def with_engine(self, engine: EngineName) -> Robot:
        """The same robot computed by generated code ('graph') or by recursion ('recursive')."""
        return Robot(
            self.mechanism, engine=engine, title=self.title, warnings=self.warnings, source=self.source
        )

    def _changed(self, mechanism: Mechanism) -> Robot:
        return Robot(
            mechanism,
            engine=self.engine_name,
            title=self.title,
            warnings=self.warnings,
            source=self.source,
        )

    # --- internals --------------------------------------------------------------------------------
    @property
    def numbers(self) -> Numbers:
        """The numbers that generated code of this robot is made from."""
        return (
            Numbers.of(self.mechanism)
            if isinstance(self._engine, RecursiveDynamics)
            else self._engine.numbers
        )

    @cached_property
    def _hybrid_engine(self) -> GraphEngine | RecursiveDynamics | ClosedEngine:
        """Recursion solves hybrid problems in O(n); couplings and loops need the mass matrix."""
        if isinstance(self._engine, GraphEngine) and not self.mechanism.coupled:
            return RecursiveDynamics(self.mechanism)
        return self._engine

    @cached_property
    def _tool_inverse(self) -> InverseKinematics | DeviatedInverse:
        """The inverse kinematics of the tool, which is asked for again and again."""
        return self._prepared(self.mechanism.tool, None)

    def _inverse(self, frame: str | None, mask: ArrayLike | None) -> InverseKinematics | DeviatedInverse:
        if mask is None and frame in (None, self.mechanism.tool):
            return self._tool_inverse
        return self._prepared(self._frame(frame), mask)

    def _prepared(self, name: str, mask: ArrayLike | None) -> InverseKinematics | DeviatedInverse:
        from servotwin.dynamics.ik import InverseKinematics

        engine = self._engine

        def fk(q: Array) -> Array:
            try:
                return engine.fkine(q, name)
            except KinematicsError:  # the search stepped to where the loops do not close: worse than any pose
                far = np.eye(4)
                far[:3, 3] = 1e6
                return far

        def jac(q: Array) -> Array:
            try:
                return engine.jacob0(q, name)
            except KinematicsError:
                return np.zeros((6, self.n))

        beyond = self.frame_quantities_beyond if self.frame_quantities.names else None
        if self.mechanism.nominal is None:
            return InverseKinematics.of(self.mechanism, frame=name, mask=mask, fk=fk, jac=jac, beyond=beyond)
        from servotwin.dynamics.ik.deviated import DeviatedInverse

        drawn = InverseKinematics.of(
            self.mechanism.nominal, frame=name, mask=mask, fk=fk, jac=jac, beyond=beyond
        )
        return DeviatedInverse.of(drawn, fk, jac)

    def _frame(self, frame: str | None) -> str:
        if frame is None:
            return self.mechanism.tool
        if frame not in self.frame_names:
            raise ServotwinError(f"{self.name} has no frame '{frame}'; it has: {', '.join(self.frame_names)}")
        return frame

    def _external(self, q: ArrayLike, f_ext: Wrenches) -> Array:
        """sum J^T f: what the wrenches do at the joints."""
        lead = self._joint_array("q", q).shape[:-1]
        wrenches = f_ext if isinstance(f_ext, Mapping) else {self.mechanism.tool: f_ext}
        total: Array = np.zeros(self.n)
        for frame, value in wrenches.items():
            wrench = wrench_array(frame, value, lead)
            total = total + np.einsum("...ij,...i->...j", self.jacob0(q, frame), wrench)
        return total

    def _joint_array(self, name: str, value: ArrayLike) -> Array:
        return joint_array(name, value, self.joint_names, self._sliding)

    @property
    def _sliding(self) -> list[bool]:
        return [unit == "m" for unit in self.joint_units]

    def _explain(self, error: Exception, **arguments: ArrayLike) -> NoReturn:
        explain(error, self.joint_names, self._sliding, arguments)


def _rebuilt(
    mechanism: Mechanism, engine: EngineName, title: str, warnings: tuple[str, ...], source: str
) -> Robot:
    return Robot(mechanism, engine=engine, title=title, warnings=warnings, source=source)


def _pick_engine(mechanism: Mechanism, engine: EngineName) -> GraphEngine | RecursiveDynamics | ClosedEngine:
    if mechanism.loops:
        if engine == "recursive":
            raise UnsupportedError(f"{mechanism.name}: closed chains are computed by generated code only")
        from servotwin.robot.closed_engine import ClosedEngine

        return ClosedEngine(mechanism)
    if engine == "recursive" or (engine == "auto" and mechanism.n_tree > GRAPH_JOINTS):
        return RecursiveDynamics(mechanism)
    return GraphEngine(mechanism)
