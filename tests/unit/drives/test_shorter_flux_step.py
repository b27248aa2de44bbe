"""Short steps of a synchronous motor against a general integrator, and where lanes may take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

from servotwin.drives.pmsm.step import SHORTER, shorter_flux_step, smaller_turn

R, L_D, L_Q, PSI, P = 0.9, 2.1e-3, 3.4e-3, 0.05, 5.0
W, ALPHA, JERK = 400.0, 9e3, -4e6
TURN = 0.8  # electrical angle as the step begins
U = (90.0, -35.0)  # V
D_0, Q_0 = 0.052, 0.012  # V s


@njit
def _step(h: float, c: float, s: float) -> Any:
    return shorter_flux_step(
        R, 1.0 / L_D, 1.0 / L_Q, PSI, P, W, ALPHA, JERK, c, s, 90.0, -35.0, 0.052, 0.012, h
    )


def _rates(t: float, y: np.ndarray) -> list[float]:
    """Fluxes, torque and its moments with t, t^2/2 and t^3/6, power, 3/2 i^2, i_q (eq:pmsm)."""
    D, Q = y[0], y[1]
    w = W + t * (ALPHA + 0.5 * t * JERK)
    angle = TURN + P * t * (W + t * (ALPHA / 2.0 + t * JERK / 6.0))
    c, s = np.cos(angle), np.sin(angle)
    u_d, u_q = c * U[0] + s * U[1], c * U[1] - s * U[0]
    i_d, i_q = (D - PSI) / L_D, Q / L_Q
    torque = 1.5 * P * (D * i_q - Q * i_d)
    return [
        u_d - R * i_d + P * w * Q, u_q - R * i_q - P * w * D,
        torque, torque * t, torque * t * t / 2.0, torque * t**3 / 6.0,
        1.5 * (u_d * i_d + u_q * i_q), 1.5 * (i_d * i_d + i_q * i_q), i_q,
    ]  # fmt: skip


@pytest.mark.parametrize("part", [1.0, 0.5, 0.0])
def test_step_meets_an_integrator_to_what_is_said_to_be_left_out(part: float) -> None:
    """x^5/5! of the flux, 1.2e-10, and as much of what the voltage adds; integrals of currents: some times that."""
    h = part * SHORTER / (R / L_D + P * W)
    got = np.array(_step(h, np.cos(TURN), np.sin(TURN)))
    y_0 = [D_0, Q_0, *7 * [0.0]]
    small = np.array([1e-18, 1e-18, 1e-18, 1e-22, 1e-28, 1e-33, 1e-18, 1e-18, 1e-18])
    true = solve_ivp(_rates, (0.0, max(h, 1e-30)), y_0, method="DOP853", rtol=1e-13, atol=small).y[:, -1]
    np.testing.assert_allclose(got[:2], true[:2], rtol=0, atol=4e-10 * np.hypot(D_0, Q_0))
    np.testing.assert_allclose(got[2:], true[2:], rtol=6e-9, atol=1e-26 if h == 0.0 else 0.0)


def test_small_turns_are_cosine_and_sine() -> None:
    x = np.linspace(-SHORTER, SHORTER, 101)
    turn = njit(smaller_turn.py_func)
    got = np.array([turn(each) for each in x])
    np.testing.assert_allclose(got, np.stack([np.cos(x), np.sin(x)], axis=1), rtol=0, atol=1e-12)
