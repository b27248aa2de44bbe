r"""Frequency responses, zeros and transfer functions of linear systems.

.. math:: G(s) = C (s I - A)^{-1} B + D = k\,\frac{\prod_i (s - z_i)}{\prod_i (s - p_i)}    (eq:transfer)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig

from servotwin.linear.scaling import balanced
from servotwin.linear.system import Array, LinearSystem

Complex = NDArray[np.complex128]
CANCEL = 1e-6  # relative distance within which a zero lies on a pole


def frequency_response(system: LinearSystem, w: Array) -> Complex:
    """G(jw) (len(w), outputs, inputs); of a sampled system G(exp(jwT)) (eq:transfer)."""
    s = 1j * np.asarray(w, dtype=np.float64)
    if system.period is not None:
        s = np.exp(s * system.period)
    A, units = balanced(system.A)
    B, C = system.B / units[:, None], system.C * units
    left = s[:, None, None] * np.eye(system.order) - A
    return np.asarray(
        C @ np.linalg.solve(left, np.broadcast_to(B.astype(np.complex128), (len(s), *B.shape))) + system.D
    )


@dataclass(frozen=True)
class Transfer:
    """One channel by its zeros, poles and gain (eq:transfer); what cancels is left out."""

    zeros: Complex
    poles: Complex
    gain: float

    def at(self, s: Complex) -> Complex:
        """G(s); of a sampled system G(z)."""
        top = np.prod(s[:, None] - self.zeros, axis=1)
        return np.asarray(self.gain * top / np.prod(s[:, None] - self.poles, axis=1))

    def polynomials(self) -> tuple[Array, Array]:
        """Numerator and denominator, highest power first."""
        return np.real(self.gain * np.poly(self.zeros)), np.real(np.poly(self.poles))


def transfer(system: LinearSystem, output: int, source: int) -> Transfer:
    """The transfer function of one channel."""
    one = system.channel(output, source)
    A, units = balanced(one.A)
    b, c, d = (one.B / units[:, None])[:, 0], (one.C * units)[0], float(one.D[0, 0])
    poles = np.linalg.eigvals(A).astype(np.complex128)
    zeros = system_zeros(A, b, c, d)
    zeros, poles = cancelled(zeros, poles, float(np.abs(poles).max(initial=0.0)))
    return Transfer(zeros, poles, _gain(one, zeros, poles))


def system_zeros(A: Array, b: Array, c: Array, d: float) -> Complex:
    """Finite zeros: generalised eigenvalues of the system's pencil."""
    n = len(A)
    size = float(np.linalg.norm(A, 2)) or 1.0
    # a row and a column in other units have the same zeros, if the entry that they share takes part
    by_b, by_c = (size / (float(np.linalg.norm(x)) or 1.0) for x in (b, c))
    b, c, d = by_b * b, by_c * c, by_b * by_c * d
    pencil = np.block([[A, b[:, None]], [c[None], np.array([[d]])]])
    mass = np.zeros((n + 1, n + 1))
    mass[:n, :n] = np.eye(n)
    alpha, beta = eig(pencil, mass, right=False, homogeneous_eigvals=True)
    finite = np.abs(beta) * 1e6 * size > np.abs(alpha)
    return np.asarray(alpha[finite] / beta[finite], dtype=np.complex128)


def cancelled(zeros: Complex, poles: Complex, size: float) -> tuple[Complex, Complex]:
    """Zeros and poles without those that lie on each other."""
    left, kept = list(zeros), []
    for pole in poles:
        near = [k for k, zero in enumerate(left) if abs(zero - pole) <= CANCEL * max(abs(pole), 1e-3 * size)]
        if near:
            left.pop(min(near, key=lambda k: abs(left[k] - pole)))
        else:
            kept.append(pole)
    return np.array(left, dtype=np.complex128), np.array(kept, dtype=np.complex128)


def _gain(one: LinearSystem, zeros: Complex, poles: Complex) -> float:
    """k from the response at a point s (z of a sampled system) away from all zeros and poles."""
    sizes = np.abs(np.concatenate([zeros, poles]))
    s = 2.0j * float(sizes.max(initial=0.0)) + 1.0j
    G = (one.C @ np.linalg.solve(s * np.eye(one.order) - one.A, one.B) + one.D)[0, 0]
    return float(np.real(G * np.prod(s - poles) / np.prod(s - zeros)))
