"""What the commands print of hydraulic axes, with the units of a piston or of a shaft."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servotwin.cli.main import main
from servotwin.cli.simulate import _axis_row
from tests import hydraulic_axes as hx
from tests import small_drives as small

Capture = pytest.CaptureFixture[str]
TURNING = small.merged(
    hx.LIFT["motor"],
    {"cylinder": None, "hydraulic_motor": {"displacement": "250 cm3/rev", "dead_volume": "60 cm3"}},
)


def printed(tmp_path: Path, capsys: Capture, command: str, machine: small.Tree) -> str:
    file = tmp_path / "robot.yaml"
    file.write_text(json.dumps(machine), encoding="utf-8")
    assert main([command, str(file)]) == 0
    return " ".join(capsys.readouterr().out.split())


def turning() -> small.Tree:
    axis = small.axis(gear=None, motor=TURNING)
    return small.robot({"hydraulics": hx.FEED, "power": None}, axes={"A": axis})


def test_info_tells_valve_cylinder_and_supply(tmp_path: Path, capsys: Capture) -> None:
    text = printed(tmp_path, capsys, "info", hx.lift(hx.PUMP))
    assert "A: servovalve 3.8 L/min at 70 bar and 40 mA, 120 Hz, damping 0.8, leaks 0.2 L/min at null" in text
    assert "A: cylinder 2 cm2 forward, 2 cm2 backward, dead volume 5 cm3" in text
    assert "0.1 um" in text
    assert "70 bar counted on; tank 1 bar; pump 5 L/min, efficiency 85 %; relief from 70 bar, 6 L/min" in text
    assert "accumulator 0.3 L charged to 45 bar; line 0.1 L" in text


def test_info_tells_a_hydraulic_motor_per_turn(tmp_path: Path, capsys: Capture) -> None:
    text = printed(tmp_path, capsys, "info", turning())
    assert "A: hydraulic motor 250 cm3 per turn, dead volume 60 cm3" in text
    assert "70 bar, constant" in text


def test_tune_counts_a_cylinder_in_metres_and_a_motor_in_radians(tmp_path: Path, capsys: Capture) -> None:
    sliding = printed(tmp_path, capsys, "tune", hx.lift())
    for unit in (" A s/m ", " A/m ", " m/s ", " 40 kg "):
        assert unit in sliding
    text = printed(tmp_path, capsys, "tune", turning())
    assert " A s/rad " in text
    for unit in (" A s/m ", " A/m ", " m/s ", " kg "):
        assert unit not in text


@pytest.mark.parametrize(
    ("axis", "row"),
    [
        (
            {"peak_force_N": 635.3, "rms_force_N": 457.1, "peak_speed_m_per_s": 0.4012, "peak_current_A": 0.03},
            ["Z", "635.3 N", "457.1 N", "-", "-", "-", "0.4012 m/s", "0.03"],
        ),
        (
            {"peak_torque_N_m": 302.7, "rms_torque_N_m": 197.0, "peak_speed_rad_per_s": 2.0944},
            ["Z", "302.7", "197", "-", "-", "-", "20", "-"],
        ),
        ({"peak_force_N": None}, ["Z", *["-"] * 7]),
    ],
)  # fmt: skip
def test_table_of_a_run_shows_force_or_torque_of_hydraulic_axes(axis: dict[str, Any], row: list[str]) -> None:
    assert _axis_row({"motor": "Z", "hydraulic": True, **axis}) == row
