"""Compiling the pieces of a simulation, two at a time on a machine that never ran one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from servotwin.compiled.jit import Callback
from servotwin.compiled.numba_quicker import collector_paused
from servotwin.drives.records import FREE
from servotwin.processes import processors, start_python
from servotwin.simulation.plant.actuators import APART, OWN
from servotwin.simulation.plant.loop import run
from servotwin.simulation.windows.choice import Window

if TYPE_CHECKING:
    from servotwin.simulation.plant.machine import Machine

# Where the pieces stand: a module is imported when its piece is needed, for most robots need few of them.
HOMES: dict[str, str] = {
    "servo": "control.servo.tasks.servo_tasks",
    "dc": "simulation.windows.dc_window.dc_window",
    "dc_friction": "simulation.windows.dc_friction_window.dc_friction_window",
    "pmsm": "simulation.windows.pmsm_window.pmsm_window",
    "pmsm_friction": "simulation.windows.pmsm_friction_window.pmsm_friction_window",
    "elastic": "simulation.windows.elastic_window.elastic_window",
    "generated_rk4": "simulation.plant.generated_rk4.generated_rk4",
    "dead_time_pattern": "simulation.plant.dead_time_pattern.dead_time_pattern",
    "event_steps": "simulation.plant.event_steps.event_steps",
    "general": "simulation.windows.general_window.general_window",
    "constrained_arm": "simulation.plant.rates.constrained_arm",
    "change_modes": "simulation.plant.event_steps.change_modes",
    "loop_closure": "simulation.plant.loop_closure.check_closure",
    "environment": "simulation.plant.environment.environment",
    "own_bound": "simulation.plant.own_rate.own_bound",
}
PIECES = (*HOMES, *(name for apart in APART.values() for name in apart.pieces))
# How long each takes to compile, by the loop that calls them (``loop.run``), to share the work between two processes.
WEIGHTS = {
    "servo": 0.55,
    "event_steps": 0.7,
    "dc": 0.65,
    "dc_friction": 0.65,
    "pmsm": 0.65,
    "pmsm_friction": 0.7,
    "elastic": 0.8,
    "general": 0.35,
    "constrained_arm": 0.35,
    "change_modes": 0.14,
}
LIGHT = 0.05
START = 0.1  # of another process
LEAVE_EVENTS = {Window.DC_FRICTION, Window.PMSM_FRICTION}  # to the window that sees every edge
MEET_EVENTS = {Window.EVENT_STEPS, Window.GENERAL, Window.DC_FRICTION}  # windows with events on their way
PATIENCE = 300.0  # s


@cache
def compiled_piece(name: str) -> Callback:
    """A piece by its name."""
    for apart in APART.values():
        if name in apart.pieces:
            return apart.pieces[name]
    module, _, attribute = HOMES[name].rpartition(".")
    found: Callback = getattr(import_module(f"servotwin.{module}"), attribute)
    return found


def addresses(names: list[str], meanwhile: Callable[[], None]) -> dict[str, int]:
    """Addresses of the named pieces; ``meanwhile`` is called while another process compiles some of them.

    The other process fills the same cache on disk. If it fails, or there is no such cache, everything is
    compiled here.
    """
    missing = aside(
        [name for name in names if not compiled_piece(name).on_disk],
        loop_missing=not getattr(run, "signatures", True),
    )
    other = start_compiler(missing) if missing and processors() > 1 else None
    try:
        with collector_paused():
            meanwhile()
            found = {name: compiled_piece(name).address for name in names if name not in missing}
    except BaseException:
        if other is not None:
            other.kill()
        raise
    finally:
        if other is not None:
            _finish(other)
    return found | {name: compiled_piece(name).address for name in missing}


def aside(missing: list[str], *, loop_missing: bool) -> list[str]:
    """Those of the missing pieces that another process compiles while this one compiles the others, and the loop."""
    here, there, chosen = 1.0 if loop_missing else 0.0, START, []
    for name in sorted(missing, key=lambda name: -WEIGHTS.get(name, LIGHT)):
        if there < here:
            chosen.append(name)
            there += WEIGHTS.get(name, LIGHT)
        else:
            here += WEIGHTS.get(name, LIGHT)
    return chosen


def compile_pieces(names: list[str]) -> None:
    """Compile the named pieces into the cache: what the other process does."""
    with collector_paused():
        for name in names:
            _ = compiled_piece(name).address


def start_compiler(names: list[str]) -> subprocess.Popen[bytes] | None:
    """Start another process that compiles the named pieces; None if there can be none."""
    return start_python(
        f"from servotwin.simulation.plant.pieces import compile_pieces; compile_pieces({names!r})"
    )


def _finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for the other process, and never leave it behind."""
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise


def windows_of(machine: Machine, *, every: bool) -> set[Window]:
    """The windows that a machine needs: the one that runs now with those that it calls, or all that may follow."""
    choice = machine.world[0]["choice"]
    windows = {Window(int(choice["moving"]))}
    if windows & LEAVE_EVENTS:
        windows.add(Window(int(choice["event_window"])))
    if every or windows & MEET_EVENTS or (Window.ELASTIC in windows and hands_over(machine)):
        windows |= {Window.EVENT_STEPS, Window(int(choice["at_stop"]))}
    return windows


def hands_over(machine: Machine) -> bool:
    """Whether the window of elastic gears may leave windows to the steps from edge to edge: sticking joints, play."""
    return bool(machine.world["play"][0] or (machine.stops["mode"] != FREE).any())


def attach_pieces(machine: Machine, *, every: bool, zoomed: bool = False) -> None:
    """Tell the record where the compiled pieces are: those of the window that runs now, or all that may follow.

    Compiling takes seconds; most runs of robots without dry friction never need the others. A zoom goes from edge to
    edge, but meets no events as long as such a robot moves freely.
    """
    world = machine.world[0]
    windows = windows_of(machine, every=every)
    meets_events = every or bool(windows & MEET_EVENTS)
    if zoomed:
        windows.add(Window.EVENT_STEPS)
    names = ["servo", *(window.name.lower() for window in sorted(windows))]
    if meets_events or not world["choice"]["unconstrained"]:
        names += ["constrained_arm", "change_modes"]
    if machine.power["dead_time"][0] > 0.0 or machine.power["storage_time"][0] > 0.0:
        names.append("dead_time_pattern")
    if world["n_x"] > world["n"]:
        names.append("loop_closure")
    if world["code"]["environment_at"] != 0:
        names.append("environment")
    if world["runge_kutta"] and (machine.motors["kind"] == OWN).any():
        names.append("own_bound")
    present = [code for code in APART if (machine.motors["kind"] == code).any()]
    apart = [name for code in present for name in APART[code].pieces]
    for name, address in addresses(names + apart, meanwhile=lambda: machine.run(0)).items():
        if name.upper() in Window.__members__:
            world["code"]["windows"][Window[name.upper()]] = address
        elif name not in apart:
            world["code"][name] = address
    for code in present:
        mine = machine.motors["kind"] == code
        machine.motors["rates"][mine] = APART[code].rates.address
        machine.motors["signals"][mine] = APART[code].signals.address
        for name, piece in APART[code].shared.items():
            world["code"][name] = piece.address
