"""SHAPER in jobs: text, requests, tasks, and what the controller makes of it."""

from __future__ import annotations

import pytest

import servotwin as st
from servotwin.control.main.exchange import MotionTask
from servotwin.description.load import read_description
from servotwin.jobs import requests as r
from servotwin.jobs.interpreter import Interpreter
from servotwin.jobs.language import parse
from servotwin.jobs.layout import format_job
from servotwin.jobs.player import Player
from servotwin.jobs.problems import JobError
from servotwin.jobs.program import Program, load_program
from servotwin.motion.limits import limits_of

ROBOT = "palletizer-4-elastic"


def program(text: str, called: dict[str, str] | None = None) -> Program:
    points = load_program("palletizer-line").points
    others = {name: Program(parse(body, name), points) for name, body in (called or {}).items()}
    return Program(parse(text, "a.job"), points, others)


def motions(job: Program) -> list[r.Motion]:
    interpreter = Interpreter(job, st.load_robot(ROBOT))
    found = []
    while not isinstance(request := interpreter.advance(), r.End):
        if isinstance(request, r.Motion):
            found.append(request)
    return found


def test_shaper_line_is_laid_out_in_one_way() -> None:
    text = format_job(parse("shaper ZVD # gently\nShaper None\nSHAPER two-hump"))
    assert text == "SHAPER zvd  # gently\nSHAPER NONE\nSHAPER two-hump\n"


def test_unknown_shaper_is_refused_with_what_is_accepted() -> None:
    with pytest.raises(
        JobError, match=r"a.job:1:8: no shaper 'zvx'; expected one of zv, zvd, ei, two-hump, or NONE"
    ):
        parse("SHAPER zvx", "a.job")
    with pytest.raises(JobError, match=r"the line ends; expected a shaper \(zv, zvd, ei, two-hump\) or NONE"):
        parse("SHAPER\n", "a.job")


def test_shaper_counts_for_moves_that_follow_in_its_file() -> None:
    job = program(
        'MOVEJ start\nSHAPER ei\nMOVEJ finish\nCALL "b.job"\nMOVEJ start\nSHAPER NONE\nMOVEJ finish',
        {"b.job": "MOVEJ start\nSHAPER zv\nMOVEJ finish"},
    )
    assert [motion.shaper for motion in motions(job)] == [None, "ei", None, "zv", "ei", "none"]


def test_moves_of_different_shapers_are_not_blended() -> None:
    robot = st.load_robot(ROBOT)
    limits = limits_of(robot, read_description(ROBOT))
    job = program("SHAPER zvd\nMOVEJ start BLEND 50 mm\nMOVEJ finish BLEND 50 mm\nSHAPER NONE\nMOVEJ start")
    player = Player(job, robot, limits)
    player.start()
    tasks = []
    q = robot.q_home
    for _ in range(2):
        task = player.next(q, {}, single=False, timed_out=False)
        assert isinstance(task, MotionTask)
        q = task.trajectory.sample([task.trajectory.duration])[0][0]
        tasks.append((task.shaper, len(task.labels)))
    assert tasks == [("zvd", 2), ("none", 1)]


def test_job_shapes_the_moves_that_it_says() -> None:
    """Whatever the robot file and ``--shaper`` say."""
    text = "MOVEJ start SPEED 60%\nSHAPER zvd\nMOVEJ finish SPEED 60%\nSHAPER NONE\nMOVEJ start SPEED 60%"
    for setting, shaped in ((None, 1), ("zv", 2)):
        planned = st.plan_job(program(text), robot=ROBOT, settings=st.JobSettings(shaper=setting))
        assert planned.log.shaped == shaped
    durations = [entry.duration_s for entry in st.plan_job(program(text), robot=ROBOT).log.entries]
    assert durations[1] > durations[2] + 0.02  # the same way there and back, one of them shaped


def test_shaper_of_a_robot_without_elastic_gears_is_refused_at_its_line() -> None:
    job = program("MOVEJ start\nIF IN1 ON\n  SHAPER zvd\nEND\nMOVEJ finish")
    with pytest.raises(JobError, match=r"a.job:3:3: SHAPER zvd, but no gear of palletizer-4 is elastic"):
        st.plan_job(job, robot="palletizer-4")
    # with a measured frequency there is something to shape
    st.plan_job(job, robot="palletizer-4", overrides={"controller.shaping.frequency": "9 Hz"})
    st.plan_job(program("SHAPER NONE\nMOVEJ start"), robot="palletizer-4")
