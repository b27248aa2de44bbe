"""A motor as its maker prints it, read in two ways, and a gear over a duty cycle: which numbers the models get."""

import math

import servotwin as st
from servotwin.description.sheets.cross_checks import motor_contradictions
from servotwin.description.sheets.gear_life import average_speed, average_torque, gear_life, life_10
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import motor_sheet

printed = {
    "rated_torque": "3.5 N*m",
    "rated_current": "5 Arms",
    "torque_constant": "0.71 N*m/Arms",
    "voltage_constant": "42.9 Vrms/krpm",
    "resistance": "1.2 ohm",
}

# The sheet does not say where its back-EMF is measured. Read as that of a phase, the two constants do not fit:
for between in ("phase", "lines"):
    told = {
        "voltage_between": between,
        "winding_between": "lines",
        "connection": "star",
        "winding_temperature": "20 degC",
    }
    sheet = MotorDatasheet.model_validate({**printed, "conventions": told})
    motor = motor_sheet("m", sheet)
    print(
        f"{between}: K_t = {motor.torque_constant:.4f} N m/A, K_e = {motor.voltage_constant:.4f} V s/rad (star phase)"
    )
    for field, text in motor_contradictions(sheet):
        print(f"  {field}: {text}")
print(
    f"resistance of a star phase: {motor.resistance:.3f} ohm cold, {motor.resistance_at(120.0):.3f} ohm at 120 degC"
)

# A generic strain-wave gear in a cycle of three sections: torques, input speeds and times.
gear = st.read_catalogue().gears["gsw-32-100"]
torques, rpm, times = [150.0, 82.0, 130.0], [1000.0, 2000.0, 1000.0], [0.2, 3.0, 0.3]
speeds = [n * math.pi / 30.0 for n in rpm]
T_av, w_av = average_torque(torques, speeds, times, gear.exponent), average_speed(speeds, times)
life = life_10(gear, gear_life(gear, T_av, w_av))
print(f"average torque {T_av:.1f} N m of {gear.average_torque:.0f}, L10 = {life / 3600.0:.0f} h")
for torque in (20.0, 150.0):
    cold, warm = (gear.efficiency_at(torque, speeds[1], T) for T in (0.0, 40.0))
    print(f"efficiency at {torque:.0f} N m: {cold:.0%} at 0 degC, {warm:.0%} at 40 degC")
