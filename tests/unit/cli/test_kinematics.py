"""``fkine`` and ``ikine``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main

Q_TEXT = "30 deg, 60 deg, 50 mm, 20 deg"
Q = np.array([math.radians(30), math.radians(60), 0.05, math.radians(20)])


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_fkine_json_is_the_pose_of_the_robot(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "fkine", "gsis-scara", "--q", Q_TEXT)
    T = st.load_robot("gsis-scara").fkine(Q)
    # Only the rounding of the unit conversion stands between the two.
    assert np.array(result["frame"]["pose"]) == pytest.approx(T, abs=1e-14)
    assert result["frame"]["xyz_m"] == pytest.approx(T[:3, 3], abs=1e-14)
    assert result["frame"]["rpy_rad"] == pytest.approx([0.0, 0.0, math.radians(-160)])
    assert result["joints"] == pytest.approx(dict(zip(("A_rad", "B_rad", "Z_m", "W_rad"), Q, strict=True)))
    assert result["outside_limits"] == []


def test_fkine_accepts_radians_and_metres(capsys: pytest.CaptureFixture[str]) -> None:
    degrees = answer(capsys, "fkine", "gsis-scara", "--q", Q_TEXT)
    radians = ", ".join(
        f"{value!r} {unit}" for value, unit in zip(Q.tolist(), ("rad", "rad", "m", "rad"), strict=True)
    )
    assert answer(capsys, "fkine", "gsis-scara", "--q", radians)["frame"]["xyz_m"] == pytest.approx(
        degrees["frame"]["xyz_m"], rel=1e-14
    )


def test_fkine_prints_mm_and_deg(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fkine", "gsis-scara", "--q", Q_TEXT]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("303.109", "475.000", "-50.000", "-160.0000", "0.303108891"))


def test_fkine_all_gives_every_frame(capsys: pytest.CaptureFixture[str]) -> None:
    names = st.load_robot("gsis-scara").frame_names
    frames = answer(capsys, "fkine", "gsis-scara", "--q", Q_TEXT, "--all")["frames"]
    assert [frame["name"] for frame in frames] == list(names)
    assert main(["fkine", "gsis-scara", "--q", Q_TEXT, "--all"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in names)


def test_fkine_frame_picks_one(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "fkine", "gsis-scara", "--q", Q_TEXT, "--frame", "A-link")
    assert result["frame"]["name"] == "A-link"
    assert result["frame"]["xyz_m"] == pytest.approx([0.35 * math.cos(Q[0]), 0.35 * math.sin(Q[0]), 0.0])


def test_fkine_outside_limits_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    beyond = "30 deg, 160 deg, 50 mm, 20 deg"
    assert answer(capsys, "fkine", "gsis-scara", "--q", beyond)["outside_limits"] == ["B"]
    assert main(["fkine", "gsis-scara", "--q", beyond]) == 0
    assert capsys.readouterr().err == "note: outside the limits: B\n"


def test_fkine_applies_overrides(capsys: pytest.CaptureFixture[str]) -> None:
    zero = "0 deg, 0 deg, 0 mm, 0 deg"
    result = answer(capsys, "fkine", "gsis-scara", "--q", zero, "--set", "variables.a1=500 mm")
    assert result["frame"]["xyz_m"][0] == pytest.approx(0.8)


def test_ikine_all_gives_every_branch(capsys: pytest.CaptureFixture[str]) -> None:
    robot = st.load_robot("gsis-scara")
    pose = ("--xyz", "400 mm, 200 mm, -50 mm", "--rpy", "0 deg, 0 deg, 90 deg")
    result = answer(capsys, "ikine", "gsis-scara", *pose, "--all")
    T = np.array(result["pose"])
    assert len(result["solutions"]) == len(robot.ikine_all(T)) > 1
    for solution in result["solutions"]:
        # the accuracy that inverse kinematics promises
        assert robot.fkine(list(solution["joints"].values())) == pytest.approx(T, abs=1e-9)
        assert solution["outside_limits"] == []


def test_ikine_near_chooses_the_branch(capsys: pytest.CaptureFixture[str]) -> None:
    pose = ("--xyz", "400 mm, 200 mm, -50 mm", "--rpy", "0 deg, 0 deg, 90 deg")
    for elbow in (-90, 90):
        near = f"0 deg, {elbow} deg, 0 mm, 0 deg"
        (solution,) = answer(capsys, "ikine", "gsis-scara", *pose, "--near", near)["solutions"]
        assert math.copysign(1.0, solution["joints"]["B_rad"]) == math.copysign(1.0, elbow)


def test_ikine_without_orientation_reaches_the_point(capsys: pytest.CaptureFixture[str]) -> None:
    (solution,) = answer(capsys, "ikine", "gsis-scara", "--xyz", "400 mm, 200 mm, -50 mm")["solutions"]
    tool = st.load_robot("gsis-scara").fkine(list(solution["joints"].values()))[:3, 3]
    assert tool == pytest.approx([0.4, 0.2, -0.05], abs=1e-9)


GANTRY = """format: servotwin/1
name: gantry
axes:
  X: {type: prismatic, origin: {}, axis: [1, 0, 0], limits: {position: [0 m, 1 m]}}
  Y: {type: prismatic, origin: {}, axis: [0, 1, 0], limits: {position: [0 m, 1 m]}}
  Z: {type: prismatic, origin: {}, axis: [0, 0, -1], limits: {position: [0 m, 1 m]}}
  C: {origin: {}, axis: [0, 0, 1], limits: {position: [-180 deg, 180 deg]}}
"""


def test_ikine_of_an_orientation_that_is_not_reached_names_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mask is an argument of the robot's own method, which the command line does not have."""
    file = tmp_path / "gantry.yaml"
    file.write_text(GANTRY, encoding="utf-8")
    words = ["ikine", str(file), "--xyz", "0.3 m, 0.2 m, -0.1 m", "--rpy", "0 deg, 10 deg, 30 deg"]
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("; leave out rpy to ask for the position alone\n")


def test_ikine_beyond_limits_needs_permission(capsys: pytest.CaptureFixture[str]) -> None:
    high = ("ikine", "gsis-scara", "--xyz", "400 mm, 200 mm, 50 mm", "--rpy", "0 deg, 0 deg, 90 deg")
    assert main([*high]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    (solution,) = answer(capsys, *high, "--ignore-limits")["solutions"]
    assert solution["outside_limits"] == ["Z"]
    assert solution["joints"]["Z_m"] == pytest.approx(-0.05)
    assert main([*high, "--ignore-limits"]) == 0
    assert "outside the limits: Z" in capsys.readouterr().out
