"""The key of the user's that entries are authenticated with: 32 random bytes in a file that only the user can read.

It lies apart from the cache, so that a cache that comes from elsewhere, with whatever key, is not believed. Only
where the user has no folder for it, it lies in the cache.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from servotwin.cache.place import user_folder
from servotwin.cache.trust import fault, folder_fault, make_folder, read_trusted, say_once, write_private

NAME = "cache-key"
SIZE = 32
SECRET = stat.S_IRWXG | stat.S_IRWXO  # rights that nobody else may have


def key_of(folder: Path | None, *, make: bool = False) -> bytes | None:
    """The key of the entries in a folder; None if there is none and none can, or shall, be made.

    Without a folder for entries the key is the one that lies apart.
    """
    apart = user_folder("XDG_STATE_HOME", ".local", "state")
    found = _found(apart, folder)
    home = _home(apart, folder)
    if found is None and make and home is not None:
        _make(home)
    if found is None:
        _found.cache_clear()  # this process or another one may have made one meanwhile
    return _found(apart, folder) if make else found


@lru_cache(maxsize=8)
def _found(apart: Path | None, folder: Path | None) -> bytes | None:
    found = None if apart is None else _read(apart)
    home = _home(apart, folder)
    return found or (None if home is None else _read(home))


def _home(apart: Path | None, folder: Path | None) -> Path | None:
    """Where the key belongs: apart from the cache, if the user can have a folder there."""
    return folder if apart is None or make_folder(apart) is not None else apart


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


def _make(place: Path) -> None:
    """Put a new key into a folder, if it can be; two processes that do so at once end up with the same one."""
    path, fresh = place / NAME, place / f".{NAME}-{os.urandom(8).hex()}"
    with suppress(OSError):
        if os.path.lexists(path):
            if _spoilt(path.lstat()):
                write_private(path, os.urandom(SIZE))
            return
        write_private(fresh, os.urandom(SIZE))
        _give_name(fresh, path)


def _spoilt(status: os.stat_result) -> bool:
    """Whether a key is not to be trusted, or never can be read.

    One that only could not be opened just now, such as with too many open files, is kept: all that is authenticated
    with it would be lost.
    """
    trusted = stat.S_ISREG(status.st_mode) and fault(status) is None and not status.st_mode & SECRET
    return not (trusted and status.st_mode & stat.S_IRUSR and status.st_size == SIZE)


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
