r"""Poses to measure: those that tell most, by exchange (D-optimal), and campaigns simulated before they are run.

A pose with the white derivatives :math:`J_i` adds :math:`J_i^T J_i` to the information. Poses are exchanged one by one
for the candidate that raises the determinant most, until none does:

.. math:: \det\Bigl(M - J_i^T J_i + J_j^T J_j\Bigr) \to \max                                    (eq:d-optimal)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.design.calibration.identify import Identified, identified
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.noise import Noise
from servotwin.design.calibration.observation import Measured, Setup, pivot_of, residuals
from servotwin.errors import InputError
from servotwin.mechanism.deviation import rotation_matrix
from servotwin.mechanism.model import Array

CANDIDATES = 1000
ROUNDS = 30
GAIN = 1e-6  # of log det: exchanges that gain less end the search
RIDGE = 1e-9  # of the information of all candidates: keeps the first determinants finite


@dataclass(frozen=True)
class PosePlan:
    """Chosen positions q (k, n), the parameters that they tell, and standard deviations to expect (p,)."""

    q: Array
    told: Identified
    sigma: Array
    prediction: (
        float  # root mean square over the candidates of the standard deviation of the tool's place [m]
    )
    random_prediction: float  # the same of as many random poses, four times as many
    random_count: int


def blocks(
    model: CalibrationModel, q: Array, noise: Noise, setup: Setup, *, orientation: bool
) -> tuple[Array, Array]:
    """White derivatives (K, m, U + P) of poses to be measured at q, and plain ones of the place (K, 3, U + P)."""
    theta = np.zeros(len(model.parameters))
    T, J = model.jacobian(theta, q)
    seen = setup.station @ T
    measured = Measured(q, seen[:, :3, 3], seen[:, :3, :3] if orientation else None)
    _, D = residuals(measured, noise, setup, T, J)
    plain = setup.station[:3, :3] @ J[:, :3]
    return D.reshape(len(q), -1, D.shape[1]), plain


def plan_poses(
    model: CalibrationModel,
    count: int,
    noise: Noise,
    setup: Setup,
    *,
    orientation: bool,
    seed: int = 0,
    candidates: Array | None = None,
    progress: Callable[[float], None] | None = None,
) -> PosePlan:
    """``count`` poses within the limits of the robot out of random candidates, by exchange (eq:d-optimal)."""
    rng = np.random.default_rng(seed)
    q = model.robot.random_q(rng, CANDIDATES) if candidates is None else candidates
    D, plain = blocks(model, q, noise, setup, orientation=orientation)
    typical = np.array([p.typical for p in model.parameters])
    told = identified(D.reshape(-1, D.shape[2]), typical, 6)
    columns = [*range(6), *(6 + k for k in told.chosen)]
    D = D[:, :, columns]
    if count * D.shape[1] < D.shape[2]:
        least = -(-D.shape[2] // D.shape[1])
        raise InputError(
            f"{count} poses give {count * D.shape[1]} equations for {D.shape[2]} unknowns; expected at least {least}",
            field="--plan",
        )
    scale = np.sqrt(np.einsum("kij,kij->j", D, D) / len(D))
    A = D / scale
    chosen = _exchange(A, count, rng, progress)
    information = np.einsum("kij,kil->jl", A[chosen], A[chosen])
    cov = np.linalg.inv(information) / np.outer(scale, scale)
    G = plain[:, :, list(told.chosen)]
    random = np.sort(rng.permutation(len(q))[: 4 * count])
    other = np.linalg.inv(np.einsum("kij,kil->jl", A[random], A[random])) / np.outer(scale, scale)
    return PosePlan(
        q[chosen],
        told,
        np.sqrt(np.diag(cov)[6:]),
        _spread(G, cov[6:, 6:]),
        _spread(G, other[6:, 6:]),
        len(random),
    )


def _spread(G: Array, cov: Array) -> float:
    return float(np.sqrt(np.einsum("kij,jl,kil->", G, cov, G) / len(G)))


def _exchange(
    A: Array, count: int, rng: np.random.Generator, progress: Callable[[float], None] | None
) -> Array:
    """Indices of ``count`` blocks of A (K, m, p), each once: greedy first, then exchanged."""
    p = A.shape[2]
    chosen: list[int] = []
    inverse = np.eye(p) / RIDGE
    for _ in range(count):
        gains = _log_gain(A, inverse)
        gains[chosen] = -np.inf
        chosen.append(int(np.argmax(gains)))
        inverse = _updated(inverse, A[chosen[-1]], 1.0)
    for turn in range(ROUNDS):
        gained = 0.0
        for place in range(count):
            less = _updated(inverse, A[chosen[place]], -1.0)
            gains = _log_gain(A, less)
            others = [k for k in chosen if k != chosen[place]]
            gains[others] = -np.inf
            best = int(np.argmax(gains))
            gain = float(gains[best] - gains[chosen[place]])
            if gain > GAIN:
                gained += gain
                chosen[place] = best
            inverse = _updated(less, A[chosen[place]], 1.0)
        information = RIDGE * np.eye(p) + np.einsum("kij,kil->jl", A[chosen], A[chosen])
        inverse = np.linalg.inv(information)  # rounding of the updates does not add up
        if progress is not None:
            progress((turn + 1) / ROUNDS)
        if gained < GAIN:
            break
    return np.array(chosen)


def _log_gain(A: Array, inverse: Array) -> Array:
    """log det(1 + J M^-1 J^T) of every block (K,)."""
    B = A @ inverse
    inner = np.eye(A.shape[1]) + B @ np.swapaxes(A, 1, 2)
    return np.asarray(np.linalg.slogdet(inner)[1])


def _updated(inverse: Array, J: Array, sign: float) -> Array:
    """Inverse of M + sign J^T J (Woodbury)."""
    B = J @ inverse
    return np.asarray(inverse - B.T @ np.linalg.solve(sign * np.eye(len(J)) + B @ J.T, B))


def simulated(
    model: CalibrationModel,
    theta: Array,
    q: Array,
    noise: Noise,
    setup: Setup,
    rng: np.random.Generator,
    *,
    orientation: bool = False,
) -> Measured:
    """A campaign that never took place: poses of a robot with parameters theta, as a device would tell them."""
    seen = setup.station @ model.poses(theta, q)
    position = seen[:, :3, 3] + noise.drawn(seen[:, :3, 3], rng)
    rotation = None
    if orientation:
        rotation = rotation_matrix(noise.angle * rng.standard_normal((len(q), 3))) @ seen[:, :3, :3]
    return Measured(q, position, rotation)


def default_station(model: CalibrationModel) -> Setup:
    """A device two reaches in front of the robot, in the height of its tool: told in its own frame."""
    home = model.robot.fkine(model.robot.q_home)
    reach = max(float(np.linalg.norm(home[:3, 3])), 0.3)
    ahead = np.append(home[:2, 3], 0.0)
    if float(np.linalg.norm(ahead)) < 0.1 * reach:
        ahead = np.array([1.0, 0.0, 0.0])
    place = 3.0 * reach * ahead / float(np.linalg.norm(ahead)) + np.array([0.0, 0.0, home[2, 3]])
    station = np.eye(4)
    station[:3, 3] = -place
    return Setup(station, np.zeros((0, 3)))


__all__ = ["PosePlan", "default_station", "pivot_of", "plan_poses", "simulated"]
