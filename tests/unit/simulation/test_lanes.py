"""Motors side by side: each lane is what the same motor does by itself."""

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
from servotwin.simulation.windows.elastic_motor import elastic_motor
from servotwin.simulation.windows.elastic_window import begin_motors
from servotwin.simulation.windows.motors_side_by_side import elastic_lanes
from servotwin.simulation.windows.pmsm_lanes import begin_lanes, flux_window
from servotwin.simulation.windows.pmsm_window import long_intervals
from tests import small_drives as small

STRIBECK = {"coulomb_friction": "0.03 N*m", "static_friction": "0.045 N*m", "stribeck_speed": "6 rad/s"}
SOFT = {"ratio": 50, "stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}
ABOVE = {"xyz": ["0.3 m", "0 m", "0 m"]}
ENDS = "i i_q theta w impulse square electric charge friction gear"
FLUXES = "D Q T_0 T_1 T_2 T_3 energy square charge most low high"


@piece
def side_by_side(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """A window of motors behind elastic gears in their lanes."""
    world, motors = records_at(world_at, 1, WORLD)[0], records_at(motors_at, stops_at, MOTOR)
    begin_motors(world, motors)
    elastic_lanes(world, motors, world.state.u_bus, start, span)


@piece
def one_by_one(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """The same, each by itself."""
    world, motors = records_at(world_at, 1, WORLD)[0], records_at(motors_at, stops_at, MOTOR)
    begin_motors(world, motors)
    for j in range(world.m):
        elastic_motor(world, motors[j], j, world.state.u_bus, start, span)


@piece
def fluxes(world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float) -> None:
    """Fluxes of a window in their lanes, or with ``power_at`` by steps of any length."""
    world, motors = records_at(world_at, 1, WORLD)[0], records_at(motors_at, stops_at, MOTOR)
    begin_lanes(world, motors, start, span)
    if power_at == 0:
        flux_window(world, 0.5 * span)
    else:
        for j in range(world.m):
            long_intervals(world, motors[j], j, span)


def call(what: Any, machine: Any, span: float, choice: int = 0) -> Any:
    """The world after a window of copies of the machine's records."""
    world, motors = machine.world.copy(), machine.motors.copy()
    signature = ctypes.CFUNCTYPE(None, *(4 * [ctypes.c_int64]), ctypes.c_double, ctypes.c_double)
    signature(what.address)(world.ctypes.data, choice, motors.ctypes.data, len(motors), 0.0, span)
    return world[0]


def moving_machine(folder: Path, gear: Any, friction: Any, after_ms: float) -> Any:
    """Five joints in the middle of a move: two groups of lanes, the second not full."""
    axes: small.Tree = {}
    for k in range(5):
        place = {"origin": small.HORIZONTAL} if k == 0 else {"origin": ABOVE, "parent": list(axes)[-1]}
        axes["ABCDE"[k]] = small.axis(motor={**small.PMSM, **friction}, gear=gear, **place)
    scenario = {
        "start": dict.fromkeys(axes, "0.1 rad"),
        "move": [{"to": {axis: f"{0.05 + 0.08 * k} rad" for k, axis in enumerate(axes)}}],
        "solver": {"method": "fast"},
    }
    machine = small.prepared(folder, small.robot(axes=axes), scenario).machine
    machine.run(int(after_ms * 1e6))
    return machine


@pytest.mark.parametrize("after_ms", [0.0, 7.0, 31.0, 64.0])
@pytest.mark.parametrize("friction", [{}, STRIBECK], ids=["free", "dry"])
def test_lane_is_the_motor_by_itself(tmp_path: Path, friction: Any, after_ms: float) -> None:
    machine = moving_machine(tmp_path, SOFT, friction, after_ms)
    span = float(machine.servo.servo["T_current"][0])
    lanes, alone = call(side_by_side, machine, span), call(one_by_one, machine, span)
    stayed = np.flatnonzero(lanes["lanes"]["margin"][:5] >= 0.0)
    assert len(stayed) > 0
    ends, expected = lanes["elastic_window"], alone["elastic_window"]
    for name in ENDS.split():
        size = np.abs(expected["i_q" if name == "i" else name][:5]).max()
        np.testing.assert_allclose(
            ends[name][stayed], expected[name][stayed], rtol=1e-8, atol=2e-9 * size, err_msg=name
        )
    np.testing.assert_allclose(ends["passed"][stayed], expected["passed"][stayed], rtol=1e-9)
    np.testing.assert_allclose(ends["peak"][stayed], expected["peak"][stayed], rtol=1e-8)


def test_lane_that_meets_an_event_is_left_as_it_was(tmp_path: Path) -> None:
    """Somewhere in a move with stiction a shaft breaks away: its lane says so and takes nothing."""
    machine, left = moving_machine(tmp_path, SOFT, STRIBECK, 0.0), 0
    span = float(machine.servo.servo["T_current"][0])
    period = round(1e9 * span)
    for k in range(200):
        machine.run((k + 1) * period)
        lanes, alone = call(side_by_side, machine, span), call(one_by_one, machine, span)
        for j in np.flatnonzero(lanes["lanes"]["margin"][:5] < 0.0):
            left += 1
            assert lanes["elastic_window"]["impulse"][j] == 0.0
            assert lanes["elastic_window"]["i_q"][j] == machine.y[machine.motors["current_at"][j] + 1]
        if alone["elastic_window"]["events"] > 0:
            assert (lanes["lanes"]["margin"][:5] < 0.0).any()
    assert left > 0


@pytest.mark.parametrize("after_ms", [5.0, 40.0])
def test_fluxes_side_by_side_are_those_of_any_length(tmp_path: Path, after_ms: float) -> None:
    machine = moving_machine(tmp_path, {"ratio": 30}, {}, after_ms)
    span = float(machine.servo.servo["T_current"][0])
    lanes, alone = (call(fluxes, machine, span, choice)["lanes"] for choice in (0, 1))
    for name in FLUXES.split():
        size = np.abs(alone[name][:5]).max()
        np.testing.assert_allclose(
            lanes[name][:5], alone[name][:5], rtol=1e-9, atol=1e-9 * size, err_msg=name
        )
