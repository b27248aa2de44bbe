"""What a simulation gives back: signals over time, a summary and events, all in SI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servotwin.control.records import Saturation
from servotwin.mechanism.model import Array

if TYPE_CHECKING:
    from servotwin.robot.robot import Robot
    from servotwin.simulation.scenario import Scenario

# Bits of the signal motor_M_saturation, and the words for them in summaries, events and reports.
SATURATION = {
    Saturation.VOLTAGE: "voltage limit",
    Saturation.CURRENT: "current limit",
    Saturation.SPEED_COMMAND: "speed command limit",
    Saturation.END_STOP: "end stop",
    Saturation.STUCK: "stuck",
}


@dataclass(frozen=True)
class Event:
    """Something that happened at an instant: a limit reached, an end stop, a fault."""

    time_s: float
    axis: str
    what: str


@dataclass(frozen=True)
class Result:
    """A simulated run.

    ``signals`` are columns of equal length with quantity and unit in their
    names (``joint_A_position_rad``, ``motor_A_current_A``); ``zoom`` has the
    finer columns around one instant and is empty if none was asked for.
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
    events: tuple[Event, ...]
    complete: bool


def joint_signal(joint: str, quantity: str, *, prismatic: bool, reference: bool = False) -> str:
    """The name of a joint's signal; ``quantity`` is 'position' or 'velocity'.

    >>> joint_signal("Z", "velocity", prismatic=True, reference=True)
    'joint_Z_velocity_ref_m_per_s'
    """
    unit = ("m" if prismatic else "rad") + ("_per_s" if quantity == "velocity" else "")
    return f"joint_{joint}_{quantity}_{'ref_' if reference else ''}{unit}"
