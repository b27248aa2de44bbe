"""Moves that are repeated on the drive-level simulator, one continuous run at a time, and where the tool truly was.

A run is a unit of work made of plain data: the robot as text, joints, legs, a seed. It gives the same numbers in any
process, so that work is split into the same units however many processes share it. Between two moves the arm rests,
each time a little longer by a part of the main period that is drawn: moves then begin at any phase of the loops, as
they do when a gripper or a person answers in between. A pose is the mean over the last part of the rest. The main
controller hands out set-points one period ahead, so that a move shows up to a period before it begins: the arm is
measured before that period.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from servotwin.description.as_built import as_built
from servotwin.description.compose import resolve
from servotwin.description.error_sources import base_compliance, with_error_sources, without
from servotwin.description.load import description_from
from servotwin.description.nodes import parse_yaml
from servotwin.description.schema import RobotDescription
from servotwin.design.accuracy.true_kinematics import TrueKinematics
from servotwin.errors import InputError, SimulationError
from servotwin.mechanism.model import Array
from servotwin.motion.errors import PathError
from servotwin.motion.limits import MotionLimits, limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, MoveL, Request, Speed
from servotwin.motion.trajectory import RestSegment, Segment, Trajectory, joined
from servotwin.robot.robot import Robot

KEPT = 8  # descriptions and robots that a process keeps
SETTLE = 0.0  # s after the last rest
MEASURING = 0.1  # s


@dataclass(frozen=True)
class Leg:
    """A move to the joints of a pose, or along straight lines over poses, and the rest after it [s].

    ``to``: index into the joints of the run; ``through``: poses (4, 4) as nested lists that the tool goes through on
    straight lines, with blends of ``blend`` [m] in between, before ``to`` is where it stands. ``speed``: part of the
    limits, or of a line [m/s] where ``absolute``. ``keep``: 'pose' at the end of the rest, 'path' as well, or ''.
    """

    to: int
    speed: float = 1.0
    rest: float = 0.5
    keep: str = "pose"
    through: tuple[Any, ...] = ()
    blend: float = 0.0
    absolute: bool = False


@dataclass(frozen=True)
class DriveRun:
    """One continuous run: robot text, sources that are off, joints (m, n), legs from ``start`` on, seed."""

    robot: str
    joints: tuple[tuple[float, ...], ...]
    legs: tuple[Leg, ...]
    start: int = 0
    seed: int = 1
    off: tuple[str, ...] = ()
    trial: int = 0
    trial_seed: int = 1
    elapsed: float | None = None  # s since the cold start; None: warm
    rest_jitter: bool = True
    force: tuple[float, ...] = ()  # N at the tool in the base, constant
    measuring: float = MEASURING  # s at the end of a rest over which a pose is measured
    pwm: str = "switched"  # or averaged

    def plain(self) -> dict[str, Any]:
        """As plain data for another process."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> DriveRun:
        """From plain data."""
        legs = tuple(Leg(**{**leg, "through": tuple(leg["through"])}) for leg in data["legs"])
        joints = tuple(tuple(row) for row in data["joints"])
        return cls(
            **{
                **data,
                "legs": legs,
                "joints": joints,
                "off": tuple(data["off"]),
                "force": tuple(data["force"]),
            }
        )


@dataclass(frozen=True)
class LegResult:
    """What became of a leg: pose at the end of its rest (4, 4), and its path with the command's begin and end.

    ``time`` (k,) [s] since the move began; ``poses`` (k, 4, 4); ``arrival`` [s] when the command arrives; ``unrest``
    [m]: how far the tool was from the pose while it was measured.
    """

    pose: Array
    state: Array  # (n_x,): mean coordinates of the plant at the end of the rest
    unrest: float = 0.0
    arrival: float = 0.0
    time: Array = field(default_factory=lambda: np.zeros(0))
    poses: Array = field(default_factory=lambda: np.zeros((0, 4, 4)))
    commanded: Array = field(default_factory=lambda: np.zeros((0, 4, 4)))


@lru_cache(maxsize=KEPT)
def described(text: str) -> RobotDescription:
    """The description in a text that ``yaml_text`` wrote."""
    return description_from(resolve(parse_yaml(text, "robot.yaml")))


@lru_cache(maxsize=KEPT)
def truth_of(
    text: str, off: tuple[str, ...], trial: int, seed: int, elapsed: float | None
) -> tuple[RobotDescription, RobotDescription]:
    """The robot as its controller knows it, and as it is, with the sources that are on."""
    known = without(with_error_sources(described(text), trial=trial, seed=seed), off)
    section = known.error_sources
    if elapsed is not None and section is not None and section.thermal is not None:
        thermal = section.thermal.model_copy(update={"elapsed": elapsed})
        known = known.model_copy(update={"error_sources": section.model_copy(update={"thermal": thermal})})
    return known, as_built(known)


def run_plain(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """``run_legs`` from plain data to plain data, for another process."""
    return [vars(result) for result in run_legs(DriveRun.of(data))]


def results_of(rows: Sequence[Mapping[str, Any]]) -> list[LegResult]:
    """The results that another process gave."""
    return [LegResult(**row) for row in rows]


def run_legs(run: DriveRun, progress: Callable[[float], None] | None = None) -> list[LegResult]:
    """Carry out a run on arm, drives and controller; one result for each leg that keeps one."""
    from servotwin.simulation.play_motion import PlayedMotion
    from servotwin.simulation.run import go_on, prepare

    known, truth = truth_of(run.robot, run.off, run.trial, run.trial_seed, run.elapsed)
    scenario = _scenario(run, known, truth)
    model = _model(run.robot)
    limits = limits_of(model, known)
    trajectory, spans = planned(run, model, limits, _period(known))
    prepared = prepare(scenario, reference=PlayedMotion(trajectory, SETTLE))
    go_on(prepared, progress or (lambda part: None), [])
    if prepared.failed:
        from servotwin.simulation.assembly import failure_text

        raise SimulationError(failure_text(prepared), None)
    prepared.machine.close()
    return _read(prepared, run, trajectory, spans)


@lru_cache(maxsize=KEPT)
def _model(text: str) -> Robot:
    from servotwin.robot.complete_model import robot_of

    return robot_of(described(text))


def _period(known: RobotDescription) -> float:
    from servotwin.control.servo.axis_data import controller_of

    return float(controller_of(known).main_period)


def _scenario(run: DriveRun, known: RobotDescription, truth: RobotDescription) -> Any:
    from servotwin.simulation.scenario.environment_parts import Environment, Force
    from servotwin.simulation.scenario.parts import Record, Solver
    from servotwin.simulation.scenario.scenario import Scenario

    environment = Environment()
    if run.force:
        environment = Environment(
            forces=(Force(kind="wrench", force=(run.force[0], run.force[1], run.force[2])),)
        )
    return Scenario(
        name=known.name, title=known.title or known.name, robot=known.name, set={}, plant_set={},
        start=dict(zip(known.joint_names, run.joints[run.start], strict=True)), moves=(), repeat=1,
        solver=Solver(pwm=run.pwm), seed=run.seed, record=Record(every=1.0), faults=(), path=None, description=known,
        plant_description=truth, environment=environment,
    )  # fmt: skip


Span = tuple[float, float, float]  # s: begin and end of a move, end of the rest as far as it is measured


def planned(
    run: DriveRun, model: Robot, limits: MotionLimits, period: float
) -> tuple[Trajectory, list[Span]]:
    """The whole motion of a run and the times of its legs; every different move is planned once."""
    rng = np.random.default_rng([run.seed, 1])
    known: dict[Any, tuple[Segment, ...]] = {}
    segments: list[Segment] = []
    spans: list[Span] = []
    now, q = 0.0, np.array(run.joints[run.start])
    for leg in run.legs:
        key = (q.tobytes(), leg.to, leg.speed, leg.through, leg.blend, leg.absolute)
        if key not in known:
            known[key] = _planned_leg(leg, run, model, q, limits)
        rest = leg.rest + (float(rng.uniform(0.0, period)) if run.rest_jitter else 0.0)
        q = _end(known[key])
        arrive = now + sum(segment.duration for segment in known[key])
        spans.append((now, arrive, arrive + rest))
        segments += [*known[key], RestSegment(q, rest + period)]
        now = arrive + rest + period
    return joined(segments, list(range(len(segments)))), spans


def _planned_leg(
    leg: Leg, run: DriveRun, model: Robot, q: Array, limits: MotionLimits
) -> tuple[Segment, ...]:
    """A move from the joints q (n,), as slow as it must be; InputError where no pace is slow enough."""
    try:
        return plan(model, q, _requests(leg, run), limits, fit=True).segments
    except PathError as error:
        reason = error.message.split(";", maxsplit=1)[0]
        raise InputError(
            f"{model.name} cannot move to the next pose at any speed: {reason}; expected less payload or other poses",
            field="payload" if "torque" in error.what else "poses",
        ) from None


def _end(segments: Sequence[Segment]) -> Array:
    last = segments[-1]
    return np.asarray(last.sample(np.array([last.duration]))[0][0])


def _requests(leg: Leg, run: DriveRun) -> list[Request]:
    speed = Speed("m/s" if leg.absolute else "fraction", leg.speed)
    if not leg.through:
        return [MoveJ(np.array(run.joints[leg.to]), speed)]
    poses = [np.array(pose) for pose in leg.through]
    last = len(poses) - 1
    return [MoveL(pose, speed, blend=leg.blend if k < last else 0.0) for k, pose in enumerate(poses)]


def _read(prepared: Any, run: DriveRun, trajectory: Trajectory, spans: Sequence[Span]) -> list[LegResult]:
    """The true poses of the tool at the end of rests, and on the paths that are kept."""
    from servotwin.simulation.plant.recording import PER_LOG

    machine = prepared.machine
    rows = machine.log[: int(machine.world["record"]["log_rows"][0])]
    t, x = rows[:, 0], rows[:, PER_LOG:]
    truth = TrueKinematics(prepared.plant, base_compliance(prepared.scenario.plant_description), run.force)
    poses_at = truth.poses
    found = []
    for leg, (begin, arrive, leave) in zip(run.legs, spans, strict=True):
        if not leg.keep:
            continue
        last = max(int(np.searchsorted(t, leave, side="right")) - 1, 0)
        still = np.searchsorted(t, leave - min(run.measuring, 0.5 * leg.rest), side="right")
        looked = x[min(int(still), last) : last + 1]
        state = looked.mean(
            axis=0
        )  # the tool is where these are, to the square of what is left of a vibration
        attained = poses_at(state[None])[0]
        unrest = float(np.linalg.norm(poses_at(looked)[:, :3, 3] - attained[:3, 3], axis=1).max())
        if leg.keep == "pose":
            found.append(LegResult(attained, state, unrest))
            continue
        first = int(np.searchsorted(t, begin))
        poses = poses_at(x[first : last + 1], t[first : last + 1])
        commanded = prepared.model.fkine(trajectory.sample(t[first : last + 1])[0])
        time = t[first : last + 1] - begin
        found.append(LegResult(attained, state, unrest, arrive - begin, time, poses, commanded))
    return found
