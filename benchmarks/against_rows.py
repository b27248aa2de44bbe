"""One speed row of one version of ServoTwin, measured in a process of its own: ``benchmarks.against`` starts it.

``python -P against_rows.py ROW SECONDS`` prints the samples as JSON. It measures the package that PYTHONPATH names,
which may be an older one, and therefore imports nothing of the other benchmarks and of the package only what a row
needs, inside the row: a row that a version does not have ends with the reason, as JSON too.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Sample = tuple[float, float]  # wall time and processor time [s]
Row = Callable[[], Callable[[], Sample]]  # prepares, and returns what measures once
MANUTEC = {
    "solver.pwm": "switched",
    "set.controller.axis_period": "1 ms",
    "set.controller.speed_period": "1 ms",
    "set.controller.current_period": "0.125 ms",
}
CALLS = 200  # of a plan within one sample
MOVES = 200
START = (0.3, 0.8, 0.05, 0.2)


def simulated(name: str, overrides: dict[str, str]) -> Row:
    """A row: one simulated second of a scenario, without reading, compiling and reporting."""

    def row() -> Callable[[], Sample]:
        from servotwin.simulation.run import carry_out, prepare

        try:
            from servotwin.simulation.scenario.scenario import read_scenario
        except ModuleNotFoundError:  # older versions
            from servotwin.simulation.scenario import read_scenario

        scenario = read_scenario(name, overrides)

        def once() -> Sample:
            run, ends = prepare(scenario), [0.0]
            start = time.process_time()
            # progress is reported after every chunk of the loop: the last report is before results are collected
            result = carry_out(run, lambda part: ends.append(time.process_time()))
            simulated_s = float(result.summary["simulated_s"])
            return 1.0 / float(result.summary["real_time_factor"]), (ends[-1] - start) / simulated_s

        return once

    return row


def timed(run: Callable[[], object], calls: int = 1) -> Callable[[], Sample]:
    """What measures one of ``calls`` calls."""

    def once() -> Sample:
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(calls):
            run()
        return (time.perf_counter() - wall) / calls, (time.process_time() - processor) / calls

    return once


def job_over_simulation() -> Callable[[], Sample]:
    """Wall time of a job per simulated second over that of a scenario in the same process: a ratio, no seconds."""
    import servotwin as st
    from servotwin.simulation.job_run import run_job

    def per_second(summary: dict[str, Any]) -> float:
        return float(summary["wall_s"]) / float(summary["simulated_s"])

    def once() -> Sample:
        scenario = per_second(st.simulate("scara-full-range").summary)
        ratio = per_second(run_job("scara-palletising").result.summary) / scenario
        return ratio, ratio

    return once


def job_seconds() -> Callable[[], Sample]:
    """One simulated second of a job, without its planning."""
    from servotwin.simulation.job_run import run_job

    def once() -> Sample:
        start = time.process_time()
        summary = run_job("scara-palletising").result.summary
        simulated_s = float(summary["simulated_s"])
        return float(summary["wall_s"]) / simulated_s, (time.process_time() - start) / simulated_s

    return once


def joint_move() -> Callable[[], Sample]:
    """A MOVEJ of the PUMA 560 with S-curves, from the request to its trajectory."""
    from dataclasses import replace

    import numpy as np

    import servotwin as st
    from servotwin.motion.limits import limits_of
    from servotwin.motion.planner import plan
    from servotwin.motion.requests import MoveJ

    robot = st.load_robot("puma560")
    limits = limits_of(robot)
    limits = replace(limits, jerk=2.0 * limits.acceleration**2 / limits.speed)
    target = robot.q_home + np.array([0.8, -0.5, 0.6, 0.3, -0.4, 0.9])
    request = MoveJ(target, profile="s-curve")
    return timed(lambda: plan(robot, robot.q_home, [request], limits), CALLS)


def job_of_moves() -> Callable[[], Sample]:
    """200 moves of the GSIS SCARA, from the texts of job and points to planned and checked trajectories."""
    import numpy as np

    import servotwin as st
    from servotwin.control.main.exchange import EndTask, MotionTask
    from servotwin.description.load import read_description
    from servotwin.jobs.language import parse
    from servotwin.jobs.player import Player
    from servotwin.jobs.points_file import parse_points
    from servotwin.jobs.program import Program
    from servotwin.motion.limits import limits_of

    description, robot = read_description("gsis-scara"), st.load_robot("gsis-scara")
    limits = limits_of(robot, description)
    text, taught = job_texts(robot)
    sliding = [description.axes[name].prismatic for name in robot.joint_names]

    def run() -> None:
        program = Program(parse(text), parse_points(taught))
        if any(problem.error for problem in program.check(robot.joint_names, None, sliding)):
            raise ValueError("the job of the benchmark has problems")
        player, q = Player(program, robot, limits), np.array(START)
        while not isinstance(task := player.next(q, {}, single=False, timed_out=False), EndTask):
            if not isinstance(task, MotionTask):
                raise TypeError(f"a move of the benchmark cannot be planned: {task}")
            last = task.trajectory.segments[-1]
            q = last.sample(np.array([last.duration]))[0][0]
        if sum(len(planned.moves) for planned in player.plans) != MOVES:
            raise ValueError("not all moves of the benchmark were planned")

    return timed(run)


def job_texts(robot: Any) -> tuple[str, str]:
    """A job of 200 moves and its points file: three lines to one joint move, every second corner rounded."""
    import numpy as np

    rng = np.random.default_rng(0)
    lines, points = [], []
    for k in range(MOVES):
        q = np.array(START) + np.array([0.4, 0.4, 0.04, 0.5]) * rng.uniform(-1, 1, 4)
        blend = " BLEND 5 mm" if k % 2 else ""
        if k % 4 == 0:
            A, B, W = np.degrees(q[[0, 1, 3]])
            lines.append(f"MOVEJ P{k} SPEED 50%{blend}")
            joints = f"A: {A:.6f} deg, B: {B:.6f} deg, Z: {1e3 * q[2]:.6f} mm, W: {W:.6f} deg"
            points.append(f"  P{k}: {{joints: {{{joints}}}}}")
        else:
            X = robot.fkine(q)
            (x, y, z), yaw = 1e3 * X[:3, 3], np.degrees(np.arctan2(X[1, 0], X[0, 0]))
            lines.append(f"MOVEL P{k} SPEED 80%{blend}")
            place = f"x: {x:.6f} mm, y: {y:.6f} mm, z: {z:.6f} mm"
            points.append(f"  P{k}: {{{place}, roll: 0 deg, pitch: 0 deg, yaw: {yaw:.6f} deg}}")
    head = "format: servotwin-points/1\nrobot: gsis-scara\npoints:\n"
    return "\n".join(lines) + "\n", head + "\n".join(points) + "\n"


def one_process() -> Callable[[], Sample]:
    """A process from its start to the end of a simulated second; the cache is the one of its environment."""
    import os
    import resource
    import subprocess

    code = "import servotwin as st; st.simulate('scara-a-axis-100deg')"

    def processor() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def once() -> Sample:
        start, before = time.perf_counter(), processor()
        subprocess.run([sys.executable, "-P", "-c", code], env=os.environ, capture_output=True, check=True)
        return time.perf_counter() - start, processor() - before

    return once


FAST = {"solver.method": "fast"}
ROWS: dict[str, Row] = {
    "plain SCARA, fast": simulated("scara-full-range", FAST),
    "plain SCARA, rk4": simulated("scara-full-range", {"solver.method": "rk4"}),
    "plain SCARA, averaged": simulated("scara-full-range", {**FAST, "solver.pwm": "averaged"}),
    "SCARA with dry friction": simulated("scara-perturbed-high-speed", FAST),
    "Manutec r3": simulated("manutec-r3-move", {**FAST, **MANUTEC}),
    "sixaxis-5kg": simulated(str(HERE / "sixaxis-5kg-move.yaml"), FAST),
    "palletizer-4": simulated(str(HERE / "palletizer-4-move.yaml"), FAST),
    "job run": job_seconds,
    "job run over simulate": job_over_simulation,
    "MOVEJ planned": joint_move,
    "job of 200 moves planned": job_of_moves,
    "later process": one_process,
    "first run, empty cache": one_process,
}
ONCE = ("first run, empty cache",)  # nothing goes before the sample, and there is one


def measure(name: str, seconds: float) -> list[Sample]:
    """Samples of a row for about so many seconds, three at least; the first call is not counted."""
    once = ROWS[name]()
    if name in ONCE:
        return [once()]
    once()
    samples: list[Sample] = []
    end = time.perf_counter() + seconds
    while len(samples) < 3 or time.perf_counter() < end:
        samples.append(once())
    return samples


def main() -> None:
    """The samples of one row, or why there are none, on standard output."""
    import servotwin

    answer: dict[str, Any] = {"package": str(Path(servotwin.__file__).resolve().parent)}
    try:
        answer["samples"] = measure(sys.argv[1], float(sys.argv[2]))
    except Exception as error:  # noqa: BLE001 -- whatever an older version lacks: a module, a field, a scenario
        answer["missing"] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
