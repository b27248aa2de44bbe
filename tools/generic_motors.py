"""Scaling laws of the generic synchronous servo motors (docs/catalogue-drives.md); no entry is a product.

python tools/generic_catalogue.py       # writes the catalogue files; a test holds them to these laws
"""

from __future__ import annotations

import math
from dataclasses import dataclass

POWERS = (50, 100, 150, 200, 300, 400, 600, 750, 1000, 1500, 2000, 3000, 4000, 5500, 7500)  # W
SPEEDS = (1500, 3000, 4500)  # rpm
SLENDERNESS = {
    "low": 2.0,
    "medium": 1.1,
    "high": 0.6,
}  # length over diameter of the rotor, by class of inertia
SMALL = 300  # W: up to here windings are for 48 and 280 V, beyond for 280 and 560 V (rectified mains of 200 and 400 V)
FRAMES = (40, 60, 80, 100, 130, 180, 220, 280)  # mm
AMBIENT, HOUSING_RISE, WINDING_RISE = (
    40.0,
    60.0,
    100.0,
)  # degC, K, K: insulation class F with a reserve of 15 K
COPPER_ZERO = 234.5  # degC
RPM = 2.0 * math.pi / 60.0


@dataclass(frozen=True)
class Size:
    """What follows from rated torque and speed and from the slenderness of the rotor, before a winding is chosen."""

    power: float
    speed: float  # rpm
    inertia_class: str

    @property
    def torque(self) -> float:
        """Rated torque [N m]: power over speed."""
        return self.power / (self.speed * RPM)

    @property
    def diameter(self) -> float:
        """Diameter of the rotor [m] from the shear stress in the air gap: T = 2 sigma V, V = pi/4 lambda D^3.

        sigma = 16.5 kPa (T/1 N m)^0.08: servo motors without fan have 12 to 25 kPa, the larger ones more.
        """
        volume = self.torque / (2.0 * 16.5e3 * self.torque**0.08)
        return (4.0 * volume / (math.pi * SLENDERNESS[self.inertia_class])) ** (1.0 / 3.0)

    @property
    def inertia(self) -> float:
        """Rotor inertia [kg m2]: a steel cylinder of which 15 % is missing, J = pi/32 rho lambda D^5."""
        return math.pi / 32.0 * 0.85 * 7600.0 * SLENDERNESS[self.inertia_class] * self.diameter**5

    @property
    def body(self) -> tuple[float, float]:
        """Diameter and length of the stator [m]: 1.9 D, and the rotor's length with end windings of 0.9 D."""
        return 1.9 * self.diameter, (SLENDERNESS[self.inertia_class] + 0.9) * self.diameter

    @property
    def mass(self) -> float:
        """Mass [kg]: body of 5800 kg/m3 (steel, copper, aluminium, air) and 0.1 kg of encoder and plugs."""
        d, length = self.body
        return 5800.0 * math.pi / 4.0 * d**2 * length + 0.1

    @property
    def loss(self) -> float:
        """Loss that the housing gives off at a rise of 60 K [W]: 35 W/(m2 K), flange on a plate included."""
        d, length = self.body
        return 35.0 * HOUSING_RISE * (math.pi * d * length + math.pi / 2.0 * d**2)

    @property
    def idle_loss(self) -> float:
        """Iron and friction loss at rated speed [W]: 15 % of the loss at 3000 rpm, proportional to the speed."""
        return 0.15 * self.speed / 3000.0 * self.loss

    @property
    def stall_torque(self) -> float:
        """Continuous torque at standstill [N m]: all of the loss is copper loss, T_0 = T / sqrt(1 - idle share)."""
        return self.torque / math.sqrt(1.0 - self.idle_loss / self.loss)

    @property
    def frame(self) -> int:
        """Edge of the flange [mm]: the next usual one above 2 D."""
        return next(edge for edge in FRAMES if edge >= 2000.0 * self.diameter)

    @property
    def max_speed(self) -> float:
        """Largest speed [rpm]: 5/3 of the rated one."""
        return 5.0 / 3.0 * self.speed


@dataclass(frozen=True)
class Winding:
    """A motor with a winding for a bus voltage, in amplitudes and star phases."""

    size: Size
    bus: float

    @property
    def voltage_constant(self) -> float:
        """Amplitude of a phase [V s/rad]: the back-EMF takes the bus at 1.1 times the largest speed."""
        return self.bus / (math.sqrt(3.0) * 1.1 * self.size.max_speed * RPM)

    @property
    def torque_constant(self) -> float:
        """Torque per amplitude [N m/A]: 3/2 of the voltage constant."""
        return 1.5 * self.voltage_constant

    @property
    def hot_resistance(self) -> float:
        """Of a phase at 140 degC [ohm]: the copper loss at stall is the loss that the housing gives off."""
        return self.size.loss / (1.5 * (self.size.stall_torque / self.torque_constant) ** 2)

    @property
    def resistance(self) -> float:
        """Of a phase at 20 degC [ohm]."""
        return self.hot_resistance * (COPPER_ZERO + 20.0) / (COPPER_ZERO + AMBIENT + WINDING_RISE)

    @property
    def inductance(self) -> float:
        """Of a phase [H]: L/R = 3 ms (D/29 mm)^1.7, since copper section and iron path both grow with the size."""
        return 3e-3 * (self.size.diameter / 0.029) ** 1.7 * self.resistance

    @property
    def pole_pairs(self) -> int:
        """4 up to a flange of 60 mm, 5 beyond."""
        return 4 if self.size.frame <= 60 else 5

    def current_within(self, speed: float) -> float:
        """Largest amplitude [A] at a speed [rad/s] that 95 % of the bus can drive through the hot winding, i_d = 0."""
        E, R = self.voltage_constant * speed, self.hot_resistance
        X, U = self.pole_pairs * speed * self.inductance, 0.95 * self.bus / math.sqrt(3.0)
        a, b, c = R**2 + X**2, R * E, E**2 - U**2
        return (math.sqrt(max(b**2 - a * c, 0.0)) - b) / a if c < 0.0 else 0.0

    def peak_curve(self) -> list[tuple[float, float]]:
        """Speed [rpm] and short-time torque [N m]: three times the rated torque, until the voltage ends it."""
        most, top = 3.0 * self.size.torque, self.size.max_speed
        low, high = 0.0, top
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = self.torque_constant * self.current_within(middle * RPM) >= most
            low, high = (middle, high) if enough else (low, middle)
        speeds = [low + (top - low) * k / 3.0 for k in (1, 2, 3)] if low < 0.999 * top else []
        falling = [(n, self.torque_constant * self.current_within(n * RPM)) for n in speeds]
        return [(0.0, most), (low, most), *falling]


def motor_entry(winding: Winding) -> dict[str, object]:
    """The data sheet of a motor as a maker would print it: effective values, between lines, cold winding."""
    size, root2 = winding.size, math.sqrt(2.0)
    friction = size.idle_loss / (size.speed * RPM)  # half of it dry, half of it growing with the speed
    current = (size.torque + friction) / winding.torque_constant / root2
    stall = size.stall_torque / winding.torque_constant / root2
    peak = winding.peak_curve()
    top = size.max_speed
    at_top = math.sqrt(max(1.0 - size.idle_loss / size.loss * top / size.speed, 0.0)) * size.stall_torque
    copper = 0.12 * size.mass * 385.0  # J/K: an eighth of the mass is copper
    return {
        "kind": "pmsm",
        "conventions": "*sine",
        "rated_output": f"{size.power:g} W",
        "rated_speed": f"{size.speed:g} rpm",
        "max_speed": f"{top:g} rpm",
        "bus_voltage": f"{winding.bus:g} V",
        "rated_torque": text(size.torque, "N*m"),
        "stall_torque": text(size.stall_torque, "N*m"),
        "peak_torque": text(3.0 * size.torque, "N*m"),
        "rated_current": text(current, "Arms"),
        "stall_current": text(stall, "Arms"),
        "peak_current": text(1.05 * 3.0 * size.torque / winding.torque_constant / root2, "Arms"),
        "torque_constant": text(root2 * winding.torque_constant, "N*m/Arms"),
        "voltage_constant": text(math.sqrt(1.5) * winding.voltage_constant * 1000.0 * RPM, "Vrms/krpm"),
        "resistance": text(2.0 * winding.resistance, "ohm"),
        "inductance": text(2e3 * winding.inductance, "mH"),
        "pole_pairs": str(winding.pole_pairs),
        "rotor_inertia": text(1e4 * size.inertia, "kg*cm^2"),
        "viscous_friction": text(0.5e6 * friction / (size.speed * RPM), "uN*m*s/rad"),
        "coulomb_friction": text(0.5e3 * friction, "mN*m"),
        "continuous": {
            "points": points(
                [(0.0, size.stall_torque), (size.speed, size.torque), (top, min(at_top, peak[-1][1]))]
            )
        },
        "peak": {"points": points(peak), "bus_voltage": f"{winding.bus:g} V"},
        "thermal": {
            "time_constant": text(HOUSING_RISE / size.loss * 480.0 * size.mass / 60.0, "min"),
            "rated_loss": text(size.loss, "W"),
            "winding_rise": f"{WINDING_RISE:g} K",
            "housing_rise": f"{HOUSING_RISE:g} K",
            "winding_time_constant": text((WINDING_RISE - HOUSING_RISE) / size.loss * copper, "s"),
            "ambient": f"{AMBIENT:g} degC",
            "limit": "155 degC",
        },
        "brake_torque": text(1.1 * size.torque, "N*m"),
        "brake_inertia": text(0.1e4 * size.inertia, "kg*cm^2"),
        "brake_mass": text(0.25 * size.mass**0.8, "kg"),
        "frame": f"{size.frame} mm",
        "mass": text(size.mass, "kg"),
        "price_index": f"{price(winding):.3g}",
    }


def price(winding: Winding) -> float:
    """Price relative to a 400 W, 3000 rpm motor of low inertia: (m/m_ref)^0.6, 5 % more for 560 V."""
    reference = Size(400, 3000, "low").mass
    return (winding.size.mass / reference) ** 0.6 * (1.05 if winding.bus > 300 else 1.0)


def text(value: float, unit: str) -> str:
    """Three significant digits, as sheets have them."""
    return f"{float(f'{value:.3g}'):.10g} {unit}"


def points(pairs: list[tuple[float, float]]) -> list[list[str]]:
    """Points of speed [rpm] and torque [N m]; speeds of three digits must still rise."""
    return [[f"{speed:.5g} rpm", text(torque, "N*m")] for speed, torque in pairs]


def motors() -> dict[str, dict[str, object]]:
    """All generic motors by name: gm-POWER-SPEED-INERTIA-BUS."""
    return {
        f"gm-{power}-{speed}-{kind}-{bus}": motor_entry(Winding(Size(power, speed, kind), bus))
        for power in POWERS
        for speed in SPEEDS
        for kind in SLENDERNESS
        for bus in ((48, 280) if power <= SMALL else (280, 560))
    }
