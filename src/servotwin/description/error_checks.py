"""Reading the section ``error_sources`` of a robot, and whether it fits to the rest of its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from servotwin.description.checks import known_axis, motor_names
from servotwin.description.error_parts import AxisErrors
from servotwin.description.fields import Part, problem, read_parts
from servotwin.description.nodes import join

if TYPE_CHECKING:
    from servotwin.description.schema import Axis, RobotDescription

GEAR_FIELDS = ("stiffness", "damping", "stiffening", "backlash")


def read_error_sources(raw: object, axes: Mapping[str, Axis]) -> object:
    """The raw section with the quantities of its axes read, which depend on the types of the joints."""
    if not isinstance(raw, dict) or not isinstance(raw.get("axes"), dict):
        return raw
    read = {}
    for name, value in raw["axes"].items():
        known_axis(name, axes, f"axes.{name}", moving=True)
        read[name] = _read_axis(name, value, axes[name].prismatic)
    return {**raw, "axes": read}


def _read_axis(name: str, raw: object, prismatic: bool) -> object:
    if isinstance(raw, Part):
        return raw
    try:
        return read_parts(AxisErrors, raw, prismatic)
    except PydanticCustomError as error:
        context = error.context or {}
        raise problem(context["text"], join(f"axes.{name}", context["at"])) from None


def check_error_sources(robot: RobotDescription) -> None:
    """Complain about error sources of axes without a drive, and about those that do not go together."""
    section = robot.error_sources
    if section is None:
        return
    for name, errors in section.axes.items():
        axis, at = robot.axes[name], f"error_sources.axes.{name}"
        stated = [field for field in _DRIVE_FIELDS if getattr(errors, field)]
        if stated and axis.motor is None and axis.gear is None and name not in motor_names(robot):
            raise problem(
                "the axis has no motor and no gear; expected it at an axis that has", f"{at}.{stated[0]}"
            )
        if errors.output_error and axis.prismatic:
            raise problem(
                "a prismatic joint has no turns; expected transmission_error, per turn of the motor",
                f"{at}.output_error",
            )
        _check_torsion(robot, name, errors)


_DRIVE_FIELDS = (
    "eccentricity", "encoder_noise", *GEAR_FIELDS, "hysteresis", "transmission_error", "output_error",
    "coulomb_friction",
)  # fmt: skip


def _check_torsion(robot: RobotDescription, name: str, errors: AxisErrors) -> None:
    """What lies in the torsion of a gear needs a stiffness; play excludes a stiffness that changes."""
    gear, at = robot.axes[name].gear, f"error_sources.axes.{name}"
    elastic = errors.stiffness is not None or getattr(gear, "stiffness", None) is not None
    for field in ("damping", "stiffening", "backlash", "hysteresis"):
        if getattr(errors, field) and not elastic:
            raise problem(
                f"missing: {field} is one of an elastic gear; expected a stiffness here or at axes.{name}.gear",
                f"{at}.stiffness",
            )
    if errors.backlash and errors.stiffening:
        text = "play and a stiffness that changes with the torque; expected one of them"
        raise problem(text, f"{at}.stiffening")
    torques = [torque for torque, _ in errors.stiffening or ()]
    if torques != sorted(set(torques)):
        raise problem(
            "torques that do not rise from point to point; expected ascending ones", f"{at}.stiffening"
        )
