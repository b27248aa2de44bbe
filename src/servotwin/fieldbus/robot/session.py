"""The drives of a robot on an interface, until somebody ends them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.errors import InputError, SimulationError
from servotwin.fieldbus.namespace import DRIVES_SIDE, enter_namespace
from servotwin.presentation import Reports, ShowsItself, Tabulates

if TYPE_CHECKING:
    from servotwin.fieldbus.ethercat.slave.segment import Segment
    from servotwin.fieldbus.robot.build import RobotDrives
    from servotwin.fieldbus.serving import Served
    from servotwin.realtime.grants import Grants
    from servotwin.simulation.results.result import Result


@dataclass(frozen=True)
class ServedDrives(Tabulates, Reports, ShowsItself):
    """What was served: frames and cycles; ``errors``: codes of 603F that are there at the end, by motor.

    ``result``: the recording, if one was asked for. ``left_out_s``: time of the wall clock that was not simulated,
    because the process did not get to run; in lock-step there is none. ``grants``: what the system granted.
    ``pcap_failure``: why the recording of frames ends early; empty if it does not. ``failure``: what ended the
    simulation, such as a divergence, where its recording was asked for; otherwise that is an error.
    """

    frames: int
    refused: int
    unsent: int
    cycles: int
    simulated_s: float
    wall_s: float
    errors: Mapping[str, int]
    states: Mapping[str, int]
    result: Result | None = None
    left_out_s: float = 0.0
    grants: Mapping[str, Any] = field(default_factory=dict)
    pcap_failure: str = ""
    failure: str = ""


def serve_drives(
    robot: str | Path,
    interface: str | None = None,
    overrides: Mapping[str, str | None] | None = None,
    *,
    namespace: bool = False,
    lock_step: bool = False,
    axes_per_slave: int = 1,
    pwm: str = "averaged",
    q: Any = None,
    faults: str | Path | Sequence[Any] = (),
    pcap: str | Path | None = None,
    record: bool = False,
    seconds: float = float("inf"),
    watchdog: float | None = None,
    seed: int = 1,
    allow_code: bool = False,
    ready: Callable[[RobotDrives], None] | None = None,
    look: Callable[[RobotDrives], None] | None = None,
) -> ServedDrives:
    """Put the drives of a robot on an interface, and serve frames until Ctrl-C or for so many seconds.

    ``namespace`` makes a network of its own instead, in a process without threads. ``lock_step``: the robot goes on
    with every frame that has outputs, however long that takes. ``faults``: a plan. ``watchdog`` [s]: of process data,
    until the master sets another. Handbook: docs/fieldbus.md.
    """
    if (interface is None) != namespace:
        raise InputError("expected either an interface or a namespace of its own", field="interface")
    if namespace:
        enter_namespace()
    from servotwin.description.load import read_description
    from servotwin.fieldbus.robot.build import drives_of_description

    description = read_description(robot, dict(overrides or {}))
    drives = drives_of_description(
        description, axes_per_slave=axes_per_slave, lock_step=lock_step, pwm=pwm, q=q,
        faults=_plan(faults, description), recording=record, allow_code=allow_code, seed=seed,
    )  # fmt: skip
    if watchdog is not None:
        set_watchdog(drives, watchdog)
    return serve_built(
        drives, DRIVES_SIDE if interface is None else interface, pcap=pcap, record=record, seconds=seconds,
        ready=ready, look=look,
    )  # fmt: skip


def _plan(faults: str | Path | Sequence[Any], description: Any) -> Sequence[Any]:
    from servotwin.description.checks import motor_names
    from servotwin.fieldbus.robot.faults import read_fault_plan

    return read_fault_plan(faults, motor_names(description)) if isinstance(faults, str | Path) else faults


def set_watchdog(drives: RobotDrives, seconds: float) -> None:
    """The watchdog of process data of all slaves, in tenths of a millisecond."""
    from servotwin.fieldbus.ethercat.registers import WATCHDOG_PROCESS_DATA

    ticks = round(seconds * 1e4)
    if not 1 <= ticks <= 0xFFFF:
        raise InputError(f"{seconds:g} s; expected 0.1 ms to 6.5535 s", field="watchdog")
    for device in drives.segment.devices:
        device.put(WATCHDOG_PROCESS_DATA, 2, ticks)


def serve_built(
    drives: RobotDrives,
    interface: str,
    *,
    pcap: str | Path | None = None,
    record: bool = False,
    seconds: float = float("inf"),
    ready: Callable[[RobotDrives], None] | None = None,
    look: Callable[[RobotDrives], None] | None = None,
) -> ServedDrives:
    """Serve drives that are built; see ``serve_drives``."""
    from servotwin.fieldbus.ethercat.slave.records import ClockKind
    from servotwin.fieldbus.serving import serve
    from servotwin.realtime.grants import Grants, PriorityWatch, favoured_thread, quiet_process

    began, grants = time.perf_counter(), Grants()
    watch = PriorityWatch(grants)

    def each_look(_: Segment) -> None:
        watch.look()
        if look is not None:
            look(drives)

    with ExitStack() as stack:
        if drives.segment.clock is ClockKind.WALL:
            stack.enter_context(quiet_process(grants))
            stack.enter_context(favoured_thread(grants, answering=True))
        served = serve(
            drives.segment,
            interface,
            pcap=None if pcap is None else Path(pcap),
            ready=None if ready is None else lambda: ready(drives),
            look=each_look,
            seconds=seconds,
        )
    if served.failure and not record:
        raise SimulationError(served.failure)
    return _told(drives, served, time.perf_counter() - began, record, grants)


def _told(drives: RobotDrives, served: Served, wall: float, record: bool, grants: Grants) -> ServedDrives:
    from servotwin.fieldbus.robot.record import result_of

    codes = [int(drives.drives.objects[slave]["error_code"][axis]) for slave, axis in drives.drives.places]
    return ServedDrives(
        served.frames,
        served.refused,
        served.unsent,
        served.cycles,
        drives.plant.now_ns * 1e-9,
        wall,
        {name: code for name, code in zip(drives.motors, codes, strict=True) if code},
        dict(zip(drives.motors, drives.drives.drives["state"].tolist(), strict=True)),
        result_of(drives, wall, served.failure or None) if record else None,
        served.left_out * 1e-9,
        grants.plain(),
        served.pcap_failure,
        served.failure,
    )
