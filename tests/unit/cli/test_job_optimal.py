"""``job plan --time-optimal``: both durations, what limits, exit codes."""

from __future__ import annotations

import json

import pytest

from servotwin.cli import job_optimal
from servotwin.errors import InputError

Capture = pytest.CaptureFixture[str]


def test_json_has_both_durations_and_what_limits(capsys: Capture) -> None:
    assert job_optimal.plan("scara-line", None, None, json=True) == 0
    data = json.loads(capsys.readouterr().out)
    saved = sum(path["planned_s"] - path["time_optimal_s"] for path in data["paths"])
    assert data["time_optimal_duration_s"] == pytest.approx(data["duration_s"] - saved)
    assert 0.0 < data["time_optimal_duration_s"] < data["duration_s"]
    for path in data["paths"]:
        assert 0.0 < path["time_optimal_s"] < path["planned_s"]
        assert sum(item["share_of_time"] for item in path["limited_by"]) == pytest.approx(1.0)
        assert {item["axis"] for item in path["limited_by"]} <= {"A", "B", "Z", "W"}


def test_weaker_motor_makes_it_slower_and_is_named(capsys: Capture) -> None:
    times = []
    for change in (None, ["axes.A.motor.current_limit=4 A"]):
        assert job_optimal.plan("scara-line", None, change, fit=True, json=True) == 0
        times.append(json.loads(capsys.readouterr().out))
    assert times[1]["time_optimal_duration_s"] > times[0]["time_optimal_duration_s"]
    limited = times[1]["paths"][1]["limited_by"][0]
    assert (limited["what"], limited["axis"]) == ("motor torque", "A")


def test_table_for_people_ends_with_both_cycle_times(capsys: Capture) -> None:
    assert job_optimal.plan("scara-line", None, None) == 0
    out = capsys.readouterr().out
    assert "planned   time-optimal" in out
    assert "with time-optimal paths" in out


def test_override_beside_it_is_refused() -> None:
    with pytest.raises(InputError, match="--override: 50 %"):
        job_optimal.plan("scara-line", None, None, override=50)


LOOSE = ["axes.q3.limits.speed=5 m/s", "axes.q3.limits.acceleration=1000 m/s^2"]


def test_servovalve_is_named_and_no_path_is_slower_than_planned(capsys: Capture) -> None:
    assert job_optimal.plan("daiv-pick-and-place", None, LOOSE, fit=True, json=True) == 0
    paths = json.loads(capsys.readouterr().out)["paths"]
    assert all(path["time_optimal_s"] < path["planned_s"] for path in paths)
    lifts = [path for path in paths if path["limited_by"][0]["axis"] == "q3"]
    assert {path["limited_by"][0]["what"] for path in lifts} == {"valve flow"}
    assert len(lifts) >= 4


def test_python_plans_as_the_command_line_does(capsys: Capture) -> None:
    import servotwin as st

    assert job_optimal.plan("daiv-pick-and-place", None, None, json=True) == 0
    data = json.loads(capsys.readouterr().out)
    plan = st.plan_job("daiv-pick-and-place")
    assert plan.time_optimal_duration == data["time_optimal_duration_s"] < plan.duration == data["duration_s"]
    assert [path.optimal_s for path in plan.paths] == [path["time_optimal_s"] for path in data["paths"]]
