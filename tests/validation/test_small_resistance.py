"""The fast method for windings that hardly decay within a period, against RK4 in small steps.

R T / L goes from 0.1 down to 1e-9. The reference is converged: sixteen steps between edges, no division by R anywhere.
Encoders of 24 bits leave a few parts in 1e5 to the peak current, whose reference depends on counts.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from servotwin.simulation.results.result import Result
from tests import small_drives as small

MOTORS = {
    "dc": small.DC,
    "dc with dry friction": {**small.DC, "coulomb_friction": "0.02 N*m"},
    "synchronous": small.PMSM,
    "synchronous with dry friction": {**small.PMSM, "coulomb_friction": "0.02 N*m"},
}
RESISTANCES = (0.5, 0.062, 0.021, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)


def moved(folder: Path, kind: str, R: float, method: str, steps: int) -> Result:
    axis = small.axis(motor={**MOTORS[kind], "resistance": f"{R:.3g} ohm"})
    scenario = {
        "move": [{"to": {"A": "0.3 rad"}, "dwell": "0.02 s"}],
        "record": {"every": "1 ms"},
        "solver": {"method": method, "steps": steps},
    }
    return small.run_case(folder, small.robot(axes={"A": axis}), scenario)


@pytest.mark.parametrize("R", RESISTANCES)
@pytest.mark.parametrize("kind", MOTORS)
def test_fast_method_holds_down_to_windings_without_resistance(tmp_path: Path, kind: str, R: float) -> None:
    fast, exact = moved(tmp_path, kind, R, "fast", 1), moved(tmp_path, kind, R, "rk4", 16)
    assert fast.complete
    assert [event.what for event in fast.events] == [event.what for event in exact.events]
    assert not any(event.what == "end stop" for event in fast.events)
    name = "joint_A_position_rad"
    assert abs(fast.signals[name] - exact.signals[name]).max() < 1e-7
    for term, most in (("copper_J", 1e-5), ("source_J", 1e-6), ("friction_J", 1e-6)):
        assert fast.summary["energy"][term] == pytest.approx(exact.summary["energy"][term], rel=most), term
    for peak in ("peak_current_A", "peak_torque_N_m"):
        assert fast.summary["axes"][0][peak] == pytest.approx(exact.summary["axes"][0][peak], rel=2e-4)
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 1e-7
