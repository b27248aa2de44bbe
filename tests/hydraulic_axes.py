"""Hydraulic axes for the tests, and their right-hand side written a second time, in plain NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit
from scipy.integrate import quad

from servotwin.drives.hydraulic.data import Axis, Supply, fill, valve_clearance, valve_gain
from servotwin.drives.hydraulic.model import axis_rates, supply_rates
from servotwin.drives.hydraulic.records import AXIS, PER_AXIS, PER_SUPPLY, SUPPLY
from servotwin.simulation.run import Run
from tests import small_drives as small

BAR, LITRE_PER_MINUTE = 1e5, 1e-3 / 60.0
Q_RATED, DROP = 3.8 * LITRE_PER_MINUTE, 70 * BAR


def valve(underlap: float = 0.0, leakage: float = 0.05, laminar: float = BAR) -> dict[str, float]:
    clearance = valve_clearance(underlap, leakage)
    assert clearance is not None
    k = valve_gain(Q_RATED, DROP, underlap, clearance, laminar)
    return {"underlap": underlap, "clearance": clearance, "laminar": laminar, "k": k}


def cylinder(**changes: Any) -> Axis:
    """A cylinder with equal areas of 2 cm2 and a stroke of 150 mm."""
    numbers: dict[str, Any] = {
        "rated_current": 0.04, "natural_frequency": 2 * math.pi * 120.0, "damping": 0.8, "area_a": 2e-4, "area_b": 2e-4,
        "volume_a": 5e-6, "volume_b": 5e-6, "end_a": -0.15, "end_b": 0.0, "leakage": 1e-13, "drain": 2e-14, **valve(),
    }  # fmt: skip
    return Axis(**{**numbers, **changes})


SUPPLY_70 = Supply(pressure=70 * BAR)
PUMPED = replace(
    SUPPLY_70, pump_flow=6 * LITRE_PER_MINUTE, pump_efficiency=0.85, relief_pressure=70 * BAR, relief_gain=2e-10,
    line_volume=2e-4, accumulator=5e-4, precharge=45 * BAR,
)  # fmt: skip


def record_of(data: Axis, inertia: float = 1.15) -> Any:
    record = np.zeros(1, AXIS)
    fill(record[0], data)
    record["inertia"] = inertia
    return record


def supply_record(data: Supply) -> Any:
    record = np.zeros(1, SUPPLY)
    fill(record[0], data)
    return record


@njit
def _compiled(axis, supply, i, x, v, p_s, y, dy, dz):
    return axis_rates(axis[0], supply[0], i, x, v, p_s, y, dy, 0, dz, 0)


@njit
def _compiled_supply(supply, p_s, drawn, dz):
    return supply_rates(supply[0], p_s, drawn, dz, 0)


def compiled_rates(
    axis: Axis, supply: Supply, i: float, x: float, v: float, p_s: float, y: Any
) -> tuple[Any, Any, Any]:
    """Rates of the four states, of the integrals, and (effort, flow, fastest rate), by the compiled model."""
    dy, dz = np.zeros(4), np.zeros(PER_AXIS)
    out = _compiled(record_of(axis), supply_record(supply), i, x, v, p_s, np.asarray(y, dtype=float), dy, dz)
    return dy, dz, out


def compiled_supply(supply: Supply, p_s: float, drawn: float) -> tuple[tuple[float, float], Any]:
    dz = np.zeros(PER_SUPPLY)
    return _compiled_supply(supply_record(supply), p_s, drawn, dz), dz


# --- a second version, from the equations of the theory page, without the package -------------------------

P0 = 101325.0


def volume_ratio(p: float, supply: Supply) -> float:
    return (1 - supply.gas) * math.exp(-p / supply.bulk) + supply.gas * (P0 / (P0 + p)) ** (
        1 / supply.exponent
    )


def plain_edges(
    axis: Axis, supply: Supply, s: float, x: float, p_s: float, p: Sequence[float]
) -> list[tuple[float, float]]:
    """Flow in from the supply and out to the tank of both chambers, by the theory page."""
    s = min(max(s, -1.0), 1.0)

    def opening(lap: float) -> float:
        return (lap + math.hypot(lap, 2 * axis.clearance)) / 2

    def flow(k: float, start: float, end: float, r: float) -> float:
        k = 1 / math.sqrt(1 / k**2 + r) if k > 0 else 0.0
        return k * (start - end) * ((start - end) ** 2 + axis.laminar**2) ** -0.25

    found = []
    for pressure, end, way in ((p[0], axis.end_a, 1.0), (p[1], axis.end_b, -1.0)):
        r = 0.0
        if axis.cushion_length:
            r = axis.cushion_resistance * max(0.0, 1 - abs(x - end) / axis.cushion_length) ** 2
        to = flow(axis.k * opening(way * s + axis.underlap), p_s, pressure, r if pressure > p_s else 0.0)
        back = flow(
            axis.k * opening(-way * s + axis.underlap),
            pressure,
            supply.tank,
            r if pressure > supply.tank else 0.0,
        )
        found.append((to, back))
    return found


def plain_slope(p: float, supply: Supply) -> float:
    """Derivative of the relative volume, by a fine difference."""
    step = 1e-4 * (P0 + p)
    return (volume_ratio(p + step, supply) - volume_ratio(p - step, supply)) / (2 * step)


def carried_volume(p_a: float, p_b: float, supply: Supply) -> float:
    """Mean of the relative volume between two pressures, by quadrature."""
    mean, _ = quad(lambda part: volume_ratio(p_b + part * (p_a - p_b), supply), 0.0, 1.0, epsabs=1e-12)
    return float(mean)


def plain_rates(axis: Axis, supply: Supply, i: float, x: float, v: float, p_s: float, y: Any) -> Any:
    """Rates of spool, spool speed, p_A, p_B by the theory page; amounts n = V / phi change by the flows, n' = Q."""
    s, ds, p_a, p_b = y
    command = min(max(i / axis.rated_current, -1.0), 1.0)
    dds = axis.natural_frequency**2 * (command - s) - 2 * axis.damping * axis.natural_frequency * ds
    edges = plain_edges(axis, supply, s, x, p_s, (p_a, p_b))
    out = []
    for (to, back), p, area, rest, end, way in (
        (edges[0], p_a, axis.area_a, axis.volume_a, axis.end_a, 1.0),
        (edges[1], p_b, axis.area_b, axis.volume_b, axis.end_b, -1.0),
    ):
        Q = to - back - way * axis.leakage * (p_a - p_b) - axis.drain * p
        V, phi = rest + (0.0 if axis.rotary else area * abs(x - end)), volume_ratio(p, supply)
        taken = area * v / (carried_volume(p_a, p_b, supply) if axis.rotary else phi)
        out.append((Q - way * taken) / (-V * plain_slope(p, supply) / phi**2))
    return np.array([ds, dds, *out])


def plain_drawn(axis: Axis, supply: Supply, x: float, p_s: float, y: Any) -> float:
    """Flow that an axis takes from its supply."""
    return sum(to for to, _ in plain_edges(axis, supply, y[0], x, p_s, y[2:]))


def plain_supply(supply: Supply, p_s: float, drawn: float) -> float:
    """Rate of the supply pressure, from the oil in line and accumulator: d/dt (V / phi) = flows."""

    def content(p: float) -> float:
        left = supply.accumulator
        if p > supply.precharge:
            left *= ((supply.precharge + P0) / (p + P0)) ** (1 / supply.accumulator_exponent)
        return (supply.line_volume + supply.accumulator - left) / volume_ratio(p, supply)

    step = 1e-4 * p_s
    slope = (content(p_s + step) - content(p_s - step)) / (2 * step)
    relieved = supply.relief_gain * max(0.0, p_s - supply.relief_pressure)
    return (supply.pump_flow - relieved - drawn) / slope


# --- a machine with one hydraulic axis whose valve current a test gives ------------------------------------

LIFT: dict[str, Any] = {
    "type": "prismatic",
    "origin": {},
    "axis": [0, 0, 1],
    "limits": {"position": ["-150 mm", "0 mm"], "speed": "0.3 m/s"},
    "link": {"mass": "40 kg"},
    "motor": {
        "kind": "hydraulic",
        "valve": {
            "rated_flow": "3.8 L/min",
            "rated_current": "40 mA",
            "natural_frequency": "120 Hz",
            "null_leakage": "0.2 L/min",
        },
        "cylinder": {"area": "2 cm^2", "dead_volume": "5 cm^3", "leakage": "1e-13 m^3/(s*Pa)"},
    },
    "encoder": {"resolution": "0.1 um"},
}
FEED: dict[str, Any] = {"supply_pressure": "70 bar"}
PUMP: dict[str, Any] = {
    "supply_pressure": "70 bar",
    "tank_pressure": "1 bar",
    "pump": {"flow": "5 L/min", "efficiency": 0.85},
    "relief": {"pressure": "70 bar", "flow": "6 L/min", "override": "4 bar"},
    "accumulator": {"volume": "0.3 L", "precharge": "45 bar"},
    "line_volume": "0.1 L",
}


def lift(hydraulics: dict[str, Any] | None = None, **changes: Any) -> small.Tree:
    """A weight of 40 kg on a vertical cylinder."""
    axis = small.merged(LIFT, changes)
    return small.robot({"hydraulics": hydraulics or FEED, "power": None}, axes={"A": axis})


def open_loop(run: Run, current: Callable[[float], Sequence[float]], period_ns: int = 200_000) -> Any:
    """Give the valve currents of a test to the plant: ``current(t)`` [A] for every axis, held for a period."""
    machine = run.machine

    def exchange(unit: Any) -> None:
        now = int(machine.world["state"]["now"][0])
        unit.command["valve_current"][0, : len(machine.motors)] = current(now * 1e-9)
        unit.command["period_start"], unit.command["next"] = now, now + period_ns

    machine.hand_over(exchange)
    return machine


# --- a mixed arm: hydraulic shoulder without a gear, DC elbow behind one -----------------------------------

MIXED: dict[str, Any] = {
    "format": "servotwin/1",
    "name": "mixed",
    "axes": {
        "shoulder": {
            "type": "revolute",
            "dh": {"theta": "0 deg", "d": "0 m", "a": "0.7 m", "alpha": "0 deg"},
            "limits": {
                "position": ["-100 deg", "100 deg"],
                "speed": "120 deg/s",
                "acceleration": "400 deg/s^2",
            },
            "link": {
                "mass": "22 kg",
                "center": ["-0.35 m", "0 m", "0 m"],
                "inertia": {"gyration": {"radius": "0.2 m", "axes": ["y", "z"]}},
            },
            "friction": {"coulomb": "8 N*m"},
            "motor": {
                "kind": "hydraulic",
                "valve": {
                    "rated_flow": "40 L/min",
                    "rated_current": "50 mA",
                    "natural_frequency": "80 Hz",
                    "null_leakage": "1 L/min",
                },
                "hydraulic_motor": {"displacement": "250 cm^3/rev", "dead_volume": "60 cm^3"},
            },
            "encoder": {"bits": 20},
        },
        "elbow": {
            "type": "revolute",
            "dh": {"theta": "0 deg", "d": "0 m", "a": "0.5 m", "alpha": "0 deg"},
            "limits": {
                "position": ["-130 deg", "130 deg"],
                "speed": "180 deg/s",
                "acceleration": "800 deg/s^2",
            },
            "link": {
                "mass": "8 kg",
                "center": ["-0.25 m", "0 m", "0 m"],
                "inertia": {"gyration": {"radius": "0.145 m", "axes": ["y", "z"]}},
            },
            "gear": {"ratio": 100},
            "motor": {
                "kind": "dc",
                "torque_constant": "0.12 N*m/A",
                "resistance": "0.4 ohm",
                "inductance": "0.6 mH",
                "current_limit": "16 A",
                "rotor_inertia": "1.5e-4 kg*m^2",
            },
            "encoder": {"lines": 1000},
        },
    },
    "gravity": ["0 m/s^2", "-9.81 m/s^2", "0 m/s^2"],
    "payload": {"mass": "5 kg"},
    "power": {"bus_voltage": "75 V"},
    "hydraulics": {"supply_pressure": "140 bar"},
    "controller": {
        "main_period": "8 ms",
        "axis_period": "1 ms",
        "speed_period": "0.5 ms",
        "current_period": "0.25 ms",
        "position_bandwidth": "15 1/s",
        "speed_bandwidth": "90 rad/s",
        "current_bandwidth": "1000 rad/s",
        "feedforward": {"velocity": 1},
    },
    "home": {"shoulder": "-30 deg", "elbow": "60 deg"},
}
SWING: dict[str, Any] = {
    "move": [
        {"to": {"shoulder": "40 deg", "elbow": "-30 deg"}, "dwell": "0.3 s"},
        {"to": {"shoulder": "-30 deg", "elbow": "60 deg"}, "dwell": "0.3 s"},
    ]
}
