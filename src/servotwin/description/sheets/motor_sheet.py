"""A motor as a data sheet describes it, in SI and in the conventions of the models: what sizing computes with."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from servotwin.description.sheets.conventions import (
    Size,
    amplitude_per,
    copper_factor,
    torque_constant_factor,
    voltage_constant_factor,
    winding_factor,
)
from servotwin.description.sheets.motor_fields import MotorDatasheet, SpeedTorqueCurve, ThermalSheet
from servotwin.description.sheets.printed import Printed, interpolated
from servotwin.drives.kind import PHASE

PHASES = {"pmsm": 1.5, "dc": 1.0}  # copper loss over R i^2, i the amplitude of a three-phase current
SINK = (1e12, 1e-6)  # J/K, K/W: a housing that stays at the temperature of the surroundings
Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class MotorThermal:
    """Two bodies, winding and housing (eq:thermal); one alone has all resistance between winding and surroundings."""

    winding_to_housing: float  # [K/W]
    housing_to_ambient: float  # [K/W]
    winding_capacity: float  # [J/K]
    housing_capacity: float  # [J/K]
    ambient: float  # [degC]
    limit: float | None  # of the winding [degC]
    two_bodies: bool

    @property
    def resistance(self) -> float:
        """Winding to surroundings [K/W]."""
        return self.winding_to_housing + self.housing_to_ambient

    @property
    def time_constant(self) -> float:
        """Slower time constant of both bodies together, or that of the only one [s] (eq:sheet-two-bodies)."""
        fast = self.winding_to_housing * self.winding_capacity
        if not self.two_bodies:
            return fast
        slow = self.housing_to_ambient * self.housing_capacity
        total = fast + slow + self.housing_to_ambient * self.winding_capacity
        return 0.5 * (total + math.sqrt(max(total**2 - 4.0 * fast * slow, 0.0)))


@dataclass(frozen=True)
class MotorSheet:
    """A motor at its own shaft in SI; None where its sheet says nothing.

    Currents are amplitudes of a line, ``torque_constant`` is torque per amplitude, ``voltage_constant`` the amplitude
    of a star phase, ``resistance`` and inductances are those of a star phase (pmsm); plain values of a dc motor.
    """

    name: str
    kind: str = "pmsm"
    series: str | None = None
    rated_output: float | None = None  # [W]
    rated_speed: float | None = None  # [rad/s]
    rated_torque: float | None = None  # continuous at the rated speed [N m]
    rated_current: float | None = None  # [A]
    stall_torque: float | None = None  # continuous at standstill [N m]
    stall_current: float | None = None  # [A]
    peak_torque: float | None = None  # [N m]
    peak_current: float | None = None  # [A]
    max_speed: float | None = None  # [rad/s]
    no_load_speed: float | None = None  # [rad/s] at the bus voltage
    bus_voltage: float | None = None  # [V]
    torque_constant: float | None = None  # [N m/A]
    voltage_constant: float | None = None  # [V s/rad]
    resistance: float | None = None  # [ohm] at resistance_temperature
    resistance_temperature: float | None = None  # [degC]
    inductance: float | None = None  # [H]
    inductance_d: float | None = None  # [H]
    inductance_q: float | None = None  # [H]
    pole_pairs: int | None = None
    rotor_inertia: float | None = None  # [kg m2]
    viscous_friction: float | None = None  # [N m s/rad]
    coulomb_friction: float | None = None  # [N m]
    continuous_curve: Curve | None = None  # speed [rad/s], torque [N m]
    peak_curve: Curve | None = None
    thermal: MotorThermal | None = None
    brake_torque: float | None = None  # [N m]
    brake_inertia: float | None = None  # [kg m2]
    brake_mass: float | None = None  # [kg]
    frame: float | None = None  # edge of the flange [m]
    mass: float | None = None  # [kg]
    price_index: float | None = None

    def resistance_at(self, temperature: float) -> float | None:
        """Resistance of a star phase at a winding temperature [degC]."""
        if self.resistance is None or self.resistance_temperature is None:
            return self.resistance
        return self.resistance * copper_factor(self.resistance_temperature, temperature)

    @property
    def continuous_points(self) -> Curve:
        """The continuous curve: as printed, or of the ratings (``rated_curve``); empty where the sheet has neither."""
        if self.continuous_curve is not None:
            return self.continuous_curve
        rated, stall = self.rated_torque or self.stall_torque, self.stall_torque or self.rated_torque
        return (
            ()
            if rated is None or stall is None
            else rated_curve(stall, rated, self.rated_speed, self.max_speed)
        )

    def continuous_torque(self, speed: float) -> float | None:
        """Torque that it gives for ever at a speed [rad/s], by its continuous curve; zero beyond what it states."""
        points = self.continuous_points
        if not points:
            return None
        within = len(points) == 1 or abs(speed) <= points[-1][0] * (1.0 + 1e-9)
        return interpolated(points, abs(speed)) if within and self._allows(speed) else 0.0

    def short_torque(self, speed: float) -> float | None:
        """Torque that it gives for a short time at a speed [rad/s], by its own curve or its peak torque."""
        if not self._allows(speed):
            return 0.0
        if self.peak_curve is not None:
            return interpolated(self.peak_curve, abs(speed))
        return self.peak_torque

    def _allows(self, speed: float) -> bool:
        ends = [curve[-1][0] for curve in (self.peak_curve,) if curve is not None]
        return abs(speed) <= min([self.max_speed or math.inf, *ends]) * (1.0 + 1e-9)

    def copper_loss(self, torque: float, temperature: float) -> float | None:
        r"""Copper loss at a torque [N m] and a winding temperature [degC], in W.

        .. math:: P = \tfrac32 R(T)\,(\tau/K_t)^2 \text{ (pmsm)}, \qquad P = R(T)\,(\tau/K_t)^2 \text{ (dc)}
                                                                                     (eq:sheet-loss)
        """
        R = self.resistance_at(temperature)
        if R is None or self.torque_constant is None:
            return None
        return PHASES[self.kind] * R * (torque / self.torque_constant) ** 2  # eq:sheet-loss


def rated_curve(stall: float, rated: float, rated_speed: float | None, max_speed: float | None) -> Curve:
    """A continuous curve from ratings alone: a line from stall to rated torque [N m], then constant power.

    Without a rated speed [rad/s] the rated torque holds at every speed.
    """
    if rated_speed is None:
        return ((0.0, rated),)
    if max_speed is None or max_speed <= rated_speed:
        return ((0.0, stall), (rated_speed, rated))
    # a hyperbola, as points near enough for a straight line between them
    steps = [rated_speed * (max_speed / rated_speed) ** (k / 8) for k in range(9)]
    return ((0.0, stall), *((w, rated * rated_speed / w) for w in steps))


def motor_sheet(name: str, printed: MotorDatasheet) -> MotorSheet:
    """The converted sheet; what it states twice is kept as stated, for the cross-check."""
    told = printed.conventions
    sine = printed.kind == "pmsm"
    connection = told.connection or "star"
    winding = winding_factor(told.winding_between or "phase", connection) if sine else 1.0

    def current(value: Printed | None) -> float | None:
        if value is None:
            return None
        return value.value * amplitude_per(_size(value, told.current)) if sine else value.value

    def scaled(value: float | None) -> float | None:
        return None if value is None else winding * value

    same = (
        *("kind", "series", "rated_output", "rated_speed", "rated_torque", "stall_torque", "peak_torque"),
        *("max_speed", "no_load_speed", "bus_voltage", "pole_pairs", "rotor_inertia", "viscous_friction"),
        *("coulomb_friction", "brake_torque", "brake_inertia", "brake_mass", "frame", "mass", "price_index"),
    )
    K_t, K_e = _constants(printed)
    made = MotorSheet(
        name=name,
        **{field: getattr(printed, field) for field in same},
        rated_current=current(printed.rated_current),
        stall_current=current(printed.stall_current),
        peak_current=current(printed.peak_current),
        torque_constant=K_t,
        voltage_constant=K_e,
        resistance=scaled(printed.resistance),
        resistance_temperature=told.winding_temperature,
        inductance=scaled(printed.inductance),
        inductance_d=scaled(printed.inductance_d),
        inductance_q=scaled(printed.inductance_q),
        continuous_curve=_curve(printed.continuous),
        peak_curve=_curve(printed.peak),
    )
    if printed.thermal is None:
        return made
    return replace(made, thermal=_thermal(printed.thermal, made))


def _size(value: Printed, told: Size | None) -> Size:
    return value.size or told or "amplitude"


def _curve(curve: SpeedTorqueCurve | None) -> Curve | None:
    return None if curve is None else curve.points


def _constants(printed: MotorDatasheet) -> tuple[float | None, float | None]:
    """Torque and voltage constant; one follows from the other where only one is printed (eq:sheet-constants)."""
    told = printed.conventions
    K_t = None if printed.torque_constant is None else printed.torque_constant.value
    K_e = None if printed.voltage_constant is None else printed.voltage_constant.value
    if printed.kind == "pmsm":
        if printed.torque_constant is not None:
            K_t = printed.torque_constant.value * torque_constant_factor(
                _size(printed.torque_constant, told.current)
            )
        if printed.voltage_constant is not None:
            K_e = printed.voltage_constant.value * voltage_constant_factor(
                _size(printed.voltage_constant, told.voltage),
                told.voltage_between or "phase",
                told.connection or "star",
            )
    ratio = PHASE if printed.kind == "pmsm" else 1.0
    if K_t is None and K_e is not None:
        K_t = K_e / ratio  # eq:sheet-constants
    return K_t, K_e


def _thermal(printed: ThermalSheet, sheet: MotorSheet) -> MotorThermal | None:
    r"""Resistances and capacities from rises and time constants.

    .. math:: R_{th} = \Delta T/P, \qquad C_{th} = \tau/R_{th}                          (eq:sheet-thermal)

    With a rise of the housing there are two bodies, and tau is the slower time constant of both together:

    .. math:: R_w = \frac{\Delta T - \Delta T_h}{P}, \quad R_h = \frac{\Delta T_h}{P}, \quad
              C_w = \frac{\tau_w}{R_w}, \quad
              C_h = \frac{\tau}{R_h} - \frac{\tau}{\tau - \tau_w} C_w                 (eq:sheet-two-bodies)
    """
    loss = printed.rated_loss
    if loss is None:
        torque = sheet.stall_torque or sheet.rated_torque
        loss = sheet.copper_loss(torque, printed.ambient + printed.winding_rise) if torque else None
    if loss is None:
        return None
    ambient, limit = printed.ambient, printed.limit
    if printed.housing_rise is None or printed.winding_time_constant is None:
        R = printed.winding_rise / loss  # eq:sheet-thermal
        C_h, R_h = SINK
        return MotorThermal(R, R_h, printed.time_constant / R, C_h, ambient, limit, two_bodies=False)
    slow, fast = printed.time_constant, printed.winding_time_constant
    R_w, R_h = (printed.winding_rise - printed.housing_rise) / loss, printed.housing_rise / loss
    C_w = fast / R_w  # eq:sheet-two-bodies
    C_h = slow / R_h - slow / (slow - fast) * C_w  # eq:sheet-two-bodies
    return MotorThermal(R_w, R_h, C_w, C_h, ambient, limit, two_bodies=True)
