"""MuJoCo closes the same loops with equality constraints and gives the same accelerations and cut forces.

Tolerance: MuJoCo's constraints are soft. Its impedance is at most 0.9999 (mjMAXIMP), so a part of about 1e-4 of
the accelerations that the opened tree would have under the same torques is left; ten times that is allowed.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import servotwin as st
from benchmarks.mujoco_model import expressible, to_spec
from servotwin.mechanism.model import CutKind, Mechanism
from tests.closed_robots import closed_robot, free_plate, states
from tests.validation.test_delta import MOTIONS

SOFT = 1e-3
STIFF = {"solref": [-1e8, -1e4], "solimp": [0.9999, 0.9999, 1e-3, 0.5, 2.0]}
EXTENT = np.array(
    [1.0, 0, 0, 0, 1e-2, 0, 1e-2, 0, 0, 1e-2]
)  # a small ball: MuJoCo refuses bodies without extent


def with_extent(robot: st.Robot, part: float) -> st.Robot:
    """The robot itself if MuJoCo accepts its bodies, else with a small ball in each of them."""
    mechanism = robot.mechanism
    if expressible(mechanism):
        return robot
    return st.Robot(mechanism.with_(phi=mechanism.phi + part * EXTENT))


def to_mujoco(mechanism: Mechanism) -> mujoco.MjModel:
    """The opened tree with a 'connect' constraint between the frames of every cut.

    That is 3 equations, which is all a spherical cut has and all that matters of a revolute one in a plane.
    """
    spec, bodies = to_spec(mechanism)
    for loop in mechanism.loops:
        assert loop.kind is not CutKind.PRISMATIC
        for name in (loop.frame_a, loop.frame_b):
            frame = mechanism.frame(name)
            body = spec.worldbody if frame.body < 0 else bodies[frame.body]
            body.add_site(name=name, pos=frame.X_body_frame[:3, 3])
        made = spec.add_equality(
            name=loop.name, type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=loop.frame_a, name2=loop.frame_b,
        )  # fmt: skip
        made.solref[:2], made.solimp[:5] = STIFF["solref"], STIFF["solimp"]
    return spec.compile()


def forward(robot: st.Robot, x, xd, tau) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's accelerations of all coordinates and its constraint forces (n_loops, 3)."""
    model = to_mujoco(robot.mechanism)
    data = mujoco.MjData(model)
    places = np.array([int(model.joint(name).dofadr[0]) for name in robot.coordinate_names])
    data.qpos[places], data.qvel[places] = x, xd
    data.qfrc_applied[places[: robot.n]] = tau
    mujoco.mj_forward(model, data)
    return data.qacc[places], data.efc_force.reshape(-1, 3)


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "delta-free-plate", "stewart"])
def test_mujoco_agrees_on_accelerations_and_on_size_and_sign_of_the_cut_forces(name):
    robot = with_extent(closed_robot(name), 0.1)
    q, qd, qdd = states(name, 4)
    x, xd, xdd = robot.full_motion(q, qd, qdd)
    tau, cuts = robot.rne(q, qd, qdd), robot.constraint_forces(q, qd, qdd)
    for k in range(len(q)):
        acceleration, forces = forward(robot, x[k], xd[k], tau[k])
        assert np.abs(acceleration - xdd[k]).max() < SOFT * opened(robot, x[k], xd[k], tau[k])
        want = np.array([cuts[loop.name][k, :3] for loop in robot.mechanism.loops])
        assert np.abs(forces - want).max() < SOFT * np.abs(want).max()


def opened(robot: st.Robot, x, xd, tau) -> float:
    """The largest acceleration of the opened tree."""
    efforts = np.append(tau, np.zeros(len(x) - len(tau)))
    return float(np.abs(robot._engine.tree.accel(x, xd, efforts, False)).max())


@pytest.mark.parametrize("motion", MOTIONS)
def test_mujoco_moves_the_delta_through_the_motions_of_the_paper(motion):
    """With arms and forearms that have mass: without, the opened tree would have no finite acceleration."""
    robot = with_extent(free_plate(heavy=True), 0.1)
    plan, end = MOTIONS[motion]
    for t in np.linspace(0.0, end, 6):
        q, qd, qdd = plan(t)
        x, xd, xdd = robot.full_motion(q, qd, qdd)
        tau = robot.rne(q, qd, qdd)
        acceleration, _ = forward(robot, x, xd, tau)
        assert np.abs(acceleration - xdd).max() < SOFT * opened(robot, x, xd, tau)
