"""A real motor in place of one joint: torque given at one joint, acceleration at the other.

In NASA's Manipulator Emulator Testbed a motor on a test bench stands in for one
joint of a simulated arm. Its measured acceleration goes into the simulation,
and the load that the arm would put on it comes out. The other joint keeps its
torque.
"""

import numpy as np

import servotwin as st

arm = st.load_robot("met-two-link")
q, qd = np.array([0.2, 0.5]), np.array([0.3, -0.2])

# J1 is driven by a torque in the simulation, J2 is the motor on the bench.
tau_1 = 12.0  # N m
qdd_2 = 0.8  # rad/s2, as measured
tau, qdd = arm.hybrid(q, qd, tau=[tau_1, np.nan], qdd=[np.nan, qdd_2], given=["tau", "qdd"])
print(f"the arm answers with {qdd[0]:.4f} rad/s2 at J1")
print(f"the bench must load its motor with {tau[1]:.4f} N m")

# The completed pair satisfies the equations of motion.
print("check:", np.allclose(arm.rne(q, qd, qdd), tau))

# Many states at once: the bench swings, the simulated joint coasts without torque.
t = np.linspace(0.0, 2.0, 201)
angle = 0.5 * np.sin(np.pi * t)
states = np.stack([np.full_like(t, 0.2), angle], axis=-1)
rates = np.stack([np.zeros_like(t), 0.5 * np.pi * np.cos(np.pi * t)], axis=-1)
measured = np.stack([np.zeros_like(t), -(np.pi**2) * angle], axis=-1)
load = arm.hybrid(states, rates, tau=np.zeros(2), qdd=measured, given=["tau", "qdd"]).tau[:, 1]
print(f"load on the bench motor: {load.min():.2f} .. {load.max():.2f} N m")
