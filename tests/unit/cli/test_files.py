"""``check``, ``schema`` and ``convert``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.description.load import catalogue_names, read_description

ROBOT = """\
format: servotwin/1
name: slider
axes:
  x:
    type: prismatic
    origin: {xyz: [0 m, 0 m, 0 m]}
    link: {mass: 2 kg}
"""


@pytest.fixture
def robot_file(tmp_path: Path) -> Path:
    path = tmp_path / "slider.yaml"
    path.write_text(ROBOT, encoding="utf-8")
    return path


@pytest.fixture
def broken_file(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(ROBOT.replace("2 kg", "2 mm"), encoding="utf-8")
    return path


def test_check_accepts_good_files(robot_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(robot_file), "gsis-scara"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("ok") == 2
    assert captured.err == ""


def test_check_gives_one_line_per_bad_file(
    robot_file: Path, broken_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.yaml"
    assert main(["check", str(broken_file), str(robot_file), str(missing)]) == 2
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [f"{robot_file}: ok, slider, 1 joint"]
    first, second = captured.err.splitlines()
    assert first.startswith(f"{broken_file}:7: axes.x.link.mass: '2 mm' is a length")
    assert second.startswith(f"{missing}: no such file")


def test_check_json_tells_the_place(
    robot_file: Path, broken_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(robot_file), str(broken_file), "--json"]) == 2
    good, bad = json.loads(capsys.readouterr().out)
    assert good == {
        "file": str(robot_file),
        "ok": True,
        "robot": "slider",
        "dof": 1,
        "kind": "robot",
        "notes": [],
        "warnings": [],
    }
    assert (bad["ok"], bad["error"]["line"], bad["error"]["field"]) == (False, 7, "axes.x.link.mass")


def test_schema_is_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert "axes" in printed["properties"]
    out = tmp_path / "servotwin.schema.json"
    assert main(["schema", "--out", str(out)]) == 0
    assert json.loads(out.read_text(encoding="utf-8")) == printed
    assert main(["schema", "--out", str(out / "below.json")]) == 2  # a file is no folder
    assert capsys.readouterr().err.count("\n") == 1


def _fits_urdf(name: str) -> bool:
    """URDF has no loops, and a joint may follow one other at most."""
    mechanism = st.load_robot(name).mechanism
    return not mechanism.loops and bool((np.count_nonzero(mechanism.coupling.G, axis=1) <= 1).all())


@pytest.mark.parametrize("name", catalogue_names())
def test_convert_to_urdf_and_back_keeps_the_robot(name: str, tmp_path: Path) -> None:
    urdf, yaml = tmp_path / "robot.urdf", tmp_path / "robot.yaml"
    before = st.load_robot(name)
    if not _fits_urdf(name):
        assert main(["convert", name, str(urdf)]) == 2
        return
    assert main(["convert", name, str(urdf)]) == 0
    assert main(["convert", str(urdf), str(yaml)]) == 0
    after = st.load_robot(yaml).with_gravity(before.mechanism.gravity)
    q = before.random_q(np.random.default_rng(0), 5)
    # URDF numbers carry all their digits; what remains is the order of the operations.
    assert after.fkine(q) == pytest.approx(before.fkine(q), abs=1e-12)
    assert after.rne(q, q, q) == pytest.approx(before.rne(q, q, q), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", catalogue_names())
def test_convert_to_yaml_gives_a_complete_file(name: str, tmp_path: Path) -> None:
    target = tmp_path / "robot.yaml"
    assert main(["convert", name, str(target)]) == 0
    # Variables have done their work once the file is complete.
    written, original = (
        read_description(robot).model_dump(exclude={"variables"}) for robot in (target, name)
    )
    assert written == original
    text = target.read_text(encoding="utf-8")
    assert "extends:" not in text
    assert "include:" not in text


def test_convert_applies_overrides(robot_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "other.yaml"
    assert main(["convert", str(robot_file), str(target), "--set", "axes.x.link.mass=3 kg"]) == 0
    assert read_description(target).axes["x"].link.mass == 3.0


def test_convert_refuses_to_overwrite_unless_told(
    robot_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = robot_file.read_bytes()
    assert main(["convert", "gsis-scara", str(robot_file)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert robot_file.read_bytes() == before
    assert main(["convert", "gsis-scara", str(robot_file), "--overwrite"]) == 0
    assert read_description(robot_file).name == "gsis-scara"


def test_convert_says_what_urdf_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "puma.urdf")
    assert main(["convert", "puma560", target, "--json"]) == 0
    left_out = json.loads(capsys.readouterr().out)["left_out"]
    assert {"motors and gears", "gravity"} <= set(left_out)
    assert main(["convert", "puma560", target, "--force"]) == 0
    assert "motors and gears" in capsys.readouterr().err


def test_convert_to_urdf_names_the_link_that_holds_the_payload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, load = str(tmp_path / "scara.urdf"), ["--set", "variables.load=3 kg"]
    assert main(["convert", "gsis-scara", target, *load]) == 0
    assert "note: payload: 3 kg is part of link W-link\n" in capsys.readouterr().err
    with_load = read_description(target).axes["W"].link.mass
    assert main(["convert", "gsis-scara", target, *load, "--json", "--overwrite"]) == 0
    assert json.loads(capsys.readouterr().out)["payload"] == {"mass_kg": 3.0, "link": "W-link"}
    assert main(["convert", "gsis-scara", target, "--set", "variables.load=0 kg", "--overwrite"]) == 0
    assert "payload" not in capsys.readouterr().err
    assert with_load - read_description(target).axes["W"].link.mass == pytest.approx(3.0)
    assert main(["convert", "gsis-scara", str(tmp_path / "a.yaml"), *load, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["payload"] is None


def test_convert_says_that_friction_quantities_and_controller_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot, target = tmp_path / "robot.yaml", str(tmp_path / "robot.urdf")
    robot.write_text(
        "format: servotwin/1\nname: two\nextends: gsis-scara\naxes: {A: {friction: {coulomb: 2 N*m}}}\n"
        "quantities: {z: {of: {A: 1, B: 1}, limits: [-90 deg, 90 deg]}}\n",
        encoding="utf-8",
    )
    assert main(["convert", str(robot), target]) == 0
    said = capsys.readouterr().err
    assert (
        "note: left out of the URDF file: motors and gears, friction of joints, quantities and their" in said
    )
    assert "supply and controller" in said


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("controller.feedforward.torque", "50 %"),
        ("controller.feedforward.gravity", "1"),
        ("controller.law", "computed-torque"),
    ],
)
def test_check_takes_laws_of_the_model_for_closed_chains_too(field: str, value: str) -> None:
    assert main(["check", "planar-fourbar", "--set", f"{field}={value}"]) == 0
    assert main(["check", "gsis-scara", "--set", f"{field}={value}"]) == 0


def test_convert_of_closed_chain_to_urdf_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "delta.urdf"
    assert main(["convert", "delta", str(target)]) == 2
    assert "loop closures" in capsys.readouterr().err
    assert not target.exists()


def test_missing_folder_of_a_written_file_is_made(tmp_path: Path) -> None:
    from servotwin.cli.files import schema

    target = tmp_path / "new" / "below" / "robot.json"
    schema("robot", str(target), json=True)
    assert target.is_file()


def test_check_reads_a_scenario_without_running_its_law(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.yaml"
    text = "format: servotwin-scenario/1\nname: run\nrobot: gsis-scara\nmove: [{to: {A: 30 deg}}]\n"
    file.write_text(text + "controller: {law: 'law.py:f', period: 1 ms}\n")
    assert main(["check", str(file)]) == 2
    assert "no file 'law.py' beside the scenario" in capsys.readouterr().err
    (tmp_path / "law.py").write_text("raise SystemExit(7)\n")
    assert main(["check", str(file)]) == 0
    assert f"{file}: ok, scenario of gsis-scara, 1 move, " in capsys.readouterr().out
    file.write_text(text.replace("30 deg", "300 deg"))
    assert main(["check", str(file)]) == 2
    assert "beyond its limits" in capsys.readouterr().err


def test_check_names_what_checks_jobs_and_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = tmp_path / "motors.yaml"
    parts.write_text("a-axis: {kind: dc, resistance: 0.4 ohm}\n")
    assert main(["check", str(parts), "pick.job"]) == 2
    said = capsys.readouterr().err
    assert "a file of parts, not a robot; it is checked with the robot that includes it" in said
    assert "'servotwin job check' reads jobs" in said


@pytest.mark.parametrize("base", ["scara-perturbed-low-speed", "middle.yaml"])
def test_check_scenario_with_the_format_of_another_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], base: str
) -> None:
    (tmp_path / "middle.yaml").write_text("name: middle\nextends: scara-perturbed-low-speed\n")
    file = tmp_path / "run.yaml"
    file.write_text(f"name: run\nextends: {base}\n")
    assert main(["check", str(file)]) == 0
    assert f"{file}: ok, scenario of gsis-scara, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("base", "told"), [("run.yaml", "a cycle"), ("none.yaml", "no such file 'none.yaml'"), ("[]", "expected")]
)
def test_check_extends_that_leads_nowhere_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], base: str, told: str
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(f"name: run\nextends: {base}\n")
    assert main(["check", str(file)]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
