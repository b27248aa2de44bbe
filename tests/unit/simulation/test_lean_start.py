"""What a simulation does without SciPy, so that a process starts quickly, does the same as SciPy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial import cKDTree

from servotwin.control.tuning.sampled import exponential
from servotwin.simulation.results.motion_log import nearest_corner


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 5.0])
def test_exponential_of_a_small_matrix_is_scipys(size: float) -> None:
    random = np.random.default_rng(4)
    for n in (1, 3, 6):
        X = size * random.normal(size=(n, n))
        exact = expm(X)
        np.testing.assert_allclose(exponential(X), exact, rtol=0, atol=1e-12 * np.abs(exact).max())


def test_exponential_of_nothing_is_one() -> None:
    np.testing.assert_array_equal(exponential(np.zeros((3, 3))), np.eye(3))


def test_nearest_corner_is_that_of_a_search_tree() -> None:
    random = np.random.default_rng(5)
    corners = np.cumsum(random.normal(size=(400, 3)), axis=0) + np.array([1e3, 0.0, 0.0])
    points = corners[::2] + 0.3 * random.normal(size=(200, 3))
    np.testing.assert_array_equal(nearest_corner(points, corners), cKDTree(corners).query(points)[1])


SCRIPT = """
import sys
import servotwin as st
st.simulate("scara-a-axis-100deg", {"move.0.to": "{A: 1 deg}", "move.0.dwell": "0 s"})
assert "scipy.linalg" not in sys.modules and "scipy.spatial" not in sys.modules, "SciPy was imported"
import numba, numpy as np
product = numba.njit(lambda a, b: a @ b)(np.eye(2), np.full((2, 2), 3.0))  # numba finds the BLAS when it needs it
assert (product == 3.0).all() and "scipy.linalg" in sys.modules
"""


def test_simulation_leaves_scipy_alone_and_numba_its_linear_algebra() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
