"""Numbers of hydraulic axes and of their supply in SI, as the models take them; made from data sheets."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from servotwin.drives.hydraulic.laws import (
    carried_volume,
    edge_opening,
    gas_energy,
    gas_volume,
    oil,
    seal_friction,
    throttle,
)

HALVINGS = 200
REFERENCE_CLEARANCE = (
    1e-3  # strokes: of a valve without leakage, where it decides about nothing but pressures at rest
)


@dataclass(frozen=True)
class Supply:
    """Oil, and what brings it: a constant pressure, or a pump with line, accumulator and relief valve."""

    pressure: float  # [Pa]; with a pump what a run begins with where nothing else tells it
    tank: float = 0.0  # [Pa]
    density: float = 860.0  # at the surroundings [kg/m3]
    bulk: float = 1.4e9  # of the liquid [Pa]
    gas: float = 0.005  # part of the volume at the surroundings
    exponent: float = 1.4  # of that gas
    cavitation: float = -0.8e5  # below this a chamber counts as cavitated [Pa]
    pump_flow: float = 0.0  # [m3/s]
    pump_efficiency: float = 1.0
    relief_pressure: float = math.inf  # at which it begins to open [Pa]
    relief_gain: float = 0.0  # [m3/(s Pa)]
    line_volume: float = 0.0  # [m3]
    accumulator: float = 0.0  # volume of its gas when charged [m3]
    precharge: float = 0.0  # [Pa]
    accumulator_exponent: float = 1.2

    @property
    def has_state(self) -> bool:
        """Whether its pressure moves."""
        return self.pump_flow > 0.0

    def oil(self, p: float) -> tuple[float, float, float]:
        """Relative volume, effective bulk modulus and enthalpy of the oil at a pressure (eq:oil)."""
        return oil(p, self.bulk, self.gas, self.exponent)

    def content(self, p: float) -> float:
        """Standard volume of the oil in line and accumulator [m3]."""
        return self._volume(p) / self.oil(p)[0]

    def energy(self, p: float) -> float:
        """Energy stored in line and accumulator [J] (eq:chamber-energy)."""
        phi, _, h = self.oil(p)
        volume = self._volume(p)
        gas = gas_energy(p, self.accumulator, self.precharge, self.accumulator_exponent)
        return volume / phi * h - p * volume + gas

    def _volume(self, p: float) -> float:
        left = gas_volume(p, self.accumulator, self.precharge, self.accumulator_exponent)
        return self.line_volume + self.accumulator - left


@dataclass(frozen=True)
class Axis:
    """A servovalve with a cylinder (areas, ends) or a hydraulic motor (volumes per angle, no ends)."""

    rated_current: float  # [A]
    natural_frequency: float  # of the spool [rad/s]
    damping: float
    k: float  # flow of a fully open edge over ``laws.throttle`` [m3/(s sqrt(Pa))]
    area_a: float  # [m2], or [m3/rad]
    area_b: float
    volume_a: float  # with the piston at its end, lines included [m3]
    volume_b: float
    end_a: float = 0.0  # position of the piston at which chamber a is smallest [m]
    end_b: float = 1.0
    slew: float = math.inf  # strokes per second
    underlap: float = 0.0  # strokes; negative: overlap
    clearance: float = 0.0  # strokes
    laminar: float = 1e5  # [Pa]
    cushion_length: float = 0.0  # [m]
    cushion_resistance: float = 0.0  # at the end [Pa s2/m6]
    leakage: float = 0.0  # between the chambers [m3/(s Pa)]
    drain: float = 0.0  # out of every chamber [m3/(s Pa)]
    seal: float = 0.0  # part of the force of either pressure that its seals take as friction
    rotary: int = 0
    check_valve: int = 0

    def behind_jump(self, part: float) -> Axis:
        """The same axis for a driver that jumps over a part of its valve's overlap.

        A valve without leakage gets a trace of it, without which its edges have a kink there.
        """
        if self.underlap >= 0.0 or part == 0.0:
            return self
        left, trace = (1.0 - part) * self.underlap, max(self.clearance, REFERENCE_CLEARANCE)
        return replace(self, underlap=left, clearance=trace)

    @property
    def mean_area(self) -> float:
        """The area that the load pressure is counted on: mean of both sides."""
        return 0.5 * (self.area_a + self.area_b)

    def volumes(self, x: float) -> tuple[float, float, float, float]:
        """Volumes of both chambers [m3], and the distances of the piston from their ends [m]."""
        if self.rotary:
            return self.volume_a, self.volume_b, 1.0, 1.0
        d_a, d_b = abs(x - self.end_a), abs(self.end_b - x)
        return self.volume_a + self.area_a * d_a, self.volume_b + self.area_b * d_b, d_a, d_b

    def swept(self, supply: Supply, p_a: float, p_b: float) -> tuple[float, float]:
        """Volumes that both chambers gain and lose per travel [m2], of a motor per angle [m3/rad] (eq:carried-oil)."""
        if not self.rotary:
            return self.area_a, self.area_b
        (phi_a, _, h_a), (phi_b, _, h_b) = supply.oil(p_a), supply.oil(p_b)
        phi_m = carried_volume(p_a - p_b, h_a - h_b, phi_a, phi_b)
        return self.area_a * phi_a / phi_m, self.area_b * phi_b / phi_m

    def seal_friction(self, p_a: float, p_b: float) -> float:
        """Friction of the seals under both pressures [N, N m] (eq:seal-friction)."""
        return seal_friction(self.seal, self.area_a, self.area_b, p_a, p_b)

    def content(self, supply: Supply, x: float, p_a: float, p_b: float) -> float:
        """Standard volume of the oil in both chambers [m3]."""
        V_a, V_b, _, _ = self.volumes(x)
        return V_a / supply.oil(p_a)[0] + V_b / supply.oil(p_b)[0]

    def energy(self, supply: Supply, x: float, p_a: float, p_b: float) -> float:
        r"""Energy of the compressed oil in both chambers [J].

        .. math:: E = \frac{V}{\varphi(p)}\,h(p) - p\,V, \qquad \dot E = h\,Q - p\,\dot V       (eq:chamber-energy)
        """
        total = 0.0
        for p, V in zip((p_a, p_b), self.volumes(x), strict=False):
            phi, _, h = supply.oil(p)
            total += V / phi * h - p * V  # eq:chamber-energy
        return total


def fill(record: Any, data: Axis | Supply) -> None:
    """Copy all numbers to the record of the same names."""
    for field in fields(data):
        record[field.name] = getattr(data, field.name)


def valve_clearance(underlap: float, leakage: float) -> float | None:
    r"""Clearance of the edges [strokes] that gives the leakage of a data sheet; None if the underlap alone gives more.

    .. math:: \frac{o(u)}{o(1 + u)} = \frac{q_0}{2\,q_r}                                        (eq:null-leakage)

    ``leakage`` q_0 / q_r: flow from supply to tank with the spool in the middle and both ports blocked, over the rated
    flow, both at the rated drop: the two paths share it, and each edge sees half of the drop.
    """
    wanted = 0.5 * leakage
    if max(underlap, 0.0) / (1.0 + underlap) > wanted * (1.0 + 1e-12):
        return None
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        ratio = edge_opening(underlap, middle) / edge_opening(1.0 + underlap, middle)  # eq:null-leakage
        low, high = (middle, high) if ratio < wanted else (low, middle)
    return 0.5 * (low + high) if wanted > 0.0 else 0.0


def valve_gain(flow: float, drop: float, underlap: float, clearance: float, laminar: float) -> float:
    r"""Flow of a fully open edge over ``laws.throttle``.

    .. math:: k = \frac{q_r}{o(1 + u)\,f(\Delta p_r / 2)}                                       (eq:rated-flow)

    ``flow`` q_r at rated current and the total ``drop`` of the valve, half of it at each of two edges.
    """
    return flow / (edge_opening(1.0 + underlap, clearance) * throttle(0.5 * drop, laminar))  # eq:rated-flow
