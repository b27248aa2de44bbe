"""From the description of a robot to the records of its motors, sensors and power stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from servotwin.description.display import UF, US
from servotwin.description.drive_data import DriveData, DriveGear
from servotwin.description.drive_errors import drive_errors
from servotwin.description.drive_parts import Thermal
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.friction_data import shaft_curve
from servotwin.description.hydraulic_data import seal_share
from servotwin.description.motors import required_counts, required_drives
from servotwin.description.problems import refuse
from servotwin.description.schema import Power, RobotDescription
from servotwin.drives.harmonics import fill_waves
from servotwin.drives.kind import Winding
from servotwin.drives.records import FREE, MOTOR, POWER, SENSOR, STUCK, zeros
from servotwin.simulation.scenario.parts import Solver

AMBIENT = 25.0  # degC
FASTEST_STIFFNESS = 1e-4  # s: an elastic gear must not swing faster than steps of the PWM period can follow
BUS_SWING = 0.25  # largest change of the bus voltage within a step, of the source's voltage
RANGE_MARGIN = 1.25  # range of a current sensor over the current limit
SOURCE_MARGIN = 1.2  # a bus above its source by this factor is worth a warning,
RESISTOR_MARGIN = 1.1  # as is one above the voltage that switches its braking resistor on


def motor_records(description: RobotDescription) -> Any:
    """Records of all motors at ambient temperature and rest."""
    drives = required_drives(description)
    records = zeros(MOTOR, len(drives))
    power = description.power
    bridge = power.bridge.on_resistance if power is not None else 0.0
    elastic = 0
    for j, (record, drive) in enumerate(zip(records, drives, strict=True)):
        kind = drive.actuator
        record["kind"], record["width"] = kind.code, len(kind.states)
        record["number"], record["feed"], record["valve"] = j, kind.feed, int(kind.valve)
        record["chambers_at"], record["integrals"] = kind.chambers_at, kind.integrals
        record["exact"], record["loss_at"] = int(kind.exact), -1
        fill_winding(record, drive.electrical, bridge if kind.bridge else 0.0)
        record["J"] = drive.rotor_inertia
        record["brake_torque"], record["brake_delay"] = 0.0, -1
        if drive.brake is not None:
            record["brake_torque"] = drive.brake.torque
            record["brake_delay"] = round(drive.brake.delay * 1e9)
        elastic += fill_gear(record, description, drive, elastic)
        fill_gear_errors(record, description, drive)
        curve = shaft_curve(description, drive)
        fill_friction(record, curve)
        fill_thermal(record, drive.thermal)
        record["w_limit"], record["tau_limit"] = drive.ratings.speed_limit, drive.ratings.torque_limit
        record["dry"] = int(curve.dry or drive.gear.lossy or seal_share(description, drive) > 0.0)
        record["mode"] = STUCK if record["dry"] else FREE
    return records


def fill_winding(record: Any, winding: Winding, bridge: float) -> None:
    """Electrical data; torque and voltage constant are one number (eq:dc-motor)."""
    record["R"] = record["R_ref"] = winding.resistance
    record["R_bridge"] = bridge
    record["L"], record["K"] = winding.inductance, winding.torque_constant
    record["has_constant"] = int(winding.has_torque_constant)
    if winding.phases == 3:
        record["L_d"], record["L_q"] = winding.inductance_d, winding.inductance_q
        record["pole_pairs"], record["psi"] = winding.pole_pairs, winding.flux


def fill_friction(record: Any, curve: FrictionCurve) -> None:
    """Friction of a shaft or joint (eq:friction-curve)."""
    record["f"], record["tau_c"], record["tau_s"] = curve.viscous, curve.coulomb, curve.static
    for k, (excess, w_s) in enumerate(curve.falls):
        record["tau_fall"][k], record["w_stribeck"][k] = excess, w_s
    for side, points in enumerate(curve.tables):
        record["points"][side] = len(points)
        for k, (w, tau) in enumerate(points):
            record["table_w"][side, k], record["table_tau"][side, k] = w, tau


def fill_gear(record: Any, description: RobotDescription, drive: DriveData, elastic: int) -> int:
    """Losses, torsion and play, counted at the motor; 1 if the gear is elastic."""
    gear = drive.gear
    record["flexible"], record["eta"], record["g"] = -1, gear.efficiency, 1.0
    if gear.stiffness is None:
        if gear.half_play:
            raise refuse(
                description,
                f"axes.{drive.owner}.gear.backlash",
                "play needs the stiffness of the flanks beyond it; expected a stiffness beside it, or linear_stiffness"
                " beside the datasheet that states the play",
            )
        return 0
    record["stiffness"], record["damping"], record["half_play"] = gear.stiffness, gear.damping, gear.half_play
    record["flexible"] = elastic
    fill_stiffening(record, gear)
    if math.sqrt(record["J"] / max([gear.stiffness, *(k for _, k in gear.stiffening)])) < FASTEST_STIFFNESS:
        raise refuse(
            description,
            f"axes.{drive.owner}.gear.stiffness",
            f"rotor and gear would swing faster than {1 / (2 * math.pi * FASTEST_STIFFNESS):.0f} Hz; expected less, "
            "or no stiffness for a stiff gear",
        )
    return 1


def fill_gear_errors(record: Any, description: RobotDescription, drive: DriveData) -> None:
    """Hysteresis and transmission error of an elastic gear; those of a stiff gear are read by its encoder."""
    record["hysteresis_at"] = -1
    if record["flexible"] < 0:
        return
    errors = drive_errors(description, drive)
    record["hysteresis_stiffness"], record["hysteresis_limit"] = (
        errors.hysteresis_stiffness,
        errors.hysteresis_limit,
    )
    fill_waves(record, "gear", errors.gear)


def fill_encoder_errors(record: Any, description: RobotDescription, drive: DriveData) -> None:
    """Errors of an encoder, and the transmission error of a stiff gear (eq:sensed-angle)."""
    errors = drive_errors(description, drive)
    record["angle_noise"] = errors.noise
    fill_waves(record, "encoder", errors.encoder)
    fill_waves(record, "gear", () if drive.gear.elastic else errors.gear)


def fill_stiffening(record: Any, gear: DriveGear) -> None:
    """Twists at which the stiffness changes, and by how much (eq:gear-stiffening)."""
    k, twist, begins = gear.stiffness or 0.0, 0.0, 0.0
    for number, (torque, stiffness) in enumerate(gear.stiffening, 1):
        twist += (torque - begins) / k
        record[f"bend_{number}"], record[f"added_{number}"] = twist, stiffness - k
        k, begins = stiffness, torque


def fill_thermal(record: Any, data: Thermal | None) -> None:
    """Thermal network, at the temperature of its surroundings; without data the winding keeps it."""
    ambient = AMBIENT if data is None else data.reference_temperature
    record["T_w"] = record["T_h"] = record["T_ref"] = record["T_ambient"] = record["T_peak"] = ambient
    record["T_limit"] = math.inf if data is None or data.limit is None else data.limit
    if data is None:
        return
    record["R_wh"], record["R_ha"] = data.winding_to_housing, data.housing_to_ambient
    record["C_w"], record["C_h"] = data.winding_capacity, data.housing_capacity
    record["alpha"] = data.temperature_coefficient


def sensor_records(description: RobotDescription, limits: Sequence[float]) -> Any:
    """Encoders and current sensors of the robot as it is.

    A sensor without a stated range is that of its driver: made for the current limit that is set there, ``limits`` [A].
    """
    drives = required_drives(description)
    records = zeros(SENSOR, len(drives))
    controller = description.controller
    for j, drive in enumerate(drives):
        records[j]["counts_per_rad"] = required_counts(description, drive)
        fill_encoder_errors(records[j], description, drive)
        if controller is not None:
            sensor = controller.current_sensor
            span = sensor.range if sensor.range is not None else RANGE_MARGIN * limits[j]
            records[j]["current_range"], records[j]["current_full_scale"] = span, sensor.range or 0.0
            records[j]["current_bits"] = sensor.bits if math.isfinite(span) else 0
            records[j]["current_offset"], records[j]["current_noise"] = sensor.offset, sensor.noise
            fill_pressure_sensor(records[j], description)
    return records


def fill_pressure_sensor(record: Any, description: RobotDescription) -> None:
    """Sensors of the chambers; without a stated range they are made for the supply."""
    controller, supply = description.controller, description.hydraulics
    if controller is None or supply is None:
        return
    sensor = controller.pressure_sensor
    record["pressure_range"] = sensor.range or RANGE_MARGIN * supply.supply_pressure
    record["pressure_bits"] = sensor.bits
    record["pressure_offset"], record["pressure_noise"] = sensor.offset, sensor.noise


def power_record(
    description: RobotDescription, solver: Solver, current_period: float, limits: Sequence[float]
) -> Any:
    """Source, bus, braking resistor, bridges; ``limits`` of the motors' currents [A]."""
    record = zeros(POWER, 1)
    record["u_limit"] = math.inf
    power = description.power
    if power is None:
        return record
    record["u_source"] = record["u_low"] = record["u_high"] = power.bus_voltage
    record["u_limit"] = highest_voltage(power)[0]
    record["dead_time"], record["storage_time"] = power.bridge.dead_time, power.bridge.storage_time
    record["two_level"] = int(power.bridge.modulation == "bipolar")
    if power.capacitance is None:
        return record
    if solver.method != "adaptive":  # which takes steps as small as it needs
        steps = 1 if solver.method == "fast" else solver.steps
        check_bus(description, power, solver.method, current_period / steps, limits)
    record["C"], record["R_supply"] = power.capacitance, power.supply_resistance
    resistor = power.braking_resistor
    if resistor is not None:
        record["R_brake"], record["u_on"], record["u_off"] = resistor.resistance, resistor.on, resistor.off
    return record


def bus_rate(power: Power | None) -> float:
    """How fast the voltage of a bus with a capacitor settles [1/s], with its braking resistor on; 0 of a stiff bus."""
    if power is None or power.capacitance is None:
        return 0.0
    resistances = [power.supply_resistance, power.braking_resistor and power.braking_resistor.resistance]
    return sum(1.0 / R for R in resistances if R) / power.capacitance


def highest_voltage(power: Power) -> tuple[float, str]:
    """The voltage that the bus should not exceed [V], and what it is: as stated, or above resistor or source."""
    if power.max_voltage is not None:
        return power.max_voltage, "power.max_voltage"
    if power.braking_resistor is not None:
        return RESISTOR_MARGIN * power.braking_resistor.on, f"{RESISTOR_MARGIN:g} times braking_resistor.on"
    return SOURCE_MARGIN * power.bus_voltage, f"{SOURCE_MARGIN:g} times bus_voltage"


def check_bus(
    description: RobotDescription, power: Power, method: str, step: float, limits: Sequence[float]
) -> None:
    r"""Complain about a bus whose voltage would move faster than steps of h = ``step`` [s] can follow.

    .. math:: R\,C \ge h, \qquad \frac{h}{C} \sum_j I_{max,j} \le \frac{u_s}{4}                  (eq:bus-step)

    R: resistance of supply and braking resistor, for methods of fixed step; the fast one carries the voltage
    over a window by energies, whatever R is, and where it goes from edge to edge its steps follow ``bus_rate``.
    """
    C, total = power.capacitance or 0.0, sum(limit for limit in limits if math.isfinite(limit))
    other = "solver.method adaptive" if method == "fast" else "more solver.steps or solver.method adaptive"
    least_C = step * total / (BUS_SWING * power.bus_voltage)  # eq:bus-step
    if least_C > C:
        raise refuse(
            description,
            "power.capacitance",
            f"{UF * C:.4g} uF: the current limits of the motors, {total:.4g} A together, move its voltage by "
            f"{step * total / C:.4g} V within a step of {US * step:.4g} us; expected at least "
            f"{UF * least_C:.4g} uF, or {other}",
        )
    resistances = {"power.supply_resistance": power.supply_resistance}
    if power.braking_resistor is not None:
        resistances["power.braking_resistor.resistance"] = power.braking_resistor.resistance
    for path, R in resistances.items() if method != "fast" else ():
        if R is not None and step > R * C:  # eq:bus-step
            raise refuse(
                description,
                path,
                f"{R:.4g} ohm with {UF * C:.4g} uF settle within {US * R * C:.4g} us, faster than a step of "
                f"{US * step:.4g} us can follow; expected at least {step / C:.4g} ohm, or {other}",
            )
