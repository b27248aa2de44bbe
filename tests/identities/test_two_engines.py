"""Generated code and recursion agree on every random tree; canonical frames and grouping change nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from servotwin.mechanism.model import Coupling, Mechanism, Rotors
from servotwin.robot.robot import Robot
from tests.campaign import campaign, cases
from tests.random_trees import mechanisms

ENGINES = 1e-10  # both engines are backward stable; inertias of random trees are well conditioned


def close(got, want, tolerance: float = ENGINES) -> None:
    scale = max(float(np.abs(want).max(initial=0.0)), 1e-9)
    assert np.abs(np.asarray(got) - want).max(initial=0.0) <= tolerance * scale


@st.composite
def robots_and_states(draw, max_joints: int = 7):
    mechanism: Mechanism = draw(mechanisms(max_joints))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = mechanism.n_tree
    N = rng.uniform(-2, 2, (n, n))
    rotors = Rotors(tuple(f"m{i}" for i in range(n)), N, rng.uniform(0.01, 0.1, n))
    return mechanism.with_(rotors=rotors), rng


@campaign
@settings(max_examples=cases(12, 40))
@given(robots_and_states())
def test_engines_agree_on_random_trees(case):
    mechanism, rng = case
    graph, recursive = Robot(mechanism, engine="graph"), Robot(mechanism, engine="recursive")
    q, qd, x = rng.uniform(-1.5, 1.5, (3, 5, mechanism.n_q))
    for name in ("rne", "accel"):
        for drives in (False, True):
            close(
                getattr(graph, name)(q, qd, x, drives=drives),
                getattr(recursive, name)(q, qd, x, drives=drives),
            )
    for drives in (False, True):
        close(graph.inertia(q, drives=drives), recursive.inertia(q, drives=drives))
    close(graph.gravload(q), recursive.gravload(q))
    close(graph.coriolis(q, qd), recursive.coriolis(q, qd))
    close(graph.energy(q, qd), np.array(recursive.energy(q, qd)))
    for frame in ("tool", "link1", "base"):
        close(graph.fkine(q, frame), recursive.fkine(q, frame))
        close(graph.jacob0(q, frame), recursive.jacob0(q, frame))
        close(graph.jacob0_dot(q, qd, frame), recursive.jacob0_dot(q, qd, frame))
    poses, others = graph.fkine_all(q), recursive.fkine_all(q)
    assert poses.keys() == others.keys()
    for frame, pose in poses.items():
        close(pose, others[frame])


@campaign
@settings(max_examples=cases(10, 25))
@given(robots_and_states(6))
def test_couplings_project_the_tree(case):
    mechanism, rng = case
    n = mechanism.n_tree
    m = max(1, n - 2)
    G = np.vstack([np.eye(m), rng.integers(-2, 3, (n - m, m))])[:n]
    q0 = np.append(np.zeros(m), rng.uniform(-1, 1, n - m))
    pick = slice(0, m)
    limits = type(mechanism.limits)(*(v[pick] for v in vars(mechanism.limits).values()))
    rotors = Rotors((), np.zeros((0, m)), np.zeros(0))
    coupled = mechanism.with_(
        coupling=Coupling(G, q0), joint_names=mechanism.joint_names[pick], limits=limits, rotors=rotors,
        q_home=np.zeros(m),
    )  # fmt: skip
    tree = Robot(mechanism, engine="recursive")
    q, qd, qdd = rng.uniform(-1, 1, (3, 4, m))
    for engine in ("graph", "recursive"):
        robot = Robot(coupled, engine=engine)
        x, xd, xdd = q @ G.T + q0, qd @ G.T, qdd @ G.T
        close(robot.rne(q, qd, qdd), tree.rne(x, xd, xdd) @ G)
        close(robot.inertia(q), G.T @ tree.inertia(x) @ G)
        close(robot.fkine(q), tree.fkine(x))
        close(robot.jacob0(q), tree.jacob0(x) @ G)
        close(robot.accel(q, qd, robot.rne(q, qd, qdd)), qdd, 1e-8)  # condition of G^T M G
        given = ["tau" if k % 2 else "qdd" for k in range(m)]
        tau, acc = robot.hybrid(q, qd, tau=robot.rne(q, qd, qdd), qdd=qdd, given=given)
        close(tau, robot.rne(q, qd, acc), 1e-9)


@campaign
@settings(max_examples=cases(12, 40))
@given(robots_and_states())
def test_hybrid_satisfies_the_equations_of_motion(case):
    mechanism, rng = case
    robot = Robot(mechanism, engine="graph")
    n = mechanism.n_q
    q, qd, tau, qdd = rng.uniform(-1, 1, (4, 3, n))
    wrench = rng.uniform(-5, 5, (3, 6))
    given_words = rng.choice(["tau", "qdd"], n).tolist()
    known = np.array([w == "tau" for w in given_words])
    # what is not given must not matter, whatever it is
    tau_in, qdd_in = np.where(known, tau, np.nan), np.where(known, np.nan, qdd)
    for drives in (False, True):
        out = robot.hybrid(q, qd, tau=tau_in, qdd=qdd_in, given=given_words, f_ext=wrench, drives=drives)
        close(out.tau[:, known], tau[:, known], 1e-12)
        close(out.qdd[:, ~known], qdd[:, ~known], 1e-12)
        close(robot.rne(q, qd, out.qdd, wrench, drives=drives), out.tau, 1e-9)


@campaign
@settings(max_examples=cases(12, 40))
@given(robots_and_states())
def test_external_wrench_does_its_virtual_work(case):
    mechanism, rng = case
    robot = Robot(mechanism, engine="graph")
    q, qd, qdd = rng.uniform(-1, 1, (3, mechanism.n_q))
    wrench = rng.uniform(-5, 5, 6)
    change = robot.rne(q, qd, qdd, {"link1": wrench}) - robot.rne(q, qd, qdd)
    close(change @ qd, -wrench @ (robot.jacob0(q, "link1") @ qd), 1e-9)


@campaign
@settings(max_examples=cases(10, 25))
@given(robots_and_states())
def test_energy_rate_is_the_power_of_the_joints(case):
    mechanism, rng = case
    robot = Robot(mechanism, engine="graph")
    q, qd, qdd = rng.uniform(-1, 1, (3, mechanism.n_q))
    h = 1e-5
    t = np.array([-2, -1, 1, 2])[:, None] * h
    energy = sum(robot.energy(q + qd * t + qdd * t**2 / 2, qd + qdd * t))
    rate = (energy[0] - 8 * energy[1] + 8 * energy[2] - energy[3]) / (12 * h)
    power = robot.rne(q, qd, qdd) @ qd
    assert abs(rate - power) <= 1e-7 * (
        abs(power) + np.abs(energy).max()
    )  # rounding of the difference over h
