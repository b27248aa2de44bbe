"""Speeds of moves: a share of the limits, or speeds of their own where an axis has no limit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from servotwin.errors import InputError
from servotwin.simulation.scenario.scenario import read_scenario
from servotwin.simulation.scenario.schema import scenario_schema
from tests import small_drives as small
from tests.json_schema_fits import fits

FREE = {"position": ["-3 rad", "3 rad"], "speed": None}


def case(folder: Path, speed: Any, limits: dict[str, Any], to: dict[str, str] | None = None) -> Path:
    axes = {"A": small.axis(limits=limits), "Z": small.LIFT}
    moves = {"move": [{"to": to or {"A": "2 rad"}, "speed": speed}], "solver": {"method": "fast"}}
    return small.write_case(folder, small.robot(axes=axes), moves)


@pytest.mark.parametrize("speed", ["2 rad/s", f"{math.degrees(2.0)} deg/s", {"A": "2 rad/s"}])
def test_a_speed_of_the_move_is_enough_for_an_axis_without_limit(tmp_path: Path, speed: Any) -> None:
    machine = small.robot(axes={"A": small.axis(limits=FREE)})
    move = {"move": [{"to": {"A": "2 rad"}, "speed": speed, "dwell": "0.3 s"}], "solver": {"method": "fast"}}
    result = small.run_case(tmp_path, machine, move)
    assert result.signals["joint_A_velocity_ref_rad_per_s"].max() == pytest.approx(2.0, rel=1e-9)
    assert result.signals["joint_A_position_rad"][-1] == pytest.approx(2.0, abs=1e-3)


def test_speeds_by_axis_hold_for_turning_and_sliding_axes(tmp_path: Path) -> None:
    to = {"A": "1 rad", "Z": "0.1 m"}
    scenario = read_scenario(case(tmp_path, {"A": "2 rad/s", "Z": "50 mm/s"}, FREE, to))
    assert scenario.moves[0].speed == {"A": 2.0, "Z": 0.05}
    assert scenario.plain()["move"][0]["speed"] == {"A": 2.0, "Z": 0.05}


@pytest.mark.parametrize(
    ("speed", "limits", "to", "expected"),
    [
        (
            "50 %", FREE, {"A": "1 rad"},
            "move.0.to.A: axis A has no speed limit; expected a speed of this move, such as 'speed: 100 deg/s', or "
            "axes.A.limits.speed in the robot file",
        ),
        (
            "5 rad/s", {}, {"A": "1 rad"},
            "move.0.speed.A: 286.479 deg/s is beyond the speed limit of axis A; expected at most 229.183 deg/s",
        ),
        ("2 rad/s", {}, {"Z": "0.1 m"}, "move.0.speed: '2 rad/s' is an angular speed; expected a speed"),
        (
            "2 rad/s", {}, {"A": "1 rad", "Z": "0.1 m"},
            "move.0.speed: '2 rad/s': some axes turn and some slide; expected speeds by axis, {A: 90 deg/s, ...}",
        ),
        ({"A": "2 rad/s"}, {}, {"A": "1 rad", "Z": "0.1 m"}, "move.0.speed: the speed of axis 'Z' is missing"),
        ({"Z": "2 m/s"}, {}, {"A": "1 rad"}, "move.0.speed.Z: 'Z' is not an axis of this move; expected one of A"),
        ({"A": "2 m/s"}, {}, {"A": "1 rad"}, "move.0.speed.A: '2 m/s' is a speed; expected an angular speed"),
        ({"A": "0 rad/s"}, {}, {"A": "1 rad"}, "move.0.speed.A: '0 rad/s' is too small; expected more than 0"),
        ("120 %", {}, {"A": "1 rad"}, "move.0.speed: '120 %' is too large; expected at most 100 %"),
    ],
)  # fmt: skip
def test_speed_that_cannot_be_accepted_says_why(
    tmp_path: Path, speed: Any, limits: dict[str, Any], to: dict[str, str], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_scenario(case(tmp_path, speed, limits, to))
    assert expected in str(caught.value)
    assert caught.value.line


@pytest.mark.parametrize("speed", ["50 %", "90 deg/s", {"A": "90 deg/s"}, 0.5])
def test_schema_accepts_every_form(speed: Any) -> None:
    schema = scenario_schema()
    plain = {
        "format": "servotwin-scenario/1",
        "name": "x",
        "robot": "delta",
        "move": [{"to": {}, "speed": speed}],
    }
    assert fits(schema, schema, plain)
