r"""Synchronous motors behind elastic gears side by side, from edge to edge, as long as nothing happens to them.

The equations are those of ``elastic_motor`` with the fluxes of ``flux_step``, written without branches, so that the
processor carries four motors at once (``pmsm_lanes``). A stuck shaft is one that torques do not accelerate. Of a
Stribeck curve the exponential is computed once, where the window begins; within it

.. math:: e^{-(\omega/\omega_k)^2} = e^{-(\omega_0/\omega_k)^2}\,e^{-z}, \qquad
          z = (\omega^2 - \omega_0^2)/\omega_k^2                                              (eq:stribeck-series)

is a series in z. A lane in which a shaft comes to rest or breaks away, or might have turned round twice, is left as it
was: ``elastic_motor`` carries that motor through its events.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.drives.friction import BACKWARD, FALLEN, FORWARD
from servotwin.drives.pmsm.model import electrical_turn
from servotwin.drives.pmsm.step import SHORT, flux_step, small_turn
from servotwin.drives.records import FREE, STUCK
from servotwin.simulation.plant.event_steps import FAR
from servotwin.simulation.windows.motor_coordinates import at_motor
from servotwin.simulation.windows.pmsm_lanes import LANES, fill_rows, fill_up, take_row

LEFT = -1.0  # margin of a lane that is left to ``elastic_motor``
SERIES = 0.4  # largest z of eq:stribeck-series


@helper
def small_exp(z: float) -> float:
    """exp(-z) for sizes of z up to ``SERIES``: what is left out is below 1e-12."""
    z2 = z * z
    low = (1.0 - z) + z2 * (1 / 2 - z / 6)
    return low + z2 * z2 * ((1 / 24 - z / 120) + z2 * (1 / 720 - z / 5040 + z2 * (1 / 40320 - z / 362880)))


@helper
def begin_electrical_angle(world: Any, motor: Any, j: int) -> None:
    """Cosine and sine of the electrical angle of motor j as the window begins."""
    world.elastic_window.cos[j], world.elastic_window.sin[j] = electrical_turn(motor)


@helper
def fill_friction_lane(world: Any, motor: Any, j: int) -> bool:
    """Friction of motor j into its lane; false if it is none of eq:friction-curve with one fall of the torque."""
    lanes, w = world.lanes, world.elastic_window.w[j]
    brake = motor.seal_torque + (motor.brake_torque if motor.brake_closed else 0.0)
    lanes.way[j], lanes.f[j], lanes.coulomb[j] = motor.mode, motor.f, motor.tau_c + brake
    lanes.hold_up[j], lanes.hold_down[j] = motor.tau_s[FORWARD] + brake, motor.tau_s[BACKWARD] + brake
    lanes.sticks[j], lanes.slides[j] = 0.0, 1.0
    lanes.per_J[j], lanes.fall[j], lanes.per_fall[j], lanes.w_0[j] = 1.0 / motor.J, 0.0, 0.0, w
    if motor.mode == FREE:
        lanes.way[j] = 0.0
        return True
    if motor.mode == STUCK:
        lanes.way[j], lanes.per_J[j], lanes.sticks[j], lanes.slides[j] = 0.0, 0.0, 1.0, 0.0
        return True
    if motor.tau_fall[0] > 0.0:
        ratio = w / motor.w_stribeck[0]
        if ratio * ratio < FALLEN:
            lanes.fall[j], lanes.per_fall[j] = (
                motor.tau_fall[0] * math.exp(-ratio * ratio),
                1.0 / motor.w_stribeck[0],
            )
    return motor.tau_fall[1] <= 0.0 and motor.mode * w > 0.0  # type: ignore[no-any-return]


@helper
def fill_lane(world: Any, motor: Any, j: int) -> None:
    """Winding, gear and load of motor j into its lane, integrals at zero."""
    lanes, elastic, y = world.lanes, world.elastic_window, world.state.y
    lanes.R[j], lanes.psi[j], lanes.p[j] = motor.R + motor.R_bridge, motor.psi, motor.pole_pairs
    lanes.g_d[j], lanes.g_q[j] = 1.0 / motor.L_d, 1.0 / motor.L_q
    lanes.D[j], lanes.Q[j] = motor.L_d * elastic.i[j] + motor.psi, motor.L_q * elastic.i_q[j]
    lanes.c[j], lanes.s[j], lanes.t[j] = elastic.cos[j], elastic.sin[j], 0.0
    lanes.stiffness[j], lanes.damping[j] = motor.stiffness, motor.damping
    angle = at_motor(world, j, y, 0)
    lanes.twist[j], lanes.w[j] = elastic.theta[j] - angle, elastic.w[j]
    lanes.load_w[j] = at_motor(world, j, y, world.n_x)
    lanes.load_a[j], lanes.load_j[j] = (
        at_motor(world, j, elastic.load[:, 0], 0),
        at_motor(world, j, elastic.load[:, 1], 0),
    )
    lanes.T_0[j] = lanes.energy[j] = lanes.square[j] = lanes.charge[j] = 0.0
    lanes.passed[j] = lanes.lever[j] = lanes.rubbed[j] = lanes.damped[j] = lanes.turned[j] = 0.0
    lanes.most[j], lanes.high[j] = elastic.peak[j, 0], 0.0


@part
def begin_elastic_lanes(world: Any, motors: Any, u: float, start: float, span: float) -> None:
    """Fill the lanes of all motors that can go side by side; the others get ``LEFT``."""
    lanes = world.lanes
    lanes.rows = 0
    for j in range(world.m):
        motor = motors[j]
        lanes.count[j], lanes.margin[j] = 0, LEFT
        if (
            motor.flexible < 0
            or motor.charge_at < 0
            or motor.bend_1 > 0.0
            or not fill_friction_lane(world, motor, j)
        ):
            continue
        fill_lane(world, motor, j)
        lanes.count[j], longest = fill_rows(world, j, u, start, span)
        rate = lanes.R[j] * max(lanes.g_d[j], lanes.g_q[j]) + lanes.p[j] * abs(lanes.w[j])
        spring = lanes.stiffness[j] * lanes.twist[j] + lanes.damping[j] * (lanes.w[j] - lanes.load_w[j])
        torque = (
            1.5
            * lanes.p[j]
            * (lanes.D[j] * world.elastic_window.i_q[j] - lanes.Q[j] * world.elastic_window.i[j])
        )
        slack = min(spring + lanes.hold_up[j] - torque, torque + lanes.hold_down[j] - spring)
        if 1.25 * rate * longest < SHORT and (motor.mode != STUCK or slack >= 0.0):
            lanes.margin[j] = FAR
            lanes.rows = max(lanes.rows, lanes.count[j])
    for j in range(world.m):
        fill_up(world, j, lanes.count[j] if lanes.margin[j] > 0.0 else 0, lanes.rows)


@helper
def elastic_interval(world: Any, first: int) -> None:
    """The present interval of the lanes from ``first`` on (eq:rotor-jerk, eq:rotor-step)."""
    lanes = world.lanes
    for j in range(np.uint64(first), np.uint64(first + LANES)):
        t, h, w, c, s = lanes.t[j], lanes.h[j], lanes.w[j], lanes.c[j], lanes.s[j]
        p, psi, R, g_d, g_q, per_J = (
            lanes.p[j],
            lanes.psi[j],
            lanes.R[j],
            lanes.g_d[j],
            lanes.g_q[j],
            lanes.per_J[j],
        )
        k, d, way, D, Q = lanes.stiffness[j], lanes.damping[j], lanes.way[j], lanes.D[j], lanes.Q[j]
        load_j, load_a = lanes.load_j[j], lanes.load_a[j] + t * lanes.load_j[j]
        load_w = lanes.load_w[j] + t * (lanes.load_a[j] + 0.5 * t * load_j)
        u_d, u_q = c * lanes.v_a[j] + s * lanes.v_b[j], c * lanes.v_b[j] - s * lanes.v_a[j]
        salient, y = g_q - g_d, 1.5 * p
        along = salient * (D - psi) + psi * g_q
        slip, per, s_0 = w - load_w, lanes.per_fall[j], k * lanes.twist[j] + d * (w - load_w)
        z = (w - lanes.w_0[j]) * (w + lanes.w_0[j]) * per * per
        rest, ratio = lanes.fall[j] * small_exp(z), w * per  # eq:stribeck-series
        f_0 = lanes.f[j] * w + way * (lanes.coulomb[j] + rest)
        slope, bend = (
            lanes.f[j] - way * 2.0 * ratio * per * rest,
            way * (4.0 * ratio * ratio - 2.0) * per * per * rest,
        )
        alpha = (y * Q * along - f_0 - s_0) * per_J
        s_1 = k * slip + d * (alpha - load_a)
        D_dot, Q_dot = u_d - R * g_d * (D - psi) + p * w * Q, u_q - R * g_q * Q - p * w * D
        jerk = (y * (Q_dot * along + salient * D_dot * Q) - slope * alpha - s_1) * per_J  # eq:rotor-jerk
        s_2 = k * (alpha - load_a) + d * (jerk - load_j)
        D, Q, m_0, m_1, _, _, energy, square, charge = flux_step(
            R, g_d, g_q, psi, p, w, alpha, jerk, c, s, lanes.v_a[j], lanes.v_b[j], D, Q, h
        )
        spring = h * (s_0 + h * (s_1 / 2.0 + h * (s_2 / 6.0)))
        lever = h * h * (s_0 / 2.0 + h * (s_1 / 3.0 + h * (s_2 / 8.0)))
        f_1, f_2 = slope * alpha, slope * jerk + bend * alpha * alpha
        rubbing = h * (f_0 + h * (f_1 / 2.0 + h * (f_2 / 6.0)))
        rubbing_lever = h * h * (f_0 / 2.0 + h * (f_1 / 3.0 + h * (f_2 / 8.0)))
        whole = m_0 - rubbing - spring
        w_1 = w + whole * per_J  # eq:rotor-step
        turned = w * h + (h * whole - (m_1 - rubbing_lever - lever)) * per_J
        c_h, s_h = small_turn(p * h * (w + h * (alpha / 2.0 + h * jerk / 6.0)))
        c, s = c * c_h - s * s_h, s * c_h + c * s_h
        u_d, u_q = c * lanes.v_a[j] + s * lanes.v_b[j], c * lanes.v_b[j] - s * lanes.v_a[j]
        late, slow = w_1 - w - h * (alpha + 0.5 * h * jerk), R * g_q * h
        at_end, area = (
            0.25 * h * late * (1.0 - 0.2 * slow),
            0.05 * h * h * late * (1.0 - slow / 6.0),
        )  # eq:late-speed
        i_d, i_q, g, b = g_d * (D - psi), g_q * Q, p * g_d * Q, -p * g_q * D
        more = y * p * area * (salient * Q * Q - D * (salient * (D - psi) + psi * g_q))
        D, Q = D + p * Q * at_end, Q - p * D * at_end
        w_1 += more * per_J
        middle = w + 0.5 * h * (alpha + 0.25 * h * jerk) + 0.125 * (w_1 - w - h * (alpha + 0.5 * h * jerk))
        f_m, f_e = (
            f_0 + (middle - w) * (slope + 0.5 * (middle - w) * bend),
            f_0 + (w_1 - w) * (slope + 0.5 * (w_1 - w) * bend),
        )
        load_m, load_1 = (
            load_w + 0.5 * h * (load_a + 0.25 * h * load_j),
            load_w + h * (load_a + 0.5 * h * load_j),
        )
        slip_m, slip_1 = middle - load_m, w_1 - load_1
        twist = lanes.twist[j] + turned - h * (load_w + h * (load_a / 2.0 + h * load_j / 6.0))
        i_d, i_q = g_d * (D - psi), g_q * Q
        torque = y * (D * i_q - Q * i_d)
        s_e = k * twist + d * slip_1
        slack = min(s_e + lanes.hold_up[j] - torque, torque + lanes.hold_down[j] - s_e)
        # a shaft that slows down and speeds up again is nowhere slower than if it went on to slow down
        slowest = min(way * w_1, way * w + min(way * alpha * h, 0.0))
        moves = slowest + (1.0 - way * way) + lanes.sticks[j] * slack
        lanes.margin[j] = min(
            lanes.margin[j], lanes.sticks[j] * slack + lanes.slides[j], moves, SERIES - abs(z)
        )
        lanes.T_0[j] += m_0 + more
        lanes.energy[j] += energy + 1.5 * area * (u_d * g + u_q * b)
        lanes.square[j] += square + 3.0 * area * (i_d * g + i_q * b)
        lanes.charge[j] += charge + area * b
        lanes.passed[j], lanes.lever[j] = lanes.passed[j] + spring, lanes.lever[j] + lever + t * spring
        lanes.rubbed[j] += h / 6.0 * (f_0 * w + 4.0 * f_m * middle + f_e * w_1)
        lanes.damped[j] += d * h / 6.0 * (slip * slip + 4.0 * slip_m * slip_m + slip_1 * slip_1)
        lanes.most[j], lanes.high[j] = (
            max(lanes.most[j], i_d * i_d + i_q * i_q),
            max(lanes.high[j], abs(torque)),
        )
        lanes.turned[j], lanes.twist[j], lanes.w[j], lanes.t[j] = lanes.turned[j] + turned, twist, w_1, t + h
        lanes.D[j], lanes.Q[j], lanes.c[j], lanes.s[j] = D, Q, c, s


@helper
def take_lane(world: Any, j: int) -> None:
    """Motor j at the end of its window, as its lane has it."""
    lanes, elastic = world.lanes, world.elastic_window
    elastic.i[j], elastic.i_q[j] = lanes.g_d[j] * (lanes.D[j] - lanes.psi[j]), lanes.g_q[j] * lanes.Q[j]
    elastic.theta[j] += lanes.turned[j]
    elastic.w[j] = lanes.w[j]
    elastic.impulse[j], elastic.square[j] = lanes.T_0[j], lanes.square[j]
    elastic.electric[j], elastic.charge[j] = lanes.energy[j], lanes.charge[j]
    elastic.passed[j, 0], elastic.passed[j, 1] = lanes.passed[j], lanes.lever[j]
    elastic.friction[j], elastic.gear[j] = lanes.rubbed[j], lanes.damped[j]
    elastic.peak[j, 0], elastic.peak[j, 1] = lanes.most[j], lanes.high[j]


@part
def elastic_lanes(world: Any, motors: Any, u: float, start: float, span: float) -> None:
    """Carry over the window whatever can go side by side; the others keep their state, with a negative margin."""
    lanes, first = world.lanes, 0
    begin_elastic_lanes(world, motors, u, start, span)
    while lanes.rows > 0 and first < world.m:
        for e in range(lanes.rows):
            take_row(world, e, first)
            elastic_interval(world, first)
        first += LANES
    for j in range(world.m):
        if lanes.margin[j] >= 0.0:
            take_lane(world, j)
