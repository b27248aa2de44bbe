"""What the cycle asks of shafts at rest, of compliant ones and of sensed currents, against small models by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.description.drive_data import drives_of
from servotwin.hil.cycle import cycle
from servotwin.hil.joint_data import drive_warnings, joint_drive
from servotwin.hil.ports import SHAFT_COMMAND, SHAFT_FEEDBACK
from servotwin.hil.records import CycleStatus
from servotwin.hil.rig_file import read_rig
from servotwin.hil.rig_model import rig_step
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


# --- samples that are older than the instant at which they are used ---------------------------------------------------


def gap_of(changes: dict[str, str]) -> float:
    """Largest difference of the estimated rate to the pure arm [rad/s at the joint]."""
    scenario = read_substitution("met-substituted", changes)
    run = run_substitution(build_substitution(scenario))
    pure = run_substitution(build_substitution(scenario.pure()))
    return float(np.abs(run.joint("J1", "qd") - pure.joint("J1", "qd")).max())


@pytest.mark.parametrize("delay", [0.2, 0.99])
def test_observer_that_knows_the_age_of_samples_loses_nothing(tmp_path: Path, delay: float) -> None:
    rig = tmp_path / "early.yaml"
    rig.write_text(f"extends: met-rig\nname: early\nsample_delay: {delay}\n")
    observed = {"substitute.estimator": "observer"}
    prompt = gap_of({**observed, "substitute.rig": "met-rig"})
    known = gap_of({**observed, "substitute.rig": str(rig)})
    ignored = gap_of({**observed, "substitute.rig": str(rig), "substitute.delay": "0"})
    stamped = gap_of(
        {**observed, "substitute.rig": str(rig), "substitute.delay": "0", "substitute.stamps": "true"}
    )
    assert known < 1.1 * prompt
    assert stamped == pytest.approx(known, rel=1e-6)  # whatever the scenario states
    assert ignored > known * (1.0 + 5.0 * delay)


def test_filter_carries_old_samples_on(tmp_path: Path) -> None:
    rig = tmp_path / "early.yaml"
    rig.write_text("extends: met-rig\nname: early\nsample_delay: 0.99\n")
    stated = {"substitute.rig": str(rig), "substitute.delay": "0"}
    known, ignored, stamped = (
        gap_of(each)
        for each in ({"substitute.rig": str(rig)}, stated, {**stated, "substitute.stamps": "true"})
    )
    assert known < 0.8 * ignored
    assert stamped == pytest.approx(known, rel=1e-6)


def test_samples_before_the_end_of_a_period_are_those_of_a_shorter_one() -> None:
    prompt, early = read_rig("met-rig").records(), replace(read_rig("met-rig"), sample_delay=0.25).records()
    shown, sooner = np.zeros(1, SHAFT_FEEDBACK), np.zeros(1, SHAFT_FEEDBACK)
    command = np.zeros(1, SHAFT_COMMAND)
    command["enable"] = command["brake_released"] = 1
    command["drive_voltage"][0, 0] = 5.0
    rig_step(prompt, command, shown, 0.0075)
    rig_step(early, command, sooner, 0.01)
    assert (sooner["time"][0], sooner["applied"][0]) == (7_500_000, 0)
    assert sooner["rate"][0, 0] == shown["rate"][0, 0] > 0.0
    rig_step(prompt, command, shown, 0.0025)
    assert early["x"][0] == pytest.approx(prompt["x"][0], rel=1e-12)


# --- a compliant gear on the rig --------------------------------------------------------------------------------------


def test_observer_of_a_compliant_joint_knows_its_friction(tmp_path: Path) -> None:
    """The twin is what is believed: nothing is left over for the torque that nobody commanded."""
    file = tmp_path / "soft.yaml"
    gear = "{stiffness: 2e4 N*m/rad, damping: 400 N*m*s/rad}"
    file.write_text(f"extends: met-substituted\nname: soft\nservo: {{axes: {{J1: {gear}}}}}\n")
    changes = {
        "substitute.rig": "met-rig",
        "substitute.estimator": "observer",
        "integration.method": "rk4",
        "integration.steps": "4",
        "rates.servo": "500 Hz",
        "rates.arm": "500 Hz",
    }
    made = made_of(changes, str(file))
    run_substitution(made)
    assert made.joints["mode"][0] == 1
    assert abs(made.joints["x"][0, 1]) < 0.05 * met_arm.TAU_C


# --- the drive's torque from a sensed current -------------------------------------------------------------------------


def test_sensed_current_corrects_the_model_and_is_not_a_period_old(tmp_path: Path) -> None:
    quiet = {"substitute.rig": "met-rig", "substitute.estimator": "observer"}
    sensed = {"substitute.drive_torque": "current"}
    # where the model is right it says the same
    assert gap_of({**quiet, **sensed}) < 1.2 * gap_of(quiet)
    # where the motor is weaker than believed it knows more
    weak = tmp_path / "weak.yaml"
    weak.write_text("extends: met-rig\nname: weak\nshafts: {S1: {drive: {resistance: 2.4 ohm}}}\n")
    errors = [torque_error({**quiet, "substitute.rig": str(weak), **more}) for more in ({}, sensed)]
    assert errors[1] < 0.1 * errors[0]


def torque_error(changes: dict[str, str]) -> float:
    """Largest error of the believed drive torque under a resistance of 2.4 ohm [N m]."""
    run = run_substitution(made_of(changes))
    truth = met_arm.K * (run.joint("J1", "voltage") - met_arm.K * run.joint("J1", "rate_true")) / 2.4
    return float(np.abs(run.joint("J1", "drive_torque") - truth)[20:].max())


def test_first_load_torque_is_that_of_the_model(tmp_path: Path) -> None:
    """The first samples are those of a rig that is switched off; a weight must be held from the first command on."""
    file = tmp_path / "weight.yaml"
    file.write_text(
        "extends: met-substituted\nname: weight\nset: {gravity: '[0 m/s^2, -0.2 m/s^2, 0 m/s^2]'}\n"
    )
    loads = []
    for source in ("model", "current"):
        made = made_of({"substitute.drive_torque": source}, str(file))
        cycle(made.arm, made.feedback, made.command)
        loads.append(float(made.command["load_torque"][0, 0]))
        weight = 0.2 * (met_arm.M1 * met_arm.L1 / 2 + met_arm.M2 * (met_arm.L1 + met_arm.L2 / 2))
        assert made.joints["tau_d"][0] > weight / met_arm.N  # it holds the weight, and begins to move
    assert loads[0] == loads[1]


# --- numbers that are none --------------------------------------------------------------------------------------------


def is_safe(made: Substitution) -> bool:
    command = made.command[0]
    return not any(
        np.any(command[name]) for name in ("drive_voltage", "load_torque", "enable", "brake_released")
    )


@pytest.mark.parametrize(
    ("field", "changes", "status"),
    [
        ("rate", {}, CycleStatus.BAD_RATE),
        ("drive_current", {"substitute.drive_torque": "current"}, CycleStatus.BAD_CURRENT),
        ("drive_current", {}, CycleStatus.RUNNING),  # not used
        ("angle", {}, CycleStatus.RUNNING),  # the rig has no encoder
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_sample_that_is_used_and_no_number_stops_the_arm(
    field: str, changes: dict[str, str], status: CycleStatus, value: float
) -> None:
    made = made_of(changes)
    for _ in range(3):
        cycle(made.arm, made.feedback, made.command)
    made.feedback[field][0, 0] = value
    cycle(made.arm, made.feedback, made.command)
    assert made.arm["status"][0] == status
    assert is_safe(made) == (status != CycleStatus.RUNNING)


def test_angle_that_is_used_and_no_number_stops_the_arm(tmp_path: Path) -> None:
    rig = tmp_path / "encoder.yaml"
    rig.write_text("extends: met-rig\nname: encoder\nshafts: {S1: {encoder: {counts: 40000}}}\n")
    changes = {"substitute.rig": str(rig), "substitute.estimator": "observer"}
    made = made_of({**changes, "substitute.observer.measures": "angle"})
    cycle(made.arm, made.feedback, made.command)
    made.feedback["angle"][0, 0] = np.nan
    cycle(made.arm, made.feedback, made.command)
    assert made.arm["status"][0] == CycleStatus.BAD_ANGLE
    assert is_safe(made)


@pytest.mark.parametrize("limit", [{}, {"substitute.load_limit": "0.05 N*m"}])
def test_force_that_is_no_number_stops_the_arm_before_its_first_command(
    tmp_path: Path, limit: dict[str, str]
) -> None:
    file = tmp_path / "wind.yaml"
    forces = "{forces: [{kind: function, function: 'wind.py:gust'}]}"
    file.write_text(f"extends: met-substituted\nname: wind\nenvironment: {forces}\n")
    (tmp_path / "wind.py").write_text(
        "import math\n\n\ndef gust(t, signals, memory, wrench):\n    wrench[1] = math.nan\n"
    )
    made = build_substitution(read_substitution(file, limit), allow_code=True)
    cycle(made.arm, made.feedback, made.command)
    assert made.arm["status"][0] == CycleStatus.BAD_FORCE
    assert is_safe(made)


def test_command_that_would_be_no_number_is_the_safe_one() -> None:
    made = made_of({})
    made.joints["integral"][0] = np.nan
    cycle(made.arm, made.feedback, made.command)
    assert made.arm["status"][0] == CycleStatus.BAD_COMMAND
    assert is_safe(made)


@pytest.mark.parametrize("at", ["servo", "arm"])
def test_base_that_accelerates_is_felt_from_the_first_instant_on(tmp_path: Path, at: str) -> None:
    """Straight out along x, base accelerated along y: b of joint 1, with joint 2 giving way, by hand."""
    file = tmp_path / "base.yaml"
    file.write_text(
        "extends: met-substituted\nname: base\nenvironment: {base: {y: [[0 s, 0.5 m/s^2], [0.02 s, 0 m/s^2]]}}\n"
    )
    changes = {"substitute.rig": "met-rig", "integration.at": at, "duration": "0.1 s"}
    run = run_substitution(made_of(changes, str(file)))
    pull = 0.5 * (met_arm.M1 * met_arm.L1 / 2 + met_arm.M2 * (met_arm.L1 + met_arm.L2 / 2))
    # joint 2 stands, and gives way only as its servo begins to turn it
    assert run.joint("J1", "bias")[:2] == pytest.approx([pull, pull], rel=0.05)
    assert run.joint("base_y", "qdd")[:3].tolist() == [0.5, 0.5, 0.0]
    assert abs(run.joint("J1", "bias")[2]) < 0.1 * pull


# --- drives of robot files --------------------------------------------------------------------------------------------


def test_motor_with_three_phases_has_two_thirds_of_its_torque_constant_as_back_emf(tmp_path: Path) -> None:
    """Per amplitude, K_t = 3/2 p psi and the voltage of a phase p psi omega: the power of three phases is tau omega."""
    file = tmp_path / "six.yaml"
    file.write_text(
        "format: servotwin-substitution/1\nname: six\nrobot: sixaxis-5kg\nrates: {servo: 1000 Hz}\nduration: 0.1 s\n"
        "command: [{at: 0 s, rates: {}}]\nservo: {proportional: 0.1 V*s/rad}\n"
    )
    scenario = read_substitution(file)
    name = scenario.description.joint_names[0]
    found, winding = joint_drive(scenario, name), drives_of(scenario.description)[0].winding
    assert winding is not None
    assert winding.phases == 3
    flux = winding.flux * winding.pole_pairs
    assert pytest.approx(1.5 * flux) == found.K
    assert found.K_e == pytest.approx(flux)
    assert found.back_emf_damping == pytest.approx(1.5 * flux * flux / found.R + found.f)
    stated = read_substitution(file, {"servo.torque_constant": "0.1 N*m/A"})
    assert joint_drive(stated, name).K_e == 0.1  # a scenario's motor has brushes


def test_what_the_robot_file_says_and_the_drives_leave_out_is_told() -> None:
    gear = {"set.axes.J1.gear.efficiency": "0.8", "set.axes.J2.gear.backlash": "1e-3 rad"}
    scenario = read_substitution("met-pure", gear)
    assert drive_warnings(scenario) == [
        "of the robot file the drives here leave out: gear efficiency (J1); gear play (J2)"
    ]
    assert build_substitution(scenario).warnings[0] == drive_warnings(scenario)[0]
    assert not drive_warnings(read_substitution("met-pure"))
