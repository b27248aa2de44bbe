"""One table of signals: the compiled recorder fills every column it gives, and readers and pages know no other."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from servotwin.control.servo.unit import ServoUnit
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.simulation.plant.row_layout import ABSENT
from servotwin.simulation.plant.signal_table import MOTOR, SIGNALS, Sampling, Side, Writer
from servotwin.simulation.results.result import sampling, signal_names
from servotwin.simulation.run import Run, carry_out
from tests import small_drives as small

ROOT = Path(__file__).parents[3]
MS = 1_000_000
MOTORS = {
    "dc": small.DC,
    "synchronous": small.PMSM,
    "ideal": {
        "kind": "ideal",
        "torque_constant": "0.12 N*m/A",
        "rotor_inertia": "1e-4 kg*m^2",
        "current_limit": "20 A",
    },
    "ideal without constant": {"kind": "ideal", "rotor_inertia": "1e-4 kg*m^2"},
    "hydraulic": {
        "kind": "hydraulic",
        "valve": {"rated_flow": "3.8 L/min", "rated_current": "40 mA", "natural_frequency": "120 Hz"},
        "hydraulic_motor": {"displacement": "2e-6 m^3/rad", "dead_volume": "10 cm^3"},
    },
}
MOVE = {"move": [{"to": {"A": "0.1 rad"}, "dwell": "0.02 s"}], "solver": {"pwm": "averaged"}}


def prepared(folder: Path, motor: str, law: Any = None) -> Run:
    supply = {"hydraulics": {"supply_pressure": "70 bar"}}
    robot = small.robot(supply, axes={"A": small.axis(motor=MOTORS[motor])})
    return small.prepared(folder, robot, MOVE, law)


def names(run: Run) -> set[str]:
    return {signal.name for signal, column in zip(MOTOR, run.machine.columns[0], strict=True) if column >= 0}


# --- the table ----------------------------------------------------------------------------------------


def test_signal_names_are_those_of_the_table_once_each() -> None:
    found = signal_names(["A", "Z"], [False, True], ["A", "Z"], ["A", "Z"], ["Z"])
    assert len(set(found)) == len(found)
    dry = signal_names(["A", "Z"], [False, True], ["A", "Z"], ["Z"], ["Z"])
    assert {name for name in found if name not in dry} == {
        signal.full_name("A") for signal in MOTOR if signal.of_oil
    }
    wanted = {
        signal.full_name(owner, prismatic=slides)
        for signal in SIGNALS
        for owner, slides in (("A", False), ("Z", True))
    }
    assert set(found) == wanted
    assert {"joint_Z_velocity_ref_m_per_s", "motor_Z_count", "bus_power_W", "tip_ref_x_m"} <= set(found)
    assert {"motor_A_angle_rad", "motor_Z_position_m", "motor_Z_speed_m_per_s", "motor_Z_force_N"} <= set(
        found
    )
    assert not [name for name in found if name.startswith("motor_Z_") and re.search("torque|angle|rad", name)]


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_sampling_of_a_name_is_that_of_its_line(signal: Any) -> None:
    assert sampling(signal.full_name("B_2")) == signal.sampling.value
    assert sampling(signal.full_name("B_2", prismatic=True)) == signal.sampling.value


@pytest.mark.parametrize("motor", MOTORS)
def test_recorder_fills_every_column_of_a_row_and_every_column_has_a_reader(
    tmp_path: Path, motor: str
) -> None:
    run = prepared(tmp_path, motor)
    machine = run.machine
    machine.reserve(20 * MS)
    machine.rows[...] = np.nan
    machine.advance(20 * MS)
    rows = machine.rows[: int(machine.world["record"]["rows"][0])]
    assert len(rows) > 3
    assert np.isfinite(rows).all()
    of_motors = machine.columns[machine.columns != ABSENT]
    of_arm_and_robot = 4 + 2  # time and three of the bus, position and velocity of one joint
    assert sorted(of_motors.tolist()) == list(range(of_arm_and_robot, rows.shape[1]))


def test_axis_has_the_signals_of_its_kind(tmp_path: Path) -> None:
    found = {motor: names(prepared(tmp_path, motor)) for motor in MOTORS}
    assert "d_current_integrator" in found["synchronous"]
    assert "d_current_integrator" not in found["dc"]
    assert {"current_ref", "speed_command", "current_integrator", "voltage"} <= found["dc"]
    assert not found["ideal"] & {"voltage", "current_integrator"}
    assert found["ideal"] - found["ideal without constant"] == {"current", "current_ref", "speed_integrator"}


def test_law_of_the_user_takes_the_columns_of_the_loops_it_replaces(tmp_path: Path) -> None:
    law = PythonLaw(lambda _time, _signals: [0.0], 1e-3, "voltage")
    run = prepared(tmp_path, "dc", law)
    assert not names(run) & {"speed_command", "position_integrator", "speed_integrator", "current_integrator"}
    result = carry_out(run, lambda _: None)
    assert "motor_A_speed_command_V" not in result.signals
    assert np.isfinite(result.signals["motor_A_voltage_V"]).all()


# --- a servo elsewhere --------------------------------------------------------------------------------


def step_beside(unit: ServoUnit) -> None:
    """A servo elsewhere that happens to stand in this process."""
    unit.step(int(unit.feedback["time"][0]))


@pytest.mark.parametrize("motor", ["dc", "synchronous", "ideal"])
def test_servo_elsewhere_leaves_out_what_does_not_cross_the_border(tmp_path: Path, motor: str) -> None:
    here = carry_out(prepared(tmp_path, motor), lambda _: None).signals
    run = prepared(tmp_path, motor)
    run.machine.hand_over(step_beside)
    there = carry_out(run, lambda _: None).signals
    of_servo = {signal.full_name("A") for signal in MOTOR if signal.writer is Writer.SERVO}
    on_wire = {"motor_A_current_ref_A"} if motor == "ideal" else set()
    assert set(here) - set(there) == (of_servo & set(here)) - on_wire
    for name, values in there.items():
        if name != "motor_A_saturation":
            np.testing.assert_array_equal(values, here[name], err_msg=name)


def test_servo_elsewhere_that_is_limited_is_not_reported_from_stale_records(tmp_path: Path) -> None:
    run = prepared(tmp_path, "dc")

    def limited(unit: ServoUnit) -> None:
        step_beside(unit)
        unit.axes["saturation"] = 7  # what the records that stayed here may have been left with

    run.machine.hand_over(limited)
    result = carry_out(run, lambda _: None)
    assert not (result.signals["motor_A_saturation"] & 7).any()
    assert result.summary["axes"][0]["saturation"] == []


def test_servo_handed_over_on_the_way_loses_its_columns_and_keeps_the_others(tmp_path: Path) -> None:
    run = prepared(tmp_path, "dc")
    run.machine.reserve(run.duration_ns)
    run.machine.advance(10 * MS)
    width, before = run.machine.rows.shape[1], names(run)
    run.machine.hand_over(step_beside)
    assert run.machine.rows.shape[1] == width
    lost = before - names(run)
    assert {"current_ref", "speed_command", "current_integrator"} <= lost
    assert not lost & {signal.name for signal in MOTOR if signal.writer is Writer.PLANT}
    signals = carry_out(run, lambda _: None).signals
    assert "motor_A_current_ref_A" not in signals
    reference = carry_out(prepared(tmp_path, "dc"), lambda _: None).signals
    np.testing.assert_array_equal(signals["motor_A_current_A"], reference["motor_A_current_A"])


# --- the pages ----------------------------------------------------------------------------------------


def page_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("signals_page", ROOT / "tools" / "signals_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_lists_the_signals_of_the_table() -> None:
    tool = page_tool()
    page = tool.PAGE.read_text(encoding="utf-8")
    assert page == tool.with_table(page), "run: python tools/signals_page.py"
    for signal in SIGNALS:
        assert f"`{signal.full_name('A')}`" in page


def test_page_of_simulation_names_the_means() -> None:
    page = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if "mean since the row before: ripple" in line]
    means = {
        signal.full_name("M" if signal.side is Side.MOTOR else "", prismatic=piston)
        for signal in SIGNALS
        for piston in (False, True)
        if signal.sampling is Sampling.MEAN
    }
    assert set(re.findall(r"`([^`]+)`", line)) == means
