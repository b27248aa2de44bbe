"""Plans of jobs: circles that ship are met at every sample, blends and moves to nowhere are told, times are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from servotwin.cli.job_run import plan as plan_job
from servotwin.jobs.check import check
from servotwin.jobs.language import parse
from servotwin.jobs.points import Points
from servotwin.jobs.program import load_program
from servotwin.motion import requests as m
from servotwin.simulation.job_run import rehearse


def circle_error(points, a, b, c) -> np.ndarray:
    """Distances (k,) of points from the circle through three others: across its plane and its radius."""
    u, v = b - a, c - a
    normal = np.cross(u, v)
    normal /= np.linalg.norm(normal)
    rows = np.array([2 * u, 2 * v, normal])
    centre = a + np.linalg.solve(rows, [u @ u, v @ v, 0.0])
    from_centre = points - centre
    height = from_centre @ normal
    radius = np.linalg.norm(from_centre - height[:, None] * normal, axis=1)
    return np.hypot(height, radius - np.linalg.norm(a - centre))


@pytest.mark.parametrize("job", ["scara-circle", "puma-circle"])
def test_circles_of_shipped_jobs_are_met_to_a_micrometre_at_every_command(job) -> None:
    _, _, player = rehearse(load_program(job))
    robot, seen = player.robot, 0
    for planned in player.plans:
        way = planned.trajectory
        t = np.arange(0.0, way.duration + player.period, player.period)
        owner = np.asarray(way.owners)[np.searchsorted(way.starts, t, side="right") - 1]
        kinds = np.array([s.kind for s in way.segments])[np.searchsorted(way.starts, t, side="right") - 1]
        before = robot.fkine(way.sample([0.0])[0][0])[:3, 3]
        for index, request in enumerate(planned.requests):
            if isinstance(request, m.MoveC):
                here = (owner == index) & (kinds == "circle") & (t <= way.duration)
                points = robot.fkine(way.sample(t[here])[0])[:, :3, 3]
                error = circle_error(points, before, request.via[:3, 3], request.target[:3, 3])
                assert error.max() < 1e-6
                seen += points.shape[0]
                before = request.target[:3, 3]
    assert seen > 150


def written(tmp_path, text):
    """A job next to the points of one that ships."""
    source = load_program("scara-circle")
    job = tmp_path / "own.job"
    job.write_text(text, encoding="utf-8")
    points = Path(source.points.file).read_text(encoding="utf-8")
    (tmp_path / "own.points.yaml").write_text(points, encoding="utf-8")
    return str(job)


def test_plan_tells_blends_and_moves_that_go_nowhere(tmp_path, capsys) -> None:
    text = "MOVEJ ready\nMOVEL east BLEND 5 mm\nMOVEL east BLEND 5 mm\nMOVEL north BLEND 3 mm\nWAIT 0.1 s\n"
    assert plan_job(written(tmp_path, text), None, None, json=True) == 0
    rows = json.loads(capsys.readouterr().out)["instructions"]
    moves = [row for row in rows if row["instruction"].startswith("MOVE")]
    assert [row["line"] for row in moves] == [1, 2, 3, 4]
    assert moves[2]["duration_s"] == 0.0
    assert moves[1]["blend_m"] == pytest.approx(0.005)
    assert moves[3]["blend_m"] == 0.0
    assert moves[3]["note"] == "a blend of 3 mm was left out: no move follows at once"


@pytest.mark.parametrize("manner", ["SPEED 0.0000001%", "SPEED 1e-300 m/s", "TIME 7200 s"])
def test_moves_that_nobody_waits_for_are_one_line_and_exit_code_two(tmp_path, capsys, manner) -> None:
    job = written(tmp_path, f"MOVEJ ready\nMOVEL east {manner}\n")
    assert plan_job(job, None, None) == 2
    lines = [text for text in capsys.readouterr().err.splitlines() if text]
    assert len(lines) == 1
    assert "own.job:2:" in lines[0]
    assert "expected at most 3600 s" in lines[0]


def test_time_and_blend_are_refused_by_check_and_plan(tmp_path, capsys) -> None:
    problems = check(parse("MOVEL a TIME 2 s BLEND 5 mm\nMOVEL a TIME 2 s BLEND 0 mm\n"), Points())
    told = [p.message for p in problems if "TIME" in p.message]
    assert told == ["TIME and BLEND in one move; expected SPEED instead of TIME, or no BLEND"]
    job = written(tmp_path, "MOVEJ ready\nMOVEL east BLEND 5 mm\nMOVEL north TIME 2 s\n")
    assert plan_job(job, None, None) == 2
    assert "own.job:3:" in (text := capsys.readouterr().err)
    assert "a duration of 2 s and a blend" in text


def test_acceleration_in_percent_makes_a_line_take_longer(tmp_path, capsys) -> None:
    times = []
    for share in ("100%", "50%", "10%"):
        job = written(tmp_path, f"MOVEJ east\nMOVEL west SPEED 0.2 m/s ACC {share}\n")
        assert plan_job(job, None, None, json=True) == 0
        times.append(json.loads(capsys.readouterr().out)["instructions"][1]["duration_s"])
    ramps = np.array(times) - 0.2 / 0.2  # L / V + ramp
    np.testing.assert_allclose(ramps[1:] / ramps[0], [2.0, 10.0], rtol=1e-6)
