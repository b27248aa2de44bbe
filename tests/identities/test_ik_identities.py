"""Inverse kinematics undoes forward kinematics, for every arm that has a closed form and every position."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from servotwin.description.load import read_description
from servotwin.dynamics.ik import InverseKinematics, delta_fkine
from servotwin.errors import UnreachableError
from servotwin.mechanism.build import build_mechanism
from tests.unit.dynamics.ik_arms import contains, fkine, general_wrist_arm, pose_distance, random_pose, scara

REPRODUCED = 1e-9  # m and rad, the promise of every closed form
seeds = st.integers(0, 2**32 - 1)
unit = st.floats(0.0, 1.0)

SERIAL = {
    name: build_mechanism(read_description(name))
    for name in ("gsis-scara", "daiv-1", "daiv-1-simplified", "met-two-link", "palletizer-4", "puma560")
}
SOLVERS = {name: InverseKinematics.of(robot) for name, robot in SERIAL.items()}
DELTA = build_mechanism(read_description("delta"))
DELTA_SOLVER = InverseKinematics.of(DELTA)


@given(st.sampled_from(sorted(SERIAL)), st.lists(unit, min_size=6, max_size=6))
@settings(max_examples=150)
def test_catalogue_arm_every_branch_reproduces_the_pose_inside_limits(name: str, where: list[float]) -> None:
    robot = SERIAL[name]
    low = np.where(np.isfinite(robot.limits.q_min), robot.limits.q_min, -np.pi)
    high = np.where(np.isfinite(robot.limits.q_max), robot.limits.q_max, np.pi)
    q = low + np.array(where[: robot.n_q]) * (high - low)
    T = fkine(robot, q)
    # Whether q is inside the ranges of all quantities, by more than a joint at a double root is uncertain.
    allowed = bool((robot.quantities.beyond(q) < -1e-5).all())
    try:
        branches = SOLVERS[name].all(T, q0=q)
    except UnreachableError:
        assert not allowed  # such a position is no solution, and the pose need not have another
        return
    for branch in branches:
        assert (robot.quantities.beyond(branch) < 1e-8).all()
        assert pose_distance(fkine(robot, branch), T) < REPRODUCED
        assert np.all((branch >= robot.limits.q_min) & (branch <= robot.limits.q_max))
    # Joints at a double root (stretched arm, wrist over the shoulder) are determined to sqrt(rounding).
    if not allowed:
        return
    assert contains(branches, q, 1e-5)
    nearest = SOLVERS[name].nearest(T, q0=q)
    assert np.max(np.abs(nearest - q)) < 1e-5


@given(seeds, st.sampled_from(["general", "crossing", "parallel"]))
@settings(max_examples=60)
def test_random_spherical_wrist_arm_is_inverted(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    robot = general_wrist_arm(rng, crossing=kind == "crossing", parallel=kind == "parallel")
    q = rng.uniform(-np.pi, np.pi, 6)
    T = fkine(robot, q)
    branches = InverseKinematics.of(robot).all(T)
    assert len(branches) <= 8
    assert contains(branches, q, 1e-5)
    assert max(pose_distance(fkine(robot, branch), T) for branch in branches) < REPRODUCED


@given(seeds)
@settings(max_examples=60)
def test_random_scara_anywhere_with_any_tool_is_inverted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = scara(base=random_pose(rng), tool=random_pose(rng))
    q = rng.uniform(-np.pi, np.pi, 4)
    T = fkine(robot, q)
    branches = InverseKinematics.of(robot).all(T)
    assert len(branches) <= 2
    assert contains(branches, q, 1e-5)
    assert max(pose_distance(fkine(robot, branch), T) for branch in branches) < REPRODUCED


@given(st.lists(st.floats(-1.2, 1.2), min_size=3, max_size=3))
@settings(max_examples=60)
def test_delta_inverse_undoes_forward(angles: list[float]) -> None:
    q = np.array(angles)
    try:
        T = delta_fkine(DELTA, q)
    except UnreachableError:
        return  # the forearms do not meet
    branches = DELTA_SOLVER.all(T, q0=q)
    assert len(branches) <= 8
    assert contains(branches, q, 1e-5)
