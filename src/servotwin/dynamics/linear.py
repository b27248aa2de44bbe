r"""Linear systems of a size known beforehand, over any scalar, without branches.

A square matrix is factored as A = Q R by modified Gram-Schmidt: no pivoting, so that the
factorisation can be generated as straight-line code, and no growth of rounding errors beyond
the condition of A (Björck 1967).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from servotwin.dynamics.forward import is_zero
from servotwin.dynamics.vector import Scalar

Columns = list[list[Scalar]]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Inner product; known zeros cost nothing."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


@dataclass(frozen=True)
class QR:
    """Orthonormal columns Q, upper triangle R and the reciprocals of its diagonal."""

    Q: Columns
    R: list[list[Scalar]]
    inverse: list[Scalar]

    @classmethod
    def of(cls, A: Sequence[Sequence[Scalar]], sqrt: Callable[[Scalar], Scalar]) -> QR:
        """Factor a square matrix given by rows."""
        n = len(A)
        columns: Columns = [[A[i][j] for i in range(n)] for j in range(n)]
        R: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        inverse: list[Scalar] = [0.0] * n
        for j in range(n):
            R[j][j] = sqrt(dot(columns[j], columns[j]))
            inverse[j] = 1.0 / R[j][j]
            columns[j] = [x * inverse[j] for x in columns[j]]
            for k in range(j + 1, n):
                R[j][k] = dot(columns[j], columns[k])
                if not is_zero(R[j][k]):
                    columns[k] = [x - R[j][k] * y for x, y in zip(columns[k], columns[j], strict=True)]
        return cls(columns, R, inverse)

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with A x = b."""
        n = len(b)
        rest = list(b)
        x: list[Scalar] = [0.0] * n
        # b is orthogonalised along with the columns, which keeps the accuracy that Q^T b would lose
        for j in range(n):
            x[j] = dot(self.Q[j], rest)
            rest = [value - x[j] * q for value, q in zip(rest, self.Q[j], strict=True)]
        for j in reversed(range(n)):
            for k in range(j + 1, n):
                if not is_zero(self.R[j][k]):
                    x[j] = x[j] - self.R[j][k] * x[k]
            x[j] = x[j] * self.inverse[j]
        return x

    def solve_transposed(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with A^T x = b."""
        n = len(b)
        u = list(b)
        for j in range(n):
            for k in range(j):
                if not is_zero(self.R[k][j]):
                    u[j] = u[j] - self.R[k][j] * u[k]
            u[j] = u[j] * self.inverse[j]
        return [dot([self.Q[j][i] for j in range(n)], u) for i in range(n)]
