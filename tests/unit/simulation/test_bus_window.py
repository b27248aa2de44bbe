"""The bus over a window by its energies: against halvings, also from guesses that lead astray."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from servotwin.simulation.plant.records import PER_MOTOR
from servotwin.simulation.windows.general_window import bus_window

C, SUPPLY, SPAN = 2e-3, 0.3, 2e-4
bus_of = getattr(bus_window, "py_func", bus_window)


def bus_after(u0: float, step: float, source: float) -> float:
    """Voltage after a window in which the motors took nothing."""
    world = SimpleNamespace(
        state=SimpleNamespace(y=np.array([u0]), z=np.zeros(PER_MOTOR + 3), bus_step=step),
        general=SimpleNamespace(z_window=np.zeros(PER_MOTOR)),
        at_bus=0,
        m=1,
    )
    power = SimpleNamespace(u_source=source, R_supply=SUPPLY, R_brake=20.0, braking=0, C=C)
    with np.errstate(all="ignore"):
        bus_of(world, [power], [SimpleNamespace(feed=-1)], SPAN)
    return float(world.state.y[0])


@pytest.mark.parametrize("u0", [0.0, 1e-6, 1.0, 40.0, 60.0])
@pytest.mark.parametrize("step", [0.0, 0.5, -0.5, -2.0, -60.0, -130.0])
def test_bus_without_load_follows_its_supply(u0: float, step: float) -> None:
    """The capacitor charges through the supply by the midpoint rule, whatever the window before did."""
    slow = 0.5 * SPAN / (SUPPLY * C)
    expected = (u0 * (1.0 - slow) + 2.0 * slow * 60.0) / (1.0 + slow)
    assert bus_after(u0, step, 60.0) == pytest.approx(expected, rel=1e-12)


def test_empty_bus_without_supply_stays_empty() -> None:
    assert bus_after(0.0, 0.0, 0.0) == 0.0
