"""The window of synchronous motors with dry friction: against converged RK4, through events, with coupled gears."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.simulation.windows.choice import Window
from tests import small_drives as small
from tests.unit.simulation.test_pmsm_window import FINEST, MOVE, both, largest, two

RUBS = {
    **small.PMSM,
    "coulomb_friction": "0.02 N*m",
    "static_friction": "0.03 N*m",
    "stribeck_speed": "2 rad/s",
}
COUPLED = {
    "transmission": {"motors": ["A", "B"], "matrix": [[50, 0], [40, 40]]},
    "axes": {"A": {"gear": None}, "B": {"gear": None}},
}
SOFT_BUS = {"power": {"capacitance": "4 mF", "supply_resistance": "0.2 ohm"}}


@pytest.mark.parametrize(
    ("changes", "within", "energy"),
    [
        ({}, 1e-9, 1e-7),
        (COUPLED, 5e-8, 5e-7),
        ({**COUPLED, **SOFT_BUS}, 2e-7, 1e-5),
    ],
    ids=["each its own gear", "coupled", "coupled, soft bus"],
)
def test_run_that_starts_and_stops_is_that_of_converged_rk4(
    tmp_path: Path, changes: small.Tree, within: float, energy: float
) -> None:
    """Both motors break away, turn round and come to rest, where a little torque decides about the instant.

    Coupled motors stick and slide through each other. The bus is taken by its mean over a window.
    """
    fast, exact = both(tmp_path, two(changes, motor=RUBS, encoder=FINEST), MOVE)
    assert largest(fast, exact, "position_rad") < within
    for term in ("copper_J", "source_J", "friction_J"):
        assert fast.summary["energy"][term] == pytest.approx(exact.summary["energy"][term], rel=energy)
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 1e-6


def test_what_a_stuck_motor_passes_on_does_not_wait_for_gains(tmp_path: Path) -> None:
    """Gains of the first 32 windows after an event do not turn with the arm: 2e-7 rad, and 7e-6 of the energy."""
    machine = two(COUPLED, motor=RUBS, encoder=FINEST)
    fast, exact = both(tmp_path, machine, MOVE, pwm="averaged")
    assert fast.summary["windows"]["carried"]["pmsm_friction"] > 5000
    assert largest(fast, exact, "position_rad") < 5e-9
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 1e-7


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (two(motor=RUBS), Window.PMSM_FRICTION),
        (two(COUPLED), Window.PMSM_FRICTION),
        (two(SOFT_BUS), Window.PMSM_FRICTION),
        (two(), Window.PMSM),
    ],
    ids=["dry friction", "coupled", "soft bus", "smooth"],
)
def test_window_is_chosen_by_friction_transmission_and_bus(
    tmp_path: Path, machine: small.Tree, expected: Window
) -> None:
    run: Any = small.prepared(tmp_path, machine, {"solver": {"method": "fast"}})
    assert run.machine.world["choice"]["moving"][0] == expected


def test_stuck_motor_of_a_coupled_gear_holds_its_own_angle(tmp_path: Path) -> None:
    """Motor B sees both joints: while it sticks, joint B turns back by what joint A turns."""
    brake = {**RUBS, "coulomb_friction": "0.6 N*m", "static_friction": "0.6 N*m"}
    machine = two(COUPLED, encoder=FINEST)
    machine["axes"]["B"]["motor"] = brake
    fast, exact = both(
        tmp_path, machine, {"move": [{"to": {"A": "0.02 rad", "B": "-0.02 rad"}, "dwell": "0.05 s"}]}
    )
    turned = fast.signals["joint_A_position_rad"] + fast.signals["joint_B_position_rad"]
    assert float(np.abs(fast.signals["joint_A_position_rad"]).max()) > 0.01
    assert float(np.abs(turned - turned[0]).max()) < 1e-12
    assert largest(fast, exact, "position_rad") < 1e-9
