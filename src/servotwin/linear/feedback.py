r"""State feedback with integral action and an observer, on sampled systems.

The plant of the error, :math:`\epsilon[k+1] = \Phi \epsilon[k] - \Gamma u[k]`, :math:`e = C \epsilon`, with
:math:`\sigma[k+1] = \sigma[k] + T_s e[k]`, is fed back by

.. math:: u = K\,\hat\epsilon + K_i\,\sigma, \qquad
          \hat\epsilon[k] = \bar\epsilon[k] + L\,(e[k] - C \bar\epsilon[k]), \qquad
          \bar\epsilon[k+1] = \Phi \hat\epsilon[k] - \Gamma u[k]                        (eq:state-feedback)

K and K_i minimise :math:`\sum x^T Q x + u^T R u` (LQR) or place the poles; L is the gain of a stationary Kalman filter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, solve_discrete_are
from scipy.optimize import linear_sum_assignment

from servotwin.errors import UnsupportedError
from servotwin.linear.system import Array, LinearSystem

PLACED = 1e-3  # relative error of a pole beyond which placing has failed


def with_integrators(plant: LinearSystem) -> tuple[Array, Array]:
    """Phi and Gamma of the plant with the integral of every output behind its states (eq:state-feedback)."""
    T, n, p = _period(plant), plant.order, len(plant.outputs)
    A = np.block([[plant.A, np.zeros((n, p))], [T * plant.C, np.eye(p)]])
    return A, np.vstack([plant.B, np.zeros((p, len(plant.inputs)))])


def _period(plant: LinearSystem) -> float:
    if plant.period is None:
        raise UnsupportedError("state feedback is designed for a sampled system; sample it first")
    return plant.period


def lqr(A: Array, B: Array, Q: Array, R: Array, N: Array | None = None) -> Array:
    """K of u = -K x that minimises the sum of x^T Q x + 2 x^T N u + u^T R u, with R > 0."""
    if not (np.diag(R) > 0.0).all():
        worst = float(np.min(np.diag(R)))
        raise UnsupportedError(
            f"no optimal feedback: R has {worst:g} on its diagonal; expected more than zero"
        )
    units = np.sqrt(np.diag(R))  # inputs of equal cost: the Riccati equation is then well scaled
    scaled, costs = B / units, R / np.outer(units, units)
    cross = np.zeros_like(B) if N is None else N / units
    try:
        P = solve_discrete_are(A, scaled, Q, costs, s=cross)
    except (LinAlgError, ValueError) as error:
        raise UnsupportedError(f"no optimal feedback: {error}") from None
    gain = np.linalg.solve(costs + scaled.T @ P @ scaled, scaled.T @ P @ A + cross.T)
    return np.asarray(gain / units[:, None])


def place(A: Array, B: Array, poles: NDArray[np.complex128]) -> Array:
    """K that puts the eigenvalues of A - B K where they are wanted."""
    from scipy.signal import place_poles

    units = np.linalg.norm(B, axis=0)
    try:
        found = place_poles(A, B / units, poles, maxiter=60, rtol=0.0)
    except ValueError as error:
        raise UnsupportedError(f"these poles cannot be placed: {error}") from None
    got = np.linalg.eigvals(A - B / units @ found.gain_matrix)
    apart = np.abs(got[:, None] - np.asarray(poles))
    worst = float(apart[linear_sum_assignment(apart)].max())
    if worst > PLACED:
        raise UnsupportedError(
            f"placing the poles misses them by {worst:.2g}; expected a plant with fewer states, or the method lqr"
        )
    return np.asarray(found.gain_matrix / units[:, None])


def kalman(A: Array, C: Array, W: Array, V: Array) -> Array:
    """L of the measurement update, for process noise of covariance W and measurement noise V."""
    units = np.sqrt(np.diag(V))  # outputs of equal noise, and noise of the size of one: well scaled
    seen, noise = C / units[:, None], V / np.outer(units, units)
    size = float(np.abs(W).max()) or 1.0
    try:
        P = solve_discrete_are(A.T, seen.T * np.sqrt(size), W / size, noise)
    except (LinAlgError, ValueError) as error:
        raise UnsupportedError(f"no stationary observer: {error}") from None
    gain = np.linalg.solve(size * (seen @ P @ seen.T) + noise, size * (seen @ P)).T
    return np.asarray(gain / units)


def closed_loop(truth: LinearSystem, model: LinearSystem, K: Array, K_i: Array, L: Array) -> Array:
    """System matrix of a plant under the law that was designed with a model of it: errors, integrals, estimates."""
    T, n, p, s = _period(truth), truth.order, len(truth.outputs), model.order
    left = np.eye(s) - L @ model.C
    # u = K (left xbar + L C eps) + K_i sigma
    by_eps, by_bar = K @ L @ truth.C, K @ left
    rows_eps = [truth.A - truth.B @ by_eps, -truth.B @ K_i, -truth.B @ by_bar]
    rows_sigma = [T * truth.C, np.eye(p), np.zeros((p, s))]
    rows_bar = [
        model.A @ L @ truth.C - model.B @ by_eps,
        -model.B @ K_i,
        model.A @ left - model.B @ by_bar,
    ]
    assert rows_eps[0].shape == (n, n)
    return np.block([rows_eps, rows_sigma, rows_bar])
