"""Closed chains for tests: those of the catalogue, with every link heavy where the catalogue has massless ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import servotwin as st

ARM = {"mass": "1.5 kg", "center": "[0.5 m, 0 m, 0 m]", "inertia": "0.002, 0.13, 0.13"}
FORE = {"mass": "0.8 kg", "center": "[1 m, 0 m, 0 m]", "inertia": "0.001, 0.27, 0.27"}

# The same DELTA opened otherwise: the plate slides in x, y and z, all three chains are cut at it.
FREE_PLATE = """\
format: servotwin/1
name: delta-free-plate
variables: {RA: 0.2 m, arm: 1 m, forearm: 2 m}
gravity: 9.80665 m/s^2
active: [arm1, arm2, arm3]
axes:
CHAINS
  px: {type: prismatic, parent: base, origin: {}, axis: [1, 0, 0]}
  py: {type: prismatic, origin: {}, axis: [0, 1, 0]}
  plate: {type: prismatic, origin: {}, axis: [0, 0, 1], link: {mass: 10 kg}}
loops:
LOOPS
home: {elbow1: 120 deg, elbow2: 120 deg, elbow3: 120 deg, plate: -1.732 m}
"""
CHAIN = """\
  arm{k}:
    parent: base
    origin: {{xyz: [= RA*cos({a} deg), = RA*sin({a} deg), 0 m], rpy: [0 deg, 0 deg, {a} deg]}}
    axis: [0, 1, 0]
    link: {arm}
  elbow{k}: {{origin: {{xyz: [= arm, 0 m, 0 m]}}, axis: [0, 1, 0], link: {elbow}}}
  fore{k}: {{origin: {{}}, axis: [0, 0, 1], link: {fore}}}
"""
LOOP = """\
  - name: cut{k}
    type: spherical
    between:
      - {{link: fore{k}, xyz: [= forearm, 0 m, 0 m]}}
      - {{link: plate, xyz: [= RA*cos({a} deg), = RA*sin({a} deg), 0 m]}}
"""


def _link(part: dict[str, str]) -> str:
    xx, yy, zz = part["inertia"].split(", ")
    tensor = f"{{xx: {xx} kg*m^2, yy: {yy} kg*m^2, zz: {zz} kg*m^2}}"
    return f"{{mass: {part['mass']}, center: {part['center']}, inertia: {{tensor: {tensor}}}}}"


def from_text(text: str) -> st.Robot:
    """The robot in a YAML text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "robot.yaml"
        path.write_text(text, encoding="utf-8")
        return st.load_robot(path)


@cache
def free_plate(*, heavy: bool) -> st.Robot:
    """The DELTA robot with its plate as a body that slides in three directions."""
    none = "{}"
    small = "{mass: 0.1 kg, inertia: {tensor: {xx: 1e-3 kg*m^2, yy: 1e-3 kg*m^2, zz: 1e-3 kg*m^2}}}"
    parts = {"arm": _link(ARM), "elbow": small, "fore": _link(FORE)} if heavy else {}
    angles = {1: 0, 2: 120, 3: 240}
    chains = "".join(
        CHAIN.format(k=k, a=a, **{"arm": none, "elbow": none, "fore": none, **parts})
        for k, a in angles.items()
    )
    loops = "".join(LOOP.format(k=k, a=a) for k, a in angles.items())
    return from_text(FREE_PLATE.replace("CHAINS\n", chains).replace("LOOPS\n", loops))


@cache
def heavy_delta() -> st.Robot:
    """The DELTA robot of the catalogue with arms and forearms that weigh something (those of ``free_plate``)."""
    robot = st.load_robot("delta")
    other = free_plate(heavy=True).mechanism
    phi = robot.mechanism.phi.copy()
    for i, name in enumerate(robot.mechanism.tree_joint_names):
        if name in other.tree_joint_names and name != "plate":
            phi[i] = other.phi[other.tree_joint_names.index(name)]
    return st.Robot(robot.mechanism.with_(phi=phi))


@cache
def closed_robot(name: str) -> st.Robot:
    """A closed chain whose mass matrix is positive definite, by name."""
    if name == "heavy-delta":
        return heavy_delta()
    if name == "delta-free-plate":
        return free_plate(heavy=True)
    if name == "palletizer-4-loops":
        return st.load_robot(name, {"variables.m_bar": "2 kg", "variables.load": "5 kg"}).with_payload(
            3.0, inertia=np.diag([0.02, 0.02, 0.03])
        )
    return st.load_robot(name)


ALL = ("four-bar", "five-bar", "delta", "delta-free-plate", "delta-4", "palletizer-4-loops", "stewart")
REACH = {
    "four-bar": 3.0,
    "stewart": 0.1,
    "palletizer-4-loops": 0.35,
}  # rad, m around home without singularities


def states(name: str, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(q, qd, qdd), each (count, n), around home."""
    robot = closed_robot(name)
    rng = np.random.default_rng(seed)
    reach = REACH.get(name, 0.6)
    q = robot.q_home + rng.uniform(-reach, reach, (count, robot.n))
    qd, qdd = rng.normal(size=(2, count, robot.n))
    return q, qd, qdd


# Bennett's linkage: four skew axes, movable because a/sin(alpha) = b/sin(beta). No plane makes it so.
BENNETT = """\
format: servotwin/1
name: bennett
variables: {a: 0.3 m, b: 0.4 m, alpha: 35 deg, beta: "= asin(b*sin(alpha)/a)"}
active: [j1]
axes:
  j1: {dh: {a: = a, alpha: = alpha}, link: {mass: 1 kg, center: [-0.1 m, 0 m, 0 m]}}
  j2: {dh: {a: = b, alpha: = beta}, link: {mass: 2 kg, center: [-0.2 m, 0.01 m, 0 m]}}
  j3: {dh: {a: = a, alpha: = alpha}, link: {mass: 1 kg, center: [-0.1 m, 0 m, 0.02 m]}}
loops:
  - name: axis4
    type: revolute
    between: [{link: j3}, {link: base, xyz: [= -b, 0 m, 0 m], rpy: [= -beta, 0 deg, 0 deg]}]
home: {j1: 60 deg, j2: 100 deg, j3: -60 deg}
"""

# A slider-crank in the x-z plane, its slide in the tree and the pin cut ...
SLIDER_PIN = """\
format: servotwin/1
name: slider-pin
active: [crank]
axes:
  crank: {origin: {}, axis: [0, -1, 0], link: {mass: 1 kg, center: [0.1 m, 0 m, 0 m]}}
  rod: {origin: {xyz: [0.2 m, 0 m, 0 m]}, axis: [0, -1, 0], link: {mass: 2 kg, center: [0.25 m, 0 m, 0 m]}}
  slide: {type: prismatic, parent: base, origin: {}, axis: [1, 0, 0], link: {mass: 3 kg}}
loops:
  - name: cut
    type: revolute
    between:
      - {link: rod, xyz: [0.5 m, 0 m, 0 m], rpy: [90 deg, 0 deg, 0 deg]}
      - {link: slide, rpy: [90 deg, 0 deg, 0 deg]}
home: {crank: 60 deg, rod: -80 deg, slide: 0.55 m}
"""
# ... and with the pin in the tree and the slide cut; z of the cut is the direction of the slide
SLIDER_SLIDE = """\
format: servotwin/1
name: slider-slide
active: [crank]
axes:
  crank: {origin: {}, axis: [0, -1, 0], link: {mass: 1 kg, center: [0.1 m, 0 m, 0 m]}}
  rod: {origin: {xyz: [0.2 m, 0 m, 0 m]}, axis: [0, -1, 0], link: {mass: 2 kg, center: [0.25 m, 0 m, 0 m]}}
  block: {origin: {xyz: [0.5 m, 0 m, 0 m]}, axis: [0, -1, 0], link: {mass: 3 kg}}
loops:
  - name: cut
    type: prismatic
    between: [{link: block, rpy: [0 deg, 90 deg, 0 deg]}, {link: base, rpy: [0 deg, 90 deg, 0 deg]}]
home: {crank: 60 deg, rod: -80 deg, block: 20 deg}
"""

# Two parallel bars carry a beam; a third bar of the same length is redundant, one of another length locks it.
BRACED = """\
format: servotwin/1
name: braced
active: [one]
axes:
  one: {origin: {}, link: {mass: 1 kg}}
  beam: {origin: {xyz: [0.3 m, 0 m, 0 m]}, link: {mass: 1 kg}}
  two: {parent: base, origin: {xyz: [0.5 m, 0 m, 0 m]}, link: {mass: 1 kg}}
  three: {parent: base, origin: {xyz: [0.25 m, 0 m, 0 m]}, link: {mass: 1 kg}}
loops:
  - name: right
    type: revolute
    between: [{link: beam, xyz: [0.5 m, 0 m, 0 m]}, {link: two, xyz: [0.3 m, 0 m, 0 m]}]
  - name: middle
    type: revolute
    between: [{link: beam, xyz: [0.25 m, 0 m, 0 m]}, {link: three, xyz: [0.3 m, 0 m, 0 m]}]
home: {one: 70 deg, beam: -70 deg, two: 70 deg, three: 70 deg}
"""
