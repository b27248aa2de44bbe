"""``st.check``: whether robot, scenario, catalogue and rig files can be used, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from servotwin.description.compose import MAX_EXTENDS, Files
from servotwin.description.drive_checks import check_drives
from servotwin.description.load import read_description
from servotwin.description.nodes import Node, one_line
from servotwin.description.placed import override_mapping
from servotwin.description.reach import Reach
from servotwin.description.schema import RobotDescription
from servotwin.description.sheets.catalogue import is_catalogue
from servotwin.description.sheets.left_out import left_out
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.model import Mechanism
from servotwin.presentation import ShowsItself, Tabulates


@dataclass(frozen=True)
class Checks(Tabulates, ShowsItself):
    """What was found of every file or job: plain data with its name, ``ok``, and what is wrong or what it holds."""

    results: tuple[dict[str, Any], ...]

    @property
    def ok(self) -> bool:
        """Whether all of them can be used."""
        return all(result["ok"] for result in self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.results)

    def __getitem__(self, i: int) -> dict[str, Any]:
        return self.results[i]

    def rows(self) -> list[dict[str, Any]]:
        """Name, verdict and words of each."""
        return [
            {"file": r.get("file", r.get("job")), "ok": r["ok"], "words": "; ".join(result_words(r))}
            for r in self.results
        ]


def check(*files: str | Path, overrides: Mapping[str, str] | None = None, datasheets: bool = False) -> Checks:
    """Check files of robots, scenarios, catalogues and rigs; nothing is simulated and no code of theirs is run.

    ``overrides`` change fields of each; ``datasheets``: the motors of robots as data sheets and as models have them.

    >>> import servotwin as st
    >>> st.check("gsis-scara").ok
    True
    """
    changes = override_mapping(overrides)
    return Checks(tuple(_checked(str(file), changes, datasheets) for file in files))


def result_words(result: Mapping[str, Any]) -> list[str]:
    """What a check found, in words."""
    if "job" in result:
        return [problem["text"] for problem in result["problems"]] or ["ok"]
    return [contents_words(result)] if result["ok"] else [result["error"]["text"]]


def _checked(file: str, changes: dict[str, str], datasheets: bool) -> dict[str, Any]:
    try:
        return {"file": file, "ok": True, **_contents(file, changes, datasheets)}
    except ServotwinError as error:
        place = {key: getattr(error, key, None) for key in ("file", "line", "field")}
        message = getattr(error, "message", str(error))
        return {"file": file, "ok": False, "error": {"text": str(error), "message": message, **place}}


def contents_words(result: Mapping[str, Any]) -> str:
    """What a checked file holds, in words."""
    if result["kind"] == "scenario":
        moves = f"{result['moves']} move{'' if result['moves'] == 1 else 's'}"
        return f"scenario of {result['robot']}, {moves}, {result['duration_s']:.4g} s"
    if result["kind"] == "substitution":
        joints = ", ".join(result["joints"]) or "none"
        return (
            f"substitution scenario of {result['robot']}, on the rig: {joints}, {result['duration_s']:.4g} s"
        )
    if result["kind"] == "catalogue":
        counts = [(result[kind], kind) for kind in ("motors", "gears", "screws") if result[kind]]
        held = ", ".join(f"{n} {kind if n > 1 else kind[:-1]}" for n, kind in counts)
        return f"catalogue {result['robot']}, {held or 'empty'}"
    if result["kind"] == "rig":
        return f"rig {result['robot']}, {result['shafts']} shaft{'' if result['shafts'] == 1 else 's'}"
    return f"{result['robot']}, {result['dof']} joint{'' if result['dof'] == 1 else 's'}"


def _contents(file: str, changes: dict[str, str], datasheets: bool) -> dict[str, Any]:
    """What a robot or scenario file holds, once it has been checked."""
    from servotwin.mechanism.build import build_mechanism

    if _is_scenario(file):
        return _scenario(file, changes)
    if file.lower().endswith((".yaml", ".yml")):
        if is_catalogue(file):
            return _catalogue(file)
        found_other = _of_substitution(file, changes)
        if found_other is not None:
            return found_other
    description = read_description(file, changes)
    mechanism = build_mechanism(description)
    _try_out(mechanism)
    check_drives(description)
    found = {"kind": "robot", "robot": mechanism.name, "dof": mechanism.n_q}
    notes = [*description.notes, *_actuator_notes(description), *left_out(description)]
    shown = _sheets(description) if datasheets else {}
    return {**found, "notes": notes, "warnings": description.warnings, **shown}


def _sheets(description: RobotDescription) -> dict[str, Any]:
    from servotwin.description.sheets.both_ways import datasheets_of

    tables = datasheets_of(description).items()
    return {"datasheets": {axis: [asdict(row) for row in table] for axis, table in tables}}


def _catalogue(file: str) -> dict[str, Any]:
    """What a catalogue of motors and gears holds."""
    from servotwin.description.sheets.catalogue import read_catalogue

    found = read_catalogue(file)
    counts = {kind: len(getattr(found, kind)) for kind in ("motors", "gears", "screws")}
    return {"kind": "catalogue", "robot": found.name, **counts, "notes": (), "warnings": found.warnings}


def _actuator_notes(description: RobotDescription) -> list[str]:
    """What cannot be checked of actuators of the user's without running them; InputError where more is wrong."""
    from servotwin.simulation.scenario.actuator_file import check_actuator_files

    return check_actuator_files(description)


def _of_substitution(file: str, changes: dict[str, str]) -> dict[str, Any] | None:
    """What a rig file or a substitution scenario holds; None for other files."""
    from servotwin.hil.joint_data import joint_records
    from servotwin.hil.rig_file import is_rig, read_rig
    from servotwin.hil.scenario import is_substitution, read_substitution

    told: dict[str, Any] = {"notes": (), "warnings": ()}
    if is_rig(file):
        rig = read_rig(file, dict(changes))
        return {"kind": "rig", "robot": rig.name, "shafts": len(rig.shafts), **told}
    if not is_substitution(file):
        return None
    scenario = read_substitution(file, dict(changes))
    joint_records(scenario)
    found = {"kind": "substitution", "robot": scenario.robot, "joints": list(scenario.substituted)}
    return {**found, "duration_s": scenario.file.duration, **told}


def _is_scenario(file: str) -> bool:
    """Whether a file says that it is a scenario; InputError for a job and for a file of parts."""
    if file.lower().endswith(".job"):
        raise InputError("a job; expected a robot or scenario: 'servotwin job check' reads jobs", file=file)
    if not file.lower().endswith((".yaml", ".yml")):
        return False
    files = Files(reach=Reach.of(file))
    tree = files.read(Path(file))
    fields = tree.value
    if not isinstance(fields, dict):
        return False
    known = {*RobotDescription.model_fields, "extends", "include", "choose", "variables"}
    if fields and not known & fields.keys() and all(isinstance(f.value, dict) for f in fields.values()):
        text = "a file of parts, not a robot; it is checked with the robot that includes it"
        raise InputError(text, file=one_line(file, 200))
    return _format_of(tree, files).startswith("servotwin-scenario/")


def _format_of(tree: Node, files: Files) -> str:
    """The format that a file states, or a file that it extends; '' if none does or one cannot be found."""
    from servotwin.simulation.scenario.scenario import find_scenario, scenario_names

    for _ in range(MAX_EXTENDS):
        fields = tree.value if isinstance(tree.value, dict) else {}
        if "format" in fields:
            return str(fields["format"].value)
        base = fields.get("extends")
        if base is None or not isinstance(base.value, str):
            return ""
        name = base.value.strip()
        if name in scenario_names():
            tree = files.read(find_scenario(name))
            continue
        if not name.lower().endswith((".yaml", ".yml")):
            return ""
        try:
            tree = files.read(files.locate(name, base, "extends"))
        except InputError:  # which is told when the file is read
            return ""
    return ""


def _scenario(file: str, changes: dict[str, str]) -> dict[str, Any]:
    """Robot, moves and duration of a scenario; its law is not run, and nothing is simulated."""
    from servotwin.mechanism.build import build_mechanism
    from servotwin.robot.robot import Robot
    from servotwin.simulation.plant.fit import check_machine, square_transmission
    from servotwin.simulation.scenario.scenario import plan_scenario, read_scenario

    scenario = read_scenario(file, changes)
    known = scenario.description
    mechanism = build_mechanism(known)
    _try_out(mechanism)
    check_machine(known, scenario.plant_description)
    square_transmission(Robot(mechanism))
    duration = plan_scenario(scenario, mechanism.joint_names, mechanism.limits).duration
    found = {"kind": "scenario", "robot": known.name, "moves": len(scenario.moves), "duration_s": duration}
    notes = [*known.notes, *_actuator_notes(known)]
    notes += [line for line in _actuator_notes(scenario.plant_description) if line not in notes]
    return {**found, "notes": notes, "warnings": known.warnings}


def _try_out(mechanism: Mechanism) -> None:
    """What only shows when the robot is put together: loops that do not close, a family it is not."""
    from servotwin.dynamics.ik import InverseKinematics
    from servotwin.robot.robot import Robot

    if mechanism.family:
        InverseKinematics.of(mechanism)
    if mechanism.loops:
        robot = Robot(mechanism)
        robot.fkine(robot.q_home)
