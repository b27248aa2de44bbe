"""A result folder that is replaced as one: a reader finds the earlier result or the new one, never parts of both.

The new files are written into a hidden folder beside the earlier one. It then takes the place of the earlier one in
one step of the file system (``renameat2`` with RENAME_EXCHANGE), or in two renames where that step is missing. A
folder that must stay where it is gets its files one by one, from a hidden folder that says what is still to be done.
A killed process leaves the earlier or the new folder, or one that ``recover`` completes, and perhaps a hidden folder
that the next run removes. Only a process with the user's key recognises such folders: where the user can keep no key
(``cache.seal``), they stay until the user looks at them. Files that the commands did not write, such as notes, stay
(``result_mark``).
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import shutil
import stat
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from servotwin.cache.seal import seal, sealed
from servotwin.description.file_write import atomic_write_bytes, keep_attributes, locked, unwritable
from servotwin.description.plain_text import one_line
from servotwin.errors import InputError
from servotwin.simulation.results.mark import (
    HIDDEN,
    KNOWN,
    LARGEST_MARK,
    MARK,
    file_digest,
    mark_text,
    merged_mark,
    once_ours,
    ours,
    places,
    refuse_foreign,
    refuse_links,
    small_json,
)

SUMMARY, SIGNALS, ZOOM, PAGE = "summary.json", "signals.parquet", "zoom.parquet", "report.html"
INSTRUCTIONS = "instructions.json"
LINK = "link.parquet"  # cycles of a link to a rig
MCAP = "signals.mcap"  # the same signals for robot tools
RUN_FILES = frozenset((SUMMARY, SIGNALS, ZOOM, PAGE, INSTRUCTIONS, LINK, MCAP))
TUNE_FILES = frozenset(("tuning.html", "tuning.json"))
MODEL_FILES = frozenset(
    (
        *("model.html", "model.json", "model.mat", "model.m", "model.txt", "model.tex"),
        *("model_equations.c", "model_equations.py", "model_equations.m"),
    )
)
DESIGN_FILES = frozenset(("design.html", "design.json"))
OPTIMAL_FILES = frozenset(("optimal.html", "optimal.json", "optimal.parquet"))
SIZING_FILES = frozenset(("sizing.html", "sizing.json", "sizing.csv", "sized-robot.yaml"))
WORKSPACE_FILES = frozenset(("workspace.html", "workspace.json", "boundary.csv", "map.csv"))
ACCURACY_FILES = frozenset(("accuracy.html", "accuracy.json", "accuracy.csv", "attained.csv"))
CALIBRATION_FILES = frozenset(
    ("calibration.html", "calibration.json", "residuals.csv", "calibrated-robot.yaml")
)
STATICS_FILES = frozenset(("statics.html", "statics.json"))
LINE_FILES = frozenset(("linetest.html", "linetest.json"))
COMPARISON_FILES = frozenset(("comparison.html", "comparison.json", "comparison.parquet"))
# Endings of hidden folders: one that is only ever removed; an earlier folder that may have lost its name; one whose
# files are on their way into their place.
NEW, OLD, MOVING = ".new", ".old", ".moving"
TO_DO = ".servotwin-to-do"  # in a folder of the last kind: the files that it replaces and removes
MOST_FOREIGN = 1000  # files of the user in a folder that is exchanged; one with more is a workplace
Removable = Callable[[Path, Collection[str]], set[str]]
ATTEMPTS = 20
FORGOTTEN = 24 * 3600.0  # s after which a hidden folder counts as left behind where no lock tells
RENAME_EXCHANGE = 2  # linux/fs.h
AT_FDCWD = -100


def claim_folder(folder: str | Path, own: Collection[str], *, overwrite: bool = False) -> Path:
    """Make a folder for the files ``own``, or refuse one that holds what servotwin did not write; the real folder.

    Commands call it before the work is done. ``own``: the files that may be written, as paths below the folder.
    """
    target = Path(os.path.realpath(folder))
    try:
        recover(target)
        if target.exists() and not target.is_dir():
            raise InputError("is a file; expected a folder", file=one_line(folder, 200))
        target.mkdir(parents=True, exist_ok=True)
        refuse_links(target, folder, own)
        for _ in range(ATTEMPTS):
            before = target.stat().st_ino
            try:
                if not overwrite:
                    refuse_foreign(target, folder, own)
                return target
            except InputError:
                if target.stat().st_ino == before:  # not replaced meanwhile by another process
                    raise
    except (OSError, ValueError) as error:
        raise unwritable(folder, error) from None
    raise InputError("is replaced again and again by other processes", file=str(folder))


@contextmanager
def claimed_folder(folder: str | Path, own: Collection[str], *, overwrite: bool = False) -> Iterator[Path]:
    """``claim_folder``; if the block is refused, the folders that were made for it and are still empty go again."""
    target = Path(os.path.realpath(folder))
    made = [place for place in (target, *target.parents) if not place.exists()]
    try:
        yield claim_folder(folder, own, overwrite=overwrite)
    except BaseException:
        for place in made:
            with suppress(OSError):  # not empty: there is something in it
                place.rmdir()
        raise


@contextmanager
def replaced_folder(folder: str | Path, own: Collection[str], *, overwrite: bool = False) -> Iterator[Path]:
    """A hidden folder to write into, which takes the place of ``folder`` when the block ends well.

    ``own``: the files that the command may write there, as paths below the folder. Those of an earlier run that the
    block does not write are removed, changed ones with ``overwrite`` only; every other file stays. A folder with files
    that servotwin did not write is refused, unless ``overwrite`` is given or the folder bears our mark and none of them
    is in the way. A folder that cannot be exchanged (the current one, a mount point, one in a read-only folder) gets
    its files one by one.
    """
    target = claim_folder(folder, own, overwrite=overwrite)
    try:
        staging, lock = _hidden_folder(target)
    except (OSError, ValueError) as error:
        raise unwritable(folder, error) from None
    try:
        try:
            yield staging
        except InputError as error:
            raise _placed(error, staging, Path(folder)) from None
        claim_folder(folder, own, overwrite=overwrite)  # a file may have come meanwhile
        try:
            _publish(staging, target, own, once_ours if overwrite else ours)
        except OSError as error:
            raise unwritable(folder, error) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        os.close(lock)


def recover(folder: str | Path) -> None:
    """Put right what a killed process left beside a folder; hidden folders of living processes are left alone."""
    target = Path(os.path.realpath(folder))
    for place in (target.parent, target):
        with suppress(OSError, ValueError):
            for path in sorted(place.glob(f"{hidden_stem(target.name)}*")):
                with suppress(OSError):
                    if _is_ours(path, target):
                        _recover_one(path, target)


def _placed(error: InputError, staging: Path, folder: Path) -> InputError:
    """The same error with the place that the user knows."""
    if error.file is None or not Path(error.file).is_relative_to(staging):
        return error
    place = folder / Path(error.file).relative_to(staging)
    return InputError(error.message, file=str(place), field=error.field)


# --- hidden folders --------------------------------------------------------------------------------


def hidden_stem(name: str) -> str:
    """How the names of a folder's hidden folders begin; of one length, however long the folder's own name is."""
    return f"{HIDDEN}{hashlib.sha256(os.fsencode(name)).hexdigest()[:12]}-"


def hidden_name(target: Path, ending: str) -> str:
    """A new name of a hidden folder of the target, which only this user's processes can give."""
    return _sealed_name(target, uuid.uuid4().hex[:12], ending)


def _sealed_name(target: Path, nonce: str, ending: str) -> str:
    return f"{hidden_stem(target.name)}{nonce}-{seal('result', str(target), nonce, ending)}{ending}"


def _nonce_and_seal(path: Path, target: Path) -> tuple[str, str]:
    nonce, _, rest = path.stem.removeprefix(hidden_stem(target.name)).partition("-")
    return nonce, rest


def _with_ending(path: Path, target: Path, ending: str) -> Path:
    """The name of the same hidden folder for its next purpose; what its ending says is sealed with it."""
    return path.with_name(_sealed_name(target, _nonce_and_seal(path, target)[0], ending))


def _is_ours(path: Path, target: Path) -> bool:
    """Whether a process of this user's gave a hidden folder of the target this name and this purpose."""
    nonce, text = _nonce_and_seal(path, target)
    return sealed(text, "result", str(target), nonce, path.suffix)


def _hidden_folder(target: Path) -> tuple[Path, int]:
    """A new folder beside the target, or inside if that cannot be exchanged, and the lock that shows its owner."""
    for _ in range(ATTEMPTS):
        name = hidden_name(target, NEW)
        path = target.parent / name
        try:
            if not _exchangeable(target):
                raise PermissionError
            path.mkdir()
        except OSError:
            path = target / name
            path.mkdir()
        try:
            lock = locked(path)
        except OSError:  # a file system without locks
            lock = os.open(path, os.O_RDONLY)
        if lock is not None and path.exists():  # no other process took it for a leftover
            os.fchmod(lock, stat.S_IMODE(target.stat().st_mode))  # no less private while it is filled
            return path, lock
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _exchangeable(target: Path) -> bool:
    """Whether another folder may take the place of the target: a shell that stands in it would lose it."""
    with suppress(OSError):
        here = Path.cwd().resolve()
        if target == here or target in here.parents:
            return False
    return not os.path.ismount(target)


def _recover_one(path: Path, target: Path) -> None:
    """Remove a hidden folder that was left behind; an earlier result that lost its name gets it back.

    One of another user, or a link, was not left behind by us; what is only removed may be the owner's of the folder.
    """
    found = path.lstat()
    owners = {os.geteuid()}
    if path.suffix == NEW and target.exists():
        owners.add(target.stat().st_uid)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in owners:
        return
    if path.suffix == OLD and not target.exists():
        path.rename(target)
        return
    try:
        lock = locked(path)
    except OSError:
        forgotten = path.suffix == MOVING or time.time() - path.stat().st_mtime > FORGOTTEN
        lock = os.open(path, os.O_RDONLY) if forgotten else None
    if lock is None:
        return
    try:
        if path.suffix == MOVING:
            with suppress(InputError):
                _move_in(path, target, careful=True)
        if path.suffix == OLD:
            _rescue(path, target, lambda found: found.name in (*KNOWN, MARK))  # by whichever command
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


# --- the exchange ----------------------------------------------------------------------------------


def _publish(staging: Path, target: Path, own: Collection[str], removable: Removable) -> None:
    """Let the new files take the place of the earlier ones; afterwards ``staging`` holds what may be removed.

    ``removable``: which files of an earlier run go, though the new one has none of that name.
    """
    earlier = removable(target, own) | {name for name in _marks(own) if (target / name).exists()}
    fresh = [name for name in own if (staging / name).exists()]
    for name in fresh:
        _keep_mode(target / name, staging / name)
    _put_marks(staging, target, own, fresh)
    made = [*fresh, *(name for name in _marks(own) if (staging / name).exists())]
    if staging.parent == target or not _carried_over(target, staging, earlier):
        _one_by_one(staging, target, made, earlier)
        return
    _keep_mode(target, staging)
    _flushed(staging)
    if _exchange(staging, target) or _two_renames(staging, target):
        _flushed(target.parent)
        left = removable(staging, own)
        _rescue(staging, target, lambda path: path.as_posix() in left or path.name == MARK)
    else:
        _one_by_one(staging, target, made, earlier)


def _marks(own: Collection[str]) -> list[str]:
    """The marks of the folders in which these files stand."""
    return [MARK if place == "." else f"{place}/{MARK}" for place in places(own)]


def _put_marks(staging: Path, target: Path, own: Collection[str], fresh: Collection[str]) -> None:
    """Write the marks of the new folder and of those below; one in which nothing of ours is left needs none."""
    new = places(fresh)
    for place, names in places(own).items():
        listed = merged_mark(target / place, staging / place, names, new.get(place, ()))
        if listed or place == ".":
            (staging / place).mkdir(exist_ok=True)
            atomic_write_bytes(staging / place / MARK, mark_text(listed).encode())


def _keep_mode(old: Path, new: Path) -> None:
    """Permissions and owner of an existing file or folder stay."""
    with suppress(OSError):
        if not old.is_symlink() and (old.is_file() or old.is_dir()):
            descriptor = os.open(new, os.O_RDONLY)
            try:
                keep_attributes(old, descriptor)
            finally:
                os.close(descriptor)


def _entries(folder: Path) -> Iterator[Path]:
    """Files, links and empty folders below a folder, as paths below it; OSError if one cannot be read."""

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse):
        below, here = Path(place).relative_to(folder), Path(place)
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        if not folders and not files and here != folder:
            yield below
        yield from (below / name for name in files)
        yield from (below / name for name in folders if (here / name).is_symlink())


def _carried_over(target: Path, staging: Path, earlier: Collection[str]) -> bool:
    """Give the user's files a second name in the new folder; False if they are too many, or cannot have one."""
    made: list[Path] = []
    try:
        for path in _entries(target):
            copy = staging / path
            if path.as_posix() in earlier or os.path.lexists(copy):
                continue
            _make_parents(path, target, staging)
            if (target / path).is_dir() and not (target / path).is_symlink():
                copy.mkdir()
                continue
            os.link(target / path, copy, follow_symlinks=False)
            made.append(copy)
            if len(made) > MOST_FOREIGN:
                raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))
    except (OSError, NotImplementedError):
        for copy in made:
            copy.unlink(missing_ok=True)
        return False
    return True


def _make_parents(path: Path, target: Path, staging: Path) -> None:
    """The folders above a file of the user, as they are in the target."""
    for parent in reversed(path.parents[:-1]):
        if not (staging / parent).exists():
            (staging / parent).mkdir()
            shutil.copystat(target / parent, staging / parent)


def _exchange(a: Path, b: Path) -> bool:
    """Let two folders change their names in one step; False where system or file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    code = renameat2(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), ctypes.c_uint(RENAME_EXCHANGE))
    return int(code) == 0


def _two_renames(staging: Path, target: Path) -> bool:
    """The same in two steps; a process that dies between them leaves the earlier folder to ``recover``."""
    old = _with_ending(staging, target, OLD)
    for _ in range(ATTEMPTS):
        try:
            target.rename(old)
        except OSError:
            return False
        try:
            staging.rename(target)
        except OSError:  # another process has given the earlier folder its name back
            recover(target)
            continue
        with suppress(OSError):
            old.rename(staging)
        return True
    return False


def _rescue(old: Path, target: Path, ours: Callable[[Path], bool]) -> None:
    """Move files that the user put into the earlier folder at the last moment to the new one."""
    with suppress(OSError):
        for path in list(_entries(old)):
            source, now = old / path, target / path
            with suppress(OSError):
                linked = any((target / parent).is_symlink() for parent in path.parents[:-1])
                if not ours(path) and not source.is_dir() and not linked and not _as_new(now, source):
                    now.parent.mkdir(parents=True, exist_ok=True)
                    source.replace(now)


def _as_new(now: Path, source: Path) -> bool:
    """Whether a file is there already, the same or a later one."""
    if not os.path.lexists(now):
        return False
    a, b = now.lstat(), source.lstat()
    return os.path.samestat(a, b) or a.st_mtime_ns >= b.st_mtime_ns


def _one_by_one(staging: Path, target: Path, made: Collection[str], earlier: Collection[str]) -> None:
    """Move the files into a folder that stays where it is, and remove those of an earlier run that are no more.

    From the renaming on the new result counts: ``recover`` completes what a killed process has begun.
    """
    to_do = {
        "replace": {name: file_digest(target / name) for name in made},
        "remove": {name: file_digest(target / name) for name in earlier if name not in made},
    }
    atomic_write_bytes(staging / TO_DO, json.dumps(to_do).encode())
    _flushed(staging)
    moving = _with_ending(staging, target, MOVING)
    staging.rename(moving)
    _flushed(moving.parent)
    _move_in(moving, target, careful=False)
    shutil.rmtree(moving, ignore_errors=True)


def _move_in(moving: Path, target: Path, *, careful: bool) -> None:
    """Move files to their place, marks last; ``careful``: a file that was changed since it was noted stays."""
    replaced, removed = _to_do(moving)
    refuse_links(target, target, [*replaced, *removed])
    for name in sorted(replaced, key=lambda name: Path(name).name == MARK):
        source, now = moving / name, target / name
        if source.is_symlink() or not source.is_file():
            continue  # moved already
        if careful and file_digest(now) not in (replaced[name], file_digest(source)):
            continue
        now.parent.mkdir(parents=True, exist_ok=True)
        _move(source, now)
    for name, digest in removed.items():
        if digest is not None and file_digest(target / name) == digest:
            (target / name).unlink(missing_ok=True)


def _to_do(moving: Path) -> list[dict[str, str | None]]:
    """The files to replace and those to remove, with their digests; names that leave the folder are left out."""
    found = small_json(moving / TO_DO, LARGEST_MARK)
    parts = [found.get(key) for key in ("replace", "remove")] if isinstance(found, dict) else [None, None]
    return [
        {name: digest for name, digest in part.items() if ".." not in Path(name).parts and name[:1] != "/"}
        if isinstance(part, dict)
        else {}
        for part in parts
    ]


def _move(source: Path, now: Path) -> None:
    try:
        source.replace(now)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        atomic_write_bytes(now, source.read_bytes())
        source.unlink()


def _flushed(folder: Path) -> None:
    """Bring the names in a folder to the disk, so that a power cut finds them in this order."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
