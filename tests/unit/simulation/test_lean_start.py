"""What a simulation does without SciPy, so that a process starts quickly, does the same as SciPy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial import cKDTree

import servotwin as st
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


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 33])
def test_nearest_corner_of_few_is_the_first_of_those_as_near(count: int) -> None:
    random = np.random.default_rng(6)
    corners = np.round(4.0 * random.normal(size=(count, 3)))  # some twice, in blocks that are not full
    points = np.round(4.0 * random.normal(size=(150, 3)))  # whole numbers: equal distances are equal
    squares = np.square(points[:, None] - corners).sum(axis=2)
    np.testing.assert_array_equal(nearest_corner(points, corners), np.argmin(squares, axis=1))


MOVE = {"move.0.to": "{A: 1 deg}", "move.0.dwell": "0 s"}
SCRIPT = f"""
import sys
import servotwin as st
st.simulate("scara-a-axis-100deg", {MOVE})
assert "scipy.linalg" not in sys.modules and "scipy.spatial" not in sys.modules, "SciPy was imported"
unwanted = "simulation.windows.pmsm_window", "simulation.windows.elastic_window", "control.tuning.shaper_choice"
there = [name for name in unwanted if "servotwin." + name in sys.modules]
assert not there, "a robot with DC motors and stiff gears imported " + ", ".join(there)
import numba, numpy as np
from numba.core.registry import cpu_target
learnt = len(cpu_target.typing_context._functions)
assert learnt == 0, "numba learnt how to compile, only to load code from disk"
product = numba.njit(lambda a, b: a @ b)(np.eye(2), np.full((2, 2), 3.0))  # numba finds the BLAS when it needs it
assert (product == 3.0).all() and "scipy.linalg" in sys.modules
"""


def test_simulation_imports_what_it_needs_and_leaves_numba_its_linear_algebra() -> None:
    st.simulate("scara-a-axis-100deg", MOVE)  # so that its code is on disk
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_point_that_is_no_number_has_a_corner_too() -> None:
    """The last of a diverged run: its neighbours keep their corners."""
    corners = np.random.default_rng(3).normal(size=(70, 3))
    points = np.vstack((corners[:9] + 1e-3, np.full((1, 3), np.nan)))
    np.testing.assert_array_equal(nearest_corner(points, corners)[:9], np.arange(9))
