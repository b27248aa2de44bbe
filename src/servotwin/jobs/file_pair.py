"""A points file and the job beside it, changed together: both or none, also if the process is killed on the way.

Both texts are written into a hidden folder first, which then gets the name that makes the change count. The files move
to their places after that; whoever reads one of them next moves what a killed process left, if the note in that folder
bears the user's seal. Where the user can keep no key (``cache.seal``), a killed process may leave the earlier files and
the hidden folder.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import stat
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from servotwin.cache.seal import seal
from servotwin.description.file_write import keep_attributes, locked, unwritable
from servotwin.description.regular_file import JOB as JOB_FILE
from servotwin.description.regular_file import Kind, read_bytes
from servotwin.errors import InputError

POINTS, JOB = ".points.yaml", ".job"
HIDDEN = ".servotwin-pair-"
TO_DO = "to-do.json"
NOTE = Kind("a note about files that are changed together", 10_000)


def write_together(texts: Mapping[Path, str]) -> None:
    """Write a points file and its job as one; permissions and owner of the files stay."""
    path = next(iter(texts))
    finish(path)
    committed = _committed(path)
    staging = committed.with_name(f"{committed.name}-{uuid.uuid4().hex[:12]}.new")
    try:
        _remove_leftovers(committed)
        staging.mkdir()
        lock = _lock(staging)
        try:
            _fill(staging, {target: text.encode() for target, text in texts.items()})
            staging.rename(committed)
            _move(committed, path, careful=False)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            os.close(lock)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from None


def _lock(folder: Path) -> int:
    """The folder, locked to show that its process lives."""
    with suppress(OSError):
        found = locked(folder)
        if found is not None:
            return found
    return os.open(folder, os.O_RDONLY)


def finish(path: str | Path) -> None:
    """Complete what a killed process began with a points file or its job."""
    with suppress(OSError, ValueError):
        committed = _committed(Path(path))
        if _is_own_folder(committed.lstat()):
            _move(committed, Path(path), careful=True)


def _is_own_folder(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _committed(path: Path) -> Path:
    """The hidden folder of a change that counts; its name is one that only this user's processes can give."""
    return path.with_name(HIDDEN + seal("pair", os.path.realpath(path.parent), _stem(path)))


def _stem(path: Path) -> str:
    """The name that both files share: without its one ending, so that ``a.job.points.yaml`` goes with ``a.job.job``."""
    return path.name.removesuffix(POINTS if path.name.endswith(POINTS) else JOB)


def _target(path: Path, ending: str) -> Path:
    """The file beside ``path`` with this ending; a link stays a link, the file it names is replaced."""
    return Path(os.path.realpath(path.with_name(_stem(path) + ending)))


def _fill(folder: Path, contents: Mapping[Path, bytes]) -> None:
    """Put the new files and the note about them into the hidden folder, and to the disk."""
    before, after = {}, {}
    for path, data in contents.items():
        ending = POINTS if path.name.endswith(POINTS) else JOB
        target = _target(path, ending)
        before[ending] = _digest(target)
        after[ending] = hashlib.sha256(data).hexdigest()
        _put(folder / ending[1:], data, target)
    note = {"before": before, "after": after}
    _put(folder / TO_DO, json.dumps({**note, "seal": _note_seal(next(iter(contents)), note)}).encode(), None)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _note_seal(path: Path, note: Mapping[str, object]) -> str:
    """What shows that this user's process wrote a note: for these files, with this content."""
    return seal("note", os.path.realpath(path.parent), _stem(path), json.dumps(note, sort_keys=True))


def _note(committed: Path, path: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Digests of the earlier files and of the new ones, by ending; nothing if the note is not this user's."""
    try:
        found = json.loads(read_bytes(committed / TO_DO, NOTE))
        before, after, text = found["before"], found["after"], found["seal"]
        if hmac.compare_digest(text, _note_seal(path, {"before": before, "after": after})):
            return before, after
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return {}, {}


def _put(path: Path, data: bytes, old: Path | None) -> None:
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        if old is not None and old.exists():
            keep_attributes(old, stream.fileno())
        os.fsync(stream.fileno())


def _move(committed: Path, path: Path, *, careful: bool) -> None:
    """Move the files to their places; ``careful``: not over one that was changed since, and not through a link.

    A stranger's folder may hold such a hidden folder, and links that lead to files of the user's.
    """
    before, after = _note(committed, path)
    for ending in (ending for ending in (POINTS, JOB) if ending in before):
        source, target = committed / ending[1:], _target(path, ending)
        if source.is_symlink() or _digest(source) != after.get(ending):
            continue
        if careful and path.with_name(_stem(path) + ending).is_symlink():
            continue
        if not careful or _digest(target) == before[ending]:
            with suppress(FileNotFoundError):  # another process was quicker
                source.replace(target)
    shutil.rmtree(committed, ignore_errors=True)


def _remove_leftovers(committed: Path) -> None:
    """Remove folders of killed processes whose change never counted."""
    for left in committed.parent.glob(f"{committed.name}-*.new"):
        with suppress(OSError):
            lock = locked(left)
            if lock is not None:
                if _is_own_folder(os.fstat(lock)):
                    shutil.rmtree(left, ignore_errors=True)
                os.close(lock)


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(read_bytes(path, JOB_FILE)).hexdigest()
    except InputError:
        return None
