"""``servotwin control``."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

from servotwin.cli.arguments import read_overrides
from servotwin.cli.output import print_json, print_line, print_note, working_or_compiling
from servotwin.cli.signals import finishing
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.fieldbus.controller.robot import BusSettings
    from servotwin.fieldbus.controller.run import ControlRun
    from servotwin.fieldbus.ethercat.master.port import Port
    from servotwin.fieldbus.files.esi_read import EsiFile
    from servotwin.fieldbus.files.plan import LinePlan
    from servotwin.report.control_page import ControlFiles

DONE, FAILED, INTERRUPTED = 0, 1, 130


def control(
    robot: str,
    interface: str,
    job: str | None = None,
    *,
    lock_step: bool = False,
    clocks: bool = True,
    watchdog: int = 100,
    tolerance: int = 3,
    override: int = 100,
    io: str | None = None,
    esi: str | None = None,
    eni: str | None = None,
    pcap: str | None = None,
    mcap: bool = False,
    arm_hardware: bool = False,
    overrides: Sequence[str] | None = None,
    out: str | None = None,
    report: bool = True,
    overwrite: bool = False,
    json: bool = False,
) -> int:
    """Command drives over a bus, by a job or by lines of an operator; the exit code."""
    changes = read_overrides(overrides)
    with working_or_compiling("preparing the controller"):
        from servotwin.fieldbus.controller.robot import BusSettings
        from servotwin.fieldbus.interface import check_interface

        check_interface(interface)
        network = read_network(esi, eni)
        settings = BusSettings(
            lock_step, clocks, watchdog, arm_hardware=arm_hardware, tolerance=tolerance, network=network
        )
    if job is None:
        return _by_hand(robot, interface, changes, settings, pcap)
    return _job(
        robot, interface, job, changes, settings, override=override, io=io, pcap=pcap, mcap=mcap,
        out=out, report=report, overwrite=overwrite, json=json,
    )  # fmt: skip


def read_network(esi: str | None, eni: str | None) -> EsiFile | LinePlan | None:
    """The file by which slaves are set up, if one was named."""
    from servotwin.fieldbus.files.eni_read import read_eni
    from servotwin.fieldbus.files.esi_read import read_esi

    if esi is not None and eni is not None:
        raise InputError("both are given; expected one of --esi FILE and --eni FILE", field="--eni")
    if eni is not None:
        return read_eni(eni)
    return None if esi is None else read_esi(esi)


def _job(
    robot: str,
    interface: str,
    job: str,
    changes: dict[str, str],
    settings: BusSettings,
    *,
    override: int,
    io: str | None,
    pcap: str | None,
    mcap: bool,
    out: str | None,
    report: bool,
    overwrite: bool,
    json: bool,
) -> int:
    from servotwin.fieldbus.controller.run import control_job, opened_port
    from servotwin.jobs.program import load_program
    from servotwin.simulation.results.folder import RUN_FILES, claimed_folder

    program = load_program(job)
    folder = out or f"out/{Path(program.job.file or job).stem}-bus"
    with (
        claimed_folder(folder, RUN_FILES, overwrite=overwrite),  # a refusal comes before anything moves
        opened_port(interface, pcap, keep_rights=False) as port,
        working_or_compiling(f"{robot} on {interface}"),
    ):
        run = control_job(
            program, port, robot, changes, settings=settings, io_script=io, override=override,
            started=lambda machine: print_note("the drives are enabled, the job begins"),
        )  # fmt: skip
        _say_recording(port)
    with working_or_compiling("writing the result"), finishing():
        from servotwin.report.control_page import write_control

        files = write_control(run, folder, report=report, mcap=mcap, overwrite=overwrite)
    _print(run, files, json=json)
    sys.stdout.flush()
    for text in (*run.alarms, *run.emergencies):
        print_note(text)
    if not run.played.complete:
        print_note(f"{run.played.reason}; the result up to there is in {folder}")
        return INTERRUPTED
    if not run.finished:
        if run.played.reason not in run.alarms:
            print_note(run.played.reason)
        return FAILED
    return DONE


def _print(run: ControlRun, files: ControlFiles, *, json: bool) -> None:
    from servotwin.report.control_page import path_numbers

    numbers, path = run.summary(), path_numbers(run)
    if json:
        places = {name: None if path is None else str(path) for name, path in files._asdict().items()}
        places["report"] = places.pop("page")
        print_json({**places, **numbers, "path_um": path})
        return
    counts = run.counts
    print_line(
        f"slaves: {len(run.slaves)}, in OP; distributed clocks {'on' if run.settings.clocks else 'off'}"
    )
    print_line(
        f"cycles: {counts['cycles']}, {counts['lost']} lost, {counts['wrong']} wrong working counters, "
        f"{counts['skipped']} deadlines left out"
    )
    late, trip = numbers["late_us"], numbers["round_trip_us"]
    if not run.settings.lock_step and late and trip:
        print_line(
            f"late: {late['p50']:.0f} us, 99 % {late['p99']:.0f} us, most {late['max']:.0f} us; "
            f"round trip: {trip['p50']:.0f} us, 99 % {trip['p99']:.0f} us, most {trip['max']:.0f} us"
        )
    if path is not None:
        print_line(f"tool off the path by the encoders: {path['largest']:.3g} um at most")
    print_line(f"summary: {files.summary}")
    print_line(f"signals: {files.signals}")
    if files.mcap:
        print_line(f"mcap: {files.mcap}")
    if files.page:
        print_line(f"report: {files.page}")


def _by_hand(
    robot: str, interface: str, changes: dict[str, str], settings: BusSettings, pcap: str | None
) -> int:
    """Take lines of an operator from the standard input until 'quit', its end or Ctrl-C."""
    from servotwin.fieldbus.controller.operator_panel import HELP, operate
    from servotwin.fieldbus.controller.robot import BusRobot
    from servotwin.fieldbus.controller.run import opened_port

    lines: Queue[str | None] = Queue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        lines.put(None)

    with opened_port(interface, pcap, keep_rights=False) as port:
        with working_or_compiling(f"setting up the bus on {interface}"):
            machine = BusRobot(robot, port, changes, settings=settings)
        try:
            print_line(HELP)
            threading.Thread(target=read, daemon=True).start()
            machine.start()
            operate(machine, lines, print_line, wait_for_motion=not sys.stdin.isatty())
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            machine.close()
            _say_recording(port)
    return DONE


def _say_recording(port: Port) -> None:
    """Tell of a recording of frames that could not be written to its end."""
    if port.pcap is not None and port.pcap.failure:
        print_note(f"{port.pcap.name}: {port.pcap.failure}")
