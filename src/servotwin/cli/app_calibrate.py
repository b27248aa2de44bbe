"""The command ``calibrate``; what it does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import AllowOutside, Json, Overwrite, RobotName, Set


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(calibrate)


def calibrate(
    robot: RobotName,
    measured: Annotated[
        str | None,
        typer.Option("--measured", metavar="FILE", help="CSV of joints and poses, positions or distances."),
    ] = None,
    plan: Annotated[
        int | None, typer.Option("--plan", metavar="COUNT", help="Choose so many poses to measure instead.")
    ] = None,
    parameters: Annotated[
        str,
        typer.Option(
            "--parameters",
            metavar="LIST",
            help="Some of geometry, offsets, scale, compliance, eccentricity.",
        ),
    ] = "geometry,offsets",
    sigma: Annotated[
        str | None,
        typer.Option(
            "--sigma",
            metavar="LENGTH",
            help="Noise of positions or distances, '0.05 mm'; default from residuals.",
        ),
    ] = None,
    sigma_angle: Annotated[
        str | None, typer.Option("--sigma-angle", metavar="ANGLE", help="Noise of orientations, '0.1 mrad'.")
    ] = None,
    tracker: Annotated[
        bool, typer.Option("--tracker", help="Noise of a laser tracker in the origin of what it tells.")
    ] = False,
    prior: Annotated[
        bool, typer.Option("--prior", help="Weigh parameters by their usual size, 1 mm and 1 mrad.")
    ] = False,
    held_out: Annotated[
        float,
        typer.Option("--held-out", metavar="PART", help="Part of the poses that is predicted, not used."),
    ] = 0.2,
    validate: Annotated[
        str | None,
        typer.Option("--validate", metavar="FILE", help="Other measured poses to predict instead."),
    ] = None,
    base: Annotated[
        bool,
        typer.Option("--base", help="Positions are told in the robot's base frame, not in the device's."),
    ] = False,
    orientation: Annotated[
        bool, typer.Option("--orientation", help="Plan for orientations that are measured too.")
    ] = False,
    criterion: Annotated[
        str, typer.Option("--criterion", metavar="NAME", help="Of a plan: D or prediction.")
    ] = "D",
    readings: Annotated[
        int,
        typer.Option("--readings", metavar="NUMBER", help="At each pose, whose mean is measured or planned."),
    ] = 1,
    payload: Annotated[
        str | None,
        typer.Option("--payload", metavar="MASS", help="Load at the tool besides the file's, '20 kg'."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Of what is held out, or of candidates.")
    ] = 0,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="PATH", help="Folder of page and files; with --plan the CSV file."),
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Find how a built robot deviates from its drawing.

    From measured poses, positions or distances: parameters with standard deviations, what is not identified, errors at
    poses held out against the noise bound, and the calibrated robot as a file. --plan chooses poses to measure.
    """
    from servotwin.cli.calibrate import calibrate as run

    run(
        robot, overrides, measured=measured, plan=plan, parameters=parameters, sigma=sigma, sigma_angle=sigma_angle,
        tracker=tracker, prior=prior, held_out=held_out, validate=validate, base=base, orientation=orientation,
        criterion=criterion, readings=readings, payload=payload, seed=seed, out=out, overwrite=overwrite, json=json,
    )  # fmt: skip
