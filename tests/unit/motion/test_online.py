"""Online replanning: jogging, stopping, targets and overrides that change on the way."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.errors import InputError, ShapeError
from servotwin.motion.limits import MotionLimits
from servotwin.motion.online import OnlinePlanner

INF = np.full(2, np.inf)
LIMITS = MotionLimits(
    q_min=np.array([-2.0, -2.0]), q_max=np.array([2.0, 2.0]), speed=np.array([1.0, 2.0]),
    acceleration=np.array([4.0, 8.0]), jerk=np.array([40.0, np.inf]), torque=INF,
)  # fmt: skip
PERIOD = 0.016


def run(planner, steps=1000):
    rows = [planner.state]
    for _ in range(steps):
        rows.append(planner.step())
        if planner.finished:
            break
    return (np.array(column) for column in zip(*rows, strict=True))


def assert_within(q, qd, qdd) -> None:
    assert np.all(np.abs(qd) <= LIMITS.speed * (1 + 1e-9))
    assert np.all(np.abs(qdd) <= LIMITS.acceleration * (1 + 1e-9))
    jerk = np.abs(np.diff(qdd, axis=0)) / PERIOD
    assert np.all(jerk <= np.array([40.0, 64.0]) * (1 + 1e-6))  # 2 a^2 / V where none is stated
    np.testing.assert_allclose(np.diff(q, axis=0), 0.5 * PERIOD * (qd[1:] + qd[:-1]), atol=64.0 * PERIOD**3)


def test_position_is_reached_at_rest_by_all_joints_together() -> None:
    planner = OnlinePlanner(LIMITS, PERIOD, np.zeros(2))
    planner.to_position([1.0, -0.3])
    q, qd, qdd = run(planner)
    assert_within(q, qd, qdd)
    np.testing.assert_allclose(q[-1], [1.0, -0.3], atol=1e-9)
    np.testing.assert_allclose(qd[-1], 0.0, atol=1e-9)
    assert np.all(np.abs(q[-6] - q[-1]) > 0.0)


def test_target_and_override_may_change_on_the_way() -> None:
    planner = OnlinePlanner(LIMITS, PERIOD, np.zeros(2))
    planner.to_position([1.5, 1.5])
    first = list(run(planner, 20))
    planner.set_override(0.3)
    second = list(run(planner, 60))
    assert np.all(np.abs(second[1][-1]) <= 0.3 * LIMITS.speed * (1 + 1e-9))
    planner.to_position([-0.5, 0.2])
    third = list(run(planner))
    motion = [np.concatenate([a, b[1:], c[1:]]) for a, b, c in zip(first, second, third, strict=True)]
    assert_within(*motion)
    np.testing.assert_allclose(planner.state[0], [-0.5, 0.2], atol=1e-9)


def test_jogging_stops_within_its_stopping_distance() -> None:
    planner = OnlinePlanner(LIMITS, PERIOD, np.zeros(2))
    planner.to_velocity([0.8, -1.0])
    run(planner, 30)
    q_before, (back, forth) = planner.state[0], planner.stopping_range()
    planner.to_velocity([0.0, 0.0])
    q, qd, _ = run(planner)
    np.testing.assert_allclose(qd[-1], 0.0, atol=1e-9)
    np.testing.assert_allclose(q[-1] - q_before, back + forth, atol=1e-9)
    np.testing.assert_allclose(back + forth, [forth[0], back[1]])


def test_stopping_range_holds_the_turn_of_a_joint_that_still_accelerates() -> None:
    r"""With v < 0 < a the speed becomes a^2/(2 j) + v > 0 while the acceleration is taken away."""
    j, v, a = LIMITS.jerk[0], -0.05, 0.9 * LIMITS.acceleration[0]
    assert a * a / (2.0 * j) + v > 0.0
    planner = OnlinePlanner(LIMITS, PERIOD, np.zeros(2))
    planner.reset([0.1, 0.0], qd=[v, 0.0], qdd=[a, 0.0])
    back, forth = planner.stopping_range()
    turn = (a - np.sqrt(a * a + 2.0 * j * v)) / j
    assert back[0] == pytest.approx(v * turn + a * turn**2 / 2 - j * turn**3 / 6)
    q, _, _ = run(planner)
    assert forth[0] >= q[:, 0].max() - 0.1 - 1e-9 > 0.0


def test_reset_in_motion_comes_to_rest() -> None:
    planner = OnlinePlanner(LIMITS, PERIOD, np.zeros(2))
    planner.reset([0.1, 0.2], qd=[0.5, -0.5])
    _, qd, _ = run(planner)
    np.testing.assert_allclose(qd[-1], 0.0, atol=1e-9)


def test_bad_targets_are_refused() -> None:
    planner = OnlinePlanner(LIMITS, PERIOD, np.zeros(2))
    with pytest.raises(InputError, match="beyond the limits"):
        planner.to_position([3.0, 0.0])
    with pytest.raises(ShapeError):
        planner.to_velocity([1.0])
    with pytest.raises(ShapeError):
        planner.reset([np.nan, 0.0])
    with pytest.raises(InputError, match="override"):
        planner.set_override(0.0)


def test_planner_stands_where_it_was_begun_until_something_is_asked_for() -> None:
    planner = OnlinePlanner(LIMITS, PERIOD, [0.7, -1.3])
    np.testing.assert_array_equal(planner.state[0], [0.7, -1.3])
    assert not np.any(planner.state[1:])
    for _ in range(3):
        q, qd, qdd = planner.step()
        np.testing.assert_array_equal(q, [0.7, -1.3])
        assert not np.any([qd, qdd])
    planner.to_position([0.8, -1.3])
    q, _, _ = run(planner)
    assert np.all(np.diff(q[:, 0]) >= 0.0)
    np.testing.assert_allclose(q[:, 1], -1.3, atol=1e-12)


def test_target_and_override_at_their_limits_are_accepted() -> None:
    planner = OnlinePlanner(LIMITS, PERIOD, LIMITS.q_min)
    planner.set_override(1.0)
    planner.to_position(LIMITS.q_max)
    q, qd, _ = run(planner)
    np.testing.assert_allclose(q[-1], LIMITS.q_max, atol=1e-9)
    assert np.abs(qd).max(axis=0)[0] == pytest.approx(LIMITS.speed[0])
    planner.to_position(LIMITS.q_min)
    np.testing.assert_allclose(next(run(planner))[-1], LIMITS.q_min, atol=1e-9)
