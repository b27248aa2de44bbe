r"""A stop whose reference leads: the arm brakes at once, though its position loops follow late.

A position loop of gain K without feed-forward commands the speed K (x_ref - x), and lags by x'/K. So that the arm
brakes with a motion x_d on its path, the reference lies ahead of the arm by what its loops lag at the speed of x_d, and
by what a PI speed loop needs to have the current of x_d, both without what is fed forward:

.. math:: x_\mathrm{ref} = x + P\,(\dot x_d + N^{-1} e - \phi\,\dot q_c), \quad
          P = N^{-1}\,\mathrm{diag}\left(\frac{1}{K_j}\right) N, \quad
          e_j = \frac{i_j - f_j - y_j}{K_{n,j}}, \quad \dot y_j = \frac{K_{ni,j}}{K_{n,j}}\,(i_j - f_j - y_j)
                                                                                   (eq:leading-reference)

x: where the arm is by its encoders; N: transmission; K_j, K_n, K_ni: gains of position and speed loops; phi: the share
of the speed q_c' of the path that is fed forward; i: currents of x_d by the controller's own model; f: what is fed
forward of them; y: what the integrals of the speed loops hold of them. The arm has the speed with which the first of
these equations gives where the reference stands. Theory: docs/theory/time-scaling.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from servotwin.control.main.time_scaling import HARD, Cursor, Motion, braking_slope
from servotwin.control.servo.axis_data import controller_of, robot_gains
from servotwin.control.tuning.valve import ValveModel
from servotwin.description.frames import Array
from servotwin.description.schema import RobotDescription
from servotwin.motion.limits import MotionLimits
from servotwin.motion.motor_limits import MotorLimits
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia

PLACES, ROUNDS = 65, 3  # among which a place on the path is looked for, each time beside the nearest one
SLOWEST = 1e-2  # of the joints' speeds: a path that is slower there does not tell a speed
FARTHEST = 4.0  # times the lag of the slowest loop on the path between a reference and its arm at most
USED = 0.9  # of what a motor gives: the rest is left to its loops
SETTLING = 0.1  # s for which the reference follows an arm that comes to rest
LATE = 0.025  # s, beyond a period, by which the arm stands later than constant torques would brake it
TINY = 1e-12


@dataclass(frozen=True)
class Fed:
    """What is fed forward: shares of speed, of the torques of the model, and of the inertia by itself.

    ``inertia`` [kg m2], ``friction`` [N m s/rad] (m,) of the motors as their loops believe.
    """

    speed: float = 0.0
    torque: float = 0.0
    acceleration: float = 0.0
    inertia: Array | None = None
    friction: Array | None = None


@dataclass(frozen=True)
class Following:
    """How an arm follows late, as its controller believes.

    ``loops`` (n, n) [s]: ways of the joints by which position loops command speeds; ``proportional`` [A s/rad] and
    ``integral`` [A/rad] (m,) of the speed loops; ``motors``: what currents motions need and which ones there are;
    ``fed``: what is fed forward; ``age`` [s] of measured positions.
    """

    loops: Array
    proportional: Array
    integral: Array
    motors: MotorLimits
    fed: Fed = field(default_factory=Fed)
    age: float = 0.0

    @cached_property
    def _joints(self) -> Array:
        """Speeds of the joints (n, m) for those of the motors."""
        return np.asarray(np.linalg.inv(self.motors.robot.mechanism.rotors.N))

    @cached_property
    def farthest(self) -> float:
        """The time [s] of a path that may lie between a reference and its arm."""
        lags = np.abs(np.linalg.eigvals(self.loops))
        return FARTHEST * ((1.0 - self.fed.speed) * float(lags.max()) + self.age)

    def speed(self, gap: Array, path: Array) -> Array:
        """Speeds (n,) that the loops command with the reference by ``gap`` (n,) ahead of where the arm was measured.

        ``path`` (n,): the speed that is told with the reference.
        """
        ways = self.loops + self.age * np.eye(len(self.loops))
        return np.asarray(np.linalg.solve(ways, gap + self.loops @ (self.fed.speed * path)))

    def lead(self, speed: Array, path: Array) -> Array:
        """How far (n,) the reference lies ahead of an arm to which loops shall command a speed (n,)."""
        return np.asarray(self.loops @ (speed - self.fed.speed * path))  # eq:leading-reference

    def currents(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Currents (m,) [A] of a motion (n,)."""
        tau = self.motors.motor_torques(q[None], qd[None], qdd[None])[0]
        return np.asarray(tau / self.motors.drive.torque_constant)

    def fed_currents(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Currents (m,) [A] that are fed forward for a motion (n,) of the reference."""
        fed, robot = self.fed, self.motors.robot
        tau = np.zeros(len(self.proportional))
        if fed.torque > 0.0:
            tau += fed.torque * (self._joints.T @ robot.rne(q, qd, qdd, drives=True))
            if fed.friction is not None:
                tau += fed.torque * fed.friction * self.motors.motor_speeds(qd)
        if fed.acceleration > 0.0 and fed.inertia is not None:
            tau += fed.acceleration * fed.inertia * self.motors.motor_speeds(qdd)
        return np.asarray(tau / self.motors.drive.torque_constant)

    def begun(self, currents: Array) -> Array:
        """What the integrals of the speed loops hold (m,) where currents (m,) have flowed for long."""
        return np.where(self.integral > 0.0, currents, 0.0)

    def held(self, held: Array, currents: Array, T: float) -> Array:
        """What the integrals of the speed loops hold of currents (m,) that flow for T [s]; ``held`` (m,) before."""
        part = -np.expm1(-T * self.integral / self.proportional)
        return np.asarray(held + part * (currents - held))

    def speed_errors(self, currents: Array, held: Array) -> Array:
        """Errors of the joints' speeds (n,) with which the speed loops give currents (m,) (eq:leading-reference)."""
        return np.asarray(self._joints @ ((currents - held) / self.proportional))

    def slopes(self, q: Array, first: Array, second: Array, rate: float) -> tuple[float, float]:
        """Least and largest slope of a rate for which the motors suffice: qdd = rate^2 second + slope first."""
        return self.slopes_of(q, rate * first, rate * rate * second, first)

    def slopes_of(self, q: Array, qd: Array, qdd: Array, way: Array) -> tuple[float, float]:
        """Least and largest factor of accelerations ``way`` (n,) that motors add to a motion (n,)."""
        ends = self._ends(q[None], qd[None], qdd[None], way[None])
        return float(ends[0, 0]), float(ends[1, 0])

    def braking_times(self, q: Array, qd: Array) -> Array:
        """How long motors take (k,) [s] to bring speeds (k, n) of joints at q (k, n) to rest, all in proportion.

        nan where the voltage leaves a motor no torque.
        """
        moves = np.abs(qd).max(axis=1, initial=0.0) > TINY
        ends = self._ends(q, qd, np.zeros_like(qd), qd)
        return np.where(moves, 1.0 / np.maximum(-ends[0], TINY), 0.0)

    def holding(self, q: Array) -> tuple[str, float]:
        """The motor that needs the largest share of its torque to hold joints at one of q (k, n), and that share."""
        motors, still = self.motors, np.zeros_like(q)
        tau = motors.motor_torques(q, still, still)
        low, high = motors.drive.torques(np.zeros_like(tau))
        used = np.maximum(tau / high, tau / low).max(axis=0)
        i = int(np.argmax(used))
        return motors.names[i], float(used[i])

    def _ends(self, q: Array, qd: Array, qdd: Array, way: Array) -> Array:
        """Least and largest factor (2, k) of accelerations ``way`` that motors add to a motion, (k, n) each."""
        motors = self.motors
        tau = motors.motor_torques(q, qd, qdd)
        growth = motors.motor_torques(q, qd, qdd + way) - tau
        low, high = motors.drive.torques(motors.motor_speeds(qd))
        moved = np.abs(growth) > TINY
        size = np.where(moved, growth, 1.0)
        ends = np.sort(np.stack([(USED * low - tau) / size, (USED * high - tau) / size]), axis=0)
        least = np.where(moved, ends[0], -np.inf).max(axis=1)
        return np.stack([least, np.where(moved, ends[1], np.inf).min(axis=1)])


def following_of(
    robot: Robot, limits: MotionLimits, description: RobotDescription, *, age: float = 0.0
) -> tuple[Following | None, str]:
    """How the arm of a robot file follows, None if it does not follow late; or why nobody knows, in words.

    ``age`` [s] of measured positions when the controller sees them.
    """
    control, motors = controller_of(description), limits.motors
    feed = control.feedforward
    if control.law != "cascade":
        return None, f"its law is {control.law}"
    if feed.velocity >= 1.0:
        return None, ""
    if motors is None:
        return None, "nothing is known of its motors"
    designs = robot_gains(description, motor_inertia(robot, robot.q_home, held=True))
    gains = [gains for _, gains in designs]
    if any(isinstance(model, ValveModel) for model, _ in designs):
        return None, "servovalves move it"
    if any(one.position_integral or one.position <= 0.0 for one in gains):
        return None, "its position loops have an integral"
    N = np.asarray(robot.mechanism.rotors.N, dtype=np.float64)
    ways = 1.0 / np.array([one.position for one in gains])
    fed = Fed(
        feed.velocity,
        feed.torque,
        feed.acceleration,
        np.array([model.J for model, _ in designs]),
        np.array([model.friction for model, _ in designs]),
    )
    following = Following(
        np.linalg.inv(N) @ (ways[:, None] * N),  # eq:leading-reference
        np.array([one.speed_proportional for one in gains]),
        np.array([one.speed_integral for one in gains]),
        motors,
        fed,
        age,
    )
    return following, ""


class LeadingStop:
    """A stop under way of an arm that was at q (n,) while its reference stood at ``ahead`` (n,).

    ``cursor``: the motion that is stopped, if there is one, else the arm still comes to where its reference stands;
    ``told``: the motion (n,) that it was told last. The cursor stands
    back to where the arm is, at the speed that the loops command. What that speed has beside the path (``surplus``),
    as after a corner, the joints brake away in proportion.
    """

    def __init__(
        self,
        following: Following,
        cursor: Cursor | None,
        q: Array,
        ahead: Array,
        limits: MotionLimits,
        told: Motion,
    ) -> None:
        self.following, self.limits, self.cursor = following, limits, cursor
        self._back_to = 0.0, 0.0  # time on its motion and rate at which the cursor stands with the arm
        fed = self._fed = following.fed_currents(*told)
        speed = following.speed(ahead - q, told[1])
        self.path = self._stand_at(q, speed, told)
        if not (following.integral > 0.0).all():  # what such a motor gives is an error of its speed
            currents = following.currents(*self.path) - fed
            speed = speed - following.speed_errors(currents, following.begun(currents))
            self.path = self._stand_at(q, speed, told)
        if cursor is not None:
            cursor.stand_back(*self._back_to)
            cursor.slopes = following.slopes
        self.surplus = speed - self.path[1]
        self._way, self._share, self._slope = self.surplus, 1.0, 0.0
        self._speed = self._older = speed  # now, and a period ago
        self._held = following.begun(following.currents(*self.path) - fed)
        self._settled = 0.0

    def _stand_at(self, q: Array, speed: Array, told: Motion) -> Motion:
        """Where the cursor stands with the arm, which was measured at q (n,) and has a speed (n,)."""
        q = q + self.following.age * speed
        still = np.zeros_like(q)
        return (told[0], still, still) if self.cursor is None else self._stand_back(self.cursor, q, speed)

    def _stand_back(self, cursor: Cursor, q: Array, speed: Array) -> Motion:
        weights = 1.0 / self.limits.speed
        begin = max(cursor.time - self.following.farthest, 0.0)
        time = nearest_time(cursor, q, weights, begin, cursor.time, speed)
        x, first, second = at(cursor, time)
        w = first * weights
        size = float(w @ w)
        rate = float(w @ (speed * weights)) / size if size > SLOWEST**2 else 0.0
        rate = min(max(rate, 0.0), 1.0)
        self._back_to = time, rate
        return x, rate * first, rate * rate * second

    @property
    def settled(self) -> bool:
        """Whether the arm had its time to come to rest."""
        return self._settled >= SETTLING

    @property
    def moves(self) -> bool:
        """Whether the arm shall still move."""
        return bool(self._speed.any())

    def end(self) -> None:
        """The motion goes on without it."""
        if self.cursor is not None:
            self.cursor.slopes = None

    def next(self, motion: Motion, q: Array, T: float) -> Array:
        """The reference (n,) a period T [s] later for the ``motion`` there, of an arm that is at q (n,) now."""
        x, qd, qdd = motion
        before, self.surplus = self.surplus, self._less(motion, T)
        speed, following = qd + self.surplus, self.following
        currents = following.currents(x, speed, qdd + (self.surplus - before) / T)
        before_fed, self._fed = self._fed, following.fed_currents(x, qd, qdd)
        mean_fed = 0.5 * (before_fed + self._fed)  # axis controllers go from one to the other
        self._held = following.held(self._held, currents - mean_fed, T)
        here = q + 0.5 * following.age * (self._older + self._speed)
        there = here + 0.5 * T * (self._speed + speed)
        self._older, self._speed = self._speed, speed
        self._settled = 0.0 if speed.any() else self._settled + T
        errors = following.speed_errors(currents - self._fed, self._held)
        return there + following.lead(speed + errors, qd)

    def _less(self, motion: Motion, T: float) -> Array:
        """The surplus (n,) a period T [s] later: as motors give it beside the motion, with the limits at least."""
        sizes = np.abs(self._way)
        if self._share == 0.0 or not sizes.any():
            return np.zeros_like(self._way)
        x, qd, qdd = motion
        moved = sizes > 0.0
        usual = float((self.limits.acceleration[moved] / sizes[moved]).min())
        given = -self.following.slopes_of(x, qd + self.surplus, qdd, self._way)[0]
        least = -max(min(HARD.share * usual, given), usual)
        self._slope = braking_slope(self._share, self._slope, least, T)
        self._share = max(self._share + self._slope * T, 0.0)
        return self._share * self._way


def at(cursor: Cursor, time: float) -> Motion:
    """q, q', q'' (n,) of a cursor's motion at a time of it [s]."""
    x, first, second = cursor.trajectory.sample(np.array([time]))
    return x[0], first[0], second[0]


def nearest_time(
    cursor: Cursor, q: Array, weights: Array, begin: float, end: float, speed: Array | None = None
) -> float:
    """Time [s] on a cursor's motion at which it is nearest to q (n,), from ``begin`` to ``end`` [s] of it.

    Of times that are as near it is the one nearest to the cursor's own. ``speed`` (n,): where the motion goes against
    it, the arm is not.
    """
    begin, end = max(begin, 0.0), min(end, cursor.trajectory.duration)
    time = cursor.time
    for _ in range(ROUNDS):
        times = np.linspace(begin, end, PLACES)
        x, first, _ = cursor.trajectory.sample(times)
        away = (((x - q) * weights) ** 2).sum(axis=1) + TINY * np.abs(times - cursor.time)
        if speed is not None:
            along = ((first * weights) @ (speed * weights)) >= 0.0
            away = np.where(along | (not along.any()), away, np.inf)
        k = int(np.argmin(away))
        time = float(times[k])
        begin, end = float(times[max(k - 1, 0)]), float(times[min(k + 1, PLACES - 1)])
    return time
