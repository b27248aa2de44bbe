r"""DC motors behind stiff gears of a robot that has elastic ones too, over a window at once, as ``dc_window`` does.

It holds while none of them sticks or may turn round, and friction is in proportion to the speed beside its dry part.
With the inverse inertia B at these motors, the accelerations :math:`\beta_0 + \beta_1 t` that they would have without
their own torques, and the torque lines a of eq:moment-match,

.. math::

    \alpha = \beta_0 + B \Bigl(a_0 - \tau_c - f \omega_0 + \tfrac{S^2}{12} f j\Bigr), \qquad
    j = \beta_1 + B \Bigl(a_1 - f \alpha - \tfrac S2 f j\Bigr)                                  (eq:sliding-motors)

where the line with the impulse and the moment of :math:`\tfrac12 f j t^2` stands for it, and the currents under these
speeds (eq:window-current) agree with each other after a few rounds. Any other window is left to ``stiff_motors``, which
goes from edge to edge.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.records import FREE, STUCK
from servotwin.drives.winding_window import ripple_shape, window_functions_of
from servotwin.simulation.plant.actuators import is_dc
from servotwin.simulation.windows.choice import LEAST_DECAY
from servotwin.simulation.windows.dc_window import (
    answer_to_pulses,
    answer_to_ripple,
    current_line,
    energy_terms,
    torque_beside_line,
    window_energy,
)

MOST_DECAY = 1.0  # of a current in a window: the answer to the ripple is a series in it
ROUNDS = 3  # of lines and speeds behind the answer to the ripple; one is enough for heavy arms
AGREED = 1e-9  # rad/s that a further round would change


@helper
def slides_on(world: Any, motors: Any, span: float) -> bool:
    """Whether all these motors are DC, none sticks, none has a Stribeck curve, and their currents decay slowly."""
    elastic = world.elastic_window
    fits = True
    for r in range(elastic.stiff_count):
        motor, decay = motors[elastic.stiff[r]], world.dc.decay[elastic.stiff[r]] * span
        falls = motor.tau_fall[0] > 0.0 or motor.tau_fall[1] > 0.0
        fits = (
            fits and is_dc(motor) and motor.mode != STUCK and not falls and LEAST_DECAY <= decay <= MOST_DECAY
        )
    return fits


@helper
def dry_torque(motor: Any) -> float:
    """Dry friction of a shaft that slides, brake and seal included [N m]; 0 of one that has none."""
    brake = motor.seal_torque + (motor.brake_torque if motor.brake_closed else 0.0)
    return 0.0 if motor.mode == FREE else motor.mode * (motor.tau_c + brake)


@helper
def speeds_of_lines(world: Any, motors: Any, span: float) -> None:
    """Accelerations and jerks of these motors under their torque lines and friction (eq:sliding-motors).

    Friction answers to the jerk of the round before.
    """
    elastic, prediction, line, drift = (
        world.elastic_window,
        world.prediction,
        world.line,
        world.stiff_lanes.drift,
    )
    count, stiff, net = elastic.stiff_count, elastic.stiff, world.scratch.motor_torque
    for r in range(count):
        bent = motors[stiff[r]].f * prediction.jerk[stiff[r]] * span * span / 12.0
        net[r] = line.a0[stiff[r]] - elastic.friction[stiff[r]] + bent
    for r in range(count):
        total = drift[0, r]
        for q in range(count):
            total += elastic.B[r, q] * net[q]
        prediction.alpha[stiff[r]] = total  # eq:sliding-motors
    for r in range(count):
        f, alpha, jerk = motors[stiff[r]].f, prediction.alpha[stiff[r]], prediction.jerk[stiff[r]]
        net[r] = line.a1[stiff[r]] - f * (alpha + 0.5 * span * jerk)
    for r in range(count):
        total = drift[1, r]
        for q in range(count):
            total += elastic.B[r, q] * net[q]
        prediction.jerk[stiff[r]] = total


@helper
def lines_of_speeds(world: Any, span: float) -> None:
    """Torque lines of these motors under their speeds."""
    elastic = world.elastic_window
    for r in range(elastic.stiff_count):
        current_line(world, elastic.stiff[r], world.line.per_span, span)


@helper
def ripple_of_sliding(world: Any, u: float, span: float) -> None:
    """What their torques beside the lines do to the currents (eq:ripple-feedback)."""
    elastic, residual = world.elastic_window, world.dc.residual
    count, stiff, B = elastic.stiff_count, elastic.stiff, elastic.B
    per = world.line.per_span / u if u > 0.0 else 0.0  # a supply may fail
    for r in range(count):
        torque_beside_line(world, stiff[r], span)
    for r in range(count):
        for m in range(3):
            total = 0.0
            for q in range(count):
                total += B[r, q] * residual[m, stiff[q]]
            world.dc.shake[m, stiff[r]] = total
        world.dc.shape[stiff[r]] = ripple_shape(world.dc.voltage_moments[0, stiff[r]] * per, world.pulses)
        answer_to_ripple(world, stiff[r], span)


@helper
def agree(world: Any, motors: Any, u: float, start: float, span: float) -> bool:
    """Currents and speeds of the window that agree with each other; false if a few rounds are not enough.

    Friction as the window begins is in ``elastic_window.friction``.
    """
    elastic, prediction, dc, line = world.elastic_window, world.prediction, world.dc, world.line
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        window_functions_of(dc.G, dc.known, j, dc.decay[j], span)
        answer_to_pulses(world, motor, j, elastic.i[j], u, start, span)
        dc.ripple[0, j] = dc.ripple[1, j] = prediction.snap[j] = prediction.jerk[j] = 0.0
        line.a0[j], line.a1[j] = dc.K[j] * elastic.i[j], 0.0
        elastic.friction[j] = dry_torque(motor) + motor.f * motor.w
    speeds_of_lines(world, motors, span)
    lines_of_speeds(world, span)
    speeds_of_lines(world, motors, span)
    lines_of_speeds(world, span)  # beside lines of other speeds the ripple would have an impulse
    ripple_of_sliding(world, u, span)
    speeds_of_lines(world, motors, span)
    for _ in range(ROUNDS):
        for r in range(elastic.stiff_count):
            j = elastic.stiff[r]
            prediction.d_alpha[j], prediction.d_jerk[j] = prediction.alpha[j], prediction.jerk[j]
        lines_of_speeds(world, span)
        speeds_of_lines(world, motors, span)
        if missed_speed(world, motors, span) <= AGREED:
            return True
    return False


@helper
def missed_speed(world: Any, motors: Any, span: float) -> float:
    """What a further round would change in the speeds at the end of the window, the most of all [rad/s].

    Torques answer to accelerations by less than K^2 / L S^2 / 6 of those of a round before, friction to jerks by less
    than f S / 3.
    """
    elastic, prediction, dc = world.elastic_window, world.prediction, world.dc
    worst = 0.0
    for r in range(elastic.stiff_count):
        answer = 0.0
        for q in range(elastic.stiff_count):
            k = elastic.stiff[q]
            bent = abs(prediction.jerk[k] - prediction.d_jerk[k])
            changed = abs(prediction.alpha[k] - prediction.d_alpha[k]) + span * bent
            answer += abs(elastic.B[r, q]) * (dc.K[k] * dc.emf_rate[k] * changed + 2.0 * motors[k].f * bent)
        worst = max(worst, answer * span * span * span / 6.0)
    return worst


@helper
def torque_swing(world: Any, motor: Any, k: int) -> float:
    """The most by which the torque of motor k can change within the window [N m], as in ``dc_friction_window``."""
    dc, prediction = world.dc, world.prediction
    gained = abs(prediction.alpha[k]) * dc.G[1, k] + abs(prediction.jerk[k]) * dc.G[2, k]
    return motor.K * (dc.swing[k] + abs(dc.emf_rate[k]) * gained)  # type: ignore[no-any-return]


@helper
def nothing_happens(world: Any, motors: Any, span: float) -> bool:
    """Whether every shaft slides on by more than the ripple shakes it, and no current is the largest so far."""
    elastic, prediction, dc = world.elastic_window, world.prediction, world.dc
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor, alpha, jerk = motors[j], prediction.alpha[j], prediction.jerk[j]
        more = span * span * (abs(alpha) / 2.0 + span * abs(jerk) / 6.0)
        if dc.peak[j] + dc.emf_rate[j] * more > motor.i_peak:
            return False
        if motor.mode == FREE:
            continue
        shaken = 0.0
        for q in range(elastic.stiff_count):
            k = elastic.stiff[q]
            shaken += abs(elastic.B[r, q]) * torque_swing(world, motors[k], k)
        end = motor.w + span * (alpha + 0.5 * span * jerk)
        # a parabola is nowhere further from its chord than in the middle
        bent = 0.125 * span * span * abs(jerk) + 0.25 * span * shaken
        if not min(motor.mode * motor.w, motor.mode * end) > bent:
            return False
    return True


@helper
def end_sliding(world: Any, motor: Any, j: int, u: float, start: float, span: float) -> None:
    """Motor j at the end of its window, and its integrals."""
    elastic, prediction, dc = world.elastic_window, world.prediction, world.dc
    K, f, w, alpha, jerk = motor.K, motor.f, motor.w, prediction.alpha[j], prediction.jerk[j]
    begins, s2 = elastic.friction[j], span * span
    dry = begins - f * w
    energy_terms(world, j, world.line.per_span, span)
    elastic.square[j], elastic.electric[j] = window_energy(world, motor, j, u, start, span)
    elastic.i[j], elastic.w[j] = dc.i_end[j], w + span * (alpha + 0.5 * span * jerk)
    elastic.impulse[j], elastic.charge[j] = K * dc.Q[j], dc.Q[j]
    lost = span * (begins + f * (0.5 * span * alpha + s2 * jerk / 6.0))
    # the ripple shakes the speed without an impulse of friction, but with a moment
    lever = s2 * (0.5 * begins + f * (span * alpha / 3.0 + s2 * jerk / 8.0)) - f * dc.shake[0, j]
    elastic.passed[j, 0], elastic.passed[j, 1] = K * dc.Q[j] - lost, K * dc.M1[j] - lever
    middle, end = w + 0.5 * span * (alpha + 0.25 * span * jerk), elastic.w[j]
    work = begins * w + 4.0 * (dry + f * middle) * middle + (dry + f * end) * end
    elastic.friction[j] = span / 6.0 * work
    elastic.peak[j, 0] = max(elastic.peak[j, 0], dc.i_end[j] * dc.i_end[j])
    elastic.peak[j, 1] = abs(K) * dc.peak[j]


@part
def dc_stiff_window(world: Any, motors: Any, u: float, start: float, span: float) -> bool:
    """Carry these motors over the window; false if it is left to ``stiff_motors``, with nothing changed."""
    elastic = world.elastic_window
    if not slides_on(world, motors, span):
        return False
    if not agree(world, motors, u, start, span) or not nothing_happens(world, motors, span):
        return False
    for r in range(elastic.stiff_count):
        end_sliding(world, motors[elastic.stiff[r]], elastic.stiff[r], u, start, span)
    return True
