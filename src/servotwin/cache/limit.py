"""How large the cache may grow: what was not used for longest goes first."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from servotwin.errors import InputError

LIMIT = 1_000_000_000  # bytes
MOST = 1 << 62  # bytes; no disk holds more
KINDS = ("kernels", "loops", "robots")  # folders of the cache
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
ENTRY = re.compile(r"[0-9a-f]{64}|\.part-[0-9a-f]{16}")  # names that only the cache gives
DAY = 86400.0  # s; how exactly it is known when an entry was used last
REST = 0.9  # what is left of a full cache, so that not every further entry makes it look for room
_totals: dict[Path, int] = {}  # bytes in a cache as this process knows them


class Kept(NamedTuple):
    """An entry on disk: its file, bytes, and when it was used last [s]."""

    path: Path
    size: int
    used: float


def size_limit() -> int:
    """Bytes that the cache may hold: ``SERVOTWIN_CACHE_LIMIT``, such as '500 MB'; default 1 GB."""
    text = os.environ.get("SERVOTWIN_CACHE_LIMIT")
    if text is None:
        return LIMIT
    match = SIZE.fullmatch(text.strip())
    factor = UNITS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        said = " ".join(ascii(text[:60]).split())
        raise InputError(
            f"{said} is not a size; expected a number with B, kB, MB or GB, such as '500 MB'",
            field="SERVOTWIN_CACHE_LIMIT",
        )
    return int(min(float(match[1]) * factor, MOST))


def make_room(root: Path, written: Path, size: int) -> None:
    """Count an entry of ``size`` bytes that was just written; entries beyond the limit are removed."""
    limit = size_limit()
    total = _totals[root] + size if root in _totals else sum(entry.size for entry in _entries(root))
    if total > limit:
        total = _evict(root, REST * limit, written)
    _totals[root] = total


def mark_used(path: Path) -> None:
    """Note that an entry is in use. A clock that was set back or forth is put right here."""
    with suppress(OSError):
        if abs(time.time() - path.stat().st_mtime) > DAY:
            os.utime(path)


def _entries(root: Path) -> list[Kept]:
    """The entries of all kinds; what else lies in the folder is not ours to count or remove."""
    found = []
    with suppress(OSError):
        for kind in os.scandir(root):
            if kind.name in KINDS and kind.is_dir(follow_symlinks=False):
                found += _of_kind(kind.path)
    return found


def _of_kind(folder: str) -> list[Kept]:
    found = []
    with suppress(OSError):
        for file in os.scandir(folder):
            with suppress(OSError):  # another process may remove it meanwhile
                if ENTRY.fullmatch(file.name) and file.is_file(follow_symlinks=False):
                    status = file.stat(follow_symlinks=False)
                    found.append(Kept(Path(file.path), status.st_size, status.st_mtime))
    return found


def _evict(root: Path, limit: float, spare: Path) -> int:
    """Remove entries, those used least recently first, until ``limit`` bytes are left; the bytes left."""
    latest = time.time() + DAY
    entries = _entries(root)
    total = sum(entry.size for entry in entries)
    # what seems to be of the future is of a clock that was wrong, and was not used since
    for entry in sorted(entries, key=lambda entry: entry.used if entry.used < latest else 0.0):
        if total <= limit:
            break
        if entry.path != spare:
            with suppress(OSError):
                entry.path.unlink()
            total -= entry.size
    return total
