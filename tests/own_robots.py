"""Robots that are not in the catalogue: a five-axis arm, a gantry, lifts and rails with arms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FIVE = """
format: servotwin/1
name: five
home: {J1: 0 deg, J2: -60 deg, J3: 75 deg, J4: 30 deg, J5: 0 deg}
axes:
  J1:
    type: revolute
    dh: {theta: 0 deg, d: 380 mm, a: 120 mm, alpha: -90 deg}
    limits: {position: [-170 deg, 170 deg]}
    link: {mass: 25 kg, center: [-90 mm, 80 mm, 10 mm]}
  J2:
    type: revolute
    dh: {theta: 0 deg, d: 60 mm, a: 480 mm, alpha: 0 deg}
    limits: {position: [-150 deg, 45 deg]}
    link: {mass: 14 kg, center: [-230 mm, 0 mm, 40 mm]}
  J3:
    type: revolute
    dh: {theta: 0 deg, d: -45 mm, a: 390 mm, alpha: 0 deg}
    limits: {position: [-20 deg, 150 deg]}
    link: {mass: 8 kg, center: [-200 mm, 20 mm, 0 mm]}
  J4:
    type: revolute
    dh: {theta: -90 deg, d: 0 mm, a: 0 mm, alpha: -90 deg}
    limits: {position: [-120 deg, 120 deg]}
    link: {mass: 3 kg, center: [0 mm, 0 mm, 40 mm]}
  J5:
    type: revolute
    dh: {theta: 0 deg, d: 110 mm, a: 0 mm, alpha: 0 deg}
    limits: {position: [-360 deg, 360 deg]}
    link: {mass: 0.8 kg}
tool: {parent: J5, xyz: [40 mm, 0 mm, 150 mm], rpy: [0 deg, 30 deg, 0 deg]}
"""

GANTRY = """
format: servotwin/1
name: gantry
home: {X: 1000 mm, Y: 600 mm, Z: 300 mm, C: 0 deg}
axes:
  X:
    type: prismatic
    origin: {xyz: [0 m, 0 m, 1.8 m]}
    axis: [1, 0, 0]
    limits: {position: [0 mm, 2500 mm]}
    link: {mass: 60 kg}
  Y:
    type: prismatic
    origin: {xyz: [0 m, 0 m, 0.1 m]}
    axis: [0, 1, 0]
    limits: {position: [0 mm, 1200 mm]}
    link: {mass: 20 kg}
  Z:
    type: prismatic
    origin: {xyz: [0.1 m, 0 m, 0 m], rpy: [180 deg, 0 deg, 0 deg]}
    limits: {position: [100 mm, 900 mm]}
    link: {mass: 10 kg}
  C:
    type: revolute
    origin: {xyz: [0 m, 0 m, 0.05 m]}
    limits: {position: [-180 deg, 180 deg]}
    link: {mass: 3 kg}
tool: {parent: C, xyz: [0 mm, 0 mm, 150 mm]}
"""

LIFT = """<?xml version="1.0"?>
<robot name="lift">
  <link name="base_link">
    <visual><geometry><mesh filename="meshes/column.stl" scale="0.001 0.001 0.001"/></geometry></visual>
  </link>
  <joint name="lift" type="prismatic">
    <parent link="base_link"/><child link="carriage"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.6" velocity="0.5" effort="800"/>
  </joint>
  <link name="carriage">
    <inertial><mass value="8"/><inertia ixx="0.05" iyy="0.06" izz="0.06" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0.1 0 0"/><geometry><box size="0.3 0.3 0.1"/></geometry></visual>
  </link>
  <joint name="swing" type="revolute">
    <parent link="carriage"/><child link="arm"/><origin xyz="0.25 0 0.05"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="3" effort="150"/>
  </joint>
  <link name="arm">
    <inertial><mass value="4"/><inertia ixx="0.09" iyy="0.09" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://lift_description/meshes/arm.stl"/></geometry></visual>
  </link>
  <joint name="wrist" type="revolute">
    <parent link="arm"/><child link="hand"/><origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" velocity="3" effort="30"/>
  </joint>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="0.003" iyy="0.003" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="flange" type="fixed"><parent link="hand"/><child link="tcp"/><origin xyz="0.2 0 0"/></joint>
  <link name="tcp"/>
</robot>
"""


def block_stl(size: tuple[float, float, float]) -> bytes:
    """A block on the origin's plane as binary STL: x and y about zero, z upwards."""
    x, y, z = size
    corner = np.array([[i * x - x / 2, j * y - y / 2, k * z] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [corner[[a, b, c]] for p, q, r, s in faces for a, b, c in ((p, q, r), (p, r, s))]
    records = b"".join(
        np.concatenate([np.zeros(3), triangle.ravel()]).astype("<f4").tobytes() + b"\0\0"
        for triangle in triangles
    )
    return b"\0" * 80 + len(triangles).to_bytes(4, "little") + records


def lift_files() -> dict[str, bytes]:
    """The column with an arm and its meshes, by their paths in the folder of its package."""
    return {
        "lift.urdf": LIFT.encode(),
        "meshes/column.stl": block_stl((240.0, 240.0, 1200.0)),
        "meshes/arm.stl": block_stl((0.5, 0.1, 0.1)),
    }


def written(folder: Path, name: str, text: str) -> Path:
    """A robot file in a folder."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


RAIL = """
format: servotwin/1
name: rail-arm
home: {rail: 0 mm, swing: 0 deg, shoulder: 20 deg, elbow: 70 deg, wrist: 40 deg}
axes:
  rail:
    type: prismatic
    origin: {xyz: [0 m, 0 m, 150 mm]}
    axis: [1, 0, 0]
    limits: {position: [-600 mm, 900 mm]}
    link: {mass: 25 kg}
  swing:
    type: revolute
    origin: {xyz: [0 m, 0 m, 250 mm]}
    limits: {position: [-160 deg, 160 deg]}
    link: {mass: 9 kg}
  shoulder:
    type: revolute
    origin: {xyz: [50 mm, 30 mm, 120 mm]}
    axis: [0, 1, 0]
    limits: {position: [-100 deg, 100 deg]}
    link: {mass: 7 kg, center: [0 mm, 20 mm, 200 mm]}
  elbow:
    type: revolute
    origin: {xyz: [0 mm, -30 mm, 420 mm]}
    axis: [0, 1, 0]
    limits: {position: [-20 deg, 140 deg]}
    link: {mass: 4 kg, center: [0 mm, 0 mm, 150 mm]}
  wrist:
    type: revolute
    origin: {xyz: [0 mm, 0 mm, 360 mm]}
    axis: [0, 1, 0]
    limits: {position: [-120 deg, 120 deg]}
    link: {mass: 1.5 kg}
tool: {xyz: [15 mm, 0 mm, 140 mm], rpy: [0 deg, 20 deg, 0 deg]}
"""

# yaw, shoulder, elbow and wrist, on TRACK where its line takes that place
ARM = """format: servotwin/1
name: arm
axes:
  TRACK
  yaw: {origin: {}, axis: [0, 0, 1], limits: {position: [-170 deg, 170 deg]}, link: {mass: 9 kg}}
  shoulder: {origin: {xyz: [0.1 m, 0 m, 0.5 m]}, axis: [0, -1, 0], limits: {position: [-30 deg, 120 deg]},
      link: {mass: 9 kg}}
  elbow: {origin: {xyz: [0.45 m, 0 m, 0 m]}, axis: [0, -1, 0], limits: {position: [-150 deg, 0 deg]},
      link: {mass: 5 kg}}
  wrist: {origin: {xyz: [0.4 m, 0 m, 0 m]}, axis: [0, -1, 0], limits: {position: [-90 deg, 90 deg]}, link: {mass: 1 kg}}
tool: {xyz: [0.1 m, 0 m, 0 m]}
home: {shoulder: 60 deg, elbow: -90 deg}
"""
TRACK = "track: {type: prismatic, origin: {}, axis: [0, 1, 0], limits: {position: [-1 m, 1 m]}, link: {mass: 30 kg}}"

RAIL_SCARA = """
format: servotwin/1
name: rail-scara
home: {A: -30 deg, B: 60 deg, Z: 50 mm}
axes:
  rail:
    type: prismatic
    origin: {xyz: [0 m, 0 m, 400 mm]}
    axis: [1, 0, 0]
    limits: {position: [-600 mm, 900 mm], speed: 1 m/s, acceleration: 4 m/s^2, jerk: 60 m/s^3}
    link: {mass: 20 kg}
  A:
    type: revolute
    origin: {xyz: [0 m, 0 m, 0 m]}
    limits: {position: [-130 deg, 130 deg], speed: 200 deg/s, acceleration: 800 deg/s^2, jerk: 8000 deg/s^3}
    link: {mass: 5 kg, center: [150 mm, 0 mm, 0 mm]}
  B:
    type: revolute
    origin: {xyz: [300 mm, 0 m, 0 m]}
    limits: {position: [-140 deg, 140 deg], speed: 200 deg/s, acceleration: 800 deg/s^2, jerk: 8000 deg/s^3}
    link: {mass: 4 kg, center: [120 mm, 0 mm, 0 mm]}
  Z:
    type: prismatic
    origin: {xyz: [250 mm, 0 m, 0 m]}
    axis: [0, 0, -1]
    limits: {position: [0 mm, 200 mm], speed: 0.5 m/s, acceleration: 4 m/s^2, jerk: 60 m/s^3}
    link: {mass: 1.5 kg}
  W:
    type: revolute
    origin: {xyz: [0 mm, 0 m, 0 m]}
    limits: {position: [-360 deg, 360 deg], speed: 400 deg/s, acceleration: 2000 deg/s^2, jerk: 20000 deg/s^3}
    link: {mass: 0.5 kg}
"""
