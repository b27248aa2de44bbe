"""Compiling the pieces of a simulation, two at a time on a machine that never ran one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from servotwin.dynamics.recursive.jit import Piece
from servotwin.processes import processors, start_python
from servotwin.simulation.closure_watch import watch_closure
from servotwin.simulation.fast import fast_window
from servotwin.simulation.late_pattern import late_pattern
from servotwin.simulation.march import march
from servotwin.simulation.plain import plain_window
from servotwin.simulation.plant import constrained
from servotwin.simulation.rubbing import rubbing_window
from servotwin.simulation.steps import advance, switch
from servotwin.simulation.synchronous import synchronous_window

PIECES: dict[str, Piece] = {
    "plain": plain_window,
    "rubbing": rubbing_window,
    "synchronous": synchronous_window,
    "march": march,
    "late": late_pattern,
    "advance": advance,
    "fast": fast_window,
    "constrained": constrained,
    "switch": switch,
    "closure": watch_closure,
}
ASIDE = ("plain", "constrained", "switch", "fast")  # what the other process compiles beside the loop
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
    return start_python(f"from servotwin.simulation.warm import compile_pieces; compile_pieces({names!r})")


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
