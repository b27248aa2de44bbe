"""Planning: joint moves beside ruckig, time-optimal motion beside toppra on the same path, a whole job."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import servotwin as st
from benchmarks.against_rows import MOVES, START, job_texts
from benchmarks.timing import EFFORT, Row, best_of
from servotwin.control.main.exchange import EndTask, MotionTask
from servotwin.description.load import read_description
from servotwin.jobs.language import parse
from servotwin.jobs.player import Player
from servotwin.jobs.points_file import parse_points
from servotwin.jobs.program import Program
from servotwin.motion.limits import MotionLimits, limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ
from servotwin.motion.time_optimal import path_through, time_optimal
from servotwin.simulation.job_run import run_job

JOB_S = 0.5  # s; a job is planned in at most this time


def planning() -> list[Row]:
    """All rows."""
    return [joint_move(), *time_optimal_motion(), *optimal_motion(), job(), *job_beside_simulation()]


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

    given = ruckig.InputParameter(6)
    given.current_position, given.target_position = start.tolist(), target.tolist()
    given.max_velocity, given.max_acceleration = limits.speed.tolist(), limits.acceleration.tolist()
    given.max_jerk = jerk.tolist()
    given.synchronization = ruckig.Synchronization.Phase

    def peer() -> float:
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
        0.1,
        "calculate() of C++; ours makes a trajectory object",
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


def optimal_motion() -> list[Row]:
    """The GSIS SCARA between two points within currents and voltages: beside CasADi, and beside the best S-curve."""
    from benchmarks.casadi_oracle import solve_with_casadi
    from benchmarks.optimal_campaign import program_of
    from servotwin.motion.optimal.drive_model import drive_model
    from servotwin.motion.optimal.guess import best_s_curve
    from servotwin.motion.optimal.task import Task

    goal = np.array([1.2, -1.0, 0.1, 1.5])
    start = np.array([-1.0, 1.4, 0.0, 0.0])
    robot, program, guess = program_of("gsis-scara", start, goal, Task())
    theirs = float(solve_with_casadi(robot, program).x[program.T_index]) * guess.T
    duration = st.optimise_motion("gsis-scara", start, goal).duration
    # ours looks between the nodes too and refines the mesh there: 1.8e-5 of the duration here
    np.testing.assert_allclose(duration, theirs, rtol=1e-4)
    times = best_of(
        {
            "ours": lambda: st.optimise_motion("gsis-scara", start, goal),
            "peer": lambda: solve_with_casadi(robot, program),
        },
        calls=1,
        rounds=5,
    )
    description = read_description("gsis-scara")
    limits, drives = limits_of(robot, description), drive_model(robot, description)
    s_curve = best_s_curve(robot, drives, limits, (start, goal), Task())
    what = "optimal motion of the GSIS SCARA, 100 intervals"
    return [
        Row(
            what,
            times["ours"],
            "CasADi SX + IPOPT",
            times["peer"],
            5.0,
            "same graph, same solver; ours also keeps the limits between nodes",
        ),
        Row(
            "duration of that motion",
            duration,
            "best S-curve",
            s_curve,
            1.05,
            "currents, voltages, speeds alike",
        ),
    ]


def job() -> Row:
    """200 moves for the GSIS SCARA, from the text of job and points to planned and checked trajectories.

    Three lines to one joint move, every second corner rounded, all limits of the robot file in force.
    """
    description, robot = read_description("gsis-scara"), st.load_robot("gsis-scara")
    limits = limits_of(robot, description)
    text, taught = job_texts(robot)
    sliding = [description.axes[name].prismatic for name in robot.joint_names]

    def ours() -> int:
        program = Program(parse(text), parse_points(taught))
        if any(problem.error for problem in program.check(robot.joint_names, None, sliding)):
            raise ValueError("the job of the benchmark has problems")
        player = Player(program, robot, limits)
        q = np.array(START)
        while not isinstance(task := player.next(q, {}, single=False, timed_out=False), EndTask):
            if not isinstance(task, MotionTask):
                raise TypeError(f"a move of the benchmark cannot be planned: {task}")
            last = task.trajectory.segments[-1]
            q = last.sample(np.array([last.duration]))[0][0]
        return sum(len(planned.moves) for planned in player.plans)

    if ours() != MOVES:
        raise ValueError("not all moves of the benchmark were planned")
    times = best_of({"ours": ours}, calls=1, rounds=5)
    what = f"job of {MOVES} moves: read, checked, interpreted, planned"
    return Row(what, times["ours"], "half a second", JOB_S, 1.0)


def job_beside_simulation() -> list[Row]:
    """Wall time per simulated second of a job beside that of a scenario: the compiled loop is the limit.

    The job is measured without and with the planning of its motions.
    """
    times = {"scenario": math.inf, "job": math.inf, "planned": math.inf}
    for _ in range(EFFORT.rounds(5)):
        scenario = st.simulate("scara-full-range").summary
        ran = run_job("scara-palletising").result.summary
        walls = {"scenario": scenario["wall_s"] / scenario["simulated_s"]}
        walls["job"] = ran["wall_s"] / ran["simulated_s"]
        walls["planned"] = (ran["wall_s"] + ran["planning_s"]) / ran["simulated_s"]
        times = {name: min(times[name], wall) for name, wall in walls.items()}
    what, limit = "job run scara-palletising, 1 s simulated", "simulate scara-full-range"
    return [
        Row(what, times["job"], limit, times["scenario"], 0.8, "limit 1: all in the compiled loop"),
        Row(f"{what}, planning counted", times["planned"], limit, times["scenario"], 0.5),
    ]
