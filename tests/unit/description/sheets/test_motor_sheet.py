"""Data sheets of motors: read as printed, converted once, refused where a convention is not stated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.linalg import expm

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.load import read_description
from servotwin.description.problems import find
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import MotorSheet, motor_sheet
from servotwin.errors import InputError

CONVENTIONS = {"voltage_between": "lines", "winding_between": "lines", "winding_temperature": "20 degC"}
SHEET: dict[str, Any] = {
    "conventions": CONVENTIONS,
    "rated_torque": "3.5 N*m",
    "rated_speed": "3000 rpm",
    "rated_current": "5 Arms",
    "torque_constant": "0.71 N*m/Arms",
    "voltage_constant": "42.93 Vrms/krpm",
    "resistance": "1.2 ohm",
    "inductance": "4 mH",
    "pole_pairs": "4",
    "rotor_inertia": "1.2 kg*cm^2",
}
AXIS = """\
format: servotwin/1
name: one-axis
axes:
  A:
    dh: {{a: 300 mm}}
    link: {{mass: 5 kg}}
    gear: {gear}
    motor: {motor}
"""


def sheet(**changes: Any) -> MotorSheet:
    return motor_sheet("m", MotorDatasheet.model_validate({**SHEET, **changes}))


def conventions(**changes: Any) -> dict[str, Any]:
    return {**CONVENTIONS, **changes}


def refusal(**changes: Any) -> tuple[str, str]:
    with pytest.raises(ValidationError) as caught:
        sheet(**changes)
    context = caught.value.errors()[0]["ctx"]
    return context["at"], context["text"]


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(map(flow, value)) + "]" if isinstance(value, list) else str(value)


def drive(tmp_path: Path, motor: Any, gear: Any = None) -> DriveData:
    path = tmp_path / "robot.yaml"
    path.write_text(AXIS.format(motor=flow(motor), gear=flow(gear or {"ratio": 50})), encoding="utf-8")
    return drives_of(read_description(path))[0]


def test_sheet_in_every_form_is_one_motor() -> None:
    """The same motor printed in effective values and amplitudes, of lines and phases, as star and delta."""
    reference = sheet()
    star_rms = 42.93 / math.sqrt(3.0)
    forms = [
        {
            "torque_constant": f"{0.71 / math.sqrt(2.0)!r} N*m/Apk",
            "rated_current": f"{5 * math.sqrt(2.0)!r} Apk",
        },
        {
            "torque_constant": "0.71 N*m/A",
            "rated_current": "5 A",
            "voltage_constant": f"{42.93 * math.sqrt(2.0)!r} V/krpm",
            "conventions": conventions(current="rms", voltage="amplitude"),
        },
        {
            "voltage_constant": f"{star_rms!r} V rms/krpm",
            "resistance": "0.6 ohm",
            "inductance": "2 mH",
            "conventions": conventions(voltage_between="phase", winding_between="phase", connection="star"),
        },
        {
            "resistance": "1.8 ohm",
            "inductance": "6 mH",
            "conventions": conventions(voltage_between="phase", winding_between="phase", connection="delta"),
        },
        {
            "resistance": f"{1.2 * (234.5 + 120.0) / 254.5!r} ohm",
            "conventions": conventions(winding_temperature="120 degC"),
        },
    ]
    for form in forms:
        other = sheet(**form)
        for field in ("torque_constant", "voltage_constant", "rated_current", "inductance"):
            assert getattr(other, field) == pytest.approx(getattr(reference, field), rel=1e-12), (field, form)
        assert other.resistance_at(77.0) == pytest.approx(reference.resistance_at(77.0), rel=1e-12)


def test_sheet_gives_the_drive_of_the_same_numbers_by_hand(tmp_path: Path) -> None:
    by_hand = {
        "kind": "pmsm", "rated_torque": "3.5 N*m", "rated_speed": "3000 rpm", "rated_current": "5 A*sqrt(2)",
        "torque_constant": "0.71 N*m/A/sqrt(2)", "voltage_constant": "42.93 V/krpm*sqrt(2/3)", "inductance": "4 mH/2",
        "resistance": "1.2 ohm/2 * (234.5 + 25)/(234.5 + 20)", "pole_pairs": "4", "rotor_inertia": "1.2 kg*cm^2",
    }  # fmt: skip
    found, expected = drive(tmp_path, {"datasheet": SHEET}), drive(tmp_path, by_hand)
    for field in ("resistance", "inductance_d", "inductance_q", "torque_constant", "flux", "pole_pairs"):
        assert getattr(found.electrical, field) == pytest.approx(
            getattr(expected.electrical, field), rel=1e-15
        )
    assert found.ratings.current_limit == pytest.approx(expected.ratings.current_limit, rel=1e-15)
    assert (found.rotor_inertia, found.kind) == (expected.rotor_inertia, expected.kind)


def test_dc_sheet_needs_no_convention_but_the_temperature() -> None:
    found = sheet(
        kind="dc", conventions={"winding_temperature": "20 degC"}, torque_constant="0.12 N*m/A", rated_current="5 A",
        voltage_constant="12.57 V/krpm",
    )  # fmt: skip
    assert (found.torque_constant, found.rated_current, found.resistance) == (0.12, 5.0, 1.2)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"torque_constant": "0.71 N*m/A"}, "conventions.current", "rms or amplitude, or Arms or Apk"),
        ({"voltage_constant": "42.93 V/krpm"}, "conventions.voltage", "rms or amplitude, or Vrms or Vpk"),
        ({"conventions": {**CONVENTIONS, "current": "amplitude"}}, "torque_constant", "its unit says rms"),
        ({"conventions": {"voltage_between": "lines", "winding_between": "lines"}}, "conventions.winding_temperature",
         "resistance depends on it"),
        ({"conventions": {"winding_between": "lines", "winding_temperature": "20 degC"}},
         "conventions.voltage_between", "lines or phase"),
        ({"conventions": conventions(winding_between="phase")}, "conventions.connection", "star or delta"),
        ({"peak_torque": "3 N*m"}, "peak_torque", "below the rated_torque"),
        ({"max_speed": "2000 rpm"}, "max_speed", "below the rated_speed"),
    ],
)  # fmt: skip
def test_sheet_without_a_convention_is_refused(changes: dict[str, Any], field: str, words: str) -> None:
    at, text = refusal(**changes)
    assert at == field
    assert words in text


def test_sheet_and_plain_field_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"robot.yaml:8: axes.A.motor.resistance: says what datasheet says as well"
    ):
        drive(tmp_path, {"datasheet": SHEET, "resistance": "1 ohm"})


def test_sheet_with_a_mistake_names_line_and_field(tmp_path: Path) -> None:
    heat = {
        "time_constant": "20 min", "winding_rise": "100 K", "housing_rise": "120 K", "winding_time_constant": "1 min",
    }  # fmt: skip
    place = r"robot.yaml:8: axes.A.motor.datasheet.thermal.housing_rise: 120 K is not below"
    with pytest.raises(InputError, match=place):
        drive(tmp_path, {"datasheet": {**SHEET, "thermal": heat}})


def test_one_body_reaches_its_rise_with_the_printed_time_constant(tmp_path: Path) -> None:
    heat = {"time_constant": "20 min", "winding_rise": "100 K", "rated_loss": "50 W", "ambient": "40 degC"}
    thermal = drive(tmp_path, {"datasheet": {**SHEET, "thermal": heat}}).thermal
    rise = warmed(thermal, 50.0, 1200.0)
    assert rise == pytest.approx(
        100.0 * (1.0 - math.exp(-1.0)), rel=1e-6
    )  # the housing is a sink of 1e-6 K/W
    assert warmed(thermal, 50.0, 20 * 1200.0) == pytest.approx(100.0, rel=1e-6)
    assert thermal is not None
    assert thermal.reference_temperature == 40.0
    hot = 1.0 + thermal.temperature_coefficient * 100.0
    assert hot == pytest.approx((234.5 + 140.0) / (234.5 + 40.0), rel=1e-12)


def test_two_bodies_rise_as_printed(tmp_path: Path) -> None:
    heat = {
        "time_constant": "20 min", "winding_rise": "100 K", "rated_loss": "50 W", "housing_rise": "60 K",
        "winding_time_constant": "40 s",
    }  # fmt: skip
    thermal = drive(tmp_path, {"datasheet": {**SHEET, "thermal": heat}}).thermal
    assert thermal is not None
    assert warmed(thermal, 50.0, 1e6) == pytest.approx(100.0, rel=1e-9)
    # with the housing at rest the winding alone answers with its own time constant
    assert thermal.winding_to_housing * thermal.winding_capacity == pytest.approx(40.0)
    assert thermal.housing_to_ambient * thermal.housing_capacity == pytest.approx(1200.0)


def warmed(thermal: Any, loss: float, time: float) -> float:
    """Rise of the winding after a time under a constant loss: the exact solution of eq:thermal."""
    R_w, R_h, C_w, C_h = (
        thermal.winding_to_housing, thermal.housing_to_ambient, thermal.winding_capacity, thermal.housing_capacity,
    )  # fmt: skip
    A = np.array([[-1 / (R_w * C_w), 1 / (R_w * C_w), 1 / C_w],
                  [1 / (R_w * C_h), -(1 / R_w + 1 / R_h) / C_h, 0.0], [0.0, 0.0, 0.0]])  # fmt: skip
    return float((expm(A * time) @ [0.0, 0.0, loss])[0])


def test_rated_loss_left_out_is_the_copper_loss_of_the_hot_winding() -> None:
    found = sheet(thermal={"time_constant": "20 min", "winding_rise": "100 K"})
    hot = 1.2 / 2.0 * (234.5 + 140.0) / 254.5
    loss = 3.0 * (3.5 / 0.71) ** 2 * hot  # three phases, effective values
    assert found.thermal is not None
    assert found.thermal.resistance == pytest.approx(100.0 / loss, rel=1e-5)


def test_peak_current_beyond_the_peak_torque_limits_by_the_torque(tmp_path: Path) -> None:
    found = drive(tmp_path, {"datasheet": {**SHEET, "peak_torque": "10 N*m", "peak_current": "20 Arms"}})
    assert found.ratings.current_limit == pytest.approx(10.0 / (0.71 / math.sqrt(2.0)), rel=1e-12)


def test_curves_are_read_between_their_points_and_end_at_the_largest_speed() -> None:
    found = sheet(
        max_speed="4000 rpm",
        continuous={"points": [["0 rpm", "4 N*m"], ["3000 rpm", "3.5 N*m"]]},
        peak={
            "points": [["0 rpm", "10 N*m"], ["2000 rpm", "10 N*m"], ["4000 rpm", "4 N*m"]],
            "bus_voltage": "280 V",
        },
    )
    rpm = math.pi / 30.0
    assert found.continuous_torque(-1500.0 * rpm) == pytest.approx(3.75)
    assert found.short_torque(3000.0 * rpm) == pytest.approx(7.0)
    assert found.short_torque(4001.0 * rpm) == 0.0


def test_continuous_curve_above_the_peak_curve_is_refused() -> None:
    at, text = refusal(
        continuous={"points": [["0 rpm", "4 N*m"], ["3000 rpm", "5 N*m"]]},
        peak={"points": [["0 rpm", "10 N*m"], ["4000 rpm", "2 N*m"]]},
    )
    assert at == "continuous"
    assert "above the peak curve" in text


MOVED = (
    *("kind", "rated_output", "rated_speed", "rated_torque", "rated_current", "peak_torque", "max_speed"),
    *("torque_constant", "voltage_constant", "resistance", "inductance", "pole_pairs", "rotor_inertia"),
    *("viscous_friction", "coulomb_friction", "mass"),
)


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4", "sixaxis-5kg"])
def test_motors_moved_into_sheets_are_the_same_to_the_last_bit(name: str) -> None:
    """Every motor of a robot stated as a sheet in the conventions of the models, at its reference temperature."""
    description = read_description(name)
    assert description.tree is not None
    changes: dict[str, str | None] = {}
    told = {
        "current": "amplitude",
        "voltage": "amplitude",
        "voltage_between": "phase",
        "winding_between": "phase",
    }
    for axis in (axis for axis, data in description.axes.items() if data.motor is not None):
        motor = find(description.tree, [f"axes.{axis}.motor"]).plain()
        assert motor["thermal"]  # stays beside the sheet, and its reference is 25 degC
        for field, text in {**told, "connection": "star", "winding_temperature": "25 degC"}.items():
            changes[f"axes.{axis}.motor.datasheet.conventions.{field}"] = text
        for field in (field for field in MOVED if motor.get(field) is not None):
            changes[f"axes.{axis}.motor.datasheet.{field}"] = motor[field]
            changes[f"axes.{axis}.motor.{field}"] = None
    moved = read_description(name, changes)
    assert any(axis.motor and axis.motor.datasheet for axis in moved.axes.values())
    assert drives_of(moved) == drives_of(description)
    for axis, data in description.axes.items():
        dumps = [m and m.model_dump(exclude={"datasheet"}) for m in (data.motor, moved.axes[axis].motor)]
        assert dumps[0] == dumps[1]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"torque_constant": "1e-300 N*m/Arms"}, ""),
        ({"rated_torque": "1e25 N*m"}, ""),
        ({"conventions": conventions(winding_temperature="-234.5 degC")}, "winding_temperature"),
        ({"thermal": {"time_constant": "1 s", "winding_rise": "1 K", "ambient": "-234.5 degC"}}, "ambient"),
    ],
)
def test_numbers_beyond_all_motors_are_refused(changes: dict[str, Any], field: str) -> None:
    at, text = refusal(**changes)
    assert at == field
    assert "expected" in text
