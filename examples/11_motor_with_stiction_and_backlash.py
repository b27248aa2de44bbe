"""One motor with stiction and a gear with play: a slow move starts late and by jerks, a reversal loses the play."""

import tempfile
from pathlib import Path

import numpy as np

import servotwin as st

ROBOT = """\
format: servotwin/1
name: turntable
assumed: numbers of a small drive
axes:
  T:
    type: revolute
    dh: {theta: 0 deg, d: 0 mm, a: 0 mm, alpha: 0 deg}
    limits: {position: [-90 deg, 90 deg], speed: 120 deg/s}
    link: {mass: 3 kg, center: [0 m, 0 m, 0 m], inertia: {gyration: {radius: 150 mm, axes: [z]}}}
    gear: {ratio: 50}
    motor: {kind: dc, torque_constant: 0.06 N*m/A, resistance: 1 ohm, inductance: 0.5 mH,
            rotor_inertia: 3e-5 kg*m^2, viscous_friction: 2e-5 N*m*s/rad, rated_torque: 0.2 N*m}
    encoder: {lines: 1000}
power: {bus_voltage: 48 V}
controller: {main_period: 16 ms, axis_period: 1.6 ms, speed_period: 1 ms, current_period: 0.2 ms,
             position_bandwidth: 20 1/s, speed_bandwidth: 100 rad/s, current_bandwidth: 1200 rad/s}
gravity: 9.81 m/s^2
"""
SCENARIO = """\
format: servotwin-scenario/1
name: out-and-back
robot: turntable.yaml
move:
  - {to: {T: 2 deg}, speed: 1 %, dwell: 0.2 s}
  - {to: {T: 0 deg}, speed: 1 %, dwell: 0.2 s}
"""
STICTION = {"coulomb_friction": "0.02 N*m", "static_friction": "0.04 N*m", "stribeck_speed": "2 rad/s"}
PLAY = {"stiffness": "2000 N*m/rad", "damping": "2 N*m*s/rad", "backlash": "0.1 deg"}
cases = {
    "ideal": {},
    "stiction": {f"set.axes.T.motor.{field}": value for field, value in STICTION.items()},
    "play": {f"set.axes.T.gear.{field}": value for field, value in PLAY.items()},
}
cases["both"] = cases["stiction"] | cases["play"]

with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "turntable.yaml").write_text(ROBOT, encoding="utf-8")
    path = Path(folder) / "out-and-back.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    for name, changes in cases.items():
        run = st.simulate(path, changes)
        t, q = run.signals["time_s"], np.degrees(run.signals["joint_T_position_rad"])
        stuck = 100 * np.mean(run.signals["motor_T_saturation"] & 16 > 0)
        energy = run.summary["energy"]
        print(
            f"{name:9} moves from {1e3 * t[np.argmax(q > 1e-3)]:4.0f} ms, ends {1e3 * q[-1]:6.1f} mdeg off, "
            f"stuck at times in {stuck:3.0f} % of the samples, balance {abs(energy['balance_error_relative']):.0e}"
        )
