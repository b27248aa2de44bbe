"""What the windows for one kind of motor share: the arm's step, and the prediction of the motors' speeds.

The prediction stands on the inverse inertia B at the motors of a robot with stiff gears, and on the drift of
eq:motor-inverse-inertia; ``dc_window`` derives both.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper
from servotwin.compiled.native_calls import call_address


@helper
def predict_speeds(world: Any) -> None:
    """Predict acceleration and jerk of the motors from the torque lines (eq:motor-inverse-inertia)."""
    prediction = world.prediction
    n = world.n
    for j in range(n):
        alpha, jerk = prediction.drift[j, 0], prediction.drift[j, 1]
        for k in range(n):
            alpha += prediction.B[j, k] * world.line.a0[k]  # eq:motor-inverse-inertia
            jerk += prediction.B[j, k] * world.line.a1[k]
        prediction.alpha[j], prediction.jerk[j] = alpha, jerk


@helper
def refresh_rate(world: Any) -> float:
    """One over the time since B was computed last [1/s]; 0 for the first time. That time begins again."""
    prediction = world.prediction
    per = 1.0 / prediction.since if prediction.since > 0.0 else 0.0
    prediction.since = 0.0
    return per


@helper
def set_B(world: Any, j: int, k: int, value: float, per: float) -> None:
    """Enter an element of B, and how fast it has changed since B was computed last."""
    prediction = world.prediction
    prediction.B_rate[j, k] = (value - prediction.B_last[j, k]) * per
    prediction.B[j, k] = prediction.B_last[j, k] = value


@helper
def refresh_inertia(world: Any) -> None:
    """Compute B of eq:motor-inverse-inertia where the arm is now, by unit torques, and how fast it changes."""
    scratch, code = world.scratch, world.code
    n, per = world.n, refresh_rate(world)
    for j in range(2 * n):
        scratch.inputs[j] = world.state.y[j]
    for j in range(n):
        scratch.inputs[2 * n + j] = 0.0
    call_address(code.accel, code.inputs_at, code.outputs_at, code.accel_data)
    for j in range(n):
        scratch.qdd[j] = scratch.outputs[j]
    for k in range(n):
        scratch.inputs[2 * n + k] = world.ratio[k]
        call_address(code.accel, code.inputs_at, code.outputs_at, code.accel_data)
        scratch.inputs[2 * n + k] = 0.0
        for j in range(n):
            set_B(world, j, k, world.ratio[j] * (scratch.outputs[j] - scratch.qdd[j]), per)


@helper
def extrapolate_inertia(world: Any, span: float) -> None:
    """Carry B on to the next window at its last rate of change."""
    for j in range(world.n):
        for k in range(world.n):
            world.prediction.B[j, k] += world.prediction.B_rate[j, k] * span


@helper
def update_drift(world: Any, span: float) -> None:
    """Drift of eq:motor-inverse-inertia for the next window, from what this one has shown."""
    prediction = world.prediction
    n = world.n
    for j in range(n):
        alpha, jerk = prediction.alpha[j], prediction.jerk[j]
        for k in range(n):
            alpha -= prediction.B[j, k] * world.line.a0[k]
            jerk -= prediction.B[j, k] * world.line.a1[k]
        prediction.drift[j, 0], prediction.drift[j, 1] = alpha + jerk * span, jerk


@helper
def begin_window(world: Any, span: float) -> None:
    """Count the window and note its length."""
    world.prediction.windows += 1
    begin_span(world, span)


@helper
def begin_span(world: Any, span: float) -> None:
    """Note the length of a window."""
    line = world.line
    line.per_span = 1.0 / span
    line.per_cube = 12.0 * line.per_span * line.per_span * line.per_span


@helper
def past_stop(world: Any, stops: Any) -> bool:
    """True if a joint would end the window beyond its end stop."""
    past = False
    for i in range(world.n):
        past = past or world.scratch.y1[i] < stops[i].low or world.scratch.y1[i] > stops[i].high
    return past


@helper
def reject(world: Any, reason: int) -> None:
    """Leave the window to the steps from edge to edge, which find the instant of an event, for a ``Rejection``."""
    world.scratch.rejected, world.prediction.windows = reason, 0


@helper
def torque_line(world: Any, j: int, gain: float, area: float, moment: float, span: float) -> None:
    """The line of motor j (eq:moment-match) whose torque has the impulse ``gain * area`` and the moment alike.

    A DC motor gives charge and moment of its current with its torque constant as the gain; a synchronous one gives
    impulse and moment of its torque, with the gain 1.
    """
    line = world.line
    slope = line.per_cube * (moment - 0.5 * span * area)
    line.a1[j] = gain * slope  # eq:moment-match
    line.a0[j] = gain * (area * line.per_span - 0.5 * span * slope)


@helper
def move_arm(world: Any, h: float) -> None:
    """Classic step of the arm under the torque lines; leaves y1, and the stages' slopes in k[1] to k[4]."""
    state, scratch, code = world.state, world.scratch, world.code
    n = world.n
    for s in range(4):
        a = 0.0 if s == 0 else (h if s == 3 else 0.5 * h)
        for j in range(n):
            v = state.y[n + j] + a * scratch.k[s, n + j]
            scratch.inputs[j] = state.y[j] + a * scratch.k[s, j]
            scratch.inputs[n + j] = v
            scratch.inputs[2 * n + j] = (
                world.ratio[j] * (world.line.a0[j] + world.line.a1[j] * a) - world.viscous[j] * v
            )
            scratch.k[s + 1, j] = v
        call_address(code.accel, code.inputs_at, code.outputs_at, code.accel_data)
        for j in range(n):
            scratch.k[s + 1, n + j] = scratch.outputs[j]
    for j in range(n):
        A1, A23, A4 = scratch.k[1, n + j], scratch.k[2, n + j] + scratch.k[3, n + j], scratch.k[4, n + j]
        scratch.y1[j] = state.y[j] + h * (scratch.k[1, j] + h * (A1 + A23) / 6.0)
        scratch.y1[n + j] = state.y[n + j] + h * (A1 + 2.0 * A23 + A4) / 6.0


@helper
def compare_with_arm(world: Any) -> None:
    """Take the speeds' derivatives from the arm's step (eq:arm-acceleration); note the error of the prediction."""
    line = world.line
    n, k, per, prediction = world.n, world.scratch.k, line.per_span, world.prediction
    for j in range(n):
        ratio, A1, A4 = world.ratio[j], k[1, n + j], k[4, n + j]
        rise = 0.5 * (k[2, n + j] + k[3, n + j]) - A1  # eq:arm-acceleration
        whole = A4 - A1
        alpha = ratio * A1
        jerk = ratio * (4.0 * rise - whole) * per
        prediction.d_alpha[j], prediction.d_jerk[j] = alpha - prediction.alpha[j], jerk - prediction.jerk[j]
        prediction.alpha[j], prediction.jerk[j] = alpha, jerk
        prediction.snap[j] = ratio * 4.0 * (whole - 2.0 * rise) * per * per
        line.before[j, 0], line.before[j, 1] = line.a0[j], line.a1[j]


@helper
def correct_speeds(world: Any, span: float) -> None:
    """Add to speeds and angles what the change of the torque lines since ``compare_with_arm`` makes of them."""
    n, line, prediction, y1 = world.n, world.line, world.prediction, world.scratch.y1
    for j in range(n):
        alpha = jerk = 0.0
        for k in range(n):
            alpha += prediction.B[j, k] * (line.a0[k] - line.before[k, 0])
            jerk += prediction.B[j, k] * (line.a1[k] - line.before[k, 1])
        prediction.alpha[j] += alpha
        prediction.jerk[j] += jerk
        y1[n + j] += span * (alpha + 0.5 * span * jerk) * world.inverse_ratio[j]
        y1[j] += span * span * (alpha / 2.0 + span * jerk / 6.0) * world.inverse_ratio[j]
