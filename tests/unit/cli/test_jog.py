"""``jog`` and ``teach``: steps that are planned, points that are kept safely, clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.cli import jog as command
from servotwin.cli import teach
from servotwin.cli.main import main
from servotwin.errors import InputError, ServotwinError
from servotwin.jobs.points_file import read_points
from servotwin.robot.load import load_robot
from servotwin.workbench.jogging import DIRECTIONS

Capture = pytest.CaptureFixture[str]
NOTHING: dict[str, str | None] = dict.fromkeys(DIRECTIONS)
BENT = "30 deg, 60 deg, 50 mm, 20 deg"


def jogged(capsys: Capture, *arguments: Any, **options: Any) -> dict[str, Any]:
    command.jog("gsis-scara", *arguments, json=True, **options)
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


# --- jog -------------------------------------------------------------------------------------------


def test_joint_step_moves_that_joint_alone(capsys: Capture) -> None:
    data = jogged(capsys, "A", "5 deg", NOTHING, q=BENT)
    before, after = data["from"]["joints"], data["to"]["joints"]
    assert after["A_rad"] - before["A_rad"] == pytest.approx(np.radians(5.0))
    assert {k: v for k, v in after.items() if k != "A_rad"} == pytest.approx(
        {k: v for k, v in before.items() if k != "A_rad"}
    )
    assert data["duration_s"] > 0.0


@pytest.mark.parametrize("tool", [False, True])
def test_tool_step_goes_along_the_axis_of_base_or_tool(capsys: Capture, tool: bool) -> None:
    data = jogged(capsys, None, None, {**NOTHING, "x": "10 mm"}, q=BENT, tool=tool)
    step = np.subtract(data["to"]["tool"]["xyz_m"], data["from"]["tool"]["xyz_m"])
    robot = load_robot("gsis-scara")
    X = robot.fkine(np.array([np.radians(30), np.radians(60), 0.05, np.radians(20)]))
    wanted = 0.01 * (X[:3, 0] if tool else np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(step, wanted, atol=1e-9)


def test_turn_keeps_the_place(capsys: Capture) -> None:
    data = jogged(capsys, None, None, {**NOTHING, "rz": "-10 deg"}, q=BENT)
    np.testing.assert_allclose(data["to"]["tool"]["xyz_m"], data["from"]["tool"]["xyz_m"], atol=1e-9)
    turned = data["to"]["tool"]["rpy_rad"][2] - data["from"]["tool"]["rpy_rad"][2]
    assert np.angle(np.exp(1j * turned)) == pytest.approx(np.radians(-10.0))


def test_jog_prints_both_poses_and_that_nothing_moved(capsys: Capture) -> None:
    command.jog("gsis-scara", "Z", "5 mm", NOTHING)
    shown = capsys.readouterr().out
    assert "joint Z" in shown
    assert "tool z" in shown
    assert "nothing was moved" in shown


@pytest.mark.parametrize(
    "arguments, options, reason",
    [
        (("A", "500 deg", NOTHING), {}, "axis A would stand at 500 deg"),
        (("Q", "5 deg", NOTHING), {}, "no joint 'Q'; expected one of A, B, Z, W"),
        (("A", None, NOTHING), {}, "--by: no step"),
        (("A", "5 mm", NOTHING), {}, "is a length; expected an angle"),
        (("A", "0 deg", NOTHING), {}, "a step of zero"),
        ((None, None, NOTHING), {}, "one step at a time"),
        (("A", "5 deg", {**NOTHING, "x": "1 mm"}), {}, "one step at a time"),
        ((None, None, {**NOTHING, "x": "1 mm", "y": "1 mm"}), {}, "one step at a time"),
        ((None, "5 deg", {**NOTHING, "x": "1 mm"}), {}, "--by: belongs to a joint"),
        (("A", "5 deg", NOTHING), {"tool": True}, "a joint has no frame"),
        (("A", "5 deg", NOTHING), {"speed": 0.0}, "--speed"),
        (("A", "5 deg", NOTHING), {"q": BENT, "start": "P1"}, "exclude each other"),
        (("A", "5 deg", NOTHING), {"start": "P1"}, "--points: no points file"),
        ((None, None, {**NOTHING, "x": "900 mm"}), {"q": BENT}, "leaves the workspace"),
        ((None, None, {**NOTHING, "rx": "10 deg"}), {"q": BENT}, "cannot be tilted"),
    ],
)
def test_step_that_cannot_be_is_refused_in_one_line(
    arguments: tuple[Any, ...], options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ServotwinError) as caught:
        command.jog("gsis-scara", *arguments, **options)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_jog_starts_at_a_taught_point_and_records_where_it_ends(tmp_path: Path, capsys: Capture) -> None:
    file = str(tmp_path / "pick.points.yaml")
    jogged(capsys, "A", "5 deg", NOTHING, q=BENT, points=file, record="P1")
    kept = read_points(file)
    assert kept.robot == "gsis-scara"
    assert kept["P1"].joints == pytest.approx(
        {"A": np.radians(35.0), "B": np.radians(60.0), "Z": 0.05, "W": np.radians(20.0)}
    )
    data = jogged(capsys, "A", "-5 deg", NOTHING, points=file, start="P1")
    assert data["to"]["joints"]["A_rad"] == pytest.approx(np.radians(30.0))
    with pytest.raises(InputError, match="exists"):
        command.jog("gsis-scara", "A", "5 deg", NOTHING, points=file, record="P1")


# --- teach -----------------------------------------------------------------------------------------


@pytest.fixture
def taught(tmp_path: Path, capsys: Capture) -> str:
    file = str(tmp_path / "pick.points.yaml")
    teach.record(file, "P1", BENT, "gsis-scara", note="over the box")
    teach.place(file, "frame", "table", ["x=300 mm", "yaw=90 deg"], json=False)
    teach.record(file, "P2", BENT, None, frame="table")
    capsys.readouterr()
    return file


def test_recorded_points_are_listed_with_units(taught: str, capsys: Capture) -> None:
    teach.list_points(taught, json=False)
    shown = capsys.readouterr().out
    for word in ("gsis-scara", "A 30 deg, B 60 deg, Z 50 mm", "over the box", "in table", "yaw 90 deg"):
        assert word in shown
    teach.list_points(taught, json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["points"]["P1"]["joints"]["Z_m"] == pytest.approx(0.05)


def test_pose_in_a_frame_is_where_the_tool_is(taught: str) -> None:
    points = read_points(taught)
    robot = load_robot("gsis-scara")
    q = points["P1"].vector(robot.joint_names)
    pose = points["P2"].pose
    assert pose is not None
    np.testing.assert_allclose(points.frame_matrix("table") @ pose.matrix, robot.fkine(q), atol=1e-8)


def test_fields_are_set_and_shifted(taught: str, capsys: Capture) -> None:
    before = read_points(taught)["P2"].pose
    assert before is not None
    teach.edit(taught, "P2", ["x+=1 mm", "z=-40 mm", "note=higher  now"], json=False)
    teach.edit(taught, "P1", ["A+=5 deg", "joints.Z=10 mm"], json=True)
    points = read_points(taught)
    after, joints = points["P2"].pose, points["P1"].joints
    assert after is not None
    assert joints is not None
    assert after.x - before.x == pytest.approx(1e-3)
    assert after.z == pytest.approx(-0.04)
    assert points["P2"].note == "higher now"
    assert joints["A"] == pytest.approx(np.radians(35.0))
    assert joints["Z"] == pytest.approx(0.01)


def test_points_are_renamed_and_deleted(taught: str, capsys: Capture) -> None:
    teach.rename(taught, "P1", "above-box", json=False)
    teach.delete(taught, "P2", json=True)
    assert list(read_points(taught).points) == ["above-box"]
    with pytest.raises(InputError, match="no point 'P1'"):
        teach.delete(taught, "P1", json=False)


@pytest.mark.parametrize(
    "name, change, reason",
    [
        ("P2", "q=1 mm", "no field 'q'"),
        ("P2", "x=3", "has no unit"),
        ("P2", "x", "is not field=value"),
        ("P2", "frame=nowhere", "no frame 'nowhere'"),
        ("P1", "x=3 mm", "no field 'x'; expected one of A, B, Z, W, note"),
        ("P9", "x=3 mm", "no point 'P9'"),
    ],
)
def test_wrong_change_leaves_the_file_alone(taught: str, name: str, change: str, reason: str) -> None:
    before = Path(taught).read_bytes()
    with pytest.raises(InputError, match=reason):
        teach.edit(taught, name, [change], json=False)
    assert Path(taught).read_bytes() == before


def test_what_is_no_points_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a points file"):
        teach.list_points(str(tmp_path / "pick.job"), json=False)
    with pytest.raises(InputError, match="no such file"):
        teach.list_points(str(tmp_path / "pick.points.yaml"), json=False)
    with pytest.raises(InputError, match="--robot"):
        teach.record(str(tmp_path / "new.points.yaml"), "P1", BENT, None)
    assert not list(tmp_path.iterdir())


FAR = "200 deg, 0 deg, 400 mm, 0 deg"


def test_point_beyond_the_limits_of_its_joints_is_warned_of(tmp_path: Path, capsys: Capture) -> None:
    file, limits = str(tmp_path / "far.points.yaml"), load_robot("gsis-scara").limits
    for pose in (False, True):
        teach.record(file, f"P{int(pose)}", FAR, "gsis-scara", pose=pose)
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 2
        low, high = (f"{np.degrees(float(q[0])):.6g} deg" for q in (limits.q_min, limits.q_max))
        assert f"A at 200 deg is beyond its limits, {low} to {high}; no move goes there" in said[0]
        assert "Z at 400 mm is beyond its limits" in said[1]
    teach.edit(file, "P0", ["A=10 deg"], json=False)
    assert "Z at 400 mm" in capsys.readouterr().err
    teach.edit(file, "P0", ["Z=10 mm"], json=False)
    assert not capsys.readouterr().err


def test_missing_step_names_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jog", "gsis-scara"]) == 2
    assert "expected --joint and --by, or a step of the tool with one of --x, --y, --z, --rx, --ry, --rz" in (
        capsys.readouterr().err
    )
