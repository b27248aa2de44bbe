"""Moves from point to point: limits, joint starts and ends, messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Limits
from servotwin.motion.point_moves import PointMove, plan_moves

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
        ([0, 0, 0], [3, 0, 0], "move.0.to.A", "move 0 takes axis A to 171.887 deg, beyond its limits;"),
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
