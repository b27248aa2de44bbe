"""What the cycle asks of shafts at rest, of compliant ones and of sensed currents, against small models by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from servotwin.hil.cycle import cycle
from servotwin.hil.run import run_substitution
from servotwin.hil.scenario import read_substitution
from servotwin.hil.substitution import Substitution, build_substitution
from tests import met_arm

RATIO = 200.0
BOTH = {
    "substitute.joints": "[J1, J2]",
    "substitute.rig": "met-rig-three",
    "servo.ratio": "200",
    "command.0.rates.J1": "0 rad/s",
    "command.0.rates.J2": "0.2 rad/s",
    "rates.servo": "1000 Hz",
    "rates.arm": "1000 Hz",
    "substitute.filter.cut_off": "300 Hz",
}


def made_of(changes: dict[str, str], name: str = "met-substituted") -> Substitution:
    return build_substitution(read_substitution(name, changes))


def by_hand(tau: float, held: bool) -> Any:
    """Load torques of both shafts at rest, shaft 2 driven by ``tau``; joint 1 held, or sliding backwards."""
    M, rotor = met_arm.mass_matrix(0.0), RATIO**2 * met_arm.J
    net = tau - met_arm.TAU_C
    if held:
        qdd = np.array([0.0, RATIO * net / (M[1, 1] + rotor)])
        return np.array([-M[0, 1] * qdd[1] / RATIO, met_arm.J * RATIO * qdd[1] - net])
    driven = np.array([met_arm.TAU_C, net])  # shaft 1 has no torque but that of friction, forwards
    qdd = np.linalg.solve(M + rotor * np.eye(2), RATIO * driven)
    return met_arm.J * RATIO * qdd - driven


@pytest.mark.parametrize(("proportional", "held"), [("0.02 V*s/rad", True), ("0.05 V*s/rad", False)])
def test_shaft_at_rest_feels_the_acceleration_of_the_other_one(proportional: str, held: bool) -> None:
    made = made_of({**BOTH, "servo.proportional": proportional, "servo.torque_limit": "0.06 N*m"})
    cycle(made.arm, made.feedback, made.command)
    tau = float(made.joints["tau_d"][1])
    expected = by_hand(tau, held)
    # the other one's acceleration alone is what breaks shaft 1 away
    assert (abs(by_hand(tau, True)[0]) > met_arm.TAU_C) == (not held)
    assert made.joints["mode"][0] == (0 if held else -1)
    assert made.command["load_torque"][0, :2] == pytest.approx(expected, rel=1e-9)
