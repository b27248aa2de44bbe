r"""The equations of motion of a tree in closed form, in the three shapes the field uses.

========  ==========================================================================================
shape     equation
========  ==========================================================================================
M, C, g   :math:`\tau = M \ddot q + C \dot q + g`, C of the Christoffel symbols
A, B, C   :math:`\tau = A \ddot q + 2 B [\dot q \dot q] + C [\dot q^2] + G` (Song 1995, eq 2)
D, H, G   :math:`\tau_i = \sum D_{ij} \ddot q_j + \sum H_{ijk} \dot q_j \dot q_k + G_i` (Lee 1989, eq 7)
========  ==========================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from servotwin.equations.derivation import Numbers
from servotwin.equations.readable import laurent
from servotwin.equations.readable.energy import Linear, TreePolynomials
from servotwin.equations.readable.laurent import Poly
from servotwin.equations.readable.symbols import Symbol, Symbols, atoms
from servotwin.equations.readable.terms import Constants, Entry, Reader, derivative, evaluate, plus
from servotwin.mechanism.model import Array, Rotors


@dataclass
class Equations:
    """Closed forms of one robot. Entries are sums of (constant, function) with numbers; see ``terms``."""

    symbols: Symbols
    inertial: dict[str, Symbol]
    constants: Constants
    M: list[list[Entry]]
    V: Entry  # potential energy
    tree: TreePolynomials
    reader: Reader

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.M)

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        return self.symbols.coordinates

    @cached_property
    def christoffel(self) -> list[list[list[Entry]]]:
        """H_ijk = (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) / 2."""
        n = range(self.n)
        rates = [[[derivative(self.M[i][j], k) for k in n] for j in n] for i in n]

        def symbol(i: int, j: int, k: int) -> Entry:
            both = plus(plus({}, rates[i][j][k], 0.5), rates[i][k][j], 0.5)
            return plus(both, rates[j][k][i], -0.5)

        return [[[symbol(i, j, k) for k in n] for j in n] for i in n]

    @cached_property
    def gravity(self) -> list[Entry]:
        """G_i = dV/dq_i."""
        return [derivative(self.V, i) for i in range(self.n)]

    @property
    def coriolis(self) -> list[list[dict[int, Entry]]]:
        """C_ij as the factor of every velocity: C_ij = sum_k H_ijk qd_k."""
        n, H = range(self.n), self.christoffel
        return [[{k: H[i][j][k] for k in n if H[i][j][k]} for j in n] for i in n]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Columns of B: (1,2), (1,3), ..., (n-1,n)."""
        return list(combinations(range(self.n), 2))

    @property
    def B(self) -> list[list[Entry]]:
        """n x n(n-1)/2 matrix of Coriolis factors (Song 1995, eq 2)."""
        return [[self.christoffel[i][j][k] for j, k in self.pairs] for i in range(self.n)]

    @property
    def C(self) -> list[list[Entry]]:
        """n x n matrix of centrifugal factors with zero diagonal (Song 1995, eq 2)."""
        return [[self.christoffel[i][j][j] for j in range(self.n)] for i in range(self.n)]

    # --- numbers ----------------------------------------------------------------------------------
    def mass_matrix(self, q: Array) -> Array:
        """M (..., n, n) at q (..., n)."""
        return self._matrix(self.M, q)

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """C (..., n, n)."""
        H = np.stack([self._matrix(self.christoffel[i], q) for i in range(self.n)], axis=-3)
        return np.asarray(np.einsum("...ijk,...k->...ij", H, qd), dtype=np.float64)

    def gravity_torque(self, q: Array) -> Array:
        """g (..., n)."""
        return np.stack([evaluate(entry, self.constants, q) for entry in self.gravity], axis=-1)

    def _matrix(self, entries: list[list[Entry]], q: Array) -> Array:
        rows = [np.stack([evaluate(e, self.constants, q) for e in row], axis=-1) for row in entries]
        return np.stack(rows, axis=-2)


def derive_tree(
    numbers: Numbers,
    *,
    rotors: Rotors | None = None,
    general: bool = False,
    numeric: frozenset[str] = frozenset(),
) -> Equations:
    """Closed form of the equations of motion.

    ``rotors`` adds their reflected inertia to M; ``general`` keeps zeros as symbols; ``numeric`` names what is
    written as numbers: 'geometry', 'gravity', 'inertia'.
    """
    inertial = atoms(numbers, general=general)
    symbols = Symbols.of(numbers, general=general, numeric=numeric)
    tree = TreePolynomials(symbols, set(inertial))
    M, V = _reduced(tree.mass_matrix(), numbers.G), tree.potential()
    if rotors is not None:
        inertial.update(_add_rotors(M, symbols, rotors, tree))
    reader = Reader.of(symbols, inertial, numeric="inertia" in numeric)
    size = numbers.G.shape[1]
    entries: list[list[Entry]] = [[{} for _ in range(size)] for _ in range(size)]
    for i in range(size):
        for j in range(i, size):
            entries[i][j] = entries[j][i] = reader.entry(M[i][j])
    potential = reader.entry(V, constant=False)  # a constant potential does no work
    return Equations(symbols, inertial, reader.constants, entries, potential, tree, reader)


def _add_rotors(
    M: list[list[Linear]], symbols: Symbols, rotors: Rotors, tree: TreePolynomials
) -> dict[str, Symbol]:
    """Add N^T diag(J_m) N, and J_m (N^T beta + beta^T N) of rotors on moving links; returns their symbols."""
    out = {}
    sliding = symbols.sliding()
    for k, (name, J_m) in enumerate(zip(rotors.names, rotors.J_m, strict=True)):
        if not J_m:
            continue
        symbol = Symbol(f"J_m{k + 1}", f"rotor inertia of motor {name}", "kg m2", float(J_m))
        out[symbol.name] = symbol
        joints = [int(i) for i in np.flatnonzero(rotors.N[k])]
        ratio: dict[int, Poly] = {}
        for i in joints:
            # n12 of ten motors and more would be that of motor 12 as well
            mark = "" if max(len(rotors.names), len(M)) < 10 else "_"
            index = f"{k + 1}" if len(joints) == 1 else f"{k + 1}{mark}{i + 1}"
            meaning = f"motor {name} per coordinate {i + 1}"
            unit = "rad/m" if sliding[i] else "1"
            ratio[i] = symbols.number(f"n{index}", meaning, unit, float(rotors.N[k, i]))
        for i in joints:
            for j in joints:
                M[i][j] = {**M[i][j], symbol.name: laurent.mul(ratio[i], ratio[j])}
        if k in rotors.spinning:
            _add_spin(M, symbols, symbol.name, ratio, _spin_row(symbols, rotors, k, tree))
    return out


def _add_spin(
    M: list[list[Linear]], symbols: Symbols, name: str, ratio: dict[int, Poly], row: list[Poly]
) -> None:
    """Add J_m (N^T beta + beta^T N) (eq:rotor-energy)."""
    G = symbols.numbers.G
    beta = [
        laurent.total([laurent.scaled(row[a], complex(G[a, j])) for a in np.flatnonzero(G[:, j])])
        for j in range(G.shape[1])
    ]
    for i, n in ratio.items():
        for j, b in enumerate(beta):
            if b:
                for r, c in ((i, j), (j, i)):
                    whole = laurent.add(M[r][c].get(name, {}), laurent.mul(n, b))
                    M[r][c] = {**M[r][c], name: whole}


def _spin_row(symbols: Symbols, rotors: Rotors, k: int, tree: TreePolynomials) -> list[Poly]:
    """beta of motor k over the tree joints: z of every joint that carries it, along the rotor's axis."""
    spin = symbols.numbers.spins[rotors.spinning.index(k)]
    axis = [
        symbols.number(
            f"u{k + 1}{letter}", f"{letter} of the axis of motor {rotors.names[k]}", "1", float(value)
        )
        for letter, value in zip("xyz", spin.axis, strict=True)
    ]
    row: list[Poly] = [{} for _ in range(tree.n)]
    for i in range(tree.n):
        if (i, spin.body) in tree.relative and not tree.prismatic[i]:
            R = tree.relative[i, spin.body][0]
            row[i] = laurent.total([laurent.mul(R[2][c], axis[c]) for c in range(3)])
    return row


def _reduced(M: list[list[Linear]], G: Array) -> list[list[Linear]]:
    """G^T M G on sums over inertial symbols."""
    n, m = G.shape
    if np.array_equal(G, np.eye(n)):
        return M
    out: list[list[Linear]] = [[{} for _ in range(m)] for _ in range(m)]
    for i in range(m):
        for j in range(m):
            for a in np.flatnonzero(G[:, i]):
                for b in np.flatnonzero(G[:, j]):
                    for name, poly in M[a][b].items():
                        whole = out[i][j].get(name, {})
                        out[i][j][name] = laurent.add(whole, poly, complex(G[a, i] * G[b, j]))
    return out
