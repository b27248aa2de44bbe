r"""Servovalve with cylinder or hydraulic motor: spool, pressures of both chambers, and the supply that axes share.

.. math::

    \ddot s = \omega_v^2 (\mathrm{sat}(i/i_r) - s) - 2 \zeta_v \omega_v \dot s               (eq:spool)

.. math::

    \dot p_A = \frac{\beta_e(p_A)}{V_A} \bigl(\varphi(p_A)\,Q_A - A_A v\bigr), \qquad
    \dot p_B = \frac{\beta_e(p_B)}{V_B} \bigl(\varphi(p_B)\,Q_B + A_B v\bigr)               (eq:chamber)

.. math:: F = A_A p_A - A_B p_B                                                             (eq:piston-force)

Q_A, Q_B: net inflows in standard volume per time. Theory: docs/theory/hydraulic.md.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.hydraulic import laws
from servotwin.drives.hydraulic.laws import AMBIENT, LEAST_PRESSURE
from servotwin.drives.hydraulic.records import (
    CUSHIONED,
    DRAINED,
    FROM_SUPPLY,
    LEAKED,
    PRESSURE_A,
    PRESSURE_B,
    PUMP_ENERGY,
    PUMP_LOSS,
    PUMPED,
    RELIEF_LOSS,
    RELIEVED,
    SPOOL,
    SPOOL_SPEED,
    SUPPLIED,
    THROTTLED,
    TO_TANK,
)

edge_opening, throttle, oil = helper(laws.edge_opening), helper(laws.throttle), helper(laws.oil)
cushion_resistance, gas_volume = helper(laws.cushion_resistance), helper(laws.gas_volume)
carried_volume, seal_friction = helper(laws.carried_volume), helper(laws.seal_friction)

PACE = 2.0  # of the change of a pressure over itself, in the rate that steps follow
MOST_STROKE = 1.0  # where the spool meets its stops


@helper
def effective_opening(s: float) -> float:
    """Opening that acts: the spool stands at its stops where its lag would carry it beyond [-]."""
    return min(max(s, -MOST_STROKE), MOST_STROKE)


@helper
def spool_acceleration(axis: Any, i: float, s: float, speed: float) -> float:
    """Acceleration of the spool in strokes [1/s2]; none where it would exceed its slew rate (eq:spool)."""
    wanted = min(max(i / axis.rated_current, -1.0), 1.0)
    w = axis.natural_frequency
    a = w * w * (wanted - s) - 2.0 * axis.damping * w * speed  # eq:spool
    if (speed >= axis.slew and a > 0.0) or (speed <= -axis.slew and a < 0.0):
        return 0.0
    return a  # type: ignore[no-any-return]


@helper
def edge_flow(
    k: float, p_from: float, p_to: float, laminar: float, r: float, one_way: int
) -> tuple[float, float]:
    """Flow through an edge, and the cushion's share of its loss.

    ``r``: resistance of a cushion in series; both are square-root laws, so that their squared resistances add.
    """
    if one_way and p_to > p_from:
        return 0.0, 0.0
    series = k * k * r
    if series > 0.0:
        k = k / math.sqrt(1.0 + series)
    return k * throttle(p_from - p_to, laminar), series / (1.0 + series)


@helper
def chamber_flows(
    axis: Any, supply: Any, s: float, d_a: float, d_b: float, p_a: float, p_b: float, p_s: float
) -> tuple[float, float, float, float, float, float, float, float]:
    r"""Flows of the four edges P-A, A-T, P-B, B-T, and the cushion's shares of their losses.

    .. math:: q = k\,o(\xi)\,f(p_1 - p_2), \qquad \xi_{PA} = \xi_{BT} = s + u, \quad
              \xi_{PB} = \xi_{AT} = -s + u                                                  (eq:valve-flow)

    ``d_a``, ``d_b``: distance of the piston from either end [m]; u: underlap. What leaves a chamber passes its cushion,
    what enters it passes a check valve.
    """
    opened = effective_opening(s)
    k_1 = axis.k * edge_opening(opened + axis.underlap, axis.clearance)  # eq:valve-flow
    k_2 = axis.k * edge_opening(-opened + axis.underlap, axis.clearance)
    tank, laminar = supply.tank, axis.laminar
    r_a = cushion_resistance(d_a, axis.cushion_length, axis.cushion_resistance)
    r_b = cushion_resistance(d_b, axis.cushion_length, axis.cushion_resistance)
    q_pa, c_pa = edge_flow(k_1, p_s, p_a, laminar, r_a if p_a > p_s else 0.0, axis.check_valve)
    q_at, c_at = edge_flow(k_2, p_a, tank, laminar, r_a if p_a > tank else 0.0, 0)
    q_pb, c_pb = edge_flow(k_2, p_s, p_b, laminar, r_b if p_b > p_s else 0.0, axis.check_valve)
    q_bt, c_bt = edge_flow(k_1, p_b, tank, laminar, r_b if p_b > tank else 0.0, 0)
    return q_pa, q_at, q_pb, q_bt, c_pa, c_at, c_pb, c_bt


@helper
def chamber_volumes(axis: Any, x: float) -> tuple[float, float, float, float]:
    """Volumes of both chambers [m3], and the distances of the piston from their ends [m]; a motor has no ends."""
    if axis.rotary:
        return axis.volume_a, axis.volume_b, 1.0, 1.0
    d_a, d_b = abs(x - axis.end_a), abs(axis.end_b - x)
    return axis.volume_a + axis.area_a * d_a, axis.volume_b + axis.area_b * d_b, d_a, d_b


@helper
def effort(axis: Any, p_a: float, p_b: float) -> float:
    """Force of the piston [N], or torque of a motor [N m]."""
    return axis.area_a * p_a - axis.area_b * p_b  # type: ignore[no-any-return]  # eq:piston-force


@part
def axis_rates(
    axis: Any,
    supply: Any,
    i: float,
    x: float,
    v: float,
    p_s: float,
    y: Any,
    dy: Any,
    k: int,
    dz: Any,
    at: int,
) -> tuple[float, float, float]:
    """Effort, flow from the supply [m3/s], fastest rate of the pressures [1/s].

    The states stand at y[k], their rates go to dy[k], those of the integrals to dz[at].
    """
    s, p_a, p_b = y[k + SPOOL], y[k + PRESSURE_A], y[k + PRESSURE_B]
    V_a, V_b, d_a, d_b = chamber_volumes(axis, x)
    phi_a, beta_a, h_a = oil(p_a, supply.bulk, supply.gas, supply.exponent)
    phi_b, beta_b, h_b = oil(p_b, supply.bulk, supply.gas, supply.exponent)
    _, _, h_s = oil(p_s, supply.bulk, supply.gas, supply.exponent)
    _, _, h_t = oil(supply.tank, supply.bulk, supply.gas, supply.exponent)
    q_pa, q_at, q_pb, q_bt, c_pa, c_at, c_pb, c_bt = chamber_flows(axis, supply, s, d_a, d_b, p_a, p_b, p_s)
    across, out_a, out_b = axis.leakage * (p_a - p_b), axis.drain * p_a, axis.drain * p_b
    Q_a, Q_b = q_pa - q_at - across - out_a, q_pb - q_bt + across - out_b
    dy[k + SPOOL] = y[k + SPOOL_SPEED]
    dy[k + SPOOL_SPEED] = spool_acceleration(axis, i, s, y[k + SPOOL_SPEED])
    swept_a, swept_b = axis.area_a * v, axis.area_b * v
    if axis.rotary:
        phi_m = carried_volume(p_a - p_b, h_a - h_b, phi_a, phi_b)
        swept_a, swept_b = swept_a * phi_a / phi_m, swept_b * phi_b / phi_m  # eq:carried-oil
    dy[k + PRESSURE_A] = beta_a / V_a * (phi_a * Q_a - swept_a)  # eq:chamber
    dy[k + PRESSURE_B] = beta_b / V_b * (phi_b * Q_b + swept_b)
    # eq:throttle-loss: what falls from one enthalpy to the other
    l_pa, l_at, l_pb, l_bt = q_pa * (h_s - h_a), q_at * (h_a - h_t), q_pb * (h_s - h_b), q_bt * (h_b - h_t)
    cushioned = c_pa * l_pa + c_at * l_at + c_pb * l_pb + c_bt * l_bt
    dz[at + CUSHIONED] = cushioned
    dz[at + THROTTLED] = l_pa + l_at + l_pb + l_bt - cushioned
    dz[at + LEAKED] = across * (h_a - h_b) + out_a * h_a + out_b * h_b
    dz[at + FROM_SUPPLY], dz[at + TO_TANK] = q_pa + q_pb, q_at + q_bt
    dz[at + DRAINED] = out_a + out_b
    dz[at + SUPPLIED] = (q_pa + q_pb) * h_s - (q_at + q_bt) * h_t  # eq:supply-power
    rate = fastest_rate(axis, supply, s, p_a, p_b, p_s, phi_a * beta_a / V_a, phi_b * beta_b / V_b)
    rate = max(rate, pressure_pace(p_a, dy[k + PRESSURE_A]), pressure_pace(p_b, dy[k + PRESSURE_B]))
    return effort(axis, p_a, p_b), q_pa + q_pb, rate


@helper
def fastest_rate(
    axis: Any, supply: Any, s: float, p_a: float, p_b: float, p_s: float, rise_a: float, rise_b: float
) -> float:
    r"""Bound of the rates with which pressures, piston and spool can change [1/s], for the longest stable step.

    .. math:: \lambda = \max\Bigl(\frac{\varphi \beta_e}{V} \sum \frac{\partial q}{\partial p},\;
              \sqrt{\frac{1}{m}\sum \frac{\beta_e A^2}{V}},\; \omega_v\Bigr)                 (eq:fastest-rate)

    ``rise``: pressure per standard volume let in [Pa/m3].
    """
    opened = effective_opening(s)
    k_1 = axis.k * edge_opening(opened + axis.underlap, axis.clearance)
    k_2 = axis.k * edge_opening(-opened + axis.underlap, axis.clearance)
    slope_a = k_1 * steepest(p_s - p_a, axis.laminar) + k_2 * steepest(p_a - supply.tank, axis.laminar)
    slope_b = k_2 * steepest(p_s - p_b, axis.laminar) + k_1 * steepest(p_b - supply.tank, axis.laminar)
    leaks = 2.0 * axis.leakage + axis.drain
    flow = max(rise_a * (slope_a + leaks), rise_b * (slope_b + leaks))
    stiffness = rise_a * axis.area_a * axis.area_a + rise_b * axis.area_b * axis.area_b
    zeta = axis.damping
    spool = axis.natural_frequency * (zeta + math.sqrt(zeta * zeta - 1.0) if zeta > 1.0 else 1.0)
    return max(flow, math.sqrt(stiffness / axis.inertia), spool)  # type: ignore[no-any-return]  # eq:fastest-rate


@helper
def pressure_pace(p: float, rate: float) -> float:
    """How fast a pressure changes over itself [1/s]: the gas, and the stiffness of the oil with it, bend so fast."""
    return PACE * abs(rate) / max(p + AMBIENT, LEAST_PRESSURE)


@helper
def steepest(dp: float, laminar: float) -> float:
    """Upper bound of the slope of ``throttle`` [1/sqrt(Pa)]."""
    return 1.0 / math.sqrt(math.sqrt(dp * dp + laminar * laminar))


@helper
def relief_flow(supply: Any, p_s: float) -> float:
    r"""Flow of the relief valve (eq:relief).

    .. math:: q_r = g_r \max(0, p_s - p_r)                                                  (eq:relief)
    """
    return supply.relief_gain * max(0.0, p_s - supply.relief_pressure)  # type: ignore[no-any-return]  # eq:relief


@helper
def supply_capacity(supply: Any, p_s: float) -> tuple[float, float, float]:
    """Volume taken up per pressure [m3/Pa], relative volume and enthalpy of the oil in the supply line."""
    phi, beta, h = oil(p_s, supply.bulk, supply.gas, supply.exponent)
    volume, gas = supply.line_volume, 0.0
    if supply.accumulator > 0.0:
        left = gas_volume(p_s, supply.accumulator, supply.precharge, supply.accumulator_exponent)
        volume += supply.accumulator - left
        if p_s > supply.precharge:
            gas = left / (supply.accumulator_exponent * (p_s + AMBIENT))
    return volume / beta + gas, phi, h


@helper
def draw_rate(axis: Any, supply: Any, s: float, p_a: float, p_b: float, p_s: float) -> float:
    r"""Bound of the rate with which the edges of an axis change the pressure of the line that feeds it [1/s].

    .. math:: \lambda_s = \frac{\varphi}{V_s/\beta_e + V_g/\bigl(n_g (p_s + p_0)\bigr)}
              \sum \frac{\partial q_s}{\partial p_s}                                            (eq:draw-rate)
    """
    opened = effective_opening(s)
    k_1 = axis.k * edge_opening(opened + axis.underlap, axis.clearance)
    k_2 = axis.k * edge_opening(-opened + axis.underlap, axis.clearance)
    slope = k_1 * steepest(p_s - p_a, axis.laminar) + k_2 * steepest(p_s - p_b, axis.laminar)
    capacity, phi, _ = supply_capacity(supply, p_s)
    return phi * slope / capacity  # type: ignore[no-any-return]  # eq:draw-rate


@part
def supply_rates(supply: Any, p_s: float, drawn: float, dz: Any, at: int) -> tuple[float, float]:
    r"""Rate of the supply pressure [Pa/s], and the fastest rate with which it can change [1/s].

    .. math:: \dot p_s = \varphi(p_s)\,\frac{Q_p - q_r - \sum_j q_{s,j}}
              {V_s/\beta_e + V_g/\bigl(n_g (p_s + p_0)\bigr)}                                (eq:supply-pressure)

    ``drawn``: what the axes take. The pump takes its oil from the tank.
    """
    capacity, phi, h = supply_capacity(supply, p_s)
    _, _, h_t = oil(supply.tank, supply.bulk, supply.gas, supply.exponent)
    relieved = relief_flow(supply, p_s)
    hydraulic = supply.pump_flow * (h - h_t)
    shaft = hydraulic / supply.pump_efficiency if hydraulic > 0.0 else hydraulic
    dz[at + PUMP_ENERGY], dz[at + PUMP_LOSS] = shaft, shaft - hydraulic
    dz[at + RELIEF_LOSS] = relieved * (h - h_t)
    dz[at + PUMPED], dz[at + RELIEVED] = supply.pump_flow, relieved
    gain = supply.relief_gain if relieved > 0.0 else 0.0
    return phi * (supply.pump_flow - relieved - drawn) / capacity, phi * gain / capacity  # eq:supply-pressure
