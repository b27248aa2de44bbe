"""The commands around models of robots; what a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import AllowOutside, Json, Overwrite, RobotName, Set


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(model)
    app.command()(design)


def model(
    robot: RobotName,
    q: Annotated[
        str | None, typer.Option("--q", metavar="LIST", help="Joint positions of the point; default home.")
    ] = None,
    qd: Annotated[
        str | None, typer.Option("--qd", metavar="LIST", help="Joint speeds of the point; default zero.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="FILE|LIST",
            help="The state instead: all values, 'A.current=2 A, ...', or a .json file; what is not named "
            "comes from the operating point at --q, --qd.",
        ),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option("--input", metavar="LIST", help="Inputs at that state, 'A.voltage=24 V, ...'."),
    ] = None,
    outputs: Annotated[
        str, typer.Option("--outputs", metavar="WHAT", help="encoders, joints, tool or states.")
    ] = "encoders",
    friction: Annotated[
        bool, typer.Option("--friction", help="Count dry friction of what moves, in its direction.")
    ] = False,
    motors: Annotated[
        str, typer.Option("--motors", metavar="WHICH", help="described, or ideal: torques as inputs.")
    ] = "described",
    gears: Annotated[
        str,
        typer.Option("--gears", metavar="POWER", help="Gears with losses: lossless, driving or braking."),
    ] = "lossless",
    sample: Annotated[
        str | None,
        typer.Option("--sample", metavar="TIME", help="Also the system behind a hold, '1 ms'."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Write page, matrices (.mat, .m) and equations there."),
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Show the complete model x' = A(x) + B(x) u.

    Arm, gears and motors: system and gain matrix, poles, modes, controllability, Bode plots.
    """
    from servotwin.cli.model import model as run

    run(
        robot, q, qd, state, inputs, sample, out, overrides,
        outputs=outputs, motors=motors, gears=gears, friction=friction, overwrite=overwrite, json=json,
    )  # fmt: skip


def design(
    robot: RobotName,
    q: Annotated[
        str | None,
        typer.Option("--q", metavar="LIST", help="Pose that the law is designed for; default home."),
    ] = None,
    method: Annotated[str | None, typer.Option("--method", metavar="METHOD", help="lqr or poles.")] = None,
    plant: Annotated[
        str | None,
        typer.Option("--plant", metavar="WHICH", help="coupled, or separate: one law for each axis."),
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option("--bandwidth", metavar="BANDWIDTH", help="Of the closed loop, '60 rad/s'.")
    ] = None,
    integral: Annotated[
        str | None,
        typer.Option("--integral-time", metavar="TIME", help="Of the integral action, '50 ms'."),
    ] = None,
    observer: Annotated[
        str | None, typer.Option("--observer", metavar="BANDWIDTH", help="Of the observer, '240 rad/s'.")
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario", metavar="SCENARIO", help="Compare with cascade and computed torque on a scenario."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Write design.html and design.json there."),
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Design state feedback and compare control laws.

    From the complete model of the robot: LQR or placed poles, integral action, speeds estimated from encoders.
    """
    from servotwin.cli.design import design as run

    run(
        robot, q, method, plant, bandwidth, integral, observer, scenario, out, overrides,
        overwrite=overwrite, json=json,
    )  # fmt: skip
