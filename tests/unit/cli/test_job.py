"""``job check|format|plan|run``: problems with their place, safe rewriting, plans as JSON, files and exit codes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.cli import job as command
from servotwin.cli import job_run
from servotwin.cli.main import main
from servotwin.errors import InputError
from servotwin.jobs.program import SHIPPED, job_names
from servotwin.report.job_story import story_of
from servotwin.simulation import job_run as engine
from servotwin.simulation.results.job_log import Change, JobLog, LogEntry
from servotwin.simulation.results.result import RunEvent
from servotwin.simulation.results.result_files import read_result
from synthetic_result import synthetic_result

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in SHIPPED.glob("scara-line*"):
        shutil.copy(path, tmp_path / path.name)
    return tmp_path


# --- check and format ------------------------------------------------------------------------------


def test_all_shipped_jobs_are_listed_and_right(capsys: Capture) -> None:
    assert command.list_jobs(json=True) == 0
    assert [item["name"] for item in json.loads(capsys.readouterr().out)] == job_names()
    assert command.check(job_names(), None, None, json=True) == 0
    results = json.loads(capsys.readouterr().out)
    assert all(result["ok"] and result["robot"] for result in results)


def test_problem_is_one_line_with_line_and_column(folder: Path, capsys: Capture) -> None:
    bad = folder / "bad.job"
    bad.write_text("MOVEJ nowhere\nMOVEX P1\n")
    assert command.check([str(bad)], "gsis-scara", None, json=False) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.count("\n") == 1
    assert f"{bad}:2:1:" in seen.err
    bad.write_text("MOVEJ nowhere\n")
    assert command.check([str(bad), str(folder / "scara-line.job")], "gsis-scara", None, json=True) == 2
    first, second = json.loads(capsys.readouterr().out)
    assert (first["problems"][0]["line"], first["problems"][0]["column"]) == (1, 7)
    assert second["ok"]


def test_points_of_another_robot_are_seen(folder: Path, capsys: Capture) -> None:
    assert command.check([str(folder / "scara-line.job")], "puma560", None, json=False) == 2
    assert "scara-line.job" in capsys.readouterr().err


def test_format_rewrites_once_and_check_only_looks(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "untidy.job"
    untidy = "movej   P1 speed 50%   # first\n\n\n\nwait .2s"
    file.write_text(untidy)
    assert command.format_jobs([str(file)], only_check=True, json=False) == 1
    assert file.read_text() == untidy
    assert "would change" in capsys.readouterr().out
    assert command.format_jobs([str(file)], only_check=False, json=True) == 0
    assert json.loads(capsys.readouterr().out) == [{"file": str(file), "changed": True}]
    assert file.read_text() == "MOVEJ P1 SPEED 50%  # first\n\nWAIT 0.2 s\n"
    assert command.format_jobs([str(file)], only_check=True, json=False) == 0
    assert list(tmp_path.iterdir()) == [file]


def test_format_of_a_broken_job_leaves_it_alone(tmp_path: Path) -> None:
    file = tmp_path / "broken.job"
    file.write_text("MOVEJ")
    with pytest.raises(InputError, match=r"broken\.job:1"):
        command.format_jobs([str(file)], only_check=False, json=False)
    assert file.read_text() == "MOVEJ"
    with pytest.raises(InputError, match="not a job file"):
        command.format_jobs(["robot.yaml"], only_check=False, json=False)


# --- plan ------------------------------------------------------------------------------------------


def test_plan_gives_duration_limits_and_chord_error_of_every_instruction(capsys: Capture) -> None:
    assert job_run.plan("scara-line", None, None, json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["finished"]
    assert data["robot"] == "gsis-scara"
    last = data["instructions"][-1]
    assert data["duration_s"] == pytest.approx(last["start_s"] + last["duration_s"])
    lines = [item for item in data["instructions"] if item["instruction"].startswith("MOVEL")]
    assert lines
    for item in lines:
        assert item["deviation_m"] < 1e-6
        assert 0.0 < item["chord_error_m"] < 1e-3
        assert {limit["what"] for limit in item["limits_reached"]} == {"speed", "acceleration"}
        assert all(0.0 <= limit["share"] <= 1.0 + 1e-6 for limit in item["limits_reached"])


def test_plan_of_the_line_of_kim_takes_the_analytic_time(capsys: Capture) -> None:
    assert job_run.plan("palletizer-line", None, None, json=True) == 0
    data = json.loads(capsys.readouterr().out)
    line = next(item for item in data["instructions"] if item["instruction"].startswith("MOVEL"))
    # 1 m at 0.5 m/s with 1 m/s2: 1/0.5 + 0.5/1 s (Kim 2018, section 5.2).
    assert line["duration_s"] == pytest.approx(2.5, abs=1e-9)
    assert line["length_m"] == pytest.approx(1.0, abs=1e-6)


def test_plan_prints_a_table_for_people(capsys: Capture) -> None:
    assert job_run.plan("scara-line", None, None, override=50) == 0
    shown = capsys.readouterr().out
    assert "MOVEL" in shown
    assert "cycle time on gsis-scara" in shown


def test_path_that_cannot_be_followed_is_refused_with_its_line(folder: Path, capsys: Capture) -> None:
    job = folder / "far.job"
    job.write_text("MOVEJ left\nMOVEL left OFFSET 2000 mm, 0 mm, 0 mm\n")
    shutil.copy(folder / "scara-line.points.yaml", folder / "far.points.yaml")
    names = (folder / "far.points.yaml").read_text()
    point = next(
        line.split(":")[0].strip() for line in names.split("points:")[1].splitlines()[1:] if line.strip()
    )
    job.write_text(job.read_text().replace("left", point))
    assert job_run.plan(str(job), None, None) == 2
    assert "far.job:2:1" in capsys.readouterr().err


def test_job_without_end_is_stopped(folder: Path, capsys: Capture) -> None:
    job = folder / "ever.job"
    job.write_text("REPEAT FOREVER\n  WAIT 0.5 s\nEND\n")
    assert job_run.plan(str(job), "gsis-scara", None, time_limit="3 s") == 1
    assert "did not end within 3 s" in capsys.readouterr().err
    with pytest.raises(InputError, match="--time-limit"):
        job_run.plan(str(job), "gsis-scara", None, time_limit="3 mm")
    for q in ("0 deg", None):
        with pytest.raises(InputError, match=r"ever\.points\.yaml: no such file; expected points .* --robot"):
            job_run.plan(str(job), None, None, q=q)
    (folder / "ever.points.yaml").write_text("format: servotwin-points/1\n")
    with pytest.raises(InputError, match="which robot"):
        job_run.plan(str(job), None, None, q="0 deg")


# --- run -------------------------------------------------------------------------------------------


def made_up_log(**changes: Any) -> JobLog:
    limits = (("A", 1.0, 0.8), ("B", 0.3, 0.9), ("Z", 0.0, 0.0), ("W", 0.0, 0.0))
    entries = (
        LogEntry(1, 2, "MOVEJ ready", 0.0, 0.5, 3.0, 1e-4, limits),
        LogEntry(2, 3, "WAIT 0.1 s", 0.5, 0.6),
        LogEntry(3, 4, "MOVEL left", 0.6, 1.4, 5.0, 1e-4, limits),
    )
    happened = (
        Change(0.5, "output", "OUT1 ON"),
        Change(0.7, "input", "IN1 ON"),
        Change(1.4, "state", "ready"),
    )
    log = JobLog("made-up", entries, happened, (), True, 1.4, 8.0, "ready")
    return replace(log, **changes)


def made_up_run(**changes: Any) -> engine.JobRun:
    rehearsed = engine.rehearse("scara-line")
    made = engine.JobRun(synthetic_result(201), made_up_log(), rehearsed.commands, rehearsed.player)
    return made._replace(**changes)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[dict[str, Any]]]:
    """Replace the simulation by one that gives ``outcome`` back or raises it; what it was asked."""

    def install(outcome: Any) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def run_job(program: Any, *arguments: Any, **options: Any) -> Any:
            asked.append(options)
            options["progress"](0.5)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(engine, "run_job", run_job)
        return asked

    return install


def test_run_writes_the_report_and_names_it_last(
    simulated: Callable[[Any], list[dict[str, Any]]], tmp_path: Path, capsys: Capture
) -> None:
    asked = simulated(made_up_run())
    code = job_run.run(
        "scara-line", None, str(tmp_path / "out"), None, ["axes.A.link.mass=18 kg"], override=50
    )
    assert code == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1] == f"report: {tmp_path / 'out' / 'report.html'}"
    assert any("MOVEJ ready" in line and "0.500" in line for line in shown)
    names = {path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")}
    assert names == {"report.html", "summary.json", "instructions.json", "signals.parquet", "zoom.parquet"}
    steps = json.loads((tmp_path / "out" / "instructions.json").read_text())
    assert [step["instruction"] for step in steps] == ["MOVEJ ready", "WAIT 0.1 s", "MOVEL left"]
    assert (asked[0]["settings"].override, dict(asked[0]["settings"].plant)) == (
        50,
        {"axes.A.link.mass": "18 kg"},
    )


def test_run_as_json_is_json_alone(
    simulated: Callable[[Any], list[dict[str, Any]]], tmp_path: Path, capsys: Capture
) -> None:
    simulated(made_up_run())
    assert job_run.run("scara-line", None, str(tmp_path), None, None, report=False, json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["report"] is None
    assert data["instructions_done"][0]["limits_reached"][0] == {"what": "speed", "axis": "A", "share": 1.0}


def test_alarm_interruption_and_divergence_have_their_exit_codes(
    simulated: Callable[[Any], list[dict[str, Any]]], tmp_path: Path, capsys: Capture
) -> None:
    stopped = made_up_log(finished=False, alarms=("following error: axis A",), state="fault")
    simulated(made_up_run(log=stopped))
    assert job_run.run("scara-line", None, str(tmp_path), None, None, report=False) == 1
    assert "following error: axis A" in capsys.readouterr().err
    simulated(made_up_run(result=synthetic_result(201, complete=False), log=made_up_log(finished=False)))
    assert job_run.run("scara-line", None, str(tmp_path), None, None, report=False) == 130
    assert "interrupted" in capsys.readouterr().err
    failed = made_up_run(log=made_up_log(finished=False, reason="the simulation failed after 0.3 s"))
    simulated(engine.JobFailedError("diverged at 0.3 s", failed))
    assert job_run.run("scara-line", None, str(tmp_path / "failed"), None, None) == 1
    assert "diverged at 0.3 s (what there is of the run:" in capsys.readouterr().err
    assert "the simulation failed after 0.3 s" in (tmp_path / "failed" / "report.html").read_text()
    with pytest.raises(InputError, match="--plant"):
        job_run.run("scara-line", None, str(tmp_path), None, ["mass"])


def test_run_of_a_job_that_cannot_be_planned_prints_one_line_and_writes_nothing(
    simulated: Callable[[Any], list[dict[str, Any]]], tmp_path: Path, capsys: Capture
) -> None:
    text = "program error: a.job:1:1: the tool would go at 3 m/s; expected at most 1 m/s"
    refused = made_up_run(log=made_up_log(finished=False, alarms=(text,), entries=(), reason=text))
    still = replace(refused.commands, qd=np.zeros_like(refused.commands.qd))
    simulated(refused._replace(commands=still))
    assert job_run.run("scara-line", None, str(tmp_path / "out" / "a"), None, None) == 2
    assert tuple(capsys.readouterr()) == ("", text + "\n")
    assert list(tmp_path.iterdir()) == []
    simulated(refused._replace(log=replace(refused.log, entries=made_up_log().entries)))  # the arm had moved
    assert job_run.run("scara-line", None, str(tmp_path / "out"), None, None, report=False) == 1
    assert text in capsys.readouterr().err
    assert (tmp_path / "out" / "instructions.json").exists()


def test_run_of_a_job_that_is_refused_leaves_no_empty_folder(
    simulated: Callable[[Any], list[dict[str, Any]]], tmp_path: Path
) -> None:
    simulated(InputError("no such file", file="inputs.yaml"))
    with pytest.raises(InputError, match="no such file"):
        job_run.run("scara-line", None, str(tmp_path / "out" / "a"), None, None)
    assert list(tmp_path.iterdir()) == []


# --- from the log to the story ---------------------------------------------------------------------


def test_story_tells_states_signals_and_alarms_with_their_times() -> None:
    result = replace(synthetic_result(201), events=(RunEvent(0.9, "A", "alarm: following error: axis A"),))
    story = story_of(made_up_run(result=result))
    assert story.outputs == {"OUT1": ((0.5, True),)}
    assert story.inputs == {"IN1": ((0.7, True),)}
    assert story.states == ((0.0, "running"), (1.4, "ready"))
    assert story.alarms == ((0.9, "following error: axis A"),)
    assert story.cycle_s == pytest.approx(1.4)


def test_run_with_a_gripper_that_is_no_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--gripper: no output 'OUT99'; expected one of OUT1, OUT2"):
        job_run.run("scara-line", None, str(tmp_path), None, None, gripper="OUT99")


# --- options of the simulation ----------------------------------------------------------------------


def test_method_pwm_seed_and_record_of_a_job_are_those_of_the_command_line(
    tmp_path: Path, capsys: Capture
) -> None:
    options = ["--method", "rk4", "--pwm", "averaged", "--seed", "7", "--record", "5 ms"]
    code = main(["job", "run", "scara-line", "--no-report", "--out", str(tmp_path), *options])
    capsys.readouterr()
    assert code == 0
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert (summary["method"], summary["pwm"], summary["seed"]) == ("rk4", "averaged", 7)
    t = read_result(tmp_path).signals["time_s"]
    assert np.diff(t)[:-1] == pytest.approx(5e-3)


@pytest.mark.parametrize("command", [["simulate", "scara-a-axis-100deg"], ["job", "run", "scara-line"]])
@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--method", "euler"], "--method: 'euler' is not accepted; expected one of fast, rk4"),
        (["--pwm", "none"], "--pwm: 'none' is not accepted; expected one of switched, averaged"),
        (["--seed", "-1"], "-1 is out of range; expected a whole number from 0 to 4294967295"),
        (["--record", "2"], "'2' has no unit; expected a time, such as"),
        (["--record", "0 s"], "is too small; expected more than 0"),
        (["--record", "1.1 ms"], "1.1 ms is not a multiple of the current period, 0.2 ms"),
    ],
)
def test_an_option_of_the_simulation_that_cannot_be_is_one_line(
    tmp_path: Path, capsys: Capture, command: list[str], options: list[str], line: str
) -> None:
    assert main([*command, "--no-report", "--out", str(tmp_path / "out"), *options]) == 2
    said = capsys.readouterr().err.strip()
    assert line in said
    assert "\n" not in said


def test_a_job_from_python_takes_the_settings_of_the_simulation() -> None:
    run = st.run_job("scara-line", method="rk4", pwm="averaged", seed="7", record=0.25)
    assert (run.result.summary["method"], run.result.summary["seed"]) == ("rk4", 7)
    assert np.diff(run.result.signals["time_s"])[:-1] == pytest.approx(0.25)
    with pytest.raises(st.InputError, match="record: '3 V' is a voltage; expected a time"):
        st.run_job("scara-line", record="3 V")
