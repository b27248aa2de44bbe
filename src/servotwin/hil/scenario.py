"""Substitution scenarios by name or path: which arm, which rates and commands, which joints a rig stands for.

A scenario file is composed like a robot file: units, expressions, ``extends``, ``include``, ``choose`` and overrides.
Handbook: docs/motor-substitution.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from servotwin.description.compose import MAX_EXTENDS, Files, resolve
from servotwin.description.nodes import Node, quoted
from servotwin.description.problems import find, input_error
from servotwin.description.reach import Named, Reach, outside
from servotwin.description.regular_file import is_there
from servotwin.description.schema import RobotDescription
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.hil.observer_design import check_cut_off
from servotwin.hil.ports import MAX_SHAFTS
from servotwin.hil.records import MOST
from servotwin.hil.rig_file import Rig, read_rig
from servotwin.hil.scenario_parts import FORMAT, SubstitutionFile
from servotwin.hil.words import counted
from servotwin.simulation.scenario.scenario import (
    CHANGE_PATHS,
    SCENARIOS,
    SUFFIXES,
    changed_robot,
    robot_named,
    split_changes,
    with_changes,
)

FOLDER = SCENARIOS / "substitution"


@dataclass(frozen=True)
class SubstitutionScenario:
    """A checked scenario, in SI: what the file says, its robot, and the rig if joints are substituted."""

    file: SubstitutionFile
    robot: str
    path: Path
    description: RobotDescription = field(repr=False, compare=False)
    rig: Rig | None = field(repr=False, compare=False)
    tree: Node = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its short name."""
        return self.file.name

    @property
    def period(self) -> float:
        """Of the servo [s]; whole nanoseconds, the same for simulated time, clock and rig."""
        return self.period_ns * 1e-9

    @property
    def period_ns(self) -> int:
        """Of the servo [ns]."""
        return round(1e9 / self.file.rates.servo)

    @property
    def ticks(self) -> int:
        """Servo periods of the run."""
        return max(1, round(self.file.duration / self.period))

    @property
    def substituted(self) -> tuple[str, ...]:
        """Joints that shafts of the rig stand for."""
        return () if self.file.substitute is None else self.file.substitute.joints

    @property
    def delay(self) -> float:
        """Age of the rig's samples when the servo uses them, in periods."""
        if self.file.substitute is None or self.rig is None:
            return 0.0
        stated = self.file.substitute.delay
        return self.rig.sample_delay if stated is None else stated

    def pure(self) -> SubstitutionScenario:
        """The same with every joint simulated."""
        file = self.file.model_copy(update={"substitute": None})
        return SubstitutionScenario(file, self.robot, self.path, self.description, None, self.tree)

    def plain(self) -> dict[str, Any]:
        """As texts and SI numbers, ready for JSON."""
        return {**self.file.model_dump(mode="json"), "robot": self.robot}

    def error(self, message: str, place: str) -> InputError:
        """An error at a field of the file."""
        return find(self.tree, [place]).error(message, place)


def substitution_names() -> list[str]:
    """The names of the substitution scenarios that ship with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def is_substitution(name_or_path: str | os.PathLike[str]) -> bool:
    """Whether a name or file is a substitution scenario: by its ``format``, or that of a file that it extends."""
    text = os.fspath(name_or_path)
    files = Files(find_scenario)
    for _ in range(MAX_EXTENDS):
        if not text.lower().endswith(SUFFIXES):
            return text in substitution_names()
        if not is_there(text):
            return False
        fields = files.read(Path(text)).value
        fields = fields if isinstance(fields, dict) else {}
        if "format" in fields:
            return str(fields["format"].value).startswith(FORMAT.partition("/")[0])
        base = fields.get("extends")
        if base is None or not isinstance(base.value, str):
            return False
        name = base.value.strip()
        text = str(Path(text).parent / name) if name.lower().endswith(SUFFIXES) else name
    return False


def find_scenario(name: str) -> Path:
    """The file of a substitution scenario that ships with the package."""
    names = substitution_names()
    if name in names:
        return FOLDER / f"{name}.yaml"
    listed = f"{', '.join(names)}{did_you_mean(name, names)}"
    raise InputError(f"no substitution scenario {quoted(name)}; expected a .yaml file or one of {listed}")


def locate(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a scenario name or path."""
    text = os.fspath(name_or_path)
    if not text.lower().endswith(SUFFIXES) and os.sep not in text:
        return find_scenario(text)
    if not text.lower().endswith(SUFFIXES):
        raise InputError("not a scenario file; expected .yaml or .yml", file=text[:200])
    if not is_there(text):
        raise InputError("no such file; expected a scenario file", file=text[:200])
    return Path(text)


def read_substitution(
    name_or_path: str | os.PathLike[str],
    overrides: Mapping[str, str | None] | None = None,
    *,
    allow_outside: bool = False,
) -> SubstitutionScenario:
    """The substitution scenario with this name, or in this file; InputError with one clear line otherwise.

    ``overrides`` maps dotted paths to texts, such as ``{"substitute.estimator": "observer"}``.
    """
    path = locate(name_or_path)
    with outside(allow_outside):
        reach = Reach.of(path)
        own, of_robot = split_changes(overrides or {})
        files = Files(find_scenario, reach=reach)
        try:
            tree = resolve(files.read(path), own, files=files, keep_empty=CHANGE_PATHS)
        except RecursionError:
            raise InputError("nested too deeply", file=str(path)) from None
        return _checked(with_changes(tree, of_robot), path, reach)


def _checked(tree: Node, path: Path, reach: Reach) -> SubstitutionScenario:
    robot = robot_named(_header(tree), tree, path, reach)
    description = changed_robot(tree, robot, ("set",))
    sliding = {name: description.axes[name].prismatic for name in description.joint_names}
    try:
        file = SubstitutionFile.model_validate(tree.plain(), context={"prismatic": sliding})
    except ValidationError as error:
        raise input_error(error, tree) from None
    rig = _rig(file, tree, path, reach)
    scenario = SubstitutionScenario(file, robot, path, description, rig, tree)
    _check(scenario)
    return scenario


def _header(tree: Node) -> str:
    if not isinstance(tree.value, dict):
        raise tree.error("expected a mapping with the fields of a substitution scenario")
    written = tree.value.get("format")
    if written is None or written.value != FORMAT:
        given = "'format' is missing" if written is None else f"{quoted(written.plain())} is not accepted"
        raise (written or tree).error(
            f"{given}; expected format: {FORMAT}, a substitution scenario", "format"
        )
    robot = tree.value.get("robot")
    if robot is None or not isinstance(robot.value, str):
        expected = "expected the catalogue name or file of a robot, such as 'met-two-link'"
        raise (robot or tree).error(f"the robot is missing; {expected}", "robot")
    return robot.value.strip()


def _rig(file: SubstitutionFile, tree: Node, path: Path, reach: Reach) -> Rig | None:
    """The rig that a scenario names: by catalogue name, or a file beside it."""
    if file.substitute is None:
        return None
    node, name = find(tree, ["substitute", "rig"]), file.substitute.rig
    if not name.lower().endswith(SUFFIXES):
        try:
            return read_rig(name)
        except InputError as error:
            if error.file is None:
                raise node.error(error.message, "substitute.rig") from None
            raise
    beside = (Path(node.origin.file).parent if node.origin.line else Path()) / name
    problem = reach.problem(beside, name) if node.origin.line else None
    if problem is not None:
        raise node.error(problem, "substitute.rig")
    if not is_there(beside):
        raise node.error(f"no file {quoted(name)} beside the scenario; expected a rig file", "substitute.rig")
    return read_rig(Named(str(beside), reach) if node.origin.line else str(beside))


def _check(scenario: SubstitutionScenario) -> None:
    """What is only seen in the whole: filter and rate, shafts of the rig, size of the robot."""
    file, substitute = scenario.file, scenario.file.substitute
    if len(scenario.description.joint_names) + len(file.environment.base) > MOST:
        raise scenario.error(f"more than {MOST} joints, those of the base included; expected fewer", "robot")
    if substitute is None:
        return
    if substitute.filter is not None and substitute.estimator == "filter":
        try:
            check_cut_off(substitute.filter.cut_off, scenario.period)
        except InputError as error:
            raise scenario.error(error.message, "substitute.filter.cut_off") from None
    rig = scenario.rig
    shafts = [] if rig is None else list(rig.shafts.values())
    if len(substitute.joints) > min(len(shafts), MAX_SHAFTS):
        raise scenario.error(
            f"{counted(len(substitute.joints), 'joint')}, but the rig {quoted(substitute.rig)} has "
            f"{counted(len(shafts), 'shaft')}; expected one shaft for each joint",
            "substitute.joints",
        )
    angle = substitute.estimator == "observer" and substitute.observer.measures == "angle"
    if angle and any(shaft.encoder is None for shaft in shafts[: len(substitute.joints)]):
        raise scenario.error("the rig has no encoder; expected rate", "substitute.observer.measures")
