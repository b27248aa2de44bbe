r"""The fast method written out for the plain case.

DC motors, each behind its own stiff gear, without dry friction, on a stiff bus; the general road is ``fast``.

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
looked at now and then and goes on along a straight line between, and a drift that hardly changes from window to
window. For the torque line of eq:moment-match

.. math:: \alpha = \beta_0 + B a_0, \qquad j = \beta_1 + B a_1                         (eq:motor-mobility)

gives the speed before the arm moves, so that one step of the arm is enough; what it made of the torque is put right by
the same linear relations. That step is the classic one of fourth order: the pulses make the line steep, and a step of
third order would lose the terms of order :math:`S^4` that the slope a_1 has in common with Coriolis forces and with the
change of the inertia. Its accelerations :math:`A_1` at the beginning, :math:`A_2` and :math:`A_3` in the middle,
:math:`A_4` at the end hold

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

from servotwin.drives.exact import decayed, ripple_shape, window_functions
from servotwin.drives.records import MOTOR, STOP
from servotwin.dynamics.recursive.jit import helper, piece
from servotwin.kernels.address import call_address, records_at
from servotwin.simulation.mobility import (
    carry_on,
    expect,
    give_up,
    look_ahead,
    look_at_inertia,
    open_window,
    past_stop,
)
from servotwin.simulation.plant import ELECTRIC, FRICTION, SQUARE, TORQUE
from servotwin.simulation.window_intervals import interval_square, note_largest_currents
from servotwin.simulation.work import WORLD

REFRESH = 32  # windows between two looks at the inverse inertia, and at the copper loss
HARDLY = (
    0.05  # lambda S up to which the copper loss, a small difference of energies, is summed over the intervals
)
SAME = 1e-18  # s: intervals that differ by less share their exponential


@helper
def answer_to_pulses(world: Any, motor: Any, j: int, start: float, span: float) -> None:
    """v and the moments of voltage and v for motor j (eq:voltage-moments)."""
    R, L = motor.R + motor.R_bridge, motor.L
    conductance, slow = 1.0 / R, L / R
    rate = world.decay[j]
    world.conductance[j], world.slow[j] = conductance, slow
    window_functions(world.G, j, rate, span)
    v0 = world.y[2 * world.n + j]
    v, h = v0, 1.0
    U0 = U1 = U2 = U3 = U4 = work = homogeneous = 0.0
    still = motor.K * motor.w * conductance
    most = abs(v0)
    t, t_a, t_b, E_a, E_b = 0.0, -1.0, -1.0, 1.0, 1.0
    edges = world.edges[j]
    for s in range(edges + 1):
        end = span if s == edges else min(span, world.times[j, s] - start)
        tau = end - t
        if tau <= 0.0:
            world.at_edges[j, s] = v
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
        u = world.level_a[j, s] * world.u_bus
        final = u * conductance
        v_new, h_new = final + (v - final) * E, h * E
        v, h, t, v_old, h_old, t_old = v_new, h_new, end, v, h, t
        world.at_edges[j, s] = v
        most = max(most, abs(v - still * (1.0 - h)))
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
    world.most[j, 0] = most
    world.pulse_end[j], world.pulse_work[j], world.pulse_decay[j] = v, work, homogeneous * slow
    world.U[j, 0], world.U[j, 1], world.U[j, 2] = U0, U1, U2
    Q = (U0 - L * (v - v0)) * conductance  # eq:voltage-moments
    M1 = (U1 - L * (v * span - Q)) * conductance
    s2 = span * span
    M2 = (U2 - L * (v * s2 - 2.0 * M1)) * conductance
    M3 = (U3 - L * (v * s2 * span - 3.0 * M2)) * conductance
    world.V[j, 0], world.V[j, 1], world.V[j, 2], world.V[j, 3] = Q, M1, M2, M3
    world.V[j, 4] = (U4 - L * (v * s2 * s2 - 4.0 * M3)) * conductance


@helper
def torque_lines(world: Any, motors: Any, span: float) -> None:
    """Torque lines from the speeds (eq:window-current, eq:moment-match)."""
    G = world.G
    for j in range(world.n):
        w, alpha, jerk, kl = motors[j].w, world.alpha[j], world.jerk[j], world.back_emf[j]
        I1 = kl * (w * G[j, 1] + alpha * G[j, 2] + jerk * G[j, 3])
        I2 = kl * (w * G[j, 2] + alpha * G[j, 3] + jerk * G[j, 4])
        world.Q[j] = world.V[j, 0] - I1 + world.ripple[j, 0]
        world.M1[j] = world.V[j, 1] - span * I1 + I2 + world.ripple[j, 1]
        line(world, j, span)


@helper
def line(world: Any, j: int, span: float) -> None:
    """eq:moment-match from charge and moment of motor j."""
    slope = world.per_cube * (world.M1[j] - 0.5 * span * world.Q[j])
    world.a1[j] = world.emf[j] * slope  # eq:moment-match
    world.a0[j] = world.emf[j] * (world.Q[j] * world.per_span - 0.5 * span * slope)


@helper
def ripple(world: Any, motors: Any, span: float) -> None:
    """What the torque beside its line does to the currents (eq:ripple-feedback)."""
    n, G = world.n, world.G
    s2 = span * span
    s3, s4 = s2 * span, s2 * s2
    per_fifth = 1.0 / (s4 * span)
    for j in range(n):
        w, alpha, jerk, kl = motors[j].w, world.alpha[j], world.jerk[j], world.back_emf[j]
        I1 = kl * (w * G[j, 1] + alpha * G[j, 2] + jerk * G[j, 3])
        I2 = kl * (w * G[j, 2] + alpha * G[j, 3] + jerk * G[j, 4])
        I3 = 2.0 * kl * (w * G[j, 3] + alpha * G[j, 4] + jerk * G[j, 5])
        I4 = 6.0 * kl * (w * G[j, 4] + alpha * G[j, 5] + jerk * G[j, 6])
        I5 = 24.0 * kl * (w * G[j, 5] + alpha * G[j, 6] + jerk * G[j, 7])
        K, a0, a1 = world.emf[j], world.a0[j], world.a1[j]
        M2 = world.V[j, 2] - s2 * I1 + 2.0 * span * I2 - I3
        M3 = world.V[j, 3] - s3 * I1 + 3.0 * (s2 * I2 - span * I3) + I4
        M4 = world.V[j, 4] - s4 * I1 + 4.0 * s3 * I2 - 6.0 * s2 * I3 + 4.0 * span * I4 - I5
        m2 = K * M2 - s3 * (a0 / 3.0 + a1 * span / 4.0)
        m3 = K * M3 - s4 * (a0 / 4.0 + a1 * span / 5.0)
        m4 = K * M4 - s4 * span * (a0 / 5.0 + a1 * span / 6.0)
        world.M2[j] = M2
        # about the middle of the window
        world.beside[j, 0], world.beside[j, 1] = m2 / 2.0, (m3 - 1.5 * span * m2) / 6.0
        world.beside[j, 2] = (m4 - 2.0 * span * m3 + 1.5 * s2 * m2) / 24.0
    for j in range(n):
        shake2 = shake3 = shake4 = 0.0  # eq:ripple-feedback
        for k in range(n):
            shake2 += world.B[j, k] * world.beside[k, 0]
            shake3 += world.B[j, k] * world.beside[k, 1]
            shake4 += world.B[j, k] * world.beside[k, 2]
        world.shake[j] = shake2
        rate, kl = world.decay[j], world.back_emf[j]
        half = math.sqrt(1.0 - rate * G[j, 0])
        g0 = G[j, 0] / (1.0 + half)
        Q = -kl * half * (shake2 + rate * (shake3 + rate * shake4))
        later = -kl * (shake2 * g0 - half * (shake3 + rate * shake4))
        world.ripple[j, 0], world.ripple[j, 1] = Q, span * Q - later
        mean = world.U[j, 0] * world.per_span / world.u_bus if world.u_bus > 0.0 else 0.0  # a supply may fail
        shape = ripple_shape(mean, world.pulses)
        world.ripple_square[j] = (
            2.0 * shape * world.beside[j, 1] * shake3 * per_fifth / motors[j].L
        )  # eq:ripple-square


@helper
def foretell(world: Any, motors: Any, start: float, span: float) -> None:
    """Torque lines and speeds of the window that agree with each other, before the arm moves."""
    expect(world)
    for j in range(world.n):
        answer_to_pulses(world, motors[j], j, start, span)
        world.ripple[j, 0] = world.ripple[j, 1] = 0.0
    torque_lines(world, motors, span)
    ripple(world, motors, span)
    expect(world)
    torque_lines(world, motors, span)


@helper
def move_arm(world: Any, h: float) -> None:
    """Classic step of the arm under the torque lines; leaves y1, and the stages' slopes in k[1] to k[4]."""
    n = world.n
    for s in range(4):
        a = 0.0 if s == 0 else (h if s == 3 else 0.5 * h)
        for j in range(n):
            v = world.y[n + j] + a * world.k[s, n + j]
            world.inputs[j] = world.y[j] + a * world.k[s, j]
            world.inputs[n + j] = v
            world.inputs[2 * n + j] = world.ratio[j] * (world.a0[j] + world.a1[j] * a) - world.drag[j] * v
            world.k[s + 1, j] = v
        call_address(world.accel, world.inputs_at, world.outputs_at, world.accel_data)
        for j in range(n):
            world.k[s + 1, n + j] = world.outputs[j]
    for j in range(n):
        A1, A23, A4 = world.k[1, n + j], world.k[2, n + j] + world.k[3, n + j], world.k[4, n + j]
        world.y1[j] = world.y[j] + h * (world.k[1, j] + h * (A1 + A23) / 6.0)
        world.y1[n + j] = world.y[n + j] + h * (A1 + 2.0 * A23 + A4) / 6.0


@helper
def put_right(world: Any, motors: Any, span: float) -> None:
    """The speeds as the arm gave them, and what their difference from the expected ones changes."""
    n, G = world.n, world.G
    per = world.per_span
    for j in range(n):
        ratio, A1, A4 = world.ratio[j], world.k[1, n + j], world.k[4, n + j]
        rise = 0.5 * (world.k[2, n + j] + world.k[3, n + j]) - A1  # eq:arm-acceleration
        whole = A4 - A1
        alpha = ratio * A1
        jerk = ratio * (4.0 * rise - whole) * per
        snap = ratio * 4.0 * (whole - 2.0 * rise) * per * per
        d_alpha, d_jerk = alpha - world.alpha[j], jerk - world.jerk[j]
        world.alpha[j], world.jerk[j], world.snap[j] = alpha, jerk, snap
        I1 = world.back_emf[j] * (d_alpha * G[j, 2] + d_jerk * G[j, 3] + snap * G[j, 4])
        I2 = world.back_emf[j] * (d_alpha * G[j, 3] + d_jerk * G[j, 4] + snap * G[j, 5])
        world.Q[j] -= I1
        world.M1[j] -= span * I1 - I2
        world.was[j, 0], world.was[j, 1] = world.a0[j], world.a1[j]
        line(world, j, span)
    for j in range(n):
        alpha = jerk = 0.0
        for k in range(n):
            alpha += world.B[j, k] * (world.a0[k] - world.was[k, 0])
            jerk += world.B[j, k] * (world.a1[k] - world.was[k, 1])
        world.alpha[j] += alpha
        world.jerk[j] += jerk
        world.y1[n + j] += span * (alpha + 0.5 * span * jerk) * world.unratio[j]
        world.y1[j] += span * span * (alpha / 2.0 + span * jerk / 6.0) * world.unratio[j]


@helper
def take(world: Any, motors: Any, start: float, span: float) -> None:
    """Accept the window: state, currents, energies."""
    note_largest_currents(world, motors, start, span)
    n, G = world.n, world.G
    for j in range(n):
        motor = motors[j]
        conductance, L, K = world.conductance[j], motor.L, motor.K
        w, alpha, jerk = motor.w, world.alpha[j], world.jerk[j]
        i0 = world.y[2 * n + j]
        emf = world.back_emf[j] * (w * G[j, 0] + alpha * G[j, 1] + jerk * G[j, 2] + world.snap[j] * G[j, 3])
        calm = world.pulse_end[j] - emf  # current at the end but for the answer to the ripple
        i1 = calm - world.decay[j] * world.ripple[j, 0]
        a2 = -0.5 * K * jerk * conductance
        a1 = -(K * alpha + 2.0 * L * a2) * conductance
        a0 = -(K * w + L * a1) * conductance
        Q, M1, dQ, dM1 = world.Q[j], world.M1[j], world.ripple[j, 0], world.ripple[j, 1]
        electric = world.pulse_work[j] - a0 * world.pulse_decay[j]
        electric += a0 * world.U[j, 0] + a1 * world.U[j, 1] + a2 * world.U[j, 2]
        turning = K * (w * Q + alpha * M1 + 0.5 * jerk * world.M2[j])
        calm_turning = turning - K * (w * dQ + alpha * dM1)
        turning -= world.a1[j] * world.shake[j]
        left = electric - 0.5 * L * (calm - i0) * (calm + i0) - calm_turning  # eq:window-energy
        square, unbalanced = left * conductance, 0.0
        if world.decay[j] * span < HARDLY:
            square = interval_square(world, motor, j, start, span)
            unbalanced = left - square / conductance
        elif world.windows % REFRESH == 0:  # one window stands for all since the last look
            unbalanced = REFRESH * (left - interval_square(world, motor, j, start, span) / conductance)
        square += (
            2.0 * (Q * dQ * world.per_span + world.a1[j] / K * (dM1 - 0.5 * span * dQ))
            + world.ripple_square[j]
        )
        world.z[SQUARE * n + j] += square
        spent = square / conductance + 0.5 * L * (i1 - i0) * (i1 + i0) + turning
        world.z[ELECTRIC * n + j] += spent + unbalanced
        world.z[TORQUE * n + j] += K * Q
        v1, v2, v3, v4 = world.k[1, j], world.k[2, j], world.k[3, j], world.k[4, j]
        squares = v1 * v1 + 2.0 * (v2 * v2 + v3 * v3) + v4 * v4
        world.z[FRICTION * n + j] += world.drag[j] * span * squares / 6.0
        world.y[j], world.y[n + j], world.y[2 * n + j] = world.y1[j], world.y1[n + j], i1
        motor.w_dot, motor.w_ddot = alpha + jerk * span, jerk
        # against the midpoint rule that the step of the arm contains
        A1, A4 = world.k[1, n + j], world.k[4, n + j]
        bent = A1 - world.k[2, n + j] - world.k[3, n + j] + A4
        worst = max(abs(v1 - v2 - v3 + v4), abs(bent))
        world.error = max(world.error, span * worst / 6.0)


@helper
def begin(world: Any, motors: Any) -> None:
    """First window: what is known when no window came before."""
    n = world.n
    world.since = 0.0
    look_at_inertia(world)
    for j in range(n):
        world.a0[j], world.a1[j] = motors[j].K * world.y[2 * n + j], 0.0
        world.alpha[j], world.jerk[j] = motors[j].w_dot, motors[j].w_ddot
    look_ahead(world, 0.0)


@piece
def plain_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """``fast_window`` for the plain case."""
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
    take(world, motors, start, span)
    world.since += span
    if world.windows % REFRESH == 0:
        look_at_inertia(world)
    else:
        carry_on(world, span)
    look_ahead(world, span)
