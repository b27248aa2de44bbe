"""Time to derive and operation counts, beside sympy's mechanics and symengine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from rich.table import Table

import servotwin as st
from benchmarks.random_mechanisms import build_mechanism, random_inertia
from servotwin.description.load import catalogue_names
from servotwin.equations.closed_programs import CLOSED_PROGRAMS
from servotwin.equations.derivation import Derivation, Numbers
from servotwin.equations.programs import PROGRAMS
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Mechanism
from servotwin.robot.closed_engine import ClosedEngine
from servotwin.robot.derive import derive

LIMIT_S = 60
PEERS = ("lagrange", "kane", "symengine")
SYMORO = {"puma560 (general inertia)": 569, "puma560": 369}  # published operation counts to beat


def robots() -> dict[str, Mechanism]:
    """What is derived."""
    rng = np.random.default_rng(0)
    puma = st.load_robot("puma560").mechanism
    generic = build_mechanism(list(range(-1, 5)), [False] * 6, [False] * 6, rng)
    upright = np.concatenate([np.eye(4)[None], generic.X_tree[1:]])
    out = {
        "2R (met-two-link)": st.load_robot("met-two-link").mechanism,
        "SCARA (gsis-scara)": st.load_robot("gsis-scara").mechanism,
        "puma560": puma,
        "puma560 (general inertia)": puma.with_(phi=np.array([random_inertia(rng) for _ in range(6)])),
        "generic 6R": generic.with_(gravity=np.array([0.0, 0.0, -9.81]), X_tree=upright),
        "DELTA": st.load_robot("delta").mechanism,
    }
    if "stewart" in catalogue_names():
        out["Stewart"] = st.load_robot("stewart").mechanism
    return out


def rows_of(numbers: Numbers) -> list[list[float]]:
    """The tree for the peers."""
    t = numbers.tree
    columns = (t.parent, t.prismatic, t.gamma, t.b, t.alpha, t.d, t.theta, t.r)
    return [[float(column[i]) for column in columns] for i in range(len(t.parent))]


def best(run: Callable[[], object], times: int = 3) -> float:
    """Shortest of a few runs."""
    out = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        out = min(out, time.perf_counter() - start)
    return out


def count(numbers: Numbers, kind: str) -> int:
    """Multiplications and additions of one kernel."""
    program = {**PROGRAMS, **CLOSED_PROGRAMS}[kind](Derivation(numbers, numbers.table()))
    entries = [entry for block in program.outputs for entry in block.entries]
    operations = program.derivation.graph.operations(entries)
    return operations["mul"] + operations["add"]


def peer_seconds(peer: str, rows: list[list[float]]) -> float | None:
    """Seconds, or None after the limit."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.peers_symbolic", peer],
            input=json.dumps(rows), capture_output=True, text=True, timeout=LIMIT_S, check=True,
        )  # fmt: skip
        return float(done.stdout)
    except subprocess.TimeoutExpired:
        return None


def derivation_table(most: int | None = None) -> tuple[Table, bool]:
    """The comparison for the first ``most`` robots, and whether the published operation counts are beaten."""
    out = Table(title=f"Deriving the equations of motion (peers stopped after {LIMIT_S} s)")
    peers = ("sympy Lagrange", "sympy Kane", "symengine")
    for heading in ("robot", "numbered", "mul + add", "to beat", "closed form", *peers):
        out.add_column(heading, justify="left" if heading == "robot" else "right")
    beaten = True
    for name, mechanism in list(robots().items())[:most]:
        if mechanism.loops:
            kind, numbers = "closed_rne", ClosedEngine(mechanism).numbers
        else:
            kind, numbers = "rne", Numbers.of(mechanism)
        seconds = best(lambda k=kind, n=numbers: count(n, k))
        operations = count(numbers, kind)
        mark = SYMORO.get(name)
        beaten &= mark is None or operations <= mark
        try:
            robot = st.Robot(mechanism)
            readable = f"{best(lambda r=robot: derive(r), 1):.3g} s"
        except UnsupportedError:
            readable = "too long to read"
        opened = Numbers.of(mechanism.opened)
        times = [peer_seconds(peer, rows_of(opened)) for peer in PEERS]
        cells = [f"> {LIMIT_S} s" if s is None else f"{s:.3g} s" for s in times]
        aim = "" if mark is None else str(mark)
        out.add_row(name, f"{seconds * 1e3:.3g} ms", str(operations), aim, readable, *cells)
    return out, beaten
