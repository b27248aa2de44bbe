"""Limits that a run meets or exceeds, kept window by window: since when, until when, how often, how long.

A limit that a loop meets is in force until the next sample of that loop, so nothing here depends on how often
rows are recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.control.servo.records import Saturation

KINDS = len(Saturation)
SPANS = 256  # of one limit that are kept apart; later ones are counted with the last
AXIS_LOG = np.dtype(
    [
        ("charge_ref", np.float64),  # integral of the current reference since the last recorded row [A s]
        # limits that were in force in the last window, and since the last row (bits of ``Saturation``)
        ("active_limits", np.int64),
        ("limits_since_row", np.int64),
        # spans of every limit: from, to [ns], times, time at the limit [ns]; how many there are
        ("spans", np.int64, (KINDS, SPANS, 4)),
        ("span_count", np.int64, (KINDS,)),
    ]
)
AGAIN = 50_000_000  # ns: a limit that is met again sooner is told as one
BEYOND = (
    1.01  # a limit of motor or joint is exceeded from here: servos swing a little around what they follow
)
FAST_MOTOR, STRONG_MOTOR = int(Saturation.MOTOR_SPEED), int(Saturation.PEAK_TORQUE)
FAST_JOINT, STRONG_JOINT = int(Saturation.JOINT_SPEED), int(Saturation.EFFORT)
OF_LOOPS = int(Saturation.VOLTAGE | Saturation.CURRENT | Saturation.SPEED_COMMAND)


@helper
def exceeded_ratings(motor: Any, w: float, torque: float) -> int:
    """Bits of the limits that a motor exceeds with its speed and its mean torque of a window."""
    word = FAST_MOTOR if abs(w) > BEYOND * motor.w_limit else 0
    return word | STRONG_MOTOR if abs(torque) > BEYOND * motor.tau_limit else word


@helper
def check_joint_limits(world: Any, motors: Any, stops: Any, logs: Any) -> None:
    """Speed of every joint, and the mean torque of its motors where a limit is stated, against their limits."""
    for i in range(world.n):
        joint = stops[i]
        speed = abs(world.state.y[world.n_x + i])
        joint.speed_peak = max(joint.speed_peak, speed)
        if speed > BEYOND * joint.speed_limit:
            logs[i].active_limits |= FAST_JOINT
        if joint.has_effort:
            effort = 0.0
            for j in range(world.m):
                effort += world.N[j, i] * motors[j].tau_mean
            joint.effort_peak = max(joint.effort_peak, abs(effort))
            if abs(effort) > BEYOND * joint.effort_limit:
                logs[i].active_limits |= STRONG_JOINT


@part
def log_spans(log: Any, word: int, start: int, end: int) -> None:
    """Enter a window [ns] in the spans of the limits of a word; one that goes on, or comes again soon, grows."""
    for kind in range(KINDS):
        if not (word >> kind) & 1:
            continue
        k = log.span_count[kind] - 1
        if k >= 0 and (k == SPANS - 1 or start - log.spans[kind, k, 1] < AGAIN):
            log.spans[kind, k, 2] += 1 if log.spans[kind, k, 1] != start else 0
        else:
            k += 1
            log.span_count[kind] = k + 1
            log.spans[kind, k, 0] = start
            log.spans[kind, k, 2] = 1
        log.spans[kind, k, 1] = end
        log.spans[kind, k, 3] += end - start


@helper
def log_limits(logs: Any, start: int, end: int) -> None:
    """Enter a window [ns] in the spans of every limit that was in force on an axis."""
    for j in range(logs.shape[0]):
        if logs[j].active_limits:
            logs[j].limits_since_row |= logs[j].active_limits
            log_spans(logs[j], logs[j].active_limits, start, end)


@helper
def update_braking_voltage(power: Any, u: float) -> None:
    """The highest voltage over the braking resistor: asked at the end of a window, and again when it is switched."""
    if power.braking:
        power.u_braking = max(power.u_braking, u)


@helper
def update_bus_extremes(power: Any, u: float, start: int, end: int) -> None:
    """Extremes of the bus voltage, also while the braking resistor is on, and times above its limit."""
    power.u_low, power.u_high = min(power.u_low, u), max(power.u_high, u)
    update_braking_voltage(power, u)
    if u > power.u_limit:
        if power.over_times == 0:
            power.over_from = start
        power.over_times += 1 if power.over_times == 0 or power.over_to != start else 0
        power.over_to = end
        power.over_ns += end - start
