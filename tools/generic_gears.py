"""Scaling laws of the generic gears, belts and ball screws (docs/catalogue-drives.md); no entry is a product."""

from __future__ import annotations

import math

STRAIN_WAVE = (
    8,
    11,
    14,
    17,
    20,
    25,
    32,
    40,
    45,
    50,
    58,
)  # sizes: pitch diameter of the flexible spline [0.1 inch]
STRAIN_WAVE_RATIOS = (50, 80, 100, 120, 160)
RV = (110, 170, 280, 410, 780, 1080, 1570, 3100)  # rated torques [N m]
RV_RATIOS = (81, 101, 121, 161)
PLANETARY = (60, 80, 115, 142, 180)  # flanges [mm]
PLANETARY_RATIOS = (5, 7, 10, 25, 50)
BELTS = (15, 25, 50)  # widths [mm]
BELT_RATIOS = (1, 1.5, 2, 3)
SCREWS = (12, 16, 20, 25, 32, 40, 50)  # diameters [mm]
FACTORS = [["-10 degC", "3"], ["0 degC", "2.2"], ["20 degC", "1"], ["40 degC", "0.6"], ["60 degC", "0.45"]]


def text(value: float, unit: str = "") -> str:
    """Three significant digits, as sheets have them."""
    return f"{float(f'{value:.3g}'):.10g} {unit}".strip()


def idle(torque: float) -> list[list[str]]:
    """Torque without load at four input speeds, from that at 2000 rpm [N m]: 0.45 + 0.55 (n/2000)^0.8 of it."""
    speeds = (500, 1000, 2000, 4000)
    return [[f"{n} rpm", text(1e3 * torque * (0.45 + 0.55 * (n / 2000) ** 0.8), "mN*m")] for n in speeds]


def strain_wave(size: int, ratio: int) -> dict[str, object]:
    """A strain-wave gear with its bearing: torques with s^2.8, stiffness with s^3, inertia with s^5."""
    s = size / 20.0
    few = {50: 0.62, 80: 0.85}.get(ratio, 1.0)  # fewer, deeper teeth carry less
    torque = 40.0 * s**2.8 * few
    stiffness = 1.6e4 * s**3 * (0.8 if ratio == 50 else 1.0)
    top = 6500.0 * s**-0.68
    return {
        "kind": "strain-wave",
        "ratio": str(ratio),
        "rated_torque": text(torque, "N*m"),
        "rated_speed": "2000 rpm",
        "average_torque": text(1.2 * torque, "N*m"),
        "repeated_peak_torque": text(2.1 * torque, "N*m"),
        "momentary_torque": text(3.6 * torque, "N*m"),
        "average_speed": text(min(3500.0, 0.7 * top), "rpm"),
        "max_speed": text(top, "rpm"),
        "life": "35000 h",
        "life_percentile": "L50",
        "efficiency": {50: "72 %", 80: "72 %", 100: "70 %", 120: "68 %", 160: "62 %"}[ratio],
        "no_load_torque": idle(0.07 * s**2.7 * (100.0 / ratio) ** 0.2),
        "temperature_factors": "*grease",
        "torsion": {
            "k1": text(stiffness, "N*m/rad"),
            "k2": text(1.5 * stiffness, "N*m/rad"),
            "k3": text(1.8 * stiffness, "N*m/rad"),
            "t1": text(0.17 * torque, "N*m"),
            "t2": text(0.6 * torque, "N*m"),
        },
        "hysteresis": "2 arcmin" if ratio == 50 else "1 arcmin",
        "transmission_error": [["2", text(0.5 / s, "arcmin")], ["4", text(0.15 / s, "arcmin")]],
        "inertia": text(0.193 * s**5, "kg*cm^2"),
        "frame": text(90.0 * s, "mm"),
        "mass": text(1.0 * s**2.7, "kg"),
        "price_index": text(1.6 * s**1.2),
    }


def rv(torque: int, ratio: int) -> dict[str, object]:
    """A cycloidal gear of two stages (RV): rated at 15 rpm of the output, stiffness 0.26 of the torque per arcmin."""
    top = 75.0 * (170.0 / torque) ** 0.26
    loss = 0.06 * torque / ratio
    return {
        "kind": "rv",
        "ratio": str(ratio),
        "rated_torque": f"{torque} N*m",
        "rated_speed": f"{15 * ratio} rpm",
        "average_torque": f"{torque} N*m",
        "repeated_peak_torque": text(2.5 * torque, "N*m"),
        "momentary_torque": text(5.0 * torque, "N*m"),
        "average_speed": text(0.6 * top * ratio, "rpm"),
        "max_speed": text(top * ratio, "rpm"),
        "life": "6000 h",
        "life_percentile": "L10",
        "efficiency": "86 %",
        "no_load_torque": idle(loss),
        "temperature_factors": "*grease",
        "torsion": {"k1": text(0.26 * torque, "N*m/arcmin")},
        "hysteresis": "1 arcmin",
        "transmission_error": [["1", "0.3 arcmin"]],
        "inertia": text(0.26 * (torque / 410.0) ** 1.6 * (121.0 / ratio) ** 2, "kg*cm^2"),
        "frame": text(190.0 * (torque / 410.0) ** 0.31, "mm"),
        "mass": text(4.7 * (torque / 170.0) ** 0.77, "kg"),
        "price_index": text(3.2 * (torque / 170.0) ** 0.5),
    }


def planetary(frame: int, ratio: int) -> dict[str, object]:
    """A planetary gear of one or two stages: torque and stiffness with f^3.2 and f^3, inertia with f^5."""
    f, stages = frame / 60.0, 1 if ratio <= 10 else 2
    torque = 25.0 * f**3.2 * (0.7 if ratio in (10,) else 1.0)
    top = 6000.0 * f**-0.35
    return {
        "kind": "planetary",
        "ratio": str(ratio),
        "rated_torque": text(torque, "N*m"),
        "rated_speed": text(0.5 * top, "rpm"),
        "average_torque": text(torque, "N*m"),
        "repeated_peak_torque": text(1.7 * torque, "N*m"),
        "momentary_torque": text(2.8 * torque, "N*m"),
        "average_speed": text(0.55 * top, "rpm"),
        "max_speed": text(top, "rpm"),
        "life": "20000 h",
        "life_percentile": "L10",
        "efficiency": "97 %" if stages == 1 else "94 %",
        "no_load_torque": idle((0.01 if stages == 1 else 0.015) * torque / ratio),
        "temperature_factors": "*grease",
        "torsion": {"k1": text(3.0 * f**3, "N*m/arcmin")},
        "backlash": "3 arcmin" if stages == 1 else "5 arcmin",
        "inertia": text(0.15 * f**5 * (1.0 if stages == 2 else (5.0 / ratio) ** 0.3), "kg*cm^2"),
        "frame": f"{frame} mm",
        "mass": text(1.4 * f**2.7 * (1.0 if stages == 1 else 1.2), "kg"),
        "price_index": text(0.9 * f**1.2 * (1.0 if stages == 1 else 1.25)),
    }


def belt(width: int, ratio: float) -> dict[str, object]:
    """A toothed belt of 5 mm pitch on a pulley of 24 teeth: force and stiffness proportional to its width."""
    small = 24 * 5e-3 / (2.0 * math.pi)  # m: radius of the motor's pulley
    force = 30.0 * (width / 1.0)  # N: 30 N per mm of width
    large = small * ratio
    J_small, J_large = (0.5 * math.pi * 2700.0 * width * 1.2e-3 * r**4 for r in (small, large))
    stiffness = 6e3 * width * large**2 / 0.2  # N m/rad: 6 kN per mm of width and unit strain, strand of 0.2 m
    mass = math.pi * 2700.0 * width * 1.2e-3 * (small**2 + large**2) + 0.004 * width * 0.6
    return {
        "kind": "belt",
        "ratio": f"{ratio:g}",
        "rated_torque": text(0.5 * force * large, "N*m"),
        "rated_speed": "3000 rpm",
        "average_torque": text(0.5 * force * large, "N*m"),
        "repeated_peak_torque": text(force * large, "N*m"),
        "momentary_torque": text(1.5 * force * large, "N*m"),
        "average_speed": "3000 rpm",
        "max_speed": "6000 rpm",
        "efficiency": "97 %",
        "torsion": {"k1": text(stiffness, "N*m/rad")},
        "inertia": text(1e4 * (J_small + J_large / ratio**2), "kg*cm^2"),
        "mass": text(mass, "kg"),
        "price_index": text(0.12 + 0.004 * width),
    }


def screw(diameter: int, lead: int) -> dict[str, object]:
    """A ball screw of 1 m: loads with d^1.3, stiffness with d, speed with 1/d (100 000 mm rpm)."""
    steel = 7850.0 * math.pi / 4.0 * (diameter * 1e-3) ** 2  # kg/m
    load = 10.0 * (diameter / 16.0) ** 1.3 * (lead / 5.0) ** 0.3
    return {
        "lead": f"{lead} mm",
        "diameter": f"{diameter} mm",
        "dynamic_load": text(load, "kN"),
        "static_load": text(1.6 * load, "kN"),
        "max_speed": text(100_000.0 / diameter, "rpm"),
        "efficiency": "90 %",
        "stiffness": text(15.0 * diameter, "N/um"),
        "inertia": text(1e4 * steel * (diameter * 1e-3) ** 2 / 8.0, "kg*cm^2"),
        "length": "1 m",
        "mass": text(steel + 0.2 * (diameter / 16.0) ** 2.5, "kg"),
        "price_index": text(0.9 * (diameter / 16.0) ** 1.1),
    }


def gears() -> dict[str, dict[str, object]]:
    """All generic gears and belts by name."""
    return {
        **{f"gsw-{size}-{n}": strain_wave(size, n) for size in STRAIN_WAVE for n in STRAIN_WAVE_RATIOS},
        **{f"grv-{torque}-{n}": rv(torque, n) for torque in RV for n in RV_RATIOS},
        **{f"gp-{frame}-{n}": planetary(frame, n) for frame in PLANETARY for n in PLANETARY_RATIOS},
        **{
            f"gb-{width}-{f'{n:g}'.replace('.', '_')}": belt(width, n) for width in BELTS for n in BELT_RATIOS
        },
    }


def screws() -> dict[str, dict[str, object]]:
    """All generic ball screws by name."""
    leads = {
        12: (4, 5, 10),
        16: (5, 10, 16),
        20: (5, 10, 20),
        25: (5, 10, 25),
        32: (5, 10, 20, 32),
        40: (10, 20, 40),
        50: (10, 20),
    }
    return {f"gs-{d}x{lead}": screw(d, lead) for d in SCREWS for lead in leads[d]}
