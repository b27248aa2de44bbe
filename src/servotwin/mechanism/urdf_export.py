"""URDF out: what the format can say about a mechanism.

Written are the tree, the inertia of every body, position, speed and effort
limits, shapes, named frames (as massless links on fixed joints) and joints that follow
one other joint (``mimic``). The format has no place for gravity, rotors and
their transmission, acceleration limits, the home pose, quantities and their
limits; they are left out, and so is friction. The payload is part of the link that carries it.
Loop closures and joints that follow several others cannot be left out without
writing another robot, so these are refused.

A URDF link has its frame on the axis of its joint. A body whose own frame
lies elsewhere (the far end of a DH link) becomes a link ``<joint>-body`` on
the axis, with its frame fixed to it.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.parts import Shape
from servotwin.description.urdf import UNLIMITED
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import BASE, Array, Frame, Mechanism
from servotwin.mechanism.spatial import inverse, mass_center_inertia

_BASE_LINK = "base"


@dataclass(frozen=True)
class _Link:
    """The URDF link of a body: its name, and its frame in the body frame (4x4)."""

    name: str
    X_body_link: Array


@dataclass(frozen=True)
class _Mimic:
    """The joint follows the independent joint ``leader``: q = multiplier * q_leader + offset."""

    leader: int
    multiplier: float
    offset: float


def urdf_text(mechanism: Mechanism, shapes: Mapping[str, Sequence[Shape]] | None = None) -> str:
    """The mechanism as URDF text, every number with all its digits; ``shapes`` by the names of links.

    ``UnsupportedError`` names the loop closure or coupling that URDF cannot express.
    """
    if mechanism.loops:
        names = ", ".join(loop.name for loop in mechanism.loops)
        raise UnsupportedError(f"{mechanism.name}: URDF cannot express loop closures ({names})")
    links = _body_links(mechanism)
    robot = ET.Element("robot", name=mechanism.name)
    _write_link(robot, links[BASE], mechanism.phi_base, f"{mechanism.name}: the base")
    for body, link in links.items():
        if body != BASE:
            _write_link(robot, link, mechanism.phi[body], f"{mechanism.name}: body '{link.name}'")
            _write_joint(robot, mechanism, body, links)
    _write_frames(robot, mechanism, links)
    for element in robot.findall("link"):
        for shape in (shapes or {}).get(element.attrib["name"], ()):
            _write_shape(element, shape)
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def payload_link(mechanism: Mechanism) -> str:
    """The URDF link that carries the tool, and so the payload."""
    return _body_links(mechanism)[mechanism.frame().body].name


def _body_links(mechanism: Mechanism) -> dict[int, _Link]:
    """The link of every body, BASE included; its own frame where that lies on the joint axis."""
    first: dict[int, Frame] = {}
    for frame in mechanism.frames:
        first.setdefault(frame.body, frame)
    base = mechanism.frames[0].name if mechanism.frames[0].body == BASE else _BASE_LINK
    taken = {frame.name for frame in mechanism.frames} | {base}
    links = {BASE: _Link(base, np.eye(4))}
    for body, joint in enumerate(mechanism.tree_joint_names):
        own = first.get(body)
        # sliding moves every point alike, so any frame will do; turning needs a point of the axis
        if own is not None and (mechanism.prismatic[body] or not own.X_body_frame[:2, 3].any()):
            links[body] = _Link(own.name, own.X_body_frame)
        else:
            links[body] = _Link(_unused(f"{joint}-body", taken), np.eye(4))
    return links


def _unused(name: str, taken: set[str]) -> str:
    """``name``, or ``name-2`` and so on; the result is added to ``taken``."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return free


# --- links ------------------------------------------------------------------------------------------


def _write_link(robot: ET.Element, link: _Link, phi: Array, where: str) -> None:
    element = ET.SubElement(robot, "link", name=link.name)
    if not phi.any():
        return
    mass, center, inertia = mass_center_inertia(phi)
    if not mass and phi[1:4].any():
        raise UnsupportedError(f"{where} has first moments but no mass; URDF cannot express that")
    R, p = link.X_body_link[:3, :3], link.X_body_link[:3, 3]
    inertial = ET.SubElement(element, "inertial")
    ET.SubElement(inertial, "origin", xyz=_numbers(R.T @ (center - p)), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=_number(mass))
    I = R.T @ inertia @ R
    entries = {
        f"i{a}{b}": _number(I["xyz".index(a), "xyz".index(b)])
        for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    }
    ET.SubElement(inertial, "inertia", entries)


def _write_shape(link: ET.Element, shape: Shape) -> None:
    visual = ET.SubElement(link, "visual")
    ET.SubElement(visual, "origin", xyz=_numbers(shape.xyz), rpy=_numbers(shape.rpy))
    geometry = ET.SubElement(visual, "geometry")
    if shape.mesh is not None:
        ET.SubElement(geometry, "mesh", filename=shape.mesh, scale=_numbers(shape.scale))
    elif shape.box is not None:
        ET.SubElement(geometry, "box", size=_numbers(shape.box))
    elif shape.cylinder is not None:
        sizes = {"radius": _number(shape.cylinder.radius), "length": _number(shape.cylinder.length)}
        ET.SubElement(geometry, "cylinder", sizes)
    elif shape.sphere is not None:
        ET.SubElement(geometry, "sphere", radius=_number(shape.sphere))


# --- joints -----------------------------------------------------------------------------------------


def _write_joint(robot: ET.Element, mechanism: Mechanism, body: int, links: dict[int, _Link]) -> None:
    parent, child = links[int(mechanism.parent[body])], links[body]
    mimic = _mimic(mechanism, body)
    low, high, speed, effort = _limits(mechanism, body, mimic)
    bounded = math.isfinite(low) or math.isfinite(high)
    kind = "prismatic" if mechanism.prismatic[body] else "revolute" if bounded else "continuous"
    X = inverse(parent.X_body_link) @ mechanism.X_tree[body] @ child.X_body_link
    joint = _joint(robot, mechanism.tree_joint_names[body], kind, parent.name, child.name, X)
    ET.SubElement(joint, "axis", xyz=_numbers(child.X_body_link[2, :3]))  # z of the body, seen from the link
    limit = {"effort": _number(effort), "velocity": _number(speed)}
    if kind != "continuous":
        limit = {"lower": _number(low), "upper": _number(high), **limit}
    ET.SubElement(joint, "limit", limit)
    if mimic is not None:
        leader = mechanism.joint_names[mimic.leader]
        factors = {"multiplier": _number(mimic.multiplier), "offset": _number(mimic.offset)}
        ET.SubElement(joint, "mimic", {"joint": leader, **factors})


def _mimic(mechanism: Mechanism, body: int) -> _Mimic | None:
    name = mechanism.tree_joint_names[body]
    if name in mechanism.joint_names:
        return None
    row = mechanism.coupling.G[body]
    leaders = [int(k) for k in np.flatnonzero(row)]
    if len(leaders) > 1:
        names = " and ".join(mechanism.joint_names[k] for k in leaders)
        text = f"joint '{name}' follows {names}; a URDF mimic follows one joint"
        raise UnsupportedError(f"{mechanism.name}: {text}")
    leader = leaders[0] if leaders else 0
    return _Mimic(leader, float(row[leader]), float(mechanism.coupling.q0[body]))


def _limits(mechanism: Mechanism, body: int, mimic: _Mimic | None) -> tuple[float, float, float, float]:
    """Lowest and highest position, speed and effort; those of a follower follow from its leader's."""
    limits = mechanism.limits
    k = mechanism.joint_names.index(mechanism.tree_joint_names[body]) if mimic is None else mimic.leader
    low, high, speed = float(limits.q_min[k]), float(limits.q_max[k]), float(limits.qd_max[k])
    if mimic is None:
        return low, high, speed, float(limits.tau_max[k])
    if mimic.multiplier == 0.0:
        return mimic.offset, mimic.offset, math.inf, math.inf
    ends = sorted((mimic.multiplier * low + mimic.offset, mimic.multiplier * high + mimic.offset))
    return ends[0], ends[1], abs(mimic.multiplier) * speed, math.inf


def _write_frames(robot: ET.Element, mechanism: Mechanism, links: dict[int, _Link]) -> None:
    """Every named frame that is not already a link, as a massless link on a fixed joint."""
    joints = set(mechanism.tree_joint_names)
    for frame in mechanism.frames:
        link = links[frame.body]
        if frame.name == link.name:
            continue
        ET.SubElement(robot, "link", name=frame.name)
        X = inverse(link.X_body_link) @ frame.X_body_frame
        _joint(robot, _unused(f"{frame.name}-joint", joints), "fixed", link.name, frame.name, X)


def _joint(robot: ET.Element, name: str, kind: str, parent: str, child: str, X: Array) -> ET.Element:
    joint = ET.SubElement(robot, "joint", name=name, type=kind)
    ET.SubElement(joint, "origin", xyz=_numbers(X[:3, 3]), rpy=_numbers(roll_pitch_yaw(X[:3, :3])))
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    return joint


# --- numbers ----------------------------------------------------------------------------------------


def roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """Angles with R = Rz(yaw) Ry(pitch) Rx(roll), exact to rounding for every pitch.

    The roll is read from Rz(-yaw) R, so that it fits the yaw also where
    only their sum or difference is determined (pitch = +-90 deg).
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def _number(value: float) -> str:
    """The shortest text that reads back to ``value``; infinite values become UNLIMITED."""
    finite = min(max(float(value), -UNLIMITED), UNLIMITED) + 0.0  # + 0.0: no minus zero
    return repr(finite).removesuffix(".0")


def _numbers(values: Iterable[float]) -> str:
    return " ".join(map(_number, values))
