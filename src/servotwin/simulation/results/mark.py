"""The mark of a result folder: the hidden file that says which files in it are ours.

It lists the files that the commands wrote into its folder, with their SHA-256. A file that is not listed, or is not
what was written, belongs to the user: it is neither replaced nor removed unless ``overwrite`` is asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Mapping
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any

from servotwin.description.plain_text import one_line, quoted
from servotwin.errors import InputError

MARK = ".servotwin-result"
FORMAT = "servotwin-result/1"
LARGEST_MARK = 1_000_000  # bytes of a mark
LARGEST_SUMMARY = 50_000_000  # bytes of a summary that is looked at
PIECE = 1 << 20  # bytes of a page that are looked at together
HIDDEN = ".servotwin-"  # begins the names of the mark and of temporary files and folders

KNOWN = (  # all that commands write into result folders
    *("summary.json", "signals.parquet", "zoom.parquet", "report.html", "instructions.json", "link.parquet"),
    *("tuning.html", "tuning.json", "comparison.html", "comparison.json", "comparison.parquet"),
    *("model.html", "model.json", "model.mat", "model.m", "model.txt", "model.tex"),
    *("model_equations.c", "model_equations.py", "design.html", "design.json"),
)

Digests = dict[str, str]


def file_digest(path: Path) -> str | None:
    """The SHA-256 of a regular file; None for anything else, links too."""
    stream = _open_regular(path)
    if stream is None:
        return None
    with stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_mark(folder: Path) -> Digests | None:
    """The files that a folder's mark lists; None if it has none that can be read."""
    found = small_json(folder / MARK, LARGEST_MARK)
    if (
        not isinstance(found, dict)
        or found.get("format") != FORMAT
        or not isinstance(found.get("files"), dict)
    ):
        return None
    files: dict[Any, Any] = found["files"]
    return {name: digest for name, digest in files.items() if isinstance(digest, str)}


def merged_mark(old: Path, new: Path, names: Collection[str], fresh: Collection[str]) -> Digests:
    """The files that the mark of a new folder lists: the ``fresh`` ones, and others of the old folder that are ours.

    ``names``: what the command may write; of these only the fresh ones are left.
    """
    listed = read_mark(old)
    if listed is None:
        kept = {name: file_digest(old / name) for name in KNOWN if _looks_ours(old, name)}
        listed = {name: digest for name, digest in kept.items() if digest is not None}
    others = {name: digest for name, digest in listed.items() if name not in names}
    return others | {name: str(file_digest(new / name)) for name in fresh}


def mark_text(files: Mapping[str, str]) -> str:
    """The content of a mark."""
    about = "Files in this folder that servotwin wrote, and may replace; the others are yours."
    return (
        json.dumps({"format": FORMAT, "about": about, "files": dict(sorted(files.items()))}, indent=2) + "\n"
    )


def places(own: Iterable[str]) -> dict[str, list[str]]:
    """The names of ``own`` by the folder that they stand in, '.' for the outermost."""
    found: dict[str, list[str]] = {}
    for path in map(PurePosixPath, own):
        found.setdefault(str(path.parent), []).append(path.name)
    return found


def ours(target: Path, own: Collection[str]) -> set[str]:
    """Which files of ``own`` are in the folder as the commands wrote them: listed by its mark, and not changed."""
    found = set()
    for place, names in places(own).items():
        folder = target / place
        listed = read_mark(folder)
        if listed is None:
            found |= {_below(place, name) for name in names if _looks_ours(folder, name)}
        else:
            found |= {_below(place, n) for n in names if n in listed and file_digest(folder / n) == listed[n]}
    return found


def once_ours(target: Path, own: Collection[str]) -> set[str]:
    """Which files of ``own`` the commands wrote into the folder, whether they were changed since or not."""
    found = ours(target, own)
    for place, names in places(own).items():
        listed = read_mark(target / place) or {}
        found |= {
            _below(place, n) for n in names if n in listed and file_digest(target / place / n) is not None
        }
    return found


def belongs(folder: Path, name: str) -> bool:
    """Whether a file is part of the folder's result: one that is there, and that the mark does not leave out."""
    listed = read_mark(folder)
    return (folder / name).exists() and (listed is None or name in listed)


def refuse_foreign(target: Path, folder: str | Path, own: Collection[str]) -> None:
    """Raise InputError if writing ``own`` into the target would meet what servotwin did not write.

    ``folder``: how the user named it.
    """
    written = ours(target, own)
    for name in sorted(own):
        if name in written or not os.path.lexists(target / name):
            continue
        listed = read_mark((target / name).parent) or {}
        changed = PurePosixPath(name).name in listed
        why = "was changed since servotwin wrote it" if changed else "was not written by servotwin"
        raise _refused(Path(folder) / name, why, "replace it")
    if written or read_mark(target) is not None:
        return
    names = sorted(path.name for path in target.iterdir())
    first = next((name for name in names if not name.startswith(HIDDEN)), None)
    if first is not None:
        why = f"holds files that servotwin did not write, such as {quoted(first)}"
        raise _refused(folder, why, "write beside them")


def refuse_links(target: Path, folder: str | Path, own: Collection[str]) -> None:
    """Raise InputError if a folder below the target, which ``own`` stands in, is a link or no folder."""
    for place in places(own):
        for part in [PurePosixPath(place), *PurePosixPath(place).parents]:
            path = target / part
            if str(part) != "." and os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
                what = "is a link" if path.is_symlink() else "is a file"
                raise InputError(
                    f"{what}; expected a folder, or another --out", file=str(Path(folder) / part)
                )


def _refused(place: str | Path, why: str, then: str) -> InputError:
    remedy = f"choose another folder with --out, or add --overwrite to {then}"
    return InputError(f"{why}; {remedy}", file=one_line(place, 200))


def _below(place: str, name: str) -> str:
    return name if place == "." else f"{place}/{name}"


# --- folders without a mark, as earlier versions wrote them -------------------------------------

_KEYS = {  # what the numbers of each kind of result have had from the beginning
    "summary.json": (
        {"scenario", "robot", "simulated_s", "complete", "events"},
        {"runs", "simulated_s", "wall_s"},
    ),
    "tuning.json": ({"robot", "pose", "axes", "payload_kg", "speed_bandwidth_rad_per_s"},),
    "comparison.json": ({"axes", "others"},),
}
_NUMBERS = {
    "tuning.html": "tuning.json",
    "comparison.html": "comparison.json",
    "comparison.parquet": "comparison.json",
}


def _looks_ours(folder: Path, name: str) -> bool:
    """Whether a file of a folder without a mark was written by an earlier version: its numbers lie beside it."""
    kind = _NUMBERS.get(name, name if name in _KEYS else "summary.json")
    numbers = small_json(folder / kind, LARGEST_SUMMARY)
    if not isinstance(numbers, dict) or not any(keys <= numbers.keys() for keys in _KEYS[kind]):
        return False
    stream = _open_regular(folder / name)
    if stream is None:
        return False
    with stream:
        if name.endswith(".parquet"):
            return stream.read(4) == b"PAR1"
        return not name.endswith(".html") or _holds(stream, b"ServoTwin")


def small_json(path: Path, largest: int) -> Any:
    """What stands in a JSON file; None if it is none, a link, or larger than that."""
    stream = _open_regular(path)
    if stream is None:
        return None
    with stream:
        data = None if os.fstat(stream.fileno()).st_size > largest else stream.read()
    try:
        return None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None


def _open_regular(path: Path) -> BufferedReader | None:
    """A regular file, as a stream; None for anything else, links too."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb")


def _holds(stream: BufferedReader, word: bytes) -> bool:
    """Whether a word stands in a file, which is read in pieces: a page may be large."""
    before = b""
    while piece := stream.read(PIECE):
        if word in before + piece:
            return True
        before = piece[-len(word) :]
    return False
