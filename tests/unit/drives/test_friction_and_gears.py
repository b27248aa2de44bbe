"""Stiction, lossy gears, play and end stops: what stands still stands still, what moves obeys its equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from servotwin.control.user_laws import PythonLaw
from servotwin.drives.friction import dry_torque, friction_torque, holding_slack
from servotwin.drives.gears import lossy_torque, torsion_torque
from servotwin.drives.records import MOTOR, zeros
from servotwin.simulation.energy import spring_energy
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
    assert machine.world["events"][0] <= 2
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
    assert machine.world["events"][0] <= 2  # one breakaway, no chatter
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
    assert machine.world["events"][0] <= 3


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


def test_torsion_begins_behind_the_play_and_never_pulls() -> None:
    motors = zeros(MOTOR, 1)
    for name, value in {"stiffness": 10.0, "damping": 0.1, "half_play": 0.02, "eta": 1.0}.items():
        motors[name] = value
    assert _gear(motors, 0.01, 5.0, 0.0) == (0.0, 0.0)
    assert spring_energy(motors[0], 0.01) == 0.0
    spring, passed = _gear(motors, -0.05, 0.0, 3.0)
    assert spring == pytest.approx(-0.3, rel=1e-12)
    assert passed == spring
    assert spring_energy(motors[0], -0.05) == pytest.approx(0.5 * 10.0 * 0.03**2, rel=1e-12)
    assert _gear(motors, 0.021, -5.0, 0.0)[0] == 0.0  # flanks part quicker than the spring follows


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
