"""Curves of the tool: ends, rates, circles through their points, arc length."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.dynamics.ik.pose import turn_errors
from servotwin.errors import InputError
from servotwin.motion.curves import Blend, circle, line, quintic_through
from servotwin.motion.rotations import turn_between, turned, turning_rates
from servotwin.motion.spline_curve import spline

RNG = np.random.default_rng(5)


def pose(turn=1.0) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3] = turned(turn * RNG.normal(size=3))
    X[:3, 3] = RNG.normal(size=3)
    return X


def curves():
    A, B = pose(), pose()
    ends = RNG.normal(size=(6, 6)) * 0.7
    still = A.copy()
    still[:3, :3] = B[:3, :3]
    return {
        "line": line(A, B),
        "turn": line(A, still),
        "circle": circle(A, RNG.normal(size=3), B),
        "spline": spline([pose(0.5) for _ in range(5)]),
        "blend": Blend(A, quintic_through(tuple(ends[:3]), tuple(ends[3:]))),
    }


@pytest.mark.parametrize("name", ["line", "turn", "circle", "spline", "blend"])
def test_rates_are_those_of_the_pose(name) -> None:
    curve = curves()[name]
    s = np.linspace(0.013, 0.987, 57) * curve.length
    h = 1e-5 * curve.length
    before, after = curve.pose(s - h), curve.pose(s + h)
    one, two = curve.rates(s)
    scale = np.abs(one).max()
    v = (after - before)[:, :3, 3] / (2 * h)
    w = turn_errors(after[:, :3, :3], before[:, :3, :3]) / (2 * h)
    # central differences err with h^2 of the third rate
    np.testing.assert_allclose(one, np.hstack([v, w]), atol=1e-5 * scale)
    slope = (curve.rates(s + h)[0] - curve.rates(s - h)[0]) / (2 * h)
    np.testing.assert_allclose(two, slope, atol=1e-5 * max(np.abs(two).max(), scale))


@pytest.mark.parametrize("name", ["line", "circle", "spline"])
def test_curves_are_measured_by_the_way_of_the_point(name) -> None:
    curve = curves()[name]
    one, _ = curve.rates(np.linspace(0.0, curve.length, 33))
    np.testing.assert_allclose(np.linalg.norm(one[:, :3], axis=1), 1.0, rtol=1e-12)


def test_line_and_circle_meet_their_ends() -> None:
    A, B, via = pose(), pose(), RNG.normal(size=3)
    for curve in (line(A, B), circle(A, via, B)):
        ends = curve.pose(np.array([0.0, curve.length]))
        np.testing.assert_allclose(ends, [A, B], atol=1e-14)


def test_circle_passes_through_its_point_between() -> None:
    A, B, via = pose(), pose(), RNG.normal(size=3)
    curve = circle(A, via, B)
    points = curve.pose(np.linspace(0.0, curve.length, 20_001))[:, :3, 3]
    assert np.linalg.norm(points - via, axis=1).min() < 1e-3
    assert np.linalg.norm(via - curve.centre) == pytest.approx(curve.radius)


def test_spline_passes_through_all_its_poses() -> None:
    X = [pose(0.5) for _ in range(6)]
    curve = spline(X)
    np.testing.assert_allclose(curve.pose(curve.knots), X, atol=1e-9)


@pytest.mark.parametrize("angle", [1e-9, 1e-5, 1e-3, 0.5, 3.0])
def test_turns_and_their_logarithm_are_inverse(angle) -> None:
    w = angle * np.array([0.36, -0.48, 0.8])
    np.testing.assert_allclose(turn_between(np.eye(3), turned(w)), w, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 5e-3, 1.2e-2, 0.7, 2.8])
def test_turning_rates_near_and_far_from_zero(angle) -> None:
    w = angle * np.array([[0.6, 0.0, 0.8]])
    wd, wdd = RNG.normal(size=(2, 1, 3))
    h = 1e-6
    omega, alpha = turning_rates(w, wd, wdd)
    R0, R1 = turned(w - h * wd), turned(w + h * wd)
    np.testing.assert_allclose(omega, turn_errors(R1, R0) / (2 * h), atol=1e-8)
    rates = [turning_rates(w + k * h * wd, wd + k * h * wdd, wdd)[0] for k in (-1, 1)]
    np.testing.assert_allclose(alpha, (rates[1] - rates[0]) / (2 * h), atol=1e-7)


def test_degenerate_circles_and_splines_are_refused() -> None:
    A, B = np.eye(4), np.eye(4)
    B[0, 3] = 1.0
    with pytest.raises(InputError, match="lie on one line"):
        circle(A, np.array([0.5, 0.0, 0.0]), B)
    with pytest.raises(InputError, match="coincide"):
        circle(A, np.zeros(3), B)
    with pytest.raises(InputError, match="at least two further points"):
        spline([A, B])
    with pytest.raises(InputError, match="points 1 and 2 of the spline coincide"):
        spline([A, B, B])


def test_line_that_goes_nowhere_has_no_length() -> None:
    assert line(np.eye(4), np.eye(4)).length == 0.0
