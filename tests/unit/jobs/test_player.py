"""From the requests of an interpreter to tasks of the controller; points that are taught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from operators import JOB, LIMITS, SCARA, Q, T, player, points
from servotwin.control.main.alarms import AlarmKind
from servotwin.control.main.exchange import AlarmTask, EndTask, InputTask, MotionTask, OutputTask, WaitTask
from servotwin.errors import InputError
from servotwin.jobs.language import parse
from servotwin.jobs.look_ahead import Answer
from servotwin.jobs.player import Player, TaughtPoints
from servotwin.jobs.points_file import read_points
from servotwin.jobs.program import Program, job_names, load_program
from servotwin.motion.limits import limits_of

SLIDING = [False, False, True, False]


def tasks(source: Player, q: np.ndarray, *, single: bool = False) -> list[object]:
    found: list[object] = []
    source.start()
    while not found or not isinstance(found[-1], EndTask | AlarmTask):
        late = bool(found) and isinstance(found[-1], InputTask)
        task = source.next(q, {}, single=single, timed_out=late)
        if isinstance(task, MotionTask):
            q = task.trajectory.sample(np.array([task.trajectory.duration]))[0][0]
        found.append(task)
    return found


def test_blended_moves_become_one_task_and_single_steps_do_not() -> None:
    kinds = [
        MotionTask,
        OutputTask,
        MotionTask,
        WaitTask,
        InputTask,
        OutputTask,
        MotionTask,
        OutputTask,
        EndTask,
    ]
    together = tasks(player(JOB), Q)
    assert [type(task) for task in together] == kinds
    assert [label.line for label in together[2].labels] == [4, 5]  # type: ignore[attr-defined]
    one_by_one = tasks(player(JOB), Q, single=True)
    assert [type(task) for task in one_by_one].count(MotionTask) == 4


def test_blend_before_something_else_than_a_move_ends_at_rest() -> None:
    source = player("MOVEL P2 SPEED 0.4 m/s BLEND 10 mm\nSET OUT1 ON\nMOVEJ P1")
    assert [type(task) for task in tasks(source, Q)] == [MotionTask, OutputTask, MotionTask, EndTask]


def test_plan_that_is_ready_just_after_it_was_looked_for_serves_the_next_period(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread ends its plan between the look for an answer and the look whether all of them are there."""
    source = player(JOB)
    source.start()
    look, ready = Answer.next, [False]

    def late(answer: Answer, *given: Any, **more: Any) -> Answer | None:
        found = look(answer, *given, **more)
        if not ready[0]:
            ready[0] = True
            source.look_ahead(Q, {}, single=False, span=T)
        return found

    monkeypatch.setattr(Answer, "next", late)
    assert source.prepared(Q, {}, single=False, timed_out=False) is None
    assert isinstance(source.prepared(Q, {}, single=False, timed_out=False), MotionTask)


def test_endless_chain_of_blends_is_cut() -> None:
    source = player("REPEAT FOREVER\nMOVEJ P1 BLEND 5 mm\nMOVEJ P2 BLEND 5 mm\nEND")
    first = source.next(Q, {}, single=False, timed_out=False)
    assert isinstance(first, MotionTask)
    assert len(first.labels) == 200


def test_move_that_cannot_be_planned_is_an_alarm_at_its_line() -> None:
    source = player("MOVEJ P1\nMOVEL P2 SPEED 0.4 m/s BLEND 5 mm\nMOVEL P3 OFFSET 900 mm, 0 mm, 0 mm")
    source.next(Q, {}, single=False, timed_out=False)
    task = source.next(points()["P1"].vector(SCARA.joint_names), {}, single=False, timed_out=False)
    assert isinstance(task, AlarmTask)
    assert task.kind is AlarmKind.PROGRAM_ERROR
    assert task.label.line == 3
    assert task.text.startswith("test.job:3:1: ")


@pytest.mark.parametrize("name", job_names())
def test_shipped_job_becomes_tasks_that_fit_together(name: str) -> None:
    import servotwin as st

    program = load_program(name)
    robot = SCARA if program.robot == "gsis-scara" else st.load_robot(program.robot)
    limits = LIMITS if robot is SCARA else limits_of(robot)
    q = robot.q_home
    for task in tasks(Player(program, robot, limits), q):
        assert not isinstance(task, AlarmTask), task
        if isinstance(task, MotionTask):
            ends = task.trajectory.sample(np.array([0.0, task.trajectory.duration]))[0]
            np.testing.assert_allclose(ends[0], q, atol=1e-9)
            q = ends[1]


def test_taught_points_are_written_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pick.points.yaml"
    store = TaughtPoints(points(), SCARA.joint_names, SLIDING, path)
    store.record("here", Q, replace_old=False)
    store.rename("P1", "home-position")
    store.delete("P2")
    again = read_points(path)
    assert again == store.points
    assert set(again.points) == {"home-position", "P3", "far", "here"}
    assert again["here"].recorded


def test_point_that_cannot_be_written_is_not_taught(tmp_path: Path) -> None:
    store = TaughtPoints(points(), SCARA.joint_names, SLIDING, tmp_path / "no" / "folder.points.yaml")
    with pytest.raises(InputError, match="cannot be written"):
        store.record("here", Q, replace_old=False)
    assert "here" not in store.points


def test_joint_move_after_blended_lines_starts_from_where_they_end() -> None:
    """The lines turn W on from -60 over 60 to 190 deg, though that was taught as -170: no way back of a whole turn."""
    near = np.radians([25.0, 45.0, 0.0, -170.0]) + np.array([0.0, 0.0, 0.05, 0.0])
    half = np.radians([20.0, 45.0, 0.0, 60.0]) + np.array([0.0, 0.0, 0.05, 0.0])
    taught = points().record("T", SCARA.joint_names, near, sliding=SLIDING)
    taught = taught.record("H", SCARA.joint_names, half, sliding=SLIDING)
    lines = "MOVEL H SPEED 0.1 m/s BLEND 2 mm\nMOVEL T SPEED 0.1 m/s BLEND 2 mm\n"
    text = f"{lines}MOVEJ T OFFSET 10 mm, 0 mm, 0 mm"
    source = Player(Program(parse(text, "test.job"), taught), SCARA, LIMITS, fit=True)
    start = np.radians([20.0, 40.0, 0.0, -60.0]) + np.array([0.0, 0.0, 0.05, 0.0])
    task = source.next(start, {}, single=False, timed_out=False)
    assert isinstance(task, MotionTask), task
    w = np.degrees(task.trajectory.sample(np.linspace(0.0, task.trajectory.duration, 200))[0][:, 3])
    assert w.min() > -61.0
    assert w[-1] == pytest.approx(190.0, abs=15.0)


def test_taught_points_are_renamed_in_the_job_beside_them(tmp_path: Path) -> None:
    file, job = tmp_path / "pick.points.yaml", tmp_path / "pick.job"
    job.write_text("MOVEJ P1   # P1\nMOVEL P2\n")
    store = TaughtPoints(points(), SCARA.joint_names, SLIDING, file)
    store.rename("P1", "corner")
    assert job.read_text() == "MOVEJ corner   # P1\nMOVEL P2\n"
    assert "corner" in read_points(file)
    job.write_text("MOVEJ\n")
    with pytest.raises(InputError, match=r"pick\.job:1"):
        store.rename("corner", "P1")
    assert "corner" in read_points(file)
