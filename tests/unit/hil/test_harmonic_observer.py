"""The observer of a torque that repeats with the turns of a shaft."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import expm

import servotwin as st
from servotwin.compiled.jit import kernel
from servotwin.errors import InputError
from servotwin.hil.observer_design import ShaftBelief, design_harmonics, design_observer
from servotwin.hil.records import JOINT, Estimator
from servotwin.hil.scenario import read_substitution
from servotwin.hil.shaft_estimate import estimate

N, J, DAMPING = 1570.0, 6.38e-5, 0.061**2 / 2.05 + 2.58e-5
SHAFT = ShaftBelief(J, DAMPING, 50.0, 0.3 / np.sqrt(1000.0), 0.17, 1e-3, angle=False, noise_rms=0.3)


@kernel
def estimate_once(joints: Any, rate: float, period: float) -> None:
    estimate(joints[0], rate, 0.0, period)


@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_filter_is_the_textbook_one_with_columns_by_quadrature(delay: float) -> None:
    """Kalman's equations with whole matrices, columns by SciPy's adaptive quadrature."""
    period, orders = 0.01, (1, 2)
    base, more = design_observer(SHAFT, period, delay), design_harmonics(SHAFT, period, delay, 2e-3)
    joints = np.zeros(1, JOINT)
    joints["estimator"], joints["N"], joints["J"], joints["R"] = Estimator.OBSERVER, N, J, 2.05
    joints["K"] = joints["K_e"] = 0.061
    joints["f"], joints["delay"], joints["harmonics"] = 2.58e-5, delay, len(orders)
    joints["tau_limit"] = np.inf
    joints["orders"][0, :2] = orders
    for part in (base, more):
        for each in fields(part):
            joints[each.name] = getattr(part, each.name)
    F, G = base.F[:, :4], base.F[:, 4]

    def columns(theta: float, w: float, span: float) -> Any:
        def at(s: float) -> Any:
            turns = [f(k * (theta + w * s)) for k in orders for f in (np.cos, np.sin)]
            return np.outer(expm(F * (span - s)) @ G, turns)

        return quad_vec(at, 0.0, span, epsabs=1e-14, epsrel=1e-12)[0] if span else np.zeros((4, 4))

    rng = np.random.default_rng(2)
    n = 8
    P, W = more.P[:n, :n].copy(), np.zeros((n, n))
    W[:4, :4], W[range(4, 8), range(4, 8)] = more.W, more.W_harmonic
    C = np.append(base.C, np.zeros(4))
    x, w_hat, theta = np.zeros(n), 47.0, 0.0
    x[0] = x[2] = 47.0
    tau = before = 0.0
    estimate_once(joints, 47.0, period)
    for _ in range(60):
        rate = 47.0 + rng.normal()
        estimate_once(joints, rate, period)
        begin = theta - w_hat * delay * period
        Phi = np.eye(n)
        Phi[:4, :4], Phi[:4, 4:] = base.A, columns(begin, w_hat, period)
        x = Phi @ x
        x[:4] += base.B * tau + base.B_before * before
        P = Phi @ P @ Phi.T + W
        K = P @ C / (C @ P @ C + more.V)
        x = x + K * (rate - C @ x)
        rest = np.eye(n) - np.outer(K, C)
        P = rest @ P @ rest.T + more.V * np.outer(K, K)
        now = base.A_ahead @ x[:4] + base.B_ahead * tau
        now += columns(begin + w_hat * period, x[0], delay * period) @ x[4:]
        theta, w_hat = theta + 0.5 * period * (w_hat + now[0]), now[0]
        assert joints["w_hat"][0] == pytest.approx(w_hat, rel=1e-9)
        assert joints["amplitudes"][0, :4] == pytest.approx(x[4:], rel=1e-6, abs=1e-9)
        assert joints["P"][0, :n, :n] == pytest.approx(P, rel=1e-6, abs=1e-6 * np.abs(P).min())
        turns = [f(k * theta) for k in orders for f in (np.cos, np.sin)]
        alpha = (tau - DAMPING * now[0] + now[1] + x[4:] @ turns) / J
        assert joints["alpha_hat"][0] == pytest.approx(alpha, rel=1e-6, abs=1e-6)
        before, tau = tau, 0.01 * rng.normal()
        joints["tau_before"], joints["tau_given"] = before, tau


MISALIGNED = """\
extends: met-rig-noisy
name: misaligned-rig
shafts: {S1: {drive: {ripple: 0 %}, load: {ripple: 0 %}}}
"""


def acceleration_error(rig: Path, delays: Any = (0.0,), **changes: str) -> list[float]:
    """RMS of the estimated less the true acceleration, so much earlier [rad/s2], after 5 s."""
    given = {"substitute.rig": str(rig), "duration": "20 s"} | {
        f"substitute.{k.replace('__', '.')}": v for k, v in changes.items()
    }
    run = st.substitute("met-substituted", given, compare=False).run
    true, found = run.joint("J1", "acceleration_true"), N * run.joint("J1", "qdd")
    after, dense = run.time > 5.0, run.time
    return [float(np.sqrt(np.mean((found - np.interp(dense - d, dense, true))[after] ** 2))) for d in delays]


def test_misalignment_and_noise_leave_a_fifth_of_the_error_of_differences_and_no_delay(
    tmp_path: Path,
) -> None:
    """Against the truth: differences at the delay that suits them best, the observer at none."""
    rig = tmp_path / "rig.yaml"
    rig.write_text(MISALIGNED)
    differences = min(acceleration_error(rig, np.arange(0.0, 0.03, 0.0005)))
    observer = {"estimator": "observer", "observer__disturbance": "0.5 mN*m"}
    (harmonic,) = acceleration_error(rig, **observer, observer__harmonics="[1, 2]")
    (plain,) = acceleration_error(rig, **observer)
    assert differences > 5.0 * harmonic
    assert plain > 10.0 * harmonic


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"substitute.observer.harmonics": "[1, 2, 3, 4, 5]"}, "at most 4 different whole numbers"),
        ({"substitute.observer.harmonics": "[2, 2]"}, "at most 4 different whole numbers"),
        ({"substitute.observer.harmonics": "[0]"}, "from 1 to 100"),
        ({"substitute.observer.harmonics": "[1]", "substitute.stamps": "true"}, "one age for all samples"),
    ],
)
def test_harmonics_that_cannot_be_are_refused(changes: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_substitution("met-substituted", {"substitute.estimator": "observer", **changes})
