"""The paper's two-link arm with its servos, written down by hand: an own model to check the simulator against."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

N, KP, KI, R, K, J = 1570.0, 0.020, 0.125, 2.05, 0.061, 6.38e-5
TAU_LIMIT, U_LIMIT, TAU_C, F = 0.144, 20.0, 0.0205, 2.58e-5
L1, M1, I1, L2, M2, I2 = 0.89, 41.7, 2.78, 0.64, 26.4, 0.9
RATE = 0.03  # rad/s


def mass_matrix(q2: float) -> Any:
    """Of the two links, mass centres in their middle [kg m2]."""
    cosine = np.cos(q2)
    m22 = I2 + M2 * (L2 / 2) ** 2
    m12 = m22 + M2 * L1 * L2 / 2 * cosine
    m11 = I1 + M1 * (L1 / 2) ** 2 + m22 + M2 * L1**2 + M2 * L1 * L2 * cosine
    return np.array([[m11, m12], [m12, m22]])


def bias(q2: float, qd: Any) -> Any:
    """Coriolis and centrifugal torques [N m]."""
    c = M2 * L1 * L2 / 2 * np.sin(q2)
    return np.array([-c * (2 * qd[0] * qd[1] + qd[1] ** 2), c * qd[0] ** 2])


def joint_torque(u: Any, qd: Any) -> Any:
    """Torque at the joints behind motors that turn forward [N m]."""
    w = N * qd
    tau = np.clip(K * (u - K * w) / R, -TAU_LIMIT, TAU_LIMIT)
    return N * (tau - F * w - TAU_C)


def acceleration(q: Any, qd: Any, u: Any) -> Any:
    """With the rotors in the arm's inertia [rad/s2]."""
    A = mass_matrix(q[1]) + N**2 * J * np.eye(2)
    return np.linalg.solve(A, joint_torque(u, qd) - bias(q[1], qd))


def sampled_run(period: float, duration: float) -> tuple[Any, Any]:
    """Joint rates (ticks, 2) under PI servos of a period [s], integrated by SciPy between their samples."""
    y, integral = np.zeros(4), np.zeros(2)
    count = round(duration / period)
    rates = [y[2:].copy()]
    for _ in range(count):
        error = N * (RATE - y[2:])
        u = np.clip(KP * error + integral, -U_LIMIT, U_LIMIT)
        integral = integral + KI * period * error

        def slope(_: float, y: Any, u: Any = u) -> Any:
            return np.concatenate([y[2:], acceleration(y[:2], y[2:], u)])

        y = solve_ivp(slope, (0.0, period), y, rtol=1e-10, atol=1e-13).y[:, -1]
        rates.append(y[2:].copy())
    return period * np.arange(count + 1), np.array(rates)


def continuous_run(duration: float, times: Any) -> Any:
    """Joint rates (times, 2) under a PI law without samples."""

    def slope(_: float, y: Any) -> Any:
        error = N * (RATE - y[2:4])
        u = np.clip(KP * error + y[4:], -U_LIMIT, U_LIMIT)
        return np.concatenate([y[2:4], acceleration(y[:2], y[2:4], u), KI * error])

    found = solve_ivp(slope, (0.0, duration), np.zeros(6), rtol=1e-10, atol=1e-13, t_eval=times)
    return found.y[2:4].T
