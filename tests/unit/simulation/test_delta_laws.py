"""Torque feed-forward and computed torque of a DELTA: the catalogue has it without drives, these are of this test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.simulation.run import prepare
from servotwin.simulation.scenario.scenario import read_scenario

AXIS = """
  {name}:
    limits: {{position: [-30 deg, 60 deg], speed: 200 deg/s}}
    gear: {{ratio: 100}}
    encoder: {{bits: 20}}
    motor:
      kind: pmsm
      rotor_inertia: 3.7e-4 kg*m^2
      torque_constant: 0.45 N*m/A
      resistance: 0.35 ohm
      inductance: 3 mH
      pole_pairs: 4
      viscous_friction: 4e-4 N*m*s/rad
      coulomb_friction: 0.05 N*m
      current_limit: 42 A
      rated_output: 2 kW
      rated_speed: 3000 rpm
      max_speed: 4998 rpm
      rated_torque: 6.37 N*m
      peak_torque: 19.1 N*m
"""
ROBOT = """
format: servotwin/1
extends: delta
name: delta-driven
power: {{bus_voltage: 310 V}}
controller:
  main_period: 1 ms
  axis_period: 0.25 ms
  speed_period: 0.25 ms
  current_period: 62.5 us
  position_bandwidth: 40 1/s
  speed_bandwidth: 250 rad/s
  current_bandwidth: 3000 rad/s
  command_bits: 0
axes:{axes}
"""
MOVE = """
format: servotwin-scenario/1
name: delta-move
robot: delta-driven.yaml
start: {arm1: 0 deg, arm2: 0 deg, arm3: 0 deg}
move:
  - {to: {arm1: 25 deg, arm2: 10 deg, arm3: -5 deg}, speed: 50 %, ramp: 0.2 s, dwell: 0.2 s, profile: trapezoid}
record: {every: 1 ms}
"""
FEED = {"set.controller.feedforward.velocity": "100 %", "set.controller.feedforward.torque": "100 %"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("delta")
    axes = "".join(AXIS.format(name=f"arm{k}") for k in (1, 2, 3))
    (folder / "delta-driven.yaml").write_text(ROBOT.format(axes=axes))
    (folder / "move.yaml").write_text(MOVE)
    return folder / "move.yaml"


def test_fed_forward_current_is_the_inverse_dynamics_of_three_loops(place: Path) -> None:
    run = prepare(read_scenario(place, FEED))
    machine, model = run.machine, run.model
    machine.reserve(run.duration_ns)
    machine.advance(250_000_000)
    axes, back = machine.axes, machine.inverse
    q = back @ (axes["counts_ref"] / axes["counts_per_rad"])
    tau = back.T @ model.rne(q, back @ axes["w_path"], back @ axes["a_path"], drives=True)
    expected = (tau + axes["f_hat"] * axes["w_path"]) / axes["K_hat"]
    np.testing.assert_allclose(axes["i_feedforward"], expected, rtol=1e-9, atol=1e-9)


def test_laws_of_the_model_keep_a_delta_on_its_way(place: Path) -> None:
    """The plant is integrated in all coordinates, with a kernel of its own."""
    lag = st.simulate(place).summary["tip_error_max_m"]
    fed = st.simulate(place, FEED).summary["tip_error_max_m"]
    computed = st.simulate(place, {"set.controller.law": "computed-torque"}).summary["tip_error_max_m"]
    assert lag > 0.03  # a speed over the position bandwidth
    assert fed < lag / 400
    assert computed < lag / 50  # what dry friction leaves of it without an integrator
