"""A simulated run as a report looks at it: its signals by axis, and the data of its motors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from servotwin.description.drive_data import DriveData, drive_of
from servotwin.description.hydraulic_data import valve_envelopes
from servotwin.description.schema import RobotDescription
from servotwin.mechanism.model import Array
from servotwin.motion.motor_limits import DriveLimits, drive_limits
from servotwin.report.labels import PRISMATIC, REVOLUTE, JointUnits
from servotwin.report.traces import POINTS
from servotwin.simulation.plant.signal_table import MOTOR
from servotwin.simulation.results.result import Result, joint_signal

BYTES = 2.7e6  # for all lines of a page, beside the plotting library's 4.7 MB
POINT_BYTES = 10.7  # two single-precision numbers in base64
LEAST_MOTION = 1e-9  # rad, m: a joint whose command stays within stands still
SHOWN_EVENTS = 8  # marks in a figure
OF_PISTON = {
    signal.column(): signal.column(prismatic=True) for signal in MOTOR
}  # what a piston has in its place


@dataclass(frozen=True)
class View:
    """A result with the description of its robot, as the controller knows it and as it is."""

    result: Result
    description: RobotDescription

    @property
    def t(self) -> Array:
        """Instants (k,) [s]."""
        return self.result.signals["time_s"]

    @property
    def duration(self) -> float:
        """Length of the run [s], up to where it came."""
        simulated = self.result.summary.get("simulated_s")
        if simulated is None:
            simulated = self.t[-1] if len(self.t) else 0.0
        return float(simulated)

    @property
    def points(self) -> int:
        """Most points of a line, so that the page stays small however many axes there are."""
        lines = 9 * len(self.result.motors) + 6 * len(self.result.joints) + 14
        return int(min(POINTS, BYTES / POINT_BYTES / lines))

    def units(self, i: int) -> JointUnits:
        """Units of joint number ``i``."""
        return PRISMATIC if self.result.prismatic[i] else REVOLUTE

    def joint(self, i: int, quantity: str, *, reference: bool = False) -> Array:
        """Position or velocity of joint number ``i`` (k,) in SI."""
        slides = self.result.prismatic[i]
        return self.result.signals[
            joint_signal(self.result.joints[i], quantity, prismatic=slides, reference=reference)
        ]

    def following_error(self, i: int) -> Array:
        """Commanded minus actual position (k,) in SI."""
        return self.joint(i, "position", reference=True) - self.joint(i, "position")

    def motor_signal(self, name: str, quantity: str) -> Array:
        """A signal of a motor (k,), such as ``torque_N_m``; of a piston the force in its place."""
        own = OF_PISTON.get(quantity, quantity) if self.is_piston(name) else quantity
        return self.result.signals[f"motor_{name}_{own}"]

    def mean_speed(self, name: str) -> Array:
        """Speed of a motor as its torque is recorded, the mean since the row before (k,) [rad/s]."""
        angle, first = self.motor_signal(name, "angle_rad"), self.motor_signal(name, "speed_rad_per_s")[:1]
        return np.concatenate([first, np.diff(angle) / np.diff(self.t)])

    def is_hydraulic(self, name: str) -> bool:
        """True if a servovalve moves this axis."""
        return f"motor_{name}_pressure_a_Pa" in self.result.signals

    def is_piston(self, name: str) -> bool:
        """True if that axis is a cylinder, whose numbers are a force and a speed of travel."""
        return f"motor_{name}_force_N" in self.result.signals

    def has_temperature(self, name: str) -> bool:
        """True if a motor has thermal data, without which nobody knows its temperature."""
        return f"motor_{name}_winding_temperature_degC" in self.result.signals

    @cached_property
    def moving(self) -> list[int]:
        """Numbers of the joints that are commanded to move."""
        references = [self.joint(i, "position", reference=True) for i in range(self.joint_count)]
        return [i for i, q_ref in enumerate(references) if float(np.ptp(q_ref)) > LEAST_MOTION]

    @property
    def joint_count(self) -> int:
        """Number of joints."""
        return len(self.result.joints)

    def axis(self, motor: str) -> dict[str, Any]:
        """The summary of a motor; empty if there is none."""
        axes: list[dict[str, Any]] = self.result.summary.get("axes", [])
        return next((axis for axis in axes if axis.get("motor") == motor), {})

    @property
    def truth(self) -> RobotDescription:
        """The robot as it is, which has run."""
        return self.result.scenario.plant_description

    def motor(self, name: str) -> DriveData:
        """The data of a motor as it is, without data where the description has none."""
        return drive_of(self.truth, name)

    def current_limit(self, name: str) -> float | None:
        """The largest current [A] that the driver gives, which the controller sets; None if nothing tells it."""
        return drive_of(self.description, name).ratings.current_limit

    def drive(self, name: str) -> DriveLimits:
        """What motor and supply, as they are, can give within the controller's limits, as arrays (1,)."""
        motor, limit = self.motor(name), self.current_limit(name)
        if limit is not None:
            motor = replace(motor, ratings=replace(motor.ratings, current_limit=limit))
        return drive_limits([motor], self.truth.power, valve_envelopes(self.truth))

    def peak_rating(self, name: str) -> float | None:
        """Torque that motor and drive give at most [N m]."""
        stated: float | None = self.axis(name).get("peak_rating_N_m")
        most = float(self.drive(name).torque[0])
        return most if stated is None and np.isfinite(most) else stated

    def saturation(self, motor: str) -> list[tuple[str, float, float]]:
        """Intervals (kind, from, to) in which a motor met a limit."""
        return [(kind, start, end) for kind, start, end, _ in self.limits_met(motor)]

    def limits_met(self, motor: str) -> list[tuple[str, float, float, int]]:
        """The same with how often the limit was met within."""
        found = self.axis(motor).get("saturation", [])
        return [
            (str(item["kind"]), float(item["from_s"]), float(item["to_s"]), int(item.get("times", 1)))
            for item in found
        ]

    def incidents(self, axis: str | None = None, *others: str) -> list[tuple[float, str]]:
        """Events that are no limits and no shaft at rest, such as faults; of one axis and others, or of all."""
        quiet = ("voltage limit", "current limit", "speed", "stuck")
        return [
            (event.time_s, event.what if axis else f"{event.axis} {event.what}".strip())
            for event in self.result.events
            if not event.what.startswith(quiet)
            and not event.what.endswith("exceeded")
            and (axis is None or event.axis in (axis, "", *others))
        ][:SHOWN_EVENTS]

    @cached_property
    def standstill(self) -> float:
        """The instant [s] from which the command stands still until the end."""
        log = self.result.log
        if not len(log.time):
            return 0.0
        changes = np.flatnonzero((np.abs(np.diff(log.q_ref, axis=0)) > 1e-12).any(axis=1))
        return float(log.time[changes[-1] + 1 if len(changes) else 0])


def view(result: Result) -> View:
    """The result with the description of its robot as the controller knows it."""
    return View(result, result.scenario.description)
