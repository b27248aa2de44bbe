"""The one folder of jobs and points: names from a page never lead out of it, not by links either."""

from __future__ import annotations

import os
import re
from pathlib import Path

from servotwin.description.reach import without_places
from servotwin.errors import InputError
from servotwin.jobs.program import SUFFIX

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")


def inside(folder: Path, name: object) -> Path:
    """The path of a job in the folder; InputError for a name that is none, or that leads elsewhere."""
    if not isinstance(name, str) or not NAME.fullmatch(name) or not name.lower().endswith(SUFFIX):
        raise InputError("expected letters, digits, _ and -, then .job, such as pick.job", field="job name")
    path = folder / name
    home = Path(os.path.realpath(folder))
    for beside in (path, path.with_suffix(".points.yaml")):
        if Path(os.path.realpath(beside)).parent != home:
            raise InputError(f"{name} leads out of the folder of jobs; it is not opened", field="job name")
    return path


def without_folder(text: str, folder: Path) -> str:
    """A message with names of files instead of paths: a page has one line, and need not know where the folder is.

    What a page cannot do is not advised either.
    """
    for home in (str(folder), os.path.realpath(folder)):
        if home != os.sep:
            text = re.sub(rf"{re.escape(home)}(?![\w.-])", "the folder", text.replace(f"{home}{os.sep}", ""))
    return without_places(text)


def jobs_in(folder: Path, most: int = 200) -> list[str]:
    """Names of the jobs of the folder that may be opened, in order."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError:
        return []
    return [name for name in names if _may_be_opened(folder, name)][:most]


def _may_be_opened(folder: Path, name: str) -> bool:
    try:
        inside(folder, name)
    except InputError:
        return False
    return True
