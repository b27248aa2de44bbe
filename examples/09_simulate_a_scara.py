"""A whole robot in motion: arm, gears, motors, pulses, sensors and controllers; then with other settings."""

import numpy as np

import servotwin as st

run = st.simulate("scara-a-axis-100deg")  # the A axis from 0 to 100 deg at 200 deg/s with 4 kg
numbers = run.summary

print("motor   peak [N m]   RMS [N m]   rated [N m]")
for axis in numbers["axes"]:
    peak, rms, rated = (axis[f"{what}_torque_N_m"] for what in ("peak", "rms", "rated"))
    print(f"{axis['motor']:5}   {peak:10.3f}   {rms:9.3f}   {rated:11.3f}")
print(f"tip error: {1e3 * numbers['tip_error_final_m']:.3f} mm at the end")
print(*numbers["warnings"], sep="\n")

# Signals are columns with their units in their names.
t, speed = run.signals["time_s"], run.signals["joint_A_velocity_rad_per_s"]
print(f"fastest at {t[speed.argmax()]:.3f} s: {np.degrees(speed.max()):.1f} deg/s")

# Where the energy went; what does not add up is the error of the integration.
energy = numbers["energy"]
source, copper, friction = (energy[f"{what}_J"] for what in ("source", "copper", "friction"))
print(f"{source:.2f} J from the source: {copper:.2f} J in the copper, {friction:.2f} J in friction")
print("check:", abs(energy["balance_error_relative"]) < 1e-6)

# The same move with other data: every field of the scenario and of the robot file can be set.
velocity, torque = "set.controller.feedforward.velocity", "set.controller.feedforward.torque"
computed = {"set.controller.law": "computed-torque"}
trials = {
    "as it is": {},
    "without payload": {"set.variables.load": "0 kg"},
    "feed-forward": {velocity: "100 %", torque: "100 %"},
    "computed torque": computed,
    "the same, load unknown": {**computed, "set.variables.load": "0 kg", "plant.set.variables.load": "4 kg"},
}
for name, changes in trials.items():
    numbers = st.simulate("scara-a-axis-100deg", changes).summary
    error, rms = 1e3 * numbers["tip_error_max_m"], numbers["axes"][0]["rms_torque_N_m"]
    print(f"{name:24} largest tip error {error:7.2f} mm, RMS torque of A {rms:.3f} N m")
