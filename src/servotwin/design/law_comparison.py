"""Independent joints, computed torque and state feedback on one scenario: tracking error, current, energy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from servotwin.description.drive_data import drives_of
from servotwin.description.placed import override_mapping
from servotwin.errors import InputError, SimulationError
from servotwin.mechanism.model import Array
from servotwin.simulation.results.result import Result, joint_signal
from servotwin.simulation.run import simulate
from servotwin.simulation.scenario.scenario import Scenario, read_scenario

# By name: fields of the controller. Loops of closed chains compute without the model of the robot.
LAWS: dict[str, dict[str, str]] = {
    "cascade": {"law": "cascade"},
    "cascade with feed-forward": {
        "law": "cascade",
        "feedforward.velocity": "1",
        "feedforward.acceleration": "0",
        "feedforward.torque": "1",
        "feedforward.gravity": "0",
    },
    "computed torque": {"law": "computed-torque"},
    "state feedback with feed-forward": {
        "law": "state-feedback",
        "state_feedback.plant": "coupled",
        "feedforward.acceleration": "0",
        "feedforward.torque": "1",
        "feedforward.gravity": "0",
    },
    "state feedback, coupled": {"law": "state-feedback", "state_feedback.plant": "coupled"},
    "state feedback, separate": {"law": "state-feedback", "state_feedback.plant": "separate"},
}
OF_MODEL = ("cascade with feed-forward", "computed torque", "state feedback with feed-forward")


@dataclass(frozen=True)
class AxisNumbers:
    """How one axis did: errors of the joint [rad, m], currents of its motor [A]; None without a torque constant."""

    joint: str
    unit: str
    error_rms: float
    error_max: float
    current_peak: float | None
    current_rms: float | None


@dataclass(frozen=True)
class LawRun:
    """A scenario under one law; ``failure`` says why there is no result."""

    law: str
    axes: tuple[AxisNumbers, ...] = ()
    tip_error: float = 0.0  # largest [m]
    source_energy: float = 0.0  # [J]
    copper_energy: float = 0.0  # [J]
    saturated: float = 0.0  # time of all motors at their current limit [s]
    t: Array | None = None
    errors: Array | None = None  # (k, n) joint errors
    warnings: tuple[str, ...] = ()
    failure: str = ""

    def data(self) -> dict[str, Any]:
        """As plain data in SI units."""
        return {
            "law": self.law,
            "failure": self.failure or None,
            "tip_error_max_m": self.tip_error,
            "source_energy_J": self.source_energy,
            "copper_energy_J": self.copper_energy,
            "at_current_limit_s": self.saturated,
            "axes": [vars(axis) for axis in self.axes],
            "warnings": list(self.warnings),
        }


def compare_laws(
    scenario: str | PathLike[str],
    overrides: Mapping[str, str | None] | None = None,
    *,
    feedback: Mapping[str, str] | None = None,
    progress: Callable[[str], None] = lambda law: None,
) -> list[LawRun]:
    """Run a scenario under every law; ``feedback`` changes fields of ``controller.state_feedback``.

    The same motion, the same robot in truth, the same seed: only the law changes.
    """
    base = override_mapping(overrides)
    first = read_scenario(scenario, base)
    if first.law is not None:
        raise InputError("the scenario has a law of its own; expected one without", file=str(scenario))
    out, left_out = [], _left_out(first)
    for name, fields in LAWS.items():
        if name in left_out:
            continue
        progress(name)
        own = {f"state_feedback.{k}": v for k, v in (feedback or {}).items()}
        chosen = {**own, **fields} if "state feedback" in name else fields
        changes = base | {f"set.controller.{field}": value for field, value in chosen.items()}
        out.append(_run(name, read_scenario(scenario, changes)))
    return out


def _left_out(scenario: Scenario) -> tuple[str, ...]:
    """Laws that do not go with a robot: those of its model for closed chains, computed torque for servovalves."""
    if scenario.description.loops:
        return OF_MODEL
    valves = any(drive.actuator.valve for drive in drives_of(scenario.description))
    return ("computed torque",) if valves else ()


def _run(name: str, scenario: Scenario) -> LawRun:
    """A run under one law; one that the user interrupts ends the whole comparison."""
    try:
        result = simulate(scenario)
    except SimulationError as error:
        return LawRun(name, failure=str(error))
    if not result.complete:
        raise KeyboardInterrupt
    return numbers_of(name, result)


def numbers_of(name: str, result: Result) -> LawRun:
    """What is compared of a run."""
    signals, summary = result.signals, result.summary
    axes, errors = [], []
    by_joint = {axis["joint"]: axis for axis in summary["axes"]}
    for joint, slides in zip(result.joints, result.prismatic, strict=True):
        wanted = signals[joint_signal(joint, "position", prismatic=slides, reference=True)]
        error = wanted - signals[joint_signal(joint, "position", prismatic=slides)]
        errors.append(error)
        found = by_joint.get(joint, {})
        axes.append(
            AxisNumbers(
                joint,
                "m" if slides else "rad",
                float(np.sqrt(np.mean(error**2))),
                float(np.abs(error).max()),
                found.get("peak_current_A"),
                found.get("rms_current_A"),
            )
        )
    limits = [s for axis in summary["axes"] for s in axis["saturation"] if s["kind"] == "current limit"]
    return LawRun(
        name,
        tuple(axes),
        summary["tip_error_max_m"],
        summary["energy"]["source_J"],
        summary["energy"]["copper_J"],
        sum(s["active_s"] for s in limits),
        signals["time_s"],
        np.array(errors).T,
        tuple(summary["warnings"]),
    )
