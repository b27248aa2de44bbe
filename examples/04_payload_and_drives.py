"""What a payload and the rotors behind the gears do to the torque, and which gear ratio suits the motor."""

import numpy as np

import servotwin as st

robot = st.load_robot("gsis-scara")
q = np.zeros(4)  # arms stretched out: the largest inertia
rest = np.zeros(4)
swing = np.array([20.0, 0.0, 0.0, 0.0])  # rad/s2 at the A axis

print("A axis, 20 rad/s2:")
print(f"  empty         {robot.rne(q, rest, swing)[0]:7.1f} N m")
heavy = robot.with_payload(mass=4.0)  # another robot; the first one is unchanged
print(f"  4 kg          {heavy.rne(q, rest, swing)[0]:7.1f} N m")
print(f"  4 kg + rotors {heavy.rne(q, rest, swing, drives=True)[0]:7.1f} N m")

# A rotor behind a gear of ratio n counts n^2 times its inertia at the joint.
rotors = heavy.mechanism.rotors
print("reflected rotor inertia:", np.diag(rotors.reflected_inertia), "kg m2 (Z: kg)")

# The same robot with other gears: a field of the description set from outside, as with --set.
print("ratio   motor torque   motor speed at 200 deg/s")
for ratio in (40, 60, 80, 100, 140, 200):
    trial = st.load_robot("gsis-scara", {"axes.A.gear.ratio": str(ratio), "variables.load": "4 kg"})
    tau_m = trial.rne(q, rest, swing, drives=True)[0] / ratio
    rpm = ratio * np.radians(200.0) * 30.0 / np.pi
    print(f"{ratio:5d}   {tau_m:8.3f} N m   {rpm:8.0f} rpm")
