"""Closed chains left to themselves: energy stays, loops stay closed, also through singular positions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import DOP853, solve_ivp

import servotwin as st
from servotwin.errors import KinematicsError
from tests.closed_robots import heavy_delta

SECONDS = 60.0


def wide_delta() -> st.Robot:
    """A DELTA robot with heavy arms that can hang: its arm ends stay apart (RA > RB)."""
    wide = st.load_robot("delta", {"variables.RA": "0.6 m", "variables.RB": "0.1 m"}).mechanism
    phi = heavy_delta().mechanism.phi.copy()
    phi[-1] = wide.phi[-1]
    return st.Robot(wide.with_(phi=phi))


@pytest.mark.parametrize(
    ("make", "q", "qd"),
    [
        (lambda: st.load_robot("four-bar"), [1.2], [1.0]),
        (wide_delta, [1.6, 1.7, 1.75], [0.1, 0.0, -0.1]),
    ],
    ids=["four-bar", "delta"],
)
def test_closed_chain_undriven_in_actuated_joints_keeps_its_energy(make, q, qd):
    robot = make()
    n = robot.n
    zero = np.zeros(n)

    def rate(t, y):
        return np.append(y[n:], robot.accel(y[:n], y[n:], zero))

    run = solve_ivp(rate, (0.0, SECONDS), np.append(q, qd), method="DOP853", rtol=1e-9, atol=1e-10)
    assert run.success
    kinetic, potential = robot.energy(run.y[:n].T, run.y[n:].T)
    assert np.ptp(run.y[0]) > 0.1  # it did move
    # over a minute of motion, relative to the energy that is exchanged
    assert np.ptp(kinetic + potential) < 1e-6 * kinetic.max()
    assert np.abs(robot._engine.loops.gap(robot.coordinates(run.y[:n].T))).max() < 1e-10


def test_closed_chain_undriven_in_all_coordinates_keeps_energy_and_loops_through_singular_positions():
    """A five-bar that falls, as on the Moon: its forearms stretch and fold, which q cannot describe."""
    robot = st.load_robot("five-bar").with_gravity([0.0, 0.0, -1.62])
    x = robot.coordinates(robot.q_home + np.array([0.2, 0.0]))
    n_x = len(x)
    zero = np.zeros(2)

    def rate(t, y):
        return np.append(y[n_x:], robot.accel_full(y[:n_x], y[n_x:], zero).xdd)

    solver = DOP853(rate, 0.0, np.append(x, np.zeros(n_x)), SECONDS, rtol=1e-9, atol=1e-10)
    states = [solver.y]
    while solver.status == "running":
        solver.step()
        solver.y = np.concatenate(robot.project(solver.y[:n_x], solver.y[n_x:]))
        solver.f = rate(solver.t, solver.y)
        states.append(solver.y)
    assert solver.status == "finished"
    x, xd = np.array(states)[:, :n_x], np.array(states)[:, n_x:]
    loops = robot._engine.loops
    held = np.linalg.det(loops.gradient(x)[:, list(robot.closure.rows), robot.n :])
    assert held.min() < 0 < held.max()  # it crossed positions where q does not determine the forearms
    assert np.abs(loops.gap(x)).max() < 1e-10
    kinetic, potential = robot._engine.tree.energy(x, xd)
    assert np.ptp(kinetic + potential) < 1e-6 * kinetic.max()


def test_closed_chain_far_off_its_loops_is_refused():
    robot = st.load_robot("five-bar")
    x = robot.coordinates(robot.q_home)
    with pytest.raises(
        KinematicsError, match=r"x does not close the loops: .* is left at 'tip: x'; bring it"
    ):
        robot.accel_full(x + 0.1 * np.eye(4)[0], np.zeros(4), np.zeros(2))
