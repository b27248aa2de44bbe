"""What the terminal says of the bus, of joints that settle late, and of runs that diverged."""

from __future__ import annotations

from typing import Any

from servotwin.cli.simulate import _lines


def test_a_bus_that_moves_is_worth_a_line() -> None:
    bus: dict[str, Any] = {"voltage_min_V": 58.0, "voltage_max_V": 66.25}
    bus |= {"brake_resistor_peak_W": None, "brake_resistor_mean_W": None}
    assert _lines({"bus": bus}) == ["bus voltage: 58 V to 66.25 V"]
    assert _lines({"bus": bus | {"voltage_min_V": 66.0}}) == []
