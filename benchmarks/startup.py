"""Time to first answer: deriving and compiling beside sympy, a cold process beside ``import numba``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.robots import ur5
from benchmarks.timing import EFFORT, Row
from servotwin.compiled.shipped import level
from servotwin.equations.derivation import Numbers
from servotwin.kernels import kernel_store

KANE_LIMIT_S = 240.0
KANE = """
import time
import sympy as sp
from sympy.physics.mechanics import (KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

start = time.perf_counter()
q, u = dynamicsymbols("q1:7"), dynamicsymbols("u1:7")
g = sp.symbols("g")
base = ReferenceFrame("N"); origin = Point("O"); origin.set_vel(base, 0)
alpha = [0, sp.pi / 2, 0, 0, sp.pi / 2, -sp.pi / 2]
frame, point, bodies, loads = base, origin, [], []
for i in range(6):
    a, d = sp.symbols(f"a{i} d{i}")
    tilted = frame.orientnew(f"T{i}", "Axis", [alpha[i], frame.x])
    body = tilted.orientnew(f"B{i}", "Axis", [q[i], tilted.z])
    body.set_ang_vel(tilted, u[i] * tilted.z)
    joint = point.locatenew(f"P{i}", a * frame.x + d * tilted.z)
    joint.v2pt_theory(point, base, frame)
    m, x, y, z = sp.symbols(f"m{i} x{i} y{i} z{i}")
    center = joint.locatenew(f"C{i}", x * body.x + y * body.y + z * body.z)
    center.v2pt_theory(joint, base, body)
    moments = sp.symbols(f"I{i}(:6)")
    bodies.append(RigidBody(f"R{i}", center, body, m, (inertia(body, *moments), center)))
    loads.append((center, -m * g * base.z))
    frame, point = body, joint
kane = KanesMethod(base, q, u, [a.diff() - b for a, b in zip(q, u)])
kane.kanes_equations(bodies, loads)
print(time.perf_counter() - start)
"""


def derive_and_compile() -> list[Row]:
    """A 6R arm: our derivation and compilation of inverse and forward dynamics, sympy's derivation alone."""
    mechanism = ur5().mechanism
    best = float("inf")
    previous = os.environ.get("SERVOTWIN_CACHE")
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["SERVOTWIN_CACHE"] = folder
            kernel_store._loaded.clear()
            start = time.perf_counter()
            numbers = Numbers.of(mechanism)
            kernel_store.kernel("rne", numbers, width=1)
            kernel_store.kernel("accel", numbers, width=1)
            best = min(best, time.perf_counter() - start)
    os.environ.pop("SERVOTWIN_CACHE")
    if previous is not None:
        os.environ["SERVOTWIN_CACHE"] = previous
    try:
        done = subprocess.run(
            [sys.executable, "-c", KANE], capture_output=True, text=True, timeout=KANE_LIMIT_S, check=True
        )
        peer, note = float(done.stdout), ""
    except subprocess.TimeoutExpired:
        peer, note = KANE_LIMIT_S, f"sympy stopped after {KANE_LIMIT_S:.0f} s"
    return [
        Row(
            "6R arm: derive + compile rne and accel", best, "sympy KanesMethod, derive only", peer, 40.0, note
        )
    ]


FIRST_RNE = """
import servotwin as st
st.load_robot("puma560").rne([0.1] * 6, [0.2] * 6, [0.3] * 6)
"""


def cold_process() -> list[Row]:
    """From starting Python to the first torque, kernel from the cache; beside ``import numba`` alone."""
    codes = {"ours": FIRST_RNE, "peer": "import numba"}
    best = dict.fromkeys(codes, float("inf"))
    for code in codes.values():
        subprocess.run([sys.executable, "-c", code], check=True)
    for _ in range(EFFORT.rounds(7)):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            best[name] = min(best[name], time.perf_counter() - start)
    return [Row("cold process to the first rne (Puma 560)", best["ours"], "import numba", best["peer"], 0.5)]


FIRST_RUN = """
from servotwin.cli.main import main
main()
"""
FIRST_RUN_S = {True: 3.0, False: 10.0}  # allowed on an empty cache: with code that came along, and without


def first_run() -> list[Row]:
    """``simulate scara-full-range`` on an empty cache beside what is allowed, and a later process beside the first."""
    first = later = float("inf")
    shipped = level() is not None
    for _ in range(EFFORT.rounds(2)):
        with tempfile.TemporaryDirectory() as folder:
            own = {"SERVOTWIN_CACHE": f"{folder}/cache", "XDG_STATE_HOME": f"{folder}/state"}
            command = [
                sys.executable,
                "-c",
                FIRST_RUN,
                "simulate",
                "scara-full-range",
                "--out",
                f"{folder}/out",
            ]
            times = []
            for more in ([], ["--overwrite"]):
                start = time.perf_counter()
                subprocess.run([*command, *more], env=os.environ | own, capture_output=True, check=True)
                times.append(time.perf_counter() - start)
            first, later = min(first, times[0]), min(later, times[1])
    note = "code came along" if shipped else "everything is compiled"
    return [
        Row("first run on an empty cache", first, "seconds allowed", FIRST_RUN_S[shipped], 1.0, note),
        Row("later process, same command", later, "the first run", first, 1.0),
    ]
