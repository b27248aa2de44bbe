r"""The line test: a straight line of the tool, and how far the motors and the tool are behind it with several laws.

A position loop with the gain :math:`K_x` around a speed loop that follows asks for a speed by an error alone, so that

.. math:: \dot e + K_x\,e = (1 - s_v)\,\omega(t), \qquad e \to \frac{(1 - s_v)\,\omega}{K_x}            (eq:line-lag)

with the share :math:`s_v` of the speed that is fed forward: the tool is the time :math:`(1 - s_v)/K_x` late, which no
gain of the speed loop changes. Feeding the speed forward takes it away; feeding the torque forward takes away what
accelerations leave, and computed torque does without both loops. Theory: docs/papers/kim2018.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from servotwin.control.servo.axis_data import controller_of
from servotwin.description.display import MM
from servotwin.description.load import read_description
from servotwin.description.motors import required_counts, required_drives
from servotwin.description.placed import override_mapping
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveL, Speed
from servotwin.motion.trajectory import Trajectory
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.robot.described import source_of
from servotwin.robot.robot import Robot
from servotwin.simulation.play_motion import PlayedMotion
from servotwin.simulation.preflight.budget import Budget
from servotwin.simulation.results.result import Result
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.parts import Record, Solver
from servotwin.simulation.scenario.scenario import Scenario

# The line of Kim 2018, section 5.1.
BEGIN, END = (0.915, -0.5, 0.7), (0.915, 0.5, 0.7)  # m
SPEED, ACCELERATION = 0.5, 1.0  # m/s, m/s2
SETTLE = 0.5  # s after the line
NONE = "0 %"
CASCADE = {
    "controller.law": "cascade",
    **{f"controller.feedforward.{name}": NONE for name in ("velocity", "acceleration", "torque", "gravity")},
}
LAWS: dict[str, dict[str, str]] = {
    "cascade": CASCADE,
    "speed fed forward": {**CASCADE, "controller.feedforward.velocity": "100 %"},
    "speed and torque fed forward": {
        **CASCADE,
        "controller.feedforward.velocity": "100 %",
        "controller.feedforward.torque": "100 %",
    },
    "computed torque": {**CASCADE, "controller.law": "computed-torque"},
}


@dataclass(frozen=True, eq=False)
class LineRun:
    """The line with one law: errors of the motors in pulses (k, m), of the tool [m] (k, 3), at times (k,) [s].

    ``late`` (k,) [s]: how long after its command the tool is where it was wanted, by what it is behind on the line.
    """

    law: str
    time: Array
    pulses: Array
    tool: Array
    tool_ref: Array
    predicted: Array  # pulses (k, m) of eq:line-lag; zeros where the law has no such lag
    moving: BoolArray
    result: Result = field(repr=False)

    @property
    def error(self) -> Array:
        """Of the tool, actual less commanded (k, 3) [m]."""
        return np.asarray(self.tool - self.tool_ref)

    def at_set_points(self) -> Array:
        """Largest errors of the motors in pulses (m,) where the line begins and where it has ended."""
        still = np.abs(self.pulses[[0, -1]])
        return np.asarray(still.max(axis=0))

    def in_between(self) -> Array:
        """Largest errors of the motors in pulses (m,) on the line."""
        return np.asarray(np.abs(self.pulses[self.moving]).max(axis=0))


@dataclass(frozen=True, eq=False)
class LineTest(Plots, Tabulates, Reports, ShowsItself):
    """The line test of a robot: the line, and its runs with several laws."""

    robot: Robot
    description: RobotDescription
    motors: tuple[str, ...]
    pulses_per_turn: tuple[float, ...]
    begin: Array
    end: Array
    speed: float
    acceleration: float
    duration: float
    runs: tuple[LineRun, ...]

    def delay(self, run: LineRun) -> float:
        """How late the tool is in the middle of the line [s]."""
        along = (self.end - self.begin) / np.linalg.norm(self.end - self.begin)
        k = int(np.argmin(np.abs((run.tool_ref - 0.5 * (self.begin + self.end)) @ along)))
        return float(-(run.error[k] @ along)) / self.speed

    def across(self, run: LineRun) -> float:
        """Largest distance of the tool from the line [m]."""
        along = (self.end - self.begin) / np.linalg.norm(self.end - self.begin)
        away = run.tool - self.begin
        return float(np.linalg.norm(away - np.outer(away @ along, along), axis=1).max())

    @property
    def predicted_delay(self) -> float:
        """What eq:line-lag says of the cascade [s]: one over the least position gain."""
        control = controller_of(self.description)
        return 1.0 / min(control.bandwidth("position_bandwidth", motor) for motor in self.motors)

    def data(self) -> dict[str, Any]:
        """Everything but the curves as plain data in SI units."""
        return {
            "robot": self.robot.name,
            "begin_m": self.begin.tolist(),
            "end_m": self.end.tolist(),
            "speed_m_per_s": self.speed,
            "acceleration_m_per_s2": self.acceleration,
            "duration_s": self.duration,
            "pulses_per_turn": dict(zip(self.motors, self.pulses_per_turn, strict=True)),
            "predicted_delay_s": self.predicted_delay,
            "runs": [self._run_data(run) for run in self.runs],
        }

    def _run_data(self, run: LineRun) -> dict[str, Any]:
        def named(values: Array) -> dict[str, float]:
            return dict(zip(self.motors, (float(v) for v in values), strict=True))

        return {
            "law": run.law,
            "pulses_at_set_points": named(run.at_set_points()),
            "pulses_in_between": named(run.in_between()),
            "pulses_in_between_predicted": named(np.abs(run.predicted).max(axis=0)),
            "delay_s": self.delay(run),
            "tool_error_max_m": float(np.linalg.norm(run.error, axis=1).max()),
            "tool_error_final_m": float(np.linalg.norm(run.error[-1])),
            "across_max_m": self.across(run),
        }


def line_test(
    robot: str | PathLike[str] | Robot = "palletizer-4",
    overrides: Mapping[str, str] | None = None,
    *,
    begin: Sequence[float] = BEGIN,
    end: Sequence[float] = END,
    speed: float = SPEED,
    acceleration: float = ACCELERATION,
    laws: Sequence[str] = tuple(LAWS),
    settle: float = SETTLE,
    progress: Callable[[float], None] | None = None,
) -> LineTest:
    """Drive the tool along a straight line with several laws, on the drive-level simulator.

    ``begin``, ``end`` [m]: of the tool point, in the orientation that it has at home; by default the line of Kim 2018.
    ``laws``: some of ``cascade``, ``speed fed forward``, ``speed and torque fed forward``, ``computed torque``; the
    rest of the controller is the robot file's, changed by ``overrides``. ``progress`` is called with the part done.
    """
    robot, changes = source_of(robot), override_mapping(overrides)
    for law in laws:
        if law not in LAWS:
            raise InputError(f"no law '{law}'; expected some of {', '.join(LAWS)}", field="laws")
    for name, value in (("speed", speed), ("acceleration", acceleration)):
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"{value:g}; expected more than zero", field=name)
    if not (math.isfinite(settle) and settle > 0.0):
        raise InputError(f"{settle:g} s; expected more than zero", field="settle")
    description = read_description(robot, changes)
    model = Robot(build_mechanism(description), title=description.title)
    first, last = (np.asarray(point, dtype=np.float64) for point in (begin, end))
    trajectory = planned_line(model, description, first, last, speed, acceleration)
    tell = progress or (lambda part: None)
    runs = []
    for k, law in enumerate(laws):
        shares = partial(_share, tell, k, len(laws))
        runs.append(_run(str(robot), {**changes, **LAWS[law]}, law, trajectory, settle, shares))
    drives = required_drives(description)
    return LineTest(
        robot=model,
        description=description,
        motors=tuple(drive.name for drive in drives),
        pulses_per_turn=tuple(2.0 * math.pi * required_counts(description, drive) for drive in drives),
        begin=first,
        end=last,
        speed=speed,
        acceleration=acceleration,
        duration=trajectory.duration,
        runs=tuple(runs),
    )


def _share(tell: Callable[[float], None], k: int, count: int, part: float) -> None:
    """Tell the part of all runs that is done after a part of one."""
    tell((k + part) / count)


def planned_line(
    robot: Robot, description: RobotDescription, begin: Array, end: Array, speed: float, acceleration: float
) -> Trajectory:
    """The line with a trapezoidal profile."""
    if begin.shape != (3,) or end.shape != (3,) or not np.linalg.norm(end - begin) > 1e-6:
        raise InputError("expected two different points of three coordinates each", field="end")
    reached = math.sqrt(acceleration * float(np.linalg.norm(end - begin)))
    if speed > reached:  # the delay is told in the middle, where the speed is the stated one
        raise InputError(
            f"{speed:g} m/s is not reached on this line with {acceleration:g} m/s^2; expected up to {reached:.4g} m/s, "
            "a longer line or more acceleration",
            field="speed",
        )
    poses = [robot.fkine(robot.q_home).copy() for _ in range(2)]
    for pose, point in zip(poses, (begin, end), strict=True):
        pose[:3, 3] = point
    limits = limits_of(robot, description)
    try:
        start = np.asarray(robot.ikine(poses[0]), dtype=np.float64)
        move = MoveL(poses[1], Speed("m/s", speed), acceleration=acceleration, profile="trapezoid")
        return plan(robot, start, [move], limits)
    except ServotwinError as error:
        text = getattr(error, "message", str(error)).removeprefix(f"{robot.name}: ")
        places = " to ".join(f"({', '.join(f'{MM * x:g}' for x in point)})" for point in (begin, end))
        raise InputError(
            f"{robot.name} cannot follow the line from {places} mm: {text}; expected another line (begin and end, "
            "--from and --to)",
            field="begin",
        ) from None


def _run(
    robot: str,
    changes: dict[str, str],
    law: str,
    trajectory: Trajectory,
    settle: float,
    progress: Callable[[float], None],
) -> LineRun:
    description = read_description(robot, changes)
    control = controller_of(description)
    q = trajectory.sample(np.zeros(1))[0][0]
    scenario = Scenario(
        name="line-test", title=f"{description.name}: line test, {law}", robot=robot, set=changes, plant_set={},
        start=dict(zip(description.joint_names, q.tolist(), strict=True)), moves=(), repeat=1, solver=Solver(), seed=1,
        record=Record(every=control.main_period), faults=(), path=None, description=description,
        plant_description=description,
    )  # fmt: skip
    run = prepare(scenario, None, Budget(), reference=PlayedMotion(trajectory, settle))
    result = carry_out(run, progress)
    return _line_run(law, result, run.model, description, trajectory)


def _line_run(
    law: str, result: Result, model: Robot, description: RobotDescription, trajectory: Trajectory
) -> LineRun:
    drives, signals = required_drives(description), result.signals
    control = controller_of(description)
    t = np.asarray(signals["time_s"], dtype=np.float64)
    counts = np.array([required_counts(description, drive) for drive in drives])
    N = np.asarray(model.mechanism.rotors.N, dtype=np.float64)
    q_ref, qd_ref, _ = trajectory.sample(t)
    measured = np.stack([np.asarray(signals[f"motor_{drive.name}_count"]) for drive in drives], axis=1)
    joints = zip(model.joint_names, model.joint_units, strict=True)
    q = np.stack([np.asarray(signals[f"joint_{name}_position_{unit}"]) for name, unit in joints], axis=1)
    gains = np.array([control.bandwidth("position_bandwidth", drive.name) for drive in drives])
    share = 1.0 - control.feedforward.velocity if control.law == "cascade" else 0.0
    return LineRun(
        law=law,
        time=t,
        pulses=q_ref @ N.T * counts - measured,
        tool=np.asarray(result.true_robot.fkine(q))[:, :3, 3],
        tool_ref=np.asarray(model.fkine(q_ref))[:, :3, 3],
        predicted=share * lag(t, qd_ref @ N.T, gains) * counts,
        moving=(t > 0.0) & (t < trajectory.duration),
        result=result,
    )


def lag(t: Array, w: Array, K: Array) -> Array:
    """Errors (k, m) of position loops of gains K (m,) [1/s] that are asked for speeds w (k, m) (eq:line-lag).

    Exact for speeds that are linear between the times t (k,).
    """
    e = np.zeros_like(w)
    for k in range(len(t) - 1):
        h = float(t[k + 1] - t[k])
        slope = (w[k + 1] - w[k]) / h
        before, after = (speed / K - slope / K**2 for speed in (w[k], w[k + 1]))
        e[k + 1] = np.exp(-K * h) * (e[k] - before) + after  # eq:line-lag
    return e
