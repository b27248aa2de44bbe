"""Small robots as YAML text, each for one feature of the description."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription

HEAD = "format: servotwin/1\nname: test\n"

# two links in a vertical plane, standard DH
PENDULUM = """\
format: servotwin/1
name: pendulum
axes:
  A:
    type: revolute
    dh: {a: 400 mm, alpha: 0 deg}
    limits: {position: [-90 deg, 90 deg], speed: 180 deg/s, effort: 50 N*m}
    link: {mass: 2 kg, center: [-200 mm, 0 mm, 0 mm]}
    gear: {ratio: 100}
    motor: {rotor_inertia: 1e-4 kg*m^2}
  B:
    type: revolute
    dh: {a: 300 mm}
    link: {mass: 1 kg}
"""

# variables, expressions, conditions, sources
COMPOSED = """\
format: servotwin/1
name: composed
source: the paper
variables:
  a1: {value: 400 mm, source: Table 1}
  half: = a1/2
  load: {value: 3 kg, assumed: a guess}
  reading: {text: joint, choices: [joint, center]}
axes:
  A:
    dh: {a: = a1}
    link:
      mass: = load
      choose:
        - when: = reading == "joint"
          then: {frame: joint, center: [= half, 0 m, 0 m]}
        - otherwise: {center: [0 m, 0 m, 0 m]}
  Z:
    type: prismatic
    dh: {d: 10 mm}
    gear: {lead: 8 mm}
"""

# a tree with a fixed link and a joint that follows another
GRIPPER = """\
format: servotwin/1
name: gripper
axes:
  lift: {type: prismatic, origin: {xyz: [0 m, 0 m, 1 m]}, axis: [0, 0, 1], link: {mass: 5 kg}}
  plate:
    type: fixed
    origin: {xyz: [0.2 m, 0 m, 0 m], rpy: [0 deg, 0 deg, 90 deg]}
    link: {mass: 2 kg, center: [0.1 m, 0 m, 0 m]}
  left: {type: prismatic, parent: plate, origin: {}, axis: [1, 0, 0], link: {mass: 0.2 kg}}
  right: {type: prismatic, parent: plate, origin: {}, axis: [-1, 0, 0], link: {mass: 0.2 kg}}
couplings:
  - {joint: right, of: {left: 1}, offset: 1 mm}
"""

# a four-bar linkage, cut at its last joint
FOUR_BAR = """\
format: servotwin/1
name: four-bar
axes:
  crank: {origin: {}, link: {mass: 1 kg}}
  coupler: {origin: {xyz: [0.2 m, 0 m, 0 m]}, link: {mass: 1 kg}}
  rocker: {parent: base, origin: {xyz: [0.5 m, 0 m, 0 m]}, link: {mass: 1 kg}}
loops:
  - name: pin
    type: revolute
    between: [{link: coupler, xyz: [0.5 m, 0 m, 0 m]}, {link: rocker, xyz: [0.3 m, 0 m, 0 m]}]
active: [crank]
home: {crank: 90 deg, rocker: 80 deg}
"""

ALL = {"pendulum": PENDULUM, "composed": COMPOSED, "gripper": GRIPPER, "four-bar": FOUR_BAR}


def write(folder: Path, text: str, name: str = "robot.yaml") -> Path:
    """The file ``name`` with this text, common indentation removed."""
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def describe(folder: Path, text: str, overrides: Mapping[str, str] | None = None) -> RobotDescription:
    """The description in this text."""
    return read_description(write(folder, text), overrides)
