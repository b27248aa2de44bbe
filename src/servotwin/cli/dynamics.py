"""``servotwin rne``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from servotwin.cli.arguments import (
    load,
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
from servotwin.report.labels import joint_units, plain_unit
from servotwin.workbench.torques import PARTS

if TYPE_CHECKING:
    from servotwin.workbench.torques import Torques

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
    mass, centre = (None, (0.0, 0.0, 0.0)) if payload is None else _payload(payload)
    with working("computing"):
        from servotwin.workbench.torques import rne as run

        found = run(
            robot, q, qd, qdd, payload=mass, payload_centre=centre, wrench=f_ext, drives=drives
        )  # fmt: skip
    if json:
        print_json(found.data())
        return
    _print_torques(found)
    _print_mass_matrix(found)
    if found.outside_limits:
        print_note(f"note: outside the limits: {', '.join(found.outside_limits)}")


def _payload(text: str) -> tuple[float, tuple[float, ...]]:
    """The payload of ``--payload``: a mass [kg] and its centre (3,) [m], in the tool frame's origin if left out."""
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
    return float(values[0]), tuple(map(float, values[1:])) if len(items) == 4 else (0.0, 0.0, 0.0)


def _print_torques(found: Torques) -> None:
    robot = found.robot
    print_line(f"{robot.name}: {robot.title}")
    rows = []
    for i, name in enumerate(robot.joint_names):
        effort = plain_unit(joint_units(robot.joint_units[i]).effort)
        rows.append((name, effort, *(number(found.without_dust(key)[i], 6) for key in found.terms)))
    total = "torque" if "m" not in robot.joint_units else "torque or force"
    print_table(("joint", "unit", total, *PARTS), rows, text_columns=2)
    if found.drives:
        print_line("  inertia includes the rotors behind the gears")


def _print_mass_matrix(found: Torques) -> None:
    robot, M = found.robot, found.mass_matrix
    mixed = "kg m2; kg m and kg where joints slide" if "m" in robot.joint_units else "kg m2"
    print_heading(f"Mass matrix [{mixed}]")
    rows = [(name, *(number(x) for x in row)) for name, row in zip(robot.joint_names, M, strict=True)]
    print_table(("", *robot.joint_names), rows)
