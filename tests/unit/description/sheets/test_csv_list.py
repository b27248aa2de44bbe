"""CSV lists become catalogues and come back; what cannot be right is refused with line and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import servotwin as st
from servotwin.description.sheets.catalogue import GENERIC, read_catalogue
from servotwin.description.sheets.csv_list import export_list, import_list
from servotwin.description.write import write_yaml

HEADS = (
    *(
        "type",
        "Mn [N*m]",
        "rated_current [Arms]",
        "torque_constant [N*m/Arms]",
        "voltage_constant [Vrms/krpm]",
    ),
    *("resistance [ohm]", "thermal.time_constant [min]", "thermal.winding_rise [K]"),
    *("continuous.points [rpm, N*m]", "note"),
)
LIST = (
    f"# prices of spring\n{';'.join(HEADS)}\n"
    + """
A1;3,5;5;0,71;42,93;1.2;25;100;0 3.8 | 3000 3.5;x
A2;7;5;1,42;85,86;2.4;25;100;[[0 rpm, 7.8 N*m], [3000 rpm, 7 N*m]];y
A3;7 N*m;;1,42;;;;;;
"""
)
SETTINGS: dict[str, Any] = {
    "columns": {"name": "type", "rated_torque": "Mn"},
    "skip": ("note",),
    "common": {
        "conventions.voltage_between": "lines",
        "conventions.winding_between": "lines",
        "conventions.winding_temperature": "20 degC",
    },
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "list.csv"
    file.write_text(LIST, encoding="utf-8")
    return file


def test_list_becomes_a_catalogue(path: Path, tmp_path: Path) -> None:
    made = import_list(path, **SETTINGS)
    assert list(made.catalogue.motors) == ["A1", "A2", "A3"]
    assert made.skipped == ("note",)
    first, second, third = made.catalogue.motors.values()
    assert first.rated_torque == 3.5
    assert first.torque_constant == pytest.approx(0.71 / 2**0.5)
    assert second.continuous_curve is not None
    assert second.continuous_curve[0] == (0.0, 7.8)
    assert third.rated_torque == 7.0
    assert third.rated_current is None


def test_written_catalogue_reads_back_to_the_same_numbers(path: Path, tmp_path: Path) -> None:
    made = import_list(path, **SETTINGS)
    write_yaml(made.tree, tmp_path / "out.yaml")
    back = read_catalogue(tmp_path / "out.yaml")
    assert back.motors == made.catalogue.motors
    assert back.printed == made.catalogue.printed


@pytest.mark.parametrize(
    ("file", "kind"), [(GENERIC[0], "motors"), (GENERIC[1], "gears"), (GENERIC[1], "screws")]
)
def test_generic_series_goes_through_a_list_unchanged(tmp_path: Path, file: str, kind: str) -> None:
    path = tmp_path / "list.csv"
    path.write_text(export_list(file, kind), encoding="utf-8")
    back = import_list(path, kind).catalogue
    assert getattr(back, kind) == getattr(read_catalogue(file), kind)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("A2;", "A1;", "list.csv:5: name: 'A1' is given twice; the first is in line 4"),
        (
            "A2;7;",
            "A2;12;",
            "list.csv:5: motors.A2.rated_current: 5 A (rms) times the torque_constant is 7.1 N*m",
        ),
        ("A2;7;", "A2;x;", "list.csv:5: motors.A2.rated_torque: 'x': unknown unit 'x'"),
        ("1,42;85,86", "0,71;85,86", "list.csv:5: motors.A2.torque_constant: 0.71 N*m/A (rms) does not fit"),
        ("| 3000 3.5", "| 3000", "list.csv:4: continuous.points: '3000' is no point of 2 numbers"),
        ("note", "noise", "list.csv:2: the column 'noise' is no field of motors"),
        ("A1;", "A 1;", "list.csv:4: name: 'A 1' is not accepted; expected a name without blanks"),
        ("[Vrms/krpm]", "[V]", "list.csv:4: motors.A1.voltage_constant: '42.93 V' is a voltage"),
        ("[ohm]", "[Ohmm]", "list.csv:4: motors.A1.resistance: '1.2 Ohmm': unknown unit 'Ohmm'"),
        (";x\n", ';"x\n', "list.csv:"),
    ],
)
def test_list_with_a_mistake_is_refused_with_its_line(path: Path, old: str, new: str, message: str) -> None:
    path.write_text(LIST.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(st.InputError) as caught:
        import_list(path, **SETTINGS)
    text = str(caught.value)
    assert text.removeprefix(f"{path.parent}/").startswith(message)
    assert "\n" not in text


def test_contradictions_are_kept_on_demand(path: Path) -> None:
    path.write_text(LIST.replace("A2;7;", "A2;12;"), encoding="utf-8")
    made = import_list(path, **SETTINGS, keep_contradictions=True)
    assert len(made.catalogue.warnings) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "wheels"}, "--kind: 'wheels' is not accepted; expected one of motors, gears, screws"),
        ({"columns": {"nam": "type"}}, "--column: 'nam' is no field; did you mean 'name'?"),
        ({"columns": {"rated_torque": "Mn"}, "skip": ("note", "type")}, "list.csv:2: no column 'name'"),
        ({"columns": {**SETTINGS["columns"], "mass": "m"}}, "--column: no column 'm'"),
        ({"common": {"conventions.curent": "rms"}}, "--set: 'conventions.curent' is no field"),
        (
            {"common": {}},
            "list.csv:4: motors.A1.conventions.voltage_between: missing: voltage_constant depends on it",
        ),
    ],
)
def test_settings_with_a_mistake_are_refused(path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(st.InputError) as caught:
        import_list(path, **{**SETTINGS, **changes})
    assert str(caught.value).removeprefix(f"{path.parent}/").startswith(message)


@pytest.mark.parametrize("text", ["", "# nothing\n", "name,rated_torque [N*m]\n"])
def test_empty_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "list.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(st.InputError, match="no rows; expected a line of column names"):
        import_list(path)


def test_hidden_characters_are_refused(path: Path) -> None:
    path.write_text(LIST.replace("A2;", "A\u202e2;"), encoding="utf-8")
    with pytest.raises(st.InputError, match=r"list\.csv:5:"):
        import_list(path, **SETTINGS)


def test_list_that_makes_too_long_a_file_is_refused_before_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    rows = "".join(f"m{i},{i + 1},{'x' * 200}\n" for i in range(5000))
    path.write_text(f"name,rated_torque [N*m],series\n{rows}", encoding="utf-8")
    made = import_list(path)
    with pytest.raises(
        st.InputError, match=r"list\.csv: 1\.\d+ MB of YAML, more than the 1 MB of a catalogue file"
    ):
        made.yaml_text()
