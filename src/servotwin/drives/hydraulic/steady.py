r"""Where a hydraulic axis stands still, or moves evenly: spool and pressures that carry a force.

.. math:: F = A_A p_A - A_B p_B, \qquad \varphi(p_A)\,Q_A = A_A v, \qquad \varphi(p_B)\,Q_B = -A_B v
          (eq:operating-point)

Three equations for s, p_A and p_B. With p_A = (F + A_B p_B) / A_A the first inflow fixes s, since it grows with s, and
the second one then falls with p_B: two nested searches that cannot miss. A valve without clearance, at a piston that
does not leak, leaves the pressures open; then they are those that a trace of it would give, with the spool exactly in
the middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from servotwin.drives.hydraulic.data import REFERENCE_CLEARANCE, Axis, Supply
from servotwin.drives.hydraulic.laws import cushion_resistance, edge_opening, throttle
from servotwin.errors import InputError

ROUNDS = 200
MOST_OPEN = 1.0  # strokes
SEAL_ROUNDS, SEAL_CLOSE = (
    60,
    1e-3,
)  # until the friction of seals follows from the pressures that it takes [Pa]


@dataclass(frozen=True)
class OperatingPoint:
    """A piston at x [m] that moves evenly at v [m/s] under the force F [N], with its spool and pressures."""

    x: float
    v: float
    force: float
    supply_pressure: float
    opening: float
    p_a: float
    p_b: float


def edge_flows(
    axis: Axis, supply: Supply, s: float, x: float, p: tuple[float, float], p_s: float
) -> tuple[float, float, float, float]:
    """Flows of the edges P-A, A-T, P-B, B-T in standard volume per time [m3/s] (eq:valve-flow)."""
    p_a, p_b = p
    _, _, d_a, d_b = axis.volumes(x)
    k_1 = axis.k * edge_opening(s + axis.underlap, axis.clearance)
    k_2 = axis.k * edge_opening(-s + axis.underlap, axis.clearance)
    q_pa, q_at = _edge(axis, k_1, p_s, p_a, d_a, axis.check_valve), -_edge(axis, k_2, supply.tank, p_a, d_a)
    q_pb, q_bt = _edge(axis, k_2, p_s, p_b, d_b, axis.check_valve), -_edge(axis, k_1, supply.tank, p_b, d_b)
    return q_pa, q_at, q_pb, q_bt


def flows(
    axis: Axis, supply: Supply, s: float, x: float, p: tuple[float, float], p_s: float
) -> tuple[float, float]:
    """Net inflows of both chambers in standard volume per time [m3/s]."""
    p_a, p_b = p
    q_pa, q_at, q_pb, q_bt = edge_flows(axis, supply, s, x, p, p_s)
    across = axis.leakage * (p_a - p_b)
    return q_pa - q_at - across - axis.drain * p_a, q_pb - q_bt + across - axis.drain * p_b


def _edge(axis: Axis, k: float, p_out: float, p: float, distance: float, one_way: int = 0) -> float:
    """Flow from a port into a chamber; what leaves it passes the cushion in series."""
    if p > p_out:
        if one_way:
            return 0.0
        r = cushion_resistance(distance, axis.cushion_length, axis.cushion_resistance)
        k = k / (1.0 + k * k * r) ** 0.5
    return k * throttle(p_out - p, axis.laminar)


def operating_point(
    axis: Axis, supply: Supply, x: float, v: float, force: float, p_s: float | None = None
) -> OperatingPoint:
    """Spool and pressures that carry a force evenly (eq:operating-point); InputError where there are none."""
    pressure = supply.pressure if p_s is None else p_s
    if not axis.rotary and not min(axis.end_a, axis.end_b) <= x <= max(axis.end_a, axis.end_b):
        raise InputError(
            f"no operating point at {1e3 * x:.4g} mm: outside the stroke; expected "
            f"{1e3 * min(axis.end_a, axis.end_b):.4g} to {1e3 * max(axis.end_a, axis.end_b):.4g} mm"
        )
    tight = axis.clearance == 0.0 and axis.underlap <= 0.0 and axis.leakage == 0.0
    searched = replace(axis, clearance=REFERENCE_CLEARANCE, underlap=0.0) if tight and v == 0.0 else axis
    low = max(supply.tank, (axis.area_a * supply.tank - force) / axis.area_b)
    high = min(pressure, (axis.area_a * pressure - force) / axis.area_b)
    if not low < high:
        raise InputError(
            f"no flow at a force of {force:.4g} N: it needs a load pressure of "
            f"{1e-5 * force / axis.mean_area:.4g} bar, and the supply has {1e-5 * (pressure - supply.tank):.4g} bar; "
            "expected less load, more area or more pressure"
        )

    def spool(p_b: float) -> tuple[float, float]:
        p_a = (force + axis.area_b * p_b) / axis.area_a

        def missing(s: float) -> float:
            inflow = flows(searched, supply, s, x, (p_a, p_b), pressure)[0]
            return supply.oil(p_a)[0] * inflow - axis.swept(supply, p_a, p_b)[0] * v

        return _zero(missing, -2.0 * MOST_OPEN, 2.0 * MOST_OPEN), p_a

    def surplus(p_b: float) -> float:
        s, p_a = spool(p_b)
        inflow = flows(searched, supply, s, x, (p_a, p_b), pressure)[1]
        return -(supply.oil(p_b)[0] * inflow + axis.swept(supply, p_a, p_b)[1] * v)

    p_b = _zero(surplus, low, high)
    s, p_a = spool(p_b)
    if abs(s) > MOST_OPEN:
        raise InputError(
            f"no operating point at {v:.4g} m/s under {force:.4g} N: the valve would have to open by "
            f"{100.0 * abs(s):.4g} % or more of its stroke; expected less speed or load, or a larger valve"
        )
    if tight and v == 0.0 and axis.drain == 0.0:
        s = 0.0
    return OperatingPoint(x, v, force, pressure, s, p_a, p_b)


def moving_point(
    axis: Axis, supply: Supply, x: float, v: float, force: float, p_s: float | None = None
) -> OperatingPoint:
    """``operating_point`` of a piston that carries a force and the friction of its seals; at rest they hold nothing."""
    point = operating_point(axis, supply, x, v, force, p_s)
    way = (v > 0.0) - (v < 0.0)
    if axis.seal == 0.0 or way == 0:
        return point
    for _ in range(SEAL_ROUNDS):
        before, lost = point, way * axis.seal_friction(point.p_a, point.p_b)
        point = operating_point(axis, supply, x, v, force + lost, p_s)
        if max(abs(point.p_a - before.p_a), abs(point.p_b - before.p_b)) < SEAL_CLOSE:
            break
    return point


def _zero(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that does not fall is zero, the nearer end where it is not: rule of Chandrupatla."""
    a, b, f_a, f_b = low, high, rising(low), rising(high)
    if f_a >= 0.0 or f_b <= 0.0:
        return low if f_a >= 0.0 else high
    part = 0.5
    for _ in range(ROUNDS):
        x = a + part * (b - a)
        f = rising(x)
        c, f_c = (a, f_a) if (f > 0.0) == (f_a > 0.0) else (b, f_b)
        if (f > 0.0) != (f_a > 0.0):
            b, f_b = a, f_a
        a, f_a = x, f
        if f == 0.0 or abs(b - a) <= 4e-16 * (abs(a) + abs(b)):
            return x
        part = 0.5
        if f_c not in (f_a, f_b):
            xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
            if phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
                part = f_a / (f_b - f_a) * f_c / (f_b - f_c)
                part += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
                part = min(max(part, 1e-12), 1.0 - 1e-12)
    return a
