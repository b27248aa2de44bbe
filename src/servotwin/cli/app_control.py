"""The commands of a fieldbus: the PC controller, and the tools of an engineer."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import PLAIN, Folder, Json, NoReport, Overwrite, RobotName, Set, override_percent

Interface = Annotated[
    str,
    typer.Option(
        "--interface", metavar="NAME", help="Network interface that carries EtherCAT and nothing else."
    ),
]
Pcap = Annotated[
    str | None, typer.Option("--pcap", metavar="FILE", help="Record every frame; Wireshark opens it.")
]
Arm = Annotated[
    bool, typer.Option("--arm-hardware", help="Command slaves that are not simulated: something may move.")
]
SlaveNumber = Annotated[int, typer.Argument(metavar="SLAVE", help="Position in the line, from 1 on.")]
Entry = Annotated[str, typer.Argument(metavar="OBJECT", help="Index and subindex, such as 6064 or 607D:01.")]

bus_app = typer.Typer(name="bus", help="Look at an EtherCAT network, object by object.", **PLAIN)
sdo_app = typer.Typer(name="sdo", help="Read and write objects of slaves.", **PLAIN)
bus_app.add_typer(sdo_app)


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(control)
    app.add_typer(bus_app)


def control(
    robot: RobotName,
    interface: Interface,
    job: Annotated[
        str | None,
        typer.Option(
            "--job", metavar="JOB", help="Run this job; without it, lines of an operator are taken."
        ),
    ] = None,
    lock_step: Annotated[
        bool, typer.Option("--lock-step", help="Every frame is a period: for simulated drives in lock-step.")
    ] = False,
    no_clocks: Annotated[bool, typer.Option("--no-clocks", help="Leave distributed clocks off.")] = False,
    watchdog: Annotated[
        int,
        typer.Option(
            "--watchdog", metavar="MS", help="After so long without frames drives stop.", min=1, max=6000
        ),
    ] = 100,
    tolerance: Annotated[
        int,
        typer.Option(
            "--tolerance",
            metavar="COUNT",
            help="Cycles in a row that may stay without an answer.",
            min=0,
            max=1000,
        ),
    ] = 3,
    override: Annotated[
        int, typer.Option("--override", metavar="PERCENT", help="Speed of the job.", parser=override_percent)
    ] = 100,
    io: Annotated[
        str | None, typer.Option("--io", metavar="FILE", help="Inputs and keys at given times.")
    ] = None,
    esi: Annotated[
        str | None, typer.Option("--esi", metavar="FILE", help="Set slaves up as this ESI file says.")
    ] = None,
    eni: Annotated[
        str | None, typer.Option("--eni", metavar="FILE", help="Verify and set up the line of this ENI file.")
    ] = None,
    pcap: Pcap = None,
    mcap: Annotated[
        bool, typer.Option("--mcap", help="Write signals.mcap too, which Foxglove opens.")
    ] = False,
    arm_hardware: Arm = False,
    overrides: Set = None,
    out: Folder = None,
    no_report: NoReport = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> int:
    """Control a robot over EtherCAT.

    Its main controller commands the drives on the bus.
    Slaves are verified, set up with distributed clocks and enabled; an alarm names the slave and the axis.
    """
    from servotwin.cli.control import control as run

    return run(
        robot, interface, job, lock_step=lock_step, clocks=not no_clocks, watchdog=watchdog, tolerance=tolerance,
        override=override, io=io, esi=esi, eni=eni, pcap=pcap, mcap=mcap, arm_hardware=arm_hardware,
        overrides=overrides, out=out, report=not no_report, overwrite=overwrite, json=json,
    )  # fmt: skip


@bus_app.command()
def scan(interface: Interface, pcap: Pcap = None, json: Json = False) -> int:
    """List the slaves of an EtherCAT network; they are left in INIT."""
    from servotwin.cli.bus import scan as run

    return run(interface, pcap=pcap, json=json)


@sdo_app.command()
def read(
    slave: SlaveNumber, entry: Entry, interface: Interface, pcap: Pcap = None, json: Json = False
) -> int:
    """Read an object of a slave."""
    from servotwin.cli.bus import read as run

    return run(interface, slave, entry, pcap=pcap, json=json)


@sdo_app.command(context_settings={"ignore_unknown_options": True})  # -5 is a value
def write(
    slave: SlaveNumber,
    entry: Entry,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="A number, 0x for hexadecimal, or a text.")],
    interface: Interface,
    kind: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="unsigned16, integer32, ...; default as the slave says."),
    ] = None,
    pcap: Pcap = None,
    arm_hardware: Arm = False,
    json: Json = False,
) -> int:
    """Write an object of a slave and read it back."""
    from servotwin.cli.bus import write as run

    return run(interface, slave, entry, value, kind=kind, pcap=pcap, arm_hardware=arm_hardware, json=json)


@bus_app.command()
def watch(
    slave: SlaveNumber,
    entries: Annotated[list[str], typer.Argument(metavar="OBJECT...", help="Index and subindex of each.")],
    interface: Interface,
    count: Annotated[
        int, typer.Option("--count", metavar="NUMBER", help="End after so many; default never.")
    ] = 0,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="Time between two.")] = "500 ms",
    pcap: Pcap = None,
    json: Json = False,
) -> int:
    """Show objects of a slave again and again until Ctrl-C."""
    from servotwin.cli.bus import watch as run

    return run(interface, slave, entries, count=count, every=every, pcap=pcap, json=json)
