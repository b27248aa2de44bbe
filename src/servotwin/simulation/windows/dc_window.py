r"""The fast method in one pass for DC motors.

DC motors, each behind its own stiff gear, without dry friction, on a stiff bus; other robots have
``general_window``.

The current splits into the answer v to the pulses, which needs no speed, and the answer to the back-EMF of the
speed :math:`\omega_0 + \alpha t + \tfrac12 j t^2 + \tfrac16 s t^3`, which needs no edges. With
:math:`\lambda = R/L` and the functions G of eq:window-functions, over a window of length S,

.. math::

    i_S &= v_S - \tfrac KL (\omega_0 G_0 + \alpha G_1 + j G_2 + s G_3), \\
    \int \frac{(S-t)^k}{k!}\, i &= \int \frac{(S-t)^k}{k!}\, v
        - \tfrac KL (\omega_0 G_{k+1} + \alpha G_{k+2} + j G_{k+3} + s G_{k+4})       (eq:window-current)

The moments of v follow from those of the voltage, because :math:`L \dot v = u - R v`:

.. math:: R \int v = \int u - L (v_S - v_0), \qquad
          R \int v\,t^k = \int u\,t^k - L \Bigl(v_S S^k - k \int v\,t^{k-1}\Bigr)    (eq:voltage-moments)

The motors accelerate by nearly :math:`\beta + B\,\tau`, with the inverse inertia :math:`B = N M^{-1} N^T`, which is
computed now and then and goes on along a straight line between, and a drift that hardly changes from window to
window. For the torque line of eq:moment-match

.. math:: \alpha = \beta_0 + B a_0, \qquad j = \beta_1 + B a_1                         (eq:motor-inverse-inertia)

gives the speed before the arm moves, so that one step of the arm is enough; the same linear relations correct the
currents for the speeds that the arm took. That step is the classic one of fourth order: the pulses make the line steep,
and a step of third order would lose the terms of order :math:`S^4` that the slope a_1 has in common with Coriolis
forces and with the change of the inertia. Its accelerations :math:`A_1` at the beginning, :math:`A_2` and :math:`A_3`
in the middle, :math:`A_4` at the end hold

.. math:: \tfrac12(A_2 + A_3) = \alpha + \tfrac S2 j + \tfrac{S^2}{8} s, \qquad
          A_4 = \alpha + S j + \tfrac{S^2}{2} s                                     (eq:arm-acceleration)

because what the middle speeds lack, :math:`v + \tfrac S2 \alpha`, and have too much,
:math:`v + \tfrac S2 \alpha + \tfrac{S^2}{4} j`, is the same.

The torque beside its line has no impulse and no moment, but higher moments
:math:`b_k = \int \tfrac{(t - S/2)^k}{k!} (\tau - a_0 - a_1 t)`. They shake the speed within the window, and the
currents answer:

.. math::

    \Delta\!\int i = -\tfrac KL e^{-\lambda S/2} B (b_2 + \lambda b_3 + \lambda^2 b_4), \qquad
    \Delta i_S = -\lambda\,\Delta\!\int i, \\
    \Delta\!\int (S-t)\, i = -\tfrac KL B \Bigl(\tfrac{1 - e^{-\lambda S/2}}{\lambda} b_2
        - e^{-\lambda S/2} (b_3 + \lambda b_4)\Bigr)                                    (eq:ripple-feedback)

(the ripple of a symmetric pattern is odd about the middle, so that b_2 and b_3 count alike). Without that
answer the copper loss closes the balance of the window's energy; with it :math:`2 R \int i\,\Delta i` is added, to
which the ripple of straight lines, with the share d of the window under voltage, gives the last term. So that a wrong
copper loss shows in the balance of the run, :math:`\int i^2` is also summed over the intervals (eq:exact-current) now
and then, and in every window where R is so small that the difference of energies says little:

.. math::

    R \int i^2 &= \int u i - \tfrac L2 (i_S^2 - i_0^2) - K \int \omega i                    (eq:window-energy) \\
    2 R \int (i - \text{line})\,\Delta i &= \frac{2\lambda}{S^5}\, c(d)\, b_3\, (B\,b_3)       (eq:ripple-square)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.records import MOTOR, STOP
from servotwin.drives.winding_window import (
    SMALL,
    decayed,
    one_pulse_shape,
    two_pulse_shape,
    window_functions_of,
    window_series,
)
from servotwin.simulation.plant.rates import ELECTRIC, FRICTION, SQUARE, TORQUE
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.windows.choice import Rejection
from servotwin.simulation.windows.dc_intervals import interval_square, update_current_peaks
from servotwin.simulation.windows.motor_inverse_inertia import (
    begin_window,
    compare_with_arm,
    correct_speeds,
    extrapolate_inertia,
    move_arm,
    past_stop,
    predict_speeds,
    refresh_inertia,
    reject,
    update_drift,
)

REFRESH = 32  # windows between two looks at the inverse inertia, and at the copper loss
END_STOP = int(Rejection.END_STOP)
HARDLY = (
    0.05  # lambda S up to which the copper loss, a small difference of energies, is summed over the intervals
)
LANES = 8  # motors that go side by side in the widest vector instructions of a processor
SAME = 1e-18  # s: intervals that differ by less share their exponential


@helper
def lanes_of(world: Any) -> Any:
    """Up to which lane loops over all motors go, in whole vectors; lanes beyond the last motor hold zeros."""
    return np.uint64((world.n + LANES - 1) // LANES * LANES)


@helper
def all_window_functions(world: Any, span: float) -> None:
    """eq:window-functions of all motors."""
    dc, G, decay, fastest = world.dc, world.dc.G, world.dc.decay, 0.0
    for j in range(world.n):
        fastest = max(fastest, decay[j])
    if fastest * span < SMALL:
        for j in range(np.uint64(0), lanes_of(world)):
            G[0, j], G[1, j], G[2, j], G[3, j], G[4, j], G[5, j], G[6, j], G[7, j] = window_series(
                decay[j], span
            )
    else:
        for j in range(world.n):
            dc.known[0, j] = -1.0  # the series above did not note what it holds for
            window_functions_of(dc.G, dc.known, j, decay[j], span)


@helper
def answer_to_pulses(
    world: Any, motor: Any, j: int, v0: float, u_bus: float, start: float, span: float
) -> None:
    """v and the moments of voltage and v for motor j (eq:voltage-moments), from the current ``v0`` on."""
    world.dc.w[j], world.dc.i[j] = motor.w, v0
    pattern, dc = world.pattern, world.dc
    R, L = motor.R + motor.R_bridge, motor.L
    conductance, slow = 1.0 / R, L / R
    rate = dc.decay[j]
    dc.conductance[j] = conductance
    v, h = v0, 1.0
    U0 = U1 = U2 = U3 = U4 = work = homogeneous = 0.0
    still = motor.K * motor.w * conductance
    low = high = v0
    t, t_a, t_b, E_a, E_b = 0.0, -1.0, -1.0, 1.0, 1.0
    edges = pattern.edges[j]
    for s in range(edges + 1):
        end = span if s == edges else min(span, pattern.times[j, s] - start)
        tau = end - t
        if tau <= 0.0:
            dc.at_edges[j, s] = v
            continue
        if abs(tau - t_a) < SAME:
            E = E_a
        elif abs(tau - t_b) < SAME:
            E = E_b
        elif abs(tau - 2.0 * t_a) < SAME:
            E = E_a * E_a
        else:
            E = decayed(rate * tau)
            t_b, E_b, t_a, E_a = t_a, E_a, tau, E
        u = pattern.level_a[j, s] * u_bus
        final = u * conductance
        v_new, h_new = final + (v - final) * E, h * E
        v, h, t, v_old, h_old, t_old = v_new, h_new, end, v, h, t
        dc.at_edges[j, s] = v
        i = v - still * (1.0 - h)
        low, high = min(low, i), max(high, i)
        if u == 0.0:
            continue
        U0 += u * tau
        # int t^k over the interval by powers of its middle and half length
        m = 0.5 * (t_old + t)
        m2, d2 = m * m, 0.25 * tau * tau
        U1 += u * tau * m
        U2 += u * tau * (m2 + d2 / 3.0)
        U3 += u * tau * m * (m2 + d2)
        U4 += u * tau * (m2 * (m2 + 2.0 * d2) + d2 * d2 / 5.0)
        work += u * (u * tau - L * (v - v_old)) * conductance
        homogeneous += u * (h_old - h)
    dc.peak[j], dc.swing[j] = max(high, -low), high - low
    dc.pulse_end[j], dc.pulse_work[j], dc.pulse_decay[j] = v, work, homogeneous * slow
    dc.voltage_moments[0, j], dc.voltage_moments[1, j], dc.voltage_moments[2, j] = U0, U1, U2
    Q = (U0 - L * (v - v0)) * conductance  # eq:voltage-moments
    M1 = (U1 - L * (v * span - Q)) * conductance
    s2 = span * span
    M2 = (U2 - L * (v * s2 - 2.0 * M1)) * conductance
    M3 = (U3 - L * (v * s2 * span - 3.0 * M2)) * conductance
    dc.pulse_moments[0, j], dc.pulse_moments[1, j] = Q, M1
    dc.pulse_moments[2, j], dc.pulse_moments[3, j] = M2, M3
    dc.pulse_moments[4, j] = (U4 - L * (v * s2 * s2 - 4.0 * M3)) * conductance


@helper
def line_of_charge(world: Any, j: int, per_span: float, span: float) -> None:
    """Torque line of motor j from charge and moment of its current (eq:moment-match)."""
    dc, line = world.dc, world.line
    slope = 12.0 * per_span * per_span * per_span * (dc.M1[j] - 0.5 * span * dc.Q[j])
    line.a1[j] = dc.K[j] * slope  # eq:moment-match
    line.a0[j] = dc.K[j] * (dc.Q[j] * per_span - 0.5 * span * slope)


@helper
def current_line(world: Any, j: int, per_span: float, span: float) -> None:
    """Torque line of motor j from its speed (eq:window-current)."""
    dc, G = world.dc, world.dc.G
    w, alpha, jerk, kl = dc.w[j], world.prediction.alpha[j], world.prediction.jerk[j], dc.emf_rate[j]
    I1 = kl * (w * G[1, j] + alpha * G[2, j] + jerk * G[3, j])
    I2 = kl * (w * G[2, j] + alpha * G[3, j] + jerk * G[4, j])
    dc.Q[j] = dc.pulse_moments[0, j] - I1 + dc.ripple[0, j]
    dc.M1[j] = dc.pulse_moments[1, j] - span * I1 + I2 + dc.ripple[1, j]
    line_of_charge(world, j, per_span, span)


@helper
def torque_lines(world: Any, span: float) -> None:
    """Torque lines of all motors from the speeds."""
    per_span = world.line.per_span
    for j in range(np.uint64(0), lanes_of(world)):
        current_line(world, j, per_span, span)


@helper
def torque_beside_line(world: Any, j: int, span: float) -> None:
    """Moments b_2, b_3 and b_4 of what the torque of motor j has beside its line."""
    dc, G, w = world.dc, world.dc.G, world.dc.w[j]
    s2 = span * span
    s3, s4 = s2 * span, s2 * s2
    alpha, jerk, kl = world.prediction.alpha[j], world.prediction.jerk[j], dc.emf_rate[j]
    I1 = kl * (w * G[1, j] + alpha * G[2, j] + jerk * G[3, j])
    I2 = kl * (w * G[2, j] + alpha * G[3, j] + jerk * G[4, j])
    I3 = 2.0 * kl * (w * G[3, j] + alpha * G[4, j] + jerk * G[5, j])
    I4 = 6.0 * kl * (w * G[4, j] + alpha * G[5, j] + jerk * G[6, j])
    I5 = 24.0 * kl * (w * G[5, j] + alpha * G[6, j] + jerk * G[7, j])
    K, a0, a1 = dc.K[j], world.line.a0[j], world.line.a1[j]
    M2 = dc.pulse_moments[2, j] - s2 * I1 + 2.0 * span * I2 - I3
    M3 = dc.pulse_moments[3, j] - s3 * I1 + 3.0 * (s2 * I2 - span * I3) + I4
    M4 = dc.pulse_moments[4, j] - s4 * I1 + 4.0 * s3 * I2 - 6.0 * s2 * I3 + 4.0 * span * I4 - I5
    m2 = K * M2 - s3 * (a0 / 3.0 + a1 * span / 4.0)
    m3 = K * M3 - s4 * (a0 / 4.0 + a1 * span / 5.0)
    m4 = K * M4 - s4 * span * (a0 / 5.0 + a1 * span / 6.0)
    dc.M2[j] = M2
    # about the middle of the window
    dc.residual[0, j], dc.residual[1, j] = m2 / 2.0, (m3 - 1.5 * span * m2) / 6.0
    dc.residual[2, j] = (m4 - 2.0 * span * m3 + 1.5 * s2 * m2) / 24.0


@helper
def answer_to_ripple(world: Any, j: int, span: float) -> None:
    """What the ripple of all motors does to the current of motor j."""
    dc, s2 = world.dc, span * span
    shake2, shake3, shake4 = dc.shake[0, j], dc.shake[1, j], dc.shake[2, j]
    rate, kl, G0 = dc.decay[j], dc.emf_rate[j], dc.G[0, j]
    half = math.sqrt(1.0 - rate * G0)
    g0 = G0 / (1.0 + half)
    Q = -kl * half * (shake2 + rate * (shake3 + rate * shake4))  # eq:ripple-feedback
    later = -kl * (shake2 * g0 - half * (shake3 + rate * shake4))
    dc.ripple[0, j], dc.ripple[1, j] = Q, span * Q - later
    b_3, per_fifth = dc.residual[1, j], 1.0 / (s2 * s2 * span)
    dc.ripple_square[j] = 2.0 * dc.shape[j] * b_3 * shake3 * per_fifth * dc.inverse_L[j]  # eq:ripple-square


@helper
def shapes_of_ripple(world: Any, per_volt: float) -> None:
    """How much the ripple of every motor swings beyond its third moment; ``per_volt``: one over the bus voltage."""
    dc, last, per = world.dc, lanes_of(world), per_volt * world.line.per_span
    if world.pulses == 1:
        for j in range(np.uint64(0), last):
            dc.shape[j] = one_pulse_shape(dc.voltage_moments[0, j] * per)
    else:
        for j in range(np.uint64(0), last):
            dc.shape[j] = two_pulse_shape(dc.voltage_moments[0, j] * per)


@helper
def ripple(world: Any, span: float) -> None:
    """What the torque beside its line does to the currents (eq:ripple-feedback)."""
    dc, B = world.dc, world.prediction.B
    last = lanes_of(world)
    per_volt = 1.0 / world.state.u_bus if world.state.u_bus > 0.0 else 0.0  # a supply may fail
    shapes_of_ripple(world, per_volt)
    for j in range(np.uint64(0), last):
        torque_beside_line(world, j, span)
    for m in range(3):
        b, out = dc.residual[m], dc.shake[m]
        b_0, b_1, b_2, b_3 = b[0], b[1], b[2], b[3]
        for j in range(np.uint64(0), last):  # B is symmetric
            out[j] = (B[0, j] * b_0 + B[1, j] * b_1) + (B[2, j] * b_2 + B[3, j] * b_3)
        for k in range(4, world.n):
            for j in range(np.uint64(0), last):
                out[j] += B[k, j] * b[k]
    for j in range(np.uint64(0), last):
        answer_to_ripple(world, j, span)


@helper
def predict(world: Any, motors: Any, start: float, span: float) -> None:
    """Torque lines and speeds of the window that agree with each other, before the arm moves."""
    predict_speeds(world)
    all_window_functions(world, span)
    for j in range(world.n):
        answer_to_pulses(world, motors[j], j, world.state.y[2 * world.n + j], world.state.u_bus, start, span)
        world.dc.ripple[0, j] = world.dc.ripple[1, j] = 0.0
    torque_lines(world, span)
    ripple(world, span)
    predict_speeds(world)
    torque_lines(world, span)


@helper
def correct(world: Any, span: float) -> None:
    """Torque lines under the speeds that the arm took, and what their difference from the predicted ones changes."""
    dc, prediction, G = world.dc, world.prediction, world.dc.G
    compare_with_arm(world)
    per_span = world.line.per_span
    for j in range(np.uint64(0), lanes_of(world)):
        d_alpha, d_jerk, snap = prediction.d_alpha[j], prediction.d_jerk[j], prediction.snap[j]
        I1 = dc.emf_rate[j] * (d_alpha * G[2, j] + d_jerk * G[3, j] + snap * G[4, j])
        I2 = dc.emf_rate[j] * (d_alpha * G[3, j] + d_jerk * G[4, j] + snap * G[5, j])
        dc.Q[j] -= I1
        dc.M1[j] -= span * I1 - I2
        line_of_charge(world, j, per_span, span)
    correct_speeds(world, span)


@helper
def energy_terms(world: Any, j: int, per_span: float, span: float) -> None:
    """Current of motor j at the end of the window, its work, and the copper loss by the balance of the window."""
    line, prediction, dc, G = world.line, world.prediction, world.dc, world.dc.G
    conductance, K, i0, half_L = dc.conductance[j], dc.K[j], dc.i[j], 0.5 * dc.L[j]
    w, alpha, jerk = dc.w[j], prediction.alpha[j], prediction.jerk[j]
    emf = dc.emf_rate[j] * (w * G[0, j] + alpha * G[1, j] + jerk * G[2, j] + prediction.snap[j] * G[3, j])
    calm = dc.pulse_end[j] - emf  # current at the end but for the answer to the ripple
    dc.i_end[j] = calm - dc.decay[j] * dc.ripple[0, j]
    a2 = -0.5 * K * jerk * conductance
    a1 = -(K * alpha + 4.0 * half_L * a2) * conductance
    a0 = -(K * w + 2.0 * half_L * a1) * conductance
    Q, M1, dQ, dM1 = dc.Q[j], dc.M1[j], dc.ripple[0, j], dc.ripple[1, j]
    electric = dc.pulse_work[j] - a0 * dc.pulse_decay[j]
    electric += a0 * dc.voltage_moments[0, j] + a1 * dc.voltage_moments[1, j] + a2 * dc.voltage_moments[2, j]
    turning = K * (w * Q + alpha * M1 + 0.5 * jerk * dc.M2[j])
    calm_turning = turning - K * (w * dQ + alpha * dM1)
    dc.turning[j] = turning - line.a1[j] * dc.shake[0, j]
    dc.lost[j] = electric - half_L * (calm - i0) * (calm + i0) - calm_turning  # eq:window-energy
    slope = 12.0 * per_span * per_span * per_span * (M1 - 0.5 * span * Q)
    dc.more_square[j] = 2.0 * (Q * dQ * per_span + slope * (dM1 - 0.5 * span * dQ)) + dc.ripple_square[j]


@helper
def window_energy(
    world: Any, motor: Any, j: int, u_bus: float, start: float, span: float
) -> tuple[float, float]:
    """Integral of i^2 of motor j over the window, and the energy that it took from its bridge."""
    dc, i0, i1 = world.dc, world.dc.i[j], world.dc.i_end[j]
    R = motor.R + motor.R_bridge
    square, unbalanced = dc.lost[j] * dc.conductance[j], 0.0
    if dc.decay[j] * span < HARDLY:
        square = interval_square(world, motor, j, i0, u_bus, start, span)
        unbalanced = dc.lost[j] - square * R
    elif world.prediction.windows % REFRESH == 0:  # one window stands for all since the last look
        summed = interval_square(world, motor, j, i0, u_bus, start, span)
        unbalanced = REFRESH * (dc.lost[j] - summed * R)
    square += dc.more_square[j]
    spent = square * R + 0.5 * motor.L * (i1 - i0) * (i1 + i0) + dc.turning[j]
    return square, spent + unbalanced


@helper
def accept(world: Any, motors: Any, start: float, span: float) -> None:
    """Accept the window: state, currents, energies."""
    state, scratch, prediction, dc = world.state, world.scratch, world.prediction, world.dc
    update_current_peaks(world, motors, start, span)
    n = world.n
    per_span = world.line.per_span
    for j in range(np.uint64(0), lanes_of(world)):
        energy_terms(world, j, per_span, span)
    for j in range(n):
        motor, alpha, jerk = motors[j], prediction.alpha[j], prediction.jerk[j]
        square, spent = window_energy(world, motor, j, state.u_bus, start, span)
        state.z[SQUARE * n + j] += square
        state.z[ELECTRIC * n + j] += spent
        state.z[TORQUE * n + j] += motor.K * dc.Q[j]
        v1, v2, v3, v4 = scratch.k[1, j], scratch.k[2, j], scratch.k[3, j], scratch.k[4, j]
        squares = v1 * v1 + 2.0 * (v2 * v2 + v3 * v3) + v4 * v4
        state.z[FRICTION * n + j] += world.viscous[j] * span * squares / 6.0
        state.y[j], state.y[n + j], state.y[2 * n + j] = scratch.y1[j], scratch.y1[n + j], dc.i_end[j]
        motor.w_dot, motor.w_ddot = alpha + jerk * span, jerk
        # against the midpoint rule that the step of the arm contains
        A1, A4 = scratch.k[1, n + j], scratch.k[4, n + j]
        bent = A1 - scratch.k[2, n + j] - scratch.k[3, n + j] + A4
        worst = max(abs(v1 - v2 - v3 + v4), abs(bent))
        state.error = max(state.error, span * worst / 6.0)


@helper
def first_window(world: Any, motors: Any) -> None:
    """First window: what is known when no window came before."""
    prediction = world.prediction
    n = world.n
    prediction.since = 0.0
    refresh_inertia(world)
    for j in range(n):
        world.line.a0[j], world.line.a1[j] = motors[j].K * world.state.y[2 * n + j], 0.0
        prediction.alpha[j], prediction.jerk[j] = motors[j].w_dot, motors[j].w_ddot
    update_drift(world, 0.0)


@piece
def dc_window(world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float) -> None:
    """Carry the plant over a window of DC motors behind stiff gears without dry friction."""
    world = records_at(world_at, 1, WORLD)[0]
    prediction = world.prediction
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    if prediction.windows == 0:
        first_window(world, motors)
    begin_window(world, span)
    predict(world, motors, start, span)
    move_arm(world, span)
    if past_stop(world, stops):
        reject(world, END_STOP)
        return
    correct(world, span)
    accept(world, motors, start, span)
    prediction.since += span
    if prediction.windows % REFRESH == 0:
        refresh_inertia(world)
    else:
        extrapolate_inertia(world, span)
    update_drift(world, span)
