"""The commands around rigs: the twin of a rig as a process, and a simulated arm whose joints a rig carries."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import AllowCode, AllowOutside, Folder, Json, NoReport, Overwrite, Seed, Set

Transport = Annotated[
    str,
    typer.Option(
        "--transport",
        metavar="WHERE",
        help="udp://127.0.0.1:PORT, serial:/dev/NAME[?baud=RATE], shm:NAME; hil also in-process.",
    ),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="FILE", help="Key that frames are authenticated with, 16 to 64 bytes."),
]
Network = Annotated[bool, typer.Option("--allow-network", help="Speak to another machine; needs --key.")]
Cpu = Annotated[int | None, typer.Option("--cpu", metavar="NUMBER", help="Processor of the real-time loop.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(rig)
    app.command()(hil)


def rig(
    rig_file: Annotated[
        str, typer.Argument(metavar="[RIG]", help="Name of a rig in the catalogue, or path of a .yaml file.")
    ] = "met-rig",
    transport: Transport = "udp://127.0.0.1:47010",
    sessions: Annotated[
        int, typer.Option("--sessions", metavar="COUNT", help="End after so many sessions; default never.")
    ] = 0,
    fault: Annotated[
        str | None,
        typer.Option(
            "--fault",
            metavar="KIND@COMMAND",
            help="Answer wrongly from a command on, to test who listens: drop, delay, duplicate, reorder, corrupt, "
            "garbage, nan, range, stale, session, freeze or die, such as nan@500 or 'delay@500=5 ms'.",
        ),
    ] = None,
    firmware: Annotated[
        str | None,
        typer.Option("--firmware", metavar="FILE.c", help="Write the reference firmware in C99 instead."),
    ] = None,
    seed: Seed = None,
    key: Key = None,
    peer: Annotated[
        str | None, typer.Option("--peer", metavar="ADDRESS", help="The only address that is answered.")
    ] = None,
    allow_network: Network = False,
    cpu: Cpu = None,
    overrides: Set = None,
    overwrite: Overwrite = False,
    outside: AllowOutside = False,
    json: Json = False,
) -> int:
    """Run the twin of a motor test bed as a process.

    It waits for 'servotwin hil', carries its shafts as it commands and answers. Ctrl-C ends it.
    """
    from servotwin.cli.rig import rig as run

    return run(
        rig_file, transport, sessions=sessions, fault=fault, firmware=firmware, seed=seed, key=key, peer=peer,
        allow_network=allow_network, cpu=cpu, overrides=overrides, overwrite=overwrite, json=json,
    )  # fmt: skip


def hil(
    scenario: Annotated[
        str,
        typer.Argument(metavar="SCENARIO", help="Name of a substitution scenario, or path of a .yaml file."),
    ],
    transport: Transport = "in-process",
    overrun: Annotated[
        str | None,
        typer.Option(
            "--overrun", metavar="POLICY", help="hold, skip or stop; default skip, hold in process."
        ),
    ] = None,
    tolerance: Annotated[
        int, typer.Option("--tolerance", metavar="CYCLES", help="Disturbed cycles in a row that end a run.")
    ] = 3,
    guard: Annotated[
        float,
        typer.Option(
            "--guard",
            metavar="MICROSECONDS",
            help="Before each deadline: the cycle is rehearsed and the clock polled; 0: sleep only.",
        ),
    ] = 100.0,
    simulated: Annotated[
        bool, typer.Option("--simulated-time", help="As quick as it goes; the twin in process only.")
    ] = False,
    key: Key = None,
    allow_network: Network = False,
    cpu: Cpu = None,
    seed: Seed = None,
    out: Folder = None,
    report: NoReport = False,
    overwrite: Overwrite = False,
    overrides: Set = None,
    allow_code: AllowCode = False,
    outside: AllowOutside = False,
    json: Json = False,
) -> int:
    """Run a simulated arm in real time, some of its joints on a rig.

    The rig, or its twin ('servotwin rig'), is reached over UDP, a serial line or shared memory.
    """
    from servotwin.cli.hil import hil as run

    return run(
        scenario, transport, overrun=overrun, tolerance=tolerance, simulated=simulated, key=key,
        allow_network=allow_network, cpu=cpu, guard=guard, out=out, report=not report, overwrite=overwrite,
        overrides=overrides, seed=seed, allow_code=allow_code, json=json,
    )  # fmt: skip
