"""The fast method against converged RK4: the SCARA of the demo with synchronous motors in the place of its DC motors.

As long as every encoder and every converter of a current reads alike, the runs stay within a nanometre of each other
(``test_fast_method`` says why). Some of these moves meet a reading that is too close, so their beginning is compared.
"""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st

INDUCTANCES = {"A": 0.6, "B": 0.7, "Z": 0.9, "W": 0.39}  # mH


def changes(saliency: float, pole_pairs: int) -> dict[str, str]:
    """Synchronous motors on every axis."""
    made: dict[str, str] = {}
    for axis, L in INDUCTANCES.items():
        motor = f"set.axes.{axis}.motor"
        made |= {f"{motor}.kind": "pmsm", f"{motor}.pole_pairs": str(pole_pairs)}
        made |= {f"{motor}.inductance_d": f"{L} mH", f"{motor}.inductance_q": f"{saliency * L:.4g} mH"}
    return made


@pytest.mark.parametrize("bits", [0, 12])
@pytest.mark.parametrize(
    ("scenario", "saliency", "pole_pairs"),
    [("scara-a-axis-100deg", 1.3, 4), ("scara-full-range", 1.0, 4), ("scara-full-range", 2.0, 8)],
)
def test_fast_move_begins_as_that_of_converged_rk4(
    scenario: str, saliency: float, pole_pairs: int, bits: int
) -> None:
    motors = changes(saliency, pole_pairs) | {"set.controller.current_sensor.bits": str(bits)}
    fast = st.simulate(scenario, motors)
    exact = st.simulate(scenario, motors | {"solver.method": "rk4", "solver.steps": "8"})
    off = np.sqrt(sum((fast.signals[f"tip_{x}_m"] - exact.signals[f"tip_{x}_m"]) ** 2 for x in "xyz"))
    assert off[fast.signals["time_s"] < 0.2].max() < 1e-9  # m
    for term in ("copper_J", "source_J", "friction_J"):  # of the whole move
        assert fast.summary["energy"][term] == pytest.approx(exact.summary["energy"][term], rel=2e-3)
