"""Where the cache is: the folder that the user chose, or a private temporary one where that cannot be used."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from servotwin.cache.trust import folder_fault, make_folder, say_once

AGAIN = "and will be compiled again next time"


def user_folder(variable: str, *below: str) -> Path | None:
    """The user's folder of the XDG ``variable``, or the one ``below`` the home folder; None if there is no home."""
    stated = os.environ.get(variable, "")
    if Path(stated).is_absolute():
        return Path(stated) / "servotwin"
    if os.environ.get("HOME") == "":
        return None
    try:
        home = Path.home()
    except (RuntimeError, KeyError, OSError):  # a user id that the system does not know
        return None
    return home.joinpath(*below, "servotwin") if home.is_absolute() else None


class Place:
    """The folder that was ``chosen`` for the cache, if any, and the ``private`` one made in its stead."""

    def __init__(self, chosen: Path | None) -> None:
        self.chosen = chosen
        self.private: Path | None = None
        self.settled = False

    def to_read(self) -> list[Path]:
        """The trusted folders in which entries are looked for."""
        found = [self.private] if self.private is not None else []
        if self.chosen is None or not os.path.lexists(self.chosen):
            return found
        if folder_fault(self.chosen) is None:
            return [self.chosen, *found]
        self.to_write()  # says why the chosen folder is not used, and what is
        return found

    def to_write(self) -> Path | None:
        """The folder in which entries are kept: the chosen one, or a private one for this process alone."""
        if not self.settled:
            why = "no home folder is known" if self.chosen is None else make_folder(self.chosen)
            if why is None:
                return self.chosen
            self.settled = True
            self.private = _private(why if self.chosen is None else f"{self.chosen} {why}")
        return self.private


def place() -> Place:
    """The place of the cache: ``SERVOTWIN_CACHE``, or the user's cache folder."""
    stated = os.environ.get("SERVOTWIN_CACHE")
    return _place(Path(stated).absolute() if stated else user_folder("XDG_CACHE_HOME", ".cache"))


@lru_cache
def _place(chosen: Path | None) -> Place:
    return Place(chosen)


def _private(why: str) -> Path | None:
    """A folder for this process and its helpers, removed at its end; says that what it holds is lost then."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="servotwin-"))
    except OSError:
        say_once("folder", f"{why}, and there is no temporary folder; compiled code is not kept {AGAIN}")
        return None
    atexit.register(_remove, folder, os.getpid())
    say_once("folder", f"{why}; compiled code goes to {folder} {AGAIN}")
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a copy of the process
        shutil.rmtree(folder, ignore_errors=True)
