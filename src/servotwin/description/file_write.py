"""Files out: each is written whole or not at all, and keeps permissions and owner of the one that it replaces.

The content goes to a hidden temporary file in the same folder, to the disk, and then takes the name. A killed process
leaves the old or the new file, and perhaps a temporary one, which the next writing of that file removes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import time
import uuid
from pathlib import Path

from servotwin.description.plain_text import one_line
from servotwin.errors import InputError

TEMPORARY = ".servotwin-file-"  # begins the names of temporary files
FORGOTTEN = 24 * 3600.0  # s after which a temporary file counts as left behind where no lock tells
ATTEMPTS = 20


def atomic_write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file so that readers see the old or the whole text, never a part.

    A link stays a link: the file that it names is replaced.
    """
    try:
        _replace(Path(os.path.realpath(path)), text.encode())
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from None


def atomic_write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file so that readers see the old or the whole content; a link is replaced, not followed."""
    try:
        _replace(Path(path), data)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from None


def export_text(path: str | Path, text: str, *, overwrite: bool = False) -> None:
    """Write a file that a command was asked for; an existing one is replaced only with ``overwrite``.

    A link is replaced too: the file that it names stays as it is. A missing folder is made.
    """
    refuse_existing(path, overwrite=overwrite)
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        _replace(Path(path), text.encode())
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from None


def refuse_existing(path: str | Path, *, overwrite: bool) -> None:
    """Raise InputError if there is a file that may not be replaced; said before the work is done."""
    with contextlib.suppress(ValueError):  # a name that no file can have is refused when it is written
        if os.path.lexists(path) and not overwrite:
            raise _exists(path)


def unwritable(path: str | Path, error: Exception) -> InputError:
    """The error for a place that cannot be written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot be written: {one_line(reason, 120)}", file=one_line(path, 200))


def keep_attributes(old: Path, new: int) -> None:
    """Give an open file or folder the permissions of the one that it replaces, and its owner where we may."""
    found, now = old.stat(), os.fstat(new)
    if (found.st_uid, found.st_gid) != (now.st_uid, now.st_gid):
        with contextlib.suppress(OSError):  # only root gives files away; the group may be one of ours
            os.fchown(new, found.st_uid if os.geteuid() == 0 else -1, found.st_gid)
    os.fchmod(new, stat.S_IMODE(found.st_mode))


def locked(path: Path) -> int | None:
    """A locked file or folder; None if a living process has it, OSError if the file system has no locks.

    A lock ends with its process, however that ends.
    """
    descriptor = os.open(
        path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    )  # a pipe would wait for its writer
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _exists(path: str | Path) -> InputError:
    return InputError("the file exists; add --overwrite to replace it", file=one_line(path, 200))


def _replace(target: Path, data: bytes) -> None:
    """Let a file with this content take the name of the target."""
    old = _regular(target)
    stem = f"{TEMPORARY}{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}-"
    _remove_leftovers(target.parent, stem)
    temporary, descriptor = _temporary(target.parent, stem, private=old)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            stream.write(data)
        os.fsync(descriptor)
        if old:
            keep_attributes(target, descriptor)
        temporary.replace(target)
    finally:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)


def _regular(target: Path) -> bool:
    """Whether there is a file to be replaced; folders, devices and pipes are never."""
    try:
        found = target.lstat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found) and not stat.S_ISLNK(found):
        raise ValueError("it is a device or a pipe; expected the name of a file")
    return stat.S_ISREG(found)


def _temporary(folder: Path, stem: str, *, private: bool) -> tuple[Path, int]:
    """A new open file, locked to show that its process lives."""
    for _ in range(ATTEMPTS):
        path = folder / f"{stem}{uuid.uuid4().hex[:12]}.tmp"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600 if private else 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = not path.exists()
        except OSError as error:
            taken = isinstance(error, BlockingIOError)  # otherwise a file system without locks
        if not taken:
            return path, descriptor
        os.close(descriptor)  # another process takes it for a leftover
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _remove_leftovers(folder: Path, stem: str) -> None:
    """Remove what killed processes left of earlier writings of a file."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.startswith(stem):
                with contextlib.suppress(OSError):
                    _remove_leftover(Path(entry.path))


def _remove_leftover(path: Path) -> None:
    try:
        lock = locked(path)
    except OSError:
        if time.time() - path.lstat().st_mtime > FORGOTTEN:
            path.unlink(missing_ok=True)
        return
    if lock is not None:
        path.unlink(missing_ok=True)
        os.close(lock)
