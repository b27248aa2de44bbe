"""Changes of a job as a whole."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from servotwin.jobs import syntax as s
from servotwin.jobs.points import check_name

_OF_POINTS = {
    s.PointTarget: ("point",),
    s.Spline: ("points",),
    s.Pallet: ("origin", "row", "column"),
}
T = TypeVar("T")


def rename_point(job: s.Job, old: str, new: str) -> s.Job:
    """The job with every mention of the point ``old`` as ``new``; all else, comments too, stays."""
    check_name(new)
    return _renamed(job, old, new)


def _renamed(part: T, old: str, new: str) -> T:
    """A copy of a part of a job, the point renamed in it and in all below it."""
    if isinstance(part, tuple):
        return tuple(_renamed(item, old, new) for item in part)  # type: ignore[return-value]
    if not is_dataclass(part) or isinstance(part, type):
        return part
    named = _OF_POINTS.get(type(part), ())
    changes: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name in named:
            names = value if isinstance(value, tuple) else (value,)
            given = tuple(new if name == old else name for name in names)
            changes[field.name] = given if isinstance(value, tuple) else given[0]
        else:
            changes[field.name] = _renamed(value, old, new)
    return replace(part, **changes)
