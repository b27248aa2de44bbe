"""Servovalves, cylinders, hydraulic motors and their supply in the words of ``servotwin info``."""

from __future__ import annotations

import math
from typing import Any

from servotwin.cli.output import number
from servotwin.description.display import BAR, LITRES_PER_MINUTE, PERCENT

CM2, CM3, LITRES, MA = 1e4, 1e6, 1e3, 1e3


def hydraulic_lines(axis: dict[str, Any]) -> list[str]:
    """Valve and cylinder or motor of an axis, a line each; none for other axes."""
    motor, lines = axis.get("motor", {}), []
    if "valve" in motor:
        valve = motor["valve"]
        flow, drop = valve["rated_flow_m3_per_s"], valve["rated_drop_Pa"]
        leak = valve["null_leakage_m3_per_s"]
        lines.append(
            f"{axis['name']}: servovalve {_flow(flow)} at {_bar(drop)} and {number(MA * valve['rated_current_A'])} mA, "
            f"{number(valve['natural_frequency_Hz'])} Hz, damping {number(valve['damping'])}"
            + (f", leaks {_flow(leak)} at null" if leak else "")
        )
    if "cylinder" in motor:
        cylinder = motor["cylinder"]
        area = cylinder["area_m2"]
        rod = cylinder.get("rod_side_area_m2", area)
        lines.append(
            f"{axis['name']}: cylinder {number(CM2 * area)} cm2 forward, {number(CM2 * rod)} cm2 backward, "
            f"dead volume {number(CM3 * cylinder['dead_volume_m3'])} cm3{_seals(cylinder)}"
        )
    if "hydraulic_motor" in motor:
        rotary = motor["hydraulic_motor"]
        per_turn = 2.0 * math.pi * CM3 * rotary["displacement_m3_per_rad"]
        lines.append(
            f"{axis['name']}: hydraulic motor {number(per_turn)} cm3 per turn, "
            f"dead volume {number(CM3 * rotary['dead_volume_m3'])} cm3{_seals(rotary)}"
        )
    return lines


def supply_words(oil: dict[str, Any]) -> str:
    """Pressure, pump, relief valve, accumulator and line."""
    parts = [_bar(oil["supply_pressure_Pa"]) + (" counted on" if "pump" in oil else ", constant")]
    if oil["tank_pressure_Pa"]:
        parts.append(f"tank {_bar(oil['tank_pressure_Pa'])}")
    if "pump" in oil:
        pump = oil["pump"]
        parts.append(
            f"pump {_flow(pump['flow_m3_per_s'])}, efficiency {number(PERCENT * pump['efficiency'])} %"
        )
    if "relief" in oil:
        relief = oil["relief"]
        parts.append(
            f"relief from {_bar(relief['pressure_Pa'])}, {_flow(relief['flow_m3_per_s'])} "
            f"{_bar(relief['override_Pa'])} above"
        )
    if "accumulator" in oil:
        gas = oil["accumulator"]
        parts.append(
            f"accumulator {number(LITRES * gas['volume_m3'])} L charged to {_bar(gas['precharge_Pa'])}"
        )
    if "line_volume_m3" in oil:
        parts.append(f"line {number(LITRES * oil['line_volume_m3'])} L")
    return "; ".join(parts)


def _seals(part: dict[str, Any]) -> str:
    share = part.get("seal_friction", 0.0)
    return f", seals take {number(PERCENT * share)} % of the pressures" if share else ""


def _bar(pressure: float) -> str:
    return f"{number(BAR * pressure)} bar"


def _flow(flow: float) -> str:
    return f"{number(LITRES_PER_MINUTE * flow)} L/min"
