"""The largest value of a function between its samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.motion.extremes import Cells, cells_between


@given(st.floats(0.5, 3.0), st.floats(0.0, 6.0), st.floats(-0.5, 0.5))
def test_peak_of_a_wave_is_found_between_the_samples(frequency, phase, offset) -> None:
    cells = Cells(np.linspace(0.0, 4.0, 17))

    def wave(t):
        return offset + np.sin(frequency * t + phase)

    fine = np.abs(wave(np.linspace(0.0, 4.0, 400_001))).max()
    peak = cells.largest(wave(cells.at)[:, None])
    assert fine <= peak.size <= fine + 1e-6
    assert abs(wave(np.array([peak.place]))[0]) == pytest.approx(fine, rel=1e-6)


def test_polynomials_up_to_the_sixth_order_are_exact() -> None:
    rng = np.random.default_rng(1)
    cells = cells_between(np.array([0.0, 0.3, 1.0]), np.array([0.3, 0.7]))
    np.testing.assert_array_equal(cells.edges, [0.0, 0.3, 0.7, 1.0])
    for _ in range(50):
        p = np.polynomial.Polynomial(rng.uniform(-1, 1, 7))
        exact = np.abs(p(np.append(p.deriv().roots().real, [0.0, 1.0]).clip(0.0, 1.0))).max()
        peak = cells.largest(np.stack([p(cells.at), 0.1 * p(cells.at)], axis=1))
        assert peak.column == 0
        assert peak.size - peak.doubt <= exact * (1 + 1e-12) + 1e-13
        assert peak.size >= exact * (1 - 1e-12)
        np.testing.assert_allclose(cells.slopes(p(cells.at)[:, None])[:, 0], p.deriv()(cells.at), atol=1e-12)


def test_constant_has_no_doubt() -> None:
    cells = Cells(np.linspace(0.0, 1.0, 5))
    peak = cells.largest(np.full((cells.at.size, 2), -3.0))
    assert (peak.size, peak.doubt) == (3.0, 0.0)
