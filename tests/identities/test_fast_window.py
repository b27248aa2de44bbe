"""One window of the fast method against RK4 in very small steps, from states of a moving robot."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.mechanism.build import build_mechanism
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.machine import Machine, build_machine
from servotwin.simulation.plant.start import Start
from servotwin.simulation.scenario.scenario import read_scenario
from servotwin.simulation.windows import choice
from servotwin.simulation.windows.choice import Window, choose_window
from tests import small_drives as small

WINDOW = 200_000  # ns
STATE = {
    "state": ("y", "z", "z_mark", "now", "period_start", "u_bus"),
    "record": ("z_row",),
    "dc": ("decay",),
    "pattern": ("edges", "times", "level_a", "level_b"),
}
RECORDS = ("motors", "sensors", "stops", "logs", "noise", "power")
SERVO = ("axes", "tasks", "random", "feedback", "command")
GSIS = "scara-a-axis-100deg"


def _machine(method: str, steps: int, seed: int) -> Machine:
    overrides = {"solver.method": method, "solver.steps": str(steps)}
    scenario = read_scenario(GSIS, overrides)
    model = Robot(build_mechanism(scenario.description))
    plant = Robot(build_mechanism(scenario.plant_description))
    random = np.random.default_rng(seed)
    q = random.uniform(0.6, 0.9, 4) * np.where(
        random.uniform(size=4) > 0.5, plant.limits.q_max, plant.limits.q_min
    )
    machine = build_machine(
        scenario.description, scenario.plant_description, model, plant, Start(q), scenario.solver
    )
    # a table that asks for motion: towards the middle, at speeds the axes can follow
    count = np.arange(1, 30)
    w = -0.3 * machine.axes["w_max"] * np.sign(machine.N @ q)
    theta = machine.N @ q + w * 0.016 * count[:, None]
    counts = np.rint(theta * machine.sensors["counts_per_rad"])
    machine.servo.setpoints = np.ascontiguousarray(
        np.stack([counts, np.broadcast_to(w, counts.shape), 0.0 * counts], axis=-1)
    )
    machine.world["record"]["row_next"] = 1 << 62
    return machine


def _copy(source: Machine, target: Machine) -> None:
    for part, names in STATE.items():
        for name in names:
            target.world[part][name] = source.world[part][name]
    for name in RECORDS:
        getattr(target, name)[...] = getattr(source, name)
    target.servo.servo["tick"] = source.servo.servo["tick"]
    for name in SERVO:
        getattr(target.servo, name)[...] = getattr(source.servo, name)


@pytest.mark.parametrize("seed", range(4))
def test_fast_window_against_small_rk4_steps_agrees_to_parts_in_a_billion(seed):
    fast, fine = _machine("fast", 1, seed), _machine("rk4", 32, seed)
    assert fast.world["choice"]["window"][0] == Window.DC
    n, m = 4, 4
    for window in range(40, 400, 60):
        fast.advance(window * WINDOW)
        _copy(fast, fine)
        before = fast.world["state"]["z"][0].copy()
        fast.advance((window + 1) * WINDOW)
        fine.advance((window + 1) * WINDOW)
        ratio = np.abs(np.diag(fast.N))
        error = np.abs(fast.y - fine.y)
        assert np.all(error[:n] * ratio < 1e-10)  # rad of the motor; an encoder count is 1.6e-3
        assert np.all(error[n : 2 * n] * ratio < 2e-7)  # rad/s
        assert np.all(error[2 * n : 3 * n] < 2e-7)  # A
        gained, exact = fast.world["state"]["z"][0] - before, fine.world["state"]["z"][0] - before
        scale = np.abs(exact[: 4 * m]).reshape(4, m).max(axis=1, keepdims=True)
        assert np.all(np.abs(gained - exact)[: 4 * m].reshape(4, m) < 1e-5 * scale)


def test_fast_window_that_meets_a_stop_is_left_to_rk4():
    fast, steps = _machine("fast", 1, 0), _machine("rk4", 8, 0)
    for machine in (fast, steps):
        machine.stops["low"][0] = machine.y[0] - 1e-3
        machine.stops["high"][0] = machine.y[0] + 1e-3
        machine.advance(300 * WINDOW)
        assert machine.world["state"]["events"][0] > 0
    np.testing.assert_allclose(fast.y[:4], steps.y[:4], rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_largest_currents_of_a_fast_window_are_those_of_small_rk4_steps(seed):
    fast, fine = _machine("fast", 1, seed), _machine("rk4", 32, seed)
    for window in range(40, 400, 40):
        fast.advance(window * WINDOW)
        _copy(fast, fine)
        for machine in (fast, fine):
            machine.motors["i_peak"] = 0.0
            machine.advance((window + 1) * WINDOW)
        # the ripple of the light axis W is most of its current, and its speed shakes with it
        np.testing.assert_allclose(fast.motors["i_peak"], fine.motors["i_peak"], rtol=2e-6)


def _single(folder, method, steps, **axis):
    scenario = {**small.rest(0.1), "move": [{"to": {"A": "0.3 rad"}, "dwell": "0.02 s"}]}
    scenario["solver"] = {"method": method, "steps": steps}
    machine = small.prepared(folder, small.robot(axes={"A": small.axis(**axis)}), scenario).machine
    machine.world["record"]["row_next"] = 1 << 62
    return machine


ELASTIC = {"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}
AXES = {
    "dc": {},
    "dc, hardly any resistance": {"motor": {**small.DC, "resistance": "1 mohm"}},
    "dry friction": {"motor": {**small.DC, "coulomb_friction": "0.02 N*m"}},
    "elastic": {"gear": ELASTIC},
    "synchronous": {"motor": small.PMSM},
    "synchronous, elastic": {"motor": small.PMSM, "gear": ELASTIC},
}


@pytest.mark.parametrize("case", AXES)
def test_largest_current_and_torque_of_every_window_are_those_of_small_rk4_steps(tmp_path, case):
    fast, fine = _single(tmp_path, "fast", 1, **AXES[case]), _single(tmp_path, "rk4", 32, **AXES[case])
    for window in range(5, 900, 35):
        fast.advance(window * WINDOW)
        _copy(fast, fine)
        choose_window(fine)
        for machine in (fast, fine):
            machine.motors["i_peak"] = machine.motors["tau_peak"] = 0.0
            machine.advance((window + 1) * WINDOW)
        for peak, largest in (("i_peak", 0.8), ("tau_peak", 0.8 * small.K)):
            off = np.abs(fast.motors[peak] - fine.motors[peak]).max()
            assert off < 1e-5 * largest  # of what flows on the way


def test_fast_window_that_is_rejected_leaves_nothing_behind(tmp_path, monkeypatch):
    """A first guess of absurd acceleration throws the joint beyond its stop; the window itself stays far from it.

    The general window guesses; the axis has another one where that fits.
    """
    monkeypatch.setattr(choice, "fits_elastic_window", lambda machine: False)
    axis = AXES["dc, hardly any resistance"]
    fast, fine = _single(tmp_path, "fast", 1, **axis), _single(tmp_path, "rk4", 32, **axis)
    fast.advance(100 * WINDOW)
    _copy(fast, fine)
    for machine in (fast, fine):
        machine.stops["low"], machine.stops["high"] = machine.y[0] - 0.01, machine.y[0] + 0.01
        machine.motors["i_peak"] = machine.motors["tau_peak"] = 0.0
    fast.motors["w_ddot"] = 1e17
    fast.advance(101 * WINDOW)
    fine.advance(101 * WINDOW)
    assert fast.world["scratch"]["exact_currents"][0] == 0  # it was left to the method that sees every edge
    assert fast.world["state"]["status"][0] == 0
    assert fast.world["state"]["events"][0] == 0
    assert fast.stops["touched"][0] == 0
    assert fast.logs["active_limits"][0] == fine.logs["active_limits"][0]
    np.testing.assert_allclose(fast.motors["i_peak"], fine.motors["i_peak"], rtol=1e-6)
    np.testing.assert_allclose(fast.y[:5], fine.y[:5], rtol=1e-9, atol=1e-12)
