"""DC motors behind stiff gears over a window at once: the same as from edge to edge, or left to it."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.compiled.jit import piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.records import MOTOR
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.windows.dc_stiff_window import dc_stiff_window
from servotwin.simulation.windows.elastic_window import begin_motors
from servotwin.simulation.windows.stiff_motors import stiff_motors
from tests import small_drives as small
from tests.unit.simulation.test_elastic_window import (
    ABOVE,
    COULOMB,
    DC,
    FINEST,
    SOFT,
    STRIBECK,
    chain,
    there_and_back,
)

SPAN = 2e-4  # s, the current period of the small drives


@piece
def carried(world_at: int, at_once: int, motors_at: int, stops_at: int, start: float, span: float) -> None:
    """The motors behind stiff gears over the present pattern; ``general.z_window[0]``: 1 if that went well."""
    world = records_at(world_at, 1, WORLD)[0]
    motors = records_at(motors_at, world.m, MOTOR)
    begin_motors(world, motors)
    world.line.per_span = 1.0 / span
    if at_once:
        went_well = dc_stiff_window(world, motors, world.state.u_bus, start, span)
    else:
        went_well = stiff_motors(world, motors, world.state.u_bus, start, span)
    world.general.z_window[0] = 1.0 if went_well else 0.0


def sliding(folder: Path, friction: Any, changes: Any = None) -> Any:
    """A machine in the middle of a move: one elastic gear, two stiff ones."""
    motors = [
        ({**DC, **COULOMB}, SOFT),
        ({**DC, **friction}, {"ratio": 30}),
        ({**DC, **friction}, {"ratio": 40}),
    ]
    machine = chain(motors, changes or {})
    folder.mkdir(exist_ok=True)
    run = small.prepared(folder, machine, there_and_back(machine, method="fast"))
    run.machine.advance(120_000_000)
    run.machine.motors["i_peak"] = 1e3  # a largest current would be looked for from edge to edge
    return run.machine


def over_window(machine: Any, *, at_once: bool) -> Any:
    """The record of the window, computed on copies."""
    world, motors = machine.world.copy(), machine.motors.copy()
    signature = ctypes.CFUNCTYPE(None, *(4 * [ctypes.c_int64]), ctypes.c_double, ctypes.c_double)
    signature(carried.address)(world.ctypes.data, int(at_once), motors.ctypes.data, 0, 0.0, SPAN)
    return world[0]


@pytest.mark.parametrize("friction", [{}, COULOMB], ids=["smooth", "dry"])
def test_a_window_at_once_is_the_same_as_from_edge_to_edge(tmp_path: Path, friction: Any) -> None:
    machine = sliding(tmp_path, friction)
    quick, exact = over_window(machine, at_once=True), over_window(machine, at_once=False)
    assert quick["general"]["z_window"][0] == exact["general"]["z_window"][0] == 1.0
    found, expected = quick["elastic_window"], exact["elastic_window"]
    for name in ("i", "w", "impulse", "square", "electric", "friction"):
        np.testing.assert_allclose(found[name][1:3], expected[name][1:3], rtol=2e-7, err_msg=name)
    np.testing.assert_allclose(found["passed"][1:3], expected["passed"][1:3], rtol=2e-7)


def test_viscous_friction_answers_to_the_jerk_of_bipolar_pulses(tmp_path: Path) -> None:
    """Without its part in the jerk speeds ended 1e-4 rad/s off, and the ripple's moment of friction was missing."""
    viscous = {"viscous_friction": "2e-3 N*m*s/rad", "rotor_inertia": "6e-5 kg*m^2"}
    bridge = {"power": {"bus_voltage": "100 V", "bridge": {"modulation": "bipolar"}}}
    machine = sliding(tmp_path, viscous, bridge)
    quick, exact = over_window(machine, at_once=True), over_window(machine, at_once=False)
    assert quick["general"]["z_window"][0] == exact["general"]["z_window"][0] == 1.0
    found, expected = quick["elastic_window"], exact["elastic_window"]
    np.testing.assert_allclose(found["w"][1:3], expected["w"][1:3], rtol=0, atol=1e-6)
    per = SPAN ** np.array([1.0, 2.0])
    np.testing.assert_allclose(found["passed"][1:3] / per, expected["passed"][1:3] / per, rtol=0, atol=1.5e-7)


def test_stuck_shafts_and_stribeck_curves_are_left_to_steps_from_edge_to_edge(tmp_path: Path) -> None:
    falls = sliding(tmp_path / "falls", STRIBECK)
    assert over_window(falls, at_once=True)["general"]["z_window"][0] == 0.0
    stuck = sliding(tmp_path / "stuck", COULOMB)
    stuck.motors["mode"][1] = 0
    assert over_window(stuck, at_once=True)["general"]["z_window"][0] == 0.0
    slow = sliding(tmp_path / "slow", COULOMB)
    slow.motors["w"][2] = 1e-6 * slow.motors["mode"][2]
    assert over_window(slow, at_once=True)["general"]["z_window"][0] == 0.0


def test_ripple_of_a_light_motor_is_taken_beside_the_lines_of_its_speed(tmp_path: Path) -> None:
    """Bipolar pulses on a small rotor: beside lines of other speeds the balance was -1e-4, and was left so."""
    light = {
        **small.DC, "torque_constant": "0.12 N*m/A", "rotor_inertia": "5e-5 kg*m^2", "inductance": "0.4 mH",
        "coulomb_friction": "0.01 N*m",
    }  # fmt: skip
    link = {"mass": "0.8 kg", "center": ["0.15 m", "0 m", "0 m"]}
    axes = {
        "A": small.axis(origin=small.HORIZONTAL, encoder=FINEST, gear=SOFT),
        "B": small.axis(origin=ABOVE, parent="A", encoder=FINEST, motor=light, gear={"ratio": 60}, link=link),
    }
    bus = {"power": {"bus_voltage": "100 V", "bridge": {"modulation": "bipolar"}}}
    machine = small.robot(bus, axes=axes)
    result = small.run_case(tmp_path, machine, there_and_back(machine, method="fast"))
    assert result.summary["energy"]["balance_error_relative"] == pytest.approx(0.0, abs=2e-5)
