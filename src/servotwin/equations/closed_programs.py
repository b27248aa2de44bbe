"""Kernels of closed chains, in the coordinates x of the opened tree and the actuated joints (eq:closed).

All take x on the closed manifold, save those that lead there: ``closed_gap``, ``closed_gradient``,
``closed_step``, ``closed_track`` and ``closed_project``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from servotwin.dynamics.coriolis import coriolis_matrix
from servotwin.dynamics.crba import mass_matrix
from servotwin.dynamics.forward import factor, is_zero, solve
from servotwin.dynamics.kinematics import energies
from servotwin.dynamics.linear import QR, dot, solve_saddle
from servotwin.dynamics.vector import Scalar
from servotwin.equations.closed_chain import Closed
from servotwin.equations.derivation import Derivation
from servotwin.equations.graph import Expr
from servotwin.equations.programs import Program, flat, frame_jacobian, output, reduced, vector


def _program(
    closed: Closed, inputs: Sequence[Sequence[Expr]], entries: Sequence[Scalar], shape: tuple[int, ...]
) -> Program:
    blocks = [vector(closed.x), *(vector(block) for block in inputs)]
    return Program(closed.derivation, blocks, [output(closed.derivation, entries, shape)])


# --- onto the manifold -----------------------------------------------------------------------------
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
    step = closed.passive.solve([-value for value in closed.s])
    diagonal = [closed.passive.R[j][j] for j in range(len(step))]
    return _program(closed, [], [*step, *closed.s, *diagonal], (3, len(step)))


def closed_track(derivation: Derivation) -> Program:
    """(x, dq) -> Newton step of the passive joints, their motion with dq, diagonal of R, entries of Q; S_p = Q R.

    On the way to a singularity some R_jj goes to zero, and crossing it reverses that column of Q: a walk
    that looks at both cannot change the branch unnoticed.
    """
    closed = Closed.of(derivation)
    dq = derivation.inputs("dq", closed.n)
    passive = closed.passive
    step = passive.solve([-value for value in closed.s])
    follow = [-value for value in passive.solve([dot(row[: closed.n], dq) for row in closed.S])]
    firm = [passive.R[j][j] for j in range(len(step))]
    axes = [entry for column in passive.Q for entry in column if not is_zero(entry)]
    entries = [*step, *follow, *firm, *axes]
    return _program(closed, [dq], entries, (len(entries),))


def closed_projection(derivation: Derivation) -> Program:
    """x -> T."""
    closed = Closed.of(derivation)
    return _program(closed, [], flat(closed.T), (len(closed.x), closed.n))


def closed_project(derivation: Derivation) -> Program:
    """(x, xd) -> rows: x and xd after the least change that meets the closures to first order."""
    closed = Closed.of(derivation)
    xd = derivation.inputs("xd", len(closed.x))
    across = QR.of([list(column) for column in zip(*closed.S, strict=True)], derivation.graph.sqrt)
    back = across.solve_transposed(closed.s)
    moved = [x - step for x, step in zip(closed.x, back, strict=True)]
    return _program(closed, [xd], [*moved, *across.without(xd)], (2, len(closed.x)))


def closed_motion(derivation: Derivation) -> Program:
    """(x, qd, qdd) -> (xd, xdd) of all coordinates."""
    closed = Closed.of(derivation)
    qd, qdd = derivation.inputs("qd", closed.n), derivation.inputs("qdd", closed.n)
    xd = closed.rates(qd)
    return _program(closed, [qd, qdd], [*xd, *closed.accelerations(xd, qdd)], (2, len(closed.x)))


# --- dynamics --------------------------------------------------------------------------------------
def closed_rne(derivation: Derivation, *, drives: bool = False) -> Program:
    """(x, qd, qdd) -> tau at the actuated joints."""
    closed = Closed.of(derivation)
    qd, qdd = derivation.inputs("qd", closed.n), derivation.inputs("qdd", closed.n)
    tau = closed.torque(qd, qdd, spins=drives)
    if drives:
        for i in range(closed.n):
            for j in range(closed.n):
                tau[i] = tau[i] + derivation.number(f"Jr{i}_{j}") * qdd[j]
    return _program(closed, [qd, qdd], tau, (closed.n,))


def closed_gravload(derivation: Derivation) -> Program:
    """x -> gravity torque at the actuated joints."""
    closed = Closed.of(derivation)
    rest: list[Scalar] = [0.0] * len(closed.x)
    return _program(closed, [], closed.project(closed.tree_torque(rest, rest)), (closed.n,))


def closed_inertia(derivation: Derivation, *, drives: bool = False) -> Program:
    """x -> mass matrix at the actuated joints."""
    closed = Closed.of(derivation)
    return _program(closed, [], flat(closed.mass(drives=drives)), (closed.n, closed.n))


def closed_accel(derivation: Derivation, *, drives: bool = False) -> Program:
    """(x, qd, tau) -> qdd."""
    closed = Closed.of(derivation)
    qd, tau = derivation.inputs("qd", closed.n), derivation.inputs("tau", closed.n)
    h = closed.torque(qd, [0.0] * closed.n, spins=drives)
    L, inverse = factor(closed.mass(drives=drives))
    qdd = solve(L, inverse, [t - b for t, b in zip(tau, h, strict=True)])
    return _program(closed, [qd, tau], qdd, (closed.n,))


CLOSING = 200.0  # 1/s: how fast a gap left by integration closes; far below the rate of any integration step


def _following(closed: Closed, qd: Sequence[Scalar]) -> list[Scalar]:
    """Rates of the passive joints that follow qd and close what gap there is."""
    step = closed.passive.solve([-value for value in closed.s])
    rates = closed.rates(qd)[closed.n :]
    return [rate + CLOSING * back for rate, back in zip(rates, step, strict=True)]


def closed_drift(derivation: Derivation, *, drives: bool = False) -> Program:
    """(x, qd, tau) -> (qdd, rates of the passive joints): the right-hand side of a simulation."""
    closed = Closed.of(derivation)
    qd, tau = derivation.inputs("qd", closed.n), derivation.inputs("tau", closed.n)
    h = closed.torque(qd, [0.0] * closed.n, spins=drives)
    L, inverse = factor(closed.mass(drives=drives))
    qdd = solve(L, inverse, [t - b for t, b in zip(tau, h, strict=True)])
    entries = [*qdd, *_following(closed, qd)]
    return _program(closed, [qd, tau], entries, (len(entries),))


def closed_motion_terms(derivation: Derivation) -> Program:
    """(x, qd) -> M, h, rates of the passive joints."""
    closed = Closed.of(derivation)
    qd = derivation.inputs("qd", closed.n)
    h = closed.torque(qd, [0.0] * closed.n, spins=True)
    entries = [*flat(closed.mass(drives=False, spins=True)), *h, *_following(closed, qd)]
    return _program(closed, [qd], entries, (len(entries),))


def closed_forward(derivation: Derivation, *, drives: bool = False) -> Program:
    r"""(x, xd, tau) -> (xdd, lambda) of all coordinates, whatever joints are actuated (eq:closed-forward).

    M xdd + h = (tau, 0) + S^T lambda and S xdd = -dS/dt xd. Holds where the actuated joints do not
    determine the passive ones as well; only the rows of S must be independent.
    """
    closed = Closed.of(derivation)
    xd, tau = derivation.inputs("xd", len(closed.x)), derivation.inputs("tau", closed.n)
    h = closed.tree_torque(xd, [0.0] * len(closed.x), spins=drives)
    given = [*tau, *([0.0] * (len(closed.x) - closed.n))]
    pull = closed.pull(xd)
    free = [t - b for t, b in zip(given, h, strict=True)]
    xdd, forces = solve_saddle(closed.tree_mass(drives=drives), closed.S, free, [-value for value in pull])
    entries = [*xdd, *forces]
    return _program(closed, [xd, tau], entries, (len(entries),))


def closed_coriolis(derivation: Derivation) -> Program:
    """(x, qd) -> C = T^T (C_tree T + M_tree dT/dt), Christoffel form."""
    closed = Closed.of(derivation)
    qd = derivation.inputs("qd", closed.n)
    T, xd = closed.T, closed.rates(qd)
    T_dot = closed.projection_rate(xd)
    C = reduced(derivation, coriolis_matrix(closed.chain, derivation.expand(xd, offset=False)))
    M = reduced(derivation, mass_matrix(closed.chain))
    inner = [
        [dot(c, [t[j] for t in T]) + dot(m, [t[j] for t in T_dot]) for j in range(closed.n)]
        for c, m in zip(C, M, strict=True)
    ]
    entries = [
        dot([t[i] for t in T], [row[j] for row in inner]) for i in range(closed.n) for j in range(closed.n)
    ]
    return _program(closed, [qd], entries, (closed.n, closed.n))


def closed_energy(derivation: Derivation) -> Program:
    """(x, qd) -> kinetic and potential energy."""
    closed = Closed.of(derivation)
    qd = derivation.inputs("qd", closed.n)
    both = energies(closed.chain, derivation.expand(closed.rates(qd), offset=False))
    return _program(closed, [qd], both, (2,))


def closed_multipliers(derivation: Derivation) -> Program:
    r"""(x, qd, qdd) -> multipliers of the closures in use, S_p^T lambda = tau_p (Song 1995, eq 5).

    With the sign of eq 5 and 6: tau_tree = (tau, 0) + S^T lambda (eq:closed-multipliers). Where closures in
    use are redundant, the shortest lambda of all that balance the links.
    """
    closed = Closed.of(derivation)
    qd, qdd = derivation.inputs("qd", closed.n), derivation.inputs("qdd", closed.n)
    xd = closed.rates(qd)
    efforts = closed.tree_torque(xd, closed.accelerations(xd, qdd))
    forces = closed.passive.solve_transposed(efforts[closed.n :])
    return _program(closed, [qd, qdd], forces, (len(closed.s),))


def closed_wrenches(derivation: Derivation) -> Program:
    """(x, multipliers) -> force and moment at every cut in base axes, on the side of frame a, at frame b."""
    closed = Closed.of(derivation)
    forces = derivation.inputs("lam", len(closed.rows))
    wrenches = closed.wrenches(forces)
    return _program(closed, [forces], flat(wrenches), (len(wrenches), 6))


# --- kinematics ------------------------------------------------------------------------------------
def closed_jacob0(derivation: Derivation, *, frame: str) -> Program:
    """x -> Jacobian of a frame over the actuated joints."""
    closed = Closed.of(derivation)
    J = frame_jacobian(derivation, closed.chain, closed.poses, frame)
    entries = [dot(row, [t[j] for t in closed.T]) for row in J for j in range(closed.n)]
    return _program(closed, [], entries, (6, closed.n))


def closed_jacob0_dot(derivation: Derivation, *, frame: str) -> Program:
    """(x, qd) -> time derivative of the Jacobian over the actuated joints: J' T + J T'."""
    closed = Closed.of(derivation)
    qd = derivation.inputs("qd", closed.n)
    T, xd = closed.T, closed.rates(qd)
    T_dot = closed.projection_rate(xd)
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
        closed_track,
        closed_projection,
        closed_project,
        closed_motion,
        closed_rne,
        closed_gravload,
        closed_inertia,
        closed_accel,
        closed_drift,
        closed_motion_terms,
        closed_forward,
        closed_coriolis,
        closed_energy,
        closed_multipliers,
        closed_wrenches,
        closed_jacob0,
        closed_jacob0_dot,
    )
}
