"""Programs of several files, and the jobs that ship with the package."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import InputError, UnreachableError
from servotwin.jobs import requests as r
from servotwin.jobs.check import sliding_of
from servotwin.jobs.interpreter import Interpreter
from servotwin.jobs.language import format_job, parse
from servotwin.jobs.planning import joint_target, planner_request
from servotwin.jobs.points_file import points_path, points_text
from servotwin.jobs.program import SHIPPED, job_names, load_program
from servotwin.motion import requests as m
from servotwin.robot.robot import Robot


@cache
def robot_of(name: str) -> Robot:
    return st.load_robot(name)


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.job").write_text(text, encoding="utf-8")
    return folder / "main.job"


def test_called_files_are_loaded_with_their_points(tmp_path: Path) -> None:
    main = write(tmp_path, main='CALL "sub.job"\nCALL "sub.job"', sub="MOVEJ P1")
    (tmp_path / "sub.points.yaml").write_text(
        "format: servotwin-points/1\npoints:\n  P1: {x: 1 mm}\n", "utf-8"
    )
    program = load_program(main)
    assert list(program.called) == ["sub.job"]
    assert "P1" in program.called["sub.job"].points
    assert program.check() == []


def test_problems_of_called_files_are_found(tmp_path: Path) -> None:
    main = write(tmp_path, main='CALL "sub.job"', sub="MOVEJ P1")
    (problem,) = load_program(main).check()
    assert problem.file.endswith("sub.job")
    assert str(problem.exception()).endswith(
        f"{tmp_path / 'sub.points.yaml'}: no such file; expected a points file with the point 'P1'"
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"main": 'CALL "main.job"'}, "main.job:1:6: 'main.job' calls this file again"),
        ({"main": 'CALL "b.job"', "b": '\nCALL "main.job"'}, "b.job:2:6: 'main.job' calls this file again"),
        ({"main": 'CALL "c.job"'}, "main.job:1:6: no such file 'c.job'"),
        ({"main": 'CALL "b.job"', "b": "WIAT"}, "b.job:1:1: 'WIAT' is not an instruction"),
    ],
)
def test_files_that_cannot_be_called(files: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_program(write(tmp_path, **files))
    assert said in str(caught.value)


def test_unknown_job_lists_those_that_ship() -> None:
    with pytest.raises(InputError, match=r"no job 'scara-lines'.*did you mean 'scara-line'"):
        load_program("scara-lines")


def test_every_kind_of_job_ships_for_both_robots() -> None:
    kinds = ("pick-and-place", "line", "circle", "palletising")
    assert {f"{robot}-{kind}" for robot in ("scara", "puma") for kind in kinds} <= set(job_names())


@pytest.mark.parametrize("name", job_names())
def test_shipped_job_is_sound_and_in_the_one_layout(name: str) -> None:
    path = SHIPPED / f"{name}.job"
    program = load_program(name)
    robot = robot_of(program.robot)
    assert program.check(robot.joint_names, sliding=sliding_of(robot.joint_units)) == []
    assert format_job(program.job) == path.read_text(encoding="utf-8")
    assert points_text(program.points) == points_path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", job_names())
def test_targets_of_shipped_job_are_reached_without_a_change_of_branch(name: str) -> None:
    program = load_program(name)
    robot = robot_of(program.robot)
    interpreter = Interpreter(program, robot)
    q = robot.q_home
    request: r.Request = interpreter.advance()
    while not isinstance(request, r.End):
        assert not isinstance(request, r.ProgramAlarm), request
        if isinstance(request, r.Motion):
            for target in request.targets:
                q_next = joint_target(target, robot, q)
                np.testing.assert_allclose(robot.fkine(q_next), target.X, atol=1e-9)
                assert ((robot.limits.q_min <= q_next) & (q_next <= robot.limits.q_max)).all()
                if request.kind != "MOVEJ":  # a tool move between two branches would turn an axis by far more
                    assert np.abs(q_next - q).max() < np.radians(80)
                q = q_next
        request = interpreter.advance(timed_out=isinstance(request, r.WaitInput))


def test_motions_become_requests_of_the_planner() -> None:
    program = load_program("scara-pick-and-place")
    robot = robot_of("gsis-scara")
    interpreter = Interpreter(program, robot)
    found = [x for x in (interpreter.advance() for _ in range(5)) if isinstance(x, r.Motion)]
    ready, above, down = (planner_request(motion, robot, robot.q_home) for motion in found)
    assert isinstance(ready, m.MoveJ)
    assert ready.speed == m.Speed("fraction", 0.8)
    np.testing.assert_allclose(
        ready.target, np.array([np.radians(-30), np.radians(80), 0.02, np.radians(-50)])
    )
    assert isinstance(above, m.MoveJ)
    assert isinstance(down, m.MoveL)
    assert (down.speed, down.acceleration, down.profile) == (m.Speed("m/s", 0.2), 2.0, None)
    # the pose of the tip: the table and the point on it
    np.testing.assert_allclose(down.target[:3, 3], [0.36, 0.26, -0.205], atol=1e-12)


def test_unreachable_target_is_named() -> None:
    X = np.eye(4)
    X[0, 3] = 5.0
    with pytest.raises(UnreachableError, match="far: "):
        joint_target(r.Target("far", X), robot_of("gsis-scara"), np.zeros(4))


@pytest.mark.parametrize(
    ("line", "kind", "acceleration", "share"),
    [
        ("MOVEJ east ACC 50%", m.MoveJ, 0.5, None),
        ("MOVEL east ACC 50%", m.MoveL, None, 0.5),
        ("MOVEC VIA north TO west ACC 3 m/s2", m.MoveC, 3.0, 1.0),
        ("MOVEC VIA north TO west ACC 30%", m.MoveC, None, 0.3),
        ("SPLINE north west", m.Spline, None, 1.0),
        ("SPLINE north west ACC 20%", m.Spline, None, 0.2),
    ],
)
def test_every_kind_of_move_has_its_request(
    line: str, kind: type, acceleration: float | None, share: float | None
) -> None:
    robot = robot_of("gsis-scara")
    program = replace(load_program("scara-circle"), job=parse(f"{line} PROFILE s-curve"))
    motion = Interpreter(program, robot).advance()
    assert isinstance(motion, r.Motion)
    request = planner_request(motion, robot, robot.q_home)
    assert type(request) is kind
    assert not isinstance(request, m.Rest)
    assert (request.acceleration, request.profile) == (acceleration, "s-curve")
    assert getattr(request, "acceleration_share", None) == share


def test_unknown_profile_is_refused() -> None:
    robot = robot_of("gsis-scara")
    motion = Interpreter(load_program("scara-line"), robot).advance()
    assert isinstance(motion, r.Motion)
    with pytest.raises(InputError, match="no profile 'x'"):
        planner_request(replace(motion, profile="x"), robot, robot.q_home)
