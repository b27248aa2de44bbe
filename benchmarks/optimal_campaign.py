"""Seeded problems between two points: solved or refused, against CasADi, and played on the averaged plant.

``python -m benchmarks.optimal_campaign [problems] [problems that CasADi solves too] [FILE.json]`` (``make optimal``).
``seconds`` of a problem hold the reading of compiled code at its first use, ``seconds_again`` do not; CasADi builds its
expressions for every problem anew.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

import servotwin as st
from servotwin.description.load import read_description
from servotwin.errors import ServotwinError
from servotwin.motion.limits import limits_of
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.guess import currents, straight_guess
from servotwin.motion.optimal.optimise import optimise_motion
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import mesh_of, power_scale, transcribe

ROBOTS = ("gsis-scara", "palletizer-4", "puma560")
SEED = 20261117
BANDWIDTH = 40.0  # rad/s, of the servo loop that plays a motion
STEP = 1e-4  # s, of the plant that it is played on
STEPS = 4000  # at least
SWEEPS = 20
DENSE = 20_001  # instants of the inverse dynamics
WORST = ("needed", "needed_ms", "current", "current_ms", "voltage", "speed", "temperature")
CLOSE = 1.001  # share of a limit up to which it is kept


def problems(count: int):  # type: ignore[no-untyped-def]
    """Robot, start and goal of every problem, the robots in turn."""
    rng = np.random.default_rng(SEED)
    robots = [st.load_robot(name) for name in ROBOTS]
    for k in range(count):
        robot = robots[k % len(robots)]
        yield k, ROBOTS[k % len(robots)], robot.random_q(rng), robot.random_q(rng)


def played(name: str, motion: st.OptimalMotion) -> dict[str, float]:
    """The motion on arm and motors with sharp, sticking Coulomb friction: how far the goal is missed, limits used.

    The drives give the currents that the planned motion needs at every instant, by inverse dynamics with the sign of
    the planned speed, and those of a servo loop about it (BANDWIDTH). ``needed``: the planned part alone at DENSE
    instants, ``needed_ms``: for how long it is more than 0.1 % above its limit; ``current``: what is played.
    """
    robot, description = st.load_robot(name), read_description(name, {})
    drives, limits = drive_model(robot, description), limits_of(robot, description)
    dense = np.linspace(0.0, motion.duration, DENSE)
    share = (np.abs(currents(robot, drives, *motion.sample(dense))) / drives.current).max(axis=1)
    t, q, qd, i = stepped(robot, drives, motion)
    over = (np.abs(i) / drives.current).max(axis=1)
    hot = np.isfinite(motion.winding).any()
    heat = np.nanmax((motion.winding - drives.ambient) / drives.rise) if hot else 0.0
    return {
        "miss_rad": float(np.abs(q[-1] - motion.q[-1]).max()),
        "needed": float(share.max()),
        "needed_ms": float(1e3 * motion.duration * np.mean(share > CLOSE)),
        "current": float(over.max()),
        "current_ms": float(1e3 * motion.duration * np.mean(over > CLOSE)),
        "voltage": float((voltages(drives, motion, t, qd, i) / drives.voltage).max()),
        "speed": float((np.abs(qd) / limits.speed).max()),
        "temperature": float(heat),
    }


def stepped(robot, drives, motion):  # type: ignore[no-untyped-def]
    """Instants (k,), q, qd (k, n), currents (k, m) of the plant in the middle of steps, friction as bounded impulses.

    v+ = v + M^-1 (dt (N^T K i - h) - N^T p), p the impulse of friction of each motor that would stop it, but at most
    M_c dt either way: time stepping after Moreau, which sticks exactly. M, h and i in the middle make it second order.
    """
    steps = max(int(np.ceil(motion.duration / STEP)), STEPS)
    dt, N = motion.duration / steps, drives.N
    t = (np.arange(steps) + 0.5) * dt
    q_ref, v_ref, a_ref = motion.sample(t)
    planned = currents(robot, drives, q_ref, v_ref, a_ref)
    q, v, a, impulse = motion.q[0].copy(), motion.qd[0].copy(), a_ref[0], np.zeros(drives.m)
    rows = []
    for k in range(steps):
        q_mid, v_mid = q + 0.5 * dt * v + dt**2 / 8.0 * a, v + 0.5 * dt * a
        M = robot.inertia(q_mid, drives=True)
        wanted = BANDWIDTH**2 * (q_ref[k] - q_mid) + 2.0 * BANDWIDTH * (v_ref[k] - v_mid)
        i = planned[k] + drives.N_inverse.T @ (M @ wanted) / drives.K
        rows.append((q_mid, v_mid, i))
        h = robot.rne(q_mid, v_mid, np.zeros_like(q), drives=True)
        push = N.T @ (drives.K * i - drives.viscous * (N @ v_mid)) - h
        free = v + dt * np.linalg.solve(M, push)
        mobility = N @ np.linalg.solve(M, N.T)
        impulse = friction_impulse(mobility, N @ free, drives.coulomb * dt, impulse)
        then = free - np.linalg.solve(M, N.T @ impulse)
        q, v, a = q + 0.5 * dt * (v + then), then, (then - v) / dt
    return t, *(np.array(x) for x in zip(*rows, strict=True))


def friction_impulse(W: np.ndarray, w: np.ndarray, most: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Impulses (m,) that bring speeds w (m,) to zero as far as ``most`` (m,) allows, by Gauss and Seidel."""
    p = np.clip(start, -most, most)
    for _ in range(SWEEPS):
        last = p.copy()
        for j in range(p.size):
            p[j] = np.clip(p[j] + (w[j] - W[j] @ p) / W[j, j], -most[j], most[j])
        if np.abs(p - last).max(initial=0.0) <= 1e-9 * most.max(initial=0.0):
            break
    return p


def voltages(drives, motion, t, qd, i):  # type: ignore[no-untyped-def]
    """Amplitudes (N, m) [V] as means over the steps of the mesh, with hot windings."""
    nodes = motion.t
    at_nodes = np.stack([np.interp(nodes, t, column) for column in i.T], axis=1)
    slope = np.diff(at_nodes, axis=0) / np.diff(nodes)[:, None]
    mean = 0.5 * (at_nodes[1:] + at_nodes[:-1])
    middle = 0.5 * (nodes[1:] + nodes[:-1])
    w = np.stack([np.interp(middle, t, column) for column in (qd @ drives.N.T).T], axis=1)
    known = np.isfinite(motion.winding).any()
    hot = np.nan_to_num(np.nanmean(motion.winding, axis=0) - drives.ambient) if known else 0.0
    R = drives.R * (1.0 + drives.alpha * hot) + drives.R_bridge
    return np.hypot(R * mean + drives.K_b * w + drives.L * slope, drives.reactance * w * mean)


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
                again = optimise_motion(name, start, goal, temperature=thermal(name))
                row |= {"seconds_again": again.seconds, **compared(name, start, goal)}
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
        worst = {key: max(row[key] for row in mine) for key in WORST}
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

    both = [row for row in good if row.get("casadi_solved")]
    if both:
        cold = np.median([row["casadi_s"] / row["seconds"] for row in both])
        loaded = np.median([row["casadi_s"] / row["seconds_again"] for row in both])
        alone = np.median([(row["casadi_s"] - row["casadi_build_s"]) / row["seconds_again"] for row in both])
        print(
            f"CasADi over ours, medians of {len(both)}: {cold:.1f}; with our code loaded {loaded:.1f}; "
            f"with neither loading nor building {alone:.1f}"
        )


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 100,
        int(sys.argv[2]) if len(sys.argv) > 2 else 12,
        sys.argv[3] if len(sys.argv) > 3 else None,
    )
