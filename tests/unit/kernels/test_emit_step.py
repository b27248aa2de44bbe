"""The generated Runge-Kutta step of arm and motors, against the same step written with NumPy around ``accel``."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import servotwin as st
from servotwin.kernels.emit_step import BLOCKS, STATE, step_buffer_size
from servotwin.kernels.kernel_store import step_entry
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from tests.random_trees import random_mechanism


def _generated(robot: Robot, before: Array) -> Array:
    step = step_entry(robot.numbers)
    after = np.zeros_like(before)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(step.address)
    call(before.ctypes.data, after.ctypes.data, step.data.ctypes.data)
    return after[1 : 1 + len(STATE) * robot.mechanism.n_q].reshape(len(STATE), -1)


def _by_numpy(robot: Robot, before: Array) -> Array:
    h, given = before[0], dict(zip(BLOCKS, before[1:].reshape(len(BLOCKS), -1), strict=True))

    def slopes(state: Array) -> Array:
        q, v, i = state[:3]
        torque = given["pull"] * i - given["drag"] * v
        change = given["slope"] * given["volt"] - given["decay"] * i - given["back"] * v
        powers = [given["volt"] * i, i * i, given["emf"] * i, given["drag"] * v * v]
        return np.array([v, robot.accel(q, v, torque, drives=True), change, *powers])

    y = np.array([given[name] for name in STATE])
    k1 = slopes(y)
    k2 = slopes(y + h / 2 * k1)
    k3 = slopes(y + h / 2 * k2)
    k4 = slopes(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
def test_step_of_catalogue_robots_is_the_step_around_accel(name: str) -> None:
    robot = st.load_robot(name)
    random = np.random.default_rng(1)
    for _ in range(5):
        before = random.normal(size=step_buffer_size(robot.mechanism.n_q))
        before[0] = 1e-4
        np.testing.assert_allclose(
            _generated(robot, before), _by_numpy(robot, before), rtol=1e-11, atol=1e-13
        )


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_step_of_any_number_of_joints(n: int) -> None:
    robot = Robot(random_mechanism(np.random.default_rng(n), n=n, serial=True))
    before = np.random.default_rng(n).normal(size=step_buffer_size(n))
    before[0] = 1e-3
    np.testing.assert_allclose(_generated(robot, before), _by_numpy(robot, before), rtol=1e-10, atol=1e-12)
