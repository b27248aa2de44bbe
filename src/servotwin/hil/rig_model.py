r"""The twin of a motor test bed: drive motor and load motor on one shaft, amplifiers, sensors and converters.

The shaft obeys the paper's eq 5 with friction and what a real shaft adds,

.. math:: J \dot\omega = \tau_d + \tau_l + \tau_x(\theta) - f\,\omega - s\,\tau_c            (eq:rig-shaft)

with :math:`\tau_x` the torque of misalignment (once and twice a turn) and cogging, s = +-1 the direction in which it
slides. At rest it sticks exactly until more than the static torque acts. Amplifiers:

.. math:: \dot u = \omega_u (u_c - u), \quad L_d\,\dot i_d = u - R_d i_d - K_d\,\omega, \quad
          \dot i_l = \omega_l (i_c - i_l)                                              (eq:rig-amplifiers)

each without its lag where none is stated. The tachometer is followed by an analog second-order low pass,

.. math:: \ddot y = \omega_0^2 (\omega_g - y) - 2 d\,\omega_0\,\dot y                       (eq:rig-filter)

where :math:`\omega_g` is the rate with gain, ripple and noise. Runge-Kutta steps of fourth order, noise held over each.
Sizes and units: ``rig_record.py``. Theory: docs/theory/motor-substitution.md.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, kernel, piece
from servotwin.compiled.native_calls import call_piece, records_at
from servotwin.compiled.numeric import normal, quantise
from servotwin.hil.ports import MAX_SHAFTS, SHAFT_COMMAND, SHAFT_FEEDBACK, RigFault
from servotwin.hil.rig_record import (
    ANGLE,
    DRIVE_CURRENT,
    FILTERED,
    FILTERED_DOT,
    FREE,
    LOAD_CURRENT,
    RATE,
    RIG,
    STATES,
    STUCK,
    VOLTAGE,
)

NO_FAULT, OVER_SPEED = int(RigFault.NONE), int(RigFault.OVER_SPEED)
OVER_CURRENT = int(RigFault.OVER_CURRENT)
HALF = (0.5, 0.5, 1.0)
MOST_PIECES = 8  # of a step that is cut where the shaft comes to rest
ROUNDING = 1e-9


@helper
def limited(value: float, most: float) -> float:
    """``value`` within -most..most."""
    return min(max(value, -most), most)


@helper
def amplifier_voltage(shaft: Any, x: Any) -> float:
    """Voltage of the drive motor's amplifier [V]."""
    return x[VOLTAGE] if shaft.u_bandwidth > 0.0 else shaft.u_command  # type: ignore[no-any-return]


@helper
def drive_current(shaft: Any, x: Any) -> float:
    """Current of the drive motor [A]; without inductance it follows the voltage at once (eq:rig-amplifiers)."""
    if shaft.enabled == 0:
        return 0.0
    if shaft.L_d > 0.0:
        return x[DRIVE_CURRENT]  # type: ignore[no-any-return]
    return limited((amplifier_voltage(shaft, x) - shaft.K_d * x[RATE]) / shaft.R_d, shaft.i_d_limit)


@helper
def load_current(shaft: Any, x: Any) -> float:
    """Current of the load motor [A], within what its amplifier's voltage can drive against the back-EMF."""
    if shaft.enabled == 0:
        return 0.0
    i = limited(x[LOAD_CURRENT] if shaft.i_l_bandwidth > 0.0 else shaft.i_command, shaft.i_l_limit)
    if shaft.R_l > 0.0 and shaft.u_l_limit > 0.0:
        emf = shaft.K_l * x[RATE]
        i = min(max(i, (-shaft.u_l_limit - emf) / shaft.R_l), (shaft.u_l_limit - emf) / shaft.R_l)
    return i


@helper
def applied_torque(shaft: Any, x: Any) -> float:
    """All torque on the shaft but friction [N m]: tau_d + tau_l + tau_x (eq:rig-shaft)."""
    theta = x[ANGLE]
    tau = shaft.K_d * drive_current(shaft, x) * (1.0 + shaft.ripple_d * math.cos(shaft.ripples_d * theta))
    tau += shaft.K_l * load_current(shaft, x) * (1.0 + shaft.ripple_l * math.cos(shaft.ripples_l * theta))
    turned = theta - shaft.misaligned_at
    tau += shaft.misaligned_once * math.cos(turned) + shaft.misaligned_twice * math.cos(2.0 * turned)
    return tau + shaft.cogging * math.sin(shaft.coggings * theta)  # type: ignore[no-any-return]


@helper
def dry_torque(shaft: Any) -> float:
    """Coulomb friction and closed brake [N m]."""
    return shaft.tau_c + (shaft.brake_torque if shaft.brake_closed else 0.0)  # type: ignore[no-any-return]


@helper
def static_torque(shaft: Any) -> float:
    """What holds the shaft at rest at most [N m]."""
    return shaft.tau_s + (shaft.brake_torque if shaft.brake_closed else 0.0)  # type: ignore[no-any-return]


@helper
def tachometer_rate(shaft: Any, x: Any) -> float:
    """The rate that the tachometer shows before its filter: gain, ripple, noise [rad/s]."""
    shown = shaft.gain * x[RATE] * (1.0 + shaft.tacho_ripple * math.cos(shaft.tacho_ripples * x[ANGLE]))
    return shown + shaft.noise  # type: ignore[no-any-return]


@helper
def rates(shaft: Any, x: Any, dx: Any, row: int) -> None:
    """Slopes of the state, to row ``row`` of ``dx``."""
    w = x[RATE]
    dx[row, ANGLE] = w
    dx[row, RATE] = 0.0
    if shaft.mode != STUCK:
        friction = shaft.f * w
        if shaft.mode != FREE:
            friction += shaft.mode * dry_torque(shaft)
        dx[row, RATE] = (applied_torque(shaft, x) - friction) / shaft.J  # eq:rig-shaft
    dx[row, VOLTAGE] = shaft.u_bandwidth * (shaft.u_command - x[VOLTAGE])  # eq:rig-amplifiers
    dx[row, DRIVE_CURRENT] = drive_slope(shaft, x)
    dx[row, LOAD_CURRENT] = shaft.i_l_bandwidth * (shaft.i_command - x[LOAD_CURRENT])
    dx[row, FILTERED] = x[FILTERED_DOT]
    w_0 = shaft.w_filter
    error = tachometer_rate(shaft, x) - x[FILTERED]
    dx[row, FILTERED_DOT] = w_0 * (w_0 * error - 2.0 * shaft.damping * x[FILTERED_DOT])  # eq:rig-filter


@helper
def drive_slope(shaft: Any, x: Any) -> float:
    """Slope of the drive current [A/s]; at its limit the amplifier lets it go no further (eq:rig-amplifiers)."""
    if shaft.L_d <= 0.0 or shaft.enabled == 0:
        return 0.0
    i = x[DRIVE_CURRENT]
    slope = (amplifier_voltage(shaft, x) - shaft.R_d * i - shaft.K_d * x[RATE]) / shaft.L_d
    if abs(i) >= shaft.i_d_limit and slope * i > 0.0:
        return 0.0
    return slope  # type: ignore[no-any-return]


@helper
def advance(shaft: Any, h: float) -> None:
    """One Runge-Kutta step of length h from ``x`` to ``xs``."""
    rates(shaft, shaft.x, shaft.k, 0)
    for stage in range(1, 4):
        for j in range(STATES):
            shaft.xs[j] = shaft.x[j] + HALF[stage - 1] * h * shaft.k[stage - 1, j]
        rates(shaft, shaft.xs, shaft.k, stage)
    for j in range(STATES):
        slope = shaft.k[0, j] + 2.0 * (shaft.k[1, j] + shaft.k[2, j]) + shaft.k[3, j]
        shaft.xs[j] = shaft.x[j] + h / 6.0 * slope


@helper
def accept(shaft: Any) -> None:
    """``xs`` becomes the state."""
    for j in range(STATES):
        shaft.x[j] = shaft.xs[j]
    shaft.x[DRIVE_CURRENT] = limited(shaft.x[DRIVE_CURRENT], shaft.i_d_limit)


@helper
def choose_mode(shaft: Any) -> None:
    """Whether a shaft at rest sticks, or which way it goes; without dry friction it is free."""
    if dry_torque(shaft) <= 0.0:
        shaft.mode = FREE
        return
    if shaft.mode == FREE and shaft.x[RATE] != 0.0:
        shaft.mode = 1 if shaft.x[RATE] > 0.0 else -1
        return
    if shaft.x[RATE] != 0.0 and shaft.mode != STUCK:
        return
    tau = applied_torque(shaft, shaft.x)
    if abs(tau) <= static_torque(shaft):
        shaft.mode = STUCK
    else:
        shaft.mode = 1 if tau > 0.0 else -1


@helper
def substep(shaft: Any, h: float) -> None:
    """Carry the shaft over h, cut where it comes to rest."""
    left = h
    for _ in range(MOST_PIECES):
        choose_mode(shaft)
        advance(shaft, left)
        w_0, w_1 = shaft.x[RATE], shaft.xs[RATE]
        if shaft.mode in (STUCK, FREE) or shaft.mode * w_1 > 0.0:
            accept(shaft)
            return
        share = w_0 / (w_0 - w_1) if w_0 * w_1 < 0.0 else 0.0 if w_0 == 0.0 else 1.0
        if share > 0.0:
            advance(shaft, share * left)
            accept(shaft)
        shaft.x[RATE] = 0.0
        left *= 1.0 - share
        if share <= 0.0:
            break
        if left <= 0.0:
            return
    shaft.mode = STUCK
    advance(shaft, left)
    accept(shaft)


@helper
def take_command(shaft: Any, i: int, command: Any) -> None:
    """Converters, enable and brake of shaft i; a tripped rig stays off until it is told to be off.

    A command that is no number switches off and closes the brake, but does not take a fault back.
    """
    on, released = command.enable[i] != 0, command.brake_released[i] != 0
    u, tau = command.drive_voltage[i], command.load_torque[i]
    if not (math.isfinite(u) and math.isfinite(tau)):
        on = released = False
        u = tau = 0.0
    elif not on:
        shaft.fault, u, tau = NO_FAULT, 0.0, 0.0
    if shaft.fault != NO_FAULT:
        on = released = False
        u = tau = 0.0
    shaft.enabled, shaft.brake_closed = int(on), int(not released)
    u = quantise(u, shaft.voltage_range, shaft.voltage_bits)
    shaft.u_command = limited(u, shaft.u_limit)
    i_l = quantise(tau / shaft.K_l, shaft.load_range, shaft.load_bits)
    shaft.i_command = limited(i_l, shaft.i_l_limit)
    if not on:
        shaft.x[VOLTAGE] = shaft.x[DRIVE_CURRENT] = shaft.x[LOAD_CURRENT] = 0.0


@helper
def watch(shaft: Any) -> None:
    """Trip on over-speed and over-current: amplifiers off, brake closed."""
    fault = NO_FAULT
    if abs(shaft.x[RATE]) > shaft.w_trip:
        fault = OVER_SPEED
    elif max(abs(drive_current(shaft, shaft.x)), abs(load_current(shaft, shaft.x))) > shaft.i_trip:
        fault = OVER_CURRENT
    if fault != NO_FAULT and shaft.fault == NO_FAULT:
        shaft.fault, shaft.enabled, shaft.brake_closed = fault, 0, 1
        shaft.x[VOLTAGE] = shaft.x[DRIVE_CURRENT] = shaft.x[LOAD_CURRENT] = 0.0


@helper
def carry(shaft: Any, span: float) -> None:
    """Carry one shaft over the span [s] in equal steps."""
    steps = max(1, math.ceil(span / shaft.longest_step - ROUNDING))
    h = span / steps
    for _ in range(steps):
        shaft.noise = 0.0
        if shaft.noise_density > 0.0 and shaft.w_filter > 0.0:
            shaft.noise = shaft.noise_density * math.sqrt(0.5 / h) * normal(shaft.random)
        substep(shaft, h)
        watch(shaft)


@helper
def encoder_angle(shaft: Any) -> float:
    """Angle of the encoder [rad], unwrapped; NaN without one."""
    if shaft.counts_per_rad <= 0.0:
        return math.nan
    return math.floor(shaft.x[ANGLE] * shaft.counts_per_rad + 0.5) / shaft.counts_per_rad  # type: ignore[no-any-return]


@helper
def shown_current(shaft: Any, i: float) -> float:
    """A current as its sensor and converter show it [A]."""
    if shaft.current_noise > 0.0:
        i += shaft.current_noise * normal(shaft.random)
    return quantise(i, shaft.current_range, shaft.current_bits)


@helper
def sample(shaft: Any, i: int, span: float, feedback: Any) -> None:
    """What the rig's sensors and converters show of shaft i."""
    angle = encoder_angle(shaft)
    if shaft.has_tachometer:
        rate = shaft.x[FILTERED]
        if shaft.w_filter <= 0.0:  # white within its bandwidth, whatever the step: a sample has its RMS
            shaft.noise = shaft.noise_rms * normal(shaft.random) if shaft.noise_rms > 0.0 else 0.0
            rate = tachometer_rate(shaft, shaft.x)
        shaft.rate_shown = quantise(rate, shaft.rate_range, shaft.rate_bits)
    elif span > 0.0:
        shaft.rate_shown = (angle - shaft.angle_last) / span
    shaft.angle_last = angle
    feedback.rate[i], feedback.angle[i] = shaft.rate_shown, angle
    feedback.drive_current[i] = shown_current(shaft, drive_current(shaft, shaft.x))
    feedback.load_current[i] = shown_current(shaft, load_current(shaft, shaft.x))
    feedback.fault[i] = shaft.fault


@helper
def step_shafts(rig: Any, given: Any, shown: Any, span_s: float) -> None:
    """Hold the command ``given`` for ``span_s``, sample at its end or ``sample_delay`` before; see ``rig_step``."""
    for i in range(rig.shape[0]):
        shaft = rig[i]
        after = shaft.sample_delay * span_s
        early = math.floor(after * 1e9 + 0.5)
        shown.applied = shaft.now - early if span_s <= 0.0 else shaft.now
        if span_s > 0.0:
            take_command(shaft, i, given)
            carry(shaft, span_s - after)
            shaft.now += math.floor(span_s * 1e9 + 0.5)
        sample(shaft, i, span_s, shown)
        shown.time = shaft.now - early
        if after > 0.0:
            carry(shaft, after)
    for i in range(rig.shape[0], MAX_SHAFTS):
        shown.rate[i] = shown.angle[i] = shown.drive_current[i] = shown.load_current[i] = 0.0
        shown.fault[i] = NO_FAULT


@piece
def rig_piece(rig_at: int, command_at: int, feedback_at: int, shafts: int, t: float, span_s: float) -> None:
    """``rig_step`` by the addresses of its records, for compiled loops (``call_piece``); ``t`` is not used.

    Compiled once and called by address, it gives the same bits in every loop and every process.
    """
    rig = records_at(rig_at, shafts, RIG)
    given, shown = records_at(command_at, 1, SHAFT_COMMAND)[0], records_at(feedback_at, 1, SHAFT_FEEDBACK)[0]
    step_shafts(rig, given, shown, span_s)


@kernel
def _call(piece_at: int, a: int, b: int, c: int, d: int, t: float, span: float) -> None:
    call_piece(piece_at, a, b, c, d, t, span)


def rig_step(rig: Any, command: Any, feedback: Any, span_s: float) -> None:
    """Hold ``command`` for ``span_s`` [s], then sample the sensors; a span of 0 samples only.

    ``rig``: array of RIG, one record for each shaft; ``command``, ``feedback``: arrays of one SHAFT_COMMAND and one
    SHAFT_FEEDBACK. Shafts that the rig does not have show zeros. Compiled loops call ``rig_piece`` by its address.
    """
    at = (rig.ctypes.data, command.ctypes.data, feedback.ctypes.data)
    _call(rig_piece.address, *at, len(rig), 0.0, float(span_s))
