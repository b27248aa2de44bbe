"""Files that a page sends together: their paths, which of them is the robot's, and where the others belong."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from servotwin.errors import InputError

LIMIT = 2_000_000  # bytes of a robot file
LIMIT_OF_ALL = 24_000_000  # of all files together
MOST_FILES = 200
MOST_PARTS, LONGEST_PART = 10, 100  # of a path
LONGEST_LIST = 1_000_000  # bytes of the list of all paths
TEXTS = (".yaml", ".yml", ".urdf")
# Files without folders lie this deep, so that '../parts.yaml' still leads to a place of ours.
LOOSE = "loose/in/here"
_FORMAT = re.compile(rb"^format:\s*['\"]?servotwin/", re.MULTILINE)


def sent_files(body: bytes) -> dict[str, bytes]:
    """The files in a request: the length of a list of [path, size] as four bytes, the list as JSON, their contents."""
    wrong = InputError("the files could not be told apart; expected a list of paths and sizes before them")
    try:
        length = int.from_bytes(body[:4], "little")
        if length > LONGEST_LIST:
            raise wrong
        listed = json.loads(body[4 : 4 + length])
        if not isinstance(listed, list) or any(
            not isinstance(entry, list) or [type(part) for part in entry] != [str, int] for entry in listed
        ):
            raise wrong
    except (ValueError, RecursionError):
        raise wrong from None
    if not 0 < len(listed) <= MOST_FILES:
        raise InputError(f"{len(listed)} files; expected 1 to {MOST_FILES}")
    found: dict[str, bytes] = {}
    at = 4 + length
    for written, size in listed:
        path = _checked(written)
        if size < 0 or at + size > len(body) or path in found:
            raise wrong
        found[path] = body[at : at + size]
        at += size
    _check_folders(found)
    return found


def robot_file(files: Mapping[str, bytes]) -> str:
    """The path of the robot file among others: the one that no other robot file names."""
    for path in files:
        if len(files) == 1 and PurePosixPath(path).suffix.lower() not in TEXTS:
            raise InputError("not a robot file; expected .yaml, .yml or .urdf", file=path)
    texts = [path for path in files if PurePosixPath(path).suffix.lower() in TEXTS]
    if len(texts) == 1:
        return texts[0]
    robots = [path for path in texts if path.lower().endswith(".urdf") or _FORMAT.search(files[path])]
    roots = [
        path
        for path in robots
        if not any(PurePosixPath(path).name.encode() in files[other] for other in robots if other != path)
    ]
    if len(roots) == 1:
        return roots[0]
    if not robots:
        raise InputError(
            f"no robot among {len(files)} files; expected a .yaml file with 'format: servotwin/1', or a .urdf file"
        )
    named = ", ".join((roots or robots)[:5])
    raise InputError(f"several robots: {named}; expected one, and the files that it names")


def placed(robot: str, files: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Where every file lies, once or more often, the robot file first of its places.

    Files out of a folder keep their paths. Files that came without one lie beside each other and where the texts among
    them name them: ``meshes/arm.stl``, ``package://arm/meshes/arm.stl``, ``../motors.yaml``.
    """
    if any("/" in path for path in files):
        return {path: [path] for path in files}
    texts = [
        data.decode("utf-8", errors="replace")
        for path, data in files.items()
        if PurePosixPath(path).suffix.lower() in TEXTS
    ]
    return {
        path: [f"{LOOSE}/{path}", *([] if path == robot else _named_places(path, texts))] for path in files
    }


def _named_places(name: str, texts: list[str]) -> list[str]:
    """Places inside of our folder at which texts name a file."""
    found: dict[str, None] = {}
    for text in texts:
        at = text.find(f"/{name}")
        while at >= 0 and len(found) < MOST_PARTS:
            before = re.search(r"[\w.:/-]*$", text[max(at - 300, 0) : at])
            written = re.sub(r"^.*?(?:package|file)://", "", before.group() if before else "")
            place = posixpath.normpath(f"{LOOSE}/{written.lstrip('/')}/{name}")
            if place != f"{LOOSE}/{name}" and not place.startswith(".."):
                found[place] = None
            at = text.find(f"/{name}", at + 1)
    return list(found)


def _checked(path: str) -> str:
    """A path that leads downwards only; blanks and other letters stay as they are."""
    parts = path.replace("\\", "/").strip("/").split("/")
    good = len(parts) <= MOST_PARTS and all(
        part not in ("", ".", "..") and part.isprintable() and len(part.encode()) <= LONGEST_PART
        for part in parts
    )
    if not good:
        shown = "".join(c if c.isprintable() else "?" for c in path)[-80:]
        raise InputError(f"{shown!r} is no path of a dropped file; expected names of files and folders")
    return "/".join(parts)


def _check_folders(files: Mapping[str, bytes]) -> None:
    """Refuse a name that is to be a file and a folder."""
    for path in files:
        for folder in PurePosixPath(path).parents:
            if str(folder) in files:
                raise InputError(f"{str(folder)!r} is a file and a folder; expected one of them")
