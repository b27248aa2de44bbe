"""Clocks and data of strangers: loops are judged in time that does not grow with the ratio of their periods."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from servotwin.control.tuning.gains import Gains
from servotwin.control.tuning.loops import axis_loops
from servotwin.control.tuning.sampled import AxisModel, Timing, lifted, sampled_axis
from servotwin.control.tuning.step_response import LEVELS, axis_run
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.simulation.live_robot import LiveRobot
from servotwin.simulation.run import simulate

MODEL = AxisModel(
    R=0.4, L=0.6e-3, torque_constant=0.12, voltage_constant=0.12, J_m=1.5e-4, J_load=4e-4, friction=1e-4
)
GAINS = Gains(30.0, 0.0, 0.5, 15.0, 0.7, 480.0)
USUAL = Timing(200_000, 1_000_000, 1_600_000)


def test_lifted_is_the_sum_that_its_equation_says() -> None:
    plant = sampled_axis(MODEL, 2e-4)
    A, B = np.eye(3), np.zeros(3)
    for _ in range(7):
        A, B = plant.A @ A, plant.A @ B + plant.B
    found = lifted(plant, 7)
    assert pytest.approx(A, rel=1e-12, abs=1e-15) == found.A
    assert pytest.approx(B, rel=1e-12, abs=1e-15) == found.B


def test_beat_is_one_sample_after_the_other() -> None:
    run = axis_run(MODEL, GAINS, USUAL)
    total = np.eye(len(run.tick_current))
    for now in range(0, math.lcm(USUAL.speed_ns, USUAL.axis_ns), USUAL.current_ns):
        total = run._sample(now, LEVELS[2]) @ total
    assert run.beat() == pytest.approx(total, rel=1e-9, abs=1e-12 * np.abs(total).max())


def test_axis_loops_of_a_current_period_of_one_nanosecond_are_judged_at_once() -> None:
    slow = Timing(1, 10**9, 10**10)  # ten thousand million samples in a beat
    assert not axis_loops(MODEL, GAINS, slow).position.stable


@pytest.mark.parametrize(
    "change",
    [
        {"torque_constant": 1e30, "voltage_constant": 1e30},
        {"L": 1e-300, "R": 1e30},
        {"J_m": 1e-300, "J_load": 0.0},
    ],
)
def test_axis_loops_of_data_beyond_all_numbers_are_one_line_or_an_answer(change: dict[str, float]) -> None:
    try:
        axis_loops(replace(MODEL, **change), GAINS, USUAL)
    except InputError as error:
        text = str(error)
    else:
        text = "loops that cannot be computed"
    assert text.startswith("loops that cannot be computed")


def test_simulate_torque_constant_beyond_all_machines_is_one_line() -> None:
    with pytest.raises(InputError, match=r"loops that cannot be computed: torque constant 9\.81e\+28 N m/A"):
        simulate("scara-a-axis-100deg", {"set.axes.B.motor.torque_constant": "1e30 kgf*cm/A"})


def test_step_response_of_too_many_periods_is_refused() -> None:
    run = axis_run(MODEL, GAINS, Timing(1, 1_000_000, 1_000_000))
    with pytest.raises(
        InputError, match=r"0\.1 s has 100000000 current periods; expected at most 1000000: a longer"
    ):
        run.step_response("speed", 0.1)


def test_controller_whose_loops_hardly_ever_meet_is_refused() -> None:
    changes = {
        "controller.current_period": "1 ns", "controller.speed_period": "9.9999999 s",
        "controller.axis_period": "9.999999 s", "controller.main_period": "9.999999 s",
    }  # fmt: skip
    with pytest.raises(
        InputError, match=r"axis_period: 9\.999999 s and the speed_period 9\.9999999 s meet every 1111"
    ):
        read_description("gsis-scara", changes)


def test_live_robot_whose_drives_take_too_long_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"current_period: a main_period of 0\.016 s takes roughly .* to compute"
    ):
        LiveRobot("gsis-scara", {"controller.current_period": "1 ns"}, drives=True)
