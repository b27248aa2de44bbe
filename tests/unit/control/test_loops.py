"""Frequency responses and margins of the loops, against loops that run in time."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from servotwin.control.servo.axis_data import axis_models
from servotwin.control.tuning import loop_warnings
from servotwin.control.tuning.gains import Gains, axis_gains
from servotwin.control.tuning.loop_warnings import LoopWarning, check_loops, summarised
from servotwin.control.tuning.loops import axis_loops
from servotwin.control.tuning.sampled import (
    ANGLE,
    CURRENT,
    SPEED,
    AxisModel,
    Timing,
    closed,
    continuous,
    lifted,
    sampled_axis,
    with_speed_sensor,
)
from servotwin.control.tuning.step_response import axis_run, largest_pole
from servotwin.description.load import read_description
from servotwin.errors import InputError

K_T = 1.21 * 9.80665e-2  # Lee et al. 1989, Table 3, A axis
A_AXIS = AxisModel(
    R=0.4, L=0.6e-3, torque_constant=K_T, voltage_constant=K_T, J_m=1.5e-4, J_load=4.357e-4, friction=1e-4
)
CLOCKS = Timing(200_000, 1_000_000, 1_600_000)  # Table 4
DELAYED = replace(CLOCKS, current_delay=1, speed_delay=1, axis_delay=1)
FILTERED = replace(CLOCKS, speed_filter=2e-3)
ELASTIC = replace(A_AXIS, stiffness=2.0, damping=2e-4)
LOOPS = {
    "current": ("current_proportional", "current_integral"),
    "speed": ("speed_proportional", "speed_integral"),
    "position": ("position", "position_integral"),
}
CASES = [
    pytest.param(A_AXIS, CLOCKS, id="as-in-table-4"),
    pytest.param(A_AXIS, DELAYED, id="a-period-of-computation-everywhere"),
    pytest.param(A_AXIS, FILTERED, id="filtered-speed"),
    pytest.param(A_AXIS, Timing(62_500, 250_000, 250_000, 1), id="clocks-of-the-palletizer"),
    pytest.param(ELASTIC, CLOCKS, id="elastic-gear"),
    pytest.param(replace(A_AXIS, L=0.0), CLOCKS, id="no-inductance"),
]


def designed(model: AxisModel = A_AXIS) -> Gains:
    return axis_gains(
        model.R, model.L, model.torque_constant, model.J,
        current_bandwidth=1200.0, speed_bandwidth=150.0, position_bandwidth=30.0,
    )  # fmt: skip


def raised(gains: Gains, loop: str, factor: float) -> Gains:
    return replace(gains, **{name: factor * getattr(gains, name) for name in LOOPS[loop]})


def swing(model: AxisModel, gains: Gains, timing: Timing, loop: str) -> float:
    """Size of the oscillation of a step response late over early: above one it grows."""
    period = {"current": timing.T_current, "speed": timing.T_speed, "position": timing.T_axis}[loop]
    duration = 3000 * period
    _, y = axis_run(model, gains, timing).step_response(loop, duration)
    change = np.diff(y, n=2)  # takes the slow drift out that an open position leaves
    third = len(change) // 3
    return float(np.abs(change[2 * third :]).max() / np.abs(change[third : 2 * third]).max())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("model, timing", CASES)
def test_loop_with_gain_raised_by_its_margin_starts_to_oscillate(model, timing, loop):
    gains = designed(model)
    margin = getattr(axis_loops(model, gains, timing), loop).gain_margin
    assert margin is not None
    # the position loop keeps only the fundamental of its changing command age; the others are exact
    near = 0.03 if loop == "position" else 0.01
    with np.errstate(over="ignore", invalid="ignore"):
        assert swing(model, raised(gains, loop, margin * (1.0 - near)), timing, loop) < 1.0
        assert swing(model, raised(gains, loop, margin * (1.0 + near)), timing, loop) > 1.0


@pytest.mark.parametrize("model, timing", CASES)
def test_loop_stability_agrees_with_the_map_over_a_beat_of_the_clocks(model, timing):
    gains = designed(model)
    margin = axis_loops(model, gains, timing).position.gain_margin
    assert largest_pole(model, raised(gains, "position", 0.99 * margin), timing) < 1.0
    assert largest_pole(model, raised(gains, "position", 1.01 * margin), timing) > 1.0


@pytest.mark.parametrize("timing", [CLOCKS, DELAYED])
def test_phase_margin_is_the_delay_that_makes_the_speed_loop_oscillate(timing):
    """A delay of k speed periods turns the phase by k T w: the loop stands it while that is less."""
    gains = designed()
    loop = axis_loops(A_AXIS, gains, timing).speed
    bearable = loop.phase_margin / (loop.crossover * timing.T_speed)
    few = replace(timing, speed_delay=timing.speed_delay + math.floor(bearable))
    many = replace(timing, speed_delay=timing.speed_delay + math.floor(bearable) + 1)
    assert axis_loops(A_AXIS, gains, few).speed.stable
    assert not axis_loops(A_AXIS, gains, many).speed.stable


def test_speed_loop_keeps_55_degrees_even_if_every_loop_computes_for_a_period():
    for timing in (CLOCKS, replace(CLOCKS, current_delay=1), DELAYED):
        loops = axis_loops(A_AXIS, designed(), timing)
        assert math.degrees(loops.speed.phase_margin) > 55.0


def test_current_loop_with_fast_clock_is_the_integrator_of_its_design():
    model = replace(
        A_AXIS, voltage_constant=0.0
    )  # the pole of the winding is cancelled, that of the shaft is not there
    loop = axis_loops(model, designed(), replace(CLOCKS, current_ns=1_000)).current
    w = loop.w[(loop.w > 10.0) & (loop.w < 5e3)]
    L = loop.open[(loop.w > 10.0) & (loop.w < 5e3)]
    assert np.abs(L - 1200.0 / (1j * w)) == pytest.approx(0.0, abs=5e-3 * np.abs(L).max())
    assert loop.crossover == pytest.approx(1200.0, rel=2e-3)  # half a microsecond of hold
    assert math.degrees(loop.phase_margin) == pytest.approx(90.0, abs=0.2)


def test_speed_sensor_response_is_the_moving_average():
    """(1 - exp(-s T)) / (s T) times the true speed, where the torque is a hold of the same period."""
    axis = lifted(sampled_axis(A_AXIS, 1e-5), 100)
    w = np.array([3.0, 30.0, 300.0])
    ratio = with_speed_sensor(axis, CLOCKS).response(w) / axis.watching(ANGLE).response(w)
    z = np.exp(1j * w * 1e-3)
    assert ratio == pytest.approx((1.0 - 1.0 / z) / 1e-3, rel=1e-6)
    true = axis.watching(SPEED).response(w)
    average = (1.0 - np.exp(-1j * w * 1e-3)) / (1j * w * 1e-3)
    measured = with_speed_sensor(axis, CLOCKS).response(w)
    # sampled speed under a held voltage differs from the continuous one at second order in w T
    assert measured / true == pytest.approx(average, rel=0.02)


def test_sampled_axis_steps_like_the_differential_equation():
    from scipy.integrate import solve_ivp

    for model in (A_AXIS, ELASTIC):
        A, B = continuous(model)
        x0 = np.linspace(1.0, 2.0, len(A))
        exact = solve_ivp(lambda t, x, A=A, B=B: A @ x + 5.0 * B, (0, 2e-4), x0, rtol=1e-11, atol=1e-13).y[
            :, -1
        ]
        step = sampled_axis(model, 2e-4)
        assert step.A @ x0 + 5.0 * step.B == pytest.approx(exact, rel=1e-8)


def test_closed_and_lifted_systems_step_like_the_run_in_time():
    gains = designed()
    loop = closed(sampled_axis(A_AXIS, 2e-4), gains.current_proportional, gains.current_integral)
    five = lifted(loop, 5)
    x = np.zeros(len(loop.A))
    for _ in range(3):
        x = five.A @ x + five.B
    _, y = axis_run(A_AXIS, gains, CLOCKS).step_response("current", 3e-3)
    assert x[CURRENT] == pytest.approx(y[15], rel=1e-12)


def test_step_response_of_every_loop_settles_at_its_reference():
    run = axis_run(A_AXIS, designed(), CLOCKS)
    for loop, duration in (("speed", 0.4), ("position", 0.8)):
        _, y = run.step_response(loop, duration)
        assert y[-1] == pytest.approx(1.0, abs=1e-3)


def test_step_response_of_a_violently_unstable_loop_stays_finite():
    for loop in LOOPS:
        run = axis_run(A_AXIS, raised(designed(), loop, 1e4), CLOCKS)
        _, y = run.step_response(loop, 1.0)
        assert len(y) == 5001
        assert np.isfinite(y).all()
        assert np.abs(y).max() > 10.0


def test_check_loops_with_good_gains_has_nothing_to_say():
    assert check_loops("A", A_AXIS, designed(), CLOCKS) == []


def test_check_loops_names_axis_loop_and_margin_of_unstable_loops():
    lines = [
        warning.text
        for warning in check_loops("A", A_AXIS, raised(designed(), "speed", 10.0), CLOCKS, "lightest load")
    ]
    assert any(
        line.startswith("axis A, lightest load, speed loop: unstable (phase margin -") for line in lines
    )
    assert all("\n" not in line for line in lines)


def test_check_loops_blames_the_innermost_unstable_loop_alone():
    lines = [
        warning.text for warning in check_loops("A", A_AXIS, raised(designed(), "current", 20.0), CLOCKS)
    ]
    assert [line for line in lines if "unstable" in line] == lines
    assert len(lines) == 1
    assert lines[0].startswith("axis A, current loop: unstable")


def test_check_loops_warns_of_a_small_phase_margin():
    lines = [warning.text for warning in check_loops("A", A_AXIS, raised(designed(), "speed", 6.0), CLOCKS)]
    assert any("speed loop: phase margin" in line and "at least 30 deg" in line for line in lines)


def test_check_loops_warns_of_loops_that_do_not_nest():
    lines = [
        warning.text for warning in check_loops("A", A_AXIS, raised(designed(), "position", 3.0), CLOCKS)
    ]
    assert any("speed loop crosses over" in line and "times the position loop's" in line for line in lines)


def test_axis_model_without_resistance_names_the_field():
    description = read_description("gsis-scara")
    motor = description.axes["A"].motor.model_copy(update={"resistance": None})
    axis = description.axes["A"].model_copy(update={"motor": motor})
    changed = description.model_copy(update={"axes": {**description.axes, "A": axis}})
    with pytest.raises(InputError, match=r"axes\.A\.motor\.resistance: missing"):
        axis_models(changed, np.full(4, 4e-4))


def test_summarised_warnings_of_one_kind_are_one_line_with_the_worst_case():
    many = [
        LoopWarning("speed loop unstable", axis, f"axis {axis}, {load}: text {size}", size)
        for axis, load, size in (("A", "lightest", 1.0), ("A", "heaviest", 3.0), ("B", "lightest", 2.0))
    ]
    single = LoopWarning("position loop unstable", "C", "axis C: alone", 9.0)
    assert summarised([*many, single]) == [
        "speed loop unstable: axes A, B; worst: axis A, heaviest: text 3.0",
        "axis C: alone",
    ]
    assert summarised(many[:2]) == ["speed loop unstable: axis A; worst: axis A, heaviest: text 3.0"]


@pytest.mark.parametrize(
    ("margin", "text"), [(29.6, "29.6"), (29.96, "29.96"), (29.2, "29"), (12.0, "12"), (45.0, "45")]
)
def test_margin_just_below_the_expected_one_is_printed_below_it(margin: float, text: str) -> None:
    loop = SimpleNamespace(phase_margin=math.radians(margin), gain_margin=None)
    assert loop_warnings._margin_text(cast(Any, loop)) == f"phase margin {text} deg"
