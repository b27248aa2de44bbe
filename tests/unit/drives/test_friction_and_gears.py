"""Stiction, lossy gears, play and end stops: what stands still stands still, what moves obeys its equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

from servotwin.control.servo.user_laws import PythonLaw
from servotwin.drives.friction import dry_torque, friction_torque, holding_slack
from servotwin.drives.gears import flank_loss, flank_margin, lossy_torque, next_contact, torsion_torque
from servotwin.drives.records import MOTOR, zeros
from servotwin.simulation.results.energy import spring_energy
from servotwin.simulation.run import carry_out
from tests import small_drives as small
from tests.small_drives import DC, LOAD, RATIO, J, K

G = 9.80665
J_ALL = J + LOAD / RATIO**2
# torques as commanded: K times the current of the law, friction as stated, no viscous part
IDEAL = {"kind": "ideal", "torque_constant": f"{K} N*m/A", "rotor_inertia": f"{J} kg*m^2"}
STICKY = {**IDEAL, "coulomb_friction": "0.1 N*m", "static_friction": "0.3 N*m", "stribeck_speed": "2 rad/s"}


def torque(of_time: Callable[[float], float], period: float = 2e-4) -> PythonLaw:
    return PythonLaw(lambda time, _signals: [of_time(time) / K], period, "current")


def run(folder: Path, axis: small.Tree, seconds: float, law: PythonLaw, **solver: Any) -> tuple[Any, Any]:
    """Signals every 0.2 ms and the machine at the end."""
    home = "0 m" if axis["type"] == "prismatic" else "0 rad"
    scenario = {**small.rest(seconds, every="0.2 ms", at=home), "solver": {"method": "rk4", **solver}}
    made = small.prepared(folder, small.robot(axes={"A": axis}), scenario, law)
    return carry_out(made, lambda part: None), made.machine


# --- stiction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_a_stuck_shaft_stands_still_to_the_last_bit(tmp_path: Path, method: str) -> None:
    law = torque(lambda time: 0.29 * math.sin(60.0 * time))
    result, machine = run(tmp_path, small.axis(motor=STICKY), 0.2, law, method=method)
    assert set(result.signals["joint_A_position_rad"]) == {0.0}
    assert set(result.signals["joint_A_velocity_rad_per_s"]) == {0.0}
    assert machine.world["state"]["events"][0] <= 2
    assert result.summary["energy"]["friction_J"] == 0.0
    assert {entry["kind"] for entry in result.summary["axes"][0]["saturation"]} == {"stuck"}


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_it_lets_go_at_its_static_friction_and_slides_by_stribecks_curve(tmp_path: Path, method: str) -> None:
    result, machine = run(
        tmp_path, small.axis(motor=STICKY), 0.2, torque(lambda time: 2.0 * time), method=method
    )
    t, w = result.signals["time_s"], RATIO * result.signals["joint_A_velocity_rad_per_s"]
    first = t[np.flatnonzero(w)[0]]
    assert first == pytest.approx(0.15, abs=4.1e-4)  # 0.3 N m, within two periods of the torque
    assert np.all(w >= 0.0)
    assert machine.world["state"]["events"][0] <= 2  # one breakaway, no chatter
    # the equation of motion with eq:friction-curve, by the mean acceleration over each period
    tau = result.signals["motor_A_torque_N_m"][1:]
    middle = 0.5 * (w[1:] + w[:-1])
    dry = 0.1 + 0.2 * np.exp(-((middle / 2.0) ** 2))
    moving = w[:-1] > 0.0
    np.testing.assert_allclose(
        (np.diff(w) / np.diff(t))[moving], ((tau - dry) / J_ALL)[moving], rtol=1e-3, atol=0.5
    )


def test_it_stops_and_stays_where_coulomb_friction_ends_the_motion(tmp_path: Path) -> None:
    """A push, then nothing: the way until standstill is that of constant deceleration."""
    coulomb = {**IDEAL, "coulomb_friction": "0.1 N*m"}
    law = torque(lambda time: 0.3 if time < 0.0199 else 0.0)
    result, machine = run(tmp_path, small.axis(motor=coulomb), 0.2, law)
    w_top, way = 0.2 / J_ALL * 0.02, 0.5 * 0.2 / J_ALL * 0.02**2
    way += w_top**2 / (2 * 0.1 / J_ALL)
    assert RATIO * machine.x[0] == pytest.approx(way, rel=1e-9)
    assert len(set(result.signals["joint_A_position_rad"][-500:])) == 1
    assert machine.world["state"]["events"][0] <= 3


@njit
def _friction(motors: Any, w: float, tau: float, load: float) -> tuple[float, float, float]:
    return -dry_torque(motors[0], w), friction_torque(motors[0], w), holding_slack(motors[0], tau, load)


def test_friction_terms_are_those_of_the_formula() -> None:
    motors = zeros(MOTOR, 1)
    for name, value in {
        "f": 0.01,
        "tau_c": 0.1,
        "tau_s": 0.3,
        "tau_fall": (0.2, 0.0),
        "w_stribeck": 2.0,
        "eta": 0.5,
        "mode": -1,
    }.items():
        motors[name] = value
    dry, friction, slack = _friction(motors, -3.0, 0.1, 0.5)
    assert dry == pytest.approx(0.1 + 0.2 * math.exp(-2.25), rel=1e-14)
    assert friction == pytest.approx(-0.03 - dry, rel=1e-14)
    # eq:stiction-cone: 0.5 * 0.5 - 0.3 <= tau <= 0.5 / 0.5 + 0.3
    assert slack == pytest.approx(min(1.3 - 0.1, 0.1 + 0.05), rel=1e-14)
    motors["brake_closed"], motors["brake_torque"] = 1, 2.0
    assert _friction(motors, -3.0, 0.1, 0.5)[0] == pytest.approx(dry + 2.0, rel=1e-14)


# --- gears with losses ------------------------------------------------------------------------------


@pytest.mark.parametrize(("efficiency", "falls"), [(0.3, False), (0.8, True)])
@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_a_weight_runs_back_through_a_good_gear_and_not_through_a_bad_one(
    tmp_path: Path, efficiency: float, falls: bool, method: str
) -> None:
    """Friction of the shaft and the loss of the gear hold the weight: eta m g / N < tau_c."""
    motor = {**IDEAL, "coulomb_friction": "0.1 N*m"}
    lift = small.merged(small.LIFT, {"gear": {"efficiency": efficiency}, "motor": motor})
    result, machine = run(tmp_path, lift, 0.2, torque(lambda _time: 0.0), method=method)
    if not falls:
        assert set(result.signals["joint_A_position_m"]) == {0.0}
        return
    # eq:integrated-model with g = eta: (m + N^2 J / eta) a = -m g + N tau_c / eta
    a = (-20.0 * G + 600.0 * 0.1 / efficiency) / (20.0 + 600.0**2 * J / efficiency)
    assert machine.x[0] == pytest.approx(0.5 * a * 0.2**2, rel=1e-6)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_lifting_costs_and_lowering_gives_what_the_efficiency_says(tmp_path: Path, direction: float) -> None:
    """Torque at constant speed: m g / (N eta) upwards, eta m g / N downwards."""
    lift = small.merged(
        small.LIFT, {"gear": {"efficiency": 0.8}, "motor": {**DC, "viscous_friction": "0 N*m*s/rad"}}
    )
    scenario = {
        "move": [{"to": {"A": f"{0.3 * direction} m"}, "dwell": "0.1 s"}],
        "solver": {"method": "fast"},
    }
    result = small.run_case(tmp_path, small.robot(axes={"A": lift}), scenario)
    cruise = np.abs(result.signals["joint_A_velocity_ref_m_per_s"]) > 0.4 - 1e-9
    tau = result.signals["motor_A_torque_N_m"][cruise][-100:].mean()
    wanted = 20.0 * G / 600.0 * (1.25 if direction > 0.0 else 0.8)
    assert tau == pytest.approx(wanted, rel=0.02)  # the speed is not quite constant yet


# --- torsion and play -------------------------------------------------------------------------------


@njit
def _gear(motors: Any, twist: float, rate: float, w: float) -> tuple[float, float]:
    spring = torsion_torque(motors[0], twist, rate)
    return spring, lossy_torque(motors[0], spring, w)


@njit
def _flank(motors: Any, twist: float, rate: float) -> tuple[int, float, float]:
    touches = next_contact(motors[0], twist, rate)
    return touches, flank_margin(motors[0], twist, rate), flank_loss(motors[0], motors[0].contact, rate)


def test_torsion_is_that_of_the_flank_that_touches() -> None:
    motors = zeros(MOTOR, 1)
    for name, value in {"stiffness": 10.0, "damping": 0.1, "half_play": 0.02, "eta": 1.0}.items():
        motors[name] = value
    assert _gear(motors, 0.01, 5.0, 0.0) == (0.0, 0.0)
    assert spring_energy(motors[0], 0.01) == 0.0
    motors["contact"] = -1
    spring, passed = _gear(motors, -0.05, 0.0, 3.0)
    assert spring == pytest.approx(-0.3, rel=1e-12)
    assert passed == spring
    assert spring_energy(motors[0], -0.05) == pytest.approx(0.5 * 10.0 * 0.03**2, rel=1e-12)


def test_flank_touches_beyond_the_play_and_parts_when_it_would_pull() -> None:
    motors = zeros(MOTOR, 1)
    for name, value in {"stiffness": 10.0, "damping": 0.1, "half_play": 0.02}.items():
        motors[name] = value
    assert _flank(motors, 0.019, 5.0)[0] == 0
    assert _flank(motors, 0.021, 5.0)[0] == 1
    assert _flank(motors, -0.021, -5.0)[0] == -1
    assert _flank(motors, 0.021, -5.0)[0] == 0  # flanks part quicker than the spring follows
    motors["contact"] = 1
    # 10 (0.03 - 0.02) = 0.1 r: parts at a rate of -1 rad/s, with 10/2 0.01^2 J in the spring
    touches, margin, loss = _flank(motors, 0.03, -1.0 + 1e-9)
    assert (touches, margin) == (1, pytest.approx(1e-10, rel=1e-3))
    assert loss == pytest.approx(0.5 * 10.0 * 0.01**2, rel=1e-8)
    assert _flank(motors, 0.03, -1.0 - 1e-9)[0] == 0


# --- play: a motor torque that swings, in closed steps of 0.2 ms, over a gear with play ----------------------

STIFF, DAMPED, PLAY = 4000.0 / RATIO**2, 2.0 / RATIO**2, 0.5 * math.radians(0.2) * RATIO
PERIOD = 2e-4


def swinging(time: float) -> float:
    return 0.3 * math.sin(40.0 * (time + 1e-9))


def bounced(seconds: float) -> Any:
    """Rotor and load (k, 4), by DOP853 from event to event: free flight, flank by flank."""
    load = LOAD / RATIO**2

    def push(y: Any, side: float) -> float:
        return float(STIFF * (side * (y[0] - y[2]) - PLAY) + DAMPED * side * (y[1] - y[3]))

    def rate(_t: float, y: Any, tau: float, side: float) -> list[float]:
        passed = side * push(y, side) if side else 0.0
        return [y[1], (tau - passed) / J, y[3], passed / load]

    def parts(_t: float, y: Any, _tau: float, side: float) -> float:
        return push(y, side) if side else 1.0

    def meets(_t: float, y: Any, _tau: float, side: float) -> float:
        return 1.0 if side else max(min(s * (y[0] - y[2]) - PLAY, push(y, s)) for s in (1.0, -1.0))

    parts.terminal, parts.direction, meets.terminal, meets.direction = True, -1, True, 1  # type: ignore[attr-defined]
    y, side, found = np.zeros(4), 0.0, []
    for k in range(round(seconds / PERIOD)):
        t, end = k * PERIOD, (k + 1) * PERIOD
        while end - t > 1e-14:
            args = (swinging(k * PERIOD), side)
            leg = solve_ivp(
                rate, (t, end), y, args=args, events=(parts, meets), method="DOP853", rtol=1e-12, atol=1e-14
            )
            t, y = float(leg.t[-1]), leg.y[:, -1]
            if leg.status == 1:
                side = 0.0 if side else math.copysign(1.0, y[0] - y[2])
        found.append(y)
    return np.array(found)


@pytest.mark.parametrize(
    ("method", "steps", "most"), [("rk4", 1, 1e-7), ("rk4", 4, 1e-9), ("adaptive", 1, 1e-8)]
)
def test_load_behind_play_moves_as_by_brute_force(
    tmp_path: Path, method: str, steps: int, most: float
) -> None:
    gear = {"ratio": RATIO, "stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad", "backlash": "0.2 deg"}
    law = torque(swinging, PERIOD)
    result, machine = run(tmp_path, small.axis(motor=IDEAL, gear=gear), 0.5, law, method=method, steps=steps)
    load = RATIO * result.signals["joint_A_position_rad"]
    exact = bounced(0.5)[:, 2]
    assert np.abs(load - exact).max() < most * np.ptp(exact)
    assert machine.world["state"]["events"][0] > 20
    assert abs(result.summary["energy"]["balance_error_relative"]) < most


def test_fast_method_books_the_work_of_an_ideal_motor_on_its_rotor(tmp_path: Path) -> None:
    """Behind an elastic gear the rotor turns by itself: what it takes is its torque times its own angle."""
    gear = {"ratio": RATIO, "stiffness": "400 N*m/rad", "damping": "0.2 N*m*s/rad"}
    axis = small.axis(motor=IDEAL, gear=gear)
    result, _ = run(tmp_path, axis, 0.2, torque(swinging, PERIOD), method="fast")
    theta = np.append(0.0, result.signals["motor_A_angle_rad"])
    work = sum(swinging(k * PERIOD) * turned for k, turned in enumerate(np.diff(theta)))
    energy = result.summary["energy"]
    assert energy["source_J"] == pytest.approx(work, rel=1e-9)
    assert abs(energy["balance_error_relative"]) < 1e-5


def test_loss_of_an_elastic_gear_always_takes_power() -> None:
    motors = zeros(MOTOR, 1)
    for name, value in {"stiffness": 10.0, "eta": 0.7}.items():
        motors[name] = value
    for twist in (-0.1, 0.2):
        for w in (-50.0, -0.1, 0.1, 50.0):
            spring, passed = _gear(motors, twist, 0.0, w)
            assert (spring - passed) * w >= 0.0
    spring, passed = _gear(motors, 0.1, 0.0, 50.0)
    assert passed == pytest.approx(0.7 * spring, rel=1e-9)


def test_lost_motion_of_a_gear_with_play_is_its_play(tmp_path: Path) -> None:
    """A pendulum at rest on either side of its lowest point hangs on either flank of the gear."""
    gear = {"ratio": RATIO, "stiffness": "4000 N*m/rad", "damping": "4 N*m*s/rad", "backlash": "0.01 rad"}
    axis = small.axis(origin=small.HORIZONTAL, gear=gear)
    down = -math.pi / 2
    scenario = {
        "start": {"A": f"{down - 0.8} rad"},
        "move": [{"to": {"A": f"{down + 0.8} rad"}, "dwell": "1 s"}],
        "solver": {"method": "fast"},
    }
    signals = small.run_case(tmp_path, small.robot(axes={"A": axis}), scenario).signals
    twist = signals["motor_A_angle_rad"] / RATIO - signals["joint_A_position_rad"]
    hang = small.MASS * G * small.ARM * math.sin(0.8) / 4000.0  # of the spring, on either side
    assert abs(twist[-1] - twist[0]) == pytest.approx(0.01 + 2 * hang, rel=1e-3)


# --- end stops --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_an_end_stop_stops_at_the_margin_holds_and_releases(tmp_path: Path, method: str) -> None:
    axis = small.axis(limits={"position": ["-0.5 rad", "0.5 rad"], "speed": "4 rad/s"})
    law = PythonLaw(lambda time, _signals: [20.0 if time < 0.3 else -20.0], 2e-4, "voltage")
    result, _ = run(tmp_path, axis, 0.35, law, method=method)
    t, q = result.signals["time_s"], result.signals["joint_A_position_rad"]
    stop = 0.5 + 0.05 * 1.0  # STOP_MARGIN of the stroke beyond the limit
    assert q.max() <= stop
    held = q[(t > 0.25) & (t < 0.2999)]
    assert set(held) == {stop}
    assert q[-1] < stop - 0.01
    assert result.summary["energy"]["impact_J"] > 0.0
    assert [event.what for event in result.events].count("end stop") == 1
    left = t[np.flatnonzero(q == stop)[-1]]
    # it leaves when the current has changed its sign: a time constant of 1.6 ms, from 40 A to -40 A
    assert left == pytest.approx(0.3 + 1.6e-3 * math.log(2.0), abs=4e-4)
