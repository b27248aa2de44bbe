"""Plans: durations known beforehand, refusals with place and axis, frames, speeds, fitting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from measured_plans import deviation, top_tool_speed
from servotwin.errors import InputError, ShapeError
from servotwin.motion.errors import PathError
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveC, MoveJ, MoveL, Rest, Speed, Spline
from servotwin.motion.rotations import turned


@pytest.fixture(scope="module")
def scara():
    return st.load_robot("gsis-scara")


@pytest.fixture(scope="module")
def palletizer():
    return st.load_robot("palletizer-4")


@pytest.fixture(scope="module")
def puma():
    return st.load_robot("puma560")


def at(robot, *place, turn=0.0):
    """The home orientation of the robot, turned about z, at another place."""
    X = robot.fkine(robot.q_home)
    X[:3, :3] = turned(np.array([0.0, 0.0, turn])) @ X[:3, :3]
    X[:3, 3] = place
    return X


SCARA = np.array([0.3, 0.9, 0.05, 0.2])


def test_line_test_of_kim_2018_takes_the_analytic_time(palletizer) -> None:
    """Kim 2018, section 5.2: (915, -500, 700) to (915, 500, 700) mm, 0.5 m/s, 1 m/s2, trapezoid: L/V + V/a."""
    A, B = at(palletizer, 0.915, -0.5, 0.7), at(palletizer, 0.915, 0.5, 0.7)
    limits = limits_of(palletizer)
    way = plan(
        palletizer,
        palletizer.ikine(A),
        [MoveL(B, Speed("m/s", 0.5), acceleration=1.0, profile="trapezoid")],
        limits,
    )
    assert way.duration == pytest.approx(1.0 / 0.5 + 0.5 / 1.0, rel=1e-12)
    q, _, _ = way.sample(np.arange(0.0, way.duration, 1e-3))
    X = palletizer.fkine(q)
    np.testing.assert_allclose(X[:, [0, 2], 3], [[0.915, 0.7]] * len(q), rtol=0, atol=1e-8)
    np.testing.assert_allclose(X[:, :3, :3], np.broadcast_to(A[:3, :3], (len(q), 3, 3)), atol=1e-7)


@pytest.mark.parametrize("profile", ["cubic-ramp", "trapezoid", "s-curve", "quintic"])
def test_joint_move_is_straight_and_one_axis_is_at_its_limit(scara, profile) -> None:
    limits = limits_of(scara)
    target = np.array([-1.0, 1.5, 0.12, 2.0])
    way = plan(scara, SCARA, [MoveJ(target, profile=profile)], limits)
    q, qd, qdd = way.sample(np.linspace(0.0, way.duration, 20_001))
    np.testing.assert_array_equal(q[-1], target)
    shares = max((np.abs(qd) / limits.speed).max(), (np.abs(qdd) / limits.acceleration).max())
    assert 0.9999 < shares <= 1.0 + 1e-9
    step = target - SCARA
    share = (q - SCARA) @ step / (step @ step)
    np.testing.assert_allclose(q, SCARA + share[:, None] * step, atol=1e-12)


def test_speeds_in_percent_metres_and_seconds(scara) -> None:
    limits = limits_of(scara)
    X = scara.fkine(SCARA + np.array([0.2, -0.1, 0.02, 0.3]))
    full, half = (plan(scara, SCARA, [MoveL(X, Speed("fraction", f))], limits).duration for f in (1.0, 0.25))
    assert half > full
    timed = plan(scara, SCARA, [MoveL(X, Speed("s", 3.0))], limits)
    assert timed.duration == pytest.approx(3.0, rel=1e-12)
    metres = plan(scara, SCARA, [MoveL(X, Speed("m/s", 0.1), acceleration=1.0)], limits)
    assert top_tool_speed(metres, scara) == pytest.approx(0.1, rel=1e-6)
    joints = plan(scara, SCARA, [MoveJ(np.array([1.0, 0.5, 0.0, 0.0]), Speed("m/s", 0.2))], limits)
    assert 0.19 < top_tool_speed(joints, scara) <= 0.2
    joints = plan(scara, SCARA, [MoveJ(np.array([1.0, 0.5, 0.0, 0.0]), Speed("s", 2.0))], limits)
    assert joints.duration == pytest.approx(2.0, rel=1e-12)


def test_time_too_short_is_refused_or_made_the_quickest(scara) -> None:
    limits = limits_of(scara)
    move = MoveJ(np.array([-1.0, 0.5, 0.0, 0.0]), Speed("s", 0.1))
    with pytest.raises(PathError, match=r"0.1 s are too short; the quickest is") as caught:
        plan(scara, SCARA, [move], limits)
    assert caught.value.what == "time"
    way = plan(scara, SCARA, [move], limits, fit=True)
    assert way.slowed[0] == pytest.approx(way.duration / 0.1)


def test_speed_beyond_an_axis_is_refused_with_place_and_axis_or_slowed(palletizer) -> None:
    A, B = at(palletizer, 0.915, -0.5, 0.7), at(palletizer, 0.915, 0.5, 0.7)
    q, limits = palletizer.ikine(A), limits_of(palletizer)
    fast = MoveL(B, Speed("m/s", 6.0), acceleration=80.0)
    with pytest.raises(PathError) as caught:
        plan(palletizer, q, [MoveJ(q), fast], limits)
    error = caught.value
    assert (error.index, error.axis) == (1, "th1")
    assert error.what in ("speed", "acceleration")
    assert 0.0 < error.place_m < 1.0
    assert "move 2, " in str(error)
    way = plan(palletizer, q, [fast], limits, fit=True)
    assert way.slowed[0] > 1.0
    _, qd, qdd = way.sample(np.arange(0.0, way.duration, 1e-3))
    shares = (np.abs(qd) / limits.speed).max(), (np.abs(qdd) / limits.acceleration).max()
    assert 0.99 < max(shares) <= 1.0


def test_path_out_of_the_workspace_is_refused_where_it_leaves_it(scara) -> None:
    X = scara.fkine(SCARA)
    X[0, 3] += 0.4
    with pytest.raises(PathError) as caught:
        plan(scara, SCARA, [MoveL(X)], limits_of(scara))
    error = caught.value
    assert error.what == "workspace"
    p = scara.fkine(SCARA)[:2, 3] + np.array([error.place_m, 0.0])
    assert np.linalg.norm(p) == pytest.approx(0.65, abs=1e-4)  # both arms in a row


def test_path_through_a_singular_position_is_refused(puma) -> None:
    q = np.array([0.1, 0.8, -1.8, 0.3, 0.4, 0.0])
    X = puma.fkine(q)
    # The wrist bends through zero: the tool axis turns through the axis of the forearm.
    straight = puma.fkine(np.array([0.1, 0.8, -1.8, 0.3, -0.4, 0.0]))
    X[:3, :3] = straight[:3, :3]
    with pytest.raises(PathError) as caught:
        plan(puma, q, [MoveL(X)], limits_of(puma))
    assert caught.value.what == "singularity"
    assert caught.value.axis in puma.joint_names


def test_path_beyond_a_limit_of_position_names_the_axis(scara) -> None:
    limits = limits_of(scara)
    with pytest.raises(
        PathError, match="axis Z would stand at 200 mm, beyond its limits; allowed are 0 to 150 mm"
    ):
        plan(scara, SCARA, [MoveJ(np.array([0.0, 0.5, 0.2, 0.0]))], limits)
    X = scara.fkine(SCARA)
    X[2, 3] -= 0.3
    with pytest.raises(PathError) as caught:
        plan(scara, SCARA, [MoveL(X)], limits)
    assert (caught.value.what, caught.value.axis) == ("position", "Z")


def test_tilt_that_the_arm_cannot_give_is_refused(scara) -> None:
    X = scara.fkine(SCARA)
    X[:3, :3] = X[:3, :3] @ turned(np.array([0.2, 0.0, 0.0]))
    with pytest.raises(PathError) as caught:
        plan(scara, SCARA, [MoveL(X)], limits_of(scara))
    assert caught.value.what == "workspace"


def test_tool_and_work_frames_are_transforms(scara) -> None:
    tool, work = np.eye(4), np.eye(4)
    tool[:3, 3] = 0.05, 0.02, 0.1
    work[:3, :3], work[:3, 3] = turned(np.array([0.0, 0.0, 0.5])), (0.1, 0.2, 0.0)
    X_from, X_to = scara.fkine(SCARA), scara.fkine(SCARA + np.array([0.3, 0.1, 0.03, -0.4]))
    target = np.linalg.inv(work) @ X_to @ tool
    way = plan(scara, SCARA, [MoveL(target, Speed("m/s", 0.2), 1.0, tool=tool, work=work)], limits_of(scara))
    q, _, _ = way.sample(np.linspace(0.0, way.duration, 101))
    points = (scara.fkine(q) @ tool)[:, :3, 3]
    start, end = (X_from @ tool)[:3, 3], (X_to @ tool)[:3, 3]
    along = (end - start) / np.linalg.norm(end - start)
    across = (points - start) - ((points - start) @ along)[:, None] * along
    assert np.abs(across).max() < 1e-8
    np.testing.assert_allclose(points[-1], end, atol=1e-9)
    assert deviation(way, scara) < 1e-8


def test_circle_and_spline_are_met_at_every_sample(puma) -> None:
    q = np.array([0.1, 0.8, -2.6, 0.3, 0.9, 0.0])
    X = puma.fkine(q)

    def shifted(*step):
        Y = X.copy()
        Y[:3, 3] += step
        return Y

    requests = [
        MoveC(shifted(0.05, 0.1, 0.0), shifted(0.0, 0.2, 0.0), Speed("m/s", 0.1)),
        Spline([shifted(0.05, 0.1, 0.05), shifted(-0.05, 0.05, 0.0), X], Speed("m/s", 0.1)),
    ]
    limits = limits_of(puma)
    way = plan(puma, q, requests, limits)
    assert [segment.kind for segment in way.segments] == ["circle", "spline"]
    assert deviation(way, puma) < 1e-7
    np.testing.assert_allclose(way.sample([way.duration])[0][0], q, atol=1e-9)  # back on the same branch


def test_rests_and_moves_that_go_nowhere(scara) -> None:
    way = plan(
        scara, SCARA, [Rest(0.5), MoveJ(SCARA), MoveL(scara.fkine(SCARA)), Rest(0.25)], limits_of(scara)
    )
    assert way.duration == 0.75
    np.testing.assert_array_equal(way.sample([0.6])[0][0], SCARA)
    assert [s.kind for s in way.segments] == ["rest"] * 4
    assert plan(scara, SCARA, [], limits_of(scara)).duration == 0.0


def test_tool_speed_limit_slows_joint_moves_and_refuses_lines(scara) -> None:
    limits = limits_of(scara, tool_speed=0.25, tool_acceleration=2.0)
    way = plan(scara, SCARA, [MoveJ(np.array([-1.0, 0.5, 0.0, 0.0]))], limits)
    assert top_tool_speed(way, scara) <= 0.25 * (1 + 1e-9)
    X = scara.fkine(SCARA + np.array([0.2, 0.1, 0.0, 0.0]))
    with pytest.raises(PathError, match=r"0.5 m/s is more than the tool's 0.25 m/s"):
        plan(scara, SCARA, [MoveL(X, Speed("m/s", 0.5))], limits)
    with pytest.raises(PathError, match="5 m/s2 is more than the tool's 2 m/s2"):
        plan(scara, SCARA, [MoveL(X, Speed("m/s", 0.2), 5.0)], limits)
    way = plan(scara, SCARA, [MoveL(X, Speed("m/s", 0.5), 5.0)], limits, fit=True)
    assert top_tool_speed(way, scara) <= 0.25 * (1 + 1e-9)


def test_torque_limits_are_checked_where_they_are_asked_for(puma) -> None:
    limits = limits_of(puma, torque=True)
    weak = replace(limits, torque=0.6 * limits.torque, acceleration=limits.acceleration * 10)
    q = np.array([0.1, 0.8, -1.8, 0.3, 0.9, 0.0])
    move = MoveJ(q + np.array([1.0, 0.6, 0.5, 0.0, 0.0, 0.0]))
    with pytest.raises(PathError) as caught:
        plan(puma, q, [move], weak)
    assert caught.value.what == "torque"
    way = plan(puma, q, [move], weak, fit=True)
    state = way.sample(np.linspace(0.0, way.duration, 501))
    assert (np.abs(puma.rne(*state, drives=True)) / weak.torque).max() <= 1.0 + 1e-3


def test_bad_arguments_are_explained(scara) -> None:
    limits = limits_of(scara)
    with pytest.raises(InputError, match=r"a speed of 1.5 fraction; expected above 0 and at most 100 %"):
        Speed("fraction", 1.5)
    with pytest.raises(InputError, match="expected above 0 m/s"):
        Speed("m/s", 0.0)
    with pytest.raises(ShapeError, match="q_start"):
        plan(scara, np.zeros(3), [], limits)
    with pytest.raises(ShapeError, match="move 1 has a target"):
        plan(scara, SCARA, [MoveJ(np.zeros(3))], limits)
    with pytest.raises(InputError, match="move 1: an acceleration of 200 %"):
        plan(scara, SCARA, [MoveJ(np.zeros(4), acceleration=2.0)], limits)
    with pytest.raises(InputError, match="move 1 rests -1 s"):
        plan(scara, SCARA, [Rest(-1.0)], limits)


def test_limits_of_a_robot_without_accelerations_give_the_ramp(scara) -> None:
    limits = limits_of(scara, ramp=0.5)
    np.testing.assert_allclose(limits.acceleration, 1.5 * scara.limits.qd_max / 0.5)
    way = plan(scara, SCARA, [MoveJ(SCARA + np.array([0.0, 0.0, 0.0, 4.0]))], limits)
    assert way.duration == pytest.approx(4.0 / limits.speed[3] + 0.5)


@pytest.mark.parametrize("kind", ["joint", "line", "circle"])
def test_move_that_goes_nowhere_lasts_the_time_that_was_asked_for(scara, kind) -> None:
    X, time = scara.fkine(SCARA), Speed("s", 1.75)
    moves = {"joint": MoveJ(SCARA, time), "line": MoveL(X, time), "circle": MoveC(X, X, time)}
    if kind == "circle":
        with pytest.raises(InputError):
            plan(scara, SCARA, [moves[kind]], limits_of(scara))
        return
    away = MoveJ(SCARA + 0.01)
    way = plan(scara, SCARA, [moves[kind], away], limits_of(scara))
    assert way.spans()[0] == (0.0, 1.75)
    assert way.duration == pytest.approx(1.75 + plan(scara, SCARA, [away], limits_of(scara)).duration)
    np.testing.assert_array_equal(way.sample([0.0, 1.0, 1.75])[0], [SCARA] * 3)
    with pytest.raises(PathError, match="expected at most 3600 s"):
        plan(scara, SCARA, [replace(moves[kind], speed=Speed("s", 4000.0))], limits_of(scara))


def test_move_that_goes_nowhere_behind_a_blend_still_lasts_its_time(scara) -> None:
    X = at(scara, *(scara.fkine(SCARA)[:3, 3] + [0.0, -0.05, 0.0]))
    pace = Speed("m/s", 0.2)
    moves = [
        MoveL(X, pace, blend=0.01),
        MoveL(X, Speed("s", 0.5), blend=0.01),
        MoveL(scara.fkine(SCARA), pace),
    ]
    moves = [replace(move, work=None) for move in moves]
    way = plan(scara, SCARA, moves, limits_of(scara), fit=True)
    begin, end = way.spans()[1]
    assert end - begin == pytest.approx(0.5)
    assert not way.sample(np.linspace(begin, end, 5)[1:-1])[1].any()


@pytest.mark.parametrize("acceleration", [80.0, 1e3, 1e6, 1e8, 1e12, 1e300])
def test_fit_of_a_line_with_a_huge_acceleration_only_makes_its_ramps_gentler(
    palletizer, acceleration
) -> None:
    """1 m at 0.5 m/s takes 2 s and one ramp, whatever acceleration was wished for."""
    A, B = at(palletizer, 0.915, -0.5, 0.7), at(palletizer, 0.915, 0.5, 0.7)
    q, limits = palletizer.ikine(A), limits_of(palletizer)
    line = MoveL(B, Speed("m/s", 0.5), acceleration=acceleration)
    with pytest.raises(PathError, match="acceleration"):
        plan(palletizer, q, [line], limits)
    way = plan(palletizer, q, [line], limits, fit=True)
    usual = plan(palletizer, q, [MoveL(B, Speed("m/s", 0.5))], limits)
    assert 2.0 < way.duration <= usual.duration * (1.0 + 1e-9) < 2.1
    assert top_tool_speed(way, palletizer) == pytest.approx(0.5, rel=1e-6)
    assert way.slowed[0] == pytest.approx(way.duration / (2.0 + 1.5 * 0.5 / acceleration), rel=1e-6)
    _, _, qdd = way.sample(np.linspace(0.0, way.duration, 20_001))
    assert (np.abs(qdd) / limits.acceleration).max() <= 1.0 + 1e-9
    timed = plan(palletizer, q, [replace(line, speed=Speed("s", 3.0))], limits)
    assert timed.duration == pytest.approx(3.0)


@pytest.mark.parametrize("profile", [None, "trapezoid", "s-curve", "quintic"])
def test_line_with_a_huge_speed_and_acceleration_is_refused_or_made_to_fit(palletizer, profile) -> None:
    A, B = at(palletizer, 0.915, -0.1, 0.7), at(palletizer, 0.915, 0.1, 0.7)
    q, limits = palletizer.ikine(A), limits_of(palletizer)
    line = MoveL(B, Speed("m/s", 1e300), acceleration=1e300, profile=profile)
    with pytest.raises(PathError, match="more than a million times its largest"):
        plan(palletizer, q, [line], limits)
    way = plan(palletizer, q, [line], limits, fit=True)
    _, qd, qdd = way.sample(np.linspace(0.0, way.duration, 20_001))
    assert (np.abs(qd) / limits.speed).max() <= 1.0 + 1e-9
    assert (np.abs(qdd) / limits.acceleration).max() <= 1.0 + 1e-9


@pytest.mark.parametrize(("speed", "acceleration"), [(0.5, 10.0), (3.0, 20.0), (6.0, 10.0)])
def test_fit_of_a_line_that_fits_changes_nothing(palletizer, speed, acceleration) -> None:
    A, B = at(palletizer, 0.915, -0.5, 0.7), at(palletizer, 0.915, 0.5, 0.7)
    q, limits = palletizer.ikine(A), limits_of(palletizer)
    line = MoveL(B, Speed("m/s", speed), acceleration=acceleration)
    way = plan(palletizer, q, [line], limits, fit=True)
    assert way.duration == plan(palletizer, q, [line], limits).duration
    assert way.slowed == (1.0,)


@pytest.mark.parametrize("value", [1.1e9, -3e9, 1e300])
def test_joint_position_beyond_computing_is_refused_with_axis_and_value(scara, value) -> None:
    free = replace(limits_of(scara), q_min=np.full(4, -np.inf), q_max=np.full(4, np.inf))
    target = np.array([0.0, value, 0.0, 0.0])
    with pytest.raises(InputError, match=r"axis B at .* rad; expected at most 1e\+09 rad"):
        plan(scara, SCARA, [MoveJ(target)], free)
    with pytest.raises(InputError, match="q_start: axis B"):
        plan(scara, target, [MoveJ(SCARA)], free)
