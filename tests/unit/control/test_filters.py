"""Filters of the torque command: against SciPy, in the compiled servo, and in the margins."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import signal

from servotwin.control.servo.records import AXIS, zeros
from servotwin.control.servo.servo_driver import filtered, speed_loop
from servotwin.control.tuning.bandwidth_limit import bandwidth_limit, resonance
from servotwin.control.tuning.filters import Biquad, chained, low_pass, notch
from servotwin.control.tuning.gains import axis_gains
from servotwin.control.tuning.loops import axis_loops
from servotwin.control.tuning.sampled import AxisModel, Timing
from servotwin.control.tuning.step_response import axis_run
from servotwin.description.controller_parts import Margins
from servotwin.errors import InputError
from servotwin.simulation.plant.servo_records import fill_filters

T = 2.5e-4
W = 2.0 * math.pi * 120.0
FILTERS = (notch(W, 0.7, 0.1, T), low_pass(3.0 * W, 1, 0.7, T), low_pass(4.0 * W, 2, 0.6, T))


def taps(one: Biquad) -> tuple[list[float], list[float]]:
    return [one.b0, one.b1, one.b2], [1.0, one.a1, one.a2]


@njit
def _filtered(axes: Any, value: float) -> float:
    return filtered(axes[0], value)


@njit
def _speed(axes: Any, T: float) -> None:
    speed_loop(axes[0], T)


@pytest.mark.parametrize(
    ("made", "top", "bottom"),
    [
        (FILTERS[0], [1.0, 0.07 * W, W**2], [1.0, 0.7 * W, W**2]),
        (FILTERS[1], [3.0 * W], [1.0, 3.0 * W]),
        (FILTERS[2], [(4.0 * W) ** 2], [1.0, 2.0 * 0.6 * 4.0 * W, (4.0 * W) ** 2]),
    ],
    ids=["notch", "first order", "second order"],
)
def test_filters_are_the_prewarped_bilinear_ones_of_scipy(
    made: Biquad, top: list[float], bottom: list[float]
) -> None:
    corner = {0: W, 1: 3.0 * W, 2: 4.0 * W}[FILTERS.index(made)]
    rate = corner / (2.0 * math.tan(0.5 * corner * T))  # what SciPy calls the sampling frequency, prewarped
    b, a = signal.bilinear(top, bottom, fs=rate)
    mine = taps(made)
    np.testing.assert_allclose(mine[0][: len(b)], b / a[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mine[1][: len(a)], a / a[0], rtol=1e-9, atol=1e-12)


def test_notch_is_where_and_as_deep_as_asked_for_and_passes_what_does_not_change() -> None:
    gain = np.abs(FILTERS[0].response(np.array([0.0, W]), T))
    np.testing.assert_allclose(gain, [1.0, 0.1], rtol=1e-12)


def test_compiled_filters_are_those_of_scipy_one_after_the_other() -> None:
    axes = zeros(AXIS, 1)
    fill_filters(axes[0], FILTERS)
    given = np.random.default_rng(3).normal(size=400)
    out = np.array([_filtered(axes, value) for value in given])
    expected = given
    for one in FILTERS:
        expected = signal.lfilter(*taps(one), expected)
    np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-12)


def test_chained_matrices_have_the_product_of_the_responses() -> None:
    A, B, C, D = chained(FILTERS)
    w = np.geomspace(10.0, 0.9 * math.pi / T, 50)
    z = np.exp(1j * w * T)
    found = np.array([C @ np.linalg.solve(one * np.eye(len(A)) - A, B) + D for one in z])
    np.testing.assert_allclose(found, np.prod([one.response(w, T) for one in FILTERS], axis=0), rtol=1e-9)


def test_speed_loop_without_filters_is_the_same_to_the_last_bit() -> None:
    plain, with_room = zeros(AXIS, 1), zeros(AXIS, 1)
    with_room["filter_taps"] = 3.0  # of no effect while none is in use
    rng = np.random.default_rng(4)
    for axes in (plain, with_room):
        axes["K_n"], axes["K_ni"], axes["i_max"] = 0.7, 11.0, 5.0
    for _ in range(100):
        w = rng.normal(size=2)
        for axes in (plain, with_room):
            axes["w_ref"], axes["w_meas"], axes["i_feedforward"] = w[0], w[1], 0.1
            _speed(axes, 1e-3)
        assert plain["i_ref"].tobytes() == with_room["i_ref"].tobytes()


AXIS_MODEL = AxisModel(
    R=0.35,
    L=3e-3,
    torque_constant=0.45,
    voltage_constant=0.0,
    J_m=3.7e-4,
    J_load=8e-4,
    stiffness=250.0,
    damping=0.02,
)
CLOCKS = Timing(62_500, 250_000, 250_000, speed_delay=1)


def test_margins_count_the_filters_as_loops_that_run_in_time_do() -> None:
    """A notch in the loop: its open response is the product, and the run in time agrees with stability at the limit."""
    gains = axis_gains(
        0.35,
        3e-3,
        0.45,
        AXIS_MODEL.J,
        current_bandwidth=3000.0,
        speed_bandwidth=400.0,
        position_bandwidth=40.0,
    )
    filters = (notch(resonance(AXIS_MODEL)[0], 1.0, 0.1, 250e-6), low_pass(4000.0, 1, 0.7, 250e-6))  # type: ignore[index]
    with_filters = replace(CLOCKS, torque_filters=filters)
    plain, loops = (
        axis_loops(AXIS_MODEL, gains, CLOCKS).speed,
        axis_loops(AXIS_MODEL, gains, with_filters).speed,
    )
    factor = np.prod([one.response(plain.w, 250e-6) for one in filters], axis=0)
    same = np.interp(plain.w, loops.w, np.abs(loops.open))
    np.testing.assert_allclose(same[::20], np.abs(plain.open * factor)[::20], rtol=2e-2)
    for share, stable in ((0.97, True), (1.03, False)):
        scaled = replace(
            gains,
            speed_proportional=gains.speed_proportional * share * (loops.gain_margin or 1.0),
            speed_integral=gains.speed_integral * share * (loops.gain_margin or 1.0),
        )
        run = axis_run(AXIS_MODEL, scaled, with_filters)
        _, values = run.step_response("speed", 0.6)
        late, early = np.abs(np.diff(values[-800:])).max(), np.abs(np.diff(values[1600:2400])).max()
        assert bool(late < early) is stable


def test_limit_of_a_speed_loop_names_the_resonance_and_the_notch_keeps_the_margins() -> None:
    """A rotor and its load at 155 Hz behind half a millisecond of delay: the resonance is what the loop meets first."""
    timing, margins = replace(CLOCKS, speed_ns=500_000, axis_ns=500_000), Margins()
    light = replace(AXIS_MODEL, damping=2e-3)
    gains = axis_gains(
        0.35, 3e-3, 0.45, light.J, current_bandwidth=3000.0, speed_bandwidth=150.0, position_bandwidth=40.0
    )
    limit = bandwidth_limit(light, gains, timing, margins, None)
    assert "resonance" in limit.cause
    assert limit.notch is not None
    assert limit.with_notch > 1.15 * limit.bandwidth
    w_r, w_a = resonance(light)  # type: ignore[misc]
    assert limit.notch.hertz == pytest.approx(w_r / (2.0 * math.pi))
    assert w_a == pytest.approx(math.sqrt(250.0 / 8e-4))
    filters = (notch(w_r, limit.notch.width, limit.notch.depth, 500e-6),)
    faster = axis_gains(
        0.35,
        3e-3,
        0.45,
        light.J,
        current_bandwidth=3000.0,
        speed_bandwidth=limit.with_notch,
        position_bandwidth=40.0,
    )
    loop = axis_loops(light, faster, replace(timing, torque_filters=filters)).speed
    assert loop.stable
    assert loop.phase_margin is not None
    assert loop.phase_margin >= margins.phase * (1.0 - 1e-3)


def test_filter_beyond_half_of_the_sampling_rate_is_refused() -> None:
    with pytest.raises(InputError, match="half of the loop's rate"):
        notch(1.1 * math.pi / T, 0.7, 0.1, T)
