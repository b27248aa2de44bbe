"""Teaching changes what it must in a points file; comments and layout stay as a person wrote them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from servotwin.errors import InputError
from servotwin.jobs.points import Point, Points, Pose
from servotwin.jobs.points_file import parse_points, points_text, read_points, write_points

TEXT = """\
# pallet cell, left side
format: servotwin-points/1   # do not touch
robot: gsis-scara

frames:
  # measured with the probe
  table: {x: 300 mm, yaw: 90 deg}  # 2024

points:
  # home of the cell
  P1: {joints: {A: 30 deg, B: 0.5 rad}, note: over the box}  # checked
  # above the pallet
  P2:
    # from the drawing
    x: 100 mm   # left edge
    y: 20 mm
    frame: table
  P3:   { x: 1 mm,
          y: 2 mm }
# the end
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.points.yaml"
    path.write_text(TEXT, encoding="utf-8", newline="")
    return path


def changed(file: Path, points: Points) -> str:
    """The text after writing, which reads back to the points."""
    write_points(points, file)
    assert read_points(file) == points
    return file.read_text(encoding="utf-8")


def test_points_that_do_not_change_leave_the_file_as_it_is(file: Path) -> None:
    assert changed(file, read_points(file)) == TEXT


def test_recorded_point_is_added_behind_the_last_one(file: Path) -> None:
    points = read_points(file).record("P4", ("A", "B"), [0.0, 0.1])
    assert changed(file, points) == TEXT.replace(
        "          y: 2 mm }\n", "          y: 2 mm }\n  P4: {joints: {A: 0 deg, B: 5.729578 deg}}\n"
    )


def test_point_that_is_recorded_again_keeps_its_comments(file: Path) -> None:
    points = read_points(file).record("P1", ("A", "B"), [0.0, 0.5], note="over the box", replace_old=True)
    assert changed(file, points) == TEXT.replace("A: 30 deg, B: 0.5 rad", "A: 0 deg, B: 28.64789 deg")


def test_renamed_point_changes_its_name_alone(file: Path) -> None:
    assert changed(file, read_points(file).renamed("P2", "place")) == TEXT.replace("  P2:", "  place:")


def test_deleted_point_takes_its_own_lines_with_it(file: Path) -> None:
    without = changed(file, read_points(file).without("P1"))
    assert without == "".join(line for line in TEXT.splitlines(keepends=True) if "P1" not in line)
    for name in ("P2", "P3"):
        write_points(read_points(file).without(name), file)
    text = file.read_text(encoding="utf-8")
    assert all(
        c in text for c in ("# home of the cell", "# above the pallet", "# the end", "# measured with")
    )
    assert changed(file, replace(read_points(file), points={"P9": Point(pose=Pose(x=0.1))})).count("#") == 7


def test_changed_field_keeps_the_comment_behind_it(file: Path) -> None:
    points = read_points(file)
    moved = points.with_point("P2", replace(points["P2"], pose=Pose(x=0.101, y=0.02)), replace_old=True)
    assert changed(file, moved) == TEXT.replace("x: 100 mm   # left", "x: 101 mm   # left")
    higher = points.with_point("P2", replace(points["P2"], pose=Pose(x=0.1, y=0.02, z=0.3)), replace_old=True)
    assert changed(file, higher) == TEXT.replace("    frame: table\n", "    frame: table\n    z: 300 mm\n")
    file.write_text(TEXT, encoding="utf-8", newline="")
    noted = points.with_point("P2", replace(points["P2"], frame=None, note="x: y"), replace_old=True)
    assert changed(file, noted) == TEXT.replace("    frame: table\n", '    note: "x: y"\n')


def test_pose_instead_of_joints_replaces_the_point(file: Path) -> None:
    points = read_points(file).with_point("P1", Point(pose=Pose(x=0.1)), replace_old=True)
    text = changed(file, points)
    assert "  # home of the cell\n  P1: {x: 100 mm" in text
    assert "}  # checked\n" in text


def test_section_that_is_missing_is_added(file: Path) -> None:
    text = changed(file, read_points(file).with_tool("gripper", Pose(z=0.1)))
    assert text.startswith(TEXT.removesuffix("# the end\n"))
    assert "\ntools:\n  gripper: {x: 0 mm" in text
    assert "# the end" in text


@pytest.mark.parametrize(
    "section", ["points:\n", "points:   # none yet\n", "points: {}\n", "points: ~\n", ""]
)
def test_first_point_of_a_file_is_added(tmp_path: Path, section: str) -> None:
    path = tmp_path / "a.points.yaml"
    path.write_text(f"# mine\nformat: servotwin-points/1\nrobot: x\n{section}", encoding="utf-8")
    text = changed(path, read_points(path).record("P1", ("A",), [0.5]))
    assert text.startswith("# mine\n")
    assert ("# none yet" in section) == ("# none yet" in text)


def test_line_ends_of_another_system_stay(file: Path) -> None:
    file.write_bytes(TEXT.replace("\n", "\r\n").encode())
    points = read_points(file).record("P4", ("A", "B"), [0.0, 0.1]).without("P1")
    write_points(points, file)
    assert file.read_bytes().count(b"\r\n") == file.read_bytes().count(b"\n") == TEXT.count("\n")


def test_long_point_stands_on_two_lines_at_any_indent(tmp_path: Path) -> None:
    path = tmp_path / "a.points.yaml"
    text = TEXT.replace("\n  ", "\n      ").replace("\n      # from", "\n        # from")
    path.write_text(text, encoding="utf-8")
    points = read_points(path).record("P4", tuple("ABCD"), np.arange(4) / 3, note="a long remark " * 6)
    assert "# above the pallet" in changed(path, points)


ALIASES = """\
# the cell
format: servotwin-points/1
points:
  # the first
  P1: &a {x: 1 mm, note: "a, b"}  # of the drawing
  # the same
  P2: *a  # copied
  P3: {x: &far 9 mm, y: *far}  # square
"""


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("P4", 0.2, ("y: *far}  # square\n", "y: *far}  # square\n  P4: {x: 200 mm, y: 0 mm, z: 0 mm}\n")),
        ("P2", 0.2, ("P2: *a ", "P2: {x: 200 mm, y: 0 mm, z: 0 mm, roll: 0 deg, pitch: 0 deg, yaw: 0 deg} ")),
        ("P3", 0.009, ("y: *far}", "y: 0 mm}")),
    ],
)
def test_aliases_stay_where_the_points_do_not_change(
    file: Path, name: str, x: float, expected: tuple[str, str]
) -> None:
    file.write_text(ALIASES, encoding="utf-8")
    points = read_points(file).with_point(name, Point(pose=Pose(x=x)), replace_old=True)
    found = changed(file, points).replace("z: 0 mm, roll: 0 deg, pitch: 0 deg, yaw: 0 deg}\n", "z: 0 mm}\n")
    assert found == ALIASES.replace(*expected)


def test_alias_is_written_out_where_what_it_stands_for_changes(file: Path) -> None:
    file.write_text(ALIASES, encoding="utf-8")
    points = read_points(file)
    point = points["P1"]
    assert point.pose is not None
    moved = points.with_point("P1", replace(point, pose=replace(point.pose, x=0.002)), replace_old=True)
    text = changed(file, moved)
    assert 'P1: {x: 2 mm, note: "a, b"}  # of the drawing\n' in text
    assert 'P2: {x: 1 mm, note: "a, b"}  # copied\n' in text
    file.write_text(ALIASES, encoding="utf-8")
    text = changed(file, points.without("P1"))
    assert 'P2: {x: 1 mm, note: "a, b"}  # copied\n' in text
    assert all(comment in text for comment in ("# the cell", "# the same", "# square"))


def test_comments_that_cannot_stay_are_not_lost(file: Path) -> None:
    odd = "format: servotwin-points/1\npoints:\n  P1: {x: 1 mm}  # mine\n  P2:\n    x: 2 mm\n    note: |\n      #1\n"
    file.write_text(odd, encoding="utf-8")
    points = read_points(file)
    moved = points.with_point("P3", Point(pose=Pose(x=0.2)))
    with pytest.raises(
        InputError, match=r"a\.points\.yaml:3: cannot be changed without losing this comment; "
    ):
        write_points(moved, file)
    assert file.read_text(encoding="utf-8") == odd
    file.write_text(odd.replace("  # mine", ""), encoding="utf-8")
    assert changed(file, moved) == points_text(moved)


@pytest.mark.parametrize("seed", range(20))
def test_any_edit_of_a_file_with_aliases_keeps_the_comments(file: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    file.write_text(ALIASES, encoding="utf-8")
    points = read_points(file)
    for i in range(6):
        names = list(points.points)
        name = names[rng.integers(len(names))]
        match rng.integers(4):
            case 0:
                points = points.renamed(name, f"R{i}")
            case 1 if len(names) > 1:
                points = points.without(name)
            case 2:
                points = points.with_point(name, Point(pose=Pose(x=rng.normal())), replace_old=True)
            case _:
                points = points.record(f"N{i}", ("A", "B"), rng.normal(size=2))
        text = changed(file, points)
        assert all(comment in text for comment in ("# the cell", "# the first", "# the same"))


def test_file_that_holds_no_points_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text("mine: 1\n", encoding="utf-8")
    with pytest.raises(InputError):
        write_points(Points(), path)
    assert path.read_text(encoding="utf-8") == "mine: 1\n"


@pytest.mark.parametrize("seed", range(40))
def test_any_sequence_of_edits_keeps_the_comments_and_reads_back(file: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = read_points(file)
    for i in range(12):
        names = list(points.points)
        name = names[rng.integers(len(names))] if names else "Q"
        match rng.integers(5):
            case 0:
                points = points.record(
                    f"N{i}", ("A", "B"), rng.normal(size=2), note="x" * int(rng.integers(90))
                )
            case 1 if names:
                points = points.renamed(name, f"R{i}")
            case 2 if names:
                points = points.without(name)
            case 3 if names:
                pose = Pose(*rng.normal(size=6))
                points = points.with_point(
                    name, Point(pose=pose, note="n" if i % 2 else ""), replace_old=True
                )
            case _:
                points = points.with_frame(f"F{rng.integers(2)}", Pose(x=rng.normal()))
        text = changed(file, points)
        assert all(
            c in text for c in ("# pallet cell", "# do not touch", "# measured", "# home", "# the end")
        )
        assert parse_points(text) == points
