"""The numbers of a run that people ask for first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from servotwin.control.servo.records import Law, Level
from servotwin.description.drive_data import drives_of
from servotwin.description.schema import RobotDescription
from servotwin.drives.kind import Feed
from servotwin.mechanism.model import Array
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.rates import SQUARE
from servotwin.simulation.results.limits_met import excess_of_rms, excesses, saturation_intervals
from servotwin.simulation.results.motion_log import MotionLog
from servotwin.simulation.results.result import RunEvent
from servotwin.simulation.results.signals import pistons

BAND = 5e-5  # m: the tool has settled once it stays this close to its target (Lee 1989: 0.05 mm)
JOINT_BAND = {"rad": 5e-4, "m": BAND}  # the same of a joint
MOST_EVENTS = 500
LAW_NAMES = {
    Law.CASCADE: "cascade",
    Law.COMPUTED_TORQUE: "computed-torque",
    Law.STATE_FEEDBACK: "state-feedback",
    Law.EXTERNAL: "own",
    Law.COMPILED: "own",
}


def axis_summaries(
    machine: Machine,
    description: RobotDescription,
    log: MotionLog,
    joints: Sequence[str],
    prismatic: Sequence[bool],
    motors: Sequence[str],
    duration: float,
    arrival: float,
) -> list[dict[str, Any]]:
    """Torques, speeds, currents, temperatures, errors, saturation and excesses of every axis.

    ``arrival`` [s]: when the last move has reached its target.
    """
    found = []
    sliding = pistons(machine)
    for j, (motor, drive) in enumerate(zip(motors, drives_of(description), strict=True)):
        ratings, thermal, record = drive.ratings, drive.thermal, machine.motors[j]
        K = float(record["K"])
        square = float(machine.world["state"]["z"][0, SQUARE * len(motors) + j])
        phases = 1.5 if record["feed"] == Feed.THREE_PHASE else 1.0
        rms = math.sqrt(max(square, 0.0) / phases / duration) if duration > 0 else 0.0
        rms_torque = K * rms
        if (
            record["feed"] == Feed.COMMAND and duration > 0
        ):  # it has no winding whose current could be squared
            rms_torque = math.sqrt(float(record["torque_square"]) / duration)
            rms = rms if j in machine.own else rms_torque / K  # the current of an own actuator is its command
        amperes = bool(record["has_constant"])  # without a torque constant nobody knows the current
        # within the current of the driver, as the controller limits it
        by_current = math.inf if record["valve"] else K * float(machine.axes["i_max"][j])
        peak = min(by_current, ratings.torque_limit)
        intervals = saturation_intervals(machine.logs[j])
        found.append(
            {
                "motor": motor,
                "joint": joints[j],
                "hydraulic": bool(record["valve"]),
                "law": LAW_NAMES[Law(int(machine.axes["law"][j]))],
                "level": Level(int(machine.axes["level"][j])).name.lower(),
                **by_quantity(
                    {
                        "peak_torque_N_m": float(record["tau_peak"]),
                        "peak_torque_mean_N_m": float(record["tau_mean_peak"]),
                        "rms_torque_N_m": rms_torque,
                        "rated_torque_N_m": ratings.rated_torque,
                        "peak_rating_N_m": peak if math.isfinite(peak) else None,
                        "peak_speed_rad_per_s": float(record["w_peak"]),
                        "rated_speed_rad_per_s": ratings.rated_speed,
                        "max_speed_rad_per_s": ratings.max_speed,
                    },
                    piston=sliding[j],
                ),
                "peak_current_A": float(record["i_peak"]) if amperes else None,
                "rms_current_A": rms if amperes else None,
                # without thermal data nobody knows the temperature
                "peak_winding_temperature_degC": float(record["T_peak"]) if thermal is not None else None,
                "temperature_limit_degC": thermal.limit if thermal is not None else None,
                **joint_errors(log, j, prismatic[j], arrival),
                "joint_peak_speed": float(machine.stops["speed_peak"][j]),
                "joint_peak_speed_unit": "m/s" if prismatic[j] else "rad/s",
                "saturation": intervals,
                "exceeded": [
                    *excesses(machine, j, prismatic[j], intervals),
                    *excess_of_rms(rms_torque, ratings.rated_torque, duration),
                ],
            }
        )
    return found


def by_quantity(numbers: Mapping[str, Any], *, piston: bool) -> dict[str, Any]:
    """Numbers of a shaft under names of torque and angle; those of a piston under names of force and travel."""
    if not piston:
        return dict(numbers)
    words = (("torque", "force"), ("_N_m", "_N"), ("rad_per_s", "m_per_s"))
    out = {}
    for name, value in numbers.items():
        own = name
        for rotary, sliding in words:
            own = own.replace(rotary, sliding)
        out[own] = value
    return out


def mixed_commands(axes: Sequence[dict[str, Any]]) -> str:
    """What the servo drivers of a run take, where they do not all take the same; else empty."""
    groups: dict[tuple[str, str], list[str]] = {}
    for axis in axes:
        groups.setdefault((axis.get("law", ""), axis.get("level", "")), []).append(axis.get("motor", ""))
    if len(groups) < 2:
        return ""
    return "; ".join(
        f"{', '.join(motors)}: {'law of your own' if law == 'own' else law}, {level} command"
        for (law, level), motors in groups.items()
    )


def joint_errors(log: MotionLog, i: int, sliding: bool, arrival: float) -> dict[str, Any]:
    """Following errors of joint i with their unit, and how long it took to settle after the last arrival."""
    error, unit = log.q[:, i] - log.q_ref[:, i], "m" if sliding else "rad"
    return {
        "joint_error_final": float(error[-1]) if len(error) else None,
        "joint_error_max": float(np.abs(error).max()) if len(error) else None,
        "joint_error_unit": unit,
        "joint_settling_s": settling_time(log.time, np.abs(error), JOINT_BAND[unit], arrival),
        "joint_settling_band": JOINT_BAND[unit],
    }


def events_of(
    axes: Sequence[dict[str, Any]], faults: Sequence[tuple[float, str, str]]
) -> tuple[RunEvent, ...]:
    """Faults, and the first instant of every saturation, in order."""
    found = [RunEvent(time, axis, what) for time, axis, what in faults]
    for axis in axes:
        found += [RunEvent(entry["from_s"], axis["motor"], entry["kind"]) for entry in axis["saturation"]]
    return tuple(sorted(found, key=lambda event: event.time_s)[:MOST_EVENTS])


def settling_time(t: Array, error: Array, band: float, arrival: float) -> float | None:
    """Time [s] from ``arrival`` until an error stays within its band, linear between the instants ``t``.

    None if they end before.
    """
    if not len(t) or float(t[-1]) < arrival:  # ended on the way
        return None
    outside = np.flatnonzero(error > band)
    if not len(outside):
        return 0.0
    k = int(outside[-1])
    if k + 1 == len(t):
        return None
    before, after = float(error[k]), float(error[k + 1])
    settled = float(t[k]) + (before - band) / (before - after) * float(t[k + 1] - t[k])
    return max(settled - arrival, 0.0)


def tip_errors(log: MotionLog, arrival: float) -> dict[str, Any]:
    """Error of the tool at the end and at most, and how long it took to settle after the last arrival [s]."""
    error = log.tip_error
    if not len(error):
        return {
            "tip_error_final_m": None,
            "tip_error_max_m": None,
            "settling_s": None,
            "settling_band_m": BAND,
        }
    return {
        "tip_error_final_m": float(error[-1]),
        "tip_error_max_m": float(error.max()),
        "tip_error_across_max_m": float(log.across.max()),
        "settling_s": settling_time(log.time, error, BAND, arrival),
        "settling_band_m": BAND,
    }
