"""Motors, brakes, power and controllers of a description: values in SI, messages, contradictions."""

from __future__ import annotations

from pathlib import Path

import pytest

from servotwin.description.checks import motor_names
from servotwin.description.controller_parts import time_text
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.description.units import parse_quantity
from servotwin.errors import InputError

CONTROLLER = """\
controller:
  main_period: 16 ms
  axis_period: 1.6 ms
  speed_period: 1 ms
  current_period: 0.2 ms
  position_bandwidth: 30 1/s
  speed_bandwidth: 150 rad/s
  current_bandwidth: 1200 rad/s
"""
POWER = "power: {bus_voltage: 75 V}\n"
ROBOT = """\
format: servotwin/1
name: x
axes:
  A:
    dh: {}
    limits: {speed: 100 rpm}
    gear: {ratio: 10}
    motor: {kind: dc, torque_constant: 0.1 N*m/A}
"""


def described(folder: Path, text: str, overrides: dict[str, str] | None = None) -> RobotDescription:
    path = folder / "robot.yaml"
    path.write_text(text, encoding="utf-8")
    return read_description(path, overrides)


def message(folder: Path, text: str, overrides: dict[str, str] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        described(folder, text, overrides)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 700
    return line.removeprefix(f"{folder}/")


# --- values -----------------------------------------------------------------------------------------


def test_scara_has_the_periods_of_its_paper_exactly() -> None:
    controller = read_description("gsis-scara").controller
    assert controller is not None
    periods = ("main", "axis", "speed", "current")
    assert [getattr(controller, f"{name}_period") for name in periods] == [16e-3, 1.6e-3, 1e-3, 0.2e-3]
    exact = [getattr(controller, f"{name}_period_ns") for name in periods]
    assert exact == [16_000_000, 1_600_000, 1_000_000, 200_000]
    assert all(isinstance(ns, int) for ns in exact)
    bandwidths = (controller.position_bandwidth, controller.speed_bandwidth, controller.current_bandwidth)
    assert bandwidths == (30.0, 150.0, 1200.0)


def test_what_the_scara_paper_does_not_print_is_marked_as_assumed() -> None:
    description = read_description("gsis-scara")
    assumed = {field for field, _, _ in description.assumptions()}
    assert "power.bus_voltage" in assumed
    assert {f"controller.{name}_bandwidth" for name in ("position", "speed", "current")} <= assumed
    assert {f"axes.{name}.motor.thermal.winding_to_housing" for name in "ABZW"} <= assumed
    assert "controller.axis_period" not in assumed
    assert description.origins["controller.axis_period"].source == "Table 4"


@pytest.mark.parametrize("name", ["gsis-scara", "puma560", "palletizer-4"])
def test_catalogue_robot_with_drives_has_all_a_simulation_needs(name: str) -> None:
    description = read_description(name)
    assert description.power is not None
    assert description.controller is not None
    assert description.warnings == []
    for motor in motor_names(description):
        axis = description.axes[motor]
        assert axis.encoder is not None
        assert axis.encoder.counts > 0
        assert axis.limits.speed
        assert axis.motor is not None
        needed = ("torque_constant", "resistance", "inductance", "rotor_inertia", "current_limit")
        assert all(getattr(axis.motor, field) for field in needed)


def test_defaults_of_power_and_controller(tmp_path: Path) -> None:
    robot = described(tmp_path, ROBOT + POWER + CONTROLLER)
    assert robot.power is not None
    assert robot.controller is not None
    power, controller = robot.power, robot.controller
    assert (power.supply_resistance, power.capacitance, power.braking_resistor) == (None, None, None)
    assert power.bridge.modulation == "unipolar"
    assert (power.bridge.dead_time, power.bridge.storage_time, power.bridge.on_resistance) == (0, 0, 0)
    assert (controller.arithmetic, controller.computation_delay, controller.jitter) == ("float", 0, 0.0)
    assert (controller.law, controller.speed_sensing) == ("cascade", "counted")
    assert (controller.command_bits, controller.command_voltage) == (12, 10.0)
    sensor, ahead = controller.current_sensor, controller.feedforward
    assert (sensor.bits, sensor.range, sensor.offset, sensor.noise) == (12, None, 0.0, 0.0)
    assert (ahead.velocity, ahead.acceleration, ahead.torque, ahead.gravity) == (0, 0, 0, 0)
    assert (controller.gains, controller.speed_integral_time, controller.speed_filter) == ({}, None, None)


def test_fields_are_read_to_si(tmp_path: Path) -> None:
    overrides = {
        "axes.A.motor.static_friction": "1 kgf*cm",
        "axes.A.motor.stribeck_speed": "60 rpm",
        "axes.A.motor.inductance_q": "3 mH",
        "axes.A.motor.thermal": "{winding_to_housing: 2 K/W, housing_to_ambient: 3 K/W,"
        " winding_capacity: 90 J/K, housing_capacity: 0.78 kJ/K, limit: 428.15 K}",
        "axes.A.brake": "{torque: 2 N*m, delay: 30 ms}",
        "axes.A.encoder": "{lines: 500, index: false}",
        "power.capacitance": "4700 uF",
        "power.supply_resistance": "300 mohm",
        "power.braking_resistor": "{resistance: 5 ohm, on: 90 V, off: 85 V}",
        "power.bridge.on_resistance": "40 mohm",
        "power.bridge.dead_time": "2 us",
        "controller.gains.A": "{position: 20/s, speed_proportional: 0.8 A*s/rad, current_integral: 3 V/(A*s)}",
        "controller.feedforward.velocity": "80 %",
        "controller.current_sensor.noise": "50 mA",
    }
    robot = described(tmp_path, ROBOT + POWER + CONTROLLER, overrides)
    axis, power, controller = robot.axes["A"], robot.power, robot.controller
    assert axis.motor is not None
    assert axis.motor.thermal is not None
    assert axis.brake is not None
    assert axis.encoder is not None
    assert power is not None
    assert power.braking_resistor is not None
    assert controller is not None
    assert axis.motor.static_friction == pytest.approx(0.0980665)
    assert axis.motor.stribeck_speed == pytest.approx(6.283185307)
    thermal = axis.motor.thermal
    assert (thermal.housing_capacity, thermal.temperature_coefficient) == (780.0, 0.00393)
    assert (thermal.reference_temperature, thermal.limit) == (25.0, pytest.approx(155.0))
    assert (axis.brake.torque, axis.brake.delay) == (2.0, 0.03)
    assert (axis.encoder.index, axis.encoder.counts) == (False, 2000)
    assert power.supply_resistance == 0.3
    assert (power.capacitance, power.bridge.on_resistance, power.bridge.dead_time) == (4.7e-3, 0.04, 2e-6)
    gains = controller.gains["A"]
    assert (gains.position, gains.speed_proportional, gains.current_integral) == (20.0, 0.8, 3.0)
    assert gains.position_integral is None
    assert controller.feedforward.velocity == 0.8
    assert controller.current_sensor.noise == 0.05


def test_encoder_counts_of_bits_and_default_index(tmp_path: Path) -> None:
    encoder = described(tmp_path, ROBOT, {"axes.A.encoder": "{bits: 20}"}).axes["A"].encoder
    assert encoder is not None
    assert (encoder.counts, encoder.index) == (2**20, True)


@pytest.mark.parametrize(
    ("text", "value"), [("30 1/s", 30.0), ("30/s", 30.0), ("2 1/ms", 2000.0), ("5 1/s + 1 1/s", 6.0)]
)
def test_reciprocal_units_read_as_people_write_them(text: str, value: float) -> None:
    assert parse_quantity(text, "1/s") == value


@pytest.mark.parametrize("text", ["1 000 mm", "5 1/2 m", "5 1 m", "5 2/m", "5 1/"])
def test_second_number_in_a_row_is_still_a_slip(text: str) -> None:
    with pytest.raises(ValueError, match=r"not expected here|something is missing"):
        parse_quantity(text, "m")


@pytest.mark.parametrize(
    ("ns", "text"),
    [(1, "1 ns"), (62_500, "62.5 us"), (200_000, "200 us"), (16 * 10**6, "16 ms"), (10**9, "1 s")],
)
def test_time_text_is_exact(ns: int, text: str) -> None:
    assert time_text(ns) == text
    assert round(parse_quantity(text, "s") * 1e9) == ns


# --- messages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (
            "controller.axis_period",
            "1.5 ms",
            "controller.axis_period: 1.5 ms is 7.5 times the current_period 200 us;"
            " expected a whole multiple, such as 1.4 ms or 1.6 ms",
        ),
        ("controller.main_period", "17 ms", "expected a whole multiple, such as 16 ms or 17.6 ms"),
        ("controller.speed_period", "0.1 ms", "expected a whole multiple, such as 200 us"),
        ("controller.current_period", "0.3 ns", "'0.3 ns' is not a whole number of nanoseconds"),
        ("controller.current_period", "0 ms", "'0 ms' is too small; expected more than 0"),
        ("controller.current_period", "0.2", "'0.2' has no unit; expected a time"),
        ("controller.speed_bandwidth", "24 Hz", "'24 Hz' is a frequency; expected an angular speed"),
        ("controller.speed_bandwidth", "", "controller: 'speed_bandwidth' is missing; it is required here"),
        ("controller.law", "pid", "'pid' is not accepted; expected one of cascade, computed-torque"),
        ("controller.computation_delay", "2", "2 is out of range; expected a whole number from 0 to 1"),
        ("controller.feedforward.torque", "120 %", "'120 %' is too large; expected at most 100 %"),
        ("controller.gains.Q.position", "3 1/s", "controller.gains.Q: 'Q' is not a motor; expected one of A"),
        ("controller.gains.A.position", "3", "'3' has no unit; expected a frequency"),
        ("controller.speed_sensing", "filtered", "the filtered sensing needs speed_filter, such as '2 ms'"),
        (
            "controller.jitter",
            "1 ms",
            "controller.jitter: 1 ms is not below the speed_period 1 ms, the shortest of what is late;"
            " expected at most 999.999 us",
        ),
        ("controller.command_bits", "1", "1 bit is a sign without a value; expected 0 for none, or 2 to 32"),
        (
            "controller.gains.A.integers.speed_integral",
            "9984/128",
            "'9984/128' is not over 256; expected such as",
        ),
        ("controller.gains.A.integers.speed_integral", "1.5", "'1.5' is not a whole number"),
        ("controller.gains.A.integers.speed_integral", "-3", "expected a whole number from 0"),
        (
            "controller.gains.A",
            "{position: 3 1/s, integers: {position: 256}}",
            "controller.gains.A.integers.position: position is stated with its unit as well; expected one of them",
        ),
        ("controller.word_bits", "7", "7 is out of range; expected a whole number from 8 to 64"),
        (
            "power.capacitance",
            "1 mF",
            "power.supply_resistance: missing: a stiff source would charge the capacitance without limit;"
            " expected a resistance above zero, such as '0.3 ohm'",
        ),
        (
            "power",
            "{bus_voltage: 75 V, capacitance: 1 mF, supply_resistance: 0 ohm}",
            "power.supply_resistance: 0 ohm: a stiff source",
        ),
        ("power.bus_voltage", "75 A", "'75 A' is a current; expected a voltage"),
        ("power.capacitance", "4700", "'4700' has no unit; expected a capacitance, such as '4700 uF'"),
        (
            "power.bridge.modulation",
            "pulse",
            "'pulse' is not accepted; expected one of unipolar, bipolar",
        ),
        ("power.bridge.dead_time", "60 us", "leave no pulse of the current_period 200 us"),
        (
            "power.braking_resistor",
            "{resistance: 5 ohm, on: 90 V, off: 95 V}",
            "power.braking_resistor.off: 95 V is not below on, 90 V",
        ),
        (
            "power.braking_resistor",
            "{resistance: 5 ohm, on: 90 V, off: 70 V}",
            "power.braking_resistor.off: 70 V is not above the bus_voltage 75 V",
        ),
        (
            "power.braking_resistor",
            "{resistance: 5 ohm, on: 90 V, off: 85 V}",
            "power.braking_resistor: without capacitance the bus voltage never rises",
        ),
        (
            "axes.A.motor.kind",
            "ac",
            "'ac' is not accepted; expected one of dc, dc-reduced, pmsm, hydraulic, ideal",
        ),
        (
            "axes.A.motor.thermal",
            "{limit: 155 degC}",
            "axes.A.motor.thermal: 'winding_to_housing' is missing",
        ),
        ("axes.A.brake", "{delay: 1 s}", "axes.A.brake: 'torque' is missing"),
        ("axes.A.encoder", "{lines: 5, index: maybe}", "axes.A.encoder.index: 'maybe' is not accepted"),
        ("axes.A.encoder", "{lines: 5, index: [1]}", "a list stands here; expected true or false"),
    ],
)
def test_value_that_cannot_be_accepted_says_why(
    tmp_path: Path, field: str, value: str, expected: str
) -> None:
    assert expected in message(tmp_path, ROBOT + POWER + CONTROLLER, {field: value})


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("hot", "thermal.limit: 'hot' is not a temperature; expected a temperature, such as '25 degC'"),
        ("155", "thermal.limit: '155' is not a temperature"),
        ("155 deg", "thermal.limit: '155 deg' is not a temperature"),
        ("20 degC", "thermal.limit: 20 degC is not above the reference_temperature 25 degC"),
        ("-1 K", "thermal.limit: '-1 K' is out of range"),
        ("9000 °C", "thermal.limit: '9000 °C' is out of range"),
    ],
)
def test_temperature_that_cannot_be_accepted_says_why(limit: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_description("gsis-scara", {"axes.A.motor.thermal.limit": limit})
    assert expected in str(caught.value)


def test_fixed_joint_has_no_brake(tmp_path: Path) -> None:
    text = ROBOT + "  F: {type: fixed, dh: {}, brake: {torque: 1 N*m}}\n"
    assert "axes.F.brake: a fixed joint has no brake" in message(tmp_path, text)


# --- contradictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"axes.A.motor.rated_torque": "1 N*m", "axes.A.motor.peak_torque": "0.5 N*m"},
            "axes.A.motor.peak_torque: 0.5 N*m is below the rated_torque 1 N*m",
        ),
        (
            {"axes.A.motor.peak_torque": "0.5 N*m", "axes.A.motor.current_limit": "6 A"},
            "axes.A.motor.current_limit: 6 A times the torque_constant is 0.6 N*m, above the peak_torque 0.5 N*m",
        ),
        (
            {"axes.A.motor.coulomb_friction": "0.2 N*m", "axes.A.motor.static_friction": "0.1 N*m"},
            "axes.A.motor.static_friction: 0.1 N*m is below the coulomb_friction 0.2 N*m",
        ),
        (
            {"power.bus_voltage": "10 V"},  # 1000 rpm = 104.7 rad/s at the motor, 0.1 V*s/rad
            "axes.A.limits.speed: axis A needs 10.47 V against the back-EMF at this speed,"
            " but power.bus_voltage is 10 V",
        ),
        (
            {"power.bus_voltage": "12 V", "axes.A.motor.kind": "pmsm"},  # sqrt(3) * 2/3 * 10.47 V
            "axis A needs 12.09 V",
        ),
        (
            {"axes.A.motor.kind": "pmsm", "axes.A.motor.voltage_constant": "0.1 V*s/rad"},  # K_t is 0.1 N m/A
            "axes.A.motor.voltage_constant: 0.1 V*s/rad is not two thirds of the torque_constant, 0.06667 V*s/rad",
        ),
        (
            {"power.supply_resistance": "0.3 ohm"},
            "power.supply_resistance: 0.3 ohm has no effect without a capacitance",
        ),
        (
            {"power.bridge.storage_time": "3 us", "power.bridge.dead_time": "1 us"},
            "override power.bridge.storage_time: 3 us is longer than the dead_time 1 us: for 2 us at every switching"
            " both transistors of a leg conduct and short the bus (shoot-through), which is not modelled",
        ),
        (
            {"power.bridge.storage_time": "3 us"},
            "power.bridge.storage_time: 3 us is longer than the dead_time 0 s: for 3 us at every switching",
        ),
        (
            {"axes.A.motor.kind": "pmsm", "power.bridge.modulation": "bipolar"},
            "power.bridge.modulation: bipolar has no effect on the synchronous motors of axes A",
        ),
        (
            {
                "axes.A.motor.rated_torque": "0.5 N*m",
                "axes.A.motor.rated_current": "20 A",
            },  # K_t is 0.1 N m/A
            "axes.A.motor.rated_current: 20 A differs from rated_torque over torque_constant, 5 A, by 75%",
        ),
        (
            {
                "axes.A.motor.kind": "pmsm",
                "axes.A.motor.rated_torque": "0.5 N*m",
                "axes.A.motor.rated_current": "3.54 A",  # RMS
            },
            "5 A, by 41%; expected the amplitude of a phase, not RMS",
        ),
        (
            {
                "axes.A.motor.rated_torque": "0.5 N*m",
                "axes.A.motor.rated_speed": "100 rad/s",
                "axes.A.motor.resistance": "1 ohm",
                "axes.A.motor.rated_voltage": "10 V",  # 10 V of back-EMF and 5 A times 1 ohm
            },
            "axes.A.motor.rated_voltage: 10 V differs from back-EMF and resistance at rated speed and torque, 15 V,"
            " by 50%",
        ),
    ],
)
def test_contradiction_is_one_line_of_warning(tmp_path: Path, changes: dict[str, str], expected: str) -> None:
    (line,) = described(tmp_path, ROBOT + POWER, changes).warnings
    assert expected in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "changes",
    [
        {"power.bus_voltage": "11 V"},
        {"power.bus_voltage": "1 V", "axes.A.motor.kind": "ideal"},
        {"axes.A.motor.peak_torque": "0.6 N*m", "axes.A.motor.current_limit": "6 A"},
        {"axes.A.motor.kind": "pmsm", "axes.A.motor.voltage_constant": "0.0667 V*s/rad"},
        {"power.supply_resistance": "0.3 ohm", "power.capacitance": "1 mF"},
        {"power.supply_resistance": "0 ohm"},
        {"power.bridge.storage_time": "2 us", "power.bridge.dead_time": "2 us"},
        {"power.bridge.modulation": "bipolar"},
        {"axes.A.motor.rated_torque": "0.5 N*m", "axes.A.motor.rated_current": "5.9 A"},  # 15 %
        {"axes.A.motor.rated_voltage": "11 V", "axes.A.motor.rated_speed": "100 rad/s"},
    ],
)
def test_consistent_values_are_no_warning(tmp_path: Path, changes: dict[str, str]) -> None:
    assert described(tmp_path, ROBOT + POWER, changes).warnings == []


def test_supply_is_compared_through_the_transmission(tmp_path: Path) -> None:
    lines = read_description("palletizer-4", {"power.bus_voltage": "250 V"}).warnings
    assert [line.split(": axis ")[1].split(" ")[0] for line in lines] == ["th1", "th2", "th3", "th5"]
