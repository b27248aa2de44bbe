"""Windows are counted by what carried them, and those that were left to the steps from edge to edge by reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from servotwin.simulation.results.window_counts import REASONS, window_words
from servotwin.simulation.windows.choice import Rejection
from tests import small_drives as small

SOFT = {"ratio": 50, "stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}
RUBBING = {**small.DC, "coulomb_friction": "0.03 N*m"}
MOVE: dict[str, Any] = {
    "start": {"A": "0 rad"},
    "move": [{"to": {"A": "0.1 rad"}, "dwell": "0.05 s"}],
    "record": {"every": "1 ms"},
    "solver": {"method": "fast"},
}


def counted(folder: Path, axis: small.Tree, changes: small.Tree | None = None, **scenario: Any) -> Any:
    machine = small.robot(changes, axes={"A": small.axis(origin=small.HORIZONTAL, **axis)})
    result = small.run_case(folder, machine, {**MOVE, **scenario})
    return result.summary["windows"], result.summary["simulated_s"]


@pytest.mark.parametrize(
    ("axis", "solver", "kind"),
    [
        ({}, {"method": "fast"}, "dc"),
        ({"motor": small.PMSM}, {"method": "fast"}, "pmsm"),
        ({"gear": SOFT}, {"method": "fast"}, "elastic"),
        ({"gear": {**SOFT, "efficiency": "80 %"}}, {"method": "fast"}, "general"),
        ({}, {"method": "rk4"}, "generated_rk4"),
        ({}, {"method": "adaptive"}, "event_steps"),
    ],
)
def test_every_window_is_counted_once(
    tmp_path: Path, axis: small.Tree, solver: small.Tree, kind: str
) -> None:
    windows, seconds = counted(tmp_path, axis, solver=solver)
    assert windows["number"] == round(seconds / 0.2e-3)
    assert windows["carried"] == {kind: windows["number"]}
    assert windows["rejected"] == {}
    assert windows["edge_to_edge_share"] == (1.0 if kind == "event_steps" else 0.0)
    assert window_words(windows) == ""


def test_shaft_that_sticks_is_handed_to_the_window_that_sees_every_edge(tmp_path: Path) -> None:
    windows, _ = counted(tmp_path, {"motor": RUBBING})
    assert windows["carried"].keys() == {"dc_friction", "elastic"}
    assert sum(windows["carried"].values()) == windows["number"]


def test_end_stop_is_named_as_the_reason(tmp_path: Path) -> None:
    axis = {"gear": SOFT, "limits": {"position": ["-0.2 rad", "0.5 rad"], "speed": "4 rad/s"}}
    fault = {"at": "0.02 s", "kind": "encoder-stuck", "axis": "A"}
    windows, _ = counted(tmp_path, axis, faults=[fault], move=[{"to": {"A": "0.4 rad"}, "dwell": "0.3 s"}])
    assert windows["rejected"]["end_stop"] >= 1
    assert windows["carried"]["event_steps"] == sum(windows["rejected"].values())


def test_soft_supply_is_named_as_the_reason(tmp_path: Path) -> None:
    soft = {"power": {"supply_resistance": "2 ohm", "capacitance": "400 uF"}}
    windows, _ = counted(tmp_path, {"gear": SOFT}, soft, move=[{"to": {"A": "2 rad"}, "dwell": "0.05 s"}])
    assert windows["rejected"]["bus_change"] > 0
    assert "change of the bus voltage" in window_words(windows)
    assert windows["edge_to_edge_share"] == windows["carried"]["event_steps"] / windows["number"]


def test_every_reason_has_words() -> None:
    assert set(REASONS) == set(Rejection) - {Rejection.NONE}
