r"""Linear systems of a size known beforehand, over any scalar, without branches.

A matrix with at least as many rows as columns is factored as A = Q R by modified Gram-Schmidt:
no pivoting, so that the factorisation can be generated as straight-line code, and no growth of
rounding errors beyond the condition of A (Björck 1967). Columns with few entries come first:
what is known to be zero stays so for longer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from servotwin.dynamics.forward import NoInertiaError, factor, is_zero, solve
from servotwin.dynamics.vector import Scalar

Columns = list[list[Scalar]]
Rows = Sequence[Sequence[Scalar]]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Inner product; known zeros cost nothing."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


@dataclass(frozen=True)
class QR:
    """Orthonormal columns Q, upper triangle R, the reciprocals of its diagonal, and the order of the columns."""

    Q: Columns
    R: list[list[Scalar]]
    inverse: list[Scalar]
    order: list[int]  # column j of Q belongs to column order[j] of A

    @classmethod
    def of(cls, A: Rows, sqrt: Callable[[Scalar], Scalar]) -> QR:
        """Factor a matrix given by rows, as many as columns or more, of full column rank."""
        n = len(A[0]) if A else 0
        entries = [sum(not is_zero(row[j]) for row in A) for j in range(n)]
        order = sorted(range(n), key=lambda j: entries[j])
        columns: Columns = [[row[j] for row in A] for j in order]
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
        return cls(columns, R, inverse, order)

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with the least |A x - b|."""
        n = len(self.order)
        rest = list(b)
        x: list[Scalar] = [0.0] * n
        # b is orthogonalised along with the columns, which keeps the accuracy that Q^T b would lose
        for j in range(n):
            x[j] = dot(self.Q[j], rest)
            if not is_zero(x[j]):
                rest = [value - x[j] * q for value, q in zip(rest, self.Q[j], strict=True)]
        for j in reversed(range(n)):
            for k in range(j + 1, n):
                if not is_zero(self.R[j][k]):
                    x[j] = x[j] - self.R[j][k] * x[k]
            x[j] = x[j] * self.inverse[j]
        out: list[Scalar] = [0.0] * n
        for j, place in enumerate(self.order):
            out[place] = x[j]
        return out

    def solve_transposed(self, b: Sequence[Scalar]) -> list[Scalar]:
        """The shortest x with A^T x = b."""
        n = len(self.order)
        u = [b[place] for place in self.order]
        for j in range(n):
            for k in range(j):
                if not is_zero(self.R[k][j]):
                    u[j] = u[j] - self.R[k][j] * u[k]
            u[j] = u[j] * self.inverse[j]
        # what Q lacks in orthogonality is taken out again on the way (Björck and Paige 1992)
        x: list[Scalar] = [0.0] * (len(self.Q[0]) if self.Q else 0)
        for j in reversed(range(n)):
            push = u[j] - dot(self.Q[j], x)
            x = [value + push * q for value, q in zip(x, self.Q[j], strict=True)]
        return x

    def without(self, v: Sequence[Scalar]) -> list[Scalar]:
        """v less its part in the columns of A."""
        rest = list(v)
        for q in self.Q:
            part = dot(q, rest)
            rest = [value - part * entry for value, entry in zip(rest, q, strict=True)]
        return rest


def solve_saddle(
    M: Rows, S: Rows, f: Sequence[Scalar], g: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    r"""(x, y) with M x - S^T y = f and S x = g, for symmetric M that is positive on the null space of S.

    M itself may be singular (massless links): adding a S^T S to it and a S^T g to f changes
    nothing in the solution and makes it positive definite. Then the whole symmetric system can be factored
    without pivoting, the rows of M first. ``a`` makes both parts alike in size.
    """
    n, m = len(M), len(S)
    size = dot([1.0] * n, [M[i][i] for i in range(n)])
    weight = size / dot([e for row in S for e in row], [e for row in S for e in row]) if m else 0.0
    columns = [[row[i] for row in S] for i in range(n)]
    heavier = [[M[i][j] + weight * dot(columns[i], columns[j]) for j in range(n)] for i in range(n)]
    entries = [sum(not is_zero(e) for e in row) for row in heavier]
    # ``factor`` eliminates from the end: rows with few entries last
    order = sorted(range(n), key=lambda i: -entries[i])
    K: list[list[Scalar]] = [[0.0] * (n + m) for _ in range(n + m)]
    for a, i in enumerate(order):
        for b, j in enumerate(order):
            K[m + a][m + b] = heavier[i][j]
        for k in range(m):
            K[m + a][k] = K[k][m + a] = -S[k][i]
    pulled = [f[i] + weight * dot(columns[i], g) for i in order]
    try:
        L, inverse = factor(K)
    except NoInertiaError as error:
        raise NoInertiaError(order[error.joint - m]) from None
    both = solve(L, inverse, [-value for value in g] + pulled)
    x: list[Scalar] = [0.0] * n
    for a, i in enumerate(order):
        x[i] = both[m + a]
    return x, both[:m]
