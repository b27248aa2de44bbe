"""Seeded problems between two points: solved or refused, against CasADi, and played on the averaged plant.

``python -m benchmarks.optimal_campaign [problems] [problems that CasADi solves too] [FILE.json]`` (``make optimal``).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

import servotwin as st
from servotwin.description.load import read_description
from servotwin.errors import ServotwinError
from servotwin.motion.limits import limits_of
from servotwin.motion.optimal.between_nodes import smooth_sign
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.guess import straight_guess
from servotwin.motion.optimal.optimise import optimise_motion
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import SMOOTH, mesh_of, power_scale, transcribe

ROBOTS = ("gsis-scara", "palletizer-4", "puma560")
SEED = 20261117
BANDWIDTH = 40.0  # rad/s, of the servo loop that plays a motion


def problems(count: int):  # type: ignore[no-untyped-def]
    """Robot, start and goal of every problem, the robots in turn."""
    rng = np.random.default_rng(SEED)
    robots = [st.load_robot(name) for name in ROBOTS]
    for k in range(count):
        robot = robots[k % len(robots)]
        yield k, ROBOTS[k % len(robots)], robot.random_q(rng), robot.random_q(rng)


def played(name: str, motion: st.OptimalMotion) -> dict[str, float]:
    """The motion on arm and motors, integrated by SciPy: how far the goal is missed, shares of the limits.

    The drives give the currents that the planned motion needs at every instant, and those of a servo loop about it
    (BANDWIDTH); friction changes its sign as smoothly as in the program; voltages are means over the steps of the mesh.
    """
    robot, description = st.load_robot(name), read_description(name, {})
    drives, limits = drive_model(robot, description), limits_of(robot, description)
    n, t = robot.n, motion.t
    eps = SMOOTH * (np.abs(drives.N) @ limits.speed)

    def currents(clock: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        q_ref, qd_ref, qdd_ref = (x[0] for x in motion.sample(clock))
        w = drives.N @ qd_ref
        friction = drives.viscous * w + drives.coulomb * smooth_sign(w, eps)
        torque = drives.N_inverse.T @ robot.rne(q_ref, qd_ref, qdd_ref, drives=True) + friction
        planned = torque / drives.K
        wanted = BANDWIDTH**2 * (q_ref - q) + 2.0 * BANDWIDTH * (qd_ref - qd)
        return planned + drives.N_inverse.T @ (robot.inertia(q, drives=True) @ wanted) / drives.K

    def rate(clock: float, y: np.ndarray) -> np.ndarray:
        q, qd = y[:n], y[n:]
        i = currents(clock, q, qd)
        w = drives.N @ qd
        torque = drives.K * i - drives.viscous * w - drives.coulomb * smooth_sign(w, eps)
        return np.concatenate([qd, robot.accel(q, qd, drives.N.T @ torque, drives=True)])

    y0 = np.concatenate([motion.q[0], motion.qd[0]])
    fine = np.unique(
        np.concatenate([t + part * np.append(np.diff(t), 0.0) for part in (0.0, 0.25, 0.5, 0.75)])
    )
    run = solve_ivp(
        rate, (0.0, t[-1]), y0, t_eval=fine, rtol=1e-8, atol=1e-10, max_step=float(np.diff(t).max())
    )
    q, qd = run.y[:n].T, run.y[n:].T
    i = np.array([currents(*state) for state in zip(run.t, q, qd, strict=True)])
    at_nodes = np.stack([np.interp(t, run.t, column) for column in i.T], axis=1)
    slope = np.diff(at_nodes, axis=0) / np.diff(t)[:, None]
    mean = 0.5 * (at_nodes[1:] + at_nodes[:-1])
    middle = 0.5 * (t[1:] + t[:-1])
    w = np.stack([np.interp(middle, run.t, column) for column in (qd @ drives.N.T).T], axis=1)
    hot = (
        np.nan_to_num(np.nanmean(motion.winding, axis=0) - drives.ambient)
        if np.isfinite(motion.winding).any()
        else 0.0
    )
    R = drives.R * (1.0 + drives.alpha * hot) + drives.R_bridge
    u = np.hypot(R * mean + drives.K_b * w + drives.L * slope, drives.reactance * w * mean)
    heat = (
        np.nanmax((motion.winding - drives.ambient) / drives.rise)
        if np.isfinite(motion.winding).any()
        else 0.0
    )
    return {
        "miss_rad": float(np.abs(q[-1] - motion.q[-1]).max()),
        "current": float((np.abs(i) / drives.current).max()),
        "voltage": float((u / drives.voltage).max()),
        "speed": float((np.abs(qd) / limits.speed).max()),
        "temperature": float(heat),
    }


def thermal(name: str) -> bool:
    """Whether the motors of a robot have temperatures to keep."""
    return bool(drive_model(st.load_robot(name), read_description(name, {})).heated.any())


def program_of(name: str, start: np.ndarray, goal: np.ndarray, task: Task):  # type: ignore[no-untyped-def]
    """The robot, its program and the guess behind it."""
    robot, description = st.load_robot(name), read_description(name, {})
    limits, drives = limits_of(robot, description), drive_model(robot, description)
    mesh = mesh_of(task.intervals, bool(drives.hold.any()))
    guess = straight_guess(robot, drives, limits, (start, goal), mesh, None, power_scale(task))
    return robot, transcribe(robot, drives, limits, task, guess, (start, goal)), guess


def compared(name: str, start: np.ndarray, goal: np.ndarray) -> dict[str, float]:
    """CasADi on the same program: its time [s] for everything, and its duration."""
    from benchmarks.casadi_oracle import solve_with_casadi

    robot, program, guess = program_of(name, start, goal, Task(temperature=thermal(name)))
    answer = solve_with_casadi(robot, program)
    return {
        "casadi_T": float(answer.x[program.T_index]) * guess.T,
        "casadi_s": answer.build_s + answer.solve_s,
        "casadi_build_s": answer.build_s,
        "casadi_iterations": answer.iterations,
        "casadi_solved": float(answer.status in ("Solve_Succeeded", "Solved_To_Acceptable_Level")),
    }


def main(count: int, with_casadi: int, out: str | None) -> None:
    """Run the campaign and print what came out."""
    rows = []
    for k, name, start, goal in problems(count):
        row: dict[str, object] = {"problem": k, "robot": name}
        began = time.perf_counter()
        try:
            motion = optimise_motion(name, start, goal, temperature=thermal(name))
        except ServotwinError as error:
            row |= {"refused": str(error), "seconds": time.perf_counter() - began}
        else:
            row |= {"T": motion.duration, "seconds": motion.seconds, "iterations": motion.iterations}
            row |= {"model_error": motion.model_error, **played(name, motion)}
            if k < with_casadi:
                row |= compared(name, start, goal)
        rows.append(row)
        print(json.dumps(row), flush=True)
    summary(rows)
    if out:
        Path(out).write_text(json.dumps(rows, indent=1), encoding="utf-8")


def summary(rows: list[dict]) -> None:  # type: ignore[type-arg]
    """Counts, medians and extremes."""
    good = [row for row in rows if "T" in row]
    print(f"{len(good)} of {len(rows)} solved")
    for name in ROBOTS:
        mine = [row for row in good if row["robot"] == name]
        if not mine:
            continue
        worst = {key: max(row[key] for row in mine) for key in ("current", "voltage", "speed", "temperature")}
        print(
            f"{name}: {len(mine)} solved, median {np.median([r['seconds'] for r in mine]):.3f} s, "
            f"{np.median([r['iterations'] for r in mine]):.0f} iterations; largest shares {worst}"
        )
        both = [row for row in mine if row.get("casadi_solved")]
        if both:
            off = max(abs(row["T"] / row["casadi_T"] - 1.0) for row in both)
            ratio = np.median([row["casadi_s"] / row["seconds"] for row in both])
            print(
                f"  CasADi: {len(both)} compared, times differ by {off:.1e} at most, {ratio:.1f} times slower (median)"
            )

    ratios = [row["casadi_s"] / row["seconds"] for row in good if row.get("casadi_solved")]
    if ratios:
        print(f"CasADi over ours, all robots: {np.median(ratios):.1f} (median of {len(ratios)})")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 100,
        int(sys.argv[2]) if len(sys.argv) > 2 else 12,
        sys.argv[3] if len(sys.argv) > 3 else None,
    )
