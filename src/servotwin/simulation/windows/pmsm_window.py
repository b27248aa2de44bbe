r"""The fast method in one pass for synchronous motors.

Each behind its own stiff gear, without dry friction, on a stiff bus. The step of the arm, the inverse inertia B and the
predicted speeds are those of ``dc_window``.

The fluxes go from edge to edge by their series (eq:flux-series) under the predicted speed. What the speed has more than
that, :math:`\Delta\omega`, turns the rotor ahead by :math:`p \int \Delta\omega`. The flux that the stator sees stays
behind, but for what the resistance lets through, so that with :math:`\lambda = R/L_q` and
:math:`x(t) = \int_0^t e^{-\lambda(t-s)}\,\Delta\omega(s)\,ds`

.. math::

    \Delta\varphi_q = -p\,\varphi_d\,x, \quad \Delta\varphi_d = p\,\varphi_q\,x, \quad \Delta\tau_e = -\kappa\,x, \\
    \kappa = \tfrac32 p^2 \Bigl(\frac{\psi\,\varphi_d}{L_d}
        + \Bigl(\frac1{L_q} - \frac1{L_d}\Bigr)(\varphi_d^2 - \varphi_q^2)\Bigr)             (eq:flux-stiffness)

That is the answer of a DC motor (eq:window-current) with :math:`\kappa` in the place of :math:`K^2/L`. It holds to a
few parts in a hundred, enough for small differences; a window whose predicted speeds were farther off goes through its
edges once more. The ripple of the torque beside its line acts on the speed as in eq:ripple-feedback, without b_4.

The speeds are predicted from the torque lines (eq:motor-inverse-inertia), and these from the pulses alone, before any
flux is computed: with the voltage as the rotor sees it in the middle of the window, and alike for d,

.. math::

    \int (i_q - i_{q0}) &\approx \tfrac1{L_q} \bigl(1 - \tfrac{\lambda S}3\bigr) \int (S - t)\,u_q, \\
    \int (i_q - i_{q0})\,t &\approx \tfrac1{L_q} \bigl(1 - \tfrac{\lambda S}3\bigr) \int \tfrac{S^2 - t^2}2\,u_q
                                                                                               (eq:pulse-guess)

What that misses, the back-EMF above all, hardly changes from window to window and is carried on.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.peaks import update_peaks
from servotwin.drives.pmsm.interval import pmsm_interval, pmsm_stored, turn_by
from servotwin.drives.pmsm.model import electrical_turn, pmsm_torque
from servotwin.drives.records import MOTOR, STOP
from servotwin.drives.winding_window import ripple_shape, window_functions
from servotwin.simulation.plant.rates import ELECTRIC, FRICTION, SQUARE, TORQUE
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.windows.dc_window import END_STOP, REFRESH
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
    torque_line,
    update_drift,
)
from servotwin.simulation.windows.pmsm_lanes import begin_lanes, flux_window

ROUNDS = 3  # most passes through the edges of a window
REDO = 2000.0  # rad/s of a rotor per unit of tolerance that the predicted speeds may be off by


@part
def long_intervals(world: Any, motor: Any, j: int, span: float) -> None:
    """Fluxes and integrals of motor j in its lane as ``flux_window`` gives them, in steps of any length."""
    lanes = world.lanes
    lanes.c[j], lanes.s[j], lanes.t[j] = lanes.cos[j], lanes.sin[j], 0.0
    i_d, i_q = world.state.y[motor.current_at], world.state.y[motor.current_at + 1]
    torque = lanes.D[j] * i_q - lanes.Q[j] * i_d
    T0 = T1 = T2 = T3 = energy = square = charge = 0.0
    lanes.most[j], lanes.low[j], lanes.high[j] = i_d * i_d + i_q * i_q, torque, torque
    for e in range(lanes.count[j]):
        D, Q, lanes.c[j], lanes.s[j], m0, m1, m2, m3, gained, i2, passed = pmsm_interval(
            world.scratch.flux_points, lanes.R[j], lanes.g_d[j], lanes.g_q[j], lanes.psi[j], lanes.p[j], lanes.w[j],
            lanes.alpha[j], lanes.jerk[j], lanes.cos[j], lanes.sin[j], lanes.c[j], lanes.s[j], lanes.u_a[e, j],
            lanes.u_b[e, j], lanes.D[j], lanes.Q[j], lanes.t[j], lanes.tau[e, j], 0.5 * span,
        )  # fmt: skip
        T0, T1, T2, T3 = T0 + m0, T1 + m1, T2 + m2, T3 + m3
        energy, square, charge = energy + gained, square + i2, charge + passed
        i_d, i_q = (D - motor.psi) * lanes.g_d[j], Q * lanes.g_q[j]
        torque = D * i_q - Q * i_d
        lanes.most[j] = max(lanes.most[j], i_d * i_d + i_q * i_q)
        lanes.low[j], lanes.high[j] = min(lanes.low[j], torque), max(lanes.high[j], torque)
        lanes.D[j], lanes.Q[j] = D, Q
        lanes.t[j] += lanes.tau[e, j]
    lanes.T_0[j], lanes.T_1[j], lanes.T_2[j], lanes.T_3[j] = T0, T1, T2, T3
    lanes.energy[j], lanes.square[j], lanes.charge[j] = energy, square, charge


@helper
def answer_to_edges(world: Any, motors: Any, start: float, span: float) -> None:
    """Fluxes at the end of the window, torque moments about its middle, i^2 and i_q under the predicted speed."""
    if begin_lanes(world, motors, start, span):
        flux_window(world, 0.5 * span)
    else:
        for j in range(world.m):
            long_intervals(world, motors[j], j, span)
    for j in range(world.m):
        take_answer(world, motors[j], j, span)


@helper
def take_answer(world: Any, motor: Any, j: int, span: float) -> None:
    """What motor j has in its lane, and what follows from it."""
    state, prediction, pmsm, lanes = world.state, world.prediction, world.pmsm, world.lanes
    k, p, psi = motor.current_at, motor.pole_pairs, motor.psi
    R, g_d, g_q = lanes.R[j], lanes.g_d[j], lanes.g_q[j]
    w, alpha, jerk = motor.w, prediction.alpha[j], prediction.jerk[j]
    T0, T1, T2, T3 = lanes.T_0[j], lanes.T_1[j], lanes.T_2[j], lanes.T_3[j]
    D, Q, low, high = lanes.D[j], lanes.Q[j], lanes.low[j], lanes.high[j]
    i_d, i_q, square = (D - psi) * g_d, Q * g_q, lanes.square[j]
    pmsm.extremes[j, 0], pmsm.extremes[j, 1] = 1.5 * p * low, 1.5 * p * high
    pmsm.peak[j, 0], pmsm.peak[j, 1] = math.sqrt(lanes.most[j]), 1.5 * p * max(-low, high)
    pmsm.torque_moments[j, 0], pmsm.torque_moments[j, 1] = T0, T1
    pmsm.torque_moments[j, 2], pmsm.torque_moments[j, 3] = T2, T3
    pmsm.flux[j, 0], pmsm.flux[j, 1] = D, Q
    w, alpha = w + 0.5 * span * (alpha + 0.25 * span * jerk), alpha + 0.5 * span * jerk  # in the middle
    work = w * T0 + alpha * T1 + jerk * T2
    stored = pmsm_stored(motor.L_d, motor.L_q, i_d, i_q, state.y[k], state.y[k + 1])
    pmsm.square[j] = square
    pmsm.unbalanced[j] = lanes.energy[j] - R * square - stored - work  # eq:flux-copper
    pmsm.charge[j] = lanes.charge[j]
    # in the mean of the window, half way between its ends
    D, Q = 0.5 * (D + motor.L_d * state.y[k] + psi), 0.5 * (Q + motor.L_q * state.y[k + 1])
    pmsm.stiffness[j] = 1.5 * p * p * (psi * D * g_d + (g_q - g_d) * (D * D - Q * Q))  # eq:flux-stiffness
    pmsm.flux_motion[j, 0], pmsm.flux_motion[j, 1] = prediction.alpha[j], jerk


@helper
def pulses_alone(world: Any, motor: Any, j: int, start: float, span: float) -> tuple[float, float]:
    """Impulse and moment of the torque as the pulses alone would make them (eq:pulse-guess)."""
    state, pattern, pmsm = world.state, world.pattern, world.pmsm
    A0 = A1 = A2 = B0 = B1 = B2 = driven = t = 0.0
    edges = pattern.edges[j]
    for e in range(edges + 1):
        end = span if e == edges else min(span, pattern.times[j, e] - start)
        tau = end - t
        if tau <= 0.0:
            continue
        a, b = pattern.level_a[j, e] * tau, pattern.level_b[j, e] * tau
        driven += tau if a != 0.0 or b != 0.0 else 0.0
        m = 0.5 * (t + end)
        m2 = m * m + tau * tau / 12.0
        A0, A1, A2 = A0 + a, A1 + a * m, A2 + a * m2
        B0, B1, B2 = B0 + b, B1 + b * m, B2 + b * m2
        t = end
    pmsm.driven[j] = driven
    c, s = turn_by(0.5 * motor.pole_pairs * motor.w * span)
    cos, sin = pmsm.cos[j] * c - pmsm.sin[j] * s, pmsm.sin[j] * c + pmsm.cos[j] * s
    k, s2, lost = motor.current_at, span * span, pmsm.decay[j] * span
    A0, A1, B0, B1 = (
        span * A0 - A1,
        0.5 * (s2 * A0 - A2),
        span * B0 - B1,
        0.5 * (s2 * B0 - B2),
    )  # eq:pulse-guess
    i_d, i_q = state.y[k], state.y[k + 1] * (1.0 - lost / 2.0)
    u = state.u_bus * (1.0 - lost / 3.0)
    d, q, salient = u / motor.L_d, u / motor.L_q, motor.L_d - motor.L_q
    along, across = motor.psi + salient * i_d, salient * i_q
    T0 = along * (i_q * span + q * (cos * B0 - sin * A0)) + across * d * (cos * A0 + sin * B0)
    T1 = along * (i_q * s2 / 2.0 + q * (cos * B1 - sin * A1)) + across * d * (cos * A1 + sin * B1)
    return 1.5 * motor.pole_pairs * T0, 1.5 * motor.pole_pairs * T1


@helper
def guess(world: Any, motors: Any, start: float, span: float) -> None:
    """Torque lines before the fluxes are known: what the pulses alone make, and what they missed a window ago."""
    pmsm = world.pmsm
    for j in range(world.n):
        impulse, moment = pulses_alone(world, motors[j], j, start, span)
        pmsm.guess[j, 0], pmsm.guess[j, 1] = impulse, moment
        if world.prediction.windows > 1:
            pmsm.impulse[j] = impulse + pmsm.missing[j, 0] * span
            pmsm.moment[j] = moment + pmsm.missing[j, 1] * span * span
            torque_line(world, j, 1.0, pmsm.impulse[j], pmsm.moment[j], span)
    predict_speeds(world)


@helper
def update_guess_error(world: Any) -> None:
    """What the pulses alone have missed, per length of the window and its square."""
    pmsm = world.pmsm
    per = world.line.per_span
    for j in range(world.n):
        pmsm.missing[j, 0] = (pmsm.impulse[j] - pmsm.guess[j, 0]) * per
        pmsm.missing[j, 1] = (pmsm.moment[j] - pmsm.guess[j, 1]) * per * per


@helper
def ripple(world: Any, motors: Any, span: float) -> None:
    """What the torque beside its line does to it by way of the speed (eq:ripple-feedback)."""
    pmsm = world.pmsm
    n, per_fifth = world.n, world.line.per_span**5
    for j in range(n):
        pmsm.residual[j, 0] = pmsm.torque_moments[j, 2] - pmsm.torque_moments[j, 0] * span * span / 24.0
        pmsm.residual[j, 1] = pmsm.torque_moments[j, 3] - pmsm.torque_moments[j, 1] * span * span / 40.0
    for j in range(n):
        shake2 = shake3 = 0.0
        for k in range(n):
            shake2 += world.prediction.B[j, k] * pmsm.residual[k, 0]
            shake3 += world.prediction.B[j, k] * pmsm.residual[k, 1]
        rate, stiffness = pmsm.decay[j], pmsm.stiffness[j]
        half = math.sqrt(1.0 - rate * pmsm.G[j, 0])
        g0 = pmsm.G[j, 0] / (1.0 + half)
        pmsm.shake[j] = shake2
        Q = -stiffness * half * (shake2 + rate * shake3)  # eq:ripple-feedback
        later = -stiffness * (shake2 * g0 - half * shake3)
        pmsm.ripple[j, 0], pmsm.ripple[j, 1] = Q, span * Q - later
        shape = 2.0 * ripple_shape(pmsm.driven[j] * world.line.per_span, 2) * per_fifth
        pmsm.ripple_square[j] = shape * pmsm.residual[j, 1] * shake3 / motors[j].L_q  # eq:ripple-square


@helper
def torque_lines(world: Any, span: float) -> float:
    """Torque lines under the speeds as known now; how far the predicted ones are off, as in ``general_window``."""
    prediction, pmsm = world.prediction, world.pmsm
    worst = 0.0
    G = pmsm.G
    for j in range(world.n):
        d_alpha, d_jerk = (
            prediction.alpha[j] - pmsm.flux_motion[j, 0],
            prediction.jerk[j] - pmsm.flux_motion[j, 1],
        )
        stiffness = pmsm.stiffness[j]
        I1 = stiffness * (d_alpha * G[j, 2] + d_jerk * G[j, 3])
        I2 = stiffness * (d_alpha * G[j, 3] + d_jerk * G[j, 4])
        pmsm.impulse[j] = pmsm.torque_moments[j, 0] - I1 + pmsm.ripple[j, 0]
        pmsm.moment[j] = (
            pmsm.torque_moments[j, 1]
            + 0.5 * span * pmsm.torque_moments[j, 0]
            - span * I1
            + I2
            + pmsm.ripple[j, 1]
        )
        torque_line(world, j, 1.0, pmsm.impulse[j], pmsm.moment[j], span)
        off = (abs(d_alpha) + abs(d_jerk) * span) * abs(stiffness) * span * span * span / 6.0
        worst = max(worst, off * prediction.B[j, j])
    return worst


@helper
def predict(world: Any, motors: Any, start: float, span: float) -> None:
    """Fluxes, torque lines and speeds that belong to each other."""
    pmsm = world.pmsm
    for j in range(world.n):
        motor = motors[j]
        pmsm.decay[j] = (motor.R + motor.R_bridge) / motor.L_q
        window_functions(pmsm.G, j, pmsm.decay[j], span)
        pmsm.cos[j], pmsm.sin[j] = electrical_turn(motor)
    guess(world, motors, start, span)
    for _ in range(ROUNDS):
        answer_to_edges(world, motors, start, span)
        ripple(world, motors, span)
        torque_lines(world, span)
        predict_speeds(world)
        worst = torque_lines(world, span)
        predict_speeds(world)
        if worst <= REDO * world.tolerance:
            break


@helper
def correct(world: Any, span: float) -> None:
    """Torque lines under the speeds that the arm took, and what their difference from the predicted ones changes."""
    pmsm, prediction, G = world.pmsm, world.prediction, world.pmsm.G
    compare_with_arm(world)
    for j in range(world.n):
        d_alpha, d_jerk, snap = prediction.d_alpha[j], prediction.d_jerk[j], prediction.snap[j]
        I1 = pmsm.stiffness[j] * (d_alpha * G[j, 2] + d_jerk * G[j, 3] + snap * G[j, 4])
        I2 = pmsm.stiffness[j] * (d_alpha * G[j, 3] + d_jerk * G[j, 4] + snap * G[j, 5])
        pmsm.impulse[j] -= I1
        pmsm.moment[j] -= span * I1 - I2
        torque_line(world, j, 1.0, pmsm.impulse[j], pmsm.moment[j], span)
    correct_speeds(world, span)


@helper
def accept(world: Any, motors: Any, span: float) -> None:
    """Accept the window: state, currents, energies."""
    state, scratch, line, prediction, pmsm = (
        world.state,
        world.scratch,
        world.line,
        world.prediction,
        world.pmsm,
    )
    n, G = world.n, pmsm.G
    for j in range(n):
        motor = motors[j]
        k, L_d, L_q, alpha, jerk = (
            motor.current_at,
            motor.L_d,
            motor.L_q,
            prediction.alpha[j],
            prediction.jerk[j],
        )
        D, F, Q = pmsm.flux[j, 0], pmsm.flux[j, 1], pmsm.impulse[j]
        per = motor.pole_pairs / pmsm.stiffness[j]  # angle per torque
        ahead = (
            (alpha - pmsm.flux_motion[j, 0]) * G[j, 1]
            + (jerk - pmsm.flux_motion[j, 1]) * G[j, 2]
            + prediction.snap[j] * G[j, 3]
        )
        ahead = motor.pole_pairs * ahead + per * pmsm.decay[j] * pmsm.ripple[j, 0]
        i_d, i_q = (D + F * ahead - motor.psi) / L_d, (F - D * ahead) / L_q  # eq:flux-stiffness
        o_d, o_q = state.y[k], state.y[k + 1]
        # the same in the mean of the window, for charge and copper loss: currents per angle that the rotor is ahead
        m_d, m_q, r0, r1 = 0.5 * (i_d + o_d), 0.5 * (i_q + o_q), pmsm.ripple[j, 0], pmsm.ripple[j, 1]
        more_d, less_q, passed = (
            L_q * m_q / L_d,
            (L_d * m_d + motor.psi) / L_q,
            per * (pmsm.torque_moments[j, 0] - Q),
        )
        square = pmsm.square[j] + 3.0 * (passed + per * r0) * (m_d * more_d - m_q * less_q)
        swing = Q * r0 * line.per_span + line.a1[j] * (r1 - 0.5 * span * r0)
        square += 3.0 * swing / (motor.K * motor.K) + pmsm.ripple_square[j]
        stored = pmsm_stored(L_d, L_q, i_d, i_q, o_d, o_q)
        M2 = 2.0 * pmsm.torque_moments[j, 2] + span * (
            pmsm.torque_moments[j, 1] + 0.25 * span * pmsm.torque_moments[j, 0]
        )
        turning = motor.w * Q + alpha * pmsm.moment[j] + 0.5 * jerk * M2 - line.a1[j] * pmsm.shake[j]
        update_peaks(motor, pmsm.peak[j, 0], pmsm.peak[j, 1])
        state.z[SQUARE * n + j] += square
        # the energy of eq:flux-energy, and what the differences from the predicted speed change in it by eq:flux-copper
        spent = (motor.R + motor.R_bridge) * square + stored + turning + pmsm.unbalanced[j]
        state.z[ELECTRIC * n + j] += spent
        world.general.z_window[ELECTRIC * n + j] = spent
        state.z[TORQUE * n + j] += Q
        state.z[motor.charge_at] += pmsm.charge[j] - less_q * passed
        v1, v2, v3, v4 = scratch.k[1, j], scratch.k[2, j], scratch.k[3, j], scratch.k[4, j]
        state.y[j], state.y[n + j], state.y[k], state.y[k + 1] = scratch.y1[j], scratch.y1[n + j], i_d, i_q
        motor.w_dot, motor.w_ddot = alpha + jerk * span, jerk
        # against the midpoint rule that the step of the arm contains
        bent = scratch.k[1, n + j] - scratch.k[2, n + j] - scratch.k[3, n + j] + scratch.k[4, n + j]
        state.error = max(state.error, span * max(abs(v1 - v2 - v3 + v4), abs(bent)) / 6.0)


@helper
def viscous_work(world: Any, span: float) -> None:
    """Book what viscous friction takes in the window, by the speeds of the arm's step."""
    n, k = world.n, world.scratch.k
    for j in range(n):
        squares = k[1, j] * k[1, j] + 2.0 * (k[2, j] * k[2, j] + k[3, j] * k[3, j]) + k[4, j] * k[4, j]
        world.state.z[FRICTION * n + j] += world.viscous[j] * span * squares / 6.0


@helper
def first_window(world: Any, motors: Any) -> None:
    """First window: what is known when no window came before."""
    prediction = world.prediction
    prediction.since = 0.0
    refresh_inertia(world)
    for j in range(world.n):
        k = motors[j].current_at
        world.line.a0[j], world.line.a1[j] = (
            pmsm_torque(motors[j], world.state.y[k], world.state.y[k + 1]),
            0.0,
        )
        prediction.alpha[j], prediction.jerk[j] = motors[j].w_dot, motors[j].w_ddot
    update_drift(world, 0.0)


@piece
def pmsm_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Carry the plant over a window of synchronous motors behind stiff gears without dry friction."""
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
    accept(world, motors, span)
    viscous_work(world, span)
    update_guess_error(world)
    prediction.since += span
    if prediction.windows % REFRESH == 0:
        refresh_inertia(world)
    else:
        extrapolate_inertia(world, span)
    update_drift(world, span)
