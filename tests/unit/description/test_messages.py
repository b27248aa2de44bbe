"""Messages at the first mistakes that people make with robot files: one line that helps."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from servotwin.description.load import catalogue_names, read_description
from servotwin.description.nodes import parse_yaml
from servotwin.description.units import parse_quantity
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism

HEAD = "format: servotwin/1\nname: arm\naxes:\n  A:\n    dh: {}\n"


def message(tmp_path: Path, rest: str) -> str:
    path = tmp_path / "robot.yaml"
    path.write_text(HEAD + rest, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_description(path)
    return str(caught.value).removeprefix(f"{tmp_path}/")


# --- fields and words ------------------------------------------------------------------------------


def test_unknown_field_of_the_longest_part_keeps_hint_and_whole_list(tmp_path: Path) -> None:
    text = message(tmp_path, "    motor: {rotor_inertai: 1e-4 kg*m^2}\n")
    assert text.startswith(
        "robot.yaml:6: axes.A.motor.rotor_inertai: unknown field; did you mean 'rotor_inertia'? "
    )
    assert text.endswith(", datasheet")


@pytest.mark.parametrize("name", ["peak_current", "max_current"])
def test_largest_current_of_a_data_sheet_leads_to_current_limit(tmp_path: Path, name: str) -> None:
    assert "did you mean 'current_limit'?" in message(tmp_path, f"    motor: {{{name}: 12 A}}\n")


def test_include_of_a_file_that_is_missing_says_so(tmp_path: Path) -> None:
    text = message(tmp_path, "    motor: {include: missing.yaml#x}\n")
    assert text.startswith(
        "robot.yaml:6: axes.A.motor.include: no such file 'missing.yaml'; expected one beside"
    )


@pytest.mark.parametrize(("kind", "word"), [("scenario", "a scenario"), ("points", "the points of a job")])
def test_another_kind_of_file_is_named_where_a_robot_is_expected(
    tmp_path: Path, kind: str, word: str
) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(f"format: servotwin-{kind}/1\nrobot: gsis-scara\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"other.yaml:1: format: 'servotwin-{kind}/1' is {word}, which"):
        read_description(path)


@pytest.mark.parametrize("word", ["bldc", "BLDC", "ac-servo", "brushless", "synchronous", "ipmsm"])
def test_other_names_of_synchronous_motors_lead_to_pmsm(tmp_path: Path, word: str) -> None:
    text = message(tmp_path, f"    motor: {{kind: {word}}}\n")
    assert f"'{word}' is not accepted" in text
    assert text.endswith("a brushless or AC servo motor with permanent magnets is a 'pmsm'")
    assert "did you mean 'dc'" not in text


def test_reversed_limits_are_shown_as_they_are_written(tmp_path: Path) -> None:
    text = message(tmp_path, "    limits: {position: [2.5 rad, -120 deg]}\n")
    assert text == (
        "robot.yaml:6: axes.A.limits.position: minimum is above maximum in '[2.5 rad, -120 deg]'; expected [min, max]"
    )


@pytest.mark.parametrize(("old", "new"), [("three-level", "unipolar"), ("two-level", "bipolar")])
def test_former_names_of_the_modulation_are_read_as_the_present_ones(
    tmp_path: Path, old: str, new: str
) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(f"{HEAD}power: {{bus_voltage: 48 V, bridge: {{modulation: {old}}}}}\n", encoding="utf-8")
    power = read_description(path).power
    assert power is not None
    assert power.bridge.modulation == new


# --- units -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("2 kg·m²", "kg*m^2", 2.0),
        ("3 mm³", "m^3", 3e-9),
        ("5 rad/s²", "rad/s^2", 5.0),
        ("5 A*sqrt(2)", "A", 5.0 * math.sqrt(2.0)),
        ("1.2 N*m/A/sqrt(2)", "N*m/A", 1.2 / math.sqrt(2.0)),
    ],
)
def test_quantity_of_a_data_sheet_is_read(text: str, unit: str, value: float) -> None:
    assert parse_quantity(text, unit) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "unit"), [("1.2 N*m/Arms", "N*m/A"), ("1.2 N*m/A_rms", "N*m/A"), ("5 Arms", "A")]
)
def test_effective_current_is_refused_with_the_way_to_its_amplitude(text: str, unit: str) -> None:
    with pytest.raises(ValueError, match="effective value of a sine") as caught:
        parse_quantity(text, unit)
    # what the message tells to write is accepted
    assert "'5 A*sqrt(2)'" in str(caught.value)
    assert "'1.2 N*m/A/sqrt(2)'" in str(caught.value)


def test_effective_voltage_is_refused_with_the_way_to_the_amplitude_of_a_phase() -> None:
    with pytest.raises(ValueError, match=r"times sqrt\(2\), one between two phases times sqrt\(2/3\)"):
        parse_quantity("40 V_rms/krpm", "V*s/rad")


# --- broken YAML -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a:\n    b: 1\n  c: 2\n", 3, "wrong indentation: no line above begins after 2 blanks"),
        ("a:\n  b: 1\n   c: 2\n", 3, "wrong indentation: deeper than the line above"),
        ("a:\n  - b: 1\n   c: 2\n", 3, "wrong indentation: no line above begins after 3 blanks"),
        ("a: 1\n\tb: 2\n", 2, "a tab indents this line; expected blanks"),
        ("a: b: c\n", 1, "a second ':' in one line; expected 'name: value', or the value in quotes"),
        ("a\nb: 1\n", 2, "the line above, 'a', has no ':'; expected 'name: value'"),
        ("a: 1\nb 2\nc: 3\n", 2, "no ':' in this line; expected 'name: value'"),
        ("a: [1, 2\nb: 3\n", 1, "the '[' is not closed; expected ',' or ']'"),
        ("a: {b: 1\nc: 2\n", 1, "the '{' is not closed; expected ',' or '}'"),
        ("a: 1\nb: 'x\n", 2, "the quote that begins here is not closed"),
        ("a: ]\n", 1, "']' without a '[' before it"),
        ("a: @b\n", 1, "a value cannot begin with '@'; put it in quotes"),
        ("a: 1\n- b\n", 2, "a list item '-' among the fields of a mapping"),
        ("- a\nb: 1\n", 2, "a field among the items of a list"),
        ('a: "\\q"\n', 1, "in double quotes begins an escape"),
        ("a: 1\nb: \x00\n", 2, "a control character (U+0000)"),
        ("a: |x\n  b\n", 1, "this is not understood; expected 'name: value'"),
    ],
)
def test_broken_yaml_is_one_line_without_the_words_of_the_parser(text: str, line: int, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml(text, "f.yaml")
    said = str(caught.value)
    assert said.startswith(f"f.yaml:{line}: broken YAML: ")
    assert expected in said
    for word in ("token", "block mapping", "scalar", "<", "while", "node content"):
        assert word not in said


# --- gears -----------------------------------------------------------------------------------------

MOTOR = "    motor: {kind: pmsm, torque_constant: 0.4 N*m/A, rotor_inertia: 1e-4 kg*m^2}\n"


@pytest.mark.parametrize(
    ("gear", "warned"),
    [
        ("", "axes.A.gear: missing: the motor drives the joint 1:1"),
        (
            "    gear: {stiffness: 1e4 N*m/rad}\n",
            "axes.A.gear.ratio: missing: the motor drives the joint 1:1",
        ),
        ("    gear: {ratio: 100}\n", None),
        ("    gear: {ratio: 1}\n", None),
        ("    gear: {kind: direct}\n", None),
    ],
)
def test_motor_without_gear_ratio_is_warned_of(tmp_path: Path, gear: str, warned: str | None) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(HEAD + MOTOR + gear, encoding="utf-8")
    lines = read_description(path).warnings
    assert bool(lines) == (warned is not None)
    if warned is not None:
        assert warned in lines[0]
    rotors = build_mechanism(read_description(path)).rotors
    assert rotors.N[0, 0] == (100.0 if "100" in gear else 1.0)


@pytest.mark.parametrize("name", catalogue_names())
def test_catalogue_states_the_gears_of_its_motors(name: str) -> None:
    assert not [line for line in read_description(name).warnings if "1:1" in line]


# --- where a value comes from ----------------------------------------------------------------------


def test_value_of_an_expression_without_a_unit_names_its_variables(tmp_path: Path) -> None:
    text = message(
        tmp_path,
        "    link: {mass: 1 kg, center: [0 m, 0 m, = half]}\nvariables: {upper: 450, half: = upper/2}\n",
    )
    assert text == (
        "robot.yaml:6: axes.A.link.center.2: '225.0' has no unit; expected a length, such as '225.0 mm'; "
        "the value is that of '= half' with variables.half: = upper/2, variables.upper: 450"
    )


@pytest.mark.parametrize(
    ("rest", "hint"),
    [
        ("    limits: {position: [-1 m, 1 m]}\n", "the axis is revolute, and slides with 'type: prismatic'"),
        ("home: {A: 100 mm}\n", "the axis is revolute, and slides with 'type: prismatic'"),
        ("    type: prismatic\n    limits: {speed: 90 deg/s}\n", "the axis slides ('type: prismatic')"),
    ],
)
def test_quantity_of_the_other_type_of_axis_names_the_type(tmp_path: Path, rest: str, hint: str) -> None:
    text = message(tmp_path, rest)
    assert "; expected a" in text
    assert text.endswith(hint)


def test_quantity_that_no_type_of_axis_takes_names_none(tmp_path: Path) -> None:
    assert "slides" not in message(tmp_path, "    limits: {position: [-1 kg, 1 kg]}\n")
