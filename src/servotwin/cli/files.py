"""``servotwin check``, ``schema`` and ``convert``."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.cli.arguments import read_overrides, read_quantity
from servotwin.cli.output import print_json, print_line, print_note, working
from servotwin.description.compose import MAX_EXTENDS, Files
from servotwin.description.drive_checks import check_drives
from servotwin.description.file_write import export_text, refuse_existing
from servotwin.description.load import read_description
from servotwin.description.nodes import Node, one_line, quoted
from servotwin.description.reach import Reach
from servotwin.description.schema import STANDARD_GRAVITY, RobotDescription
from servotwin.description.sheets.catalogue import is_catalogue
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.model import BASE, Mechanism

REFUSED = 2


def check(
    files: Sequence[str], overrides: Sequence[str] | None, *, datasheets: bool = False, json: bool
) -> int:
    """Print a line for every file, those of refused ones on stderr; 0, or 2 if one is refused."""
    changes = read_overrides(overrides)
    with working(f"checking {len(files)} file{'s' if len(files) > 1 else ''}"):
        results = [_checked(file, changes, datasheets) for file in files]
    for result in results:
        if not result["ok"]:
            print_note(result["error"]["text"])
        elif not json:
            print_line(f"{one_line(result['file'], 200)}: ok, {_words(result)}")
            _print_told(result["notes"], result["warnings"])
            _print_sheets(result.get("datasheets"))
    if json:
        print_json(results)
    return 0 if all(result["ok"] for result in results) else REFUSED


def _print_sheets(found: dict[str, list[dict[str, Any]]] | None) -> None:
    """The data sheets of a robot's motors, if they were asked for."""
    if found is not None:
        from servotwin.cli.datasheets import print_datasheets

        print_datasheets(found)


def _checked(file: str, changes: dict[str, str], datasheets: bool) -> dict[str, Any]:
    try:
        return {"file": file, "ok": True, **_contents(file, changes, datasheets)}
    except ServotwinError as error:
        place = {key: getattr(error, key, None) for key in ("file", "line", "field")}
        message = getattr(error, "message", str(error))
        return {"file": file, "ok": False, "error": {"text": str(error), "message": message, **place}}


def _words(result: dict[str, Any]) -> str:
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
    notes = [*description.notes, *_actuator_notes(description)]
    shown = _sheets(description) if datasheets else {}
    return {**found, "notes": notes, "warnings": description.warnings, **shown}


def _sheets(description: RobotDescription) -> dict[str, Any]:
    from servotwin.cli.datasheets import json_rows
    from servotwin.description.sheets.both_ways import datasheets_of

    return {"datasheets": {axis: json_rows(table) for axis, table in datasheets_of(description).items()}}


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


def schema(kind: str, out: str | None, *, overwrite: bool = False, json: bool) -> None:
    """Print the JSON Schema of robot, scenario or catalogue files, or write it."""
    from servotwin.description.json_schema import file_schema, json_schema

    if kind == "robot":
        found = json_schema()
    elif kind == "scenario":
        from servotwin.simulation.scenario.schema import scenario_schema

        found = scenario_schema()
    elif kind == "catalogue":
        from servotwin.description.sheets.catalogue import CatalogueFile

        found = file_schema(CatalogueFile, "ServoTwin catalogue of motors and gears")
    else:
        raise InputError(f"'{one_line(kind)}' has no schema; expected robot, scenario or catalogue")
    if out is None:
        print_json(found)
        return
    export_text(out, json_module.dumps(found, indent=2) + "\n", overwrite=overwrite)
    if json:
        print_json({"output": out})
    else:
        print_line(f"wrote {out}")


def convert(
    source: str,
    target: str,
    overrides: Sequence[str] | None,
    *,
    overwrite: bool = False,
    json: bool,
    density: str | None = None,
    allow_code: bool = False,
    arguments: Sequence[str] | None = None,
) -> None:
    """Write a robot as YAML or URDF, by the name of the target.

    ``density`` fills the shapes of URDF links without inertia; ``allow_code`` runs a xacro file, with the
    ``name=value`` of ``arguments``.
    """
    from servotwin.description.write import yaml_text

    filled, values = _density(density), _xacro_arguments(arguments, allow_code)
    suffix = Path(target).suffix.lower()
    if suffix not in (".yaml", ".yml", ".urdf"):
        raise InputError("not a robot file; expected .yaml, .yml or .urdf", file=one_line(target, 200))
    refuse_existing(target, overwrite=overwrite)
    with working(f"converting {one_line(source)}"):
        changes = read_overrides(overrides)
        description = read_description(source, changes, density=filled, allow_code=values)
        text, left_out, payload = (
            _urdf(description) if suffix == ".urdf" else (yaml_text(description), [], None)
        )
        export_text(target, text, overwrite=overwrite)
    if json:
        result = {"robot": description.name, "input": source, "output": target}
        told = {"notes": description.notes, "warnings": description.warnings}
        print_json({**result, "left_out": left_out, "payload": payload, **told})
        return
    print_line(f"wrote {target}")
    _print_told(description.notes, description.warnings)
    if payload is not None:
        print_note(f"note: payload: {payload['mass_kg']:.6g} kg is part of link {payload['link']}")
    if left_out:
        print_note(f"note: left out of the URDF file: {', '.join(left_out)}")


def _print_told(notes: Sequence[str], warnings: Sequence[str]) -> None:
    for note in notes:
        print_note(f"note: {note}")
    for warning in warnings:
        print_note(f"warning: {warning}")


def _density(text: str | None) -> float | None:
    """The density of ``--density`` [kg/m3], above zero."""
    if text is None:
        return None
    value = read_quantity("--density", text, "kg/m^3", example="2700 kg/m^3")
    if not value > 0.0:
        raise InputError(
            f"{quoted(text)} is not above zero; expected such as '2700 kg/m^3'", field="--density"
        )
    return value


def _xacro_arguments(pairs: Sequence[str] | None, allowed: bool) -> dict[str, str] | None:
    """The values of a xacro file's arguments; None if no code may run."""
    if pairs and not allowed:
        raise InputError(
            "belongs to a xacro file, which is run; expected --allow-code beside it", field="--arg"
        )
    found = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip(": "):
            raise InputError(f"{quoted(pair)} is not name=value, such as prefix=left_", field="--arg")
        found[name.strip(": ")] = value.strip()
    return found if allowed else None


def _urdf(description: RobotDescription) -> tuple[str, list[str], dict[str, Any] | None]:
    """The text of the URDF file, what it does not contain, and the payload with the link that it is part of."""
    from servotwin.mechanism.build import build_mechanism
    from servotwin.mechanism.urdf_export import payload_link, urdf_text

    mechanism = build_mechanism(description)
    shapes = {link: description.axes[axis].link.shapes for axis, link in description.link_names.items()}
    if description.base is not None:
        shapes[description.base_name] = description.base.shapes
    load, payload = description.payload, None
    if load is not None and load.mass and mechanism.frame().body != BASE:
        payload = {"mass_kg": load.mass, "link": payload_link(mechanism)}
    return urdf_text(mechanism, shapes), _left_out(description, mechanism), payload


def _left_out(description: RobotDescription, mechanism: Mechanism) -> list[str]:
    lost = {
        "motors and gears": bool(mechanism.rotors.names),
        "friction of joints": any(axis.friction is not None for axis in description.axes.values()),
        "quantities and their limits": bool(mechanism.quantities.names),
        "supply and controller": description.power is not None or description.controller is not None,
        "acceleration limits": bool(np.isfinite(mechanism.limits.qdd_max).any()),
        "the home pose": bool(mechanism.q_home.any()),
        "gravity": not np.allclose(mechanism.gravity, (0.0, 0.0, -STANDARD_GRAVITY), rtol=1e-9),
    }
    return [what for what, present in lost.items() if present]
