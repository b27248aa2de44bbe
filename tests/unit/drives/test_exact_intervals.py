"""Currents between two edges against closed forms and brute force, down to windings without resistance."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

from servotwin.drives.dc.interval import dc_interval
from servotwin.drives.pmsm.interval import pmsm_interval

L, K, TAU = 0.8e-3, 0.12, 2e-4
GIVEN = {"u": 60.0, "i0": 1.3, "w0": 100.0, "alpha": 3e4, "jerk": -5e7}
RESISTANCES = (0.0, 1e-12, 1e-8, 1e-6, 1e-4, 1e-2, 0.5, 0.99, 1.01, 3.0, 20.0)


@njit
def _dc(R: float, u: float, i0: float, w0: float, alpha: float, jerk: float) -> Any:
    return dc_interval(R, L, K, u, i0, w0, alpha, jerk, TAU)


def _by_series(R: float) -> list[float]:
    """End, integrals of i, i t, i^2 from sixty terms of the power series in fifty digits."""
    with mp.workdps(50):
        rate, slope = mp.mpf(R) / mp.mpf(L), 1 / mp.mpf(L)
        force = [
            mp.mpf(GIVEN["u"]) - K * GIVEN["w0"],
            -mp.mpf(K) * GIVEN["alpha"],
            -mp.mpf(K) * GIVEN["jerk"] / 2,
        ]
        c = [mp.mpf(GIVEN["i0"])]
        for k in range(60):
            c.append(((slope * force[k] if k < 3 else 0) - rate * c[k]) / (k + 1))
        tau = mp.mpf(TAU)
        end = sum(a * tau**k for k, a in enumerate(c))
        first = sum(a * tau ** (k + 1) / (k + 1) for k, a in enumerate(c))
        moment = sum(a * tau ** (k + 2) / (k + 2) for k, a in enumerate(c))
        square = sum(
            a * b * tau ** (j + k + 1) / (j + k + 1) for j, a in enumerate(c) for k, b in enumerate(c)
        )
        return [float(value) for value in (end, first, moment, square)]


@pytest.mark.parametrize("R", RESISTANCES)
def test_dc_interval_keeps_its_digits_whatever_the_resistance(R: float) -> None:
    np.testing.assert_allclose(_dc(R, **GIVEN), _by_series(R), rtol=2e-13)


# a salient motor: R apart; L_d, L_q, psi, pole pairs; speed, its rates; angle, voltage, currents before
L_D, L_Q, PSI, P = 0.8e-3, 1.1e-3, 0.02, 4.0
W, ALPHA, JERK, ANGLE = 200.0, 2e4, -3e7, 0.7
U_A, U_B, I_D, I_Q = 30.0, -18.0, -0.6, 1.9


@njit
def _pmsm(R: float, points: Any) -> Any:
    cos, sin = np.cos(ANGLE), np.sin(ANGLE)
    return pmsm_interval(
        points, R, 1.0 / L_D, 1.0 / L_Q, PSI, P, W, ALPHA, JERK, cos, sin, cos, sin, U_A, U_B,
        L_D * I_D + PSI, L_Q * I_Q, 0.0, TAU, 0.0,
    )  # fmt: skip


def _pmsm_by_small_steps(R: float) -> list[float]:
    """Fluxes after the interval, energy, 3/2 int i^2 and int i_q by DOP853."""

    def rate(t: float, y: Any) -> list[float]:
        D, Q = y[0], y[1]
        w, angle = W + ALPHA * t + JERK * t * t / 2, ANGLE + P * (W * t + ALPHA * t**2 / 2 + JERK * t**3 / 6)
        c, s = np.cos(angle), np.sin(angle)
        u_d, u_q, i_d, i_q = c * U_A + s * U_B, c * U_B - s * U_A, (D - PSI) / L_D, Q / L_Q
        power, square = 1.5 * (u_d * i_d + u_q * i_q), 1.5 * (i_d**2 + i_q**2)
        return [u_d - R * i_d + P * w * Q, u_q - R * i_q - P * w * D, power, square, i_q]

    run = solve_ivp(
        rate, (0.0, TAU), [L_D * I_D + PSI, L_Q * I_Q, 0, 0, 0], method="DOP853", rtol=1e-13, atol=1e-18
    )
    return list(run.y[:, -1])


@pytest.mark.parametrize("R", [0.0, 1e-8, 1e-4, 0.05, 0.5])
def test_pmsm_interval_gives_energy_and_copper_by_themselves(R: float) -> None:
    D, Q, _, _, _, _, _, _, energy, square, charge = _pmsm(R, np.zeros((4, 4)))
    np.testing.assert_allclose([D, Q, energy, square, charge], _pmsm_by_small_steps(R), rtol=1e-9)
