r"""Which parameters measurements tell apart, and the estimate of those.

Columns of the derivatives are scaled by what each parameter may well be, so that metres and radians compare. They are
taken in their order of preference; one that those before it explain,

.. math:: \| J_k - J_B J_B^+ J_k \| < \varepsilon\,\| J_k \|                                 (eq:identifiable)

is not identified by itself: what is found of it is a combination with the others. The estimate is that of least
squares (Levenberg and Marquardt), its covariance the bound of Cramer and Rao for white residuals,

.. math:: \Sigma = s^2\,(J^T J + P^{-1})^{-1}, \qquad
          s^2 = r^T r / (M - p)\ \text{where the noise is not stated}                        (eq:calibration-covariance)

with the prior P of a weighted estimate, and a residual held out is expected to have the covariance
:math:`1 + J_h \Sigma J_h^T` (eq:held-out).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.noise import Noise
from servotwin.design.calibration.observation import Measured, Setup, pivot_of, residuals, start
from servotwin.errors import ServotwinError
from servotwin.mechanism.model import Array

RANK = 1e-6  # part of a column that must be left for a parameter of its own
SHOWN = 1e-3  # least factor of a combination that is told
ITERATIONS = 60
SETTLED = 1e-9  # of a standard deviation: after a shorter step the estimate stands


@dataclass(frozen=True)
class Dependent:
    """A parameter that is not identified by itself, and the combination that does the same (unit per unit)."""

    index: int
    combination: tuple[tuple[int, float], ...]  # other parameter and its factor
    # False: what is measured does not depend on it; True and no combination: the setup does the same
    effect: bool = True


@dataclass(frozen=True)
class Identified:
    """Parameters that are estimated (indices), and those that are not."""

    chosen: tuple[int, ...]
    dependent: tuple[Dependent, ...]


@dataclass(frozen=True)
class Estimate:
    """Parameters (P,), those that were not estimated zero, the setup, and the covariance of what was estimated."""

    theta: Array
    setup: Setup
    chosen: tuple[int, ...]
    covariance: Array  # (U + p, U + p), unknowns of the measurement first
    factor: float  # s of eq:calibration-covariance
    residual: Array  # white, (M,)
    iterations: int

    @property
    def unknowns(self) -> int:
        """Unknowns of the measurement."""
        return len(self.covariance) - len(self.chosen)

    @property
    def sigma(self) -> Array:
        """Standard deviations of the chosen parameters (p,)."""
        return np.sqrt(np.diag(self.covariance)[self.unknowns :])


def identified(D: Array, typical: Array, unknowns: int, first: tuple[int, ...] | None = None) -> Identified:
    """What derivatives D (M, U + P) tell apart (eq:identifiable); ``first``: only these are considered."""
    columns = D[:, unknowns:] * typical
    basis, kept, dependent = _orthonormal(D[:, :unknowns]), [], []
    largest = float(np.linalg.norm(columns, axis=0).max(initial=0.0))
    R: list[Array] = []
    for k in range(columns.shape[1]):
        column = columns[:, k]
        size = float(np.linalg.norm(column))
        if first is not None and k not in first:
            continue
        if size <= RANK * largest:
            dependent.append(Dependent(k, (), effect=False))
            continue
        rest = column
        for _ in range(2):  # twice is enough
            rest = rest - basis @ (basis.T @ rest)
        if float(np.linalg.norm(rest)) > RANK * size:
            basis = np.hstack([basis, (rest / np.linalg.norm(rest))[:, None]])
            kept.append(k)
            R.append(column)
        else:
            dependent.append(Dependent(k, _combination(D[:, :unknowns], R, kept, column, typical, k)))
    return Identified(tuple(kept), tuple(dependent))


def _orthonormal(columns: Array) -> Array:
    if not columns.shape[1]:
        return np.zeros((len(columns), 0))
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return U[:, s > RANK * s[0]]


def _combination(
    own: Array, R: list[Array], kept: list[int], column: Array, typical: Array, k: int
) -> tuple[tuple[int, float], ...]:
    A = np.hstack([own, np.stack(R, axis=1)]) if R else own
    factors = np.linalg.lstsq(A, column, rcond=1e-9)[0][own.shape[1] :]
    told = [(j, float(f * typical[j] / typical[k])) for j, f in zip(kept, factors, strict=True)]
    return tuple(pair for pair, f in zip(told, factors, strict=True) if abs(f) > SHOWN)


def estimate(
    model: CalibrationModel,
    measured: Measured,
    noise: Noise,
    chosen: tuple[int, ...],
    *,
    prior: Array | None = None,
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """Least squares from the drawing; ``prior`` (P,): standard deviations about zero, None without."""
    theta = np.zeros(len(model.parameters))
    typical = np.array([p.typical for p in model.parameters])
    index = list(chosen)
    T, J = model.jacobian(theta, measured.q)
    setup = start(measured, T)
    pull = np.zeros((0, len(index))) if prior is None else np.diag(1.0 / prior[index])

    def evaluate(theta: Array, setup: Setup, T: Array, J: Array) -> tuple[Array, Array]:
        r, D = residuals(measured, noise, setup, T, J[:, :, index])
        if prior is None:
            return r, D
        unknowns = D.shape[1] - len(index)
        both = np.vstack([D, np.hstack([np.zeros((len(index), unknowns)), pull])])
        return np.append(r, -pull @ theta[index]), both

    r, D = evaluate(theta, setup, T, J)
    damping, done = 1e-6, 0
    for done in range(1, ITERATIONS + 1):
        unknowns = D.shape[1] - len(index)
        scale = np.append(np.maximum(np.linalg.norm(D[:, :unknowns], axis=0), 1e-300) ** -1.0, typical[index])
        A = D * scale
        step = _damped(A, r, damping) * scale
        trial = theta.copy()
        trial[index] += step[unknowns:]
        moved = setup.moved(step[:unknowns], pivot_of(measured))
        T, J = model.jacobian(trial, measured.q)
        r_new, D_new = evaluate(trial, moved, T, J)
        if r_new @ r_new <= r @ r * (1.0 + 1e-12):
            theta, setup, r, D = trial, moved, r_new, D_new
            damping = max(0.1 * damping, 1e-14)
            if np.linalg.norm(A @ (step / scale)) < SETTLED * np.sqrt(len(r)):
                break
        else:
            damping *= 30.0
            if damping > 1e12:
                break
        if progress is not None:
            progress(done / ITERATIONS)
    count = len(r) - len(pull)
    free = count - (D.shape[1] if prior is None else D.shape[1] - len(index))
    factor = 1.0
    if not noise.stated:
        factor = float(np.sqrt((r[:count] @ r[:count]) / max(free, 1)))
    return Estimate(theta, setup, chosen, factor**2 * _inverse(D), factor, r[:count], done)


def _damped(A: Array, r: Array, damping: float) -> Array:
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    keep = s > 1e-12 * s[0]
    return np.asarray(Vt.T @ (np.where(keep, s / (s**2 + damping * s[0] ** 2 * 1e-6), 0.0) * (U.T @ r)))


def _inverse(D: Array) -> Array:
    """(D^T D)^-1 by singular values of scaled columns."""
    scale = 1.0 / np.maximum(np.linalg.norm(D, axis=0), 1e-300)
    _, s, Vt = np.linalg.svd(D * scale, full_matrices=False)
    if s[-1] <= 1e-14 * s[0]:
        raise ServotwinError("the estimate is not determined: its equations have lost rank")
    half = Vt.T / s
    return np.asarray((half @ half.T) * np.outer(scale, scale))
