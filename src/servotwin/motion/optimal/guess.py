r"""Where the solver starts: all joints together on a smooth law, as slowly as the limits want it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.heat import mean_rise, ripple
from servotwin.motion.optimal.hydraulic_energy import supply_energy
from servotwin.motion.optimal.result import OptimalMotion, SplineSegment
from servotwin.motion.optimal.task import Task
from servotwin.robot.robot import Robot

if TYPE_CHECKING:
    from servotwin.motion.optimal.between_nodes import Motion

ROUNDS = 40
SMOOTH = 0.05  # of the speeds that the motion reaches: within it friction changes its sign at first
STILL = 1e-9  # rad, m: less than this is no motion
LOOSE = 1e-3  # of a torque or an inertia: less than this couples no joints
SHORTEST = 1e-4  # s
WITHIN = 1.0 + 1e-4  # share of a limit up to which an S-curve meets it


@dataclass(frozen=True, eq=False)
class Guess:
    """A motion on a mesh (N + 1,): q, v, a (N + 1, n), currents i (N + 1, m), its duration T [s], and scales.

    ``copper``, ``work`` [J] of it, the latter with what valves take of their supply;
    ``power`` [W], the scale of the bus; ``rise`` (m,) [K] of the windings if it is
    repeated, ``ripple`` (m,) [K] by which they are hotter than that at times; ``room`` (N + 1, m) [A]
    that the currents of a node leave to their limits for what happens between nodes; ``idle`` (n,): axes that may as
    well stand still; ``signs`` (N + 1, m): which way motors turn where that is known, else 0; ``smooth``: part of the
    speeds within which friction changes its sign where it is not.
    """

    mesh: Array
    T: float
    q: Array
    v: Array
    a: Array
    i: Array
    q_scale: Array
    v_scale: Array
    a_scale: Array
    i_scale: Array
    copper: float
    work: float
    power: float
    rise: Array
    held: Array
    ripple: Array
    room: Array
    idle: BoolArray
    signs: Array
    smooth: float = SMOOTH

    def holding(self, k: int) -> Array:
        """Currents (m,) that hold the arm at the first (0) or last (-1) node."""
        return np.asarray(self.held[k])


def quintic(s: Array) -> tuple[Array, Array, Array]:
    """A law from 0 to 1 with zero speed and acceleration at both ends, and its derivatives."""
    return s**3 * (10 - 15 * s + 6 * s * s), 30 * (s * (1 - s)) ** 2, 60 * s * (1 - s) * (1 - 2 * s)


def two_steps(s: Array, one: Array, two: Array) -> tuple[Array, Array, Array]:
    """A step (n,) in the first half of the time, then another one, from rest to rest; and its derivatives (k, n)."""
    first, then = (quintic(np.clip(2.0 * s - k, 0.0, 1.0)) for k in (0.0, 1.0))
    q, v, a = (x[:, None] * one + y[:, None] * two for x, y in zip(first, then, strict=True))
    return q, 2.0 * v, 4.0 * a


def currents(robot: Robot, drives: DriveModel, q: Array, v: Array, a: Array) -> Array:
    """Currents (k, m) that a motion (k, n) needs (eq:motor-torque), with a sharp sign of the speed."""
    w, wd = v @ drives.N.T, a @ drives.N.T
    tau = robot.rne(q, v, a, drives=True) @ drives.N_inverse
    own = drives.J_m * wd
    way = np.sign(w)
    passed = tau - own
    gain = np.where(passed * way > 0.0, 1.0 / drives.efficiency, drives.efficiency)
    tau = np.where(way == 0.0, 1.0, gain) * passed + own
    return np.asarray((tau + drives.viscous * w + drives.coulomb * way - drives.offset) / drives.K)


def shares(drives: DriveModel, limits: MotionLimits, i: Array, v: Array) -> float:
    """The largest part of a limit of current, voltage or speed that a motion uses."""
    w = v @ drives.N.T
    u = np.hypot((drives.R + drives.R_bridge) * i + drives.K_b * w, drives.reactance * w * i)
    valve = 0.0
    if drives.valves is not None:
        force, drag = i + drives.offset, drives.valves.drag * w**2
        ahead = (drag + force) / np.where(drives.valve, drives.valves.forward, np.inf)
        back = (drag - force) / np.where(drives.valve, drives.valves.backward, np.inf)
        valve = float(np.where(w >= 0.0, ahead, back).max())
    return max(
        valve,
        float((np.abs(i) / drives.current).max()),
        float((u / drives.voltage).max()),
        float((np.abs(w) / drives.speed).max()),
        float((np.abs(v) / limits.speed).max()),
    )


def straight_guess(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    ends: tuple[Array, Array],
    mesh: Array,
    duration: float | None,
    power: float,
    via: Array | None = None,
) -> Guess:
    """All joints along a straight line in joint space, in a time that about meets the limits.

    ``via`` (n,): a position that it stops at half-way.
    """
    if via is None:
        q, ds, dds = (x[:, None] * (ends[1] - ends[0]) for x in quintic(mesh))
    else:
        q, ds, dds = two_steps(mesh, via - ends[0], ends[1] - via)
    q = ends[0] + q
    T = 1.0 if duration is None else duration
    for _ in range(ROUNDS):
        v, a = ds / T, dds / T**2
        i = currents(robot, drives, q, v, a)
        share = shares(drives, limits, i, v)
        if duration is not None or (0.9 < share <= 1.0):
            break
        T = max(T * float(np.clip(share**0.6, 0.3, 3.0)), SHORTEST)
    v, a = ds / T, dds / T**2
    i = currents(robot, drives, q, v, a)
    return scaled_guess(robot, drives, limits, mesh, T, (q, v, a), i, power)


def scaled_guess(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    mesh: Array,
    T: float,
    motion: tuple[Array, Array, Array],
    i: Array,
    power: float,
) -> Guess:
    """A guess with scales of what joints and motors can do."""
    q, v, a = motion
    width = limits.q_max - limits.q_min
    q_scale = np.where(np.isfinite(width) & (width > 0.0), width, 3.0)
    v_scale = np.where(np.isfinite(limits.speed), limits.speed, np.maximum(2.0 * np.abs(v).max(axis=0), 1e-3))
    peak = np.maximum(np.abs(i).max(axis=0), 1e-6)
    i_scale = np.where(np.isfinite(drives.current), drives.current, 2.0 * peak)
    inertia = np.diagonal(robot.inertia(q[q.shape[0] // 2], drives=True))
    a_scale = np.abs(drives.N).T @ (drives.K * i_scale) / np.maximum(inertia, 1e-9)
    dt = np.diff(mesh) * T
    square = np.maximum((i**2).mean(axis=0), 0.0)
    copper = float(((drives.R + drives.R_bridge) * drives.phases * square).sum() * T)
    w = v @ drives.N.T
    flow = (drives.K_electric * i * w).sum(axis=1)
    work = float((0.5 * (flow[1:] + flow[:-1]) * dt).sum())
    work += supply_energy(drives.valves, mesh * T, w, a @ drives.N.T)
    rise = (drives.R_wh + drives.R_ha) * drives.phases * drives.R * square
    still = np.zeros_like(q[[0, -1]])
    held = currents(robot, drives, q[[0, -1]], still, still)
    limit = np.where(np.isfinite(drives.current), drives.current, np.inf)
    return Guess(
        mesh, T, q, v, a, np.clip(i, -0.95 * limit, 0.95 * limit), q_scale, v_scale, a_scale, i_scale,
        copper, work, power, rise, held, np.zeros(drives.m), np.zeros_like(i),
        idle_axes(robot, drives, q), np.zeros_like(i),
    )  # fmt: skip


def idle_axes(robot: Robot, drives: DriveModel, q: Array) -> BoolArray:
    """Joints (n,) that end where they begin and do not move others: the torques of those hardly feel them.

    By inverse dynamics at states of the motion q (k, n): accelerations of an idle joint, and other places of it.
    """
    out = np.abs(q[-1] - q[0]) < STILL
    alone = (np.count_nonzero(drives.N, axis=0) == 1) & (np.count_nonzero(drives.N, axis=1) == 1)
    places = q[:: max(q.shape[0] // 4, 1)]
    speeds, still = np.ones_like(places), np.zeros_like(places)
    for j in np.flatnonzero(out):
        M = robot.inertia(places, drives=True)
        size = np.sqrt(np.einsum("kii->ki", M) * M[:, j, j][:, None])
        coupled = np.delete(np.abs(M[:, j]) / size, j, axis=1)
        moved = places.copy()
        moved[:, j] += 0.1
        one, two = (robot.rne(x, speeds, still, drives=True) for x in (places, moved))
        change = np.delete(np.abs(two - one) / (np.abs(one).max(axis=0) + 1e-9), j, axis=1)
        out[j] = alone[j] and np.append(coupled, change).max(initial=0.0) < LOOSE
    return np.asarray(out)


def warm_guess(
    robot: Robot, drives: DriveModel, limits: MotionLimits, motion: OptimalMotion, power: float
) -> Guess:
    """A solved motion as the start of another one, on its own mesh; ``power`` [W]: scale of the bus."""
    T = motion.duration
    parts = motion.q, motion.qd, motion.qdd
    return scaled_guess(robot, drives, limits, motion.t / T, T, parts, motion.current - drives.offset, power)


def split_mesh(mesh: Array, over: BoolArray) -> Array:
    """The mesh (N + 1,) with the intervals ``over`` (N,) and their neighbours cut into three."""
    wide = over.copy()
    wide[1:] |= over[:-1]
    wide[:-1] |= over[1:]
    step = np.diff(mesh)[wide]
    return np.sort(np.concatenate([mesh, mesh[:-1][wide] + step / 3.0, mesh[:-1][wide] + 2.0 * step / 3.0]))


def refined_guess(guess: Guess, motion: Motion, room: Array, mesh: Array) -> Guess:
    """A solved motion with ``room`` (N + 1, m) [A] on another mesh, with the scales of the guess.

    A motor turns as at both neighbours from the old mesh where these agree.
    """
    T = float(motion.t[-1])
    q, v, a = SplineSegment(motion.t, motion.q, motion.v, motion.a).sample(mesh * T)
    i = np.stack([np.interp(mesh * T, motion.t, x) for x in motion.i.T], axis=1)
    room = np.stack([np.interp(mesh * T, motion.t, x) for x in room.T], axis=1)
    between = [np.interp(mesh, guess.mesh, x) for x in guess.signs.T]
    signs = np.where(np.abs(np.stack(between, axis=1)) > 1.0 - STILL, np.sign(np.stack(between, axis=1)), 0.0)
    return replace(guess, mesh=mesh, T=T, q=q, v=v, a=a, i=i, room=room, signs=signs)


def s_curve(s: Array, ramp: float) -> tuple[Array, Array, Array]:
    """A law from 0 to 1 over times s (0 to 1) with cubic ramps of speed that last ``ramp`` each; its derivatives."""
    top = 1.0 / (1.0 - ramp)
    x = np.minimum(np.minimum(s, 1.0 - s) / ramp, 1.0)
    speed = top * x * x * (3.0 - 2.0 * x)
    rate = np.where(x < 1.0, top * 6.0 * x * (1.0 - x) / ramp, 0.0) * np.where(s < 0.5, 1.0, -1.0)
    rising = top * ramp * (x**3 - 0.5 * x**4)
    half = np.where(x < 1.0, rising, top * (np.minimum(s, 1.0 - s) - 0.5 * ramp))
    return np.where(s < 0.5, half, 1.0 - half), speed, rate


def best_s_curve(
    robot: Robot, drives: DriveModel, limits: MotionLimits, ends: tuple[Array, Array], task: Task
) -> float:
    """Duration [s] of the quickest S-curve straight in joint space that the limits of the task allow; else infinite.

    Currents, voltages, speeds, accelerations, torques of the joints and, if the task asks for them, temperatures.
    """
    s = np.linspace(0.0, 1.0, 401)
    still = np.zeros((1, robot.n))
    held = currents(robot, drives, ends[1][None, :], still, still)[0]
    step = ends[1] - ends[0]
    best = np.inf
    for ramp in np.linspace(0.1, 0.5, 17):
        law, speed, rate = (x[:, None] for x in s_curve(s, float(ramp)))
        q, T = ends[0] + law * step, 1.0
        for _ in range(60):
            v, a = speed * step / T, rate * step / T**2
            i = currents(robot, drives, q, v, a)
            share = max(shares(drives, limits, i, v), float((np.abs(a) / robot.limits.qdd_max).max()))
            if task.effort:
                share = max(share, float((np.abs(robot.rne(q, v, a, drives=True)) / limits.torque).max()))
            if task.temperature:
                rise = sum(f(drives, s * T, i, task.rest, held) for f in (mean_rise, ripple))
                share = max(share, float(np.sqrt(np.minimum(rise / drives.rise, 100.0)).max()))
            if abs(share - 1.0) < 1e-6:
                break
            T *= float(np.clip(share**0.55, 0.3, 3.0))
        if share <= WITHIN:
            best = min(best, T)
    return float(best)
