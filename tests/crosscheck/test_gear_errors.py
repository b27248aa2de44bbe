"""A rotor and an arm behind a gear with hysteresis and transmission error swing as SciPy integrates them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from servotwin.simulation.plant.faults import cut_power
from servotwin.simulation.windows.choice import choose_window
from tests import small_drives as small

STIFFNESS, DAMPING, WIDTH = 8000.0, 1.0, 2e-3  # N m/rad, N m s/rad, rad at the joint
ORDER, AMPLITUDE, PHASE = 3.0, 5e-4, 0.7
SPAN = 0.05


def written_down_again(_t: float, y: Any) -> list[float]:
    """Rates of q, qd, theta, w and the hysteresis, at the joint's side."""
    q, qd, theta, w, z = y
    n = small.RATIO
    tooth = AMPLITUDE * (math.sin(ORDER * theta + PHASE) - math.sin(PHASE))
    slope = AMPLITUDE * ORDER * math.cos(ORDER * theta + PHASE)
    twist = theta / n + tooth - q
    rate = w / n + slope * w - qd
    torque = STIFFNESS * (twist + z) + DAMPING * rate
    z_dot = rate - abs(rate) * z / (WIDTH / 2)
    return [qd, torque / small.LOAD, w, (-small.VISCOUS * w - (1.0 / n + slope) * torque) / small.J, z_dot]


@pytest.mark.parametrize("method", ["fast", "adaptive"])
def test_unpowered_motor_and_arm_swing_alike(tmp_path: Path, method: str) -> None:
    errors = {
        "stiffness": f"{STIFFNESS} N*m/rad", "damping": f"{DAMPING} N*m*s/rad", "hysteresis": f"{WIDTH} rad",
        "transmission_error": [[ORDER, f"{AMPLITUDE} rad", f"{PHASE} rad"]],
    }  # fmt: skip
    machine = small.robot({"error_sources": {"enabled": "true", "axes": {"A": errors}}})
    plant = small.prepared(tmp_path, machine, {"solver": {"method": method}}).machine
    cut_power(plant)
    at_theta, at_w, n_x = (int(plant.world[name][0]) for name in ("at_theta", "at_w", "n_x"))
    at_z = int(plant.motors["hysteresis_at"][0])
    plant.y[at_theta], plant.y[at_w] = 1.0, 40.0
    plant.motors["theta"], plant.motors["w"] = 1.0, 40.0
    choose_window(plant)
    plant.advance(round(SPAN * 1e9))
    wanted = solve_ivp(
        written_down_again, (0.0, SPAN), [0.0, 0.0, 1.0, 40.0, 0.0], method="DOP853", rtol=1e-11, atol=1e-13
    ).y[:, -1]
    # four swings; the plant counts the hysteresis at the motor. The fast method takes steps of third order as long as
    # its windows, a seventieth of a swing, across the kinks where the twist turns round
    found = plant.y[[0, n_x, at_theta, at_w, at_z]] / np.array([1.0, 1.0, 1.0, 1.0, small.RATIO])
    assert plant.world["state"]["status"][0] == 0
    assert found == pytest.approx(wanted, rel=2e-3 if method == "fast" else 1e-6)
