"""What can be generated for a robot: every kernel's inputs and outputs, as expressions.

Each program takes a ``Derivation`` and returns named inputs (shape, expressions)
and outputs. All are in the independent coordinates q of the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from servotwin.dynamics.chain import Chain
from servotwin.dynamics.coriolis import coriolis_matrix
from servotwin.dynamics.crba import mass_matrix
from servotwin.dynamics.forward import factor, solve
from servotwin.dynamics.kinematics import BASE_POSE, Pose, body_poses, energies, jacobian
from servotwin.dynamics.rnea import body_motions, body_wrenches, joint_efforts
from servotwin.dynamics.spin import rotor_moment, rotor_torque, spin_row
from servotwin.dynamics.vector import Scalar, add
from servotwin.equations.derivation import Derivation
from servotwin.equations.graph import Expr

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class Block:
    """An array argument: its core shape and its entries in row-major order."""

    shape: tuple[int, ...]
    entries: list[Expr]


@dataclass(frozen=True)
class Program:
    """Inputs and outputs of one kernel."""

    derivation: Derivation
    inputs: list[Block]
    outputs: list[Block]


def vector(entries: Sequence[Expr]) -> Block:
    """A vector argument."""
    return Block((len(entries),), list(entries))


def output(derivation: Derivation, entries: Sequence[Scalar], shape: tuple[int, ...]) -> Block:
    """A result; numbers among the entries become nodes."""
    return Block(shape, [derivation.graph.lift(e) for e in entries])


def flat(matrix: Matrix) -> list[Scalar]:
    """Entries in row-major order."""
    return [entry for row in matrix for entry in row]


def _start(derivation: Derivation) -> tuple[list[Expr], Chain]:
    q = derivation.inputs("q", derivation.numbers.G.shape[1])
    return q, derivation.chain(derivation.expand(q, offset=True))


def reduced(derivation: Derivation, M: Matrix) -> Matrix:
    """G^T M G, the tree's matrix in the independent coordinates."""
    rows = [derivation.reduce(row) for row in M]
    columns = [derivation.reduce([row[j] for row in rows]) for j in range(len(rows[0]) if rows else 0)]
    return [list(entries) for entries in zip(*columns, strict=True)]


def _mass(derivation: Derivation, chain: Chain, *, drives: bool) -> Matrix:
    M = reduced(derivation, mass_matrix(chain))
    return plus_rotors(derivation, plus_spins(derivation, chain, M)) if drives else M


def plus_spins(derivation: Derivation, chain: Chain, M: Matrix) -> Matrix:
    """M over the free coordinates with the coupling of rotors on moving links, J_m (N^T beta + beta^T N)."""
    out = [list(row) for row in M]
    for spin in derivation.spins():
        beta = derivation.reduce(spin_row(spin, chain))
        N = [*spin.N, *([0.0] * (len(M) - len(spin.N)))]
        for i in range(len(M)):
            for j in range(len(M)):
                out[i][j] = out[i][j] + spin.J_m * (N[i] * beta[j] + beta[i] * N[j])
    return out


def plus_rotors(derivation: Derivation, M: Matrix) -> Matrix:
    """M with the reflected inertia of the rotors."""
    n = range(len(M))
    return [[M[i][j] + derivation.number(f"Jr{i}_{j}") for j in n] for i in n]


def torque(
    derivation: Derivation, chain: Chain, qd: Sequence[Scalar], qdd: Sequence[Scalar], *, spins: bool = False
) -> list[Scalar]:
    """Efforts at the free coordinates; ``spins`` adds what rotors on moving links do (eq:rotor-moment)."""
    rates = derivation.expand(qd, offset=False)
    accelerations = derivation.expand(qdd, offset=False)
    motions = body_motions(chain, rates, accelerations)
    wrenches = body_wrenches(chain, motions)
    rotors = derivation.spins() if spins else []
    for spin in rotors:
        F, moment = wrenches[spin.body]
        wrenches[spin.body] = F, add(moment, rotor_moment(spin, motions[spin.body], qd, qdd))
    tau = derivation.reduce(joint_efforts(chain, wrenches))
    for spin in rotors:
        own = rotor_torque(spin, motions[spin.body])
        for j, ratio in enumerate(spin.N):
            tau[j] = tau[j] + ratio * own
    return tau


def rne(derivation: Derivation, *, drives: bool = False) -> Program:
    """(q, qd, qdd) -> tau."""
    q, chain = _start(derivation)
    qd, qdd = derivation.inputs("qd", len(q)), derivation.inputs("qdd", len(q))
    tau = torque(derivation, chain, qd, qdd, spins=drives)
    if drives:
        for i in range(len(q)):
            for j in range(len(q)):
                tau[i] = tau[i] + derivation.number(f"Jr{i}_{j}") * qdd[j]
    return Program(derivation, [vector(q), vector(qd), vector(qdd)], [output(derivation, tau, (len(q),))])


def inertia(derivation: Derivation, *, drives: bool = False) -> Program:
    """q -> M."""
    q, chain = _start(derivation)
    M = _mass(derivation, chain, drives=drives)
    return Program(derivation, [vector(q)], [output(derivation, flat(M), (len(q), len(q)))])


def gravload(derivation: Derivation) -> Program:
    """q -> g."""
    q, chain = _start(derivation)
    none: list[Scalar] = [0.0] * len(q)
    tau = torque(derivation, chain, none, none)
    return Program(derivation, [vector(q)], [output(derivation, tau, (len(q),))])


def coriolis(derivation: Derivation) -> Program:
    """(q, qd) -> C, Christoffel form."""
    q, chain = _start(derivation)
    qd = derivation.inputs("qd", len(q))
    C = reduced(derivation, coriolis_matrix(chain, derivation.expand(qd, offset=False)))
    return Program(derivation, [vector(q), vector(qd)], [output(derivation, flat(C), (len(q), len(q)))])


def accel(derivation: Derivation, *, drives: bool = False) -> Program:
    """(q, qd, tau) -> qdd, by factoring the mass matrix."""
    q, chain = _start(derivation)
    qd, tau = derivation.inputs("qd", len(q)), derivation.inputs("tau", len(q))
    h = torque(derivation, chain, qd, [0.0] * len(q), spins=drives)
    L, inverse = factor(_mass(derivation, chain, drives=drives))
    qdd = solve(L, inverse, [t - b for t, b in zip(tau, h, strict=True)])
    return Program(derivation, [vector(q), vector(qd), vector(tau)], [output(derivation, qdd, (len(q),))])


def motion(derivation: Derivation) -> Program:
    """(q, qd) -> M, h: what decides the acceleration, before reflected inertia, torques and contacts."""
    q, chain = _start(derivation)
    qd = derivation.inputs("qd", len(q))
    h = torque(derivation, chain, qd, [0.0] * len(q), spins=True)
    M = plus_spins(derivation, chain, _mass(derivation, chain, drives=False))
    n = len(q)
    return Program(
        derivation,
        [vector(q), vector(qd)],
        [output(derivation, flat(M), (n, n)), output(derivation, h, (n,))],
    )


def frame_pose(derivation: Derivation, poses: Sequence[Pose], frame: str, role: str = "X") -> Pose:
    """Pose of a named frame; ``role`` is the name of its numbers in the table."""
    body = derivation.numbers.frames[frame][0]
    entries = [[derivation.number(f"{role}{i}_{j}") for j in range(4)] for i in range(3)]
    return (BASE_POSE if body < 0 else poses[body]).then(entries)


def fkine(derivation: Derivation, *, frame: str) -> Program:
    """q -> pose of a frame, 4x4."""
    q, chain = _start(derivation)
    pose = frame_pose(derivation, body_poses(chain), frame)
    return Program(derivation, [vector(q)], [output(derivation, flat(pose.matrix()), (4, 4))])


def fkine_all(derivation: Derivation) -> Program:
    """q -> poses of the canonical body frames, n x 4 x 4."""
    q, chain = _start(derivation)
    poses = body_poses(chain)
    entries = [e for pose in poses for e in flat(pose.matrix())]
    return Program(derivation, [vector(q)], [output(derivation, entries, (len(poses), 4, 4))])


def frame_jacobian(derivation: Derivation, chain: Chain, poses: Sequence[Pose], frame: str) -> Matrix:
    """Jacobian of a named frame over the free coordinates."""
    point = frame_pose(derivation, poses, frame).p
    tree = jacobian(chain, poses, derivation.numbers.frames[frame][0], point)
    return [derivation.reduce(row) for row in tree]


def jacob0(derivation: Derivation, *, frame: str) -> Program:
    """q -> Jacobian of a frame in base axes, 6 x n."""
    q, chain = _start(derivation)
    J = frame_jacobian(derivation, chain, body_poses(chain), frame)
    return Program(derivation, [vector(q)], [output(derivation, flat(J), (6, len(q)))])


def jacob0_dot(derivation: Derivation, *, frame: str) -> Program:
    """(q, qd) -> time derivative of the Jacobian, by differentiating its graph."""
    q, chain = _start(derivation)
    qd = derivation.inputs("qd", len(q))
    J = flat(frame_jacobian(derivation, chain, body_poses(chain), frame))
    rate = derivation.graph.derivative(J, {x.id: v for x, v in zip(q, qd, strict=True)})
    return Program(derivation, [vector(q), vector(qd)], [output(derivation, rate, (6, len(q)))])


def energy(derivation: Derivation) -> Program:
    """(q, qd) -> kinetic and potential energy."""
    q, chain = _start(derivation)
    qd = derivation.inputs("qd", len(q))
    both = energies(chain, derivation.expand(qd, offset=False))
    return Program(derivation, [vector(q), vector(qd)], [output(derivation, list(both), (2,))])


PROGRAMS: dict[str, Callable[..., Program]] = {
    function.__name__: function
    for function in (
        rne,
        inertia,
        gravload,
        coriolis,
        accel,
        fkine,
        fkine_all,
        jacob0,
        jacob0_dot,
        energy,
    )
}
# What only compiled loops call.
LOOP_PROGRAMS: dict[str, Callable[..., Program]] = {"motion": motion}
