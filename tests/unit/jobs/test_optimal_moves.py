"""``OPTIMAL`` in jobs: written and read, planned, refused, played on the drive-level plant."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.jobs.language import format_job, parse
from servotwin.jobs.program import SHIPPED
from servotwin.motion.errors import PathError
from servotwin.motion.limits import limits_of
from servotwin.motion.motor_limits import motor_limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, MoveL, Rest, Speed

HOME, GOAL, TURN = np.zeros(4), np.array([0.8, -0.6, 0.05, 0.4]), np.array([0.2, 0.1, 0.0, 0.0])


def scara():
    robot = st.load_robot("gsis-scara")
    return robot, limits_of(robot, read_description("gsis-scara", {}))


def test_optimal_is_read_and_written_as_a_modifier():
    text = (
        "MOVEJ P1 OPTIMAL\nMOVEJ P2 TIME 1.2 s OPTIMAL\nMOVEL P3 OPTIMAL\nMOVEL P4 OPTIMAL ENERGY 0.02 s/J\n"
    )
    assert format_job(parse(text)) == text
    assert format_job(parse("movej P1 optimal time 1.2s")) == "MOVEJ P1 TIME 1.2 s OPTIMAL\n"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("MOVEJ P1 OPTIMAL SPEED 50%", "OPTIMAL and SPEED are both given"),
        ("MOVEL P1 BLEND 5 mm OPTIMAL", "OPTIMAL and BLEND are both given"),
        ("MOVEL P1 TIME 1 s OPTIMAL", "OPTIMAL and TIME are both given; expected ENERGY or nothing beside"),
        ("MOVEC VIA P1 TO P2 OPTIMAL", "OPTIMAL does not go with MOVEC"),
        ("MOVEJ P1 OPTIMAL OPTIMAL", "given twice"),
        ("MOVEJ P1 ENERGY 0.02 s/J", "ENERGY without OPTIMAL"),
        ("MOVEJ P1 OPTIMAL TIME 1 s ENERGY 0.02 s/J", "TIME and ENERGY are both given"),
        (
            "MOVEJ P1 OPTIMAL ENERGY 2 s",
            "ENERGY '2 s' is a time; expected a time per energy such as 0.02 s/J",
        ),
        ("MOVEL P1 ENERGY 0 s/J OPTIMAL", "ENERGY '0 s/J'; expected more than zero"),
    ],
)
def test_optimal_beside_what_it_decides_is_refused(line, text):
    with pytest.raises(InputError, match=text):
        parse(line)


def test_energy_of_a_job_is_that_of_the_options():
    """ENERGY of a move is energy_weight of ``optimise_motion``: slower, by the same plan."""
    pytest.importorskip("casadi")
    robot, limits = scara()
    line = robot.fkine(GOAL + TURN)
    for move, target, same in (
        (MoveJ, GOAL + TURN, {"goal": GOAL + TURN}),
        (MoveL, line, {"path": MoveL(line)}),
    ):
        times = [
            plan(robot, GOAL, [move(target, optimal=True, energy_weight=x)], limits).duration
            for x in (0.0, 0.02)
        ]
        motion = st.optimise_motion("gsis-scara", GOAL, energy_weight="20 ms/J", **same)
        assert times[1] > 1.05 * times[0]
        assert times[1] == pytest.approx(motion.duration, rel=1e-3)


def test_optimal_moves_are_planned_from_rest_to_rest():
    pytest.importorskip("casadi")
    robot, limits = scara()
    requests = [
        MoveJ(GOAL, optimal=True),
        Rest(0.1),
        MoveL(robot.fkine(GOAL + TURN), optimal=True),
    ]
    trajectory = plan(robot, HOME, requests, limits)
    assert [segment.kind for segment in trajectory.segments] == ["optimal", "rest", "optimal"]
    q, qd, qdd = trajectory.sample(np.linspace(0.0, trajectory.duration, 3001))
    assert np.abs(np.diff(q, axis=0)).max() < 0.02
    assert (np.abs(qd) <= limits.speed * (1.0 + 1e-9)).all()
    usual = plan(robot, HOME, [MoveJ(GOAL)], limits)
    assert trajectory.segments[0].duration < 0.8 * usual.duration
    assert trajectory.acceleration is not None
    assert (np.abs(qdd).max(axis=0) <= 1.001 * trajectory.acceleration).all()


def test_optimal_move_with_a_time_takes_it_and_less_energy():
    pytest.importorskip("casadi")
    robot, limits = scara()
    segment = plan(robot, HOME, [MoveJ(GOAL, Speed("s", 1.0), optimal=True)], limits).segments[0]
    assert segment.duration == pytest.approx(1.0)
    usual = plan(robot, HOME, [MoveJ(GOAL, Speed("s", 1.0))], limits).segments[0]
    assert electrical_energy(segment) < 0.9 * electrical_energy(usual)


def electrical_energy(segment) -> float:
    """Copper loss and mechanical work [J] of the motors, by the planner's own envelope of the drives."""
    robot, description = st.load_robot("gsis-scara"), read_description("gsis-scara", {})
    motors = motor_limits_of(robot, description)
    assert motors is not None
    t = np.linspace(0.0, segment.duration, 2001)
    motion = segment.sample(t)
    tau, w = motors.motor_torques(*motion), motors.motor_speeds(motion[1])
    power = (motors.drive.resistance * (tau / motors.drive.torque_constant) ** 2 + tau * w).sum(axis=1)
    return float((0.5 * (power[1:] + power[:-1]) * np.diff(t)).sum())


def test_optimal_move_that_cannot_be_met_names_the_request():
    pytest.importorskip("casadi")
    robot, limits = scara()
    with pytest.raises(PathError, match=r"move 2.*too short; the quickest is"):
        plan(robot, HOME, [Rest(0.1), MoveJ(GOAL, Speed("s", 0.05), optimal=True)], limits)


def test_job_with_optimal_moves_runs_on_the_drives(tmp_path: Path):
    """At 16 ms periods the robot follows within millimetres although its motors are at their limits."""
    pytest.importorskip("casadi")
    shutil.copy(SHIPPED / "scara-line.points.yaml", tmp_path / "quick.points.yaml")
    (tmp_path / "quick.job").write_text(
        "MOVEJ ready OPTIMAL\nMOVEJ left OPTIMAL\nMOVEL right OPTIMAL\nWAIT 0.2 s\n", encoding="utf-8"
    )
    result = st.run_job(str(tmp_path / "quick.job")).result
    assert result.complete
    assert not [event for event in result.events if "beyond its limits" in str(event)]


def test_job_without_the_solver_is_refused_in_one_line(monkeypatch):
    from servotwin.motion.optimal import ipopt

    robot, limits = scara()
    monkeypatch.setattr(ipopt, "find_spec", lambda name: None)
    ipopt.library.cache_clear()
    try:
        with pytest.raises(PathError, match=r"pip install 'servotwin\[optimal\]'"):
            plan(robot, HOME, [MoveJ(GOAL, optimal=True)], limits)
    finally:
        ipopt.library.cache_clear()
