"""The joint torques of a swing, and what they consist of."""

import numpy as np

import servotwin as st

robot = st.load_robot("gsis-scara")

# The A axis swings through 100 degrees within a second: s goes from 0 to 1 with a smooth acceleration.
t = np.linspace(0.0, 1.0, 501)
s = t - np.sin(2 * np.pi * t) / (2 * np.pi)
sd = 1 - np.cos(2 * np.pi * t)
sdd = 2 * np.pi * np.sin(2 * np.pi * t)

start = np.array([0.0, np.radians(90), 0.05, 0.0])
stroke = np.array([np.radians(100), 0.0, 0.0, 0.0])
q, qd, qdd = start + np.outer(s, stroke), np.outer(sd, stroke), np.outer(sdd, stroke)

tau = robot.rne(q, qd, qdd)
for name, unit, peak in zip(robot.joint_names, robot.joint_units, np.abs(tau).max(axis=0), strict=True):
    print(f"{name}: at most {peak:.2f} {'N' if unit == 'm' else 'N m'}")

# The same from its parts: inertia, Coriolis and centrifugal terms, gravity.
M, C, g = robot.inertia(q), robot.coriolis(q, qd), robot.gravload(q)
parts = np.einsum("kij,kj->ki", M, qdd) + np.einsum("kij,kj->ki", C, qd) + g
print("largest difference to the sum of the parts:", np.abs(tau - parts).max())

# Forward dynamics gives the accelerations back.
print("largest difference of the accelerations:", np.abs(robot.accel(q, qd, tau) - qdd).max())

# Work done on the arm until the middle of the swing is the energy it has gained.
kinetic, potential = robot.energy(q, qd)
energy = kinetic + potential
power = (tau * qd).sum(axis=-1)
half = len(t) // 2
work = np.trapezoid(power[: half + 1], t[: half + 1])
print(f"work {work:.4f} J, energy gained {energy[half] - energy[0]:.4f} J")
