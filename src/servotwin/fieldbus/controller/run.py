"""Run a job on drives that are on a bus: enable them, play the job back, and say what became of cycles and drives."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.control.main.main_controller import MainController
from servotwin.control.main.states import Event, Mode, State
from servotwin.control.servo.axis_data import controller_of
from servotwin.errors import InputError
from servotwin.fieldbus.controller.bus_plant import BusPlant
from servotwin.fieldbus.controller.robot import BusRobot, BusSettings
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.fieldbus.ethercat.master.port import BusError, Port, RawPort
from servotwin.fieldbus.ethercat.pcap import PcapWriter, open_recording
from servotwin.fieldbus.interface import drop_rights
from servotwin.jobs.player import Player
from servotwin.jobs.program import Program, load_program
from servotwin.mechanism.model import Array
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.realtime.grants import Grants, favoured_thread, quiet_process
from servotwin.simulation.job_play import TIME_LIMIT, Played, play
from servotwin.simulation.job_run import no_robot
from servotwin.simulation.scenario.io_script import IoScript, Surroundings, read_io_script
from servotwin.simulation.stepping import Beside, in_turn

NANO = 1e-9
SWITCH = 1e-4  # s after which a thread lets another one run


@dataclass(frozen=True, eq=False)
class ControlRun(Plots, Tabulates, Reports, ShowsItself):
    """A job that was run over a bus: what was played, a row for every cycle, and what was measured."""

    name: str
    title: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    motors: tuple[str, ...]
    played: Played
    alarms: tuple[str, ...]
    emergencies: tuple[str, ...]
    log: Any  # rows of ``CycleLog``
    columns: dict[str, Array]
    slaves: tuple[dict[str, Any], ...]
    counts: dict[str, int]
    settings: BusSettings
    period_ns: int
    grants: dict[str, Any]
    tool: Array  # (k, 3) of the measured joints [m]
    tool_ref: Array

    @property
    def finished(self) -> bool:
        """Whether the job came to its end."""
        return self.played.finished_ns is not None and self.played.complete and not self.alarms

    def summary(self) -> dict[str, Any]:
        """What came of it, for a file."""
        well = self.log[self.log["outcome"] == Outcome.WELL]
        return {
            "job": self.name,
            "finished": self.finished,
            "reason": self.played.reason or None,
            "alarms": list(self.alarms),
            "emergencies": list(self.emergencies),
            "lock_step": self.settings.lock_step,
            "main_period_s": self.period_ns * NANO,
            "slaves": list(self.slaves),
            "cycles": self.counts,
            "grants": self.grants,
            "late_us": _times(self.log["late_ns"]),
            "round_trip_us": _times(well["round_trip_ns"]),
            "following_error": self.following(),
            "duration_s": float(self.log["time_ns"][-1] * NANO) if len(self.log) else 0.0,
        }

    def following(self) -> dict[str, float]:
        """Largest distance of each joint from its reference of the same cycle [rad, m]."""
        if not len(self.log):
            return {}
        apart = np.abs(self.log["q_ref"] - self.log["q"]).max(axis=0)
        return {name: float(a) for name, a in zip(self.joints, apart, strict=True)}


def _times(values: Any) -> dict[str, float] | None:
    if not len(values):
        return None
    micro = np.asarray(values) * 1e-3
    p50, p99, p999 = np.percentile(micro, (50, 99, 99.9))
    return {"p50": float(p50), "p99": float(p99), "p999": float(p999), "max": float(micro.max())}


@contextmanager
def opened_port(
    interface: str, pcap: str | Path | None = None, *, keep_rights: bool = True
) -> Iterator[Port]:
    """A raw socket on an interface, with a recording if one is asked for.

    ``keep_rights`` False: the process gives its rights for raw sockets away for good once it has this one.
    """
    with ExitStack() as stack:
        writer: PcapWriter | None = None
        if pcap is not None:
            writer = PcapWriter(stack.enter_context(open_recording(Path(pcap))))
        port = RawPort(interface, writer)
        stack.callback(port.close)
        left = [] if keep_rights else drop_rights()
        if left:
            raise BusError(f"the process could not give its rights away: {', '.join(left)}")
        yield port


def control_job(
    job: str | Path | Program,
    port: Port,
    robot: str | Path | None = None,
    overrides: Mapping[str, str] | None = None,
    *,
    settings: BusSettings | None = None,
    io_script: IoScript | str | Path | None = None,
    override: int = 100,
    time_limit: float = TIME_LIMIT,
    fit: bool = False,
    look: Callable[[float], None] | None = None,
    started: Callable[[BusRobot], None] | None = None,
) -> ControlRun:
    """Run a job over a bus, from where the arm stands; the drives are without power afterwards.

    ``started`` is called when the drives are under power. An alarm ends the job and is part of the result.
    """
    program = job if isinstance(job, Program) else load_program(job)
    name = robot or program.robot
    if not name:
        raise no_robot(program)
    script = read_io_script(io_script) if isinstance(io_script, str | Path) else io_script
    chosen = settings or BusSettings()
    beside = None if chosen.lock_step else Beside()
    grants = Grants()
    with ExitStack() as stack:
        if beside is not None:
            stack.callback(beside.close)
        machine = BusRobot(
            name,
            port,
            overrides,
            settings=chosen,
            surroundings=Surroundings(script),
            planning=beside or in_turn,
        )
        stack.callback(machine.close)
        player = _player(program, machine, fit=fit)
        if not chosen.lock_step:
            stack.enter_context(quiet_process(grants))
            stack.enter_context(favoured_thread(grants))
            stack.enter_context(_quick_switches())
        machine.start()
        _get_ready(machine, player, override)
        if started is not None:
            started(machine)
        played = play(
            machine.controller, machine.plant, time_limit=time_limit, progress=look, expected=time_limit,
            clock=machine.clock, planning=beside or in_turn,
        )  # fmt: skip
        return _collected(program, machine, played, grants)


@contextmanager
def _quick_switches() -> Iterator[None]:
    """The thread that plans gives the interpreter away soon after a deadline comes."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _player(program: Program, machine: BusRobot, *, fit: bool) -> Player:
    axes = machine.description.axes
    sliding = [axes[name].prismatic for name in machine.robot.joint_names]
    for problem in program.check(machine.robot.joint_names, None, sliding):
        if problem.error:
            raise problem.exception()
    control = controller_of(machine.description)
    substeps = int(control.main_period_ns // control.axis_period_ns)
    return Player(
        program, machine.robot, machine.limits, fit=fit, period=control.main_period, substeps=substeps
    )


def _get_ready(machine: BusRobot, player: Player, override: int) -> None:
    """Drives under power before the time zero, the job loaded and started."""
    controller: MainController = machine.controller
    T, plant = controller.period_ns, machine.plant
    controller.plans_ahead = True
    now = -T * (8 + controller.settings.brake_ns // T)
    machine.clock.wait_until(now)
    controller.step(now, plant.feedback())
    _accepted(controller.press(Event.ENABLE), plant)
    while now < -T:
        now += T
        machine.clock.wait_until(now)
        plant.carry_on(controller.step(now, plant.feedback()), now, now + T)
    if controller.state is not State.READY:
        said = plant.fault or "; ".join(map(str, controller.alarms)) or controller.state.value
        raise BusError(f"the drives are not enabled: {said}")
    for reply in (
        controller.press(Event.MODE, mode=Mode.PLAY),
        controller.press(Event.OVERRIDE, percent=override),
        controller.press(Event.LOAD, program=player),
        controller.press(Event.RUN),
    ):
        _accepted(reply, plant)


def _accepted(reply: Any, plant: BusPlant) -> None:
    if not reply:
        raise InputError(f"the controller does not start: {plant.fault or reply.reason}")


def _collected(program: Program, machine: BusRobot, played: Played, grants: Grants) -> ControlRun:
    plant, robot = machine.plant, machine.robot
    log = plant.log.filled.copy()
    image = plant.image
    names = ("cycles", "lost", "wrong", "strays", "unsent")
    counts = {name: image.number(name) for name in names} | {"skipped": machine.clock.skipped}
    slaves = tuple(
        {
            "position": s.position,
            "name": s.sii.name,
            "vendor": f"{s.sii.vendor:08X}",
            "product": f"{s.sii.product:08X}",
            "delay_ns": s.delay_ns,
            "clock_difference_ns": machine.master.differences.get(s.position, 0),
        }
        for s in machine.master.slaves
    )
    return ControlRun(
        Path(program.job.file or "job").stem, machine.description.title or machine.description.name,
        tuple(robot.joint_names), tuple(robot.joint_units), machine.motors, played,
        tuple(str(a) for a in machine.controller.alarms), tuple(plant.emergencies), log,
        plant.log.columns(machine.motors, tuple(robot.joint_names), tuple(robot.joint_units)),
        slaves, counts, machine.settings, machine.period_ns, grants.plain(),
        _tool(machine, log["q"]), _tool(machine, log["q_ref"]),
    )  # fmt: skip


def _tool(machine: BusRobot, q: Array) -> Array:
    """Tool points (k, 3) of joint positions (k, n) [m]."""
    return np.asarray(machine.robot.fkine(q)[:, :3, 3]) if len(q) else np.zeros((0, 3))
