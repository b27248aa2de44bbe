"""Motors at their bridges against closed forms: step responses, ripple, synchronous motor, heat."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.integrate import cumulative_trapezoid
from scipy.linalg import expm

from servotwin.control.servo.user_laws import PythonLaw
from servotwin.drives.pmsm.model import pmsm_current_rates, pmsm_torque
from servotwin.drives.records import MOTOR, zeros
from servotwin.drives.thermal import heat
from servotwin.drives.winding_window import one_pulse_shape, two_pulse_shape
from servotwin.simulation.run import carry_out
from tests import small_drives as small
from tests.small_drives import BUS, DC, LOAD, RATIO, VISCOUS, J, K, L, R

U = 12.0
J_ALL = J + LOAD / RATIO**2
LOCKED = {**DC, "static_friction": "100 N*m"}  # no voltage turns this shaft
REDUCED = {key: value for key, value in DC.items() if key != "inductance"} | {"kind": "dc-reduced"}


def constant(value: float, level: str = "voltage", period: float = 0.01) -> PythonLaw:
    return PythonLaw(lambda _time, signals: np.full(len(signals.current), value), period, level)


def one_motor(motor: dict[str, Any], **changes: Any) -> small.Tree:
    return small.robot(changes, axes={"A": small.axis(motor=motor)})


def final(folder: Path, machine: small.Tree, seconds: float, law: PythonLaw, **solver: Any) -> Any:
    """The machine after a run from rest."""
    run = small.prepared(folder, machine, {**small.rest(seconds), "solver": solver}, law)
    carry_out(run, lambda part: None)
    return run.machine


@pytest.mark.parametrize(("method", "steps"), [("rk4", 16), ("adaptive", 1)])
def test_free_rotor_follows_the_analytic_step_response(tmp_path: Path, method: str, steps: int) -> None:
    """Speed and current of the linear system (w, i), by its matrix exponential, to 1e-8."""
    machine = final(
        tmp_path,
        one_motor(DC),
        0.02,
        constant(U),
        method=method,
        steps=steps,
        pwm="averaged",
        tolerance=1e-12,
    )
    A = np.array([[-VISCOUS / J_ALL, K / J_ALL, 0.0], [-K / L, -R / L, U / L], [0.0, 0.0, 0.0]])
    w, i, _ = expm(0.02 * A) @ [0.0, 0.0, 1.0]
    assert machine.qd[0] * RATIO == pytest.approx(w, rel=1e-8)
    assert machine.y[machine.motors["current_at"][0]] == pytest.approx(i, rel=1e-8)


def test_fast_method_follows_the_analytic_step_response(tmp_path: Path) -> None:
    """The fast method sees the arm once per period: 1e-6 of the speed, after twelve time constants."""
    machine = final(tmp_path, one_motor(DC), 0.02, constant(U), method="fast", pwm="averaged")
    A = np.array([[-VISCOUS / J_ALL, K / J_ALL, 0.0], [-K / L, -R / L, U / L], [0.0, 0.0, 0.0]])
    w, i, _ = expm(0.02 * A) @ [0.0, 0.0, 1.0]
    assert machine.qd[0] * RATIO == pytest.approx(w, rel=1e-6)
    assert machine.y[machine.motors["current_at"][0]] == pytest.approx(i, rel=1e-5)


@pytest.mark.parametrize(("method", "steps"), [("rk4", 16), ("fast", 1)])
def test_locked_rotor_charges_like_a_coil(tmp_path: Path, method: str, steps: int) -> None:
    machine = final(
        tmp_path, one_motor(LOCKED), 0.003, constant(5.0), method=method, steps=steps, pwm="averaged"
    )
    wanted = 5.0 / R * (1.0 - math.exp(-0.003 * R / L))
    assert machine.y[machine.motors["current_at"][0]] == pytest.approx(wanted, rel=1e-8)
    assert machine.x[0] == 0.0


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_motor_without_inductance_is_first_order(tmp_path: Path, method: str) -> None:
    machine = final(tmp_path, one_motor(REDUCED), 0.02, constant(U), method=method, steps=8, pwm="averaged")
    close = 1e-8 if method == "rk4" else 1e-6  # the fast method takes the speed in a period as a parabola
    rate = (K**2 / R + VISCOUS) / J_ALL
    w = K * U / R / J_ALL / rate * (1.0 - math.exp(-0.02 * rate))
    assert machine.qd[0] * RATIO == pytest.approx(w, rel=close)
    theta = K * U / R / J_ALL / rate * (0.02 - (1.0 - math.exp(-0.02 * rate)) / rate)
    assert machine.x[0] * RATIO == pytest.approx(theta, rel=close)


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_motor_without_inductance_follows_its_loops_under_pulses(tmp_path: Path, method: str) -> None:
    """Its current jumps with every edge; the driver must see what an inductance would leave of it."""
    scenario = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.3 s"}], "solver": {"method": method}}
    result = small.run_case(tmp_path, one_motor(REDUCED), scenario)
    assert result.signals["joint_A_position_rad"][-1] == pytest.approx(1.0, abs=1e-3)


# --- ripple and edges -------------------------------------------------------------------------------


def zoomed(folder: Path, m: float, bridge: dict[str, Any], method: str = "rk4") -> dict[str, np.ndarray]:
    """The pulses of a locked motor once its current has settled."""
    scenario = {
        "move": [{"to": {"A": "0 rad"}, "dwell": "0.06 s"}],
        "record": {"every": "1 ms", "zoom": {"at": "0.05 s", "span": "0.4 ms"}},
        "solver": {"method": method, "steps": 4},
    }
    machine = one_motor({**LOCKED, "current_limit": "200 A"}, power={"bridge": bridge})
    return small.run_case(folder, machine, scenario, constant(m * BUS)).zoom


def ripple(u: float, duty: float, period: float) -> float:
    """Peak to peak current of a coil under pulses of u (above their low level), in the steady state."""
    time = L / R
    up, down = 1 - math.exp(-duty * period / time), 1 - math.exp(-(1 - duty) * period / time)
    return u / R * up * down / (1 - math.exp(-period / time))


@pytest.mark.parametrize("method", ["rk4", "fast"])
@pytest.mark.parametrize("m", [0.1, 0.5, -0.3])
def test_ripple_of_three_levels_matches_the_closed_form(tmp_path: Path, m: float, method: str) -> None:
    """Two pulses of |m| T/2 in a period: the ripple has twice the frequency, about u |m| (1-|m|) T / 2 L."""
    zoom = zoomed(tmp_path, m, {}, method)
    current = zoom["motor_A_current_A"]
    T = 2e-4
    assert np.ptp(current) == pytest.approx(ripple(BUS, abs(m), T / 2), rel=1e-6)
    # the closed form without resistance is good to (T R / L)^2
    assert np.ptp(current) == pytest.approx(BUS * abs(m) * (1 - abs(m)) * T / 2 / L, rel=5e-3)
    assert set(np.round(zoom["motor_A_voltage_V"], 9)) == {0.0, math.copysign(BUS, m)}


@pytest.mark.parametrize("m", [0.0, 0.4])
def test_ripple_of_two_levels_is_larger(tmp_path: Path, m: float) -> None:
    zoom = zoomed(tmp_path, m, {"modulation": "bipolar"})
    wanted = ripple(2 * BUS, (1 + m) / 2, 2e-4)
    assert np.ptp(zoom["motor_A_current_A"]) == pytest.approx(wanted, rel=1e-6)
    assert set(np.round(zoom["motor_A_voltage_V"], 9)) == {-BUS, BUS}


@pytest.mark.parametrize("pulses", [1, 2])
@pytest.mark.parametrize("mean", [-0.6, 0.05, 0.4, 0.9])
def test_shape_of_the_ripple_is_that_of_its_integrals(pulses: int, mean: float) -> None:
    """Straight lines under one or two pulses, drawn and integrated point by point."""
    t = np.linspace(-0.5, 0.5, 200001)
    duty = abs(mean) if pulses == 2 else 0.5 * (1 + mean)
    rises = np.abs(np.abs(t) - 0.25) < duty / 4 if pulses == 2 else np.abs(t) < duty / 2
    ripple = cumulative_trapezoid(np.where(rises, 1 - duty, -duty), t, initial=0.0)
    ripple -= ripple[len(t) // 2]
    beside = ripple - 12 * np.trapezoid(t * ripple, t) * t
    swing = np.trapezoid(cumulative_trapezoid(beside, t, initial=0.0) ** 2, t)
    expected = swing / np.trapezoid(t**3 / 6 * beside, t) ** 2
    shape = one_pulse_shape if pulses == 1 else two_pulse_shape
    assert shape.py_func(mean) == pytest.approx(expected, rel=1e-3)


def test_voltage_switches_where_carrier_and_modulation_meet(tmp_path: Path) -> None:
    zoom = zoomed(tmp_path, 0.37, {})
    u, t = zoom["motor_A_voltage_V"], zoom["time_s"]
    edges = np.flatnonzero(np.diff(u) != 0.0)
    assert len(edges) == 8  # four in each of the two periods
    np.testing.assert_allclose(t[edges], t[edges + 1], atol=1e-15)
    np.testing.assert_allclose(zoom["motor_A_modulation"], 0.37, rtol=1e-12)
    np.testing.assert_allclose(np.abs(zoom["carrier"][edges]), 0.37, rtol=1e-9)


@pytest.mark.parametrize(("current", "bridge"), [(1.0, {}), (1.0, {"modulation": "bipolar"}), (-1.0, {})])
@pytest.mark.parametrize("pwm", ["switched", "averaged"])
def test_dead_time_takes_voltage_against_the_current(
    tmp_path: Path, current: float, bridge: dict[str, Any], pwm: str
) -> None:
    """R i = m u - 2 (t_d - t_s) u sign(i) / T in the mean; the current never changes its sign here."""
    dead, storage, m = 3e-6, 1e-6, 0.3 * current
    power = {"bridge": {**bridge, "dead_time": f"{dead} s", "storage_time": f"{storage} s"}}
    machine = one_motor({**LOCKED, "current_limit": "200 A"}, power=power)
    scenario = {**small.rest(0.06), "solver": {"method": "rk4", "steps": 4, "pwm": pwm}}
    result = small.run_case(tmp_path, machine, scenario, constant(m * BUS))
    wanted = (m - 2 * (dead - storage) / 2e-4 * current) * BUS / R
    assert result.signals["motor_A_current_A"][-1] == pytest.approx(wanted, rel=1e-7)


def test_switched_and_averaged_agree_in_the_mean(tmp_path: Path) -> None:
    """A move with both: the ripple moves the sampled current by less than itself, the arm hardly at all."""
    move = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.1 s"}]}
    machine = one_motor(DC)
    switched = small.run_case(tmp_path, machine, move).signals
    averaged = small.run_case(tmp_path, machine, move, solver__pwm="averaged").signals
    q, q_mean = switched["joint_A_position_rad"], averaged["joint_A_position_rad"]
    assert np.abs(q - q_mean).max() < 1e-5  # rad, of 1 rad: what an error of 1 % of the ripple adds up to
    i, i_mean = switched["motor_A_current_A"], averaged["motor_A_current_A"]
    assert np.abs(i - i_mean).max() < 0.01 * np.abs(i).max()


# --- synchronous motor ------------------------------------------------------------------------------


@njit
def _rates(
    motors: Any, u_d: float, u_q: float, i_d: float, i_q: float, w: float
) -> tuple[float, float, float]:
    r_d, r_q = pmsm_current_rates(motors[0], u_d, u_q, i_d, i_q, w)
    return r_d, r_q, pmsm_torque(motors[0], i_d, i_q)


def test_synchronous_motor_rests_at_the_closed_form_of_its_steady_state() -> None:
    motors = zeros(MOTOR, 1)
    R_s, L_d, L_q, psi, p, w = 0.5, 0.8e-3, 1.1e-3, 0.02, 4, 150.0
    for name, value in {"R": R_s, "L_d": L_d, "L_q": L_q, "psi": psi, "pole_pairs": p}.items():
        motors[name] = value
    u_d, u_q, w_e = -3.0, 20.0, p * w
    i_d, i_q = np.linalg.solve([[R_s, -w_e * L_q], [w_e * L_d, R_s]], [u_d, u_q - w_e * psi])
    r_d, r_q, torque = _rates(motors, u_d, u_q, i_d, i_q, w)
    assert abs(r_d) + abs(r_q) < 1e-9 * u_q / L_d
    # power: electrical = copper + mechanical
    electrical = 1.5 * (u_d * i_d + u_q * i_q)
    assert electrical == pytest.approx(1.5 * R_s * (i_d**2 + i_q**2) + torque * w, rel=1e-12)
    assert torque == pytest.approx(1.5 * p * (psi * i_q + (L_d - L_q) * i_d * i_q), rel=1e-12)


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_field_oriented_step_reaches_the_current_without_a_flux_current(tmp_path: Path, method: str) -> None:
    law = constant(5.0, "current")
    locked = {**small.PMSM, "static_friction": "100 N*m"}
    machine = final(tmp_path, one_motor(locked), 0.02, law, method=method)
    at = machine.motors["current_at"][0]
    # the loop samples in the middle of the long zero vector, where ripple is small but not nothing
    assert machine.y[at] == pytest.approx(0.0, abs=0.05)
    assert machine.y[at + 1] == pytest.approx(5.0, abs=0.05)


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_spinning_synchronous_motor_keeps_its_currents_in_step(tmp_path: Path, method: str) -> None:
    """At constant current the motor speeds up by K i / J; averaged voltages, so that no ripple is left."""
    law = constant(1.0, "current")
    machine = final(tmp_path, one_motor(small.PMSM), 0.05, law, method=method, pwm="averaged", steps=2)
    at = machine.motors["current_at"][0]
    assert machine.y[at] == pytest.approx(0.0, abs=0.05)
    assert machine.y[at + 1] == pytest.approx(1.0, abs=0.05)
    # slowly rising friction takes a little: compare with the analytic solution under the ideal torque
    rate = VISCOUS / J_ALL
    w = K * 1.0 / VISCOUS * (1.0 - math.exp(-0.05 * rate))
    assert machine.qd[0] * RATIO == pytest.approx(w, rel=0.03)  # the current needs 1 / 1200 s to rise


def test_synchronous_robot_moves_and_holds(tmp_path: Path) -> None:
    machine = small.robot(axes={"A": small.axis(motor=small.PMSM, origin=small.HORIZONTAL)})
    scenario = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.4 s"}], "solver": {"method": "fast"}}
    result = small.run_case(tmp_path, machine, scenario)
    assert result.signals["joint_A_position_rad"][-1] == pytest.approx(1.0, abs=1e-4)
    hold = small.MASS * 9.80665 * small.ARM * math.cos(1.0) / RATIO / K
    assert result.signals["motor_A_current_A"][-1] == pytest.approx(hold, rel=0.02)
    rated = result.summary["axes"][0]
    assert rated["peak_current_A"] < 20.0


# --- heat -------------------------------------------------------------------------------------------

THERMAL = {
    "winding_to_housing": "2 K/W",
    "housing_to_ambient": "3 K/W",
    "winding_capacity": "0.5 J/K",
    "housing_capacity": "4 J/K",
}


@njit
def _heat(motors: Any, copper: float, dt: float, count: int) -> None:
    for _ in range(count):
        heat(motors[0], copper, dt)


def test_two_nodes_warm_up_like_their_linear_equations() -> None:
    motors = zeros(MOTOR, 1)
    C_w, C_h, R_wh, R_ha, power = 0.5, 4.0, 2.0, 3.0, 10.0
    values = {"C_w": C_w, "C_h": C_h, "R_wh": R_wh, "R_ha": R_ha, "R_ref": 0.5, "alpha": 0.00393}
    for name, value in values.items():
        motors[name] = value
    for name in ("T_w", "T_h", "T_ref", "T_ambient"):
        motors[name] = 25.0
    _heat(motors, power * 2e-4, 2e-4, 10_000)
    A = np.array(
        [
            [-1 / (R_wh * C_w), 1 / (R_wh * C_w), power / C_w],
            [1 / (R_wh * C_h), -(1 / R_wh + 1 / R_ha) / C_h, 0.0],
            [0.0, 0.0, 0.0],
        ]
    )
    T_w, T_h, _ = 25.0 + expm(2.0 * A) @ [0.0, 0.0, 1.0]
    # explicit steps of dt make an error of about dt over twice the time constant of 1 s
    assert motors["T_w"][0] == pytest.approx(T_w, abs=2e-4 * (T_w - 25.0))
    assert motors["T_h"][0] == pytest.approx(T_h, abs=1e-3 * (T_h - 25.0))
    assert motors["R"][0] == pytest.approx(0.5 * (1 + 0.00393 * (motors["T_w"][0] - 25.0)), rel=1e-14)


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_a_warm_winding_takes_less_current(tmp_path: Path, method: str) -> None:
    """Resistance drift in the whole machine: the locked motor's current settles at u / R(T_w)."""
    machine = one_motor({**LOCKED, "thermal": THERMAL})
    scenario = {**small.rest(0.5), "solver": {"method": method}}
    result = small.run_case(tmp_path, machine, scenario, constant(5.0))
    T_w = result.signals["motor_A_winding_temperature_degC"]
    assert T_w[-1] > 50.0
    wanted = 5.0 / (R * (1 + 0.00393 * (T_w[-1] - 25.0)))
    assert result.signals["motor_A_current_A"][-1] == pytest.approx(wanted, rel=1e-3)  # it warms on
    assert result.summary["axes"][0]["peak_winding_temperature_degC"] == pytest.approx(T_w[-1], abs=0.1)
