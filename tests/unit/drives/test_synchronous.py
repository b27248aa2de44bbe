"""Fluxes of a synchronous motor between two edges against a closed form and against SciPy's DOP853."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

from servotwin.drives.pmsm.interval import pmsm_interval, pmsm_stored, turn_by

R, PSI, P = 0.6, 0.02, 4.0
BEGIN = 3e-5  # s after the window began
MIDDLE = 1e-4


@njit
def _interval(
    L_d: float, L_q: float, motion: Any, angle: float, u: Any, D: float, Q: float, tau: float
) -> tuple[float, ...]:
    w, alpha, jerk = motion
    turned = angle + P * BEGIN * (w + BEGIN * (alpha / 2 + BEGIN * jerk / 6))
    return pmsm_interval(
        np.zeros((4, 4)), R, 1 / L_d, 1 / L_q, PSI, P, w, alpha, jerk, math.cos(angle), math.sin(angle),
        math.cos(turned), math.sin(turned), u[0], u[1], D, Q, BEGIN, tau, MIDDLE,
    )  # fmt: skip


@njit
def _stored(L_d: float, L_q: float, i: Any, o: Any) -> float:
    return pmsm_stored(L_d, L_q, i[0], i[1], o[0], o[1])


@njit
def _turn(x: float) -> tuple[float, float]:
    return turn_by(x)


@pytest.mark.parametrize("x", [0.0, 1e-9, -0.3, 0.5999, -0.5999, 0.7, 3.0])
def test_small_turns_are_cosine_and_sine(x: float) -> None:
    assert _turn(x) == pytest.approx((math.cos(x), math.sin(x)), rel=2e-14, abs=1e-300)


@pytest.mark.parametrize("tau", [1e-6, 2e-5, 1e-4, 5e-4])
@pytest.mark.parametrize("w", [0.0, 40.0, -350.0])
def test_equal_inductances_follow_their_closed_form(w: float, tau: float) -> None:
    """Seen from the stator the motor is a coil with a turning back-EMF: L i' = u - R i - j w_e psi e^(j theta)."""
    L, angle, u, i_0 = 0.9e-3, 0.7, 30.0 - 18.0j, 3.0 - 1.0j  # i_0 in rotor coordinates
    w_e = P * w
    start = angle + w_e * BEGIN
    turning = -1j * w_e * PSI / (R + 1j * w_e * L) * np.exp(1j * start)
    decaying = i_0 * np.exp(1j * start) - u / R - turning

    def current(t: float) -> complex:  # as the rotor sees it
        stator = u / R + turning * np.exp(1j * w_e * t) + decaying * np.exp(-R / L * t)
        return complex(stator * np.exp(-1j * (start + w_e * t)))

    D, Q, c, s, T0, _, _, _, energy, _, charge = _interval(
        L, L, (w, 0.0, 0.0), angle, (u.real, u.imag), L * i_0.real + PSI, L * i_0.imag, tau
    )
    end = current(tau)
    assert pytest.approx((end.real, end.imag), rel=1e-9, abs=1e-10) == ((D - PSI) / L, Q / L)
    assert complex(c, s) == pytest.approx(np.exp(1j * (start + w_e * tau)), rel=1e-13)

    def integral(rate: complex) -> complex:
        return complex(tau) if rate == 0.0 else complex(np.expm1(rate * tau) / rate)

    back = np.exp(-1j * start)
    passed = (
        back * u / R * integral(-1j * w_e)
        + back * turning * tau
        + back * decaying * integral(-R / L - 1j * w_e)
    )
    assert charge == pytest.approx(passed.imag, rel=1e-9, abs=1e-12 * tau)
    assert pytest.approx(1.5 * P * PSI * passed.imag, rel=1e-9, abs=1e-12 * tau) == T0
    stator = u / R * tau + turning * integral(1j * w_e) + decaying * integral(-R / L)
    assert energy == pytest.approx(1.5 * (u.conjugate() * stator).real, rel=1e-8)


@pytest.mark.parametrize("tau", [4e-6, 3e-5, 1.2e-4])
@pytest.mark.parametrize("motion", [(20.0, 500.0, 3e6), (-300.0, 2000.0, -5e6)])
def test_salient_motor_that_speeds_up_follows_dop853(motion: tuple[float, ...], tau: float) -> None:
    L_d, L_q, angle, u = 0.8e-3, 1.6e-3, -2.0, (-25.0, 43.0)
    w, alpha, jerk = motion
    o_d, o_q = -2.0, 9.0

    def rates(t: float, y: Any) -> list[float]:
        theta = angle + P * t * (w + t * (alpha / 2 + t * jerk / 6))
        speed = w + t * (alpha + t * jerk / 2)
        u_d = math.cos(theta) * u[0] + math.sin(theta) * u[1]
        u_q = math.cos(theta) * u[1] - math.sin(theta) * u[0]
        i_d, i_q = (y[0] - PSI) / L_d, y[1] / L_q
        torque, x = 1.5 * P * (y[0] * i_q - y[1] * i_d), t - MIDDLE
        return [
            u_d - R * i_d + P * speed * y[1],
            u_q - R * i_q - P * speed * y[0],
            torque,
            torque * x,
            torque * x**2 / 2,
            torque * x**3 / 6,
            1.5 * (u_d * i_d + u_q * i_q),
            1.5 * (i_d**2 + i_q**2),
            i_q,
            torque * speed,
        ]

    first = [L_d * o_d + PSI, L_q * o_q] + [0.0] * 8
    exact = solve_ivp(rates, (BEGIN, BEGIN + tau), first, "DOP853", rtol=1e-13, atol=1e-20).y[:, -1]
    made = _interval(L_d, L_q, motion, angle, u, first[0], first[1], tau)
    D, Q, _, _, *integrals = made
    assert pytest.approx(exact[:2], rel=1e-10) == (D, Q)
    assert integrals == pytest.approx(exact[2:9], rel=1e-9)
    # eq:flux-copper holds of what was found term by term
    stored = _stored(L_d, L_q, ((D - PSI) / L_d, Q / L_q), (o_d, o_q))
    assert integrals[4] == pytest.approx(R * integrals[5] + stored + exact[9], rel=1e-8)
