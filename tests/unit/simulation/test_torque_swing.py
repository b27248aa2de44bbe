"""How far the pulses of a window can swing the torque of a motor: never less than it really swings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from servotwin.drives.records import MOTOR
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.windows.dc_friction_window import torque_swing
from servotwin.simulation.windows.dc_window import all_window_functions, answer_to_pulses

K, L, BUS, SPAN, START = 0.1, 1e-3, 60.0, 2e-4, 0.3


@njit
def _swing(worlds: Any, motors: Any, start: float, span: float) -> float:
    world = worlds[0]
    all_window_functions(world, span)
    answer_to_pulses(world, motors[0], 0, world.state.y[2], world.state.u_bus, start, span)
    return torque_swing(world, motors, 0)


def window(rate: float, w: float, alpha: float, edges: tuple[float, ...], levels: tuple[float, ...]) -> Any:
    """A window of one motor with the resistance ``rate`` L, and what a dense integration of its current swings."""
    worlds, motors = np.zeros(1, WORLD), np.zeros(1, MOTOR)
    world, motor = worlds[0], motors[0]
    motor["K"], motor["L"], motor["R"], motor["w"] = K, L, rate * L, w
    world["n"], world["state"]["u_bus"], world["dc"]["decay"][0], world["dc"]["emf_rate"][0] = (
        1,
        BUS,
        rate,
        K / L,
    )
    world["prediction"]["alpha"][0] = alpha
    world["pattern"]["edges"][0] = len(edges)
    world["pattern"]["times"][0, : len(edges)] = START + np.array(edges)
    world["pattern"]["level_a"][0, : len(levels)] = levels
    current = world["state"]["y"][2] = 0.3
    steps = 20_000
    h, found = SPAN / steps, [current]
    for k in range(steps):
        t = (k + 0.5) * h
        u = BUS * levels[int(np.searchsorted(edges, t))]
        final = (u - K * (w + alpha * t)) / (rate * L)
        current = final + (current - final) * np.exp(-rate * h)
        found.append(current)
    return worlds, motors, K * np.ptp(found)


@pytest.mark.parametrize("share", [0.02, 0.3, 1.0, 3.0])  # R T / L
@pytest.mark.parametrize("speed", [-0.9, -0.3, 0.5, 0.9])  # back-EMF over bus voltage
@pytest.mark.parametrize("first", [0.15, 0.45])
def test_torque_swing_is_the_least_bound_whatever_the_time_constant(
    share: float, speed: float, first: float
) -> None:
    edges, levels = (first * SPAN, (first + 0.4) * SPAN), (0.0, 1.0 if speed > 0.0 else -1.0, 0.0)
    worlds, motors, true = window(share / SPAN, speed * BUS / K, 2e4, edges, levels)
    found = _swing(worlds, motors, START, SPAN)
    assert true * (1.0 - 1e-4) <= found <= 1.1 * true
