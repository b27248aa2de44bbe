"""Closed forms of parallel-axis arms, palletizers, DELTA robots and spherical wrists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from servotwin.description.load import read_description
from servotwin.dynamics.ik import InverseKinematics, delta_fkine, ikine, ikine_all
from servotwin.dynamics.ik.delta import DeltaSolver
from servotwin.dynamics.ik.palletizer import PalletizerSolver
from servotwin.dynamics.ik.scara import ScaraSolver
from servotwin.dynamics.ik.spherical_wrist import SphericalWristSolver
from servotwin.errors import UnreachableError, UnsupportedError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array, Mechanism
from tests.crosscheck.robot_data import urdf_paths
from tests.unit.dynamics.ik_arms import (
    HALF,
    PUMA,
    contains,
    dh_chain,
    fkine,
    general_wrist_arm,
    mechanism_of,
    pose_distance,
    puma,
    random_pose,
    rot,
    scara,
    shift,
)

REPRODUCED = 1e-9  # m and rad, the promise of every closed form


def catalogue(name: str, **overrides: str) -> Mechanism:
    return build_mechanism(read_description(name, overrides))


def inside(robot: Mechanism, rng: np.random.Generator) -> Array:
    low = np.where(np.isfinite(robot.limits.q_min), robot.limits.q_min, -np.pi)
    high = np.where(np.isfinite(robot.limits.q_max), robot.limits.q_max, np.pi)
    return rng.uniform(low, high)


def worst(robot: Mechanism, branches: Array, T: Array) -> float:
    return max(pose_distance(fkine(robot, q), T) for q in branches)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("gsis-scara", ScaraSolver),
        ("daiv-1", ScaraSolver),
        ("daiv-1-simplified", ScaraSolver),
        ("met-two-link", ScaraSolver),
        ("palletizer-4", PalletizerSolver),
        ("puma560", SphericalWristSolver),
    ],
)
def test_catalogue_arm_random_positions_are_among_the_branches_inside_limits(name: str, form: type) -> None:
    robot = catalogue(name)
    solver = InverseKinematics.of(robot)
    assert isinstance(solver.solver, form)
    # The geometry alone identifies the arm: the family may be left out.
    assert isinstance(InverseKinematics.of(robot.with_(family="")).solver, form)
    rng = np.random.default_rng(11)
    for _ in range(40):
        q = inside(robot, rng)
        while (robot.quantities.beyond(q) > 0.0).any():
            q = inside(robot, rng)
        T = fkine(robot, q)
        branches = solver.all(T)
        assert np.min(np.max(np.abs(branches - q), axis=1)) < 1e-7
        assert np.all(branches >= robot.limits.q_min)
        assert np.all(branches <= robot.limits.q_max)
        assert worst(robot, branches, T) < REPRODUCED
        np.testing.assert_allclose(solver.nearest(T, q0=q), q, atol=1e-7)


# ----------------------------------------------------------------------------------------------------- SCARA


def test_scara_two_branches_are_mirrored_elbows() -> None:
    robot = scara()
    branches = ikine_all(robot, fkine(robot, np.array([0.3, 0.9, 0.1, 0.2])))
    assert len(branches) == 2
    np.testing.assert_allclose(sorted(branches[:, 1]), [-0.9, 0.9], atol=1e-12)


def test_scara_joint_4_with_more_than_a_turn_gives_both_equivalents() -> None:
    robot = catalogue("gsis-scara")
    q = np.array([0.3, 0.9, 0.1, 2.0])
    branches = ikine_all(robot, fkine(robot, q))
    for turn in (0.0, -2.0 * np.pi):  # 2 rad and 2 rad - 360 deg both lie within +-300 deg
        assert np.min(np.max(np.abs(branches - q - [0, 0, 0, turn]), axis=1)) < 1e-9


def test_scara_with_offset_tool_on_a_tilted_base_is_still_solved() -> None:
    rng = np.random.default_rng(4)
    robot = scara(base=random_pose(rng), tool=random_pose(rng, 0.3))
    for _ in range(20):
        q = rng.uniform(-3, 3, 4)
        T = fkine(robot, q)
        branches = ikine_all(robot, T)
        assert len(branches) == 2
        assert contains(branches, q)
        assert worst(robot, branches, T) < REPRODUCED


@pytest.mark.parametrize("kinds", sorted({"".join(p) for p in itertools.permutations("RRRP")}))
def test_scara_joints_in_any_order_are_recognised(kinds: str) -> None:
    rng = np.random.default_rng(8)
    placements = [
        shift(*rng.uniform(-0.5, 0.5, 3)) @ rot("z", 0.3 * k) @ rot("x", np.pi * (k % 2)) for k in range(4)
    ]
    robot = mechanism_of(placements, kinds)
    assert isinstance(InverseKinematics.of(robot).solver, ScaraSolver)
    q = rng.uniform(-2, 2, 4)
    branches = ikine_all(robot, fkine(robot, q))
    assert contains(branches, q)
    assert worst(robot, branches, fkine(robot, q)) < REPRODUCED


def test_scara_reversed_and_scaled_coordinates_are_honoured() -> None:
    G = np.diag([-1.0, 2.0, 1.0, 1.0])
    robot = scara(G=G, q0=np.array([0.1, -0.2, 0.05, 0.3]))
    q = np.array([0.4, 0.3, 0.1, -0.7])
    branches = ikine_all(robot, fkine(robot, q))
    assert np.min(np.max(np.abs(branches - q), axis=1)) < 1e-9


def test_scara_too_far_target_says_distance_and_reach() -> None:
    with pytest.raises(
        UnreachableError, match=r"0\.812 m from the first axis; the arm reaches 0\.05 \.\. 0\.65 m"
    ):
        ikine(catalogue("gsis-scara"), shift(0.812, 0, 0) @ rot("z", 0.3))


def test_scara_too_near_target_says_distance_and_reach() -> None:
    with pytest.raises(UnreachableError, match=r"0\.01 m from the first axis"):
        ikine_all(catalogue("gsis-scara"), shift(0.01, 0, 0))


def test_scara_tilted_tool_is_refused() -> None:
    robot = catalogue("gsis-scara")
    T = fkine(robot, robot.q_home) @ rot("x", 1e-5)
    with pytest.raises(UnreachableError, match=r"tilted by 0\.000573 deg"):
        ikine(robot, T)


def test_scara_outside_limits_names_joint_value_and_range() -> None:
    robot = catalogue("gsis-scara")
    T = fkine(robot, np.array([0.1, 1.0, 0.2, 0.0]))
    with pytest.raises(UnreachableError, match=r"Z would stand at 0\.2 m, allowed are 0 \.\. 0\.15 m"):
        ikine(robot, T)
    assert ikine(robot, T, respect_limits=False)[2] == pytest.approx(0.2)


def test_scara_stretched_and_folded_give_one_branch() -> None:
    robot = scara()
    for bend in (0.0, np.pi):
        branches = ikine_all(robot, fkine(robot, np.array([0.7, bend, 0.0, 0.0])))
        assert len(branches) == 1
        assert contains(branches, np.array([0.7, bend, 0.0, 0.0]))


def test_scara_equal_links_folded_onto_the_first_axis_keep_the_reference_angle() -> None:
    robot = mechanism_of([np.eye(4), shift(0.4, 0, 0), shift(0.4, 0, 0)], "RRR")
    q = np.array([1.1, np.pi, 0.4])
    branches = ikine_all(robot, fkine(robot, q), q0=np.array([0.5, 0.0, 0.0]))
    assert branches[0, 0] == pytest.approx(0.5)
    assert worst(robot, branches, fkine(robot, q)) < REPRODUCED


def test_daiv_position_alone_has_two_elbows_and_the_full_pose_one() -> None:
    robot = catalogue("daiv-1")
    q = np.array([1.0, 0.8, -0.05])
    T = fkine(robot, q)
    position = (1, 1, 1, 0, 0, 0)
    assert len(ikine_all(robot, T, respect_limits=False)) == 1
    branches = ikine_all(robot, T, respect_limits=False, mask=position)
    np.testing.assert_allclose(sorted(branches[:, 1]), [-0.8, 0.8], atol=1e-12)
    for branch in branches:
        np.testing.assert_allclose(fkine(robot, branch)[:3, 3], T[:3, 3], atol=1e-12)
    # Joint 2 turns one way only, so the limits leave one.
    np.testing.assert_allclose(ikine_all(robot, T, mask=position), [q], atol=1e-12)


def test_daiv_orientation_that_does_not_fit_is_refused_with_a_hint() -> None:
    robot = catalogue("daiv-1")
    T = fkine(robot, np.array([1.0, 0.8, -0.05])) @ rot("z", 0.01)
    with pytest.raises(UnreachableError, match=r"off by 0\.573 deg; mask the orientation"):
        ikine(robot, T)


def test_daiv_home_at_the_corner_of_its_limits_is_found() -> None:
    robot = catalogue("daiv-1")
    for mask in (None, (1, 1, 1, 0, 0, 0)):
        np.testing.assert_allclose(
            ikine(robot, fkine(robot, robot.q_home), mask=mask), robot.q_home, atol=1e-12
        )


def test_plane_arm_target_beside_its_plane_is_refused() -> None:
    robot = catalogue("met-two-link")
    with pytest.raises(UnreachableError, match=r"moves in a plane and the target is 0\.01 m above it"):
        ikine(robot, shift(0, 0, 0.01) @ fkine(robot, np.array([0.1, 0.5])))


# ------------------------------------------------------------------------------------------------ palletizer


def test_palletizer_without_limits_has_elbows_and_shoulders() -> None:
    robot = catalogue("palletizer-4")
    q = np.array([0.3, 1.9, -1.6, 0.5])
    branches = ikine_all(robot, fkine(robot, q), respect_limits=False)
    assert len(branches) == 4
    assert contains(branches, q)
    assert len(np.unique(np.round(branches[:, 0], 6))) == 2
    assert worst(robot, branches, fkine(robot, q)) < REPRODUCED


def test_palletizer_with_side_offset_and_offset_tool_on_a_tilted_base_is_solved() -> None:
    rng = np.random.default_rng(3)
    level = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, -1, -1, 0], [0, 0, 0, 1]]
    rows = [
        (0, 0.4, 0.2, HALF),
        (0, 0.1, 0.7, 0),
        (0, -0.05, 0.65, 0),
        (0.2, 0.03, 0.12, -HALF),
        (0, 0.1, 0, 0),
    ]
    robot = dh_chain(
        rows,
        "RRRRR",
        base=random_pose(rng),
        tool=random_pose(rng, 0.2),
        G=np.array(level),
        q0=[0, 0, 0, -0.2, 0],
    )
    assert isinstance(InverseKinematics.of(robot).solver, PalletizerSolver)
    for _ in range(20):
        q = rng.uniform(-2, 2, 4)
        T = fkine(robot, q)
        branches = ikine_all(robot, T)
        assert contains(branches, q)
        assert worst(robot, branches, T) < REPRODUCED


def test_palletizer_tilted_tool_is_refused() -> None:
    robot = catalogue("palletizer-4")
    with pytest.raises(UnreachableError, match="parallel to the column"):
        ikine(robot, fkine(robot, robot.q_home) @ rot("y", 0.1))


def test_palletizer_too_far_says_distance_and_reach() -> None:
    with pytest.raises(UnreachableError, match=r"from the second axis; the arm reaches 0\.05 \.\. 1\.35 m"):
        ikine(catalogue("palletizer-4"), shift(2.0, 0, 0))


# ----------------------------------------------------------------------------------------------------- DELTA


def test_delta_has_eight_branches_and_the_original_among_them() -> None:
    robot = catalogue("delta")
    solver = InverseKinematics.of(robot)
    assert isinstance(solver.solver, DeltaSolver)
    rng = np.random.default_rng(2)
    for _ in range(20):
        q = rng.uniform(-0.8, 0.8, 3)
        T = delta_fkine(robot, q)
        branches = solver.all(T)
        assert len(branches) == 8
        assert contains(branches, q)
        np.testing.assert_allclose(solver.nearest(T, q0=q), q, atol=1e-9)
        for branch in branches:  # the pose is one of both places where the forearms can meet
            places = solver.solver.tool_places(branch)
            assert min(float(np.linalg.norm(place - T[:3, 3])) for place in places) < REPRODUCED


def test_delta_forward_kinematics_is_vectorised() -> None:
    robot = catalogue("delta")
    q = np.random.default_rng(2).uniform(-0.5, 0.5, (2, 3, 3))
    poses = delta_fkine(robot, q)
    assert poses.shape == (2, 3, 4, 4)
    np.testing.assert_allclose(poses[1, 2], delta_fkine(robot, q[1, 2]), atol=0)


def test_delta_radii_that_differ_do_not_cancel_and_are_used() -> None:
    narrow, wide = catalogue("delta"), catalogue("delta", **{"variables.RA": "0.4 m"})
    T = delta_fkine(wide, [0.1, 0.2, 0.3])
    assert contains(ikine_all(wide, T), np.array([0.1, 0.2, 0.3]))
    assert not np.allclose(delta_fkine(narrow, [0.1, 0.2, 0.3]), T)


def test_delta_turned_plate_is_refused() -> None:
    robot = catalogue("delta")
    with pytest.raises(UnreachableError, match=r"never turns; the pose has it turned by 1\.146 deg"):
        ikine(robot, delta_fkine(robot, np.zeros(3)) @ rot("z", 0.02))


def test_delta_too_low_plate_names_the_arm_and_its_reach() -> None:
    with pytest.raises(UnreachableError, match=r"arm1: the plate joint is 3\.5 m .* reach 1 \.\. 3 m"):
        ikine(catalogue("delta"), shift(0, 0, -3.5))


def test_delta_elbows_too_far_apart_for_the_forearms_are_refused() -> None:
    robot = catalogue("delta", **{"variables.forearm": "1 m", "variables.RA": "1.5 m"})
    with pytest.raises(UnreachableError, match="too far apart"):
        delta_fkine(robot, np.zeros(3))


# ------------------------------------------------------------------------------------------- spherical wrist


def test_puma_without_limits_has_eight_branches() -> None:
    rng = np.random.default_rng(6)
    robot = puma(base=random_pose(rng), tool=random_pose(rng, 0.3))
    for _ in range(25):
        q = rng.uniform(-np.pi, np.pi, 6)
        T = fkine(robot, q)
        branches = ikine_all(robot, T)
        assert len(branches) == 8
        assert contains(branches, q)
        assert worst(robot, branches, T) < REPRODUCED


@pytest.mark.parametrize(("crossing", "parallel"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("seed", range(4))
def test_general_spherical_wrist_arm_original_is_among_the_branches(
    crossing: bool, parallel: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    robot = general_wrist_arm(rng, crossing=crossing, parallel=parallel)
    solver = InverseKinematics.of(robot)
    assert isinstance(solver.solver, SphericalWristSolver)
    for _ in range(15):
        q = rng.uniform(-np.pi, np.pi, 6)
        T = fkine(robot, q)
        branches = solver.all(T)
        assert contains(branches, q)
        assert worst(robot, branches, T) < REPRODUCED


def test_spherical_wrist_singular_keeps_joint_4_of_the_reference() -> None:
    robot = puma()
    q = np.array([0.2, 0.4, -0.3, 0.5, 0.0, 0.7])
    branches = ikine_all(robot, fkine(robot, q), q0=[0, 0, 0, 0.9, 0, 0])
    near = branches[np.argmin(np.max(np.abs(branches[:, :3] - q[:3]), axis=1))]
    assert near[3] == pytest.approx(0.9)
    assert near[3] + near[5] == pytest.approx(1.2)  # only the sum is determined
    assert worst(robot, branches, fkine(robot, q)) < REPRODUCED


def test_puma_at_right_angles_everywhere_is_solved() -> None:
    robot = puma()
    solver = InverseKinematics.of(robot)
    turns = (0.0, HALF, -HALF, np.pi)
    for q in itertools.product((0.0,), turns, turns, (0.0, HALF), turns, (0.0,)):
        T = fkine(robot, np.array(q))
        branches = solver.all(T, q0=q, respect_limits=False)
        if abs(q[4]) == HALF:  # otherwise joints 4 and 6 are in line
            # At a double root an angle is determined to the square root of the rounding only.
            assert contains(branches, np.array(q), 1e-6)
        assert worst(robot, branches, T) < REPRODUCED


def test_spherical_wrist_with_rounded_right_angles_is_recognised_and_exact() -> None:
    # Descriptions from drawings have 1.5708 for a right angle and lengths in tenths of millimetres.
    rows = [(a, round(d, 4), round(r, 4), round(alpha, 4)) for a, d, r, alpha in PUMA]
    robot = dh_chain(rows, "RRRRRR")
    assert isinstance(InverseKinematics.of(robot).solver, SphericalWristSolver)
    q = np.array([0.2, 0.4, -0.3, 0.5, 0.6, 0.7])
    branches = ikine_all(robot, fkine(robot, q))
    assert len(branches) == 8
    assert contains(branches, q)
    assert worst(robot, branches, fkine(robot, q)) < 1e-12


def test_spherical_wrist_too_far_says_distance_and_reach() -> None:
    with pytest.raises(
        UnreachableError, match=r"wrist centre is 2\.11 m from the shoulder; the arm reaches 0\.15"
    ):
        ikine(catalogue("puma560"), shift(2, 0, 0))


def test_spherical_wrist_oblique_axes_refuse_what_they_cannot_turn_to() -> None:
    rows = [*PUMA[:3], (0.0, 0.4318, 0.0, 0.5), (0.0, 0.0, 0.0, -0.5), (0.0, 0.0, 0.0, 0.0)]
    robot = dh_chain(rows, "RRRRRR")
    solver = InverseKinematics.of(robot)
    q = np.array([0.2, 0.4, -0.3, 0.5, 0.6, 0.7])
    assert contains(solver.all(fkine(robot, q)), q)
    wrist_away = fkine(robot, q) @ rot("x", 2.5)
    with pytest.raises(UnreachableError, match="not at right angles"):
        solver.all(wrist_away)


def test_urdf_arm_with_a_spherical_wrist_is_recognised_without_being_told() -> None:
    paths = [path for path in urdf_paths() if path.stem == "kinova"]
    assert paths, "the package example-robot-data is missing; make test installs it"
    robot = build_mechanism(read_description(str(paths[0])))
    solver = InverseKinematics.of(robot)
    assert isinstance(solver.solver, SphericalWristSolver)
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = inside(robot, rng)
        T = fkine(robot, q)
        branches = solver.all(T, respect_limits=False)
        assert contains(branches, q, 1e-6)
        assert worst(robot, branches, T) < REPRODUCED


def test_six_joints_without_a_common_wrist_point_are_searched() -> None:
    rows = [*PUMA[:4], (0.0, 0.1, 0.0, -HALF), (0.0, 0.0, 0.0, 0.0)]
    assert InverseKinematics.of(dh_chain(rows, "RRRRRR")).solver is None


def test_family_that_the_joints_do_not_form_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="kinematics: spherical-wrist"):
        InverseKinematics.of(
            mechanism_of([np.eye(4), rot("x", HALF), shift(0.3, 0, 0)], "RPR", family="spherical-wrist")
        )
