"""What a simulation gives back: signals over time, a summary and events, all in SI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from servotwin.control.servo.records import Saturation
from servotwin.description.nodes import quoted
from servotwin.description.units import did_you_mean
from servotwin.mechanism.model import Array

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

# Signals of a motor in the order of a recorded row.
MOTOR_SIGNALS = (
    "angle_rad",
    "speed_rad_per_s",
    "current_A",
    "current_ref_A",
    "torque_N_m",
    "voltage_V",
    "winding_temperature_degC",
    "count",
    "saturation",
)
SPEED_COMMAND = "speed_command_V"  # of motors whose drivers get speeds
# Integrators of the loops that run and have one: position, speed, current (of synchronous motors i_q), i_d.
INTEGRATORS = (
    "position_integrator_rad_per_s",
    "speed_integrator_A",
    "current_integrator_V",
    "d_current_integrator_V",
)
# What is recorded as the mean since the row before; saturation has every bit since then, all others are instants.
MEANS = ("current_A", "current_ref_A", "torque_N_m", "voltage_V")
BUS_SIGNALS = ("bus_voltage_V", "bus_energy_J", "bus_power_W")
TIP_SIGNALS = (
    *(f"tip_{word}{axis}_m" for word in ("", "ref_") for axis in "xyz"),
    "tip_error_along_m",
    "tip_error_across_m",
)


@dataclass(frozen=True)
class RunEvent:
    """Something that happened at an instant: a limit reached, an end stop, a fault."""

    time_s: float
    axis: str
    what: str


@dataclass(frozen=True)
class Result:
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

    @property
    def true_robot(self) -> Robot:
        """The robot as it is, whose joints have moved."""
        return self.robot if self.plant is None else self.plant


def sampling(signal: str) -> str:
    """How a signal is recorded: 'mean' or 'any' bit since the row before, or the 'instant' of the row.

    >>> sampling("motor_A_current_ref_A"), sampling("bus_voltage_V"), sampling("motor_A_saturation")
    ('mean', 'instant', 'any')
    """
    if signal.startswith("motor_"):
        if signal.endswith("_saturation"):
            return "any"
        return "mean" if signal.endswith(tuple(f"_{name}" for name in MEANS)) else "instant"
    return "mean" if signal == "bus_power_W" else "instant"


def joint_signal(joint: str, quantity: str, *, prismatic: bool, reference: bool = False) -> str:
    """The name of a joint's signal; ``quantity`` is 'position' or 'velocity'.

    >>> joint_signal("Z", "velocity", prismatic=True, reference=True)
    'joint_Z_velocity_ref_m_per_s'
    """
    unit = ("m" if prismatic else "rad") + ("_per_s" if quantity == "velocity" else "")
    return f"joint_{joint}_{quantity}_{'ref_' if reference else ''}{unit}"


def signal_names(joints: Sequence[str], prismatic: Sequence[bool], motors: Sequence[str]) -> list[str]:
    """The names of all signals of a run, in their order."""
    names = ["time_s"]
    for joint, slides in zip(joints, prismatic, strict=True):
        for quantity in ("position", "velocity"):
            for reference in (False, True):
                names.append(joint_signal(joint, quantity, prismatic=slides, reference=reference))
    of_motors = (*MOTOR_SIGNALS, SPEED_COMMAND, *INTEGRATORS)
    names += [f"motor_{motor}_{signal}" for motor in motors for signal in of_motors]
    return [*names, *BUS_SIGNALS, *TIP_SIGNALS]


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
