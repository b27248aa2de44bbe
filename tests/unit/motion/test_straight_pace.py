"""Time-optimal motion along straight lines of several axes: the trapezoid or triangle of the scarce axes.

Along q = q_0 + s (q_1 - q_0) the limits are V = min v_i/|dq_i| and A = min a_i/|dq_i|, and from rest to rest

    T = 1/V + V/A  where V^2 <= A,  else  T = 2/sqrt(A)
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.motion.joint_path import JointPath, straight
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, MoveL
from servotwin.motion.retiming import quickest
from servotwin.motion.time_optimal import path_through, subdivided, time_optimal

GRID_ERROR = 1e-4  # the switches of a trapezoid are inside an interval of the grid
AXIS = """\
  X{k}:
    type: prismatic
    origin: {{xyz: [0 mm, 0 mm, 0 mm]}}
    axis: {axis}
    limits: {{position: [-2 m, 2 m], speed: {v} m/s, acceleration: {a} m/s^2}}
    link: {{mass: 5 kg}}
"""


@pytest.fixture(scope="module")
def sliders(tmp_path_factory):
    """Robots of 2 to 6 sliders in turns along x, y and z, with speeds and accelerations of their own."""
    folder, rng, robots = tmp_path_factory.mktemp("sliders"), np.random.default_rng(11), {}
    for n in range(2, 7):
        text = "format: servotwin/1\nname: sliders\naxes:\n"
        for k in range(n):
            axis = [[1, 0, 0], [0, 1, 0], [0, 0, 1]][k % 3]
            text += AXIS.format(k=k, axis=axis, v=f"{rng.uniform(0.3, 2):.3f}", a=f"{rng.uniform(1, 8):.3f}")
        path = folder / f"sliders-{n}.yaml"
        path.write_text(text, encoding="utf-8")
        robots[n] = st.load_robot(str(path))
    return robots


def least_time(step, limits) -> float:
    speed = np.min(limits.speed / np.abs(step))
    acceleration = np.min(limits.acceleration / np.abs(step))
    if speed**2 <= acceleration:
        return 1.0 / speed + speed / acceleration
    return 2.0 / math.sqrt(acceleration)


def strokes(n: int, count: int, seed: int):
    """Random pairs of ends, each in both directions."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        ends = rng.uniform(-0.9, 0.9, (2, n))
        yield ends
        yield ends[::-1]


def resampled(ends) -> JointPath:
    """The line over 65 points whose parameters are sums, as those of a planned motion are."""
    length = 0.3 * np.linalg.norm(ends[1] - ends[0])
    s = np.append(0.0, np.cumsum(np.full(64, length / 64)))
    rate = np.tile((ends[1] - ends[0]) / s[-1], (65, 1))
    return JointPath(s, ends[0] + s[:, None] * rate, rate, np.zeros_like(rate))


@pytest.mark.parametrize("limited", [True, False], ids=["speed-limited", "speed-free"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_straight_line_takes_the_time_of_its_scarce_axes(sliders, n: int, limited: bool) -> None:
    limits = limits_of(sliders[n])
    limits = limits if limited else replace(limits, speed=np.full(n, np.inf))
    for ends in strokes(n, 6, seed=n):
        expected = least_time(ends[1] - ends[0], limits)
        for path in (straight(*ends), resampled(ends), path_through(ends)):
            assert time_optimal(sliders[n], path, limits).duration == pytest.approx(expected, rel=GRID_ERROR)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_planned_joint_moves_become_no_slower_and_reach_the_closed_form(sliders, n: int) -> None:
    limits = limits_of(sliders[n])
    for ends in strokes(n, 4, seed=20 + n):
        expected = least_time(ends[1] - ends[0], limits)
        for profile in ("trapezoid", "cubic-ramp", "quintic"):
            slow = plan(sliders[n], ends[0], [MoveJ(ends[1], profile=profile)], limits)
            fast = quickest(sliders[n], slow, limits)
            assert fast.duration == pytest.approx(expected, rel=GRID_ERROR)
            assert fast.duration <= slow.duration * (1.0 + GRID_ERROR)


def test_planned_lines_of_the_tool_become_no_slower_and_reach_the_closed_form(sliders) -> None:
    limits = limits_of(sliders[3])
    for ends in strokes(3, 5, seed=31):
        slow = plan(sliders[3], ends[0], [MoveL(sliders[3].fkine(ends[1]))], limits)
        fast = quickest(sliders[3], slow, limits)
        assert fast.duration == pytest.approx(least_time(ends[1] - ends[0], limits), rel=GRID_ERROR)
        assert fast.duration <= slow.duration


@pytest.mark.parametrize("grid", [64, 100, 200, 333])
def test_grid_has_the_points_and_no_step_that_is_long_or_of_rounding_size(grid: int) -> None:
    rng = np.random.default_rng(grid)
    for s in (np.cumsum(np.full(65, 0.1 / 3.0)), np.sort(rng.uniform(0.0, 3.0, 30)), np.array([0.0, 0.7])):
        fine, most = subdivided(s, grid), (s[-1] - s[0]) / grid
        assert np.isin(s, fine).all()
        assert np.diff(fine).max() <= most * (1.0 + 1e-6)
        assert np.diff(fine).min() >= min(0.5 * most, np.diff(s).min()) * (1.0 - 1e-6)
        assert fine.size <= s.size + grid


@pytest.mark.parametrize("beside", [1e-12, 1e-9, 1e-7])
def test_waypoint_beside_a_point_of_an_even_grid_costs_no_time(sliders, beside: float) -> None:
    limits = limits_of(sliders[3])
    for ends in strokes(3, 3, seed=41):
        middle = ends[0] + (0.25 + beside) * (ends[1] - ends[0])
        found = time_optimal(sliders[3], np.array([ends[0], middle, ends[1]]), limits).duration
        assert found == pytest.approx(least_time(ends[1] - ends[0], limits), rel=GRID_ERROR)


def test_straight_lines_take_as_long_as_toppra_says(sliders) -> None:
    import toppra as ta  # an extra of the tests: its absence is a failure, not a skip

    ta.setup_logging("ERROR")
    for n, robot in sliders.items():
        limits = limits_of(robot)
        bounds = [
            ta.constraint.JointVelocityConstraint(np.stack([-limits.speed, limits.speed], axis=1)),
            ta.constraint.JointAccelerationConstraint(
                np.stack([-limits.acceleration, limits.acceleration], axis=1)
            ),
        ]
        for ends in strokes(n, 2, seed=50 + n):
            path = ta.SplineInterpolator([0.0, 1.0], ends, bc_type="natural")
            peer = ta.algorithm.TOPPRA(
                bounds, path, gridpoints=np.linspace(0.0, 1.0, 1001), parametrizer="ParametrizeConstAccel"
            )
            expected = peer.compute_trajectory(0.0, 0.0).duration
            assert time_optimal(robot, resampled(ends), limits).duration == pytest.approx(expected, rel=5e-4)
