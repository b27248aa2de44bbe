"""The numbers of a run that people ask for first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from servotwin.control.records import Saturation
from servotwin.description.motors import owners
from servotwin.description.schema import RobotDescription
from servotwin.drives.records import Kind
from servotwin.mechanism.model import Array
from servotwin.simulation.machine import Machine
from servotwin.simulation.plant import SQUARE
from servotwin.simulation.result import SATURATION, Event, joint_signal
from servotwin.simulation.signals import Reference

BAND = 5e-5  # m: the tool has settled once it stays this close to its target (Lee 1989: 0.05 mm)
AGAIN = 0.05  # s: a limit that is met again sooner is told as one
MOST_EVENTS = 500


def axis_summaries(
    machine: Machine,
    description: RobotDescription,
    signals: dict[str, Array],
    joints: Sequence[str],
    prismatic: Sequence[bool],
    motors: Sequence[str],
    duration: float,
) -> list[dict[str, Any]]:
    """Torques, speeds, currents, temperatures, errors and saturation of every axis."""
    found = []
    for j, (motor, owner) in enumerate(zip(motors, owners(description), strict=True)):
        data, record = description.axes[owner].motor, machine.motors[j]
        if data is None:
            continue
        K = float(record["K"])
        torque = signals[f"motor_{motor}_torque_N_m"]
        square = float(machine.world["z"][0, SQUARE * len(motors) + j])
        phases = 1.5 if record["kind"] == Kind.PMSM else 1.0
        rms = math.sqrt(max(square, 0.0) / phases / duration) if duration > 0 else 0.0
        ideal = record["kind"] == Kind.IDEAL
        rms_torque = float(np.sqrt(np.mean(torque**2))) if ideal and len(torque) else K * rms
        rms = rms_torque / K if ideal else rms
        amperes = bool(record["has_constant"])  # without a torque constant nobody knows the current
        # within the current of the driver, as the controller limits it
        peak = min(K * float(machine.axes["i_max"][j]), data.peak_torque or math.inf)
        found.append(
            {
                "motor": motor,
                "joint": joints[j],
                "peak_torque_N_m": float(record["tau_peak"]),
                "peak_torque_mean_N_m": float(record["tau_mean_peak"]),
                "rms_torque_N_m": rms_torque,
                "rated_torque_N_m": data.rated_torque,
                "peak_rating_N_m": peak if math.isfinite(peak) else None,
                "peak_speed_rad_per_s": float(record["w_peak"]),
                "rated_speed_rad_per_s": data.rated_speed,
                "peak_current_A": float(record["i_peak"]) if amperes else None,
                "rms_current_A": rms if amperes else None,
                "peak_winding_temperature_degC": float(record["T_peak"]),
                "temperature_limit_degC": data.thermal.limit if data.thermal is not None else None,
                **joint_errors(signals, joints[j], prismatic[j]),
                "saturation": saturation_intervals(signals, motor),
            }
        )
    return found


def joint_errors(signals: dict[str, Array], joint: str, sliding: bool) -> dict[str, Any]:
    """Following errors and peak speed of a joint, with their unit."""
    q = signals[joint_signal(joint, "position", prismatic=sliding)]
    wanted = signals[joint_signal(joint, "position", prismatic=sliding, reference=True)]
    qd = signals[joint_signal(joint, "velocity", prismatic=sliding)]
    error = q - wanted
    return {
        "joint_error_final": float(error[-1]) if len(error) else None,
        "joint_error_max": float(np.abs(error).max()) if len(error) else None,
        "joint_error_unit": "m" if sliding else "rad",
        "joint_peak_speed": float(np.abs(qd).max()) if len(qd) else None,
        "joint_peak_speed_unit": "m/s" if sliding else "rad/s",
    }


def saturation_intervals(signals: dict[str, Array], motor: str) -> list[dict[str, Any]]:
    """When which limit was active; what comes back within ``AGAIN`` is one interval with the ``times`` it came.

    ``active_s`` is the time at the limit, without the pauses between.
    """
    t, word = signals["time_s"], signals[f"motor_{motor}_saturation"].astype(np.int64)
    found: list[dict[str, Any]] = []
    for bit, kind in SATURATION.items():
        last_of_kind: dict[str, Any] | None = None
        active = np.concatenate([[False], (word & bit) != 0, [False]])
        edges = np.flatnonzero(active[1:] != active[:-1])
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            begin, end = float(t[first - 1]) if first > 0 else 0.0, float(t[last - 1])
            if last_of_kind is not None and begin - last_of_kind["to_s"] < AGAIN:
                last_of_kind["to_s"] = end
                last_of_kind["times"] += 1
                last_of_kind["active_s"] += end - begin
                continue
            last_of_kind = {"kind": kind, "from_s": begin, "to_s": end, "times": 1, "active_s": end - begin}
            found.append(last_of_kind)
    return sorted(found, key=lambda entry: entry["from_s"])


def events_of(axes: Sequence[dict[str, Any]], faults: Sequence[tuple[float, str, str]]) -> tuple[Event, ...]:
    """Faults, and the first instant of every saturation, in order."""
    found = [Event(time, axis, what) for time, axis, what in faults]
    for axis in axes:
        found += [Event(entry["from_s"], axis["motor"], entry["kind"]) for entry in axis["saturation"]]
    return tuple(sorted(found, key=lambda event: event.time_s)[:MOST_EVENTS])


def tip_errors(signals: dict[str, Array], reference: Reference) -> dict[str, Any]:
    """Error of the tool at the end and at most, and how long it took to settle after the last arrival."""
    t = signals["time_s"]
    if not len(t):
        return {
            "tip_error_final_m": None,
            "tip_error_max_m": None,
            "settling_s": None,
            "settling_band_m": BAND,
        }
    error = np.sqrt(sum((signals[f"tip_{a}_m"] - signals[f"tip_ref_{a}_m"]) ** 2 for a in "xyz"))
    outside = np.flatnonzero(error > BAND)
    settled = None
    arrival = float(reference.arrivals[-1])
    if float(t[-1]) < arrival:  # ended on the way
        settled = None
    elif not len(outside):
        settled = 0.0
    elif outside[-1] + 1 < len(t):
        settled = max(float(t[outside[-1] + 1]) - arrival, 0.0)
    return {
        "tip_error_final_m": float(error[-1]),
        "tip_error_max_m": float(error.max()),
        "tip_error_across_max_m": float(signals["tip_error_across_m"].max()),
        "settling_s": settled,
        "settling_band_m": BAND,
    }


def saturation_warnings(axes: Sequence[dict[str, Any]]) -> list[str]:
    """One line for every limit that a motor ran into."""
    lines = []
    for axis in axes:
        kinds: dict[str, list[dict[str, Any]]] = {}
        for entry in axis["saturation"]:
            if entry["kind"] != SATURATION[Saturation.STUCK]:
                kinds.setdefault(entry["kind"], []).append(entry)
        for kind, entries in kinds.items():
            total = sum(entry["active_s"] for entry in entries)
            times = sum(entry["times"] for entry in entries)
            often = f", {times} times" if times > 1 else ""
            long = f"{total:.3g} s" if total >= 1.0 else f"{1e3 * total:.3g} ms"
            lines.append(
                f"motor {axis['motor']}: {kind} for {long} in all{often}, between "
                f"{entries[0]['from_s']:.4g} s and {entries[-1]['to_s']:.4g} s"
            )
        limit = axis["temperature_limit_degC"]
        if limit is not None and axis["peak_winding_temperature_degC"] > limit:
            lines.append(
                f"motor {axis['motor']}: winding at {axis['peak_winding_temperature_degC']:.0f} degC, above its limit "
                f"of {limit:.0f} degC"
            )
    return lines
