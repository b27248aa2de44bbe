"""Points: units, exact round trip, edits, and files that are old or new, never half."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from servotwin.errors import InputError
from servotwin.jobs.points import Point, Points, Pose
from servotwin.jobs.points_file import parse_points, points_path, points_text, read_points

TEXT = """\
format: servotwin-points/1
robot: gsis-scara

frames:
  table: {x: 300 mm, y: 0 mm, z: -220 mm, roll: 0 deg, pitch: 0 deg, yaw: 15 deg}

tools:
  gripper: {x: 0 mm, y: 0 mm, z: -80 mm, roll: 0 deg, pitch: 0 deg, yaw: 0 deg}

points:
  ready:
    joints: {A: -30 deg, B: 80 deg, Z: 20 mm, W: -50 deg}
    note: quill up
    recorded: 2026-11-15T10:00:00+00:00
  pick: {x: 60 mm, y: 260 mm, z: 15 mm, roll: 0 deg, pitch: 0 deg, yaw: 90 deg, frame: table}
"""


def test_file_is_read_to_si() -> None:
    points = parse_points(TEXT)
    assert points["ready"].joints == {
        "A": pytest.approx(np.radians(-30)),
        "B": pytest.approx(np.radians(80)),
        "Z": 0.02,
        "W": pytest.approx(np.radians(-50)),
    }
    assert points["ready"].sliding == {"Z"}
    assert points["pick"].pose == Pose(0.06, 0.26, 0.015, 0.0, 0.0, np.pi / 2)
    assert (points["pick"].frame, points["ready"].note, points.robot) == ("table", "quill up", "gsis-scara")


def test_written_text_reads_back_to_the_same_points() -> None:
    points = parse_points(TEXT)
    again = parse_points(points_text(points))
    assert again == points
    assert list(again.points) == list(points.points)
    assert points_text(again) == points_text(points)
    assert "ready:" in points_text(points)
    assert "-30 deg" in points_text(points)


@pytest.mark.parametrize(
    "note", ["a: b", "# no comment", "'quoted' \"twice\"", "über 90°", "- list", "null", "1"]
)
def test_notes_of_any_kind_read_back(note: str) -> None:
    points = Points().with_point("P1", Point(pose=Pose(), note=note))
    assert parse_points(points_text(points))["P1"].note == note


def test_awkward_numbers_read_back_exactly() -> None:
    rng = np.random.default_rng(1)
    points = Points()
    for i in range(100):
        pose = Pose(*(float(v) for v in rng.normal(size=6) * 10.0 ** rng.integers(-9, 2)))
        joints = {"a": float(rng.normal()), "b": float(rng.normal())}
        points = points.with_point(f"P{i}", Point(pose=pose))
        points = points.with_point(f"Q{i}", Point(joints, frozenset("b")))
    assert parse_points(points_text(points)) == points


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("servotwin-points/1", "servotwin-points/9", ":1: format: expected servotwin-points/1"),
        ("x: 60 mm", "x: 60 deg", ":15: points.pick.x: '60 deg' is an angle; expected a length"),
        ("x: 60 mm", "x: 60", "'60' has no unit"),
        ("x: 60 mm", "x: 1e9 m", ":15: points.pick: a pose of .* expected finite"),
        ("yaw: 90 deg", "yaww: 90 deg", "unknown field 'yaww'.*did you mean 'yaw'"),
        ("frame: table", "frame: tabel", ":15: points.pick.frame: no frame 'tabel'.*did you mean 'table'"),
        ("A: -30 deg", "A: -30 kg", ":12: points.ready.joints.A: .*expected an angle"),
        ("A: -30 deg", "A: [1]", "expected an angle"),
        ("  pick:", "  MOVEJ:", "'MOVEJ' has a meaning of its own"),
        ("  pick:", "  mm:", "has a meaning of its own"),
        ("  pick:", "  1x:", "'1x' is not a name"),
        ("note: quill up", "x: 3 mm", ":13: points.ready.x: expected joints or a pose, not both"),
        (
            "{x: 60 mm, y: 260 mm, z: 15 mm, roll: 0 deg, pitch: 0 deg, yaw: 90 deg, frame: table}",
            "{}",
            "empty",
        ),
        ("note: quill up", "note: [1]", "expected a line of text"),
        ("points:", "dots:", "unknown field 'dots'"),
    ],
)
def test_mistake_in_the_file_is_one_clear_line(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError, match=said) as caught:
        parse_points(TEXT.replace(old, new), "p.yaml")
    assert str(caught.value).startswith("p.yaml:")
    assert "\n" not in str(caught.value)


def test_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; expected a points file"):
        read_points(tmp_path / "a.points.yaml")


def test_points_stand_next_to_the_job() -> None:
    assert points_path("folder/pick.job") == Path("folder/pick.points.yaml")


def test_edits_leave_the_old_points_alone() -> None:
    old = parse_points(TEXT)
    new = old.renamed("ready", "home").without("pick").with_point("P9", Point(pose=Pose(z=0.1)))
    assert list(new.points) == ["home", "P9"]
    assert list(old.points) == ["ready", "pick"]


@pytest.mark.parametrize("edit", ["renamed", "without", "with_point", "name", "keyword"])
def test_edit_that_makes_no_sense_is_refused(edit: str) -> None:
    points = parse_points(TEXT)
    edits = {
        "renamed": lambda: points.renamed("ready", "pick"),
        "without": lambda: points.without("pik"),
        "with_point": lambda: points.with_point("pick", Point(pose=Pose())),
        "name": lambda: points.renamed("pick", "a b"),
        "keyword": lambda: points.with_frame("end", Pose()),
    }
    with pytest.raises(InputError):
        edits[edit]()


def test_recorded_joints_are_rounded_and_dated() -> None:
    at = datetime(2026, 11, 15, 10, 0, 0, 123, tzinfo=UTC)
    q = [np.radians(30) + 1e-12, 0.0500000000001]
    points = Points().record("P1", ("A", "Z"), q, sliding=(False, True), note=" a \n b ", at=at)
    assert points["P1"] == Point(
        {"A": np.radians(30), "Z": 0.05}, frozenset("Z"), note="a b", recorded="2026-11-15T10:00:00+00:00"
    )
    with pytest.raises(InputError, match="exists"):
        points.record("P1", ("A", "Z"), q)
    assert points.record("P1", ("A", "Z"), [0.0, 0.0], replace_old=True)["P1"].joints == {"A": 0.0, "Z": 0.0}


@pytest.mark.parametrize("pitch", [0.3, np.pi / 2, -np.pi / 2])
def test_recorded_pose_is_kept_in_its_frame(pitch: float) -> None:
    points = Points().with_frame("table", Pose(0.3, -0.1, 0.2, 0.1, -0.2, 0.3))
    X = Pose(0.5, 0.1, 0.3, 0.4, pitch, -2.0).matrix
    points = points.record_pose("P1", X, frame="table").record_pose("P2", X)
    kept = points.frame_matrix("table") @ points["P1"].pose.matrix  # type: ignore[union-attr]
    # a millionth of a millimetre and of a degree
    np.testing.assert_allclose(kept, X, atol=2e-8)
    np.testing.assert_allclose(points["P2"].pose.matrix, X, atol=2e-8)  # type: ignore[union-attr]


# Forks writers and kills each at a random time; prints how often the new content was there first.
WRITERS = """
import os, random, signal, sys, time
from pathlib import Path
from servotwin.jobs.language import format_job, parse, write_job
from servotwin.jobs.points import Point, Points, Pose
from servotwin.jobs.points_file import points_text, write_points

folder = Path(sys.argv[1])
points = [Points({f"P{i}": Point(pose=Pose(x=v)) for i in range(12)}) for v in (0.1, 0.2)]
jobs = [parse(f"WAIT {v} s\\n" * 300) for v in (1, 2)]
texts = {"a.points.yaml": [points_text(p) for p in points], "a.job": [format_job(j) for j in jobs]}
write_points(points[0], folder / "a.points.yaml")
write_job(jobs[0], folder / "a.job")
wait = random.Random(1)
changes = 0
last = None
for round in range(100):
    child = os.fork()
    if child == 0:
        while True:
            for p, j in list(zip(points, jobs))[:: 1 if round % 2 else -1]:
                write_job(j, folder / "a.job")
                write_points(p, folder / "a.points.yaml")
    time.sleep(wait.uniform(0.0, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for name, whole in texts.items():
        now = (folder / name).read_text(encoding="utf-8")
        assert now in whole, f"{name} is half written"
        if name == "a.job":
            changes += now != last
            last = now
print(changes)
"""


def test_killed_writer_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    """100 processes are killed in the middle of saving points and jobs, at any moment."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WRITERS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    # both versions were met: the writers did write
    assert int(done.stdout) > 5
    # some were killed between writing and renaming: what they left are temporary files, nothing else
    left = {path.suffix for path in tmp_path.iterdir() if path.name.startswith(".")}
    assert left <= {".tmp"}
