"""What a robot has to do, as samples over one cycle: from a job, from the moves of a scenario, or from arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from servotwin.jobs.player import Planned
    from servotwin.simulation.job_run import Rehearsal
    from servotwin.simulation.scenario.scenario import Scenario

STEP = 1e-3  # s between two samples where a plan can be sampled more finely
CLOSED = 1e-6  # rad, m: a cycle that ends this close to where it began is closed
MOST_SAMPLES = 2_000_000
PACE = 1e-6  # relative: a plan that is followed at another pace has other speeds than planned


@dataclass(frozen=True, eq=False)
class Duty:
    """One cycle: times t (k,) [s] and joint motion q, qd, qdd (k, n), then ``rest`` [s] at the last position.

    ``beyond_drives``: planned without the torque limits of the robot's file, which it does not keep.
    """

    name: str
    t: Array
    q: Array
    qd: Array
    qdd: Array
    rest: float = 0.0
    beyond_drives: bool = False

    @property
    def period(self) -> float:
        """Time of one cycle with its rest [s]."""
        return float(self.t[-1] - self.t[0]) + self.rest

    @property
    def weights(self) -> Array:
        """Share of the cycle's time (k,) of each sample: the trapezoidal rule, the rest at the last sample."""
        return self.seconds / self.period

    @cached_property
    def seconds(self) -> Array:
        """Time (k,) [s] that each sample stands for."""
        half = 0.5 * np.diff(self.t)
        out = np.zeros_like(self.t)
        out[:-1] += half
        out[1:] += half
        out[-1] += self.rest
        return out

    @property
    def closed(self) -> bool:
        """True if the cycle ends where it began, so that it can follow itself."""
        return bool(np.abs(self.q[-1] - self.q[0]).max() <= CLOSED)

    def faster(self, factor: float) -> Duty:
        r"""The same path run through ``factor`` times as fast; the rest keeps its length.

        .. math:: \dot q \to k \dot q, \quad \ddot q \to k^2 \ddot q, \quad t \to t/k               (eq:duty-scaled)
        """
        k = float(factor)
        return Duty(self.name, self.t / k, self.q, k * self.qd, k**2 * self.qdd, self.rest)  # eq:duty-scaled


def duty_of_arrays(
    t: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, name: str = "motion", rest: float = 0.0
) -> Duty:
    """A cycle of samples in SI: t (k,), q, qd, qdd (k, n)."""
    times = np.asarray(t, dtype=np.float64)
    parts = [np.asarray(part, dtype=np.float64) for part in (q, qd, qdd)]
    if times.ndim != 1 or times.size < 2 or any(p.shape != (times.size, parts[0].shape[-1]) for p in parts):
        shapes = ", ".join(str(part.shape) for part in (times, *parts))
        raise ShapeError(f"t, q, qd, qdd have the shapes {shapes}; expected (k,) and three of (k, n)")
    if not (np.diff(times) > 0.0).all() or not all(np.isfinite(part).all() for part in (times, *parts)):
        raise InputError("a duty cycle needs finite samples at times that rise", field="t")
    return Duty(name, times, parts[0], parts[1], parts[2], float(rest))


def duty_of_job(rehearsed: Rehearsal, *, rest: float = 0.0) -> Duty:
    """The cycle of a job as it is commanded, between the commands as planned."""
    log, commands = rehearsed.log, rehearsed.commands
    if not log.finished:
        raise InputError(f"the job does not come to its end: {log.reason}", field="--job")
    steps = max(1, int(np.ceil(rehearsed.player.period / STEP - 1e-9)))
    if steps == 1:
        return Duty(log.job, commands.t, commands.q, commands.qd, commands.qdd, rest)
    count = len(commands.t)
    _check_count((count - 1) * steps)
    share = np.arange(steps) / steps
    t = np.append((commands.t[:-1, None] + np.diff(commands.t)[:, None] * share).ravel(), commands.t[-1])
    q, qd, qdd = commands.sample(t)
    for number, plan in enumerate(rehearsed.player.plans):
        rows, s = _planned_rows(
            commands.motion == number, commands.motion_time, rehearsed.player.period, steps, plan
        )
        q[rows], qd[rows], qdd[rows] = plan.trajectory.sample(s)
    return Duty(log.job, t, q, qd, qdd, rest)


def _planned_rows(
    mine: BoolArray, time: Array, step: float, steps: int, plan: Planned
) -> tuple[IntArray, Array]:
    """Samples between two commands of one plan that runs at its own pace, and their times in it [s]."""
    first = np.flatnonzero(mine[:-1] & mine[1:] & (np.abs(np.diff(time) - step) < PACE * step))
    share = np.arange(steps) / steps
    s = time[first][:, None] + (time[first + 1] - time[first])[:, None] * share
    rows = first[:, None] * steps + np.arange(steps)
    return rows.ravel(), np.minimum(s.ravel(), plan.trajectory.duration)


def duty_of_scenario(scenario: Scenario, *, rest: float = 0.0) -> Duty:
    """The cycle of the moves that a scenario states."""
    from servotwin.mechanism.build import build_mechanism
    from servotwin.simulation.scenario.scenario import plan_scenario

    mechanism = build_mechanism(scenario.description)
    motion = plan_scenario(scenario, mechanism.joint_names, mechanism.limits)
    if motion.duration <= 0.0:
        raise InputError("the scenario has no moves; expected a list 'move'", field="--scenario")
    count = int(np.ceil(motion.duration / STEP)) + 1
    _check_count(count)
    t = np.linspace(0.0, motion.duration, count)
    return Duty(scenario.name, t, *motion.sample(t), rest=rest)


def _check_count(count: int) -> None:
    if count > MOST_SAMPLES:
        raise InputError(
            f"the cycle has {count} samples; expected at most {MOST_SAMPLES}, that is {MOST_SAMPLES * STEP:.0f} s"
        )
