r"""Error sources of a robot: which there are, and how they are switched.

They are truth (``as_built``): switching one leaves the controller as it is. The resolution of encoders alone is
switched for both, since sensor and controller must count alike (``drive_data``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from servotwin.description.error_parts import SOURCES, AxisErrors, ErrorSources
from servotwin.description.schema import RobotDescription
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError, ServotwinError

NO_MOTOR_FRICTION: dict[str, Any] = dict.fromkeys(
    ("viscous_friction", "coulomb_friction", "static_friction", "stribeck_speed", "friction_table")
)
NO_GEAR_FRICTION: dict[str, Any] = dict.fromkeys(("efficiency", "no_load_torque", "starting_torque"))


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
    """A robot with these error sources alone, as far as they are not switched off already.

    Hysteresis is one of the torsion: who asks for it asks for both. A section that is not enabled stays so
    (``with_error_sources``).
    """
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
        "noise": any(axis.encoder_noise for axis in axes) or _sensor_noise(description),
        "play": any(part.backlash for part in axes) or any(gear.backlash for gear in gears),
        "hysteresis": "torsion" not in section.off  # whose loop it is
        and (any(part.hysteresis for part in axes) or any(sheet.hysteresis for sheet in sheets)),
        "transmission_error": any(part.output_error or part.transmission_error for part in axes)
        or any(sheet.transmission_error for sheet in sheets),
        "torsion": any(part.stiffness for part in axes) or any(gear.stiffness for gear in gears),
        "friction": any(axis.coulomb_friction for axis in axes) or _friction(description),
        "servo_lag": True,
        "geometry": section.enabled and section.geometry is not None,
        "thermal": section.enabled and section.thermal is not None,
        "base": section.enabled and section.base is not None,
    }
    return tuple(name for name in SOURCES if there[name] and name not in section.off)


def source_notes(description: RobotDescription) -> list[str]:
    """Which error sources a run has beside what the rest of its file says, in a line; none without the section."""
    section = error_sources(description)
    lines = []
    if section.enabled:
        of_trial = f" of trial {section.trial}" if section.trial else ""
        acting = [name for name in stated_sources(description) if name != "servo_lag"]
        lines.append(
            f"error sources{of_trial} that nobody tells the controller: {', '.join(acting) or 'none'}"
        )
    if section.off:
        lines.append(f"error sources switched off: {', '.join(section.off)}")
    return lines


def _checked(names: Iterable[str]) -> set[str]:
    """The names as a set, all of them known."""
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in SOURCES:
            hint = did_you_mean(str(name), list(SOURCES))
            raise InputError(
                f"{name!r} is no error source; expected one of {', '.join(SOURCES)}{hint}", field="off"
            )
    return set(wanted)


def _with(description: RobotDescription, **changes: Any) -> RobotDescription:
    """A copy with other settings of its section; None leaves one as it is."""
    if error_sources(description).built:
        raise ServotwinError(
            f"{description.name}: the robot as it is; expected the description that it was built of, whose sources can "
            "be switched"
        )
    stated = {name: value for name, value in changes.items() if value is not None}
    return description.model_copy(
        update={"error_sources": error_sources(description).model_copy(update=stated)}
    )


def _sensor_noise(description: RobotDescription) -> bool:
    controller = description.controller
    return controller is not None and bool(
        controller.current_sensor.noise or controller.pressure_sensor.noise
    )


def _friction(description: RobotDescription) -> bool:
    for axis in description.axes.values():
        motor, gear = axis.motor, axis.gear
        stated = [getattr(motor, name, None) for name in NO_MOTOR_FRICTION]
        stated += [gear.no_load_torque, gear.efficiency not in (None, 1.0)] if gear is not None else []
        if axis.friction is not None or any(stated):
            return True
    return False


def base_compliance(description: RobotDescription) -> Any:
    """Shift and turn of the base per force and moment (6, 6) [m, rad per N, N m]; None for a stiff one."""
    section = error_sources(description)
    if not section.enabled or section.base is None or "base" in section.off:
        return None
    return section.base.compliance


def with_warmth(
    description: RobotDescription, elapsed: float | None = None, losses: Mapping[str, float] | None = None
) -> RobotDescription:
    """A robot whose links are as warm as ``link_temperatures`` says; it stays so during a run."""
    section, rises = error_sources(description), link_temperatures(description, elapsed, losses)
    if section.thermal is None or not rises:
        return description
    axes = dict(section.axes)
    for name, rise in rises.items():
        warm = {"temperature_rise": rise, "heating": None}
        axes[name] = axes.get(name, AxisErrors()).model_copy(update=warm)
    thermal = section.thermal.model_copy(update={"elapsed": None})
    return _with(description, axes=axes, thermal=thermal)


def link_temperatures(
    description: RobotDescription, elapsed: float | None = None, losses: Mapping[str, float] | None = None
) -> dict[str, float]:
    r"""How much warmer every link is than when the robot was measured [K], by the axis that moves it.

    .. math:: \Delta T(t) = \Delta T_\infty\,(1 - e^{-t/T})                                     (eq:warm-up)

    ``elapsed``: time since the cold start [s], default that of the file; ``losses``: mean losses of the motors [W] by
    axis, for links whose rise is stated per loss. Nothing where thermal growth is switched off.
    """
    section = error_sources(description)
    if not section.enabled or section.thermal is None or "thermal" in section.off:
        return {}
    thermal = section.thermal
    time = thermal.elapsed if elapsed is None else elapsed
    part = 1.0 if time is None else -math.expm1(-time / thermal.time_constant)  # eq:warm-up
    found = {}
    for name in description.axes:
        errors = section.axes.get(name, AxisErrors())
        rise = thermal.temperature_rise if errors.temperature_rise is None else errors.temperature_rise
        if errors.heating is not None and losses is not None:
            rise = errors.heating * losses.get(name, 0.0)
        found[name] = part * rise
    return found
