"""The loops of the axis controller and the servo driver, one call at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as draw
from numba import njit

from servotwin.compiled.numeric import Stream, normal, quantise, random_stream, uniform
from servotwin.control.servo.axis_controller import interpolate, position_loop
from servotwin.control.servo.records import AXIS, Saturation, Sensing, zeros
from servotwin.control.servo.servo_driver import (
    current_loop,
    edge_rate,
    field_oriented_loop,
    measure_speed,
    speed_loop,
)
from servotwin.control.tuning.gains import FULL_SCALE, GAIN_ONE
from servotwin.drives.records import SENSOR
from servotwin.drives.records import zeros as drive_zeros
from servotwin.drives.sensors import edge_time, read_count, read_current

COUNTS = 4000 / (2 * math.pi)


@njit
def _position(axes: Any, T: float) -> None:
    position_loop(axes[0], T)


@njit
def _interpolate(axes: Any, part: float) -> None:
    interpolate(axes[0], part)


@njit
def _speed(axes: Any, T: float) -> None:
    speed_loop(axes[0], T)


@njit
def _current(axes: Any, T: float) -> None:
    current_loop(axes[0], T)


@njit
def _oriented(axes: Any, T: float, angle: float) -> tuple[float, float]:
    return field_oriented_loop(axes[0], T, angle)


@njit
def _measure(axes: Any, T: float, timed: float) -> None:
    measure_speed(axes[0], T, timed)


@njit
def _count(sensors: Any, theta: float) -> int:
    return read_count(sensors[0], theta)


@njit
def _sense(sensors: Any, i: float, random: Any) -> float:
    return read_current(sensors[0], i, random)


@njit
def _timed(sensors: Any, axes: Any, theta: float, w: float, time: float) -> float:
    axes[0].count = read_count(sensors[0], theta)
    return edge_rate(axes[0], edge_time(sensors[0], theta, w, time), time) / COUNTS


@njit
def _quantise(value: float, span: float, bits: int) -> float:
    return quantise(value, span, bits)


@njit
def _random(state: Any, count: int) -> Any:
    flat, bell = np.empty(count), np.empty(count)
    for k in range(count):
        flat[k] = uniform(state)
        bell[k] = normal(state)
    return flat, bell


def one(**values: float) -> Any:
    axes = zeros(AXIS, 1)
    axes["counts_per_rad"], axes["w_max"], axes["i_max"], axes["u_max"] = COUNTS, 400.0, 20.0, 60.0
    for name, value in values.items():
        axes[name] = value
    return axes


# --- axis controller --------------------------------------------------------------------------------


def test_position_loop_turns_pulses_into_a_speed() -> None:
    axes = one(
        K_x=30.0, K_xi=100.0, counts_ref=1000.0, count=900, sum_x=50.0, share_velocity=0.5, w_path=10.0
    )
    _position(axes, 1e-3)
    assert axes["w_command"][0] == pytest.approx((30.0 * 100 + 50.0) / COUNTS + 5.0, rel=1e-14)
    assert axes["sum_x"][0] == pytest.approx(50.0 + 100.0 * 1e-3 * 100, rel=1e-14)
    assert axes["saturation"][0] == 0


def test_position_loop_limits_its_command_and_holds_its_integrator() -> None:
    axes = one(K_x=30.0, K_xi=100.0, counts_ref=1e6)
    _position(axes, 1e-3)
    assert axes["w_command"][0] == 400.0
    assert axes["sum_x"][0] == 0.0
    assert axes["saturation"][0] == Saturation.SPEED_COMMAND


def test_interpolation_is_a_straight_line_between_the_main_controllers_points() -> None:
    axes = one(from_counts=100.0, to_counts=160.0, from_speed=1.0, to_speed=3.0, to_acceleration=8.0)
    found = []
    for tick in range(11):
        _interpolate(axes, tick / 10)
        found.append((axes["counts_ref"][0], axes["w_path"][0], axes["a_path"][0]))
    wanted = [(100 + 6 * k, 1 + 0.2 * k, 0.8 * k) for k in range(11)]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


# --- servo driver -----------------------------------------------------------------------------------


@given(draw.floats(-100, 100), draw.floats(-100, 100), draw.floats(-30, 30))
def test_speed_loop_is_pi_whose_integrator_stops_at_the_limit(w_ref: float, w: float, kept: float) -> None:
    axes = one(K_n=0.4, K_ni=9.0, w_ref=w_ref, w_meas=w, sum_n=kept, i_feedforward=0.3)
    _speed(axes, 1e-3)
    wanted = 0.4 * (w_ref - w) + kept + 0.3
    given_ = min(max(wanted, -20.0), 20.0)
    assert axes["i_ref"][0] == pytest.approx(given_, rel=1e-12, abs=1e-12)
    # eq:anti-windup
    moves = abs(wanted) <= 20.0 or (w_ref - w) * wanted < 0.0
    more = 9.0 * 1e-3 * (w_ref - w) if moves else 0.0
    assert axes["sum_n"][0] == pytest.approx(kept + more, rel=1e-11, abs=1e-11)
    assert bool(axes["saturation"][0] & Saturation.CURRENT) == (
        axes["i_ref"][0] != pytest.approx(wanted, rel=1e-13)
    )


FIXED = {"fixed": 1, "kp_n": 494, "ki_n": 150, "kp_i": 85, "ki_i": 10, "kp_x": 7680, "ki_x": 26}
LOOPS = {
    "speed": (_speed, {"K_n": 0.4, "K_ni": 40.0}, "w_ref", 200.0, "i_ref", 20.0, ("sum_n", "acc_n", 20.0)),
    "current": (_current, {"K_i": 1.0, "K_ii": 600.0}, "i_ref", 20.0, "u_ref", 60.0, ("sum_i", "acc_i", 60.0)),
    "position": (
        _position, {"K_x": 30.0, "K_xi": 100.0}, "counts_ref", 1e4, "w_command", 400.0, ("sum_x", "acc_x", None),
    ),
    "field oriented": (
        lambda axes, T: _oriented(axes, T, 0.3), {"K_i": 1.0, "K_ii": 600.0}, "i_ref", 20.0, "u_ref",
        60.0 / math.sqrt(3.0), ("sum_i", "acc_i", 60.0),
    ),
}  # fmt: skip


def kept_of(axes: Any, integrator: tuple[str, str, float | None]) -> float:
    """The integrator in units of the loop's output; that of the position loop in pulses per second."""
    real, whole, full = integrator
    if not axes["fixed"][0]:
        return float(axes[real][0])
    return float(axes[whole][0]) / GAIN_ONE * (full / FULL_SCALE if full else 1.0)


@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("name", LOOPS)
def test_no_loop_winds_up_however_long_it_is_limited(name: str, fixed: bool, proportional: bool) -> None:
    """A second beyond the limit, with and without a proportional part; then the error turns.

    The integrator may pass the limit by one step; when the error turns, it goes back at once.
    """
    call, gains, command, value, output, limit, integrator = LOOPS[name]
    axes = one(**gains, **(FIXED if fixed else {}))
    if not proportional:
        for field in ("K_n", "K_i", "K_x", "kp_n", "kp_i", "kp_x"):
            axes[field] = 0
    T = 2e-4 if output == "u_ref" else 1e-3
    axes[command] = value
    most, before = 0.0, 0.0
    for _ in range(5000):
        call(axes, T)
        step, before = abs(kept_of(axes, integrator) - before), kept_of(axes, integrator)
        most = max(most, step)
    top = limit * COUNTS if name == "position" else limit
    assert axes[output][0] == pytest.approx(limit, rel=1e-4)
    assert kept_of(axes, integrator) <= top + most
    assert kept_of(axes, integrator) >= (0.0 if proportional else 0.99 * top)
    axes[command] = -value
    for _ in range(math.ceil(2.0 * top / max(most, 1e-3 * top)) + 3):  # from limit to limit, and no longer
        call(axes, T)
    assert axes[output][0] == pytest.approx(-limit, rel=1e-4)


def test_the_flux_current_loop_does_not_wind_up_either() -> None:
    axes = one(K_ii=600.0, i_d_meas=-15.0)
    for _ in range(5000):
        _oriented(axes, 2e-4, 0.3)
    assert 60.0 / math.sqrt(3.0) <= axes["sum_d"][0] <= 60.0 / math.sqrt(3.0) + 600.0 * 2e-4 * 15.0


def test_current_loop_is_pi_within_the_bus_voltage() -> None:
    axes = one(K_i=1.2, K_ii=500.0, i_ref=3.0, i_meas=1.0, sum_i=0.5)
    _current(axes, 2e-4)
    assert axes["u_ref"][0] == pytest.approx(1.2 * 2.0 + 0.5, rel=1e-14)
    assert axes["sum_i"][0] == pytest.approx(0.5 + 500.0 * 2e-4 * 2.0, rel=1e-14)
    axes = one(K_i=100.0, K_ii=500.0, i_ref=3.0)
    _current(axes, 2e-4)
    assert axes["u_ref"][0] == 60.0
    assert axes["saturation"][0] == Saturation.VOLTAGE
    assert axes["sum_i"][0] == 0.0  # eq:anti-windup


@given(draw.floats(-15, 15), draw.floats(-15, 15))
def test_fixed_point_current_loop_follows_the_float_one(i_ref: float, i: float) -> None:
    """The integers hold the current limit and the bus in 32768 parts and gains in 1/256."""
    K_p, K_i, T = 1.0, 600.0, 2e-4
    floats = one(K_i=K_p, K_ii=K_i, i_ref=i_ref, i_meas=i)
    fixed = one(
        fixed=1, kp_i=round(K_p * 20 / 60 * 256), ki_i=round(K_i * T * 20 / 60 * 256), i_ref=i_ref, i_meas=i
    )
    for axes in (floats, fixed):
        for _ in range(5):
            _current(axes, T)
    # half a step of either gain in 256, over five samples of the integrator
    step = 60.0 / 20.0 / 256 * abs(i_ref - i)
    assert fixed["u_ref"][0] == pytest.approx(floats["u_ref"][0], abs=0.5 * step * 5 + 0.01)


def test_field_oriented_loop_turns_its_voltage_and_stays_in_the_circle() -> None:
    base = {"K_i": 1.0, "pole_pairs_hat": 4, "psi_hat": 0.02, "L_d_hat": 1e-3, "L_q_hat": 2e-3}
    axes = one(**base, i_ref=3.0, i_meas=1.0, i_d_meas=0.5, w_meas=50.0)
    u_a, u_b = _oriented(axes, 2e-4, 0.7)
    u_d = -0.5 - 200.0 * 2e-3 * 1.0  # eq:foc
    u_q = 2.0 + 200.0 * (1e-3 * 0.5 + 0.02)
    assert u_a == pytest.approx(math.cos(0.7) * u_d - math.sin(0.7) * u_q, rel=1e-13)
    assert u_b == pytest.approx(math.sin(0.7) * u_d + math.cos(0.7) * u_q, rel=1e-13)
    axes = one(**base | {"K_i": 100.0}, i_ref=3.0)
    assert math.hypot(*_oriented(axes, 2e-4, 0.7)) == pytest.approx(60.0 / math.sqrt(3), rel=1e-13)
    assert axes["saturation"][0] == Saturation.VOLTAGE


@given(draw.floats(-15, 15), draw.floats(-15, 15), draw.floats(-5, 5), draw.floats(-300, 300))
def test_fixed_point_field_oriented_loop_follows_the_float_one(
    i_ref: float, i: float, i_d: float, w: float
) -> None:
    """Same integers as the DC loop; the coupling and the back-EMF are rounded to 1/32768 of the bus."""
    K_p, K_i, T = 60 / 20 * 85 / 256, 60 / 20 * 10 / 256 / 2e-4, 2e-4  # what the integers stand for
    motor = {"pole_pairs_hat": 4, "psi_hat": 0.02, "L_d_hat": 1e-3, "L_q_hat": 2e-3}
    state = {"i_ref": i_ref, "i_meas": i, "i_d_meas": i_d, "w_meas": w}
    floats = one(K_i=K_p, K_ii=K_i, **motor, **state)
    fixed = one(fixed=1, kp_i=85, ki_i=10, **motor, **state)
    for _ in range(5):
        wanted, found = _oriented(floats, T, 0.7), _oriented(fixed, T, 0.7)
    # half a count of either error through 85/256 and five times 10/256, and of everything that is rounded
    assert np.hypot(*np.subtract(found, wanted)) < 5 * 60.0 / FULL_SCALE
    assert fixed["saturation"][0] == floats["saturation"][0]
    assert math.hypot(*found) <= 60.0 / math.sqrt(3.0) + 2 * 60.0 / FULL_SCALE


# --- sensors ----------------------------------------------------------------------------------------


@given(draw.floats(-1e4, 1e4))
def test_encoder_is_off_by_at_most_half_a_count(theta: float) -> None:
    sensors = drive_zeros(SENSOR, 1)
    sensors["counts_per_rad"] = COUNTS
    assert abs(_count(sensors, theta) - theta * COUNTS) <= 0.5 + 1e-6
    sensors["lost"] = 7
    assert abs(_count(sensors, theta) + 7 - theta * COUNTS) <= 0.5 + 1e-6
    sensors["stuck"] = 1
    assert _count(sensors, theta + 1.0) == sensors["count"][0]


@given(draw.floats(-12.0, 12.0))
def test_converter_of_one_bit_tells_the_sign(value: float) -> None:
    assert _quantise(value, 10.0, 1) == (10.0 if value >= 0.0 else -10.0)


@given(draw.floats(-12.0, 12.0), draw.integers(2, 20))
def test_converter_is_off_by_at_most_half_a_step(value: float, bits: int) -> None:
    found = _quantise(value, 10.0, bits)
    assert abs(found) <= 10.0
    limited = min(max(value, -10.0), 10.0)
    assert abs(found - limited) <= 0.5 * 10.0 / (2 ** (bits - 1) - 1) * (1 + 1e-9)
    assert _quantise(value, 10.0, 0) == limited


def test_current_sensor_adds_offset_and_noise_of_the_stated_size() -> None:
    sensors = drive_zeros(SENSOR, 1)
    sensors["current_range"], sensors["current_offset"], sensors["current_noise"] = 25.0, 0.2, 0.05
    random = np.array([3], dtype=np.uint64)
    found = np.array([_sense(sensors, 4.0, random) for _ in range(4000)])
    assert found.mean() == pytest.approx(4.2, abs=4 * 0.05 / math.sqrt(4000))
    assert found.std() == pytest.approx(0.05, rel=0.05)


def test_random_numbers_are_spread_as_they_should_be_and_follow_their_seed() -> None:
    flat, bell = _random(np.array([1], dtype=np.uint64), 20_000)
    assert 0.0 <= flat.min() < flat.max() < 1.0
    assert flat.mean() == pytest.approx(0.5, abs=4 * 0.289 / math.sqrt(20_000))
    assert bell.mean() == pytest.approx(0.0, abs=4 / math.sqrt(20_000))
    assert bell.std() == pytest.approx(1.0, abs=4 / math.sqrt(40_000))
    again, _ = _random(np.array([1], dtype=np.uint64), 20_000)
    other, _ = _random(np.array([2], dtype=np.uint64), 20_000)
    assert np.array_equal(flat, again)
    assert abs(np.corrcoef(flat, other)[0, 1]) < 0.05


@pytest.mark.parametrize("w", [0.5, -0.5, 3.0, -200.0])
def test_time_between_pulses_gives_the_speed_where_counting_gives_steps(w: float) -> None:
    """One count is 1.6 mrad: at 0.5 rad/s and 1 ms a counter sees a pulse in every third sample."""
    sensors = drive_zeros(SENSOR, 1)
    sensors["counts_per_rad"] = COUNTS
    axes = one(sensing=Sensing.COUNTED)
    timed, counted = [], []
    for k in range(1, 101):
        time = 1e-3 * k
        axes["count"] = _count(sensors, w * time)
        _measure(axes, 1e-3, 0.0)
        counted.append(axes["w_meas"][0])
        axes["last_count"] = axes["count"]
        timed.append(_timed(sensors, axes, w * time, w, time))
    # after the first pulses the time between them is exact at constant speed
    np.testing.assert_allclose(timed[20:], w, rtol=1e-9)
    step = 1.0 / COUNTS / 1e-3
    assert np.abs(np.array(counted) - w).max() <= step
    assert np.mean(counted) == pytest.approx(w, abs=step / 50)


def test_time_since_the_last_pulse_bounds_the_speed_of_a_shaft_that_stops() -> None:
    sensors = drive_zeros(SENSOR, 1)
    sensors["counts_per_rad"] = COUNTS
    axes = one(sensing=Sensing.INVERSE_TIME)
    for k in range(1, 21):
        _timed(sensors, axes, 5.0 * 1e-3 * k, 5.0, 1e-3 * k)
    found = [_timed(sensors, axes, 0.1, 0.0, 0.02 + 1e-3 * k) for k in range(1, 30)]
    assert found[-1] <= 1.0 / COUNTS / 0.028
    assert np.all(np.diff(found) <= 0.0)


def test_filtered_speed_approaches_the_counted_one_by_its_share() -> None:
    axes = one(sensing=Sensing.FILTERED, filter=0.25, count=16)
    counted = 16 / COUNTS / 1e-3
    for k in range(1, 6):
        _measure(axes, 1e-3, 0.0)
        assert axes["w_meas"][0] == pytest.approx(counted * (1 - 0.75**k), rel=1e-12)


def test_encoder_that_is_stuck_after_another_loop_has_read_it_shows_no_speed_of_its_own() -> None:
    """The last count was read by the current loop, after the last edge that was timed: it is no new pulse."""
    sensors, axes = drive_zeros(SENSOR, 1), one()
    sensors["counts_per_rad"] = COUNTS
    count = 1.0 / COUNTS  # rad
    for k in range(1, 6):
        _timed(sensors, axes, k * count, 1e3 * count, 1e-3 * k)
    # the shaft slows down, and the same edge seems to have come 0.1 us later; then one count more, and no edge after it
    _timed(sensors, axes, 5.4 * count, 600.04 * count, 6e-3)
    _count(sensors, 6.0 * count)
    sensors["stuck"] = 1
    assert abs(_timed(sensors, axes, 6.2 * count, 600.0 * count, 7e-3)) <= 1e3 * count * (1 + 1e-9)


def test_an_encoder_that_is_stuck_gives_no_pulses_to_time() -> None:
    sensors = drive_zeros(SENSOR, 1)
    sensors["counts_per_rad"] = COUNTS
    axes = one(sensing=Sensing.INVERSE_TIME)
    for k in range(1, 21):
        _timed(sensors, axes, 5.0 * 1e-3 * k, 5.0, 1e-3 * k)
    sensors["stuck"] = 1
    found = [_timed(sensors, axes, 5.0 * (0.02 + 1e-3 * k), 5.0, 0.02 + 1e-3 * k) for k in range(1, 30)]
    assert found[-1] <= 1.0 / COUNTS / 0.028


def test_jitter_and_noise_of_one_seed_are_independent_streams() -> None:
    """They do not begin alike, do not follow each other at any near lag, and neighbouring seeds do not repeat them."""
    count = 20_000
    drawn = [_random(random_stream(seed, stream), count)[0] for seed in (1, 2) for stream in Stream]
    for i, first in enumerate(drawn):
        for second in drawn[i + 1 :]:
            for lag in range(5):
                r = np.corrcoef(first[lag:], second[: count - lag])[0, 1]
                assert abs(r) < 5.0 / math.sqrt(count)  # five standard deviations of no correlation
            assert not np.isin(first, second).any()
    again = _random(random_stream(1, Stream.JITTER), count)[0]
    np.testing.assert_array_equal(again, drawn[0])
