"""Linear systems without pivoting, and jets: the small algebra behind closed chains, on plain floats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from servotwin.dynamics.forward import NoInertiaError
from servotwin.dynamics.jets import Jet
from servotwin.dynamics.linear import QR, solve_saddle


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (4, 4), (7, 3), (6, 6)])
def test_qr_solves_least_squares_and_shortest_solutions(rows, columns):
    rng = np.random.default_rng(rows)
    A, b, c = rng.normal(size=(rows, columns)), rng.normal(size=rows), rng.normal(size=columns)
    A[rng.random(A.shape) < 0.3] = 0.0
    A[:columns] += 2 * np.eye(columns)
    made = QR.of(A.tolist(), math.sqrt)
    np.testing.assert_allclose(made.solve(b.tolist()), np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-13)
    np.testing.assert_allclose(
        made.solve_transposed(c.tolist()), np.linalg.lstsq(A.T, c, rcond=None)[0], atol=1e-13
    )
    rest = np.array(made.without(b.tolist()))
    np.testing.assert_allclose(A.T @ rest, 0.0, atol=1e-13)


def test_qr_of_an_ill_conditioned_matrix_keeps_the_accuracy_of_its_condition():
    rng = np.random.default_rng(0)
    U, _, V = np.linalg.svd(rng.normal(size=(6, 6)))
    A = U @ np.diag(np.logspace(0, -7, 6)) @ V
    x = rng.normal(size=6)
    made = QR.of(A.tolist(), math.sqrt)
    # condition 1e7: seven of sixteen digits may go, as with Householder transformations
    np.testing.assert_allclose(made.solve((A @ x).tolist()), x, atol=1e-7)
    np.testing.assert_allclose(made.solve_transposed((A.T @ x).tolist()), x, atol=1e-7)


def test_saddle_system_with_massless_coordinates_is_solved():
    rng = np.random.default_rng(1)
    S = rng.normal(size=(3, 6))
    M = np.diag([3.0, 0.0, 2.0, 0.0, 0.0, 1.0])  # singular, but positive along the null space of S
    f, g = rng.normal(size=6), rng.normal(size=3)
    x, y = solve_saddle(M.tolist(), S.tolist(), f.tolist(), g.tolist())
    K = np.block([[M, -S.T], [S, np.zeros((3, 3))]])
    np.testing.assert_allclose([*x, *y], np.linalg.solve(K, [*f, *g]), atol=1e-12)


def test_saddle_system_names_the_coordinate_without_inertia():
    with pytest.raises(NoInertiaError) as caught:
        solve_saddle([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0]], [[1.0, 0.0, 1.0]], [0.0] * 3, [0.0])
    assert caught.value.joint == 1


def test_jet_arithmetic_is_that_of_derivatives():
    def f(t):
        a, b = Jet(t, 1.0), Jet(t**2, 2 * t, 2.0)
        return (3.0 - a * b) * (b + 1.0) - 2.0 * a + (-b)

    t, h = 0.7, 1e-4
    got = f(t)
    before, after = f(t - h).v, f(t + h).v
    assert got.d == pytest.approx((after - before) / (2 * h), rel=1e-6)
    assert got.dd == pytest.approx((after - 2 * got.v + before) / h**2, rel=1e-5)
