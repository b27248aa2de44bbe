r"""Kernels of closed chains: the opened tree at x, its loop closures, and dynamics in the actuated joints.

All take x = (q, passive joints) on the closed manifold. S = ds/dx and its rate come from differentiating
the graph of the closures s. With T = [1; -S_p^-1 S_q] the tree's equations are projected (eq:closed).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from servotwin.dynamics.chain import Chain
from servotwin.dynamics.coriolis import coriolis_matrix
from servotwin.dynamics.crba import mass_matrix
from servotwin.dynamics.forward import factor, solve
from servotwin.dynamics.kinematics import Pose, body_poses, energies
from servotwin.dynamics.linear import QR, dot
from servotwin.dynamics.loops import closure
from servotwin.dynamics.rnea import rnea
from servotwin.dynamics.vector import Scalar
from servotwin.equations.derivation import Derivation
from servotwin.equations.graph import Expr
from servotwin.equations.programs import Program, flat, frame_jacobian, frame_pose, output, plus_rotors, reduced, vector

Matrix = list[list[Scalar]]


@dataclass
class Closed:
    """The closed chain on symbols: coordinates, tree, closures and the projection onto the actuated joints."""

    derivation: Derivation
    x: list[Expr]
    chain: Chain
    poses: list[Pose]
    s: list[Scalar]  # independent closures
    S: Matrix
    n: int

    @classmethod
    def of(cls, derivation: Derivation, *, every: bool = False) -> Closed:
        """Derive the closures; ``every`` keeps redundant ones too."""
        cut = derivation.numbers.cut
        assert cut is not None
        x = derivation.inputs("x", derivation.numbers.G.shape[1])
        chain = derivation.chain(derivation.expand(x, offset=True))
        poses = body_poses(chain)
        s: list[Scalar] = []
        for k, (kind, a, b) in enumerate(cut.loops):
            side_a = frame_pose(derivation, poses, a, f"A{k}_")
            s += closure(kind, side_a, frame_pose(derivation, poses, b, f"B{k}_"))
        if not every:
            s = [s[row] for row in cut.rows]
        columns = [derivation.graph.derivative(s, {node.id: 1.0}) for node in x]
        S: Matrix = [list(row) for row in zip(*columns, strict=True)]
        return cls(derivation, x, chain, poses, s, S, cut.n)

    def passive(self) -> QR:
        """S_p, factored."""
        return QR.of([row[self.n :] for row in self.S], self.derivation.graph.sqrt)

    def projection(self, passive: QR) -> Matrix:
        """T, one row per coordinate x."""
        rows: Matrix = [[1.0 if i == j else 0.0 for j in range(self.n)] for i in range(self.n)]
        columns = [passive.solve([row[j] for row in self.S]) for j in range(self.n)]
        return rows + [[-value for value in row] for row in zip(*columns, strict=True)]

    def rates(self, T: Matrix, qd: Sequence[Scalar]) -> list[Scalar]:
        """xd = T qd."""
        return [dot(row, qd) for row in T]

    def along(self, matrix: Matrix, xd: Sequence[Scalar]) -> Matrix:
        """Time derivative of a matrix of x along xd."""
        graph = self.derivation.graph
        seeds = {node.id: graph.lift(rate) for node, rate in zip(self.x, xd, strict=True)}
        width = len(matrix[0])
        rates = graph.derivative(flat(matrix), seeds)
        return [list(rates[i : i + width]) for i in range(0, len(rates), width)]

    def projection_rate(self, T: Matrix, passive: QR, xd: Sequence[Scalar]) -> Matrix:
        """dT/dt = -[0; S_p^-1 dS/dt T]."""
        S_dot = self.along(self.S, xd)
        columns = [
            passive.solve([dot(row, [t[j] for t in T]) for row in S_dot]) for j in range(self.n)
        ]
        rest: Matrix = [[0.0] * self.n for _ in range(self.n)]
        return rest + [[-value for value in row] for row in zip(*columns, strict=True)]

    def accelerations(
        self, T: Matrix, passive: QR, xd: Sequence[Scalar], qdd: Sequence[Scalar]
    ) -> list[Scalar]:
        """xdd = T qdd - [0; S_p^-1 dS/dt xd]."""
        pull = [dot(row, xd) for row in self.along(self.S, xd)]
        drift = [0.0] * self.n + [-value for value in passive.solve(pull)]
        return [dot(row, qdd) + d for row, d in zip(T, drift, strict=True)]

    def tree_torque(self, xd: Sequence[Scalar], xdd: Sequence[Scalar]) -> list[Scalar]:
        """Efforts of the opened tree at the coordinates x."""
        d = self.derivation
        return d.reduce(rnea(self.chain, d.expand(xd, offset=False), d.expand(xdd, offset=False)))

    def project(self, T: Matrix, efforts: Sequence[Scalar]) -> list[Scalar]:
        """T^T efforts."""
        return [dot([row[j] for row in T], efforts) for j in range(self.n)]

    def mass(self, T: Matrix, *, drives: bool) -> Matrix:
        """T^T M T, rotors included if asked."""
        M = reduced(self.derivation, mass_matrix(self.chain))
        MT = [[dot(row, [t[j] for t in T]) for j in range(self.n)] for row in M]
        out: Matrix = [[0.0] * self.n for _ in range(self.n)]
        for i in range(self.n):
            for j in range(i + 1):
                out[i][j] = out[j][i] = dot([t[i] for t in T], [row[j] for row in MT])
        return plus_rotors(self.derivation, out) if drives else out


def _program(closed: Closed, inputs: Sequence[Sequence[Expr]], entries: Sequence[Scalar], shape: tuple[int, ...]) -> Program:
    blocks = [vector(closed.x), *(vector(block) for block in inputs)]
    return Program(closed.derivation, blocks, [output(closed.derivation, entries, shape)])


def closed_gap(derivation: Derivation) -> Program:
    """x -> all closures s, redundant ones included."""
    closed = Closed.of(derivation, every=True)
    return _program(closed, [], closed.s, (len(closed.s),))


def closed_gradient(derivation: Derivation) -> Program:
    """x -> ds/dx of all closures."""
    closed = Closed.of(derivation, every=True)
    return _program(closed, [], flat(closed.S), (len(closed.s), len(closed.x)))


def closed_step(derivation: Derivation) -> Program:
    """x -> rows: Newton step of the passive joints, closures, diagonal of R of S_p (small: near a singularity)."""
    closed = Closed.of(derivation)
    passive = closed.passive()
    step = passive.solve([-value for value in closed.s])
    diagonal = [passive.R[j][j] for j in range(len(step))]
    return _program(closed, [], [*step, *closed.s, *diagonal], (3, len(step)))


def closed_projection(derivation: Derivation) -> Program:
    """x -> T."""
    closed = Closed.of(derivation)
    T = closed.projection(closed.passive())
    return _program(closed, [], flat(T), (len(closed.x), closed.n))


def closed_motion(derivation: Derivation) -> Program:
    """(x, qd, qdd) -> (xd, xdd) of all coordinates."""
    closed = Closed.of(derivation)
    qd, qdd = derivation.inputs("qd", closed.n), derivation.inputs("qdd", closed.n)
    passive = closed.passive()
    T = closed.projection(passive)
    xd = closed.rates(T, qd)
    xdd = closed.accelerations(T, passive, xd, qdd)
    return _program(closed, [qd, qdd], [*xd, *xdd], (2, len(closed.x)))


def closed_rne(derivation: Derivation, *, drives: bool = False) -> Program:
    """(x, qd, qdd) -> tau at the actuated joints."""
    closed = Closed.of(derivation)
    qd, qdd = derivation.inputs("qd", closed.n), derivation.inputs("qdd", closed.n)
    tau = _torque(closed, qd, qdd)
    if drives:
        for i in range(closed.n):
            for j in range(closed.n):
                tau[i] = tau[i] + derivation.number(f"Jr{i}_{j}") * qdd[j]
    return _program(closed, [qd, qdd], tau, (closed.n,))


def _torque(closed: Closed, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    passive = closed.passive()
    T = closed.projection(passive)
    xd = closed.rates(T, qd)
    xdd = closed.accelerations(T, passive, xd, qdd)
    return closed.project(T, closed.tree_torque(xd, xdd))


def closed_gravload(derivation: Derivation) -> Program:
    """x -> gravity torque at the actuated joints."""
    closed = Closed.of(derivation)
    T = closed.projection(closed.passive())
    rest: list[Scalar] = [0.0] * len(closed.x)
    return _program(closed, [], closed.project(T, closed.tree_torque(rest, rest)), (closed.n,))


def closed_inertia(derivation: Derivation, *, drives: bool = False) -> Program:
    """x -> mass matrix at the actuated joints."""
    closed = Closed.of(derivation)
    M = closed.mass(closed.projection(closed.passive()), drives=drives)
    return _program(closed, [], flat(M), (closed.n, closed.n))


def closed_accel(derivation: Derivation, *, drives: bool = False) -> Program:
    """(x, qd, tau) -> qdd."""
    closed = Closed.of(derivation)
    qd, tau = derivation.inputs("qd", closed.n), derivation.inputs("tau", closed.n)
    h = _torque(closed, qd, [0.0] * closed.n)
    L, inverse = factor(closed.mass(closed.projection(closed.passive()), drives=drives))
    qdd = solve(L, inverse, [t - b for t, b in zip(tau, h, strict=True)])
    return _program(closed, [qd, tau], qdd, (closed.n,))


def closed_coriolis(derivation: Derivation) -> Program:
    """(x, qd) -> C = T^T (C_tree T + M_tree dT/dt), Christoffel form."""
    closed = Closed.of(derivation)
    qd = derivation.inputs("qd", closed.n)
    passive = closed.passive()
    T = closed.projection(passive)
    xd = closed.rates(T, qd)
    T_dot = closed.projection_rate(T, passive, xd)
    C = reduced(derivation, coriolis_matrix(closed.chain, derivation.expand(xd, offset=False)))
    M = reduced(derivation, mass_matrix(closed.chain))
    inner = [
        [dot(c, [t[j] for t in T]) + dot(m, [t[j] for t in T_dot]) for j in range(closed.n)]
        for c, m in zip(C, M, strict=True)
    ]
    entries = [dot([t[i] for t in T], [row[j] for row in inner]) for i in range(closed.n) for j in range(closed.n)]
    return _program(closed, [qd], entries, (closed.n, closed.n))


def closed_energy(derivation: Derivation) -> Program:
    """(x, qd) -> kinetic and potential energy."""
    closed = Closed.of(derivation)
    qd = derivation.inputs("qd", closed.n)
    xd = closed.rates(closed.projection(closed.passive()), qd)
    both = energies(closed.chain, derivation.expand(xd, offset=False))
    return _program(closed, [qd], both, (2,))


def closed_multipliers(derivation: Derivation) -> Program:
    r"""(x, qd, qdd) -> multipliers of the independent closures, S_p^T lambda = tau_p (Song 1995, eq 5).

    With the sign of eq 5 and 6: tau_tree = (tau, 0) + S^T lambda; lambda is the force that the cut
    joint exerts through frame b on frame a's side, counted against the gap a - b.
    """
    closed = Closed.of(derivation)
    qd, qdd = derivation.inputs("qd", closed.n), derivation.inputs("qdd", closed.n)
    passive = closed.passive()
    T = closed.projection(passive)
    xd = closed.rates(T, qd)
    efforts = closed.tree_torque(xd, closed.accelerations(T, passive, xd, qdd))
    return _program(closed, [qd, qdd], passive.solve_transposed(efforts[closed.n :]), (len(closed.s),))


def closed_jacob0(derivation: Derivation, *, frame: str) -> Program:
    """x -> Jacobian of a frame over the actuated joints."""
    closed = Closed.of(derivation)
    T = closed.projection(closed.passive())
    J = frame_jacobian(derivation, closed.chain, closed.poses, frame)
    entries = [dot(row, [t[j] for t in T]) for row in J for j in range(closed.n)]
    return _program(closed, [], entries, (6, closed.n))


def closed_jacob0_dot(derivation: Derivation, *, frame: str) -> Program:
    """(x, qd) -> time derivative of the Jacobian over the actuated joints: J' T + J T'."""
    closed = Closed.of(derivation)
    qd = derivation.inputs("qd", closed.n)
    passive = closed.passive()
    T = closed.projection(passive)
    xd = closed.rates(T, qd)
    T_dot = closed.projection_rate(T, passive, xd)
    J = frame_jacobian(derivation, closed.chain, closed.poses, frame)
    J_dot = closed.along(J, xd)
    entries = [
        dot(rate, [t[j] for t in T]) + dot(row, [t[j] for t in T_dot])
        for rate, row in zip(J_dot, J, strict=True)
        for j in range(closed.n)
    ]
    return _program(closed, [qd], entries, (6, closed.n))


CLOSED_PROGRAMS: dict[str, Callable[..., Program]] = {
    function.__name__: function
    for function in (
        closed_gap,
        closed_gradient,
        closed_step,
        closed_projection,
        closed_motion,
        closed_rne,
        closed_gravload,
        closed_inertia,
        closed_accel,
        closed_coriolis,
        closed_energy,
        closed_multipliers,
        closed_jacob0,
        closed_jacob0_dot,
    )
}
