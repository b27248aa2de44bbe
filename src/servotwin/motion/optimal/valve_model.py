r"""What a servovalve and its supply leave of force and speed, for optimal motions.

Fully open, with the flows of both edges and the balance of forces (eq:valve-speed), a piston gives at most

.. math:: F \le F_+ - c\,v_+^2, \qquad -F \le F_- - c\,v_-^2, \qquad
          c = \frac{A_A^3 + A_B^3}{k^2}                                                        (eq:valve-limit)

with F_+ = A_A p_s - A_B p_t, F_- = A_B p_s - A_A p_t, and v_+, v_- the speed forward and backward, zero the other way.
A valve that throttles a moving piston throttles both chambers, by pressures as A_A^2 : A_B^2, so braking is bounded by
the chamber with the larger area A: filled it must not fall below tank, emptied not rise above supply pressure,

.. math:: -F \le (p_s - p_t)\frac{A_A^3 + A_B^3}{A^2} - F_+ \quad (v > 0), \qquad
          F \le (p_s - p_t)\frac{A_A^3 + A_B^3}{A^2} - F_- \quad (v < 0)                        (eq:valve-braking)

With equal areas that is F_- and F_+ again. A force that changes compresses oil, which counts as a speed,
v + (dF/dt)/k_h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.drive_data import DriveData
from servotwin.description.hydraulic_data import hydraulic_supply, is_hydraulic, valve_data
from servotwin.description.schema import RobotDescription
from servotwin.drives.hydraulic.data import Axis, Supply
from servotwin.drives.hydraulic.laws import edge_opening
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.motor_limits import DriveLimits

PLACES = 41  # along the stroke, where the oil is softest


@dataclass(frozen=True, eq=False)
class ValveModel:
    """Arrays (m,) of valves, zero for other motors.

    ``known``: whether it is one; ``forward``, ``backward`` [N] the forces F_+, F_-; ``drag`` c [N s2/m2]
    (eq:valve-limit); ``brake_forward``, ``brake_backward`` [N] against a motion that way (eq:valve-braking); ``oil``
    [N/m] the stiffness of the enclosed oil where it is least; ``area_a``, ``area_b`` [m2] that the supply fills
    forward and backward; ``pump`` [m3/s], infinite with a constant pressure or an accumulator.
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
    starved = supply.has_state and supply.accumulator == 0.0
    pump = supply.pump_flow if starved else math.inf
    return ValveModel(known > 0.0, forward, backward, drag, held, held_back, oil, area_a, area_b, pump)


def _valve(description: RobotDescription, supply: Supply, drive: DriveData) -> tuple[float, ...]:
    data = valve_data(description, drive)
    axis = data.axis
    k = axis.k * edge_opening(1.0 + axis.underlap, axis.clearance)
    drag = (axis.area_a**3 + axis.area_b**3) / k**2  # eq:valve-limit
    forces = (data.heads[0] * axis.mean_area, data.heads[1] * axis.mean_area)
    throttled = (supply.pressure - supply.tank) * drag * k**2 / max(axis.area_a, axis.area_b) ** 2
    brakes = [min(throttled - one, other) for one, other in (forces, forces[::-1])]  # eq:valve-braking
    if min(brakes) <= 0.0:
        what = "its areas are so different that a valve cannot brake it without cavitation"
        raise UnsupportedError(f"{drive.name}: {what}; an optimal motion needs another cylinder")
    return 1.0, *forces, drag, *brakes, _oil_stiffness(axis, supply), axis.area_a, axis.area_b


def _oil_stiffness(axis: Axis, supply: Supply) -> float:
    """Stiffness of the oil in both chambers at half the supply pressure, where the stroke makes it least [N/m]."""
    bulk = supply.oil(0.5 * (supply.pressure + supply.tank))[1]
    stiffness = []
    for x in np.linspace(axis.end_a, axis.end_b, PLACES):
        V_a, V_b, _, _ = axis.volumes(float(x))
        stiffness.append(bulk * (axis.area_a**2 / V_a + axis.area_b**2 / V_b))
    return min(stiffness)
