"""Robot files that somebody dropped onto the page: read in a process of its own, within bounds of time and memory.

Nothing of them is run. A robot file may name parts of the catalogue and what was dropped with it, and no other file:
they lie alone in a folder of their own.
"""

from __future__ import annotations

import json
import re
import struct
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from servotwin.description.reach import Named, Reach
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.store import pack, unpack
from servotwin.pendant.view.dropped_files import LIMIT, placed, robot_file
from servotwin.processes import run_limited
from servotwin.robot.robot import Robot
from servotwin.scene.looks import Looks, read_looks

SECONDS = 20.0
MEMORY = 3_000_000_000  # bytes of addresses; libraries alone take a third of it
ANSWER = 50_000_000
MOST_JOINTS = 64
READ = "from servotwin.pendant.view.dropped import answer; answer()"
TOGETHER = "expected it among the dropped files: drop all files of the robot together, or their folder"
# What a dropped file cannot be told, and what it is told instead.
_WORDS = (
    (re.compile(r"leads to .*?\(allow_outside=True\)"), f"is not there; {TOGETHER}"),
    (re.compile(r"(no such file '[^']*'); expected .*"), rf"\1; {TOGETHER}"),
    (re.compile(r"is not there; expected it beside the robot file.*"), f"is not there; {TOGETHER}"),
)


class Dropped(NamedTuple):
    """The robot of dropped files, and what they say about its looks."""

    robot: Robot
    looks: Looks


def read_dropped(files: Mapping[str, bytes]) -> Dropped:
    """The robot of dropped files, by their paths; InputError as the command line would say it."""
    name = next(iter(files)) if len(files) == 1 else f"{len(files)} files"
    with tempfile.TemporaryDirectory(
        prefix="servotwin-drop-"
    ) as folder:  # a process that is killed leaves its own
        head = {"folder": folder, "files": [[path, len(data)] for path, data in files.items()]}
        body = _with_head(head, b"".join(files.values()))
        written = run_limited(READ, body, seconds=SECONDS, memory=MEMORY, answer=ANSWER)
    if written is None:
        raise InputError(
            f"cannot be read within {SECONDS:g} s and {MEMORY // 10**9} GB; expected a smaller robot",
            file=name,
        )
    header, numbers = _head_of(written)
    if "error" in header:
        raise InputError(str(header["error"]))
    mechanism = unpack(header["mechanism"], numbers)
    if mechanism.n_tree > MOST_JOINTS:
        raise InputError(f"{mechanism.n_tree} joints; expected at most {MOST_JOINTS} here", file=name)
    robot = Robot(mechanism, title=str(header["title"]), warnings=[str(line) for line in header["warnings"]])
    looks = header["looks"]
    shapes = {int(body): shapes for body, shapes in looks["shapes"].items()}
    return Dropped(robot, Looks(shapes, looks["meshes"], looks["notes"]))


def answer() -> None:
    """In the process: read files from stdin, write their mechanism or what is wrong with it to stdout."""
    head, data = _head_of(sys.stdin.buffer.read())
    files: dict[str, bytes] = {}
    at = 0
    for path, size in head["files"]:
        files[path] = data[at : at + size]
        at += size
    written = _with_head(*answer_to(files, Path(head["folder"])))
    if len(written) > ANSWER:  # the server has not to read it to say so
        error = f"its shapes and meshes take {len(written)} bytes in a picture; expected at most {ANSWER}"
        written = _with_head({"error": error}, b"")
    sys.stdout.buffer.write(written)


def answer_to(files: Mapping[str, bytes], folder: Path) -> tuple[dict[str, Any], bytes]:
    """The mechanism of files that are laid into an empty folder, as ``pack`` gives it; or what is wrong with it."""
    try:
        name = robot_file(files)
        if len(files[name]) > LIMIT:
            raise InputError(f"{len(files[name])} bytes; expected at most {LIMIT}", file=name)
        where = placed(name, files)
        _lay(folder, where, files)
        return _read(folder, where[name][0])
    except (ServotwinError, RecursionError, MemoryError, OSError) as error:
        return {"error": _said(str(error) or f"{next(iter(files))}: {type(error).__name__}", folder)}, b""


def _lay(folder: Path, where: Mapping[str, list[str]], files: Mapping[str, bytes]) -> None:
    """Write every file to its first place, then to those at which texts seem to name it, where these can exist."""
    for path, places in where.items():
        _write(folder / places[0], files[path])
    for path, places in where.items():
        for place in places[1:]:
            with suppress(OSError):  # 'arm.yaml/motors.yaml' in a comment: a file is no folder
                _write(folder / place, files[path])


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _read(folder: Path, name: str) -> tuple[dict[str, Any], bytes]:
    from servotwin.description.load import read_description
    from servotwin.mechanism.build import build_mechanism

    file = Named(str(folder / name), Reach(str(folder.resolve()), sealed=True))
    description = read_description(file)
    mechanism = build_mechanism(description)
    looks = read_looks(description, mechanism, file)
    layout, numbers = pack(mechanism)
    header = {
        "mechanism": layout,
        "title": description.title or "",
        "warnings": [_said(line, folder) for line in description.warnings],
        "looks": {
            "shapes": looks.shapes,
            "meshes": looks.meshes,
            "notes": [_said(line, folder) for line in looks.notes],
        },
    }
    return header, numbers


def _said(text: str, folder: Path) -> str:
    """A message in words of the page, which knows no folder and no options."""
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    ours = "|".join({re.escape(str(place)) for place in (folder, folder.resolve())})
    return re.sub(rf"(?:{ours})/(?:loose/(?:in/)?(?:here/)?)?", "", text)


def _with_head(head: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(head).encode()
    return struct.pack("<I", len(text)) + text + data


def _head_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    (size,) = struct.unpack("<I", data[:4])
    return json.loads(data[4 : 4 + size]), data[4 + size :]
