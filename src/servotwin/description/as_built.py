r"""The robot as it is: its description with the error sources of its file in place.

Gears get the torsion, play and friction that only ``error_sources`` states, joints the deviations of a robot out of a
series, and what is switched off goes. It is for plants alone; the controller is made of the description as it stands.
"""

from __future__ import annotations

from typing import Any

from servotwin.description.drive_parts import Friction, Gear, Motor
from servotwin.description.error_parts import AxisErrors, ErrorSources
from servotwin.description.error_sources import NO_GEAR_FRICTION, NO_MOTOR_FRICTION, error_sources
from servotwin.description.geometry_draws import BASE, TOOL, Displacement, drawn_geometry
from servotwin.description.parts import LARGE, Base, Deviation, JointDeviation
from servotwin.description.problems import refuse
from servotwin.description.schema import Axis, RobotDescription, Tool

STIFF = 3000.0  # rad/s: a rotor behind a gear whose torsion is switched off swings as quickly as this,
WELL_DAMPED = 0.7  # with this damping ratio


def as_built(description: RobotDescription) -> RobotDescription:
    """The robot as it is: with the error sources of its file where they act; itself where nothing is to be changed."""
    section = description.error_sources
    if section is None or section.built or not (section.enabled or section.off):
        return description
    drawn = drawn_geometry(description)
    axes = {name: _axis_as_built(description, name, drawn.get(name)) for name in description.axes}
    controller = description.controller
    if controller is not None and "noise" in section.off:
        sensors = ("current_sensor", "pressure_sensor")
        quiet = {name: getattr(controller, name).model_copy(update={"noise": 0.0}) for name in sensors}
        controller = controller.model_copy(update=quiet)
    changes: dict[str, Any] = {"axes": axes, "controller": controller}
    if BASE in drawn:
        base = description.base or Base()
        moved = _deviation(description, BASE, base.deviation, drawn[BASE])
        changes["base"] = base.model_copy(update={"deviation": moved})
    if TOOL in drawn:
        tool = description.tool or Tool()
        moved = _deviation(description, TOOL, tool.deviation, drawn[TOOL])
        changes["tool"] = tool.model_copy(update={"deviation": moved})
    return description.model_copy(update=changes | {"error_sources": section.marked_built()})


def _deviation(
    description: RobotDescription, place: str, stated: Deviation | None, drawn: Displacement
) -> Deviation:
    """A stated deviation of base or tool with one that was drawn."""
    return Deviation(**_sum(description, place, stated or Deviation(), drawn))


def _sum(description: RobotDescription, place: str, stated: Deviation, drawn: Displacement) -> dict[str, Any]:
    """Both are small: their shifts and rotation vectors add, and the offsets of joints."""
    fields = {
        field: tuple(a + b for a, b in zip(getattr(stated, field), getattr(drawn, field), strict=True))
        for field in ("position", "rotation")
    }
    offset = getattr(stated, "offset", 0.0) + drawn.offset
    largest = max(abs(value) for value in (*fields["position"], *fields["rotation"], offset))
    if largest > LARGE:
        section = error_sources(description)
        raise refuse(
            description,
            "error_sources.geometry",
            f"trial {section.trial} of seed {section.seed} displaces {place} by {largest:.3g} (m, rad); expected "
            f"tolerances whose draws stay within {LARGE} m and {LARGE} rad",
        )
    return {**fields, "offset": offset} if isinstance(stated, JointDeviation) else fields


def _axis_as_built(description: RobotDescription, name: str, drawn: Displacement | None) -> Axis:
    """One axis with the gear and the friction that it has in truth."""
    section, axis = error_sources(description), description.axes[name]
    errors = section.axes.get(name, AxisErrors()) if section.enabled else AxisErrors()
    gear = _gear_as_built(section, axis, errors)
    motor: Motor | None = axis.motor
    friction: Friction | None = axis.friction
    if "friction" in section.off:
        friction = None
        motor = motor.model_copy(update=NO_MOTOR_FRICTION) if motor is not None else None
        gear = gear.model_copy(update=NO_GEAR_FRICTION) if gear is not None else None
    elif errors.coulomb_friction:
        motor = with_dry_friction(motor or Motor(), errors.coulomb_friction)
    changes: dict[str, Any] = {"gear": gear, "motor": motor, "friction": friction}
    if drawn is not None:
        stated = axis.deviation or JointDeviation()
        changes["deviation"] = stated.model_copy(update=_sum(description, name, stated, drawn))
    return axis.model_copy(update=changes)


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
    """The gear with torsion and play of the section, without what is switched off.

    What the gear itself states goes first: a torsion takes the place of the section's torsion, a play that of its play.
    """
    own = axis.gear or Gear()
    stated: dict[str, Any] = {}
    if own.stiffness is None and errors.stiffness is not None:
        stated = {name: getattr(errors, name) for name in ("stiffness", "damping")}
        stated |= {"stiffening": errors.stiffening} if not own.backlash else {}
    if own.backlash is None and own.stiffening is None and errors.backlash is not None:
        stated["backlash"] = errors.backlash
    if axis.gear is None and not stated:
        return None
    gear = own.model_copy(update=stated)
    if "play" in section.off:
        gear = gear.model_copy(update={"backlash": None})
    if "torsion" in section.off and gear.stiffness is not None:
        gear = _stiff_gear(axis, gear)
    return gear


def _stiff_gear(axis: Axis, gear: Gear) -> Gear:
    """A gear without torsion: stiff, or much stiffer where it keeps its play, whose flanks need a stiffness.

    It becomes so stiff that the rotor swings against it at STIFF, and well damped, so that no loop is shaken by it.
    Hysteresis is one of the torsion and goes with it (``drive_errors``).
    """
    J = (axis.motor.rotor_inertia or 0.0 if axis.motor is not None else 0.0) + (gear.inertia or 0.0)
    n = abs(gear.motor_per_joint or 1.0)
    if not gear.backlash or not J or gear.stiffness is None:
        return gear.model_copy(
            update={"stiffness": None, "damping": None, "stiffening": None, "backlash": None}
        )
    stiffness = max(STIFF**2 * J * n**2, gear.stiffness)
    damping = 2.0 * WELL_DAMPED * n * (stiffness * J) ** 0.5
    return gear.model_copy(update={"stiffness": stiffness, "damping": damping, "stiffening": None})
