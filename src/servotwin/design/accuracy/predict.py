"""Predict what ISO 9283 would measure: find poses, let the drive-level simulator repeat moves, evaluate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from servotwin.description.display import UM
from servotwin.description.error_sources import error_sources, stated_sources, with_error_sources, without
from servotwin.description.load import read_description
from servotwin.description.placed import override_mapping
from servotwin.description.schema import RobotDescription
from servotwin.description.write import yaml_text
from servotwin.design.accuracy.budget import BudgetTest, ErrorBudget
from servotwin.design.accuracy.drive_runs import DriveRun, results_of, run_plain
from servotwin.design.accuracy.other_tests import (
    ComplianceTest,
    CornerTest,
    DirectionalTest,
    DriftTest,
    PathResult,
    PathTest,
    PosingTest,
    Settings,
)
from servotwin.design.accuracy.pose_test import Machine, PoseResult, PoseTest, check_cycles
from servotwin.design.accuracy.poses import (
    MeasuredPoses,
    cube_poses,
    find_cube,
    given_poses,
    random_poses,
    read_poses,
)
from servotwin.design.accuracy.tolerances import Tolerances, check_tolerances, vary
from servotwin.design.studies.workers import Workers, carry_out
from servotwin.errors import InputError
from servotwin.robot.complete_model import robot_of
from servotwin.robot.robot import Robot
from servotwin.simulation.scenario.parts import PWM

TESTS = ("pose", "directions", "drift", "path", "corner", "posing-time", "compliance")
ON_FIVE = ("directions", "path", "corner", "posing-time")  # tests that need P1 to P5 of a cube
HELD = 0.9  # of the middle half of a line, on which the commanded speed is to be held
PERCENT = 100.0
WITHOUT_SWITCH = ("servo_lag",)  # what loops leave when all else is off: the rest of a budget
MOVE = 0.4  # s that a move takes at full speed, roughly
Show = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Accuracy:
    """What a robot would attain, after ISO 9283: results by test; what was not asked for is None or empty."""

    description: RobotDescription
    poses: MeasuredPoses
    payload: float
    trial: int
    seed: int
    settings: Settings
    sources: tuple[str, ...]  # that acted
    pose: tuple[PoseResult, ...] = ()
    directions: tuple[dict[str, Any], ...] = ()
    drift: dict[str, Any] | None = None
    path: tuple[PathResult, ...] = ()
    corner: dict[str, Any] | None = None
    posing_time: tuple[dict[str, float], ...] = ()
    compliance: tuple[dict[str, Any], ...] = ()
    budget: ErrorBudget | None = None
    tolerances: Tolerances | None = None
    notes: tuple[str, ...] = ()
    pwm: str = "switched"

    def data(self) -> dict[str, Any]:
        """Its numbers as plain data (SI)."""
        cube = self.poses.cube
        return {
            "robot": self.description.name,
            "payload_kg": self.payload,
            "trial": self.trial,
            "seed": self.seed,
            "pwm": self.pwm,
            "sources": list(self.sources),
            "cube": None if cube is None else {"center_m": cube.center.tolist(), "edge_m": cube.edge},
            "pose": [result.data() for result in self.pose],
            "directions": list(self.directions),
            "drift": self.drift,
            "path": [result.data() for result in self.path],
            "corner": self.corner,
            "posing_time": list(self.posing_time),
            "compliance": list(self.compliance),
            "budget": None if self.budget is None else self.budget.data(),
            "tolerances": None if self.tolerances is None else self.tolerances.data(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Question:
    """What is asked for; see ``iso9283``."""

    payload: float | None = None
    speeds: tuple[float, ...] = (1.0,)
    cycles: int = 30
    tests: tuple[str, ...] = ("pose",)
    cube: tuple[float, ...] | None = None
    poses: str | Path | None = None
    random: int | None = None
    off: tuple[str, ...] = ()
    trial: int = 1
    seed: int = 1
    budget: int = 0  # pairs of orders
    budget_cycles: int = 10
    monte_carlo: int = 0
    pwm: str = "switched"
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        for name in self.tests:
            if name not in TESTS:
                raise InputError(f"'{name}'; expected one of {', '.join(TESTS)}", field="tests")
        if not self.speeds or not all(0.0 < v <= 1.0 for v in self.speeds):
            raise InputError("expected speeds above 0 and up to 100 %", field="speed")
        if self.payload is not None and not (math.isfinite(self.payload) and self.payload >= 0.0):
            raise InputError(f"{self.payload:g} kg; expected at least 0 kg", field="payload")
        check_cycles("cycles", self.cycles)
        check_cycles("budget_cycles", self.budget_cycles)
        if self.pwm not in PWM:
            raise InputError(f"'{self.pwm}'; expected {' or '.join(PWM)}", field="pwm")
        if not 0.0 < self.settings.rest <= 60.0:
            raise InputError(f"{self.settings.rest:g} s; expected more than 0 s and up to 60 s", field="rest")
        if not 0.0 < self.settings.band <= 0.1:
            raise InputError(f"{self.settings.band:g} m; expected more than 0 and up to 0.1 m", field="band")
        if self.random is not None and self.poses is not None:
            raise InputError("expected random poses or those of a file, not both", field="random")
        asked = [name for name in self.tests if name in ON_FIVE]
        if asked and (self.random is not None or self.poses is not None):
            raise InputError(f"'{asked[0]}' needs P1 to P5 of a cube; expected no other poses", field="tests")


def predict(
    robot: RobotDescription | str | Path,
    question: Question,
    overrides: Mapping[str, str] | None = None,
    workers: Workers | None = None,
    show: Show | None = None,
) -> Accuracy:
    """Everything that is asked for, computed in one sharing of the work."""
    tell, shared = show or (lambda words, part: None), workers or Workers()
    description, payload = loaded_robot(robot, question.payload, overrides)
    without(description, question.off)  # a name that is unknown is refused before anything is computed
    model = robot_of(description)
    if question.monte_carlo:
        check_tolerances(description, question.monte_carlo, question.off)
    tell("finding poses", 0.0)
    poses = _poses(description, model, question, tell)
    text = yaml_text(description)
    section = error_sources(description)
    machine = Machine(
        text, (*section.off, *question.off), question.trial, section.seed,
        measuring=question.settings.measuring, pwm=question.pwm,
    )  # fmt: skip
    tests = _tests(machine, model, poses, question, _sources(description, question))
    runs: list[DriveRun] = []
    places = {}
    for name, test in tests.items():
        mine = test.runs()
        places[name] = slice(len(runs), len(runs) + len(mine))
        runs += mine
    found = carry_out(
        run_plain, [run.plain() for run in runs], shared, lambda part: tell("repeating moves", part),
        expected=_computing_time(description, runs),
    )  # fmt: skip
    results = [results_of(rows) for rows in found]
    outcome = _evaluated(tests, places, results, question)
    notes = [
        *poses.notes,
        *([shared.note()] if shared.note() else []),
        *_odd(description, question),
        *restless(outcome["pose"], question.settings.rest),
        *short_lines(outcome["path"]),
    ]
    answer = Accuracy(
        description=description, poses=poses, payload=payload, trial=question.trial, seed=question.seed,
        settings=question.settings, sources=_sources(description, question), notes=tuple(notes), pwm=question.pwm,
        **outcome,
    )  # fmt: skip
    if question.monte_carlo:
        drawn = vary(
            answer.pose[0], machine, question.monte_carlo, shared, lambda part: tell("drawing robots", part)
        )
        answer = replace(answer, tolerances=drawn)
    return answer


def loaded_robot(
    robot: RobotDescription | str | Path, payload: float | None, overrides: Mapping[str, str] | None
) -> tuple[RobotDescription, float]:
    """The description with its payload [kg]: the given one, or the largest that the file allows, or the file's."""
    if isinstance(robot, RobotDescription):
        if overrides or payload is not None:
            raise InputError(
                "a description does not change; expected a name or path with changes and payload"
            )
        return robot, 0.0 if robot.payload is None else float(robot.payload.mass)
    changes = override_mapping(overrides)
    stated = read_description(robot, changes).payload
    mass = payload
    if mass is None:
        largest = None if stated is None else stated.largest
        mass = largest if largest is not None else (0.0 if stated is None else float(stated.mass))
    if stated is not None or mass > 0.0:
        changes["payload.mass"] = f"{mass!r} kg"
    return read_description(robot, changes), float(mass)


def _computing_time(description: RobotDescription, runs: Sequence[DriveRun]) -> float:
    """Roughly how long runs take to compute [s]."""
    from servotwin.simulation.preflight.estimate import estimate
    from servotwin.simulation.scenario.parts import Solver

    moving = sum(leg.rest + MOVE / (1.0 if leg.absolute else leg.speed) for run in runs for leg in run.legs)
    return estimate(description, moving, 1.0, Solver(pwm=runs[0].pwm if runs else "switched")).time


def _sources(description: RobotDescription, question: Question) -> tuple[str, ...]:
    on = stated_sources(with_error_sources(description, trial=question.trial))
    return tuple(name for name in on if name not in question.off)


def _odd(description: RobotDescription, question: Question) -> list[str]:
    notes = []
    if description.error_sources is None:
        notes.append(
            "the robot file has no section error_sources: only encoders, loops and what else it states act"
        )
    for name in question.off:
        if name in WITHOUT_SWITCH:
            notes.append(
                f"{name}: loops have no switch; set controller.feedforward.velocity and .torque to 100 %"
            )
    if "drift" in question.tests and "thermal" not in _sources(description, question):
        notes.append("drift: no thermal growth is stated or on, so that only the spread differs with time")
    return notes


def restless(results: Sequence[PoseResult], rest: float) -> list[str]:
    """What is to be said of poses that were measured while the tool moved more than they spread."""
    moving = [one.unrest for one in results if one.unrest > one.repeatability.max()]
    if not moving:
        return []
    return [
        f"the tool still moves by up to {UM * max(moving):.3g} um while its pose is measured, more than it repeats: "
        f"take a rest above {rest:g} s"
    ]


def short_lines(results: Sequence[PathResult]) -> list[str]:
    """What is to be said of lines on which the commanded speed is not held."""
    return [
        f"path at {PERCENT * one.speed:g} %: the command has {one.commanded_speed:.3g} m/s on "
        f"{PERCENT * one.steady:.0f} % of the middle half only, where AV, RV and FV are taken: the line is short for it"
        for one in results
        if one.steady < HELD
    ]


def _poses(description: RobotDescription, model: Robot, question: Question, tell: Show) -> MeasuredPoses:
    if question.poses is not None:
        names, poses = read_poses(question.poses, model.fkine(model.q_home)[:3, :3])
        return given_poses(model, poses, names)
    cube = find_cube(description, question.cube, lambda words, part: tell(words, 0.0))
    if question.random is not None:
        return random_poses(model, cube, question.random, question.seed)
    return cube_poses(model, cube, plane=question.settings.plane, given=question.cube is not None)


def _tests(
    machine: Machine, model: Robot, poses: MeasuredPoses, question: Question, sources: tuple[str, ...]
) -> dict[str, Any]:
    """The tests by name, those of several speeds with their number."""
    _refuse_lines(model, poses, question)
    s, seed, top = question.settings, question.seed, question.speeds[0]
    tests: dict[str, Any] = {}
    if "pose" in question.tests or question.monte_carlo:
        for k, speed in enumerate(question.speeds):
            tests[f"pose {k}"] = PoseTest(machine, poses, speed, question.cycles, s.rest, seed, k)
    if "directions" in question.tests:
        tests["directions"] = DirectionalTest(machine, model, poses, top, s, seed)
    if "drift" in question.tests:
        tests["drift"] = DriftTest(machine, poses, top, s, seed)
    if "path" in question.tests:
        for k, speed in enumerate(question.speeds):
            tests[f"path {k}"] = PathTest(machine, poses, speed, s, seed, k)
    if "corner" in question.tests:
        tests["corner"] = CornerTest(machine, poses, top, s, seed)
    if "posing-time" in question.tests:
        tests["posing_time"] = PosingTest(machine, model, poses, top, s, seed)
    if "compliance" in question.tests:
        tests["compliance"] = ComplianceTest(machine, poses, s, seed)
    if question.budget:
        inner = PoseTest(machine, poses, top, question.budget_cycles, s.rest, seed, 0, settling=False)
        acting = tuple(name for name in sources if name not in WITHOUT_SWITCH)
        tests["budget"] = BudgetTest(inner, acting, question.budget)
    return tests


def _refuse_lines(model: Robot, poses: MeasuredPoses, question: Question) -> None:
    """Complain about straight lines of an arm that does not hold the orientation of its tool."""
    lines = [name for name in question.tests if name in ("path", "corner")]
    if poses.turned and lines:
        others = ", ".join(name for name in TESTS if name not in ("path", "corner"))
        raise InputError(
            f"{', '.join(lines)}: {model.name} does not reach the poses with one orientation of its tool, which the "
            f"straight lines of these tests need; expected some of {others}, or poses that it reaches so",
            field="tests",
        )


def _evaluated(
    tests: Mapping[str, Any], places: Mapping[str, slice], results: Sequence[Any], question: Question
) -> dict[str, Any]:
    """The fields of the result that the tests give."""
    fields: dict[str, Any] = {"pose": [], "path": []}
    for name, test in tests.items():
        mine = results[places[name]]
        if name.startswith("pose "):
            fields["pose"].append(test.evaluate(mine, question.settings.band))
        elif name.startswith("path "):
            fields["path"].append(test.evaluate(mine))
        else:
            fields[name] = test.evaluate(mine)
    for name in ("pose", "path", "directions", "posing_time", "compliance"):
        fields[name] = tuple(fields.get(name, ()))
    return fields
