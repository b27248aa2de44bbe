"""What the terminal says of the bus, of joints that settle late, and of runs that diverged."""

from __future__ import annotations

from typing import Any

from servotwin.cli.simulate import _axis_row, _lines, hydraulic_lines

AXIS = {"joint": "A", "joint_settling_s": 0.1, "joint_settling_band": 5e-4, "joint_error_unit": "rad"}
SLIDE = {"joint": "Z", "joint_settling_s": 0.2, "joint_settling_band": 5e-5, "joint_error_unit": "m"}


def test_the_joint_that_settles_last_is_named_with_its_band() -> None:
    assert _lines({"axes": [AXIS, SLIDE]}) == [
        "joints settled 200 ms after the end of the command, Z last (within 0.05 mm)"
    ]
    late = AXIS | {"joint_settling_s": None}
    assert _lines({"axes": [late, SLIDE]}) == ["joints that did not settle: A (within 0.029 deg)"]
    assert _lines({"axes": [late], "failure": "interrupted"}) == []


def test_a_bus_that_moves_is_worth_a_line() -> None:
    bus: dict[str, Any] = {"voltage_min_V": 58.0, "voltage_max_V": 66.25}
    bus |= {"brake_resistor_peak_W": None, "brake_resistor_mean_W": None}
    assert _lines({"bus": bus}) == ["bus voltage: 58 V to 66.25 V"]
    assert _lines({"bus": bus | {"voltage_min_V": 66.0}}) == []


def test_numbers_of_a_run_that_diverged_are_cut() -> None:
    wild = {"motor": "W", "peak_torque_N_m": 2e12, "rms_torque_N_m": 0.2, "rated_torque_N_m": 0.1}
    wild |= {"peak_speed_rad_per_s": 1e7, "peak_current_A": float("inf")}
    row = _axis_row(wild)
    assert row == ["W", "> 100000", "0.2", "0.1", "> 100000 %", "200 %", "> 100000", "-"]
    assert _lines({"energy": {"balance_error_relative": 9.8e16}}) == []


def test_a_hydraulic_run_that_diverged_is_told_without_numbers() -> None:
    pressures = {f"pressure_{side}_{end}_Pa": None for side in "ab" for end in ("min", "max")}
    axis = {"motor": "Z", **pressures, "pressure_a_max_Pa": 3e40, "valve_opening_max": None}
    numbers = {"axes": [axis], "mass_error_relative": None, "from_supply_kg": None}
    assert hydraulic_lines(numbers) == [
        "hydraulic axis Z: chamber A - to > 100000 bar, chamber B - to - bar, valve at most - % open",
        "oil: the run diverged, and its oil cannot be counted",
    ]
