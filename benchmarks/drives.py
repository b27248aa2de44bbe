"""The drive-level simulator beside its peers and beside the clock: simulated seconds per second of one core."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.elastic import limit
from benchmarks.peers_drives import PEERS, real_time_factor
from benchmarks.timing import EFFORT, Row
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.scenario import read_scenario

SCENARIO = "scara-full-range"  # the demo: all axes through their range and back, 4 kg, all loops closed
ROUNDS = 12
PEER_SECONDS = 0.5
RUBBING = "scara-perturbed-high-speed"  # the same robot with dry friction at every motor
METHODS = {
    "rk4": ({"solver.method": "rk4"}, "4 motors, arm, 17 PWM intervals, RK4", 30.0),
    "fast": ({"solver.method": "fast"}, "4 motors, arm, every PWM edge, fast method", 150.0),
    "averaged": ({"solver.method": "fast", "solver.pwm": "averaged"}, "4 motors, arm, averaged PWM", 150.0),
}
COLD = """
import json, time
start = time.perf_counter()
import servotwin as st
result = st.simulate("scara-a-axis-100deg")
print(json.dumps([time.perf_counter() - start, result.summary["compile_s"], result.summary["simulated_s"]]))
"""


def simulated_per_second(
    overrides: dict[str, str], name: str = SCENARIO, rounds: int = ROUNDS
) -> tuple[float, str]:
    """Real-time factor of the simulation proper, the best of several runs; for the fast method its limit."""
    scenario = read_scenario(name, overrides)
    factors = []
    for _ in range(EFFORT.rounds(rounds)):
        run = prepare(scenario)
        result = carry_out(run, lambda part: None)
        factors.append(float(result.summary["real_time_factor"]))
    return max(factors), limit(run.machine)[1] if overrides["solver.method"] == "fast" else ""


def simulation() -> list[Row]:
    """Our methods against the clock, and our switched run against what the peers make of less."""
    rows, ours = [], {}
    for name, (overrides, what, target) in METHODS.items():
        ours[name], note = simulated_per_second(overrides)
        rows.append(Row(f"1 s of {what}", 1.0 / ours[name], "the clock", 1.0, target, note))
    rubbing, note = simulated_per_second({"solver.method": "fast"}, RUBBING, 3)
    rows.append(
        Row("1 s of 4 motors with dry friction, fast method", 1.0 / rubbing, "the clock", 1.0, 5.0, note)
    )
    for name, make in PEERS.items():
        peer = make()
        factor = real_time_factor(peer.run, 0.02 if EFFORT.short else PEER_SECONDS, EFFORT.rounds(3))
        rows.append(
            Row(
                f"1 s of {METHODS['fast'][1]}",
                1.0 / ours["fast"],
                name,
                1.0 / factor,
                1.0,
                f"peer: {peer.what}",
            )
        )
    return rows


def first_run() -> list[Row]:
    """Compiling on a machine that never ran it, and the start of every later process."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SERVOTWIN_CACHE": folder}
        _, compile_s, _ = _process(environment)
        later = min(_process(environment)[0] for _ in range(3))
    return [
        Row("first run ever: compiling", compile_s, "limit", 10.0, 1.0),
        Row("later process: import to finished 1 s simulation", later, "limit", 2.0, 1.0),
    ]


def _process(environment: dict[str, str]) -> list[float]:
    import json

    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", COLD], env=environment, check=True, capture_output=True, text=True
    )
    numbers: list[float] = json.loads(done.stdout)
    return [time.perf_counter() - start, *numbers[1:]]
