r"""Mass matrix and potential energy of a tree as sums over inertial symbols (eq:tensor-mass).

A point r of body b moves with :math:`\partial_i P = A_i + B_i r` per unit of joint i, so that

.. math:: M_{ij} = m A_i A_j + (A_i B_j^k + A_j B_i^k) s_k + B_i^k B_j^l J_{kl}

with first and second moments s, J. Everything is written in the frame of joint i, where only the joints
between i and b appear.
"""

from __future__ import annotations

from collections import defaultdict

from servotwin.equations.readable import laurent
from servotwin.equations.readable.laurent import Poly, Rows, Vector
from servotwin.equations.readable.symbols import AXES, Symbols

Linear = dict[str, Poly]  # inertial symbol -> its factor
ROW = tuple[Vector, Rows]  # A (3) and B (columns by body axis)


class TreePolynomials:
    """Relative placements of all bodies, and what follows from them."""

    def __init__(self, symbols: Symbols, known: set[str]) -> None:
        self.symbols = symbols
        self.known = known  # inertial symbols that are not zero
        tree = symbols.numbers.tree
        self.parent = [int(p) for p in tree.parent]
        self.prismatic = [bool(p) for p in tree.prismatic]
        self.n = len(self.parent)
        self.steps = [symbols.placement(i) for i in range(self.n)]
        self.relative: dict[tuple[int, int], tuple[Rows, Vector]] = {}
        for i in range(self.n):
            self.relative[i, i] = (laurent.IDENTITY, laurent.ORIGIN)
            for b in range(i + 1, self.n):
                if (i, self.parent[b]) in self.relative:
                    self.relative[i, b] = self._after(self.relative[i, self.parent[b]], b)

    def _after(self, placed: tuple[Rows, Vector], b: int) -> tuple[Rows, Vector]:
        (R, p), (R_b, p_b) = placed, self.steps[b]
        return laurent.times(R, R_b), laurent.plus(p, laurent.apply(R, p_b))

    def pose(self, b: int) -> tuple[Rows, Vector]:
        """Rotation and origin of body b in the base."""
        path = []
        while b >= 0:
            path.append(b)
            b = self.parent[b]
        placed = (laurent.IDENTITY, laurent.ORIGIN)
        for k in reversed(path):
            placed = self._after(placed, k)
        return placed

    def _partial(self, i: int, j: int, b: int) -> ROW:
        """A and B of joint j for body b, in the frame of joint i (an ancestor of j, or j)."""
        R_ij = self.relative[i, j][0]
        if self.prismatic[j]:
            return (R_ij[0][2], R_ij[1][2], R_ij[2][2]), (laurent.ORIGIN, laurent.ORIGIN, laurent.ORIGIN)
        R, p = self.relative[j, b]
        A = laurent.apply(R_ij, (laurent.scaled(p[1], -1), p[0], {}))
        columns = []
        for k in range(3):
            turned: Vector = (laurent.scaled(R[1][k], -1), R[0][k], {})
            columns.append(laurent.apply(R_ij, turned))
        return A, (columns[0], columns[1], columns[2])

    def mass_entry(self, i: int, j: int) -> Linear:
        """M_ij of the tree, i an ancestor of j or j itself."""
        out: Linear = defaultdict(dict)
        for b in range(j, self.n):
            if (j, b) in self.relative:
                (A_i, B_i), (A_j, B_j) = self._partial(i, i, b), self._partial(i, j, b)
                self._collect(out, b, A_i, B_i, A_j, B_j)
        return out

    def _collect(self, out: Linear, b: int, A_i: Vector, B_i: Rows, A_j: Vector, B_j: Rows) -> None:
        def give(name: str, factor: Poly, scale: float = 1.0) -> None:
            if name in self.known and factor:
                out[name] = laurent.add(out[name], factor, scale)

        if f"m{b + 1}" in self.known:
            give(f"m{b + 1}", laurent.dot(A_i, A_j))
        for k, axis in enumerate(AXES):
            name = f"m_c{axis}{b + 1}"
            if name in self.known:
                give(name, laurent.add(laurent.dot(A_i, B_j[k]), laurent.dot(A_j, B_i[k])))
        square = [laurent.dot(B_i[k], B_j[k]) for k in range(3)]
        for k, axis in enumerate(AXES):  # J_kk = (I_ll + I_mm - I_kk) / 2
            for other in AXES:
                give(f"I{other}{other}{b + 1}", square[k], -0.5 if other == axis else 0.5)
        for k, l in ((0, 1), (0, 2), (1, 2)):
            name = f"I{AXES[k]}{AXES[l]}{b + 1}"
            if name in self.known:
                give(name, laurent.add(laurent.dot(B_i[k], B_j[l]), laurent.dot(B_i[l], B_j[k])), -1.0)

    def mass_matrix(self) -> list[list[Linear]]:
        """M over the tree joints; entries of different branches are empty."""
        M: list[list[Linear]] = [[{} for _ in range(self.n)] for _ in range(self.n)]
        for i, j in self.relative:
            M[i][j] = M[j][i] = self.mass_entry(i, j)
        return M

    def potential(self) -> Linear:
        """Potential energy, zero for mass at the base origin."""
        fall = self._gravity()
        out: Linear = defaultdict(dict)
        for b in range(self.n):
            R, p = self.pose(b)
            names = [(f"m{b + 1}", p)]
            names += [(f"m_c{a}{b + 1}", (R[0][k], R[1][k], R[2][k])) for k, a in enumerate(AXES)]
            for name, direction in names:
                if name in self.known:
                    out[name] = laurent.add(out[name], laurent.dot(direction, fall), -1.0)
        return out

    def _gravity(self) -> Vector:
        """Acceleration of free fall in the base: one symbol g if it points along -z."""
        x, y, z = (float(v) for v in self.symbols.numbers.gravity)
        meaning, unit = "acceleration of free fall", "m/s2"
        if x == 0.0 and y == 0.0 and z <= 0.0:
            g = self.symbols.number("g", meaning, unit, -z) if z else {}
            return ({}, {}, laurent.scaled(g, -1))
        names = (("g_x", x), ("g_y", y), ("g_z", z))
        parts = [self.symbols.number(name, f"{meaning}, {name[-1]}", unit, value) for name, value in names]
        return (parts[0], parts[1], parts[2])
