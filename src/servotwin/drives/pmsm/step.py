r"""One short step of a synchronous motor under constant voltage, without a branch: many motors side by side.

The series of eq:flux-series to their seventh power, written out, and three points of Gauss for the integrals
(eq:flux-energy): for :math:`x = (R/L + p\,\omega)\,\tau` up to ``SHORT`` the first term left out, :math:`x^8/8!`, is
below 1e-10 of the flux, and the rest of the integrals of products of two series, :math:`(2x)^6/2\,016\,000`, below
2.1e-9. Three points would leave out more of the torque times the square or cube of the time: these two moments take
the torque at both ends as well. Up to ``SHORTER``, as most intervals within a PWM period are, four powers do: what they
leave out of the flux, :math:`x^5/5!`, is no more. A loop over motors that calls nothing else becomes vector
instructions of the processor, with a motor in every lane.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper


def moment_weights(points: Any, power: int) -> Any:
    """Weights with which values at ``points`` of 0..1 give the integral of s^power / power! times their polynomial."""
    k = np.arange(len(points))
    return np.linalg.solve(points ** k[:, None], 1.0 / (k + power + 1) / math.factorial(power))


SHORT = 0.2  # (R / L + speed) x time up to which a step is exact
SHORTER = 0.027  # and up to which ``shorter_flux_step`` is
S_0, S_2 = 0.5 - math.sqrt(0.15), 0.5 + math.sqrt(0.15)  # points of Gauss in 0..1, with one in the middle
G_0, G_1 = 5.0 / 18.0, 4.0 / 9.0  # and their weights
_POINTS = np.array([0.0, S_0, 0.5, S_2, 1.0])
# weights of the torque at the points of Gauss and both ends for its second and third moment
A_0, A_1, A_2, A_3, A_4 = (float(x) for x in moment_weights(_POINTS, 2))
B_0, B_1, B_2, B_3, B_4 = (float(x) for x in moment_weights(_POINTS, 3))
Series = tuple[float, float, float, float, float, float, float, float]
ShortSeries = tuple[float, float, float, float, float]


@helper
def small_turn(x: float) -> tuple[float, float]:
    """cos x and sin x for angles up to 0.6 rad."""
    y = x * x
    y2 = y * y
    y4 = y2 * y2
    cos = (1.0 - y / 2) + y2 * (1 / 24 - y / 720) + y4 * ((1 / 40320 - y / 3628800) + y2 / 479001600)
    sin = (1.0 - y / 6) + y2 * (1 / 120 - y / 5040) + y4 * ((1 / 362880 - y / 39916800) + y2 / 6227020800)
    return cos, x * sin


@helper
def smaller_turn(x: float) -> tuple[float, float]:
    """cos x and sin x for angles up to ``SHORTER``."""
    y = x * x
    return (1.0 - y / 2) + y * y / 24, x * ((1.0 - y / 6) + y * y / 120)


@helper
def at_part(s: float, c: Series) -> float:
    """A series at the part s of its step."""
    s2 = s * s
    low = (c[0] + s * c[1]) + s2 * (c[2] + s * c[3])
    return low + s2 * s2 * ((c[4] + s * c[5]) + s2 * (c[6] + s * c[7]))


@helper
def next_terms(
    per: float, D: float, Q: float, U: float, V: float, D_1: float, Q_1: float, U_1: float, V_1: float,
    D_2: float, Q_2: float, U_2: float, V_2: float, a_d: float, a_q: float, W_0: float, W_1: float, W_2: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Terms of fluxes and voltages from the three before, the last of them first; ``per``: 1 / (k + 1)."""
    d = (U + W_1 * Q_1 + W_2 * Q_2) - a_d * D + W_0 * Q  # eq:flux-series
    q = (V - W_1 * D_1 - W_2 * D_2) - a_q * Q - W_0 * D
    return per * d, per * q, per * (W_0 * V + W_1 * V_1 + W_2 * V_2), -per * (W_0 * U + W_1 * U_1 + W_2 * U_2)


@helper
def flux_terms(
    D: float, Q: float, U: float, V: float, psi: float, a_d: float, a_q: float, W_0: float, W_1: float, W_2: float
) -> tuple[Series, Series, Series, Series]:  # fmt: skip
    """Series of fluxes and voltages over a step; voltages and rates times its length."""
    D_1, Q_1, U_1, V_1 = U - a_d * (D - psi) + W_0 * Q, V - a_q * Q - W_0 * D, W_0 * V, -W_0 * U
    D_2, Q_2, U_2, V_2 = next_terms(
        1 / 2, D_1, Q_1, U_1, V_1, D, Q, U, V, 0.0, 0.0, 0.0, 0.0, a_d, a_q, W_0, W_1, W_2
    )
    D_3, Q_3, U_3, V_3 = next_terms(
        1 / 3, D_2, Q_2, U_2, V_2, D_1, Q_1, U_1, V_1, D, Q, U, V, a_d, a_q, W_0, W_1, W_2
    )
    D_4, Q_4, U_4, V_4 = next_terms(
        1 / 4, D_3, Q_3, U_3, V_3, D_2, Q_2, U_2, V_2, D_1, Q_1, U_1, V_1, a_d, a_q, W_0, W_1, W_2
    )
    D_5, Q_5, U_5, V_5 = next_terms(
        1 / 5, D_4, Q_4, U_4, V_4, D_3, Q_3, U_3, V_3, D_2, Q_2, U_2, V_2, a_d, a_q, W_0, W_1, W_2
    )
    D_6, Q_6, U_6, V_6 = next_terms(
        1 / 6, D_5, Q_5, U_5, V_5, D_4, Q_4, U_4, V_4, D_3, Q_3, U_3, V_3, a_d, a_q, W_0, W_1, W_2
    )
    D_7, Q_7, U_7, V_7 = next_terms(
        1 / 7, D_6, Q_6, U_6, V_6, D_5, Q_5, U_5, V_5, D_4, Q_4, U_4, V_4, a_d, a_q, W_0, W_1, W_2
    )
    return (
        (D, D_1, D_2, D_3, D_4, D_5, D_6, D_7),
        (Q, Q_1, Q_2, Q_3, Q_4, Q_5, Q_6, Q_7),
        (U, U_1, U_2, U_3, U_4, U_5, U_6, U_7),
        (V, V_1, V_2, V_3, V_4, V_5, V_6, V_7),
    )


@helper
def flux_step(
    R: float, g_d: float, g_q: float, psi: float, p: float, w: float, alpha: float, jerk: float,
    c: float, s: float, u_a: float, u_b: float, D: float, Q: float, h: float,
) -> tuple[float, float, float, float, float, float, float, float, float]:  # fmt: skip
    """Fluxes after a step, and its integrals; arguments as of ``pmsm_interval``, motion and angle as it begins.

    Returns the fluxes, the integrals of the torque and of its moments t^k / k! up to the third, of the electrical
    power, of 3/2 i^2, of i_q.
    """
    ph = p * h
    d, q, u, v = flux_terms(
        D, Q, h * (c * u_a + s * u_b), h * (c * u_b - s * u_a), psi, R * g_d * h, R * g_q * h,
        ph * w, ph * h * alpha, 0.5 * ph * h * h * jerk,
    )  # fmt: skip
    salient, magnets = g_q - g_d, psi * g_q
    d_0, d_1, d_2 = at_part(S_0, d) - psi, at_part(0.5, d) - psi, at_part(S_2, d) - psi
    q_0, q_1, q_2 = at_part(S_0, q), at_part(0.5, q), at_part(S_2, q)
    i_0, i_1, i_2, j_0, j_1, j_2 = g_d * d_0, g_d * d_1, g_d * d_2, g_q * q_0, g_q * q_1, g_q * q_2
    energy = (
        G_0 * (at_part(S_0, u) * i_0 + at_part(S_0, v) * j_0)
        + G_1 * (at_part(0.5, u) * i_1 + at_part(0.5, v) * j_1)
        + G_0 * (at_part(S_2, u) * i_2 + at_part(S_2, v) * j_2)
    )  # eq:flux-energy
    square = G_0 * ((i_0 * i_0 + j_0 * j_0) + (i_2 * i_2 + j_2 * j_2)) + G_1 * (i_1 * i_1 + j_1 * j_1)
    y, first = 1.5 * ph, Q * (salient * (D - psi) + magnets)  # eq:pmsm
    D, Q = at_part(1.0, d), at_part(1.0, q)
    last = Q * (salient * (D - psi) + magnets)
    T_0, T_1, T_2 = (
        q_0 * (salient * d_0 + magnets),
        q_1 * (salient * d_1 + magnets),
        q_2 * (salient * d_2 + magnets),
    )
    m_0 = y * (G_0 * (T_0 + T_2) + G_1 * T_1)
    m_1 = y * h * (G_0 * (S_0 * T_0 + S_2 * T_2) + 0.5 * G_1 * T_1)
    m_2 = y * h * h * (A_0 * first + A_1 * T_0 + A_2 * T_1 + A_3 * T_2 + A_4 * last)
    m_3 = y * h * h * h * (B_0 * first + B_1 * T_0 + B_2 * T_1 + B_3 * T_2 + B_4 * last)
    charge = h * (G_0 * (j_0 + j_2) + G_1 * j_1)
    return D, Q, m_0, m_1, m_2, m_3, 1.5 * energy, 1.5 * h * square, charge


@helper
def early_part(s: float, c: ShortSeries) -> float:
    """A series of four powers at the part s of its step."""
    s2 = s * s
    return (c[0] + s * c[1]) + s2 * ((c[2] + s * c[3]) + s2 * c[4])


@helper
def shorter_flux_terms(
    D: float, Q: float, U: float, V: float, psi: float, a_d: float, a_q: float, W_0: float, W_1: float, W_2: float
) -> tuple[ShortSeries, ShortSeries, ShortSeries, ShortSeries]:  # fmt: skip
    """``flux_terms`` up to the fourth power."""
    D_1, Q_1, U_1, V_1 = U - a_d * (D - psi) + W_0 * Q, V - a_q * Q - W_0 * D, W_0 * V, -W_0 * U
    D_2, Q_2, U_2, V_2 = next_terms(
        1 / 2, D_1, Q_1, U_1, V_1, D, Q, U, V, 0.0, 0.0, 0.0, 0.0, a_d, a_q, W_0, W_1, W_2
    )
    D_3, Q_3, U_3, V_3 = next_terms(
        1 / 3, D_2, Q_2, U_2, V_2, D_1, Q_1, U_1, V_1, D, Q, U, V, a_d, a_q, W_0, W_1, W_2
    )
    D_4, Q_4, U_4, V_4 = next_terms(
        1 / 4, D_3, Q_3, U_3, V_3, D_2, Q_2, U_2, V_2, D_1, Q_1, U_1, V_1, a_d, a_q, W_0, W_1, W_2
    )
    return (D, D_1, D_2, D_3, D_4), (Q, Q_1, Q_2, Q_3, Q_4), (U, U_1, U_2, U_3, U_4), (V, V_1, V_2, V_3, V_4)


@helper
def shorter_flux_step(
    R: float, g_d: float, g_q: float, psi: float, p: float, w: float, alpha: float, jerk: float,
    c: float, s: float, u_a: float, u_b: float, D: float, Q: float, h: float,
) -> tuple[float, float, float, float, float, float, float, float, float]:  # fmt: skip
    """``flux_step`` for steps up to ``SHORTER``."""
    ph = p * h
    d, q, u, v = shorter_flux_terms(
        D, Q, h * (c * u_a + s * u_b), h * (c * u_b - s * u_a), psi, R * g_d * h, R * g_q * h,
        ph * w, ph * h * alpha, 0.5 * ph * h * h * jerk,
    )  # fmt: skip
    salient, magnets = g_q - g_d, psi * g_q
    d_0, d_1, d_2 = early_part(S_0, d) - psi, early_part(0.5, d) - psi, early_part(S_2, d) - psi
    q_0, q_1, q_2 = early_part(S_0, q), early_part(0.5, q), early_part(S_2, q)
    i_0, i_1, i_2, j_0, j_1, j_2 = g_d * d_0, g_d * d_1, g_d * d_2, g_q * q_0, g_q * q_1, g_q * q_2
    energy = (
        G_0 * (early_part(S_0, u) * i_0 + early_part(S_0, v) * j_0)
        + G_1 * (early_part(0.5, u) * i_1 + early_part(0.5, v) * j_1)
        + G_0 * (early_part(S_2, u) * i_2 + early_part(S_2, v) * j_2)
    )  # eq:flux-energy
    square = G_0 * ((i_0 * i_0 + j_0 * j_0) + (i_2 * i_2 + j_2 * j_2)) + G_1 * (i_1 * i_1 + j_1 * j_1)
    y, first = 1.5 * ph, Q * (salient * (D - psi) + magnets)  # eq:pmsm
    D, Q = early_part(1.0, d), early_part(1.0, q)
    last = Q * (salient * (D - psi) + magnets)
    T_0, T_1, T_2 = (
        q_0 * (salient * d_0 + magnets),
        q_1 * (salient * d_1 + magnets),
        q_2 * (salient * d_2 + magnets),
    )
    m_0 = y * (G_0 * (T_0 + T_2) + G_1 * T_1)
    m_1 = y * h * (G_0 * (S_0 * T_0 + S_2 * T_2) + 0.5 * G_1 * T_1)
    m_2 = y * h * h * (A_0 * first + A_1 * T_0 + A_2 * T_1 + A_3 * T_2 + A_4 * last)
    m_3 = y * h * h * h * (B_0 * first + B_1 * T_0 + B_2 * T_1 + B_3 * T_2 + B_4 * last)
    charge = h * (G_0 * (j_0 + j_2) + G_1 * j_1)
    return D, Q, m_0, m_1, m_2, m_3, 1.5 * energy, 1.5 * h * square, charge
