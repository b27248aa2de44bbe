"""Shafts that go along a Stribeck curve within one interval of a window: `fast` against converged steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from servotwin.simulation.windows.choice import Window
from tests import small_drives as small
from tests.unit.simulation.test_elastic_window import SOFT, chain, largest, run_counted, there_and_back

NARROW = {"coulomb_friction": "0.03 N*m", "static_friction": "0.06 N*m", "stribeck_speed": "0.4 rad/s"}
# both pulses of a bridge shake a shaft by as much as its curve is wide, and leave it in the middle of an interval
RIPPLE = {"power": {"bus_voltage": "150 V", "bridge": {"modulation": "bipolar"}}}
AXES = {
    "elastic": [({**small.DC, **NARROW}, SOFT)],
    "stiff": [(small.DC, SOFT), ({**small.DC, **NARROW}, {"ratio": 30})],
}


@pytest.mark.parametrize("name", AXES)
def test_curve_is_followed_where_an_interval_passes_it(tmp_path: Path, name: str) -> None:
    """A series from the beginning of an interval misses 7e-5 rad of both robots."""
    machine = chain(AXES[name], RIPPLE)
    fast, _, window = run_counted(tmp_path, machine, there_and_back(machine, method="fast"))
    exact, _, _ = run_counted(tmp_path, machine, there_and_back(machine, method="adaptive", tolerance=1e-12))
    assert window == Window.ELASTIC
    assert fast.summary["windows"]["rejected"] == {}
    assert largest(fast, exact, "_position_rad") < 1e-6


def test_ripple_along_a_curve_is_left_to_the_window_that_sees_it(tmp_path: Path) -> None:
    """The arm of the window of dry friction feels friction without the ripple of the speed: it missed 1.6e-6 rad."""
    motor = {**small.DC, **NARROW, "stribeck_speed": "3 rad/s"}
    machine = chain([(motor, {"ratio": 30}), (motor, {"ratio": 30})], RIPPLE)
    fast, _, window = run_counted(tmp_path, machine, there_and_back(machine, method="fast"))
    exact, _, _ = run_counted(tmp_path, machine, there_and_back(machine, method="adaptive", tolerance=1e-12))
    assert window == Window.DC_FRICTION
    assert fast.summary["windows"]["carried"]["elastic"] > 1000
    assert largest(fast, exact, "_position_rad") < 5e-8
