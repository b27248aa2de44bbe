"""Descriptions by catalogue name or path: read, composed, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from servotwin.description.compose import SUFFIXES, Files, resolve
from servotwin.description.contradictions import contradictions
from servotwin.description.nodes import Node, one_line, quoted
from servotwin.description.problems import input_error
from servotwin.description.reach import Named, Reach, outside
from servotwin.description.schema import FORMAT, RobotDescription
from servotwin.description.units import did_you_mean
from servotwin.description.xacro_file import is_xacro, refusal
from servotwin.errors import InputError

CATALOGUE = Path(__file__).resolve().parents[1] / "catalogue"
PARTS = "parts"
_OTHER_KINDS = {
    "servotwin-scenario": "a scenario, which 'servotwin simulate' takes",
    "servotwin-substitution": "a substitution scenario, which 'servotwin simulate' takes",
    "servotwin-rig": "a motor test bed, which a substitution scenario names",
    "servotwin-points": "the points of a job, which 'servotwin job check' reads with the job",
    "servotwin-catalogue": "a catalogue of motors and gears, which 'servotwin catalogue list --in' takes",
    "servotwin-io": "a script of inputs, which 'servotwin job run --io' takes",
}


def read_description(
    name_or_path: str | os.PathLike[str],
    overrides: Mapping[str, str | None] | None = None,
    *,
    density: float | None = None,
    allow_code: Mapping[str, str] | None = None,
    allow_outside: bool = False,
) -> RobotDescription:
    """The description with this catalogue name, or in this .yaml, .yml or .urdf file.

    ``overrides`` maps dotted paths to texts, such as ``{"axes.A.gear.ratio": "80"}``; None removes.
    ``density`` [kg/m3] fills the shapes of URDF links without inertia. ``allow_code`` lets a xacro file
    run, with these values of its arguments. ``allow_outside`` lets the file name files outside of its folder.
    Anything that cannot be accepted raises InputError with one clear line.
    """
    path = Path(name_or_path) if allow_code is not None and is_xacro(name_or_path) else locate(name_or_path)
    with outside(allow_outside):
        reach = Reach.of(name_or_path if isinstance(name_or_path, Named) else path)
    files = Files(find_in_catalogue, reach=reach, density=density, allow_code=allow_code)
    try:
        written = files.read(path)
        _check_kind(written)
        tree = resolve(written, overrides, files=files)
    except RecursionError:
        raise InputError("nested too deeply", file=str(path)) from None
    return description_from(tree, files)


def _check_kind(tree: Node) -> None:
    """Say it if the file is not a robot but another kind of ours."""
    stated = tree.value.get("format") if isinstance(tree.value, dict) else None
    other = _OTHER_KINDS.get(str(stated.value).partition("/")[0]) if stated is not None else None
    if stated is not None and other:
        text = f"{quoted(stated.value)} is {other}; expected format: {FORMAT}, a robot file"
        raise stated.error(text, "format")


def description_from(tree: Node, files: Files | None = None) -> RobotDescription:
    """The checked description of a finished tree (see ``compose.resolve``), and the files it came from."""
    files = files or Files()
    try:
        description = RobotDescription.model_validate(tree.plain())
    except ValidationError as error:
        raise input_error(error, tree) from None
    description._tree = tree
    description._dependencies = files.dependencies
    description._absent = tuple(files.absent)
    description._notes = tuple(files.notes)
    description._warnings = (*files.warnings, *contradictions(description))
    return description


def locate(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a catalogue name or path."""
    given: object = name_or_path  # whatever Python was given
    if not isinstance(given, str | os.PathLike):
        found = type(given).__name__
        raise InputError(
            f"{quoted(found)} stands here; expected a catalogue name or the path of a robot file"
        )
    text = os.fspath(name_or_path)
    if is_xacro(text):
        raise refusal(text)
    if isinstance(name_or_path, str) and not text.lower().endswith(SUFFIXES) and os.sep not in text:
        return find_in_catalogue(text)
    if not text.lower().endswith(SUFFIXES):
        raise InputError("not a robot file; expected .yaml, .yml or .urdf", file=one_line(text, 200))
    return Path(text)


def catalogue_names() -> list[str]:
    """The names of the robots that ship with the package."""
    return sorted(path.stem for path in CATALOGUE.glob("*.yaml") if not path.stem.startswith("_"))


def find_in_catalogue(name: str) -> Path:
    """The file of a catalogue robot, or of a catalogue part such as ``motors.yaml``."""
    names = catalogue_names()
    if name in names:
        return CATALOGUE / f"{name}.yaml"
    parts = sorted(path.name for path in (CATALOGUE / PARTS).glob("*.yaml"))
    if name in parts:
        return CATALOGUE / PARTS / name
    if name.lower().endswith(SUFFIXES):  # named by a file that includes it
        near = did_you_mean(name.rpartition("/")[2], parts)
        expected = "expected one beside this file, a path to it, or a part of the catalogue"
        raise InputError(f"no such file {quoted(name)}; {expected}{near}")
    listed = f"{', '.join(names) or 'none'}{did_you_mean(name, names)}"
    raise InputError(f"no robot {quoted(name)}; expected a .yaml or .urdf file or one of {listed}")
