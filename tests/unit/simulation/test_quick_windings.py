"""Currents that decay quickly or are mostly ripple, beside joints that stick: `fast` against converged steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from servotwin.simulation.results.result import Result
from tests import small_drives as small
from tests.unit.simulation.test_elastic_window import FINEST, largest

LIMITS = {"position": ["-300 deg", "300 deg"], "speed": "120 deg/s", "acceleration": "600 deg/s^2"}


def axis(
    turn: float, mass: float, center: str, inertia: float, gear: str, motor: str, friction: str = ""
) -> small.Tree:
    """An axis at the end of a link of 0.25 m, the next one turned by so much about x [deg]; numbers in SI units.

    ``gear``: ratio, stiffness, damping; ``motor``: torque constant, resistance, inductance, inertia, viscous friction;
    ``friction`` of the joint: viscous, dry, at rest.
    """
    x, y = center.split()
    K, R, L, J, f = motor.split()
    made: small.Tree = {
        "type": "revolute",
        "dh": {"theta": "0 deg", "d": "0 mm", "a": "0.25 m", "alpha": f"{turn} deg"},
        "limits": LIMITS,
        "link": {
            "mass": f"{mass} kg",
            "center": [f"{x} m", f"{y} m", "0.01 m"],
            "inertia": {"tensor": dict.fromkeys(("xx", "yy", "zz"), f"{inertia} kg*m^2")},
        },
        "gear": {"ratio": float(gear.split(maxsplit=1)[0])},
        "motor": {
            "kind": "dc", "torque_constant": f"{K} N*m/A", "resistance": f"{R} ohm", "inductance": f"{L} H",
            "rotor_inertia": f"{J} kg*m^2", "viscous_friction": f"{f} N*m*s/rad",
            "current_limit": f"{float(K) * 120} A",
        },
        "encoder": FINEST,
    }  # fmt: skip
    if len(gear.split()) > 1:
        _, k, d = gear.split()
        made["gear"] |= {"stiffness": f"{k} N*m/rad", "damping": f"{d} N*m*s/rad"}
    if friction:
        viscous, coulomb, static = friction.split()
        made["friction"] = {
            "viscous": f"{viscous} N*m*s/rad",
            "coulomb": f"{coulomb} N*m",
            "static": f"{static} N*m",
        }
    return made


def machine(axes: small.Tree, volts: float, modulation: str, period: str) -> small.Tree:
    """A robot without converters, so that nothing but the method tells two runs apart."""
    return {
        "format": "servotwin/1",
        "name": "small",
        "axes": axes,
        "power": {"bus_voltage": f"{volts} V", "bridge": {"modulation": modulation}},
        "gravity": "9.81 m/s^2",
        "controller": {
            "main_period": "16 ms", "axis_period": "2 ms", "speed_period": "1 ms", "current_period": period,
            "position_bandwidth": "15 1/s", "speed_bandwidth": "90 rad/s", "current_bandwidth": "1300 rad/s",
            "command_bits": 0, "current_sensor": {"bits": 0},
        },
    }  # fmt: skip


def there_and_back(start: dict[str, float], to: dict[str, float]) -> small.Tree:
    """A short move and its way back [deg]."""
    far, home = ({name: f"{angle} deg" for name, angle in pose.items()} for pose in (to, start))
    shared = {"speed": "38 %", "ramp": "0.06 s", "dwell": "0.02 s"}
    return {"start": home, "move": [{"to": far, **shared}, {"to": home, **shared}]}


def both(folder: Path, robot: small.Tree, scenario: small.Tree) -> tuple[Result, Result]:
    """The run by `fast`, and by converged steps."""
    fast = small.run_case(folder, robot, {**scenario, "solver": {"method": "fast"}})
    exact = small.run_case(folder, robot, {**scenario, "solver": {"method": "adaptive", "tolerance": 1e-11}})
    return fast, exact


def test_windows_left_to_steps_follow_currents_that_decay_within_an_interval(tmp_path: Path) -> None:
    # 20 us of L / R, a fifth of the period: steps as long as an interval lost 4 % of the energy
    axes = {
        "A": axis(0, 1.56, "-0.147 0.046", 0.0488, "160", "0.5 1.05 2.014e-5 1.73e-3 6.9e-4"),
        "B": axis(90, 0.873, "-0.126 0.045", 0.0238, "-160 211.3 0.187", "0.5 0.864 1.442e-5 2.58e-3 4.1e-4",
                  "0.0379 0.303 0.453"),
    }  # fmt: skip
    robot = machine(axes, 320.0, "unipolar", "0.1 ms")
    fast, exact = both(tmp_path, robot, there_and_back({"A": -7.76, "B": 54.22}, {"A": -13.55, "B": 54.95}))
    assert fast.summary["windows"]["rejected"]["joint_friction"] > 100
    assert largest(fast, exact, "_position_rad") < 1e-6
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 1e-5


def test_ripple_of_motors_that_go_at_once_shakes_joints_loose(tmp_path: Path) -> None:
    axes = {
        "A": axis(90, 9.342, "-0.0576 0.001", 0.2773, "30", "0.24 0.9032 6.909e-4 3e-3 1.645e-3"),
        "B": axis(-90, 0.677, "-0.0792 0.0337", 0.01457, "50 1606 1.279", "0.24 4.245 4.68e-3 1.248e-3 2.392e-4",
                  "0.02261 0.07149 0.1048"),
    }  # fmt: skip
    robot = machine(axes, 48.0, "bipolar", "0.2 ms")
    fast, exact = both(tmp_path, robot, there_and_back({"A": 28.19, "B": -44.54}, {"A": 32.59, "B": -50.19}))
    assert largest(fast, exact, "_position_rad") < 1e-7


def test_energy_closes_where_the_current_behind_a_spring_is_mostly_ripple(tmp_path: Path) -> None:
    axes = {
        "A": axis(0, 0.548, "-0.116 0.0057", 0.0241, "100 59.03 0.9237", "0.4 1.216 4.508e-4 8.13e-5 4.2e-5")
    }
    robot = machine(axes, 160.0, "bipolar", "0.1 ms")
    fast, _ = both(tmp_path, robot, there_and_back({"A": -28.0}, {"A": -33.5}))
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 5e-6


def test_energy_closes_of_motors_behind_stiff_gears_beside_elastic_ones(tmp_path: Path) -> None:
    axes = {
        "A": axis(0, 0.957, "-0.145 0.0413", 0.038, "30", "1.6 2.2685 8.15e-4 3e-3 4.07e-4"),
        "B": axis(90, 1.067, "-0.0746 0.0357", 0.0226, "30 452.4 0.126", "1.6 1.343 4.28e-4 2.39e-3 3.16e-4"),
    }
    robot = machine(axes, 320.0, "unipolar", "0.2 ms")
    fast, exact = both(tmp_path, robot, there_and_back({"A": 47.3, "B": -5.3}, {"A": 45.8, "B": -4.0}))
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 1e-5
    assert largest(fast, exact, "_position_rad") < 1e-7


@pytest.mark.parametrize("ratio", [30, -30])
def test_damper_answers_to_the_ripple_of_its_motor(tmp_path: Path, ratio: int) -> None:
    # a joint that sticks first, and swings too quickly for the window afterwards
    motor = "0.24 3.62 1.151e-3 2.46e-4 4.07e-5"
    axes = {"A": axis(0, 1.0, "-0.1 0", 0.05, f"{ratio} 2000 40", motor, "0.02 0.5 0.7")}
    robot = machine(axes, 48.0, "bipolar", "0.2 ms")
    fast, exact = both(tmp_path, robot, there_and_back({"A": -28.0}, {"A": -30.5}))
    assert largest(fast, exact, "_position_rad") < 5e-8
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 5e-6
