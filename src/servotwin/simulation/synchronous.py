r"""The fast method written out for synchronous motors.

Each behind its own stiff gear, without dry friction, on a stiff bus; the general road is ``fast``, DC motors have
``plain``, whose step of the arm, inverse inertia B and foretold speeds serve here too.

The fluxes go from edge to edge by their series (eq:flux-series) under the foretold speed. What the speed has more than
that, :math:`\Delta\omega`, turns the rotor ahead by :math:`p \int \Delta\omega`. The flux that the stator sees stays
behind, but for what the resistance lets through, so that with :math:`\lambda = R/L_q` and
:math:`x(t) = \int_0^t e^{-\lambda(t-s)}\,\Delta\omega(s)\,ds`

.. math::

    \Delta\varphi_q = -p\,\varphi_d\,x, \quad \Delta\varphi_d = p\,\varphi_q\,x, \quad \Delta\tau_e = -\kappa\,x, \\
    \kappa = \tfrac32 p^2 \Bigl(\frac{\psi\,\varphi_d}{L_d}
        + \Bigl(\frac1{L_q} - \frac1{L_d}\Bigr)(\varphi_d^2 - \varphi_q^2)\Bigr)             (eq:flux-stiffness)

That is the answer of a DC motor (eq:window-current) with :math:`\kappa` in the place of :math:`K^2/L`. It holds to a
few parts in a hundred, enough for small differences; a window whose foretold speeds were farther off goes through its
edges once more. The ripple of the torque beside its line acts on the speed as in eq:ripple-feedback, without b_4.

The speeds are foretold from the torque lines (eq:motor-mobility), and these from the pulses alone, before any flux is
computed: with the voltage as the rotor sees it in the middle of the window, and alike for d,

.. math::

    \int (i_q - i_{q0}) &\approx \tfrac1{L_q} \bigl(1 - \tfrac{\lambda S}3\bigr) \int (S - t)\,u_q, \\
    \int (i_q - i_{q0})\,t &\approx \tfrac1{L_q} \bigl(1 - \tfrac{\lambda S}3\bigr) \int \tfrac{S^2 - t^2}2\,u_q
                                                                                               (eq:pulse-guess)

What that misses, the back-EMF above all, hardly changes from window to window and is carried on.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.drives.exact import ripple_shape, window_functions
from servotwin.drives.motors import note_peaks, pmsm_torque
from servotwin.drives.records import MOTOR, STOP
from servotwin.drives.synchronous import pmsm_interval, pmsm_stored, turn_by
from servotwin.dynamics.recursive.jit import helper, piece
from servotwin.kernels.address import records_at
from servotwin.simulation.mobility import (
    carry_on,
    expect,
    give_up,
    look_ahead,
    look_at_inertia,
    open_window,
    past_stop,
)
from servotwin.simulation.plain import REFRESH, line, move_arm, put_right
from servotwin.simulation.plant import ELECTRIC, FRICTION, SQUARE, TORQUE
from servotwin.simulation.work import WORLD

ROUNDS = 3  # most passes through the edges of a window
REDO = 2000.0  # rad/s of a rotor per unit of tolerance that the foretold speeds may be off by


@helper
def answer_to_edges(world: Any, motor: Any, j: int, start: float, span: float) -> None:
    """Fluxes at the end of the window, moments of the torque about its middle, i^2 and i_q under the foretold speed."""
    k, p, psi = motor.current_at, motor.pole_pairs, motor.psi
    R, g_d, g_q = motor.R + motor.R_bridge, 1.0 / motor.L_d, 1.0 / motor.L_q
    w, alpha, jerk = motor.w, world.alpha[j], world.jerk[j]
    D, Q = motor.L_d * world.y[k] + psi, motor.L_q * world.y[k + 1]
    cos, sin = world.cos[j], world.sin[j]
    c, s = cos, sin
    T0 = T1 = T2 = T3 = energy = square = charge = t = 0.0
    i_d, i_q = world.y[k], world.y[k + 1]
    most, strongest = i_d * i_d + i_q * i_q, abs(D * i_q - Q * i_d)
    edges = world.edges[j]
    for e in range(edges + 1):
        end = span if e == edges else min(span, world.times[j, e] - start)
        tau = end - t
        if tau <= 0.0:
            continue
        D, Q, c, s, m0, m1, m2, m3, gained, i2, passed = pmsm_interval(
            world.points, R, g_d, g_q, psi, p, w, alpha, jerk, cos, sin, c, s,
            world.level_a[j, e] * world.u_bus, world.level_b[j, e] * world.u_bus, D, Q, t, tau, 0.5 * span,
        )  # fmt: skip
        T0, T1, T2, T3 = T0 + m0, T1 + m1, T2 + m2, T3 + m3
        energy, square, charge = energy + gained, square + i2, charge + passed
        i_d, i_q = (D - psi) * g_d, Q * g_q
        most = max(most, i_d * i_d + i_q * i_q)
        strongest = max(strongest, abs(D * i_q - Q * i_d))
        t = end
    world.most[j, 0], world.most[j, 1] = math.sqrt(most), 1.5 * p * strongest
    world.V[j, 0], world.V[j, 1], world.V[j, 2], world.V[j, 3] = T0, T1, T2, T3
    world.next_i[k], world.next_i[k + 1] = D, Q
    w, alpha = w + 0.5 * span * (alpha + 0.25 * span * jerk), alpha + 0.5 * span * jerk  # in the middle
    work = w * T0 + alpha * T1 + jerk * T2
    stored = pmsm_stored(motor.L_d, motor.L_q, i_d, i_q, world.y[k], world.y[k + 1])
    world.window[SQUARE * world.m + j] = square
    world.unbalanced[j] = energy - R * square - stored - work  # eq:flux-copper
    world.window[motor.charge_at] = charge
    # in the mean of the window, half way between its ends
    D, Q = 0.5 * (D + motor.L_d * world.y[k] + psi), 0.5 * (Q + motor.L_q * world.y[k + 1])
    world.back_emf[j] = 1.5 * p * p * (psi * D * g_d + (g_q - g_d) * (D * D - Q * Q))  # eq:flux-stiffness
    world.seen[j, 0], world.seen[j, 1] = world.alpha[j], jerk


@helper
def pulses_alone(world: Any, motor: Any, j: int, start: float, span: float) -> tuple[float, float]:
    """Impulse and moment of the torque as the pulses alone would make them (eq:pulse-guess)."""
    A0 = A1 = A2 = B0 = B1 = B2 = driven = t = 0.0
    edges = world.edges[j]
    for e in range(edges + 1):
        end = span if e == edges else min(span, world.times[j, e] - start)
        tau = end - t
        if tau <= 0.0:
            continue
        a, b = world.level_a[j, e] * tau, world.level_b[j, e] * tau
        driven += tau if a != 0.0 or b != 0.0 else 0.0
        m = 0.5 * (t + end)
        m2 = m * m + tau * tau / 12.0
        A0, A1, A2 = A0 + a, A1 + a * m, A2 + a * m2
        B0, B1, B2 = B0 + b, B1 + b * m, B2 + b * m2
        t = end
    world.U[j, 2] = driven
    c, s = turn_by(0.5 * motor.pole_pairs * motor.w * span)
    cos, sin = world.cos[j] * c - world.sin[j] * s, world.sin[j] * c + world.cos[j] * s
    k, s2, lost = motor.current_at, span * span, world.decay[j] * span
    A0, A1, B0, B1 = (
        span * A0 - A1,
        0.5 * (s2 * A0 - A2),
        span * B0 - B1,
        0.5 * (s2 * B0 - B2),
    )  # eq:pulse-guess
    i_d, i_q = world.y[k], world.y[k + 1] * (1.0 - lost / 2.0)
    u = world.u_bus * (1.0 - lost / 3.0)
    d, q, salient = u / motor.L_d, u / motor.L_q, motor.L_d - motor.L_q
    along, across = motor.psi + salient * i_d, salient * i_q
    T0 = along * (i_q * span + q * (cos * B0 - sin * A0)) + across * d * (cos * A0 + sin * B0)
    T1 = along * (i_q * s2 / 2.0 + q * (cos * B1 - sin * A1)) + across * d * (cos * A1 + sin * B1)
    return 1.5 * motor.pole_pairs * T0, 1.5 * motor.pole_pairs * T1


@helper
def guess(world: Any, motors: Any, start: float, span: float) -> None:
    """Torque lines before the fluxes are known: what the pulses alone make, and what they missed a window ago."""
    for j in range(world.n):
        impulse, moment = pulses_alone(world, motors[j], j, start, span)
        world.U[j, 0], world.U[j, 1] = impulse, moment
        if world.windows > 1:
            world.Q[j] = impulse + world.missing[j, 0] * span
            world.M1[j] = moment + world.missing[j, 1] * span * span
            line(world, j, span)
    expect(world)


@helper
def remember(world: Any) -> None:
    """What the pulses alone have missed, per length of the window and its square."""
    per = world.per_span
    for j in range(world.n):
        world.missing[j, 0] = (world.Q[j] - world.U[j, 0]) * per
        world.missing[j, 1] = (world.M1[j] - world.U[j, 1]) * per * per


@helper
def ripple(world: Any, motors: Any, span: float) -> None:
    """What the torque beside its line does to it by way of the speed (eq:ripple-feedback)."""
    n, per_fifth = world.n, world.per_span**5
    for j in range(n):
        world.beside[j, 0] = world.V[j, 2] - world.V[j, 0] * span * span / 24.0
        world.beside[j, 1] = world.V[j, 3] - world.V[j, 1] * span * span / 40.0
    for j in range(n):
        shake2 = shake3 = 0.0
        for k in range(n):
            shake2 += world.B[j, k] * world.beside[k, 0]
            shake3 += world.B[j, k] * world.beside[k, 1]
        rate, stiffness = world.decay[j], world.back_emf[j]
        half = math.sqrt(1.0 - rate * world.G[j, 0])
        g0 = world.G[j, 0] / (1.0 + half)
        world.shake[j] = shake2
        Q = -stiffness * half * (shake2 + rate * shake3)  # eq:ripple-feedback
        later = -stiffness * (shake2 * g0 - half * shake3)
        world.ripple[j, 0], world.ripple[j, 1] = Q, span * Q - later
        shape = 2.0 * ripple_shape(world.U[j, 2] * world.per_span, 2) * per_fifth
        world.ripple_square[j] = shape * world.beside[j, 1] * shake3 / motors[j].L_q  # eq:ripple-square


@helper
def torque_lines(world: Any, span: float) -> float:
    """Torque lines under the speeds as they are known now; by how much the foretold ones are off, as in ``fast``."""
    worst = 0.0
    G = world.G
    for j in range(world.n):
        d_alpha, d_jerk = world.alpha[j] - world.seen[j, 0], world.jerk[j] - world.seen[j, 1]
        stiffness = world.back_emf[j]
        I1 = stiffness * (d_alpha * G[j, 2] + d_jerk * G[j, 3])
        I2 = stiffness * (d_alpha * G[j, 3] + d_jerk * G[j, 4])
        world.Q[j] = world.V[j, 0] - I1 + world.ripple[j, 0]
        world.M1[j] = world.V[j, 1] + 0.5 * span * world.V[j, 0] - span * I1 + I2 + world.ripple[j, 1]
        line(world, j, span)
        off = (abs(d_alpha) + abs(d_jerk) * span) * abs(stiffness) * span * span * span / 6.0
        worst = max(worst, off * world.B[j, j])
    return worst


@helper
def foretell(world: Any, motors: Any, start: float, span: float) -> None:
    """Fluxes, torque lines and speeds that belong to each other."""
    for j in range(world.n):
        motor = motors[j]
        world.decay[j] = (motor.R + motor.R_bridge) / motor.L_q
        window_functions(world.G, j, world.decay[j], span)
        angle = motor.pole_pairs * motor.theta
        world.cos[j], world.sin[j] = math.cos(angle), math.sin(angle)
    guess(world, motors, start, span)
    for _ in range(ROUNDS):
        for j in range(world.n):
            answer_to_edges(world, motors[j], j, start, span)
        ripple(world, motors, span)
        torque_lines(world, span)
        expect(world)
        worst = torque_lines(world, span)
        expect(world)
        if worst <= REDO * world.tolerance:
            break


@helper
def take(world: Any, motors: Any, span: float) -> None:
    """Accept the window: state, currents, energies."""
    n, G = world.n, world.G
    for j in range(n):
        motor = motors[j]
        k, L_d, L_q, alpha, jerk = motor.current_at, motor.L_d, motor.L_q, world.alpha[j], world.jerk[j]
        D, F, Q = world.next_i[k], world.next_i[k + 1], world.Q[j]
        per = motor.pole_pairs / world.back_emf[j]  # angle per torque
        ahead = (
            (alpha - world.seen[j, 0]) * G[j, 1]
            + (jerk - world.seen[j, 1]) * G[j, 2]
            + world.snap[j] * G[j, 3]
        )
        ahead = motor.pole_pairs * ahead + per * world.decay[j] * world.ripple[j, 0]
        i_d, i_q = (D + F * ahead - motor.psi) / L_d, (F - D * ahead) / L_q  # eq:flux-stiffness
        o_d, o_q = world.y[k], world.y[k + 1]
        # the same in the mean of the window, for charge and copper loss: currents per angle that the rotor is ahead
        m_d, m_q, r0, r1 = 0.5 * (i_d + o_d), 0.5 * (i_q + o_q), world.ripple[j, 0], world.ripple[j, 1]
        more_d, less_q, passed = L_q * m_q / L_d, (L_d * m_d + motor.psi) / L_q, per * (world.V[j, 0] - Q)
        square = world.window[SQUARE * n + j] + 3.0 * (passed + per * r0) * (m_d * more_d - m_q * less_q)
        swing = Q * r0 * world.per_span + world.a1[j] * (r1 - 0.5 * span * r0)
        square += 3.0 * swing / (motor.K * motor.K) + world.ripple_square[j]
        stored = pmsm_stored(L_d, L_q, i_d, i_q, o_d, o_q)
        M2 = 2.0 * world.V[j, 2] + span * (world.V[j, 1] + 0.25 * span * world.V[j, 0])
        turning = motor.w * Q + alpha * world.M1[j] + 0.5 * jerk * M2 - world.a1[j] * world.shake[j]
        note_peaks(motor, world.most[j, 0], world.most[j, 1])
        world.z[SQUARE * n + j] += square
        # the energy of eq:flux-energy, and what the differences from the foretold speed change in it by eq:flux-copper
        spent = (motor.R + motor.R_bridge) * square + stored + turning + world.unbalanced[j]
        world.z[ELECTRIC * n + j] += spent
        world.z[TORQUE * n + j] += Q
        world.z[motor.charge_at] += world.window[motor.charge_at] - less_q * passed
        v1, v2, v3, v4 = world.k[1, j], world.k[2, j], world.k[3, j], world.k[4, j]
        squares = v1 * v1 + 2.0 * (v2 * v2 + v3 * v3) + v4 * v4
        world.z[FRICTION * n + j] += world.drag[j] * span * squares / 6.0
        world.y[j], world.y[n + j], world.y[k], world.y[k + 1] = world.y1[j], world.y1[n + j], i_d, i_q
        motor.w_dot, motor.w_ddot = alpha + jerk * span, jerk
        # against the midpoint rule that the step of the arm contains
        bent = world.k[1, n + j] - world.k[2, n + j] - world.k[3, n + j] + world.k[4, n + j]
        world.error = max(world.error, span * max(abs(v1 - v2 - v3 + v4), abs(bent)) / 6.0)


@helper
def begin(world: Any, motors: Any) -> None:
    """First window: what is known when no window came before."""
    world.since = 0.0
    look_at_inertia(world)
    for j in range(world.n):
        k = motors[j].current_at
        world.emf[j] = 1.0  # ``line`` gets the torque itself
        world.a0[j], world.a1[j] = pmsm_torque(motors[j], world.y[k], world.y[k + 1]), 0.0
        world.alpha[j], world.jerk[j] = motors[j].w_dot, motors[j].w_ddot
    look_ahead(world, 0.0)


@piece
def synchronous_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """``fast_window`` for synchronous motors behind stiff gears."""
    world = records_at(world_at, 1, WORLD)[0]
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    if world.windows == 0:
        begin(world, motors)
    open_window(world, span)
    foretell(world, motors, start, span)
    move_arm(world, span)
    if past_stop(world, stops):
        give_up(world)
        return
    put_right(world, motors, span)
    take(world, motors, span)
    remember(world)
    world.since += span
    if world.windows % REFRESH == 0:
        look_at_inertia(world)
    else:
        carry_on(world, span)
    look_ahead(world, span)
