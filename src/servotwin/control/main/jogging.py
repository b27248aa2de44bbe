r"""Jogging while a key is held: joints, or the tool along a straight line, within all limits.

Every period the speed moves towards what the key asks for by no more than the acceleration allows, and never
beyond what can still be braked away before the nearest limit. Theory: docs/theory/time-scaling.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from servotwin.control.main.alarms import BoolArray, shown
from servotwin.control.main.point_speed import FastestPoint
from servotwin.control.main.time_scaling import Motion
from servotwin.description.frames import Array
from servotwin.errors import InputError, KinematicsError
from servotwin.motion.follow import Tracker
from servotwin.motion.limits import MotionLimits
from servotwin.motion.rotations import turned
from servotwin.robot.arguments import position_text
from servotwin.robot.robot import Robot

Frame = Literal["joint", "base", "tool"]
SINGULAR = 1e-2  # smallest singular value of the Jacobian near which a line is not followed
SHARE = 0.4  # of a joint's acceleration for the change of speed along a line; the rest bends the joint path
BRAKING = (0.99, 0.8, 0.6)  # of it that brake a line that is let go, as far as bending the path leaves them
HALVINGS = 20  # of the interval of speeds in which the largest allowed one is looked for
TOP = 0.9  # of a joint's speed along a line


@dataclass(frozen=True)
class Jog:
    """What a key asks for.

    ``frame``: 'joint', or 'base' and 'tool' for the axes a tool motion is along; ``direction``: one number
    from -1 to 1 for each joint, or six (x, y, z, turns about them); ``speed``: share (0 to 1] of the jogging
    speed; ``length``: of a step [rad, m]; None: as long as the key is held.
    """

    frame: Frame
    direction: tuple[float, ...]
    speed: float = 1.0
    length: float | None = None

    def checked(self, n: int) -> Array:
        """The direction; InputError if it is none for a robot of n joints."""
        if self.frame not in ("joint", "base", "tool"):
            raise InputError(f"frame '{self.frame}'; expected joint, base or tool", field="jog")
        wanted = n if self.frame == "joint" else 6
        try:
            direction = np.array(self.direction, dtype=np.float64)
            speed, length = float(self.speed), 1.0 if self.length is None else float(self.length)
        except (TypeError, ValueError):
            raise InputError("not numbers; expected a direction, a speed and a length", field="jog") from None
        if direction.shape != (wanted,) or not (np.abs(direction) <= 1.0).all() or not direction.any():
            raise InputError(
                f"direction {self.direction}; expected {wanted} numbers from -1 to 1", field="jog"
            )
        if not (0.0 < speed <= 1.0 and math.isfinite(length) and length != 0.0):
            raise InputError(
                "expected a speed above 0 and up to 1, and a length that is not zero", field="jog"
            )
        if self.frame != "joint" and direction[:3].any() and direction[3:].any():
            raise InputError("shift and turn at once; expected one of them", field="jog")
        if self.frame != "joint" and self.length is not None:
            turn = float(np.linalg.norm(direction[3:])) * abs(length)
            if turn >= math.pi:
                raise InputError(
                    f"a turn of the tool by {shown(turn, 'rad')}; expected less than half a turn, 180 deg",
                    field="jog",
                )
        return direction


def brake_speed(distance: Array, speed: Array, acceleration: Array, T: float) -> Array:
    r"""Largest next speed (n,) from which the arm stands before ``distance`` (n,) is used up.

    With steps of T at constant acceleration, v_0 now and v next, v is allowed if

    .. math:: \tfrac{T}{2}(v_0 + v) + \tfrac{v^2}{2a} + \tfrac{T}{2} v \le d                     (eq:brake-speed)

    whereupon the next speed v - a T is allowed too, and so on until rest.
    """
    aT = acceleration * T
    room = aT * aT + 2.0 * acceleration * (distance - 0.5 * T * speed)
    return np.maximum(np.sqrt(np.maximum(room, 0.0)) - aT, 0.0)  # eq:brake-speed


def joint_step(q: Array, qd: Array, wanted: Array, limits: MotionLimits, T: float) -> Motion:
    """The next instant of joints that go towards the speeds ``wanted`` (n,), each for itself."""
    a = limits.acceleration
    up = brake_speed(limits.q_max - q, qd, a, T)
    down = brake_speed(q - limits.q_min, -qd, a, T)
    v = np.clip(np.clip(wanted, -down, up), qd - a * T, qd + a * T)
    if limits.quantities.names:
        v = _kept(q, qd, v, limits, T)
    return q + 0.5 * T * (qd + v), v, (v - qd) / T


def _kept(q: Array, qd: Array, v: Array, limits: MotionLimits, T: float) -> Array:
    """Of the speeds (n,) between full braking and ``v`` the nearest to ``v`` that keeps the quantities.

    Only joints of quantities that would leave their range are slowed. A quantity z = A q + b may be moved on by
    joints that brake for longer after others have stopped, so each joint that takes it towards a limit counts with
    the whole way that it needs to stop (eq:brake-speed).
    """
    a, quantities = limits.acceleration, limits.quantities
    slower = np.sign(qd) * np.maximum(np.abs(qd) - a * T, 0.0)
    z = quantities.values(q)

    def lost(speed: Array) -> BoolArray:
        now = quantities.A * (0.5 * T * (qd + speed))
        later = quantities.A * (speed * (0.5 * np.abs(speed) / a + 0.5 * T))
        up = z + now.sum(axis=1) + np.maximum(later, 0.0).sum(axis=1)
        down = z + now.sum(axis=1) + np.minimum(later, 0.0).sum(axis=1)
        outwards = (later > 0.0).any(axis=1), (later < 0.0).any(axis=1)
        high, low = (up > quantities.high) & outwards[0], (down < quantities.low) & outwards[1]
        return np.asarray(high | low)

    kept, rows = v, np.zeros(len(quantities.names), dtype=bool)
    while (lost(kept) & ~rows).any():
        rows |= lost(kept)
        brake = np.where(quantities.A[rows].any(axis=0), slower, v)
        least, most = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (least + most)
            bad = (lost(brake + middle * (v - brake)) & rows).any()
            least, most = (least, middle) if bad else (middle, most)
        kept = brake + least * (v - brake)
    return kept


def stoppable_speeds(limits: MotionLimits, seconds: float) -> Array:
    """Speeds (n,) from which joints come to rest within a time, each with its own limits."""
    if not math.isfinite(seconds):
        return limits.speed
    a, jerk = limits.acceleration, limits.jerk
    ramp = np.where(np.isfinite(jerk), a / jerk, 0.0)
    return np.minimum(
        limits.speed, np.where(seconds >= 2.0 * ramp, a * (seconds - ramp), 0.25 * jerk * seconds**2)
    )


class LineJog:
    """The tool along a straight line, or turning about a fixed axis, from where it stands at rest."""

    def __init__(self, robot: Robot, limits: MotionLimits, q: Array, direction: Array, frame: Frame) -> None:
        self.limits, self.robot = limits, robot
        self.tracker = Tracker(robot, oriented=robot.n > 3)
        self.X = robot.fkine(q)
        unit = direction / np.linalg.norm(direction)
        if frame == "tool":
            R = self.X[:3, :3]
            unit = np.concatenate([R @ unit[:3], R @ unit[3:]])
        self.unit = unit
        self.way, self.pace = 0.0, 0.0
        self.fastest: FastestPoint | None = None  # the point that is held below a bound of speed
        self.seconds = math.inf  # that the line may take to brake
        dq, _, sigma = self._rates(q)
        reached = robot.jacob0(q) @ dq
        rows = slice(None) if self.tracker.oriented else slice(0, 3)
        if sigma < SINGULAR:
            place = position_text(q, robot.joint_names, [unit == "m" for unit in robot.joint_units])
            raise InputError(f"the arm is in a singular position ({place}), where the tool follows no line")
        if np.abs(reached - unit)[rows].max() > 1e-6:
            raise InputError("the tool of this robot cannot move so")

    def _rates(self, q: Array) -> tuple[Array, Array, float]:
        """q', q'' (n,) per unit of the way, and the distance from singular positions."""
        dq, ddq, sigma = self.tracker.rates(q[None], self.unit[None], np.zeros((1, 6)))
        return dq[0], ddq[0], float(sigma[0])

    def _solve(self, way: float, q: Array) -> Array | None:
        """Joint positions at a place of the line, if they are reached and allowed."""
        X = self.X.copy()
        X[:3, 3] += way * self.unit[:3]
        X[:3, :3] = turned(way * self.unit[3:]) @ X[:3, :3]
        try:
            found, arrived = self.tracker.solve(X[None], q[None])
        except (KinematicsError, np.linalg.LinAlgError):
            return None
        good = arrived[0] and (self.limits.beyond(found[0]) <= 0.0).all()
        if good and self.robot.frame_quantities.names:
            good = bool((self.robot.frame_quantities_beyond(found[0]) <= 0.0).all())
        return np.asarray(found[0]) if good else None

    def _free(self, way: float, q: Array, pace: float, dq: Array, growth: float, T: float) -> bool:
        """Whether the tool may have this pace: the line goes on for twice the way it needs to stop."""
        ahead = self._solve(way + pace * pace / growth + 2.0 * pace * T, q + dq * (pace * T))
        if ahead is None:
            return False
        dq_ahead, _, sigma = self._rates(ahead)
        return sigma >= SINGULAR and bool((np.abs(dq_ahead) * pace <= self.limits.speed).all())

    def _point_pace(self, fastest: FastestPoint, q: Array, dq: Array, growth: float, T: float) -> float:
        """The largest pace that keeps all points below their bound, here and after the way that slowing down takes."""
        ahead = q + dq * (self.pace * self.pace / growth + 2.0 * self.pace * T)
        poses, ways = np.stack([q, ahead]), np.stack([dq, self._rates(ahead)[0]])
        most = fastest.allowed / max(float(fastest.speeds(poses, ways).max()), 1e-12)
        return min(most, most * fastest.part_freed(q, most * np.abs(dq)))

    def _quickest(self, q: Array, dq: Array, growth: float) -> float:
        """Growth of the pace that loops follow well where points are held below a bound of speed."""
        if self.fastest is None:
            return growth
        return min(growth, 1.0 / max(self.fastest.ramp_time(q, dq), 1e-12))

    def _braking(self, size: Array) -> float:
        """How fast the pace may fall where joints move with ``size`` (n,) per unit of the way."""
        hardest = float((self.limits.acceleration / size).min())
        return min(hardest, self.limits.tool_acceleration) if self.unit[:3].any() else hardest

    def step(self, q: Array, qd: Array, wanted: float, T: float) -> Motion | None:
        """The next instant on the line towards the pace ``wanted`` [m/s, rad/s]; None if the line cannot be kept."""
        dq, ddq, _ = self._rates(q)
        size = np.maximum(np.abs(dq), 1e-12)
        growth = float((SHARE * self.limits.acceleration / size).min())
        if self.unit[:3].any():
            growth = min(growth, self.limits.tool_acceleration)
            wanted = min(wanted, self.limits.tool_speed)
        if self.fastest is not None and wanted > 0.0:
            wanted = min(wanted, self._point_pace(self.fastest, q, dq, growth, T))
        bent = np.sqrt(SHARE * self.limits.acceleration / np.maximum(np.abs(ddq), 1e-12))
        top = float(min((TOP * self.limits.speed / size).min(), bent.min()))
        slow = max(self.pace - growth * T, 0.0)
        braking = self._braking(size)
        wanted = min(wanted, braking * self.seconds)
        hard = (max(self.pace - share * braking * T, 0.0) for share in BRAKING if wanted == 0.0)
        quick = min(max(min(wanted, top), slow), self.pace + self._quickest(q, dq, growth) * T)
        for pace in dict.fromkeys(
            (*hard, quick, 0.5 * (quick + slow), slow, max(self.pace - 2.0 * growth * T, 0.0))
        ):
            if pace > slow and not self._free(self.way, q, pace, dq, growth, T):
                continue
            way = self.way + 0.5 * T * (self.pace + pace)
            there = self._solve(way, q + dq * (way - self.way))
            if there is None:
                continue
            v = self._rates(there)[0] * pace
            a = (v - qd) / T
            if (np.abs(v) <= self.limits.speed).all() and (np.abs(a) <= self.limits.acceleration).all():
                self.way, self.pace = way, pace
                return there, v, a
        return None
