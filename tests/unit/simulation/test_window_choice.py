"""The window follows the state of the machine: whatever takes the fast one away gives it back afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.simulation.plant.faults import apply_fault
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.switched_drives import close_brake, open_winding, release_brake
from servotwin.simulation.scenario.parts import Fault
from servotwin.simulation.windows.choice import Window, choose_window, select_window
from tests import small_drives as small

MS = 1_000_000
RUBBING = {**small.DC, "coulomb_friction": "0.02 N*m"}
BRAKE = {"brake": {"torque": "2 N*m", "delay": "1 ms"}}
ROBOTS = {
    "dc": ({}, "fast", Window.DC),
    "dc, dry friction": ({"motor": RUBBING}, "fast", Window.DC_FRICTION),
    "synchronous": ({"motor": small.PMSM}, "fast", Window.PMSM),
    "elastic": ({"gear": {"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}}, "fast", Window.ELASTIC),
    "dc, rk4": ({}, "rk4", Window.GENERATED_RK4),
    "dc, dry friction, rk4": ({"motor": RUBBING}, "rk4", Window.EVENT_STEPS),
    "dc, adaptive": ({}, "adaptive", Window.EVENT_STEPS),
}


def built(folder: Path, name: str, robots: dict[str, Any] = ROBOTS) -> tuple[Machine, Window]:
    """A machine with a brake that moves, and the window that should carry it."""
    changes, method, window = robots[name]
    scenario = {**small.rest(0.1), "move": [{"to": {"A": "0.3 rad"}, "dwell": "0.02 s"}]}
    scenario["solver"] = {"method": method}
    robot = small.robot(axes={"A": small.axis(**{**BRAKE, **changes})})
    machine = small.prepared(folder, robot, scenario).machine
    machine.world["record"]["row_next"] = 1 << 62
    return machine, window


def switch(machine: Machine, on: bool) -> None:
    """Enable or disable the drives, as the servo commands it, and let the plant obey."""
    machine.servo.enable(on)
    machine.drives.obey(machine)


def running(machine: Machine) -> Window:
    return Window(int(machine.world["choice"]["window"][0]))


@pytest.mark.parametrize("name", ROBOTS)
def test_power_off_and_on_gives_the_window_back(tmp_path: Path, name: str) -> None:
    machine, window = built(tmp_path, name)
    assert running(machine) == window
    machine.advance(5 * MS)
    switch(machine, False)
    assert running(machine) in (Window.GENERAL, Window.EVENT_STEPS)
    machine.advance(8 * MS)
    switch(machine, True)
    assert running(machine) == window
    machine.advance(12 * MS)
    assert machine.world["state"]["status"][0] == 0
    assert running(machine) == window


@pytest.mark.parametrize("name", ROBOTS)
def test_brake_closed_and_opened_gives_the_window_back(tmp_path: Path, name: str) -> None:
    machine, window = built(tmp_path, name)
    machine.advance(5 * MS)
    close_brake(machine, 0)
    assert running(machine) not in (Window.DC, Window.PMSM, Window.GENERATED_RK4)
    machine.advance(8 * MS)
    assert machine.world["choice"]["smooth"][0] == 0
    release_brake(machine, 0)
    assert running(machine) == window
    machine.advance(12 * MS)
    assert running(machine) == window


@pytest.mark.parametrize("name", [*ROBOTS, "lossy gear"])
def test_smooth_machine_has_no_constraint_but_its_end_stops(tmp_path: Path, name: str) -> None:
    # the compiled half of the choice looks at shafts and gears only where the machine is not smooth
    robots = ROBOTS | {"lossy gear": ({"gear": {"efficiency": 0.8}}, "fast", Window.GENERAL)}
    machine, _ = built(tmp_path, name, robots)
    select = getattr(select_window, "py_func", select_window)
    world, motors, stops = (
        array.view(np.recarray) for array in (machine.world, machine.motors, machine.stops)
    )
    choose_window(machine)
    choice = machine.world["choice"]
    smooth = bool(choice["smooth"][0])
    assert smooth != (name == "lossy gear" or "dry friction" in name)
    assert bool(choice["unconstrained"][0]) == smooth  # the robots with dry friction begin stuck
    choice["smooth"], choice["unconstrained"] = 0, -1
    select(world[0], motors, stops)
    assert bool(choice["unconstrained"][0]) == smooth


def test_brake_that_closes_under_power_is_dry_friction(tmp_path: Path) -> None:
    machine, _ = built(tmp_path, "dc")
    machine.advance(5 * MS)
    close_brake(machine, 0)
    assert running(machine) == Window.DC_FRICTION


@pytest.mark.parametrize("name", ["dc", "dc, dry friction", "synchronous", "dc, rk4"])
def test_end_stop_met_and_left_gives_the_window_back(tmp_path: Path, name: str) -> None:
    machine, window = built(tmp_path, name)
    machine.advance(10 * MS)
    machine.stops["high"][0] = machine.y[0] + 1e-5
    machine.advance(40 * MS)
    assert machine.stops["state"][0] == 1
    assert running(machine) == (Window.EVENT_STEPS if "rk4" in name else Window.GENERAL)
    machine.stops["high"][0] = 1e9  # the stop gives way: nothing pushes back
    machine.stops["reaction"][0] = 1.0
    machine.stops["state"][0] = 0
    machine.advance(41 * MS)
    assert running(machine) == window


def test_open_winding_keeps_the_general_window(tmp_path: Path) -> None:
    machine, _ = built(tmp_path, "dc")
    open_winding(machine, 0)
    machine.advance(5 * MS)
    assert running(machine) == Window.GENERAL


def test_run_with_power_off_and_on_is_that_of_small_steps(tmp_path: Path) -> None:
    fast, fine = (built(tmp_path, name)[0] for name in ("dc", "dc, rk4"))
    for machine in (fast, fine):
        machine.advance(20 * MS)
        switch(machine, False)
        machine.advance(30 * MS)
        switch(machine, True)
        machine.advance(60 * MS)
    assert running(fast) == Window.DC
    np.testing.assert_allclose(fast.y[:2], fine.y[:2], rtol=1e-6, atol=1e-9)


def test_enabling_mends_no_broken_winding_no_lost_supply_and_no_jammed_brake(tmp_path: Path) -> None:
    machine, _ = built(tmp_path, "dc")
    faults = [Fault.model_construct(at=0.0, axis="A", kind=kind) for kind in ("winding-open", "brake-closes")]
    for fault in faults:
        apply_fault(machine, fault, ["A"])
    switch(machine, False)
    switch(machine, True)
    assert machine.motors[0]["open"] == machine.motors[0]["brake_closed"] == 1
    other, _ = built(tmp_path, "dc")
    apply_fault(other, Fault.model_construct(at=0.0, axis=None, kind="power-off"), ["A"])
    switch(other, False)
    switch(other, True)
    assert other.power["off"][0] == other.motors[0]["open"] == 1


def test_one_drive_is_switched_off_alone_and_its_brake_waits_for_its_delay(tmp_path: Path) -> None:
    axes = {"A": small.axis(**BRAKE), "B": small.axis(**BRAKE)}
    machine = small.prepared(tmp_path, small.robot(axes=axes), small.rest(0.1)).machine
    machine.advance(5 * MS)
    machine.servo.enable([True, False])
    machine.advance(6 * MS - 1)
    assert machine.motors["open"].tolist() == [0, 1]
    assert machine.motors["brake_closed"].tolist() == [0, 0]
    assert machine.power["off"][0] == 0
    machine.advance(6 * MS)
    assert machine.motors["brake_closed"].tolist() == [0, 1]
    machine.servo.enable(False)
    machine.servo.enable([True, False])  # taken back before the plant has seen it
    machine.advance(8 * MS)
    assert machine.motors["brake_closed"].tolist() == [0, 1]
    machine.servo.enable()
    machine.advance(9 * MS)
    assert not machine.motors["open"].any()
    assert not machine.motors["brake_closed"].any()
