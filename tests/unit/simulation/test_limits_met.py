"""Limits that a run meets or exceeds: their times do not depend on how often rows are recorded."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.control.servo.records import Saturation, zeros
from servotwin.control.servo.user_laws import Signals
from servotwin.errors import InputError
from servotwin.simulation.plant.limit_log import AXIS_LOG, SPANS, log_spans
from servotwin.simulation.results.limits_met import limit_warnings, saturation_intervals
from servotwin.simulation.results.result import Result
from tests.small_drives import RATIO, axis, robot, run_case

TICK = 0.2e-3  # s: current period, and the shortest time between two rows
MOVE = {"move": [{"to": {"A": "1.2 rad"}, "ramp": "0.05 s", "dwell": "0.2 s"}]}
FINE = {**MOVE, "record": {"every": "0.2 ms"}}


def arm(**motor: Any) -> dict[str, Any]:
    return robot(axes={"A": axis(motor={**axis()["motor"], **motor})})


def entries(result: Result, kind: str) -> list[dict[str, Any]]:
    return [entry for entry in result.summary["axes"][0]["saturation"] if entry["kind"] == kind]


def total(result: Result, kind: str) -> float:
    return sum(entry["active_s"] for entry in entries(result, kind))


def excess(result: Result, kind: str) -> dict[str, Any]:
    (found,) = [entry for entry in result.summary["axes"][0]["exceeded"] if entry["kind"] == kind]
    return found


# --- times at limits --------------------------------------------------------------------------------


def test_times_at_limits_are_those_of_the_loops_whatever_the_rows(tmp_path: Path) -> None:
    runs = {
        every: run_case(tmp_path, arm(current_limit="4 A"), {**MOVE, "record": {"every": every}})
        for every in ("0.2 ms", "1 ms", "10 ms")
    }
    fine = runs["0.2 ms"]
    for result in runs.values():
        assert result.summary["axes"][0]["saturation"] == fine.summary["axes"][0]["saturation"]
        assert result.summary["warnings"] == fine.summary["warnings"]
    at_limit = np.abs(fine.signals["motor_A_current_ref_A"]) == 4.0
    assert at_limit.sum() > 100
    assert total(fine, "current limit") == pytest.approx(TICK * at_limit.sum(), abs=1e-9)
    assert np.array_equal(at_limit, (fine.signals["motor_A_saturation"] & Saturation.CURRENT) != 0)
    first, last = np.flatnonzero(at_limit)[[0, -1]]
    found = entries(fine, "current limit")
    assert found[0]["from_s"] == pytest.approx(fine.signals["time_s"][first] - TICK, abs=1e-9)
    assert found[-1]["to_s"] == pytest.approx(fine.signals["time_s"][last], abs=1e-9)
    risings = np.count_nonzero(np.diff(at_limit.astype(int), prepend=0) == 1)
    assert sum(entry["times"] for entry in found) == risings


def test_the_slower_loop_keeps_its_limit_until_its_next_sample(tmp_path: Path) -> None:
    slow = {"axis_period": "2 ms", "speed_period": "1 ms"}
    machine = robot({"controller": slow}, {"A": axis(motor={**axis()["motor"], "current_limit": "1 A"})})
    fine = run_case(tmp_path, machine, FINE)
    at_limit = np.abs(fine.signals["motor_A_speed_command_V"]) == 10.0
    assert at_limit.sum() > 100
    assert total(fine, "speed command limit") == pytest.approx(TICK * at_limit.sum(), abs=1e-9)


@pytest.mark.parametrize("every", ["0.2 ms", "1 ms"])
def test_a_law_of_ones_own_is_limited_until_its_next_sample(tmp_path: Path, every: str) -> None:
    def push(time: float, signals: Signals) -> Any:
        return [30.0 if 0.02 <= time < 0.04 else -30.0 if 0.04 <= time < 0.06 else 0.0]

    law = st.PythonLaw(push, period=2e-3, level="current")
    result = run_case(tmp_path, arm(), {"record": {"every": every}}, law)
    (found,) = entries(result, "current limit")
    assert found == {
        "kind": "current limit", "from_s": 0.02, "to_s": 0.06, "times": 1, "active_s": 0.04,
    }  # fmt: skip


def test_a_limit_that_is_met_again_at_once_is_one_interval_with_a_count() -> None:
    axes = zeros(AXIS_LOG, 1)
    axis, ms = axes.view(np.recarray)[0], 1_000_000
    for k in range(100, 300, 10):  # twenty times 1 ms within 0.2 s
        word = Saturation.SPEED_COMMAND | (Saturation.CURRENT if k == 120 else 0)
        note(axis, word, k * ms, (k + 1) * ms)
    for k in range(600, 650):
        note(axis, Saturation.SPEED_COMMAND, k * ms, (k + 1) * ms)
    found = saturation_intervals(axes[0])
    assert [(e["kind"], e["from_s"], e["to_s"], e["times"], e["active_s"]) for e in found] == [
        ("speed command limit", 0.1, 0.291, 20, 0.02),
        ("current limit", 0.12, 0.121, 1, 0.001),
        ("speed command limit", 0.6, 0.65, 1, 0.05),
    ]
    numbers = {"motor": "A", "saturation": found}
    assert limit_warnings([numbers]) == [
        "motor A: speed command limit for 70 ms in all, 21 times, between 0.1 s and 0.65 s",
        "motor A: current limit for 1 ms in all, between 0.12 s and 0.121 s",
    ]
    for entry in found:
        entry["active_s"] *= 100.0
    assert limit_warnings([numbers])[0].startswith("motor A: speed command limit for 7 s in all")


def test_a_run_with_more_spans_than_there_is_room_for_keeps_their_totals() -> None:
    axes = zeros(AXIS_LOG, 1)
    axis, second = axes.view(np.recarray)[0], 1_000_000_000
    for k in range(SPANS + 10):
        note(axis, Saturation.VOLTAGE, k * second, k * second + second // 2)
    found = saturation_intervals(axes[0])
    assert len(found) == SPANS
    assert sum(entry["times"] for entry in found) == SPANS + 10
    assert sum(entry["active_s"] for entry in found) == pytest.approx(0.5 * (SPANS + 10))
    assert found[-1]["to_s"] == SPANS + 9.5


def note(axis: Any, word: int, start: int, end: int) -> None:
    log_spans.py_func(axis, int(word), start, end)  # type: ignore[attr-defined]


# --- limits of motor and joint that are exceeded ----------------------------------------------------


def test_a_motor_and_a_joint_beyond_their_limits_are_told_with_value_limit_and_times(tmp_path: Path) -> None:
    machine = arm(max_speed="150 rad/s", peak_torque="0.6 N*m", rated_torque="0.1 N*m")
    machine["axes"]["A"]["limits"] |= {"effort": "20 N*m"}
    result = run_case(tmp_path, machine, FINE)
    speed, torque = result.signals["motor_A_speed_rad_per_s"], result.signals["motor_A_torque_N_m"]
    for kind, values, limit, unit in (
        ("motor speed exceeded", speed, 150.0, "rad/s"),
        ("peak torque exceeded", torque, 0.6, "N m"),
        ("joint effort exceeded", RATIO * torque, 20.0, "N m"),
    ):
        found = excess(result, kind)
        beyond = np.flatnonzero(np.abs(values) > 1.01 * limit)
        assert len(beyond) > 5
        assert (found["limit"], found["unit"]) == (limit, unit)
        assert found["value"] == pytest.approx(np.abs(values).max(), rel=1e-9)
        assert found["active_s"] == pytest.approx(TICK * len(beyond), abs=1e-9)
        assert found["from_s"] == pytest.approx(result.signals["time_s"][beyond[0]] - TICK, abs=1e-9)
        assert found["to_s"] == pytest.approx(result.signals["time_s"][beyond[-1]], abs=1e-9)
        assert entries(result, kind)
    rms = excess(result, "rated torque exceeded")
    assert rms["value"] == pytest.approx(np.sqrt(np.mean(torque**2)), rel=0.02)
    text = "\n".join(result.summary["warnings"])
    assert f"motor A: {30 / math.pi * np.abs(speed).max():.4g} rpm, " in text
    assert "% of motor.max_speed (1432 rpm), for " in text
    assert "% of motor.peak_torque (0.6 N m), for " in text
    assert "% of limits.effort (20 N m), for " in text
    assert "% of motor.rated_torque (0.1 N m), over the " in text


def test_a_joint_that_runs_away_exceeds_its_speed_limit(tmp_path: Path) -> None:
    def push(time: float, signals: Signals) -> Any:
        return [8.0 if time < 0.08 else 0.0]

    law = st.PythonLaw(push, period=1e-3, level="current")
    fast = {**arm()}
    fast["axes"]["A"]["limits"] = {"position": ["-50 rad", "50 rad"], "speed": "2 rad/s"}
    result = run_case(tmp_path, fast, {"record": {"every": "0.2 ms"}}, law)
    qd = np.abs(result.signals["joint_A_velocity_rad_per_s"])
    found = excess(result, "joint speed exceeded")
    assert found["value"] == pytest.approx(qd.max(), rel=1e-9)
    assert found["active_s"] == pytest.approx(TICK * np.count_nonzero(qd > 1.01 * 2.0), abs=1e-9)
    assert result.summary["axes"][0]["joint_peak_speed"] == pytest.approx(qd.max(), rel=1e-9)
    assert any("% of limits.speed (114.6 deg/s), for " in line for line in result.summary["warnings"])


def test_a_run_within_its_limits_exceeds_none(tmp_path: Path) -> None:
    result = run_case(tmp_path, arm(max_speed="250 rad/s", peak_torque="3 N*m"), MOVE)
    assert result.summary["axes"][0]["exceeded"] == []
    assert result.summary["warnings"] == []


def test_a_speed_limit_beyond_the_motors_is_told_before_the_run(tmp_path: Path) -> None:
    result = run_case(
        tmp_path, arm(max_speed="150 rad/s"), {"move": [{"to": {"A": "0 rad"}, "dwell": "1 ms"}]}
    )
    (line,) = result.summary["warnings"]
    assert "axes.A.limits.speed: the motor of axis A turns at 1910 rpm at this speed" in line
    assert "above its max_speed 1432 rpm" in line


def test_loops_whose_bridges_are_off_meet_no_limit(tmp_path: Path) -> None:
    scenario = {**MOVE, "faults": [{"at": "0.1 s", "kind": "power-off"}]}
    result = run_case(tmp_path, arm(current_limit="4 A"), scenario)
    found = [e for e in result.summary["axes"][0]["saturation"] if e["kind"].endswith("limit")]
    assert found
    assert all(entry["to_s"] <= 0.1 for entry in found)
    late = result.signals["time_s"] > 0.1
    assert not (result.signals["motor_A_saturation"][late] & 7).any()


# --- the bus ----------------------------------------------------------------------------------------

BRAKE = {"move": [{"to": {"A": "2 rad"}, "ramp": "0.05 s", "dwell": "0.1 s"}], "record": {"every": "0.2 ms"}}
HEAVY = {"link": {"mass": "20 kg", "center": ["0.2 m", "0 m", "0 m"]}}


def bus_robot(**power: Any) -> dict[str, Any]:
    soft = {"supply_resistance": "0.5 ohm", "capacitance": "1 mF", **power}
    return robot({"power": soft}, {"A": axis(**HEAVY)})


@pytest.mark.parametrize(
    ("power", "limit", "word"),
    [
        ({}, 72.0, "1.2 times bus_voltage"),
        ({"max_voltage": "65 V"}, 65.0, "power.max_voltage"),
        (
            {"braking_resistor": {"resistance": "100 ohm", "on": "63 V", "off": "61 V"}},
            69.3,
            "1.1 times braking_resistor.on",
        ),
    ],
)
def test_a_bus_above_its_limit_is_told_with_extremes_and_times(
    tmp_path: Path, power: dict[str, Any], limit: float, word: str
) -> None:
    result = run_case(tmp_path, bus_robot(**power), BRAKE)
    u, bus = result.signals["bus_voltage_V"], result.summary["bus"]
    assert u.max() > limit
    assert (bus["voltage_min_V"], bus["voltage_max_V"]) == (pytest.approx(u.min()), pytest.approx(u.max()))
    assert bus["voltage_limit_V"] == pytest.approx(limit)
    assert bus["overvoltage"]["active_s"] == pytest.approx(TICK * np.count_nonzero(u > limit), abs=1e-9)
    (line,) = [text for text in result.summary["warnings"] if text.startswith("bus: ")]
    assert f"above {word}, {limit:.4g} V, for " in line
    if "braking_resistor" in power:
        assert bus["brake_resistor_peak_W"] == pytest.approx(u.max() ** 2 / 100.0)
        mean = result.summary["energy"]["brake_resistor_J"] / result.summary["simulated_s"]
        assert bus["brake_resistor_mean_W"] == pytest.approx(mean)
        assert "braking resistor took" in line
    else:
        assert bus["brake_resistor_peak_W"] is None


def test_a_stiff_bus_has_no_extremes_to_tell(tmp_path: Path) -> None:
    bus = run_case(tmp_path, arm(), MOVE).summary["bus"]
    assert (bus["voltage_min_V"], bus["voltage_max_V"], bus["overvoltage"]) == (60.0, 60.0, None)


@pytest.mark.parametrize(
    ("power", "text"),
    [
        ({"max_voltage": "50 V"}, "50 V is below the bus_voltage 60 V"),
        (
            {
                "max_voltage": "70 V",
                "braking_resistor": {"resistance": "9 ohm", "on": "75 V", "off": "65 V"},
            },
            "70 V is below the voltage that switches the braking resistor on, 75 V",
        ),
    ],
)
def test_a_highest_voltage_below_what_the_bus_has_is_refused(
    tmp_path: Path, power: dict[str, Any], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        run_case(tmp_path, bus_robot(**power))


# --- balance, temperature, settling, divergence -----------------------------------------------------


def test_a_bad_energy_balance_is_told_with_what_to_take(tmp_path: Path) -> None:
    machine = robot({"power": {"bridge": {"modulation": "bipolar"}}})
    poor = run_case(tmp_path, machine, MOVE)
    wrong = abs(poor.summary["energy"]["balance_error_relative"])
    assert wrong > 1e-5
    assert poor.summary["warnings"] == [
        f"energy balance: {wrong:.1e} of the energy moved is unaccounted for with solver.method rk4, more than 1e-05; "
        "take solver.method fast or adaptive, or more solver.steps than 1"
    ]
    good = run_case(tmp_path, machine, MOVE, solver__method="adaptive", solver__tolerance="1e-9")
    assert abs(good.summary["energy"]["balance_error_relative"]) < 1e-5
    assert good.summary["warnings"] == []


def test_without_thermal_data_there_is_no_temperature(tmp_path: Path) -> None:
    cold = run_case(tmp_path, arm(), MOVE)
    assert cold.summary["axes"][0]["peak_winding_temperature_degC"] is None
    assert "motor_A_winding_temperature_degC" not in cold.signals
    thermal = {
        "winding_to_housing": "0.5 K/W", "housing_to_ambient": "1 K/W",
        "winding_capacity": "20 J/K", "housing_capacity": "500 J/K",
    }  # fmt: skip
    warm = run_case(tmp_path, arm(thermal=thermal), MOVE)
    peak = warm.signals["motor_A_winding_temperature_degC"].max()
    assert warm.summary["axes"][0]["peak_winding_temperature_degC"] == pytest.approx(peak, abs=1e-2)


def test_a_joint_settles_once_it_stays_in_its_band(tmp_path: Path) -> None:
    scenario = {"move": [{**MOVE["move"][0], "dwell": "0.5 s"}], "record": FINE["record"]}
    result = run_case(tmp_path, arm(), scenario)
    numbers = result.summary["axes"][0]
    assert (numbers["joint_settling_band"], numbers["joint_error_unit"]) == (5e-4, "rad")
    t = result.signals["time_s"]
    error = np.abs(result.signals["joint_A_position_rad"] - result.signals["joint_A_position_ref_rad"])
    reference = result.signals["joint_A_position_ref_rad"]
    arrival = t[np.flatnonzero(reference < 1.2 - 1e-12)[-1] + 1]
    settled = t[np.flatnonzero(error > 5e-4)[-1] + 1] - arrival
    assert settled > 0.05
    assert numbers["joint_settling_s"] == pytest.approx(settled, abs=2 * TICK)


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
def test_a_run_whose_steps_are_too_long_says_so_when_it_diverges(tmp_path: Path) -> None:
    thermal = {
        "winding_to_housing": "0.5 K/W", "housing_to_ambient": "1 K/W", "limit": "130 degC",
        "winding_capacity": "20 J/K", "housing_capacity": "500 J/K", "temperature_coefficient": "0.0039 1/K",
    }  # fmt: skip
    quick = arm(inductance="2 uH", thermal=thermal)
    with pytest.raises(st.SimulationError) as caught:
        run_case(tmp_path, quick, MOVE, solver__method="modified-euler")
    text = str(caught.value)
    assert "the current of motor A settles within 4 us (L/R), too fast for steps of modified-euler" in text
    assert "of up to 200 us: take solver.method fast or adaptive, or at least 25 solver.steps" in text
    assert "servotwin tune" in text
    partial = caught.value.partial
    assert not [line for line in partial.summary["warnings"] if "degC" in line or "% of" in line]
