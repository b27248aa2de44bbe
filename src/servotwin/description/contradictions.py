"""Stated values that contradict each other: worth a line to the user, no reason to refuse."""

from __future__ import annotations

import math
from collections.abc import Iterator

from servotwin.description.checks import inertia_problems
from servotwin.description.controller_parts import time_text
from servotwin.description.display import BAR, LITRES_PER_MINUTE, RPM
from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.fields import nanoseconds
from servotwin.description.friction_curve import rest_torques
from servotwin.description.nodes import Origin, one_line
from servotwin.description.problems import find
from servotwin.description.schema import Axis, Motor, RobotDescription
from servotwin.description.sheets.cross_checks import SPEED as SHEET_SPEED
from servotwin.description.sheets.cross_checks import motor_contradictions
from servotwin.description.sheets.gear_checks import gear_contradictions
from servotwin.description.sheets.motor_sheet import motor_sheet
from servotwin.drives.kind import PHASE
from servotwin.drives.table import kind_named
from servotwin.errors import located

CONSTANTS = 0.05  # torque and voltage constant of one motor follow from each other in SI
OUTPUT = 0.10  # data sheets round speed, torque and power
RATED = 0.20  # friction and iron losses take current and voltage too, and data sheets round
PEAK = 0.05  # the same for a torque and the current that makes it
SPEED = 0.01  # the same for the speeds of a joint and its motor
NO_LOAD = SHEET_SPEED  # the same for a speed and the bus that its back-EMF takes


def contradictions(description: RobotDescription) -> Iterator[str]:
    """One line for each contradiction, with its place."""
    for path, text in _found(description):
        origin = find(description.tree, [path]).origin if description.tree is not None else Origin("")
        yield located(text, one_line(origin.file, 200), origin.line, path)


def _found(description: RobotDescription) -> Iterator[tuple[str, str]]:
    for path, trouble in inertia_problems(description):
        yield path, f"not the inertia of a real body: {trouble}"
    for name, axis in description.axes.items():
        if axis.motor is not None:
            for field, text in _of_motor(axis.motor):
                yield f"axes.{name}.{field}", text
        for field, text in _of_datasheets(axis):
            yield f"axes.{name}.{field}", text
        for field, text in _of_joint_friction(axis):
            yield f"axes.{name}.{field}", text
    yield from _of_gears(description)
    yield from _of_speeds(description)
    yield from _of_gear_speeds(description)
    yield from _of_motor_buses(description)
    yield from _of_power(description)
    yield from _of_hydraulics(description)
    load = description.payload
    if load is not None and load.largest is not None and load.mass > load.largest * (1.0 + 1e-9):
        yield "payload.mass", f"{load.mass:.4g} kg is more than the largest payload, {load.largest:.4g} kg"
    if description.power is not None:
        for name, needed in _voltages(description).items():
            there = description.power.bus_voltage
            if needed > there:
                yield (
                    f"axes.{name}.limits.speed",
                    f"axis {name} needs {needed:.4g} V against the back-EMF at this speed,"
                    f" but power.bus_voltage is {there:.4g} V",
                )


def _of_power(description: RobotDescription) -> Iterator[tuple[str, str]]:
    power = description.power
    if power is None:
        return
    if power.supply_resistance and power.capacitance is None:
        yield (
            "power.supply_resistance",
            f"{power.supply_resistance:.4g} ohm has no effect without a capacitance: the bus is a stiff"
            " voltage then, and a voltage drop is not modelled",
        )
    bridge = power.bridge
    if bridge.storage_time > bridge.dead_time:
        stored, dead, both = (
            time_text(nanoseconds(t))
            for t in (bridge.storage_time, bridge.dead_time, bridge.storage_time - bridge.dead_time)
        )
        yield (
            "power.bridge.storage_time",
            f"{stored} is longer than the dead_time {dead}: for {both} at every switching both transistors of a leg"
            " conduct and short the bus (shoot-through), which is not modelled",
        )
    synchronous = [
        name
        for name, axis in description.axes.items()
        if axis.motor and kind_named(axis.motor.kind).three_phase
    ]
    if bridge.modulation == "bipolar" and synchronous:
        yield (
            "power.bridge.modulation",
            f"bipolar has no effect on the synchronous motors of axes {', '.join(synchronous[:12])}: a bridge of"
            " three legs has one pattern",
        )


def _of_hydraulics(description: RobotDescription) -> Iterator[tuple[str, str]]:
    """A pump, relief valve and accumulator beside the pressure that is counted on, and the leaks of the valves."""
    data = description.hydraulics
    if data is None or data.pump is None or data.relief is None:
        return
    counted, flow = data.supply_pressure, data.pump.flow
    most = data.relief.pressure + flow / data.relief.flow * data.relief.override
    if most < counted * (1.0 - SPEED):
        yield (
            "hydraulics.relief.pressure",
            f"{BAR * data.relief.pressure:.4g} bar: the pump reaches {BAR * most:.4g} bar at most, below the"
            f" supply_pressure {BAR * counted:.4g} bar that the controller counts on",
        )
    gas = data.accumulator
    if gas is not None and gas.precharge >= min(most, counted):
        name = "supply_pressure" if counted <= most else "highest pressure of the relief valve"
        yield (
            "hydraulics.accumulator.precharge",
            f"{BAR * gas.precharge:.4g} bar is not below the {name}, {BAR * min(most, counted):.4g} bar: no oil"
            " goes into it there",
        )
    valves = [axis.motor.valve for axis in description.axes.values() if axis.motor and axis.motor.valve]
    leak = sum(valve.null_leakage * math.sqrt(counted / valve.rated_drop) for valve in valves)
    if leak >= flow:
        yield (
            "hydraulics.pump.flow",
            f"{LITRES_PER_MINUTE * flow:.4g} L/min is not above what the valves leak at null at the supply_pressure,"
            f" {LITRES_PER_MINUTE * leak:.4g} L/min: the pump does not reach it",
        )


def _of_datasheets(axis: Axis) -> Iterator[tuple[str, str]]:
    """Contradictions within the data sheets of motor and gear."""
    if axis.motor is not None and axis.motor.datasheet is not None:
        for field, text in motor_contradictions(axis.motor.datasheet):
            yield f"motor.datasheet.{field}", text
    if axis.gear is not None and axis.gear.datasheet is not None:
        for field, text in gear_contradictions(axis.gear.datasheet):
            yield f"gear.datasheet.{field}", text


def _of_motor(motor: Motor) -> Iterator[tuple[str, str]]:
    if motor.datasheet is not None:  # which is checked in its own conventions
        yield from _of_peaks(motor)
        return
    yield from _of_constants(motor)
    output, torque, speed = motor.rated_output, motor.rated_torque, motor.rated_speed
    if output and torque and speed and abs(torque * speed / output - 1.0) > OUTPUT:
        yield (
            "motor.rated_output",
            f"{output:.4g} W differs from rated_torque times rated_speed, {torque * speed:.4g} W,"
            f" by {abs(torque * speed / output - 1.0):.0%}",
        )
    yield from _of_ratings(motor)
    yield from _of_peaks(motor)


def _of_constants(motor: Motor) -> Iterator[tuple[str, str]]:
    K_t, K_e = motor.torque_constant, motor.voltage_constant
    if not K_t or not K_e or not kind_named(motor.kind).bridge:  # no back-EMF is computed then
        return
    if kind_named(motor.kind).three_phase:
        if abs(K_e / (PHASE * K_t) - 1.0) > CONSTANTS:
            yield (
                "motor.voltage_constant",
                f"{K_e:.4g} V*s/rad is not two thirds of the torque_constant, {PHASE * K_t:.4g} V*s/rad;"
                " expected amplitudes of a phase, not RMS or line values",
            )
    elif abs(K_t / K_e - 1.0) > CONSTANTS:
        yield (
            "motor.torque_constant",
            f"{K_t:.4g} N*m/A differs from the voltage_constant {K_e:.4g} V*s/rad"
            f" by {abs(K_t / K_e - 1.0):.0%}; the two are one constant in SI",
        )


def _of_ratings(motor: Motor) -> Iterator[tuple[str, str]]:
    """Rated current and voltage beside what rated torque and speed take."""
    K_t, torque, speed = motor.torque_constant, motor.rated_torque, motor.rated_speed
    if not K_t or not kind_named(motor.kind).bridge:
        return
    current = torque / K_t if torque else None
    stated = motor.rated_current
    if stated and current and abs(current / stated - 1.0) > RATED:
        amplitude = (
            "; expected the amplitude of a phase, not RMS" if kind_named(motor.kind).three_phase else ""
        )
        yield (
            "motor.rated_current",
            f"{stated:.4g} A differs from rated_torque over torque_constant, {current:.4g} A,"
            f" by {abs(current / stated - 1.0):.0%}{amplitude}",
        )
    if motor.rated_voltage and speed and not kind_named(motor.kind).three_phase:
        needed = K_t * speed + (motor.resistance or 0.0) * (current or stated or 0.0)
        if abs(needed / motor.rated_voltage - 1.0) > RATED:
            yield (
                "motor.rated_voltage",
                f"{motor.rated_voltage:.4g} V differs from back-EMF and resistance at rated speed and torque,"
                f" {needed:.4g} V, by {abs(needed / motor.rated_voltage - 1.0):.0%}",
            )


def _of_peaks(motor: Motor) -> Iterator[tuple[str, str]]:
    K_t, peak, rated = motor.torque_constant, motor.peak_torque, motor.rated_torque
    if peak and rated and peak < rated:
        yield "motor.peak_torque", f"{peak:.4g} N*m is below the rated_torque {rated:.4g} N*m"
    if peak and K_t and motor.current_limit and motor.current_limit * K_t > peak * (1.0 + PEAK):
        yield (
            "motor.current_limit",
            f"{motor.current_limit:.4g} A times the torque_constant is {motor.current_limit * K_t:.4g} N*m,"
            f" above the peak_torque {peak:.4g} N*m",
        )
    table = motor.friction_table
    sliding = max(rest_torques(table)) if table is not None else motor.coulomb_friction
    name = "torque at rest of the friction_table," if table is not None else "coulomb_friction"
    rest = motor.static_friction
    if rest is not None and sliding is not None and rest < sliding:
        yield "motor.static_friction", f"{rest:.4g} N*m is below the {name} {sliding:.4g} N*m"


def _of_joint_friction(axis: Axis) -> Iterator[tuple[str, str]]:
    friction, unit = axis.friction, "N" if axis.prismatic else "N*m"
    if friction is None or friction.static is None:
        return
    sliding = max(rest_torques(friction.table)) if friction.table is not None else friction.coulomb
    if sliding is not None and friction.static < sliding:
        yield "friction.static", f"{friction.static:.4g} {unit} is below what slides, {sliding:.4g} {unit}"


def _of_gears(description: RobotDescription) -> Iterator[tuple[str, str]]:
    """Motors of which nothing says how they drive their joint."""
    if description.transmission is not None:
        return
    for name, axis in description.axes.items():
        gear = axis.gear
        if axis.motor is None or not kind_named(axis.motor.kind).bridge or axis.prismatic:
            continue
        if gear is None or (gear.motor_per_joint is None and gear.kind != "direct"):
            yield (
                f"axes.{name}.gear{'' if gear is None else '.ratio'}",
                "missing: the motor drives the joint 1:1; expected gear: {ratio: ...}, or gear: {kind: direct}"
                " for a motor without gear",
            )


def _of_speeds(description: RobotDescription) -> Iterator[tuple[str, str]]:
    """Joints whose speed limit turns their motor faster than it may."""
    for drive, speed in _fastest(description):
        most = drive.ratings.max_speed
        if most and speed > most * (1.0 + SPEED):
            yield (
                f"axes.{drive.owner}.limits.speed",
                f"the motor of axis {drive.owner} turns at {RPM * speed:.4g} rpm at this speed, above its"
                f" max_speed {RPM * most:.4g} rpm",
            )


def _of_gear_speeds(description: RobotDescription) -> Iterator[tuple[str, str]]:
    """Joints whose speed limit turns the input of their gear faster than its data sheet allows."""
    for drive, speed in _fastest(description):
        gear = description.axes[drive.owner].gear
        sheet = None if gear is None else gear.datasheet or gear.screw_datasheet
        most = None if sheet is None else sheet.max_speed
        if most and speed > most * (1.0 + SPEED):
            yield (
                f"axes.{drive.owner}.limits.speed",
                f"the gear of axis {drive.owner} turns at {RPM * speed:.4g} rpm at this speed, above the max_speed"
                f" {RPM * most:.4g} rpm of its data sheet",
            )


def _of_motor_buses(description: RobotDescription) -> Iterator[tuple[str, str]]:
    """Motors whose speeds and curves are stated for another bus than the robot has, or need a higher one."""
    there = description.power.bus_voltage if description.power is not None else None
    for name, axis in description.axes.items():
        if axis.motor is None or there is None:
            continue
        sheet = axis.motor.datasheet
        stated = None if sheet is None else sheet.bus_voltage
        if stated and abs(there / stated - 1.0) > RATED:
            yield (
                f"axes.{name}.motor.datasheet.bus_voltage",
                f"{stated:.4g} V is what the sheet holds for, but power.bus_voltage is {there:.4g} V: its speeds and"
                " curves do not hold there",
            )
        elif not stated:
            for field, text in _of_bus_speeds(axis.motor, there):
                yield f"axes.{name}.motor.{field}", text


def _of_bus_speeds(motor: Motor, bus: float) -> Iterator[tuple[str, str]]:
    """Speeds of a motor that the back-EMF does not allow at the robot's bus, where no sheet states another."""
    K_e, sheet = _back_emf(motor), motor.datasheet
    if K_e is None:
        return
    speeds = {"rated_speed": motor.rated_speed}
    if sheet is not None:
        printed = motor_sheet("", sheet)
        speeds = {
            "datasheet.rated_speed": printed.rated_speed,
            "datasheet.no_load_speed": printed.no_load_speed,
        }
    for field, speed in speeds.items():
        if speed and K_e * speed > bus * (1.0 + NO_LOAD):
            yield (
                field,
                f"{RPM * speed:.4g} rpm is beyond {RPM * bus / K_e:.4g} rpm, where the back-EMF takes the"
                f" power.bus_voltage {bus:.4g} V",
            )


def _voltages(description: RobotDescription) -> dict[str, float]:
    """Per axis with motor and speed limit: bus voltage [V] that balances the back-EMF at that speed."""
    found = {}
    for drive, speed in _fastest(description):
        K_e = _back_emf(description.axes[drive.owner].motor)
        if K_e is not None:
            found[drive.owner] = K_e * speed
    return found


def _fastest(description: RobotDescription) -> Iterator[tuple[DriveData, float]]:
    """Motors with their speeds [rad/s] at the speed limit of their own axis, other joints at rest."""
    if all(axis.motor is None or axis.limits.speed is None for axis in description.axes.values()):
        return  # the ratios of all motors to all joints are not needed then
    places = {name: i for i, name in enumerate(description.joint_names)}
    for drive in drives_of(description):
        limit = description.axes[drive.owner].limits.speed if drive.owner in places else None
        if limit is not None:
            yield drive, abs(drive.ratios[places[drive.owner]]) * limit


def _back_emf(motor: Motor | None) -> float | None:
    """Bus voltage per motor speed [V*s/rad] that the back-EMF takes."""
    if motor is None or not kind_named(motor.kind).bridge:
        return None
    if not kind_named(motor.kind).three_phase:
        return motor.voltage_constant or motor.torque_constant
    K_t = motor.torque_constant
    phase = motor.voltage_constant or (PHASE * K_t if K_t else None)
    # space-vector modulation reaches a phase amplitude of the bus voltage over sqrt(3)
    return math.sqrt(3.0) * phase if phase else None
