"""The benchmark runs to its end: its slow last part, with the peers left out, and its short form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import derivation, elastic, timing
from tests import small_drives as small


def test_derivation_table_has_a_row_for_every_robot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "peer_seconds", lambda peer, rows: 1.0 if rows else None)
    table, beaten = derivation.derivation_table()
    assert table.row_count == len(derivation.robots())
    assert beaten  # the operation counts that SYMORO+ publishes


def test_short_form_leaves_out_what_takes_minutes_and_judges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing.EFFORT, "short", False)
    assert command.wanted_parts([]) == [*command.PARTS, "equations"]
    assert command.wanted_parts(["short"]) == [
        "batches", "single calls", "recursion", "cold process", "simulation", "elastic gears", "lock-step", "planning",
        "sizing", "workspace", "equations",
    ]  # fmt: skip
    calls: list[int] = []
    timing.best_of({"ours": lambda: calls.append(1)}, calls=100)
    assert len(calls) == 2  # one before the clock starts, one measured
    row = timing.Row("something", 1.0, "a peer", 0.1, target=5.0)
    assert "MISSED" not in str(command.table([row]).columns[-1]._cells)


def test_unknown_part_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.wanted_parts(["shrot"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith(
        "there is no benchmark 'shrot'; expected some of: short, batches"
    )


@pytest.mark.parametrize("gear", [{}, {"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}])
def test_windings_of_synchronous_motors_are_timed_behind_stiff_and_elastic_gears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gear: Any
) -> None:
    monkeypatch.setattr(timing.EFFORT, "short", True)
    machine = small.robot({"axes": {"A": {"motor": small.PMSM, "gear": gear}}})
    scenario = {"move": [{"to": {"A": "0.1 rad"}}], "solver": {"method": "fast"}}
    run = small.prepared(tmp_path, machine, scenario)
    run.machine.advance(20_000_000)
    assert run.machine.world["lanes"]["rows"][0] > 0
    assert elastic.synchronous_window(run.machine) > 0.0
