"""One joint with everything a simulation needs, as nested values; tests change what they are about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import servotwin as st
from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw
from servotwin.simulation.results.result import Result
from servotwin.simulation.run import Run, prepare
from servotwin.simulation.scenario.scenario import read_scenario

Tree = dict[str, Any]

# R, L, K, J of the motor in SI: the tests compute with them.
R, L, K, J = 0.5, 0.8e-3, 0.12, 1.5e-4
VISCOUS = 1e-4
RATIO = 50.0
MASS, ARM = 2.0, 0.2
LOAD = MASS * ARM**2  # kg m2 about the joint
BUS = 60.0
DC = {
    "kind": "dc",
    "torque_constant": f"{K} N*m/A",
    "resistance": f"{R} ohm",
    "inductance": f"{L} H",
    "rotor_inertia": f"{J} kg*m^2",
    "viscous_friction": f"{VISCOUS} N*m*s/rad",
    "current_limit": "20 A",
    "rated_torque": "0.8 N*m",
}
PMSM = {
    "kind": "pmsm",
    "torque_constant": f"{K} N*m/A",
    "resistance": f"{R} ohm",
    "inductance_d": "0.8 mH",
    "inductance_q": "1.1 mH",
    "pole_pairs": 4,
    "rotor_inertia": f"{J} kg*m^2",
    "viscous_friction": f"{VISCOUS} N*m*s/rad",
    "current_limit": "20 A",
}
# fine enough that nothing that is counted shows
FINE = {"bits": 24}
CONTROLLER = {
    "main_period": "10 ms",
    "axis_period": "1 ms",
    "speed_period": "1 ms",
    "current_period": "0.2 ms",
    "position_bandwidth": "30 1/s",
    "speed_bandwidth": "150 rad/s",
    "current_bandwidth": "1200 rad/s",
    "command_bits": 0,
    "current_sensor": {"bits": 0},
}
HORIZONTAL: Tree = {"rpy": ["90 deg", "0 deg", "0 deg"]}  # the joint's axis lies flat: gravity pulls

# a weight of 20 kg that the motor lifts
LIFT: Tree = {
    "type": "prismatic",
    "origin": {},
    "axis": [0, 0, 1],
    "limits": {"position": ["-0.5 m", "0.5 m"], "speed": "0.4 m/s"},
    "link": {"mass": "20 kg"},
    "gear": {"ratio": "600 rad/m"},
    "motor": DC,
    "encoder": FINE,
}


def axis(**changes: Any) -> Tree:
    """A revolute axis about the vertical with a DC motor."""
    return merged(
        {
            "type": "revolute",
            "origin": {},
            "axis": [0, 0, 1],
            "limits": {"position": ["-3 rad", "3 rad"], "speed": "4 rad/s"},
            "link": {"mass": f"{MASS} kg", "center": [f"{ARM} m", "0 m", "0 m"]},
            "gear": {"ratio": RATIO},
            "motor": DC,
            "encoder": FINE,
        },
        changes,
    )


def robot(changes: Mapping[str, Any] | None = None, axes: Tree | None = None) -> Tree:
    """A robot of one joint A, or of these axes."""
    base = {
        "format": "servotwin/1",
        "name": "small",
        "axes": axes or {"A": axis()},
        "power": {"bus_voltage": f"{BUS} V"},
        "controller": CONTROLLER,
    }
    return merged(base, changes or {})


def merged(base: Tree, changes: Mapping[str, Any]) -> Tree:
    """``base`` with ``changes`` laid over it; None removes."""
    made = dict(base)
    for key, value in changes.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict) and isinstance(made.get(key), dict) and "kind" not in value:
            made[key] = merged(made[key], value)
        else:
            made[key] = value
    return made


def write_case(folder: Path, machine: Tree, scenario: Mapping[str, Any] | None = None) -> Path:
    """Robot file and scenario file in a folder (JSON is YAML); the path of the scenario."""
    (folder / "robot.yaml").write_text(json.dumps(machine, indent=1), encoding="utf-8")
    base = {
        "format": "servotwin-scenario/1",
        "name": "small",
        "robot": "robot.yaml",
        "move": [{"to": {"A": "0 rad"}, "dwell": "0.1 s"}],
        "solver": {"method": "rk4"},
    }
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(merged(base, scenario or {}), indent=1), encoding="utf-8")
    return path


def run_case(
    folder: Path,
    machine: Tree,
    scenario: Mapping[str, Any] | None = None,
    law: PythonLaw | CompiledLaw | None = None,
    **overrides: str,
) -> Result:
    """Simulate; ``overrides`` with __ for the dots."""
    changes = {key.replace("__", "."): value for key, value in overrides.items()}
    return st.simulate(write_case(folder, machine, scenario), changes, controller=law)


def prepared(
    folder: Path,
    machine: Tree,
    scenario: Mapping[str, Any] | None = None,
    law: PythonLaw | CompiledLaw | None = None,
    *,
    allow_code: bool = False,
) -> Run:
    """A run that stands ready."""
    return prepare(read_scenario(write_case(folder, machine, scenario)), law, allow_code=allow_code)


def rest(seconds: float, *, every: str = "1 ms", at: str = "0 rad") -> Tree:
    """A scenario without motion."""
    return {"move": [{"to": {"A": at}, "dwell": f"{seconds} s"}], "record": {"every": every}}
