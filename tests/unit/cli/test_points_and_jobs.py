"""Points and the jobs that name them: renamed together, deleted with a word, taught for another robot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from servotwin.cli import job, job_run, teach
from servotwin.cli.main import main
from servotwin.errors import InputError
from servotwin.jobs.points_file import read_points
from servotwin.jobs.program import SHIPPED

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def points(tmp_path: Path) -> Path:
    for path in SHIPPED.glob("scara-line*"):
        shutil.copy(path, tmp_path / path.name)
    return tmp_path / "scara-line.points.yaml"


def test_rename_changes_the_job_beside_the_points(points: Path, capsys: Capture) -> None:
    file = points.with_name("scara-line.job")
    before = file.read_text()
    teach.rename(str(points), "left", "port", json=False)
    assert "port" in read_points(points)
    assert file.read_text() == before.replace(" left ", " port ")
    assert f"in {file} too" in capsys.readouterr().out
    assert job.check([str(file)], None, None, json=False) == 0


def test_job_that_cannot_be_read_keeps_the_points_as_they_are(points: Path) -> None:
    points.with_name("scara-line.job").write_text("MOVEJ left SPEED\n")
    with pytest.raises(InputError, match=r"scara-line\.job:1"):
        teach.rename(str(points), "left", "port", json=False)
    assert "left" in read_points(points)


def test_deleting_a_point_that_is_used_is_said(points: Path, capsys: Capture) -> None:
    teach.delete(str(points), "left", json=False)
    said = capsys.readouterr().err
    assert "scara-line.job:4: uses left, which is deleted" in said
    assert "scara-line.job:8: uses left, which is deleted" in said


def test_points_of_another_robot_are_said(points: Path, capsys: Capture) -> None:
    points.write_text(points.read_text().replace("robot: gsis-scara", "robot: puma560"))
    file = str(points.with_name("scara-line.job"))
    assert job.check([file], "gsis-scara", None, json=False) == 0
    assert "the points were taught with 'puma560'; this is 'gsis-scara'" in capsys.readouterr().err
    assert job_run.plan(file, "gsis-scara", None) == 0
    assert "taught with 'puma560'" in capsys.readouterr().err


def test_empty_job_is_said(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.job").write_text("# nothing yet\n")
    assert job_run.plan(str(tmp_path / "a.job"), "gsis-scara", None) == 0
    assert "an empty job: it has no instruction" in capsys.readouterr().err


def test_plan_at_half_the_pace_shows_half_the_speed_and_why_a_job_does_not_end(
    points: Path, capsys: Capture
) -> None:
    file = str(points.with_name("scara-line.job"))
    assert job_run.plan(file, None, None, override=50, json=True) == 0
    lines = [
        s for s in json.loads(capsys.readouterr().out)["instructions"] if s["instruction"] == "MOVEL left"
    ]
    assert lines[0]["top_tool_speed_m_per_s"] == pytest.approx(0.25, rel=1e-6)
    assert lines[0]["deviation_m"] < 1e-8 < 1e-6 < lines[0]["pulse_deviation_m"] < 7e-6
    Path(file).write_text("MOVEJ left\nWAITFOR IN3 ON\n")
    assert job_run.plan(file, None, None) == 1
    assert capsys.readouterr().err.strip() == "the job waits for IN3 ON, which nothing switches"
    with pytest.raises(InputError, match="nofile"):
        job_run.plan(file, None, None, io="nofile.yaml")


# --- the robot of a points file --------------------------------------------------------------------


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a robot file, and another one in which the commands are run."""
    folder = tmp_path / "cell"
    folder.mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (folder / "arm.yaml").write_text("format: servotwin/1\nname: my-arm\nextends: gsis-scara\n")
    return folder


def test_robot_of_a_points_file_is_relative_to_the_file(cell: Path, capsys: Capture) -> None:
    (cell / "go.points.yaml").write_text(
        "format: servotwin-points/1\nrobot: arm.yaml\n"
        "points:\n  P1: {joints: {A: 10 deg, B: 20 deg, Z: 0 mm, W: 0 deg}}\n"
    )
    (cell / "go.job").write_text("MOVEJ P1\n")
    assert main(["job", "check", "../cell/go.job"]) == 0
    assert main(["job", "plan", "../cell/go.job"]) == 0
    assert "cycle time on my-arm" in capsys.readouterr().out
    # the same file by another path is the same robot; another robot is said
    assert main(["job", "check", "../cell/go.job", "--robot", str(cell / "arm.yaml")]) == 0
    assert "taught with" not in capsys.readouterr().err
    assert main(["job", "check", "../cell/go.job", "--robot", "gsis-scara"]) == 0
    assert "the points were taught with 'arm.yaml'; this is 'gsis-scara'" in capsys.readouterr().err


def test_taught_file_names_its_robot_from_its_own_folder(cell: Path, capsys: Capture) -> None:
    words = ["--q", "10 deg, 20 deg, 0 mm, 0 deg"]
    assert (
        main(["teach", "../cell/a.points.yaml", "record", "P1", *words, "--robot", "../cell/arm.yaml"]) == 0
    )
    assert read_points(cell / "a.points.yaml").robot == "arm.yaml"
    jog = ["jog", "../cell/arm.yaml", "--joint", "A", "--by", "5 deg", "--record", "P1"]
    assert main([*jog, "--points", "../cell/b.points.yaml"]) == 0
    assert read_points(cell / "b.points.yaml").robot == "arm.yaml"
    assert main(["teach", "../cell/b.points.yaml", "record", "P2", *words]) == 0, capsys.readouterr().err


def test_missing_points_file_is_said_as_such(cell: Path, capsys: Capture) -> None:
    (cell / "go.job").write_text("MOVEJ P1\n")
    for command in ("check", "plan"):
        assert main(["job", command, "../cell/go.job", "--robot", "gsis-scara"]) == 2
        said = capsys.readouterr().err
        assert "go.points.yaml: no such file; expected a points file with the point 'P1'" in said
        assert "at all" not in said


# --- jobs that cannot be planned -------------------------------------------------------------------


@pytest.mark.parametrize("move", ["MOVEJ", "MOVEL"])
def test_point_with_an_orientation_that_the_arm_has_not_is_said(
    tmp_path: Path, capsys: Capture, move: str
) -> None:
    (tmp_path / "go.points.yaml").write_text(
        "format: servotwin-points/1\nrobot: gsis-scara\npoints:\n"
        "  P1: {x: 400 mm, y: 100 mm, z: 0 mm}\n  P2: {x: 400 mm, y: 200 mm, z: 0 mm, pitch: 20 deg}\n"
    )
    (tmp_path / "go.job").write_text(f"MOVEJ P1\n{move} P2\n")
    assert main(["job", "plan", str(tmp_path / "go.job")]) == 2
    out, err = capsys.readouterr()
    assert out == ""  # no table of what could be planned
    [line] = err.strip().splitlines()
    assert "go.job:2:1: P2: gsis-scara: all axes are parallel, so the tool cannot be tilted" in line
    assert "asked for roll 0, pitch 20, yaw 0 deg; there the tool can have roll 0, pitch 0, yaw" in line


def test_tilted_point_of_an_arm_that_cannot_tilt_is_refused_in_words_of_jobs(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "go.points.yaml").write_text(
        "format: servotwin-points/1\nrobot: palletizer-4\npoints:\n"
        "  P1: {x: 900 mm, y: 100 mm, z: 300 mm, pitch: 20 deg}\n"
    )
    (tmp_path / "go.job").write_text("MOVEJ P1\n")
    assert main(["job", "plan", str(tmp_path / "go.job")]) == 2
    err = capsys.readouterr()[1]
    assert "there the tool can have" in err
    assert "mask" not in err


def test_point_out_of_reach_is_said_instead_of_the_singularity_on_the_way(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "go.points.yaml").write_text(
        "format: servotwin-points/1\nrobot: gsis-scara\npoints:\n"
        "  P1: {joints: {A: 0 deg, B: 20 deg, Z: 0 mm, W: 0 deg}}\n  P2: {x: 900 mm, y: 200 mm, z: 0 mm}\n"
    )
    (tmp_path / "go.job").write_text("MOVEJ P1\nMOVEL P2\n")
    assert main(["job", "plan", str(tmp_path / "go.job")]) == 2
    assert "P2: gsis-scara: the target is 0.922 m from the first axis" in capsys.readouterr().err
    assert main(["job", "plan", str(tmp_path / "go.job"), "--time-optimal"]) == 2
    assert capsys.readouterr().out == ""


def test_searched_pose_says_that_only_the_orientation_is_out_of_reach(capsys: Capture) -> None:
    """The tool of a five-bar turns as its forearm does; its position alone can be had."""
    place = ["ikine", "five-bar", "--xyz", "0 mm, 0 mm, 500 mm"]
    assert main(place) == 0
    capsys.readouterr()
    assert main([*place, "--rpy", "0 deg, 0 deg, 0 deg"]) == 2
    assert "the point can be reached, but not with this orientation" in capsys.readouterr().err


Q = "30 deg, 60 deg, 50 mm, 20 deg"


@pytest.fixture
def jobs_cell(tmp_path: Path) -> Path:
    (tmp_path / "arm.yaml").write_text("format: servotwin/1\nextends: gsis-scara\nname: arm\n")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "pick.job").write_text("MOVEJ P1 SPEED 50 %\n")
    return tmp_path


def test_robot_outside_of_the_folder_of_new_points_is_said(
    jobs_cell: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(jobs_cell / "jobs")
    record = ["teach", "pick.points.yaml", "record"]
    assert main([*record, "P1", "--q", Q, "--robot", "../arm.yaml"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "note: pick.points.yaml: robot: '../arm.yaml' lies outside of the folder of this file; reading it needs"
        " --allow-outside or --robot"
    )
    assert main([*record, "P2", "--q", Q]) == 2
    assert capsys.readouterr().err.rstrip().endswith("(allow_outside=True), or the robot named with --robot")
    assert main([*record, "P2", "--q", Q, "--allow-outside"]) == 0
    assert main([*record, "P3", "--q", Q, "--robot", "../arm.yaml"]) == 0
    assert main(["job", "check", "pick.job", "--allow-outside"]) == 0
    assert main(["job", "check", "pick.job", "--robot", "../arm.yaml"]) == 0
    assert capsys.readouterr().err == ""


def test_robot_beside_new_points_needs_no_word(
    jobs_cell: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(jobs_cell)
    assert main(["teach", "pick.points.yaml", "record", "P1", "--q", Q, "--robot", "arm.yaml"]) == 0
    assert capsys.readouterr().err == ""


def test_jog_says_that_the_robot_of_new_points_lies_outside(
    jobs_cell: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(jobs_cell / "jobs")
    step = ["--joint", "A", "--by", "5 deg", "--points", "new.points.yaml", "--record", "P1"]
    assert main(["jog", "../arm.yaml", *step]) == 0
    assert "new.points.yaml: robot: '../arm.yaml' lies outside" in capsys.readouterr().err


def test_rename_to_a_name_with_an_umlaut_says_which_letters_are_accepted(points: Path) -> None:
    with pytest.raises(InputError, match="'Übergabe' is not a name; expected letters a to z, digits"):
        teach.rename(str(points), "left", "Übergabe", json=False)


def test_check_refuses_what_plan_refuses(points: Path, tmp_path: Path, capsys: Capture) -> None:
    file = points.with_name("scara-line.job")
    assert job.check([str(file)], None, None, json=False) == 0
    change = ["axes.A.limits.position=[-1 deg, 1 deg]"]
    capsys.readouterr()
    assert job.check([str(file)], None, change, json=False) == 2
    assert "beyond its limits; allowed are -1 deg to 1 deg" in capsys.readouterr().err
    (tmp_path / "empty.job").write_text("# nothing yet\n")
    assert job.check([str(tmp_path / "empty.job")], None, None, json=False) == 2
    assert "no such file; expected points beside the job, or --robot" in capsys.readouterr().err
