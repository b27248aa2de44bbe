"""Actuators of the user's own as their files declare them: where the file is, and what can be read without running it.

``NAME = Actuator(rates=..., parameters={...}, states={...})`` with texts written out is read from the syntax tree.
What is computed, imported or made elsewhere is known only once the code runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.nodes import one_line, quoted, read_text
from servotwin.description.problems import find, refuse
from servotwin.description.schema import RobotDescription
from servotwin.description.units import did_you_mean, dimension_of, parse_quantity
from servotwin.drives.own import MOST_PARAMETERS, MOST_STATES, is_own
from servotwin.errors import InputError

Complaint = Callable[[str], InputError]
PLACES = {"parameters": 1, "states": 2}  # of the arguments of ``Actuator``
UNREAD = object()  # what only the code knows
MOST = {"states": MOST_STATES, "parameters": MOST_PARAMETERS}


def complaint_about(description: RobotDescription, drive: DriveData) -> Complaint:
    """What makes an error of a sentence about the actuator of a drive."""
    return lambda text: refuse(
        description, f"axes.{drive.owner}.motor.kind", f"{quoted(str(drive.kind))}: {text}"
    )


def actuator_path(description: RobotDescription, drive: DriveData) -> Path:
    """The file of an actuator: beside the file that names it, or anywhere for an option."""
    complaint, file = complaint_about(description, drive), str(drive.kind).rpartition(":")[0]
    tree = description._tree
    place = None if tree is None else find(tree, ["axes", drive.owner, "motor", "kind"])
    folder = Path(place.origin.file).parent if place is not None and place.origin.line else None
    path = Path(file) if folder is None else folder / file
    try:
        inside = folder is None or path.resolve().is_relative_to(folder.resolve())
        there = path.is_file()
    except (OSError, RuntimeError, ValueError):
        inside = there = False
    if not inside or (folder is not None and (Path(file).is_absolute() or ".." in Path(file).parts)):
        raise complaint("it leads out of the folder of the robot file; expected a file beside it")
    if not there:
        raise complaint(f"no file {quoted(file)} beside the robot file; expected a Python file")
    return path


def check_actuator_files(description: RobotDescription) -> list[str]:
    """Refuse actuators whose files are not there or do not declare what the robot states; notes of what is not read.

    No code is run.
    """
    return [
        line
        for drive in drives_of(description)
        if is_own(drive.kind)
        for line in _check_file(description, drive)
    ]


def _check_file(description: RobotDescription, drive: DriveData) -> list[str]:
    path, name = actuator_path(description, drive), str(drive.kind).rpartition(":")[2]
    tree = _parsed(path)
    complaint = complaint_about(description, drive)
    if not _binds(tree, name):
        made = [known for known in _actuators(tree) if known]
        raise complaint(f"{path.name} has no Actuator {quoted(name)}{did_you_mean(name, made)}")
    call = _actuators(tree).get(name)
    found: dict[str, Any] = {what: UNREAD if call is None else _written_out(call, what) for what in PLACES}
    unread = [what for what, names in found.items() if names is UNREAD]
    for what, names in found.items():
        if what not in unread:
            check_names(what, names, complaint)
    if "parameters" not in unread:
        stated_values(description, drive, dict(found["parameters"]))
    left = ", ".join([*unread, "equations"])
    return [
        f"motor {drive.name}: {quoted(str(drive.kind))} is Python code, which check does not run; not checked: {left} "
        "(simulate --allow-code does)"
    ]


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(read_text(path), str(path))
    except SyntaxError as error:
        raise InputError(
            f"not Python: {one_line(error.msg, 120)}", file=str(path), line=error.lineno
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"not Python: {one_line(str(error), 120)}", file=str(path)) from None


def _binds(tree: ast.Module, name: str) -> bool:
    """Whether a module may have a name: something in it binds it, or binds names that nobody sees."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            return True
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return True
        if isinstance(node, ast.alias) and (node.asname or node.name) in (name, "*"):
            return True
        if isinstance(node, ast.Name) and node.id in ("globals", "exec", "setattr", "vars"):
            return True
    return False


def _actuators(tree: ast.Module) -> dict[str, ast.Call]:
    """The calls of ``Actuator`` that are given a name at the top of a module, once."""
    found: dict[str, ast.Call] = {}
    bound: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.append(node.id)
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        value = getattr(statement, "value", None)
        if targets and isinstance(value, ast.Call) and _called(value) == "Actuator":
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            found |= {name: value for name in names if bound.count(name) == 1}
    return found


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _written_out(call: ast.Call, what: str) -> Any:
    """An argument of ``Actuator`` that is written out; UNREAD if only the code knows it."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    ):
        return UNREAD
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    place = PLACES[what]
    node = given.get(what, call.args[place] if len(call.args) > place else None)
    if node is None:
        return {}
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNREAD


def check_names(what: str, names: object, complaint: Complaint) -> None:
    """Refuse declared ``states`` or ``parameters`` that the plant has no room for, or whose units nobody knows."""
    if not _are_texts(names):
        raise complaint(
            f"its {what} are {quoted(str(names))}; expected names with units, such as {{'force': 'N'}}"
        )
    assert isinstance(names, Mapping)
    if len(names) > MOST[what]:
        raise complaint(f"{len(names)} {what}; expected at most {MOST[what]}")
    for name, unit in names.items():
        try:
            dimension_of(unit)
        except ValueError as error:
            raise complaint(
                f"{what} {quoted(name)}: unit {quoted(unit)}: {error}; expected a unit such as 's' or 'N/A'"
            ) from None


def _are_texts(names: object) -> bool:
    """Whether something maps texts to texts, as declared names and units do."""
    return isinstance(names, Mapping) and all(
        isinstance(text, str) for pair in names.items() for text in pair
    )


def stated_values(
    description: RobotDescription, drive: DriveData, declared: Mapping[str, str]
) -> list[float]:
    """The numbers of the robot file in SI, in the order in which they are declared with their units."""
    stated = dict(drive.parameters)
    path = f"axes.{drive.owner}.motor.parameters"
    known = list(declared)
    for name in stated:
        if name not in declared:
            expected = f"expected {', '.join(known) or 'none'}{did_you_mean(name, known)}"
            raise refuse(description, f"{path}.{name}", f"the actuator has no such parameter; {expected}")
    values = []
    for name, unit in declared.items():
        if name not in stated:
            raise refuse(
                description, path, f"{quoted(name)} is missing; expected a number in {unit or 'no unit'}"
            )
        try:
            values.append(parse_quantity(str(stated[name]), unit))
        except ValueError as error:
            raise refuse(description, f"{path}.{name}", str(error)) from None
    return values
