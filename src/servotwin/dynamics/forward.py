r"""Forward dynamics by factorisation, over any scalar.

The mass matrix of a tree is factored as :math:`M = L^T D L` from the leaves to
the root: in that order a zero that the branches put into M stays a zero
(Featherstone, Rigid Body Dynamics Algorithms, 2008, sec. 6.5), so nothing is
computed for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from servotwin.dynamics.vector import Scalar
from servotwin.errors import UnsupportedError


class NoInertiaError(UnsupportedError):
    """A joint moves no inertia, so a torque does not fix its acceleration; ``joint`` is its place in q."""

    def __init__(self, joint: int) -> None:
        self.joint = joint
        super().__init__(f"joint {joint + 1} moves no inertia")


def is_zero(x: Scalar) -> bool:
    """True for a zero known at derivation time."""
    if isinstance(x, float | int):
        return x == 0
    graph = getattr(x, "graph", None)
    return graph is not None and x is graph.zero


def factor(M: Sequence[Sequence[Scalar]]) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Unit lower triangular L and reciprocals of D with M = L^T D L."""
    n = len(M)
    A = [list(row) for row in M]
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        if is_zero(A[k][k]):
            raise NoInertiaError(k)
        inverse[k] = 1.0 / A[k][k]
        columns = [i for i in range(k) if not is_zero(A[k][i])]
        for i in columns:
            L[k][i] = A[k][i] * inverse[k]
        for i in columns:
            for j in columns:
                if j <= i:
                    A[i][j] = A[i][j] - L[k][i] * A[k][j]
                    A[j][i] = A[i][j]
    return L, inverse


def solve(L: Sequence[Sequence[Scalar]], inverse: Sequence[Scalar], rhs: Sequence[Scalar]) -> list[Scalar]:
    """x with L^T D L x = rhs."""
    n = len(rhs)
    x = list(rhs)
    for k in reversed(range(n)):
        for i in range(k):
            if not is_zero(L[k][i]):
                x[i] = x[i] - L[k][i] * x[k]
    x = [value * inverse[k] for k, value in enumerate(x)]
    for k in range(n):
        for i in range(k):
            if not is_zero(L[k][i]):
                x[k] = x[k] - L[k][i] * x[i]
    return x
