"""Shaped motions: convolution, frequencies that are followed, and moves one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from servotwin.linear.shapers import shaper
from servotwin.motion.path_length import PathLength
from servotwin.motion.shaping import ShapedMode, ShapingFilter, by_way, shaped_joints

T = 1e-3


def smooth(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A move of two joints in 1 s from rest to rest, trapezoidal."""
    x = np.clip(t, 0.0, 1.0)
    s = np.where(x < 0.25, 2.0 * x**2, np.where(x < 0.75, x - 0.125, 0.75 - 2.0 * (1.0 - x) ** 2))
    v = np.where(x < 0.25, 4.0 * x, np.where(x < 0.75, 1.0, 4.0 * (1.0 - x)))
    a = np.where((x > 0.0) & (x < 0.25), 4.0, np.where((x > 0.75) & (x < 1.0), -4.0, 0.0))
    way = np.array([0.8, -0.3])
    return s[:, None] * way, v[:, None] * way, a[:, None] * way


def test_constant_frequency_is_the_convolution_with_the_taps() -> None:
    made = shaper("zvd", np.pi / (20 * T))  # its impulses lie on samples
    chain = ShapingFilter([ShapedMode(made)], T, np.zeros((3, 2)))
    signals = np.stack(smooth(T * np.arange(1, 1101)), axis=1)
    out = np.array([chain.step(signal, 0.0) for signal in signals])
    for k in range(3):
        for j in range(2):
            expected = np.convolve(np.append(np.zeros(50), signals[:, k, j]), made.taps(T))[50 : 50 + 1100]
            np.testing.assert_allclose(out[:, k, j], expected, atol=1e-9)


def residual(command: Callable[[float], float], natural: Callable[[float], float], end: float) -> float:
    """Swing after ``end`` [s] of x'' + w(u)^2 (x - u) = 0, whose frequency follows the command u."""

    def rates(t: float, x: np.ndarray) -> list[float]:
        u = command(t)
        w = natural(u)
        return [x[1], -w * w * (x[0] - u)]

    found = solve_ivp(rates, (0.0, end), [0.0, 0.0], rtol=1e-9, atol=1e-12, max_step=2e-3)
    x, v = found.y[:, -1]
    u = command(end)
    return float(np.hypot(x - u, v / natural(u)))


def test_followed_frequency_leaves_a_third_of_what_any_fixed_one_leaves() -> None:
    """Undamped, with a frequency that falls from 16 to 8 Hz along a quick move: fixed shapers are wrong somewhere."""

    def natural(u: float) -> float:
        return 2.0 * np.pi * (16.0 - 8.0 * min(max(u, 0.0), 1.0))

    t = np.arange(0.0, 1.0, T)
    quick = 0.5  # s
    x = np.clip(t / quick, 0.0, 1.0)
    s = np.where(x < 0.5, 2.0 * x**2, 1.0 - 2.0 * (1.0 - x) ** 2)
    v = np.gradient(s, T)
    a = np.gradient(v, T)
    left = {}
    for name, mode in {
        "follows": ShapedMode(shaper("zvd", natural(1.0)), natural),
        "begin": ShapedMode(shaper("zvd", natural(0.0))),
        "middle": ShapedMode(shaper("zvd", natural(0.5))),
        "end": ShapedMode(shaper("zvd", natural(1.0))),
    }.items():
        chain = ShapingFilter([mode], T, np.zeros((3, 1)))
        out = [0.0]
        for k in range(1, len(t)):
            out.append(float(chain.step(np.array([[s[k]], [v[k]], [a[k]]]), out[-1])[0, 0]))
        left[name] = residual(lambda now, out=out: float(np.interp(now, t, out)), natural, 0.9)  # type: ignore[misc]
    unshaped = residual(lambda now: float(np.interp(now, t, s)), natural, 0.9)
    assert left["follows"] < unshaped / 20.0
    assert 3.0 * left["follows"] < min(left["begin"], left["middle"], left["end"])


def test_rates_of_a_followed_command_are_those_of_its_positions() -> None:
    mode = ShapedMode(shaper("zvd", 50.0, 0.1), lambda part: 90.0 - 40.0 * part)
    chain = ShapingFilter([mode], T, np.zeros((3, 2)))
    out = [np.zeros((3, 2))]
    for signal in np.stack(smooth(T * np.arange(1, 1300)), axis=1):
        out.append(chain.step(signal, float(out[-1][0, 0] / 0.8)))
    q, qd = np.array(out)[:, 0], np.array(out)[:, 1]
    np.testing.assert_allclose(np.diff(q, axis=0) / T, 0.5 * (qd[1:] + qd[:-1]), atol=3e-3)


def test_moves_one_after_the_other_wait_for_each_other_and_keep_their_dwells() -> None:
    def sample(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second = smooth(t), smooth(t - 1.2)
        return tuple(a - b for a, b in zip(first, second, strict=True))  # type: ignore[return-value]

    made = shaper("zv", 50.0)
    motion = shaped_joints(
        sample, np.array([0.0, 1.2]), np.array([1.0, 1.0]), 2.5, lambda poses: [ShapedMode(made)], T
    )
    longer = made.duration
    assert motion.durations == pytest.approx([1.0 + longer] * 2, abs=2 * T)
    assert motion.start_times[1] == pytest.approx(1.2 + longer, abs=3 * T)
    assert motion.duration == pytest.approx(2.5 + 2.0 * longer, abs=4 * T)
    q, qd, _ = motion.sample(np.linspace(0.0, motion.duration, 4001))
    # straight in joint space, as all joints are shaped alike
    np.testing.assert_allclose(q[:, 1], -0.375 * q[:, 0], atol=1e-12)
    assert np.abs(qd).max() <= 0.8 * (1.0 + 1e-9)
    assert np.abs(np.gradient(q[:, 0], motion.duration / 4000) - qd[:, 0]).max() < 5e-3
    assert np.abs(motion.samples[:, 2]).max() <= 3.2 * (1.0 + 1e-9)


def test_by_way_gives_poses_after_equal_parts_of_the_way() -> None:
    poses = by_way(smooth(np.linspace(0.0, 1.0, 201))[0], 11)
    np.testing.assert_allclose(poses[:, 0], 0.6 * np.linspace(0.0, 1.0, 11), atol=1e-12)
    np.testing.assert_allclose(poses[:, 1], -0.375 * poses[:, 0], atol=1e-12)


class Line:
    """A motion as planners give it."""

    duration = 1.0

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return smooth(t)


def test_path_length_is_that_of_the_motion_and_its_inverse_leads_back() -> None:
    path = PathLength.of(Line(), np.array([1.0, 2.0]), 5e-4, np.array([0.25, 0.75]))
    assert path.length == pytest.approx(0.75 * np.hypot(0.8, 0.15), rel=1e-9)
    for time in (0.0, 0.001, 0.2, 0.25, 0.6, 0.999, 1.0):
        assert path.time(path.at(time)) == pytest.approx(time, abs=1e-6)
    _, first, second = path.tangent(0.5)
    np.testing.assert_allclose(first, np.array([0.8, -0.3]) / np.hypot(0.8, 0.15), rtol=1e-9)
    np.testing.assert_allclose(second, 0.0, atol=1e-9)
