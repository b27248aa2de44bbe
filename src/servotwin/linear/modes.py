r"""Modes of a linear system: poles, natural frequencies, damping, shapes and who takes part.

.. math:: A\,v_k = \lambda_k v_k, \quad w_k^H A = \lambda_k w_k^H, \quad
          \omega_k = |\lambda_k|, \quad \zeta_k = -\Re\lambda_k/|\lambda_k|, \quad
          p_{ik} = \frac{w_{ik}^* v_{ik}}{w_k^H v_k}                                  (eq:modes)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig, null_space, qr

from servotwin.linear.scaling import balanced
from servotwin.linear.system import Array, LinearSystem

Complex = NDArray[np.complex128]
STILL = (
    1e-7  # of the fastest pole, below which a pole counts as zero: rounding splits repeated zeros that far
)


@dataclass(frozen=True)
class Mode:
    """A real pole, or a pair of complex ones by that with the positive imaginary part."""

    pole: complex  # [1/s]
    shape: Complex  # right eigenvector, its largest entry in balanced units 1
    participation: Array  # share of every state (eq:modes), adds up to 1

    @property
    def oscillates(self) -> bool:
        """Whether it is one of a pair."""
        return self.pole.imag != 0.0

    @property
    def frequency(self) -> float:
        """Natural frequency [rad/s]."""
        return abs(self.pole)

    @property
    def damping(self) -> float:
        """Damping ratio [-]; negative: it grows. That of a pole at zero is 1."""
        return 1.0 if self.pole == 0.0 else -self.pole.real / abs(self.pole)

    @property
    def time_constant(self) -> float:
        """Time within which it decays to 1/e, or grows by e [s]; infinite if it does neither."""
        return np.inf if self.pole.real == 0.0 else 1.0 / abs(self.pole.real)


def modes(system: LinearSystem) -> list[Mode]:
    """All modes, slowest first (eq:modes); poles that rounding alone tells from zero are zero."""
    if not system.order:
        return []
    # in balanced units states of many sizes (A, rad, rad/s) are comparable, and eigenvalues are most accurate
    A, units = balanced(system.A)
    values, left, right = (np.asarray(part, np.complex128) for part in eig(A, left=True, right=True))
    fastest = float(np.abs(values).max()) or 1.0
    still = np.abs(values) <= STILL * fastest
    if still.sum() > 1:
        right[:, still], left[:, still] = _integrators(A, right[:, still], left[:, still])
    out = []
    for k in np.lexsort((-values.imag, np.round(np.abs(values), 9))):
        if values[k].imag < 0.0 and np.abs(values[k]) > STILL * fastest:
            continue
        v, w = right[:, k], left[:, k]
        product = np.conj(w) * v
        total = product.sum()
        share = np.abs(product) / np.abs(product).sum() if abs(total) > 1e-12 else np.abs(v) / np.abs(v).sum()
        v = v / v[np.argmax(np.abs(v))]
        pole = complex(values[k]) if np.abs(values[k]) > STILL * fastest else 0j
        out.append(Mode(pole, np.asarray(units * v), np.asarray(share, dtype=np.float64)))
    return out


def _integrators(A: Array, right: Complex, left: Complex) -> tuple[Complex, Complex]:
    """Eigenvectors of several poles at zero, each with a state of its own; as they are if the poles feed each other."""
    V, W = null_space(A), null_space(A.T)
    if V.shape != right.shape or W.shape != left.shape:
        return right, left
    chosen = qr(V.T, mode="r", pivoting=True)[1][: V.shape[1]]
    V = np.linalg.solve(V[np.sort(chosen)].T, V.T).T
    return V.astype(np.complex128), np.linalg.solve((V.T @ W).T, W.T).T.astype(np.complex128)
