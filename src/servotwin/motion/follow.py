r"""Joint path of a curve of the tool: inverse kinematics that keeps its branch from one point to the next.

Newton's method corrects many points at once; each is predicted from a solved one before it. Neighbours
must agree with each other's rates, which no point on another branch does. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from servotwin.errors import KinematicsError, ServotwinError, UnreachableError
from servotwin.kernels.hub import Entry, entry
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.curves import Curve
from servotwin.motion.errors import PathError
from servotwin.motion.joint_path import JointPath
from servotwin.motion.rotations import cross, turn_error
from servotwin.robot.robot import Robot

INTERVALS = 8  # of a curve at first
ACCURACY = 1e-8  # m (and rad times the size of the arm): between the points
SINGULAR = 1e-3  # smallest singular value of the Jacobian, lengths in sizes of the arm
FINEST = 4096  # intervals of a curve
CLOSEST = 1e-6  # of the curve: points that near to each other that do not hang together are no path
STEPS, PLACE, TILT = 12, 1e-8, 1e-5  # of Newton's method; m, rad: a solved point (see ``tracking``)
SETTLED = 1e-7  # rad, m: the last step of Newton's method
COMPILED = 6  # joints of an arm at most that is followed by compiled code
Rates = tuple[Array, Array, Array]  # q', q'' and the smallest singular value
_DAMPING = 1e-14 * np.eye(6)


@dataclass(frozen=True)
class Tracker:
    """Inverse kinematics along curves for one robot and one tool.

    ``X_tool`` (4, 4): pose of the tool point in the robot's tool frame. Robots with up to three joints
    follow the point only (``oriented`` False): their orientation follows from it.
    """

    robot: Robot
    X_tool: Array = field(default_factory=lambda: np.eye(4))
    oriented: bool = True

    @cached_property
    def weights(self) -> Array:
        """Of the six rows of the pose error (6,): lengths in sizes of the arm."""
        size = arm_size(self.robot)
        return np.array([1.0 / size] * 3 + [1.0 if self.oriented else 0.0] * 3)

    @cached_property
    def _back(self) -> Array | None:
        """The robot's tool frame in that of the tool point; None if they are the same."""
        return (
            None if np.array_equal(self.X_tool, np.eye(4)) else np.asarray(np.linalg.inv(self.X_tool), float)
        )

    def target(self, curve: Curve, s: Array) -> tuple[Array, Array, Array]:
        """Pose (k, 4, 4), first and second rate (k, 6) of the robot's tool frame on the curve."""
        X, (one, two) = curve.pose(s), curve.rates(s)
        back = self._back
        if back is None:
            return X, np.asarray(one), two
        arm = X[:, :3, :3] @ back[:3, 3]
        w, alpha = one[:, 3:], two[:, 3:]
        spin = cross(w, arm)
        v = one[:, :3] + spin
        a = two[:, :3] + cross(alpha, arm) + cross(w, spin)
        return X @ back, np.hstack([v, w]), np.hstack([a, alpha])

    def solve(self, X: Array, q: Array) -> tuple[Array, BoolArray]:
        """Newton's method from q (k, n) to the poses X (k, 4, 4): positions and which of them arrived (k,)."""
        try:
            return self._newton(X, q)
        except KinematicsError:  # a step to where the loops of a closed chain do not close
            return q, np.zeros(q.shape[0], dtype=np.bool_)

    def _newton(self, X: Array, q: Array) -> tuple[Array, BoolArray]:
        weights = self.weights
        for _ in range(STEPS):
            step = _solve(weights[:, None] * self.robot.jacob0(q), weights * self._error(X, q))
            sizes = np.abs(step).max(axis=1)
            q = q + np.minimum(np.maximum(step, -0.5), 0.5)
            if sizes.max() < SETTLED:  # the next step would be below the last digit
                break
        left = np.abs(self._error(X, q) * (weights != 0.0))
        near = (left[:, :3].max(axis=1) < PLACE) & (left[:, 3:].max(axis=1) < TILT)
        return q, near & (sizes < SETTLED)

    def rates(self, q: Array, one: Array, two: Array) -> Rates:
        r"""q', q'' (k, n) and the smallest singular value (k,) of the weighted Jacobian.

        .. math:: J q' = x', \quad J q'' = x'' - J' q'                                   (eq:path-inverse)
        """
        weights = self.weights
        J = weights[:, None] * self.robot.jacob0(q)
        dq = _solve(J, weights * one)
        turning = self.robot.jacob0_dot(q, dq) @ dq[..., None]
        ddq = _solve(J, weights * (two - turning[..., 0]))  # eq:path-inverse
        Jt = J.swapaxes(1, 2)
        squares = Jt @ J if J.shape[2] <= 6 else J @ Jt
        return dq, ddq, np.sqrt(np.maximum(np.linalg.eigvalsh(squares)[:, 0], 0.0))

    def miss(self, X: Array, q: Array) -> Array:
        """How far (k,) [m] the tool at q is from the poses X, turns measured at the size of the arm."""
        size = arm_size(self.robot)
        return np.asarray(size * np.abs(self.weights * self._error(X, q)).max(axis=1))

    def march(self, s: Array, X: Array, one: Array, two: Array, q: Array) -> tuple[Array, Rates, int]:
        """Positions (m, n) from the given first one (n,) on, their rates, and how many of them hang together."""
        if entries_of(self.robot) is None:
            return _track(self, s, X, one, two, q)
        guess = np.zeros((s.size, q.size))
        guess[0] = q
        return self._solved(True, s, X, one, two, guess)

    def correct(self, X: Array, one: Array, two: Array, guess: Array) -> tuple[Array, Rates, bool]:
        """Positions near guesses (m, n) and their rates, point by point; whether all of them were found."""
        if entries_of(self.robot) is None:
            q, arrived = self.solve(X, guess)
            return q, self.rates(q, one, two), bool(arrived.all())
        q, rates, done = self._solved(False, np.zeros(len(X)), X, one, two, guess)
        return q, rates, done == len(X)

    def _solved(
        self, march: bool, s: Array, X: Array, one: Array, two: Array, q: Array
    ) -> tuple[Array, Rates, int]:
        """The compiled form of both."""
        from servotwin.motion.tracking import solve_points

        found = entries_of(self.robot)
        assert found is not None
        m, n = q.shape
        dq, ddq, squares = np.zeros((m, n)), np.zeros((m, n)), np.zeros((m, n, n))
        X, one, two = (np.ascontiguousarray(x) for x in (X, one, two))
        done = solve_points(found[0], self.weights, march, s, X, one, two, q, dq, ddq, squares)
        sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(squares)[:, 0], 0.0))
        return q, (dq, ddq, sigma), int(done)

    def _error(self, X: Array, q: Array) -> Array:
        Y = self.robot.fkine(q)
        out = np.empty((q.shape[0], 6))
        out[:, :3], out[:, 3:] = X[:, :3, 3] - Y[:, :3, 3], turn_error(X[:, :3, :3], Y[:, :3, :3])
        return out


@lru_cache(maxsize=16)
def arm_size(robot: Robot) -> float:
    """A length [m] that counts like one radian: from the base to the tool at home, at least 0.1 m."""
    return max(0.1, float(np.linalg.norm(robot.fkine(robot.q_home)[:3, 3])))


@lru_cache(maxsize=16)
def entries_of(robot: Robot) -> tuple[NDArray[np.int64], tuple[Entry, ...]] | None:
    """Addresses (6,) of fkine, jacob0 and jacob0_dot with their data, and what keeps them alive; None for loops."""
    if robot.closed or not 0 < robot.n <= COMPILED:
        return None
    tool = robot.mechanism.tool
    held = tuple(entry(kind, robot.numbers, frame=tool) for kind in ("fkine", "jacob0", "jacob0_dot"))
    places = [[one.address, one.data.ctypes.data] for one in held]
    return np.array(places, dtype=np.int64).ravel(), held


def follow(tracker: Tracker, curve: Curve, q_start: Array, index: int = 0) -> JointPath:
    """The joint path along the curve from q_start (n,), which must stand at its beginning.

    Points are added until the tool is within ``ACCURACY`` of the curve everywhere in between. PathError
    says where the path leaves the workspace or meets a singularity, or comes so near to one that the joints cannot
    follow it that closely.
    """
    spans = max(2, -(-INTERVALS // (curve.knots.size - 1)))
    inner = curve.knots[:-1, None] + np.diff(curve.knots)[:, None] * (np.arange(spans) / spans)
    s = np.append(inner, curve.knots[-1])
    while True:
        X, one, two = tracker.target(curve, s)
        q, rates, solved = tracker.march(s, X, one, two, q_start)
        if rates[2][0] < SINGULAR:  # no way leads out of it along the curve
            _singular(tracker, curve, 0.0, rates[0][0], index)
        if solved == s.size:
            break
        near, far = s[solved - 1], s[solved]
        if far - near < CLOSEST * curve.length:
            _refuse(tracker, curve, near, far, q[solved - 1], index)
        s = np.insert(s, solved, 0.5 * (near + far))
    while True:
        dq, ddq, sigma = rates
        k = int(np.argmin(sigma))
        if sigma[k] < SINGULAR:
            _singular(tracker, curve, float(s[k]), dq[k], index)
        middle = 0.5 * (s[:-1] + s[1:])
        X, one, two = tracker.target(curve, middle)
        guess = _halfway(s, q, dq, ddq)
        miss = tracker.miss(X, guess)
        if miss.max() < ACCURACY:
            return JointPath(s, q, dq, ddq)
        far = miss >= 0.1 * ACCURACY
        q_far, rates_far, arrived = tracker.correct(X[far], one[far], two[far], guess[far])
        short = np.diff(s)[far] <= CLOSEST * CLOSEST * curve.length
        if s.size > FINEST or short.any() or not arrived:
            k = int(np.argmax(miss))
            _singular(tracker, curve, float(middle[k]), dq[k], index)
        order = np.argsort(np.concatenate([s, middle[far]]), kind="stable")
        s, q = np.concatenate([s, middle[far]])[order], np.concatenate([q, q_far])[order]
        dq, ddq, sigma = (np.concatenate(pair)[order] for pair in zip(rates, rates_far, strict=True))
        rates = dq, ddq, sigma


def _halfway(s: Array, q: Array, dq: Array, ddq: Array) -> Array:
    """The quintics of a path in the middle of its intervals (m - 1, n)."""
    h = np.diff(s)[:, None]
    turn, bend = h * (dq[:-1] - dq[1:]), h * h * (ddq[:-1] + ddq[1:])
    return 0.5 * (q[:-1] + q[1:]) + 5.0 / 32.0 * turn + bend / 64.0


def _track(
    tracker: Tracker, s: Array, X: Array, one: Array, two: Array, q_start: Array
) -> tuple[Array, Rates, int]:
    """Positions (m, n) at the poses, their rates, and how many of them, from the first, hang together."""
    q = np.zeros((s.size, q_start.size))
    q[0] = q_start
    dq, ddq, sigma = np.zeros_like(q), np.zeros_like(q), np.zeros(s.size)
    dq[:1], ddq[:1], sigma[:1] = tracker.rates(q[:1], one[:1], two[:1])
    last, ahead = 0, s.size
    while last < s.size - 1:
        k = slice(last + 1, min(last + 1 + ahead, s.size))
        h = (s[k] - s[last])[:, None]
        bend = np.minimum(np.maximum(0.5 * h * h * ddq[last], -0.5), 0.5)
        q[k], good = tracker.solve(X[k], q[last] + h * dq[last] + bend)
        if good.any():
            dq[k], ddq[k], sigma[k] = tracker.rates(q[k], one[k], two[k])
            both = slice(last, k.stop)
            good &= _continuous(s[both], q[both], dq[both], ddq[both])
        count = good.size if good.all() else int(np.argmin(good))
        if count == 0:
            if ahead == 1:
                return q, (dq, ddq, sigma), last + 1
            ahead = max(1, ahead // 4)
            continue
        last, ahead = last + count, max(2 * count, 1)
    return q, (dq, ddq, sigma), s.size


def _continuous(s: Array, q: Array, dq: Array, ddq: Array) -> BoolArray:
    r"""Whether each point (but the first) continues the one before it, by the rates of both.

    .. math:: q_1 - q_0 = \tfrac{h}{2} (q'_0 + q'_1) + \tfrac{h^2}{12} (q''_0 - q''_1) + O(h^5)   (eq:same-branch)
    """
    h = np.diff(s)[:, None]
    step = q[1:] - q[:-1]
    expected = 0.5 * h * (dq[:-1] + dq[1:]) + h * h / 12.0 * (ddq[:-1] - ddq[1:])  # eq:same-branch
    gap = np.abs(step - expected).max(axis=1)
    size = np.abs(step).max(axis=1)
    return np.asarray((gap < 0.02 * size + 1e-6) & (size < 1.0))


def _refuse(tracker: Tracker, curve: Curve, s_good: float, s: float, q: Array, index: int) -> NoReturn:
    """Say why the path does not go on."""
    X, one, two = tracker.target(curve, np.array([s_good, s]))
    at = _at(curve, float(s))
    try:
        tracker.robot.ikine(X[1], q0=q, respect_limits=False, mask=tracker.weights != 0.0)
    except UnreachableError as error:
        raise PathError(
            f"the path leaves the workspace ({error})", index=index, what="workspace", **at
        ) from None
    except ServotwinError:
        pass
    _singular(tracker, curve, float(s), tracker.rates(q[None], one[:1], two[:1])[0][0], index)


def _singular(tracker: Tracker, curve: Curve, s: float, dq: Array, index: int) -> NoReturn:
    axis = tracker.robot.joint_names[int(np.argmax(np.abs(dq)))]
    text = f"the path meets a singular position, near which axis {axis} would turn without bound"
    raise PathError(text, index=index, what="singularity", axis=axis, **_at(curve, s))


def _at(curve: Curve, s: float) -> dict[str, Any]:
    return {"place": s / curve.length, "place_m": s if curve.metric else None}


def _solve(J: Array, x: Array) -> Array:
    """Least-squares solutions (k, n) of J y = x, damped so little that only exactly singular positions feel it."""
    Jt = J.swapaxes(1, 2)
    if J.shape[2] <= 6:
        squares = Jt @ J
        squares += _DAMPING[: J.shape[2], : J.shape[2]]
        return np.asarray(np.linalg.solve(squares, Jt @ x[..., None])[..., 0])
    return np.asarray((Jt @ np.linalg.solve(J @ Jt + _DAMPING, x[..., None]))[..., 0])
