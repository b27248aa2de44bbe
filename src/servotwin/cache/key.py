"""The key of the user's that entries are authenticated with: 32 random bytes in a file that only the user can read.

It lies apart from the cache, so that a cache that comes from elsewhere, with whatever key, is not believed. Only
where the user has no folder for it, it lies in the cache.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path

from servotwin.cache.place import user_folder
from servotwin.cache.trust import folder_fault, make_folder, read_trusted, say_once, write_private

NAME = "cache-key"
SIZE = 32
SECRET = stat.S_IRWXG | stat.S_IRWXO  # rights that nobody else may have


def key_of(folder: Path, *, make: bool = False) -> bytes | None:
    """The key of the entries in a folder; None if there is none and none can, or shall, be made."""
    return _key(user_folder("XDG_STATE_HOME", ".local", "state"), folder, make)


def _key(apart: Path | None, folder: Path, make: bool) -> bytes | None:
    found = _found(apart, folder)
    if found is None and make:
        _found.cache_clear()
        made = any(_make(place) for place in (apart, folder) if place is not None)
        found = _found(apart, folder) if made else None
    if found is None:
        _found.cache_clear()  # another process may make one
    return found


@lru_cache(maxsize=8)
def _found(apart: Path | None, folder: Path) -> bytes | None:
    keys = (_read(place) for place in (apart, folder) if place is not None)
    return next((key for key in keys if key is not None), None)


def _read(place: Path) -> bytes | None:
    """The key in a folder; None if there is none that can be trusted."""
    path = place / NAME
    if not os.path.lexists(path) or folder_fault(place) is not None:
        return None
    key = read_trusted(path)
    if key is None or len(key) != SIZE:
        return None
    if path.stat().st_mode & SECRET:
        say_once("key", f"{path} can be read by others; another key is made, and what was kept is made again")
        return None
    return key


def _make(place: Path) -> bool:
    """Put a new key into a folder; two processes that do so at once end up with the same one."""
    if make_folder(place) is not None:
        return False
    path, fresh = place / NAME, place / f".{NAME}-{os.urandom(8).hex()}"
    try:
        if os.path.lexists(path):  # there, but not to be trusted
            write_private(path, os.urandom(SIZE))
            return _read(place) is not None
        write_private(fresh, os.urandom(SIZE))
        _give_name(fresh, path)
    except OSError:
        return False
    return _read(place) is not None


def _give_name(fresh: Path, path: Path) -> None:
    """Let a whole file appear under a name, unless another process was quicker."""
    try:
        os.link(fresh, path)
    except FileExistsError:
        fresh.unlink()
    except OSError:  # a file system without hard links; the last one wins there
        fresh.replace(path)
    else:
        fresh.unlink()
