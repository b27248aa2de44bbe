"""Points and the jobs that name them: renamed together, deleted with a word, taught for another robot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from servotwin.cli import job, job_run, teach
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
