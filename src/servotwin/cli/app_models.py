"""The commands around models of robots; what a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import AllowOutside, Json, Overwrite, RobotName, Set


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(model)


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
    """The complete model x' = A(x) + B(x) u at a state.

    Arm, gears and motors: system and gain matrix, poles, modes, controllability, Bode plots.
    """
    from servotwin.cli.model import model as run

    run(
        robot, q, qd, state, inputs, sample, out, overrides,
        outputs=outputs, motors=motors, gears=gears, friction=friction, overwrite=overwrite, json=json,
    )  # fmt: skip
