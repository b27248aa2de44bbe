"""What ``servotwin info`` tells, as plain data: SI units and radians, units in the names of the keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel

from servotwin.description.fields import Celsius, Measure, Period
from servotwin.description.nodes import Node, join
from servotwin.description.schema import Axis, RobotDescription
from servotwin.mechanism.model import Mechanism
from servotwin.report.labels import finite, plain, unit_key
from servotwin.report.reach import reach
from servotwin.robot.robot import Robot


def robot_data(description: RobotDescription, mechanism: Mechanism) -> dict[str, Any]:
    """Everything about a robot, ready for JSON."""
    links = description.link_names
    robot = Robot(mechanism)
    space = reach(robot)
    return {
        "name": description.name,
        "title": description.title,
        "files": [str(path) for path in description.dependencies],
        "dof": mechanism.n_q,
        "joints": list(mechanism.joint_names),
        "kinematics": description.kinematics,
        "gravity_m_per_s2": plain(mechanism.gravity),
        "total_mass_kg": float(mechanism.phi[:, 0].sum()),
        "base": {"name": description.base_name, "mass_kg": float(mechanism.phi_base[0])},
        "shapes": _shape_count(description),
        "payload_kg": description.payload.mass if description.payload else 0.0,
        "reach_m": None if space is None else finite(space.radius),
        "height_range_m": None if space is None else plain((space.z_min, space.z_max)),
        "axes": [_axis_data(description, name, links[name]) for name in description.axes],
        "frames": _frames(mechanism),
        "couplings": [
            {"joint": c.joint, "of": dict(c.of), "offset": c.offset} for c in description.couplings
        ],
        "quantities": [
            {"name": name, "of": dict(z.of), "offset": z.offset, "limits": z.limits}
            for name, z in description.quantities.items()
        ],
        "frame_quantities": [
            {"name": name, **z.model_dump(exclude_none=True)}
            for name, z in description.frame_quantities.items()
        ],
        "loops": [
            {"name": loop.name, "type": loop.type, "between": [side.link for side in loop.between]}
            for loop in description.loops
        ],
        "mobility": _mobility(robot),
        "transmission": _transmission(description, mechanism),
        "power": part_data(description.power, False) if description.power is not None else None,
        "hydraulics": part_data(description.hydraulics, False)
        if description.hydraulics is not None
        else None,
        "controller": part_data(description.controller, False)
        if description.controller is not None
        else None,
        "references": dict(description.references),
        "sources": sources(description),
        "assumptions": [
            {"field": field, "value": value, "why": why} for field, value, why in description.assumptions()
        ],
        "notes": description.notes,
        "warnings": description.warnings,
    }


def _shape_count(description: RobotDescription) -> int:
    """How many shapes of links the description refers to."""
    links = [axis.link.shapes for axis in description.axes.values()]
    return sum(map(len, links)) + (len(description.base.shapes) if description.base is not None else 0)


def _mobility(robot: Robot) -> dict[str, Any] | None:
    """How the loops of a closed chain hold it."""
    if not robot.closed:
        return None
    closure = robot.closure
    return {
        "freedoms": closure.mobility,
        "counted": closure.counted,
        "dropped_equations": list(closure.dropped),
        "text": closure.text(),
    }


def _axis_data(description: RobotDescription, name: str, link: str) -> dict[str, Any]:
    axis: Axis = description.axes[name]
    parts = {key: getattr(axis, key) for key in ("limits", "friction", "gear", "motor", "brake", "encoder")}
    return {
        "name": name,
        "type": axis.type,
        "parent": description.parent_names[name],
        "link": link,
        "mass_kg": axis.link.mass,
        **{key: part_data(part, axis.prismatic) for key, part in parts.items() if part is not None},
    }


def part_data(part: BaseModel, prismatic: bool) -> dict[str, Any]:
    """The stated fields of a part of the description, each with its unit in the key."""
    data: dict[str, Any] = {}
    for name, info in type(part).model_fields.items():
        value = getattr(part, name)
        if value is None:
            continue
        if isinstance(value, BaseModel):
            data[name] = part_data(value, prismatic)
            continue
        if isinstance(value, dict) and any(isinstance(item, BaseModel) for item in value.values()):
            data[name] = {key: part_data(item, prismatic) for key, item in value.items()}  # gains by motor
            continue
        kinds = [kind for kind in info.metadata if isinstance(kind, Measure)]
        unit = "degC" if any(isinstance(kind, Celsius) for kind in info.metadata) else ""
        unit = "s" if any(isinstance(kind, Period) for kind in info.metadata) else unit
        if kinds:
            unit = (kinds[0].linear if prismatic and kinds[0].linear is not None else kinds[0].unit) or ""
        data[unit_key(name, unit)] = list(value) if isinstance(value, tuple) else value
    return data


def _frames(mechanism: Mechanism) -> list[dict[str, str]]:
    """Every frame and the axis that moves it, in the order of the mechanism."""
    bodies = dict(enumerate(mechanism.tree_joint_names))
    return [{"name": frame.name, "moves_with": bodies.get(frame.body, "base")} for frame in mechanism.frames]


def _transmission(description: RobotDescription, mechanism: Mechanism) -> dict[str, Any]:
    """The motors, and whether one of them moves several joints."""
    rotors = mechanism.rotors
    coupled = bool((np.count_nonzero(rotors.N, axis=1) > 1).any())
    return {
        "motors": list(rotors.names),
        "motor_rad_per_joint_rad_or_m": plain(rotors.N),
        "coupled": coupled,
        "matrix_stated": description.transmission is not None,
    }


def sources(description: RobotDescription) -> list[dict[str, Any]]:
    """Each source, and the fields it stands for: whole mappings where everything inside has one source."""
    fields: dict[str, list[str]] = {}
    if description.tree is not None:
        for path, source in _uniform(description.tree, ""):
            fields.setdefault(source, []).append(path)
    return [{"source": source, "fields": paths} for source, paths in fields.items()]


def _uniform(node: Node, path: str) -> list[tuple[str, str]]:
    """Paths and sources of the largest parts of the tree that have one source throughout."""
    leaves = {
        (child.origin.source, child.origin.assumed)
        for _, child in node.walk()
        if not isinstance(child.value, dict | list)
    }
    if len(leaves) == 1 and path:
        source, assumed = leaves.pop()
        return [(path, source)] if source and not assumed else []
    return [found for name, child in node.children() for found in _uniform(child, join(path, name))]
