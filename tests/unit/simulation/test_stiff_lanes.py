"""Motors behind stiff gears side by side: any number of them, Stribeck curves of motor and joint, mixed kinds."""

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
from servotwin.simulation.windows.choice import Window
from servotwin.simulation.windows.stiff_lanes import (
    begin_interval,
    begin_stiff_lanes,
    fill_falls,
    refresh_falls,
)
from tests import small_drives as small
from tests.unit.simulation.test_elastic_window import DC, FINEST, PMSM, SOFT, STRIBECK, largest, run_counted

TOGETHER = 3  # joints of a chain; chains stand beside each other


def mixed_joint(rng: np.random.Generator, k: int, motor: Any, gear: Any) -> small.Tree:
    """A turning or sliding joint on the one before, or the first of a chain on the base; gravity pulls."""
    place: small.Tree = {"origin": {"xyz": ["0.2 m", "0 m", "0 m"]}, "parent": f"J{k - 1}"}
    place["link"] = {"mass": "0.4 kg", "center": ["0.1 m", "0 m", "0 m"]}
    if k % TOGETHER == 0:
        place = {"origin": {"xyz": [f"{0.2 * k} m", "0 m", "0 m"], **small.HORIZONTAL}, "parent": "base"}
    if "stiffness" in gear or rng.random() < 0.6:
        return small.axis(motor=motor, gear=gear, encoder=FINEST, **place)
    slides = {"gear": {"ratio": f"{rng.uniform(300, 600)} rad/m"}, "motor": motor, "axis": [1, 0, 0]}
    return small.merged(small.LIFT, {**slides, **place, "link": {"mass": "0.5 kg"}, "encoder": FINEST})


def rubbing_motor(rng: np.random.Generator, kind: Any) -> Any:
    """A motor with dry friction of its own size, every other one with a Stribeck curve."""
    tau = rng.uniform(0.02, 0.05)
    falls = {"static_friction": f"{1.4 * tau} N*m", "stribeck_speed": f"{rng.uniform(4, 9)} rad/s"}
    return {**kind, "coulomb_friction": f"{tau} N*m", **(falls if rng.random() < 0.5 else {})}


def brief_move(machine: small.Tree, **solver: Any) -> small.Tree:
    """A move and its way back in which all joints start, stop and turn round."""
    slides = {name: axis["type"] == "prismatic" for name, axis in machine["axes"].items()}

    def there(share: float) -> small.Tree:
        return {name: f"{0.05 * share} m" if slide else f"{share} rad" for name, slide in slides.items()}

    moves = [{"to": there(0.13), "dwell": "5 ms"}, {"to": there(0.1), "dwell": "5 ms"}]
    return {"start": there(0.1), "move": moves, "record": {"every": "1 ms"}, "solver": solver}


def assert_follows(folder: Path, machine: small.Tree) -> None:
    """The fast method meets converged steps through as many events, and loses no energy."""
    fast, events, window = run_counted(folder, machine, brief_move(machine, method="fast"))
    exact, expected, _ = run_counted(folder, machine, brief_move(machine, method="adaptive", tolerance=1e-11))
    assert window == Window.ELASTIC
    assert events == expected > 0
    assert largest(fast, exact, "_position_rad") < 2e-8
    assert fast.summary["energy"]["balance_error_relative"] == pytest.approx(0.0, abs=1e-6)
    for loss in ("copper_J", "friction_J"):
        assert fast.summary["energy"][loss] == pytest.approx(exact.summary["energy"][loss], rel=1e-6)


@pytest.mark.parametrize("stiff", [1, 4, 5, 9])
def test_any_number_of_stiff_motors_follows_converged_steps(tmp_path: Path, stiff: int) -> None:
    """Blocks of four torques and of eight lanes, full and not."""
    rng = np.random.default_rng(stiff)
    gears: list[Any] = [SOFT] + [{"ratio": float(rng.uniform(25, 60))} for _ in range(stiff)]
    axes = {f"J{k}": mixed_joint(rng, k, rubbing_motor(rng, DC), gear) for k, gear in enumerate(gears)}
    assert_follows(tmp_path, small.robot(axes=axes))


def test_dc_motors_behind_elastic_gears_go_with_stiff_and_synchronous_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    motors: list[tuple[Any, Any]] = [(DC, SOFT), (DC, {"ratio": 40}), (DC, SOFT), (PMSM, {"ratio": 30})]
    axes = {
        f"J{k}": mixed_joint(rng, k, rubbing_motor(rng, kind), gear) for k, (kind, gear) in enumerate(motors)
    }
    assert_follows(tmp_path, small.robot(axes=axes))


def two_curves() -> small.Tree:
    """A motor behind a stiff gear whose Stribeck curve is 60 times as narrow as that of its joint."""
    wide = {"coulomb": "0.5 N*m", "static": "1 N*m", "stribeck_speed": "1 rad/s"}
    motor = {**DC, **STRIBECK, "stribeck_speed": "0.5 rad/s"}
    axes = {
        "J0": small.axis(motor={**DC, **STRIBECK}, gear=SOFT, encoder=FINEST),
        "J1": small.axis(motor=motor, gear={"ratio": 30}, encoder=FINEST, friction=wide, parent="base"),
    }
    return small.robot(axes=axes)


def test_motor_and_joint_of_a_stiff_gear_with_a_stribeck_curve_each(tmp_path: Path) -> None:
    assert_follows(tmp_path, two_curves())


@piece
def slowed_down(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Stribeck curves of the first motor behind a stiff gear at the speed ``start``, and then at ``span``."""
    world, motors = records_at(world_at, 1, WORLD)[0], records_at(motors_at, stops_at, MOTOR)
    lanes = world.stiff_lanes
    lanes.count, lanes.w[0] = 1, start
    fill_falls(world, motors[world.elastic_window.stiff[0]], 0)
    lanes.w[0] = span
    refresh_falls(world, motors)


@piece
def first_interval(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Where the first interval of a window begins."""
    world, motors = records_at(world_at, 1, WORLD)[0], records_at(motors_at, stops_at, MOTOR)
    begin_stiff_lanes(world, motors, span)
    begin_interval(world, motors, start)


def call(what: Any, machine: Any, start: float, span: float) -> Any:
    """Lanes of the machine after it."""
    signature = ctypes.CFUNCTYPE(None, *(4 * [ctypes.c_int64]), ctypes.c_double, ctypes.c_double)
    world, motors = machine.world, machine.motors
    signature(what.address)(world.ctypes.data, 0, motors.ctypes.data, len(motors), start, span)
    return world["stiff_lanes"][0]


@pytest.mark.parametrize("slow", [3.0, 0.6, -0.2])
def test_narrow_curve_that_was_gone_comes_back_beside_a_wide_one(tmp_path: Path, slow: float) -> None:
    """4 rad/s are 8 widths of the narrow one, and hardly move the wide one of 30 rad/s."""
    robot = two_curves()
    machine = small.prepared(tmp_path, robot, brief_move(robot, method="fast")).machine
    machine.motors["mode"] = 1
    lanes, motor = call(slowed_down, machine, 4.0, slow), machine.motors[1]
    assert (motor["tau_fall"] > 0.0).all()
    rest = lanes["fall"][:, 0] * np.exp(-(slow**2 - lanes["w_0"][0] ** 2) * lanes["per_fall"][:, 0] ** 2)
    expected = motor["tau_fall"] * np.exp(-((slow / motor["w_stribeck"]) ** 2))
    np.testing.assert_allclose(rest, expected, rtol=1e-12)


def test_what_a_window_that_went_wrong_left_beyond_the_last_motor_is_forgotten(tmp_path: Path) -> None:
    robot = two_curves()
    machine = small.prepared(tmp_path, robot, brief_move(robot, method="fast")).machine
    for name in ("w", "i", "tau", "rate", "impulse", "moment", "tau_end"):
        machine.world["stiff_lanes"][name][0, 1:] = np.nan
    lanes = call(first_interval, machine, 0.0, 1e-4)
    for name in ("torque", "rate", "now", "now_rate", "impulse", "moment", "tau_end"):
        assert np.isfinite(lanes[name][: int(lanes["width"])]).all(), name
