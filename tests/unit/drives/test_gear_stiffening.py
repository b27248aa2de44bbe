"""A gear that stiffens with its torque: period of the bilinear oscillator, energy, start, and what a file may say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.optimize import brentq

import servotwin as st
from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.description.sheets.gear_sheet import Torsion
from servotwin.drives.gears import spring_torque
from servotwin.drives.records import MOTOR, zeros
from servotwin.simulation.plant.drive_records import fill_stiffening
from servotwin.simulation.results.energy import spring_energy
from tests import small_drives as small
from tests.small_drives import ARM, LOAD, MASS, RATIO, J
from tests.unit.drives.test_friction_and_gears import IDEAL, run, torque

G = 9.80665
K1, K2, K3, T1, T2 = 4000.0, 12000.0, 16000.0, 2.0, 6.0  # joint side
THREE = {
    "ratio": RATIO,
    "stiffness": f"{K1} N*m/rad",
    "stiffening": [[f"{T1} N*m", f"{K2} N*m/rad"], [f"{T2} N*m", f"{K3} N*m/rad"]],
}
TWO = {**THREE, "stiffening": THREE["stiffening"][:1]}  # type: ignore[index]
SHEET = {
    "kind": "strain-wave",
    "ratio": 50,
    "torsion": {
        "k1": f"{K1} N*m/rad",
        "k2": f"{K2} N*m/rad",
        "k3": f"{K3} N*m/rad",
        "t1": f"{T1} N*m",
        "t2": f"{T2} N*m",
    },
}


@njit
def _spring(motors: Any, twist: float) -> float:
    return float(spring_torque(motors[0], twist))


def description(folder: Path, gear: Any) -> Any:
    axis = {**small.axis(), "gear": gear}
    small.write_case(folder, small.robot(axes={"A": axis}), small.rest(0.1))
    return read_description(folder / "robot.yaml")


def bilinear_period(fastest: float, bend: float, k1: float, k2: float, inertia: float) -> float:
    """Four quarters, each a sine of the soft spring up to the bend and one of the stiff spring to the turning point."""
    w1, w2 = math.sqrt(k1 / inertia), math.sqrt(k2 / inertia)
    at_bend = math.sqrt(fastest**2 - (w1 * bend) ** 2)
    return 4.0 * (math.asin(w1 * bend / fastest) / w1 + math.atan2(at_bend, w2 * bend * k1 / k2) / w2)


@pytest.mark.parametrize(
    ("method", "steps", "off", "most"),
    [
        ("rk4", 1, 4e-5, 3e-5),
        ("rk4", 8, 3e-6, 1e-5),
        ("adaptive", 1, 2e-6, 5e-6),
        ("fast", 1, 6e-4, 2e-3),  # books 1.5e-3 with a linear spring as well: 60 Hz without damping
    ],
)
def test_rotor_and_load_swing_with_the_period_of_a_bilinear_oscillator(
    tmp_path: Path, method: str, steps: int, off: float, most: float
) -> None:
    kick = torque(lambda time: 3.0 if time < 0.9e-3 else 0.0)
    solver = {"method": method} | ({"steps": steps} if method == "rk4" else {})
    result, _ = run(tmp_path, small.axis(motor=IDEAL, gear=TWO), 0.4, kick, **solver)
    signals = result.signals
    t = signals["time_s"]
    twist = signals["motor_A_angle_rad"] - RATIO * signals["joint_A_position_rad"]
    rate = signals["motor_A_speed_rad_per_s"] - RATIO * signals["joint_A_velocity_rad_per_s"]
    load = LOAD / RATIO**2
    inertia, k1, k2, bend = J * load / (J + load), K1 / RATIO**2, K2 / RATIO**2, T1 / K1 * RATIO
    first = int(np.searchsorted(t, 1.5e-3))  # the kick is over
    beyond = max(abs(twist[first]) - bend, 0.0)
    energy = 0.5 * inertia * rate[first] ** 2 + 0.5 * k1 * twist[first] ** 2 + 0.5 * (k2 - k1) * beyond**2
    fastest = math.sqrt(2.0 * energy / inertia)
    assert fastest > 2.0 * math.sqrt(k1 / inertia) * bend  # well beyond the bend
    # zeros of the twist: the spring is soft and linear there, a sine through two neighbours
    w1 = math.sqrt(k1 / inertia)
    rising = np.flatnonzero((twist[:-1] < 0.0) & (twist[1:] >= 0.0))
    crossings = t[rising] - np.arctan2(w1 * twist[rising], rate[rising]) / w1
    period = (crossings[-1] - crossings[0]) / (len(crossings) - 1)
    assert len(crossings) > 10
    assert period == pytest.approx(bilinear_period(fastest, bend, k1, k2, inertia), rel=off)
    assert abs(result.summary["energy"]["balance_error_relative"]) < most


def test_linear_spring_of_either_stiffness_has_another_period() -> None:
    """What the test above could not tell apart otherwise."""
    load = LOAD / RATIO**2
    inertia, k1, k2 = J * load / (J + load), K1 / RATIO**2, K2 / RATIO**2
    for fastest in (20.0, 40.0):
        found = bilinear_period(fastest, T1 / K1 * RATIO, k1, k2, inertia)
        assert (
            2.0 * math.pi * math.sqrt(inertia / k2) * 1.05
            < found
            < 2.0 * math.pi * math.sqrt(inertia / k1) * 0.95
        )


def test_spring_undoes_the_twist_of_its_sheet_and_holds_its_work(tmp_path: Path) -> None:
    gear = drives_of(description(tmp_path, {"datasheet": SHEET, "piecewise_stiffness": True}))[0].gear
    motors = zeros(MOTOR, 1)
    motors["stiffness"] = gear.stiffness
    fill_stiffening(motors[0], gear)
    sheet = Torsion.model_validate(SHEET["torsion"])
    records = motors.view(np.recarray)
    for at_joint in (-20.0, -6.0, -3.0, -1.0, 0.0, 1.5, 2.0, 5.0, 7.0, 40.0):
        twist = sheet.twist(at_joint) * RATIO
        assert _spring(records, twist) == pytest.approx(at_joint / RATIO, rel=1e-12, abs=1e-15)
        twists = np.linspace(0.0, twist, 20001)
        work = np.trapezoid([_spring(records, x) for x in twists], twists)
        assert spring_energy(motors[0], twist) == pytest.approx(work, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("at", [0.4, 1.2, 1.5, 2.6])
def test_joint_begins_where_the_stiffening_spring_and_the_weight_agree(tmp_path: Path, at: float) -> None:
    gear = {
        **THREE,
        "damping": "5 N*m*s/rad",
        "stiffening": [["0.5 N*m", "6000 N*m/rad"], ["1.5 N*m", "8000 N*m/rad"]],
    }
    robot = small.robot({}, axes={"A": small.axis(origin=small.HORIZONTAL, gear=gear, encoder={"bits": 34})})
    scenario = {"start": {"A": f"{at} rad"}, **small.rest(0.1, at=f"{at} rad"), "solver": {"pwm": "averaged"}}
    result = small.run_case(tmp_path, robot, scenario)
    sheet = Torsion(k1=K1, k2=6000.0, k3=8000.0, t1=0.5, t2=1.5)
    weight = lambda q: MASS * G * ARM * math.cos(q)  # noqa: E731
    hangs = brentq(lambda q: at - q - sheet.twist(weight(q)), at - 0.1, at + 0.1, xtol=1e-15)
    assert result.summary["start"]["position"]["A"] == pytest.approx(hangs, abs=1e-12)
    assert np.abs(result.signals["joint_A_position_rad"] - hangs).max() < 1e-11


@pytest.mark.parametrize(
    ("gear", "words"),
    [
        ({**THREE, "backlash": "1 mrad"}, "play and a stiffness that changes with the torque"),
        ({"ratio": 50, "stiffening": [["2 N*m", "9000 N*m/rad"]]}, "stiffness: missing"),
        ({**THREE, "stiffening": [["2 N*m", "9000 N*m/rad"]] * 2}, "do not rise"),
        ({"ratio": 50, "piecewise_stiffness": True}, "expected a datasheet beside it"),
        ({"datasheet": SHEET, "piecewise_stiffness": True, "linear_stiffness": "k2"}, "expected one of them"),
        (
            {"datasheet": {"kind": "rv", "ratio": 50}, "piecewise_stiffness": True},
            "expected torsion in the datasheet",
        ),
    ],
)
def test_stiffening_that_cannot_be_is_refused(tmp_path: Path, gear: Any, words: str) -> None:
    with pytest.raises(st.InputError, match=words):
        description(tmp_path, gear)
