"""From the description of a robot to the records of its motors, sensors and power stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from servotwin.description.checks import motor_owners
from servotwin.description.problems import find
from servotwin.description.schema import Axis, Motor, RobotDescription
from servotwin.drives.records import FREE, MOTOR, POWER, SENSOR, Kind, zeros
from servotwin.errors import InputError
from servotwin.mechanism.model import Array

AMBIENT = 25.0  # degC
FASTEST_STIFFNESS = 1e-4  # s: an elastic gear must not swing faster than steps of the PWM period can follow
KINDS = {"dc": Kind.DC, "dc-reduced": Kind.DC_REDUCED, "pmsm": Kind.PMSM, "ideal": Kind.IDEAL}
NEEDED = {
    Kind.DC: ("torque_constant", "resistance", "inductance"),
    Kind.DC_REDUCED: ("torque_constant", "resistance"),
    Kind.PMSM: ("torque_constant", "resistance", "pole_pairs"),
    Kind.IDEAL: (),
}
EXAMPLES = {
    "torque_constant": "'0.12 N*m/A'",
    "resistance": "'0.4 ohm'",
    "inductance": "'0.6 mH'",
    "pole_pairs": "'4'",
    "rotor_inertia": "'1.5e-4 kg*m^2'",
    "current_limit": "'16 A'",
}


owners = motor_owners  # the name that simulations know it by


def refuse(description: RobotDescription, path: str, text: str) -> InputError:
    """An error at a field of the robot file, or at the nearest part of it that is stated."""
    if description.tree is None:
        return InputError(text, field=path)
    parts = path.split(".")
    while parts:
        try:
            origin = find(description.tree, [".".join(parts)]).origin
        except (KeyError, ValueError, IndexError):
            parts.pop()
            continue
        return InputError(text, file=str(origin.file), line=origin.line, field=path)
    return InputError(text, field=path)


def motor_of(description: RobotDescription, name: str) -> tuple[Axis, Motor, Kind]:
    """The axis, motor and electrical model behind a motor name, with everything the model needs."""
    axis = description.axes.get(name)
    path = f"axes.{name}.motor"
    if axis is None or axis.motor is None:
        raise refuse(
            description,
            path,
            "missing: a simulation needs the data of every motor; expected a motor with torque_constant, "
            "resistance and inductance, or 'kind: ideal'",
        )
    motor = axis.motor
    if motor.kind == "hydraulic":
        raise refuse(
            description, f"{path}.kind", "'hydraulic' cannot be simulated yet; expected " + ", ".join(KINDS)
        )
    kind = KINDS[motor.kind or "dc"]
    for field in NEEDED[kind]:
        if getattr(motor, field) is None:
            raise refuse(
                description,
                f"{path}.{field}",
                f"missing: a {motor.kind or 'dc'} motor needs it; expected {EXAMPLES[field]}",
            )
    if kind is Kind.DC and not motor.inductance:
        raise refuse(
            description,
            f"{path}.inductance",
            "0 H leaves no current to integrate; expected more, or 'kind: dc-reduced'",
        )
    if not motor.rotor_inertia and axis.gear is not None and axis.gear.stiffness is not None:
        raise refuse(
            description,
            f"{path}.rotor_inertia",
            f"missing: behind an elastic gear the rotor moves by itself; expected {EXAMPLES['rotor_inertia']}",
        )
    return axis, motor, kind


def current_limit(description: RobotDescription, name: str) -> float:
    """Limit of the driver's current [A]; three times the rated current where none is stated."""
    _, motor, kind = motor_of(description, name)
    most = motor.largest_current
    if most is None:
        if kind is Kind.IDEAL:
            return math.inf
        raise refuse(
            description,
            f"axes.{name}.motor.current_limit",
            f"missing, and neither peak nor rated torque tell it; expected {EXAMPLES['current_limit']}",
        )
    return most


def motor_records(description: RobotDescription, N: Array) -> Any:
    """Records of all motors at ambient temperature and rest."""
    names = owners(description)
    records = zeros(MOTOR, len(names))
    power = description.power
    bridge = power.bridge.on_resistance if power is not None else 0.0
    elastic = 0
    for j, name in enumerate(names):
        axis, motor, kind = motor_of(description, name)
        record = records[j]
        record["kind"] = kind
        fill_winding(record, motor, kind, bridge)
        fill_friction(record, axis, motor)
        ratio = float(np.max(np.abs(N[j])))
        elastic += fill_gear(record, description, name, ratio, elastic)
        fill_thermal(record, motor)
        smooth = not (record["tau_c"] or record["tau_s"] or record["eta"] < 1.0) or (
            record["flexible"] >= 0 and not (record["tau_c"] or record["tau_s"])
        )
        record["mode"] = FREE if smooth else 0
    return records


def fill_winding(record: Any, motor: Motor, kind: Kind, bridge: float) -> None:
    """Electrical data; torque and voltage constant are one number (eq:dc-motor)."""
    K = motor.torque_constant or 1.0
    record["R"] = record["R_ref"] = motor.resistance or 0.0
    record["R_bridge"] = bridge if kind is not Kind.IDEAL else 0.0
    record["L"], record["K"] = motor.inductance or 0.0, K
    if kind is Kind.PMSM:
        pole_pairs = motor.pole_pairs or 1
        record["L_d"] = motor.inductance_d or motor.inductance or 0.0
        record["L_q"] = motor.inductance_q or motor.inductance or 0.0
        record["pole_pairs"], record["psi"] = pole_pairs, K / (1.5 * pole_pairs)


def fill_friction(record: Any, axis: Axis, motor: Motor) -> None:
    """Rotor, friction and brake."""
    record["J"], record["f"] = motor.rotor_inertia or 0.0, motor.viscous_friction or 0.0
    record["tau_c"] = motor.coulomb_friction or 0.0
    record["tau_s"] = max(motor.static_friction or 0.0, record["tau_c"])
    record["w_stribeck"] = motor.stribeck_speed or 1.0
    record["brake_torque"] = axis.brake.torque if axis.brake is not None else 0.0


def fill_gear(record: Any, description: RobotDescription, name: str, ratio: float, elastic: int) -> int:
    """Losses, torsion and play, counted at the motor; 1 if the gear is elastic."""
    gear = description.axes[name].gear
    record["flexible"], record["eta"], record["g"] = -1, 1.0, 1.0
    if gear is None:
        return 0
    record["eta"] = gear.efficiency if gear.efficiency is not None else 1.0
    if gear.stiffness is None:
        if gear.backlash:
            raise refuse(
                description,
                f"axes.{name}.gear.backlash",
                "play needs the stiffness of the flanks beyond it; expected a stiffness beside it",
            )
        return 0
    record["stiffness"] = gear.stiffness / ratio**2
    record["damping"] = (gear.damping or 0.0) / ratio**2
    record["half_play"] = 0.5 * (gear.backlash or 0.0) * ratio
    record["flexible"] = elastic
    if math.sqrt(record["J"] / record["stiffness"]) < FASTEST_STIFFNESS:
        raise refuse(
            description,
            f"axes.{name}.gear.stiffness",
            f"rotor and gear would swing faster than {1 / (2 * math.pi * FASTEST_STIFFNESS):.0f} Hz; expected less, "
            "or no stiffness for a stiff gear",
        )
    return 1


def fill_thermal(record: Any, motor: Motor) -> None:
    """Thermal network, at the temperature of its surroundings; without data the winding keeps it."""
    data = motor.thermal
    ambient = AMBIENT if data is None else data.reference_temperature
    record["T_w"] = record["T_h"] = record["T_ref"] = record["T_ambient"] = record["T_peak"] = ambient
    if data is None:
        return
    record["R_wh"], record["R_ha"] = data.winding_to_housing, data.housing_to_ambient
    record["C_w"], record["C_h"] = data.winding_capacity, data.housing_capacity
    record["alpha"] = data.temperature_coefficient


def sensor_records(description: RobotDescription, limits: Sequence[float]) -> Any:
    """Encoders and current sensors."""
    names = owners(description)
    records = zeros(SENSOR, len(names))
    controller = description.controller
    for j, name in enumerate(names):
        encoder = description.axes[name].encoder
        if encoder is None:
            raise refuse(
                description,
                f"axes.{name}.encoder",
                "missing: the axis controller counts its pulses; expected '{lines: 1000}' or '{bits: 20}'",
            )
        records[j]["counts_per_rad"] = encoder.counts / (2.0 * math.pi)
        if controller is not None:
            sensor = controller.current_sensor
            span = sensor.range if sensor.range is not None else 1.25 * limits[j]
            records[j]["current_range"] = span
            records[j]["current_bits"] = sensor.bits if math.isfinite(span) else 0
            records[j]["current_offset"], records[j]["current_noise"] = sensor.offset, sensor.noise
    return records


def power_record(description: RobotDescription) -> Any:
    """Source, bus, braking resistor, bridges."""
    record = zeros(POWER, 1)
    power = description.power
    if power is None:
        return record
    record["u_source"], record["enabled"] = power.bus_voltage, 1
    record["dead_time"], record["storage_time"] = power.bridge.dead_time, power.bridge.storage_time
    record["two_level"] = int(power.bridge.modulation == "two-level")
    if power.capacitance is not None:
        record["capacitor"], record["C"] = 1, power.capacitance
        record["R_supply"] = power.supply_resistance or 1e-3
        if power.braking_resistor is not None:
            resistor = power.braking_resistor
            record["R_brake"], record["u_on"], record["u_off"] = (
                resistor.resistance,
                resistor.on,
                resistor.off,
            )
    return record
