"""Robots with elastic or coupled gears and stiction beside the clock, RK4, and what their evaluations would take."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.against_rows import MANUTEC
from benchmarks.peers_elastic import LOGGED_S, solve_ivp_machine
from benchmarks.timing import EFFORT, Row
from servotwin.compiled.jit import kernel, piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.dc.interval import dc_interval
from servotwin.drives.pmsm import PMSM
from servotwin.drives.pmsm.step import SHORTER
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.scenario import read_scenario
from servotwin.simulation.windows.choice import Window
from servotwin.simulation.windows.pmsm_elastic_lanes import WIDE, pmsm_elastic_interval, take_wide_row
from servotwin.simulation.windows.pmsm_lanes import LANES, flux_interval, take_row

PALLETIZER = str(Path(__file__).parent / "palletizer-4-move.yaml")
ROBOTS: dict[str, tuple[str, dict[str, str], float]] = {
    "Manutec r3, 0.125 ms": ("manutec-r3-move", MANUTEC, 10.0),
    "sixaxis-5kg, 62.5 us": (str(Path(__file__).parent / "sixaxis-5kg-move.yaml"), {}, 4.0),
    "palletizer-4, stiff gears, 62.5 us": (PALLETIZER, {}, 10.0),
}
PEER_S, PEER_SHORT_S = 0.5, 0.05  # of a run that solve_ivp takes
SAME_END = 5e-3  # rad between its joints and ours, under way: its control has no delays
MANY = 2000


@kernel
def dc_intervals(times: int) -> float:
    """So many intervals of a DC motor, each from the end of the one before."""
    i = 0.0
    for _ in range(times):
        end, charge, lever, square = dc_interval(
            1.0, 1e-3, 0.1, 20.0, i, 10.0 * i, 100.0 * i, 1e5, 3e-5 + 1e-9 * i
        )
        i = 1e-3 * (end + charge + lever + square)
    return i


@piece
def lanes_of_window(
    world_at: int, times: int, motors_at: int, stops_at: int, middle: float, elastic: float
) -> None:
    """So many windows of synchronous motors side by side, with elastic gears or without."""
    world = records_at(world_at, 1, WORLD)[0]
    for _ in range(times):
        first = 0
        while first < world.m:
            for e in range(world.lanes.rows):
                short = world.lanes.longest[e] < SHORTER  # each way has vector instructions of its own
                if elastic > 0.0:
                    take_wide_row(world, e, first)
                    if short:
                        pmsm_elastic_interval(world, first, True)
                    else:
                        pmsm_elastic_interval(world, first, False)
                    continue
                take_row(world, e, first)
                if short:
                    flux_interval(world, first, middle, True)
                else:
                    flux_interval(world, first, middle, False)
            first += WIDE if elastic > 0.0 else LANES


def synchronous_window(machine: Any) -> float:
    """Seconds that the windings of all synchronous motors take in a window, on a copy of the last one of a run."""
    world = machine.world.copy()
    behind_springs = float((machine.motors["flexible"] >= 0).any())
    signature = ctypes.CFUNCTYPE(None, *(4 * [ctypes.c_int64]), ctypes.c_double, ctypes.c_double)
    call = signature(lanes_of_window.address)

    def run() -> None:
        world["lanes"] = machine.world["lanes"]
        call(world.ctypes.data, 200, 0, 0, 0.0, behind_springs)

    return least(run, 200)


def least(run: Callable[[], object], times: int) -> float:
    """Seconds of one of ``times`` things that ``run`` does, the best of several rounds."""
    run()
    found = []
    for _ in range(EFFORT.rounds(20)):
        start = time.perf_counter()
        run()
        found.append((time.perf_counter() - start) / times)
    return min(found)


def evaluation(machine: Any) -> float:
    """Seconds of one evaluation of the arm's forward dynamics; what a call from Python costs is taken off."""
    code = machine.world["code"][0]
    arguments = tuple(int(code[name]) for name in ("inputs_at", "outputs_at", "accel_data"))
    call = ctypes.CFUNCTYPE(None, *(3 * [ctypes.c_int64]))(int(code["accel"]))
    nothing = ctypes.CFUNCTYPE(ctypes.c_int64, *(3 * [ctypes.c_int64]))(("labs", ctypes.CDLL(None)))

    def calls(function: Any) -> Callable[[], None]:
        def run() -> None:
            for _ in range(MANY):
                function(*arguments)

        return run

    return max(least(calls(call), MANY) - least(calls(nothing), MANY), 1e-8)


def limit(machine: Any) -> tuple[float, str]:
    """Real-time factor if evaluations of arm and windings were all that a window takes; of what it is made."""
    motors, edges = machine.motors, machine.world["pattern"]["edges"][0]
    m, stiff = len(motors), motors["flexible"] < 0
    if machine.world["choice"]["moving"][0] != Window.ELASTIC:  # each through its own edges
        stiff = np.zeros(m, dtype=bool)
    intervals = np.where(stiff, edges[:m][stiff].sum() + 1, edges[:m] + 1)
    synchronous = motors["kind"] == PMSM.code
    dc = least(lambda: dc_intervals(MANY), MANY)
    arm, evaluations = evaluation(machine), 5 if stiff.any() else 4
    windings = intervals[~synchronous].sum() * dc
    if synchronous.any():
        windings += synchronous_window(machine)
    window = evaluations * arm + windings
    factor = float(machine.servo.servo["T_current"][0]) / window
    note = f"limit {factor:.0f} x: {evaluations} evaluations of {1e6 * arm:.2f} us, {intervals.sum():.0f} intervals"
    return factor, f"{note} of {1e6 * windings / intervals.sum():.2f} us"


def beside_solve_ivp(what: str, name: str, overrides: dict[str, str]) -> list[Row]:
    """A robot beside SciPy's ``solve_ivp`` on a smooth model of it, of which processor time counts; both go alike."""
    scenario = read_scenario(name, {**overrides, "solver.method": "fast"})
    seconds = PEER_SHORT_S if EFFORT.short else PEER_S
    peer, joints = solve_ivp_machine(prepare(scenario), seconds)
    factor = 0.0
    for _ in range(EFFORT.rounds(10)):
        run = prepare(scenario)
        result = carry_out(run, lambda part: None)
        factor = max(factor, float(result.summary["real_time_factor"]))
    row = int(np.searchsorted(result.signals["time_s"], seconds))
    apart = max(
        abs(result.signals[f"joint_{joint}_position_rad"][row] - q)
        for joint, q in zip(run.plant.joint_names, joints, strict=True)
    )
    if not apart < SAME_END:
        raise ValueError(f"{what}: solve_ivp ends {apart:.2g} rad elsewhere, expected at most {SAME_END:g}")
    title = f"1 s of {what}, every edge, fast"
    note = f"peer: no pulses, smooth friction, continuous control; joints {1e3 * apart:.1g} mrad apart"
    rows = [Row(title, 1.0 / factor, "scipy solve_ivp LSODA", peer, 5.0, note)]
    if name == "manutec-r3-move":
        note = "0.50 s logged for 1.86 s, counted half; no pulses"
        rows.append(Row(title, 1.0 / factor, "Dymola's log", LOGGED_S, 5.0, note))
    return rows


def elastic() -> list[Row]:
    """Every edge of robots with elastic or coupled gears: real time, and RK4 from edge to edge."""
    rows = []
    for what, (name, overrides, target) in ROBOTS.items():
        best = {"fast": 0.0, "rk4": 0.0}
        note = ""
        for _ in range(EFFORT.rounds(3)):
            for method in ("fast", "rk4"):
                run = prepare(read_scenario(name, {**overrides, "solver.method": method}))
                result = carry_out(run, lambda part: None)
                best[method] = max(best[method], float(result.summary["real_time_factor"]))
                if method == "fast":
                    note = limit(run.machine)[1]
        rows.append(
            Row(f"1 s of {what}, every edge, fast", 1.0 / best["fast"], "the clock", 1.0, target, note)
        )
        rows.append(
            Row(f"1 s of {what}, every edge, fast", 1.0 / best["fast"], "rk4", 1.0 / best["rk4"], 3.0)
        )
        if name != PALLETIZER:
            rows += beside_solve_ivp(what, name, overrides)
    return rows
