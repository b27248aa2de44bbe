"""Points that are renamed or deleted, in the text of the job that names them."""

from __future__ import annotations

import re
from pathlib import Path

from servotwin.description.regular_file import JOB, read_text
from servotwin.errors import InputError, ServotwinError
from servotwin.jobs.check import used_points
from servotwin.jobs.language import parse, read_job
from servotwin.jobs.points import check_name
from servotwin.jobs.points_file import job_path

_LINE_END = re.compile(r"(\r\n|\r|\n)")


def rename_point(text: str, old: str, new: str, file: str = "job") -> str:
    """The text of a job with every mention of the point ``old`` as ``new``; all else stays as it is written."""
    check_name(new)
    parts = _LINE_END.split(text)  # lines and their ends in turn
    places = used_points(parse(text, file)).get(old, [])
    for place in sorted({(p.line, p.column) for p in places}, reverse=True):
        line, begin = 2 * (place[0] - 1), place[1] - 1
        end = begin + len(old)
        if parts[line][begin:end] != old:
            raise InputError(f"point {old} is not where it was read", file=file, line=place[0])
        parts[line] = parts[line][:begin] + new + parts[line][end:]
    return "".join(parts)


def renamed_beside(points: str | Path, old: str, new: str) -> tuple[Path, str] | None:
    """The job beside a points file and its text with a point renamed; None if there is none that names it."""
    path = job_path(points)
    if path is None:
        return None
    text = read_text(path, JOB)
    renamed = rename_point(text, old, new, str(path))
    return None if renamed == text else (path, renamed)


def mentions(points: str | Path, name: str) -> list[str]:
    """Where the job beside a points file names a point: 'pick.job:3'; empty if it cannot be read."""
    path = job_path(points)
    try:
        places = [] if path is None else used_points(read_job(path)).get(name, [])
    except ServotwinError:
        return []
    return [f"{path}:{line}" for line in sorted({place.line for place in places})]
