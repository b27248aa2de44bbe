"""The played polynomials of a motion against every limit, many times between two nodes.

A program bounds what happens at its nodes. Here currents, voltages without their inductive part, powers, torques,
speeds, accelerations, ranges, tool limits and regions are computed from the motion itself at ``FINE`` instants of every
interval, between two points and along a path.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.between_nodes import Motion, needed_currents
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.result import LimitUse, SplineSegment
from servotwin.motion.optimal.task import AXES, Region, Task
from servotwin.motion.optimal.transcription import Program, held_motors
from servotwin.robot.robot import Robot

JUMP = 0.25  # of its limit: a current without inductance that changes by more in an interval jumps
FINE = 17  # samples of an interval, both ends counted
CLOSE = 1e-3  # of a limit: what exceeds it by less is kept
NEAR = 2e-5  # m: the same of regions and ranges of the tool
NEAR_RANGE = 1e-4  # rad, m: and of ranges of joints


@dataclass(frozen=True, eq=False)
class Found:
    """One limit between nodes: ``value`` (N,), the largest of every interval, and what is allowed, in ``unit``.

    ``place``: a limit of a place, which must not be passed; ``value`` is then how far it is passed, ``most`` rounding.
    """

    what: str
    who: str
    value: Array
    most: float
    unit: str
    at: Array  # (N,) [s]
    place: bool = False
    rounding: float = 0.0  # what counts as nothing where nothing is allowed
    shown: Array | None = None  # (N,) where the peak is another one than what counts

    @property
    def over(self) -> BoolArray:
        """The intervals (N,) in which the limit is not kept."""
        return np.asarray(
            self.value > (self.most if self.place else self.most * (1.0 + CLOSE) + self.rounding)
        )

    @property
    def peak(self) -> float:
        """The largest of all intervals."""
        return float(self.value.max())

    @property
    def shown_peak(self) -> float:
        """The same as it is shown in tables."""
        return self.peak if self.shown is None else float(self.shown.max())

    @property
    def text(self) -> str:
        """What happens, when and by how much."""
        k = int(np.argmax(self.value))
        when = f"at {self.at[k]:.4g} s"
        if self.place:
            return f"{self.what} is passed between nodes by {self.peak:.3g} {self.unit} {when}"
        if not self.most:
            return f"{self.what} {self.who} reaches {self.peak:.4g} {self.unit} {when}; none is allowed"
        more = f"{100.0 * (self.peak / self.most - 1.0):.2g} % more than its limit"
        return f"{self.what} {self.who} reaches {self.peak:.4g} {self.unit} {when}, {more}"


@dataclass(frozen=True, eq=False)
class Samples:
    """Instants (N, FINE) [s] and the motion there, (N FINE, n), with the currents (N FINE, m) that it needs.

    ``rise``: of windings [K], by motor; ``steady``: motors whose voltage counts without its inductive part;
    ``building``: the outermost intervals (N, m), where the voltage counts with it, and all where it is shown with it.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    i: Array
    rise: dict[int, float]
    steady: tuple[int, ...]
    building: tuple[BoolArray, BoolArray] | None = None

    def largest(self, values: Array) -> tuple[Array, Array]:
        """The largest (N,) of values (N FINE,) in every interval, and when it is."""
        table = values.reshape(self.t.shape)
        k = np.argmax(table, axis=1)
        rows = np.arange(k.size)
        return table[rows, k], self.t[rows, k]


def instants(t: Array) -> tuple[Array, Array]:
    """Instants (N, FINE) [s] between nodes t (N + 1,), and the same (N FINE,) within their own polynomials."""
    at = t[:-1, None] + np.diff(t)[:, None] * np.linspace(0.0, 1.0, FINE)
    inside = at.copy()
    inside[:, -1] -= 1e-9 * t[-1]
    return at, inside.ravel()


def sampled(robot: Robot, drives: DriveModel, program: Program, motion: Motion) -> Samples:
    """The motion between its nodes, and the currents that it needs."""
    t, inside = instants(motion.t)
    q, v, a = SplineSegment(motion.t, motion.q, motion.v, motion.a).sample(inside)
    i = needed_currents(robot, drives, program, motion, inside)
    return Samples(t, q, v, a, i, motion.rise, program.form.steady, _building(drives, program))


def _building(drives: DriveModel, program: Program) -> tuple[BoolArray, BoolArray]:
    """Where (N, m) the inductive part of a voltage is known at the ends; a shaft that sticks has none by its motion."""
    dry = (drives.coulomb > 0.0) | (drives.efficiency < 1.0)
    known = (program.signs[:-1] != 0.0) & (program.signs[1:] != 0.0)
    fed = np.isin(np.arange(drives.m), program.form.inductive)
    outermost, all_of_them = (np.asarray(ends[:, None] & fed & (known | ~dry)) for ends in program.ends)
    return outermost, all_of_them


def dense_check(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, s: Samples
) -> list[Found]:
    """All limits of a task with what the motion makes of them between nodes."""
    out = _currents(drives, task, s) + _drive_limits(drives, task, s)
    out += _valve_limits(drives, task, s) + _joint_limits(robot, drives, limits, task, s)
    return out + _tool_limits(robot, limits, s) + _places(robot, limits, task, s)


def with_peaks(limits: tuple[LimitUse, ...], found: list[Found]) -> tuple[LimitUse, ...]:
    """The limits with their peaks between nodes, where those are larger."""
    share = {(x.what, x.who): x.shown_peak / x.most for x in found if not x.place and x.most}
    shown = {(use.what, use.who) for use in limits}
    free = [
        x for x in found if x.who == "bus" and (x.what, x.who) not in shown
    ]  # kept without rows of its own
    more = [LimitUse(x.what, x.who, x.most, x.unit, share.get((x.what, x.who), 1.0), 0.0, 0.0) for x in free]
    kept = (replace(use, peak=max(use.peak, share.get((use.what, use.who), 0.0))) for use in limits)
    return (*kept, *more)


def notes_of(found: list[Found]) -> tuple[str, ...]:
    """What to say about limits that a motion exceeds between nodes in the end."""
    return tuple(f"between nodes {x.text}" for x in found if x.over.any())


def _currents(drives: DriveModel, task: Task, s: Samples) -> list[Found]:
    """Of electric motors, or torques of ideal ones; the force of a servovalve has limits by direction instead."""
    what, unit = ("current", "A") if drives.electric else ("torque", "N m")
    return [
        _found(s, what, name, np.abs(s.i[:, j]), float(drives.current[j]), unit)
        for j, name in enumerate(drives.names)
        if task.current and not drives.valve[j] and math.isfinite(drives.current[j])
    ]


def _drive_limits(drives: DriveModel, task: Task, s: Samples) -> list[Found]:
    """Speeds and voltages of the motors, power of the bus.

    Of a motor whose current builds up over several steps the inductive part helps to slow it down; its rows count that.
    """
    w, R = s.v @ drives.N.T, drives.R.copy()
    out = [
        _found(s, "motor speed", name, np.abs(w[:, j]), float(drives.speed[j]), "rad/s")
        for j, name in enumerate(drives.names)
        if task.speed and math.isfinite(drives.speed[j])
    ]
    if not drives.electric:
        return out
    for j, rise in s.rise.items():
        R[j] *= 1.0 + drives.alpha[j] * rise
    R = R + drives.R_bridge
    slope = -drives.K_b * (s.a @ drives.N.T) / np.where(R > 0.0, R, 1.0)  # eq:steady-slope
    u = np.hypot(R * s.i + drives.K_b * w + drives.L * slope, drives.reactance * w * s.i)
    out += _voltages(drives, task, s, R, w, u)
    loss = np.where(drives.valve, 0.0, drives.phases * R * s.i**2)
    power = (loss + drives.K_electric * s.i * w).sum(axis=1)
    for what, sign, most in (
        ("bus power", 1.0, task.bus_power[1]),
        ("regeneration", -1.0, -task.bus_power[0]),
    ):
        if math.isfinite(most):
            found = _found(s, what, "bus", np.maximum(sign * power, 0.0), abs(most), "W")
            found = replace(found, value=np.where(_jumps(drives, task, s), 0.0, found.value))
            out.append(found if most else replace(found, rounding=CLOSE * float(np.abs(power).max())))
    return out


def _voltages(drives: DriveModel, task: Task, s: Samples, R: Array, w: Array, steady: Array) -> list[Found]:
    """Voltages, ``steady`` (N FINE, m) without the inductive part but where currents build up at the ends."""
    out = []
    for j, name in enumerate(drives.names):
        ends = [] if s.building is None else [part[:, j] for part in s.building]
        if j not in s.steady and not (ends and ends[1].any()):
            continue
        most = task.modulation * float(drives.voltage[j])
        found = _found(s, "voltage", name, steady[:, j] if j in s.steady else 0.0 * w[:, j], most, "V")
        if ends:
            i, speed = s.i[:, j].reshape(s.t.shape), w[:, j].reshape(s.t.shape)
            i, speed, slope = _halfway(i), _halfway(speed), np.diff(i, axis=1) / np.diff(s.t, axis=1)
            along = R[j] * i + drives.K_b[j] * speed + drives.L[j] * slope
            whole = np.hypot(along, drives.reactance[j] * speed * i).max(axis=1)
            value, shown = (np.where(end, whole, found.value) for end in ends)
            found = replace(found, value=value, shown=shown)
        out.append(found)
    return out


def _halfway(x: Array) -> Array:
    return np.asarray(0.5 * (x[:, 1:] + x[:, :-1]))


def _jumps(drives: DriveModel, task: Task, s: Samples) -> BoolArray:
    """Intervals (N,), one or two in a row, in which a current without inductance jumps: power counts beside them."""
    i = s.i.reshape(*s.t.shape, drives.m)
    size = np.abs(i[:, -1] - i[:, 0]) > JUMP * drives.current
    free = ~held_motors(drives, task) & np.isfinite(drives.current)
    jump = (size & free).any(axis=1)
    padded = np.concatenate([[False, False], jump, [False, False]])
    long = np.array([padded[k : k + 3].all() for k in range(jump.size + 2)])
    return np.asarray(jump & ~(long[:-2] | long[1:-1] | long[2:]))


def _valve_limits(drives: DriveModel, task: Task, s: Samples) -> list[Found]:
    """Openings of servovalves (eq:valve-limit), oil that is compressed not counted, and the flow of their pump."""
    valves = drives.valves
    if valves is None or not task.flow:
        return []
    w, force = s.v @ drives.N.T, s.i + drives.offset
    opening = np.abs(valves.openings(w, force))
    out = [
        _found(s, "valve flow", drives.names[j], opening[:, j], valves.open, "strokes")
        for j in np.flatnonzero(drives.valve)
    ]
    if math.isfinite(valves.pump):
        flow = np.where(w >= 0.0, valves.area_a * w, -valves.area_b * w)
        taken = np.where(drives.valve, flow, 0.0).sum(axis=1)
        out.append(_found(s, "pump flow", "supply", 6e4 * taken, 6e4 * valves.pump, "L/min"))
    return out


def _joint_limits(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, s: Samples
) -> list[Found]:
    """Torques, speeds and accelerations of the joints."""
    out, units = [], robot.joint_units
    tau = np.abs(robot.rne(s.q, s.v, s.a, drives=True))
    for k, name in enumerate(robot.joint_names):
        if task.effort and drives.electric and math.isfinite(limits.torque[k]):
            unit = "N" if units[k] == "m" else "N m"
            out.append(_found(s, "torque", name, tau[:, k], float(limits.torque[k]), unit))
        if task.speed and math.isfinite(limits.speed[k]):
            speed = np.abs(s.v[:, k])
            out.append(_found(s, "speed", name, speed, float(limits.speed[k]), f"{units[k]}/s"))
        most = float(robot.limits.qdd_max[k])
        if math.isfinite(most):
            out.append(_found(s, "acceleration", name, np.abs(s.a[:, k]), most, f"{units[k]}/s2"))
    return out


def _tool_limits(robot: Robot, limits: MotionLimits, s: Samples) -> list[Found]:
    """Speed and acceleration of the tool point."""
    out = []
    if math.isfinite(limits.tool_speed) or math.isfinite(limits.tool_acceleration):
        J = robot.jacob0(s.q)[:, :3]
        rate = robot.jacob0_dot(s.q, s.v)[:, :3]
        speed = np.einsum("kij,kj->ki", J, s.v)
        acceleration = np.einsum("kij,kj->ki", J, s.a) + np.einsum("kij,kj->ki", rate, s.v)
        for what, x, most, unit in (
            ("tool speed", speed, limits.tool_speed, "m/s"),
            ("tool acceleration", acceleration, limits.tool_acceleration, "m/s2"),
        ):
            if math.isfinite(most):
                out.append(_found(s, what, "tool", np.linalg.norm(x, axis=1), most, unit))
    return out


def _found(s: Samples, what: str, who: str, values: Array, most: float, unit: str) -> Found:
    value, at = s.largest(values)
    return Found(what, who, value, most, unit, at)


def _places(robot: Robot, limits: MotionLimits, task: Task, s: Samples) -> list[Found]:
    """Ranges of joints, of quantities and of the tool point, and regions."""
    beyond = limits.beyond(s.q)
    k = int(np.argmax(beyond.max(axis=0)))
    owner = robot.joint_names[k] if k < robot.n else limits.quantities.names[k - robot.n]
    unit = robot.joint_units[k] if k < robot.n else "rad or m"
    out = [Found(f"the range of {owner}", owner, *_split(s, beyond[:, k], NEAR_RANGE, unit), place=True)]
    out += _between_frames(robot, s)
    if not task.within and not task.keep_out:
        return out
    p = robot.fkine(s.q)[:, :3, 3]
    for axis, (low, high) in task.within.items():
        x = p[:, AXES.index(axis)]
        beyond = np.maximum(low - x, x - high)
        out.append(Found(f"the tool's range of {axis}", "tool", *_split(s, beyond, NEAR, "m"), place=True))
    for number, region in enumerate(task.keep_out):
        depth = depths(region, p.reshape(*s.t.shape, 3))
        at = s.t[np.arange(depth.shape[0]), np.argmax(depth, axis=1)]
        out.append(Found(f"region {number + 1}", "tool", depth.max(axis=1), NEAR, "m", at, place=True))
    return out


def _between_frames(robot: Robot, s: Samples) -> list[Found]:
    """The angle or distance between frames that is farthest beyond its range.

    Programs do not know them: a motion that leaves a range is refused.
    """
    z = robot.frame_quantities
    if not z.names:
        return []
    beyond = robot.frame_quantities_beyond(s.q)
    k = int(np.argmax(beyond.max(axis=0)))
    most, unit = (NEAR, "m") if z.lengths[k] else (NEAR_RANGE, "rad")
    split = _split(s, beyond[:, k], most, unit)
    return [Found(f"the range of {z.names[k]}", z.names[k], *split, place=True)]


def _split(s: Samples, values: Array, most: float, unit: str) -> tuple[Array, float, str, Array]:
    value, at = s.largest(values)
    return value, most, unit, at


def depths(region: Region, p: Array) -> Array:
    """How deep (N, K - 1) [m] the chords between points p (N, K, 3) enter a region; negative or zero outside.

    A face is a linear function along a chord; where all of them are inside at once, the middle of that part counts, so
    that a wall thinner than a chord is seen as well.
    """
    one, two = p[:, :-1], p[:, 1:]
    enter, leave = np.zeros(one.shape[:2]), np.ones(one.shape[:2])
    pairs = []
    for code, x in region.faces():
        sign = 1.0 if code % 2 else -1.0
        a, b = (sign * (x - end[..., code // 2]) for end in (one, two))  # positive inside
        pairs.append((a, b))
        slope = b - a
        cross = -a / np.where(slope == 0.0, 1.0, slope)
        enter = np.where(slope > 0.0, np.maximum(enter, cross), enter)
        leave = np.where(slope < 0.0, np.minimum(leave, cross), leave)
        leave = np.where((slope == 0.0) & (a <= 0.0), -1.0, leave)
    middle = 0.5 * (enter + leave)
    candidates = [np.where(leave > enter, z, 0.0) for z in (enter, middle, leave)]
    inner = [np.min([a + z * (b - a) for a, b in pairs], axis=0) for z in candidates]
    return np.asarray(np.where(leave > enter, np.max(inner, axis=0), -1.0))
