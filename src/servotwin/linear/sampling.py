r"""Sampled systems: what a computer sees of a plant whose input it holds for a period.

.. math:: \begin{bmatrix} \Phi & \Gamma \\ 0 & I \end{bmatrix}
          = \exp\Bigl(\begin{bmatrix} A & B \\ 0 & 0 \end{bmatrix} T_s\Bigr), \qquad
          x[k+1] = \Phi\,x[k] + \Gamma\,u[k]                                            (eq:hold)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import expm

from servotwin.errors import InputError
from servotwin.linear.scaling import balanced
from servotwin.linear.system import LinearSystem, Quantity


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
