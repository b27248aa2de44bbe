r"""Poses to measure: those that tell most, by exchange, and campaigns that are simulated before they are run.

A pose with the white derivatives :math:`J_i` adds :math:`J_i^T J_i` to the information M. Poses are exchanged one by
one for the candidate that raises the determinant most (D-optimal), until none does:

.. math:: \det\Bigl(M - J_i^T J_i + J_j^T J_j\Bigr) \to \max                                    (eq:d-optimal)

From there they may be exchanged further for the least variance of the tool's place over all candidates,

.. math:: \mathrm{tr}\Bigl( M^{-1}\,\tfrac1K \sum_k G_k^T G_k \Bigr) \to \min                        (eq:v-optimal)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from servotwin.design.calibration.identify import Identified, identified
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.noise import Noise
from servotwin.design.calibration.observation import Measured, Setup, residuals
from servotwin.errors import InputError, KinematicsError
from servotwin.mechanism.deviation import rotation_matrix
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

CANDIDATES = 1000
MOST = 2000  # poses of a plan
ROUNDS = 30
GAIN = 1e-6  # of log det: exchanges that gain less end the search
REGULAR = 0.02  # least measure of singularity of a closed chain that is measured
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
    random_prediction: float  # the same of four times as many random poses
    random_count: int


def blocks(
    model: CalibrationModel, q: Array, noise: Noise, setup: Setup, *, orientation: bool
) -> tuple[Array, Array]:
    """White derivatives (K, m, U + P) of poses measured at q, and of the place in metres (K, 3, U + P)."""
    theta = np.zeros(len(model.parameters))
    T, J = model.jacobian(theta, q)
    seen = setup.station @ T
    measured = Measured(q, seen[:, :3, 3], seen[:, :3, :3] if orientation else None)
    _, D = residuals(measured, noise, setup, T, J)
    # the place of the tool as the device tells it: what the station absorbs of a parameter is no error
    _, plain = residuals(replace(measured, rotation=None), Noise(position=1.0), setup, T, J)
    plain = plain.reshape(len(q), 3, -1)
    return D.reshape(len(q), -1, D.shape[1]), plain


def require_some(chosen: Sequence[int]) -> None:
    """Refuse parameters of which no measurement of this kind tells any."""
    if not chosen:
        raise InputError(
            "nothing of these parameters can be told by such measurements: they have no effect, or that of another "
            "place of the measuring device; expected further families, such as geometry,offsets",
            field="--parameters",
        )


def plan_poses(
    model: CalibrationModel,
    count: int,
    noise: Noise,
    setup: Setup,
    *,
    orientation: bool,
    criterion: Literal["D", "prediction"] = "D",
    seed: int = 0,
    candidates: Array | None = None,
    progress: Callable[[float], None] | None = None,
) -> PosePlan:
    """``count`` poses within the limits of the robot out of random candidates, by exchange (eq:d-optimal)."""
    rng = np.random.default_rng(seed)
    q = (
        random_positions(model.robot, rng, max(CANDIDATES, 2 * min(count, MOST)))
        if candidates is None
        else candidates
    )
    if count > min(len(q), MOST):
        raise InputError(f"{count} poses; expected at most {min(len(q), MOST)}", field="--plan")
    D, plain = blocks(model, q, noise, setup, orientation=orientation)
    typical = np.array([p.typical for p in model.parameters])
    told = identified(D.reshape(-1, D.shape[2]), typical, 6)
    require_some(told.chosen)
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
    chosen = _exchange(A, count, progress)
    G = plain[:, :, columns]
    if criterion == "prediction":
        scaled = (G / scale).reshape(-1, len(scale))
        chosen = _refined(A, scaled.T @ scaled / len(G), chosen)
    information = np.einsum("kij,kil->jl", A[chosen], A[chosen])
    cov = np.linalg.inv(information) / np.outer(scale, scale)
    random = np.sort(rng.permutation(len(q))[: 4 * count])
    other = np.linalg.inv(np.einsum("kij,kil->jl", A[random], A[random])) / np.outer(scale, scale)
    return PosePlan(
        q[chosen],
        told,
        np.sqrt(np.diag(cov)[6:]),
        _spread(G, cov),
        _spread(G, other),
        len(random),
    )


def _spread(G: Array, cov: Array) -> float:
    return float(np.sqrt(((G @ cov) * G).sum() / len(G)))


def _exchange(A: Array, count: int, progress: Callable[[float], None] | None) -> Array:
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


def _refined(A: Array, weight: Array, chosen: Array) -> Array:
    """Blocks exchanged for a smaller trace of weight times the covariance (eq:v-optimal)."""
    now = list(chosen)
    for _ in range(ROUNDS):
        better = False
        for place in range(len(now)):
            rest = [k for i, k in enumerate(now) if i != place]
            ridge = RIDGE * np.eye(A.shape[2])
            less = np.linalg.inv(ridge + np.einsum("kij,kil->jl", A[rest], A[rest]))
            B = A @ less
            inner = np.linalg.inv(np.eye(A.shape[1]) + B @ np.swapaxes(A, 1, 2))
            gains = (inner * np.swapaxes((B @ weight) @ np.swapaxes(B, 1, 2), 1, 2)).sum(axis=(1, 2))
            gains[rest] = -np.inf
            best = int(np.argmax(gains))
            if gains[best] > gains[now[place]] * (1.0 + GAIN):
                now[place], better = best, True
        if not better:
            break
    return np.array(now)


def random_positions(robot: Robot, rng: np.random.Generator, count: int) -> Array:
    """Positions (count, n) within all limits; of closed chains those that are assembled and far from singular."""
    if not robot.closed:
        return robot.random_q(rng, count)
    found: list[Array] = []
    spread = 1.0
    for _ in range(40 * count):
        q = robot.random_q(rng)
        if not np.isfinite(robot.limits.q_min).all():  # no limits are stated: around home
            q = robot.q_home + spread * rng.uniform(-1.0, 1.0, robot.n)
        try:
            if float(robot.singularity(q).passive) > REGULAR:
                found.append(q)
        except KinematicsError:
            continue
        if len(found) == count:
            break
    if len(found) < max(count // 10, 10):
        raise KinematicsError(f"{robot.name}: hardly any position within its limits closes the loops")
    return np.array(found)


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
