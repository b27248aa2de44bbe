r"""A servovalve with its cylinder or motor in the complete model of a robot: the laws of ``model`` on symbols.

States are the spool and its speed (eq:spool) and the pressures of both chambers (eq:chamber); the input is the current
of the valve, in which the model is affine. Behind a pump the pressure of the supply is a state of all axes together
(eq:supply-pressure). Whatever switches (cushions, check and relief valves, stops of the spool) does so by
``step``, exactly where the simulator does. Two limits of the valve are none of the state and are left out: its
current saturates at the rated one, and its slew rate stops the acceleration of the spool.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from servotwin.drives.hydraulic.data import Axis, Supply
from servotwin.drives.hydraulic.laws import AMBIENT, LEAST_PRESSURE, carried_volume
from servotwin.drives.hydraulic.steady import edge_flows, operating_point
from servotwin.drives.kind import Functions, StateEquations, SupplyEquations

Hydraulic = tuple[Axis, Supply]


def _numbers(data: Hydraulic, bridge: float) -> dict[str, float]:
    axis, supply = data
    found = {
        "i_r": axis.rated_current,
        "w_v": axis.natural_frequency,
        "d_v": 2.0 * axis.damping * axis.natural_frequency,
        "k_v": axis.k,
        "lap": axis.underlap,
        "clearance_square": 4.0 * axis.clearance**2,
        "laminar_square": axis.laminar**2,
        "area_a": axis.area_a,
        "area_b": axis.area_b,
        "volume_a": axis.volume_a,
        "volume_b": axis.volume_b,
        "end_a": axis.end_a,
        "end_b": axis.end_b,
        "rotary": float(axis.rotary),
        "isothermal": float(supply.exponent <= 1.0),
        "check": float(axis.check_valve),
        "cushion": axis.cushion_resistance if axis.cushion_length > 0.0 else 0.0,
        "per_cushion": 1.0 / axis.cushion_length if axis.cushion_length > 0.0 else 0.0,
        "leakage": axis.leakage,
        "drain": axis.drain,
        "seal": axis.seal,
        "tank": supply.tank,
        **_oil_numbers(supply),
    }
    return found if supply.has_state else found | {"p_s": supply.pressure}


def _oil_numbers(supply: Supply) -> dict[str, float]:
    return {"bulk": supply.bulk, "gas": supply.gas, "liquid": 1.0 - supply.gas, "n_gas": supply.exponent}


def positive(x: Any, f: Functions) -> Any:
    """max(x, 0)."""
    return x * f.step(x)


def absolute(x: Any, f: Functions) -> Any:
    """|x|."""
    return x * (f.step(x) - f.step(-x))


def _oil(pressure: Any, p: Mapping[str, Any], f: Functions) -> tuple[Any, Any]:
    """Relative volume and effective bulk modulus of the oil."""
    P = LEAST_PRESSURE + positive(pressure + (AMBIENT - LEAST_PRESSURE), f)
    liquid = p["liquid"] * f.exp(-(pressure / p["bulk"]))
    bubbles = p["gas"] * f.exp(-(f.log(P / AMBIENT) / p["n_gas"]))
    volume = liquid + bubbles
    return volume, volume / (liquid / p["bulk"] + bubbles / (p["n_gas"] * P))  # eq:oil


def _enthalpy(pressure: Any, p: Mapping[str, Any], f: Functions) -> Any:
    """Enthalpy of the oil per standard volume, less a constant."""
    P = LEAST_PRESSURE + positive(pressure + (AMBIENT - LEAST_PRESSURE), f)
    liquid = p["liquid"] * f.exp(-(pressure / p["bulk"]))
    if p["isothermal"] == 1.0:
        work = AMBIENT * p["gas"] * f.log(P / AMBIENT)
    else:
        n = p["n_gas"]
        work = P * n / (n - 1.0) * (p["gas"] * f.exp(-(f.log(P / AMBIENT) / n)))
    return work - p["bulk"] * liquid  # eq:oil


def _throttle(drop: Any, p: Mapping[str, Any], f: Functions) -> Any:
    return drop / f.sqrt(f.sqrt(drop * drop + p["laminar_square"]))  # eq:throttle


def _openings(s: Any, p: Mapping[str, Any], f: Functions) -> tuple[Any, Any]:
    """Sizes of the edges P-A and B-T, and of P-B and A-T; the spool has stops at its full stroke."""
    opened = s + f.step(s - 1.0) * (1.0 - s) - f.step(-1.0 - s) * (1.0 + s)
    laps = opened + p["lap"], p["lap"] - opened
    k_1, k_2 = (
        p["k_v"] * (0.5 * (lap + f.sqrt(lap * lap + p["clearance_square"])))  # eq:valve-edge
        for lap in laps
    )
    return k_1, k_2


def _inflow(k: Any, port: Any, chamber: Any, r: Any, p: Mapping[str, Any], f: Functions) -> Any:
    """Flow from a port into a chamber; what leaves the chamber passes its cushion of resistance r (eq:cushion)."""
    if not (isinstance(r, float) and r == 0.0):
        k = k / f.sqrt(1.0 + k * k * (r * f.step(chamber - port)))
    return k * _throttle(port - chamber, p, f)


def _chambers(theta: Any, p: Mapping[str, Any], f: Functions) -> tuple[Any, Any, Any, Any]:
    """Volumes of both chambers, and the resistances of their cushions."""
    if p["rotary"] == 1.0:
        return p["volume_a"], p["volume_b"], 0.0, 0.0
    d_a, d_b = absolute(theta - p["end_a"], f), absolute(p["end_b"] - theta, f)
    volumes = p["volume_a"] + p["area_a"] * d_a, p["volume_b"] + p["area_b"] * d_b
    if isinstance(p["cushion"], float) and p["cushion"] == 0.0:
        return *volumes, 0.0, 0.0
    covered = [positive(1.0 - d * p["per_cushion"], f) for d in (d_a, d_b)]
    r_a, r_b = (p["cushion"] * part * part for part in covered)  # eq:cushion
    return *volumes, r_a, r_b


def _port_flows(
    x: Sequence[Any], theta: Any, p: Mapping[str, Any], f: Functions
) -> tuple[Any, Any, Any, Any]:
    """Inflows of the chambers through the edges P-A, T-A, P-B, T-B (eq:valve-flow)."""
    s, _, p_a, p_b = x
    k_1, k_2 = _openings(s, p, f)
    _, _, r_a, r_b = _chambers(theta, p, f)
    q_pa, q_ta = _inflow(k_1, p["p_s"], p_a, r_a, p, f), _inflow(k_2, p["tank"], p_a, r_a, p, f)
    q_pb, q_tb = _inflow(k_2, p["p_s"], p_b, r_b, p, f), _inflow(k_1, p["tank"], p_b, r_b, p, f)
    if p["check"] == 1.0:
        q_pa, q_pb = q_pa * f.step(p["p_s"] - p_a), q_pb * f.step(p["p_s"] - p_b)
    return q_pa, q_ta, q_pb, q_tb


def _rates(
    x: Sequence[Any], u: Sequence[Any], theta: Any, w: Any, p: Mapping[str, Any], f: Functions
) -> tuple[Sequence[Any], Any]:
    (s, speed, p_a, p_b), (current,) = x, u
    push = p["w_v"] * p["w_v"] * (current / p["i_r"] - s) - p["d_v"] * speed  # eq:spool
    q_pa, q_ta, q_pb, q_tb = _port_flows(x, theta, p, f)
    across = p["leakage"] * (p_a - p_b)
    Q_a, Q_b = q_pa + q_ta - across - p["drain"] * p_a, q_pb + q_tb + across - p["drain"] * p_b
    V_a, V_b, _, _ = _chambers(theta, p, f)
    (phi_a, beta_a), (phi_b, beta_b) = _oil(p_a, p, f), _oil(p_b, p, f)
    swept_a, swept_b = p["area_a"] * w, p["area_b"] * w
    if p["rotary"] == 1.0:
        dp, dh = p_a - p_b, _enthalpy(p_a, p, f) - _enthalpy(p_b, p, f)
        phi_m = carried_volume(dp, dh, phi_a, phi_b)
        swept_a, swept_b = swept_a * phi_a / phi_m, swept_b * phi_b / phi_m  # eq:carried-oil
    rise_a = beta_a / V_a * (phi_a * Q_a - swept_a)  # eq:chamber
    rise_b = beta_b / V_b * (phi_b * Q_b + swept_b)
    return [speed, push, rise_a, rise_b], p["area_a"] * p_a - p["area_b"] * p_b  # eq:piston-force


def _drawn(x: Sequence[Any], u: Sequence[Any], theta: Any, w: Any, p: Mapping[str, Any], f: Functions) -> Any:
    q_pa, _, q_pb, _ = _port_flows(x, theta, p, f)
    return q_pa + q_pb


def _start(data: Hydraulic, theta: float, w: float, effort: float) -> tuple[list[float], list[float]]:
    axis, supply = data
    point = operating_point(axis, supply, theta, w, effort, _rest_pressure(supply))
    return [point.opening, 0.0, point.p_a, point.p_b], [point.opening * axis.rated_current]


def _notes(data: Hydraulic) -> list[str]:
    axis, _ = data
    told = [
        f"the current of its valve counts as it is given; beyond {1e3 * axis.rated_current:.4g} mA it saturates"
    ]
    if math.isfinite(axis.slew):
        told.append(f"the slew rate of its valve, {axis.slew:.4g} strokes per second, is left out")
    if axis.clearance == 0.0:
        told.append(
            "its valve does not leak at null: at rest its edges have no slope, and nothing centres the pressures"
        )
    return told


def _notes_at(data: Hydraulic, x: Sequence[float]) -> list[str]:
    """Chambers that are cavitated."""
    limit = data[1].cavitation
    return [
        f"chamber {side} is cavitated, at {1e-5 * p:.3g} bar (below {1e-5 * limit:.3g} bar): no such point lasts"
        for side, p in zip("AB", x[2:4], strict=True)
        if p < limit
    ]


# --- supply -------------------------------------------------------------------------------------------
def _supply_numbers(data: Hydraulic) -> dict[str, float]:
    _, supply = data
    if not supply.has_state:
        return {}
    return {
        "flow": supply.pump_flow,
        "relief": supply.relief_gain,
        "relief_pressure": supply.relief_pressure,
        "line": supply.line_volume,
        "accumulator": supply.accumulator,
        "precharge": supply.precharge,
        "n_accumulator": supply.accumulator_exponent,
        **_oil_numbers(supply),
    }


def _supply_rates(x: Sequence[Any], drawn: Any, p: Mapping[str, Any], f: Functions) -> Sequence[Any]:
    (p_s,) = x
    phi, beta = _oil(p_s, p, f)
    volume, gas = p["line"], 0.0
    if not (isinstance(p["accumulator"], float) and p["accumulator"] == 0.0):
        charge, above = p["precharge"] + AMBIENT, p_s - p["precharge"]
        left = p["accumulator"] * f.exp(-(f.log(1.0 + positive(above, f) / charge) / p["n_accumulator"]))
        volume = volume + p["accumulator"] - left  # eq:accumulator
        gas = f.step(above) * left / (p["n_accumulator"] * (p_s + AMBIENT))
    relieved = p["relief"] * positive(p_s - p["relief_pressure"], f)  # eq:relief
    return [phi * (p["flow"] - relieved - drawn) / (volume / beta + gas)]  # eq:supply-pressure


def _rest_pressure(supply: Supply) -> float:
    """Pressure of a supply from which nothing is drawn: the relief valve takes all that the pump gives."""
    if not supply.has_state:
        return supply.pressure
    return supply.relief_pressure + supply.pump_flow / supply.relief_gain


def _supply_start(data: Hydraulic) -> list[float]:
    return [_rest_pressure(data[1])]


def _shortage(users: Sequence[tuple[Hydraulic, Sequence[float], float]]) -> str:
    """A pump that gives less than its valves draw at its rest pressure."""
    drawn, given = 0.0, users[0][0][1].pump_flow
    for (axis, supply), x, theta in users:
        edges = edge_flows(axis, supply, x[0], theta, (x[2], x[3]), _rest_pressure(supply))
        drawn += edges[0] + edges[2]
    if drawn <= given:
        return ""
    return f"the valves would draw {6e4 * drawn:.4g} L/min, and the pump gives {6e4 * given:.4g} L/min"


SUPPLY = SupplyEquations(
    "p_s", (("pressure", "Pa"),), _supply_numbers, _supply_rates, _supply_start, _shortage
)
EQUATIONS = StateEquations(
    (("spool", ""), ("spool_speed", "1/s"), ("pressure_a", "Pa"), ("pressure_b", "Pa")),
    (("valve_current", "A"),),
    _numbers,
    _rates,
    draws=_drawn,
    supply=SUPPLY,
    start=_start,
    notes=_notes,
    notes_at=_notes_at,
)
