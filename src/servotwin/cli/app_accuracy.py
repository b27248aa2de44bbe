"""The commands around accuracy; what a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import AllowOutside, Json, Overwrite, Pwm, RobotName, Set


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(iso9283)


def iso9283(
    robot: RobotName,
    payload: Annotated[
        str | None,
        typer.Option("--payload", metavar="MASS", help="Default: the largest that the file allows."),
    ] = None,
    speed: Annotated[
        str, typer.Option("--speed", metavar="LIST", help="Parts of the speed limits, '100 %, 50 %, 10 %'.")
    ] = "100 %",
    cycles: Annotated[int, typer.Option("--cycles", metavar="NUMBER", help="Of the pose test.")] = 30,
    tests: Annotated[
        str,
        typer.Option(
            "--tests",
            metavar="LIST",
            help="all, or some of pose, directions, drift, path, corner, posing-time, compliance.",
        ),
    ] = "pose",
    cube: Annotated[
        str | None,
        typer.Option(
            "--cube",
            metavar="LIST",
            help="Centre and edge, '900 mm, 0 mm, 300 mm, 400 mm'; default the largest.",
        ),
    ] = None,
    poses: Annotated[
        str | None, typer.Option("--poses", metavar="FILE", help="Poses of a CSV file instead of a cube's.")
    ] = None,
    random: Annotated[
        int | None, typer.Option("--random", metavar="NUMBER", help="Random poses within the cube instead.")
    ] = None,
    off: Annotated[
        str | None,
        typer.Option("--off", metavar="LIST", help="Error sources that do not act, 'friction, play'."),
    ] = None,
    trial: Annotated[
        int,
        typer.Option("--trial", metavar="NUMBER", help="Which robot of the series; 0: geometry of the file."),
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="NUMBER", help="Seed of all noise.")] = 1,
    budget: Annotated[
        bool, typer.Option("--budget", help="Error budget: the share of every source, a run for each step.")
    ] = False,
    orders: Annotated[
        int, typer.Option("--orders", metavar="NUMBER", help="Pairs of orders of the budget.")
    ] = 1,
    budget_cycles: Annotated[
        int, typer.Option("--budget-cycles", metavar="NUMBER", help="Cycles of each run of the budget.")
    ] = 10,
    monte_carlo: Annotated[
        int, typer.Option("--monte-carlo", metavar="NUMBER", help="Robots drawn from the tolerances.")
    ] = 0,
    pwm: Pwm = None,
    rest: Annotated[str, typer.Option("--rest", metavar="TIME", help="At every pose.")] = "0.5 s",
    band: Annotated[
        str, typer.Option("--band", metavar="LENGTH", help="Within which the tool has arrived.")
    ] = "0.1 mm",
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="NUMBER", help="Processes; default one for each core.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="A Dask scheduler instead, 'tls://host:8786'."),
    ] = None,
    tls_ca: Annotated[
        str | None, typer.Option("--tls-ca", metavar="FILE", help="Certificate of the cluster's authority.")
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate of this user.")
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option("--tls-key", metavar="FILE", help="Key of this user.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Write page, JSON and CSV there.")
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Predict accuracy and repeatability after ISO 9283.

    The standard's tests on arm, drives and controller with the robot's error sources: AP, RP, vAP, AD, RD, settling,
    drift, paths, corners, posing time, compliance; the share of every source; robots of a series.
    """
    from servotwin.cli.iso9283 import iso9283 as run

    run(
        robot, overrides, payload=payload, speed=speed, cycles=cycles, tests=tests, cube=cube, poses=poses,
        random=random, off=off, trial=trial, seed=seed, budget=budget, orders=orders, budget_cycles=budget_cycles,
        monte_carlo=monte_carlo, pwm=pwm, rest=rest, band=band, workers=workers, cluster=cluster,
        tls=(tls_ca, tls_cert, tls_key), out=out, overwrite=overwrite, json=json,
    )  # fmt: skip
