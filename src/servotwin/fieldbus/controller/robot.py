"""A robot whose drives are on a bus: set-up of the line, the main controller over it, and hand operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.control.main.alarms import AlarmKind
from servotwin.control.main.exchange import PointStore, Reply
from servotwin.control.main.jogging import Jog
from servotwin.control.main.leading_stop import following_of
from servotwin.control.main.overshoot import overshoot_of, settling_rate_of
from servotwin.control.main.states import POWERED, Event, State
from servotwin.description.checks import motor_names
from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.fieldbus.controller.axes import BusAxis, place_axes
from servotwin.fieldbus.controller.bus_plant import BusPlant
from servotwin.fieldbus.controller.clock import BusClock, LockStepClock
from servotwin.fieldbus.controller.line_setup import (
    check_period,
    expected_of,
    plan_line,
    set_up_line,
)
from servotwin.fieldbus.controller.modes import JOG_FRAMES, KEYS, PcMode
from servotwin.fieldbus.ethercat.master.master import Master
from servotwin.fieldbus.ethercat.master.port import BusError, Port
from servotwin.fieldbus.ethercat.master.slaves import Expected, Slave, verify
from servotwin.fieldbus.files.esi_read import EsiFile
from servotwin.fieldbus.files.plan import LinePlan
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.objects.tables import AXIS_STEP
from servotwin.mechanism.build import build_mechanism
from servotwin.motion.limits import limits_of
from servotwin.robot.robot import Robot
from servotwin.simulation.live_robot import LiveRobot, make_controller
from servotwin.simulation.scenario.io_script import Surroundings
from servotwin.simulation.stepping import Stepper, Work, in_turn

ENABLING = 200_000_000  # ns that the drives get to be enabled, on top of their brakes
SIMULATED = Identity()
PATH_SPEED, PATH_SPEED_STEP = 0x2001, 0x800
USUAL, PATIENT = 5.0, 2000.0  # ms


@dataclass(frozen=True)
class BusSettings:
    """How a robot is operated over a bus.

    ``lock_step``: every frame is a period, nobody waits; ``clocks``: distributed clocks; ``watchdog_ms`` of the
    drives; ``expected``: identities of the slaves, by default those of simulated drives; ``arm_hardware``: drives that
    are not simulated may be moved; ``tolerance``: cycles in a row that may stay without an answer; ``timeout_ms`` for
    an answer, by default 5 ms, in lock-step 2 s; ``network``: an ESI or ENI file that was read, by which the slaves are
    verified and set up.
    """

    lock_step: bool = False
    clocks: bool = True
    watchdog_ms: int = 100
    expected: tuple[Expected, ...] = ()
    arm_hardware: bool = False
    tolerance: int = 3
    timeout_ms: float | None = None
    network: EsiFile | LinePlan | None = None

    @property
    def timeout_ns(self) -> int:
        """How long a cycle waits for its answer."""
        usual = PATIENT if self.lock_step else USUAL
        return round(1e6 * (usual if self.timeout_ms is None else self.timeout_ms))


def is_simulated(slave: Slave) -> bool:
    """Whether a slave is a simulated drive of ours, by its vendor number."""
    return slave.sii.vendor == SIMULATED.vendor


def check_armed(slaves: list[Slave], armed: bool) -> None:
    """Refuse to move what may be a real machine, unless that was asked for."""
    for slave in slaves:
        if not is_simulated(slave) and not armed:
            raise InputError(
                f"{slave.label} has vendor {slave.sii.vendor:08X}: it is no simulated drive; "
                "--arm-hardware lets it move",
                field="interface",
            )


class BusRobot(LiveRobot):
    """What a console or a job holds: the robot over the bus. Every ``step`` is one frame around the ring.

    Its drives are in SAFEOP until ``start``; from then on frames must follow each other.
    """

    def __init__(  # the plant is another one than the simulated robot's
        self,
        robot: str | Path,
        port: Port,
        overrides: Mapping[str, str] | None = None,
        *,
        settings: BusSettings | None = None,
        points: PointStore | None = None,
        surroundings: Surroundings | None = None,
        planning: Callable[[Work], None] = in_turn,
    ) -> None:
        self.settings = settings or BusSettings()
        self.description = read_description(robot, dict(overrides or {}))
        self.robot = Robot(build_mechanism(self.description), title=self.description.title)
        self.limits = limits_of(self.robot, self.description)
        controller = make_controller(self.robot, self.limits, self.description, points=points)
        controller.settings = replace(controller.settings, brake_ns=controller.settings.brake_ns + ENABLING)
        controller.reference.following, controller.reference.unled = following_of(
            self.robot, self.limits, self.description, age=controller.period_ns * 1e-9
        )  # a frame brings what was measured before it acted
        controller.reference.overshoot = overshoot_of(self.robot, self.limits, self.description)
        self.settling_rate = settling_rate_of(self.description)
        self.controller = controller
        self.surroundings = surroundings or Surroundings()
        self.motors = tuple(motor_names(self.description))
        self.port, self.master = port, Master(port)
        self.clock: BusClock | LockStepClock = (
            LockStepClock() if self.settings.lock_step else BusClock(controller.period_ns)
        )
        self._planning = planning
        self._connect()
        self.stepper = Stepper(controller, self.plant, self.clock, planning)

    def _connect(self) -> None:
        """From a line of unknown slaves to drives in OP, without power."""
        N = self.robot.mechanism.rotors.N
        drives = drives_of(self.description)
        counts = [drive.counts_per_rad for drive in drives]
        if N.shape[0] != N.shape[1]:
            raise InputError(f"{N.shape[0]} motors for {N.shape[1]} joints; expected as many", field="robot")
        master, chosen, period = self.master, self.settings, self.controller.period_ns
        slaves = master.scan()
        check_armed(slaves, chosen.arm_hardware)
        expected = list(chosen.expected) or _expected(slaves, len(self.motors), chosen.arm_hardware)
        plan = None
        if chosen.network is not None:
            plan = plan_line(chosen.network, slaves)
            expected = expected_of(plan, chosen.network)
            check_period(plan, period)
        verify(slaves, expected)  # before anything is written to them
        master.to_preop()
        for slave in slaves:
            _set_cycle(slave, period, clocks=chosen.clocks and slave.sii.has_clock)
            if is_simulated(slave):
                _set_path_speed(slave)
        if plan is not None:
            set_up_line(plan, slaves)
        image = master.to_safeop(
            expected=expected, period_ns=period, clocks=chosen.clocks, watchdog_ms=chosen.watchdog_ms
        )
        image.record["timeout"] = chosen.timeout_ns
        axes = place_axes(slaves, image, self.motors)
        set_interpolation(axes, period)
        known = np.array(
            [float(c) if c is not None else a.per_rad for c, a in zip(counts, axes, strict=True)]
        )
        earlier = getattr(self, "plant", None)
        self.plant: BusPlant = BusPlant(
            master, axes, np.asarray(N, dtype=np.float64), known, self.limits, period, self.clock,
            self.surroundings, tolerance=chosen.tolerance,
        )  # fmt: skip
        if earlier is not None:
            self.plant.log, self.plant.emergencies = earlier.log, earlier.emergencies

    def start(self) -> None:
        """Bring the drives to OP, without power; their watchdogs run from now on."""
        self.master.operate(self.plant.idle)
        self.plant.forget_speeds()  # inputs of the way to OP may be older than the drives' first measurement
        self.plant.idle()
        self.command = self.controller.step(self.now_ns - self.period_ns, self.plant.feedback())

    def step(self) -> Any:
        """One period."""
        self.command = self.stepper.step()
        return self.command

    def reconnect(self) -> None:
        """Set the bus up again after it was lost; the controller stays where its alarm has led it."""
        self.master.close()
        self._connect()
        self.stepper.plant = self.plant
        self.start()

    def press(self, event: Event | str, **arguments: Any) -> Reply:
        """See ``MainController.press``; a reset clears drives and bus first."""
        if event in (Event.RESET, Event.RESET.value) and self.plant.fault:
            try:
                if self.plant.recover():
                    self.reconnect()
                    self.plant.recover()
            except BusError as error:
                self.plant.fail(AlarmKind.BUS, str(error))
            self.step()
        return self.controller.press(event, **arguments)

    def choose(self, mode: PcMode | int) -> Reply:
        """Choose a mode of the PC controller; drives are enabled on the way where that is needed."""
        try:
            chosen = PcMode(mode)
        except ValueError:
            raise InputError(f"{mode!r}; expected one of {[int(m) for m in PcMode]}", field="mode") from None
        switch, key = KEYS[chosen]
        if chosen is not PcMode.DISABLE and self.controller.state is State.DISABLED:
            reply = self.enable()
            if not reply:
                return reply
        reply = Reply(True, self.controller.state)
        if switch is not None:
            reply = self.press(Event.MODE, mode=switch)
        return self.press(key) if reply and key is not None else reply

    def enable(self) -> Reply:
        """Bring the drives under power, and wait until they are."""
        reply = self.press(Event.ENABLE)
        if not reply:
            return reply
        for _ in range(4 + self.controller.settings.brake_ns // self.period_ns):
            self.step()
            if self.controller.state is not State.ENABLING:
                break
        ready = self.controller.state is State.READY
        return Reply(
            ready, self.controller.state, "" if ready else self.plant.fault or "the drives are not enabled"
        )

    def jog(self, mode: PcMode, jog: Jog) -> Reply:
        """Move by hand, as the mode allows it."""
        frames = JOG_FRAMES.get(PcMode(mode), ())
        if jog.frame not in frames:
            return Reply(False, self.controller.state, f"mode {mode.name} has no motion along '{jog.frame}'")
        return self.press(Event.JOG, jog=jog)

    def close(self) -> None:
        """Drives without power, slaves to INIT, the port closed."""
        try:
            if self.controller.state in POWERED and not self.plant.fault:
                self.controller.press(Event.EMERGENCY_STOP)
                for _ in range(20):
                    self.step()
        finally:
            self.master.close()
            self.port.close()


def _expected(slaves: list[Slave], motors: int, armed: bool) -> list[Expected]:
    """Simulated drives are expected, unless hardware is armed: then what is there, and the number of axes decides."""
    if armed:
        return [Expected(s.sii.vendor, s.sii.product) for s in slaves]
    if len(slaves) not in (1, motors):
        raise InputError(
            f"{len(slaves)} slaves on the bus; expected {motors} with one axis each, or one with {motors}",
            field="interface",
        )
    return [Expected(SIMULATED.vendor, SIMULATED.product)] * len(slaves)


def _set_cycle(slave: Slave, period_ns: int, *, clocks: bool) -> None:
    """Tell a slave the period and what synchronises it, as far as it has the objects."""
    from servotwin.fieldbus.ethercat.master.sdo import SdoRefusedError

    for index in (0x1C32, 0x1C33):
        for subindex, data in (
            (1, (2 if clocks else 1).to_bytes(2, "little")),
            (2, period_ns.to_bytes(4, "little")),
        ):
            try:
                slave.sdo.write(index, subindex, data)
            except SdoRefusedError as error:
                slave.notes.append(str(error))


def interpolation_time(period_ns: int) -> tuple[int, int] | None:
    """60C2:01 and 60C2:02 of a period; None if it cannot be said with 8 bits.

    >>> interpolation_time(1_000_000), interpolation_time(250_000), interpolation_time(333_333)
    ((1, -3), (25, -5), None)
    """
    for exponent in range(0, -7, -1):
        count, rest = divmod(period_ns, 10 ** (9 + exponent))
        if rest == 0 and 1 <= count <= 255:
            return count, exponent
    return None


def set_interpolation(axes: list[BusAxis], period_ns: int) -> None:
    """Tell the drives how long a set-point is for; a drive without 60C2 takes the period of the bus."""
    from servotwin.fieldbus.ethercat.master.sdo import SdoRefusedError

    found = interpolation_time(period_ns)
    if found is None:
        return
    for axis in axes:
        index = 0x60C2 + axis.number * AXIS_STEP
        try:
            axis.slave.sdo.write(index, 1, found[0].to_bytes(1, "little"))
            axis.slave.sdo.write(index, 2, found[1].to_bytes(1, "little", signed=True))
        except SdoRefusedError as error:
            axis.slave.notes.append(str(error))


def _set_path_speed(slave: Slave) -> None:
    """Tell a simulated drive that 60B1 is the speed of the path: its servo uses it as in a simulation in process."""
    from servotwin.fieldbus.ethercat.master.sdo import SdoRefusedError

    for axis in range(8):
        try:
            slave.sdo.write(PATH_SPEED + axis * PATH_SPEED_STEP, 0, b"\x01")
        except SdoRefusedError:  # the slave has no more axes
            return
