"""Computation delays of speed and position loop: whole periods of their loop, the same in run and design."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.control.main.states import Event
from servotwin.control.servo.axis_data import controller_of, robot_gains, timing_of
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.control.tuning.step_response import axis_run
from servotwin.description.load import read_description
from servotwin.design.tuning import tune
from servotwin.errors import InputError
from servotwin.robot.shafts import motor_inertia
from servotwin.simulation.job_plant import MachinePlant
from servotwin.simulation.live_robot import LiveRobot
from tests import small_drives as small
from tests.small_drives import RATIO

# A stuck encoder opens the loops: what they command depends on their reference alone.
STUCK = {"faults": [{"at": "0 s", "axis": "A", "kind": "encoder-stuck"}], "solver": {"method": "fast"}}
CLOCKS = {"axis_period": "2 ms", "speed_period": "1 ms"}


def machine(**control: Any) -> small.Tree:
    return small.robot({"controller": {**CLOCKS, **control}})


def test_speed_delay_is_one_speed_period(tmp_path: Path) -> None:
    def currents(**control: Any) -> np.ndarray:
        law = PythonLaw(lambda time, _signals: [1.0 + 50.0 * time], 1e-3, "speed")
        found = small.run_case(tmp_path, machine(**control), {**small.rest(0.03), **STUCK}, law)
        return found.signals["motor_A_current_ref_A"]

    at_once, late = currents(), currents(speed_delay=1)
    assert len(set(at_once)) == len(at_once)
    assert np.array_equal(late[1:], at_once[:-1])
    assert late[0] == 0.0


def test_axis_delay_is_one_axis_period(tmp_path: Path) -> None:
    def commands(**control: Any) -> np.ndarray:
        move = {"move": [{"to": {"A": "0.2 rad"}}], **STUCK}
        found = small.run_case(tmp_path, machine(**control), move).signals
        return found["motor_A_speed_command_V"][1::2]  # when axis periods end

    at_once, late = commands(), commands(axis_delay=1)
    assert np.ptp(at_once) > 0.1
    assert np.array_equal(late[1:], at_once[:-1])
    assert late[0] == 0.0


def test_axis_delay_holds_back_what_is_fed_forward(tmp_path: Path) -> None:
    """The acceleration's current, seen behind a speed loop without gains."""
    quiet = {"speed_proportional": "0 A*s/rad", "speed_integral": "0 A/rad"}

    def currents(**control: Any) -> np.ndarray:
        feed = machine(gains={"A": quiet}, feedforward={"acceleration": 1.0}, **control)
        found = small.run_case(tmp_path, feed, {"move": [{"to": {"A": "0.2 rad"}}], **STUCK}).signals
        return found["motor_A_current_ref_A"][1::2]

    at_once, late = currents(), currents(axis_delay=1)
    assert np.ptp(at_once) > 0.1
    assert np.array_equal(late[1:], at_once[:-1])


@pytest.mark.parametrize("feed", [{}, {"gravity": 1.0}, {"torque": 1.0}])
def test_a_robot_that_rests_stays_so_with_every_delay(tmp_path: Path, feed: dict[str, float]) -> None:
    late = {"computation_delay": 1, "speed_delay": 1, "axis_delay": 1, "feedforward": feed}
    flat = small.robot({"controller": late}, axes={"A": small.axis(origin=small.HORIZONTAL)})
    found = small.run_case(tmp_path, flat, {**small.rest(0.1), "solver": {"method": "fast"}}).signals
    assert np.abs(found["joint_A_position_rad"]).max() < 1e-5


@pytest.mark.parametrize(
    "delays", [{}, {"speed_delay": 1}, {"axis_delay": 1}, {"speed_delay": 1, "axis_delay": 1}]
)
def test_the_run_steps_as_the_sampled_axis_that_tune_judges(tmp_path: Path, delays: dict[str, int]) -> None:
    """A small step of the position, the loops of the whole simulator against the maps of ``axis_run``."""
    run = small.prepared(
        tmp_path, machine(**delays), {**small.rest(0.2, every="0.2 ms"), "solver": {"pwm": "averaged"}}
    )
    description, model = run.scenario.description, run.model
    inertia = motor_inertia(model, model.mechanism.q_home, held=True)
    axis, gains = robot_gains(description, inertia)[0]
    _, wanted = axis_run(axis, gains, timing_of(controller_of(description))).step_response("position", 0.2)
    size = 0.5  # rad at the motor
    run.machine.servo.setpoints[:, 0, 0] = size * run.machine.axes["counts_per_rad"][0]
    for name in ("from_counts", "to_counts"):
        run.machine.axes[name] = run.machine.servo.setpoints[0, 0, 0]
    from servotwin.simulation.run import carry_out

    found = carry_out(run, lambda part: None).signals["joint_A_position_rad"] * RATIO / size
    np.testing.assert_allclose(found, wanted[1 : len(found) + 1], atol=2e-4)
    assert wanted.max() > 0.9


@pytest.mark.parametrize(
    ("field", "loop", "period"), [("speed_delay", "speed", 1e-3), ("axis_delay", "position", 1.6e-3)]
)
def test_delay_costs_tune_the_phase_it_should(field: str, loop: str, period: float) -> None:
    """The gain of a delay is one: the crossover stays, the phase there falls by omega T."""
    plain, late = (
        getattr(tune(read_description("gsis-scara", changes)).axes[0].case("design").loops, loop)
        for changes in ({}, {f"controller.{field}": "1"})
    )
    assert late.crossover == pytest.approx(plain.crossover, rel=1e-6)
    assert plain.phase_margin - late.phase_margin == pytest.approx(plain.crossover * period, rel=1e-4)


@pytest.mark.parametrize("field", ["speed_delay", "axis_delay"])
def test_delay_of_more_than_a_sample_is_refused(field: str) -> None:
    with pytest.raises(
        InputError, match=f"controller.{field}: 2 is out of range; expected a whole number from 0 to 1"
    ):
        read_description("gsis-scara", {f"controller.{field}": "2"})


def test_no_voltage_from_before_waits_when_power_comes() -> None:
    """While the drives are off the current loops run into their limit; the winding shall see nothing of that."""
    live = LiveRobot("gsis-scara", {"controller.computation_delay": "1"}, drives=True)
    assert isinstance(live.plant, MachinePlant)
    machine = live.plant.machine
    for _ in range(100):
        live.step()
    assert np.abs(machine.axes["next_a"]).max() == 1.0
    assert live.press(Event.ENABLE)
    for _ in range(2):
        live.step()
    assert not machine.motors["open"].any()
    assert np.abs(machine.motors["i_peak"]).max() < 0.1
