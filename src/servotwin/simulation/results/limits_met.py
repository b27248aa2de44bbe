"""What a run met and what it exceeded: intervals at limits, excesses with value and limit, lines for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from servotwin.control.servo.records import Saturation
from servotwin.description.display import ANGLE, FORCE, LENGTH, MOTOR_SPEED, MS, TORQUE
from servotwin.simulation.results.result import SATURATION

if TYPE_CHECKING:
    from servotwin.simulation.plant.machine import Machine

GIGA = 1e9  # ns in a second
# Limits of motor and joint that a run should keep, beside those that its loops enforce.
EXCEEDED = (Saturation.MOTOR_SPEED, Saturation.PEAK_TORQUE, Saturation.JOINT_SPEED, Saturation.EFFORT)
RMS = "rated torque exceeded"
FIELDS = {
    SATURATION[Saturation.MOTOR_SPEED]: "motor.max_speed",
    SATURATION[Saturation.PEAK_TORQUE]: "motor.peak_torque",
    SATURATION[Saturation.JOINT_SPEED]: "limits.speed",
    SATURATION[Saturation.EFFORT]: "limits.effort",
    RMS: "motor.rated_torque",
}
OF_JOINT = {SATURATION[kind] for kind in (Saturation.JOINT_SPEED, Saturation.EFFORT)}
REMARKABLE = 0.02  # change of the bus voltage, of its highest value, that is worth words
SHOWN = {"rad/s": MOTOR_SPEED, "N m": TORQUE, "m/s": LENGTH.rate(), "N": FORCE}


def saturation_intervals(log: Any) -> list[dict[str, Any]]:
    """When a motor met which limit, by its record; met again within 50 ms is one entry."""
    found = []
    for k, kind in enumerate(Saturation):
        for begin, end, times, active in log["spans"][k, : int(log["span_count"][k])].tolist():
            found.append(
                {
                    "kind": SATURATION[kind],
                    "from_s": begin / GIGA,
                    "to_s": end / GIGA,
                    "times": times,
                    "active_s": active / GIGA,
                }
            )
    return sorted(found, key=lambda entry: entry["from_s"])


def excesses(
    machine: Machine, j: int, sliding: bool, intervals: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Limits of motor j and its joint that the run exceeded: largest value, limit, unit, and when."""
    motor, joint = machine.motors[j], machine.stops[j]
    values = {
        Saturation.MOTOR_SPEED: (motor["w_peak"], motor["w_limit"], "rad/s"),
        Saturation.PEAK_TORQUE: (motor["tau_mean_peak"], motor["tau_limit"], "N m"),
        Saturation.JOINT_SPEED: (joint["speed_peak"], joint["speed_limit"], "m/s" if sliding else "rad/s"),
        Saturation.EFFORT: (joint["effort_peak"], joint["effort_limit"], "N" if sliding else "N m"),
    }
    found = []
    for kind, (value, limit, unit) in values.items():
        entries = [entry for entry in intervals if entry["kind"] == SATURATION[kind]]
        if entries:
            excess = {"kind": SATURATION[kind], "value": float(value), "limit": float(limit), "unit": unit}
            found.append(excess | totals(entries))
    return found


def excess_of_rms(rms: float, rated: float | None, duration: float) -> list[dict[str, Any]]:
    """The RMS torque [N m] of a run as an excess over the rated torque, if it is one."""
    if not rated or not rms > rated:
        return []
    whole = {"from_s": 0.0, "to_s": duration, "times": 1, "active_s": duration}
    return [{"kind": RMS, "value": rms, "limit": rated, "unit": "N m", **whole}]


def totals(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """First and last instant, times and time in all of the intervals of one limit."""
    return {
        "from_s": entries[0]["from_s"],
        "to_s": entries[-1]["to_s"],
        "times": sum(entry["times"] for entry in entries),
        "active_s": sum(entry["active_s"] for entry in entries),
    }


def limit_warnings(axes: Sequence[dict[str, Any]]) -> list[str]:
    """One line for every limit that a motor ran into."""
    quiet = {SATURATION[kind] for kind in (Saturation.STUCK, *EXCEEDED)}
    lines = []
    for axis in axes:
        kinds: dict[str, list[dict[str, Any]]] = {}
        for entry in axis["saturation"]:
            if entry["kind"] not in quiet:
                kinds.setdefault(entry["kind"], []).append(entry)
        lines += [f"motor {axis['motor']}: {kind} {when(totals(entries))}" for kind, entries in kinds.items()]
    return lines


def excess_warnings(axes: Sequence[dict[str, Any]]) -> list[str]:
    """One line for every limit of motor or joint that the run exceeded."""
    lines = []
    for axis in axes:
        for entry in axis["exceeded"]:
            where = f"joint {axis['joint']}" if entry["kind"] in OF_JOINT else f"motor {axis['motor']}"
            lines.append(f"{where}: {excess_size(entry)}, {excess_time(entry)}")
        limit, hottest = axis["temperature_limit_degC"], axis["peak_winding_temperature_degC"]
        if limit is not None and hottest > limit:
            lines.append(
                f"motor {axis['motor']}: winding at {hottest:.0f} degC, above its limit of {limit:.0f} degC"
            )
    return lines


def excess_size(entry: dict[str, Any]) -> str:
    """By how much a limit was exceeded: '3334 rpm, 167 % of motor.max_speed (2000 rpm)'."""
    factor, unit = SHOWN[entry["unit"]]
    if entry["kind"] in OF_JOINT and entry["unit"] == "rad/s":
        factor, unit = ANGLE.rate()
    value, limit = factor * entry["value"], factor * entry["limit"]
    word = "RMS torque " if entry["kind"] == RMS else ""
    share = f"{100.0 * value / limit:.0f} % of {FIELDS[entry['kind']]}"
    return f"{word}{value:.4g} {unit}, {share} ({limit:.4g} {unit})"


def excess_time(entry: dict[str, Any]) -> str:
    """When that was, in words."""
    if entry["kind"] == RMS:
        return f"over the {entry['active_s']:.4g} s of the run: too hot if it is repeated without a pause"
    return when(entry)


def when(entry: dict[str, Any]) -> str:
    """How long, how often and when: 'for 70 ms in all, 21 times, between 0.1 s and 0.65 s'."""
    total, often = entry["active_s"], f", {entry['times']} times" if entry["times"] > 1 else ""
    long = f"{total:.3g} s" if total >= 1.0 else f"{MS * total:.3g} ms"
    return f"for {long} in all{often}, between {entry['from_s']:.4g} s and {entry['to_s']:.4g} s"


def bus_summary(machine: Machine, resistor_energy: float, duration: float) -> dict[str, Any] | None:
    """Extremes of the bus, power of the braking resistor, and times above the highest voltage."""
    power = machine.power[0]
    if math.isinf(power["u_limit"]):  # a robot of ideal motors without a supply has no bus
        return None
    R = float(power["R_brake"])
    over = None
    if power["over_times"]:
        over = {
            "from_s": int(power["over_from"]) / GIGA,
            "to_s": int(power["over_to"]) / GIGA,
            "times": int(power["over_times"]),
            "active_s": int(power["over_ns"]) / GIGA,
        }
    return {
        "voltage_min_V": float(power["u_low"]),
        "voltage_max_V": float(power["u_high"]),
        "voltage_limit_V": float(power["u_limit"]),
        "overvoltage": over,
        "brake_resistor_peak_W": float(power["u_braking"]) ** 2 / R if R > 0.0 else None,
        "brake_resistor_mean_W": resistor_energy / duration if R > 0.0 and duration > 0.0 else None,
    }


def bus_warnings(bus: dict[str, Any] | None, limit_from: str) -> list[str]:
    """One line if the bus exceeded its highest voltage; ``limit_from`` says what that is."""
    if bus is None or bus["overvoltage"] is None:
        return []
    text = (
        f"bus: {bus['voltage_max_V']:.4g} V, above {limit_from}, {bus['voltage_limit_V']:.4g} V, "
        f"{when(bus['overvoltage'])}"
    )
    if bus["brake_resistor_peak_W"]:
        text += f"; the braking resistor took {bus['brake_resistor_peak_W']:.4g} W at most"
    return [text]


def bus_words(bus: dict[str, Any] | None) -> str:
    """Extremes of the bus and of its resistor in words; empty if its voltage hardly moved."""
    if not bus or bus["voltage_max_V"] - bus["voltage_min_V"] < REMARKABLE * bus["voltage_max_V"]:
        return ""
    text = f"bus voltage: {bus['voltage_min_V']:.4g} V to {bus['voltage_max_V']:.4g} V"
    peak, mean = bus["brake_resistor_peak_W"], bus["brake_resistor_mean_W"]
    return f"{text}; braking resistor {peak:.4g} W at most, {mean:.3g} W in the mean" if peak else text
