"""Closed chains: kernels of the opened tree with its loop closures, in the actuated joints (eq:closed)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from servotwin.dynamics.forward import NoInertiaError
from servotwin.dynamics.partition import solve_partly
from servotwin.equations.derivation import Cut, Numbers
from servotwin.errors import InputError, KinematicsError, UnsupportedError
from servotwin.kernels.closure_path import EVALUATIONS, make_walk
from servotwin.kernels.kernel_store import Kernel, kernel
from servotwin.mechanism.model import Array, BoolArray, Mechanism
from servotwin.robot.arguments import position_text
from servotwin.robot.closure import Closure, Loops, analyse, displaced, independent_rows, size_of
from servotwin.robot.graph_engine import GraphEngine

SIMD_COORDINATES = 12  # beyond this many coordinates kernels are compiled without their SIMD version
TURN = 2 * np.pi
MOST_TURNS = 1e6  # beyond, an angle has lost the digits that closing loops needs
HELD = 1e-3  # least over largest singular value of S_p above which all equations together hold a point well
ON_LOOPS = (
    1e-2  # gap, relative to the size, beyond which a point is not meant to close the loops (trial steps do)
)


class ClosedEngine:
    """Kinematics and dynamics of a closed chain. Arguments have shape (..., n), actuated joints only.

    x are all free coordinates (..., n_x), the actuated joints first.
    """

    name = "closed"

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.n = mechanism.n_q
        self.n_x = self.n + len(mechanism.passive_names)
        self.size = size_of(mechanism)
        self.tree = GraphEngine(mechanism.opened)
        self.every_row = False  # some positions need other equations than those chosen around home
        self._kernels: dict[tuple[str, str | None, bool, tuple[int, ...] | None], Kernel] = {}
        self._walk: Any = None

    # --- kernels ----------------------------------------------------------------------------------
    @cached_property
    def loops(self) -> Loops:
        """All closures as functions of x, redundant ones included."""
        numbers = self._numbers(())
        gap, gradient = (_quiet(kernel(f"closed_{kind}", numbers, width=1)) for kind in ("gap", "gradient"))
        return Loops(self.mechanism, gap, gradient, self.tree.fkine_all)

    @cached_property
    def closure(self) -> Closure:
        """Assembly at home, independent equations and mobility."""
        nominal = self.mechanism.nominal
        if nominal is None:
            return analyse(self.loops)
        drawn = nominal.with_(q_home=self.mechanism.q_home, passive_home=self.mechanism.passive_home)
        return displaced(self.loops, ClosedEngine(drawn).closure)

    @property
    def rows(self) -> tuple[int, ...]:
        """The closures that are used."""
        return tuple(range(len(self.closure.names))) if self.every_row else self.closure.rows

    @cached_property
    def numbers(self) -> Numbers:
        """Numbers of the opened tree and the closures in use."""
        return self._numbers(self.rows)

    def _numbers(self, rows: tuple[int, ...]) -> Numbers:
        loops = tuple((loop.kind, loop.frame_a, loop.frame_b) for loop in self.mechanism.loops)
        return Numbers.of(self.mechanism.opened, Cut(loops, rows, self.n), reflected=self.mechanism.rotors)

    def kernel(
        self,
        kind: str,
        *,
        frame: str | None = None,
        drives: bool = False,
        rows: tuple[int, ...] | None = None,
    ) -> Kernel:
        """The compiled kernel behind a method; ``rows`` uses other closures than usual."""
        key = (kind, frame, drives, rows)
        found = self._kernels.get(key)
        if found is None:
            numbers = self.numbers if rows is None else self._numbers(rows)
            # the walk evaluates one point at a time; SIMD code of many coordinates takes seconds to compile
            width = 1 if kind == "track" or self.n_x > SIMD_COORDINATES else 0
            try:
                found = kernel(f"closed_{kind}", numbers, frame=frame, drives=drives, width=width)
            except NoInertiaError as error:
                raise self._no_inertia(error.joint) from None
            self._kernels[key] = found
        return found

    def call(
        self,
        kind: str,
        *arguments: Any,
        frame: str | None = None,
        drives: bool = False,
        rows: tuple[int, ...] | None = None,
    ) -> Array:
        """A kernel's result; what is not finite in it raises, with the reason."""
        run = self.kernel(kind, frame=frame, drives=drives, rows=rows).call
        with np.errstate(all="ignore"):
            out: Array = run(*arguments)
        if not np.isfinite(out).all():
            self._refuse_infinite(kind, arguments)
        return out

    # --- closure ----------------------------------------------------------------------------------
    def full(self, q: Any) -> Array:
        """All free coordinates (..., n_x) at q, on the assembly branch of the home pose."""
        if self.full_turn is not None:
            return self._wound_back(np.asarray(q, dtype=np.float64), self.full_turn)
        return self._walked(q)

    def _walked(self, q: Any) -> Array:
        if self._walk is None:
            self._walk = make_walk(self.kernel("track"), self.closure.x_home, self.n)
        with np.errstate(all="ignore"):
            x, part = self._walk(q)
        if (part < 1.0).any():
            if self._needs_every_row(x, part):
                return self._walked(q)
            self._refuse(np.asarray(q, dtype=np.float64), x, part)
        return x  # type: ignore[no-any-return]

    @cached_property
    def full_turn(self) -> Array | None:
        """What a full turn of a single crank adds to x (n_x,), if it leads back to the same assembly."""
        home = self.closure.x_home
        if self.n != 1 or self.mechanism.prismatic[self.mechanism.coupling.G[:, 0] != 0].any():
            return None
        try:
            turn = self._walked(home[:1] + TURN) - home
        except KinematicsError:
            return None
        whole = TURN * np.round(turn / TURN)
        moved = (self.mechanism.coupling.G @ whole) / TURN
        back = np.abs(turn - whole).max() < 1e-9 and np.abs(moved - np.round(moved)).max() < 1e-12
        return whole if back and not moved[self.mechanism.prismatic].any() else None

    def _wound_back(self, q: Array, turn: Array) -> Array:
        """Walk less than half a turn from home; the full turns that were left out are added afterwards."""
        if not (np.abs(q) < MOST_TURNS * TURN).all():
            return self._walked(q)  # which says why not
        turns = np.round((q - self.closure.x_home[:1]) / TURN)
        x = self._walked(q - TURN * turns) + turns * turn
        x[..., :1] = q
        return x

    def _needs_every_row(self, x: Array, part: Array) -> bool:
        """Take all equations into use if the chosen ones fail where all of them together do not."""
        if self.every_row or not self.closure.dropped or self.mechanism.nominal is not None:
            return False  # of a robot as built, not all equations can be met
        for point in x[part < 1.0].reshape(-1, self.n_x):
            S_p = self.loops.gradient(point)[:, self.n :]
            every, chosen = (np.linalg.svd(S, compute_uv=False) for S in (S_p, S_p[list(self.rows)]))
            if every[-1] > HELD * every[0] and chosen[-1] < HELD * HELD * every[-1]:
                self.every_row = True
                self._kernels.clear()
                self._walk = None
                self.__dict__.pop("numbers", None)
                return True
        return False

    def _refuse(self, q: Array, x: Array, part: Array) -> NoReturn:
        name = self.mechanism.name
        at = int(np.flatnonzero(part.ravel() < 1.0)[0])
        wanted, last = q.reshape(-1, self.n)[at], x.reshape(-1, self.n_x)[at]
        if not (np.abs(wanted) < MOST_TURNS * TURN).all():
            what = "too large" if np.isfinite(wanted).all() else "not finite"
            raise InputError(f"{name}: q is {what}: {self._text(wanted)}")
        if np.abs(wanted - last[: self.n]).max() < 1e-4:
            raise KinematicsError(
                f"{name}: singular near {self._text(wanted)}: "
                "the actuated joints do not determine the passive ones, nor the torques"
            )
        reached = self._text(last[: self.n])
        values = np.linalg.svd(self.loops.gradient(last)[list(self.rows), self.n :], compute_uv=False)
        if values[-1] > HELD * values[0]:
            raise KinematicsError(
                f"{name}: {self._text(wanted)} is too far from home: {reached} was reached in {EVALUATIONS} steps"
            )
        raise KinematicsError(
            f"{name}: the loops do not close at {self._text(wanted)}: on the way from home they reach "
            f"{reached}, where the actuated joints no longer move the passive ones"
        )

    def _text(self, q: Array) -> str:
        kinds = dict(zip(self.mechanism.tree_joint_names, self.mechanism.prismatic, strict=True))
        names = self.mechanism.joint_names
        return position_text(q, names, [bool(kinds[name]) for name in names])

    def _refuse_infinite(self, kind: str, arguments: tuple[Any, ...]) -> NoReturn:
        names = INPUTS.get(kind, ())
        for name, value in zip(names, arguments, strict=False):
            if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
                raise InputError(f"{self.mechanism.name}: {name} is not finite")
        if kind in {"accel", "forward"}:
            raise self._no_inertia(None)
        raise KinematicsError(
            f"{self.mechanism.name}: {kind} is not determined at this position: it is singular"
        )

    def _no_inertia(self, joint: int | None) -> UnsupportedError:
        names = self.mechanism.joint_names + self.mechanism.passive_names
        which = "some joint" if joint is None or joint >= len(names) else f"joint '{names[joint]}'"
        return UnsupportedError(
            f"{self.mechanism.name}: {which} moves no inertia, so a torque does not fix its acceleration; "
            "give the links it carries a mass and an extent, or count the rotors with drives=True"
        )

    def require_closed(self, x: Array) -> None:
        """Complain about coordinates that do not close the loops."""
        gap = np.abs(self.loops.gap(x))
        if not np.isfinite(gap).all():
            raise InputError(f"{self.mechanism.name}: x is not finite, or too large")
        if gap.max(initial=0.0) > ON_LOOPS * self.size:
            worst = self.closure.names[int(gap.reshape(-1, gap.shape[-1]).max(axis=0).argmax())]
            raise KinematicsError(
                f"{self.mechanism.name}: x does not close the loops: {gap.max():.3g} is left at '{worst}'; "
                "bring it onto them with project(x, xd)"
            )

    def singularity(self, q: Any) -> tuple[Array, Array]:
        """(passive, platform) measures (...): 0 at a singularity, 1 at best.

        ``passive``: least over largest singular value of S_p; ``platform``: the same of the tool's Jacobian,
        lengths in sizes of the mechanism, and at most its least singular value (a tool that stands still).
        """
        x = self.full(q)
        S_p = self.loops.gradient(x)[..., list(self.rows), self.n :]
        passive = np.linalg.svd(S_p, compute_uv=False)
        J = self.jacob0(q, self.mechanism.tool)
        J[..., :3, :] /= self.size
        tool = np.linalg.svd(J, compute_uv=False)[..., : min(6, self.n)]
        return passive[..., -1] / passive[..., 0], tool[..., -1] / np.maximum(tool[..., 0], 1.0)

    def project(self, x: Array, xd: Array) -> tuple[Array, Array]:
        """The nearest point that closes the loops, and the nearest rates that keep them closed."""
        rows = self._rows_at(x)
        if not (np.abs(x) < MOST_TURNS * TURN).all():
            raise InputError(f"{self.mechanism.name}: x is not finite, or too large")
        for _ in range(25):
            gap = np.abs(self.loops.gap(x)).max(initial=0.0)
            both = self.call("project", x, xd, rows=rows)
            moved = both[..., 0, :]
            if gap < 1e-15 * self.size or np.abs(moved - x).max(initial=0.0) < 1e-14:
                return moved, both[..., 1, :]
            if not np.abs(moved - x).max(initial=0.0) < 1.0:
                break
            x = moved
        raise KinematicsError(
            f"{self.mechanism.name}: x is too far from closed loops to be brought onto them: {gap:.3g} is left"
        )

    # --- dynamics ---------------------------------------------------------------------------------
    def rne(self, q: Any, qd: Any, qdd: Any, drives: bool) -> Array:
        """Inverse dynamics."""
        return self.call("rne", self.full(q), qd, qdd, drives=drives)

    def inertia(self, q: Any, drives: bool) -> Array:
        """Mass matrix felt at the actuated joints."""
        return self.call("inertia", self.full(q), drives=drives)

    def coriolis(self, q: Any, qd: Any) -> Array:
        """Coriolis matrix."""
        return self.call("coriolis", self.full(q), qd)

    def gravload(self, q: Any) -> Array:
        """Gravity torque."""
        return self.call("gravload", self.full(q))

    def accel(self, q: Any, qd: Any, tau: Any, drives: bool) -> Array:
        """Forward dynamics."""
        return self.call("accel", self.full(q), qd, tau, drives=drives)

    def forward(self, x: Any, xd: Any, tau: Any, drives: bool) -> tuple[Array, Array]:
        """Accelerations (..., n_x) and wrenches at the cuts (..., n_loops, 6), also where q does not determine x."""
        rows = self._rows_at(x)
        both = self.call("forward", x, xd, tau, drives=drives, rows=rows)
        return both[..., : self.n_x], self.call("wrenches", x, both[..., self.n_x :], rows=rows)

    def _rows_at(self, x: Array) -> tuple[int, ...] | None:
        """Closures that are independent at these points; None for the usual ones."""
        if not self.every_row:
            return None
        gradients = list(self.loops.gradient(x).reshape(-1, len(self.closure.names), self.n_x))
        return independent_rows(gradients, self.n_x - self.n)

    def hybrid(
        self, q: Any, qd: Any, tau: Array, qdd: Array, given_tau: BoolArray, drives: bool
    ) -> tuple[Array, Array]:
        """Torques and accelerations from some of each."""
        h = self.rne(q, qd, np.zeros(self.n), drives)
        return solve_partly(self.inertia(q, drives), h, tau, qdd, given_tau)

    def energy(self, q: Any, qd: Any) -> tuple[Array, Array]:
        """Kinetic and potential energy."""
        return self.energy_at(self.full(q), qd)

    def energy_at(self, x: Any, qd: Any) -> tuple[Array, Array]:
        """The same from all coordinates."""
        both = self.call("energy", x, qd)
        return both[..., 0], both[..., 1]

    def wrenches(self, q: Any, qd: Any, qdd: Any) -> Array:
        """Force and moment at every cut (..., n_loops, 6), see ``equations.closed_programs``."""
        x = self.full(q)
        return self.call("wrenches", x, self.call("multipliers", x, qd, qdd))

    def motion(self, q: Any, qd: Any, qdd: Any) -> tuple[Array, Array, Array]:
        """(x, xd, xdd) of all free coordinates."""
        x = self.full(q)
        both = self.call("motion", x, qd, qdd)
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
        return self.call("jacob0", self.full(q), frame=frame)

    def jacob0_dot(self, q: Any, qd: Any, frame: str) -> Array:
        """Time derivative of the Jacobian."""
        return self.call("jacob0_dot", self.full(q), qd, frame=frame)


INPUTS = {  # what the arguments of a kernel are called, for messages
    "rne": ("x", "qd", "qdd"),
    "accel": ("x", "qd", "tau"),
    "coriolis": ("x", "qd"),
    "energy": ("x", "qd"),
    "forward": ("x", "xd", "tau"),
    "multipliers": ("x", "qd", "qdd"),
    "motion": ("x", "qd", "qdd"),
    "project": ("x", "xd"),
    "jacob0_dot": ("x", "qd"),
}


def _quiet(made: Kernel) -> Callable[[Array], Array]:
    """A kernel without NumPy's warnings: callers look at what comes out."""

    def call(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return made.call(x)  # type: ignore[no-any-return]

    return call
