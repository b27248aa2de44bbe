"""The account of energy: by what it is judged, and what it sees."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from servotwin.control.servo.user_laws import PythonLaw
from servotwin.simulation.run import carry_out
from tests import small_drives as small

G = 9.80665
IDEAL = {"kind": "ideal", "torque_constant": f"{small.K} N*m/A", "rotor_inertia": f"{small.J} kg*m^2"}
BUS = {"capacitance": "2 mF", "supply_resistance": "0.1 ohm"}


def falling(folder: Path, solver: small.Tree) -> small.Result:
    """A pendulum on a light motor whose winding is open: nothing comes from the source."""
    motor = {**IDEAL, "rotor_inertia": "1e-6 kg*m^2"}
    axis = small.axis(
        origin=small.HORIZONTAL, motor=motor, gear={"ratio": 10}, limits={"position": ["-9 rad", "9 rad"]}
    )
    slow = dict.fromkeys(("main_period", "axis_period", "speed_period", "current_period"), "10 ms")
    robot = small.robot({"controller": {**slow, "position_bandwidth": "2 1/s", "speed_bandwidth": "8 rad/s",
                                        "current_bandwidth": "30 rad/s"}}, axes={"A": axis})  # fmt: skip
    scenario = {
        **small.rest(1.0, every="10 ms"),
        "faults": [{"at": "0 s", "axis": "A", "kind": "winding-open"}],
        "solver": solver,
    }
    return small.run_case(folder, robot, scenario)


def test_balance_without_a_source_is_judged_by_what_changed_hands(tmp_path: Path) -> None:
    result = falling(tmp_path, {"method": "modified-euler"})
    q, qd = result.signals["joint_A_position_rad"][-1], result.signals["joint_A_velocity_rad_per_s"][-1]
    inertia = small.LOAD + 10.0**2 * 1e-6
    fallen = -small.MASS * G * small.ARM * math.sin(q)
    gained = 0.5 * inertia * qd**2
    energy = result.summary["energy"]
    assert energy["source_J"] == 0.0
    assert energy["balance_error_J"] == pytest.approx(fallen - gained, rel=1e-6)
    assert energy["moved_J"] == pytest.approx(0.5 * (fallen + gained), rel=1e-9)
    assert energy["balance_error_relative"] == pytest.approx((fallen - gained) / energy["moved_J"], rel=1e-6)
    assert abs(energy["balance_error_relative"]) > 1e-5
    assert any("energy balance" in line for line in result.summary["warnings"])


def test_balance_without_a_source_is_quiet_where_the_run_is_good(tmp_path: Path) -> None:
    result = falling(tmp_path, {"method": "adaptive", "tolerance": 1e-10})
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-8
    assert not any("energy balance" in line for line in result.summary["warnings"])


@pytest.mark.parametrize("every", ["0.2 ms", "5 ms"])
def test_energy_moved_does_not_depend_on_what_is_recorded(tmp_path: Path, every: str) -> None:
    scenario = {"move": [{"to": {"A": "0.5 rad"}, "dwell": "0.05 s"}], "record": {"every": every}}
    result = small.run_case(tmp_path, small.robot(), {**scenario, "solver": {"method": "fast"}})
    finest = small.run_case(
        tmp_path, small.robot(), {**scenario, "record": {"every": "0.2 ms"}, "solver": {"method": "fast"}}
    )
    # the same but for the row that ends the run
    assert result.summary["energy"]["moved_J"] == pytest.approx(finest.summary["energy"]["moved_J"], rel=1e-3)
    flow = np.abs(np.diff(finest.signals["bus_energy_J"], prepend=0.0)).sum()
    energy = finest.summary["energy"]
    changed = sum(abs(energy[name]) for name in energy if name.endswith("_J") and name not in OTHER)
    assert energy["moved_J"] == pytest.approx(max(flow, 0.5 * (flow + changed)), rel=1e-9)


OTHER = ("source_J", "balance_error_J", "moved_J")


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_an_ideal_motor_takes_nothing_from_a_bus_that_others_feed_on(tmp_path: Path, method: str) -> None:
    axes = {"A": small.axis(), "B": small.axis(parent="A", motor=IDEAL)}
    scenario = {
        "move": [{"to": {"A": "0.5 rad", "B": "-0.4 rad"}, "dwell": "0.02 s"}],
        "solver": {"method": method, "steps": 1 if method == "fast" else 8},
    }
    result = small.run_case(tmp_path, small.robot({"power": BUS}, axes=axes), scenario)
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-5


@pytest.mark.parametrize("power", [{}, BUS], ids=["stiff bus", "capacitor"])
def test_energy_of_signals_and_log_is_that_of_all_electrical_sources(
    tmp_path: Path, power: small.Tree
) -> None:
    """The ideal motor, which has no bridge on the bus, counts with and without a capacitor."""
    axes = {"A": small.axis(), "B": small.axis(parent="A", motor=IDEAL)}
    scenario = {"move": [{"to": {"A": "0.5 rad", "B": "-0.4 rad"}}], "record": {"every": "1 ms"}}
    result = small.run_case(tmp_path, small.robot({"power": power}, axes=axes), scenario)
    source = result.summary["energy"]["source_J"]
    angle, torque = result.signals["motor_B_angle_rad"], result.signals["motor_B_torque_N_m"]
    work = float(torque @ np.diff(angle, prepend=0.0))
    assert abs(work) > 1e-3
    assert result.signals["bus_energy_J"][-1] == pytest.approx(source, rel=1e-12)
    assert result.log.energy[-1] == pytest.approx(source, rel=1e-12)
    powers = np.diff(result.signals["time_s"], prepend=0.0) @ result.signals["bus_power_W"]
    assert powers == pytest.approx(source, rel=1e-9)


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_power_of_the_braking_resistor_is_that_of_the_instant_it_is_switched_on(
    tmp_path: Path, method: str
) -> None:
    """By the voltages after every window, with the two-point rule of the resistor."""
    on, off, ohms = 63.0, 62.0, 5.0
    resistor = {"resistance": f"{ohms} ohm", "on": f"{on} V", "off": f"{off} V"}
    power = {"capacitance": "0.4 mF", "supply_resistance": "0.6 ohm", "braking_resistor": resistor}
    law = PythonLaw(lambda time, _s: [12.0 if time < 0.05 else -12.0], 2e-4, "current")
    made = small.prepared(
        tmp_path,
        small.robot({"power": power}, axes={"A": small.axis(link={"mass": "20 kg"})}),
        {**small.rest(0.1, every="0.2 ms"), "solver": {"method": method}},
        law,
    )
    result = carry_out(made, lambda part: None)
    braking, most = False, 0.0
    for u in result.signals["bus_voltage_V"]:
        if braking:
            most = max(most, u)
        braking = u > on or (braking and u >= off)
        if braking:
            most = max(most, u)
    assert most > on
    assert result.summary["bus"]["brake_resistor_peak_W"] == pytest.approx(most**2 / ohms, rel=1e-12)
    if method == "fast":  # at its highest when it is switched on
        assert most == result.signals["bus_voltage_V"].max()
