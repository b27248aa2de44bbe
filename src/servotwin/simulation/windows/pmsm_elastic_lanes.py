"""Synchronous motors behind elastic gears side by side: the rotors of ``elastic_lanes``, fluxes by ``flux_step``."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper
from servotwin.compiled.native_calls import copy_of
from servotwin.drives.pmsm.model import electrical_turn
from servotwin.drives.pmsm.step import SHORT, SHORTER, flux_step, shorter_flux_step, small_turn, smaller_turn
from servotwin.simulation.plant.records import MAX_JOINTS
from servotwin.simulation.windows.elastic_lanes import begin_rotor, holds_now, keep_rotor, step_rotor
from servotwin.simulation.windows.pmsm_lanes import fill_rows

WIDE = 8  # motors that go side by side: six axes in one block
copy_wide = copy_of(WIDE)


@helper
def begin_electrical_angle(world: Any, motor: Any, j: int) -> None:
    """Cosine and sine of the electrical angle of motor j as the window begins."""
    world.elastic_window.cos[j], world.elastic_window.sin[j] = electrical_turn(motor)


@helper
def fill_pmsm_lane(world: Any, motor: Any, j: int, u: float, start: float, span: float) -> bool:
    """Winding and intervals of a synchronous motor into its lane; false if it cannot go there."""
    lanes, elastic = world.lanes, world.elastic_window
    i, i_q = elastic.i[j], elastic.i_q[j]
    lanes.R[j], lanes.psi[j], lanes.p[j] = motor.R + motor.R_bridge, motor.psi, motor.pole_pairs
    lanes.g_d[j], lanes.g_q[j] = 1.0 / motor.L_d, 1.0 / motor.L_q
    lanes.D[j], lanes.Q[j] = motor.L_d * i + motor.psi, motor.L_q * i_q
    lanes.c[j], lanes.s[j] = elastic.cos[j], elastic.sin[j]
    lanes.count[j], longest = fill_rows(world, j, u, start, span, span)
    rate = lanes.R[j] * max(lanes.g_d[j], lanes.g_q[j]) + lanes.p[j] * abs(lanes.w[j])
    torque = 1.5 * lanes.p[j] * (lanes.D[j] * i_q - lanes.Q[j] * i)
    for e in range(lanes.count[j]):
        lanes.longest[e] = max(lanes.longest[e], 1.25 * rate * lanes.tau[e, j])
    return 1.25 * rate * longest < SHORT and holds_now(world, motor, j, torque)


@helper
def take_wide_row(world: Any, e: int, first: int) -> None:
    """Make row e the present interval of the ``WIDE`` lanes from ``first`` on."""
    lanes, at = world.lanes, e * MAX_JOINTS + first
    copy_wide(lanes.h, first, lanes.tau, at)
    copy_wide(lanes.v_a, first, lanes.u_a, at)
    copy_wide(lanes.v_b, first, lanes.u_b, at)


@helper
def is_short(world: Any, e: int) -> bool:
    """Whether interval e of all motors is up to ``SHORTER``."""
    return world.lanes.longest[e] < SHORTER  # type: ignore[no-any-return]


@helper
def pmsm_elastic_interval(world: Any, first: int, shorter: bool) -> None:
    """The present interval of the lanes from ``first`` on; ``shorter``: all of them are up to ``SHORTER``."""
    lanes = world.lanes
    for j in range(np.uint64(first), np.uint64(first + WIDE)):
        h, w, c, s, v_a, v_b = lanes.h[j], lanes.w[j], lanes.c[j], lanes.s[j], lanes.v_a[j], lanes.v_b[j]
        p, psi, R, g_d, g_q = lanes.p[j], lanes.psi[j], lanes.R[j], lanes.g_d[j], lanes.g_q[j]
        D, Q, salient, y = lanes.D[j], lanes.Q[j], g_q - g_d, 1.5 * p
        i_d0, i_q0 = g_d * (D - psi), g_q * Q
        along = salient * (D - psi) + psi * g_q
        u_d, u_q = c * v_a + s * v_b, c * v_b - s * v_a
        D_dot, Q_dot = u_d - R * g_d * (D - psi) + p * w * Q, u_q - R * g_q * Q - p * w * D
        alpha, jerk, s_0, s_1, s_2, f_0, slope, bend = begin_rotor(
            world, j, y * Q * along, y * (Q_dot * along + salient * D_dot * Q)
        )
        if shorter:
            D, Q, m_0, m_1, _, _, energy, square, charge = shorter_flux_step(
                R, g_d, g_q, psi, p, w, alpha, jerk, c, s, v_a, v_b, D, Q, h
            )
        else:
            D, Q, m_0, m_1, _, _, energy, square, charge = flux_step(
                R, g_d, g_q, psi, p, w, alpha, jerk, c, s, v_a, v_b, D, Q, h
            )
        w_1, turned, late = step_rotor(world, j, h, alpha, jerk, s_0, s_1, s_2, f_0, slope, bend, m_0, m_1)
        turn = p * h * (w + h * (alpha / 2.0 + h * jerk / 6.0))
        c_h, s_h = smaller_turn(turn) if shorter else small_turn(turn)
        c, s = c * c_h - s * s_h, s * c_h + c * s_h
        u_d, u_q, slow = c * v_a + s * v_b, c * v_b - s * v_a, R * g_q * h
        at_end, area = (
            h * late / (4.0 + 0.8 * slow),
            h * h * late / (20.0 + slow * (10.0 / 3.0)),
        )  # eq:late-speed
        i_d, i_q, g, b = g_d * (D - psi), g_q * Q, p * g_d * Q, -p * g_q * D
        more = y * p * area * (salient * Q * Q - D * (salient * (D - psi) + psi * g_q))
        lanes.T_0[j] += m_0 + more
        lanes.energy[j] += energy + 1.5 * area * (u_d * g + u_q * b)
        lanes.square[j] += square + 0.5 * area * ((5.0 * i_d + i_d0) * g + (5.0 * i_q + i_q0) * b)
        lanes.charge[j] += charge + area * b
        D, Q = D + p * Q * at_end, Q - p * D * at_end
        i_d, i_q = g_d * (D - psi), g_q * Q
        lanes.most[j] = max(lanes.most[j], i_d * i_d + i_q * i_q)
        w_1 += more * lanes.per_J[j]
        keep_rotor(world, j, h, alpha, jerk, f_0, slope, bend, w_1, turned, y * (D * i_q - Q * i_d))
        lanes.D[j], lanes.Q[j], lanes.c[j], lanes.s[j] = D, Q, c, s
