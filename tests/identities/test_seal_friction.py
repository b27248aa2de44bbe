"""Friction of seals that grows with the pressures: SciPy as witness, balances, and the complete model."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import servotwin as st
from servotwin.description.drive_data import drives_of
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply
from servotwin.description.load import read_description
from servotwin.simulation.plant.hydraulic_account import oil_account
from servotwin.simulation.results.energy import account, stored_energies
from tests import hydraulic_axes as hx
from tests import small_drives as small
from tests.plant_rates import machine_of, plant_rates

SHARE, MASS, VISCOUS = 0.08, 40.0, 150.0


def robot(**changes):
    motor = small.merged({"cylinder": {"seal_friction": SHARE, "rod_side_area": "1.4 cm^2"}}, changes)
    return hx.lift(axis=[1, 0, 0], motor=motor, friction={"viscous": f"{VISCOUS} N*s/m"})


def prepared(folder: Path, machine, method="adaptive", start="-75 mm"):
    scenario = {"start": {"A": start}, "move": [{"to": {"A": start}, "dwell": "1 s"}]}
    return small.prepared(folder, machine, {**scenario, "solver": {"method": method}})


def plain(axis, supply, current, y0, periods, T):
    """Position, speed, spool, its speed and pressures at every period, by SciPy with events of sticking and sliding."""

    def seal(y):
        return SHARE * (axis.area_a * max(y[4], 0.0) + axis.area_b * max(y[5], 0.0))

    def force(y):
        return axis.area_a * y[4] - axis.area_b * y[5]

    def rates(t, y, i, way):
        v = y[1] if way else 0.0
        a = (force(y) - VISCOUS * v - way * seal(y)) / MASS if way else 0.0
        return [v, a, *hx.plain_rates(axis, supply, i, y[0], v, supply.pressure, y[2:])]

    y, way, out = np.array(y0, dtype=float), 0, []
    for k in range(periods):
        t = 0.0
        while t < T - 1e-15:
            if way:
                events = [lambda t, y, i, way: way * y[1]]
                events[0].direction = -1
            else:
                events = [lambda t, y, *a: force(y) - seal(y), lambda t, y, *a: -force(y) - seal(y)]
                events[0].direction = events[1].direction = 1
            for event in events:
                event.terminal = True
            found = solve_ivp(
                rates, (t, T), y, args=(current(k * T), way), events=events, rtol=1e-9,
                atol=[1e-12, 1e-10, 1e-10, 1e-7, 1e-2, 1e-2], method="LSODA",
            )  # fmt: skip
            t, y = found.t[-1], found.y[:, -1].copy()
            if found.status == 1 and way:
                y[1] = 0.0
                way = 0 if abs(force(y)) <= seal(y) else int(np.sign(force(y)))
            elif found.status == 1:
                way = 1 if len(found.t_events[0]) else -1
                y[1] = way * 1e-13
        out.append(y.copy())
    return np.array(out)


def test_motion_with_sticking_seals_is_that_of_scipy(tmp_path):
    run = prepared(tmp_path, robot())
    current = lambda t: 0.004 * math.sin(2 * math.pi * 5 * t)  # noqa: E731
    machine = hx.open_loop(run, lambda t: [current(t)], 1_000_000)
    description = run.scenario.description
    axis, supply = hydraulic_axis(description, drives_of(description)[0]), hydraulic_supply(description)
    at = int(machine.motors["current_at"][0])
    y0 = [machine.y[0], machine.y[1], *machine.y[at : at + 4]]
    want = plain(axis, supply, current, y0, 300, 1e-3)
    got, stuck = [], 0
    for k in range(300):
        machine.advance((k + 1) * 1_000_000)
        got.append([machine.y[0], machine.y[1], *machine.y[at : at + 4]])
        stuck += int(machine.motors["mode"][0] == 0)
    got = np.array(got)
    assert 5 < stuck < 250
    assert np.ptp(want[:, 0]) > 1e-3
    assert np.abs(got[:, 0] - want[:, 0]).max() < 1e-6 * np.ptp(want[:, 0]) + 1e-9
    assert np.abs(got[:, 4:] - want[:, 4:]).max() < 1e-4 * 70e5


@pytest.mark.parametrize("method", ["fast", "rk4", "adaptive"])
@pytest.mark.parametrize("feed", ["constant", "pump"])
def test_energy_and_oil_close_with_friction_of_seals(tmp_path, method, feed):
    machine = small.merged(robot(), {"hydraulics": hx.PUMP if feed == "pump" else hx.FEED})
    run = prepared(tmp_path, machine, method)
    driven = hx.open_loop(run, lambda t: [0.02 * math.sin(15 * t)])
    before = stored_energies(driven, run.plant)
    driven.advance(800_000_000)
    numbers = account(driven, run.plant, before)
    assert numbers["friction_J"] > 1.0
    assert abs(numbers["balance_error_relative"]) < 1e-6
    assert abs(oil_account(driven.groups[0], driven)["mass_error_relative"]) < 1e-6


def test_even_motion_takes_the_part_of_the_pressures_that_seals_take(tmp_path):
    """A_A p_A - A_B p_B = f v + mu (A_A p_A + A_B p_B), from the first instant."""
    machine = small.merged(robot(), {"controller": {"pressure_sensor": {"bits": 0}}})
    scenario = {
        "start": {"A": "-120 mm"},
        "initial": {"speed": {"A": "50 mm/s"}},
        "move": [{"to": {"A": "-60 mm"}, "speed": "50 mm/s"}],
    }
    signals = small.run_case(tmp_path, machine, scenario).signals
    p_a, p_b = signals["motor_A_pressure_a_Pa"][1], signals["motor_A_pressure_b_Pa"][1]
    drive, loss = 2e-4 * p_a - 1.4e-4 * p_b, SHARE * (2e-4 * p_a + 1.4e-4 * p_b)
    assert loss > 50.0
    assert drive == pytest.approx(VISCOUS * 0.05 + loss, rel=1e-3)


def test_complete_model_has_the_friction_of_seals_and_its_slopes(tmp_path):
    small.write_case(tmp_path, robot())
    description = read_description(tmp_path / "robot.yaml")
    model, machine = st.state_space(description), machine_of(description)
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = np.array(
            [
                rng.uniform(-0.14, -0.01),
                rng.uniform(-0.2, 0.2),
                *rng.uniform(-0.5, 0.5, 2),
                *rng.uniform(2e5, 7e6, 2),
            ]
        )
        u, signs = np.array([rng.uniform(-0.02, 0.02)]), np.sign([x[1], 0.0])
        want = plant_rates(machine, model, x, u, signs)
        np.testing.assert_allclose(
            model.rates(x, u, signs), want, rtol=1e-10, atol=1e-10 * np.abs(want).max()
        )
        A = model.linearise(x, u, signs).A
        for k in (4, 5):
            step = np.zeros(6)
            step[k] = 10.0
            slope = (model.rates(x + step, u, signs) - model.rates(x - step, u, signs)) / 20.0
            np.testing.assert_allclose(A[:2, k], slope[:2], rtol=1e-6)
    assert any("dry friction" in note for note in model.notes)
