r"""Error sources of a robot: which act, how they are switched, and the robot as it is with them.

``as_built`` gives the truth of a robot from its description: gears with the torsion, play and friction that only
``error_sources`` states, and without what is switched off. It is for plants alone; the controller is made of the
description as it stands. One source is switched for both: with an encoder that counts finely enough, sensor and
controller count alike (``drive_data``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from servotwin.description.drive_parts import Friction, Gear, Motor
from servotwin.description.error_parts import SOURCES, AxisErrors, ErrorSources
from servotwin.description.schema import Axis, RobotDescription
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError

STIFF = 3000.0  # rad/s: a rotor behind a gear whose torsion is switched off swings as quickly as this

_NO_MOTOR_FRICTION: dict[str, Any] = dict.fromkeys(
    ("viscous_friction", "coulomb_friction", "static_friction", "stribeck_speed", "friction_table")
)
_NO_GEAR_FRICTION: dict[str, Any] = dict.fromkeys(("efficiency", "no_load_torque", "starting_torque"))


def error_sources(description: RobotDescription) -> ErrorSources:
    """The section of a description, an empty one where there is none."""
    return description.error_sources or ErrorSources()


def with_error_sources(
    description: RobotDescription, *, trial: int | None = None, seed: int | None = None
) -> RobotDescription:
    """A robot whose runs have the error sources of its file; ``trial`` and ``seed`` of its draws as given."""
    return _with(description, enabled=True, trial=trial, seed=seed)


def without(description: RobotDescription, names: Iterable[str]) -> RobotDescription:
    """A robot without these error sources (``SOURCES``), wherever their data stand; its controller stays as it is.

    >>> from servotwin.description.load import read_description
    >>> without(read_description("palletizer-4"), ["friction", "play"]).error_sources.off
    ('play', 'friction')
    """
    wanted = _checked(names)
    off = tuple(name for name in SOURCES if name in wanted or name in error_sources(description).off)
    return _with(description, off=off)


def only(description: RobotDescription, names: Iterable[str]) -> RobotDescription:
    """A robot with these error sources alone, as far as they are not switched off already."""
    wanted = _checked(names)
    return without(description, [name for name in SOURCES if name not in wanted])


def is_on(description: RobotDescription, name: str) -> bool:
    """Whether a source acts if the robot has data of it: those of ``error_sources`` must be enabled besides."""
    return name not in error_sources(description).off


def stated_sources(description: RobotDescription) -> tuple[str, ...]:
    """The sources that a robot has data of and that act, in the order of ``SOURCES``; ``servo_lag`` is always there."""
    section = error_sources(description)
    axes = list(section.axes.values()) if section.enabled else []
    gears = [axis.gear for axis in description.axes.values() if axis.gear is not None]
    sheets = [gear.datasheet for gear in gears if gear.datasheet is not None] if section.enabled else []
    there = {
        "resolution": any(axis.encoder is not None for axis in description.axes.values()),
        "eccentricity": any(axis.eccentricity for axis in axes),
        "noise": any(axis.encoder_noise for axis in axes) or _current_noise(description),
        "play": any(part.backlash for part in [*axes, *gears]),
        "hysteresis": any(part.hysteresis for part in [*axes, *sheets]),
        "transmission_error": any(axis.output_error for axis in axes)
        or any(part.transmission_error for part in [*axes, *sheets]),
        "torsion": any(part.stiffness is not None for part in [*axes, *gears]),
        "friction": any(axis.coulomb_friction for axis in axes) or _friction(description),
        "servo_lag": True,
        "geometry": section.enabled and section.geometry is not None,
        "thermal": section.enabled and section.thermal is not None,
        "base": section.enabled and section.base is not None,
    }
    return tuple(name for name in SOURCES if there[name] and name not in section.off)


def _checked(names: Iterable[str]) -> set[str]:
    """The names as a set, all of them known."""
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in SOURCES:
            hint = did_you_mean(str(name), list(SOURCES))
            raise InputError(f"{name!r} is no error source; expected one of {', '.join(SOURCES)}{hint}")
    return set(wanted)


def _with(description: RobotDescription, **changes: Any) -> RobotDescription:
    """A copy with other settings of its section; None leaves one as it is."""
    stated = {name: value for name, value in changes.items() if value is not None}
    return description.model_copy(
        update={"error_sources": error_sources(description).model_copy(update=stated)}
    )


def _current_noise(description: RobotDescription) -> bool:
    controller = description.controller
    return controller is not None and controller.current_sensor.noise > 0.0


def _friction(description: RobotDescription) -> bool:
    for axis in description.axes.values():
        motor, gear = axis.motor, axis.gear
        stated = [getattr(motor, name, None) for name in _NO_MOTOR_FRICTION]
        stated += [gear.no_load_torque, gear.efficiency not in (None, 1.0)] if gear is not None else []
        if axis.friction is not None or any(stated):
            return True
    return False


# --- the robot as it is ----------------------------------------------------------------------------


def as_built(description: RobotDescription) -> RobotDescription:
    """The robot as it is: with the error sources of its file where they act; itself where nothing is to be changed."""
    section = description.error_sources
    if section is None or not (section.enabled or section.off):
        return description
    axes = {name: _axis_as_built(description, name) for name in description.axes}
    controller = description.controller
    if controller is not None and "noise" in section.off:
        quiet = controller.current_sensor.model_copy(update={"noise": 0.0})
        controller = controller.model_copy(update={"current_sensor": quiet})
    return description.model_copy(update={"axes": axes, "controller": controller})


def _axis_as_built(description: RobotDescription, name: str) -> Axis:
    """One axis with the gear and the friction that it has in truth."""
    section, axis = error_sources(description), description.axes[name]
    errors = section.axes.get(name, AxisErrors()) if section.enabled else AxisErrors()
    gear = _gear_as_built(section, axis, errors)
    motor: Motor | None = axis.motor
    friction: Friction | None = axis.friction
    if "friction" in section.off:
        friction = None
        motor = motor.model_copy(update=_NO_MOTOR_FRICTION) if motor is not None else None
        gear = gear.model_copy(update=_NO_GEAR_FRICTION) if gear is not None else None
    elif errors.coulomb_friction:
        motor = with_dry_friction(motor or Motor(), errors.coulomb_friction)
    return axis.model_copy(update={"gear": gear, "motor": motor, "friction": friction})


def with_dry_friction(motor: Motor, torque: float) -> Motor:
    """A motor with more dry friction at its shaft [N m], whatever form its own friction has."""
    if motor.friction_table is not None:
        table = tuple(
            (w, tau + (torque if w > 0.0 or tau > 0.0 else -torque)) for w, tau in motor.friction_table
        )
        return motor.model_copy(update={"friction_table": table})
    more: dict[str, Any] = {"coulomb_friction": (motor.coulomb_friction or 0.0) + torque}
    if motor.static_friction is not None:
        more["static_friction"] = motor.static_friction + torque
    return motor.model_copy(update=more)


def _gear_as_built(section: ErrorSources, axis: Axis, errors: AxisErrors) -> Gear | None:
    """The gear with torsion and play of the section, without what is switched off."""
    stated = {
        name: getattr(errors, name)
        for name in ("stiffness", "damping", "stiffening", "backlash")
        if getattr(errors, name) is not None
    }
    gear = axis.gear
    if gear is None and not stated:
        return None
    gear = (gear or Gear()).model_copy(update=stated)
    if "play" in section.off:
        gear = gear.model_copy(update={"backlash": None})
    if "torsion" in section.off and gear.stiffness is not None:
        gear = _stiff_gear(section, axis, errors, gear)
    return gear


def _stiff_gear(section: ErrorSources, axis: Axis, errors: AxisErrors, gear: Gear) -> Gear:
    """A gear without torsion: stiff, or much stiffer where it keeps its play or its hysteresis.

    These lie in the torsion. It becomes so stiff that the rotor swings against it at STIFF, with the same damping ratio.
    """
    sheet = gear.datasheet
    width = errors.hysteresis if errors.hysteresis is not None or sheet is None else sheet.hysteresis
    kept = gear.backlash or (width if section.enabled and "hysteresis" not in section.off else None)
    J = (axis.motor.rotor_inertia or 0.0 if axis.motor is not None else 0.0) + (gear.inertia or 0.0)
    n = abs(gear.motor_per_joint or 1.0)
    if not kept or not J or gear.stiffness is None:
        return gear.model_copy(
            update={"stiffness": None, "damping": None, "stiffening": None, "backlash": None}
        )
    stiffness = max(STIFF**2 * J * n**2, gear.stiffness)
    damping = None if gear.damping is None else gear.damping * (stiffness / gear.stiffness) ** 0.5
    return gear.model_copy(update={"stiffness": stiffness, "damping": damping, "stiffening": None})
