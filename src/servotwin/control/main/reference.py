"""The moving reference: jogs, planned motions and jobs, all within the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from servotwin.control.main.alarms import BoolArray, shown_apart
from servotwin.control.main.exchange import ProgramSource, Settings
from servotwin.control.main.frame_room import FrameRoom, braking_way
from servotwin.control.main.jogging import Jog, LineJog, joint_step, stoppable_speeds
from servotwin.control.main.leading_stop import LATE, USED, Following, LeadingStop, at, nearest_time
from servotwin.control.main.overshoot import Overshoot
from servotwin.control.main.playback import Playback
from servotwin.control.main.point_speed import FastestPoint
from servotwin.control.main.shaped_cursor import ShapedCursor
from servotwin.control.main.time_scaling import (
    GENTLE,
    Cursor,
    Instants,
    Motion,
    Pace,
    Planned,
    ToolLimit,
    stoppable_rate,
)
from servotwin.description.frames import Array
from servotwin.errors import InputError
from servotwin.motion.errors import PathError
from servotwin.motion.limits import MotionLimits
from servotwin.motion.online import OnlinePlanner
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, MoveL, Speed
from servotwin.motion.rotations import turned
from servotwin.motion.shaping import POSES, ShapedMode, by_way
from servotwin.motion.trajectory import Trajectory
from servotwin.robot.robot import Robot

NANO = 1e-9
TOUCH = 1e-4  # rad, m: an arm that stands this little beyond a limit is told to stand at it
SLACK = 1e-6  # of a limit, for rounding
ROUNDING = 1e-10  # rad, m
PARTS = (
    1.0,
    0.7,
    0.5,
    0.35,
    0.2,
    0.1,
    0.03,
    0.0,
)  # of a wanted speed that are tried near the limit of a quantity
SHARES = (0.8, 0.6, 0.4, 0.2, 0.0)  # of a jog that are tried where a point would become too fast
STILL = 1e-12  # rad/s, m/s: what a planner leaves of a speed when it has come to rest
KEPT = 1e-9  # rad, m: what jogging keeps of the range of a quantity, for rounding
WATCHED = 0.02  # beyond a limit of acceleration: the mean over a period of what rounds within the limit
STANDS = 1e-6  # rate of a motion: at a lower one it stands still
HELD = 101  # places of a motion at which motors are asked what holding takes
FADING = 0.1  # s in which what was left beside a path by a stop fades by e, once the arm moves on
GONE = 1e-5  # rad, m of it that do not count
ROOM = 5.0 * FADING  # s of a motion in which it fades on the way; before a shorter one it fades at rest
TURNING = 1e-6  # share by which a turn may be quicker than asked for


class Shapers(Protocol):
    """How motions are shaped; ``kind``: of shaper, 'none' for no shaping, None as the robot file says."""

    def shapes(self, kind: str | None = None) -> bool:
        """Whether motions are shaped."""

    def modes(self, poses: Array, kind: str | None = None) -> Sequence[ShapedMode]:
        """Shapers of a motion through joints (k, n)."""


class Reference:
    """Where the arm shall be at the next instant, and what moves it: at most one of the sources.

    ``cursor`` of an operator's planned motion, ``line`` of a jog of the tool, the joint speeds of a jog, or
    the ``playback`` of a job.
    """

    def __init__(self, robot: Robot, limits: MotionLimits, period_ns: int, settings: Settings) -> None:
        self.robot, self.limits, self.period_ns, self.settings = robot, limits, period_ns, settings
        self.frames = FrameRoom(robot)
        self.q, self.qd, self.qdd = (np.zeros(robot.n) for _ in range(3))
        self.hardest = limits.acceleration  # that motions may have now
        self.share = 1.0  # of it in the period under way
        self.cursor: Cursor | None = None
        self.line: LineJog | None = None
        self.jog: Jog | None = None
        self.ramp = np.zeros(robot.n)  # rad/s, m/s that a jog by joints with a bound of points has come to
        self.speeds = np.zeros(robot.n)  # of a jog by joints, in shares of the jogging speed
        self.playback: Playback | None = None
        self.place = (-1, 0.0)  # see Playback.place, of the last job
        self.now_ns = 0  # when what is dropped ends
        self.shapers: Shapers | None = None  # of motions; None: nothing is shaped
        self.shaped: list[float] = []  # by how much each motion of the job is longer than planned [s]
        self.fastest: FastestPoint | None = None  # the point that is held below a bound of speed, if any
        self.overshoot: Overshoot | None = None  # of joints on drives beyond the reference
        self.braking_time = np.inf  # s that a motion may take to brake as hard as it can, at most
        self.stoppable = 1.0  # the rate from which the motion that was begun last keeps that time
        self.following: Following | None = None  # how the arm follows late; None: it does not
        self.unled = ""  # why an arm that may follow late is not led, in words
        self.leading: LeadingStop | None = None  # under way
        self.lead = np.zeros(robot.n)  # by which what is commanded lies ahead of q
        self.online: OnlinePlanner | None = None
        if np.isfinite(limits.jerk).any():
            self.online = OnlinePlanner(limits, self.T, self.q)

    @property
    def T(self) -> float:
        """The period [s]."""
        return self.period_ns * NANO

    def drop(self) -> None:
        """Nothing moves it any more; at rest it stands at what is commanded, on the path or not."""
        if self.playback is not None:
            self.playback.close(self.now_ns)
            self.place = self.playback.place
        self.cursor = self.line = self.jog = self.playback = None
        self.speeds = np.zeros(self.robot.n)
        self.hardest = self.limits.acceleration
        if self.leading is None:
            self.stand()

    def stand(self) -> None:
        """Nothing leads any more; at rest it stands at what is commanded, on the path or not."""
        self._let_go()
        if not self.qd.any():
            self.q, self.lead = self.commanded, np.zeros(self.robot.n)

    def take_over(self, q: Array) -> BoolArray:
        """Stand where the arm stands; which axes and quantities are beyond limits, those between frames last."""
        inside = np.clip(q, self.limits.q_min, self.limits.q_max)
        near = np.abs(q - inside) <= TOUCH
        self.hold(np.where(near, inside, q))
        beyond = self.limits.quantities.beyond(self.q), self.frames.beyond(self.q)
        return np.concatenate([~near, *(part > TOUCH for part in beyond)])

    def hold(self, q: Array) -> None:
        """Stand at q (n,)."""
        self._let_go()
        self.lead = np.zeros(self.robot.n)
        self.q, self.qd, self.qdd = q.copy(), np.zeros(self.robot.n), np.zeros(self.robot.n)

    # --- what is asked for --------------------------------------------------------------------------
    def start_jog(self, jog: Jog) -> None:
        """Begin or go on with a jog; InputError if it does not fit the one under way."""
        direction = jog.checked(self.robot.n)
        if jog.length is not None:
            raise InputError("a length; expected 'nudge' for steps", field="jog")
        held = self.jog
        if held is None:
            self.stand()
        if held is not None:
            if held.frame != jog.frame or (jog.frame != "joint" and held.direction != jog.direction):
                raise InputError("another key still jogs the arm; let it go first")
        elif jog.frame != "joint":
            self.line = LineJog(self.robot, self.limits, self.q, direction, jog.frame)
            self.line.fastest, self.line.seconds = self.fastest, self.braking_time
        self.jog = jog
        if jog.frame == "joint":
            if held is None:
                self.ramp = self.qd.copy()
            self.speeds = direction

    def start_nudge(self, jog: Jog) -> None:
        """Plan a step of a given length."""
        direction = jog.checked(self.robot.n)
        if jog.length is None:
            raise InputError("no length; expected the length of the step", field="jog")
        self.stand()
        step = direction * jog.length
        share = Speed("fraction", jog.speed * self.settings.jog_share)
        if jog.frame == "joint":
            self.start_plan(MoveJ(self.q + step, share))
            return
        X = self.robot.fkine(self.q)
        R = X[:3, :3] if jog.frame == "tool" else np.eye(3)
        target = X.copy()
        target[:3, 3] += R @ step[:3]
        target[:3, :3] = turned(R @ step[3:]) @ X[:3, :3]
        if step[:3].any():
            self.start_plan(MoveL(target, Speed("m/s", jog.speed * self.settings.jog_speed)))
        else:
            self._start_turn(target, share.value, jog.speed * self.settings.jog_turn)

    def _start_turn(self, target: Array, share: float, most: float) -> None:
        """Plan a turn of the tool that is nowhere quicker than ``most`` [rad/s].

        The top of a plan falls with its share of the axes' speeds, but not below what the share is lowered to.
        """
        while True:
            trajectory = self._planned(MoveL(target, Speed("fraction", share)))
            q, qd, _ = trajectory.sample(np.arange(0.0, trajectory.duration + self.T, 0.25 * self.T))
            twist = np.einsum("kij,kj->ki", self.robot.jacob0(q), qd)
            top = float(np.linalg.norm(twist[:, 3:], axis=1).max())
            if top <= most * (1.0 + TURNING):
                break
            share *= most / top
        self.cursor = self.cursor_of(trajectory)

    def start_plan(self, request: MoveJ | MoveL) -> None:
        """Plan a motion of the operator's."""
        self.stand()
        self.cursor = self.cursor_of(self._planned(request))

    def _planned(self, request: MoveJ | MoveL) -> Trajectory:
        try:
            return plan(self.robot, self.q, [request], self.limits, fit=True)
        except PathError as error:  # one move: its number and the place on its path say nothing
            raise InputError(error.message) from None
        except (ValueError, np.linalg.LinAlgError) as error:
            raise InputError(f"no motion leads there ({error})") from None

    def bound_points(self, fastest: FastestPoint | None) -> None:
        """Hold all points below a bound of speed from now on, those of a motion under way too; None: no bound."""
        self.fastest = fastest
        if self.line is not None:
            self.line.fastest = fastest
        playback = self.playback
        for cursor in (self.cursor, *((playback.cursor, playback.leg) if playback is not None else ())):
            if cursor is not None:
                cursor.most, cursor.steepest = self._most_pace(cursor.trajectory)

    def too_fast(self, motion: Motion) -> float | None:
        """The speed of a point that a motion would take above its bound [m/s]; None if it takes none."""
        return None if self.fastest is None else self.fastest.exceeded(motion[0], motion[1])

    def cursor_of(self, trajectory: Planned, shaper: str | None = None) -> Cursor:
        """The begin of a planned motion, no quicker than points may be; ``shaper``: see ``Shapers``."""
        most, steepest = self._most_pace(trajectory)
        self._require_brakes(trajectory)
        cursor = self._cursor_of(trajectory, shaper)
        cursor.most, cursor.steepest = most, steepest
        return cursor

    def _require_brakes(self, trajectory: Planned) -> None:
        """InputError for a motion that would stand still, as holding the arm leaves a motor no torque to brake."""
        if self.following is None or self.stoppable > STANDS:
            return
        q = trajectory.sample(np.linspace(0.0, trajectory.duration, HELD))[0]
        name, share = self.following.holding(q)
        if share > USED:
            raise InputError(
                f"motor {name} needs {share:.0%} of its torque to hold the arm on this motion, so that it cannot brake"
                f" it; expected at most {USED:.0%}: take a lighter load, a stronger motor or a larger current limit"
            )

    def _most_pace(self, trajectory: Planned) -> tuple[float, float]:
        """The largest rate at which points keep their bound of speed, and the arm its time to brake; its slope."""
        most, steepest = (1.0, np.inf) if self.fastest is None else self.fastest.pace(trajectory)
        follows, seconds = self.following, self.braking_time
        if follows is None:
            self.stoppable = stoppable_rate(trajectory, self.limits.acceleration, seconds)
        else:
            times = follows.braking_times
            self.stoppable = stoppable_rate(trajectory, self.limits.acceleration, seconds - LATE, times)
        return min(most, self.stoppable), steepest

    def _cursor_of(self, trajectory: Planned, shaper: str | None) -> Cursor:
        most = self.limits.tool_acceleration
        tool = ToolLimit(self._tool_pace, most) if np.isfinite(most) else None
        planned = getattr(trajectory, "acceleration", None)
        if planned is None:
            return self._begun(trajectory, self.limits.acceleration, tool, shaper)
        # An optimal motion is bounded by torques, not by the acceleration that is usual. A period may end one motion
        # and begin the next, so what was allowed stays so until the job is over.
        self.hardest = np.maximum(self.hardest, planned)
        return self._begun(trajectory, np.maximum(self.limits.acceleration, planned), tool, shaper)

    def _begun(
        self, trajectory: Planned, acceleration: Array, tool: ToolLimit | None, shaper: str | None
    ) -> Cursor:
        """A cursor at the begin of a motion, shaped where that is wanted and the motion goes anywhere."""
        if self.shapers is None or trajectory.duration <= 0.0 or not self.shapers.shapes(shaper):
            return Cursor(trajectory, acceleration, tool)
        poses = by_way(trajectory.sample(np.linspace(0.0, trajectory.duration, POSES))[0])
        modes = self.shapers.modes(poses, shaper)
        if not modes or not np.ptp(poses, axis=0).any():
            return Cursor(trajectory, acceleration, tool)
        cursor = ShapedCursor(trajectory, acceleration, tool, modes, self.limits.speed, self.T)
        self.shaped.append(cursor.added)
        return cursor

    def _tool_pace(self, q: Array, qd: Array) -> float:
        return float(np.linalg.norm(self.robot.jacob0(q)[:3] @ qd))

    def start_job(self, program: ProgramSource, outputs: Mapping[str, bool], *, ahead: bool = False) -> None:
        """Begin a job at its first instruction; ``ahead``: see ``Playback``."""
        self.stand()
        self.shaped = []
        self.playback = Playback(program, self.cursor_of, self.period_ns, outputs, ahead=ahead)

    # --- every period -------------------------------------------------------------------------------
    def resting(self) -> Motion:
        """Where it is."""
        return self.q, np.zeros(self.robot.n), np.zeros(self.robot.n)

    def planned(self, rate: float) -> Motion:
        """A period of the operator's planned motion."""
        assert self.cursor is not None
        return self.cursor.advance(self.T, min(rate, self.cursor.most), GENTLE)[0]

    def jogging(self, rate: float) -> Motion | None:
        """A period of the jog; None if a line cannot be kept."""
        assert self.jog is not None
        share = self.jog.speed * rate
        if self.line is None:
            most = stoppable_speeds(self.limits, self.braking_time)
            wanted = self.speeds * (share * self.settings.jog_share) * self.limits.speed
            return self._jogged(np.clip(wanted, -most, most))
        shift = self.line.unit[:3].any()
        wanted_pace = share * (self.settings.jog_speed if shift else self.settings.jog_turn)
        return self.line.step(self.q, self.qd, wanted_pace, self.T)

    def _jogged(self, wanted: Array) -> Motion:
        """A period of joints that go towards speeds (n,), as far as no point becomes too fast.

        Joints change speed each for itself: one that still slows down may add to one that speeds up.
        """
        if self.fastest is None:
            return self._joints(wanted)
        wanted = self._ramped(self.fastest, wanted)
        motion = self._joints(wanted)
        for share in SHARES:
            if self.fastest.share(motion[0], motion[1]) >= 1.0 - SLACK:
                break
            motion = self._joints(share * wanted)
        return motion

    def _ramped(self, fastest: FastestPoint, wanted: Array) -> Array:
        """What joints may have now of speeds (n,), so that no point becomes too fast, in whatever order they stop.

        What each joint moves the points by counts in full, as a joint that takes another's speed away may stop
        sooner; one that slows down counts until it has. Points speed up no quicker than the loops follow well.
        """
        each, size = fastest.each(self.q), np.abs(wanted)
        size = size * fastest.part(self.q, size)
        held = self._held_speeds()
        more = np.maximum(size - held, 0.0)
        room = max(fastest.allowed - float(each @ held), 0.0)
        size = np.minimum(size, held) + more * min(room / max(float(each @ more), STILL), 1.0)
        change = np.copysign(size, wanted) - self.ramp
        longest = max(fastest.ramp_time(self.q, change), self.T)
        ramp = self.ramp + change * (self.T / longest)
        self.ramp = ramp * fastest.part(self.q, np.abs(ramp))
        return self.ramp

    def _held_speeds(self) -> Array:
        """Speeds (n,) that joints have or still come to, whatever is wanted of them from now on."""
        further = np.where(self.qd * self.qdd > 0.0, self.qdd**2 / (2.0 * self.limits.jerk), 0.0)
        return np.asarray(np.abs(self.qd) + further)

    def braking(self) -> Motion:
        """Every joint brakes for itself, or in proportion where a point could become too fast on the way."""
        self.drop()
        fastest = self.fastest
        if fastest is None or float(fastest.each(self.q) @ self._held_speeds()) <= fastest.bound:
            return self._joints(np.zeros(self.robot.n))
        longest = float((np.abs(self.qd) / self.limits.acceleration).max(initial=0.0))
        v = self.qd * (1.0 - min(self.T / max(longest, self.T), 1.0))
        q, qd, qdd = joint_step(self.q, self.qd, v, self.limits, self.T)
        return q, qd, qdd if self.online is None else np.zeros(self.robot.n)

    def _joints(self, wanted: Array) -> Motion:
        """A period of joints that go towards speeds (n,), with room to stop before limits of angles between frames.

        Joints that move such a quantity are slowed together until the way to rest keeps its range; to brake at once is
        what is left, and was found to keep it a period before.
        """
        motion, way = self._joint_motion(wanted)
        if not self.frames.needed:
            return motion
        rows = np.zeros(len(self.frames.quantities.names), dtype=bool)  # for which joints are slowed
        lost = self.frames.lost(self.q, way)
        while (lost & ~rows).any():
            rows |= lost
            motion, lost = self._slowed(wanted, self.frames.moved_by(way, rows), rows)
        return motion

    def _slowed(self, wanted: Array, slowed: BoolArray, rows: BoolArray) -> tuple[Motion, BoolArray]:
        """A period with a part of the wanted speeds (n,) of some joints that keeps quantities, and what it loses (k,).

        The parts are halved, as a period has no time for all of them; what is taken was looked at, or brakes.
        """
        most, least, best = 1, len(PARTS) - 1, None
        while most < least or best is None:
            middle = (most + least) // 2
            motion, way = self._joint_motion(np.where(slowed, PARTS[middle] * wanted, wanted))
            lost = self.frames.lost(self.q, way)
            if (lost & rows).any() and middle < least:
                most = middle + 1
            else:
                best, least = (motion, lost), middle
        return best

    def _joint_motion(self, wanted: Array) -> tuple[Motion, Array]:
        """A period of joints that go towards speeds (n,), each for itself, and the way (k, n) to rest from its end.

        Limits of jerk count where there are any; the way is only sampled if there are quantities between frames.
        """
        needed = self.frames.needed
        if self.online is not None:
            try:
                motion = self._jerk_limited(self.online, wanted)
                return motion, self.online.stopping_way() if needed else motion[0][None]
            except InputError:  # no way within the limits of jerk: braking comes first
                pass
        motion = joint_step(self.q, self.qd, wanted, self.limits, self.T)
        q, qd, _ = motion
        if self.online is not None:  # an acceleration that took time to go would carry the joints on
            motion = q, qd, np.zeros(self.robot.n)
        return motion, braking_way(q, qd, self.limits.acceleration, self.T) if needed else q[None]

    def _jerk_limited(self, online: OnlinePlanner, wanted: Array) -> Motion:
        """A period towards as much of the wanted speeds as leaves room to stop before the limit of a quantity."""
        A = self.limits.quantities.A
        rows = np.zeros(
            len(self.limits.quantities.names), dtype=bool
        )  # quantities for which joints are slowed
        while True:
            slowed = A[rows].any(axis=0)
            for share in PARTS if rows.any() else (1.0,):
                online.reset(self.q, self.qd, self.qdd)
                online.towards(np.where(slowed, share * wanted, wanted))
                q, qd, qdd = online.step()
                lost = self._lost(online) if rows.size else rows
                if not (lost & rows).any():
                    break
            if not (lost & ~rows).any():
                return q, np.where(np.abs(qd) < STILL, 0.0, qd), qdd
            rows |= lost

    def _lost(self, online: OnlinePlanner) -> BoolArray:
        """Which quantities (k,) might leave their ranges while every joint comes to rest as soon as it can.

        A joint that stops late may move a quantity on after others have stopped, so every joint counts with the
        farthest place of its way to rest. That place never moves outwards while it stops: from a state without a
        quantity in this list, stopping leads to such states only.
        """
        quantities = self.limits.quantities
        z = quantities.values(online.state[0])
        back, forth = online.stopping_range()
        moves = quantities.A * back, quantities.A * forth
        up, down = np.maximum(*moves).sum(axis=1), np.minimum(*moves).sum(axis=1)
        high, low = quantities.high - KEPT, quantities.low + KEPT
        return np.asarray(((up > KEPT) & (z + up > high)) | ((down < -KEPT) & (z + down < low)))

    # --- a stop whose reference leads -----------------------------------------------------------------
    @property
    def commanded(self) -> Array:
        """What the axis controllers are given (n,): ahead of q in a stop that leads."""
        if not self.lead.any():
            return self.q.copy()
        low, high = self._range()
        return np.clip(self.q + self.lead, low, high)

    @property
    def _under_way(self) -> Cursor | None:
        return self.cursor if self.playback is None else self.playback.under_way

    def drive_braking_time(self, measured: Array) -> float:
        """How long the drives take [s] to bring an arm that follows late to rest; zero if it does not follow late.

        An arm that was ``measured`` (n,) behind its reference still moves when that slows down or stands.
        """
        if self.following is None:
            return 0.0
        speeds = np.stack([self.qd, self.following.speed(self.commanded - measured, self.qd)])
        return LATE + float(self.following.braking_times(np.stack([self.q, measured]), speeds).max())

    def _let_go(self) -> None:
        if self.leading is not None:
            self.leading.end()
        self.leading = None

    def _begin_leading(self, measured: Array) -> None:
        """Become where the arm is that follows late, at its speed; what is commanded stays as it is."""
        if self.leading is not None or self.following is None:
            return
        cursor, ahead, told = self._under_way, self.commanded, (self.q, self.qd, self.qdd)
        if cursor is None and (np.abs(ahead - measured) <= TOUCH).all():
            return
        self.leading = LeadingStop(self.following, cursor, measured, ahead, self.limits, told)
        self.q, self.qd, self.qdd = self.leading.path
        self.lead = ahead - self.q

    def end_leading(self) -> None:
        """Go on along the path from what is commanded; what does not lie on it fades on the way."""
        cursor, leading, ahead = self._under_way, self.leading, self.commanded
        self._let_go()
        if leading is None or cursor is None:
            return
        span, rate = leading.following.farthest, cursor.rate_now
        time = nearest_time(cursor, ahead, 1.0 / self.limits.speed, cursor.time - span, cursor.time + span)
        cursor.stand_back(time, rate)
        q, qd, _ = at(cursor, time)
        self.q, self.qd = q, rate * qd
        self.lead = ahead - self.q

    @property
    def beside(self) -> bool:
        """Whether a job waits until what a stop has left beside its path has faded.

        It does before a motion that is too short for that, and before anything that is no motion.
        """
        if not self.lead.any():
            return False
        cursor = self._under_way
        if cursor is None or cursor.done:
            return True
        return cursor.at_rest and cursor.trajectory.duration - cursor.time < ROOM

    def fade(self) -> None:
        """A period less of what a stop has left."""
        far = float(np.abs(self.lead).max()) > GONE
        self.lead = self.lead * (np.exp(-self.T / FADING) if far else 0.0)

    def lead_on(self, measured: Array) -> None:
        """The lead of the next instant, with the arm where it is measured now."""
        if self.leading is not None:
            self.lead = self.leading.next((self.q, self.qd, self.qdd), measured, self.T) - self.q
            if self.leading.settled:
                self.end_leading()
        elif self.qd.any() and self.lead.any():
            self.fade()
        if self.leading is None and all(x is None for x in (self.cursor, self.line, self.jog, self.playback)):
            self.stand()

    def slowing(self, pace: Pace, measured: Array) -> tuple[Motion, bool]:
        """A period towards rest, on the path if there is one; whether it is reached. ``measured`` (n,): the arm now."""
        self.share = pace.share
        if pace.leads:
            self._begin_leading(measured)
        if (
            self.leading is not None and self.jog is not None
        ):  # from where the arm is; what it was jogged along is over
            self.drop()
        if self.cursor is not None:
            return self.cursor.advance(self.T, 0.0, pace)[0], self.cursor.at_rest
        if self.playback is not None:
            return self.playback.slow(self.T, 0.0, pace) or self.resting(), self.playback.at_rest
        if self.leading is not None:
            return self.resting(), not self.leading.moves
        motion = None if self.line is None else self.line.step(self.q, self.qd, 0.0, self.T)
        if motion is not None and self.line is not None:
            return motion, self.line.pace == 0.0
        motion = self.braking()
        return motion, not motion[1].any()

    def fault_of(self, motion: Motion) -> tuple[str, str] | None:
        """The axis that a motion would take beyond its limits, or further beyond them, and how; None if it is allowed.

        The acceleration is watched as it is stated and as the mean that the speeds give.
        """
        q, qd, qdd = motion
        low, high = self._range()
        hardest = np.maximum(np.abs(qdd), np.abs(qd - self.qd) / self.T)
        most = (1.0 + WATCHED) * self.share * self.hardest
        for values, bad, bound, per in (
            (q, ~((q >= low - ROUNDING) & (q <= high + ROUNDING)), np.where(q > high, high, low), ""),
            (qd, ~(np.abs(qd) <= self.limits.speed * (1.0 + SLACK)), self.limits.speed, "/s"),
            (hardest, ~(hardest <= most), self.share * self.hardest, "/s2"),
        ):
            if bad.any():
                i = int(np.argmax(bad))
                unit = self.robot.joint_units[i]
                asked, limit = shown_apart(float(values[i]), float(bound[i]), unit, per)
                return self.robot.joint_names[i], f"{asked}; the limit is {limit}"
        return self._quantity_fault(q)

    def _quantity_fault(self, q: Array) -> tuple[str, str] | None:
        """The quantity that would leave its range, or go further out of it."""
        quantities = self.limits.quantities
        further = quantities.beyond(q) > np.maximum(quantities.beyond(self.q), 0.0) + ROUNDING
        if not further.any():
            return self.frames.fault(self.q, q, ROUNDING) if self.frames.needed else None
        i = int(np.argmax(further))
        unit, z = "m" if quantities.lengths[i] else "rad", float(quantities.values(q)[i])
        limit = float(quantities.high[i] if z > quantities.high[i] else quantities.low[i])
        stands, most = shown_apart(z, limit, unit)
        return quantities.names[i], f"{stands}; the limit is {most}"

    def _range(self) -> tuple[Array, Array]:
        return np.minimum(self.limits.q_min, self.q), np.maximum(self.limits.q_max, self.q)

    def allowed(self, ahead: Instants) -> int:
        """How many of the instants to come are well within all limits: ``fault_of`` finds nothing there.

        Those at a limit of a position or quantity do not count, for what is rounded.
        """
        limits, (_, q, qd, qdd) = self.limits, ahead
        speeds = np.concatenate([self.qd[None], qd])
        hardest = np.maximum(np.abs(qdd), np.abs(speeds[1:] - speeds[:-1]) / self.T)
        well = (q >= limits.q_min) & (q <= limits.q_max)
        well &= np.abs(qd) <= limits.speed * (1.0 + SLACK)
        well &= hardest <= (1.0 + WATCHED) * limits.acceleration
        kept = well.all(axis=1)
        if limits.quantities.names:
            kept &= (limits.quantities.beyond(q) <= 0.0).all(axis=1)
        if self.frames.needed:
            kept &= (self.frames.beyond(q) <= 0.0).all(axis=1)
        inside = bool(((self.q >= limits.q_min) & (self.q <= limits.q_max)).all())
        return 0 if not inside else int(kept.size if kept.all() else np.argmin(kept))

    def become(self, motion: Motion) -> None:
        """The next instant."""
        self.share = 1.0
        low, high = self._range()
        self.q, self.qd, self.qdd = np.clip(motion[0], low, high), motion[1], motion[2]
