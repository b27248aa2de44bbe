"""From the data sheets of hydraulic axes to the numbers of their model: the one place for plant and controller."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from servotwin.description.drive_data import STOP_MARGIN, DriveData, drives_of
from servotwin.description.drive_parts import Motor
from servotwin.description.hydraulic_parts import Hydraulics, hertz
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.drives.hydraulic import HYDRAULIC
from servotwin.drives.hydraulic.data import REFERENCE_CLEARANCE, Axis, Supply, valve_clearance, valve_gain
from servotwin.drives.hydraulic.laws import AMBIENT, edge_opening, throttle
from servotwin.drives.hydraulic.linear import LinearAxis, linear_axis
from servotwin.drives.hydraulic.steady import OperatingPoint, operating_point
from servotwin.errors import InputError

VACUUM = -AMBIENT  # Pa over ambient

POSITIONS = 9  # over the stroke, at which loops are judged and gains are scheduled


def is_hydraulic(drive: DriveData) -> bool:
    """Whether a servovalve drives this axis."""
    return drive.kind == HYDRAULIC.name


def cylinder_motors(description: RobotDescription) -> tuple[str, ...]:
    """Names of the motors that are cylinders."""
    found = [(drive.name, description.axes.get(drive.owner)) for drive in drives_of(description)]
    return tuple(name for name, axis in found if axis and axis.motor and axis.motor.cylinder is not None)


def seal_share(description: RobotDescription, drive: DriveData) -> float:
    """Part of the force of the pressures that the seals of an axis take as friction; 0 of others."""
    axis = description.axes.get(drive.owner)
    motor = axis.motor if axis is not None else None
    part = None if motor is None else motor.cylinder or motor.hydraulic_motor
    return 0.0 if part is None else part.seal_friction


def hydraulic_supply(description: RobotDescription) -> Supply:
    """Oil and supply of a robot, or an error that says that there is none."""
    data = description.hydraulics
    if data is None:
        raise refuse(
            description,
            "hydraulics",
            "missing: what feeds the hydraulic axes; expected such as '{supply_pressure: 70 bar}'",
        )
    oil, accumulator = data.oil, data.accumulator
    return Supply(
        pressure=data.supply_pressure,
        tank=data.tank_pressure,
        density=oil.density,
        bulk=oil.bulk_modulus,
        gas=oil.entrained_gas,
        exponent=oil.gas_exponent,
        cavitation=oil.cavitation_pressure - AMBIENT,
        line_volume=data.line_volume or 0.0,
        accumulator=accumulator.volume if accumulator is not None else 0.0,
        precharge=accumulator.precharge if accumulator is not None else 0.0,
        accumulator_exponent=accumulator.exponent if accumulator is not None else 1.2,
        **_pump(data),
    )


def _pump(data: Hydraulics) -> dict[str, float]:
    if data.pump is None or data.relief is None:
        return {}
    return {
        "pump_flow": data.pump.flow,
        "pump_efficiency": data.pump.efficiency,
        "relief_pressure": data.relief.pressure,
        "relief_gain": data.relief.flow / data.relief.override,
    }


def hydraulic_axis(description: RobotDescription, drive: DriveData) -> Axis:
    """Valve and cylinder or motor of an axis at its own side, with its ends where the end stops of its joint are."""
    path = f"axes.{drive.owner}.motor"
    motor = description.axes[drive.owner].motor
    if motor is None or motor.valve is None:
        raise refuse(description, f"{path}.valve", "missing: 'hydraulic' needs it")
    valve = motor.valve
    underlap = -valve.overlap
    clearance = valve_clearance(underlap, valve.null_leakage / valve.rated_flow)
    if clearance is None or not clearance < 1.0 - 1e-9:
        least = 2.0 * max(0.0, underlap) / (1.0 + underlap) * valve.rated_flow
        raise refuse(
            description,
            f"{path}.valve.null_leakage",
            f"{6e4 * valve.null_leakage:.4g} L/min do not fit the edges; expected {6e4 * least:.4g} L/min, which the "
            f"overlap of {100.0 * valve.overlap:.4g} % lets through, or more, and less than the rated flow",
        )
    return Axis(
        rated_current=valve.rated_current,
        natural_frequency=hertz(valve.natural_frequency),
        damping=valve.damping,
        slew=1.0 / valve.slew_time if valve.slew_time is not None else math.inf,
        underlap=underlap,
        clearance=clearance,
        laminar=valve.laminar_drop,
        k=valve_gain(valve.rated_flow, valve.rated_drop, underlap, clearance, valve.laminar_drop),
        check_valve=int(valve.check_valve),
        rotary=int(motor.hydraulic_motor is not None),
        **_chambers(description, drive, motor),
    )


def _chambers(description: RobotDescription, drive: DriveData, motor: Motor) -> dict[str, Any]:
    """Areas, volumes and leaks of a cylinder or motor, as fields of ``Axis``."""
    rotary, cylinder = motor.hydraulic_motor, motor.cylinder
    if rotary is not None:
        D, V = rotary.displacement, rotary.dead_volume
        leaks = {
            "leakage": rotary.leakage,
            "drain": rotary.external_leakage,
            "seal": rotary.seal_friction,
        }
        return {"area_a": D, "area_b": D, "volume_a": V, "volume_b": V, **leaks}
    if cylinder is None:
        raise refuse(description, f"axes.{drive.owner}.motor.cylinder", "missing: 'hydraulic' needs it")
    end_a, end_b = _ends(description, drive)
    found = {
        "area_a": cylinder.area,
        "area_b": cylinder.rod_side_area or cylinder.area,
        "volume_a": cylinder.dead_volume,
        "volume_b": cylinder.dead_volume,
        "end_a": end_a,
        "end_b": end_b,
        "leakage": cylinder.leakage,
        "drain": cylinder.external_leakage,
        "seal": cylinder.seal_friction,
    }
    if cylinder.cushion is not None:
        laminar = motor.valve.laminar_drop if motor.valve is not None else 1e5
        found["cushion_length"] = cylinder.cushion.length
        found["cushion_resistance"] = (throttle(cylinder.cushion.drop, laminar) / cylinder.cushion.flow) ** 2
    return found


def _ends(description: RobotDescription, drive: DriveData) -> tuple[float, float]:
    """Where the piston meets its ends [m]: at the end stops of the one joint that it moves."""
    joint = drive.joints[0] if drive.joints else drive.owner
    axis, path = description.axes[joint], f"axes.{drive.owner}.motor.cylinder"
    if not (drive.alone and axis.prismatic) or drive.gear.elastic:
        raise refuse(
            description,
            path,
            "a cylinder moves one sliding joint, without elastic gear; expected a hydraulic_motor",
        )
    if axis.limits.position is None:
        raise refuse(
            description,
            f"axes.{joint}.limits.position",
            "missing: the ends of a cylinder are the end stops of its joint; expected such as '[0 mm, 200 mm]'",
        )
    low, high = axis.limits.position
    ratio, margin = next(ratio for ratio in drive.ratios if ratio != 0.0), STOP_MARGIN * (high - low)
    ends = sorted((ratio * (low - margin), ratio * (high + margin)))
    return ends[0], ends[1]


@dataclass(frozen=True)
class ValveData:
    """A hydraulic axis as a servo counts on it.

    ``linear(mass, x)``: its linear model at rest at the position x of the piston, default the middle of the stroke,
    without load, at centred pressures; of a valve with overlap beyond it, where its flow has a slope at all.
    ``stroke``: positions of the piston over its stroke; none of a motor, which has the same oil everywhere.
    ``heads``: pressures that drive the piston forward and backward, counted on the mean area [Pa]; ``head``: the mean.
    """

    axis: Axis
    linear: Callable[[float, float | None], LinearAxis]
    stroke: tuple[float, ...]
    speed_gain: float  # speed per current without load [m/(s A)]
    head: float
    heads: tuple[float, float]


def valve_data(description: RobotDescription, drive: DriveData) -> ValveData:
    r"""What a servo has to know about a hydraulic axis; an axis that cannot move at all is refused.

    A piston that moves evenly under the load pressure p_L has, from both edges and the balance of forces,

    .. math:: v = \pm k\,s \sqrt{\frac{S\,(H_\pm \mp p_L)}{A_A^3 + A_B^3}}, \qquad
              H_+ = \frac{A_A p_s - A_B p_t}{S}, \quad H_- = \frac{A_B p_s - A_A p_t}{S}       (eq:valve-speed)
    """
    axis, supply = hydraulic_axis(description, drive), hydraulic_supply(description)
    S, p_s, p_t = axis.mean_area, supply.pressure, supply.tank
    forward = (axis.area_a * p_s - axis.area_b * p_t) / S
    backward = (axis.area_b * p_s - axis.area_a * p_t) / S
    if min(forward, backward) <= 0.0:
        size, way = ("small", "backward") if backward <= 0.0 else ("large", "forward")
        least, most = 1e4 * axis.area_a * p_t / p_s, 1e4 * axis.area_a * p_s / p_t
        raise refuse(
            description,
            f"axes.{drive.owner}.motor.cylinder.rod_side_area",
            f"too {size} to move the piston {way} against the tank; expected more than {least:.4g} and less than "
            f"{most:.4g} cm^2",
        )
    middle = 0.0 if axis.rotary else 0.5 * (axis.end_a + axis.end_b)
    sloped = _centred(axis).behind_jump(1.0)
    try:
        rest = operating_point(sloped, supply, middle, 0.0, 0.0)
    except InputError as error:
        raise refuse(description, f"axes.{drive.owner}.motor.valve", str(error)) from None
    head = 0.5 * (forward + backward)
    speed = axis.k * math.sqrt(S * head / (axis.area_a**3 + axis.area_b**3))  # eq:valve-speed

    @cache
    def point_at(x: float) -> OperatingPoint:
        return operating_point(sloped, supply, x, 0.0, 0.0)

    def linear(mass: float, x: float | None = None) -> LinearAxis:
        point = rest if x is None else point_at(x)
        return linear_axis(sloped, supply, point, mass, drive.viscous_friction)

    return ValveData(axis, linear, _stroke(axis), speed / axis.rated_current, head, (forward, backward))


def _stroke(axis: Axis) -> tuple[float, ...]:
    """Positions of the piston from end to end [m]: where the end stops of the joint are."""
    if axis.rotary:
        return ()
    low, high = sorted((axis.end_a, axis.end_b))
    margin = STOP_MARGIN / (1.0 + 2.0 * STOP_MARGIN) * (high - low)
    first, last = low + margin, high - margin
    return tuple(first + k / (POSITIONS - 1) * (last - first) for k in range(POSITIONS))


def _centred(axis: Axis) -> Axis:
    """A valve without leakage with a trace of it, and no drain: so that its pressures at rest are those of work.

    Exactly, a leaking piston would empty through its drains behind closed edges, to foam that no servo is tuned for.
    """
    if axis.clearance > 0.0 or axis.underlap > 0.0:
        return axis
    return replace(axis, clearance=REFERENCE_CLEARANCE, underlap=0.0, drain=0.0)


class ValveEnvelope(NamedTuple):
    r"""What a fully open servovalve leaves of force and speed of its piston.

    .. math:: F \le F_+ - c\,v_+^2, \qquad -F \le F_- - c\,v_-^2, \qquad
              c = \frac{A_A^3 + A_B^3}{k^2}                                                    (eq:valve-limit)

    with F_+ = A_A p_s - A_B p_t, F_- = A_B p_s - A_A p_t, and v_+, v_- the speed forward and backward, zero the other
    way. A valve that throttles a moving piston throttles both chambers, by pressures as A_A^2 : A_B^2, so braking is
    bounded by the chamber with the larger area A: filled it must not fall below tank, emptied not rise above supply
    pressure,

    .. math:: -F \le (p_s - p_t)\frac{A_A^3 + A_B^3}{A^2} - F_+ \quad (v > 0), \qquad
              F \le (p_s - p_t)\frac{A_A^3 + A_B^3}{A^2} - F_- \quad (v < 0)                   (eq:valve-braking)

    With equal areas that is F_- and F_+ again; areas that are too different leave nothing. ``forward``, ``backward``
    F_+, F_- [N]; ``drag`` c [N s2/m2]; ``brake_forward``, ``brake_backward`` [N] against a motion that way; ``area_a``,
    ``area_b`` [m2], which the supply fills forward and backward. Of a hydraulic motor N m, rad and m3/rad.
    """

    forward: float
    backward: float
    drag: float
    brake_forward: float
    brake_backward: float
    area_a: float
    area_b: float


def valve_envelope(description: RobotDescription, drive: DriveData) -> ValveEnvelope:
    """The envelope of a servovalve at the supply pressure that the file states."""
    data, supply = valve_data(description, drive), hydraulic_supply(description)
    axis = data.axis
    k = axis.k * edge_opening(1.0 + axis.underlap, axis.clearance)
    drag = (axis.area_a**3 + axis.area_b**3) / k**2  # eq:valve-limit
    forces = (data.heads[0] * axis.mean_area, data.heads[1] * axis.mean_area)
    throttled = (supply.pressure - supply.tank) * drag * k**2 / max(axis.area_a, axis.area_b) ** 2
    ahead, back = (min(throttled - one, other) for one, other in (forces, forces[::-1]))  # eq:valve-braking
    return ValveEnvelope(*forces, drag, ahead, back, axis.area_a, axis.area_b)


def valve_envelopes(description: RobotDescription) -> dict[str, ValveEnvelope]:
    """The envelopes of all servovalves by name; axes whose data is not complete are left out."""
    found = {}
    for drive in drives_of(description):
        if is_hydraulic(drive):
            with suppress(InputError):
                found[drive.name] = valve_envelope(description, drive)
    return found


def pump_flow(description: RobotDescription) -> float:
    """Flow [m3/s] that bounds all valves together: of a pump without accumulator; infinite of any other supply."""
    if description.hydraulics is None:
        return math.inf
    supply = hydraulic_supply(description)
    return supply.pump_flow if supply.has_state and supply.accumulator == 0.0 else math.inf
