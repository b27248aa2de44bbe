"""The robot with the chosen motors and gears: changes of its file, to be simulated or written as a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.inertia import link_inertia
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.description.sheets.gear_sheet import ScrewSheet
from servotwin.description.sheets.sheet_text import sheet_text
from servotwin.description.write import yaml_text
from servotwin.design.sizing.actuators import Actuator, GearChoice, MotorChoice
from servotwin.design.sizing.load import mount_of
from servotwin.design.sizing.result import Sizing
from servotwin.errors import InputError
from servotwin.mechanism.model import BASE, Array, Mechanism

EFFORT_SOURCE = "largest torque of the chosen motors through their gears"
THERMAL_UNITS = {
    "winding_to_housing": "K/W",
    "housing_to_ambient": "K/W",
    "winding_capacity": "J/K",
    "housing_capacity": "J/K",
    "temperature_coefficient": "1/K",
    "reference_temperature": "degC",
    "limit": "degC",
}


def sized_overrides(sizing: Sizing) -> dict[str, str]:
    """Changes of the robot file (field to text) that give it the chosen set, its masses in the links that carry it."""
    if sizing.choice is None:
        raise InputError("nothing was chosen; expected a search of a catalogue", field="--minimise")
    description, mechanism = sizing.description, sizing.robot.mechanism
    drives = drives_of(description)
    changes: dict[str, str] = {}
    for drive, actuator in zip(drives, sizing.choice.actuators, strict=True):
        at = f"axes.{drive.owner}"
        changes |= {f"{at}.motor.{name}": text for name, text in _motor(actuator.motor).items()}
        sliding = mechanism_unit(sizing, drive) == "m"
        transmission = description.transmission
        gear = _gear_sheet(actuator.gear, drive, None if transmission is None else transmission.motors)
        if gear is None:
            gear = _gear(actuator.gear, drive, sliding=sliding, ratio=transmission is None)
        changes |= {f"{at}.gear.{name}": text for name, text in gear.items()}
        if drive.brake is not None and actuator.motor.brake_torque is not None:
            changes[f"{at}.brake.torque"] = f"{_number(actuator.motor.brake_torque)} N*m"
    if description.transmission is not None:
        changes["transmission.matrix"] = _matrix(mechanism.rotors.N, drives, sizing.choice.actuators)
    changes |= _efforts(sizing, drives, sizing.choice.actuators)
    return changes | _links(description, mechanism, drives, sizing)


def sized_text(sizing: Sizing) -> str | None:
    """A robot file with the chosen set, complete in itself; None if nothing was chosen or the robot has no file."""
    if sizing.choice is None or sizing.file is None:
        return None
    chosen = sized_overrides(sizing)
    replaced = tuple(
        name.removesuffix("replace") for name in chosen if name.endswith((".motor.replace", ".gear.replace"))
    )
    kept = {name: text for name, text in sizing.changes.items() if not name.startswith(replaced)}
    return yaml_text(read_description(sizing.file, {**kept, **chosen}))


def mechanism_unit(sizing: Sizing, drive: DriveData) -> str:
    """'rad' or 'm' of the first joint that a drive moves."""
    return dict(zip(sizing.robot.joint_names, sizing.robot.joint_units, strict=True))[drive.joints[0]]


def _motor(motor: MotorChoice) -> dict[str, str]:
    """The motor as its data sheet, rotor and mass with the brake; without winding or sheet by numbers."""
    if motor.printed is None or motor.winding is None:
        return _motor_numbers(motor)
    with_brake = {
        "rotor_inertia": motor.rotor_inertia,
        "mass": motor.mass,
        "brake_inertia": None,
        "brake_mass": None,
    }
    named = {"series": motor.printed.series or motor.name}
    sheet = motor.printed.model_copy(update={**with_brake, **named})
    return {"replace": "true", "datasheet": sheet_text(sheet)}


def _gear_sheet(gear: GearChoice, drive: DriveData, in_matrix: Sequence[str] | None) -> dict[str, str] | None:
    """The gear as its data sheet; None where a file cannot have it: a matrix without it, a ratio below zero.

    ``in_matrix``: motors of the transmission matrix, if there is one.
    """
    sheet = gear.sheet
    if sheet is None:
        return None
    if in_matrix is None:
        if _sense(drive) < 0.0:
            return None
    elif drive.owner not in in_matrix or isinstance(sheet, ScrewSheet):
        return None
    name = "screw_datasheet" if isinstance(sheet, ScrewSheet) else "datasheet"
    # a stiff gear, as sizing has it: play would need elastic flanks beyond it
    named = sheet.model_copy(update={"series": sheet.series or gear.name, "backlash": None})
    return {"replace": "true", name: sheet_text(named)}


def _sense(drive: DriveData) -> float:
    """Sign of the ratio that counts."""
    return float(np.sign(drive.ratios[[abs(x) for x in drive.ratios].index(drive.gear.ratio)]))


def _motor_numbers(motor: MotorChoice) -> dict[str, str]:
    winding = motor.winding
    quantities: dict[str, tuple[float | None, str]] = {
        "rotor_inertia": (motor.rotor_inertia, "kg*m^2"),
        "rated_torque": (motor.rated_torque, "N*m"),
        "rated_speed": (motor.rated_speed, "rad/s"),
        "peak_torque": (motor.peak_torque, "N*m"),
        "max_speed": (motor.max_speed, "rad/s"),
        "current_limit": (motor.current_limit, "A"),
        "viscous_friction": (motor.friction.viscous, "N*m*s/rad"),
        "coulomb_friction": (motor.friction.coulomb, "N*m"),
        "mass": (motor.mass, "kg"),
    }
    kind = "ideal"
    if winding is not None:
        kind = "pmsm" if winding.phases == 3 else "dc"
        quantities["torque_constant"] = (winding.torque_constant, "N*m/A")
        quantities["resistance"] = (winding.resistance, "ohm")
        quantities["inductance"] = (winding.inductance, "H")
    out = {"replace": "true", "kind": kind, **_texts(quantities)}
    if winding is not None and winding.phases == 3:
        out["pole_pairs"] = str(winding.pole_pairs)
    if motor.thermal is not None:
        heat = {name: (getattr(motor.thermal, name), unit) for name, unit in THERMAL_UNITS.items()}
        out |= {f"thermal.{name}": text for name, text in _texts(heat).items()}
    return out


def _gear(gear: GearChoice, drive: DriveData, *, sliding: bool, ratio: bool) -> dict[str, str]:
    out = {"replace": "true", "efficiency": _number(min(gear.efficiency, 1.0))}
    if ratio:
        out["ratio"] = _number(_sense(drive) * gear.ratio) + (" rad/m" if sliding else "")
    out |= _texts({"inertia": (gear.inertia, "kg*m^2")})
    points = gear.friction.tables[0]
    if points:
        pairs = ", ".join(f"[{_number(w)} rad/s, {_number(tau)} N*m]" for w, tau in points)
        out["no_load_torque"] = f"[{pairs}]"
    return out


def _matrix(N: Array, drives: tuple[DriveData, ...], chosen: tuple[Actuator, ...]) -> str:
    """The transmission with the ratios of the chosen gears."""
    rows = []
    for row, drive, actuator in zip(N, drives, chosen, strict=True):
        scaled = row / drive.gear.ratio * actuator.gear.ratio
        rows.append(f"[{', '.join(_number(x) for x in scaled)}]")
    return f"[{', '.join(rows)}]"


def _efforts(sizing: Sizing, drives: tuple[DriveData, ...], chosen: tuple[Actuator, ...]) -> dict[str, str]:
    r"""Effort limits of joints that state one: what the chosen motors give at most; a limit of the old drives goes.

    .. math:: \tau_{max,j} = \sum_k |N_{kj}|\,\tau_{m,max,k}                             (eq:sized-effort)
    """
    robot, N = sizing.robot, np.abs(sizing.robot.mechanism.rotors.N)
    scale = np.array([new.gear.ratio / old.gear.ratio for new, old in zip(chosen, drives, strict=True)])
    most = scale * [new.motor.torque_limit for new in chosen]
    changes: dict[str, str] = {}
    for j, name in enumerate(robot.joint_names):
        if sizing.description.axes[name].limits.effort is None:
            continue
        moving = N[:, j] > 0.0
        effort = float(N[moving, j] @ most[moving])  # eq:sized-effort; a motor may have no limit
        unit = "N*m" if robot.joint_units[j] == "rad" else "N"
        stated = f"{{value: {_number(effort)} {unit}, source: {EFFORT_SOURCE}}}"
        changes[f"axes.{name}.limits.effort"] = stated if np.isfinite(effort) else "null"
    return changes


def _links(
    description: RobotDescription, mechanism: Mechanism, drives: tuple[DriveData, ...], sizing: Sizing
) -> dict[str, str]:
    """Mass, centre and inertia of the links that carry other motors than before, as point masses."""
    assert sizing.choice is not None
    assert sizing.present is not None
    added: dict[str, list[tuple[float, Array]]] = {}
    for drive, new, old in zip(drives, sizing.choice.actuators, sizing.present.demands, strict=True):
        body, place = mount_of(mechanism, drive)
        mass = new.mass - old.actuator.mass
        if body != BASE and mass != 0.0:
            added.setdefault(mechanism.tree_joint_names[body], []).append((mass, place))
    changes: dict[str, str] = {}
    for name, masses in added.items():
        X = mechanism.frame(description.link_names[name]).X_body_frame
        points = [(mass, (np.linalg.inv(X) @ np.append(place, 1.0))[:3]) for mass, place in masses]
        changes |= {f"axes.{name}.link.{key}": text for key, text in _link(description, name, points).items()}
    return changes


def _link(description: RobotDescription, name: str, points: list[tuple[float, Array]]) -> Mapping[str, str]:
    """A link with further point masses, in its link frame (eq:parallel-axis)."""
    m, c, inertia = link_inertia(description.axes[name])
    total = m + sum(mass for mass, _ in points)
    if total <= 0.0:
        raise InputError(
            f"the link would weigh {total:.3g} kg: the mass of the present motor is not part of it",
            field=f"axes.{name}.link.mass",
        )
    center = (m * c + sum((mass * p for mass, p in points), np.zeros(3))) / total
    tensor = inertia + _about(m, c - center)
    for mass, p in points:
        tensor = tensor + _about(mass, p - center)
    places = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
    return {
        "replace": "true",
        "mass": f"{_number(total)} kg",
        "center": f"[{', '.join(f'{_number(x)} m' for x in center)}]",
        **{f"inertia.tensor.{key}": f"{_number(tensor[at])} kg*m^2" for key, at in places.items()},
    }


def _about(mass: float, r: Array) -> Array:
    return mass * (float(r @ r) * np.eye(3) - np.outer(r, r))


def _texts(quantities: Mapping[str, tuple[float | None, str]]) -> dict[str, str]:
    return {name: f"{_number(x)} {unit}" for name, (x, unit) in quantities.items() if x is not None}


def _number(value: float) -> str:
    return repr(float(value))
