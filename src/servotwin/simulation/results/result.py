"""What a simulation gives back: signals over time, a summary and events, all in SI."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from servotwin.control.servo.records import Saturation
from servotwin.description.nodes import quoted
from servotwin.description.units import did_you_mean
from servotwin.mechanism.model import Array
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.simulation.plant.signal_table import JOINT, MOTOR, ROBOT, TIP, Sampling, Side

if TYPE_CHECKING:
    from servotwin.robot.robot import Robot
    from servotwin.simulation.results.motion_log import MotionLog
    from servotwin.simulation.scenario.scenario import Scenario

# Bits of the signal motor_M_saturation, and the words for them in summaries, events and reports.
SATURATION = {
    Saturation.VOLTAGE: "voltage limit",
    Saturation.CURRENT: "current limit",
    Saturation.SPEED_COMMAND: "speed command limit",
    Saturation.END_STOP: "end stop",
    Saturation.STUCK: "stuck",
    Saturation.MOTOR_SPEED: "motor speed exceeded",
    Saturation.PEAK_TORQUE: "peak torque exceeded",
    Saturation.JOINT_SPEED: "joint speed exceeded",
    Saturation.EFFORT: "joint effort exceeded",
}


@dataclass(frozen=True)
class RunEvent:
    """Something that happened at an instant: a limit reached, an end stop, a fault."""

    time_s: float
    axis: str
    what: str


@dataclass(frozen=True)
class Result(Plots, Tabulates, Reports, ShowsItself):
    """A simulated run.

    ``signals`` are columns of equal length with quantity and unit in their
    names (``joint_A_position_rad``, ``motor_A_current_A``); ``zoom`` has the
    finer columns around one instant and is empty if none was asked for;
    ``log`` is what the errors of the summary come from, however seldom
    signals are recorded.
    ``complete`` is False if the run was interrupted or diverged: the signals
    then end early.
    """

    scenario: Scenario
    robot: Robot  # the controller's model of the robot
    joints: tuple[str, ...]
    prismatic: tuple[bool, ...]
    motors: tuple[str, ...]
    signals: dict[str, Array]
    zoom: dict[str, Array]
    summary: dict[str, Any]
    events: tuple[RunEvent, ...]
    complete: bool
    log: MotionLog
    plant: Robot | None = None  # the robot as it is, where the controller's model is another one

    def __repr__(self) -> str:
        """A line; ``summary`` and ``signals`` have the rest."""
        rows = len(next(iter(self.signals.values()), ()))
        end = "" if self.complete else ", not complete"
        return f"<Result of {self.robot.name}: {len(self.signals)} signals, {rows} rows{end}>"

    @property
    def true_robot(self) -> Robot:
        """The robot as it is, whose joints have moved."""
        return self.robot if self.plant is None else self.plant


def sampling(signal: str) -> str:
    """What a row holds of a signal, given by its full name.

    'mean': its mean since the row before; 'any': every bit that was set since then; 'instant': its value at the
    time of the row, and so of every name that is not that of a motor or the bus.

    >>> sampling("motor_A_current_ref_A"), sampling("bus_voltage_V"), sampling("motor_A_saturation")
    ('mean', 'instant', 'any')
    """
    for known in (ROBOT, MOTOR)[signal.startswith("motor_")]:
        columns = known.column(), known.column(prismatic=True)
        of_motor = known.side is Side.MOTOR
        if signal in columns or (of_motor and signal.endswith(tuple(f"_{column}" for column in columns))):
            return known.sampling.value
    return Sampling.INSTANT.value


def joint_signal(joint: str, quantity: str, *, prismatic: bool, reference: bool = False) -> str:
    """The name of a joint's signal; ``quantity`` is 'position' or 'velocity'.

    >>> joint_signal("Z", "velocity", prismatic=True, reference=True)
    'joint_Z_velocity_ref_m_per_s'
    """
    wanted = f"{quantity}_ref" if reference else quantity
    (signal,) = (signal for signal in JOINT if signal.name == wanted)
    return signal.full_name(joint, prismatic=prismatic)


def signal_names(
    joints: Sequence[str],
    prismatic: Sequence[bool],
    motors: Sequence[str],
    chambers: Container[str] = (),
    pistons: Container[str] = (),
) -> list[str]:
    """The names of all signals of a run, in their order; ``chambers``: which motors have such, ``pistons``: travel."""
    time, *supply = (signal.full_name() for signal in ROBOT)
    names = [time]
    for joint, slides in zip(joints, prismatic, strict=True):
        names += [signal.full_name(joint, prismatic=slides) for signal in JOINT]
    for motor in motors:
        oil = motor in chambers
        slides = motor in pistons
        names += [signal.full_name(motor, prismatic=slides) for signal in MOTOR if oil or not signal.of_oil]
    return [*names, *supply, *(signal.full_name() for signal in TIP)]


def matching_signals(pattern: str, names: Iterable[str]) -> list[str]:
    """The signals that a name or pattern such as ``motor_A_*`` means."""
    return [name for name in names if fnmatchcase(name, pattern)]


def no_such_signal(pattern: str, names: Sequence[str]) -> str:
    """What to say of a pattern that no signal has."""
    some = ", ".join(names[1:4])
    return (
        f"no signal is called {quoted(pattern)}; expected names or patterns such as {some}"
        f"{did_you_mean(pattern, list(names))}"
    )
