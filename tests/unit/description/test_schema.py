"""Checked descriptions: what is accepted, and one clear line for what is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from small_robots import ALL, COMPOSED, HEAD, PENDULUM, describe, write


def message(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        describe(folder, text)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 700
    return line.removeprefix(f"{folder}/")


def axis(fields: str, rest: str = "") -> str:
    """A robot with one axis that has these fields; they stand in line 5."""
    return f"{HEAD}axes:\n  A:\n    {fields}\n{rest}"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            "dh: {}\n    geer: {}",
            "robot.yaml:6: axes.A.geer: unknown field; did you mean 'gear'? Expected one of type, parent",
        ),
        ("dh: {}\n    geer: {}", "did you mean 'gear'?"),
        ("dh: {a: 350}", "robot.yaml:5: axes.A.dh.a: '350' has no unit; expected a length, such as '350 mm'"),
        ("dh: {theta: 350 mm}", "axes.A.dh.theta: '350 mm' is a length; expected an angle"),
        ("dh: {a: [1 m]}", "axes.A.dh.a: a list stands here; expected a length"),
        ("dh: {a: {b: 1 m}}", "axes.A.dh.a: a mapping stands here; expected a length"),
        ("dh: 3", "axes.A.dh: '3' stands here; expected a mapping with theta, d, a, alpha"),
        ("dh: [1]", "axes.A.dh: a list stands here; expected a mapping with theta, d, a, alpha"),
        ("dh: {a: 1e400 m}", "axes.A.dh.a: '1e400 m': the result is not a finite number"),
        ("dh: {a: 1e31 m}", "axes.A.dh.a: '1e31 m' is beyond all machines; expected at most 1e+30"),
        ("dh: {a: .nan}", "axes.A.dh.a: '.nan': '.' is not understood"),
        ("dh: {a: .inf m}", "axes.A.dh.a: '.inf m': '.' is not understood"),
        ("dh: {}\n    mdh: {}", "robot.yaml:4: axes.A: dh and mdh are given; expected exactly one of"),
        ("type: revolute", "axes.A: the placement is missing; expected exactly one of dh, mdh and origin"),
        (
            "dh: {}\n    axis: [0, 0, 1]",
            "robot.yaml:6: axes.A.axis: belongs to origin; with dh the joint axis is z",
        ),
        ("axis: [0, 0, 0]", "axes.A.axis: the zero vector has no direction"),
        ("axis: [0, 1]", "axes.A.axis: 2 values; expected a list of 3, each a plain number"),
        ("axis: z", "axes.A.axis: 'z'; expected a list of 3"),
        ("axis: [0, 0, 1 m]", "axes.A.axis.2: '1 m' is a length; expected a plain number"),
        ("axis: [0, 0, ~]", "axes.A.axis.2: the value is missing; expected a plain number"),
        ("dh: {}\n    direction: 0", "axes.A.direction: '0' is not accepted; expected 1 or -1"),
        (
            "dh: {}\n    direction: 2",
            "axes.A.direction: 2 is out of range; expected a whole number from -1 to 1",
        ),
        ("dh: {}\n    direction: up", "axes.A.direction: 'up' is not a whole number"),
        ("origin: {}\n    direction: -1", "axes.A.direction: belongs to dh and mdh; turn the joint round"),
        (
            "dh: {}\n    type: revolut",
            "axes.A.type: 'revolut' is not accepted; expected one of revolute, prismatic",
        ),
        ("dh: {}\n    type: revolut", "did you mean 'revolute'?"),
        (
            "dh: {}\n    type: fixed\n    limits: {}",
            "robot.yaml:7: axes.A.limits: a fixed joint has no limits",
        ),
        ("dh: {}\n    type: fixed\n    motor: {}", "axes.A.motor: a fixed joint has no motor"),
        (
            "dh: {}\n    type: continuous\n    limits: {position: [0 deg, 1 deg]}",
            "axes.A.limits.position: a continuous joint has none; write type: revolute",
        ),
        (
            "dh: {}\n    limits: {position: [10 deg, -10 deg]}",
            "robot.yaml:6: axes.A.limits.position: minimum is above maximum in '[10 deg, -10 deg]'",
        ),
        (
            "dh: {}\n    limits: {position: [10 deg]}",
            "axes.A.limits.position: 1 values; expected a list of 2",
        ),
        ("dh: {}\n    limits: {position: [1 deg, 2 mm]}", "axes.A.limits.position.1: '2 mm' is a length"),
        (
            "dh: {}\n    limits: {speed: 3 mm/s}",
            "axes.A.limits.speed: '3 mm/s' is a speed; expected an angular speed",
        ),
        (
            "dh: {}\n    limits: {speed: 0 deg/s}",
            "axes.A.limits.speed: '0 deg/s' is too small; expected more than 0",
        ),
        (
            "dh: {}\n    type: prismatic\n    limits: {speed: 3 deg/s}",
            "axes.A.limits.speed: '3 deg/s' is an angular speed; expected a speed",
        ),
        ("dh: {}\n    type: prismatic\n    gear: {ratio: 100}", "axes.A.gear.ratio: '100' has no unit"),
        ("dh: {}\n    gear: {ratio: 100 rad/m}", "axes.A.gear.ratio: '100 rad/m' is an angle per length"),
        ("dh: {}\n    gear: {ratio: 0}", "axes.A.gear.ratio: a ratio of zero moves nothing"),
        ("dh: {}\n    gear: {lead: 8 mm}", "axes.A.gear.lead: belongs to a prismatic joint; expected ratio"),
        (
            "dh: {}\n    type: prismatic\n    gear: {lead: 8 mm, ratio: 3 rad/m}",
            "axes.A.gear.lead: expected one of ratio and lead, not both",
        ),
        (
            "dh: {}\n    gear: {efficiency: 1.2}",
            "axes.A.gear.efficiency: '1.2' is too large; expected at most 1",
        ),
        (
            "dh: {}\n    type: prismatic\n    motor: {rotor_inertia: 1 kg*m^2}",
            "axes.A: the motor turns and the joint slides; expected gear: {lead: ...}",
        ),
        (
            "dh: {}\n    motor: {torque_constant: 1.21 kgf*cm}",
            "robot.yaml:6: axes.A.motor.torque_constant: '1.21 kgf*cm' is a torque;"
            " expected a torque per current, such as '1.21 kgf*cm/A'",
        ),
        ("dh: {}\n    motor: {resistance: -1 ohm}", "axes.A.motor.resistance: '-1 ohm' is too small"),
        (
            "dh: {}\n    encoder: {lines: 1000, bits: 20}",
            "axes.A.encoder: expected exactly one of lines and bits",
        ),
        ("dh: {}\n    encoder: {lines: 1000, counting: 3}", "axes.A.encoder.counting: '3' is not accepted"),
        ("dh: {}\n    encoder: {lines: 1000.5}", "axes.A.encoder.lines: '1000.5' is not a whole number"),
        (
            "dh: {}\n    link: {mass: -1 kg}",
            "robot.yaml:6: axes.A.link.mass: '-1 kg' is too small; expected at least 0",
        ),
        ("dh: {}\n    link: {center: [1 m, 0 m, 0 m]}", "axes.A.link.center: the link has no mass"),
        ("dh: {}\n    link: {inertia: {gyration: {z: 1 m}}}", "axes.A.link.inertia: the link has no mass"),
        (
            "dh: {}\n    link: {mass: 1 kg, inertia: {}}",
            "axes.A.link.inertia: expected exactly one of tensor and",
        ),
        (
            "dh: {}\n    link: {mass: 1 kg, inertia: {tensor: {xx: 1 kg*m^2}}}",
            "inertia.tensor: 'yy' is missing",
        ),
        (
            "dh: {}\n    link: {mass: 1 kg, inertia: {gyration: {radius: 1 m}}}",
            "gyration: expected either radius and",
        ),
        (
            "dh: {}\n    link: {mass: 1 kg, inertia: {gyration: {radius: 1 m, axes: [z, z]}}}",
            "gyration.axes: expected one to three different axes",
        ),
        (
            "dh: {}\n    link: {mass: 1 kg, inertia: {gyration: {radius: 1 m, axes: [w]}}}",
            "gyration.axes.0: 'w' is not accepted; expected one of x, y, z",
        ),
        ("dh: {}\n    link: {name: base}", "axes.A.link.name: 'base' is the name of another frame"),
        (
            "dh: {}\n    link: {name: a b}",
            "axes.A.link.name: 'a b' is not accepted; expected a name without blanks",
        ),
        ("dh: {}\n    parent: Q", "axes.A.parent: 'Q' is not an axis; expected one of A, base"),
        ("dh: {}\n    parent: A", "robot.yaml:6: axes.A.parent: the tree has a cycle A -> A"),
    ],
)
def test_axis_that_cannot_be_accepted_says_why(tmp_path: Path, fields: str, expected: str) -> None:
    assert expected in message(tmp_path, axis(fields))


@pytest.mark.parametrize(
    ("inertia", "expected"),
    [
        ("{tensor: {xx: 1 kg*m^2, yy: 1 kg*m^2, zz: 3 kg*m^2}}", "violate the triangle inequality"),
        ("{tensor: {xx: 1 kg*m^2, yy: 1 kg*m^2, zz: -1 kg*m^2}}", "are not all positive"),
        ("{tensor: {xx: 1 kg*m^2, yy: 1 kg*m^2, zz: 1 kg*m^2, xy: 2 kg*m^2}}", "are not all positive"),
        ("{about: joint, gyration: {z: 0.1 m}}", "are not all positive"),
    ],
)
def test_inertia_of_no_body_is_an_error_or_a_warning(tmp_path: Path, inertia: str, expected: str) -> None:
    text = axis(f"dh: {{a: 1 m}}\n    link: {{mass: 1 kg, center: [-0.5 m, 0 m, 0 m], inertia: {inertia}}}")
    found = message(tmp_path, text)
    assert found.startswith("robot.yaml:6: axes.A.link.inertia: principal moments ")
    assert expected in found
    (warning,) = describe(tmp_path, text + "inertia_check: warn\n").warnings
    assert "robot.yaml:6: axes.A.link.inertia: not the inertia of a real body" in warning


@pytest.mark.parametrize(
    "inertia",
    [
        "{tensor: {xx: 0 kg*m^2, yy: 0 kg*m^2, zz: 0 kg*m^2}}",
        "{tensor: {xx: 0 kg*m^2, yy: 1 kg*m^2, zz: 1 kg*m^2}}",
        "{tensor: {xx: 1 kg*m^2, yy: 1 kg*m^2, zz: 2 kg*m^2}}",
        "{tensor: {xx: 0.333 kg*m^2, yy: 0.333 kg*m^2, zz: 0.667 kg*m^2}}",
        "{gyration: {radius: 1 m, axes: [z]}}",
        "{gyration: {radius: 1 m, axes: [x, z]}}",
        "{gyration: {x: 1 m, y: 1 m, z: 1 m}}",
    ],
)
def test_inertia_of_points_rods_and_plates_is_accepted(tmp_path: Path, inertia: str) -> None:
    robot = describe(tmp_path, axis(f"dh: {{}}\n    link: {{mass: 1 kg, inertia: {inertia}}}"))
    assert robot.warnings == []


TWO = f"{HEAD}axes:\n  A: {{dh: {{}}}}\n  B: {{dh: {{}}, type: prismatic}}\n"
TREE = f"{HEAD}axes:\n  A: {{axis: [0, 0, 1]}}\n  B: {{axis: [0, 0, 1]}}\n  C: {{axis: [0, 0, 1]}}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: test\naxes: {A: {dh: {}}}", "robot.yaml:1: 'format' is missing; it is required here"),
        (
            "format: servotwin/2\nname: test\naxes: {A: {dh: {}}}",
            "robot.yaml:1: format: 'servotwin/2' is not accepted",
        ),
        (
            "format: servotwin/1\nname: My Robot\naxes: {A: {dh: {}}}",
            "robot.yaml:2: name: 'My Robot' is not accepted",
        ),
        (HEAD, "robot.yaml:1: 'axes' is missing"),
        (HEAD + "axes: {}", "robot.yaml:3: axes: expected a mapping with at least one axis"),
        (HEAD + "axes: [1]", "robot.yaml:3: axes: expected a mapping with at least one axis"),
        (HEAD + "axes: {A: 3}", "axes.A: '3' stands here; expected a mapping"),
        (HEAD + "axes: {base: {dh: {}}}", "axes.base: 'base' cannot name an axis"),
        (HEAD + "axes: {a b: {dh: {}}}", "axes.a b: 'a b' cannot name an axis"),
        (HEAD + "axes: {a.b: {dh: {}}}", "robot.yaml:3: axes.a.b: 'a.b' cannot name an axis"),
        (HEAD + "axes: {A: {dh: {}, type: fixed}}", "axes: every joint is fixed"),
        (
            HEAD + "axes:\n  A: {dh: {}}\n  A: {dh: {}}\n",
            "robot.yaml:5: 'A' is given twice; the first is in line 4",
        ),
        (TWO + "gravity: 9.81", "robot.yaml:6: gravity: '9.81' has no unit; expected an acceleration"),
        (TWO + "gravity: -9.81 m/s^2", "gravity: '-9.81 m/s^2' is too small"),
        (TWO + "gravity: [0 m/s^2, 1 m/s^2]", "gravity: 2 values; expected a list of 3"),
        (TWO + "references: {a: [1]}", "references.a: a list stands here; expected a line of text"),
        (TWO + "references: 3", "references: '3'; expected a mapping"),
        (TWO + "title: ''", "title: an empty text"),
        (TWO + "parents: [0]", "robot.yaml:6: parents: 1 numbers; expected 2, one for each axis"),
        (TWO + "parents: [0, 3]", "parents.1: there is no axis 3; expected 0 (base) to 2"),
        (TWO + "parents: [0, -1]", "parents.1: -1 is out of range"),
        (TWO + "parents: [0, x]", "parents.1: 'x' is not a whole number"),
        (TWO + "parents: [2, 1]", "robot.yaml:6: parents.0: the tree has a cycle A -> B -> A"),
        (TWO + "parents: 3", "parents: '3'; expected a list"),
        (
            f"{HEAD}axes:\n  A: {{dh: {{}}}}\n  B: {{dh: {{}}, parent: base}}\nparents: [0, 1]",
            "robot.yaml:5: axes.B.parent: the array `parents` is given as well",
        ),
        (
            f"{HEAD}axes:\n  A: {{dh: {{}}, parent: B}}\n  B: {{dh: {{}}, parent: A}}\n",
            "robot.yaml:4: axes.A.parent: the tree has a cycle A -> B -> A",
        ),
        (
            f"{HEAD}axes:\n  A: {{dh: {{}}, link: {{name: x}}}}\n  B: {{dh: {{}}, link: {{name: x}}}}\n",
            "robot.yaml:5: axes.B.link.name: 'x' is already taken; links need different names",
        ),
        (
            f"{HEAD}axes:\n  A: {{dh: {{}}, link: {{name: tool}}}}\ntool: {{xyz: [0 m, 0 m, 1 m]}}\n",
            "robot.yaml:4: axes.A.link.name: 'tool' is the name of another frame",
        ),
        (TWO + "tool: {parent: C}", "robot.yaml:6: tool.parent: 'C' is not an axis; expected one of A, B"),
        (TWO + "tool: {xyz: [0 m, 0 m]}", "tool.xyz: 2 values; expected a list of 3"),
        (TWO + "payload: {mass: -3 kg}", "payload.mass: '-3 kg' is too small"),
        (
            TWO + "payload: {mass: 3 kg, inertia: {tensor: {xx: 1 kg*m^2, yy: 0 kg*m^2, zz: 0 kg*m^2}}}",
            "payload.inertia: principal moments",
        ),
        (TWO + "couplings: {joint: A}", "couplings: a mapping stands here; expected a list"),
        (TWO + "couplings: [3]", "couplings.0: '3' stands here; expected a mapping with joint, of, offset"),
        (TWO + "couplings: [{joint: A}]", "couplings.0: 'of' is missing"),
        (TWO + "couplings: [{joint: A, of: 3}]", "couplings.0.of: '3'; expected a mapping"),
        (TWO + "couplings: [{joint: A, of: {}}]", "couplings.0.of: empty; expected the joints it follows"),
        (TWO + "couplings: [{joint: Q, of: {A: 1}}]", "couplings.0.joint: 'Q' is not an axis"),
        (TWO + "couplings: [{joint: A, of: {Q: 1}}]", "couplings.0.of.Q: 'Q' is not an axis"),
        (
            TWO + "couplings: [{joint: A, of: {B: 1}}]",
            "couplings.0.of.B: '1' has no unit; expected an angle per length",
        ),
        (
            TWO + "couplings: [{joint: B, of: {A: 1}}]",
            "couplings.0.of.A: '1' has no unit; expected a length per angle",
        ),
        (
            TWO + "couplings: [{joint: B, of: {A: 1 m/rad}, offset: 1 deg}]",
            "couplings.0.offset: '1 deg' is an angle",
        ),
        (TREE + "couplings: [{joint: A, of: {A: 1}}]", "couplings.0.of.A: 'A' follows others itself"),
        (
            TREE + "couplings: [{joint: A, of: {B: 1}}, {joint: B, of: {C: 1}}]",
            "robot.yaml:7: couplings.0.of.B: 'B' follows others itself; expected independent joints only",
        ),
        (
            TREE + "couplings: [{joint: A, of: {B: 1}}, {joint: A, of: {C: 1}}]",
            "couplings.1.joint: 'A' is already taken; coupled joints need different names",
        ),
        (TREE + "couplings: [{joint: A, of: {B: 1}}]\nhome: {A: 1 deg}", "home.A: this joint follows others"),
        (TREE + "couplings: [{joint: A, of: {B: 1}}]\nactive: [A, C]", "active.0: 'A' follows others"),
        (TREE + "active: [A, A, B, C]", "active.1: 'A' is already taken"),
        (TREE + "active: [A, B]", "active: C are not listed; only closed chains have passive joints"),
        (TREE + "active: [A, Q]", "active.1: 'Q' is not an axis"),
        (TREE + "home: {Q: 1 deg}", "home.Q: 'Q' is not an axis"),
        (TREE + "home: {A: 1 mm}", "home.A: '1 mm' is a length; expected an angle"),
        (TREE + "home: 3", "home: '3'; expected a mapping"),
        (TREE + "loops: [{name: l, type: spherical}]", "loops.0: 'between' is missing"),
        (TREE + "loops: [{name: l, type: ball, between: []}]", "loops.0.type: 'ball' is not accepted"),
        (
            TREE + "loops: [{name: l, type: spherical, between: [{link: A}]}]",
            "loops.0.between: 1 frames; expected",
        ),
        (
            TREE + "loops: [{name: l, type: spherical, between: [{link: A}, {link: A}]}]",
            "loops.0.between.1.link: both sides are on 'A'",
        ),
        (
            TREE + "loops: [{name: l, type: spherical, between: [{link: A}, {link: Q}]}]",
            "loops.0.between.1.link: 'Q' is not an axis; expected one of A, B, C, base",
        ),
        (
            TWO + "transmission: {motors: [M1], matrix: [[1]]}",
            "transmission.matrix.0: expected a list of 2 values",
        ),
        (TWO + "transmission: {motors: [M1], matrix: [[1, 5]]}", "transmission.matrix.0.1: '5' has no unit"),
        (
            TWO + "transmission: {motors: [M1, M2], matrix: [[1, 0]]}",
            "transmission.matrix: 1 rows; expected 2",
        ),
        (
            TWO + "transmission: {motors: [M1, M1], matrix: [[1, 0], [0, 0]]}",
            "transmission.motors.1: 'M1' is already",
        ),
        (
            f"{HEAD}axes: {{A: {{dh: {{}}, gear: {{ratio: 5}}}}}}\n"
            "transmission: {motors: [M1], matrix: [[1]]}",
            "robot.yaml:3: axes.A.gear.ratio: the transmission matrix holds the ratios",
        ),
        (TWO + "kinematics: skara", "kinematics: 'skara' is not accepted; expected one of scara"),
        (TWO + "colour: red", "robot.yaml:6: colour: unknown field; expected one of format, name"),
        (TWO + "? |\n  a\n  b\n: 3", "robot.yaml:9: a b: unknown field"),
        (TWO + "<<: {a: 1}", "<<: unknown field"),
    ],
)
def test_robot_that_cannot_be_accepted_says_why(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in message(tmp_path, text)


def test_first_problem_in_the_file_is_reported(tmp_path: Path) -> None:
    text = f"{HEAD}axes:\n  A: {{dh: {{a: 1}}}}\n  B: {{dh: {{a: 2}}}}\ngravity: 3\n"
    assert message(tmp_path, text).startswith("robot.yaml:4: axes.A.dh.a")


def test_problem_inside_a_part_names_the_file_of_the_part(tmp_path: Path) -> None:
    write(tmp_path, "small:\n  resistance: 3 V\n", "motors.yaml")
    with pytest.raises(InputError) as caught:
        describe(tmp_path, axis("dh: {}\n    motor: {include: motors.yaml#small}"))
    assert re.search(r"motors\.yaml:2: axes\.A\.motor\.resistance: '3 V' is a voltage", str(caught.value))
    assert (caught.value.line, caught.value.field) == (2, "axes.A.motor.resistance")


@pytest.mark.parametrize("name", ALL)
def test_description_dumped_to_python_values_reads_back(tmp_path: Path, name: str) -> None:
    robot = describe(tmp_path, ALL[name])
    again = RobotDescription.model_validate(robot.model_dump(exclude_defaults=True, exclude_none=True))
    assert again == robot


def test_description_in_python_numbers_is_taken_as_si() -> None:
    fields = {"format": "servotwin/1", "name": "x", "axes": {"A": {"dh": {"a": 0.5}, "gear": {"ratio": 3}}}}
    robot = RobotDescription.model_validate(fields)
    assert robot.axes["A"].dh is not None
    assert robot.axes["A"].dh.a == 0.5
    assert (robot.origins, robot.assumptions(), robot.dependencies, robot.tree) == ({}, [], [], None)


def test_whole_number_from_expression_is_accepted(tmp_path: Path) -> None:
    robot = describe(tmp_path, axis("dh: {}\n    encoder: {lines: = 2*500}"))
    assert robot.axes["A"].encoder is not None
    assert robot.axes["A"].encoder.lines == 1000


def test_defaults_of_a_short_description(tmp_path: Path) -> None:
    robot = describe(tmp_path, TREE)
    assert robot.gravity == (0.0, 0.0, -9.80665)
    assert robot.parent_names == {"A": "base", "B": "A", "C": "B"}
    assert robot.link_names == {"A": "A-link", "B": "B-link", "C": "C-link"}
    assert robot.joint_names == ("A", "B", "C")
    assert robot.tool_parent == "C"


def test_parents_array_counts_axes_from_one(tmp_path: Path) -> None:
    robot = describe(tmp_path, TREE + "parents: [0, 1, 1]\n")
    assert robot.parent_names == {"A": "base", "B": "A", "C": "A"}


def test_parents_array_may_name_a_later_axis(tmp_path: Path) -> None:
    robot = describe(tmp_path, TREE + "parents: [3, 0, 2]\n")
    assert robot.parent_names == {"A": "C", "B": "base", "C": "B"}


def test_gravity_as_vector_is_the_acceleration_of_free_fall(tmp_path: Path) -> None:
    assert describe(tmp_path, TREE + "gravity: [1 m/s^2, 0 m/s^2, 2 m/s^2]\n").gravity == (1.0, 0.0, 2.0)
    assert describe(tmp_path, TREE + "gravity: 9.81 m/s^2\n").gravity == (0.0, 0.0, -9.81)


def test_sources_and_assumptions_are_kept(tmp_path: Path) -> None:
    robot = describe(tmp_path, COMPOSED)
    assert robot.origins["axes.A.dh.a"].line == 11
    assert robot.origins["axes.A.dh.a"].source == "the paper"
    assert robot.assumptions() == [
        ("axes.A.link.mass", "3.0 kg", "a guess"),
        ("variables.load", "3 kg", "a guess"),
    ]


def test_assumption_about_a_list_is_one_entry(tmp_path: Path) -> None:
    text = axis("dh: {}\n    link: {mass: 1 kg, center: {value: [1 m, 2 m, 3 m], assumed: guessed}}")
    assert describe(tmp_path, text).assumptions() == [("axes.A.link.center", "[1 m, 2 m, 3 m]", "guessed")]


def test_assumption_reaches_values_through_variables(tmp_path: Path) -> None:
    text = axis(
        "dh: {a: = q2}",
        "variables:\n  p1: {value: 1 m, assumed: first}\n  q2: {value: = 2*p1, assumed: second}\n",
    )
    assert describe(tmp_path, text).origins["axes.A.dh.a"].assumed == "first; second"


def test_motor_that_contradicts_itself_gets_a_warning(tmp_path: Path) -> None:
    motor = (
        "motor: {torque_constant: 0.1 N*m/A, voltage_constant: 0.11 V*s/rad,"
        " rated_output: 100 W, rated_torque: 1 N*m, rated_speed: 120 rad/s}"
    )
    first, second = describe(tmp_path, axis(f"dh: {{}}\n    gear: {{ratio: 100}}\n    {motor}")).warnings
    assert (
        "robot.yaml:7: axes.A.motor.torque_constant: 0.1 N*m/A differs from the voltage_constant 0.11"
        in first
    )
    assert (
        "robot.yaml:7: axes.A.motor.rated_output: 100 W differs from rated_torque times rated_speed, 120 W"
        in second
    )
    other, same = describe(
        tmp_path,
        axis(f"dh: {{}}\n    gear: {{ratio: 100}}\n    {motor.replace('motor: {', 'motor: {kind: pmsm, ')}"),
    ).warnings
    assert "axes.A.motor.voltage_constant: 0.11 V*s/rad is not two thirds of the torque_constant" in other
    assert same == second


def test_motor_within_tolerance_gets_no_warning(tmp_path: Path) -> None:
    motor = (
        "motor: {torque_constant: 1.21 kgf*cm/A, voltage_constant: 12.4 V/krpm,"
        " rated_output: 200 W, rated_torque: 6.5 kgf*cm, rated_speed: 3000 rpm}"
    )
    assert describe(tmp_path, axis(f"dh: {{}}\n    gear: {{ratio: 100}}\n    {motor}")).warnings == []


def test_unknown_name_offers_the_catalogue() -> None:
    with pytest.raises(
        InputError, match=r"no robot 'gsis'; expected a .yaml or .urdf file or one of .*gsis-scara"
    ):
        read_description("gsis")
    with pytest.raises(InputError, match=r"not a robot file; expected \.yaml, \.yml or \.urdf"):
        read_description("some/robot.txt")
    with pytest.raises(InputError, match="no such file"):
        read_description("none.yaml")


def test_descriptions_that_say_the_same_are_equal(tmp_path: Path) -> None:
    one = describe(tmp_path, PENDULUM)
    other = describe(tmp_path, "# moved\n" + PENDULUM.replace("400 mm", "0.4 m"))
    assert one == other
    assert one != describe(tmp_path, PENDULUM.replace("400 mm", "401 mm"))
