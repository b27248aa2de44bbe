"""``servotwin statics``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from servotwin.cli.arguments import (
    outside_limits,
    read_overrides,
    read_positions,
    read_quantities,
    read_quantity,
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
from servotwin.cli.signals import finishing
from servotwin.description.display import DEG, MM
from servotwin.description.nodes import one_line, quoted
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.design.statics import Statics
    from servotwin.mechanism.model import Array
    from servotwin.robot.robot import Robot


def statics(
    name: str,
    overrides: Sequence[str] | None,
    *,
    q: str | None,
    xyz: str | None,
    rpy: str | None,
    force: str | None,
    moment: str | None,
    payload: str | None,
    stiffness: Sequence[str] | None,
    frame: str | None,
    out: str | None,
    overwrite: bool,
    json: bool,
) -> None:
    """Print what a pose is like under a force, or write it with its picture."""
    if q is not None and xyz is not None:
        raise InputError("--q and --xyz exclude each other; give one of them", field="--q")
    if rpy is not None and xyz is None:
        raise InputError("--rpy turns the tool at a place; expected --xyz beside it", field="--rpy")
    changes = read_overrides(overrides)
    axes = ("x", "y", "z")
    F = np.zeros(3) if force is None else read_quantities("--force", force, axes, ("N",) * 3)
    m = np.zeros(3) if moment is None else read_quantities("--moment", moment, axes, ("N*m",) * 3)
    mass = None if payload is None else read_quantity("--payload", payload, "kg", example="20 kg")
    with ExitStack() as claimed:
        if out is not None:
            from servotwin.simulation.results.folder import STATICS_FILES, claimed_folder

            claimed.enter_context(claimed_folder(out, STATICS_FILES, overwrite=overwrite))
        with working(f"computing {one_line(name)}"):
            from servotwin.description.load import read_description
            from servotwin.design.statics import statics as run
            from servotwin.robot.complete_model import robot_of

            description = read_description(name, changes)
            robot = robot_of(description)
            place = _place(robot, q, xyz, rpy, frame)
            found = run(
                description, place, force=F, moment=m, frame=frame, payload=mass,
                stiffness=_stiffness(stiffness, robot),
            )  # fmt: skip
    places = {}
    if out is not None:
        from servotwin.report.statics_page import write_statics

        with working("drawing"), finishing():
            places = write_statics(found, out, overwrite=overwrite)
    if json:
        print_json({**places, **found.summary(), "outside_limits": outside_limits(robot, found.q)})
        return
    _print(found)
    for what, where in places.items():
        print_line(f"{what + ':':<9}{where}")
    for note in found.notes:
        print_note(f"note: {note}")
    beyond = outside_limits(robot, found.q)
    if beyond:
        print_note(f"note: outside the limits: {', '.join(beyond)}")
    if found.singular:
        print_note(
            "warning: singular: a direction of the tool is lost, and torques do not determine forces along it"
        )


def _place(robot: Robot, q: str | None, xyz: str | None, rpy: str | None, frame: str | None) -> Array | None:
    if xyz is None:
        return None if q is None else read_positions("--q", q, robot)
    from servotwin.mechanism.spatial import rot_rpy, transform

    p = read_quantities("--xyz", xyz, ("x", "y", "z"), ("m",) * 3)
    home = robot.fkine(robot.q_home, frame)[:3, :3]
    angles = None if rpy is None else read_quantities("--rpy", rpy, ("roll", "pitch", "yaw"), ("rad",) * 3)
    turn = home if angles is None else rot_rpy((angles[0], angles[1], angles[2]))
    return robot.ikine(transform(turn, p), frame=frame)


def _stiffness(texts: Sequence[str] | None, robot: Robot) -> dict[str, float]:
    """Stiffness of actuators by name."""
    found = {}
    units = dict(zip(robot.joint_names, robot.joint_units, strict=True))
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(
                f"{quoted(text)} is not name=value, such as th2=2e5 N*m/rad", field="--stiffness"
            )
        unit = "N/m" if units.get(name.strip()) == "m" else "N*m/rad"
        found[name.strip()] = read_quantity(
            "--stiffness", value, unit, name=name.strip(), example=f"2e5 {unit}"
        )
    return found


def _print(found: Statics) -> None:
    from servotwin.design.statics import actuator_units, without_noise

    robot = found.robot
    at = ", ".join(f"{MM * v:.1f}" for v in found.pose[:3, 3])
    load = "" if found.payload is None else f", payload {found.payload:g} kg in all"
    print_line(f"{robot.name}: '{found.frame}' at ({at}) mm{load}")
    turning = [unit == "rad" for unit in robot.joint_units]
    factors = [DEG if turns else MM for turns in turning]
    print_heading("Joints")
    rows = [
        (
            name, f"{factor * angle:.4f}", "deg" if turns else "mm", number(g, 5), number(f, 5), number(g + f, 5),
            "N*m" if turns else "N",
        )
        for name, factor, angle, turns, g, f in zip(
            robot.joint_names, factors, found.q, turning, without_noise(found.tau_gravity),
            without_noise(found.tau_force), strict=True
        )
    ]  # fmt: skip
    print_table(("joint", "position", "", "weight", "force", "sum", ""), rows)
    if not np.array_equal(found.tau_actuator, found.tau):
        print_heading("Actuators, behind their gears")
        print_table(
            ("actuator", "torque", ""),
            [
                (name, number(tau, 5), "N*m" if unit == "rad" else "N")
                for name, tau, unit in zip(
                    found.actuator_names,
                    without_noise(found.tau_actuator),
                    actuator_units(robot),
                    strict=True,
                )
            ],
        )
    if found.limits:
        print_heading("Share of torque limits, at rest")
        print_table(("limit", "share [%]"), [(n, f"{100.0 * v:.1f}") for n, v in found.limits.items()])
    values = ", ".join(number(v, 4) for v in without_noise(found.singular_values))
    print_line(
        f"singular values {values}; manipulability {number(found.plane_manipulability, 4)}; "
        f"least over largest {number(found.conditioning, 4)}"
    )
    _print_ellipsoids(found)
    if found.quantities:
        lengths = dict(zip(robot.quantities.names, robot.quantities.lengths, strict=True))
        lengths |= dict(zip(robot.frame_quantities.names, robot.frame_quantities.lengths, strict=True))
        shown = [
            (n, f"{(MM if lengths[n] else DEG) * v:.3f}", "mm" if lengths[n] else "deg")
            for n, v in found.quantities.items()
        ]
        print_heading("Named quantities")
        print_table(("quantity", "value", ""), shown)


def _print_ellipsoids(found: Statics) -> None:
    from servotwin.design.statics import without_noise

    rows = []
    ellipsoids = [
        ("velocity per unit actuator velocity", found.velocity),
        ("force per unit actuator torque", found.force),
    ]
    if found.stiffness_ellipsoid is not None:
        ellipsoids.append(("stiffness [N/m]", found.stiffness_ellipsoid))
    for name, ellipsoid in ellipsoids:
        for length, direction in zip(without_noise(ellipsoid.lengths), ellipsoid.directions.T, strict=True):
            rows.append(
                (name, number(float(length), 5), *(f"{round(float(v), 4) + 0.0:.4f}" for v in direction))
            )
    print_heading("Ellipsoids")
    print_table(("semi-axis", "length", "x", "y", "z"), rows)
