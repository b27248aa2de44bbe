"""Loads of the palletizer's closed linkage against MuJoCo's inverse dynamics of the opened tree.

MuJoCo computes the torques of all joints of the tree along the motion that the loops allow; virtual work along that
motion, xd = J_x qd, brings them to the actuators. No constraint force enters: the tolerance is that of two engines.
"""

from __future__ import annotations

import mujoco
import numpy as np

from benchmarks.mujoco_model import to_spec
from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.design.sizing.duty import Duty
from servotwin.design.sizing.load import load_of, output_map
from servotwin.robot.load import load_robot
from tests.crosscheck.test_closed_mujoco import with_extent
from tests.sizing_choices import job_duty

SAME = 1e-8  # relative


def inverse_of_the_tree(robot, x, xd, xdd) -> np.ndarray:
    """MuJoCo's torques (k, n_x) of all coordinates of the opened tree."""
    model = to_spec(robot.mechanism)[0].compile()
    data = mujoco.MjData(model)
    places = np.array([int(model.joint(name).dofadr[0]) for name in robot.coordinate_names])
    out = []
    for k in range(len(x)):
        data.qpos[places], data.qvel[places], data.qacc[places] = x[k], xd[k], xdd[k]
        mujoco.mj_inverse(model, data)
        out.append(data.qfrc_inverse[places].copy())
    return np.array(out)


def test_torques_of_the_closed_linkage_are_those_of_mujoco():
    robot = with_extent(load_robot("palletizer-4-loops", {"variables.load": "20 kg"}), 0.1)
    drives = drives_of(read_description("palletizer-4-loops"))
    whole = job_duty("palletizer-line")
    duty = Duty("line", *(part[::60] for part in (whole.t, whole.q, whole.qd, whole.qdd)))
    found = load_of(robot, drives, duty).arm.torque
    x, xd, xdd = robot.full_motion(duty.q, duty.qd, duty.qdd)
    tree = inverse_of_the_tree(robot, x, xd, xdd)
    columns = [
        robot.full_motion(duty.q, np.broadcast_to(e, duty.q.shape), 0.0 * duty.q)[1] for e in np.eye(robot.n)
    ]
    joints = np.stack([np.sum(tree * column, axis=1) for column in columns], axis=1)
    want = joints @ np.linalg.inv(output_map(robot, drives))
    assert np.abs(found - want).max() < SAME * np.abs(want).max()
