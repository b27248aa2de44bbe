r"""Which modes the inputs reach and the outputs show: Popov-Belevitch-Hautus tests in scaled units.

A mode :math:`\lambda` is controllable if and only if

.. math:: \operatorname{rank}\,[\,A - \lambda I \;\; B\,] = n                           (eq:pbh)

and observable if the same holds for :math:`A^T, C^T`. The least singular value of that matrix says how far from losing
rank it is. Angles, currents and speeds differ by powers of ten, so the test is made in units in which A, B and C are
balanced and A is of norm 1, and every column of B and row of C has length 1. The number of reachable states is found by
the staircase algorithm (orthogonal steps, no powers of A).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.linear.scaling import passing_units
from servotwin.linear.system import Array, LinearSystem

TOLERANCE = 1e-9  # of the balanced system's norm: far above rounding, far below any physical coupling


@dataclass(frozen=True)
class Reach:
    """How far inputs (or outputs) reach into a system."""

    rank: int  # states that are reached
    order: int
    margins: tuple[tuple[complex, float], ...]  # poles and least singular values of eq:pbh, in scaled units

    @property
    def complete(self) -> bool:
        """Whether nothing is out of reach."""
        return self.rank == self.order

    @property
    def margin(self) -> float:
        """The least of the margins."""
        return min((value for _, value in self.margins), default=np.inf)


def controllability(system: LinearSystem) -> Reach:
    """What the inputs reach."""
    A, B, _, norm = scaled(system)
    return _reach(A, B, norm)


def observability(system: LinearSystem) -> Reach:
    """What the outputs show."""
    A, _, C, norm = scaled(system)
    return _reach(A.T, C.T, norm)


def scaled(system: LinearSystem) -> tuple[Array, Array, Array, float]:
    """A of norm 1, B and C in balanced units of states, with unit columns of B and rows of C; the norm of A before."""
    units = passing_units(system.A, system.B, system.C)
    A = system.A * units / units[:, None]
    norm = float(np.linalg.norm(A, 2)) or 1.0
    B, C = system.B / units[:, None], system.C * units
    B = B / _or_one(np.linalg.norm(B, axis=0))
    C = C / _or_one(np.linalg.norm(C, axis=1))[:, None]
    return np.asarray(A / norm), np.asarray(B), np.asarray(C), norm


def _or_one(sizes: Array) -> Array:
    return np.where(sizes > 0.0, sizes, 1.0)


def _reach(A: Array, B: Array, norm: float) -> Reach:
    n = len(A)
    values = np.linalg.eigvals(A)
    margins = []
    for value in values[np.lexsort((values.imag, np.abs(values)))]:
        if value.imag < 0.0:
            continue
        test = np.hstack([A - value * np.eye(n), B])  # eq:pbh
        margins.append((complex(value * norm), float(np.linalg.svd(test, compute_uv=False)[-1])))
    return Reach(staircase_rank(A, B), n, tuple(margins))


def staircase_rank(A: Array, B: Array, tolerance: float = TOLERANCE) -> int:
    """Dimension of the states that B reaches through A."""
    total, n = 0, len(A)
    while n - total > 0:
        U, sizes, _ = np.linalg.svd(B, full_matrices=True)
        new = int((sizes > tolerance).sum())
        if new == 0:
            break
        if new >= len(A):
            return total + new
        total += new
        turned = U.T @ A @ U
        A, B = turned[new:, new:], turned[new:, :new]
        if len(A) == 0:
            break
    return total
