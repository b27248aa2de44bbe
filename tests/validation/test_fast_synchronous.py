"""The fast method against converged RK4: the SCARA of the demo with synchronous motors in the place of its DC motors.

As long as every encoder and every converter of a current reads alike, the runs stay within a fraction of a nanometre of
each other (``test_fast_method`` says why).
"""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.mechanism.model import Array
from servotwin.simulation.result import Result

INDUCTANCES = {"A": 0.6, "B": 0.7, "Z": 0.9, "W": 0.39}  # mH


def changes(saliency: float, pole_pairs: int) -> dict[str, str]:
    """Synchronous motors on every axis; no count is read between two rows."""
    made = {"record.every": "0.2 ms"}
    for axis, L in INDUCTANCES.items():
        motor = f"set.axes.{axis}.motor"
        made |= {f"{motor}.kind": "pmsm", f"{motor}.pole_pairs": str(pole_pairs)}
        made |= {f"{motor}.inductance_d": f"{L} mH", f"{motor}.inductance_q": f"{saliency * L:.4g} mH"}
    return made


def counts(result: Result) -> Array:
    return np.stack([result.signals[name] for name in result.signals if name.endswith("_count")])


@pytest.mark.parametrize(
    ("scenario", "saliency", "pole_pairs"),
    [("scara-a-axis-100deg", 1.3, 4), ("scara-full-range", 1.3, 4), ("scara-full-range", 2.0, 8)],
)
def test_fast_move_is_that_of_converged_rk4_pulse_by_pulse(
    scenario: str, saliency: float, pole_pairs: int
) -> None:
    motors = changes(saliency, pole_pairs)
    fast = st.simulate(scenario, motors)
    exact = st.simulate(scenario, motors | {"solver.method": "rk4", "solver.steps": "8"})
    off = np.sqrt(sum((fast.signals[f"tip_{x}_m"] - exact.signals[f"tip_{x}_m"]) ** 2 for x in "xyz"))
    assert off.max() < 1e-10  # m
    np.testing.assert_array_equal(counts(fast), counts(exact))
    for term in ("copper_J", "source_J", "friction_J"):
        assert fast.summary["energy"][term] == pytest.approx(exact.summary["energy"][term], rel=1e-7)
