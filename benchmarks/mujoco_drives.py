"""A robot with its rotors in MuJoCo, driven by torques that are constant over every sample period."""

from __future__ import annotations

import mujoco
import numpy as np

from benchmarks.mujoco_model import SMALLEST, joint_order, to_mujoco
from servotwin.mechanism.model import Mechanism
from servotwin.mechanism.spatial import mass_center_inertia
from servotwin.robot.robot import Robot

# MuJoCo refuses bodies without extent. In a robot whose joints all turn about parallel axes z the moments
# about x and y do no work, so they may grow; the one about z gets the least that MuJoCo takes where it is zero.
TRANSVERSE = 1e-6  # kg m2
AXIAL = 10 * SMALLEST  # kg m2


def with_extent(mechanism: Mechanism) -> Mechanism:
    """The mechanism with bodies that MuJoCo takes; for robots whose joint axes are all parallel to z."""
    if not np.allclose(np.abs(mechanism.X_tree[:, 2, 2]), 1.0):
        raise ValueError("every joint axis must be parallel to the one before")
    phi = mechanism.phi.copy()
    phi[:, 4] += TRANSVERSE
    phi[:, 6] += TRANSVERSE
    for body in phi:
        _, _, inertia = mass_center_inertia(body)
        body[9] += AXIAL if inertia[2, 2] < SMALLEST else 0.0
    return mechanism.with_(phi=phi)


def with_rotors(robot: Robot, *, viscous: bool = False) -> mujoco.MjModel:
    """The robot with the reflected inertia of its rotors, N^T J_m N, as MuJoCo's ``armature``.

    ``viscous`` adds the friction of the motors, N^T f_m N, as MuJoCo's ``damping``: then torques are those
    in the air gap, without it those after friction.
    """
    mechanism, rotors = robot.mechanism, robot.mechanism.rotors
    if mechanism.coupled or rotors is None:
        raise ValueError("expected a robot with motors whose joints all move independently")
    model = to_mujoco(with_extent(mechanism))
    order = joint_order(model, mechanism)
    model.dof_armature[order] = _diagonal(rotors.N, rotors.J_m)
    if viscous:
        model.dof_damping[order] = _diagonal(rotors.N, rotors.f_m)
    # Constants that MuJoCo derives from the armature.
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _diagonal(N: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Diagonal of N^T diag(weights) N, which MuJoCo can hold only if there is nothing beside it."""
    reflected = N.T @ (weights[:, None] * N)
    diagonal = np.diag(reflected).copy()
    if np.any(reflected != np.diag(diagonal)):
        raise ValueError("a motor moves several joints; MuJoCo's armature is per joint")
    return diagonal


def mujoco_motion(
    robot: Robot,
    tau: np.ndarray,
    *,
    q0: np.ndarray | None = None,
    qd0: np.ndarray | None = None,
    period: float = 2e-4,
    substeps: int = 4,
    viscous: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Motion (q, qd), each (k + 1, n), under joint torques ``tau`` (k, n) held over each ``period`` [s].

    Row j is the state at time ``j * period``; row 0 is ``q0`` (home unless given) and ``qd0`` (rest).
    MuJoCo takes ``substeps`` Runge-Kutta steps of fourth order within a period.
    """
    tau = np.atleast_2d(np.asarray(tau, dtype=float))
    model = with_rotors(robot, viscous=viscous)
    model.opt.timestep = period / substeps
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    order = joint_order(model, robot.mechanism)
    q, qd = np.empty((2, len(tau) + 1, robot.n))
    q[0] = robot.q_home if q0 is None else q0
    qd[0] = 0.0 if qd0 is None else qd0
    data.qpos[order], data.qvel[order] = q[0], qd[0]
    for j, torque in enumerate(tau):
        data.qfrc_applied[order] = torque
        mujoco.mj_step(model, data, nstep=substeps)
        q[j + 1], qd[j + 1] = data.qpos[order], data.qvel[order]
    return q, qd
