"""Whose a file or folder is: what others own or can write is not used."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_said: set[str] = set()


def say_once(subject: str, text: str) -> None:
    """A line on stderr about the cache, once per process and subject."""
    if subject in _said:
        return
    _said.add(subject)
    with suppress(OSError, ValueError, AttributeError):  # stderr may be closed, or absent
        sys.stderr.write(f"cache: {' '.join(text.split())}\n")


def fault(status: os.stat_result) -> str | None:
    """Why a file or folder is not trusted; None if it is this user's and nobody else can write it."""
    if status.st_uid != os.geteuid():
        return f"belongs to user id {status.st_uid}, not to {os.geteuid()}"
    if status.st_mode & WRITABLE_BY_OTHERS:
        return f"can be written by others (mode {stat.S_IMODE(status.st_mode):04o}; expected 'chmod go-w')"
    return None


def folder_fault(folder: Path) -> str | None:
    """Why a folder is not trusted, or cannot be used; None if it is trusted."""
    try:
        link = folder.lstat()
        if stat.S_ISLNK(link.st_mode) and link.st_uid not in (0, os.geteuid()):
            return f"is a link of user id {link.st_uid}"
        status = folder.stat()
    except (OSError, ValueError) as error:
        return f"cannot be used ({getattr(error, 'strerror', None) or error})"
    return fault(status) if stat.S_ISDIR(status.st_mode) else "is not a folder"


def make_folder(folder: Path) -> str | None:
    """Make a folder that only this user can enter, if there is none; why it cannot be written to, or None."""
    try:
        for place in [*reversed(folder.parents), folder]:  # each of ours alone, whatever the umask allows
            if not place.exists():
                place.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    except (OSError, ValueError) as error:
        return f"cannot be made ({getattr(error, 'strerror', None) or error})"
    found = folder_fault(folder)
    if found is None and not os.access(folder, os.W_OK | os.X_OK):
        return "cannot be written to"
    return found


def read_trusted(path: Path) -> bytes | None:
    """The content of a file of this user's that nobody else can write; None, and a line, for any other."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        if path.is_symlink():
            say_once("entry", f"{path} is a link; it is ignored")
        return None
    status = os.fstat(descriptor)
    found = fault(status) if stat.S_ISREG(status.st_mode) else "is not a file"
    if found is not None:
        os.close(descriptor)
        say_once("entry", f"{path} {found}; it is ignored")
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only this user can read; it appears whole under its name, or not at all."""
    part = path.with_name(f".part-{os.urandom(8).hex()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
