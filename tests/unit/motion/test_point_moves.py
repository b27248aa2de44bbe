"""Moves from point to point: limits, joint starts and ends, messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Limits
from servotwin.motion.moving_start import rest_after
from servotwin.motion.point_moves import PointMove, plan_moves
from servotwin.motion.ramps import ProfileKind

INF = np.full(3, np.inf)
LIMITS = Limits(
    q_min=np.array([-2.0, -3.0, 0.0]),
    q_max=np.array([2.0, 3.0, 0.15]),
    qd_max=np.array([3.5, 4.4, 0.5]),
    qdd_max=np.array([np.inf, 20.0, np.inf]),
    tau_max=INF,
)
POSES = st.tuples(st.floats(-2.0, 2.0), st.floats(-3.0, 3.0), st.floats(0.0, 0.15)).map(np.array)
MOVES = st.builds(
    PointMove,
    target=POSES,
    speed=st.floats(0.01, 1.0),
    ramp=st.floats(0.02, 1.0),
    dwell=st.floats(0.0, 0.5),
    together=st.booleans(),
)


@given(POSES, st.lists(MOVES, min_size=1, max_size=4), st.integers(1, 3))
def test_any_plan_stays_within_its_limits_and_meets_its_targets(start, moves, repeat) -> None:
    plan = plan_moves(start, moves, LIMITS, repeat=repeat)
    t = np.linspace(-0.1, plan.duration + 0.1, 5001)
    q, qd, qdd = plan.sample(t)
    assert np.all(q >= LIMITS.q_min - 1e-12)
    assert np.all(q <= LIMITS.q_max + 1e-12)
    assert np.all(np.abs(qd) <= LIMITS.qd_max * max(m.speed for m in moves) * (1 + 1e-9))
    assert np.all(np.abs(qdd) <= LIMITS.qdd_max * (1 + 1e-9))
    np.testing.assert_array_equal(q[0], start)
    np.testing.assert_array_equal(q[-1], moves[-1].target)
    arrived, at_rest, _ = plan.sample(plan.arrivals)
    np.testing.assert_allclose(arrived, [m.target for m in moves] * repeat, rtol=0, atol=1e-12)
    np.testing.assert_allclose(at_rest, 0.0, atol=1e-6)


@given(POSES, MOVES)
def test_velocity_and_acceleration_are_rates(start, move) -> None:
    plan = plan_moves(start, [move], LIMITS)
    h = 1e-5
    t = np.linspace(0.0, plan.duration, 301) + 1e-7
    q_before, qd_before, _ = plan.sample(t - h)
    _, qd, qdd = plan.sample(t)
    q_after, qd_after, _ = plan.sample(t + h)
    # central differences err by h^2/6 of the jerk and its rate, one-sided at kinks by h/2 of a jump
    jerk = 6.0 * plan.tops.max() / plan.ramps.min() ** 2
    np.testing.assert_allclose((q_after - q_before) / (2 * h), qd, atol=jerk * h * h + 1e-9)
    np.testing.assert_allclose((qd_after - qd_before) / (2 * h), qdd, atol=2 * jerk * h + 1e-9)


@given(POSES, POSES)
def test_joints_that_end_together_move_on_a_straight_line(start, target) -> None:
    plan = plan_moves(start, [PointMove(target)], LIMITS)
    q, _, _ = plan.sample(np.linspace(0.0, plan.duration, 101))
    stroke = target - start
    share = ((q - start) @ stroke) / max(float(stroke @ stroke), 1e-300)
    np.testing.assert_allclose(q, start + share[:, np.newaxis] * stroke, atol=1e-10)


def test_joints_on_their_own_each_take_their_top_speed() -> None:
    target = np.array([2.0, 1.0, 0.15])
    plan = plan_moves(np.zeros(3), [PointMove(target, together=False)], LIMITS)
    np.testing.assert_allclose(plan.tops[0, [0, 2]], LIMITS.qd_max[[0, 2]])
    assert plan.ramps[0, 1] == pytest.approx(np.sqrt(1.5 * 1.0 / 20.0))  # made longer by the acceleration
    assert plan.durations[0] == pytest.approx(2.0 / 3.5 + 0.25)


def test_short_stroke_keeps_the_ramp_and_lowers_the_top() -> None:
    plan = plan_moves(np.zeros(3), [PointMove(np.array([0.1, 0.0, 0.0]))], LIMITS)
    assert plan.duration == pytest.approx(0.5)
    assert plan.tops[0, 0] == pytest.approx(0.4)
    assert plan.tops[0, 1] == 0.0


def test_dwell_and_repeat_add_up() -> None:
    there, back = PointMove(np.array([1.0, 0, 0]), dwell=0.3), PointMove(np.zeros(3), dwell=0.1)
    one = plan_moves(np.zeros(3), [there, back], LIMITS)
    three = plan_moves(np.zeros(3), [there, back], LIMITS, repeat=3)
    assert three.duration == pytest.approx(3 * one.duration)
    t = np.linspace(0.0, one.duration, 50)
    np.testing.assert_allclose(three.sample(t + one.duration)[0], one.sample(t)[0], atol=1e-12)


def test_move_that_goes_nowhere_takes_only_its_dwell() -> None:
    plan = plan_moves(np.zeros(3), [PointMove(np.zeros(3), dwell=0.2)], LIMITS)
    assert plan.duration == 0.2
    assert not np.any(plan.sample([0.1]))


@pytest.mark.parametrize(
    ("start", "move", "field", "text"),
    [
        ([0, 0, 0], [3, 0, 0], "move.0.to.A", "move 1 takes axis A to 171.887 deg, beyond its limits;"),
        ([0, 0, 0], [0, 0, 0.2], "move.0.to.Z", "to 200 mm, beyond its limits; expected 0 to 150 mm"),
        ([0, -4, 0], [0, 0, 0], "start.B", "axis B starts at -229.183 deg"),
    ],
)
def test_pose_beyond_limits_is_refused(start, move, field, text) -> None:
    with pytest.raises(InputError) as caught:
        plan_moves(
            start,
            [PointMove(np.array(move, dtype=float))],
            LIMITS,
            names=("A", "B", "Z"),
            prismatic=(False, False, True),
        )
    assert caught.value.field == field
    assert text in caught.value.message


def test_joint_without_speed_limit_may_rest_but_not_move() -> None:
    free = Limits(-INF, INF, np.array([1.0, np.inf, 1.0]), INF, INF)
    assert plan_moves(np.zeros(3), [PointMove(np.array([1.0, 0, 0]))], free).duration > 0
    with pytest.raises(InputError, match="axis 1 has no speed limit"):
        plan_moves(np.zeros(3), [PointMove(np.array([0, 1.0, 0]))], free)


@pytest.mark.parametrize(
    "change", [{"speed": 0.0}, {"speed": 1.1}, {"ramp": 0.0}, {"dwell": -1.0}, {"ramp": np.inf}]
)
def test_move_with_impossible_numbers_is_refused(change) -> None:
    with pytest.raises(InputError, match="expected 0 < speed"):
        plan_moves(np.zeros(3), [PointMove(np.ones(3) * 0.1, **change)], LIMITS)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ShapeError):
        plan_moves(np.zeros(3), [PointMove(np.zeros(2))], LIMITS)
    with pytest.raises(ShapeError):
        plan_moves(np.zeros(3), [PointMove(np.zeros(3))], LIMITS).sample([[1.0]])
    with pytest.raises(InputError, match="0 moves; expected 1 to"):
        plan_moves(np.zeros(3), [], LIMITS)


# --- profiles other than the cubic ramp ---------------------------------------------------------------
JERKS = np.array([60.0, np.inf, 8.0])
OTHERS: tuple[ProfileKind, ...] = ("trapezoid", "s-curve", "quintic")


def constant_acceleration(t: np.ndarray, start: np.ndarray, target: np.ndarray, V, a) -> np.ndarray:
    """Positions of joints on one parameter that rises with constant acceleration, written out piece by piece."""
    way = target - start
    speed = min(v / abs(s) for v, s in zip(V, way, strict=True) if s)
    growth = min(x / abs(s) for x, s in zip(a, way, strict=True) if s)
    speed = min(speed, np.sqrt(growth))  # too short to reach it
    rise, total = speed / growth, 1.0 / speed + speed / growth
    s = np.where(t < rise, 0.5 * growth * t**2, speed * (t - 0.5 * rise))
    s = np.where(t > total - rise, 1.0 - 0.5 * growth * (total - t) ** 2, s)
    s = np.where(t > total, 1.0, np.where(t < 0.0, 0.0, s))
    return start + s[:, np.newaxis] * way


# KinematicPTP of Modelica.Mechanics.MultiBody.Examples.Systems.RobotR3.FullRobot (Modelica Standard Library 4)
R3_START = np.radians([-60.0, 20.0, 90.0, 0.0, -110.0, 0.0])
R3_TARGET = np.radians([60.0, -70.0, -35.0, 45.0, 110.0, 45.0])
R3_SPEEDS = np.array([3.0, 1.5, 5.0, 3.1, 3.1, 4.1])
R3_ACCELERATIONS = np.array([15.0, 15.0, 15.0, 60.0, 60.0, 60.0])


def test_trapezoid_of_the_manutec_r3_is_that_of_its_published_model() -> None:
    free = np.full(6, np.inf)
    limits = Limits(-free, free, R3_SPEEDS, R3_ACCELERATIONS, free)
    plan = plan_moves(R3_START, [PointMove(R3_TARGET, profile="trapezoid")], limits)
    assert plan.duration == pytest.approx(1.356, abs=5e-4)  # as published
    t = np.linspace(-0.1, 1.5, 2001)
    q, qd, qdd = plan.sample(t)
    expected = constant_acceleration(t, R3_START, R3_TARGET, R3_SPEEDS, R3_ACCELERATIONS)
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-13)
    assert np.abs(qd).max(axis=0)[4] == pytest.approx(3.1)  # joint 5 limits the speed
    assert np.abs(qdd).max(axis=0)[2] == pytest.approx(15.0)  # joint 3 the acceleration


@given(POSES, POSES, st.floats(0.05, 1.0), st.floats(0.05, 1.0))
def test_trapezoid_has_constant_acceleration_on_one_parameter(start, target, speed, share) -> None:
    limits = Limits(LIMITS.q_min, LIMITS.q_max, LIMITS.qd_max, np.array([9.0, 20.0, 3.0]), INF)
    if np.abs(target - start).max() < 1e-6:
        return
    move = PointMove(target, speed, profile="trapezoid", acceleration=share)
    plan = plan_moves(start, [move], limits)
    t = np.linspace(0.0, plan.duration, 301)
    expected = constant_acceleration(t, start, target, speed * limits.qd_max, share * limits.qdd_max)
    np.testing.assert_allclose(plan.sample(t)[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["cubic-ramp", *OTHERS])
@pytest.mark.parametrize("together", [True, False])
def test_profile_keeps_speed_acceleration_and_jerk_and_uses_one_of_them(
    kind: ProfileKind, together: bool
) -> None:
    limits = Limits(LIMITS.q_min, LIMITS.q_max, LIMITS.qd_max, np.array([9.0, 20.0, 3.0]), INF)
    start, target = np.array([-1.5, 2.0, 0.02]), np.array([1.0, -1.0, 0.15])
    move = PointMove(target, profile=kind, together=together, ramp=1e-3 if kind == "cubic-ramp" else None)
    plan = plan_moves(start, [move], limits, jerk=JERKS)
    h = 1e-5
    t = np.arange(-0.01, plan.duration + 0.01, h)
    q, qd, qdd = plan.sample(t)
    # where the acceleration jumps within a step the mean of the speeds errs by an eighth of it at most
    np.testing.assert_allclose(np.diff(q, axis=0) / h, 0.5 * (qd[1:] + qd[:-1]), atol=20.0 * h / 8)
    rates = np.abs(qd), np.abs(qdd), np.abs(np.diff(qdd, axis=0) / h)[:, np.isfinite(JERKS)]
    most = limits.qd_max, limits.qdd_max, JERKS[np.isfinite(JERKS)]
    used = [float((x / y).max()) for x, y in zip(rates, most, strict=True)]
    assert max(used) == pytest.approx(1.0, abs=2e-3)
    np.testing.assert_array_equal(q[0], start)
    np.testing.assert_array_equal(q[-1], target)
    rest = qd[[0, -1]], qdd[[0, -1]]
    assert not np.any(rest)


@pytest.mark.parametrize("kind", OTHERS)
def test_profile_is_that_of_a_joint_move_of_a_job(kind: ProfileKind) -> None:
    from servotwin.motion.limits import MotionLimits
    from servotwin.motion.planner import plan as plan_job
    from servotwin.motion.requests import MoveJ
    from servotwin.robot.load import load_robot

    robot = load_robot("puma560")
    free, one = np.full(6, np.inf), np.ones(6)
    limits = Limits(-free, free, R3_SPEEDS, R3_ACCELERATIONS, free)
    job = plan_job(
        robot, R3_START, [MoveJ(R3_TARGET, profile=kind)],
        MotionLimits(-10 * one, 10 * one, R3_SPEEDS, R3_ACCELERATIONS, free, free),
    )  # fmt: skip
    plan = plan_moves(R3_START, [PointMove(R3_TARGET, profile=kind)], limits)
    t = np.linspace(0.0, job.duration, 501)
    for one_way, other in zip(plan.sample(t), job.sample(t), strict=True):
        np.testing.assert_allclose(one_way, other, rtol=0, atol=1e-12)


def test_trapezoid_with_a_ramp_takes_that_long_to_its_speed() -> None:
    move = PointMove(np.array([1.5, 0.0, 0.0]), speed=0.5, ramp=0.2, profile="trapezoid")
    plan = plan_moves(np.zeros(3), [move], LIMITS)
    _, qd, qdd = plan.sample([0.1, 0.199, 0.21])
    np.testing.assert_allclose(qdd[:, 0], [1.75 / 0.2, 1.75 / 0.2, 0.0], rtol=1e-12)
    assert qd[2, 0] == pytest.approx(1.75)
    assert plan.duration == pytest.approx(1.5 / 1.75 + 0.2)


def test_joint_without_acceleration_limit_gets_that_of_a_cubic_ramp_to_full_speed() -> None:
    move = PointMove(np.array([1.5, 0.0, 0.0]), profile="trapezoid")
    _, _, qdd = plan_moves(np.zeros(3), [move], LIMITS).sample([0.01])
    assert qdd[0, 0] == pytest.approx(1.5 * 3.5 / 0.25)


def test_moves_of_different_profiles_follow_each_other_and_come_again() -> None:
    kinds: tuple[ProfileKind, ...] = ("trapezoid", "cubic-ramp", "quintic", "s-curve")
    moves = [PointMove(np.full(3, 0.02 * k), dwell=0.05, profile=kind) for k, kind in enumerate(kinds)]
    once = plan_moves(np.full(3, 0.1), moves, LIMITS)
    often = plan_moves(np.full(3, 0.1), [*moves, PointMove(np.full(3, 0.1))], LIMITS, repeat=3)
    assert len(often.laws) == 3
    t = np.linspace(0.0, once.duration, 777)
    np.testing.assert_array_equal(often.sample(t)[0], once.sample(t)[0])
    lap = often.duration / 3
    np.testing.assert_allclose(often.sample(t + 2 * lap)[0], once.sample(t)[0], atol=1e-12)
    np.testing.assert_allclose(once.sample(once.arrivals)[0], [m.target for m in moves], atol=1e-12)


@pytest.mark.parametrize(
    ("move", "field", "text"),
    [
        ({"profile": "quintic", "ramp": 0.1}, "move.0.ramp", "a quintic has no ramp"),
        ({"acceleration": 0.5}, "move.0.acceleration", "axis A has no acceleration limit"),
        (
            {"accelerations": np.full(3, 25.0)},
            "move.0.acceleration.B",
            "beyond the acceleration limit of axis B",
        ),
    ],
)
def test_acceleration_or_ramp_that_cannot_be_is_refused(move, field: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_moves(np.zeros(3), [PointMove(np.full(3, 0.1), **move)], LIMITS, names=("A", "B", "Z"))
    assert caught.value.field == field
    assert text in caught.value.message


def test_start_with_too_much_speed_names_the_speed_and_the_place_of_rest() -> None:
    limits = Limits(np.array([0.0]), np.array([1.0]), np.array([2.0]), np.array([np.inf]), np.array([np.inf]))
    rest = rest_after(np.array([0.9]), np.array([1.5]), 0.4)  # 0.9 m + 1.5 m/s * 0.4 s / 2 = 1.2 m
    with pytest.raises(InputError, match="axis X would come to rest at 1200 mm") as refused:
        plan_moves(rest, [PointMove(np.array([0.5]))], limits, names=["X"], prismatic=[True], speed=[1.5])
    assert refused.value.field == "initial.speed.X"


@pytest.mark.parametrize("kind", ["cubic-ramp", *OTHERS])
@pytest.mark.parametrize("together", [True, False])
def test_only_joint_of_a_robot_goes_its_stroke(kind: ProfileKind, together: bool) -> None:
    """Alone it ends together with itself: a stroke of 3 rad, which is neither 1 nor its own square."""
    free = np.array([np.inf])
    limits = Limits(-free, free, np.array([2.0]), np.array([9.0]), free)
    plan = plan_moves([0.5], [PointMove(np.array([-2.5]), profile=kind, together=together)], limits)
    q, qd, qdd = plan.sample(np.linspace(0.0, plan.duration, 2001))
    assert (q.max(), q.min(), q[-1, 0]) == (0.5, -2.5, -2.5)
    assert np.abs(qd).max() == pytest.approx(2.0, rel=1e-6)
    assert np.abs(qdd).max() <= 9.0 * (1 + 1e-9) or kind == "cubic-ramp"


@pytest.mark.parametrize("kind", ["trapezoid", "s-curve", "cubic-ramp"])
@pytest.mark.parametrize("jerk", [3.0, 30.0, 1e3, 1e6, np.inf])
@pytest.mark.parametrize("together", [True, False])
def test_stated_ramp_is_never_shorter_whatever_jerk_there_is(
    kind: ProfileKind, jerk: float, together: bool
) -> None:
    free = np.full(2, np.inf)
    limits = Limits(-free, free, np.array([1.0, 2.0]), np.array([50.0, 3.0]), free)
    move = PointMove(np.array([5.0, 1.0]), ramp=0.8, profile=kind, together=together)
    plan = plan_moves(np.zeros(2), [move], limits, jerk=[jerk, np.inf])
    t = np.linspace(0.0, plan.duration, 200_001)
    qd = plan.sample(t)[1][:, 0]
    ramp = t[np.argmax(qd > qd.max() * (1 - 1e-12))]
    assert qd.max() == pytest.approx(1.0)
    assert ramp >= 0.8 * (1 - 1e-4)
    assert jerk < 20.0 or ramp < 0.9


def test_joint_that_a_move_does_not_name_stays_in_every_pass() -> None:
    stays = [np.array([False, True, True]), np.array([True, False, True])]
    moves = [PointMove(np.array([1.0, 9.0, 9.0]), stays=stays[0], speeds=np.array([1.0, np.inf, np.inf]))]
    moves += [PointMove(np.array([9.0, 2.0, 9.0]), stays=stays[1])]
    plan = plan_moves([0.0, 0.0, 0.1], moves, LIMITS, repeat=2)
    np.testing.assert_array_equal(
        plan.q_to, [[1.0, 0.0, 0.1], [1.0, 2.0, 0.1], [1.0, 2.0, 0.1], [1.0, 2.0, 0.1]]
    )
    assert plan.durations[2:].tolist() == [0.0, 0.0]
