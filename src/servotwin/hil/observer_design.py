r"""Coefficients of the shaft's estimators: Butterworth filter by the bilinear transform, gains of the observer.

.. math:: H(s) = \frac{1}{s^2 + \sqrt2\,s + 1}, \quad s = \frac1c\,\frac{1 - z^{-1}}{1 + z^{-1}}, \quad
          c = \tan(\pi f_c T)                                                          (eq:butterworth)

The transform maps the half of the sampling rate to infinity, so a cut-off there or beyond has no filter. The observer's
model is the shaft with the torque that nobody commanded and the analog filter of the rig's tachometer, if it has one,

.. math:: J \dot\omega = \tau - d\,\omega + \tau_x, \quad \dot\tau_x = n_\tau, \quad
          \ddot y = \omega_0^2 (\omega + n_\omega - y) - \sqrt2\,\omega_0\,\dot y               (eq:shaft-model)

sampled exactly under a held torque; its gain is that of the stationary Kalman filter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.errors import InputError
from servotwin.hil.records import AMPLITUDES, FLOW, NODES, OBSERVED
from servotwin.mechanism.model import Array

FORGOTTEN = 100.0  # s within which amplitudes of a torque that repeats may change by their size
LEFT_OUT = 1e-10  # of a state, by the series between two parts of a period
MOST_DECAY = 24.0  # rate of the fastest state times the period: beyond, what a sample forgets of the last has no digits
SMALLEST_VARIANCE = 1e-6  # of a measurement over that of the noise which its filter passes: it is never exact


def butterworth(cut_off: float, period: float) -> tuple[float, float, float, float, float]:
    """b0, b1, b2, a1, a2 of the filter with ``cut_off`` [Hz] at a sample ``period`` [s] (eq:butterworth).

    >>> [round(value, 6) for value in butterworth(25.0, 0.01)]
    [0.292893, 0.585786, 0.292893, -0.0, 0.171573]
    """
    check_cut_off(cut_off, period)
    c = math.tan(math.pi * cut_off * period)
    scale = 1.0 / (1.0 + math.sqrt(2.0) * c + c * c)
    b0 = c * c * scale
    return b0, 2.0 * b0, b0, 2.0 * (c * c - 1.0) * scale, (1.0 - math.sqrt(2.0) * c + c * c) * scale


def check_cut_off(cut_off: float, period: float, field: str = "cut_off") -> None:
    """Refuse a cut-off at or above half of the sampling rate."""
    nyquist = 0.5 / period
    if not cut_off < nyquist * (1.0 - 1e-9):
        raise InputError(
            f"{cut_off:g} Hz is not below half of the servo's rate, {nyquist:g} Hz, where a sampled filter ends; "
            f"expected less, such as '{0.8 * nyquist:g} Hz'",
            field=field,
        )


@dataclass(frozen=True)
class ShaftBelief:
    """What an observer knows of its shaft (SI, at the shaft)."""

    J: float  # kg m2
    damping: float  # of back-EMF and viscous friction [N m s/rad]
    cut_off: float | None  # of the analog filter behind the tachometer [Hz]
    noise: float  # density of the tachometer's noise [rad/s/sqrt(Hz)]
    resolution: float  # of the rate's converter, or of the encoder [rad/s, rad]; 0: none
    disturbance: float  # intensity of the torque that nobody commanded [N m/sqrt(s)]
    angle: bool  # the encoder is measured, not the tachometer
    noise_rms: float = 0.0  # of a sample of the tachometer without analog filter [rad/s]


@dataclass(frozen=True)
class Observer:
    """From sample to sample x = A x + B tau + B_before tau_before, corrected by L (measured - C x).

    Its states: rate, disturbance, then y and dy/dt or the angle. ``A_ahead``, ``B_ahead`` carry it from the sample to
    the instant at which it is used; without delay they do nothing. ``F`` and ``flow`` are for samples whose age
    changes: rates of the states under (states, torque), and what becomes of them after j / ``FLOW`` of a period.
    """

    A: Array
    B: Array
    C: Array
    L: Array
    B_before: Array
    A_ahead: Array
    B_ahead: Array
    F: Array
    flow: Array
    terms: int  # of the Taylor series from the nearest of these parts on (eq:flow-terms)


def design_observer(shaft: ShaftBelief, period: float, delay: float = 0.0) -> Observer:
    """The stationary Kalman filter of a shaft at a sample ``period`` [s] (eq:shaft-model).

    ``delay``: age of a sample when it is used, in periods, 0 to 1: the torque of the period before acts in its first
    part up to the sample.
    """
    from scipy.linalg import expm

    from servotwin.linear.feedback import kalman

    F, G, Q, C, V = _continuous(shaft)
    n = len(F)
    model = np.block([[F, G], [np.zeros((1, n + 1))]])
    whole, ahead, rest = (expm(share * period * model) for share in (1.0, delay, 1.0 - delay))
    A, B_before = whole[:n, :n], rest[:n, :n] @ ahead[:n, n]
    W = _sampled_noise(F, Q, period)
    L = kalman(A, C[None, :], W, np.array([[V]]))[:, 0]
    wide = OBSERVED - n
    parts = (A, rest[:n, n], C, L, B_before, ahead[:n, :n], ahead[:n, n])
    flow = np.array([_widened(expm(j / FLOW * period * model)[:n], n) for j in range(FLOW + 1)])
    flow[:, range(n, OBSERVED), range(n, OBSERVED)] = 1.0
    A, B, C, L, B_before, A_ahead, B_ahead = (np.pad(each, (0, wide)) for each in parts)
    terms = flow_terms(shaft, model, period)
    return Observer(A, B, C, L, B_before, A_ahead, B_ahead, _widened(model[:n], n), flow, terms)


def fastest_rate(shaft: ShaftBelief) -> float:
    """Of the states that an observer follows [1/s]: rate of the shaft, analog filter."""
    return max(abs(shaft.damping) / shaft.J, 2.0 * math.pi * (0.0 if shaft.angle else shaft.cut_off or 0.0))


def flow_terms(shaft: ShaftBelief, model: Array, period: float) -> int:
    r"""Terms of the series of exp(F t) that leave out ``LEFT_OUT`` at most within half a part of a period.

    .. math:: \frac{a^{k+1}}{(k+1)!}\,e^a \le \epsilon, \quad
              a = \frac{T}{2 \cdot 16}\,\lVert D^{-1} F D \rVert_1                                   (eq:flow-terms)

    with D the size of each state where it changes as fast as the fastest.
    """
    r = max(fastest_rate(shaft), 1.0 / period)
    torque = shaft.J * r
    seen = [1.0 / r] if shaft.angle else ([1.0, r] if shaft.cut_off is not None else [])
    D = np.array([1.0, torque, *seen, torque])
    a = 0.5 * period / FLOW * float(np.linalg.norm(model * D / D[:, None], 1))
    left, terms = a, 0
    while left * math.exp(a) > LEFT_OUT:
        terms += 1
        left *= a / (terms + 1)
    return terms


def _widened(rows: Array, n: int) -> Array:
    """Rows over n states and the torque as rows over ``OBSERVED`` states and the torque."""
    wide = np.zeros((OBSERVED, OBSERVED + 1))
    wide[:n, :n], wide[:n, OBSERVED] = rows[:, :n], rows[:, n]
    return wide


def _continuous(shaft: ShaftBelief) -> tuple[Array, Array, Array, Array, float]:
    """F, G, intensity of the noise, measurement row and variance."""
    torque = shaft.disturbance**2
    top = [-shaft.damping / shaft.J, 1.0 / shaft.J]
    if shaft.angle:
        F = np.array([[*top, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        return F, _column(3, shaft.J), np.diag([0.0, torque, 0.0]), np.eye(3)[2], shaft.resolution**2 / 12.0
    per_sample = shaft.noise_rms**2 + shaft.resolution**2 / 12.0
    if shaft.cut_off is None:
        F = np.array([top, [0.0, 0.0]])
        return F, _column(2, shaft.J), np.diag([0.0, torque]), np.eye(2)[0], per_sample
    w = 2.0 * math.pi * shaft.cut_off
    F = np.zeros((4, 4))
    F[0, :2], F[2, 3], F[3] = top, 1.0, [w * w, 0.0, -w * w, -math.sqrt(2.0) * w]
    # one-sided density S: a white noise of intensity S^2 / 2
    Q = np.diag([0.0, torque, 0.0, w**4 * shaft.noise**2 / 2.0])
    passed = shaft.noise**2 * w / (2.0 * math.sqrt(2.0) * 2.0)
    V = shaft.resolution**2 / 12.0 + SMALLEST_VARIANCE * passed
    return F, _column(4, shaft.J), Q, np.eye(4)[2], V


@dataclass(frozen=True)
class HarmonicDesign:
    """What an observer of a torque that repeats with the turns needs beside an ``Observer``; see the JOINT record."""

    nodes: Array
    weights: Array
    nodes_ahead: Array
    weights_ahead: Array
    W: Array
    W_harmonic: float
    V: float
    P: Array


def design_harmonics(shaft: ShaftBelief, period: float, delay: float, torque: float) -> HarmonicDesign:
    """Nodes, covariances and first covariance for amplitudes of the size ``torque`` [N m] (eq:harmonic-columns)."""
    from scipy.linalg import expm, solve_discrete_are

    F, G, Q, C, V = _continuous(shaft)
    n = len(F)
    W = _sampled_noise(F, Q, period)
    first = solve_discrete_are(expm(F * period).T, C[:, None], W, np.array([[V]]))

    def rule(span: float) -> tuple[Array, Array]:
        at, share = np.polynomial.legendre.leggauss(NODES)
        nodes = 0.5 * span * (at + 1.0)
        made = np.zeros((NODES, OBSERVED))
        for j, node in enumerate(nodes):
            made[j, :n] = 0.5 * span * share[j] * (expm(F * (span - node)) @ G)[:, 0]
        return nodes, made

    size = OBSERVED + AMPLITUDES
    P, wide = np.zeros((size, size)), np.zeros((OBSERVED, OBSERVED))
    P[:n, :n], wide[:n, :n] = first, W
    P[range(OBSERVED, size), range(OBSERVED, size)] = torque**2
    return HarmonicDesign(*rule(period), *rule(delay * period), wide, torque**2 * period / FORGOTTEN, V, P)


def _column(n: int, J: float) -> Array:
    G = np.zeros((n, 1))
    G[0, 0] = 1.0 / J
    return G


def _sampled_noise(F: Array, Q: Array, period: float) -> Array:
    """Covariance that the noise adds in a period (Van Loan)."""
    from scipy.linalg import expm

    n = len(F)
    block = expm(period * np.block([[-F, Q], [np.zeros((n, n)), F.T]]))
    A = block[n:, n:].T
    W = A @ block[:n, n:]
    return np.asarray(0.5 * (W + W.T))
