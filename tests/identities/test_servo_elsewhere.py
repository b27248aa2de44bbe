"""The border of the servo is real: in another process, through two records, it gives the same run bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from servotwin.control.servo.ports import DriveFault
from servotwin.control.servo.records import InnerLoop
from servotwin.control.servo.unit import ServoUnit
from servotwin.simulation.plant.signal_table import MOTOR, Writer
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.scenario import read_scenario
from tests import small_drives as small
from tests.servo_process import Elsewhere
from tests.unit.drives.test_own_actuator import FILE, own_robot

SHORT = {"record.every": "1 ms"}
CASES = {
    "demo move": ("scara-a-axis-100deg", {}),
    "computed torque": ("scara-a-axis-100deg", {"set.controller.law": "computed-torque"}),
    "noise, jitter and edges timed": (
        "scara-perturbed-high-speed",
        {"set.controller.jitter": "13 us", "set.controller.speed_sensing": "inverse-time"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_servo_in_another_process_gives_the_same_signals_bit_for_bit(case: str) -> None:
    scenario, changes = CASES[case]
    here = carry_out(prepare(read_scenario(scenario, changes)), lambda part: None)
    run = prepare(read_scenario(scenario, changes))
    with Elsewhere(run, scenario, changes) as servo:
        there = carry_out(run, lambda part: None)
    assert servo.exchanges >= run.duration_ns // 200_000
    assert len([name for name in there.signals if name.endswith("_count")]) == 4
    hidden = set(here.signals) - set(there.signals)
    of_servo = {signal.column() for signal in MOTOR if signal.writer is Writer.SERVO}
    assert hidden == {name for name in here.signals if name.endswith(tuple(f"_{name}" for name in of_servo))}
    for name, values in there.signals.items():
        if not name.endswith("_saturation"):  # limits of the loops are known to their servo alone
            np.testing.assert_array_equal(values, here.signals[name], err_msg=name)
    assert np.ptp(here.signals["motor_A_count"]) > 1000


BRAKED = {f"set.axes.{axis}.brake.torque": "2 N*m" for axis in "AB"} | {"set.axes.A.brake.delay": "7.3 ms"}
OFF, ON = 120_000_000, 300_000_000  # ns: in mid-motion, and when all stands


def test_servo_in_another_process_switches_drives_and_brakes_in_mid_motion() -> None:
    """A servo elsewhere disables and enables through the border; the plant does the same as with its own servo."""
    here, there, line = (prepare(read_scenario("scara-a-axis-100deg", BRAKED)) for _ in range(3))

    def exchange(unit: ServoUnit) -> None:
        now = int(unit.feedback["time"][0])
        if now in (OFF, ON):
            unit.enable(now == ON)
        unit.step(now)

    here.machine.hand_over(exchange)
    alone = carry_out(here, lambda part: None)
    for at, on in ((OFF, False), (ON, True)):  # as the main controller switches, between two instants
        line.machine.advance(at)
        line.machine.servo.enable(on)
    switched = carry_out(line, lambda part: None)
    with Elsewhere(there, "scara-a-axis-100deg", BRAKED, {OFF: False, ON: True}):
        result = carry_out(there, lambda part: None)
    for name in alone.signals:
        if name.endswith(("_count", "_position_rad", "_position_m")):
            np.testing.assert_array_equal(result.signals[name], alone.signals[name])
            # other edges of a bridge that is off cut the first period otherwise: rounding
            np.testing.assert_allclose(switched.signals[name], alone.signals[name], rtol=1e-12, atol=1e-12)
    t = alone.signals["time_s"]
    off = (t > 1e-9 * OFF + 1e-3) & (t < 1e-9 * ON)
    assert not result.signals["motor_A_current_A"][off].any()
    speed = result.signals["joint_A_velocity_rad_per_s"]
    before, gone = np.searchsorted(t, 1e-9 * OFF), np.searchsorted(t, 1e-9 * ON)
    assert abs(speed[before]) > 0.5
    assert speed[gone] == 0.0
    # without current and before its brake has closed, the motor runs out by friction alone
    free = (t > 1e-9 * OFF + 1e-3) & (t < 1e-9 * OFF + 7.3e-3)
    held = (t > 1e-9 * OFF + 7.3e-3) & (np.abs(speed) > 0.1) & (t < 1e-9 * ON)
    assert (
        np.abs(np.gradient(speed[held], t[held])).min()
        > 5.0 * np.abs(np.gradient(speed[free], t[free])).max()
    )
    assert np.abs(speed[t > 1e-9 * ON]).max() > 0.5


def test_drive_that_is_too_hot_reports_its_fault_at_the_border() -> None:
    thermal = {"winding_to_housing": "1 K/W", "housing_to_ambient": "1 K/W", "winding_capacity": "0.5 J/K",
               "housing_capacity": "10 J/K", "limit": "26 degC"}  # fmt: skip
    changes = {f"set.axes.A.motor.thermal.{name}": value for name, value in thermal.items()}
    run = prepare(read_scenario("scara-a-axis-100deg", changes))
    seen = []

    def exchange(unit: ServoUnit) -> None:
        seen.append(
            (
                float(run.machine.motors["T_w"][0]),
                unit.faults.tolist(),
                float(unit.feedback["bus_voltage"][0]),
            )
        )
        unit.step(int(unit.feedback["time"][0]))

    run.machine.hand_over(exchange)
    carry_out(run, lambda part: None)
    hot = [T > 26.0 for T, _, _ in seen]
    assert any(hot)
    assert not all(hot)
    assert [faults[0] for _, faults, _ in seen] == [
        DriveFault.OVER_TEMPERATURE if h else DriveFault.NONE for h in hot
    ]
    assert not any(any(faults[1:]) for _, faults, _ in seen)
    assert {u for _, _, u in seen} == {run.scenario.plant_description.power.bus_voltage}  # type: ignore[union-attr]


def test_inner_loop_of_a_valve_commands_its_current(tmp_path: Path) -> None:
    """What asks for a valve current gets it through its own field; the actuator behind it moves as with a wire."""
    (tmp_path / "lagged.py").write_text(FILE, encoding="utf-8")
    move = {"move": [{"to": {"A": "0.2 rad"}, "dwell": "0.05 s"}], "record": {"every": "1 ms"}}
    wire, valve = (small.prepared(tmp_path, own_robot(), move, allow_code=True) for _ in range(2))
    valve.machine.motors["valve"], valve.machine.axes["inner"] = 1, InnerLoop.VALVE
    results = [carry_out(run, lambda part: None).signals["joint_A_position_rad"] for run in (wire, valve)]
    np.testing.assert_array_equal(*results)
    command = valve.machine.servo.command
    assert command["valve_current"][0, 0] == wire.machine.servo.command["current"][0, 0] != 0.0
    assert not command["modulation_a"].any()
    assert not command["current"].any()
