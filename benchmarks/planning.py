"""Planning: joint moves beside ruckig, time-optimal motion beside toppra on the same path, a job of 200 moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import servotwin as st
from benchmarks.timing import Row, best_of
from servotwin.motion.limits import MotionLimits, limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, MoveL, Request, Speed
from servotwin.motion.time_optimal import path_through, time_optimal

JOB = 200  # instructions
JOB_S = 1.0  # s; a job is planned in well under this time


def planning() -> list[Row]:
    """All rows."""
    return [joint_move(), *time_optimal_motion(), job()]


def joint_move() -> Row:
    """One synchronised jerk-limited move of the PUMA 560, from request to trajectory."""
    import ruckig

    robot = st.load_robot("puma560")
    limits = limits_of(robot)
    jerk = 2.0 * limits.acceleration**2 / limits.speed
    limits = replace(limits, jerk=jerk)
    start, target = robot.q_home, robot.q_home + np.array([0.8, -0.5, 0.6, 0.3, -0.4, 0.9])
    request = MoveJ(target, profile="s-curve")
    otg, out = ruckig.Ruckig(6), ruckig.Trajectory(6)

    def peer() -> float:
        given = ruckig.InputParameter(6)
        given.current_position, given.target_position = start.tolist(), target.tolist()
        given.max_velocity, given.max_acceleration = limits.speed.tolist(), limits.acceleration.tolist()
        given.max_jerk = jerk.tolist()
        given.synchronization = ruckig.Synchronization.Phase
        otg.calculate(given, out)
        return float(out.duration)

    def ours() -> float:
        return plan(robot, start, [request], limits).duration

    # Both move on the straight line in joint space in the same, shortest time.
    np.testing.assert_allclose(ours(), peer(), rtol=1e-6)
    times = best_of({"ours": ours, "peer": peer}, calls=200)
    return Row(
        "MOVEJ of 6 axes, S-curve, planned",
        times["ours"],
        "ruckig (C++)",
        times["peer"],
        0.02,
        "ours in Python",
    )


def time_optimal_motion() -> list[Row]:
    """Five waypoints of the PUMA 560 under torque and speed limits, 200 intervals; durations agree."""
    robot = st.load_robot("puma560")
    limits = replace(limits_of(robot, torque=True), acceleration=np.full(6, np.inf))
    points = robot.q_home + 0.6 * np.random.default_rng(3).uniform(-1, 1, (5, 6))
    grid = path_through(points).s
    solve = _toppra(robot, points, grid, limits)
    duration = time_optimal(robot, points, limits).duration
    # toppra asks for the speeds at the points of the grid only and exceeds them by up to 0.5 % in between.
    np.testing.assert_allclose(duration, solve(), rtol=5e-3)
    times = best_of({"ours": lambda: time_optimal(robot, points, limits), "peer": solve}, calls=3)
    what = f"time-optimal under torques, Puma 560, {grid.size - 1} intervals"
    return [Row(what, times["ours"], "toppra (seidel)", times["peer"], 1.5)]


def _toppra(robot: st.Robot, points: np.ndarray, grid: np.ndarray, limits: MotionLimits) -> Any:
    import toppra
    from toppra import algorithm, constraint

    toppra.setup_logging("ERROR")
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    knots = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()

    def torques(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return robot.rne(q, qd, qdd, drives=True)

    def solve() -> float:
        path = toppra.SplineInterpolator(knots, points, bc_type="natural")
        torque = constraint.JointTorqueConstraint(
            torques,
            np.stack([-limits.torque, limits.torque], axis=1),
            np.zeros(6),
            discretization_scheme=constraint.DiscretizationType.Interpolation,
        )
        speed = constraint.JointVelocityConstraint(np.stack([-limits.speed, limits.speed], axis=1))
        instance = algorithm.TOPPRA([torque, speed], path, gridpoints=grid, solver_wrapper="seidel")
        _, sd, _ = instance.compute_parameterization(0.0, 0.0)
        return float(np.sum(2.0 * np.diff(grid) / (sd[1:] + sd[:-1])))

    return solve


def job() -> Row:
    """200 instructions for the GSIS SCARA, three lines to one joint move, every second corner rounded."""
    robot = st.load_robot("gsis-scara")
    limits = limits_of(robot)
    rng = np.random.default_rng(0)
    start = np.array([0.3, 0.8, 0.05, 0.2])
    requests: list[Request] = []
    for k in range(JOB):
        q = start + np.array([0.4, 0.4, 0.04, 0.5]) * rng.uniform(-1, 1, 4)
        blend = 0.005 if k % 2 else 0.0
        if k % 4 == 0:
            requests.append(MoveJ(q, Speed("fraction", 0.5), blend=blend))
        else:
            requests.append(MoveL(robot.fkine(q), Speed("fraction", 0.8), blend=blend))
    times = best_of({"ours": lambda: plan(robot, start, requests, limits)}, calls=1, rounds=5)
    return Row(f"job of {JOB} instructions planned and checked", times["ours"], "one second", JOB_S, 1.5)
