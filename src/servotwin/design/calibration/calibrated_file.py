"""The calibrated robot as a file: the drawing with its deviations, and where they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.description.load import description_from
from servotwin.description.overrides import parse_overrides, set_override
from servotwin.description.schema import RobotDescription
from servotwin.description.write import yaml_text
from servotwin.design.calibration.calibrate import Calibration, Errors

MILLI = 1e3


def calibrated_text(found: Calibration) -> str | None:
    """The text of the file; None if the robot was made in Python and has no file."""
    description = found.description
    tree = description.tree if description is not None else None
    if description is None or tree is None:
        return None
    for override in parse_overrides(deviation_fields(found, description)):
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


def deviation_fields(found: Calibration, description: RobotDescription) -> dict[str, str]:
    """Fields of the robot file and their texts."""
    source = source_of(found)
    sides = {
        f"{loop.name}.{side}": f"loops.{k}.between.{'ab'.index(side)}"
        for k, loop in enumerate(description.loops)
        for side in "ab"
    }
    fields: dict[str, str] = {}
    for place, deviation in found.model.deviations(found.estimate.theta).items():
        at = sides.get(place, place if place in ("tool", "base") else f"axes.{place}")
        sliding = place in description.axes and description.axes[place].prismatic
        parts = [f"{key}: {_text(key, value, sliding)}" for key, value in deviation.items() if np.any(value)]
        if parts:
            fields[f"{at}.deviation"] = f"{{{', '.join(parts)}, source: '{source}'}}"
    return fields


def _text(key: str, value: Any, sliding: bool) -> str:
    if key == "position":
        return f"[{', '.join(f'{float(v)!r} m' for v in value)}]"
    if key == "rotation":
        return f"[{', '.join(f'{float(v)!r} rad' for v in value)}]"
    if key == "offset":
        return f"{float(value)!r} {'m' if sliding else 'rad'}"
    return repr(float(value))
