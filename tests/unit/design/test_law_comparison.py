"""Laws compared on one scenario, and what becomes of a comparison that is interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import servotwin as st
from servotwin.cli.design import design
from servotwin.design import law_comparison
from tests import small_drives as small


def test_an_interrupted_comparison_ends_as_a_whole_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = small.write_case(tmp_path, small.robot())
    ran: list[str] = []

    def cut(chosen: Any) -> Any:
        ran.append(chosen.name)
        return replace(st.simulate(chosen), complete=False)  # what Ctrl-C leaves

    monkeypatch.setattr(law_comparison, "simulate", cut)
    out = tmp_path / "out"
    robot = str(tmp_path / "robot.yaml")
    with pytest.raises(KeyboardInterrupt):
        design(robot, None, None, None, None, None, None, str(scenario), str(out), None, json=False)
    assert len(ran) == 1
    assert not out.exists()
    printed = capsys.readouterr()
    assert "Laws compared" not in printed.out
    assert "interrupted while the laws were simulated" in printed.err
