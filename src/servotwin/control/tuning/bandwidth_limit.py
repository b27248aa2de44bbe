"""How fast the speed loop of an axis may be, what holds it down, and the notch that helps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from servotwin.control.tuning.filters import notch
from servotwin.control.tuning.gains import Gains, speed_gains
from servotwin.control.tuning.loops import Loop, speed_loop_of
from servotwin.control.tuning.sampled import AxisModel, Timing
from servotwin.description.controller_parts import Margins

SLOWEST, FASTEST = 1.0, 20_000.0  # rad/s
ROUNDS = 14
NEAR = 1.6  # factor around a resonance within which what goes wrong is put down to it
BETTER = 1.15  # factor on the bandwidth from which on a notch is worth its place
TRIED = ((0.7, 0.3), (1.0, 0.1), (1.5, 0.1), (2.0, 0.05))  # widths and depths of notches
TURN = 2.0 * math.pi


@dataclass(frozen=True)
class NotchAdvice:
    """A notch for an axis, in the units of ``controller.axes.*.notches``."""

    hertz: float
    width: float
    depth: float


@dataclass(frozen=True)
class BandwidthLimit:
    """The largest speed bandwidth [rad/s] of an axis that keeps its margins, and what holds it down.

    ``at`` [rad/s]: the frequency at which a faster loop loses its margin. ``notch``: one with which the loop may be
    ``with_notch`` [rad/s] fast; None if none helps.
    """

    bandwidth: float
    cause: str
    at: float
    notch: NotchAdvice | None = None
    with_notch: float = 0.0


def resonance(model: AxisModel) -> tuple[float, float] | None:
    r"""Resonance and antiresonance [rad/s] of a motor and its load behind an elastic gear; None of a stiff one.

    .. math:: \omega_r = \sqrt{k \Bigl(\frac1{J_m} + \frac1{J_L}\Bigr)}, \qquad \omega_a = \sqrt{k/J_L}   (eq:two-mass)
    """
    if model.stiffness is None or model.J_load <= 0.0 or model.J_m <= 0.0:
        return None
    k = model.stiffness
    return math.sqrt(k / model.J_m + k / model.J_load), math.sqrt(k / model.J_load)  # eq:two-mass


def bandwidth_limit(
    model: AxisModel, gains: Gains, timing: Timing, margins: Margins, integral_time: float | None
) -> BandwidthLimit:
    """What the speed loop of an axis can do with the current loop and the filters that it has."""
    found = _largest(model, gains, timing, margins, integral_time)
    loop = _loop(model, gains, timing, integral_time, 1.05 * found)
    at = _fails_at(loop, margins)
    limit = BandwidthLimit(found, _cause(model, loop, at), at)
    ringing = resonance(model)
    if ringing is None:
        return limit
    best = limit
    for width, depth in TRIED:
        if ringing[0] * timing.T_speed > 0.9 * math.pi:
            break
        filters = (*timing.torque_filters, notch(ringing[0], width, depth, timing.T_speed))
        tried = _largest(model, gains, replace(timing, torque_filters=filters), margins, integral_time)
        if tried > BETTER * max(found, best.with_notch):
            best = replace(limit, notch=NotchAdvice(ringing[0] / TURN, width, depth), with_notch=tried)
    return best


def _loop(model: AxisModel, gains: Gains, timing: Timing, integral_time: float | None, w: float) -> Loop:
    K_p, K_i = speed_gains(model.J, model.torque_constant, w, integral_time)
    return speed_loop_of(model, replace(gains, speed_proportional=K_p, speed_integral=K_i), timing)


def _well(loop: Loop, margins: Margins) -> bool:
    phase = loop.phase_margin is None or loop.phase_margin >= margins.phase
    return loop.stable and phase and (loop.gain_margin is None or loop.gain_margin >= margins.gain)


def _largest(
    model: AxisModel, gains: Gains, timing: Timing, margins: Margins, integral_time: float | None
) -> float:
    """The largest bandwidth [rad/s] up to which the loop keeps its margins."""
    low, high = SLOWEST, FASTEST
    for _ in range(ROUNDS):
        middle = math.sqrt(low * high)
        if _well(_loop(model, gains, timing, integral_time, middle), margins):
            low = middle
        else:
            high = middle
    return low


def _fails_at(loop: Loop, margins: Margins) -> float:
    """The frequency [rad/s] at which a loop is nearest to -1 for its margins."""
    distance = np.abs(1.0 + loop.open)
    if loop.phase_margin is not None and loop.phase_margin < margins.phase and loop.margin_at is not None:
        return float(loop.margin_at)
    return float(loop.w[int(np.argmin(distance))])


def _cause(model: AxisModel, loop: Loop, at: float) -> str:
    """What holds a speed loop down that loses its margin at a frequency [rad/s]."""
    ringing = resonance(model)
    if ringing is None:
        return "current loop, sampling and delays take the phase"
    w_r, w_a = ringing
    if at < w_r * NEAR and at > w_a / NEAR:
        return f"the resonance of rotor and load at {w_r / TURN:.1f} Hz"
    if at >= w_r * NEAR:
        return (
            f"above the resonance at {w_r / TURN:.1f} Hz the rotor alone is left, {model.J / model.J_m:.1f} times "
            "lighter than with its load: the loop crosses over where current loop, sampling and delays take the phase"
        )
    return f"the antiresonance of the load at {w_a / TURN:.1f} Hz"
