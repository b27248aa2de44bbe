"""What holds for every closed chain and state: closed loops, one equation of motion, balance of every link."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.robot.recursive_engine import RecursiveDynamics
from tests.closed_by_numpy import ClosedByNumpy
from tests.closed_robots import ALL, closed_robot, states

ROUNDING = 1e-9  # relative: sums of some thousand products, in other orders, divided by R_jj of about 0.1


def close(got: np.ndarray, want: np.ndarray, tolerance: float = ROUNDING) -> None:
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= tolerance * max(np.abs(want).max(), 1e-3)


@pytest.fixture(scope="module", params=ALL)
def name(request) -> str:
    return request.param


def test_closed_coordinates_close_all_loops_and_begin_with_q(name):
    robot = closed_robot(name)
    q = states(name, 50)[0]
    x = robot.coordinates(q)
    np.testing.assert_array_equal(x[:, : robot.n], q)
    # redundant equations are closed as well although nothing solved them
    assert np.abs(robot._engine.loops.gap(x)).max() < 1e-13


def test_closed_torque_is_mass_times_acceleration_plus_bias(name):
    robot = closed_robot(name)
    q, qd, qdd = states(name, 20)
    M, C, g = robot.inertia(q), robot.coriolis(q, qd), robot.gravload(q)
    close(robot.rne(q, qd, qdd), np.einsum("kij,kj->ki", M, qdd) + np.einsum("kij,kj->ki", C, qd) + g)
    close(M, np.swapaxes(M, 1, 2))
    assert np.linalg.eigvalsh(M).min() > 0
    close(robot.accel(q, qd, robot.rne(q, qd, qdd)), qdd)
    given = ["tau" if k % 2 else "qdd" for k in range(robot.n)]
    mixed = robot.hybrid(q, qd, tau=robot.rne(q, qd, qdd), qdd=qdd, given=given)
    close(mixed.qdd, qdd)
    close(mixed.tau, robot.rne(q, qd, qdd))
    if len(robot.mechanism.rotors.names):
        close(robot.accel(q, qd, robot.rne(q, qd, qdd, drives=True), drives=True), qdd)
    close(robot.energy(q, qd)[0], 0.5 * np.einsum("ki,kij,kj->k", qd, M, qd))


def test_closed_mass_rate_minus_twice_coriolis_is_skew(name):
    robot = closed_robot(name)
    q, qd, _ = states(name, 5)
    h = 1e-5
    M_dot = (robot.inertia(q + h * qd) - robot.inertia(q - h * qd)) / (2 * h)
    N = M_dot - 2 * robot.coriolis(q, qd)
    # central difference: h^2 times third derivatives
    close(N + np.swapaxes(N, 1, 2), np.zeros_like(N), 1e-4 * max(1.0, np.abs(M_dot).max()))


def test_closed_jacobian_and_its_rate_are_derivatives(name):
    robot = closed_robot(name)
    q, qd, _ = states(name, 5)
    h = 1e-5
    J, J_dot = robot.jacob0(q), robot.jacob0_dot(q, qd)
    ahead, back = robot.fkine(q + h * qd), robot.fkine(q - h * qd)
    velocity = (ahead - back)[:, :3, 3] / (2 * h)
    turn = ((ahead - back)[:, :3, :3] / (2 * h)) @ np.swapaxes(robot.fkine(q)[:, :3, :3], 1, 2)
    spin = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
    close(np.einsum("kij,kj->ki", J, qd), np.concatenate([velocity, spin], axis=1), 1e-6)
    close(J_dot, (robot.jacob0(q + h * qd) - robot.jacob0(q - h * qd)) / (2 * h), 1e-6)


def test_closed_potential_energy_falls_by_the_gravity_torque(name):
    robot = closed_robot(name)
    q, qd, _ = states(name, 5)
    h = 1e-5
    rate = (robot.energy(q + h * qd, qd)[1] - robot.energy(q - h * qd, qd)[1]) / (2 * h)
    close(np.einsum("ki,ki->k", robot.gravload(q), qd), rate, 1e-6)


def test_closed_full_motion_is_the_derivative_of_the_coordinates(name):
    robot = closed_robot(name)
    q, qd, qdd = states(name, 5)
    x, xd, xdd = robot.full_motion(q, qd, qdd)
    h = 1e-4
    ahead, back = (robot.coordinates(q + s * h * qd + h**2 / 2 * qdd) for s in (1, -1))
    close(xd, (ahead - back) / (2 * h), 1e-5)
    close(xdd, (ahead - 2 * x + back) / h**2, 1e-4 * max(1.0, np.abs(xd).max() ** 2))


def test_closed_cut_wrenches_balance_the_opened_tree(name):
    """With the wrenches at the cuts as external loads, the opened tree needs torques at the actuated joints only."""
    robot = closed_robot(name)
    q, qd, qdd = states(name, 10)
    x, xd, xdd = robot.full_motion(q, qd, qdd)
    tree = RecursiveDynamics(robot.mechanism.opened)
    efforts = tree.rne(x, xd, xdd, False)
    for loop in robot.mechanism.loops:
        wrench = robot.constraint_forces(q, qd, qdd)[loop.name]
        # the wrench acts at frame b, on the link of frame a
        between = tree.fkine(x, loop.frame_b)[:, :3, 3] - tree.fkine(x, loop.frame_a)[:, :3, 3]
        on_a = wrench.copy()
        on_a[:, 3:] += np.cross(between, wrench[:, :3])
        efforts -= np.einsum("kij,ki->kj", tree.jacob0(x, loop.frame_a), on_a)
        efforts += np.einsum("kij,ki->kj", tree.jacob0(x, loop.frame_b), wrench)
    tau = robot.rne(q, qd, qdd)
    close(efforts, np.concatenate([tau, np.zeros((len(q), x.shape[1] - robot.n))], axis=1))


def test_closed_forward_dynamics_in_all_coordinates_agrees_with_that_in_q(name):
    robot = closed_robot(name)
    q, qd, qdd = states(name, 10)
    x, xd, xdd = robot.full_motion(q, qd, qdd)
    full = robot.accel_full(x, xd, robot.rne(q, qd, qdd))
    close(full.xdd, xdd, 1e-8)
    forces = robot.constraint_forces(q, qd, qdd)
    for loop, wrench in full.forces.items():
        close(wrench, forces[loop], 1e-7)
    if len(robot.mechanism.rotors.names):
        with_rotors = robot.accel_full(x, xd, robot.rne(q, qd, qdd, drives=True), drives=True)
        close(with_rotors.xdd, xdd, 1e-8)


def test_closed_projection_leaves_closed_states_and_repairs_others(name):
    robot = closed_robot(name)
    q, qd, qdd = states(name, 10)
    x, xd, _ = robot.full_motion(q, qd, qdd)
    same_x, same_xd = robot.project(x, xd)
    close(same_x, x, 1e-12)
    close(same_xd, xd, 1e-11)
    rng = np.random.default_rng(4)
    off_x, off_xd = x + 1e-4 * rng.normal(size=x.shape), xd + 1e-3 * rng.normal(size=x.shape)
    new_x, new_xd = robot.project(off_x, off_xd)
    loops = robot._engine.loops
    assert np.abs(loops.gap(new_x)).max() < 1e-13
    assert np.abs(np.einsum("kij,kj->ki", loops.gradient(new_x), new_xd)).max() < 1e-12
    assert np.abs(new_x - off_x).max() < 1e-2
    # the least change: nothing of it lies along the loops' own freedoms
    T = robot._engine.kernel("projection").call(new_x)
    close(np.einsum("kij,ki->kj", T, new_xd - off_xd), np.zeros((10, robot.n)), 1e-9)


@pytest.mark.parametrize("name", ALL)
def test_closed_kernels_agree_with_virtual_work_in_numpy(name):
    robot = closed_robot(name)
    by_numpy = ClosedByNumpy(
        robot.mechanism, RecursiveDynamics(robot.mechanism.opened), robot._engine.closure.x_home
    )
    q, qd, qdd = states(name, 3, seed=2)
    q = robot.q_home + 0.3 * (q - robot.q_home)
    close(robot.coordinates(q), np.array([by_numpy.full(row) for row in q]), 1e-12)
    for got, want in (
        (robot.rne(q, qd, qdd), by_numpy.rne(q, qd, qdd, False)),
        (robot.inertia(q), by_numpy.inertia(q, False)),
        (robot.coriolis(q, qd), by_numpy.coriolis(q, qd)),
        (robot.gravload(q), by_numpy.gravload(q)),
        (robot.jacob0(q), by_numpy.jacob0(q, "tool")),
        (robot.jacob0_dot(q, qd), by_numpy.jacob0_dot(q, qd, "tool")),
    ):
        close(got, want)
