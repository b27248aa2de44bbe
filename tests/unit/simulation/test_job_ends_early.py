"""Jobs whose simulation fails: what there is of them is readable, even if nothing was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servotwin.cli import job_run as command
from servotwin.report.job_files import write_job_result
from servotwin.report.job_story import story_of
from servotwin.simulation.job_run import JobFailedError, JobSettings, run_job
from servotwin.simulation.scenario.parts import Record
from tests import small_drives as small

JOB = "MOVEJ P1 SPEED 50%\n"
POINTS = "format: servotwin-points/1\nrobot: small\npoints:\n  P1: {joints: {A: 1 rad}}\n"
# A controller that believes in a heavy rotor, and a truth without inertia: beyond all speeds after a millisecond.
LIGHT = {"axes.A.motor.rotor_inertia": "1e-12 kg*m^2", "axes.A.link.mass": "1e-9 kg"}


@pytest.fixture
def job(tmp_path: Path) -> Path:
    axis = small.axis(motor={"kind": "ideal", "rotor_inertia": "100 kg*m^2"})
    axis["limits"] = {"speed": "4 rad/s", "acceleration": "20 rad/s^2"}
    small.write_case(tmp_path, small.robot(axes={"A": axis}))
    (tmp_path / "go.points.yaml").write_text(POINTS)
    (tmp_path / "go.job").write_text(JOB)
    return tmp_path / "go.job"


@pytest.mark.parametrize(("every", "rows"), [(0.5, 0), (1e-3, 1)])
def test_job_that_fails_at_once_leaves_result_and_page(job: Path, every: float, rows: int) -> None:
    settings = JobSettings(plant=LIGHT, record=Record(every=every))
    with pytest.raises(JobFailedError, match="go: diverged at") as caught:
        run_job(job, robot=job.with_name("robot.yaml"), settings=settings)
    ran, failure = caught.value.run, str(caught.value)
    assert len(ran.result.signals["time_s"]) == rows
    assert not ran.result.complete
    assert ran.result.summary["failure"] == failure
    assert ran.log.reason == failure
    files = write_job_result(story_of(ran, sources={"": JOB}), job.parent / "out")
    assert json.loads(files.summary.read_text())["failure"] == failure
    assert files.page is not None
    page = files.page.read_text()
    assert "The job did not come to its end, but to 0.0012 s: go: diverged at 0.0012 s" in page
    assert f"{'Only one' if rows else 'No'} instant was recorded" in page
    assert "How it was computed" in page


def test_command_writes_what_there_is_of_a_job_that_fails_at_once(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plant = job.parent / "out", [f"{field}={value}" for field, value in LIGHT.items()]
    robot = str(job.with_name("robot.yaml"))
    assert command.run(str(job), robot, str(out), None, plant, json=True) == command.FAILED
    printed = capsys.readouterr()
    assert json.loads(printed.out)["failure"].startswith("go: diverged at")
    assert f"(what there is of the run: {out})" in printed.err
    assert command.run(str(job), robot, str(out), None, plant) == command.FAILED
    assert "cycle time: 0.000 s" in capsys.readouterr().out
    assert "did not come to its end" in (out / "report.html").read_text()


def test_job_that_comes_to_its_end_has_no_failure(job: Path) -> None:
    ran = run_job(job, robot=job.with_name("robot.yaml"))
    assert ran.log.finished
    assert ran.result.summary["failure"] is None
