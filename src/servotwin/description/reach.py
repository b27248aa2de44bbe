"""How far a file may reach: what it names lies in the folder of the first file, or ships with the package.

The first file is the one that the user named. A robot file, scenario, job or points file of a stranger cannot
draw in other files of the user's, whatever paths or links it contains; the user himself may name any file, and
allows the rest with ``--allow-outside`` or ``allow_outside=True``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from servotwin.description.plain_text import one_line, quoted

_PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = tuple(str(_PACKAGE / place) for place in ("catalogue", "scenarios", "jobs/examples"))
_OUTWARD = re.compile(
    r" leads to [^\n]*?, outside of [^\n]*?, the folder of the first file; expected a file below it, "
    r"or --allow-outside \(allow_outside=True\)"
)
_ALLOWED: ContextVar[bool] = ContextVar("outside_allowed", default=False)


@contextmanager
def outside(allowed: bool = True) -> Iterator[None]:
    """Inside, files may name files anywhere if ``allowed``; otherwise as before."""
    token = _ALLOWED.set(allowed or _ALLOWED.get())
    try:
        yield
    finally:
        _ALLOWED.reset(token)


@dataclass(frozen=True)
class Reach:
    """``folder`` is the one of the first file, links resolved; None stands for everywhere.

    ``sealed``: no package around the folder widens it.
    """

    folder: str | None
    sealed: bool = False

    @classmethod
    def of(cls, first: str | os.PathLike[str]) -> Reach:
        """The reach of what the user named: the folder that the name stands in."""
        if isinstance(first, Named):
            return first.reach
        if _ALLOWED.get():
            return cls(None)
        return cls(_real(Path(first).parent))

    @classmethod
    def of_package(cls, first: str | os.PathLike[str], reach: Reach) -> Reach:
        """``reach``, widened to the ROS package that the first file lies in: the folder with package.xml."""
        if reach.folder is None or reach.sealed:
            return reach
        folder = Path(reach.folder)
        for place in (folder, *folder.parents):
            if (place / "package.xml").is_file():
                return cls(str(place))
        return reach

    def problem(self, path: str | os.PathLike[str], written: str) -> str | None:
        """What is wrong with ``path``, which a file names as ``written``; None if it lies within reach."""
        if self.folder is None:
            return None
        place = _real(path)
        if not place or any(_within(place, folder) for folder in (self.folder, *SHIPPED)):
            return None
        return (
            f"{quoted(written)} leads to {one_line(place, 200)}, outside of {one_line(self.folder, 200)}, the folder"
            " of the first file; expected a file below it, or --allow-outside (allow_outside=True)"
        )


def without_places(text: str) -> str:
    """A message as pages show it: what leads outside is said, neither where to nor how the command would allow it.

    >>> message = Reach("/a/b").problem("/a/c.job", "../c.job")
    >>> without_places(f"x.job:1:6: {message}")
    "x.job:1:6: '../c.job' leads out of the folder of the first file; expected a file below it"
    """
    return _OUTWARD.sub(" leads out of the folder of the first file; expected a file below it", text)


def leads_outside(path: str | os.PathLike[str], first: str | os.PathLike[str]) -> bool:
    """Whether ``path``, named by the file ``first``, is read only with ``allow_outside``."""
    return Reach(_real(Path(first).parent)).problem(path, "") is not None


class Named(str):
    """The path of a file that another file names; it knows how far that one may reach."""

    __slots__ = ("reach",)
    reach: Reach

    def __new__(cls, path: str, reach: Reach) -> Named:
        """The path with the reach of the file that names it."""
        made = super().__new__(cls, path)
        made.reach = reach
        return made


def _real(path: str | os.PathLike[str]) -> str:
    """The place a name stands for, links resolved; a name that no file can have stands for nothing."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return ""


def _within(place: str, folder: str) -> bool:
    return place.startswith(folder.rstrip(os.sep) + os.sep)
