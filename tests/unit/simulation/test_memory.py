"""Memory of a process that simulates again and again."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

from servotwin.compiled import jit
from servotwin.simulation.plant.pieces import compiled_piece
from tests import small_drives as small

RUNS = 60
MOST = 1.0  # MB: a piece of compiled code that is loaded with every run makes 8 of them


def resident() -> float:
    """Memory of this process in use [MB]."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_flat_over_many_runs(tmp_path: Path) -> None:
    scenario = {**small.rest(0.005), "solver": {"method": "fast"}}
    for _ in range(40):  # what is loaded once, and the allocator's own reserves
        small.run_case(tmp_path, small.robot(), scenario)
    gc.collect()
    before = resident()
    for _ in range(RUNS):
        small.run_case(tmp_path, small.robot(), scenario)
    gc.collect()
    assert resident() - before < MOST


def test_asking_for_a_piece_on_disk_loads_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small.run_case(tmp_path, small.robot(), {**small.rest(0.005), "solver": {"method": "fast"}})
    loaded: list[object] = []
    monkeypatch.setattr(jit.CompiledCache, "load_overload", lambda *args: loaded.append(args))
    assert compiled_piece("dc").on_disk
    fresh = jit.Piece(compiled_piece("dc").function)  # as in a process that has not asked yet
    assert fresh.on_disk
    assert not loaded
