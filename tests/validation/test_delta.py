"""The DELTA robot of Song, Cho and Lee (1995): torques of their two motions, three ways, and the motions back.

Table 4: arms of 1 m, forearms of 2 m, a plate of 10 kg, everything else massless. Vertical motion (eq 11):
all arms at -(pi/9) t for 3 s. Horizontal motion (eq 13): the plate at x = t, z = -sqrt(3) m, for 1.5 s. The
figures of the paper are lost; what stands here instead is the virtual work on the plate in closed form.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import servotwin as st
from servotwin.robot.recursive_engine import RecursiveDynamics
from tests.closed_by_numpy import ClosedByNumpy
from tests.closed_robots import free_plate

ARM, FOREARM, MASS, GRAVITY = 1.0, 2.0, 10.0, 9.80665
TURNS = np.radians([0.0, 120.0, 240.0])
AGREE = 1e-9  # relative: three engines, each of some thousand roundings


@pytest.fixture(scope="module")
def delta() -> st.Robot:
    return st.load_robot("delta")


def vertical(t):
    """(q, qd, qdd), each (..., 3), of eq 11."""
    t = np.asarray(t, dtype=float)[..., None]
    rate = -np.pi / 9
    return rate * t * np.ones(3), rate * np.ones_like(t) * np.ones(3), np.zeros_like(t) * np.ones(3)


def tips(q):
    """Ends of the arms and their first and second derivatives by q (..., 3 arms, 3)."""
    out = np.stack([np.cos(TURNS), np.sin(TURNS), np.zeros(3)], axis=-1)
    up = np.array([0.0, 0.0, 1.0])
    c, s = np.cos(q)[..., None], np.sin(q)[..., None]
    return ARM * (c * out - s * up), ARM * (-s * out - c * up), ARM * (-c * out + s * up)


def horizontal(t):
    """(q, qd, qdd) of the plate at (t, 0, -sqrt(3)) with speed 1 m/s along x (eq 13, corrected).

    For arm i, |P - C_i| = 2: with u and w the plate's place along the arm's plane and below the base,
    u cos q + w sin q = (|P|^2 + 1 - 4)/2.
    """
    t = np.asarray(t, dtype=float)[..., None]
    P = np.concatenate([t, np.zeros_like(t), -np.sqrt(3) * np.ones_like(t)], axis=-1)
    u = t * np.cos(TURNS)
    w = np.sqrt(3) * np.ones_like(u)
    k = ((P**2).sum(-1, keepdims=True) + ARM**2 - FOREARM**2) / (2 * ARM)
    q = np.arctan2(w, u) - np.arccos(k / np.hypot(u, w))
    C, C_q, C_qq = tips(q)
    a, v = P[..., None, :] - C, np.array([1.0, 0.0, 0.0])
    B = (a * C_q).sum(-1)
    qd = (a * v).sum(-1) / B
    away = v - C_q * qd[..., None]
    qdd = ((away**2).sum(-1) - (a * C_qq).sum(-1) * qd**2) / B
    return q, qd, qdd


def plate(q):
    """Centre of the plate (..., 3): the lower point at distance 2 m of all three arm ends."""
    C = tips(q)[0]
    first = C[..., 0, :]
    A = 2 * (C[..., 1:, :] - C[..., :1, :])
    k = (C[..., 1:, :] ** 2).sum(-1) - (first**2).sum(-1)[..., None]
    line = np.cross(A[..., 0, :], A[..., 1, :])
    start = np.einsum("...ij,...j->...i", np.linalg.pinv(A), k)
    b = (line * (start - first)).sum(-1)
    n2 = (line**2).sum(-1)
    root = np.sqrt(b**2 - n2 * (((start - first) ** 2).sum(-1) - FOREARM**2))
    points = [start + ((-b + sign * root) / n2)[..., None] * line for sign in (1, -1)]
    return np.where((points[0][..., 2] < points[1][..., 2])[..., None], *points)


def virtual_work(q, qd, qdd):
    """tau = B A^-T m (P'' + g): the forearms, with lengths that stay, carry the plate's inertia to the arms."""
    C, C_q, C_qq = tips(q)
    A = plate(q)[..., None, :] - C
    B = (A * C_q).sum(-1)
    P_d = np.linalg.solve(A, (B * qd)[..., None])[..., 0]
    away = P_d[..., None, :] - C_q * qd[..., None]
    rhs = B * qdd + (A * C_qq).sum(-1) * qd**2 - (away**2).sum(-1)
    P_dd = np.linalg.solve(A, rhs[..., None])[..., 0]
    force = MASS * (P_dd + np.array([0.0, 0.0, GRAVITY]))
    return B * np.linalg.solve(np.swapaxes(A, -1, -2), force[..., None])[..., 0]


MOTIONS = {"vertical": (vertical, 3.0), "horizontal": (horizontal, 1.5)}


@pytest.mark.parametrize("motion", MOTIONS)
def test_delta_torques_of_the_paper_agree_three_ways(delta, motion):
    plan, end = MOTIONS[motion]
    q, qd, qdd = plan(np.linspace(0.0, end, 31))
    tau = delta.rne(q, qd, qdd)
    scale = np.abs(tau).max()
    assert np.abs(tau - virtual_work(q, qd, qdd)).max() < AGREE * scale
    by_numpy = ClosedByNumpy(delta.mechanism, RecursiveDynamics(delta.mechanism.opened))
    assert np.abs(tau - by_numpy.rne(q, qd, qdd, False)).max() < AGREE * scale
    # another opening of the same loops: the plate slides freely, three cuts instead of two
    assert np.abs(tau - free_plate(heavy=False).rne(q, qd, qdd)).max() < AGREE * scale


@pytest.mark.parametrize("motion", MOTIONS)
def test_delta_virtual_cut_and_multipliers_give_the_torques_of_equations_5_and_6(delta, motion):
    plan, end = MOTIONS[motion]
    q, qd, qdd = plan(np.linspace(0.0, end, 31))
    x, xd, xdd = delta.full_motion(q, qd, qdd)
    tree = delta._engine.tree.rne(x, xd, xdd, False)
    S = delta._engine.loops.gradient(x)
    forces = delta.constraint_forces(q, qd, qdd)
    multipliers = np.concatenate([forces["cut2"][:, :3], forces["cut3"][:, :3]], axis=1)
    from_eq_5 = np.linalg.solve(np.swapaxes(S[:, :, 3:], 1, 2), tree[:, 3:, None])[..., 0]
    assert np.abs(multipliers - from_eq_5).max() < AGREE * np.abs(multipliers).max()
    tau = tree[:, :3] - np.einsum("kij,ki->kj", S[:, :, :3], from_eq_5)
    assert np.abs(tau - delta.rne(q, qd, qdd)).max() < AGREE * np.abs(tau).max()


def test_delta_vertical_torque_has_the_closed_form_of_one_arm(delta):
    """3 tau = m (z'' + g) dz/dq with z(q) = -sin q - sqrt(4 - cos^2 q)."""
    t = np.linspace(0.0, 3.0, 13)
    q, qd, qdd = vertical(t)
    c, s = np.cos(q[:, 0]), np.sin(q[:, 0])
    root = np.sqrt(4 - c**2)
    slope = -c - c * s / root
    bend = s - (c**2 - s**2) / root + (c * s) ** 2 / root**3
    tau = MASS * (bend * qd[:, 0] ** 2 + GRAVITY) * slope / 3
    np.testing.assert_allclose(delta.rne(q, qd, qdd), tau[:, None] * np.ones(3), rtol=AGREE)


def test_delta_horizontal_motion_is_the_line_of_equation_13(delta):
    t = np.linspace(0.0, 1.5, 16)
    q, qd, qdd = horizontal(t)
    T = delta.fkine(q)
    np.testing.assert_allclose(T[:, :3, 3], np.stack([t, 0 * t, -np.sqrt(3) + 0 * t], axis=1), atol=1e-12)
    np.testing.assert_allclose(T[:, :3, :3], np.broadcast_to(np.eye(3), (16, 3, 3)), atol=1e-12)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", delta.jacob0(q), qd)[:, 0], 1.0, rtol=1e-12)
    # arms 2 and 3 share the load alike (Fig. 11); with zero acceleration this is statics
    tau = delta.rne(q, qd, qdd)
    np.testing.assert_allclose(tau[:, 1], tau[:, 2], rtol=1e-10)
    np.testing.assert_allclose(tau, delta.gravload(q), rtol=1e-9)


@pytest.mark.parametrize("motion", MOTIONS)
def test_delta_driven_by_those_torques_follows_the_planned_motion(delta, motion):
    plan, end = MOTIONS[motion]

    def rate(t, y):
        return np.append(y[3:], delta.accel(y[:3], y[3:], virtual_work(*plan(t))))

    q, qd, _ = plan(0.0)
    run = solve_ivp(rate, (0.0, end), np.append(q, qd), method="DOP853", rtol=1e-11, atol=1e-12)
    q, qd, _ = plan(end)
    # gravity is unstable there: what is left of 1e-11 per step grows as exp(3 t)
    assert np.abs(run.y[:, -1] - np.append(q, qd)).max() < 1e-6
    assert np.abs(delta._engine.loops.gap(delta.coordinates(run.y[:3].T))).max() < 1e-13


def test_delta_with_the_fourth_axis_turns_its_gripper_as_the_actuator(delta):
    """Two universal joints with aligned forks between parallel shafts transmit every angle unchanged."""
    robot = st.load_robot("delta-4")
    rng = np.random.default_rng(0)
    arms, roll = rng.uniform(-0.5, 0.5, (20, 3)), rng.uniform(-3, 3, 20)
    T = robot.fkine(np.column_stack([arms, roll]))
    np.testing.assert_allclose(T[:, :3, 3], delta.fkine(arms)[:, :3, 3], atol=1e-12)
    np.testing.assert_allclose(T[:, 0, 0], np.cos(roll), atol=1e-12)
    np.testing.assert_allclose(T[:, 1, 0], np.sin(roll), atol=1e-12)
    np.testing.assert_allclose(T[:, 2, 2], 1.0, atol=1e-12)


def test_delta_fourth_axis_without_mass_leaves_the_torques_of_the_arms(delta):
    robot = st.load_robot("delta-4")
    phi = robot.mechanism.phi.copy()
    phi[[robot.mechanism.tree_joint_names.index(name) for name in ("tube", "slide", "gripper")]] = 0.0
    light = st.Robot(robot.mechanism.with_(phi=phi))
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-0.5, 0.5, (3, 10, 4))
    tau = light.rne(q, qd, qdd)
    np.testing.assert_allclose(tau[:, :3], delta.rne(q[:, :3], qd[:, :3], qdd[:, :3]), rtol=1e-9)
    np.testing.assert_allclose(tau[:, 3], 0.0, atol=1e-9)
