"""What servovalves and their supply leave of force and speed, for optimal motions.

Eq:valve-limit and eq:valve-braking (``description.hydraulic_data.ValveEnvelope``); a force that changes compresses oil,
which counts as a speed, v + (dF/dt)/k_h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.drive_data import DriveData
from servotwin.description.hydraulic_data import (
    cylinder_motors,
    hydraulic_axis,
    hydraulic_supply,
    is_hydraulic,
    pump_flow,
    valve_envelope,
)
from servotwin.description.schema import RobotDescription
from servotwin.drives.hydraulic.data import Axis, Supply
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.motor_limits import DriveLimits

PLACES = 41  # along the stroke, where the oil is softest
SMOOTH_WAY = 5e-3  # of the speed without load: within it a valve changes its way
SMOOTH_BRAKE = 1e-3  # the same where a moving piston cannot be held back by the whole force
SMOOTH_SUPPLY = 1e-4  # the same of the flow that is paid for: what is smooth costs less than it takes


@dataclass(frozen=True, eq=False)
class ValveModel:
    """Arrays (m,) of valves, zero for other motors.

    ``known``: whether it is one; ``forward``, ``backward`` [N] the forces F_+, F_-; ``drag`` c [N s2/m2]
    (eq:valve-limit); ``brake_forward``, ``brake_backward`` [N] against a motion that way (eq:valve-braking); ``oil``
    [N/m] the stiffness of the enclosed oil where it is least; ``area_a``, ``area_b`` [m2] that the supply fills
    forward and backward; ``pump`` [m3/s], infinite with a constant pressure or an accumulator; ``pressure`` [Pa] of the
    supply.
    Of a hydraulic motor N m, rad and m3/rad.
    """

    known: BoolArray
    forward: Array
    backward: Array
    drag: Array
    brake_forward: Array
    brake_backward: Array
    oil: Array
    area_a: Array
    area_b: Array
    pump: float
    pressure: float
    rotary: BoolArray  # hydraulic motors, whose forces are torques
    open: float = 1.0  # how far valves may open

    @property
    def free_speed(self) -> Array:
        """Speeds forward without load [m/s], fully open."""
        return np.sqrt(self.forward / np.where(self.known, self.drag, 1.0))

    @property
    def offset(self) -> Array:
        """Half the difference of both forces [N]."""
        return 0.5 * (self.forward - self.backward)

    def forces(self, limits: DriveLimits) -> Array:
        """Limits of currents, where valves have the mean of both forces."""
        return np.where(
            self.known, 0.5 * (self.forward + self.backward), limits.torque / limits.torque_constant
        )

    def forces_at(self, w: Array) -> tuple[Array, Array]:
        """Least and largest force (..., m) [N] at speeds (..., m), within the opening; NaN for other motors."""
        drag = self.drag * (w / self.open) ** 2
        low = np.where(w < 0.0, drag - self.backward, np.where(w > 0.0, -self.brake_forward, -self.backward))
        high = np.where(w > 0.0, self.forward - drag, np.where(w < 0.0, self.brake_backward, self.forward))
        return np.where(self.known, low, np.nan), np.where(self.known, high, np.nan)

    def numbers(self) -> dict[str, float]:
        """What the functions of a program have of them, by name."""
        table = {"oPump": self.pump if math.isfinite(self.pump) else 2.0, "oPs": self.pressure}
        free = self.free_speed
        for name, values in {
            "oVc": self.drag / self.open**2, "oVf": self.forward, "oVb": self.backward, "oOil": self.oil,
            "oAa": self.area_a, "oAb": self.area_b, "oVp": self.backward - self.brake_forward,
            "oVr": self.forward - self.brake_backward,
            "oVe": SMOOTH_WAY * free, "oVs": SMOOTH_BRAKE * free, "oVq": SMOOTH_SUPPLY * free,
        }.items():  # fmt: skip
            table.update((f"{name}{k}", float(x)) for k, x in enumerate(values))
        return table

    def openings(self, w: Array, force: Array) -> Array:
        """How far (..., m) the valves open for a speed and a force, 1 fully; NaN for other motors."""
        left = np.where(w >= 0.0, self.forward - force, self.backward + force)
        least = np.where(self.known, 1e-9 * (self.forward + self.backward), 1.0)
        opening = np.sqrt(self.drag * w**2 / np.maximum(left, least))
        return np.where(self.known, np.copysign(opening, w), np.nan)


def valve_model(description: RobotDescription, drives: Sequence[DriveData]) -> ValveModel | None:
    """The valves of a robot; None if it has none."""
    if not any(is_hydraulic(drive) for drive in drives):
        return None
    supply = hydraulic_supply(description)
    rows = [_valve(description, supply, drive) if is_hydraulic(drive) else (0.0,) * 9 for drive in drives]
    known, forward, backward, drag, held, held_back, oil, area_a, area_b = map(
        np.array, zip(*rows, strict=True)
    )
    rotary = np.array(
        [is_hydraulic(drive) and drive.name not in cylinder_motors(description) for drive in drives]
    )
    flow = pump_flow(description), supply.pressure
    return ValveModel(
        known > 0.0, forward, backward, drag, held, held_back, oil, area_a, area_b, *flow, rotary
    )


def _valve(description: RobotDescription, supply: Supply, drive: DriveData) -> tuple[float, ...]:
    envelope = valve_envelope(description, drive)
    if min(envelope.brake_forward, envelope.brake_backward) <= 0.0:
        what = "its areas are so different that a valve cannot brake it without cavitation"
        raise UnsupportedError(f"{drive.name}: {what}; an optimal motion needs another cylinder")
    oil = _oil_stiffness(hydraulic_axis(description, drive), supply)
    return 1.0, *envelope[:5], oil, envelope.area_a, envelope.area_b


def _oil_stiffness(axis: Axis, supply: Supply) -> float:
    """Stiffness of the oil in both chambers at half the supply pressure, where the stroke makes it least [N/m]."""
    bulk = supply.oil(0.5 * (supply.pressure + supply.tank))[1]
    stiffness = []
    for x in np.linspace(axis.end_a, axis.end_b, PLACES):
        V_a, V_b, _, _ = axis.volumes(float(x))
        stiffness.append(bulk * (axis.area_a**2 / V_a + axis.area_b**2 / V_b))
    return min(stiffness)
