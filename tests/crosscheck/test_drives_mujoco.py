"""Arm and rotors of a simulation against MuJoCo under the same torques."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.mujoco_drives import mujoco_motion
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.simulation.results.result import joint_signal
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.scenario import read_scenario

SCENARIO = """\
format: servotwin-scenario/1
name: torques
robot: gsis-scara
set:
  variables.load: 4 kg
  axes.A.motor.kind: ideal
  axes.B.motor.kind: ideal
  axes.Z.motor.kind: ideal
  axes.W.motor.kind: ideal
start: {A: 20 deg, B: 30 deg, Z: 75 mm, W: 0 deg}
move: [{to: {A: 20 deg}, dwell: 1 s}]
record: {every: 0.2 ms}
"""


def torques(time: float) -> np.ndarray:
    """Motor torques [N m] that move every axis to and fro, the quill held against its weight."""
    size = np.array([0.5, 0.25, 0.05, 0.003])
    rate = np.array([7.0, 9.0, 11.0, 13.0])
    hold = np.array([0.0, 0.0, -(0.3 + 0.97 + 4.0) * 9.80665 / 785.4, 0.0])
    return size * np.cos(rate * time) + hold


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_integrated_model_moves_like_mujoco_for_a_second(tmp_path: Path, method: str) -> None:
    """Both integrate smooth equations with steps of 0.05 to 0.2 ms; what is left is 1e-6 of the motion.

    MuJoCo wants bodies with extent, and gets 1e-6 kg m2 that do no work and 1e-14 that hardly do.
    """
    path = tmp_path / "torques.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    law = PythonLaw(lambda time, _signals: torques(time) / K, 2e-4, "current")
    run = prepare(read_scenario(path, {"solver.method": method}), law)
    K = run.machine.motors["K"].copy()
    result = carry_out(run, lambda part: None)
    N, start = run.plant.mechanism.rotors.N, np.array([run.scenario.start[name] for name in result.joints])
    joint_torques = np.array([N.T @ torques(2e-4 * k) for k in range(5000)])
    q, _ = mujoco_motion(run.plant, joint_torques, q0=start, viscous=True)
    kinds = zip(result.joints, result.prismatic, strict=True)
    names = [joint_signal(name, "position", prismatic=slides) for name, slides in kinds]
    found = np.stack([result.signals[name] for name in names], axis=1)
    moved = np.ptp(found, axis=0)
    assert np.all(moved > [0.3, 0.5, 0.01, 0.1])
    np.testing.assert_allclose(found / moved, q[1 : len(found) + 1] / moved, atol=2e-6)
