"""What is common to all solvers: checks of the input, shapes, full turns, the nearest branch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from servotwin.description.frames import rot_rpy, transform
from servotwin.dynamics.ik import ikine, ikine_all
from servotwin.dynamics.ik.branches import closest_equivalent, equivalents, principal
from servotwin.dynamics.ik.elementary import trig_roots, two_link_angles
from servotwin.dynamics.ik.geometry import tool_chain
from servotwin.dynamics.ik.pose import checked_poses, pose_error, rotation, rotation_vector
from servotwin.errors import InputError, ShapeError, UnsupportedError
from servotwin.mechanism.model import CutKind, Frame, LoopClosure
from tests.unit.dynamics.ik_arms import fkine, puma, random_pose, rot, scara, shift

TURN = 2.0 * np.pi


def test_ikine_stack_of_poses_has_the_leading_shape() -> None:
    robot = scara()
    q = np.random.default_rng(1).uniform(-1, 1, (2, 3, 4))
    poses = np.array([[fkine(robot, row) for row in block] for block in q])
    result = ikine(robot, poses, q0=q)
    assert result.shape == (2, 3, 4)
    np.testing.assert_allclose(result, q, atol=1e-9)


def test_ikine_without_q0_starts_from_home() -> None:
    robot = scara(home=[0.0, -1.0, 0.0, 0.0])
    T = fkine(robot, np.array([0.3, 0.9, 0.1, 0.2]))
    assert ikine(robot, T)[1] == pytest.approx(-0.9)
    assert ikine(robot, T, q0=[0, 1, 0, 0])[1] == pytest.approx(0.9)


def test_ikine_nearest_turn_follows_q0() -> None:
    robot = scara()
    T = fkine(robot, np.array([0.3, 0.9, 0.1, 0.2]))
    q = ikine(robot, T, q0=[0.3, 0.9, 0.1, 0.2 + 3 * TURN])
    assert q[3] == pytest.approx(0.2 + 3 * TURN)


def test_ikine_of_another_frame_uses_its_own_chain() -> None:
    robot = scara()
    robot = robot.with_(frames=(*robot.frames, Frame("flange", 1, shift(0.3, 0.0, 0.0))))
    chain = tool_chain(robot, "flange")
    q = np.array([0.3, 0.9, 0.07, 0.2])
    result = ikine(robot, chain.fkine(q), frame="flange", q0=q)
    np.testing.assert_allclose(result, q, atol=1e-9)  # joints 3 and 4 keep their place


@pytest.mark.parametrize("shape", [(4,), (3, 3), (4, 3)])
def test_ikine_pose_of_wrong_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="4 x 4"):
        ikine(scara(), np.zeros(shape))


def test_ikine_pose_that_is_not_rigid_is_refused() -> None:
    stretched, mirrored = np.diag([1.1, 1.0, 1.0, 1.0]), np.diag([-1.0, 1.0, 1.0, 1.0])
    for bad in (stretched, mirrored, np.ones((4, 4))):
        with pytest.raises(InputError, match="not a rigid transform"):
            ikine(scara(), bad)
    with pytest.raises(InputError, match="not finite"):
        ikine(scara(), np.full((4, 4), np.nan))


def test_ikine_q0_of_wrong_shape_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"expected \(4,\)"):
        ikine(scara(), np.eye(4), q0=[0.0, 0.0])


def test_ikine_all_of_a_stack_is_refused() -> None:
    with pytest.raises(ShapeError, match="one pose"):
        ikine_all(scara(), np.tile(np.eye(4), (2, 1, 1)))


def test_ikine_of_an_unknown_closed_chain_is_refused() -> None:
    robot = scara()
    robot = robot.with_(loops=(LoopClosure("loop", CutKind.SPHERICAL, "base", "tool"),))
    with pytest.raises(UnsupportedError, match="its own fk and jac"):
        ikine(robot, np.eye(4))


def test_ikine_pose_with_six_digits_is_accepted() -> None:
    robot = scara()
    T = np.round(fkine(robot, np.array([0.3, 0.9, 0.1, 0.2])), 7)
    np.testing.assert_allclose(fkine(robot, ikine(robot, T)), T, atol=2e-7)


def test_equivalents_are_exactly_those_inside_the_limits() -> None:
    q, period = np.array([2.0, 0.5]), np.array([TURN, np.inf])
    found = equivalents(q, np.array([-5.0, 0.0]), np.array([5.0, 1.0]), period)
    np.testing.assert_allclose(sorted(row[0] for row in found), [2.0 - TURN, 2.0])
    assert equivalents(q, np.array([-1.0, 0.0]), np.array([1.0, 1.0]), period) == []


def test_equivalents_just_outside_a_limit_are_moved_onto_it() -> None:
    found = equivalents(np.array([1.0 + 1e-12]), np.array([-1.0]), np.array([1.0]), np.array([TURN]))
    assert found[0][0] == 1.0


def test_closest_equivalent_prefers_limits_over_nearness() -> None:
    low, high, period = np.array([-1.0]), np.array([4.0]), np.array([TURN])
    result = closest_equivalent(np.array([0.5]), np.array([6.0]), low, high, period)
    assert result is not None
    assert result[0] == pytest.approx(0.5)
    assert closest_equivalent(np.array([-2.0]), np.array([0.0]), low, np.array([1.0]), period) is None


def test_principal_is_within_half_a_turn() -> None:
    np.testing.assert_allclose(principal(np.array([7.0, -4.0, 9.0]), np.array([TURN, TURN, np.inf]))[2], 9.0)
    assert principal(np.array([np.pi]), np.array([TURN]))[0] == pytest.approx(np.pi)
    assert principal(np.array([-np.pi]), np.array([TURN]))[0] == pytest.approx(np.pi)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.0, math.pi - 1e-7, math.pi])
def test_rotation_vector_inverts_rotation_at_every_angle(angle: float) -> None:
    u = np.array([0.36, -0.48, 0.8])
    vector = rotation_vector(rotation(u, angle))
    if angle == math.pi and vector @ u < 0:
        vector = -vector
    np.testing.assert_allclose(vector, angle * u, atol=1e-9)


def test_pose_error_is_the_velocity_of_the_jacobian() -> None:
    robot = puma(tool=random_pose(np.random.default_rng(1)))
    chain = tool_chain(robot)
    q, step = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), 1e-6
    for j in range(6):
        forward = q + step * np.eye(6)[j]
        slope = pose_error(fkine(robot, forward), fkine(robot, q)) / step
        np.testing.assert_allclose(chain.jacobian(q)[:, j], slope, atol=1e-5)


def test_trig_roots_touching_and_missing() -> None:
    assert trig_roots(0.0, 2.0, 2.0) == [pytest.approx(math.pi / 2)]
    assert trig_roots(1.0, 1.0, 2.0) == []


def test_two_link_angles_reach_the_tip() -> None:
    for x, y in ((0.5, 0.2), (-0.3, 0.4), (0.0, 0.1)):
        for a, b in two_link_angles(0.35, 0.3, x, y, 0.0):
            assert 0.35 * math.cos(a) + 0.3 * math.cos(b) == pytest.approx(x, abs=1e-15)
            assert 0.35 * math.sin(a) + 0.3 * math.sin(b) == pytest.approx(y, abs=1e-15)


def test_rotation_helper_matches_the_reference() -> None:
    np.testing.assert_allclose(rotation(np.array([0.0, 0.0, 1.0]), 0.7), rot("z", 0.7)[:3, :3], atol=1e-16)


def test_one_pose_is_checked_as_many_are() -> None:
    rng = np.random.default_rng(6)
    for skewness in (0.0, 1e-12, 1e-8, 5e-7):
        X = transform(rot_rpy(tuple(rng.uniform(-3.0, 3.0, 3))), rng.normal(size=3))
        X[:3, :3] += skewness * rng.uniform(-0.4, 0.4, (3, 3))
        one = checked_poses(X)
        np.testing.assert_allclose(one, checked_poses(X[None])[0], rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(one[:3, :3].T @ one[:3, :3], np.eye(3), atol=1e-15)
    for k in (0, 5, 10, 12, 15):
        X = transform(rot_rpy((0.1, 0.2, 0.3)), (1.0, 2.0, 3.0))
        X.flat[k] += 1e-5
        for poses in (X, X[None]):
            with pytest.raises(InputError, match="not a rigid transform"):
                checked_poses(poses)
    with pytest.raises(InputError, match="not a rigid transform"):
        checked_poses(np.diag([1.0, 1.0, -1.0, 1.0]))
