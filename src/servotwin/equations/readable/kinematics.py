"""Transforms, Jacobians and loop closures in closed form."""

from __future__ import annotations

import numpy as np

from servotwin.dynamics.loops import EQUATIONS
from servotwin.equations.readable import laurent
from servotwin.equations.readable.laurent import Poly, Rows, Vector
from servotwin.equations.readable.model import Equations
from servotwin.mechanism.model import CutKind


def frame_pose(equations: Equations, frame: str, tag: str) -> tuple[Rows, Vector]:
    """Rotation and origin of a named frame in the base; ``tag`` names the numbers of its placement."""
    numbers, symbols = equations.symbols.numbers, equations.symbols
    body, X = numbers.frames[frame]
    R, p = (laurent.IDENTITY, laurent.ORIGIN) if body < 0 else equations.tree.pose(body)

    def entry(i: int, j: int) -> Poly:
        meaning = f"entry {i + 1}{j + 1} of the placement of {frame}"
        return symbols.number(f"x{tag}_{i + 1}{j + 1}", meaning, "m" if j == 3 else "1", float(X[i, j]))

    rows = tuple(tuple(entry(i, j) for j in range(3)) for i in range(3))
    shift = (entry(0, 3), entry(1, 3), entry(2, 3))
    return laurent.times(R, rows), laurent.plus(p, laurent.apply(R, shift))  # type: ignore[arg-type]


def jacobian(equations: Equations, frame: str, tag: str) -> list[list[Poly]]:
    """6 x n: derivative of the origin, then axes of rotation, in the base."""
    numbers = equations.symbols.numbers
    sliding = equations.reader.sliding()
    _, p = frame_pose(equations, frame, tag)
    rows = [[laurent.derivative(p[k], j, sliding[j]) for j in range(equations.n)] for k in range(3)]
    path = []
    b = numbers.frames[frame][0]
    while b >= 0:
        path.append(b)
        b = equations.tree.parent[b]
    for k in range(3):
        row = []
        for j in range(equations.n):
            parts = [
                laurent.scaled(equations.tree.pose(i)[0][k][2], complex(numbers.G[i, j]))
                for i in path
                if numbers.G[i, j] and not equations.tree.prismatic[i]
            ]
            row.append(laurent.total(parts))
        rows.append(row)
    return rows


def closures(equations: Equations) -> list[tuple[str, Poly]]:
    """Named closure equations s = 0 of all loops (eq:cut)."""
    cut = equations.symbols.numbers.cut
    out: list[tuple[str, Poly]] = []
    for k, (kind, a, b) in enumerate(cut.loops if cut else ()):
        (R_a, p_a), (R_b, p_b) = frame_pose(equations, a, f"a{k + 1}"), frame_pose(equations, b, f"b{k + 1}")
        gap = tuple(laurent.add(x, y, -1.0) for x, y in zip(p_a, p_b, strict=True))
        columns_a, columns_b = ([tuple(r[c] for r in R) for c in range(3)] for R in (R_a, R_b))
        (xa, ya, za), (xb, yb, zb) = columns_a, columns_b
        if kind is CutKind.SPHERICAL:
            values = [*gap]
        elif kind is CutKind.REVOLUTE:
            values = [*gap, laurent.dot(xa, zb), laurent.dot(ya, zb)]
        else:
            values = [laurent.dot(xa, gap), laurent.dot(ya, gap)]
            values += [laurent.dot(xa, yb), laurent.dot(ya, zb), laurent.dot(za, xb)]
        out += [(f"loop {k + 1}, {name}", s) for name, s in zip(EQUATIONS[kind], values, strict=True)]
    return out


def closure_jacobian(equations: Equations) -> list[list[Poly]]:
    """S = ds/dx of all closures."""
    sliding = equations.reader.sliding()
    return [
        [laurent.derivative(s, j, sliding[j]) for j in range(equations.n)] for _, s in closures(equations)
    ]


def evaluate(poly: Poly, equations: Equations, q: np.ndarray) -> float:
    """Value of a Laurent sum at q (n,), as a check."""
    symbols = equations.symbols
    sliding = equations.reader.sliding()
    total = 0.0 + 0.0j
    for key, value in poly.items():
        powers = laurent.exponents(key, symbols.count)
        term = value
        for j, power in enumerate(powers[: equations.n]):
            term *= q[j] ** power if sliding[j] else np.exp(1j * power * q[j])
        for symbol, power in zip(symbols.geometry, powers[equations.n :], strict=True):
            term *= symbol.value**power
        total += term
    return float(total.real)
