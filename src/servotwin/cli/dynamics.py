"""``servotwin rne``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from servotwin.cli.arguments import (
    load,
    outside_limits,
    read_accelerations,
    read_positions,
    read_quantities,
    read_velocities,
)
from servotwin.cli.output import (
    number,
    print_heading,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
)
from servotwin.description.nodes import quoted
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.report.labels import joint_units, plain, plain_unit, unit_key
from servotwin.robot.robot import Robot

PARTS = ("inertia", "velocity", "gravity", "external")
WRENCH = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


def rne(
    name: str,
    q_text: str,
    qd_text: str | None,
    qdd_text: str | None,
    payload: str | None,
    wrench: str | None,
    overrides: Sequence[str] | None,
    *,
    drives: bool,
    json: bool,
) -> None:
    """Print the joint torques of a motion and the parts they consist of."""
    robot = load(name, overrides)
    q = read_positions("--q", q_text, robot)
    qd = read_velocities("--qd", qd_text, robot)
    qdd = read_accelerations("--qdd", qdd_text, robot)
    f_ext = None if wrench is None else read_quantities("--wrench", wrench, WRENCH, ("N",) * 3 + ("N*m",) * 3)
    if payload is not None:
        robot = _loaded(robot, payload)
    with working("computing"):
        terms = _terms(robot, q, qd, qdd, f_ext, drives)
        M = robot.inertia(q, drives=drives)
    beyond = outside_limits(robot, q)
    if json:
        joints = [_joint_data(robot, i, q, qd, qdd, terms) for i in range(robot.n)]
        units = _matrix_units(robot)
        print_json(
            {"robot": robot.name, "drives": drives, "joints": joints, "outside_limits": beyond}
            | {"mass_matrix": plain(M), "mass_matrix_units": units}
        )
        return
    _print_torques(robot, terms, drives)
    _print_mass_matrix(robot, M, drives)
    if beyond:
        print_note(f"note: outside the limits: {', '.join(beyond)}")


def _loaded(robot: Robot, text: str) -> Robot:
    """The robot with the payload of ``--payload``: a mass, or a mass and its centre."""
    items = text.split(",")
    if len(items) not in (1, 4):
        raise InputError(
            f"{quoted(text)}; expected a mass, '4 kg', or a mass and its centre, '4 kg, 0 mm, 0 mm, 50 mm'",
            field="--payload",
        )
    names = ("mass", "x", "y", "z")[: len(items)]
    values = read_quantities("--payload", text, names, ("kg", "m", "m", "m")[: len(items)])
    if values[0] < 0.0:
        raise InputError(f"{quoted(items[0])} is negative; expected zero or more", field="--payload")
    return robot.with_payload(float(values[0]), values[1:] if len(items) == 4 else (0.0, 0.0, 0.0))


def _terms(
    robot: Robot, q: Array, qd: Array, qdd: Array, f_ext: Array | None, drives: bool
) -> dict[str, Array]:
    """The whole torque and its parts, each (n,): tau = M qdd + C qd + g - J^T f."""
    rest = np.zeros(robot.n)
    gravity = robot.gravload(q)
    bias = robot.rne(q, qd, rest)
    without = robot.rne(q, qd, qdd, drives=drives)
    total = without if f_ext is None else robot.rne(q, qd, qdd, f_ext, drives=drives)
    parts = (without - bias, bias - gravity, gravity, total - without)
    return {"effort": total, **dict(zip(PARTS, parts, strict=True))}


def _joint_data(
    robot: Robot, i: int, q: Array, qd: Array, qdd: Array, terms: dict[str, Array]
) -> dict[str, Any]:
    unit = joint_units(robot.joint_units[i])
    data: dict[str, Any] = {
        "name": robot.joint_names[i],
        unit_key("position", unit.position): float(q[i]),
        unit_key("velocity", unit.speed): float(qd[i]),
        unit_key("acceleration", unit.acceleration): float(qdd[i]),
    }
    for part, values in terms.items():
        name = part if part == "effort" else f"{part}_effort"
        data[unit_key(name, unit.effort)] = plain(values[i])
    return data


def _print_torques(robot: Robot, terms: dict[str, Array], drives: bool) -> None:
    print_line(f"{robot.name}: {robot.title}")
    rows = []
    for i, name in enumerate(robot.joint_names):
        effort = plain_unit(joint_units(robot.joint_units[i]).effort)
        rows.append((name, effort, *(number(_clean(terms, key)[i], 6) for key in terms)))
    total = "torque" if "m" not in robot.joint_units else "torque or force"
    print_table(("joint", "unit", total, *PARTS), rows, text_columns=2)
    if drives:
        print_line("  inertia includes the rotors behind the gears")


def _clean(terms: dict[str, Array], key: str) -> Array:
    """A part of the torque without the rounding dust that the difference of two torques leaves."""
    scale = np.max(np.abs([terms["effort"], terms["gravity"], terms["inertia"]]), axis=0)
    return np.where(np.abs(terms[key]) < 1e-12 * scale, 0.0, terms[key])


def _matrix_units(robot: Robot) -> list[list[str]]:
    """Unit of every entry of the mass matrix."""
    by_slides = {0: "kg m2", 1: "kg m", 2: "kg"}
    slides = [unit == "m" for unit in robot.joint_units]
    return [[by_slides[a + b] for b in slides] for a in slides]


def _print_mass_matrix(robot: Robot, M: Array, drives: bool) -> None:
    mixed = "kg m2; kg m and kg where joints slide" if "m" in robot.joint_units else "kg m2"
    print_heading(f"Mass matrix [{mixed}]")
    rows = [(name, *(number(x) for x in row)) for name, row in zip(robot.joint_names, M, strict=True)]
    print_table(("", *robot.joint_names), rows)
