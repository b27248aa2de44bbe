"""The benchmark runs to its end: its slow last part, with the peers left out."""

from __future__ import annotations

import pytest

from benchmarks import derivation


def test_derivation_table_has_a_row_for_every_robot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "peer_seconds", lambda peer, rows: 1.0 if rows else None)
    table, beaten = derivation.derivation_table()
    assert table.row_count == len(derivation.robots())
    assert beaten  # the operation counts that SYMORO+ publishes
