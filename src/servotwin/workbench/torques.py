"""``st.rne``: joint torques of a motion, and the parts that they consist of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.report.labels import joint_units, plain, unit_key
from servotwin.robot.robot import Robot
from servotwin.workbench.quantities import outside_limits, positions_of, robot_of

PARTS = ("inertia", "velocity", "gravity", "external")


@dataclass(frozen=True)
class Torques(Plots, Tabulates, Reports, ShowsItself):
    """Joint torques ``effort`` (n,) [N m, N] of a motion; ``parts`` sum up to it: tau = M qdd + C qd + g - J^T f."""

    robot: Robot
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    parts: dict[str, Array]
    mass_matrix: Array
    drives: bool

    @property
    def outside_limits(self) -> list[str]:
        """Joints and quantities beyond their limits."""
        return outside_limits(self.robot, self.q)

    @property
    def terms(self) -> dict[str, Array]:
        """The whole torque and its parts by name."""
        return {"effort": self.effort, **self.parts}

    def without_dust(self, key: str) -> Array:
        """A part of the torque without the rounding dust that the difference of two torques leaves."""
        scale = np.max(np.abs([self.effort, self.parts["gravity"], self.parts["inertia"]]), axis=0)
        return np.where(np.abs(self.terms[key]) < 1e-12 * scale, 0.0, self.terms[key])

    def rows(self) -> list[dict[str, Any]]:
        """Torque and parts of every joint."""
        return [
            {
                "joint": name,
                "unit": joint_units(self.robot.joint_units[i]).effort,
                **{key: float(self.without_dust(key)[i]) for key in self.terms},
            }
            for i, name in enumerate(self.robot.joint_names)
        ]

    def mass_matrix_units(self) -> list[list[str]]:
        """Unit of every entry of the mass matrix."""
        by_slides = {0: "kg m2", 1: "kg m", 2: "kg"}
        slides = [unit == "m" for unit in self.robot.joint_units]
        return [[by_slides[a + b] for b in slides] for a in slides]

    def data(self) -> dict[str, Any]:
        """Everything as plain data, units in the keys."""
        return {
            "robot": self.robot.name,
            "drives": self.drives,
            "joints": [self._joint(i) for i in range(self.robot.n)],
            "outside_limits": self.outside_limits,
            "mass_matrix": plain(self.mass_matrix),
            "mass_matrix_units": self.mass_matrix_units(),
        }

    def _joint(self, i: int) -> dict[str, Any]:
        unit = joint_units(self.robot.joint_units[i])
        data: dict[str, Any] = {
            "name": self.robot.joint_names[i],
            unit_key("position", unit.position): float(self.q[i]),
            unit_key("velocity", unit.speed): float(self.qd[i]),
            unit_key("acceleration", unit.acceleration): float(self.qdd[i]),
        }
        for part, values in self.terms.items():
            name = part if part == "effort" else f"{part}_effort"
            data[unit_key(name, unit.effort)] = plain(values[i])
        return data


def rne(
    robot: Robot | str | Path,
    q: ArrayLike | str,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    payload: float | None = None,
    payload_centre: ArrayLike = (0.0, 0.0, 0.0),
    wrench: ArrayLike | None = None,
    drives: bool = False,
    overrides: Mapping[str, str] | None = None,
) -> Torques:
    """Joint torques (n,) [N m, N] that a motion q, qd, qdd (n,) needs, with their parts.

    ``payload``: a further mass [kg] at ``payload_centre`` (3,) [m] in the tool frame; ``wrench`` (6,): force [N] and
    moment [N m] on the tool in base axes; ``drives``: with the rotors behind the gears.

    >>> import servotwin as st
    >>> st.rne("met-two-link", [0.0, 0.0], qdd=[1.0, 0.0]).parts["inertia"].round(2).tolist()
    [50.59, 11.12]
    """
    model = robot_of(robot, overrides)
    at = positions_of(q, model)
    rest = np.zeros(model.n)
    speed, acceleration = (
        rest if given is None else positions_of(given, model, name)
        for given, name in ((qd, "qd"), (qdd, "qdd"))
    )
    if payload is not None:
        if payload < 0.0:
            raise InputError(f"{payload:g} kg is negative; expected zero or more", field="payload")
        model = model.with_payload(payload, payload_centre)
    gravity, bias = model.gravload(at), model.rne(at, speed, rest)
    without = model.rne(at, speed, acceleration, drives=drives)
    total = without if wrench is None else model.rne(at, speed, acceleration, wrench, drives=drives)
    parts = (without - bias, bias - gravity, gravity, total - without)
    return Torques(
        model, at, speed, acceleration, total, dict(zip(PARTS, parts, strict=True)),
        model.inertia(at, drives=drives), drives,
    )  # fmt: skip
