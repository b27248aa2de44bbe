"""The first engine: dynamics as generated machine code, one kernel per question."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.dynamics.forward import NoInertiaError
from servotwin.dynamics.partition import solve_partly
from servotwin.equations.derivation import Numbers
from servotwin.errors import InputError, UnsupportedError
from servotwin.kernels.kernel_store import Kernel, kernel
from servotwin.mechanism.model import Array, BoolArray, Mechanism


class GraphEngine:
    """Kernels of an open or coupled mechanism, compiled at first use. Arguments have shape (..., n)."""

    name = "graph"

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.numbers = Numbers.of(mechanism)
        self._kernels: dict[tuple[str, str | None, bool], Kernel] = {}
        self._rne: Any = None
        self._inertia: Any = None
        self._accel: Any = None

    def kernel(self, kind: str, *, frame: str | None = None, drives: bool = False) -> Kernel:
        """The compiled kernel behind a method, with its operation count."""
        found = self._kernels.get((kind, frame, drives))
        if found is None:
            found = kernel(kind, self.numbers, frame=frame, drives=drives)
            self._kernels[kind, frame, drives] = found
        return found

    def rne(self, q: Any, qd: Any, qdd: Any, drives: bool) -> Array:
        """Inverse dynamics."""
        if drives:
            return self.kernel("rne", drives=True).call(q, qd, qdd)  # type: ignore[no-any-return]
        if self._rne is None:
            self._rne = self.kernel("rne").call
        return self._rne(q, qd, qdd)  # type: ignore[no-any-return]

    def inertia(self, q: Any, drives: bool) -> Array:
        """Mass matrix."""
        if drives:
            return self.kernel("inertia", drives=True).call(q)  # type: ignore[no-any-return]
        if self._inertia is None:
            self._inertia = self.kernel("inertia").call
        return self._inertia(q)  # type: ignore[no-any-return]

    def accel(self, q: Any, qd: Any, tau: Any, drives: bool) -> Array:
        """Forward dynamics."""
        if self._accel is not None and not drives:
            return self._accel(q, qd, tau)  # type: ignore[no-any-return]
        try:
            call = self.kernel("accel", drives=drives).call
        except NoInertiaError as error:
            raise self._no_inertia(error.joint) from None
        qdd: Array = call(q, qd, tau)
        if not np.isfinite(qdd).all() and all(np.isfinite(np.asarray(a)).all() for a in (q, qd, tau)):
            from servotwin.description.fields import FARTHEST  # loads pydantic: only for a refusal

            if (np.abs(np.asarray(q, dtype=np.float64)) > FARTHEST).any():
                text = f"{self.mechanism.name}: q is too large; expected at most {FARTHEST:g} rad or m either way"
                raise InputError(text)
            raise self._no_inertia(None)
        if not drives:
            self._accel = call  # it has shown that the mass matrix can be factored
        return qdd

    def _no_inertia(self, joint: int | None) -> UnsupportedError:
        which = "some joint" if joint is None else f"joint '{self.mechanism.joint_names[joint]}'"
        return UnsupportedError(
            f"{self.mechanism.name}: {which} moves no inertia, so a torque does not fix its acceleration; "
            "give the links it carries a mass and an extent, or count the rotors with drives=True"
        )

    def coriolis(self, q: Any, qd: Any) -> Array:
        """Coriolis matrix."""
        return self.kernel("coriolis").call(q, qd)  # type: ignore[no-any-return]

    def gravload(self, q: Any) -> Array:
        """Gravity torque."""
        return self.kernel("gravload").call(q)  # type: ignore[no-any-return]

    def hybrid(
        self, q: Any, qd: Any, tau: Array, qdd: Array, given_tau: BoolArray, drives: bool
    ) -> tuple[Array, Array]:
        """Torques and accelerations from some of each, through the partitioned mass matrix."""
        h = self.rne(q, qd, np.zeros(self.mechanism.n_q), drives)
        return solve_partly(self.inertia(q, drives), h, tau, qdd, given_tau)

    def energy(self, q: Any, qd: Any) -> tuple[Array, Array]:
        """Kinetic and potential energy."""
        both = self.kernel("energy").call(q, qd)
        return both[..., 0], both[..., 1]

    def fkine(self, q: Any, frame: str) -> Array:
        """Pose of a frame."""
        return self.kernel("fkine", frame=frame).call(q)  # type: ignore[no-any-return]

    def fkine_all(self, q: Any) -> dict[str, Array]:
        """Poses of all frames."""
        q = np.asarray(q, dtype=np.float64)
        bodies = self.kernel("fkine_all").call(q) if self.mechanism.n_tree else None
        poses = {}
        for name, (body, X) in self.numbers.frames.items():
            base = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
            poses[name] = (base if body < 0 or bodies is None else bodies[..., body, :, :]) @ X
        return poses

    def jacob0(self, q: Any, frame: str) -> Array:
        """Jacobian in base axes."""
        return self.kernel("jacob0", frame=frame).call(q)  # type: ignore[no-any-return]

    def jacob0_dot(self, q: Any, qd: Any, frame: str) -> Array:
        """Time derivative of the Jacobian."""
        return self.kernel("jacob0_dot", frame=frame).call(q, qd)  # type: ignore[no-any-return]
