r"""Numeric inverse kinematics: Newton's method from a good guess, and a search within joint limits from any.

*Newton's method* polishes the branches of closed forms (``polished``) and solves many poses at once along a curve
(``newton``; ``motion.curve_newton`` is its compiled form). It does not look at limits.

*The search* (``ikine_numeric``) serves every chain without a closed form. Each step solves
:math:`(J^T W J + \mu I)\, \Delta q = J^T W e` with the damping :math:`\mu = \nu\, e^T W e / 2` (Sugihara 2011).
The damping vanishes with the error: far from the goal it bounds the steps at singularities, at the goal the
steps are Newton's. Joints at a limit that a step would push outwards are left out of it. The search
starts at q0 and then at seeded random positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import DEG
from servotwin.dynamics.ik.branches import quantity_miss, within
from servotwin.dynamics.ik.pose import pose_error, turn_errors
from servotwin.errors import ShapeError, UnreachableError
from servotwin.mechanism.model import Array, BoolArray, Quantities

Pose = Callable[[Array], Array]
Jacobian = Callable[[Array], Array]

NEWTON_STEPS = 12  # at most, from a good guess
LONGEST_STEP = 0.5  # rad, m
LAST_STEP = 1e-7  # rad, m: after a shorter step the next one would be below the last digit
DAMPING = 1e-14  # of the normal equations: only exactly singular positions feel it
PLACE, TILT = 1e-8, 1e-5  # m, rad: a solved pose; arms with fewer than six joints meet the nearest tilt
POLISH_STEPS = 5
_DAMPED = DAMPING * np.eye(6)

CONVERGED = 1e-10  # m and rad, norm of the pose error
ITERATIONS = 150
IDLE = 12  # steps in a row that gain less than 0.1 % end a descent: a minimum that is no solution
SINGULAR = 1e-6  # of the largest singular value; solutions are exact to about 1e-10, double ones to its root
ASIDE = 0.01  # rad, m: how far a direction without effect is followed
NU_MIN, NU_MAX = 1e-3, 1e8  # range of the damping factor; beyond it no step helps


# --- Newton's method ------------------------------------------------------------------------------------
def polished(fk: Pose, jac: Jacobian, q: Array, T: Array, mask: Array) -> tuple[Array, float]:
    """q (n,) after a few Newton steps on the pose error, as long as they help, and the error that is left."""
    error = mask * pose_error(T, fk(q))
    for _ in range(POLISH_STEPS):
        if np.linalg.norm(error) < 1e-13:
            break
        # Directions that hardly move the tool (singular positions) are left alone.
        step, *_ = np.linalg.lstsq(mask[:, None] * jac(q), error, rcond=1e-7)
        refined = q + step
        left = mask * pose_error(T, fk(refined))
        if np.linalg.norm(left) >= np.linalg.norm(error):
            break
        q, error = refined, left
    return q, float(np.linalg.norm(error))


def newton(
    fk: Pose, jac: Jacobian, X: Array, q: Array, weights: Array, rank: int | None = None
) -> tuple[Array, BoolArray]:
    """Newton's method from guesses q (k, n) to poses X (k, 4, 4): positions, and which of them arrived (k,).

    ``fk(q)`` (k, 4, 4), ``jac(q)`` (k, 6, n); ``weights`` (6,) of the rows of the pose error, zero where free; ``rank``
    as of ``least_squares``.
    """
    for _ in range(NEWTON_STEPS):
        step = least_squares(weights[:, None] * jac(q), weights * pose_errors(X, fk(q)), rank)
        sizes = np.abs(step).max(axis=1)
        q = q + np.minimum(np.maximum(step, -LONGEST_STEP), LONGEST_STEP)
        if sizes.max() < LAST_STEP:
            break
    left = np.abs(pose_errors(X, fk(q)) * (weights != 0.0))
    near = (left[:, :3].max(axis=1) < PLACE) & (left[:, 3:].max(axis=1) < TILT)
    return q, near & (sizes < LAST_STEP)


def least_squares(J: Array, x: Array, rank: int | None = None) -> Array:
    """Least-squares solutions (k, n) of J y = x, J (k, 6, n); the shortest ones where n is above 6.

    ``rank`` of arms that have more joints than ways to move the tool, such as a SCARA on a rail: the shortest solutions
    out of so many singular values.
    """
    if rank is not None:
        U, values, Vt = np.linalg.svd(J, full_matrices=False)
        inverse = values[:, :rank] / (values[:, :rank] ** 2 + DAMPING)
        parts = inverse * (U.swapaxes(1, 2) @ x[..., None])[:, :rank, 0]
        return np.asarray((Vt[:, :rank].swapaxes(1, 2) @ parts[..., None])[..., 0])
    Jt = J.swapaxes(1, 2)
    if J.shape[2] <= 6:
        squares = Jt @ J
        squares += _DAMPED[: J.shape[2], : J.shape[2]]
        return np.asarray(np.linalg.solve(squares, Jt @ x[..., None])[..., 0])
    return np.asarray((Jt @ np.linalg.solve(J @ Jt + _DAMPED, x[..., None]))[..., 0])


def pose_errors(X: Array, Y: Array) -> Array:
    """From poses Y to poses X (k, 4, 4): shifts [m] and small turns (k, 6), see ``turn_errors``."""
    out = np.empty((X.shape[0], 6))
    out[:, :3], out[:, 3:] = X[:, :3, 3] - Y[:, :3, 3], turn_errors(X[:, :3, :3], Y[:, :3, :3])
    return out


# --- the search within limits ---------------------------------------------------------------------------
class OutsideRangesError(UnreachableError):
    """The pose is reached, but only where a quantity of the robot is outside its range."""


@dataclass(frozen=True)
class Task:
    """Bring the frame with ``fk(q)`` (4, 4) and ``jac(q)`` (6, n) to T, inside q_min .. q_max."""

    fk: Pose
    jac: Jacobian
    T: Array
    q_min: Array
    q_max: Array
    mask: Array  # (6,) 1 where the component of the pose error counts, 0 where it is free
    length: float  # [m] that weighs as much as one radian

    def error(self, q: Array) -> Array:
        """Pose error (6,), zero where masked."""
        return self.mask * pose_error(self.T, self.fk(q))

    @property
    def weight(self) -> Array:
        """Square roots of the weights W, (6,)."""
        return np.array([1.0 / self.length] * 3 + [1.0] * 3)


def descend(task: Task, q: Array) -> tuple[Array, Array]:
    """From q down to the nearest minimum of the pose error: position and pose error there."""
    weight = task.weight
    error = task.error(q)
    cost, nu, idle = 0.5 * float(np.sum((weight * error) ** 2)), 1.0, 0
    for _ in range(ITERATIONS):
        if np.linalg.norm(error) <= 0.01 * CONVERGED or nu > NU_MAX or idle > IDLE:
            break
        jac = (weight * task.mask)[:, None] * task.jac(q)
        gradient = jac.T @ (weight * error)
        free = ~(((q >= task.q_max) & (gradient > 0.0)) | ((q <= task.q_min) & (gradient < 0.0)))
        if not np.any(free) or np.linalg.norm(gradient[free]) <= 1e-14 * math.sqrt(cost):
            break
        J = jac[:, free]
        damped = J.T @ J
        damped[np.diag_indices_from(damped)] += nu * cost + 1e-14 * float(np.trace(damped))
        trial = np.array(q)
        trial[free] += np.linalg.solve(damped, gradient[free])
        trial = np.clip(trial, task.q_min, task.q_max)
        trial_error = task.error(trial)
        trial_cost = 0.5 * float(np.sum((weight * trial_error) ** 2))
        if trial_cost < cost:
            idle = idle + 1 if trial_cost > 0.999 * cost else 0
            q, error, cost, nu = trial, trial_error, trial_cost, max(0.25 * nu, NU_MIN)
        else:
            nu *= 8.0
    return q, error


def solutions(task: Task, q0: Array, starts: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Results of descents from q0 and from ``starts - 1`` random positions inside the limits."""
    generator = np.random.default_rng(seed)
    low = np.where(np.isfinite(task.q_min), task.q_min, q0 - np.pi)
    high = np.where(np.isfinite(task.q_max), task.q_max, q0 + np.pi)
    yield descend(task, np.clip(q0, task.q_min, task.q_max))
    for _ in range(starts - 1):
        yield descend(task, generator.uniform(low, high))


def standing_motion(task: Task, q: Array) -> Array | None:
    """A direction (n,) in which a solution q moves on within the limits while the frame stands; None if it is isolated.

    A direction without effect on the frame at q is one only to first order where two branches meet. It is followed by
    ``ASIDE`` and corrected: on a curve of solutions a correction of higher order is enough, elsewhere it leads back.
    """
    free = np.flatnonzero(task.q_min < task.q_max)
    if not free.size:
        return None
    J = (task.weight * task.mask)[:, None] * task.jac(q)[:, free]
    _, values, rows = np.linalg.svd(J)
    values = np.append(values, np.zeros(max(len(free) - len(values), 0)))
    for row in rows[values <= SINGULAR * values[0]]:
        direction = np.zeros(len(q))
        direction[free] = row
        for way in (ASIDE, -ASIDE):
            beside, left = polished(task.fk, task.jac, q + way * direction, task.T, task.mask)
            inside = np.all((beside >= task.q_min) & (beside <= task.q_max))
            if left <= CONVERGED and inside and np.linalg.norm(beside - q) > 0.5 * ASIDE:
                return direction
    return None


def ikine_numeric(
    fk: Pose,
    jac: Jacobian,
    T: ArrayLike,
    *,
    q0: ArrayLike,
    q_min: ArrayLike,
    q_max: ArrayLike,
    mask: ArrayLike | None = None,
    moving: ArrayLike | None = None,
    quantities: Quantities | None = None,
    length: float = 1.0,
    starts: int = 60,
    seed: int = 0,
    name: str = "",
) -> Array:
    """A position inside the limits at which the frame is at T to 1e-10 m and rad, (n,).

    ``fk(q)`` gives the pose (4, 4), ``jac(q)`` the Jacobian (6, n), linear rows first, in base axes. The six
    flags of ``mask`` (same order) say which components of the pose matter, those of ``moving`` (n) which
    joints may move; all by default. ``length`` [m] is weighed like one radian; the size of the arm is a good
    value. The search begins at q0 and repeats from ``starts - 1`` random positions; equal seeds give equal
    answers. ``quantities`` must be in their ranges at the position that is found; an arm with more joints than
    the pose has conditions may have such positions that no start leads to. UnreachableError if no start succeeds.
    """
    start = np.asarray(q0, dtype=np.float64)
    low, high = np.asarray(q_min, dtype=np.float64), np.asarray(q_max, dtype=np.float64)
    if moving is not None:  # limits without room hold a joint in place
        low, high = np.where(moving, low, start), np.where(moving, high, start)
    task = Task(fk, jac, np.asarray(T, dtype=np.float64), low, high, checked_mask(mask), length)
    nearest: Array | None = None
    refused: list[Array] = []
    for q, error in solutions(task, start, starts, seed):
        if np.linalg.norm(error) <= CONVERGED:
            if quantities is None or within([q], quantities):
                return q
            refused.append(q)
        if nearest is None or np.linalg.norm(task.weight * error) < np.linalg.norm(task.weight * nearest):
            nearest = error
    if refused and quantities is not None:
        raise OutsideRangesError(quantity_miss(refused, quantities, name or "the arm"))
    assert nearest is not None
    raise UnreachableError(
        f"{name + ': ' if name else ''}no position inside the joint limits reaches the pose; the nearest of "
        f"{starts} searches ends {np.linalg.norm(nearest[:3]):.3g} m and "
        f"{DEG * float(np.linalg.norm(nearest[3:])):.3g} deg away"
    )


def checked_mask(mask: ArrayLike | None) -> Array:
    """Six flags as 1.0 or 0.0; all ones if None."""
    if mask is None:
        return np.ones(6)
    flags = np.asarray(mask)
    if flags.shape != (6,):
        raise ShapeError(f"the mask has 6 flags (x y z and turns about x y z), got shape {flags.shape}")
    if flags.dtype.kind not in "biuf" or not np.isfinite(flags).all():
        raise ShapeError(f"the mask is {flags.tolist()}; expected 6 flags, 1 where the component matters")
    return np.asarray(flags != 0, dtype=np.float64)
