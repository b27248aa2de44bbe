"""``rne``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main

MOTION = (
    "--q", "30 deg, 60 deg, 50 mm, 20 deg",
    "--qd", "1 rad/s, -0.5 rad/s, 100 mm/s, 2 rad/s",
    "--qdd", "3 rad/s^2, 2 rad/s^2, 1 m/s^2, -4 rad/s^2",
)  # fmt: skip
Q = np.array([np.pi / 6, np.pi / 3, 0.05, np.pi / 9])
QD, QDD = np.array([1.0, -0.5, 0.1, 2.0]), np.array([3.0, 2.0, 1.0, -4.0])
EXACT = 1e-12  # same algorithm, same numbers but for the rounding of the units


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["rne", "gsis-scara", *MOTION, *arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def effort(joint: dict[str, Any], part: str = "") -> float:
    name = f"{part}_effort" if part else "effort"
    return float(next(joint[key] for key in (f"{name}_N_m", f"{name}_N") if key in joint))


def test_rne_is_that_of_the_robot(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys)
    robot = st.load_robot("gsis-scara")
    assert [effort(joint) for joint in result["joints"]] == pytest.approx(robot.rne(Q, QD, QDD), rel=EXACT)
    assert np.array(result["mass_matrix"]) == pytest.approx(robot.inertia(Q), rel=EXACT, abs=EXACT)
    assert result["mass_matrix_units"][0] == ["kg m2", "kg m2", "kg m", "kg m2"]
    assert result["mass_matrix_units"][2][2] == "kg"


@pytest.mark.parametrize(
    "extra", [[], ["--drives"], ["--wrench", "1 N, 2 N, -20 N, 0.1 N*m, 0 N*m, 0.3 N*m"]]
)
def test_rne_parts_add_up(extra: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for joint in answer(capsys, *extra)["joints"]:
        parts = [effort(joint, part) for part in ("inertia", "velocity", "gravity", "external")]
        assert sum(parts) == pytest.approx(effort(joint), rel=EXACT, abs=EXACT)


def test_rne_options_reach_the_robot(capsys: pytest.CaptureFixture[str]) -> None:
    robot = st.load_robot("gsis-scara", {"axes.A.gear.ratio": "80"}).with_payload(4.0, (0.0, 0.0, 0.05))
    wrench = [1.0, 2.0, -20.0, 0.1, 0.0, 0.3]
    expected = robot.rne(Q, QD, QDD, wrench, drives=True)
    result = answer(
        capsys,
        "--set", "axes.A.gear.ratio=80", "--payload", "4 kg, 0 mm, 0 mm, 50 mm", "--drives",
        "--wrench", "1 N, 2 N, -20 N, 0.1 N*m, 0 N*m, 0.3 N*m",
    )  # fmt: skip
    assert [effort(joint) for joint in result["joints"]] == pytest.approx(expected, rel=EXACT)
    assert result["drives"] is True


def test_rne_without_motion_holds_against_gravity(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rne", "gsis-scara", "--q", "0 deg, 0 deg, 0 mm, 0 deg", "--json"]) == 0
    joints = json.loads(capsys.readouterr().out)["joints"]
    weight = (0.3 + 0.97) * 9.80665  # quill and W-link of Table 2; q3 counts downwards
    assert [effort(joint) for joint in joints] == pytest.approx(
        [0.0, 0.0, -weight, 0.0], rel=EXACT, abs=EXACT
    )


def test_rne_prints_a_table_with_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rne", "gsis-scara", *MOTION, "--drives"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("N m", "gravity", "inertia", "Mass matrix", "rotors"))
