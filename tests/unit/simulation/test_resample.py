"""Curves at other instants, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.signal import correlate

from servotwin.simulation.comparing.align import _correlation, _least
from servotwin.simulation.comparing.resample import interpolate


def test_interpolate_with_a_rate_is_the_cubic_hermite_spline_and_held_beyond_the_ends() -> None:
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(0.01, 1.0, 50))
    x, rate = rng.standard_normal((2, 50))
    at = np.concatenate([rng.uniform(t[0], t[-1], 400), t])
    assert interpolate(t, x, at, rate) == pytest.approx(CubicHermiteSpline(t, x, rate)(at), abs=1e-12)
    assert interpolate(t, x, np.array([t[0] - 1.0, t[-1] + 1.0]), rate).tolist() == [x[0], x[-1]]


def test_interpolate_with_rows_that_share_an_instant_gives_numbers() -> None:
    t = np.array([0.0, 1.0, 1.0, 2.0, 2.0])
    found = interpolate(t, t.copy(), np.array([0.5, 1.0, 1.5, 2.0]), np.ones(5))
    assert found == pytest.approx([0.5, 1.0, 1.5, 2.0])


@pytest.mark.parametrize("sizes", [(1, 1), (5, 3), (3, 5), (64, 64), (65, 64)])
def test_correlation_has_all_lags(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    b, a = (rng.standard_normal(size) for size in sizes)
    assert _correlation(b, a) == pytest.approx(correlate(b, a), abs=1e-12)


def test_least_finds_the_minimum_and_ends_where_numbers_have_no_more_digits() -> None:
    assert _least(lambda x: (x - 0.3) ** 2, 0.0, 1.0)[0] == pytest.approx(0.3, abs=2e-8)
    assert _least(lambda x: (x - 1.7e9 - 0.3) ** 2, 1.7e9, 1.7e9 + 1.0)[0] == pytest.approx(
        1.7e9 + 0.3, abs=1e-6
    )
