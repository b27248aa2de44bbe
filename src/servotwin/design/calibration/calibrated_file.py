"""The calibrated robot as a file: the drawing with its deviations, and where they come from.

Placements, offsets, scales and harmonics are deviations; compliance is the stiffness of a gear, whose twist under the
weight the controller takes out of its references (``controller.feedforward.gravity_twist``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.description.drive_data import drives_of, gear_stiffens
from servotwin.description.load import description_from
from servotwin.description.overrides import parse_overrides, set_override
from servotwin.description.schema import RobotDescription
from servotwin.description.write import yaml_text
from servotwin.design.calibration.calibration_result import Calibration
from servotwin.design.calibration.parameters import Kind, Parameter
from servotwin.design.calibration.validation import Errors

MILLI = 1e3


def calibrated_text(found: Calibration) -> str | None:
    """The text of the file; None if the robot was made in Python and has no file."""
    description = found.description
    tree = description.tree if description is not None else None
    if description is None or tree is None:
        return None
    for override in parse_overrides(calibrated_fields(found, description)):
        tree = set_override(tree, override)
    return yaml_text(description_from(tree))


def source_of(found: Calibration) -> str:
    """Where the numbers come from, for ``source:``."""
    held = found.held_out
    text = f"calibrated from {found.measured.units} measured {found.measured.words}"
    if len(found.held_out_units):
        text += (
            f" - error held out {MILLI * Errors.rms(held.before):.4f} mm before and "
            f"{MILLI * Errors.rms(held.after):.4f} mm after"
        )
    return text


def calibrated_fields(found: Calibration, description: RobotDescription) -> dict[str, str]:
    """Fields of the robot file and their texts; deviations that the file had are gone, they were found anew."""
    source = source_of(found)
    fields = dict.fromkeys(_stated(description), "null")
    deviations = found.model.deviations(found.estimate.theta)
    for axis, harmonics in _harmonics(found, description).items():
        deviations.setdefault(axis, {})["harmonics"] = harmonics
    sides = _sides(description)
    for place, deviation in deviations.items():
        sliding = place in description.axes and description.axes[place].prismatic
        parts = [f"{key}: {_text(key, value, sliding)}" for key, value in deviation.items() if np.any(value)]
        if parts:
            fields[f"{_at(place, sides)}.deviation"] = f"{{{', '.join(parts)}, source: '{source}'}}"
    return fields | _stiffness(found, description, source)


def _sides(description: RobotDescription) -> dict[str, str]:
    return {
        f"{loop.name}.{side}": f"loops.{k}.between.{'ab'.index(side)}"
        for k, loop in enumerate(description.loops)
        for side in "ab"
    }


def _at(place: str, sides: dict[str, str]) -> str:
    return sides.get(place, place if place in ("tool", "base") else f"axes.{place}")


def _stated(description: RobotDescription) -> list[str]:
    """Fields of the deviations that a file has already."""
    parts: dict[str, Any] = {f"axes.{name}": axis for name, axis in description.axes.items()}
    parts |= {"tool": description.tool, "base": description.base}
    for k, loop in enumerate(description.loops):
        parts |= {f"loops.{k}.between.{i}": frame for i, frame in enumerate(loop.between)}
    return [
        f"{at}.deviation"
        for at, part in parts.items()
        if part is not None and getattr(part, "deviation", None) is not None
    ]


def owner_of(description: RobotDescription, p: Parameter) -> str:
    """The axis whose gear or encoder a parameter is of."""
    drives = drives_of(description)
    return drives[p.index].owner if len(drives) == len(description.joint_names) else p.place


def _harmonics(found: Calibration, description: RobotDescription) -> dict[str, list[list[float]]]:
    """By axis: order per turn, amplitude and phase of a sin + b (cos - 1)."""
    waves: dict[tuple[str, int], complex] = {}
    for value, p in zip(found.estimate.theta, found.model.parameters, strict=True):
        if p.kind in (Kind.SINE, Kind.COSINE):
            key = (owner_of(description, p), p.order)
            waves[key] = waves.get(key, 0.0) + complex(value) * (1.0 if p.kind is Kind.SINE else 1j)
    out: dict[str, list[list[float]]] = {}
    for (axis, order), wave in waves.items():
        if wave:
            out.setdefault(axis, []).append([order, abs(wave), float(np.angle(wave))])
    return out


def _stiffness(found: Calibration, description: RobotDescription, source: str) -> dict[str, str]:
    """Gears that give way as found, and a controller that counts with it."""
    fields: dict[str, str] = {}
    for k in found.estimate.chosen:
        p, value = found.model.parameters[k], found.model.value(found.estimate.theta, k)
        if p.kind is not Kind.COMPLIANCE:
            continue
        axis = owner_of(description, p)
        unit = "N/m" if description.axes[axis].prismatic else "N*m/rad"
        fields[f"axes.{axis}.gear.stiffness"] = f"{{value: {1.0 / value!r} {unit}, source: '{source}'}}"
        if gear_stiffens(description, axis):
            fields[f"axes.{axis}.gear.stiffening"] = "null"
    control = description.controller
    if fields and control is not None and not control.feedforward.twist:
        fields["controller.feedforward.gravity_twist"] = "1"
    return fields


def _text(key: str, value: Any, sliding: bool) -> str:
    if key == "position":
        return f"[{', '.join(f'{float(v)!r} m' for v in value)}]"
    if key == "rotation":
        return f"[{', '.join(f'{float(v)!r} rad' for v in value)}]"
    if key == "offset":
        return f"{float(value)!r} {'m' if sliding else 'rad'}"
    if key == "harmonics":
        return f"[{', '.join(f'[{int(o)}, {a!r} rad, {phase!r} rad]' for o, a, phase in value)}]"
    return repr(float(value))
