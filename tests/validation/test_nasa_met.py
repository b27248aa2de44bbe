"""The two-link arm of the NASA Manipulator Emulator Testbed: pure, substituted, noisy, and without its rotors.

Source: "Motor substitution in the Manipulator Emulator Testbed" (docs/papers/nasa-met.md). Its plots are lost, so the
runs are held to an own model of the arm that SciPy integrates (tests/met_arm.py), and to each other.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import SimulationError
from servotwin.hil.cycle import cycle
from servotwin.hil.result import SubstitutionRun, spectrum
from servotwin.hil.scenario import read_substitution
from servotwin.hil.stability import stability_of, step_warnings
from servotwin.hil.substitution import build_substitution
from tests import met_arm

AGREEMENT = 5e-4  # rad/s: hybrid and pure rates of a rig without noise
QUIET = {"substitute.rig": "met-rig"}
FINE = {"rates.servo": "5000 Hz", "rates.arm": "5000 Hz", "integration.method": "rk4"}


def rates(run: SubstitutionRun) -> Any:
    """Joint rates (ticks, 2)."""
    return np.stack([run.joint("J1", "qd"), run.joint("J2", "qd")], axis=1)


@pytest.fixture(scope="module")
def sampled() -> Any:
    """SciPy between the samples of 100 Hz servos."""
    return met_arm.sampled_run(0.01, 5.0)[1]


@pytest.mark.parametrize(
    ("method", "within"), [("modified-euler", 2.5e-5), ("rk4", 1e-7), ("semi-implicit", 2e-4)]
)
def test_pure_arm_at_the_papers_rates_follows_scipy(sampled: Any, method: str, within: float) -> None:
    """M and h are 40 ms old at most: 1e-7 is what their age costs; the rest is the method's own error."""
    run = st.substitute("met-pure", {"integration.method": method}).run
    assert np.abs(rates(run) - sampled).max() < within


def test_pure_arm_at_a_fine_step_follows_scipy_without_samples() -> None:
    run = st.substitute("met-pure", FINE).run
    expected = met_arm.continuous_run(5.0, run.time)
    # half a servo period of delay, 0.1 ms, of a rate that rises with 0.05 rad/s2 at most
    assert np.abs(rates(run) - expected).max() < 5e-6


def test_both_joints_come_to_the_commanded_rate() -> None:
    run = st.substitute("met-pure").run
    assert rates(run)[-1] == pytest.approx([0.03, 0.03], rel=1e-3)
    assert (np.diff(rates(run), axis=0) > -1e-6).all()  # without overshoot


def test_hybrid_without_noise_agrees_with_the_pure_arm(sampled: Any) -> None:
    result = st.substitute("met-substituted", QUIET)
    assert all(gap.largest < AGREEMENT for gap in result.differences.values())
    assert np.abs(rates(result.run) - sampled).max() < AGREEMENT
    truth = result.run.joint("J1", "rate_true") / met_arm.N
    assert np.abs(truth - sampled[:, 0]).max() < AGREEMENT / 2


def test_hybrid_without_noise_agrees_with_the_fine_pure_arm() -> None:
    hybrid = st.substitute("met-substituted", QUIET, compare=False).run
    fine = st.substitute("met-pure", FINE).run
    assert np.abs(rates(hybrid) - rates(fine)[::50]).max() < AGREEMENT


def test_observer_agrees_better_than_the_filter() -> None:
    gaps = {
        estimator: st.substitute("met-substituted", {**QUIET, "substitute.estimator": estimator})
        .differences["J1"]
        .largest
        for estimator in ("filter", "observer")
    }
    assert gaps["observer"] < 0.25 * gaps["filter"]


def test_analog_filter_of_50_hz_alone_is_what_a_sampled_one_cannot_be() -> None:
    with pytest.raises(st.InputError, match="50 Hz is not below half of the servo's rate"):
        read_substitution("met-substituted", {"substitute.filter.cut_off": "50 Hz"})


def test_oscillation_of_the_noisy_joint_shows_in_the_simulated_one() -> None:
    """The coupling carries misalignment (once and twice a turn, 7.5 and 15 Hz) over to joint 2, well above its own."""
    result = st.substitute("met-substituted", {"duration": "12 s"})
    assert result.pure is not None
    late = result.run.time > 6.0
    time = result.run.time[late]
    frequency, noisy = spectrum(time, result.run.joint("J2", "qd")[late])
    _, quiet = spectrum(time, result.pure.joint("J2", "qd")[late])
    _, source = spectrum(time, result.run.joint("J1", "qd")[late])
    once = np.argmin(np.abs(frequency - 0.03 * met_arm.N / (2 * np.pi)))
    band = slice(once - 2, once + 3)
    assert source[band].max() > 20.0 * np.median(source)
    assert noisy[band].max() > 100.0 * quiet[band].max()
    assert frequency[noisy[5:].argmax() + 5] == pytest.approx(frequency[source[5:].argmax() + 5], abs=0.5)


def test_runs_with_the_same_seed_are_equal_to_the_bit() -> None:
    one, two, other = (
        st.substitute("met-substituted", {"seed": seed, "duration": "1 s"}, compare=False).run
        for seed in ("4", "4", "5")
    )
    assert one.rows.tobytes() == two.rows.tobytes()
    assert one.rows.tobytes() != other.rows.tobytes()


def test_runs_in_another_process_are_equal_to_the_bit() -> None:
    here = st.substitute("met-substituted", {"duration": "1 s"}, compare=False).run
    code = (
        "import hashlib, servotwin as st;"
        "run = st.substitute('met-substituted', {'duration': '1 s'}, compare=False).run;"
        "print(hashlib.sha256(run.rows.tobytes()).hexdigest())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == hashlib.sha256(here.rows.tobytes()).hexdigest()


def test_shaft_stands_still_until_the_integrator_breaks_it_away_in_both() -> None:
    """K_p e + K_i e t reaches the friction's voltage after 3.35 s; with K_p in the first sample, at the next tick."""
    changes = {
        "command.0.rates.J1": "0.001 rad/s",
        "command.0.rates.J2": "0 rad/s",
        "duration": "4 s",
        **QUIET,
    }
    result = st.substitute("met-substituted", changes)
    voltage = met_arm.TAU_C / met_arm.K * met_arm.R
    expected = (voltage / (0.001 * met_arm.N) - met_arm.KP) / met_arm.KI
    for run in (result.run, result.pure):
        assert run is not None
        moved = run.time[np.flatnonzero(run.joint("J1", "q"))[0]]
        assert expected < moved < expected + 0.03
        assert (run.joint("J2", "q") == 0.0).all()


def test_reversal_through_rest_agrees_with_an_observer() -> None:
    both = "{J1: 0.03 rad/s, J2: 0.03 rad/s}"
    points = f"[{{at: 0 s, rates: {both}}}, {{at: 2 s, rates: {{J1: -0.03 rad/s, J2: -0.02 rad/s}}}}]"
    changes = {"command": points, "substitute.estimator": "observer", "duration": "5 s", **QUIET}
    result = st.substitute("met-substituted", changes)
    assert result.run.joint("J1", "qd")[-1] < -0.025
    assert all(gap.largest < AGREEMENT for gap in result.differences.values())


# --- the explicit scheme of 25 Hz without the reflected inertia of the rotors -----------------------------------------

ONE_STEP = {"integration.at": "arm"}
BARE = {**ONE_STEP, "integration.rotor_inertia": "false"}
UNLIMITED = {
    "servo.torque_limit": "1e9 N*m",
    "servo.voltage_limit": "1e9 V",
    "servo.coulomb_friction": "0 N*m",
}


def amplification(inertia: Any) -> Any:
    """Of the joint rates in one step of modified Euler, 1 - z + z^2/2 with z = h A^-1 D of back-EMF and friction."""
    Z = 0.04 * np.linalg.solve(inertia, met_arm.N**2 * (met_arm.K**2 / met_arm.R + met_arm.F) * np.eye(2))
    return np.eye(2) - Z + Z @ Z / 2


def test_spectral_radius_tells_why_the_rotors_must_be_in_the_arms_inertia() -> None:
    M, rotors = met_arm.mass_matrix(0.0), met_arm.N**2 * met_arm.J * np.eye(2)
    with_rotors, without = (
        np.abs(np.linalg.eigvals(amplification(inertia))).max() for inertia in (M + rotors, M)
    )
    assert with_rotors < 0.6
    assert without > 1e4


@pytest.mark.parametrize("rotor", [True, False])
def test_one_step_of_the_arm_amplifies_rates_as_the_spectral_radius_says(rotor: bool) -> None:
    changes = {**ONE_STEP, **UNLIMITED, "servo.proportional": "0 V*s/rad", "servo.integral": "0 V/rad"}
    changes["integration.rotor_inertia"] = str(rotor).lower()
    made = build_substitution(read_substitution("met-pure", changes))
    start = np.array([1e-6, -2e-6])  # so slow that Coriolis forces do not count
    made.arm["y"][0, 2:4] = start
    for _ in range(5):
        cycle(made.arm, made.feedback, made.command)
    M = met_arm.mass_matrix(0.0) + rotor * met_arm.N**2 * met_arm.J * np.eye(2)
    assert made.joints["qd"] == pytest.approx(amplification(M) @ start, rel=1e-5)


def test_warning_before_the_run_gives_the_same_amplification() -> None:
    for changes, inertia in (
        (BARE, met_arm.mass_matrix(0.0)),
        (ONE_STEP, met_arm.mass_matrix(0.0) + met_arm.N**2 * met_arm.J * np.eye(2)),
    ):
        made = build_substitution(read_substitution("met-pure", changes))
        expected = np.abs(np.linalg.eigvals(amplification(inertia))).max()
        # modes of position have the amplification 1
        assert stability_of(made).amplification == pytest.approx(max(expected, 1.0), rel=1e-9)
        assert bool(step_warnings(made)) == (expected > 1.0)


def test_explicit_25_hz_without_rotor_inertia_diverges() -> None:
    with pytest.raises(SimulationError, match=r"diverged.*integration.rotor_inertia true") as caught:
        st.substitute("met-pure", {**BARE, **UNLIMITED})
    assert isinstance(caught.value.partial, SubstitutionRun)
    assert caught.value.partial.time[-1] < 0.2


def test_limits_keep_what_diverges_bounded_but_a_hundred_times_too_fast() -> None:
    run = st.substitute("met-pure", BARE).run
    assert np.abs(rates(run)).max() > 100 * 0.03


def test_explicit_25_hz_with_rotor_inertia_is_stable_and_semi_implicit_is_without() -> None:
    assert rates(st.substitute("met-pure", ONE_STEP).run)[-1] == pytest.approx([0.03, 0.03], rel=0.01)
    bare = st.substitute("met-pure", {**BARE, "integration.method": "semi-implicit"}).run
    assert rates(bare)[-1] == pytest.approx([0.03, 0.03], rel=0.01)


@pytest.mark.parametrize(("stiffness", "damping"), [("2e4", "400"), ("1e6", "0"), (None, None)])
@pytest.mark.parametrize("method", ["semi-implicit", "modified-euler", "rk4"])
def test_amplification_is_that_of_the_step_itself(
    tmp_path: Path, method: str, stiffness: str | None, damping: str | None
) -> None:
    """The step's matrix, column by column from cycles that begin a little off rest."""
    more = (
        "{}"
        if stiffness is None
        else f"{{J1: {{stiffness: {stiffness} N*m/rad, damping: {damping} N*m*s/rad}}}}"
    )
    file = tmp_path / "soft.yaml"
    file.write_text(f"extends: met-pure\nname: soft\nservo: {{axes: {more}}}\n")
    still = {"servo.proportional": "0 V*s/rad", "servo.integral": "0 V/rad", "integration.method": method}
    scenario = read_substitution(file, {**UNLIMITED, **still})
    states = [0, 1, 2, 3] + ([4, 6] if stiffness else [])  # q, qd, and theta, w of joint 1
    columns = []
    for state in states:
        made = build_substitution(scenario)
        size = 1e-6 * (met_arm.N if state > 3 else 1.0)
        made.arm["y"][0, state] += size
        for _ in range(2):
            cycle(made.arm, made.feedback, made.command)
        columns.append(made.arm["y"][0, states] / size)
    expected = np.abs(np.linalg.eigvals(np.array(columns).T)).max()
    found = stability_of(build_substitution(scenario)).amplification
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert bool(step_warnings(build_substitution(scenario))) == (expected > 1.001)


def test_semi_implicit_does_not_damp_what_the_torque_limit_holds() -> None:
    """At its limit the motor's torque does not fall with the rate: q' = a t, a by hand."""
    changes = {
        "integration.method": "semi-implicit",
        "servo.torque_limit": "0.025 N*m",
        "servo.viscous_friction": "0 N*m*s/rad",
        "servo.axes.J2.coulomb_friction": "100 N*m",  # it stands
        "duration": "0.2 s",
    }
    run = st.substitute("met-pure", changes).run
    assert (run.joint("J1", "drive_torque")[1:] == 0.025).all()
    a = met_arm.N * (0.025 - met_arm.TAU_C) / (met_arm.mass_matrix(0.0)[0, 0] + met_arm.N**2 * met_arm.J)
    assert run.joint("J1", "qd") == pytest.approx(a * run.time, rel=1e-6, abs=1e-9)
