"""Scenarios by name or path: which robot does what, what differs in truth, how it is computed.

A scenario file is composed like a robot file: units, expressions, ``extends``,
``include``, ``choose`` and overrides. Format: docs/scenarios.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from servotwin.description.as_built import as_built
from servotwin.description.checks import motor_names
from servotwin.description.compose import Files, resolve
from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.description.nodes import Node, one_line, quoted
from servotwin.description.overrides import override_origin
from servotwin.description.placed import Placed, override_text
from servotwin.description.plain_text import visible
from servotwin.description.problems import find, input_error
from servotwin.description.reach import Named, Reach, outside
from servotwin.description.regular_file import is_there
from servotwin.description.schema import RobotDescription
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.mechanism.model import Array, Limits
from servotwin.motion.moving_start import MovingStart, check_moving_start, rest_after, run_out_time
from servotwin.motion.point_moves import RAMP, PointMotion, PointMove, plan_moves
from servotwin.presentation import Plots, ShowsItself, Tabulates
from servotwin.simulation.scenario.checks import check_scenario
from servotwin.simulation.scenario.environment_parts import Environment
from servotwin.simulation.scenario.law_file import LawFile, law_file
from servotwin.simulation.scenario.parts import (
    FORMAT,
    Fault,
    Initial,
    Move,
    Record,
    ScenarioFile,
    Solver,
)

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
SUFFIXES = (".yaml", ".yml")
ROBOT_SUFFIXES = (*SUFFIXES, ".urdf")
NO_LINE = 10**9  # beyond the lines of every file
CHANGES = (("set",), ("plant", "set"))  # paths in a scenario that hold overrides of the robot file
EMPTY = ("", "~", "null")  # texts of a change that removes a field
CHANGE_PATHS = tuple(".".join(head) for head in CHANGES)


@dataclass(frozen=True)
class Scenario(Plots, Tabulates, ShowsItself):
    """A checked scenario, in SI.

    ``robot`` is what ``load_robot`` takes: a catalogue name or a path. ``set``
    are overrides of the robot file that everybody knows, ``plant_set`` those
    that only the truth has. ``start`` holds every joint [rad, m]. ``description``
    is the robot as the controller knows it, ``plant_description`` as it is; ``law`` a control law
    of the user's, if there is one; ``initial`` in what state the run begins.
    """

    name: str
    title: str
    robot: str
    set: dict[str, str]
    plant_set: dict[str, str]
    start: dict[str, float]
    moves: tuple[Move, ...]
    repeat: int
    solver: Solver
    seed: int
    record: Record
    faults: tuple[Fault, ...]
    path: Path | None
    description: RobotDescription = field(repr=False, compare=False)
    plant_description: RobotDescription = field(repr=False, compare=False)
    law: LawFile | None = None
    initial: Initial = field(default_factory=Initial)
    environment: Environment = field(default_factory=Environment)
    tree: Node | None = field(default=None, repr=False, compare=False)

    def error(self, message: str, place: str) -> InputError:
        """An error at a field of the file."""
        return (
            InputError(message, field=place)
            if self.tree is None
            else find(self.tree, [place]).error(message, place)
        )

    @property
    def truth_set(self) -> dict[str, str]:
        """The overrides of the robot as it is: what everybody knows, then what only the truth has."""
        return {**self.set, **self.plant_set}

    def plain(self) -> dict[str, Any]:
        """The scenario as texts and SI numbers, ready for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "robot": self.robot,
            "set": dict(self.set),
            "plant": {"set": dict(self.plant_set)},
            "controller": None if self.law is None else self.law.plain(),
            "start": dict(self.start),
            "initial": self.initial.model_dump(),
            "move": [move.model_dump() for move in self.moves],
            "repeat": self.repeat,
            "solver": self.solver.model_dump(),
            "seed": self.seed,
            "record": self.record.model_dump(),
            "faults": [fault.model_dump() for fault in self.faults],
            **({"environment": self.environment.model_dump()} if self.environment else {}),
        }


def read_scenario(
    name_or_path: str | os.PathLike[str],
    overrides: Mapping[str, str | None] | None = None,
    *,
    allow_outside: bool = False,
) -> Scenario:
    """The scenario with this name, or in this .yaml or .yml file.

    ``overrides`` maps dotted paths to texts, such as ``{"solver.method": "rk4"}``,
    ``{"set.variables.load": "2 kg"}`` or ``{"move.0.speed": "50 %"}``; None removes a
    part. ``allow_outside`` lets the file name files outside of its folder. Anything that cannot be accepted
    raises InputError with one clear line.
    """
    path = locate(name_or_path)
    with outside(allow_outside):
        reach = Reach.of(path)
    own, of_robot = split_changes(overrides or {})
    files = Files(find_scenario, reach=reach)
    try:
        written = files.read(path)
        tree = resolve(written, own, files=files, keep_empty=CHANGE_PATHS)
    except RecursionError:
        raise InputError("nested too deeply", file=str(path)) from None
    scenario = _checked(with_changes(tree, of_robot), path, reach)
    own_title = _variant_title(written, path)
    return scenario if own_title is None or "title" in own else replace(scenario, title=own_title)


def _variant_title(written: Node, path: Path) -> str | None:
    """The title of a file that extends another one and has none itself; None if that is not so."""
    fields = written.value if isinstance(written.value, dict) else {}
    if "extends" not in fields or "title" in fields:
        return None
    name = fields["name"].value if "name" in fields else visible(path.stem)
    base = fields["extends"].value
    return f"{name} (extends {Path(base).stem})" if isinstance(base, str) else str(name)


def scenario_names() -> list[str]:
    """The names of the scenarios that ship with the package."""
    return sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


def locate(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a scenario name or path."""
    given: object = name_or_path  # whatever Python was given
    if not isinstance(given, str | os.PathLike):
        found = type(given).__name__
        text = f"a {found} is no scenario; expected the name of one, or a file, which names its robot"
        raise InputError(text, field="scenario")
    text = os.fspath(name_or_path)
    if isinstance(name_or_path, str) and not text.lower().endswith(SUFFIXES) and os.sep not in text:
        return find_scenario(text)
    shown = one_line(text, 200)
    if not text.lower().endswith(SUFFIXES):
        raise InputError("not a scenario file; expected .yaml or .yml", file=shown)
    if not is_there(text):
        raise InputError("no such file; expected a scenario file", file=shown)
    return Path(text)


def find_scenario(name: str) -> Path:
    """The file of a scenario that ships with the package."""
    names = scenario_names()
    if name in names:
        return SCENARIOS / f"{name}.yaml"
    substitutions = sorted(path.stem for path in SCENARIOS.glob("substitution/*.yaml"))
    if name in substitutions:
        raise InputError(
            f"{quoted(name)} hands joints to a rig; expected 'servotwin simulate {name}', or substitute({name!r})"
        )
    names += substitutions
    listed = f"{', '.join(names) or 'none'}{did_you_mean(name, names)}"
    raise InputError(f"no scenario {quoted(name)}; expected a .yaml file or one of {listed}")


def plan_scenario(scenario: Scenario, joints: tuple[str, ...], limits: Limits) -> PointMotion | MovingStart:
    """The planned motion of a scenario; ``joints`` in the order of q, ``limits`` those of the robot."""
    axes = scenario.description.axes
    q = np.array([scenario.start[name] for name in joints])
    moving = start_speed(scenario, joints)
    first = scenario.moves[0].ramp if scenario.moves else None
    jerk = np.array([axes[name].limits.jerk or np.inf for name in joints])
    ramp = run_out_time(moving, first or RAMP, limits, jerk)
    q = rest_after(q, moving, ramp)
    moves = [_point_move(move, joints) for move in scenario.moves]
    sliding = [axes[name].prismatic for name in joints]
    plan = plan_moves(
        q, moves, limits, names=joints, prismatic=sliding, repeat=scenario.repeat, jerk=jerk, speed=moving
    )
    if not moving.any():
        return plan
    motion = MovingStart(plan, moving, ramp)
    check_moving_start(motion, limits, jerk, joints, sliding)
    return motion


def _point_move(move: Move, joints: tuple[str, ...]) -> PointMove:
    target = np.array([move.to.get(name, 0.0) for name in joints])
    stays = np.array([name not in move.to for name in joints])
    (share, rates), (part, growths) = (
        (rate, None) if isinstance(rate, float) else (1.0, np.array([rate.get(x, np.inf) for x in joints]))
        for rate in (move.speed, move.acceleration)
    )
    return PointMove(
        target, share, move.ramp, move.dwell, move.together, rates, move.profile, part, growths, stays
    )


def start_speed(scenario: Scenario, joints: tuple[str, ...]) -> Array:
    """Joint speeds (n,) [rad/s, m/s] with which a scenario begins."""
    return np.array([scenario.initial.speed.get(name, 0.0) for name in joints])


# --- the file and its overrides --------------------------------------------------------------------


def split_changes(overrides: Mapping[str, str | None]) -> tuple[dict[str, str], dict[str, str]]:
    """The overrides of the scenario's own fields, and those of its changes of the robot file."""
    heads = tuple(".".join(head) + "." for head in CHANGES)
    texts = {str(k): override_text(v) for k, v in overrides.items()}
    of_robot = {k: v for k, v in texts.items() if k.startswith(heads)}
    return {k: v for k, v in texts.items() if k not in of_robot}, of_robot


def with_changes(tree: Node, of_robot: Mapping[str, str]) -> Node:
    """``tree`` with the mappings ``set`` and ``plant.set`` as one level of dotted paths, overrides on top."""
    for head in CHANGES:
        prefix = ".".join(head) + "."
        more = {k.removeprefix(prefix): v for k, v in of_robot.items() if k.startswith(prefix)}
        node = find(tree, list(head)) if _has(tree, head) else Node({}, tree.origin)
        if not isinstance(node.value, dict):
            continue  # the schema says what is expected there
        flat = dict(_flat(node, ""))
        if head == ("set",):
            flat = _with_payload(tree, flat)
        flat.update({k: Node(v, override_origin(prefix + k, v)) for k, v in more.items()})
        if flat:
            tree = _put(tree, head, Node(flat, node.origin))
    return tree


def _with_payload(tree: Node, flat: dict[str, Node]) -> dict[str, Node]:
    """The changes ``flat`` with the short form ``payload`` among them: a mass, or a mapping of its fields."""
    if not _has(tree, ("payload",)):
        return flat
    node = find(tree, ["payload"])
    if isinstance(node.value, list):
        raise node.error("a list stands here; expected a mass, such as '2 kg', or a mapping", "payload")
    stated = [key for key in flat if key.split(".")[0] == "payload"]
    if stated and node.origin.line:
        raise node.error(f"set.{stated[0]} is stated as well; expected one of them", "payload")
    kept = {key: child for key, child in flat.items() if key not in stated}
    short = dict(_flat(node, "payload")) if isinstance(node.value, dict) else {"payload.mass": node}
    return {**kept, **short}


def _has(tree: Node, path: tuple[str, ...]) -> bool:
    node = tree
    for name in path:
        if not isinstance(node.value, dict) or name not in node.value:
            return False
        node = node.value[name]
    return True


def _put(tree: Node, path: tuple[str, ...], node: Node) -> Node:
    if not path:
        return node
    mapping = dict(tree.value) if isinstance(tree.value, dict) else {}
    mapping[path[0]] = _put(mapping.get(path[0], Node({}, tree.origin)), path[1:], node)
    return Node(mapping, tree.origin)


def _flat(node: Node, path: str) -> list[tuple[str, Node]]:
    """The leaves below a mapping by dotted path; lists and empty values become the texts of overrides."""
    found = []
    for name, child in node.children():
        place = f"{path}.{name}" if path else name
        if isinstance(child.value, dict):
            found += _flat(child, place)
        elif isinstance(child.value, list):
            found.append((place, Node(_list_text(child), child.origin)))
        else:
            found.append((place, child if child.value is not None else Node("", child.origin)))
    return found


def _list_text(node: Node) -> str:
    items = [
        _list_text(item) if isinstance(item.value, list) else str(item.value) for _, item in node.children()
    ]
    return f"[{', '.join(items)}]"


# --- what it says ----------------------------------------------------------------------------------


def _checked(tree: Node, path: Path, reach: Reach) -> Scenario:
    """The checked scenario of a finished tree."""
    header = _header(tree)
    robot = robot_named(header, tree, path, reach)
    known = changed_robot(tree, robot, ("set",))
    truth = changed_robot(tree, robot, ("set",), ("plant", "set"))
    context = {
        "prismatic": {name: known.axes[name].prismatic for name in known.joint_names},
        "motors": motor_names(known),
        "brakes": _brakes(truth),
        "unsensed": [drive.name for drive in drives_of(truth) if not drive.actuator.bridge],
        "valves": [drive.name for drive in drives_of(truth) if drive.actuator.valve],
        "pump": truth.hydraulics is not None and truth.hydraulics.pump is not None,
    }
    try:
        read = ScenarioFile.model_validate(tree.plain(), context=context)
    except ValidationError as error:
        raise input_error(error, tree) from None
    law = None if read.controller is None else law_file(read.controller, find(tree, ["controller"]))
    if law is not None:
        named = find(tree, ["controller", "law"])
        _check_reach(law.path, str(named.value), named, "controller.law", reach)
    scenario = Scenario(
        name=read.name,
        title=read.title,
        robot=robot,
        set=dict(read.set),
        plant_set=dict(read.plant.set),
        start={name: read.start.get(name, known.home.get(name, 0.0)) for name in known.joint_names},
        moves=read.move,
        repeat=read.repeat,
        solver=read.solver,
        seed=read.seed,
        record=read.record,
        faults=read.faults,
        path=path,
        description=known,
        plant_description=as_built(truth),
        law=law,
        initial=read.initial,
        environment=read.environment,
        tree=tree,
    )
    check_scenario(scenario, plan_scenario, tree)
    return scenario


def _brakes(truth: RobotDescription) -> dict[str, tuple[str, bool]]:
    """By motor: the axis that carries its data, and whether that has a brake."""
    return {drive.name: (drive.owner, drive.brake is not None) for drive in drives_of(truth)}


def _header(tree: Node) -> str:
    """The name of the robot, once the file has proved to be a scenario."""
    if not isinstance(tree.value, dict):
        raise tree.error("expected a mapping with the fields of a scenario")
    written = tree.value.get("format")
    if written is None or written.value != FORMAT:
        given = "'format' is missing" if written is None else f"{quoted(written.plain())} is not accepted"
        raise (written or tree).error(f"{given}; expected format: {FORMAT}, a scenario file", "format")
    robot = tree.value.get("robot")
    if robot is None or not isinstance(robot.value, str):
        expected = "expected the catalogue name or file of a robot, such as 'gsis-scara'"
        raise (robot or tree).error(f"the robot is missing; {expected}", "robot")
    return robot.value.strip()


def _check_reach(path: Path, written: str, node: Node, field: str, reach: Reach) -> None:
    """Refuse a file that the scenario names and that lies too far away; options, without a line, name any."""
    problem = reach.problem(path, written) if node.origin.line else None
    if problem is not None:
        raise node.error(problem, field)


def robot_named(name: str, tree: Node, path: Path, reach: Reach) -> str:
    """The catalogue name, or the path of a robot file beside the scenario."""
    if not name.lower().endswith(ROBOT_SUFFIXES):
        return name
    node = find(tree, ["robot"])
    beside = Path(node.origin.file).parent / name if node.origin.line else path.parent / name
    _check_reach(beside, name, node, "robot", reach)
    if is_there(beside):
        return Named(str(beside), reach) if node.origin.line else str(beside)
    raise node.error(f"no file {quoted(name)} beside the scenario; expected a robot file", "robot")


def changed_robot(tree: Node, robot: str, *heads: tuple[str, ...]) -> RobotDescription:
    """The robot with the changes at the paths ``heads``; problems point at the scenario."""
    places: dict[str, tuple[str, Node]] = {}
    short = _has(tree, ("payload",))
    for head in heads:
        node = find(tree, list(head)) if _has(tree, head) else Node({}, tree.origin)
        for key, child in node.children():
            if not isinstance(child.value, str | None):
                raise child.error("expected a value as in the robot file", ".".join((*head, key)))
            below = () if short and head == ("set",) and key.startswith("payload.") else head
            places[key] = (".".join((*below, key)), child)
    texts = {key: Placed(str(child.value or ""), child.origin) for key, (_, child) in places.items()}
    for key, (place, child) in places.items():
        if str(child.value or "").strip() in EMPTY:
            _check_removed(robot, key, place, child)
    try:
        return read_description(robot, texts)
    except InputError as error:
        for key, message in _refused(robot, texts):
            raise places[key][1].error(message, places[key][0]) from None
        if error.file is None:  # no such robot
            raise find(tree, ["robot"]).error(error.message, "robot") from None
        raise


def _check_removed(robot: str, key: str, place: str, child: Node) -> None:
    """A change that removes a field names one that robots have: asked by a value that no field takes."""
    try:
        read_description(robot, {key: "?"})
    except InputError as error:
        if error.message.startswith("unknown field"):
            raise child.error(error.message, place) from None


def _refused(robot: str, texts: Mapping[str, Placed]) -> list[tuple[str, str]]:
    """The change that is not accepted, and why; several may stand on one line, so each gets a line of its own."""
    lines = {
        key: replace(text.origin, line=NO_LINE + i) if text.origin.line else override_origin(key, "")
        for i, (key, text) in enumerate(texts.items())
    }
    try:
        read_description(robot, {key: Placed(text, lines[key]) for key, text in texts.items()})
    except InputError as error:
        place = (error.file, error.line or 0)
        return [(key, error.message) for key, at in lines.items() if place == (at.file, at.line)]
    return []
