"""``robots`` and ``info``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from servotwin.cli.info import MANY, rounded, shortened
from servotwin.cli.main import main
from servotwin.description.load import catalogue_names


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def text(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_robots_lists_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    robots = answer(capsys, "robots")
    assert [robot["name"] for robot in robots] == catalogue_names()
    assert {robot["name"]: robot["dof"] for robot in robots}["gsis-scara"] == 4
    shown = text(capsys, "robots")
    assert all(robot["name"] in shown and robot["title"] in shown for robot in robots)


@pytest.mark.parametrize("name", catalogue_names())
def test_info_of_catalogue_robot_is_complete(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "info", name)
    assert data["name"] == name
    assert len(data["joints"]) == data["dof"]
    assert data["frames"][0] == {"name": "base", "moves_with": "base"}
    links = sum(axis["mass_kg"] for axis in data["axes"])
    assert data["total_mass_kg"] == pytest.approx(links + data["payload_kg"], rel=1e-12)
    assert data["assumptions"]
    shown = text(capsys, "info", name, "--assumed")
    assert all(entry["field"] in shown for entry in data["assumptions"])
    assert all(axis["name"] in shown for axis in data["axes"])


def test_info_keys_carry_units(capsys: pytest.CaptureFixture[str]) -> None:
    axes = {axis["name"]: axis for axis in answer(capsys, "info", "gsis-scara")["axes"]}
    limits = axes["A"]["limits"]
    assert limits["position_rad"] == pytest.approx([-math.radians(120), math.radians(120)])
    assert limits["speed_rad_per_s"] == pytest.approx(math.radians(200))
    assert axes["Z"]["limits"]["position_m"] == pytest.approx([0.0, 0.150])
    assert axes["Z"]["gear"]["ratio_rad_per_m"] == pytest.approx(785.4)
    # 6.5 kgf cm of Table 3, with the standard acceleration of free fall
    assert axes["A"]["motor"]["rated_torque_N_m"] == pytest.approx(6.5 * 9.80665e-2)


def test_info_reach_is_the_sum_of_both_arms(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "info", "gsis-scara")
    # The stretched arm lies inside the limits; the search stops where the radius is flat.
    assert data["reach_m"] == pytest.approx(0.650, rel=1e-6)
    assert data["height_range_m"] == pytest.approx([-0.150, 0.0], abs=1e-9)


def test_info_of_closed_chain_has_no_reach(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "info", "delta")
    assert data["reach_m"] is None
    assert data["loops"]


def test_info_applies_overrides(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(
        capsys, "info", "gsis-scara", "--set", "axes.A.gear.ratio=80", "--set", "variables.load=4 kg"
    )
    assert data["axes"][0]["gear"]["ratio"] == 80.0
    assert data["payload_kg"] == 4.0
    assert "payload 4 kg" in text(capsys, "info", "gsis-scara", "--set", "variables.load=4 kg")


def test_info_shows_coupled_transmission(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Transmission" in text(capsys, "info", "palletizer-4")
    assert "Transmission" not in text(capsys, "info", "gsis-scara")


def test_info_tells_sources_by_field(capsys: pytest.CaptureFixture[str]) -> None:
    sources = {entry["source"]: entry["fields"] for entry in answer(capsys, "info", "gsis-scara")["sources"]}
    assert "axes.A.limits" in sources["Table 1"]
    assumed = {entry["field"] for entry in answer(capsys, "info", "gsis-scara")["assumptions"]}
    assert not assumed & {field for fields in sources.values() for field in fields}


def test_shortened_keeps_lone_fields() -> None:
    assert shortened(["gravity", "axes.A.link", "axes.B.link"]) == "gravity, axes.A,B.link"


@pytest.mark.parametrize(
    ("written", "shown"),
    [("16.115702479338843 A", "16.1157 A"), ("0.35 m", "0.35 m"), ("0.0 kg", "0 kg"), ("joint", "joint")],
)
def test_rounded_cuts_only_computed_fractions(written: str, shown: str) -> None:
    assert rounded(written) == shown


def test_info_as_json_tells_stated_gains_and_friction_of_joints(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "info", "manutec-r3")
    assert data["controller"]["gains"]["r1"]["speed_proportional_A_s_per_rad"] == 0.5
    friction = next(axis for axis in data["axes"] if axis["name"] == "r5")["friction"]
    assert friction["static_N_m"] == 39.6


def test_info_shows_the_gains_of_motors_that_have_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    gains = answer(capsys, "info", "sixaxis-5kg")["controller"]["gains"]
    assert gains == {"J1": {"speed_proportional_A_s_per_rad": 0.18, "speed_integral_A_per_rad": 3.0}}


def test_info_counts_what_many_values_share_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An ``assumed:`` at the top of a file covers all of it: a few lines instead of one for each value."""
    axis = "{dh: {a: 400 mm}, limits: {speed: 90 deg/s}, link: {mass: 2 kg, center: [-200 mm, 0 mm, 0 mm]}}"
    path = tmp_path / "arm.yaml"
    head = "format: servotwin/1\nname: arm\nassumed: all guessed\npayload: {mass: 1 kg, assumed: a hand}\naxes:\n"
    path.write_text(head + "".join(f"  J{k}: {axis}\n" for k in range(1, 6)))
    assert main(["info", str(path)]) == 0
    short, hint = capsys.readouterr()
    assert "--assumed" in hint
    whole = text(capsys, "info", str(path), "--assumed")
    fields = [entry["field"] for entry in answer(capsys, "info", str(path))["assumptions"]]
    assert len(fields) > MANY
    assert all(field in whole for field in fields)
    table = short.split("Assumed")[1].split()
    assert table.count("values") < MANY
    assert " ".join(table).count("axes.*.link 10 values") == 1
    assert "payload.mass" in table  # alone with its reason


def test_info_without_many_assumptions_gives_no_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "met-two-link"]) == 0
    assert "--assumed" not in capsys.readouterr().err
