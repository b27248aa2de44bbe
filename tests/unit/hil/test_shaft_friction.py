"""Dry friction of substituted shafts and of the arm around them: break-away, rest, reversal, torque limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.compiled.jit import kernel
from servotwin.hil.cycle import cycle
from servotwin.hil.observer_design import ShaftBelief, design_observer
from servotwin.hil.observer_torque import hold_torque
from servotwin.hil.records import JOINT
from servotwin.hil.scenario import read_substitution
from servotwin.hil.shaft_estimate import estimate
from servotwin.hil.substitution import build_substitution
from tests import met_arm

NO_NOISE = {"substitute.rig": "met-rig", "substitute.estimator": "observer"}
AGREEMENT = 5e-4  # rad/s, of pure and substituted rates without noise


def turning_round(at: str) -> str:
    return f"[{{at: 0 s, rates: {{J1: 0.03 rad/s}}}}, {{at: {at}, rates: {{J1: -0.03 rad/s}}}}]"


@pytest.mark.parametrize(
    "changes", [{}, {"servo.integral": "0.005 V/rad", "duration": "10 s"}], ids=["brief", "long"]
)
def test_observer_of_a_shaft_that_sticks_while_it_turns_round_sees_it_at_rest(
    changes: dict[str, str],
) -> None:
    result = st.substitute("met-substituted", {**NO_NOISE, "command": turning_round("2 s"), **changes})
    seen, true = result.run.joint("J1", "shaft_rate"), result.run.joint("J1", "rate_true")
    stuck = (true == 0.0) & (result.run.time > 2.0)
    assert stuck.sum() >= 5
    assert np.abs(seen[stuck]).max() < 0.5  # the stop itself, seen through the analog filter
    assert np.abs(seen[stuck][3:]).max() < 0.1  # and no cycle after it: a period of friction is 3.2 rad/s
    assert result.differences["J1"].largest < AGREEMENT


@kernel
def step_observer(joints: Any, rate: float, period: float) -> None:
    hold_torque(joints[0], period)
    estimate(joints[0], rate, 0.0, period)


def observed_joint(period: float) -> Any:
    joints = np.zeros(1, JOINT)
    damping = met_arm.K**2 / met_arm.R + met_arm.F
    made = design_observer(ShaftBelief(met_arm.J, damping, None, 0.0, 0.0, 1e-3, False, 0.3), period)
    for name in ("A", "B", "C", "L", "B_before", "A_ahead", "B_ahead", "F", "flow", "terms"):
        joints[name] = getattr(made, name)
    joints["estimator"], joints["started"] = 1, 1
    joints["J"], joints["K"], joints["K_e"], joints["R"] = met_arm.J, met_arm.K, met_arm.K, met_arm.R
    joints["f"], joints["tau_c"], joints["tau_limit"], joints["N"] = met_arm.F, met_arm.TAU_C, np.inf, 1.0
    joints["L"] = 0.0  # the model alone
    return joints


@pytest.mark.parametrize("period", [0.04, 0.01, 1e-3, 1e-4])
@pytest.mark.parametrize("share", [0.0, 0.5, -0.5, 1.01])
def test_friction_in_the_observer_stops_a_shaft_and_never_turns_it_round(period: float, share: float) -> None:
    """A shaft that coasts under a share of the friction's torque: it comes to rest once, and stays or goes on."""
    joints = observed_joint(period)
    joints["x_now"][0, 0] = joints["x"][0, 0] = joints["w"] = joints["w_hat"] = -0.3
    rates = []
    for _ in range(40):
        joints["u"] = 0.0
        joints["tau_d"] = -(met_arm.K**2) / met_arm.R * joints["w"]
        joints["tau_l"] = share * met_arm.TAU_C
        step_observer(joints, 0.0, period)
        joints["w"] = joints["w_hat"]
        rates.append(float(joints["w_hat"][0]))
    found = np.array(rates)
    if abs(share) < 1.0 and period >= 1e-3:
        assert np.abs(found[-1]) < 1e-12
    if abs(share) < 1.0:
        assert (found <= 1e-12).all()
        assert (np.diff(found) >= -1e-12).all()
    elif period >= 1e-3:
        excess = (share - 1.0) * met_arm.TAU_C
        damping = met_arm.K**2 / met_arm.R + met_arm.F
        assert 0.0 < found[-1] <= excess / damping  # towards the rate at which damping takes the rest


def test_simulated_joint_that_breaks_away_is_felt_at_the_same_instant() -> None:
    """By hand: both joints of the arm at rest begin to move together, J_eff and b are those of a moving joint 2."""
    made = build_substitution(read_substitution("met-substituted", {"substitute.rig": "met-rig"}))
    cycle(made.arm, made.feedback, made.command)
    M, rotor = met_arm.mass_matrix(0.0), met_arm.N**2 * met_arm.J
    net = float(made.joints["tau_d"][1]) - met_arm.TAU_C
    J_eff = M[0, 0] - M[0, 1] ** 2 / (M[1, 1] + rotor)
    b = M[0, 1] * met_arm.N * net / (M[1, 1] + rotor)
    assert made.arm["J_eff"][0, 0, 0] == pytest.approx(J_eff, rel=1e-9)
    assert made.arm["bias"][0, 0] == pytest.approx(b, rel=1e-9)
    both = np.linalg.solve(
        M + rotor * np.eye(2), met_arm.N * np.array([made.joints["tau_d"][0] - met_arm.TAU_C, net])
    )
    expected = met_arm.J * met_arm.N * both[0] - (float(made.joints["tau_d"][0]) - met_arm.TAU_C)
    assert made.command["load_torque"][0, 0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("coulomb", [20.0, 40.0])
def test_coulomb_friction_of_a_substituted_joint_holds_it_as_it_holds_a_simulated_one(coulomb: float) -> None:
    changes = {
        "environment.joint_friction": f"{{J1: {{coulomb: {coulomb} N*m}}}}",
        "command": turning_round("3 s"),
    }
    result = st.substitute("met-substituted", {**NO_NOISE, **changes})
    assert result.differences["J1"].largest < AGREEMENT


@pytest.mark.parametrize("rate", [0.18, 0.2])
def test_observer_knows_that_back_emf_does_not_damp_a_motor_at_its_torque_limit(rate: float) -> None:
    changes = {**NO_NOISE, "command": f"[{{at: 0 s, rates: {{J1: {rate} rad/s}}}}]"}
    run = st.substitute("met-substituted", changes, compare=False).run
    assert np.abs(run.joint("J1", "drive_torque")).max() == pytest.approx(met_arm.TAU_LIMIT)
    assert np.abs(run.joint("J1", "shaft_rate") - run.joint("J1", "rate_true")).max() < 0.5


@pytest.mark.parametrize(
    ("method", "most"), [("modified-euler", 1e-6), ("rk4", 1e-6), ("semi-implicit", 3e-5)]
)
def test_simulated_shaft_with_friction_that_turns_round_loses_no_time(method: str, most: float) -> None:
    """A servo reverses two joints that creep: rates in steps of a period beside those in 200 steps of it.

    A shaft that stood still for the rest of the step in which it comes to rest would be 9e-4 rad/s behind.
    """
    creep, back = ({"J1": f"{rate} rad/s", "J2": f"{rate} rad/s"} for rate in (0.002, -0.03))
    changes = {
        "rates.servo": "1 kHz",
        "rates.arm": "1 kHz",
        "duration": "0.25 s",
        "servo.proportional": "3 V*s/rad",
        "command": [{"at": "0 s", "rates": creep}, {"at": "0.2 s", "rates": back}],
        "integration.method": method,
    }
    coarse = st.substitute("met-pure", changes).run
    fine = st.substitute("met-pure", {**changes, "integration.method": "rk4", "integration.steps": 200}).run
    for name in ("J1", "J2"):
        assert (fine.joint(name, "qd") < -0.02).any()
        np.testing.assert_allclose(coarse.joint(name, "qd"), fine.joint(name, "qd"), rtol=0.0, atol=most)
