"""The one place where files that a stranger may have made are opened.

A name can stand for anything: a FIFO that never ends a read, a device that acts when it is opened, a file of the
kernel's that tells about this machine. Only regular files of a bounded size are read; the rest is refused before
it is opened.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from servotwin.description.plain_text import one_line, visible
from servotwin.errors import InputError

KB, MB, GB = 1_000, 1_000_000, 1_000_000_000
_KERNEL = ("/proc", "/sys", "/dev")  # file systems whose files are made by the kernel
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_TYPES = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a FIFO (a named pipe)"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True)
class Kind:
    """What a file is expected to be, how many bytes it may have, and what to do about a larger one."""

    what: str
    limit: int
    remedy: str = "check that it is the right file"


ROBOT = Kind("a robot file", 1 * MB, "check that it is the right file, or move parts into files to include")
URDF = Kind("a URDF file", 32 * MB)
XACRO = Kind("a xacro file", 32 * MB)
MESH = Kind("a mesh", 200 * MB, "reduce the number of its faces")
JOB = Kind("a job file", 1 * MB, "move parts into files to CALL")
POINTS = Kind("a points file", 1 * MB)
IO_SCRIPT = Kind("a script of inputs and keys (.yaml)", 1 * MB)
FAULT_PLAN = Kind("a plan of faults (.yaml)", 1 * MB)
ESI = Kind("an ESI file (.xml)", 64 * MB)
ENI = Kind("an ENI file (.xml)", 64 * MB)
STATE = Kind("a state of a model (.json)", 1 * MB)
LAW = Kind("a Python file", 1 * MB)
CSV = Kind("a CSV file", 1 * GB, "cut it to the columns and the time that are compared")
TABLE = Kind("a table of signals", 2 * GB, "run again with a longer time between rows, --record '2 ms'")
SUMMARY = Kind("a summary", 64 * MB)


def open_regular(path: str | os.PathLike[str], kind: Kind = ROBOT) -> BinaryIO:
    """The bytes of a regular file, as a stream; InputError with one line for everything else."""
    shown = visible(one_line_path(path))
    try:
        _check(Path(path).stat(), os.path.realpath(path), kind, shown)
        descriptor = os.open(path, _FLAGS)
        try:  # what was checked may have been replaced since
            _check(os.fstat(descriptor), _place(descriptor, path), kind, shown)
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise
    except ValueError:  # a name that no file can have
        raise InputError(f"no such file; expected {kind.what}", file=shown) from None
    except OSError as error:
        if error.errno in _ABSENT:
            raise InputError(f"no such file; expected {kind.what}", file=shown) from None
        raise InputError(f"cannot be read: {error.strerror}; expected {kind.what}", file=shown) from None


def read_bytes(path: str | os.PathLike[str], kind: Kind = ROBOT) -> bytes:
    """The bytes of a regular file."""
    shown = visible(one_line_path(path))
    try:
        with open_regular(path, kind) as stream:
            data = b"".join(_pieces(stream, kind.limit))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; expected {kind.what}", file=shown) from None
    if len(data) > kind.limit:  # it grew since
        raise _too_large(len(data), kind, shown)
    return data


def _pieces(stream: BinaryIO, limit: int) -> Iterator[bytes]:
    """The content in pieces, no more than one beyond the limit; asking for all at once would reserve the limit."""
    count = 0
    while count <= limit and (piece := stream.read(MB)):
        count += len(piece)
        yield piece


def read_text(path: str | os.PathLike[str], kind: Kind = ROBOT) -> str:
    """The text of a regular file in UTF-8."""
    data = read_bytes(path, kind)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        file = visible(one_line_path(path))
        raise InputError("not UTF-8 text; save the file as UTF-8", file=file, line=line) from None


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether anything has this name; ``open_regular`` says what, if it is no regular file."""
    try:
        Path(path).stat()
    except (OSError, ValueError):
        return False
    return True


def one_line_path(path: str | os.PathLike[str]) -> str:
    """The name of a file for a message, cut in its middle if long: both ends tell where it is.

    >>> one_line_path("x" * 5000 + ".yaml")[-10:]
    'xxxxx.yaml'
    """
    text = os.fspath(path)
    return text if len(text) <= 1000 else f"{text[:480]} ... {text[-480:]}"


def _check(found: os.stat_result, place: str, kind: Kind, shown: str) -> None:
    """Refuse what is not a regular file of a bounded size on an ordinary file system."""
    for is_type, what in _TYPES:
        if is_type(found.st_mode):
            raise InputError(f"{what}; expected {kind.what}, a regular file", file=shown)
    if found.st_dev in _kernel_devices() or _in_kernel_folder(place):
        text = f"is made by the kernel ({one_line(place, 100)}); expected {kind.what} on a disk"
        raise InputError(text, file=shown)
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"is not a regular file; expected {kind.what}", file=shown)
    if found.st_size > kind.limit:
        raise _too_large(found.st_size, kind, shown)


def _too_large(size: int, kind: Kind, shown: str) -> InputError:
    text = f"{_amount(size)}, larger than {kind.what} may be ({_amount(kind.limit)}); {kind.remedy}"
    return InputError(text, file=shown)


def _amount(size: int) -> str:
    for unit, name in ((GB, "GB"), (MB, "MB"), (KB, "kB")):
        if size >= unit:
            return f"{size / unit:.10g} {name}"
    return f"{size} bytes"


def _in_kernel_folder(place: str) -> bool:
    in_memory = place.startswith("/dev/shm/")  # ordinary files, kept in memory
    return not in_memory and any(place.startswith(f"{folder}/") for folder in _KERNEL)


def _place(descriptor: int, path: str | os.PathLike[str]) -> str:
    """Where an open file lies, whatever has become of its name."""
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return os.path.realpath(path)


@cache
def _kernel_devices() -> frozenset[int]:
    """The devices of the kernel's file systems, where they are mounted."""
    found: set[int] = set()
    for folder in _KERNEL:
        try:
            found.add(Path(folder).stat().st_dev)
        except OSError:
            continue
    return frozenset(found) - {Path("/").stat().st_dev}
