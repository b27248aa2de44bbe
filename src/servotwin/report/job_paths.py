"""The moves of a job as they were commanded: way, speed, and how well the commands describe the path.

All of it comes from the commands that were handed out and from where on the planned path each of them is, so that
override, pause and stop are in the numbers. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.control.main.pulses import IntArray
from servotwin.jobs.player import Planned, Player
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.rotations import cross
from servotwin.motion.trajectory import PathSegment, Trajectory
from servotwin.report.tool_path import path_distance, tip_of
from servotwin.simulation.results.job_log import Commands, LogEntry

FINE = 8  # points of the path for each step of the axis controllers where two moves meet
MOST_STEPS = 200  # of a period of the main controller at which the path is looked at
NUDGE = 1e-2  # of a step of the main controller, for tangents


@dataclass(frozen=True)
class MoveFacts:
    """A move as it was commanded.

    ``length_m``: way of the tool point; ``top_speed`` [m/s] in the commands; ``deviation_m``: of the commanded points
    from the line, circle or spline (None for a joint move), before they are rounded to pulses;
    ``pulse_deviation_m``: of the commanded pulses, if they are known; ``chord_error_m``: of the points in between,
    which the axis controllers interpolate linearly in the joints; ``slowed``: factor of the time if the move was made
    to fit; ``X_tool``: the tool point in the robot's tool frame, None for the robot's own; ``blend_m``: radius of the
    blend at its end, 0 if it ends at rest; ``note``: what became of a blend that is not as it was asked for.
    """

    length_m: float
    top_speed: float
    deviation_m: float | None
    pulse_deviation_m: float | None
    chord_error_m: float
    slowed: float
    X_tool: Array | None
    blend_m: float
    note: str


def move_facts(entry: LogEntry, commands: Commands, player: Player) -> MoveFacts | None:
    """What the commands say of an instruction; None if it is not a planned move."""
    if not 0 <= entry.motion < len(player.plans):
        return None
    plan = player.plans[entry.motion]
    move = plan.moves[entry.owner]
    tool = None if move.tool is None else move.X_tool
    seen = _Move(entry, commands, plan, player, tool)
    rounded = None if commands.q_pulses is None else seen.deviation(commands.q_pulses)
    path = plan.trajectory
    return MoveFacts(
        seen.length(), seen.top_speed(), seen.deviation(commands.q), rounded, seen.chord_error(),
        path.slowed[entry.owner] if path.slowed else 1.0, tool,
        path.blends[entry.owner] if path.blends else 0.0, path.notes[entry.owner] if path.notes else "",
    )  # fmt: skip


class _Move:
    """The periods of one move: ``k`` (m,) the commands at whose instants they begin, ``s`` (m, 2) [s] from where to
    where they lead on the planned motion."""

    def __init__(
        self, entry: LogEntry, commands: Commands, plan: Planned, player: Player, tool: Array | None
    ) -> None:
        self.commands, self.robot, self.tool = commands, player.robot, tool
        self.steps = min(player.substeps, MOST_STEPS)
        self.trajectory: Trajectory = plan.trajectory
        self.motion, self.owner = entry.motion, entry.owner
        first = max(int(np.searchsorted(commands.t, entry.start_s + 1e-9, side="right")) - 1, 0)
        last = int(np.searchsorted(commands.t, entry.end_s - 1e-9, side="left"))
        self.k: IntArray = np.arange(first, max(min(last, len(commands.t) - 1), first))
        at, time = commands.motion, commands.motion_time
        begins, ends = at[self.k] == self.motion, at[self.k + 1] == self.motion
        self.inside = begins & ends
        self.s = np.stack(
            [
                np.where(begins, time[self.k], 0.0),
                np.where(ends, time[self.k + 1], self.trajectory.duration),
            ],
            axis=1,
        )

    def _mine(self, s: Array) -> BoolArray:
        """Whether times of the motion belong to this move."""
        place = np.clip(np.searchsorted(self.trajectory.starts, s, side="right") - 1, 0, None)
        return np.asarray(np.asarray(self.trajectory.owners)[place] == self.owner)

    def _fine(self, which: IntArray | slice, finer: int = 1) -> Array:
        """Times of the motion (periods, steps + 1) from the begin to the end of periods."""
        begin, end, steps = self.s[which, 0, None], self.s[which, 1, None], finer * self.steps
        return np.asarray(begin + (end - begin) * np.linspace(0.0, 1.0, steps + 1))

    def _on_path(self, s: Array) -> Array:
        """Tool points (..., 3) of the planned path."""
        q = self.trajectory.sample(np.clip(s.ravel(), 0.0, self.trajectory.duration))[0]
        return tip_of(self.robot, q, self.tool).reshape(*s.shape, 3)

    def length(self) -> float:
        """Way of the tool point [m]."""
        ways, mine = self._ways()
        return float(ways[mine].sum())

    def _ways(self) -> tuple[Array, BoolArray]:
        """Ways of the tool point (periods, steps) [m], and which of them belong to this move."""
        s = self._fine(slice(None))
        ways = np.linalg.norm(np.diff(self._on_path(s), axis=1), axis=2)
        return ways, self._mine(0.5 * (s[:, :-1] + s[:, 1:]))

    def top_speed(self) -> float:
        """Largest speed of the tool point at the instants of the commands [m/s]; between them if it has none."""
        rows = self.k + 1
        rows = rows[(self.commands.motion[rows] == self.motion) & self._mine(self.commands.motion_time[rows])]
        if not len(rows):
            ways, mine = self._ways()
            steps = (self.commands.t[self.k + 1] - self.commands.t[self.k])[:, None] / self.steps
            return float((ways / steps)[mine].max(initial=0.0))
        q, qd = self.commands.q[rows], self.commands.qd[rows]
        twist = np.einsum("kij,kj->ki", self.robot.jacob0(q), qd)
        arm = np.zeros((len(rows), 3))
        if self.tool is not None:
            arm = self.robot.fkine(q)[:, :3, :3] @ self.tool[:3, 3]
        return float(np.linalg.norm(twist[:, :3] + cross(twist[:, 3:], arm), axis=1).max(initial=0.0))

    def deviation(self, q: Array) -> float | None:
        """Largest distance of commanded tool points from where they belong on the curve [m]; None without curve."""
        rows = np.append(self.k, self.k[-1] + 1) if len(self.k) else self.k
        rows = rows[self.commands.motion[rows] == self.motion]
        s = self.commands.motion_time[rows]
        place = np.clip(np.searchsorted(self.trajectory.starts, s, side="right") - 1, 0, None)
        worst = None
        for i in np.unique(place[self._mine(s)]):
            segment = self.trajectory.segments[int(i)]
            if not isinstance(segment, PathSegment) or segment.curve is None:
                continue
            here = place == i
            clock = np.clip(s[here] - self.trajectory.starts[i], 0.0, segment.duration)
            wanted = segment.curve.pose(segment.offset + segment.law.sample(clock)[0])[:, :3, 3]
            gap = np.linalg.norm(tip_of(self.robot, q[rows[here]], self.tool) - wanted, axis=1)
            worst = max(worst or 0.0, float(gap.max()))
        return worst

    def chord_error(self) -> float:
        r"""Largest distance across the path of the linearly interpolated joints from it [m].

        .. math:: e = \left| (I - t t^T) \left(p(q_k + \lambda (q_{k+1} - q_k)) - p(t_k + \lambda T)\right) \right|
                                                                                          (eq:chord-error)
        """
        worst = 0.0
        inside = np.flatnonzero(self.inside).astype(np.int64)
        if len(inside):
            s = self._fine(inside)
            h = NUDGE * (self.s[inside, 1] - self.s[inside, 0])[:, None]
            along = self._on_path(s + h) - self._on_path(s - h)
            size = np.linalg.norm(along, axis=2, keepdims=True)
            tangent = np.divide(along, size, out=np.zeros_like(along), where=size > 1e-15)
            gap = self._between(self.k[inside]) - self._on_path(s)
            across = gap - np.sum(gap * tangent, axis=2, keepdims=True) * tangent
            worst = float(np.linalg.norm(across, axis=2)[self._mine(s)].max(initial=0.0))  # eq:chord-error
        for i in np.flatnonzero(~self.inside):
            worst = max(worst, self._meeting(int(i)))
        return worst

    def _between(self, k: IntArray) -> Array:
        """Tool points (periods, steps + 1, 3) as the axis controllers interpolate."""
        share = np.linspace(0.0, 1.0, self.steps + 1)[:, None]
        q, then = self.commands.q[k][:, None], self.commands.q[k + 1][:, None]
        joints = q + share * (then - q)
        shape = joints.shape
        return tip_of(self.robot, joints.reshape(-1, shape[2]), self.tool).reshape(*shape[:2], 3)

    def _meeting(self, i: int) -> float:
        """The same where this move meets another within a period: distance from its own part of the path, or from the
        other command."""
        k = int(self.k[i])
        own = self._on_path(self._fine(slice(i, i + 1), FINE))[0]
        ends = tip_of(self.robot, self.commands.q[[k, k + 1]], self.tool)
        path = np.concatenate([ends[:1], own, ends[1:]])
        return float(path_distance(self._between(self.k[i : i + 1])[0], path).max())
