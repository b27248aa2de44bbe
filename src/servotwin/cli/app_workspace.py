"""The commands around reach and forces; what a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import AllowOutside, Json, Overwrite, RobotName, Set


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(statics)
    app.command()(workspace)


def statics(
    robot: RobotName,
    q: Annotated[
        str | None, typer.Option("--q", metavar="LIST", help="Joint positions; default home.")
    ] = None,
    xyz: Annotated[
        str | None,
        typer.Option("--xyz", metavar="LIST", help="Where the tool is instead, '900 mm, 0 mm, 400 mm'."),
    ] = None,
    rpy: Annotated[
        str | None, typer.Option("--rpy", metavar="LIST", help="Roll, pitch, yaw of the tool there.")
    ] = None,
    force: Annotated[
        str | None,
        typer.Option("--force", metavar="LIST", help="Force that the tool exerts, '0 N, 0 N, -200 N'."),
    ] = None,
    moment: Annotated[
        str | None,
        typer.Option("--moment", metavar="LIST", help="Moment that the tool exerts, '0 N*m, 0 N*m, 5 N*m'."),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option("--payload", metavar="MASS", help="Whole payload in place of the file's, '20 kg'."),
    ] = None,
    stiffness: Annotated[
        list[str] | None,
        typer.Option(
            "--stiffness",
            metavar="NAME=VALUE",
            help="Stiffness of an actuator at its joint, 'th2=2e5 N*m/rad'; may be repeated.",
        ),
    ] = None,
    frame: Annotated[str | None, typer.Option("--frame", metavar="NAME", help="Frame; default tool.")] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Write statics.html and statics.json there.")
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Show torques behind a force at the tool.

    Weight and tau = J^T F at joints and actuators, singular values, manipulability, ellipsoids of velocity and force,
    stiffness at the tool; for closed chains too.
    """
    from servotwin.cli.statics import statics as run

    run(
        robot, overrides, q=q, xyz=xyz, rpy=rpy, force=force, moment=moment, payload=payload, stiffness=stiffness,
        frame=frame, out=out, overwrite=overwrite, json=json,
    )  # fmt: skip


def workspace(
    robot: RobotName,
    joints: Annotated[
        str | None,
        typer.Option("--joints", metavar="A,B", help="The two joints that move; default the first that can."),
    ] = None,
    q: Annotated[
        str | None, typer.Option("--q", metavar="LIST", help="Where the other joints stand; default home.")
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(
            "--payload",
            metavar="MASS",
            help="Whole payload in place of the file's, '20 kg'; torques at rest count then.",
        ),
    ] = None,
    cube: Annotated[
        str | None,
        typer.Option(
            "--cube", metavar="LIST", help="A cube that must be inside: '900 mm, 0 mm, 300 mm, 400 mm'."
        ),
    ] = None,
    tolerance: Annotated[
        str, typer.Option("--tolerance", metavar="LENGTH", help="How near the boundary is followed.")
    ] = "0.1 mm",
    frame: Annotated[str | None, typer.Option("--frame", metavar="NAME", help="Frame; default tool.")] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Write page, JSON and CSV there.")
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Show what the tool reaches within all limits.

    The boundary is followed, with the limit that binds on each piece of it; area, volume, largest rectangle and cube,
    maps of dexterity, torque, stiffness, speed and acceleration.
    """
    from servotwin.cli.workspace import workspace as run

    run(
        robot, overrides, joints=joints, q=q, payload=payload, cube=cube, tolerance=tolerance, frame=frame, out=out,
        overwrite=overwrite, json=json,
    )  # fmt: skip
