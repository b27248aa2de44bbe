"""Fluxes of all synchronous motors of a robot over a window, side by side: a motor in every lane of the processor.

The lanes are rows of one record. A loop over ``LANES`` of them without a branch or a call becomes vector instructions:
nothing in it may be read but from rows of the record and from variables. Motors with fewer edges than others have
intervals of no length, lanes beyond the last motor hold nothing but zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import copy_of
from servotwin.drives.pmsm.step import SHORT, SHORTER, flux_step, shorter_flux_step, small_turn, smaller_turn
from servotwin.simulation.plant.records import MAX_EDGES, MAX_JOINTS

LANES = 4  # motors that go side by side
copy_block = copy_of(LANES)


@helper
def fill_rows(world: Any, j: int, u: float, start: float, span: float, most: float) -> tuple[int, float]:
    """Lengths and voltages of the intervals of motor j, one row for each; how many they are, and the longest [s].

    Intervals longer than ``most`` are cut into equal ones as far as there are rows.
    """
    pattern, lanes = world.pattern, world.lanes
    edges, rows, t, longest = pattern.edges[j], 0, 0.0, 0.0
    for e in range(edges + 1):
        end = span if e == edges else min(span, pattern.times[j, e] - start)
        tau = end - t
        if tau <= 0.0:
            continue
        parts = 1
        if not tau <= most:
            room = MAX_EDGES + 1 - rows - (edges - e)
            parts = int(tau / most) + 1 if tau / most < room - 1.0 else room  # NaN is no integer
        tau, t = tau / parts, end
        longest = max(longest, tau)
        for _ in range(parts):
            lanes.tau[rows, j] = tau
            lanes.u_a[rows, j], lanes.u_b[rows, j] = pattern.level_a[j, e] * u, pattern.level_b[j, e] * u
            rows += 1
    return rows, longest


@helper
def fill_up(world: Any, j: int, first: int, rows: int) -> None:
    """Intervals of no length from row ``first`` on."""
    for e in range(first, rows):
        world.lanes.tau[e, j] = 0.0


@helper
def take_row(world: Any, e: int, first: int) -> None:
    """Make row e the present interval of the lanes from ``first`` on."""
    lanes, at = world.lanes, e * MAX_JOINTS + first
    copy_block(lanes.h, first, lanes.tau, at)
    copy_block(lanes.v_a, first, lanes.u_a, at)
    copy_block(lanes.v_b, first, lanes.u_b, at)


@part
def begin_lanes(world: Any, motors: Any, start: float, span: float) -> bool:
    """Motors and intervals into their lanes; false if a step would be too long for ``flux_step``."""
    state, prediction, lanes = world.state, world.prediction, world.lanes
    short, lanes.rows = True, 0
    for e in range(MAX_EDGES + 1):
        lanes.longest[e] = 0.0
    for j in range(world.m):
        motor, k = motors[j], motors[j].current_at
        lanes.count[j], longest = fill_rows(world, j, state.u_bus, start, span, span)
        lanes.rows = max(lanes.rows, lanes.count[j])
        lanes.R[j], lanes.psi[j], lanes.p[j] = motor.R + motor.R_bridge, motor.psi, motor.pole_pairs
        lanes.g_d[j], lanes.g_q[j] = 1.0 / motor.L_d, 1.0 / motor.L_q
        lanes.w[j], lanes.alpha[j], lanes.jerk[j] = motor.w, prediction.alpha[j], prediction.jerk[j]
        lanes.D[j], lanes.Q[j] = motor.L_d * state.y[k] + motor.psi, motor.L_q * state.y[k + 1]
        lanes.cos[j], lanes.sin[j] = world.pmsm.cos[j], world.pmsm.sin[j]
        fastest = abs(motor.w) + span * (abs(lanes.alpha[j]) + 0.5 * span * abs(lanes.jerk[j]))
        turn, decay = lanes.p[j] * fastest, lanes.R[j] * max(lanes.g_d[j], lanes.g_q[j])
        short = short and (turn + decay) * longest < SHORT
        for e in range(lanes.count[j]):
            lanes.longest[e] = max(lanes.longest[e], (turn + decay) * lanes.tau[e, j])
    for j in range(world.m):
        fill_up(world, j, lanes.count[j], lanes.rows)
    return short


@helper
def clear_integrals(world: Any, first: int) -> None:
    """Lanes as their window begins; torques are counted per 3/2 of the pole pairs."""
    lanes = world.lanes
    for j in range(np.uint64(first), np.uint64(first + LANES)):
        i_d, i_q = lanes.g_d[j] * (lanes.D[j] - lanes.psi[j]), lanes.g_q[j] * lanes.Q[j]
        torque = lanes.D[j] * i_q - lanes.Q[j] * i_d
        lanes.t[j], lanes.c[j], lanes.s[j] = 0.0, lanes.cos[j], lanes.sin[j]
        lanes.T_0[j] = lanes.T_1[j] = lanes.T_2[j] = lanes.T_3[j] = 0.0
        lanes.energy[j] = lanes.square[j] = lanes.charge[j] = 0.0
        lanes.most[j], lanes.low[j], lanes.high[j] = i_d * i_d + i_q * i_q, torque, torque


@helper
def flux_interval(world: Any, first: int, middle: float, shorter: bool) -> None:
    """The present interval of the lanes from ``first`` on; moments of the torque about ``middle`` of the window.

    ``shorter``: it is up to ``SHORTER`` in all lanes.
    """
    lanes = world.lanes
    for j in range(np.uint64(first), np.uint64(first + LANES)):
        t, h, w, alpha, jerk, p = (
            lanes.t[j],
            lanes.h[j],
            lanes.w[j],
            lanes.alpha[j],
            lanes.jerk[j],
            lanes.p[j],
        )
        R, g_d, g_q, psi, v_a, v_b = (
            lanes.R[j],
            lanes.g_d[j],
            lanes.g_q[j],
            lanes.psi[j],
            lanes.v_a[j],
            lanes.v_b[j],
        )
        c, s, D, Q = lanes.c[j], lanes.s[j], lanes.D[j], lanes.Q[j]
        w, alpha = w + t * (alpha + 0.5 * t * jerk), alpha + t * jerk
        if shorter:
            D, Q, m_0, m_1, m_2, m_3, energy, square, charge = shorter_flux_step(
                R, g_d, g_q, psi, p, w, alpha, jerk, c, s, v_a, v_b, D, Q, h
            )
        else:
            D, Q, m_0, m_1, m_2, m_3, energy, square, charge = flux_step(
                R, g_d, g_q, psi, p, w, alpha, jerk, c, s, v_a, v_b, D, Q, h
            )
        x = t - middle
        lanes.T_0[j] += m_0
        lanes.T_1[j] += m_1 + x * m_0
        lanes.T_2[j] += m_2 + x * (m_1 + 0.5 * x * m_0)
        lanes.T_3[j] += m_3 + x * (m_2 + x * (0.5 * m_1 + x / 6.0 * m_0))
        lanes.energy[j] += energy
        lanes.square[j] += square
        lanes.charge[j] += charge
        i_d, i_q = g_d * (D - psi), g_q * Q
        torque = D * i_q - Q * i_d
        lanes.most[j] = max(lanes.most[j], i_d * i_d + i_q * i_q)
        lanes.low[j], lanes.high[j] = min(lanes.low[j], torque), max(lanes.high[j], torque)
        turn = p * h * (w + h * (alpha / 2.0 + h * jerk / 6.0))
        c_h, s_h = smaller_turn(turn) if shorter else small_turn(turn)
        lanes.c[j], lanes.s[j] = c * c_h - s * s_h, s * c_h + c * s_h
        lanes.t[j], lanes.D[j], lanes.Q[j] = t + h, D, Q


@part
def flux_window(world: Any, middle: float) -> None:
    """All lanes over their window, interval by interval."""
    first = 0
    while first < world.m:
        clear_integrals(world, first)
        for e in range(world.lanes.rows):
            take_row(world, e, first)
            if world.lanes.longest[e] < SHORTER:
                flux_interval(world, first, middle, True)
            else:
                flux_interval(world, first, middle, False)
        first += LANES
