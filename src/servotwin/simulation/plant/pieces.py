"""Compiling the pieces of a simulation, two at a time on a machine that never ran one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from servotwin.compiled.jit import Piece
from servotwin.processes import processors, start_python
from servotwin.simulation.plant.dead_time_pattern import dead_time_pattern
from servotwin.simulation.plant.event_steps import change_modes, event_steps
from servotwin.simulation.plant.generated_rk4 import generated_rk4
from servotwin.simulation.plant.loop_closure import check_closure
from servotwin.simulation.plant.rates import constrained_arm
from servotwin.simulation.windows.dc_friction_window import dc_friction_window
from servotwin.simulation.windows.dc_window import dc_window
from servotwin.simulation.windows.general_window import general_window
from servotwin.simulation.windows.pmsm_window import pmsm_window

PIECES: dict[str, Piece] = {
    "dc": dc_window,
    "dc_friction": dc_friction_window,
    "pmsm": pmsm_window,
    "generated_rk4": generated_rk4,
    "dead_time_pattern": dead_time_pattern,
    "event_steps": event_steps,
    "general": general_window,
    "constrained_arm": constrained_arm,
    "change_modes": change_modes,
    "loop_closure": check_closure,
}
ASIDE = (
    "dc",
    "constrained_arm",
    "change_modes",
    "general",
)  # what the other process compiles beside the loop
PATIENCE = 300.0  # s


def addresses(names: list[str], meanwhile: Callable[[], None]) -> dict[str, int]:
    """Addresses of the named pieces; ``meanwhile`` is called while another process compiles some of them.

    The other process fills the same cache on disk. If it fails, or there is no such cache, everything is
    compiled here.
    """
    missing = [name for name in ASIDE if name in names and not PIECES[name].on_disk]
    other = start_compiler(missing) if missing and processors() > 1 else None
    try:
        meanwhile()
        found = {name: PIECES[name].address for name in names if name not in missing}
    except BaseException:
        if other is not None:
            other.kill()
        raise
    finally:
        if other is not None:
            _finish(other)
    return found | {name: PIECES[name].address for name in missing}


def compile_pieces(names: list[str]) -> None:
    """Compile the named pieces into the cache: what the other process does."""
    for name in names:
        _ = PIECES[name].address


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
