"""Cross-checks find sheets that are misread, and name the reading under which they were made."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from servotwin.description.load import read_description
from servotwin.description.sheets.cross_checks import (
    mechanical_time_constant,
    motor_contradictions,
    no_load_speed,
)
from servotwin.description.sheets.gear_checks import gear_contradictions
from servotwin.description.sheets.gear_sheet import GearSheet
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import motor_sheet

READINGS = list(product(("rms", "amplitude"), ("rms", "amplitude"), ("lines", "phase")))
FLUX, POLE_PAIRS = 0.0837, 4  # V s of a star phase
WORDS = {
    0: {"rms": "currents were an effective value (rms)", "amplitude": "currents were an amplitude"},
    1: {"rms": "the voltage were an effective value (rms)", "amplitude": "the voltage were an amplitude"},
    2: {"lines": "the voltage were between lines", "phase": "the voltage were of one star phase"},
}


def printed_constants(reading: tuple[str, str, str]) -> tuple[float, float]:
    """Torque and voltage constant of the motor as a sheet with this reading prints them (SI), by hand."""
    current, voltage, between = reading
    K_t = 1.5 * POLE_PAIRS * FLUX * (math.sqrt(2.0) if current == "rms" else 1.0)
    K_e = POLE_PAIRS * FLUX * (math.sqrt(3.0) if between == "lines" else 1.0)
    return K_t, K_e / (math.sqrt(2.0) if voltage == "rms" else 1.0)


def stated(reading: tuple[str, str, str], **fields: Any) -> MotorDatasheet:
    current, voltage, between = reading
    told = {
        "current": current, "voltage": voltage, "voltage_between": between, "connection": "star",
        "winding_between": "lines", "winding_temperature": "20 degC",
    }  # fmt: skip
    return MotorDatasheet.model_validate({"conventions": told, **fields})


def lines(sheet: MotorDatasheet) -> dict[str, str]:
    return dict(motor_contradictions(sheet))


@pytest.mark.parametrize("reading", READINGS)
def test_constants_read_as_they_were_printed_fit(reading) -> None:
    K_t, K_e = printed_constants(reading)
    assert not lines(stated(reading, torque_constant=K_t, voltage_constant=K_e))


@pytest.mark.parametrize(("made", "read"), [(a, b) for a in READINGS for b in READINGS if a != b])
def test_constants_misread_are_found_and_the_right_reading_is_named(made, read) -> None:
    K_t, K_e = printed_constants(made)
    wrong = [i for i in range(3) if made[i] != read[i]]
    as_read = printed_constants(read)
    found = lines(stated(read, torque_constant=K_t, voltage_constant=K_e))
    if math.isclose(K_t / K_e, as_read[0] / as_read[1], rel_tol=0.04):
        assert not found  # both read wrong in the same way: the ratio cannot show it
        return
    text = found["torque_constant"]
    if len(wrong) == 1:
        assert WORDS[wrong[0]][made[wrong[0]]] in text
    else:
        assert "they fit if" in text


def test_constants_that_no_reading_fits_are_said_to_be_wrong() -> None:
    found = lines(stated(("rms", "rms", "lines"), torque_constant=0.71, voltage_constant=0.71 / 5.2))
    assert "one of the two numbers is wrong" in found["torque_constant"]


def test_message_of_a_phase_value_that_is_of_lines() -> None:
    text = lines(
        stated(("rms", "rms", "phase"), torque_constant="0.71 N*m/A", voltage_constant="42.93 V/krpm")
    )["torque_constant"]
    assert text == (
        "0.71 N*m/A (rms) does not fit the voltage_constant 42.93 V/krpm (rms, of one star phase): their ratio is 1.73,"
        " a sinusoidal motor has 3; they fit if the voltage were between lines"
    )


@pytest.mark.parametrize(("size", "other"), [("rms", "amplitude"), ("amplitude", "rms")])
def test_rated_current_of_the_other_kind_is_found(size, other) -> None:
    K_t = 0.5  # per amplitude
    torque = 3.0
    amplitude = torque / K_t
    printed = amplitude if size == "amplitude" else amplitude / math.sqrt(2.0)
    unit = {"rms": "Arms", "amplitude": "Apk"}[other]
    sheet = MotorDatasheet.model_validate(
        {
            "torque_constant": f"{K_t} N*m/Apk",
            "rated_torque": f"{torque} N*m",
            "rated_current": f"{printed} {unit}",
        }
    )
    words = {
        "rms": "this current were an effective value (rms)",
        "amplitude": "this current were an amplitude",
    }
    assert words[size] in lines(sheet)["rated_current"]


def test_no_load_speed_is_where_the_line_voltage_is_the_bus() -> None:
    K_t, K_e = printed_constants(("rms", "rms", "lines"))
    sheet = stated(("rms", "rms", "lines"), torque_constant=K_t, voltage_constant=K_e, bus_voltage="280 V")
    speed = no_load_speed(motor_sheet("", sheet), 280.0)
    assert speed is not None
    assert math.sqrt(2.0) * K_e * speed == pytest.approx(280.0, rel=1e-12)  # amplitude between two lines


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.0, None),
        (math.sqrt(2.0), "that of the mains"),
        (math.sqrt(3.0) / 2.0, None),
        (0.6, "is wrong"),
        (1.24, "is wrong"),
    ],
)
def test_no_load_speed_beside_the_bus_names_what_would_fit(factor, words) -> None:
    K_t, K_e = printed_constants(("rms", "rms", "lines"))
    speed = factor * 280.0 / (math.sqrt(2.0) * K_e)
    fields = {"torque_constant": K_t, "voltage_constant": K_e, "bus_voltage": "280 V", "no_load_speed": speed}
    found = lines(stated(("rms", "rms", "lines"), **fields))
    assert (words is None and not found) or words in found["no_load_speed"]


def test_rated_power_beside_torque_and_speed() -> None:
    fields = {
        "rated_torque": "3 N*m",
        "rated_speed": "3000 rpm",
        "rated_output": "1.1 kW",
        "stall_torque": "3.5 N*m",
    }
    assert "they fit with the stall_torque" in lines(MotorDatasheet.model_validate(fields))["rated_output"]
    assert not lines(MotorDatasheet.model_validate({**fields, "rated_output": "950 W"}))


@given(J=some.floats(1e-6, 1e-1), R=some.floats(1e-2, 1e2), K=some.floats(1e-2, 1e1))
def test_mechanical_time_constant_is_that_of_the_run_up_equation(J, R, K) -> None:
    """J w' = K_t (u - K_e w)/R has the rate K_t K_e/(J R)."""
    assert mechanical_time_constant("pmsm", J, R, K) == pytest.approx(J * R / (K * K * 2.0 / 3.0), rel=1e-12)
    assert mechanical_time_constant("dc", J, R, K) == pytest.approx(J * R / K**2, rel=1e-12)


@pytest.mark.parametrize(
    ("between", "connection", "words"),
    [("phase", "star", "of one star phase"), ("phase", "delta", "of one delta phase")],
)
def test_mechanical_time_constant_names_how_the_resistance_was_meant(between, connection, words) -> None:
    """Printed of a phase, read between lines; the constants fit, so that they are not doubted."""
    K_t, K_e = printed_constants(("rms", "rms", "lines"))
    R_star, J = 0.7, 2e-4
    printed = R_star * (3.0 if connection == "delta" else 1.0)
    tau = 1.5 * J * R_star / (1.5 * POLE_PAIRS * FLUX) ** 2
    fields = {"resistance": printed, "rotor_inertia": J, "mechanical_time_constant": tau}
    found = lines(stated(("rms", "rms", "lines"), torque_constant=K_t, voltage_constant=K_e, **fields))
    assert f"they fit if the resistance were {words}" in found["mechanical_time_constant"]


def test_electrical_time_constant_names_mixed_places() -> None:
    fields = {"resistance": "1.2 ohm", "inductance": "2 mH", "electrical_time_constant": "3.33 ms"}
    found = lines(stated(("rms", "rms", "lines"), **fields))
    assert (
        "inductance were of one phase and the resistance between lines" in found["electrical_time_constant"]
    )


def test_rated_loss_beside_the_copper_loss() -> None:
    K_t, K_e = printed_constants(("rms", "rms", "lines"))
    torque, R = 3.0, 1.2  # between lines
    loss = 3.0 * (torque / K_t) ** 2 * R / 2.0 * (234.5 + 140.0) / 254.5
    heat = {"time_constant": "20 min", "winding_rise": "100 K"}
    fields = {"torque_constant": K_t, "voltage_constant": K_e, "rated_torque": torque, "resistance": R}
    fits = stated(("rms", "rms", "lines"), **fields, thermal={**heat, "rated_loss": loss})
    off = stated(("rms", "rms", "lines"), **fields, thermal={**heat, "rated_loss": 2.0 * loss})
    assert not lines(fits)
    assert "they fit if the resistance were of one star phase" in lines(off)["thermal.rated_loss"]


def test_resistance_of_the_hot_winding_stated_as_cold_is_named_with_its_temperature() -> None:
    K_t, K_e = printed_constants(("rms", "rms", "lines"))
    torque, R = 3.0, 1.2
    loss = 3.0 * (torque / K_t) ** 2 * R / 2.0 * (234.5 + 140.0) / (234.5 + 120.0)
    heat = {"time_constant": "20 min", "winding_rise": "100 K", "rated_loss": loss}
    fields = {"torque_constant": K_t, "voltage_constant": K_e, "rated_torque": torque, "resistance": R}
    found = lines(stated(("rms", "rms", "lines"), **fields, thermal=heat))["thermal.rated_loss"]
    assert "if the resistance were that of a winding at 120 degC" in found


def test_voltage_that_bus_and_no_load_speed_vouch_for_is_not_doubted() -> None:
    """Amplitudes of currents stated as effective values: one reading is named, and no winding is blamed for it."""
    K_t, K_e = printed_constants(("amplitude", "rms", "lines"))
    R, J, bus = 1.2, 1e-4, 280.0
    run_up = 1.5 * J * (R / 2.0) / K_t**2
    speed = bus / (math.sqrt(2.0) * K_e)
    found = lines(
        stated(
            ("rms", "rms", "lines"), torque_constant=K_t, voltage_constant=K_e, resistance=R, rotor_inertia=J,
            bus_voltage=bus, no_load_speed=speed, mechanical_time_constant=run_up,
        )
    )  # fmt: skip
    assert found["torque_constant"].endswith("they fit if currents were an amplitude")
    assert found["mechanical_time_constant"].endswith("they fit if the torque_constant were per an amplitude")


def test_curves_beside_the_ratings() -> None:
    fields = {
        "rated_torque": "3 N*m", "rated_speed": "3000 rpm", "peak_torque": "9 N*m", "max_speed": "4000 rpm",
        "continuous": {"points": [["0 rpm", "4 N*m"], ["3000 rpm", "3.9 N*m"]]},
        "peak": {"points": [["0 rpm", "7 N*m"], ["5000 rpm", "5 N*m"]]},
    }  # fmt: skip
    found = list(motor_contradictions(MotorDatasheet.model_validate(fields)))
    assert [field for field, _ in found] == ["continuous", "peak", "peak"]


def test_gear_that_gets_softer_is_odd() -> None:
    torsion = {"k1": "2e4 N*m/rad", "k2": "1e4 N*m/rad", "t1": "10 N*m"}
    sheet = GearSheet.model_validate({"kind": "strain-wave", "ratio": "100", "torsion": torsion})
    assert [field for field, _ in gear_contradictions(sheet)] == ["torsion"]


def test_check_of_a_robot_gives_the_line_of_the_sheet(tmp_path: Path) -> None:
    text = """\
format: servotwin/1
name: arm
axes:
  A:
    dh: {a: 300 mm}
    link: {mass: 5 kg}
    gear: {ratio: 50}
    motor:
      datasheet:
        conventions: {voltage_between: phase, connection: star}
        torque_constant: 0.71 N*m/Arms
        voltage_constant: 42.93 Vrms/krpm
"""
    path = tmp_path / "arm.yaml"
    path.write_text(text, encoding="utf-8")
    (warning,) = read_description(path).warnings
    assert warning.startswith(
        f"{path}:11: axes.A.motor.datasheet.torque_constant: 0.71 N*m/A (rms) does not fit"
    )
    assert warning.endswith("they fit if the voltage were between lines")


def test_sheet_for_another_bus_than_the_robot_has_is_told(tmp_path: Path) -> None:
    text = """\
format: servotwin/1
name: arm
axes:
  A:
    dh: {a: 300 mm}
    link: {mass: 5 kg}
    gear: {ratio: 50}
    motor: {datasheet: {bus_voltage: 560 V, rated_torque: 3 N*m}}
power: {bus_voltage: 280 V}
"""
    path = tmp_path / "arm.yaml"
    path.write_text(text, encoding="utf-8")
    (warning,) = read_description(path).warnings
    assert warning.startswith(
        f"{path}:8: axes.A.motor.datasheet.bus_voltage: 560 V is what the sheet holds for"
    )
    path.write_text(text.replace("280 V", "540 V"), encoding="utf-8")
    assert read_description(path).warnings == []


def test_joint_limit_that_turns_the_gear_too_fast_is_told(tmp_path: Path) -> None:
    text = """\
format: servotwin/1
name: arm
axes:
  A:
    dh: {a: 300 mm}
    limits: {speed: 200 deg/s}
    link: {mass: 5 kg}
    gear: {datasheet: {kind: strain-wave, ratio: 100, max_speed: 3000 rpm}}
    motor: {kind: dc}
"""
    path = tmp_path / "arm.yaml"
    path.write_text(text, encoding="utf-8")
    (warning,) = read_description(path).warnings
    assert "the gear of axis A turns at 3333 rpm at this speed, above the max_speed 3000 rpm" in warning


@pytest.mark.parametrize(
    ("motor", "fields"),
    [
        ("datasheet: {PRINTED, no_load_speed: 9000 rpm}", ["datasheet.no_load_speed"]),
        ("datasheet: {PRINTED, rated_speed: 9000 rpm}", ["datasheet.rated_speed"]),
        ("datasheet: {PRINTED, rated_speed: 5000 rpm, no_load_speed: 6000 rpm}", []),
        ("kind: dc, voltage_constant: 0.5 V*s/rad, rated_speed: 9000 rpm", ["rated_speed"]),
        ("kind: dc, voltage_constant: 0.5 V*s/rad, rated_speed: 5000 rpm", []),
    ],
)
def test_speed_that_needs_more_than_the_bus_of_the_robot_is_told(tmp_path: Path, motor, fields) -> None:
    """36 Vrms/krpm between lines take 280 V at 280/sqrt(2)/36 krpm = 5500 rpm, 0.5 V s/rad at 560 rad/s = 5348 rpm."""
    printed = "conventions: {voltage_between: lines}, voltage_constant: 36 Vrms/krpm"
    path = tmp_path / "arm.yaml"
    path.write_text(
        "format: servotwin/1\nname: arm\naxes:\n  A:\n    dh: {a: 300 mm}\n    link: {mass: 5 kg}\n"
        f"    gear: {{ratio: 50}}\n    motor: {{{motor.replace('PRINTED', printed)}}}\npower: {{bus_voltage: 280 V}}\n",
        encoding="utf-8",
    )
    at = "5348" if "dc" in motor else "5500"
    words = f"9000 rpm is beyond {at} rpm, where the back-EMF takes the power.bus_voltage 280 V"
    expected = [f"{path}:8: axes.A.motor.{field}: {words}" for field in fields]
    assert [line for line in read_description(path).warnings if "bus" in line] == expected
