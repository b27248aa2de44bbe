r"""Joint path of a curve of the tool: inverse kinematics that keeps its branch from one point to the next.

Every point is predicted from a solved one before it and corrected by Newton's method. The rates of two neighbours
tell how far apart they must be, which a point on another branch does not meet. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from servotwin.dynamics.ik.numeric import LONGEST_STEP, least_squares, newton, pose_errors
from servotwin.dynamics.ik.pose import POSITION_ALONE
from servotwin.errors import KinematicsError, ServotwinError, UnreachableError
from servotwin.kernels.kernel_store import Entry, entry
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.curve_follow import BLEND, LINE, UNCLEAR, follow_curve
from servotwin.motion.curve_newton import CLOSE, FARTHEST, misses, solve_points
from servotwin.motion.curves import Blend, Curve, Line, pose_and_rates
from servotwin.motion.errors import PathError
from servotwin.motion.joint_path import JointPath
from servotwin.motion.rotations import cross
from servotwin.robot.robot import Robot

INTERVALS = 8  # of a curve at first
SHARES = np.arange(INTERVALS + 1) / INTERVALS
ACCURACY = 1e-8  # m (and rad times the size of the arm): between the points
SINGULAR = 1e-3  # smallest singular value of the Jacobian, lengths in sizes of the arm
FINEST = 4096  # intervals of a curve
CLEAR = 128  # the same where nothing stands in its way
CLOSEST = (
    1e-6  # of the curve: where points this near to each other are on different branches, there is no path
)
CORRECTIONS = 4  # of a position by the rates on both sides of the interval before it
TURNS = 1e-9  # rad per rad: a joint that turns the tool less does not turn it
COMPILED = 6  # joints at most of an arm that compiled code follows
NO_ROWS = np.empty((0, 4))
Rates = tuple[Array, Array, Array]  # q', q'' and the smallest singular value


@dataclass(frozen=True)
class Tracker:
    """Inverse kinematics along curves for one robot and one tool.

    ``X_tool`` (4, 4): pose of the tool point in the robot's tool frame. Robots with up to three joints
    follow the point only (``oriented`` False): their orientation follows from it. Those with four or five joints that
    deviate from their drawing follow the point and the turns that the drawing can make (``attained_turns``). Where
    joints can move while the tool stands, the motion of all joints is the shortest.
    """

    robot: Robot
    X_tool: Array = field(default_factory=lambda: np.eye(4))
    oriented: bool = True

    @cached_property
    def weights(self) -> Array:
        """Of the six rows of the pose error (6,): lengths in sizes of the arm."""
        size = arm_size(self.robot)
        turns = attained_turns(self.robot) if self.oriented else np.zeros(3)
        return np.array([1.0 / size] * 3 + turns.tolist())

    @cached_property
    def rank(self) -> int | None:
        """In how many ways the joints of an open chain can move the tool; None if each of up to six has its own."""
        if self.robot.closed or self.robot.n > COMPILED:
            return None
        found = tool_motions(self.robot, self.oriented)
        return found if 0 < found < self.robot.n else None

    @property
    def entries(self) -> NDArray[np.int64] | None:
        """Addresses (6,) of the kernels that compiled code follows curves with; None where NumPy does."""
        found = kernel_entries(self.robot) if self.rank is None else None
        return None if found is None else found[0]

    @property
    def plain(self) -> bool:
        """Whether the tool point is the robot's own tool frame."""
        return self.back is None

    @cached_property
    def back(self) -> Array | None:
        """The robot's tool frame in that of the tool point; None if they are the same."""
        return (
            None if np.array_equal(self.X_tool, np.eye(4)) else np.asarray(np.linalg.inv(self.X_tool), float)
        )

    def target(self, curve: Curve, s: Array) -> tuple[Array, Array, Array]:
        """Pose (k, 4, 4), first and second rate (k, 6) of the robot's tool frame on the curve."""
        X, first, second = pose_and_rates(curve, s)
        back = self.back
        if back is None:
            return X, np.asarray(first), second
        arm = X[:, :3, :3] @ back[:3, 3]
        w, alpha = first[:, 3:], second[:, 3:]
        spin = cross(w, arm)
        v = first[:, :3] + spin
        a = second[:, :3] + cross(alpha, arm) + cross(w, spin)
        return X @ back, np.hstack([v, w]), np.hstack([a, alpha])

    def solve(self, X: Array, q: Array) -> tuple[Array, BoolArray]:
        """Newton's method from q (k, n) to the poses X (k, 4, 4): positions and which of them arrived (k,)."""
        try:
            return newton(self.robot.fkine, self.robot.jacob0, X, q, self.weights, self.rank)
        except KinematicsError:  # a step to where the loops of a closed chain do not close
            return q, np.zeros(q.shape[0], dtype=np.bool_)

    def rates(self, q: Array, first: Array, second: Array) -> Rates:
        r"""q', q'' (k, n) and the smallest singular value (k,) of the weighted Jacobian, of the ``rank`` largest.

        .. math:: J q' = x', \quad J q'' = x'' - J' q'                                   (eq:path-inverse)

        Where joints can move while the tool stands, q' is the shortest and q'' its derivative, with a part in N:

        .. math:: q' = J^+ x', \quad q'' = J^+ (x'' - J' q') + N J'^T (J^+)^T q', \; N = 1 - J^+ J (eq:path-shortest)
        """
        weights = self.weights
        J = weights[:, None] * self.robot.jacob0(q)
        dq = least_squares(J, weights * first, self.rank)
        turning = self.robot.jacob0_dot(q, dq) @ dq[..., None]
        ddq = least_squares(J, weights * (second - turning[..., 0]), self.rank)  # eq:path-inverse
        if self.rank is not None:
            U, values, Vt = np.linalg.svd(J)
            U, V, N = (
                U[..., : self.rank],
                Vt[:, : self.rank].swapaxes(1, 2),
                Vt[:, self.rank :].swapaxes(1, 2),
            )
            back = U @ ((V.swapaxes(1, 2) @ dq[..., None]) / np.maximum(values[:, : self.rank, None], TURNS))
            J_rate = weights[:, None] * self.robot.jacob0_dot(q, dq)
            ddq = ddq + (N @ (N.swapaxes(1, 2) @ (J_rate.swapaxes(1, 2) @ back)))[..., 0]  # eq:path-shortest
            return dq, ddq, np.asarray(values[:, self.rank - 1], dtype=np.float64)
        Jt = J.swapaxes(1, 2)
        squares = Jt @ J if J.shape[2] <= 6 else J @ Jt
        return dq, ddq, np.sqrt(np.maximum(np.linalg.eigvalsh(squares)[:, 0], 0.0))

    def halfway(self, s: Array, X: Array, q: Array, rates: Rates) -> tuple[Array, Array]:
        """The quintics of a path in the middle of its intervals (m - 1, n), and how far (m - 1,) [m] the tool is there
        from the poses X, turns measured at the size of the arm."""
        size, found = arm_size(self.robot), self.entries
        if found is not None:
            guess, miss = np.empty((len(s) - 1, q.shape[1])), np.empty(len(s) - 1)
            misses(found, self.weights, s, q, rates[0], rates[1], X, guess, miss)
            return guess, size * miss
        guess = _halfway(s, q, rates[0], rates[1])
        error = pose_errors(X, self.robot.fkine(guess))
        return guess, np.asarray(size * np.abs(self.weights * error).max(axis=1))

    def solve_along(
        self, s: Array, X: Array, first: Array, second: Array, q: Array
    ) -> tuple[Array, Rates, int]:
        """Positions (m, n) at the poses X along a curve, the first one given (n,), and their rates.

        The number says how many points, from the first, are solved on one branch.
        """
        if self.entries is None:
            return solve_along_by_numpy(self, s, X, first, second, q)
        guess = np.zeros((s.size, q.size))
        guess[0] = q
        return self._compiled(True, s, X, first, second, guess)

    def solve_near(self, X: Array, first: Array, second: Array, guess: Array) -> tuple[Array, Rates, bool]:
        """Positions near guesses (m, n) and their rates, each point by itself; whether all of them were found."""
        if self.entries is None:
            q, arrived = self.solve(X, guess)
            return q, self.rates(q, first, second), bool(arrived.all())
        q, rates, solved = self._compiled(False, np.zeros(len(X)), X, first, second, guess)
        return q, rates, solved == len(X)

    def _compiled(
        self, along: bool, s: Array, X: Array, first: Array, second: Array, q: Array
    ) -> tuple[Array, Rates, int]:
        """Both by ``curve_newton``."""
        found = self.entries
        assert found is not None
        m, n = q.shape
        dq, ddq, squares = np.zeros((m, n)), np.zeros((m, n)), np.zeros((m, n, n))
        X, first, second = (np.ascontiguousarray(x) for x in (X, first, second))
        solved = solve_points(found, self.weights, along, s, X, first, second, q, dq, ddq, squares)
        sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(squares)[:, 0], 0.0))
        return q, (dq, ddq, sigma), int(solved)


@lru_cache(maxsize=16)
def arm_size(robot: Robot) -> float:
    """A length [m] that counts like one radian: from the base to the tool at home, at least 0.1 m."""
    return max(0.1, float(np.linalg.norm(robot.fkine(robot.q_home)[:3, 3])))


@lru_cache(maxsize=16)
def attained_turns(robot: Robot) -> Array:
    """Which turns about the axes of the base a path prescribes (3,), 1 or 0.

    All of them, but of an arm as built with fewer than six joints: about axes about which its drawing never turns the
    tool, as the x and y of an arm that keeps its tool upright, the tool stands as the deviations leave it.
    """
    nominal = robot.mechanism.nominal
    if nominal is None or robot.n >= 6:
        return np.ones(3)
    drawn, rng = robot.with_deviations({}), np.random.default_rng(0)
    places = [drawn.q_home, *(drawn.q_home + rng.uniform(-0.2, 0.2, drawn.n) for _ in range(4))]
    turns = []
    for q in places:
        try:
            turns.append(np.abs(drawn.jacob0(q)[3:]).max(axis=1))
        except KinematicsError:  # beyond the reach of a closed chain
            continue
    return np.where(np.max(turns, axis=0) > TURNS, 1.0, 0.0)


@lru_cache(maxsize=32)
def tool_motions(robot: Robot, oriented: bool) -> int:
    """In how many ways an open chain can move its tool: the largest rank of the Jacobian at a few random positions."""
    rng = np.random.default_rng(0)
    places = robot.q_home + rng.uniform(-0.5, 0.5, (5, robot.n))
    weights = np.array([1.0 / arm_size(robot)] * 3 + [1.0 if oriented else 0.0] * 3)
    return int(np.linalg.matrix_rank(weights[:, None] * robot.jacob0(places), tol=1e-9).max())


@lru_cache(maxsize=16)
def kernel_entries(robot: Robot) -> tuple[NDArray[np.int64], tuple[Entry, ...]] | None:
    """Addresses (6,) of fkine, jacob0 and jacob0_dot with their data, and the objects that own them.

    None for closed chains and arms with more than six joints, which NumPy follows.
    """
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
    if tracker.rank is not None:
        return _shortest_path(tracker, curve, q_start, index)
    clear = _clear_path(tracker, curve, q_start)
    if clear is not None:
        return clear
    s = _first_places(curve.knots)
    while True:
        X, first, second = tracker.target(curve, s)
        q, rates, solved = tracker.solve_along(s, X, first, second, q_start)
        if rates[2][0] < SINGULAR:  # at its start: the joints cannot leave it along the curve
            _raise_singular(tracker, curve, 0.0, rates[0][0], index)
        if solved == s.size:
            break
        near, far = s[solved - 1], s[solved]
        if far - near < CLOSEST * curve.length:
            _raise_no_path(tracker, curve, near, far, q[solved - 1], index)
        s = np.insert(s, solved, 0.5 * (near + far))
    while True:
        dq, ddq, sigma = rates
        k = int(np.argmin(sigma))
        if sigma[k] < SINGULAR:
            _raise_singular(tracker, curve, float(s[k]), dq[k], index)
        middle = 0.5 * (s[:-1] + s[1:])
        X, first, second = tracker.target(curve, middle)
        guess, miss = tracker.halfway(s, X, q, rates)
        if miss.max() < ACCURACY:
            return JointPath(s, q, dq, ddq)
        far = miss >= 0.1 * ACCURACY
        q_far, rates_far, arrived = tracker.solve_near(X[far], first[far], second[far], guess[far])
        short = np.diff(s)[far] <= CLOSEST * CLOSEST * curve.length
        if s.size > FINEST or short.any() or not arrived:
            k = int(np.argmax(miss))
            _raise_singular(tracker, curve, float(middle[k]), dq[k], index)
        order = np.argsort(np.concatenate([s, middle[far]]), kind="stable")
        s, q = np.concatenate([s, middle[far]])[order], np.concatenate([q, q_far])[order]
        dq, ddq, sigma = (np.concatenate(pair)[order] for pair in zip(rates, rates_far, strict=True))
        rates = dq, ddq, sigma


def _shortest_path(tracker: Tracker, curve: Curve, q_start: Array, index: int) -> JointPath:
    """``follow`` of an arm whose joints can move while the tool stands: all intervals are halved until it is met."""
    s = _first_places(curve.knots)
    while True:
        X, first, second = tracker.target(curve, s)
        q, rates, solved = _shortest_along(tracker, s, X, first, second, q_start)
        dq, ddq, sigma = rates
        k = int(np.argmin(sigma[:solved]))
        if sigma[k] < SINGULAR:
            _raise_singular(tracker, curve, float(s[k]), dq[k], index)
        middle = 0.5 * (s[:-1] + s[1:])
        if (
            solved == s.size
            and tracker.halfway(s, tracker.target(curve, middle)[0], q, rates)[1].max() < ACCURACY
        ):
            return JointPath(s, q, dq, ddq)
        if 2 * s.size > FINEST:
            near = min(solved, s.size - 1) - 1
            _raise_no_path(tracker, curve, float(s[near]), float(s[near + 1]), q[near], index)
        s = np.sort(np.concatenate([s, middle]))


def _shortest_along(
    tracker: Tracker, s: Array, X: Array, first: Array, second: Array, q_start: Array
) -> tuple[Array, Rates, int]:
    """Positions (m, n) along a curve that follow from their rates (eq:same-branch), as no pose alone tells them.

    The number says how many points, from the first, are solved.
    """
    q = np.tile(q_start, (s.size, 1))
    dq, ddq, sigma = np.zeros_like(q), np.zeros_like(q), np.zeros(s.size)
    dq[:1], ddq[:1], sigma[:1] = tracker.rates(q[:1], first[:1], second[:1])
    for k in range(1, s.size):
        h, at = s[k] - s[k - 1], slice(k, k + 1)
        guess = q[k - 1] + h * dq[k - 1] + 0.5 * h * h * ddq[k - 1]
        for _ in range(CORRECTIONS):
            q[at], arrived = tracker.solve(X[at], guess[None])
            if not arrived[0] or np.abs(q[k] - q[k - 1]).max() > FARTHEST:
                return q, (dq, ddq, sigma), k
            dq[at], ddq[at], sigma[at] = tracker.rates(q[at], first[at], second[at])
            guess = q[k - 1] + 0.5 * h * (dq[k - 1] + dq[k]) + h * h / 12.0 * (ddq[k - 1] - ddq[k])
    return q, (dq, ddq, sigma), s.size


def _clear_path(tracker: Tracker, curve: Curve, q_start: Array) -> JointPath | None:
    """``follow`` of a line or a blend in compiled code; None where it is not that simple."""
    found = tracker.entries if isinstance(curve, Line | Blend) else None
    if found is None:
        return None
    assert isinstance(curve, Line | Blend)
    size, count, room = arm_size(tracker.robot), INTERVALS + 1, min(CLEAR, FINEST) + 1
    s, path = np.empty(room), np.empty((3, room, q_start.size))
    s[:count] = curve.length * SHARES
    path[0, 0] = q_start
    near = np.array([ACCURACY / size, 0.1 * ACCURACY / size, CLOSEST * CLOSEST * curve.length, SINGULAR**2])
    kind = LINE if isinstance(curve, Line) else BLEND
    back = NO_ROWS if tracker.back is None else tracker.back
    m = follow_curve(found, tracker.weights, kind, *curve.numbers, back, near, s, path, count)
    if m == UNCLEAR:
        return None
    q, dq, ddq = path[:, :m].copy()
    return JointPath(s[:m].copy(), q, dq, ddq)


def _first_places(knots: Array) -> Array:
    """Where a curve with these knots is solved at first."""
    spans = max(2, -(-INTERVALS // (knots.size - 1)))
    if knots.size == 2:
        return np.asarray(knots[0] + (knots[1] - knots[0]) * SHARES)
    inner = knots[:-1, None] + np.diff(knots)[:, None] * (np.arange(spans) / spans)
    return np.append(inner, knots[-1])


def _halfway(s: Array, q: Array, dq: Array, ddq: Array) -> Array:
    """The quintics of a path in the middle of its intervals (m - 1, n)."""
    h = np.diff(s)[:, None]
    turn, bend = h * (dq[:-1] - dq[1:]), h * h * (ddq[:-1] + ddq[1:])
    return 0.5 * (q[:-1] + q[1:]) + 5.0 / 32.0 * turn + bend / 64.0


def solve_along_by_numpy(
    tracker: Tracker, s: Array, X: Array, first: Array, second: Array, q_start: Array
) -> tuple[Array, Rates, int]:
    """``Tracker.solve_along`` for closed chains and long arms: several points at once, fewer where that fails."""
    q = np.zeros((s.size, q_start.size))
    q[0] = q_start
    dq, ddq, sigma = np.zeros_like(q), np.zeros_like(q), np.zeros(s.size)
    dq[:1], ddq[:1], sigma[:1] = tracker.rates(q[:1], first[:1], second[:1])
    last, ahead = 0, s.size
    while last < s.size - 1:
        k = slice(last + 1, min(last + 1 + ahead, s.size))
        h = (s[k] - s[last])[:, None]
        bend = np.minimum(np.maximum(0.5 * h * h * ddq[last], -LONGEST_STEP), LONGEST_STEP)
        q[k], good = tracker.solve(X[k], q[last] + h * dq[last] + bend)
        if good.any():
            dq[k], ddq[k], sigma[k] = tracker.rates(q[k], first[k], second[k])
            both = slice(last, k.stop)
            good &= _same_branch(s[both], q[both], dq[both], ddq[both])
        count = good.size if good.all() else int(np.argmin(good))
        if count == 0:
            if ahead == 1:
                return q, (dq, ddq, sigma), last + 1
            ahead = max(1, ahead // 4)
            continue
        last, ahead = last + count, max(2 * count, 1)
    return q, (dq, ddq, sigma), s.size


def _same_branch(s: Array, q: Array, dq: Array, ddq: Array) -> BoolArray:
    r"""Whether each point (but the first) is on the branch of the one before it, by the rates of both.

    .. math:: q_1 - q_0 = \tfrac{h}{2} (q'_0 + q'_1) + \tfrac{h^2}{12} (q''_0 - q''_1) + O(h^5)   (eq:same-branch)
    """
    h = np.diff(s)[:, None]
    step = q[1:] - q[:-1]
    expected = 0.5 * h * (dq[:-1] + dq[1:]) + h * h / 12.0 * (ddq[:-1] - ddq[1:])  # eq:same-branch
    gap = np.abs(step - expected).max(axis=1)
    size = np.abs(step).max(axis=1)
    return np.asarray((gap < CLOSE * size + 1e-6) & (size < FARTHEST))


def _raise_no_path(tracker: Tracker, curve: Curve, s_good: float, s: float, q: Array, index: int) -> NoReturn:
    """PathError: why no position on the branch follows the point s_good."""
    X, first, second = tracker.target(curve, np.array([s_good, s]))
    at = _place(curve, float(s))
    try:
        tracker.robot.ikine(X[1], q0=q, respect_limits=False, mask=tracker.weights != 0.0)
    except UnreachableError as error:
        reason = f"the path leaves the workspace ({error})"
        if str(error).endswith(POSITION_ALONE):
            reason = _turn_not_held(tracker.robot, turning=bool(np.abs(first[:, 3:]).max() > 0.0))
        raise PathError(reason, index=index, what="workspace", **at) from None
    except ServotwinError:
        pass
    _raise_singular(tracker, curve, float(s), tracker.rates(q[None], first[:1], second[:1])[0][0], index)


def _turn_not_held(robot: Robot, *, turning: bool) -> str:
    """What is wrong where the arm reaches a place of the path, but not with the orientation there."""
    what, other = "the orientation", "with another orientation"
    if turning:
        what, other = "the even turn", "that differ in one angle of the tool only"
    return (
        f"the arm reaches this place, but its {robot.n} joints cannot hold {what} of the tool between these "
        f"points; use a joint move (MOVEJ), or points {other}"
    )


def _raise_singular(tracker: Tracker, curve: Curve, s: float, dq: Array, index: int) -> NoReturn:
    axis = tracker.robot.joint_names[int(np.argmax(np.abs(dq)))]
    text = f"the path meets a singular position, near which axis {axis} would turn without bound"
    raise PathError(text, index=index, what="singularity", axis=axis, **_place(curve, s))


def _place(curve: Curve, s: float) -> dict[str, Any]:
    return {"place": s / curve.length, "place_m": s if curve.metric else None}
