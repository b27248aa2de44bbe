"""Data sheets written as text read back to the same numbers."""

from __future__ import annotations

import pytest

from servotwin.description.nodes import parse_yaml
from servotwin.description.sheets.catalogue import read_catalogue
from servotwin.description.sheets.gear_sheet import GearSheet
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.sheet_text import sheet_text


@pytest.mark.parametrize("kind", ["printed", "gears", "screws"])
def test_every_generic_sheet_reads_back_to_itself(kind: str) -> None:
    for sheet in list(getattr(read_catalogue(), kind).values())[::5]:
        again = type(sheet).model_validate(parse_yaml(sheet_text(sheet), "text").plain())
        assert again == sheet


def test_effective_values_amplitudes_and_temperatures_are_kept() -> None:
    motor = MotorDatasheet(
        conventions={"voltage_between": "lines", "winding_between": "phase", "connection": "delta",
                     "winding_temperature": "120 degC"},
        torque_constant="0.7 N*m/Apk", rated_current="3 Arms", voltage_constant="41 Vrms/krpm", resistance="2 ohm",
    )  # fmt: skip
    assert '"0.7 N*m/Apk"' in sheet_text(motor)
    assert MotorDatasheet.model_validate(parse_yaml(sheet_text(motor), "text").plain()) == motor
    gear = GearSheet(
        kind="strain-wave", ratio=100, reference_temperature="30 degC",
        temperature_factors=[["0 degC", 2], ["30 degC", 1]],
    )  # fmt: skip
    assert GearSheet.model_validate(parse_yaml(sheet_text(gear), "text").plain()) == gear
