"""A robot of one's own: a YAML file with units, variables and sources; mistakes name the line."""

import tempfile
from pathlib import Path

import numpy as np

import servotwin as st
from servotwin.errors import InputError

ROBOT = """\
format: servotwin/1
name: two-link
title: Two rods in a vertical plane
assumed: uniform slender rods
variables:
  length: 0.5 m
axes:
  shoulder:
    type: revolute
    dh: {theta: 0 deg, d: 0 mm, a: = length, alpha: 0 deg}
    link:
      mass: {value: 4 kg, source: weighed}
      center: [= -length/2, 0 m, 0 m]
      inertia: {gyration: {radius: = length/sqrt(12), axes: [y, z]}}
  elbow:
    type: revolute
    dh: {theta: 0 deg, d: 0 mm, a: = length, alpha: 0 deg}
    link:
      mass: 2 kg
      center: [= -length/2, 0 m, 0 m]
      inertia: {gyration: {radius: = length/sqrt(12), axes: [y, z]}}
gravity: [0 m/s^2, -9.81 m/s^2, 0 m/s^2]
"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "two-link.yaml"
    path.write_text(ROBOT, encoding="utf-8")

    robot = st.load_robot(path)
    print("holding torques, stretched out:", robot.gravload(np.zeros(2)), "N m")

    # A variable changed from outside changes everything that depends on it.
    longer = st.load_robot(path, {"variables.length": "600 mm"})
    print("with 600 mm rods:             ", longer.gravload(np.zeros(2)), "N m")

    # Mistakes come with file, line, field, value and remedy.
    path.write_text(ROBOT.replace("mass: 2 kg", "mass: 2 mm"), encoding="utf-8")
    try:
        st.load_robot(path)
    except InputError as error:
        print("refused:", str(error).removeprefix(folder)[1:])
