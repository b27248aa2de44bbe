"""Closed chains as a user meets them: mobility, branches, singular positions, forces at cuts, mistakes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.errors import KinematicsError, UnsupportedError
from tests.closed_robots import (
    ALL,
    BENNETT,
    SLIDER_PIN,
    SLIDER_SLIDE,
    closed_robot,
    free_plate,
    from_text,
    heavy_delta,
    states,
)
from tests.small_robots import FOUR_BAR


# --- mobility ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "mobility", "counted", "independent", "dropped"),
    [
        ("four-bar", 1, -2, 2, ("pin: y", "pin: x.z", "pin: y.z")),
        ("five-bar", 2, -1, 2, ("tip: y", "tip: x.z", "tip: y.z")),
        ("delta", 3, 3, 6, ()),
        ("delta-4", 4, 4, 11, ()),
        ("stewart", 6, 6, 18, ()),
        (
            "palletizer-4-loops", 4, -5, 6,
            (
                "pa1: z of th1-link", "pa1: x.z", "pa1: y.z", "pa2: z of th1-link", "pa2: x.z", "pa2: y.z",
                "pa3: z of th2-link", "pa3: x.z", "pa3: y.z",
            ),
        ),
    ],
)  # fmt: skip
def test_closure_mobility_and_redundant_equations_are_found(name, mobility, counted, independent, dropped):
    closure = closed_robot(name).closure
    assert (closure.mobility, closure.counted, len(closure.rows)) == (mobility, counted, independent)
    assert closure.dropped == dropped
    assert closure.overconstrained == (mobility > counted)
    text = closure.text()
    assert f"mobility {mobility}" in text
    assert f"gives {counted}" in text
    assert ("overconstrained" in text) == (mobility > counted)
    assert all(equation in text for equation in dropped)
    assert not closure.searched


def test_closure_of_bennetts_linkage_moves_although_no_plane_explains_it():
    robot = from_text(BENNETT)
    assert (robot.closure.mobility, robot.closure.counted) == (1, -2)
    # two equations are enough, but no two of them at every angle: all are used where the choice fails
    q = robot.q_home + np.linspace(-3.1, 3.1, 40)[:, None]
    x = robot.coordinates(q)
    assert robot._engine.every_row
    assert np.abs(robot._engine.loops.gap(x)).max() < 1e-13
    qd, qdd = np.ones_like(q), 0.5 * np.ones_like(q)
    tau = robot.rne(q, qd, qdd)
    np.testing.assert_allclose(robot.accel(q, qd, tau), qdd, atol=1e-9)
    h = 1e-5
    energy = [sum(robot.energy(q + s * h * qd, qd + s * h * qdd)) for s in (1, -1)]
    np.testing.assert_allclose((energy[0] - energy[1]) / (2 * h), (tau * qd)[:, 0], rtol=1e-6, atol=1e-6)
    x, xd, xdd = robot.full_motion(q, qd, qdd)
    full = robot.accel_full(x[5], xd[5], tau[5])
    np.testing.assert_allclose(full.xdd, xdd[5], atol=1e-8)
    np.testing.assert_allclose(robot.project(x[7] + 1e-5, xd[7])[0], x[7], atol=1e-4)


# --- branches ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "count"), [("four-bar", 2), ("five-bar", 2), ("delta", 2), ("stewart", 8)])
def test_assemblies_are_all_found_and_each_is_a_robot_of_its_own(name, count):
    robot = closed_robot(name)
    q = robot.q_home + 0.03
    found = robot.assemblies(q)
    assert found.shape == (count, len(robot.coordinate_names))
    np.testing.assert_allclose(found[0], robot.coordinates(q), atol=1e-9)
    np.testing.assert_array_equal(found[:, : robot.n], np.tile(q, (count, 1)))
    other = robot.with_assembly(found[-1])
    np.testing.assert_allclose(other.coordinates(q), found[-1], atol=1e-9)
    np.testing.assert_allclose(other.q_home, q)
    assert np.abs(other.fkine(q) - robot.fkine(q)).max() > 1e-3 or np.abs(found[-1] - found[0]).max() > 1e-3
    np.testing.assert_allclose(other.assemblies(q, 60)[0], found[-1], atol=1e-9)
    assert np.isfinite(other.rne(q, q, q)).all()


def test_assembly_walk_never_lands_on_another_branch():
    """Dyads have two branches, told apart by the sign of det S_p; the parallelograms have a closed form."""
    rng = np.random.default_rng(0)
    for name, reach in (("four-bar", 6.0), ("five-bar", 3.0)):
        robot = closed_robot(name)
        q = robot.q_home + rng.uniform(-reach, reach, (400, robot.n))
        x = [reached for row in q if (reached := _try(robot, row)) is not None]
        rows = list(robot.closure.rows)
        held = np.linalg.det(robot._engine.loops.gradient(np.array(x))[:, rows, robot.n :])
        home = np.linalg.det(robot._engine.loops.gradient(robot.closure.x_home)[rows, robot.n :])
        assert (held * home > 0).all()
        assert len(x) > 200
    robot = closed_robot("palletizer-4-loops")
    q = robot.q_home + rng.uniform(-1.6, 1.6, (1000, 4))
    arrived = 0
    for row in q:
        x = _try(robot, row)
        if x is not None:
            arrived += 1
            assert (
                abs(x[4] + row[1] + row[2]) < 1e-9
            )  # link 4 is level: a parallelogram, not its crossed twin
    assert 300 < arrived < 900


def _try(robot, q):
    try:
        return robot.coordinates(q)
    except KinematicsError:
        return None


def test_assembly_of_a_crank_comes_back_after_full_turns():
    robot = closed_robot("four-bar")
    x = robot.coordinates(np.array([[0.4], [0.4 + 200 * np.pi]]))
    np.testing.assert_allclose(x[1] - x[0], np.array([1.0, -1.0, 0.0]) * 200 * np.pi, atol=1e-10)
    tau = robot.rne(x[:, :1], [[1.0]], [[2.0]])
    np.testing.assert_allclose(tau[1], tau[0], rtol=1e-9)


def test_assembly_found_by_search_is_said():
    # all bars in line: from there Newton's method finds no way to bend them
    robot = from_text(FOUR_BAR.replace("home: {crank: 90 deg, rocker: 80 deg}", "home: {crank: 0 deg}"))
    assert robot.closure.searched
    assert "found by a search" in robot.closure.text()


# --- singular positions -----------------------------------------------------------------------------
def test_singularity_measure_falls_to_zero_where_the_forearms_fold_onto_each_other():
    robot = closed_robot("five-bar")
    # both elbows above the middle: then the forearms lie on each other
    folded = np.array([np.arccos(0.4), np.pi - np.arccos(0.4)])
    way = 1 - np.array([0.3, 0.1, 0.03, 0.01, 0.003])[:, None]
    passive, platform = robot.singularity(robot.q_home + way * (folded - robot.q_home))
    assert (np.diff(passive) < 0).all()
    assert passive[-1] < 0.01
    assert ((platform > 0) & (platform <= 1)).all()
    with pytest.raises(
        KinematicsError, match=r"five-bar: singular near left 66\.4218 deg, right 113\.578 deg: the actuated"
    ):
        robot.singularity(folded)


def test_singular_position_is_named_and_torques_are_not_invented():
    robot = closed_robot("delta")
    with pytest.raises(KinematicsError, match=r"delta: singular near \S+ 90 deg, .*nor the torques"):
        robot.rne(np.full(3, np.pi / 2), np.zeros(3), np.zeros(3))


def test_position_out_of_reach_says_how_far_the_loops_close():
    robot = st.load_robot("four-bar", {"variables.crank": "450 mm"})  # too long to turn round
    far = robot.q_home + np.pi
    with pytest.raises(KinematicsError, match=r"the loops do not close at \S+ 270 deg: on the way from home"):
        robot.fkine(far)
    with pytest.raises(KinematicsError, match=r"close at \S+ 270 deg:"):
        robot.inertia(np.stack([robot.q_home, far]))


# --- forces at the cuts -----------------------------------------------------------------------------
def test_constraint_force_is_that_of_the_free_bodies_of_coupler_and_rocker():
    """Moments of coupler and rocker about their inner pins fix both components of the force at the outer one."""
    robot = closed_robot("four-bar")
    q, qd, qdd = np.array([0.7]), np.array([3.0]), np.array([-2.0])
    poses = robot.fkine_all(q)
    h = 1e-4

    def second(frame, point):
        """Acceleration of a point of a frame, and its angular one about y, by differences."""
        T = [robot.fkine(q + s * h * qd + (s * h) ** 2 / 2 * qdd, frame) for s in (-1, 0, 1)]
        P = [(X @ np.append(point, 1.0))[:3] for X in T]
        turn = np.unwrap([np.arctan2(X[0, 2], X[0, 0]) for X in T])
        return (P[2] - 2 * P[1] + P[0]) / h**2, (turn[2] - 2 * turn[1] + turn[0]) / h**2

    unit, gravity = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -9.80665])
    A, b = np.zeros((2, 2)), np.zeros(2)
    for k, (frame, length, sign) in enumerate((("coupler-link", 0.5, 1.0), ("rocker-link", 0.4, -1.0))):
        mass, T = 2700 * 0.02**2 * length, poses[frame]
        center = np.array([length / 2, 0.0, 0.0])
        a, alpha = second(frame, center)
        inertia = mass * (length**2 + 0.02**2) / 12
        arm, mid = T[:3, :3] @ [length, 0.0, 0.0], T[:3, :3] @ center
        # about the inner pin: I alpha + mid x m (a - g) = arm x force on this link
        b[k] = inertia * alpha + unit @ np.cross(mid, mass * (a - gravity))
        A[k] = [sign * (unit @ np.cross(arm, e)) for e in np.eye(3)[[0, 2]]]
    force = robot.constraint_forces(q, qd, qdd)["pin"]
    # the first link of ``between`` is the coupler: the force is on it
    np.testing.assert_allclose(np.linalg.solve(A, b), force[[0, 2]], rtol=1e-5)
    np.testing.assert_array_equal(force[[1, 3, 4, 5]], 0.0)


def test_constraint_forces_of_a_hanging_plate_share_its_weight():
    """Free plate, arms level: three cuts, each with a third of the weight; the plate pushes the forearms down."""
    robot = free_plate(heavy=False)
    forces = robot.constraint_forces(np.zeros(3), np.zeros(3), np.zeros(3))
    assert set(forces) == {"cut1", "cut2", "cut3"}
    for wrench in forces.values():
        np.testing.assert_allclose(wrench[2], -10 * 9.80665 / 3, rtol=1e-12)  # on the forearm, by the plate
        np.testing.assert_array_equal(wrench[3:], 0.0)
    np.testing.assert_allclose(sum(forces.values())[:2], 0.0, atol=1e-12)


def test_prismatic_cut_gives_the_motion_and_forces_of_the_revolute_cut():
    pin, slide = from_text(SLIDER_PIN), from_text(SLIDER_SLIDE)
    assert pin.closure.mobility == slide.closure.mobility == 1
    q = np.linspace(0.2, 2.9, 12)[:, None]
    rng = np.random.default_rng(3)
    qd, qdd = rng.normal(size=(2, 12, 1))
    for question in ("rne", "accel"):
        np.testing.assert_allclose(
            getattr(pin, question)(q, qd, qdd), getattr(slide, question)(q, qd, qdd), rtol=1e-10, atol=1e-12
        )
    # the block slides without friction: the guide's force is vertical and balances gravity and the pin's force
    on_rod, on_block = (r.constraint_forces(q, qd, qdd)["cut"] for r in (pin, slide))
    np.testing.assert_allclose(on_block[:, 0], 0.0, atol=1e-9)
    np.testing.assert_allclose(on_block[:, 2], on_rod[:, 2] + 3 * 9.80665, rtol=1e-9)
    x, _, xdd = pin.full_motion(q, qd, qdd)
    np.testing.assert_allclose(on_rod[:, 0], -3 * xdd[:, 2], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(slide.fkine(q, "block-link")[:, 0, 3], x[:, 2], atol=1e-12)


def test_two_openings_of_one_robot_are_the_same_robot():
    one, other = heavy_delta(), free_plate(heavy=True)
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.uniform(-0.5, 0.5, (3, 20, 3))
    for question in ("rne", "accel"):
        got, want = getattr(one, question)(q, qd, qdd), getattr(other, question)(q, qd, qdd)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.coriolis(q, qd), other.coriolis(q, qd), rtol=1e-8, atol=1e-9)
    cuts = [r.constraint_forces(q, qd, qdd)["cut2"] for r in (one, other)]
    np.testing.assert_allclose(*cuts, rtol=1e-8, atol=1e-8)


def test_parallelograms_as_loops_and_as_couplings_are_the_same_robot():
    coupled, loops = st.load_robot("palletizer-4"), st.load_robot("palletizer-4-loops")
    assert coupled.joint_names == loops.joint_names
    rng = np.random.default_rng(6)
    q = rng.uniform(np.radians([-170, 50, -120, -300]), np.radians([170, 110, -60, 300]), (50, 4))
    qd, qdd = rng.normal(size=(2, 50, 4))
    for got, want in (
        (loops.fkine(q), coupled.fkine(q)),
        (loops.jacob0(q), coupled.jacob0(q)),
        (loops.rne(q, qd, qdd), coupled.rne(q, qd, qdd)),
        (loops.rne(q, qd, qdd, drives=True), coupled.rne(q, qd, qdd, drives=True)),
        (loops.inertia(q), coupled.inertia(q)),
        (loops.inertia(q, drives=True), coupled.inertia(q, drives=True)),
        (loops.coriolis(q, qd), coupled.coriolis(q, qd)),
        (loops.accel(q, qd, qdd, drives=True), coupled.accel(q, qd, qdd, drives=True)),
    ):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * np.abs(want).max())


def test_stewart_legs_carry_the_weight_of_platform_and_legs():
    robot = closed_robot("stewart")
    q = robot.q_home
    zero = np.zeros(6)
    # virtual work: a common shift of all leg lengths raises the platform and, in part, the legs
    rise = np.linalg.lstsq(robot.jacob0(q), [0, 0, 1, 0, 0, 0], rcond=None)[0]
    h = 1e-5
    potential = [robot.energy(q + s * h * rise, zero)[1] for s in (1, -1)]
    assert robot.gravload(q) @ rise == pytest.approx((potential[0] - potential[1]) / (2 * h), rel=1e-8)
    np.testing.assert_allclose(robot.gravload(q), robot.gravload(q)[0], rtol=1e-10)  # symmetric
    np.testing.assert_allclose(robot.fkine(q)[:3, 3], [0.0, 0.0, 0.8], atol=1e-12)


# --- questions and answers --------------------------------------------------------------------------
def test_closed_robot_arrays_of_any_leading_shape_give_the_rows_of_single_calls():
    robot = closed_robot("five-bar")
    q, qd, qdd = (a.reshape(3, 4, 2) for a in states("five-bar", 12))
    x, tau, forces = (
        robot.coordinates(q),
        robot.rne(q, qd, qdd[0]),
        robot.constraint_forces(q, qd, qdd)["tip"],
    )
    assert (x.shape, tau.shape, forces.shape) == ((3, 4, 4), (3, 4, 2), (3, 4, 6))
    for i in np.ndindex(3, 4):
        np.testing.assert_allclose(x[i], robot.coordinates(q[i]), atol=1e-14)
        np.testing.assert_allclose(tau[i], robot.rne(q[i], qd[i], qdd[0][i[1]]), atol=1e-12)
    spread = np.zeros((24, 6))
    spread[::2, ::3] = q.reshape(12, 2)
    np.testing.assert_array_equal(robot.coordinates(spread[::2, ::3]), x.reshape(12, 4))
    assert robot.coordinates(np.empty((0, 2))).shape == (0, 4)
    assert robot.rne(*np.empty((3, 0, 2))).shape == (0, 2)
    assert robot.coordinate_names == ("left", "right", "left-fore", "right-fore")
    assert robot.closed
    copy = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(copy.rne(q, qd, qdd), robot.rne(q, qd, qdd))


def test_open_robot_has_no_loops_to_ask_about():
    robot = st.load_robot("met-two-link")
    assert not robot.closed
    np.testing.assert_array_equal(robot.coordinates([0.1, 0.2]), [0.1, 0.2])
    assert robot.coordinate_names == robot.joint_names
    zero = np.zeros(2)
    for name, question in {
        "closure": lambda: robot.closure,
        "assemblies": lambda: robot.assemblies(zero),
        "with_assembly": lambda: robot.with_assembly(zero),
        "singularity": lambda: robot.singularity(zero),
        "constraint_forces": lambda: robot.constraint_forces(zero, zero, zero),
        "accel_full": lambda: robot.accel_full(zero, zero, zero),
        "full_motion": lambda: robot.full_motion(zero, zero, zero),
        "project": lambda: robot.project(zero, zero),
    }.items():
        with pytest.raises(
            UnsupportedError, match=f"met-two-link has no loops; '{name}' is for closed chains"
        ):
            question()


# --- catalogue ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [name for name in ALL if name != "delta-free-plate"])
def test_closed_robot_every_number_of_the_file_has_a_source_or_is_marked_assumed(name):
    tree = read_description(name).tree
    bare = [
        path
        for path, node in tree.walk()
        if isinstance(node.value, str)
        and any(character.isdigit() for character in node.value)
        and not path.startswith(("format", "name", "title", "references", "extends"))
        and not (node.origin.source or node.origin.assumed)
    ]
    assert [p for p in bare if not p.endswith((".parent", ".direction", "link.name"))] == []
