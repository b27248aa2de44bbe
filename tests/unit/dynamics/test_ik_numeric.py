"""The numeric search: limits, masks, trees, redundancy, and honest refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from servotwin.dynamics.ik import InverseKinematics, ikine, ikine_all, ikine_numeric
from servotwin.dynamics.ik.numeric import Task, standing_motion
from servotwin.errors import ShapeError, UnreachableError, UnsupportedError
from servotwin.mechanism.model import Mechanism, Quantities
from tests.unit.dynamics.ik_arms import (
    HALF,
    contains,
    dh_chain,
    fkine,
    general_wrist_arm,
    mechanism_of,
    pose_distance,
    puma,
    rot,
    shift,
)

PANDA_LIMITS = [
    (-2.8973, 2.8973),
    (-1.7628, 1.7628),
    (-2.8973, 2.8973),
    (-3.0718, -0.0698),
    (-2.8973, 2.8973),
    (-0.0175, 3.7525),
    (-2.8973, 2.8973),
]


def panda() -> Mechanism:
    """Seven revolute joints with the geometry and limits of the Franka Emika Panda (its data sheet)."""
    rows = [
        (0, 0, 0.333),
        (-HALF, 0, 0),
        (HALF, 0, 0.316),
        (HALF, 0.0825, 0),
        (-HALF, -0.0825, 0.384),
        (HALF, 0, 0),
        (HALF, 0.088, 0),
    ]
    placements = [rot("x", alpha) @ shift(a, 0, d) for alpha, a, d in rows]
    home = [0, -0.3, 0, -2.2, 0, 2.0, 0.8]
    return mechanism_of(placements, "R" * 7, tool=shift(0, 0, 0.107), limits=PANDA_LIMITS, home=home)


def ur5() -> Mechanism:
    """Six revolute joints without a common wrist point, geometry of the Universal Robots UR5 (its manual)."""
    rows = [
        (0, 0.089159, 0, HALF),
        (0, 0, -0.425, 0),
        (0, 0, -0.39225, 0),
        (0, 0.10915, 0, HALF),
        (0, 0.09465, 0, -HALF),
        (0, 0.0823, 0, 0),
    ]
    return dh_chain(rows, "R" * 6, limits=[(-2 * np.pi, 2 * np.pi)] * 6)


@pytest.mark.parametrize("arm", [panda, ur5])
def test_numeric_random_reachable_poses_are_met_inside_limits(arm: Callable[[], Mechanism]) -> None:
    robot = arm()
    solver = InverseKinematics.of(robot)
    assert solver.solver is None
    rng = np.random.default_rng(5)
    for _ in range(15):
        T = fkine(robot, rng.uniform(robot.limits.q_min, robot.limits.q_max))
        q = solver.nearest(T)
        assert pose_distance(fkine(robot, q), T) < 1e-9
        assert np.all(q >= robot.limits.q_min)
        assert np.all(q <= robot.limits.q_max)


def test_numeric_start_at_the_solution_stays_there() -> None:
    robot = panda()
    q = robot.q_home + 0.1
    np.testing.assert_allclose(ikine(robot, fkine(robot, q), q0=q), q, atol=1e-9)


def test_numeric_all_finds_the_eight_positions_of_a_ur5() -> None:
    robot = ur5()
    q = np.array([0.4, -1.0, 1.2, -0.5, 0.9, 0.3])
    branches = ikine_all(robot, fkine(robot, q), respect_limits=False)
    assert len(branches) == 8
    assert contains(branches, q)


def test_numeric_agrees_with_the_closed_form_about_the_number_of_branches() -> None:
    # Brute force: a hundred searches find no position that the closed form lacks, and all that it has.
    arms = [puma(), general_wrist_arm(np.random.default_rng(2)), general_wrist_arm(np.random.default_rng(5))]
    rng = np.random.default_rng(9)
    for robot in arms:
        solver = InverseKinematics.of(robot)
        T = fkine(robot, rng.uniform(-np.pi, np.pi, 6))
        branches = solver.all(T)
        searched = InverseKinematics(robot, solver.chain, None, solver.mask, solver.fk, solver.jac)
        found = searched.all(T)
        assert len(found) == len(branches)
        assert all(contains(branches, q, 1e-6) for q in found)


def test_numeric_callables_are_used() -> None:
    robot = panda()
    calls = []

    def fk(q: np.ndarray) -> np.ndarray:
        calls.append(1)
        return fkine(robot, q)

    ikine(robot, fkine(robot, robot.q_home + 0.05), fk=fk)
    assert calls


def test_numeric_position_only_with_three_joints_is_solved() -> None:
    rows = [(0, 0.3, 0, HALF), (0, 0, 0.4, 0), (0, 0, 0.3, 0)]
    robot = dh_chain(rows, "RRR")
    T = fkine(robot, np.array([0.3, 0.5, 0.7]))
    T[:3, :3] = rot("x", 1.0)[:3, :3]  # an orientation that three joints cannot give
    position = (1, 1, 1, 0, 0, 0)
    q = ikine(robot, T, mask=position)
    np.testing.assert_allclose(fkine(robot, q)[:3, 3], T[:3, 3], atol=1e-9)
    assert len(ikine_all(robot, T, mask=position)) == 4
    with pytest.raises(
        UnreachableError, match=r"the point can be reached, .* off by [\d.]+ deg; mask the orient"
    ):
        ikine(robot, T)
    with pytest.raises(UnreachableError, match=r"ends 0 m and [\d.]+ deg away"):  # no point was asked for
        ikine(robot, T, mask=(0, 0, 0, 1, 1, 1))


def test_numeric_joints_beside_the_chain_keep_their_place() -> None:
    # A gripper finger hangs on the last link; it does not move the tool.
    rows = [(0, 0.3, 0, HALF), (0, 0, 0.4, 0), (0, 0, 0.3, HALF), (0, 0.1, 0.05, -HALF), (0, 0.1, 0, 0)]
    robot = dh_chain([*rows, (0, 0, 0, 0)], "RRRRRP", parent=[-1, 0, 1, 2, 3, 4], tool_body=4)
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.02])
    result = ikine(robot, fkine(robot, q), q0=np.array([0, 0, 0, 0, 0, 0.013]))
    assert result[5] == 0.013
    assert pose_distance(fkine(robot, result), fkine(robot, q)) < 1e-9


def test_numeric_prismatic_limits_are_respected() -> None:
    rows = [
        (0, 0, 0.1, HALF),
        (0, 0.2, 0, HALF),
        (0, 0, 0, HALF),
        (0, 0.1, 0.1, -HALF),
        (0, 0, 0.1, HALF),
        (0, 0, 0, 0),
    ]
    limits = [(-np.pi, np.pi), (0.0, 0.5), *[(-np.pi, np.pi)] * 4]
    robot = dh_chain(rows, "RPRRRR", limits=limits)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(*np.array(limits).T)
        result = ikine(robot, fkine(robot, q))
        assert 0.0 <= result[1] <= 0.5
        assert pose_distance(fkine(robot, result), fkine(robot, q)) < 1e-9


def test_numeric_pose_outside_the_limits_reports_the_nearest_miss() -> None:
    T = shift(0.0, 0.0, 0.333)  # its own shoulder: the elbow does not bend so far
    for mask in (None, (1, 1, 1, 0, 0, 0)):
        with pytest.raises(
            UnreachableError, match=r"the nearest of 4 searches ends 0\.\d+ m and [\d.e-]+ deg away"
        ):
            ikine(panda(), T, starts=4, mask=mask)


def test_numeric_pose_whose_orientation_alone_fails_says_so() -> None:
    robot = panda()
    T = shift(0.05, 0.0, 0.25)  # beside its own shoulder
    q = ikine(robot, T, starts=4, mask=(1, 1, 1, 0, 0, 0))
    np.testing.assert_allclose(fkine(robot, q)[:3, 3], T[:3, 3], atol=1e-9)
    with pytest.raises(UnreachableError, match="the point can be reached, but not with this orientation"):
        ikine(robot, T, starts=4)


def test_numeric_pose_outside_the_ranges_of_quantities_names_the_quantity() -> None:
    """The pose is reached, and its point also inside the range; what is in the way is the quantity all the same."""
    q = np.array([0.3, 0.5, 0.7])
    free = dh_chain([(0, 0.3, 0, HALF), (0, 0, 0.4, 0), (0, 0, 0.3, 0)], "RRR")
    T = fkine(free, q)
    low, high = np.array([-3.0]), np.array([-0.1])
    elbow = Quantities(("elbow",), np.array([[0.0, 0.0, 1.0]]), np.zeros(1), low, high, (False,))
    robot = replace(free, quantities=elbow)
    with pytest.raises(
        UnreachableError, match=r"elbow would be 40\.11 deg, allowed are -171\.9 \.\. -5\.73 deg"
    ):
        ikine(robot, T)
    down = ikine(robot, T, mask=(1, 1, 1, 0, 0, 0))
    np.testing.assert_allclose(fkine(robot, down)[:3, 3], T[:3, 3], atol=1e-9)


def test_numeric_far_target_is_refused_at_once() -> None:
    with pytest.raises(UnreachableError, match=r"2\.\d+ m from the first joint; all links in a row measure"):
        ikine(panda(), shift(2, 0, 1))


def test_numeric_equal_seeds_give_equal_answers() -> None:
    robot = panda()
    T = fkine(robot, np.array([2.0, 1.0, -2.0, -1.0, 2.0, 1.0, -1.0]))
    np.testing.assert_array_equal(ikine(robot, T, seed=3), ikine(robot, T, seed=3))


def test_numeric_all_of_a_redundant_arm_is_refused() -> None:
    robot = panda()
    with pytest.raises(UnsupportedError, match="7 joints for 6 conditions"):
        ikine_all(robot, fkine(robot, robot.q_home))


def test_numeric_bare_function_needs_no_mechanism() -> None:
    def fk(q: np.ndarray) -> np.ndarray:
        return rot("z", q[0]) @ shift(q[1], 0, 0)

    def jac(q: np.ndarray) -> np.ndarray:
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([[-q[1] * s, c], [q[1] * c, s], [0, 0], [0, 0], [0, 0], [1, 0]])

    target = fk(np.array([0.5, 0.8]))
    q = ikine_numeric(fk, jac, target, q0=[0, 0.1], q_min=[-np.pi, 0], q_max=[np.pi, 1])
    np.testing.assert_allclose(q, [0.5, 0.8], atol=1e-9)


def test_numeric_mask_of_wrong_length_is_refused() -> None:
    with pytest.raises(ShapeError, match="6 flags"):
        ikine(panda(), np.eye(4), mask=(1, 1, 1))


def test_numeric_joints_that_are_all_fixed_do_not_move_on() -> None:
    fixed = np.array([0.1, 0.2])
    task = Task(lambda _: np.eye(4), lambda _: np.zeros((6, 2)), np.eye(4), fixed, fixed, np.ones(6), 1.0)
    assert standing_motion(task, fixed) is None
