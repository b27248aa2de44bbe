"""Numbers of a summary against the signals of the same run, recorded as often as the current loop samples."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.simulation.comparing.differences import differences
from servotwin.simulation.results.limits_met import totals
from servotwin.simulation.results.motion_log import MotionLog
from servotwin.simulation.results.result import Result
from tests import small_drives as small

EVERY = 0.2e-3  # s
BAND = 5e-4  # rad
MOVE: dict[str, Any] = {
    "move": [{"to": {"A": "1 rad"}, "dwell": "0.5 s"}],
    "record": {"every": "0.2 ms"},
    "solver": {"method": "rk4", "pwm": "averaged"},
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return small.run_case(tmp_path_factory.mktemp("dc"), small.robot(), MOVE)


def following(result: Result) -> np.ndarray:
    return result.signals["joint_A_position_rad"] - result.signals["joint_A_position_ref_rad"]


def arrival(result: Result) -> float:
    """The instant from which the command stands still [s]."""
    moving = np.flatnonzero(np.diff(result.signals["joint_A_position_ref_rad"]) != 0.0)
    return float(result.signals["time_s"][moving[-1] + 1])


def test_errors_of_the_joint_are_those_of_the_signals(result: Result) -> None:
    axis, error = result.summary["axes"][0], following(result)
    assert error.min() < -10.0 * error.max()  # it lags: the largest error is negative
    assert axis["joint_error_max"] == pytest.approx(np.abs(error).max(), rel=1e-3)
    assert axis["joint_error_final"] == pytest.approx(error[-1], abs=1e-9)
    assert axis["joint_error_unit"] == "rad"


def test_settling_ends_after_the_last_row_outside_the_band(result: Result) -> None:
    t, outside = result.signals["time_s"], np.abs(following(result)) > BAND
    last = int(np.flatnonzero(outside)[-1])
    settled = result.summary["axes"][0]["joint_settling_s"]
    # errors are judged every millisecond
    assert t[last] - arrival(result) < settled <= t[last] - arrival(result) + 1e-3 + 1e-9


@pytest.mark.parametrize("kind", ["dc", "pmsm"])
def test_rms_current_and_torque_are_those_of_the_rows(tmp_path: Path, kind: str) -> None:
    """Mean voltages instead of pulses: the current hardly changes within a row."""
    motor = small.PMSM if kind == "pmsm" else small.DC
    run = small.run_case(tmp_path, small.robot(axes={"A": small.axis(motor=motor)}), MOVE)
    axis = run.summary["axes"][0]
    i, torque = run.signals["motor_A_current_A"], run.signals["motor_A_torque_N_m"]
    assert axis["rms_current_A"] == pytest.approx(math.sqrt(np.mean(i**2)), rel=0.01)
    assert axis["rms_torque_N_m"] == pytest.approx(math.sqrt(np.mean(torque**2)), rel=0.01)
    assert axis["rms_torque_N_m"] == pytest.approx(small.K * axis["rms_current_A"], rel=1e-9)
    assert axis["peak_current_A"] == pytest.approx(np.abs(i).max(), rel=0.02)
    w = run.signals["motor_A_speed_rad_per_s"]
    assert axis["peak_speed_rad_per_s"] == pytest.approx(np.abs(w).max(), rel=1e-3)
    assert axis["joint_peak_speed"] == pytest.approx(np.abs(w).max() / small.RATIO, rel=1e-3)


def test_lead_along_the_path_is_positive_and_lag_negative() -> None:
    """A commanded line along (3, 4, 0) / 5, a tool 2 mm ahead of it and 1 mm above."""
    way = np.array([0.6, 0.8, 0.0])
    wanted = np.linspace(0.0, 1.0, 51)[:, None] * way
    ahead = wanted + 2e-3 * way + [0.0, 0.0, 1e-3]
    t, nothing = np.linspace(0.0, 1.0, 51), np.zeros((51, 0))
    log = MotionLog(t, nothing, nothing, ahead, wanted, t)
    along, across = log.path_errors(t, ahead, wanted)
    np.testing.assert_allclose(along, 2e-3, atol=1e-12)
    np.testing.assert_allclose(across, 1e-3, atol=1e-12)  # beyond its end the path goes on straight
    along, _ = log.path_errors(t, wanted - 3e-3 * way, wanted)
    np.testing.assert_allclose(along, -3e-3, atol=1e-12)


def test_zoom_has_switched_voltages_modulations_and_smooth_currents(tmp_path: Path) -> None:
    zoom = {"at": "0.1 s", "span": "1 ms"}
    case = {**MOVE, "record": {"every": "1 ms", "zoom": zoom}, "solver": {"method": "rk4", "pwm": "switched"}}
    run = small.run_case(tmp_path, small.robot(), case)
    volts, current, command = (run.zoom[f"motor_A_{key}"] for key in ("voltage_V", "current_A", "modulation"))
    t = run.zoom["time_s"]
    assert (t[0], t[-1]) == (pytest.approx(0.1), pytest.approx(0.101))
    assert set(np.round(np.abs(volts), 9)) <= {0.0, small.BUS}
    assert np.abs(command).max() <= 1.0
    # the mean voltage of a period is its command times that of the bus
    steps = np.diff(t)
    for k in range(5):
        inside = (t[1:] > 0.1 + k * 2e-4 + 1e-9) & (t[1:] <= 0.1 + (k + 1) * 2e-4 + 1e-9)
        mean = float((volts[:-1][inside] * steps[inside]).sum() / steps[inside].sum())
        asked = float(command[1:][inside][0])
        assert mean == pytest.approx(small.BUS * asked, abs=0.02 * small.BUS)
    rows = run.signals
    near = np.interp(0.1005, rows["time_s"], rows["motor_A_current_A"])
    assert current.mean() == pytest.approx(near, rel=0.1)


def test_totals_of_a_limit_count_every_time_it_was_met() -> None:
    entries = [
        {"from_s": 0.1, "to_s": 0.2, "times": 3, "active_s": 0.05},
        {"from_s": 0.5, "to_s": 0.9, "times": 4, "active_s": 0.3},
    ]
    found = totals(entries)
    assert (found["from_s"], found["to_s"], found["times"]) == (0.1, 0.9, 7)
    assert found["active_s"] == pytest.approx(0.35)


def test_largest_difference_is_the_one_that_is_farthest_from_zero() -> None:
    t = np.linspace(0.0, 1.0, 11)
    measured = np.sin(t)
    difference = np.where(np.arange(11) == 4, -0.3, 0.1)
    found = differences(11, lambda a, b: (t[a:b], measured[a:b], (measured + difference)[a:b]), 11)[0]
    assert (found.max, found.max_at_s) == (pytest.approx(0.3), pytest.approx(0.4))
    assert found.mean == pytest.approx((10 * 0.1 - 0.3) / 11)
    assert found.rms == pytest.approx(math.sqrt((10 * 0.01 + 0.09) / 11))
