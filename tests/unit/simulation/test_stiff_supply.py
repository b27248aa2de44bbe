"""A supply that settles within a step between two edges, where `fast` goes from edge to edge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.simulation.test_elastic_window import (
    RUBBING_JOINT,
    SOFT,
    chain_of,
    largest,
    run_counted,
    there_and_back,
)

STIFF_SUPPLY = {"power": {"supply_resistance": "0.002 ohm", "capacitance": "300 uF"}}  # 0.6 us


def test_steps_from_edge_to_edge_follow_a_bus_that_settles_within_a_microsecond(tmp_path: Path) -> None:
    """Steps of tens of microseconds would let the voltage swing from one to the next: 8e-5 A, 3e-7 of the energy."""
    machine = chain_of([{"gear": SOFT, "friction": RUBBING_JOINT}], STIFF_SUPPLY)
    fast, _, _ = run_counted(tmp_path, machine, there_and_back(machine, method="fast"))
    exact, _, _ = run_counted(tmp_path, machine, there_and_back(machine, method="adaptive", tolerance=1e-11))
    assert fast.summary["windows"]["rejected"]["joint_friction"] > 0  # windows from edge to edge
    assert largest(fast, exact, "_current_A") < 5e-6
    assert fast.summary["energy"]["balance_error_relative"] == pytest.approx(0.0, abs=2e-8)
