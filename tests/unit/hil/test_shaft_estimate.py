"""Filter and observer of a substituted shaft."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.signal import butter, cont2discrete

import servotwin as st
from servotwin.compiled.jit import kernel
from servotwin.errors import InputError
from servotwin.hil.joint_data import joint_drive, shaft_observer
from servotwin.hil.observer_design import ShaftBelief, butterworth, design_observer
from servotwin.hil.records import JOINT, Estimator
from servotwin.hil.scenario import read_substitution
from servotwin.hil.shaft_estimate import estimate
from servotwin.hil.substitution import build_substitution
from servotwin.mechanism.model import Array

N, J, DAMPING = 1570.0, 6.38e-5, 0.061**2 / 2.05 + 2.58e-5
ONLY_TACHOMETER_NOISE = """\
extends: met-rig
name: tachometer-noise-rig
shafts: {S1: {tachometer: {noise: 0.3 rad/s, bits: 12, range: 350 rad/s}}}
"""


@pytest.mark.parametrize("cut_off", [1.0, 10.0, 25.0, 40.0, 49.9])
def test_butterworth_is_that_of_scipy(cut_off: float) -> None:
    b, a = butter(2, cut_off, fs=100.0)
    assert butterworth(cut_off, 0.01) == pytest.approx((*b, *a[1:]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("cut_off", [50.0, 50.0001, 60.0, 1e6])
def test_cut_off_at_or_above_nyquist_is_refused(cut_off: float) -> None:
    with pytest.raises(
        InputError, match=r"not below half of the servo's rate, 50 Hz.*expected less, such as '40 Hz'"
    ):
        butterworth(cut_off, 0.01)


def test_observer_model_is_the_shaft_held_over_a_period() -> None:
    shaft = ShaftBelief(J, DAMPING, 50.0, 0.01, 0.0, 1e-3, angle=False)
    made = design_observer(shaft, 0.01)
    w = 2 * np.pi * 50
    F = np.array(
        [[-DAMPING / J, 1 / J, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [w**2, 0, -(w**2), -np.sqrt(2) * w]]
    )
    A, B, *_ = cont2discrete((F, np.array([[1 / J], [0], [0], [0]]), np.eye(4), np.zeros((4, 1))), 0.01)
    assert pytest.approx(A, rel=1e-9, abs=1e-9) == made.A
    assert pytest.approx(B[:, 0], rel=1e-9, abs=1e-9) == made.B
    left = np.abs(np.linalg.eigvals(made.A - np.outer(made.L, made.C @ made.A)))
    assert left.max() < 1.0


@kernel
def estimate_stamped(joints: Any, rate: float, delay: float, tau: float, period: float) -> None:
    joints[0].delay = delay
    estimate(joints[0], rate, 0.0, period)
    joints[0].tau_given = tau


@pytest.mark.parametrize("cut_off", [50.0, 350.0, 380.0, None])
def test_stamped_observer_follows_the_exact_shaft_whatever_the_age_of_each_sample(
    cut_off: float | None,
) -> None:
    """Truth: matrix exponentials of SciPy from instant to instant, samples at random ages, no noise."""
    period, rng = 0.01, np.random.default_rng(5)
    made = design_observer(
        ShaftBelief(J, DAMPING, cut_off, 0.01, 0.0, 1e-3, angle=False, noise_rms=0.3), period
    )
    joints = np.zeros(1, JOINT)
    joints["estimator"], joints["stamped"], joints["N"], joints["J"], joints["R"] = (
        Estimator.OBSERVER,
        1,
        N,
        J,
        2.05,
    )
    joints["K"] = joints["K_e"] = 0.061
    joints["f"] = 2.58e-5
    for name in ("A", "B", "C", "L", "B_before", "A_ahead", "B_ahead", "F", "flow", "terms"):
        joints[name] = getattr(made, name)
    n = 4 if cut_off else 2
    columns = [*range(n), 4]
    model = np.vstack([made.F[:n][:, columns], np.zeros((1, n + 1))])  # itself held to cont2discrete above
    assert pytest.approx(expm(period * model)[:n, :n], rel=1e-9, abs=1e-12) == made.A[:n, :n]
    x, tau = np.zeros(n), 0.0
    for k in range(400):
        age = 0.0 if k == 0 else rng.uniform()
        sample = (expm((1.0 - age) * period * model) @ [*x, tau])[:n]
        x = (expm(period * model) @ [*x, tau])[:n]
        estimate_stamped(joints, float(made.C[:n] @ sample), age, tau, period)
        assert joints["x_now"][0, :n] == pytest.approx(x, rel=1e-9, abs=1e-9 * max(1.0, np.abs(x).max()))
        new = 0.02 * rng.normal()
        joints["tau_given"], tau = new, new


def test_analog_filter_that_is_over_before_the_next_sample_is_refused() -> None:
    changes = {"substitute.estimator": "observer", "substitute.observer.analog_cut_off": "380 Hz"}
    build_substitution(read_substitution("met-substituted", changes))
    changes["substitute.observer.analog_cut_off"] = "1200 Hz"
    with pytest.raises(
        InputError, match=r"analog_cut_off: 1200 Hz cannot be observed at 100 Hz; expected at most 382"
    ):
        build_substitution(read_substitution("met-substituted", changes))


def acceleration_error(run: st.SubstitutionRun) -> Array:
    """Estimated less true acceleration of the shaft, once the start is over [rad/s2]."""
    error = N * run.joint("J1", "qdd") - run.joint("J1", "acceleration_true")
    return error[run.time > 2.0]


def test_observer_cuts_noise_of_the_acceleration_five_times_against_differences(tmp_path: Path) -> None:
    rig = tmp_path / "noise.yaml"
    rig.write_text(ONLY_TACHOMETER_NOISE)
    noise = {}
    for estimator in ("filter", "observer"):
        changes = {"substitute.rig": str(rig), "substitute.estimator": estimator}
        noise[estimator] = np.std(
            acceleration_error(st.substitute("met-substituted", changes, compare=False).run)
        )
    assert noise["filter"] > 5.0 * noise["observer"]


def test_error_of_the_acceleration_over_the_whole_run_of_the_paper_at_equal_delay(tmp_path: Path) -> None:
    """The paper's case from start to end, tachometer noise alone: each estimate beside the true acceleration at the
    instant that it shows, that of the differences 11.8 ms ago. Delaying the observer's leaves its error as it is.
    """
    rig = tmp_path / "noise.yaml"
    rig.write_text(ONLY_TACHOMETER_NOISE)
    error = {}
    for estimator, delay in (("filter", 11.8e-3), ("observer", 0.0)):
        changes = {"substitute.rig": str(rig), "substitute.estimator": estimator}
        run = st.substitute("met-substituted", changes, compare=False).run
        true = np.interp(run.time - delay, run.time, run.joint("J1", "acceleration_true"))
        error[estimator] = np.sqrt(np.mean((N * run.joint("J1", "qdd") - true)[5:] ** 2))
    assert error["filter"] > 9.0
    assert error["filter"] > 5.0 * error["observer"]


def test_observer_shows_accelerations_of_commanded_torques_without_the_delay_of_differences() -> None:
    """What is delayed less may be delayed to be equal, which leaves its noise as it is."""
    error = {}
    for estimator in ("filter", "observer"):
        changes = {"substitute.rig": "met-rig", "substitute.estimator": estimator}
        run = st.substitute("met-substituted", changes, compare=False).run
        moving = (run.time > 0.05) & (run.time < 1.0)
        gap = N * run.joint("J1", "qdd") - run.joint("J1", "acceleration_true")
        error[estimator] = (
            np.abs(gap[moving]).max() / np.abs(run.joint("J1", "acceleration_true")[moving]).max()
        )
    assert error["observer"] < 0.02
    assert error["filter"] > 5.0 * error["observer"]


def test_observer_without_analog_filter_believes_the_noise_of_a_sample() -> None:
    """Its gain is that of the stationary Riccati equation with V = noise^2 + resolution^2/12, by SciPy."""
    from scipy.linalg import expm, solve_discrete_are

    period, intensity = 0.01, 1e-3
    found = design_observer(
        ShaftBelief(J, DAMPING, None, 0.0, 0.02, intensity, angle=False, noise_rms=0.3), period
    )
    F = np.array([[-DAMPING / J, 1 / J], [0.0, 0.0]])
    A, steps = expm(F * period), np.linspace(0.0, period, 2001)
    pulls = np.array([expm(F * s)[:, 1] for s in steps]) * intensity
    W = np.trapezoid(pulls[:, :, None] * pulls[:, None, :], steps, axis=0)
    C, V = np.array([[1.0, 0.0]]), 0.3**2 + 0.02**2 / 12
    P = solve_discrete_are(A.T, C.T, W, np.array([[V]]))
    assert found.L[:2] == pytest.approx((P @ C.T)[:, 0] / (P[0, 0] + V), rel=1e-5)


def test_observer_of_an_encoder_finds_angle_rate_and_acceleration(tmp_path: Path) -> None:
    rig = tmp_path / "encoder.yaml"
    rig.write_text("extends: met-rig\nname: encoder-rig\nshafts: {S1: {encoder: {counts: 40000}}}\n")
    changes = {
        "substitute.rig": str(rig),
        "substitute.estimator": "observer",
        "substitute.observer.measures": "angle",
        "substitute.observer.angle_resolution": "1.6e-4 rad",
    }
    run = st.substitute("met-substituted", changes, compare=False).run
    late = run.time > 2.0
    gap = run.joint("J1", "shaft_rate") - run.joint("J1", "rate_true")
    assert np.abs(gap[late]).max() < 2e-3 * 47.0
    second_difference = 2 * np.pi / 40000 * np.sqrt(6.0 / 12.0) / 0.01**2  # of rounding to a count
    assert np.std(acceleration_error(run)) < 0.6 * second_difference


# --- noise at equal delay, by frequency responses ---------------------------------------------------------------------

OMEGA_0 = 2.0 * np.pi * 50.0  # of the analog filter [rad/s]
DENSITY = 0.3 / np.sqrt(1000.0)  # of the tachometer's noise [rad/s/sqrt(Hz)]
PERIOD = 0.01


def difference_response(z: Any) -> Any:
    """From samples of the tachometer to the acceleration behind a Butterworth filter of 40 Hz (eq:difference)."""
    b0, b1, b2, a1, a2 = butterworth(40.0, PERIOD)
    return (b0 + b1 / z + b2 / z**2) / (1 + a1 / z + a2 / z**2) * (1 - 1 / z) / PERIOD


def observer_of(disturbance: float) -> Any:
    """The scenario's observer, as a response from samples of the tachometer to the acceleration."""
    changes = {"substitute.observer.disturbance": f"{disturbance!r} N*m"}
    scenario = read_substitution("met-substituted", changes)
    assert scenario.file.substitute is not None
    found = shaft_observer(joint_drive(scenario, "J1"), scenario.file.substitute, scenario.period)
    kept = (np.eye(4) - np.outer(found.L, found.C)) @ found.A
    row = np.array([-DAMPING / J, 1.0 / J, 0.0, 0.0])

    def response(z: Any) -> Any:
        return np.array(
            [row @ np.linalg.solve(np.eye(4) - kept / each, found.L) for each in np.atleast_1d(z)]
        )

    return response


def noise_of(response: Any) -> float:
    """RMS of the acceleration from noise ahead of the analog filter, folded at the samples [rad/s2]."""
    angles = (np.arange(4000) + 0.5) * np.pi / 4000
    passed = np.zeros(len(angles))
    for fold in range(-60, 61):
        s = 1j * (angles + 2 * np.pi * fold) / PERIOD
        passed += np.abs(OMEGA_0**2 / (s**2 + np.sqrt(2) * OMEGA_0 * s + OMEGA_0**2)) ** 2
    power = np.abs(response(np.exp(1j * angles))) ** 2 * passed * DENSITY**2 / 2
    return float(np.sqrt(np.mean(power) / PERIOD))


def delay_of(response: Any, frequency: float = 2.0) -> tuple[float, float]:
    """Delay [s] and gain of the estimated acceleration against the true one that an unknown torque causes."""
    s = 2j * np.pi * frequency
    sensed = OMEGA_0**2 / (s**2 + np.sqrt(2) * OMEGA_0 * s + OMEGA_0**2) / s  # samples per acceleration
    ratio = complex(np.atleast_1d(response(np.exp(s * PERIOD)) * sensed)[0])
    return -float(np.angle(ratio)) / (2 * np.pi * frequency), abs(ratio)


def test_noise_of_observer_and_difference_at_equal_delay() -> None:
    """Torques that were commanded: a tenth of the noise and no delay. Torques that nobody knows: a half.

    The observer's acceleration under commanded torques is the true one (its model is), whatever the disturbance that
    it believes; its noise is that of the correction alone, and a delay that is added leaves it as it is.
    """
    difference = noise_of(difference_response)
    delay, gain = delay_of(difference_response)
    assert delay == pytest.approx(11.8e-3, rel=0.01)
    assert gain == pytest.approx(1.0, abs=0.01)
    assert difference > 10.0 * noise_of(observer_of(1e-3))
    equal = brentq(lambda each: delay_of(observer_of(each))[0] - delay, 1e-3, 3e-2, xtol=1e-5)
    assert delay_of(observer_of(equal))[0] == pytest.approx(delay, rel=1e-2)
    assert 1.5 < difference / noise_of(observer_of(equal)) < 2.2
