"""Drives described by data sheets run as their sheets say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import servotwin as st

ROBOT = """\
format: servotwin/1
name: sheet-arm
gravity: 0 m/s^2
axes:
  A:
    dh: {a: 300 mm}
    limits: {position: [-170 deg, 170 deg], speed: 120 deg/s, acceleration: 600 deg/s^2}
    link: {mass: 5 kg, center: [-150 mm, 0 mm, 0 mm]}
    gear: {datasheet: {include: "generic-gears.yaml#gears.gsw-20-100"}}
    motor:
      datasheet:
        include: "generic-motors.yaml#motors.gm-400-3000-low-280"
        viscous_friction: 0 N*m*s/rad
        coulomb_friction: 0 N*m
    encoder: {bits: 20}
power: {bus_voltage: 280 V}
controller:
  {main_period: 4 ms, axis_period: 1 ms, speed_period: 0.5 ms, current_period: 0.125 ms, position_bandwidth: 30 1/s,
   speed_bandwidth: 150 rad/s, current_bandwidth: 2000 rad/s}
"""
SCENARIO = """\
format: servotwin-scenario/1
name: sheet-run
robot: arm.yaml
start: {A: -150 deg}
move:
  - to: {A: 150 deg}
"""


def test_drive_of_data_sheets_takes_the_no_load_torque_of_its_gear_at_constant_speed(tmp_path: Path) -> None:
    """At 2000 rpm the sheet prints 70 mN m at the input; nothing else brakes, so the current is that over K_t."""
    (tmp_path / "arm.yaml").write_text(ROBOT, encoding="utf-8")
    (tmp_path / "run.yaml").write_text(SCENARIO, encoding="utf-8")
    result = st.simulate(tmp_path / "run.yaml")
    signals = result.signals
    time, current = np.asarray(signals["time_s"]), np.asarray(signals["motor_A_current_A"])
    speed = np.asarray(signals["motor_A_speed_rad_per_s"])
    steady = (time > 0.45 * time[-1]) & (time < 0.55 * time[-1])
    assert speed[steady].mean() == pytest.approx(2000.0 * math.pi / 30.0, rel=1e-3)
    # amplitude of the current; the ripple in a lossy gear adds a percent
    assert current[steady].mean() == pytest.approx(0.070 / (0.595 / math.sqrt(2.0)), rel=0.02)
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-5
