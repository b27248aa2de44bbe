"""A closed chain: the DELTA robot lifts its plate, three arms share the load."""

import numpy as np

import servotwin as st

delta = st.load_robot("delta")
print(delta)

# All three arms level: the plate hangs on the axis of symmetry.
T = delta.fkine(np.zeros(3))
print("plate at", T[:3, 3].round(4) + 0.0, "m")

# Where must the arms be for the plate to stand 20 cm higher?
T[2, 3] += 0.2
q = delta.ikine(T)
print("arms at", np.degrees(q).round(3), "deg (positive: down)")

# Holding torques, and what an upward acceleration of the plate by 5 m/s2 needs on top.
hold = delta.gravload(q)
jac = delta.jacob0(q)[:3]
qdd = np.linalg.solve(jac, [0.0, 0.0, 5.0])
print("holding:", hold.round(2), "N m; accelerating:", delta.rne(q, np.zeros(3), qdd).round(2), "N m")

# Torque and acceleration are two sides of one equation, also with closed loops.
print("check:", np.allclose(delta.accel(q, np.zeros(3), delta.rne(q, np.zeros(3), qdd)), qdd))
