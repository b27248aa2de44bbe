r"""Sampled systems: what a computer sees of a plant whose input it holds for a period.

.. math:: \begin{bmatrix} \Phi & \Gamma \\ 0 & I \end{bmatrix}
          = \exp\Bigl(\begin{bmatrix} A & B \\ 0 & 0 \end{bmatrix} T_s\Bigr), \qquad
          x[k+1] = \Phi\,x[k] + \Gamma\,u[k]                                            (eq:hold)

What such a plant costs within a period, and what noise adds to its state, are integrals of matrix exponentials, which
are exponentials themselves (van Loan 1978):

.. math:: \int_0^{T} e^{F^T t} Q\,e^{F t}\,dt = E_{22}^T E_{12}, \qquad
          \begin{bmatrix} \cdot & E_{12} \\ 0 & E_{22} \end{bmatrix}
          = \exp\Bigl(\begin{bmatrix} -F^T & Q \\ 0 & F \end{bmatrix} T\Bigr)              (eq:sampled-cost)
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import expm

from servotwin.errors import InputError
from servotwin.linear.scaling import balanced
from servotwin.linear.system import Array, LinearSystem, Quantity


def sampled(system: LinearSystem, period: float) -> LinearSystem:
    """The system at the instants of a hold of ``period`` [s], exactly (eq:hold)."""
    if not period > 0.0 or not np.isfinite(period):
        raise InputError(f"{period:g} s is no sample period; expected more than zero", field="period")
    if system.period is not None:
        raise InputError("the system is sampled already", field="period")
    n, m = system.B.shape
    A, units = balanced(system.A)
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A, system.B / units[:, None]
    out = expm(period * block)  # eq:hold
    Phi = units[:, None] * out[:n, :n] / units
    return replace(system, A=np.asarray(Phi), B=np.asarray(units[:, None] * out[:n, n:]), period=period)


def delayed(system: LinearSystem, periods: int = 1) -> LinearSystem:
    """A sampled system whose inputs act some periods later; the waiting inputs are states."""
    out = system
    for k in range(periods):
        n, m = out.B.shape
        A = np.block([[out.A, out.B], [np.zeros((m, n + m))]])
        B = np.vstack([np.zeros((n, m)), np.eye(m)])
        waiting = tuple(Quantity(f"{q.name}.waiting{k}", q.unit) for q in out.inputs)
        C = np.hstack([out.C, out.D])
        out = replace(
            out, A=A, B=B, C=C, D=np.zeros_like(out.D), states=(*out.states, *waiting),
            x0=np.append(out.x0, out.u0) if len(out.x0) else out.x0,
        )  # fmt: skip
    return out


def sampled_cost(system: LinearSystem, Q: Array, period: float) -> Array:
    """Weights (n + m, n + m) of state and held input with which x^T Q x costs over a period what it costs in truth."""
    n, m = system.B.shape
    F, weights = np.zeros((n + m, n + m)), np.zeros((n + m, n + m))
    F[:n, :n], F[:n, n:], weights[:n, :n] = system.A, system.B, Q
    return _integral(F, weights, period)


def sampled_noise(system: LinearSystem, W: Array, period: float) -> Array:
    """Covariance (n, n) that white noise of intensity W at the inputs adds to the state within a period."""
    return _integral(system.A.T, system.B @ W @ system.B.T, period)


def _integral(F: Array, Q: Array, period: float) -> Array:
    """eq:sampled-cost; for a part of the period that no exponential overflows in, then doubled."""
    scaled, units = balanced(F)
    weights, n = units[:, None] * Q * units, len(F)
    rate = max(1e-300, period * float(np.linalg.norm(scaled, 1)))
    doublings = max(0, math.ceil(math.log2(rate)))
    block = np.block([[-scaled.T, weights], [np.zeros((n, n)), scaled]])
    part = expm(block * (period / 2**doublings))
    step, total = part[n:, n:], part[n:, n:].T @ part[:n, n:]  # eq:sampled-cost
    for _ in range(doublings):
        total, step = total + step.T @ total @ step, step @ step
    total = total / np.outer(units, units)
    return np.asarray(0.5 * (total + total.T))
