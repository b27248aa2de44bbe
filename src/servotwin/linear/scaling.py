"""Units of the states in which a system's numbers are of one size: what eigenvalues and ranks are computed in."""

from __future__ import annotations

import numpy as np

from servotwin.linear.system import Array

ROUNDS = 100
WORTH = 0.95  # a change of a unit that shrinks the entries by less is not made
ROUNDING = 1e-14  # of the largest entry of row or column: a residue of rounding must not decide a unit


def balanced(A: Array) -> tuple[Array, Array]:
    """D^-1 A D and the diagonal of D, powers of two: rows and columns of a state are alike (Parlett and Reinsch).

    A state that acts on no other, or on which none acts, keeps its unit.
    """
    A = np.asarray(A, dtype=np.float64)
    size = np.abs(A)
    around = np.maximum(
        size.max(axis=1, keepdims=True, initial=0.0), size.max(axis=0, keepdims=True, initial=0.0)
    )
    out = np.where(size > ROUNDING * around, A, 0.0)
    units = np.ones(len(out))
    for _ in range(ROUNDS):
        settled = True
        for i in range(len(out)):
            own = abs(out[i, i])
            column, row = np.abs(out[:, i]).sum() - own, np.abs(out[i]).sum() - own
            if column == 0.0 or row == 0.0:
                continue
            factor = 2.0 ** np.round(0.5 * np.log2(row / column))
            if factor * column + row / factor < WORTH * (column + row):
                settled = False
                units[i] *= factor
                out[:, i] *= factor
                out[i] /= factor
        if settled:
            break
    return A * units / units[:, None], units


def passing_units(A: Array, B: Array, C: Array) -> Array:
    """Units of the states in which A, B and C together are balanced, as if every output led back to every input.

    What only passes on (a spool that no pressure moves, a position that nothing feels) has no unit in A alone.
    """
    n, m, p = len(A), B.shape[1], len(C)
    loop = np.zeros((n + m + p, n + m + p))
    loop[:n, :n], loop[:n, n : n + m], loop[n + m :, :n] = A, B, C
    loop[n : n + m, n + m :] = 1.0
    return balanced(loop)[1][:n]
