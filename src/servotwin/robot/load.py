"""Load a robot by catalogue name or file; what was read before comes back without parsing.

A description that was checked once is kept as the numbers of its mechanism,
together with the digests of every file it came from, and with the places where one
was looked for in vain. As long as none of them, the overrides and the loader have
changed, loading is reading those numbers: no YAML, no units, no schema.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from servotwin.cache.sources import source_digest
from servotwin.cache.store import read_entry, write_entry
from servotwin.description.placed import override_mapping, override_text
from servotwin.description.plain_text import one_line
from servotwin.description.reach import Named, Reach, outside
from servotwin.description.regular_file import URDF, read_bytes
from servotwin.errors import RobotWarning, ServotwinError
from servotwin.mechanism.model import Mechanism
from servotwin.mechanism.store import pack, unpack
from servotwin.robot.robot import EngineName, Robot

if TYPE_CHECKING:
    from servotwin.description.schema import RobotDescription

PACKAGE = Path(__file__).resolve().parents[1]


def load_robot(
    robot: str | Path,
    overrides: Mapping[str, str] | None = None,
    *,
    engine: EngineName = "auto",
    allow_outside: bool = False,
) -> Robot:
    """The robot of a catalogue name (``gsis-scara``) or of a ``.yaml`` or ``.urdf`` file.

    ``overrides`` maps fields to values as in the file, for example
    ``{"axes.A.gear.ratio": "80"}``. ``allow_outside`` lets the file name files
    outside of its folder. Mistakes in the file raise ``InputError`` with file,
    line, field and remedy.
    """
    if not isinstance(robot, str | Path):
        raise ServotwinError(
            f"robot is {one_line(repr(robot))}; expected a catalogue name or the path of a file"
        )
    changes = override_mapping(overrides)
    with outside(allow_outside):
        checked = load_checked(robot, {field: override_text(value) for field, value in changes.items()})
        source = "" if _named(robot) else Named(str(Path(robot).absolute()), Reach.of(robot))
    for line in checked.warnings:
        warnings.warn(line, RobotWarning, stacklevel=2)
    return Robot(
        checked.mechanism, engine=engine, title=checked.title, warnings=checked.warnings, source=source
    )


class Checked(NamedTuple):
    """What is kept of a description that was checked."""

    mechanism: Mechanism
    title: str
    warnings: tuple[str, ...]


def load_checked(robot: str | Path, overrides: Mapping[str, str]) -> Checked:
    """Mechanism, title and warnings, from the store of checked descriptions if nothing has changed."""
    key = _key(robot, overrides)
    stored = _read(key)
    if stored is not None:
        return stored
    from servotwin.description.load import read_description
    from servotwin.mechanism.build import build_mechanism

    description = read_description(robot, overrides)
    mechanism = build_mechanism(description)
    _write(key, description, mechanism)
    return Checked(mechanism, description.title or "", tuple(description.warnings))


def _key(robot: str | Path, overrides: Mapping[str, str]) -> str:
    named = _named(robot)
    place = f"catalogue {robot}" if named else str(Path(robot).absolute())
    reach = None if named else Reach.of(robot).folder
    changes = sorted((field, text, str(getattr(text, "origin", ""))) for field, text in overrides.items())
    here = str(Path().absolute()) if changes else ""  # where files that overrides name are looked for
    # two installations may share the store, and each has a catalogue of its own
    parts = [str(PACKAGE), place, reach, here, changes, _loader_version()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _named(robot: str | Path) -> bool:
    """Whether it is a name of the catalogue."""
    return isinstance(robot, str) and not robot.lower().endswith((".yaml", ".yml", ".urdf"))


@cache
def _loader_version() -> str:
    return source_digest("description/load", "mechanism/build", "mechanism/store")


def _digest(path: str) -> str | None:
    """Digest of a regular file; None if there is none, or something that could block or never end."""
    try:
        return hashlib.sha256(read_bytes(path, URDF)).hexdigest()
    except ServotwinError:
        return None


def _appeared(path: str) -> bool:
    """Whether there is a file now where there was none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def _read(key: str) -> Checked | None:
    entry = read_entry(key, "robots")
    if entry is None:
        return None
    header, numbers = entry
    try:
        if any(_digest(path) != digest for path, digest in header["files"].items()):
            return None
        if any(_appeared(path) for path in header["absent"]):
            return None
        lines = tuple(str(line) for line in header["warnings"])
        return Checked(unpack(header["mechanism"], numbers), str(header["title"]), lines)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _write(key: str, description: RobotDescription, mechanism: Mechanism) -> None:
    files = {str(Path(path).absolute()): _digest(str(path)) for path in description.dependencies}
    if not files or None in files.values():
        return
    layout, numbers = pack(mechanism)
    header: dict[str, Any] = {
        "files": files,
        "absent": [str(path.absolute()) for path in description.absent],
        "title": description.title or "",
        "warnings": list(description.warnings),
        "mechanism": layout,
    }
    write_entry(key, header, numbers, "robots")
