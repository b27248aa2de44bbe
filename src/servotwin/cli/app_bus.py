"""The commands around field buses: the drives of a robot on an interface."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import (
    AllowCode,
    AllowOutside,
    Json,
    NoReport,
    Overwrite,
    Pwm,
    RobotName,
    Seed,
    Set,
    Start,
)


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(drives)


def drives(
    robot: RobotName,
    interface: Annotated[
        str | None,
        typer.Option("--interface", metavar="IF", help="Network interface, which EtherCAT has for itself."),
    ] = None,
    namespace: Annotated[
        bool,
        typer.Option("--namespace", help="Make a network of its own instead, and say how to join it."),
    ] = False,
    esi: Annotated[
        str | None,
        typer.Option("--esi", metavar="FILE", help="Write the ESI file of the drives instead, and end."),
    ] = None,
    eni: Annotated[
        str | None,
        typer.Option("--eni", metavar="FILE", help="Write the ENI file of the line instead, and end."),
    ] = None,
    axes_per_slave: Annotated[
        int, typer.Option("--axes-per-slave", metavar="COUNT", help="Axes of one slave, 1 to 8.")
    ] = 1,
    lock_step: Annotated[
        bool,
        typer.Option("--lock-step", help="The robot goes on with the master's frames, not with the clock."),
    ] = False,
    pwm: Pwm = None,
    position: Start = None,
    faults: Annotated[
        str | None, typer.Option("--faults", metavar="FILE", help="Plan of faults, a .yaml file.")
    ] = None,
    watchdog: Annotated[
        str | None,
        typer.Option(
            "--watchdog", metavar="TIME", help="Of process data, until a master sets another; '100 ms'."
        ),
    ] = None,
    pcap: Annotated[
        str | None, typer.Option("--pcap", metavar="FILE", help="Record all frames, for Wireshark.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="FOLDER", help="Record signals, and report at the end.")
    ] = None,
    report: NoReport = False,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="End after this time; default never.")
    ] = None,
    seed: Seed = None,
    overrides: Set = None,
    overwrite: Overwrite = False,
    allow_code: AllowCode = False,
    outside: AllowOutside = False,
    json: Json = False,
) -> int:
    """Put a robot's drives on an EtherCAT bus.

    CiA 402 drives with the whole robot behind them.
    A master brings them to OP, enables and moves them as it does real ones. Ctrl-C ends it.
    """
    from servotwin.cli.drives import drives as run

    return run(
        robot, interface, namespace=namespace, esi=esi, eni=eni, axes_per_slave=axes_per_slave, lock_step=lock_step,
        pwm=pwm, position=position, faults=faults, watchdog=watchdog, pcap=pcap, record=record, report=not report,
        duration=duration, seed=seed, overrides=overrides, overwrite=overwrite, allow_code=allow_code, json=json,
    )  # fmt: skip
