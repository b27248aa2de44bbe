"""Composition: extends, include, variables, expressions, conditions, overrides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from servotwin.description.compose import resolve
from servotwin.description.load import read_description
from servotwin.description.nodes import parse_yaml
from servotwin.errors import InputError
from small_robots import COMPOSED, HEAD, PENDULUM, describe, write


def composed(text: str, overrides: Mapping[str, str] | None = None) -> dict[str, object]:
    """The finished tree of a text, as plain values."""
    plain = resolve(parse_yaml(text, "f.yaml"), overrides).plain()
    assert isinstance(plain, dict)
    return plain


def message(text: str, overrides: Mapping[str, str] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        resolve(parse_yaml(text, "f.yaml"), overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- extends ----------------------------------------------------------------------------------------


def test_extends_merges_deeply_and_own_keys_win(tmp_path: Path) -> None:
    write(tmp_path, PENDULUM, "base.yaml")
    own = """\
        extends: base.yaml
        name: heavy
        axes:
          A:
            link: {mass: 9 kg}
            limits: {effort: null}
            motor:
          C: {dh: {a: 1 m}}
        """
    robot = describe(tmp_path, own)
    assert robot.name == "heavy"
    assert list(robot.axes) == ["A", "B", "C"]
    assert robot.axes["A"].link.mass == 9.0
    assert robot.axes["A"].link.center == (-0.2, 0.0, 0.0)
    assert robot.axes["A"].limits.effort is None, "an empty key deletes"
    assert robot.axes["A"].limits.speed is not None
    assert robot.axes["A"].motor is None
    assert [path.name for path in robot.dependencies] == ["robot.yaml", "base.yaml"]


def test_replace_takes_over_nothing_of_the_extended_part(tmp_path: Path) -> None:
    base = """
        axes: {A: {motor: {kind: dc, resistance: 1 ohm}, gear: {ratio: 3}}}
        list: {replace: {a: 1}}
    """
    (tmp_path / "base.yaml").write_text(base, encoding="utf-8")
    own = """
extends: base.yaml
axes: {A: {motor: {replace: true, kind: ideal}, gear: {efficiency: 0.9}}, B: {motor: {replace: true, kind: dc}}}
list: {b: 2}
"""
    tree = resolve(parse_yaml(own, str(tmp_path / "f.yaml"))).plain()
    assert tree["axes"]["A"] == {"motor": {"kind": "ideal"}, "gear": {"ratio": "3", "efficiency": "0.9"}}  # type: ignore[index,call-overload]
    assert tree["axes"]["B"] == {"motor": {"kind": "dc"}}, "alone it says nothing"  # type: ignore[index,call-overload]
    assert tree["list"] == {"replace": {"a": "1"}, "b": "2"}, "a mapping of this name is one"  # type: ignore[index,call-overload]


def test_extends_replaces_variables_before_expressions_are_evaluated(tmp_path: Path) -> None:
    write(tmp_path, COMPOSED, "base.yaml")
    robot = describe(tmp_path, "extends: base.yaml\nvariables: {a1: 1 m, reading: center}\n")
    assert robot.axes["A"].dh is not None
    assert robot.axes["A"].dh.a == 1.0
    assert robot.axes["A"].link.frame == "link"
    with pytest.raises(InputError, match=r"robot.yaml:2: variables.reading: 'centre' is not accepted"):
        describe(tmp_path, "extends: base.yaml\nvariables: {reading: centre}\n")


def test_extends_over_two_files_takes_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, PENDULUM, "one.yaml")
    write(tmp_path, "extends: one.yaml\ntitle: two\n", "two.yaml")
    robot = describe(tmp_path, "extends: two.yaml\n")
    assert (robot.name, robot.title) == ("pendulum", "two")


def test_extends_of_catalogue_name_finds_it(tmp_path: Path) -> None:
    robot = describe(tmp_path, "extends: gsis-scara\nname: mine\naxes: {A: {gear: {ratio: 50}}}\n")
    assert robot.name == "mine"
    assert robot.axes["A"].gear is not None
    assert robot.axes["A"].gear.ratio == 50.0


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"robot.yaml": "extends: robot.yaml"}, "robot.yaml:1: extends: a cycle"),
        ({"robot.yaml": "extends: b.yaml", "b.yaml": "extends: ./robot.yaml"}, "b.yaml:1: extends: a cycle"),
        ({"robot.yaml": "extends: none.yaml"}, "robot.yaml:1: extends: no such file 'none.yaml'"),
        ({"robot.yaml": "a: 1\nextends: gsis-skara"}, "robot.yaml:2: extends: no robot 'gsis-skara'"),
        ({"robot.yaml": "extends: gsis-skara"}, "did you mean 'gsis-scara'?"),
        ({"robot.yaml": "extends: [a]"}, "expected a catalogue name or a file"),
        ({"robot.yaml": 'extends: "a\\0.yaml"'}, "extends: a control character (U+0000)"),
        ({"robot.yaml": "just text"}, "robot.yaml:1: expected a mapping"),
        ({"robot.yaml": "extends: b.yaml", "b.yaml": "- 1"}, "b.yaml:1: expected a mapping"),
    ],
)
def test_extends_that_leads_nowhere_says_so(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    for name, text in files.items():
        write(tmp_path, text, name)
    with pytest.raises(InputError) as caught:
        read_description(tmp_path / "robot.yaml")
    assert expected in str(caught.value)


# --- include ----------------------------------------------------------------------------------------

MOTORS = """\
maker:
  small: {kind: dc, rotor_inertia: 1e-4 kg*m^2, source: data sheet}
  large: {include: "#maker.small", rotor_inertia: 3e-4 kg*m^2}
kw-2.0: {kind: pmsm}
loop: {include: "#loop"}
a-list: [1]
"""


def test_include_merges_under_the_local_keys(tmp_path: Path) -> None:
    write(tmp_path, MOTORS, "motors.yaml")
    text = HEAD + (
        "source: paper\n"
        "axes:\n"
        "  A: {dh: {}, motor: {include: motors.yaml#maker.large, peak_torque: 3 N*m}}\n"
        "  B: {dh: {}, motor: {include: motors.yaml#maker.small, rotor_inertia: null}}\n"
        "  C: {dh: {}, motor: {include: motors.yaml#kw-2.0}}\n"
    )
    robot = describe(tmp_path, text)
    a, b, c = (robot.axes[name].motor for name in "ABC")
    assert a is not None
    assert b is not None
    assert c is not None
    assert (a.kind, a.rotor_inertia, a.peak_torque) == ("dc", 3e-4, 3.0)
    assert (b.kind, b.rotor_inertia) == ("dc", None)
    assert c.kind == "pmsm"
    assert robot.origins["axes.A.motor.kind"].source == "data sheet"
    assert robot.origins["axes.A.motor.kind"].file.endswith("motors.yaml")
    assert robot.origins["axes.C.motor.kind"].source == "paper", "a part takes the source of its place"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("motors.yaml#loop", "a cycle: '#loop' includes itself"),
        ("motors.yaml#maker.smal", "motors.yaml has no entry 'maker.smal'; did you mean 'small'?"),
        ("none.yaml#x", "robot.yaml:4: axes.A.motor.include: no such file 'none.yaml'"),
        ("parts/gsis-motors.yaml#w100", "a part of the catalogue; did you mean 'gsis-motors.yaml'?"),
        ("motors.yaml#a-list", "is not a mapping; only mappings can be included"),
        ("[1]", "expected 'file#entry'"),
        ('"#axes.A"', "includes itself"),
        ('"#"', "includes itself"),
    ],
)
def test_include_that_leads_nowhere_says_so(tmp_path: Path, entry: str, expected: str) -> None:
    write(tmp_path, MOTORS, "motors.yaml")
    with pytest.raises(InputError) as caught:
        describe(tmp_path, HEAD + f"axes:\n  A: {{dh: {{}}, motor: {{include: {entry}}}}}\n")
    assert expected in str(caught.value)


def test_includes_that_multiply_are_stopped(tmp_path: Path) -> None:
    entries = ["e0: {a: 1, b: 2}"]
    entries += [f"e{i}: {{a: {{include: '#e{i - 1}'}}, b: {{include: '#e{i - 1}'}}}}" for i in range(1, 19)]
    write(tmp_path, "\n".join(entries), "parts.yaml")
    with pytest.raises(InputError, match="after its parts are included"):
        describe(tmp_path, HEAD + "axes: {include: parts.yaml#e18}\n")


# --- variables, expressions, conditions -------------------------------------------------------------


def test_variables_and_conditions_give_values(tmp_path: Path) -> None:
    robot = describe(tmp_path, COMPOSED)
    assert robot.axes["A"].link.center == (0.2, 0.0, 0.0)
    assert robot.axes["A"].link.frame == "joint"
    assert robot.variables == {"a1": "400 mm", "half": "0.2 m", "load": "3 kg", "reading": "joint"}


def test_condition_merges_over_local_keys_and_may_nest() -> None:
    text = """\
variables: {n: 3, m1: {text: b}}
x:
  a: 1
  b: 2
  choose:
    - {when: = n > 5, then: {a: 9}}
    - when: = n == 3
      then:
        b: null
        choose: [{when: = m1 == "a", then: {c: 3}}, {otherwise: {c: 4}}]
"""
    assert composed(text)["x"] == {"a": "1", "c": "4"}
    assert composed(text, {"variables.n": "4"})["x"] == {"a": "1", "b": "2"}


def test_condition_may_choose_a_single_value() -> None:
    branches = "[{when: = n > 2, then: 5 kg}, {otherwise: {value: 6 kg}}]"
    text = f"variables: {{n: 3}}\nmass: {{source: x, choose: {branches}}}"
    assert composed(text)["mass"] == "5 kg"
    assert composed(text, {"variables.n": "1"})["mass"] == "6 kg"


def test_variables_may_choose_among_variables() -> None:
    text = """\
variables:
  size: {text: small}
  choose:
    - {when: = size == "large", then: {a1: 2 m}}
    - {otherwise: {a1: 1 m}}
x: = a1
"""
    assert composed(text)["x"] == "1.0 m"
    assert composed(text, {"variables.size": "large"})["x"] == "2.0 m"
    assert composed(text, {"variables.a1": "5 m"})["x"] == "5.0 m"


def test_text_expression_gives_a_text() -> None:
    assert composed("variables: {t1: {text: hello}}\nx: = t1")["x"] == "hello"


def test_empty_keys_fall_away() -> None:
    assert composed("x: {a: , b: 1}\ny:") == {"x": {"b": "1"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("variables: {p: = q, q: = r, r: = p}\nx: = p", "refer to each other in a circle: p -> q -> r -> p"),
        ("variables: {p: = p}", "in a circle: p -> p"),
        ("variables: {p: = zz}", "f.yaml:1: variables.p: '= zz': unknown name 'zz'"),
        ("variables: {length: 3 m}\nx: = lenght/2", "f.yaml:2: x: '= lenght/2': unknown name 'lenght'"),
        ("variables: {length: 3 m}\nx: = lenght/2", "did you mean 'length'?"),
        ("variables: {p: hello}", "expected a quantity such as '350 mm'"),
        ("variables: {p: [1]}", "variables.p: expected a quantity, an expression, or {text"),
        ("variables: {p: {a: 1}}", "variables.p: expected a quantity, an expression, or {text"),
        ("variables: {p: {text: [1]}}", "variables.p.text: expected a text"),
        ("variables: {p: {text: a, choices: b}}", "variables.p.choices: expected a list of texts"),
        ("variables: {p: {text: a, choices: [b, c]}}", "'a' is not accepted; expected one of b, c"),
        ("variables: [1]", "variables: expected a mapping"),
        ("variables: {m: 1 m}", "'m' is a unit; expected another name, such as 'm_1'"),
        ("variables: {sin: 1 m}", "'sin' is a word of the expressions"),
        ("variables: {a b: 1 m}", "not a name for a variable"),
        ("x: = 1 m + 1 s", "x: '= 1 m + 1 s': a time cannot be added to a length"),
        ("x: = 1 < 2", "'= 1 < 2' is a condition; expected a value"),
        ("x: =", "there is nothing to evaluate"),
        ("x: {choose: 1}", "x.choose: expected a list"),
        ("x: {choose: [1]}", "x.choose.0: expected {when"),
        ("x: {choose: [{when: = 1 < 2}]}", "x.choose.0: expected {when"),
        ("x: {choose: [{when: = 1, then: {}}]}", "x.choose.0.when: a plain number stands where a condition"),
        ("x: {choose: [{when: [1], then: {}}]}", "x.choose.0.when: expected an expression"),
        ("x: {a: 1, choose: [{when: = 1 < 2, then: 3}]}", "x.choose.0: expected a mapping"),
    ],
)
def test_composition_that_makes_no_sense_says_why(text: str, expected: str) -> None:
    assert expected in message(text)


def test_long_chains_of_variables_are_refused(tmp_path: Path) -> None:
    chain = {"v0": "1", **{f"v{i}": f"= {'(' * 30}v{i - 1}{')' * 30}" for i in range(1, 80)}}
    lines = "".join(f"  {name}: {value}\n" for name, value in chain.items())
    with pytest.raises(InputError, match="v"):
        describe(tmp_path, f"{HEAD}variables:\n{lines}x: = v79\n")


# --- overrides --------------------------------------------------------------------------------------


def test_overrides_win_over_everything(tmp_path: Path) -> None:
    robot = describe(
        tmp_path,
        COMPOSED,
        {
            "axes.Z.gear.lead": "= half/10",
            "axes.A.link.frame": "link",
            "axes.A.link.mass.value": "7 kg",
            "axes.A.limits.position": "[-1 rad, 1 rad]",
            "axes.A.limits.speed": "2 rad/s",
            "variables.a1": "100 mm",
            "title": "changed",
        },
    )
    assert robot.axes["Z"].gear is not None
    assert robot.axes["Z"].gear.lead == pytest.approx(0.005, rel=1e-15)
    assert robot.axes["A"].link.frame == "link"
    assert robot.axes["A"].link.mass == 7.0
    assert robot.axes["A"].limits.position == (-1.0, 1.0)
    assert robot.axes["A"].limits.speed == 2.0
    assert robot.title == "changed"


def test_overrides_of_list_items_texts_and_parts(tmp_path: Path) -> None:
    write(tmp_path, MOTORS, "motors.yaml")
    part = {"axes.A.motor.include": str(tmp_path / "motors.yaml") + "#maker.small"}
    robot = describe(
        tmp_path, PENDULUM, {"axes.A.limits.position.0": "-45 deg", "axes.A.gear": "null", **part}
    )
    assert robot.axes["A"].limits.position is not None
    assert robot.axes["A"].limits.position[0] == pytest.approx(-0.785398163, rel=1e-9)
    assert robot.axes["A"].gear is None
    assert robot.axes["A"].motor is not None
    assert robot.axes["A"].motor.kind == "dc"
    assert describe(tmp_path, COMPOSED, {"variables.reading": "center"}).axes["A"].link.frame == "link"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("axes.A.gear.ratio", "8 mm", "override axes.A.gear.ratio: '8 mm' is a length"),
        ("axes.Q.gear.ratio", "8", "override axes.Q.gear.ratio: there is no axis 'Q'; there are: A, B"),
        ("variables.x", "8", "there is no variable 'x'; there are: none"),
        ("axes.A.geer.ratio", "8", "axes.A.geer: unknown field"),
        ("axes.A.limits.position.2", "8 deg", "'2' is not an item; expected 0 to 1"),
        ("axes.A.type.x", "8", "'x' stands below 'revolute', which has no fields"),
        ("", "8", "'' is not a path"),
        ("axes..A", "8", "'axes..A' is not a path"),
        ("axes.A.gear", "{ratio: [", "broken YAML"),
        ("axes.A.gear", "{ratio: 3 mm}", "override axes.A.gear: axes.A.gear.ratio: '3 mm' is a length"),
        ("name", "Wrong Name", "override name: 'Wrong Name' is not accepted"),
    ],
)
def test_override_that_cannot_be_accepted_says_why(
    tmp_path: Path, field: str, value: str, expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        describe(tmp_path, PENDULUM, {field: value})
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


REPLACED = """
axes: {A: {motor: {kind: dc, resistance: 1 ohm, mount: {link: base}}, gear: {ratio: 3}}}
"""


@pytest.mark.parametrize(
    "overrides",
    [
        {"axes.A.motor.replace": "true", "axes.A.motor.kind": "ideal"},
        {"axes.A.motor.kind": "ideal", "axes.A.motor.replace": "True"},
        {"axes.A.motor": "{replace: true, kind: ideal}"},
        {"axes.A": "{motor: {replace: true, kind: ideal}, gear: {ratio: 3}}"},
    ],
    ids=["field by field", "in any order", "a mapping", "a mapping in a mapping"],
)
def test_override_replaces_a_mapping_as_a_file_does(overrides: dict[str, str]) -> None:
    assert composed(REPLACED, overrides)["axes"] == {
        "A": {"motor": {"kind": "ideal"}, "gear": {"ratio": "3"}}
    }


def test_override_replaces_what_an_included_part_states(tmp_path: Path) -> None:
    (tmp_path / "parts.yaml").write_text("arm: {motor: {kind: dc, resistance: 1 ohm}, gear: {ratio: 3}}\n")
    text = "axes: {A: {include: 'parts.yaml#arm'}}\n"
    overrides = {"axes.A.motor.replace": "true", "axes.A.motor.kind": "ideal"}
    tree = resolve(parse_yaml(text, str(tmp_path / "f.yaml")), overrides).plain()
    assert tree["axes"]["A"] == {"motor": {"kind": "ideal"}, "gear": {"ratio": "3"}}  # type: ignore[index,call-overload]
