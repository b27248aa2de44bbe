"""All joint positions that reach a pose: elbow left and right, wrist up and down, a turn further."""

import numpy as np

import servotwin as st
from servotwin.errors import UnreachableError

np.set_printoptions(precision=2, suppress=True)

# A SCARA reaches most poses with the elbow on either side; its W axis can also stand one turn further.
scara = st.load_robot("gsis-scara")
T = scara.fkine([0.5, 1.0, 0.05, 0.3])
for q in scara.ikine_all(T):
    error = np.abs(scara.fkine(q) - T).max()
    print("scara", q, f"reaches the pose to {error:.1e}")

# One solution: the nearest to where the arm is.
print("nearest to q0:", scara.ikine(T, q0=[1.4, -1.0, 0.05, 1.4]))

# Six axes with a spherical wrist have up to eight branches, those beyond the limits not counted.
puma = st.load_robot("puma560")
T = puma.fkine([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])
inside = puma.ikine_all(T)
every = puma.ikine_all(T, respect_limits=False)
print(f"puma560: {len(every)} branches, {len(inside)} positions within the limits")

# What cannot be reached is refused with the reason.
far = np.eye(4)
far[:3, 3] = (2.0, 0.0, 0.0)
try:
    scara.ikine(far)
except UnreachableError as error:
    print("refused:", error)
