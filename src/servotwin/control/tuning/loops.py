r"""Frequency responses and margins of the current, speed and position loop of one axis, sampling included.

Each loop is seen with the ones inside it closed. The current and the speed
loop are exact in the z domain; the position loop, whose period need not be a
multiple of the speed loop's, keeps the fundamental of what the changing lag
between the two clocks makes of a sine. Theory: docs/theory/servo-loops.md.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from servotwin.control.tuning.gains import Gains
from servotwin.control.tuning.sampled import (
    ANGLE,
    Array,
    AxisModel,
    Complex,
    Sampled,
    Timing,
    behind_filters,
    closed,
    lifted,
    sampled_axis,
    with_speed_sensor,
)
from servotwin.control.tuning.step_response import largest_pole
from servotwin.control.tuning.valve import ValveModel, damped_valve, sampled_valve
from servotwin.errors import InputError

POINTS = 700  # of a frequency response
_LOWEST = 0.3  # [rad/s]
_ON_CIRCLE = 1e-6  # an angle that drifts is a pole at 1, up to rounding


@dataclass(frozen=True)
class Loop:
    """One loop cut open: its frequency response, its margins, and whether it is stable when closed."""

    name: str  # current (of a valve: pressure), speed or position
    w: Array  # (k,) [rad/s], up to the Nyquist frequency
    open: Complex  # (k,) open loop
    crossover: float | None  # highest frequency of gain one [rad/s]
    phase_margin: float | None  # least at any frequency of gain one [rad]; negative in an unstable loop
    margin_at: float | None  # the frequency of that margin [rad/s]
    gain_margin: float | None  # factor on the gain at which oscillation starts; None: none does
    bandwidth: float | None  # where the closed loop has fallen by 3 dB [rad/s]
    stable: bool

    @property
    def closed(self) -> Complex:
        """Closed loop (k,), reference to measurement."""
        return np.asarray(self.open / (1.0 + self.open))


@dataclass(frozen=True)
class AxisLoops:
    """The three loops of one axis; the innermost one of a valve is that of its pressure feedback."""

    current: Loop
    speed: Loop
    position: Loop

    @property
    def all(self) -> tuple[Loop, Loop, Loop]:
        """From the innermost outwards."""
        return self.current, self.speed, self.position


def axis_loops(model: AxisModel | ValveModel, gains: Gains, timing: Timing) -> AxisLoops:
    """All three loops of an axis with given gains; InputError for data whose loops overflow all numbers."""
    try:
        with np.errstate(all="ignore"):
            return _axis_loops(model, gains, timing)
    except (np.linalg.LinAlgError, OverflowError, ZeroDivisionError):
        if isinstance(model, ValveModel):
            raise InputError("loops of a valve that cannot be computed; expected data of a machine") from None
        raise InputError(
            f"loops that cannot be computed: torque constant {model.torque_constant:.3g} N m/A, "
            f"resistance {model.R:.3g} ohm, inductance {model.L:.3g} H, inertia {model.J:.3g} kg m2 at the motor; "
            "expected data of a machine"
        ) from None


def _axis_loops(model: AxisModel | ValveModel, gains: Gains, timing: Timing) -> AxisLoops:
    shaft = speed_plant(model, gains, timing)
    if isinstance(model, ValveModel):
        current = pressure_loop(model, timing)
    else:
        winding = sampled_axis(model, timing.T_current)
        current = _sampled_loop(
            "current", winding, gains.current_proportional, gains.current_integral, timing.current_delay
        )
    speed = _speed_loop(shaft, gains, timing)
    position = _position_loop(
        shaft, gains, timing, stable=largest_pole(model, gains, timing) < 1.0, ahead=model.flow_share
    )
    return AxisLoops(current, _around(current, speed), _around(speed, _around(current, position)))


def _speed_loop(shaft: Sampled, gains: Gains, timing: Timing) -> Loop:
    return _sampled_loop("speed", shaft, gains.speed_proportional, gains.speed_integral, timing.speed_delay)


def speed_loop_of(model: AxisModel | ValveModel, gains: Gains, timing: Timing) -> Loop:
    """The speed loop alone."""
    with np.errstate(all="ignore"):
        return _speed_loop(speed_plant(model, gains, timing), gains, timing)


def pressure_loop(model: ValveModel, timing: Timing) -> Loop:
    """The loop of a valve's pressure feedback."""
    oil = sampled_valve(model, timing.T_current)
    return _sampled_loop("pressure", oil, model.pressure_gain, 0.0, timing.current_delay)


def pressure_response(model: ValveModel, timing: Timing) -> tuple[Complex, Callable[[float], bool]]:
    """That loop cut open at its frequencies (k,) for a gain of 1 A/Pa, and whether it is stable with a gain."""
    oil, delay = sampled_valve(model, timing.T_current), timing.current_delay
    w = _frequencies(oil.T, oil)
    opened = np.asarray(_pi(w, oil.T, 1.0, 0.0, delay) * oil.response(w))
    return opened, lambda gain: _stable(closed(oil, gain, 0.0, delay))


def _around(inner: Loop, outer: Loop) -> Loop:
    """The outer loop; its margins say nothing while the inner one is unstable."""
    return outer if inner.stable else replace(outer, phase_margin=None, margin_at=None, gain_margin=None)


def speed_plant(model: AxisModel | ValveModel, gains: Gains, timing: Timing) -> Sampled:
    """What the speed controller sees: current command in, measured speed out, once per speed period."""
    if isinstance(model, ValveModel):
        return with_speed_sensor(lifted(damped_valve(model, timing), timing.speed_ratio), timing)
    winding = sampled_axis(model, timing.T_current)
    current_loop = closed(winding, gains.current_proportional, gains.current_integral, timing.current_delay)
    shaft = with_speed_sensor(lifted(current_loop, timing.speed_ratio), timing)
    return behind_filters(shaft, timing.torque_filters)


def _pi(w: Array, T: float, K_p: float, K_i: float, delay: int) -> Complex:
    """Frequency response of a sampled PI controller with its delay (eq:sampled-pi)."""
    z = np.exp(1j * w * T)
    return np.asarray((K_p + K_i * T / (z - 1.0)) * z ** (-delay))


def _sampled_loop(name: str, plant: Sampled, K_p: float, K_i: float, delay: int) -> Loop:
    def response(w: Array) -> Complex:
        return np.asarray(_pi(w, plant.T, K_p, K_i, delay) * plant.response(w))

    return _loop(name, _frequencies(plant.T, plant), response, _stable(closed(plant, K_p, K_i, delay)))


def _position_loop(shaft: Sampled, gains: Gains, timing: Timing, *, stable: bool, ahead: float) -> Loop:
    r"""The position loop around the closed speed loop.

    .. math:: L_x(j\omega) = C_x(e^{j\omega T_x}) \cdot
              \frac{1}{m} \sum_k e^{-j\omega \lambda_k} \cdot
              G_\theta(e^{j\omega T_n})                                   (eq:position-response)

    lambda_k: age of the speed command at the k-th sample of the speed loop,
    over the time after which the two clocks meet again.
    """
    speed_loop = closed(shaft, gains.speed_proportional, gains.speed_integral, timing.speed_delay, ahead)
    angle, ages = speed_loop.watching(ANGLE), command_ages(timing)

    def response(w: Array) -> Complex:
        age = np.exp(-1j * np.outer(w, ages)).mean(axis=1)  # eq:position-response
        controller = _pi(w, timing.T_axis, gains.position, gains.position_integral, timing.axis_delay)
        return np.asarray(controller * age * angle.response(w))

    return _loop("position", _frequencies(timing.T_axis, speed_loop), response, stable)


def command_ages(timing: Timing) -> Array:
    """Ages (m,) [s] of the speed command when the speed loop reads it, until both clocks meet again.

    >>> command_ages(Timing(200_000, 1_000_000, 1_600_000)).round(4).tolist()
    [0.0, 0.001, 0.0004, 0.0014, 0.0008, 0.0002, 0.0012, 0.0006]
    """
    meet = math.lcm(timing.speed_ns, timing.axis_ns)
    return np.array([(k % timing.axis_ns) * 1e-9 for k in range(0, meet, timing.speed_ns)])


def _frequencies(T: float, plant: Sampled) -> Array:
    """Frequencies up to Nyquist's of period T, closer where phases turn fast: towards it and at resonances."""
    nyquist = math.pi / T
    even = np.geomspace(min(_LOWEST, nyquist / 1e3), nyquist, POINTS - POINTS // 4)
    resonances = np.unique(np.abs(np.angle(np.linalg.eigvals(plant.A))) / plant.T)
    close = np.outer(resonances[resonances > 1.0], np.linspace(0.9, 1.1, 41)).ravel()
    w = np.concatenate([even, np.linspace(nyquist / 20, nyquist, POINTS // 4), close])
    return np.unique(w[w <= nyquist])


def _stable(system: Sampled) -> bool:
    r"""Whether all poles lie in the unit circle; the angle, which no inner loop holds, stays on it."""
    return bool(np.abs(np.linalg.eigvals(system.A)).max() < 1.0 + _ON_CIRCLE)


def _loop(name: str, w: Array, response: Callable[[Array], Complex], stable: bool) -> Loop:
    L = response(w)
    crossings = _gain_crossings(w, L, response, stable)
    margin_at, margin = min(crossings, key=lambda crossing: crossing[1], default=(None, None))
    return Loop(
        name=name,
        w=w,
        open=L,
        crossover=max((at for at, _ in crossings), default=None),
        phase_margin=margin,
        margin_at=margin_at,
        gain_margin=_gain_margin(w, L, response, stable),
        bandwidth=_bandwidth(w, L, crossings),
        stable=stable,
    )


def _sign_changes(
    w: Array, L: Complex, response: Callable[[Array], Complex], value: Callable[[Complex], Array]
) -> list[tuple[float, complex]]:
    """Frequency and response wherever ``value`` of the response changes its sign."""
    found = []
    for k in np.flatnonzero(np.diff(np.signbit(value(L)))):
        low, high = w[k], w[k + 1]
        for _ in range(3):  # to 1/8000 of the interval
            fine = np.linspace(low, high, 21)
            step = np.flatnonzero(np.diff(np.signbit(value(response(fine)))))
            if len(step) == 0:  # rounding at the ends
                break
            low, high = fine[step[0]], fine[step[0] + 1]
        at = 0.5 * (low + high)
        found.append((float(at), complex(response(np.array([at]))[0])))
    return found


def _gain_crossings(
    w: Array, L: Complex, response: Callable[[Array], Complex], stable: bool
) -> list[tuple[float, float]]:
    r"""Frequency and phase margin of every crossing of gain one.

    .. math:: \varphi = \pi - |\arg L(j\omega_c)|, \quad |L(j\omega_c)| = 1  (eq:phase-margin)

    the turn to the negative axis on its nearer side, as a resonance may approach it from either;
    in an unstable loop pi + arg L, the turn that is missing.
    """
    found = _sign_changes(w, L, response, lambda values: np.asarray(np.abs(values) - 1.0))
    phases = [(at, cmath.phase(value)) for at, value in found]
    if stable:
        return [(at, math.pi - abs(phase)) for at, phase in phases]  # eq:phase-margin
    turn = 2.0 * math.pi
    return [(at, (phase + turn) % turn - math.pi) for at, phase in phases]


def _gain_margin(w: Array, L: Complex, response: Callable[[Array], Complex], stable: bool) -> float | None:
    r"""The factor on the gain that makes a stable loop oscillate, or would calm an unstable one.

    .. math:: g = 1 / |L(j\omega_\pi)|, \quad \arg L(j\omega_\pi) = -\pi   (eq:gain-margin)

    At Nyquist's frequency a sampled loop is real, so the negative axis may be met there.
    """
    meets = [value.real for _, value in _sign_changes(w, L, response, lambda values: values.imag)]
    if abs(L[-1].imag) < 1e-6 * abs(L[-1].real):
        meets.append(float(L[-1].real))
    margins = [-1.0 / real for real in meets if real < 0.0]  # eq:gain-margin
    return min((g for g in margins if (g > 1.0 if stable else g < 1.0)), default=None)


def _bandwidth(w: Array, response: Complex, crossings: list[tuple[float, float]]) -> float | None:
    if not crossings:
        return None
    gain = np.abs(response / (1.0 + response)) * math.sqrt(2.0)
    below = np.flatnonzero((gain < 1.0) & (w > crossings[0][0]))
    if len(below) == 0:
        return None
    k = below[0]
    share = math.log(gain[k - 1]) / math.log(gain[k - 1] / gain[k]) if gain[k - 1] > 1.0 else 1.0
    return float(w[k - 1] * (w[k] / w[k - 1]) ** share)
