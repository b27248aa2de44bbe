"""Angles that no single joint is have limits as joints have: the incidence angles of the palletizer's parallelograms.

The oracle is written from section 3.1 of Kim (2018): angles between unit vectors along the bars.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from operators import PERIOD_NS, enabled
from servotwin.control.main.alarms import AlarmKind, watch_of
from servotwin.control.main.jogging import Jog, LineJog, joint_step
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.reference import Reference
from servotwin.control.main.states import Event
from servotwin.errors import InputError, UnreachableError
from servotwin.motion.errors import PathError
from servotwin.motion.limits import limits_of
from servotwin.motion.online import OnlinePlanner
from servotwin.motion.planner import plan
from servotwin.motion.point_moves import PointMove, check_quantities, plan_moves
from servotwin.motion.requests import MoveJ
from servotwin.report.reach import reach
from tests.small_robots import describe

A1, A2, A3, A4 = 0.195, 0.700, 0.650, 0.120
ALPHA, BETA, GAMMA = (math.radians(value) for value in (153.304, 62.354, 9.971))
ROBOT = st.load_robot("palletizer-4")
LIMITS = limits_of(ROBOT)
T = 0.008


def along(angle):
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def incidences(q):
    """theta_p1 .. theta_p3 (..., 3) as the paper defines them: arc cosines between bars."""
    th2, th3 = q[..., 1], q[..., 2]
    pairs = [
        (along(th3 + th2 + math.pi + GAMMA), along(th2)),
        (along(np.full_like(th2, ALPHA)), along(th2)),
        (along(np.full_like(th2, BETA)), along(th2 + th3)),
    ]
    return np.stack([np.arccos(np.sum(a * b, axis=-1)) for a, b in pairs], axis=-1)


def allowed(q, slack=1e-9):
    angles = incidences(q)
    return ((angles >= math.radians(30) - slack) & (angles <= math.radians(150) + slack)).all(axis=-1)


@pytest.mark.parametrize("name", ["palletizer-4", "palletizer-4-loops"])
def test_incidence_angles_are_those_of_the_paper(name):
    robot = st.load_robot(name)
    q = robot.random_q(np.random.default_rng(1), 200)
    assert robot.quantities.values(q) == pytest.approx(incidences(q), abs=1e-12)
    assert allowed(q).all()


def test_reach_of_the_palletizer_is_that_of_a_fine_grid_within_the_incidence_limits():
    th2, th3 = np.meshgrid(
        *(np.radians(np.linspace(*r, 2401)) for r in ((30, 120), (-150, -30))), indexing="ij"
    )
    q = np.stack([0 * th2, th2, th3, 0 * th2], axis=-1)
    radius = A1 + A2 * np.cos(th2) + A3 * np.cos(th2 + th3) + A4
    height = A2 * np.sin(th2) + A3 * np.sin(th2 + th3)
    inside = allowed(q)
    found = reach(ROBOT)
    assert found.radius == pytest.approx(radius[inside].max(), abs=5e-4)
    assert found.radius == pytest.approx(1.5614, abs=5e-5)
    assert found.z_max == pytest.approx(height[inside].max(), abs=5e-4)
    assert found.z_min == pytest.approx(height[inside].min(), abs=5e-4)


@pytest.mark.parametrize("name", ["palletizer-4", "palletizer-4-loops"])
def test_inverse_kinematics_refuses_exactly_what_the_incidence_limits_forbid(name):
    robot = st.load_robot(name)
    rng = np.random.default_rng(2)
    seen = {True: 0, False: 0}
    while min(seen.values()) < 5:
        q = rng.uniform(robot.limits.q_min, robot.limits.q_max)
        good = bool(allowed(q, 0.0))
        seen[good] += 1
        if seen[good] > 5:
            continue
        pose = ROBOT.fkine(q)
        if good:
            assert robot.fkine(robot.ikine(pose, q0=q)) == pytest.approx(pose, abs=1e-8)
        else:
            with pytest.raises(
                UnreachableError, match=r"incidence-\d would be .* deg, allowed are 30 .. 150 deg"
            ):
                robot.ikine(pose, q0=q)
    assert ROBOT.ikine(pose, q0=q, respect_limits=False) == pytest.approx(q, abs=1e-7) or good


def test_planned_move_that_leaves_the_incidence_limits_is_refused_with_the_angle():
    start, target = (
        ROBOT.q_home,
        np.radians([0.0, 35.0, -32.0, 0.0]),
    )  # joints in their ranges, incidence-1 at 158 deg
    assert np.array_equal(target, np.clip(target, ROBOT.limits.q_min, ROBOT.limits.q_max))
    with pytest.raises(
        PathError, match=r"incidence-1 would be 157\.971 deg, beyond its limits; allowed are 30 to 150"
    ):
        plan(ROBOT, start, [MoveJ(target)], LIMITS)
    assert plan(ROBOT, start, [MoveJ(np.radians([0.0, 35.0, -45.0, 0.0]))], LIMITS).duration > 0.0


def test_scenario_move_whose_joints_end_apart_is_looked_at_between_its_ends():
    """incidence-3 is fine at both ends; th3 arrives long before th2, and takes it out of its range on the way."""
    start, target = np.radians([0.0, 100.0, -80.0, 0.0]), np.radians([0.0, 35.0, -80.0, 0.0])
    middle = np.radians([0.0, 30.0, -110.0, 0.0])
    assert allowed(np.stack([start, target, middle])).all()
    names, limits = ROBOT.joint_names, ROBOT.limits
    slow = np.array([1.0, 0.05, 2.0, 1.0])
    apart = PointMove(np.radians([0.0, 70.0, -145.0, 0.0]), together=False, speeds=slow)
    way = plan_moves(np.radians([0.0, 30.0, -60.0, 0.0]), [apart], limits, names=names)
    q = way.sample(np.linspace(0.0, way.duration, 2000))[0]
    assert allowed(q[[0, -1]]).all()
    assert not allowed(q).all()
    with pytest.raises(InputError, match="move 1 takes incidence-3 to"):
        check_quantities(way, ROBOT.quantities)
    back = PointMove(np.radians([0.0, 30.0, -60.0, 0.0]))
    often = plan_moves(np.radians([0.0, 70.0, -145.0, 0.0]), [back, apart], limits, names=names, repeat=3)
    once = plan_moves(np.radians([0.0, 70.0, -145.0, 0.0]), [back], limits, names=names)
    check_quantities(once, ROBOT.quantities)
    with pytest.raises(InputError, match="move 2 takes incidence-3 to") as refused:
        check_quantities(often, ROBOT.quantities, 2)
    assert refused.value.field == "move.1"
    check_quantities(
        plan_moves(start, [PointMove(target), PointMove(middle)], limits, names=names), ROBOT.quantities
    )


def test_scenario_whose_move_leaves_the_incidence_limits_in_its_second_pass_names_file_and_move(tmp_path):
    """From its start the first move is fine; from where the second one ends th3 takes incidence-3 out on the way."""
    file = tmp_path / "apart.yaml"
    file.write_text(
        "format: servotwin-scenario/1\nname: apart\nrobot: palletizer-4\nrepeat: 2\n"
        "start: {th1: 0 deg, th2: 70 deg, th3: -145 deg, th5: 0 deg}\nmove:\n"
        "  - {to: {th2: 70 deg, th3: -145 deg}, together: false, speed: {th2: 0.05 rad/s, th3: 2 rad/s}}\n"
        "  - {to: {th2: 30 deg, th3: -60 deg}}\n"
    )
    with pytest.raises(InputError, match="move 1 takes incidence-3 to") as refused:
        st.simulate(file)
    assert (refused.value.file, refused.value.field) == (str(file), "move.0")


def jogged(step, q, periods):
    """Positions of a jog."""
    rows, qd = [q], np.zeros(4)
    for _ in range(periods):
        q, qd, _ = step(q, qd)
        rows.append(q)
    return np.array(rows)


@pytest.mark.parametrize(
    "direction", [(0.0, 0.0, 1.0, 0.0), (0.0, -1.0, -1.0, 0.0), (0.3, -0.6, -1.0, 0.5), (0.0, 1.0, 1.0, 0.0)]
)
def test_jog_by_joints_comes_to_rest_at_the_incidence_limit(direction):
    wanted = np.array(direction) * LIMITS.speed
    q = jogged(lambda q, qd: joint_step(q, qd, wanted, LIMITS, T), ROBOT.q_home, 400)
    assert allowed(q, 1e-9).all()
    angles = incidences(q[-1])
    ends = np.minimum(q[-1] - ROBOT.limits.q_min, ROBOT.limits.q_max - q[-1])[1:3]
    room = np.append(np.minimum(angles - math.radians(30), math.radians(150) - angles), ends)
    assert room.min() < math.radians(0.05)  # it went as far as it may


def test_jog_with_limits_of_jerk_stays_within_the_incidence_limits():
    limits = replace(LIMITS, jerk=20.0 * LIMITS.acceleration)
    motion = Reference(ROBOT, limits, round(T * 1e9), None)
    motion.hold(ROBOT.q_home)
    assert isinstance(motion.online, OnlinePlanner)
    rows = []
    for _ in range(500):
        motion.become(motion._joints(np.array([0.0, -0.4, -1.0, 0.0]) * limits.speed))
        rows.append(motion.q)
    assert allowed(np.array(rows)).all()
    angles = incidences(motion.q)
    assert np.minimum(angles - math.radians(30), math.radians(150) - angles).min() < math.radians(0.5)


def test_jog_of_the_tool_stops_before_the_incidence_limit():
    line = LineJog(ROBOT, LIMITS, ROBOT.q_home, np.array([1.0, 0, 0, 0, 0, 0]), "base")
    q, qd, rows = ROBOT.q_home, np.zeros(4), []
    for _ in range(1500):
        motion = line.step(q, qd, 0.5, T)
        if motion is None:
            break
        q, qd, _ = motion
        rows.append(q)
    assert allowed(np.array(rows)).all()
    angles = incidences(q)
    assert np.minimum(angles - math.radians(30), math.radians(150) - angles).min() < math.radians(3.0)


def test_measured_position_beyond_an_incidence_limit_raises_an_alarm():
    watch = watch_of(ROBOT.joint_names, LIMITS, units=ROBOT.joint_units)
    q = np.radians([0.0, 35.0, -35.0, 0.0])
    inside = np.zeros(7, dtype=bool)
    found = watch.look(q, np.zeros(4), q, inside, 0)
    assert [alarm.kind for alarm in found] == [AlarmKind.POSITION_LIMIT]
    assert str(found[0]) == "position limit: incidence-1 is 154.97 deg; expected 30 deg to 150 deg"
    outside = inside.copy()
    outside[4] = True
    assert not watch.look(q, np.zeros(4), q, outside, 0)


def test_controller_jogs_the_palletizer_up_to_its_incidence_limit_without_an_alarm():
    bench = enabled(controller=MainController(ROBOT, LIMITS, PERIOD_NS), q=ROBOT.q_home.copy())
    for _ in range(200):
        bench.must(Event.JOG, jog=Jog("joint", (0.0, -0.5, -1.0, 0.0)))
        bench.step()
    assert not bench.controller.alarms
    assert allowed(np.array([command.q for command in bench.commands])).all()
    assert math.degrees(incidences(bench.q).max()) == pytest.approx(150.0, abs=0.05)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("{z: {of: {A: 1}, limits: [30 deg, 10 deg]}}", "limits: minimum is above maximum in .* 10 deg"),
        ("{z: {of: {A: 1}, limits: [30 mm, 40 mm]}}", "quantities.z.limits.*expected an angle"),
        ("{z: {of: {Q: 1}}}", "quantities.z.of.Q: 'Q' is not an axis"),
        ("{z: {of: {}}}", "quantities.z.of: empty; expected the joints it follows from"),
        ("{A: {of: {B: 1}}}", "quantities.A: 'A' cannot name a quantity"),
        ("{z: {of: {A: 1}, offset: 3}}", "quantities.z.offset.*expected an angle"),
        ("{z: {joints: 3}}", "quantities.z"),
    ],
)
def test_mistakes_in_quantities_are_one_clear_line(lines, words, tmp_path):
    text = (
        "format: servotwin/1\nname: two\naxes: {A: {dh: {a: 1 m}}, B: {dh: {a: 1 m}}}\nquantities: " + lines
    )
    with pytest.raises(InputError, match=words):
        describe(tmp_path, text)


def test_quantity_of_a_joint_that_loops_move_is_refused(tmp_path):
    text = "format: servotwin/1\nname: f\nextends: five-bar\nquantities: {z: {of: {left-fore: 1}}}\n"
    with pytest.raises(InputError, match=r"'left-fore' is moved by the loops; expected joints of `active`"):
        describe(tmp_path, text)
