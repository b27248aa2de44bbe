"""Data sheets of gears: torsion, losses, life, and what a drive takes of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import ValidationError

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.load import read_description
from servotwin.description.sheets.gear_life import average_speed, average_torque, gear_life, life_10
from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet, Torsion
from servotwin.errors import InputError

RPM = math.pi / 30.0
SHEET: dict[str, Any] = {
    "kind": "strain-wave",
    "ratio": "100",
    "rated_torque": "40 N*m",
    "rated_speed": "2000 rpm",
    "average_torque": "49 N*m",
    "repeated_peak_torque": "82 N*m",
    "momentary_torque": "147 N*m",
    "life": "35000 h",
    "life_percentile": "L50",
    "efficiency": "70 %",
    "no_load_torque": [["500 rpm", "0.045 N*m"], ["2000 rpm", "0.07 N*m"]],
    "temperature_factors": [["0 degC", "2"], ["20 degC", "1"], ["40 degC", "0.5"]],
    "torsion": {
        "k1": "16000 N*m/rad",
        "k2": "24000 N*m/rad",
        "k3": "29000 N*m/rad",
        "t1": "7 N*m",
        "t2": "25 N*m",
    },
    "inertia": "0.2 kg*cm^2",
    "hysteresis": "1 arcmin",
    "transmission_error": [["2", "0.5 arcmin"], ["4", "0.2 arcmin"]],
}
MOTOR = (
    "{kind: pmsm, torque_constant: 0.4 N*m/A, resistance: 1 ohm, inductance: 3 mH, pole_pairs: 4,"
    " rotor_inertia: 1e-4 kg*m^2, viscous_friction: 1e-4 N*m*s/rad, coulomb_friction: 0.02 N*m}"
)


def gear(**changes: Any) -> GearSheet:
    return GearSheet.model_validate({**SHEET, **changes})


def refusal(model: type[Any] = GearSheet, **fields: Any) -> tuple[str, str]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(fields)
    context = caught.value.errors()[0]["ctx"]
    return context["at"], context["text"]


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(map(flow, value)) + "]" if isinstance(value, list) else str(value)


def drive(tmp_path: Path, gear_fields: Any, motor: str = MOTOR, kind: str = "revolute") -> DriveData:
    axis = f"  A: {{type: {kind}, dh: {{a: 300 mm}}, link: {{mass: 5 kg}}, gear: {flow(gear_fields)}, motor: {motor}}}"
    path = tmp_path / "robot.yaml"
    path.write_text(f"format: servotwin/1\nname: arm\naxes:\n{axis}\n", encoding="utf-8")
    return drives_of(read_description(path))[0]


# --- torsion ----------------------------------------------------------------------------------------


@given(torque=some.floats(-200.0, 200.0))
def test_twist_is_the_integral_of_the_compliance(torque) -> None:
    torsion = gear().torsion
    assert torsion is not None
    tau = np.linspace(0.0, abs(torque), 20001)
    middle = 0.5 * (tau[1:] + tau[:-1])
    k = np.where(middle < 7.0, 16000.0, np.where(middle < 25.0, 24000.0, 29000.0))
    expected = math.copysign(float(np.sum(np.diff(tau) / k)), torque)
    assert torsion.twist(torque) == pytest.approx(expected, rel=1e-3, abs=1e-12)


def test_secant_lies_between_the_stiffnesses() -> None:
    torsion = gear().torsion
    assert torsion is not None
    assert torsion.secant(40.0) == pytest.approx(40.0 / (7 / 16000 + 18 / 24000 + 15 / 29000), rel=1e-12)
    assert torsion.secant(0.0) == 16000.0


def test_torsion_of_one_stiffness_is_linear() -> None:
    assert Torsion.model_validate({"k1": "16000 N*m/rad"}).twist(-32.0) == pytest.approx(-2e-3)


# --- losses -----------------------------------------------------------------------------------------


def test_efficiency_at_the_rated_point_is_the_printed_one() -> None:
    assert gear().efficiency_at(40.0, 2000.0 * RPM, 20.0) == pytest.approx(0.70, rel=1e-12)


@given(torque=some.floats(0.1, 80.0), speed=some.floats(100.0, 3000.0), temperature=some.floats(0.0, 60.0))
def test_losses_are_never_negative_and_grow_in_the_cold(torque, speed, temperature) -> None:
    sheet, w = gear(), speed * RPM
    driving = sheet.input_torque(torque, w, temperature) * w - torque * w / 100.0
    braking = sheet.input_torque(-torque, w, temperature) * w + torque * w / 100.0
    assert driving > 0.0
    assert braking > 0.0
    assert sheet.efficiency_at(torque, w, temperature) <= sheet.efficiency_at(torque, w, 60.0) + 1e-12
    assert sheet.efficiency_at(torque, w, temperature) < sheet.efficiency_at(2.0 * torque, w, temperature)


def test_no_load_torque_follows_speed_and_temperature() -> None:
    sheet = gear()
    assert sheet.no_load(1250.0 * RPM) == pytest.approx(0.0575)
    assert sheet.no_load(2000.0 * RPM, 40.0) == pytest.approx(0.035)
    assert sheet.no_load(-2000.0 * RPM, 10.0) == pytest.approx(0.105)


def test_no_load_torque_beyond_the_printed_loss_is_refused() -> None:
    at, text = refusal(**{**SHEET, "no_load_torque": [["2000 rpm", "0.2 N*m"]]})
    assert at == "no_load_torque"
    assert "more than the loss of the efficiency 0.7, 0.429" in text


# --- life -------------------------------------------------------------------------------------------


def test_average_torque_of_the_published_example() -> None:
    """Harmonic Drive engineering data publish 89 N m for this cycle; unrounded it is 89.4."""
    found = average_torque([150.0, 82.0, 130.0], [10.0, 20.0, 10.0], [0.2, 3.0, 0.3])
    assert found == pytest.approx(89.4, abs=0.05)


def test_average_torque_counts_no_torque_at_rest_and_sizes_alone() -> None:
    moving = average_torque([50.0, -80.0], [10.0, -5.0], [1.0, 1.0])
    assert average_torque([50.0, -80.0, 500.0], [10.0, -5.0, 0.0], [1.0, 1.0, 9.0]) == moving
    assert average_torque([5.0], [0.0], [1.0]) == 0.0
    assert average_speed([10.0, -5.0, 0.0], [1.0, 1.0, 1.0]) == 5.0


def test_life_falls_with_the_cube_of_the_torque_and_with_the_speed() -> None:
    sheet = gear()
    rated = gear_life(sheet, 40.0, 2000.0 * RPM)
    assert rated == pytest.approx(35000.0 * 3600.0)
    assert gear_life(sheet, 80.0, 1000.0 * RPM) == pytest.approx(35000.0 * 3600.0 / 4.0)
    assert rated is not None
    assert life_10(sheet, rated) == pytest.approx(7000.0 * 3600.0)
    assert gear_life(sheet, 0.0, 1.0) == math.inf
    assert gear(kind="rv").exponent == pytest.approx(10.0 / 3.0)


def test_screw_lives_a_million_turns_at_its_dynamic_load() -> None:
    screw = ScrewSheet.model_validate({"lead": "10 mm", "diameter": "20 mm", "dynamic_load": "14 kN"})
    assert screw.life_turns(14e3) == pytest.approx(1e6)
    assert screw.life_turns(7e3) == pytest.approx(8e6)
    assert screw.ratio == pytest.approx(2.0 * math.pi / 0.01)


# --- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"repeated_peak_torque": "30 N*m"}, "repeated_peak_torque", "below the average_torque"),
        ({"momentary_torque": "50 N*m"}, "momentary_torque", "below the repeated_peak_torque"),
        ({"average_speed": "4000 rpm", "max_speed": "3500 rpm"}, "max_speed", "below the average_speed"),
        ({"life_percentile": None}, "life_percentile", "missing: the life is stated for it"),
        ({"torsion": {"k1": "1 N*m/rad", "k2": "2 N*m/rad"}}, "t1", "t1 is missing"),
        (
            {"no_load_torque": [["2000 rpm", "0.07 N*m"], ["500 rpm", "0.05 N*m"]]},
            "no_load_torque",
            "do not rise",
        ),
        ({"temperature_factors": [["20", "1"]]}, "", "'20' is not a temperature"),
        ({"peak_torque": "50 N*m"}, "peak_torque", "did you mean 'repeated_peak_torque'?"),
    ],
)
def test_gear_sheet_that_cannot_be_is_refused(changes: dict[str, Any], field: str, words: str) -> None:
    at, text = refusal(**{k: v for k, v in {**SHEET, **changes}.items() if v is not None})
    assert at == field
    assert words in text


def test_sheet_of_a_gear_at_a_sliding_joint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"axes.A.gear.datasheet: is of a gear between two shafts"):
        drive(tmp_path, {"datasheet": SHEET}, kind="prismatic")


def test_stiffness_of_no_sheet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"axes.A.gear.linear_stiffness: is one of a datasheet's"):
        drive(tmp_path, {"ratio": 100, "linear_stiffness": "k1"})


def test_ratio_beside_the_sheet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"axes.A.gear.ratio: says what datasheet says as well"):
        drive(tmp_path, {"datasheet": SHEET, "ratio": 100})


# --- what a drive takes of it -----------------------------------------------------------------------


def test_drive_has_inertia_friction_and_loss_of_its_gear_sheet(tmp_path: Path) -> None:
    found, plain = drive(tmp_path, {"datasheet": SHEET}), drive(tmp_path, {"ratio": 100})
    assert found.rotor_inertia == pytest.approx(plain.rotor_inertia + 0.2e-4, rel=1e-15)
    w = 2000.0 * RPM
    assert found.friction.torque(w) - plain.friction.torque(w) == pytest.approx(0.07, rel=1e-12)
    assert not found.gear.elastic
    # friction of the shaft and loss of the gear together are the printed efficiency at the rated point
    taken = 40.0 / (100.0 * found.gear.efficiency) + 0.07
    assert 40.0 / (100.0 * taken) == pytest.approx(0.70, rel=1e-12)


def test_drive_takes_the_stiffness_that_is_named(tmp_path: Path) -> None:
    k2 = drive(tmp_path, {"datasheet": SHEET, "linear_stiffness": "k2", "damping": "20 N*m*s/rad"})
    assert k2.gear.stiffness == pytest.approx(24000.0 / 100.0**2)
    secant = drive(tmp_path, {"datasheet": SHEET, "linear_stiffness": "secant"})
    assert secant.gear.stiffness == pytest.approx(gear().torsion.secant(40.0) / 1e4)  # type: ignore[union-attr]


def test_screw_sheet_drives_a_sliding_joint(tmp_path: Path) -> None:
    screw = {"lead": "10 mm", "diameter": "20 mm", "efficiency": "90 %", "inertia": "1 kg*cm^2"}
    found = drive(tmp_path, {"screw_datasheet": screw}, kind="prismatic")
    assert found.gear.ratio == pytest.approx(2.0 * math.pi / 0.01)
    assert found.gear.efficiency == 0.9
    assert found.rotor_inertia == pytest.approx(2e-4)
