"""Load a robot by catalogue name or file; what was read before comes back without parsing.

A description that was checked once is kept as the numbers of its mechanism,
together with the digests of every file it came from. As long as none of them,
the overrides and the loader have changed, loading is reading those numbers:
no YAML, no units, no schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.kernels.cache import read_entry, source_digest, write_entry
from servotwin.mechanism.model import Mechanism
from servotwin.mechanism.store import pack, unpack
from servotwin.robot.robot import RoadName, Robot

if TYPE_CHECKING:
    from servotwin.description.schema import RobotDescription

SOURCES = ("description/*.py", "mechanism/*.py")


def load_robot(
    robot: str | Path, overrides: Mapping[str, str] | None = None, *, road: RoadName = "auto"
) -> Robot:
    """The robot of a catalogue name (``gsis-scara``) or of a ``.yaml`` or ``.urdf`` file.

    ``overrides`` maps fields to values as in the file, for example
    ``{"axes.A.gear.ratio": "80"}``. Mistakes in the file raise ``InputError``
    with file, line, field and remedy.
    """
    mechanism, title = load_mechanism(robot, overrides)
    return Robot(mechanism, road=road, title=title)


def load_mechanism(robot: str | Path, overrides: Mapping[str, str] | None = None) -> tuple[Mechanism, str]:
    """Mechanism and title, from the store of checked descriptions if nothing has changed."""
    key = _key(robot, overrides)
    stored = _read(key)
    if stored is not None:
        return stored
    from servotwin.description.load import read_description
    from servotwin.mechanism.build import build_mechanism

    description = read_description(robot, overrides)
    mechanism = build_mechanism(description)
    _write(key, description, mechanism)
    return mechanism, description.title or ""


def _key(robot: str | Path, overrides: Mapping[str, str] | None) -> str:
    place = str(robot)
    path = Path(robot)
    if path.suffix.lower() in {".yaml", ".yml", ".urdf"}:
        place = str(path.absolute())
    parts = [place, sorted((overrides or {}).items()), _loader_version()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def _loader_version() -> str:
    return source_digest(*SOURCES)


def _digest(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _read(key: str) -> tuple[Mechanism, str] | None:
    entry = read_entry(key, "robots")
    if entry is None:
        return None
    header, numbers = entry
    try:
        if any(_digest(path) != digest for path, digest in header["files"].items()):
            return None
        return unpack(header["mechanism"], numbers), str(header["title"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _write(key: str, description: RobotDescription, mechanism: Mechanism) -> None:
    files = {str(Path(path).absolute()): _digest(str(path)) for path in description.dependencies}
    if not files or None in files.values():
        return
    layout, numbers = pack(mechanism)
    header: dict[str, Any] = {"files": files, "title": description.title or "", "mechanism": layout}
    write_entry(key, header, numbers, "robots")
