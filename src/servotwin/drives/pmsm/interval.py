r"""Currents of a synchronous motor between two edges of its bridge, by power series, with the moments of the torque.

In rotor coordinates the flux linkages :math:`\varphi_d = L_d i_d + \psi`, :math:`\varphi_q = L_q i_q` and the voltage
of the bridge, which stands still while the rotor turns, obey linear equations (eq:pmsm) whose only varying coefficient
is the electrical speed :math:`p\,\omega = W_0 + W_1 t + W_2 t^2`. Their power series, term by term:

.. math::

    (k+1)\,D_{k+1} &= U_k - \tfrac R{L_d} (D_k - \psi\,[k=0]) + \textstyle\sum_m W_m Q_{k-m}, &
    (k+1)\,U_{k+1} &= \textstyle\sum_m W_m V_{k-m}, \\
    (k+1)\,Q_{k+1} &= V_k - \tfrac R{L_q} Q_k - \textstyle\sum_m W_m D_{k-m}, &
    (k+1)\,V_{k+1} &= -\textstyle\sum_m W_m U_{k-m}                                     (eq:flux-series)

with D, Q the terms of the fluxes, U, V those of the voltage. Torque, its moments, the power and the square of the
current are integrated by four points of Gauss, each for itself, with :math:`w_m` their weights,

.. math::

    E = \tfrac32 \int u \cdot i\,dt \approx \tfrac32 \tau \textstyle\sum_m w_m (u_d i_d + u_q i_q)_m, \quad
    \tfrac32 \int i^2\,dt \approx \tfrac32 \tau \textstyle\sum_m w_m (i_d^2 + i_q^2)_m            (eq:flux-energy)

so that nothing is divided by R, and the balance of the motor is a check of both:

.. math:: \tfrac32 R \int (i_d^2 + i_q^2)\,dt = E - \tfrac34 [L_d i_d^2 + L_q i_q^2] - \int \tau_e\,\omega\,dt
          (eq:flux-copper)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper

SMALL_TURN = 0.6  # rad: below, the series of sine and cosine are exact
LONGEST = 2.5  # steps per unit of (R / L + speed) x time
MOST_STEPS = 10_000  # in an interval: beyond, a run has diverged, and one step is enough to show it
MOST_TERMS = 9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
NODES, WEIGHTS = (1.0 + _NODES) / 2.0, _WEIGHTS / 2.0  # in 0..1
POWERS = NODES ** np.arange(MOST_TERMS + 1)[:, None]
PER = 1.0 / np.arange(1.0, MOST_TERMS + 2.0)
MOMENTS = WEIGHTS * NODES ** np.arange(4)[:, None]


@helper
def turn_by(x: float) -> tuple[float, float]:
    """cos x and sin x, by their series for the small angles within a PWM period."""
    if abs(x) > SMALL_TURN:
        return math.cos(x), math.sin(x)
    y = x * x  # summed in pairs: that is the shortest wait
    y2 = y * y
    y4 = y2 * y2
    cos = (1.0 - y / 2) + y2 * (1 / 24 - y / 720) + y4 * ((1 / 40320 - y / 3628800) + y2 / 479001600)
    sin = (1.0 - y / 6) + y2 * (1 / 120 - y / 5040) + y4 * ((1 / 362880 - y / 39916800) + y2 / 6227020800)
    return cos, x * sin


@helper
def flux_series(
    points: Any, D: float, Q: float, U: float, V: float, psi: float, a_d: float, a_q: float,
    W_0: float, W_1: float, W_2: float, terms: int,
) -> tuple[float, float]:  # fmt: skip
    """Fluxes at the end of a step, in ``points`` fluxes and voltages at its four points; rates times its length."""
    D_2, Q_2, U_2, V_2 = 0.0, 0.0, 0.0, 0.0
    D_1, Q_1, U_1, V_1 = D, Q, U, V
    D_0, Q_0 = U - a_d * (D - psi) + W_0 * Q, V - a_q * Q - W_0 * D
    U_0, V_0 = W_0 * V, -W_0 * U
    end_d, end_q = D + D_0, Q + Q_0
    for m in range(4):
        points[0, m], points[1, m] = D + NODES[m] * D_0, Q + NODES[m] * Q_0
        points[2, m], points[3, m] = U + NODES[m] * U_0, V + NODES[m] * V_0
    for k in range(1, terms):
        per = PER[k]
        w_0, w_1, w_2 = per * W_0, per * W_1, per * W_2
        # what is known longest comes first: the sums wait for the last terms only
        D_new = ((w_2 * Q_2 + w_1 * Q_1) + per * U_0) - per * a_d * D_0 + w_0 * Q_0  # eq:flux-series
        Q_new = (per * V_0 - (w_2 * D_2 + w_1 * D_1)) - per * a_q * Q_0 - w_0 * D_0
        U_new = (w_2 * V_2 + w_1 * V_1) + w_0 * V_0
        V_new = -(w_2 * U_2 + w_1 * U_1) - w_0 * U_0
        D_2, Q_2, U_2, V_2 = D_1, Q_1, U_1, V_1
        D_1, Q_1, U_1, V_1 = D_0, Q_0, U_0, V_0
        D_0, Q_0, U_0, V_0 = D_new, Q_new, U_new, V_new
        end_d, end_q = end_d + D_0, end_q + Q_0
        for m in range(4):
            points[0, m] += POWERS[k + 1, m] * D_0
            points[1, m] += POWERS[k + 1, m] * Q_0
            points[2, m] += POWERS[k + 1, m] * U_0
            points[3, m] += POWERS[k + 1, m] * V_0
    return end_d, end_q


@helper
def terms_for(x: float) -> int:
    """Terms of the series, up to ``MOST_TERMS``, for (R / L + speed) x time: the first left out is below 5e-11."""
    return 5 + int(x > 0.05) + 2 * int(x > 0.11) + int(x > 0.28)


@helper
def pmsm_interval(
    points: Any, R: float, g_d: float, g_q: float, psi: float, p: float, w: float, alpha: float, jerk: float,
    cos: float, sin: float, c: float, s: float, u_a: float, u_b: float,
    D: float, Q: float, begin: float, tau: float, middle: float,
) -> tuple[float, ...]:  # fmt: skip
    """Fluxes after an interval of constant voltage, and its integrals.

    ``R`` [ohm], ``g_d``, ``g_q`` 1 / L_d, 1 / L_q; speed w + alpha t + jerk t^2 / 2 of the rotor since the window
    began; ``cos``, ``sin`` of its electrical angle then, ``c``, ``s`` at ``begin``; ``u_a``, ``u_b`` [V] as seen
    from the stator; ``D``, ``Q`` fluxes [V s]. Returns the fluxes, c and s at the end, the integrals of the torque and
    of its moments (t - middle)^k / k! up to the third, of the electrical power, of 3/2 i^2, of i_q.
    """
    rate = R * max(g_d, g_q) + abs(p * w)
    quick = LONGEST * rate * tau
    steps = int(quick) + 1 if quick < MOST_STEPS else 1  # of NaN too: only what fits may become an integer
    h = tau if steps == 1 else tau / steps
    terms = terms_for(rate * h)
    a_d, a_q = R * g_d * h, R * g_q * h
    salient, magnets = g_q - g_d, psi * g_d
    M_0 = M_1 = M_2 = M_3 = charge = energy = square = 0.0
    U, V = c * u_a + s * u_b, c * u_b - s * u_a
    ph = p * h
    for k in range(steps):
        t = begin + k * h
        W_0, W_1, W_2 = (
            ph * (w + t * (alpha + t * jerk / 2.0)),
            ph * h * (alpha + t * jerk),
            ph * h * h * jerk / 2.0,
        )
        D, Q = flux_series(points, D, Q, h * U, h * V, psi, a_d, a_q, W_0, W_1, W_2, terms)
        m_0 = m_1 = m_2 = m_3 = 0.0
        for m in range(4):
            i_d, i_q = g_d * (points[0, m] - psi), g_q * points[1, m]
            charge += h * WEIGHTS[m] * i_q
            energy += WEIGHTS[m] * (points[2, m] * i_d + points[3, m] * i_q)  # eq:flux-energy
            square += h * WEIGHTS[m] * (i_d * i_d + i_q * i_q)
            torque = points[1, m] * (salient * points[0, m] + magnets)  # eq:pmsm
            m_0 += MOMENTS[0, m] * torque
            m_1 += MOMENTS[1, m] * torque
            m_2 += MOMENTS[2, m] * torque
            m_3 += MOMENTS[3, m] * torque
        m_1, m_2, m_3 = h * m_1, h * h / 2.0 * m_2, h * h * h / 6.0 * m_3
        x = t - middle
        M_0 += h * m_0
        M_1 += h * (m_1 + x * m_0)
        M_2 += h * (m_2 + x * (m_1 + x / 2.0 * m_0))
        M_3 += h * (m_3 + x * (m_2 + x / 2.0 * (m_1 + x / 3.0 * m_0)))
        t += h
        c_t, s_t = turn_by(p * t * (w + t * (alpha / 2.0 + t * jerk / 6.0)))
        c, s = cos * c_t - sin * s_t, sin * c_t + cos * s_t
        U, V = c * u_a + s * u_b, c * u_b - s * u_a
    y = 1.5 * p
    return D, Q, c, s, y * M_0, y * M_1, y * M_2, y * M_3, 1.5 * energy, 1.5 * square, charge


@helper
def pmsm_stored(L_d: float, L_q: float, i_d: float, i_q: float, o_d: float, o_q: float) -> float:
    """Energy [J] that the windings gained between the currents ``o_d``, ``o_q`` and ``i_d``, ``i_q``."""
    return 0.75 * (L_d * (i_d - o_d) * (i_d + o_d) + L_q * (i_q - o_q) * (i_q + o_q))
