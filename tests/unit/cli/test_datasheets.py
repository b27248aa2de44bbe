"""``servotwin catalogue`` and ``check --datasheets``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servotwin.cli.main import main

ROBOT = """\
format: servotwin/1
name: arm
axes:
  A:
    dh: {a: 300 mm}
    link: {mass: 5 kg}
    gear: {datasheet: {include: "generic-gears.yaml#gears.gsw-20-100"}}
    motor: {datasheet: {include: "generic-motors.yaml#motors.gm-400-3000-low-280"}}
"""
LIST = "name,rated_torque [N*m],torque_constant [N*m/Arms],rated_current [Arms]\nm1,3.5,0.7,5\nm2,7,1.4,5\n"


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "arm.yaml"
    path.write_text(ROBOT, encoding="utf-8")
    return path


def test_check_shows_sheets_both_ways(robot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(robot), "--datasheets"]) == 0
    out = capsys.readouterr().out
    assert "0.595 N*m/A, rms" in out
    assert "0.4207 N*m/A per amplitude" in out
    assert "36 V/krpm, rms, lines" in out


def test_check_shows_motors_without_sheets_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "palletizer-4", "--datasheets", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    rows = {row["field"]: row for row in found["datasheets"]["th1"]}
    assert rows["torque_constant"]["value"] == 0.45
    assert rows["torque_constant"]["usual"] == "0.6364 N*m/Arms"  # 0.45 sqrt(2)
    assert rows["inductance"]["usual"] == "6 mH, lines"


def test_check_without_the_option_says_nothing_of_sheets(
    robot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(robot), "--json"]) == 0
    assert "datasheets" not in json.loads(capsys.readouterr().out)[0]


def test_check_accepts_a_catalogue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "format: servotwin-catalogue/1\nname: own\ngears:\n  g: {kind: rv, ratio: 121}\n", encoding="utf-8"
    )
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: ok, catalogue own, 1 gear\n"


def test_catalogue_in_place_of_a_robot_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("format: servotwin-catalogue/1\nname: own\n", encoding="utf-8")
    assert main(["info", str(path)]) == 2
    assert "is a catalogue of motors and gears" in capsys.readouterr().err


def test_catalogue_lists_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "list", "--kind", "screws"]) == 0
    assert "gs-16x5" in capsys.readouterr().out
    assert main(["catalogue", "show", "gsw-20-100"]) == 0
    assert "rated_torque" in capsys.readouterr().out
    assert main(["catalogue", "show", "gm-400-3000-low-280", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["generic"] is True
    assert main(["catalogue", "list", "--kind", "gears", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["gears"]) >= 50


def test_catalogue_refuses_what_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "show", "gsw-20-101"]) == 2
    assert (
        "no entry 'gsw-20-101' in generic-motors+generic-gears; did you mean 'gsw-20-1"
        in capsys.readouterr().err
    )
    assert main(["catalogue", "list", "--kind", "wheels"]) == 2
    assert "--kind: 'wheels' is not accepted" in capsys.readouterr().err


def test_list_is_imported_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out, back = tmp_path / "list.csv", tmp_path / "my.yaml", tmp_path / "back.csv"
    path.write_text(LIST, encoding="utf-8")
    assert main(["catalogue", "import", str(path), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"wrote {out}: 2 motors\n"
    assert main(["catalogue", "import", str(path), "--out", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["catalogue", "export", str(out), "--out", str(back)]) == 0
    assert "3.5 N*m" in back.read_text(encoding="utf-8")


def test_import_of_a_contradiction_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "list.csv", tmp_path / "my.yaml"
    path.write_text(LIST.replace("m2,7,", "m2,14,"), encoding="utf-8")
    assert main(["catalogue", "import", str(path), "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith(f"{path}:3: motors.m2.rated_current: 5 A (rms) times")
    assert not out.exists()


def test_import_settings_that_are_no_pairs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "list.csv"
    path.write_text(LIST, encoding="utf-8")
    assert (
        main(["catalogue", "import", str(path), "--out", str(tmp_path / "x.yaml"), "--column", "name"]) == 2
    )
    assert "--column: 'name' is not FIELD=TEXT" in capsys.readouterr().err
    assert main(["catalogue", "import", str(path), "--out", str(tmp_path / "x.csv")]) == 2
    assert "expected a .yaml or .yml file" in capsys.readouterr().err


def test_schema_of_catalogues_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "catalogue"]) == 0
    assert "MotorDatasheet" in json.loads(capsys.readouterr().out)["$defs"]
