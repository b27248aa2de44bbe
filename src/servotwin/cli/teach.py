"""``servotwin teach``: the points file of a job, written whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from servotwin.cli.output import print_json, print_line, print_note, print_table, working
from servotwin.description.nodes import one_line

if TYPE_CHECKING:
    from servotwin.workbench.taught import PointsEdit


def record(
    file: str,
    name: str,
    q: str,
    robot: str | None,
    *,
    pose: bool = False,
    frame: str | None = None,
    tool: str | None = None,
    note: str = "",
    replace_old: bool = False,
    json: bool = False,
) -> None:
    """Keep joint positions, or the pose of the tool there, under a name."""
    with working("recording"):
        from servotwin.workbench.taught import record_point

        edit = record_point(
            file, name, q, robot, pose=pose, frame=frame, tool=tool, note=note, replace_old=replace_old
        )
    _print(edit, json=json)


def list_points(file: str, *, json: bool) -> None:
    """Print points, frames and tools."""
    from servotwin.workbench.taught import list_points as run
    from servotwin.workbench.taught import points_data

    found = run(file)
    if json:
        print_json(points_data(found.points))
        return
    print_line(f"{one_line(file, 200)}: {found.points.robot or 'no robot named'}")
    titles = ("kind", "name", "where", "note")
    print_table(titles, [[row[title] for title in titles] for row in found.rows()], text_columns=4)


def rename(file: str, old: str, new: str, *, json: bool) -> None:
    """Call a point something else, in the job beside it too."""
    from servotwin.workbench.taught import rename_point

    _print(rename_point(file, old, new), json=json)


def delete(file: str, name: str, *, json: bool) -> None:
    """Forget a point; what still names it is said."""
    from servotwin.workbench.taught import delete_point

    _print(delete_point(file, name), json=json)


def edit(file: str, name: str, changes: Sequence[str], *, json: bool) -> None:
    """Change fields of a point: ``x=10 mm`` sets one, ``x+=1 mm`` shifts it, ``note=...`` says something."""
    from servotwin.workbench.taught import edit_point

    _print(edit_point(file, name, *changes), json=json)


def place(file: str, kind: str, name: str, fields: Sequence[str], *, json: bool) -> None:
    """Set a frame or a tool: ``x=300 mm``, ``yaw=90 deg``; what is not given is zero, or as it was."""
    from servotwin.workbench.taught import place_frame, place_tool

    _print((place_frame if kind == "frame" else place_tool)(file, name, *fields), json=json)


def _print(edit: PointsEdit, *, json: bool) -> None:
    for note in edit.notes:
        print_note(note)
    if json:
        print_json(edit.data())
    else:
        print_line(f"{one_line(edit.file, 200)}: {edit.done}")
    for warning in edit.warnings:
        print_note(warning)
