r"""The complete model of a robot as numbers: x' = A(x) + B(x) u with names and units (eq:complete-model).

``state_space("gsis-scara")`` is the way in. A(x) is the drift (the "system matrix" of Perez 1987), B(x) the gain
matrix. Everything is at the sides that the names say: positions and speeds of joints, twists, speeds and currents of
motors. The right-hand side is that of the simulator for a shaft that slides or is free, under the voltages
that the bridges apply.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from servotwin.cache.sources import source_digest
from servotwin.description.friction_curve import FrictionCurve
from servotwin.equations.derivation import Numbers
from servotwin.equations.state_space import STATE_PROGRAMS, CompleteModel, Shaft, SharedSupply, form_of
from servotwin.errors import InputError, ShapeError, UnsupportedError
from servotwin.kernels.kernel_store import Kernel, kernel_of
from servotwin.linear.system import LinearSystem, Quantity
from servotwin.mechanism.model import Array
from servotwin.robot.arguments import real_array
from servotwin.robot.dry_friction import sliding_friction
from servotwin.robot.robot import Robot

SIMD_STATES = 12  # beyond, and for matrices, compiling the SIMD version takes longer than it saves
Directions = ArrayLike | Literal["sliding"] | None
Outputs = Literal["encoders", "joints", "tool", "states"]
NEWTON_STEPS = 30
BALANCED = 1e-9  # what is left of the rates, of the terms that add up to them


class Affine(NamedTuple):
    """x' = A + B u + E d: A (..., n_x), B (..., n_x, n_u), E (..., n_x, m + n)."""

    A: Array
    B: Array
    E: Array


class Linear(NamedTuple):
    """First derivatives of the rates: f (..., n_x), A = df/dx, B = df/du, E = df/dd."""

    f: Array
    A: Array
    B: Array
    E: Array


class OperatingPoint(NamedTuple):
    """A state and inputs at which everything but the positions stands still."""

    x: Array
    u: Array


@dataclass(frozen=True)
class StateSpace:
    """The complete model of one robot; arrays have any leading axes."""

    robot: Robot
    shafts: tuple[Shaft, ...]
    frictions: tuple[FrictionCurve, ...] = ()  # of the shafts of motors, then of the joints by themselves
    notes: tuple[str, ...] = ()
    supply: SharedSupply | None = None  # with states of its own, behind those of the actuators
    _kernels: dict[str, Kernel] = field(default_factory=dict, repr=False, compare=False)

    # --- names ------------------------------------------------------------------------------------
    @cached_property
    def states(self) -> tuple[Quantity, ...]:
        """Names and units of x."""
        joints = list(zip(self.robot.joint_names, self.robot.joint_units, strict=True))
        out = [Quantity(f"{name}.position", unit) for name, unit in joints]
        out += [Quantity(f"{name}.speed", f"{unit}/s") for name, unit in joints]
        elastic = [shaft.name for shaft in self.shafts if shaft.elastic]
        out += [Quantity(f"{name}.twist", "rad") for name in elastic]
        out += [Quantity(f"{name}.motor_speed", "rad/s") for name in elastic]
        out += [Quantity(f"{s.name}.{name}", unit) for s in self.shafts for name, unit in s.equations.states]
        if self.supply is not None:
            out += [Quantity(f"supply.{name}", unit) for name, unit in self.supply.equations.states]
        return tuple(out)

    @cached_property
    def inputs(self) -> tuple[Quantity, ...]:
        """Names and units of u."""
        return tuple(
            Quantity(f"{s.name}.{name}", unit) for s in self.shafts for name, unit in s.equations.inputs
        )

    @cached_property
    def disturbances(self) -> tuple[Quantity, ...]:
        """Names and units of d: torques from outside on the motors' shafts, then on the joints."""
        units = ["N*m" if unit == "rad" else "N" for unit in self.robot.joint_units]
        joints = zip(self.robot.joint_names, units, strict=True)
        return (
            *(
                Quantity(f"{s.name}.{'shaft_torque' if s.unit == 'rad' else 'piston_force'}", s.effort_unit)
                for s in self.shafts
            ),
            *(Quantity(f"{name}.joint_effort", unit) for name, unit in joints),
        )

    @property
    def order(self) -> int:
        """Number of states."""
        return len(self.states)

    @cached_property
    def N(self) -> Array:
        """Motor angles per joint motion (m, n), theta_m = N q + twist."""
        return np.array([shaft.ratios for shaft in self.shafts], dtype=np.float64)

    @cached_property
    def speeds(self) -> Array:
        """Speeds of the motors' shafts, then of the joints, as rows over the state (m + n, n_x)."""
        n, m = self.robot.n, len(self.shafts)
        out = np.zeros((m + n, self.order))
        out[:m, n : 2 * n] = self.N
        for k, j in enumerate(self._elastic):
            out[j] = 0.0
            out[j, 2 * n + len(self._elastic) + k] = 1.0
        out[m:, n : 2 * n] = np.eye(n)
        return out

    @cached_property
    def angles(self) -> Array:
        """Angles of the motors, as their encoders see them, as rows over the state (m, n_x)."""
        n = self.robot.n
        out = np.zeros((len(self.shafts), self.order))
        out[:, :n] = self.N
        for k, j in enumerate(self._elastic):
            out[j, 2 * n + k] = 1.0
        return out

    @property
    def _elastic(self) -> list[int]:
        return [j for j, shaft in enumerate(self.shafts) if shaft.elastic]

    # --- the model --------------------------------------------------------------------------------
    def rates(
        self, x: ArrayLike, u: ArrayLike, directions: Directions = None, d: ArrayLike | None = None
    ) -> Array:
        """x' (..., n_x).

        ``directions``: of dry friction (``dry_friction``); ``d``: torques from outside (``disturbances``).
        """
        state = self._state(x)
        return np.asarray(self._call("rates", state, self._inputs(u), self._outside(state, directions, d)))

    def affine(self, x: ArrayLike, directions: Directions = None) -> Affine:
        """A(x), B(x) and E(x) of x' = A + B u + E d; with ``directions`` A contains dry friction."""
        state = self._state(x)
        zero = np.zeros((len(self.inputs),))
        A, B, E = self._call("affine", state, zero, np.zeros(len(self.disturbances)))
        if directions is not None:
            A = A + (E @ self.dry_friction(state, directions)[..., None])[..., 0]
        return Affine(A, B, E)

    def linearise(
        self, x: ArrayLike, u: ArrayLike, directions: Directions = None, d: ArrayLike | None = None
    ) -> Linear:
        """Rates and their exact first derivatives at states and inputs, one point or a whole trajectory."""
        state = self._state(x)
        f, A, B, E = self._call("linear", state, self._inputs(u), self._outside(state, directions, d))
        if directions is not None:
            s = self._signs(state, directions)[0]
            pressed = -s[..., None] * self._seals * (state > 0.0)[..., None, :]
            A = A + E @ (self._dry_slopes(state, directions)[..., None] * self.speeds + pressed)
        return Linear(f, A, B, E)

    def hessian(self, x: ArrayLike, u: ArrayLike, weights: ArrayLike) -> Array:
        """Exact second derivatives (..., n_x + n_u, n_x + n_u) of sum w_i x'_i over (x, u), without dry friction."""
        state = self._state(x)
        w = real_array("weights", weights)
        return np.asarray(self._call("hessian", state, self._inputs(u), np.zeros(len(self.disturbances)), w))

    # --- dry friction -----------------------------------------------------------------------------
    def dry_friction(self, x: ArrayLike, directions: Directions = "sliding") -> Array:
        """Dry friction as torques d (..., m + n): Coulomb, Stribeck and tables, against the stated direction.

        ``directions`` (m + n): 1, -1 or 0 (none) for every shaft and joint; 'sliding' takes the signs of the speeds.
        """
        s, w = self._signs(x, directions)
        size = np.stack(
            [sliding_friction(c, s[..., k], w[..., k])[0] for k, c in enumerate(self.frictions)], axis=-1
        )
        return np.asarray(-s * (size + np.maximum(self._state(x), 0.0) @ self._seals.T))

    @cached_property
    def _seals(self) -> Array:
        """Dry friction per state (m + n, n_x): of seals per pressure of their chambers (eq:seal-friction)."""
        out = np.zeros((len(self.disturbances), self.order))
        names = [quantity.name for quantity in self.states]
        for j, shaft in enumerate(self.shafts):
            if shaft.numbers.get("seal", 0.0) > 0.0:
                for side in "ab":
                    at = names.index(f"{shaft.name}.pressure_{side}")
                    out[j, at] = shaft.numbers["seal"] * shaft.numbers[f"area_{side}"]
        return out

    def _dry_slopes(self, x: Array, directions: Directions) -> Array:
        """Derivatives of ``dry_friction`` by the speeds."""
        s, w = self._signs(x, directions)
        slope = np.stack(
            [sliding_friction(c, s[..., k], w[..., k])[1] for k, c in enumerate(self.frictions)], axis=-1
        )
        return np.asarray(-s * slope)

    def _signs(self, x: ArrayLike, directions: Directions) -> tuple[Array, Array]:
        w = self._state(x) @ self.speeds.T
        if isinstance(directions, str):
            return np.sign(w), w
        s = real_array("directions", np.zeros(w.shape[-1]) if directions is None else directions)
        if s.shape[-1:] != w.shape[-1:] or not np.isin(s, (-1.0, 0.0, 1.0)).all():
            names = ", ".join(q.name for q in self.disturbances)
            raise ShapeError(f"directions must be 1, -1 or 0 for each of {names}")
        return np.broadcast_to(s, w.shape), w

    def _outside(self, x: Array, directions: Directions, d: ArrayLike | None) -> Array:
        given = np.zeros(len(self.disturbances)) if d is None else real_array("d", d)
        return given if directions is None else given + self.dry_friction(x, directions)

    # --- operating points -------------------------------------------------------------------------
    def state(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> Array:
        """A state with these positions and speeds of the joints; motors turn along, the rest is zero."""
        n = self.robot.n
        x = np.zeros(self.order)
        x[:n] = self.robot.q_home if q is None else self._joint_values("q", q)
        x[n : 2 * n] = 0.0 if qd is None else self._joint_values("qd", qd)
        for k, j in enumerate(self._elastic):
            x[2 * n + len(self._elastic) + k] = self.N[j] @ x[n : 2 * n]
        return x

    def operating_point(
        self,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        directions: Directions = None,
    ) -> OperatingPoint:
        """Twists, currents and inputs that hold the arm at q, or carry it through q at a constant joint speed.

        Everything but the positions then stands still. Newton's method on the exact derivatives; currents that give
        no torque by themselves (d of a synchronous motor) are zero.
        """
        x, u = self._start(self.state(q, qd), directions)
        lacking = self._shortage(x)
        n, e = self.robot.n, len(self._elastic)
        own = [2 * n + k for k in range(e)] + self._working
        for _ in range(NEWTON_STEPS):
            f, A, B, _ = self._sloped(x, u, directions)
            J = np.hstack([A[n:, own], B[n:]])
            step = _scaled_lstsq(J, -f[n:])
            x[own] += step[: len(own)]
            u += step[len(own) :]
            if np.all(np.abs(J @ step) <= BALANCED * (np.abs(J) @ np.abs(step) + _least(J))):
                break
        f, A, B, _ = self.linearise(x, u, directions)
        terms = np.abs(A[n:, own]) @ np.abs(x[own]) + np.abs(B[n:]) @ np.abs(u) + np.abs(self.affine(x).A[n:])
        if not np.all(np.abs(f[n:]) <= 1e-7 * terms + 1e-9):
            worst = self.states[n + int(np.argmax(np.abs(f[n:]) / (1e-7 * terms + 1e-9)))].name
            raise UnsupportedError(
                f"{self.robot.name}: no input holds this state still; "
                + (lacking or f"{worst} cannot be balanced by the inputs")
            )
        return OperatingPoint(x, u)

    def notes_at(self, x: ArrayLike) -> list[str]:
        """What is to be said about a state (n_x,): chambers of cylinders that are cavitated."""
        state, told = self._state(x), []
        for shaft, own in zip(self.shafts, self._own_states, strict=True):
            told += [
                f"{shaft.name}: {note}" for note in shaft.equations.notes_at(shaft.data, state[own].tolist())
            ]
        return told

    def _shortage(self, x: Array) -> str:
        """What the supply of the actuators lacks at a state, in words."""
        if self.supply is None:
            return ""
        users = zip(self.shafts, self._own_states, self.angles @ x, strict=True)
        fed = [
            (shaft.data, x[own].tolist(), float(theta))
            for shaft, own, theta in users
            if shaft.equations.draws is not None
        ]
        return self.supply.equations.shortage(fed)

    @property
    def _own_states(self) -> list[slice]:
        """Places of the states of every actuator."""
        out, at = [], 2 * self.robot.n + 2 * len(self._elastic)
        for shaft in self.shafts:
            out.append(slice(at, at + len(shaft.equations.states)))
            at = out[-1].stop
        return out

    def _start(self, x: Array, directions: Directions) -> tuple[Array, Array]:
        """Where the search for an operating point begins: zeros, or what an actuator proposes for its effort."""
        u, n = np.zeros(len(self.inputs)), self.robot.n
        if not any(shaft.equations.start is not None for shaft in self.shafts):
            return x, u
        q, qd = x[:n], x[n : 2 * n]
        viscous = np.array([curve.viscous for curve in self.frictions[len(self.shafts) :]])
        load = self.robot.rne(q, qd, np.zeros(n)) + viscous * qd
        speeds = (self.speeds @ x)[: len(self.shafts)]
        efforts = (
            np.linalg.lstsq(self.N.T, load, rcond=None)[0] - self.dry_friction(x, directions)[: len(speeds)]
        )
        at_x, at_u = 2 * n + 2 * len(self._elastic), 0
        for shaft, theta, w, effort in zip(self.shafts, self.angles @ x, speeds, efforts, strict=True):
            own, given = len(shaft.equations.states), len(shaft.equations.inputs)
            if shaft.equations.start is not None:
                try:
                    proposed = shaft.equations.start(shaft.data, theta, w, effort + shaft.viscous * w)
                except InputError as error:
                    raise InputError(f"{self.robot.name}: {shaft.name}: {error.message}") from None
                x[at_x : at_x + own], u[at_u : at_u + given] = proposed
            at_x, at_u = at_x + own, at_u + given
        if self.supply is not None:
            x[at_x:] = self.supply.equations.start(self.supply.data)
        return x, u

    def linear(
        self,
        point: OperatingPoint | None = None,
        outputs: Outputs = "encoders",
        directions: Directions = None,
    ) -> LinearSystem:
        """The linear system about a point (default: at rest at home).

        Outputs: 'encoders' the angles of the motors, 'joints' the positions of the joints, 'tool' the position of
        the tool in the base, 'states' all states.
        """
        at = self.operating_point(directions=directions) if point is None else point
        if np.ndim(at.x) != 1:
            raise ShapeError("a linear system is taken about one point; linearise() takes trajectories")
        _, A, B, _ = self._sloped(np.asarray(at.x), np.asarray(at.u), directions)
        C, names = self.measured(outputs, at.x)
        D = np.zeros((len(C), len(self.inputs)))
        return LinearSystem(
            A, B, C, D, self.states, self.inputs, names, self.robot.name, x0=np.array(at.x), u0=np.array(at.u)
        )

    def _sloped(self, x: Array, u: Array, directions: Directions) -> Linear:
        """``linearise``; an error where a rate has no derivative: a root at zero, an edge that just opens."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = self.linearise(x, u, directions)
        kinks = ~np.isfinite(found.f) | ~np.isfinite(np.hstack([found.A, found.B])).all(axis=1)
        if kinks.any():
            names = ", ".join(q.name for q, kink in zip(self.states, kinks, strict=True) if kink)
            raise UnsupportedError(
                f"{self.robot.name}: no linear model at this state: the rate of {names} has no derivative there; "
                "such is a valve without leakage at null, without flow; expected a state with flow, or null_leakage"
            )
        return found

    def measured(self, outputs: Outputs, x: Array) -> tuple[Array, tuple[Quantity, ...]]:
        """Rows over the state of a choice of outputs at x, and their names."""
        n = self.robot.n
        if outputs == "encoders":
            return self.angles, tuple(Quantity(f"{shaft.name}.encoder", shaft.unit) for shaft in self.shafts)
        if outputs == "joints":
            return np.eye(self.order)[:n], self.states[:n]
        if outputs == "tool":
            rows = np.zeros((3, self.order))
            rows[:, :n] = self.robot.jacob0(x[:n])[:3]
            return rows, tuple(Quantity(f"tool.{axis}", "m") for axis in "xyz")
        if outputs == "states":
            return np.eye(self.order), self.states
        raise ShapeError(f"outputs is '{outputs}'; expected encoders, joints, tool or states")

    @property
    def _working(self) -> list[int]:
        """Places of the actuators' states that an operating point is free to choose."""
        places, at = [], 2 * self.robot.n + 2 * len(self._elastic)
        for shaft in self.shafts:
            count = len(shaft.equations.states)
            places += [at + k for k in range(count) if k not in shaft.equations.idle]
            at += count
        return [*places, *range(at, self.order)]

    # --- internals --------------------------------------------------------------------------------
    @cached_property
    def _numbers(self) -> Numbers:
        return self.robot.numbers

    @cached_property
    def table(self) -> dict[str, float]:
        """Every number of the model, by name."""
        out = self._numbers.table(drives=True)
        if any(shaft.loss != 1.0 for shaft in self.shafts):
            stiff = [0.0 if s.elastic else s.rotor_inertia / s.loss for s in self.shafts]
            reflected = self.N.T @ (np.array(stiff)[:, None] * self.N)
            for i, j in np.ndindex(reflected.shape):
                out[f"Jr{i}_{j}"] = float(reflected[i, j])
        for i, curve in enumerate(self.frictions[len(self.shafts) :]):
            out[f"fq{i}_"] = curve.viscous
        for j, shaft in enumerate(self.shafts):
            out |= shaft.table(j)
        return out if self.supply is None else out | self.supply.table()

    def complete_model(self) -> CompleteModel:
        """The model on symbols, for programs and exports."""
        from servotwin.equations.derivation import Derivation

        return CompleteModel(Derivation(self._numbers, self.table), self.shafts, self.supply)

    def kernel(self, kind: str) -> Kernel:
        """The compiled kernel behind a method: rates, affine, linear or hessian."""
        found = self._kernels.get(kind)
        if found is None:
            width = 0 if kind == "rates" and self.order <= SIMD_STATES else 1
            found = self._kernels[kind] = kernel_of(
                f"state_space/{kind}/{form_of(self.shafts, self.supply)}",
                lambda: STATE_PROGRAMS[kind](self.complete_model()),
                self._numbers,
                self.table,
                version=_version(),
                width=width,
            )
        return found

    def _call(self, kind: str, x: Array, u: Array, d: Array, *more: Array) -> Any:
        n = self.robot.n
        q = self.robot.coordinates(x[..., :n]) if self.robot.closed else x[..., :n]
        return self.kernel(kind).call(q, x[..., n:], u, d, *more)

    def _joint_values(self, name: str, values: ArrayLike) -> Array:
        array = real_array(name, values)
        if array.shape != (self.robot.n,):
            listed = ", ".join(self.robot.joint_names)
            raise ShapeError(f"{name} has shape {array.shape}; expected ({self.robot.n},): {listed}")
        return array

    def _state(self, x: ArrayLike) -> Array:
        array = real_array("x", x)
        if array.shape[-1:] != (self.order,):
            listed = ", ".join(f"{q.name} [{q.unit}]" for q in self.states)
            raise ShapeError(f"x has shape {array.shape}; expected (..., {self.order}): {listed}")
        return array

    def _inputs(self, u: ArrayLike) -> Array:
        array = real_array("u", u)
        if array.shape[-1:] != (len(self.inputs),):
            listed = ", ".join(f"{q.name} [{q.unit}]" for q in self.inputs)
            raise ShapeError(f"u has shape {array.shape}; expected (..., {len(self.inputs)}): {listed}")
        return array


@cache
def _version() -> str:
    return source_digest("equations/state_space", "drives/table", given=["mechanism/model"])


def _scaled_lstsq(J: Array, rhs: Array) -> Array:
    """The shortest solution of J z = rhs in units in which rows and columns are alike."""
    rows = _inverse(np.abs(J).max(axis=1))
    scaled = rows[:, None] * J
    columns = _inverse(np.abs(scaled).max(axis=0))
    z = np.linalg.lstsq(scaled * columns, rows * rhs, rcond=1e-12)[0]
    return np.asarray(columns * z, dtype=np.float64)


def _inverse(sizes: Array) -> Array:
    """1/size; 0 for what has none, which is then left out."""
    return np.asarray(np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0.0))


def _least(J: Array) -> Array:
    return np.asarray(1e-9 * np.abs(J).max(axis=1))
