"""Periodic errors of encoders and gears, hysteresis of a torsion: the compiled functions against closed forms."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from servotwin.compiled.jit import kernel
from servotwin.drives.gears import gear_error, hysteresis_rate
from servotwin.drives.harmonics import angle_of_reading, fill_waves, slope_at, wave_at
from servotwin.drives.records import MOTOR, SENSOR, zeros
from servotwin.drives.sensors import edge_time, read_count, sensed_angle, sensed_speed
from servotwin.simulation.plant.readings import angles_behind, sensed_angles

WAVES = [(1.0, 3e-3, 0.4), (2.0, 1e-3, 2.0), (37.0, 2e-4, 1.0)]


@kernel
def readings(sensors: Any, theta: Any, w: float, out: Any) -> None:
    """Angle, speed, count and time of the last edge for each angle."""
    for k in range(theta.shape[0]):
        out[k, 0] = sensed_angle(sensors[0], theta[k])
        out[k, 1] = sensed_speed(sensors[0], theta[k], w)
        out[k, 2] = read_count(sensors[0], theta[k])
        out[k, 3] = edge_time(sensors[0], theta[k], w, 0.0)


def sensor(counts: float = 4000.0, *, gear: bool = False) -> Any:
    records = zeros(SENSOR, 1)
    records["counts_per_rad"] = counts / (2.0 * math.pi)
    fill_waves(records[0], "encoder", WAVES)
    fill_waves(records[0], "gear", [(2.0, 0.02, 1.1)] if gear else [])
    return records


def shown(theta: Any, *, gear: bool) -> Any:
    """The reading, by bisection where a gear stands in between."""
    if not gear:
        return theta + sum(a * (np.sin(o * theta + p) - math.sin(p)) for o, a, p in WAVES)
    low, high = theta - 0.1, theta + 0.1
    for _ in range(60):
        middle = 0.5 * (low + high)
        beyond = middle + 0.02 * (np.sin(2.0 * middle + 1.1) - math.sin(1.1)) > theta
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return shown(0.5 * (low + high), gear=False)


@pytest.mark.parametrize("gear", [False, True])
def test_reading_has_the_harmonics_of_encoder_and_gear(gear: bool) -> None:
    theta, records, w = np.linspace(-9.0, 9.0, 301), sensor(gear=gear), 3.0
    out = np.zeros((len(theta), 4))
    readings(records.view(np.recarray), theta, w, out)
    wanted = shown(theta, gear=gear)
    # five rounds bring the shaft of the gear nearer by its slope of 0.04 each
    assert out[:, 0] == pytest.approx(wanted, abs=0.04 * 0.04**5 if gear else 1e-14)
    h = 1e-5
    rate = w * (shown(theta + h, gear=gear) - shown(theta - h, gear=gear)) / (2.0 * h)
    assert out[:, 1] == pytest.approx(rate, rel=2e-5)
    assert np.array_equal(out[:, 2], np.floor(wanted * records["counts_per_rad"] + 0.5))


def test_edge_was_when_the_shown_angle_passed_it() -> None:
    records, w = sensor(500.0), -7.0
    theta = np.random.default_rng(1).uniform(-5.0, 5.0, 50)
    out = np.zeros((len(theta), 4))
    readings(records.view(np.recarray), theta, w, out)
    per_rad = float(records["counts_per_rad"][0])
    for angle, count, time in zip(theta, out[:, 2], out[:, 3], strict=True):
        before = angle + w * time  # where the shaft stood
        # the speed of the reading is taken as constant since: a ten-thousandth of a count at this eccentricity
        assert shown(before, gear=False) * per_rad + 0.5 == pytest.approx(count + 1.0, abs=0.01)


@pytest.mark.parametrize("gear", [False, True])
def test_angles_behind_readings_are_the_inverse_of_readings(gear: bool) -> None:
    records, theta = np.repeat(sensor(gear=gear), 40), np.linspace(-20.0, 20.0, 40)
    assert angles_behind(records, sensed_angles(records, theta)) == pytest.approx(theta, abs=1e-12)


def test_error_is_zero_where_counters_are_homed_and_its_slope_its_derivative() -> None:
    record = sensor()[0]
    assert wave_at(record, "encoder", 0.0) == 0.0
    for angle in (0.3, -4.0):
        difference = wave_at(record, "encoder", angle + 1e-6) - wave_at(record, "encoder", angle - 1e-6)
        assert slope_at(record, "encoder", angle) == pytest.approx(difference / 2e-6, rel=1e-7)
        reading = angle + wave_at(record, "encoder", angle)
        assert angle_of_reading(record, "encoder", reading) == pytest.approx(angle, abs=1e-14)


# --- hysteresis -------------------------------------------------------------------------------------


@kernel
def twisted(motors: Any, path: Any, steps: int, z: Any, out: Any) -> None:
    """Carry z along the corners of a path of twists by the midpoint rule; work and loss on the way."""
    motor = motors[0]
    for k in range(path.shape[0] - 1):
        d = (path[k + 1] - path[k]) / steps
        for _ in range(steps):
            half = z[0] + 0.5 * hysteresis_rate(motor, z[0], d)
            follows = hysteresis_rate(motor, half, d)
            out[0] += motor.hysteresis_stiffness * half * d
            out[1] += motor.hysteresis_stiffness * half * (d - follows)
            z[0] += follows


def hysteresis(stiffness: float, limit: float) -> Any:
    motors = zeros(MOTOR, 1)
    motors["hysteresis_stiffness"], motors["hysteresis_limit"] = stiffness, limit
    return motors


def along(z: float, step: float, limit: float) -> float:
    """Solution of eq:hysteresis along a monotone twist."""
    end = math.copysign(limit, step)
    return end + (z - end) * math.exp(-abs(step) / limit)


@pytest.mark.parametrize("seed", range(5))
def test_hysteresis_follows_its_exponential_and_never_gives_more_than_it_holds(seed: int) -> None:
    random = np.random.default_rng(seed)
    k, limit = float(random.uniform(1.0, 100.0)), float(random.uniform(1e-4, 1e-2))
    path = np.concatenate([[0.0], limit * random.normal(0.0, 2.0, 30)])
    z, out = np.zeros(1), np.zeros(2)
    wanted, least = 0.0, 0.0
    for begin, end in itertools.pairwise(path):
        before = out.copy()
        twisted(hysteresis(k, limit).view(np.recarray), np.array([begin, end]), 400, z, out)
        wanted = along(wanted, end - begin, limit)
        assert z[0] == pytest.approx(wanted, abs=1e-5 * limit)
        assert out[1] >= before[1]  # it loses
        least = min(least, out[0] - 0.5 * k * z[0] ** 2)
    assert abs(z[0]) <= limit
    assert least >= -1e-6 * out[1]  # all work that came back had been stored
    assert out[0] == pytest.approx(out[1] + 0.5 * k * z[0] ** 2, rel=1e-4)


@kernel
def gear_errors(motors: Any, theta: Any, out: Any) -> None:
    for k in range(theta.shape[0]):
        out[k, 0], out[k, 1] = gear_error(motors[0], theta[k])


def test_gear_takes_from_its_motor_what_it_passes_on() -> None:
    """Power in is power out at a constant twist: tau_m w_m = tau_s w_l with w_l = (1 + e') w_m."""
    motors = zeros(MOTOR, 1)
    fill_waves(motors[0], "gear", WAVES)
    theta = np.linspace(-3.0, 3.0, 61)
    out, ahead = np.zeros((61, 2)), np.zeros((61, 2))
    gear_errors(motors.view(np.recarray), theta, out)
    gear_errors(motors.view(np.recarray), theta + 1e-6, ahead)
    assert out[:, 1] == pytest.approx(1.0 + (ahead[:, 0] - out[:, 0]) / 1e-6, abs=1e-5)
