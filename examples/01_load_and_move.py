"""Load a robot of the catalogue and see where its tool is."""

import numpy as np

import servotwin as st

np.set_printoptions(precision=4, suppress=True)

robot = st.load_robot("gsis-scara")
print(robot)
print("limits:", np.degrees(robot.limits.q_max[[0, 1, 3]]), "deg,", 1000 * robot.limits.q_max[2], "mm")

# Positions are in rad and m, in the order of robot.joint_names.
q = np.array([np.radians(30), np.radians(60), 0.050, np.radians(20)])
T = robot.fkine(q)
print("tool in the base:", T[:3, 3], "m")

# Every frame of the robot has a name.
for name, pose in robot.fkine_all(q).items():
    print(f"{name:>8}", pose[:3, 3])

# How the tool moves when the joints do: linear velocity [m/s], then angular velocity [rad/s].
qd = np.array([1.0, -0.5, 0.1, 2.0])
print("tool velocity:", robot.jacob0(q) @ qd)

# A whole trajectory goes through one call: the leading axes are free.
line = np.linspace(robot.limits.q_min, robot.limits.q_max, 1000)
tool = robot.fkine(line)[:, :3, 3]
print("way of the tool from limit to limit:", np.linalg.norm(np.diff(tool, axis=0), axis=1).sum(), "m")
