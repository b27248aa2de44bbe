r"""A closed chain on symbols: the opened tree at x, its loop closures, and the way onto the actuated joints.

x = (q, passive joints). The closures s(x) = 0 are written in the axes of the last link that both sides of a
cut hang on: what carries a whole loop about does not appear in it. S = ds/dx comes from differentiating
their graph. On the closed manifold x' = T q' with T = [1; -S_p^-1 S_q] (eq:closed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from servotwin.dynamics.chain import Chain
from servotwin.dynamics.crba import mass_matrix
from servotwin.dynamics.jets import Jet, lift, moving_chain
from servotwin.dynamics.kinematics import BASE_POSE, Pose, body_poses, next_pose
from servotwin.dynamics.linear import QR, dot
from servotwin.dynamics.loops import closure, cut_wrench, last_common
from servotwin.dynamics.vector import Scalar
from servotwin.equations.derivation import Cut, Derivation
from servotwin.equations.graph import Expr
from servotwin.equations.programs import Matrix, flat, plus_rotors, plus_spins, reduced, torque
from servotwin.mechanism.model import CutKind


@dataclass
class Closed:
    """Coordinates, tree, closures and the projection onto the actuated joints."""

    derivation: Derivation
    x: list[Expr]
    chain: Chain
    poses: list[Pose]
    rows: Sequence[int]  # of all closures, those that are used
    n: int

    @classmethod
    def of(cls, derivation: Derivation, *, every: bool = False) -> Closed:
        """Derive the tree; ``every`` keeps redundant closures too."""
        cut = _cut(derivation)
        x = derivation.inputs("x", derivation.numbers.G.shape[1])
        chain = derivation.chain(derivation.expand(x, offset=True))
        made = cls(derivation, x, chain, body_poses(chain), cut.rows, cut.n)
        if every:
            made.rows = range(len(made.every_closure(chain)))
        return made

    # --- closures ---------------------------------------------------------------------------------
    def every_closure(self, chain: Chain) -> list[Scalar]:
        """All closures, redundant ones included, of this tree at the given joints (numbers or jets)."""
        out: list[Scalar] = []
        for k in range(len(_cut(self.derivation).loops)):
            kind, a, b = self.sides(k, chain)
            out += closure(kind, a, b)
        return out

    def sides(self, k: int, chain: Chain) -> tuple[CutKind, Pose, Pose]:
        """Kind of cut k and the poses of its two frames, seen from the last link that carries both."""
        kind, a, b = _cut(self.derivation).loops[k]
        poses = poses_from(chain, self.common(k))
        return kind, self._side(a, f"A{k}_", poses, chain), self._side(b, f"B{k}_", poses, chain)

    def _side(self, frame: str, role: str, poses: Sequence[Pose], chain: Chain) -> Pose:
        number = self.derivation.number
        X = [[number(f"{role}{i}_{j}") for j in range(4)] for i in range(3)]
        if chain is not self.chain:
            X = [[Jet(entry) for entry in row] for row in X]
        body = self.derivation.numbers.frames[frame][0]
        return (BASE_POSE if body < 0 else poses[body]).then(X)

    def common(self, k: int) -> int:
        """The last body that carries both sides of cut k (-1: the base)."""
        _, a, b = _cut(self.derivation).loops[k]
        frames = self.derivation.numbers.frames
        return last_common(self.derivation.numbers.tree.parent.tolist(), frames[a][0], frames[b][0])

    @cached_property
    def s(self) -> list[Scalar]:
        """The closures that are used."""
        every = self.every_closure(self.chain)
        return [every[row] for row in self.rows]

    @cached_property
    def S(self) -> Matrix:
        """ds/dx."""
        columns = [self.derivation.graph.derivative(self.s, {node.id: 1.0}) for node in self.x]
        return [list(row) for row in zip(*columns, strict=True)]

    def pull(self, xd: Sequence[Scalar]) -> list[Scalar]:
        """dS/dt xd: the part of s'' that velocity alone causes."""
        every = self.every_closure(moving_chain(self.chain, self.derivation.expand(xd, offset=False)))
        return [lift(every[row]).dd for row in self.rows]

    def wrenches(self, forces: Sequence[Scalar]) -> list[list[Scalar]]:
        """Force and moment at every cut in base axes from the multipliers of the closures in use."""
        by_row = dict(zip(self.rows, forces, strict=True))
        out: list[list[Scalar]] = []
        start = 0
        for k in range(len(_cut(self.derivation).loops)):
            kind, a, b = self.sides(k, self.chain)
            count = len(closure(kind, a, b))
            force, moment = cut_wrench(kind, a, [by_row.get(start + i, 0.0) for i in range(count)])
            root = self.common(k)
            carrier = BASE_POSE if root < 0 else self.poses[root]
            out.append([*carrier.vector(force), *carrier.vector(moment)])
            start += count
        return out

    # --- projection -------------------------------------------------------------------------------
    @cached_property
    def passive(self) -> QR:
        """S_p, factored."""
        return QR.of([row[self.n :] for row in self.S], self.derivation.graph.sqrt)

    @cached_property
    def T(self) -> Matrix:
        """One row per coordinate x (eq:closed)."""
        rows: Matrix = [[1.0 if i == j else 0.0 for j in range(self.n)] for i in range(self.n)]
        columns = [self.passive.solve([row[j] for row in self.S]) for j in range(self.n)]
        return rows + [[-value for value in row] for row in zip(*columns, strict=True)]

    def rates(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """xd = T qd."""
        return [dot(row, qd) for row in self.T]

    def along(self, matrix: Matrix, xd: Sequence[Scalar]) -> Matrix:
        """Time derivative of a matrix of x along xd."""
        graph = self.derivation.graph
        seeds = {node.id: graph.lift(rate) for node, rate in zip(self.x, xd, strict=True)}
        width = len(matrix[0])
        rates = graph.derivative(flat(matrix), seeds)
        return [list(rates[i : i + width]) for i in range(0, len(rates), width)]

    def projection_rate(self, xd: Sequence[Scalar]) -> Matrix:
        """dT/dt = -[0; S_p^-1 dS/dt T]."""
        S_dot = self.along(self.S, xd)
        columns = [
            self.passive.solve([dot(row, [t[j] for t in self.T]) for row in S_dot]) for j in range(self.n)
        ]
        rest: Matrix = [[0.0] * self.n for _ in range(self.n)]
        return rest + [[-value for value in row] for row in zip(*columns, strict=True)]

    def accelerations(self, xd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
        """xdd = T qdd - [0; S_p^-1 dS/dt xd]."""
        drift = [0.0] * self.n + [-value for value in self.passive.solve(self.pull(xd))]
        return [dot(row, qdd) + d for row, d in zip(self.T, drift, strict=True)]

    def project(self, efforts: Sequence[Scalar]) -> list[Scalar]:
        """T^T efforts."""
        return [dot([row[j] for row in self.T], efforts) for j in range(self.n)]

    # --- dynamics ---------------------------------------------------------------------------------
    def tree_torque(
        self, xd: Sequence[Scalar], xdd: Sequence[Scalar], *, spins: bool = False
    ) -> list[Scalar]:
        """Efforts of the opened tree at the coordinates x; ``spins`` counts rotors on moving links."""
        return torque(self.derivation, self.chain, xd, xdd, spins=spins)

    def tree_mass(self, *, drives: bool = False) -> Matrix:
        """Mass matrix of the opened tree, rotors included if asked."""
        M = reduced(self.derivation, mass_matrix(self.chain))
        if drives:
            M = plus_spins(self.derivation, self.chain, M)
            for i, row in enumerate(plus_rotors(self.derivation, [row[: self.n] for row in M[: self.n]])):
                M[i][: self.n] = row
        return M

    def torque(self, qd: Sequence[Scalar], qdd: Sequence[Scalar], *, spins: bool = False) -> list[Scalar]:
        """Torque at the actuated joints (eq:closed); ``spins`` counts rotors on moving links."""
        xd = self.rates(qd)
        return self.project(self.tree_torque(xd, self.accelerations(xd, qdd), spins=spins))

    def mass(self, *, drives: bool, spins: bool = False) -> Matrix:
        """T^T M T, rotors included if asked; ``spins``: of these only the coupling of those on moving links."""
        M, T, n = self.tree_mass(), self.T, self.n
        if drives or spins:
            M = plus_spins(self.derivation, self.chain, M)
        MT = [[dot(row, [t[j] for t in T]) for j in range(n)] for row in M]
        out: Matrix = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                out[i][j] = out[j][i] = dot([t[i] for t in T], [row[j] for row in MT])
        return plus_rotors(self.derivation, out) if drives else out


def _cut(derivation: Derivation) -> Cut:
    cut = derivation.numbers.cut
    assert cut is not None
    return cut


def poses_from(chain: Chain, root: int) -> list[Pose]:
    """Poses seen from body ``root`` of itself and of what it carries; the others stand at its origin."""
    poses = [BASE_POSE] * len(chain.joints)
    inside = {root}
    for i, joint in enumerate(chain.joints):
        if joint.parent in inside:
            inside.add(i)
            poses[i] = next_pose(joint, BASE_POSE if joint.parent == root else poses[joint.parent])
    return poses
