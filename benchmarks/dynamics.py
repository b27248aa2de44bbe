"""Forward and inverse dynamics: batches beside Pinocchio, single calls beside roboticstoolbox too."""

from __future__ import annotations

import numpy as np

import servotwin as st
from benchmarks.robots import ur5, urdf_path
from benchmarks.timing import Row, best_of
from servotwin.equations.derivation import Numbers
from servotwin.kernels.kernel_store import kernel

BATCH = 20_000


def batches() -> list[Row]:
    """UR5, one thread, 20 000 states per call."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(urdf_path("ur5_robot.urdf")))
    pool = pin.ModelPool(model, 1)
    Q, V, X = np.random.default_rng(0).uniform(-3, 3, (3, BATCH, 6))
    Qf, Vf, Xf = (np.asfortranarray(a.T) for a in (Q, V, X))
    peer_out, out = np.zeros((6, BATCH), order="F"), np.empty((BATCH, 6))
    numbers = Numbers.of(ur5().mechanism)
    rows = []
    for kind, peer, name, targets in (
        ("accel", pin.abaInParallel, "pinocchio.abaInParallel", (9.0, 30.0)),
        ("rne", pin.rneaInParallel, "pinocchio.rneaInParallel", (7.0, 7.0)),
    ):
        scalar, simd = kernel(kind, numbers, width=1), kernel(kind, numbers)
        times = best_of(
            {
                "scalar": lambda k=scalar: k.call(Q, V, X, out),
                "simd": lambda k=simd: k.call(Q, V, X, out),
                "peer": lambda f=peer: f(1, pool, Qf, Vf, Xf, peer_out),
            },
            calls=2,
        )
        np.testing.assert_allclose(out, peer_out.T, rtol=1e-7, atol=1e-7 * np.abs(out).max())
        label = "forward" if kind == "accel" else "inverse"
        for version, target in zip(("scalar", "simd"), targets, strict=True):
            what = f"UR5 {label} dynamics, batch, {version} kernel"
            rows.append(Row(what, times[version] / BATCH, name, times["peer"] / BATCH, target))
    return rows


def single_calls() -> list[Row]:
    """One state per Python call: Puma 560 beside roboticstoolbox, UR5 beside Pinocchio."""
    return [*_beside_roboticstoolbox(), *_beside_pinocchio()]


def _beside_roboticstoolbox() -> list[Row]:
    import roboticstoolbox as rtb

    peer = rtb.models.DH.Puma560()
    robot = st.load_robot("puma560")
    q, qd, x = np.random.default_rng(1).uniform(-1, 1, (3, 6))
    rows = []
    for name, arguments, calls in (
        ("rne", (q, qd, x), 500),
        ("inertia", (q,), 100),
        ("accel", (q, qd, x), 60),
    ):
        ours, theirs = getattr(robot, name), getattr(peer, name)
        contenders = {"ours": lambda f=ours, a=arguments: f(*a), "peer": lambda f=theirs, a=arguments: f(*a)}
        times = best_of(contenders, calls)
        rows.append(
            Row(f"Puma 560 {name}(), one call", times["ours"], f"roboticstoolbox {name}", times["peer"], 5.0)
        )
    return rows


def _beside_pinocchio() -> list[Row]:
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(urdf_path("ur5_robot.urdf")))
    data = model.createData()
    robot = ur5()
    q, qd, x = np.random.default_rng(2).uniform(-1, 1, (3, 6))
    pairs = {
        "rne": (lambda: robot.rne(q, qd, x), lambda: pin.rnea(model, data, q, qd, x)),
        "inertia": (lambda: robot.inertia(q), lambda: pin.crba(model, data, q)),
        "accel": (lambda: robot.accel(q, qd, x), lambda: pin.aba(model, data, q, qd, x)),
    }
    rows = []
    for name, (ours, theirs) in pairs.items():
        times = best_of({"ours": ours, "peer": theirs}, calls=2000)
        rows.append(
            Row(f"UR5 {name}(), one call", times["ours"], "pinocchio (C++)", times["peer"], 0.7, "close to")
        )
    return rows


def recursion() -> list[Row]:
    """Cost per joint of the recursive engine at 300 joints beside that at 30."""
    from benchmarks.random_mechanisms import random_mechanism
    from servotwin.dynamics.recursive.tree_dynamics import RecursiveDynamics

    rng = np.random.default_rng(4)
    engines = {n: RecursiveDynamics(random_mechanism(rng, n, serial=True)) for n in (30, 300)}
    states = {n: rng.uniform(-1, 1, (3, 3000 // n, n)) for n in engines}
    rows = []
    for name in ("aba", "rnea"):
        methods = {n: getattr(engine, name) for n, engine in engines.items()}
        contenders = {str(n): (lambda f=f, n=n: f(*states[n])) for n, f in methods.items()}
        times = best_of(contenders, calls=10)
        long, short = times["300"] / 3000, times["30"] / 3000
        rows.append(
            Row(f"recursive {name}, per joint, chain of 300", long, "chain of 30", short, 0.8, "within 25 %")
        )
    return rows
