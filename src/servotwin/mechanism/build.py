"""From the description of a robot to the mechanism that algorithms read.

Each moving axis becomes a body whose frame stands on the joint, z along the
direction of positive motion; fixed axes are merged into the body that carries
them. Bodies keep the order of the file as far as parents come first.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.frames import joint_direction, joint_frame, link_frame
from servotwin.description.inertia import base_inertia, link_inertia, payload_inertia
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.drives.table import DEFAULT
from servotwin.mechanism.deviation import FIELDS, Deviation, displacement, with_deviations
from servotwin.mechanism.model import (
    BASE,
    Array,
    Coupling,
    CutKind,
    Frame,
    FrameQuantities,
    Limits,
    LoopClosure,
    Mechanism,
    Quantities,
    Rotors,
)
from servotwin.mechanism.spatial import (
    add_payload,
    chain,
    phi_from,
    placement,
    rotation_from_z,
    transform,
    transform_phi,
)

TOOL = "tool"


@dataclass
class _Tree:
    """The bodies while they are put together, and the link frame of every axis."""

    names: list[str]
    parent: list[int]
    prismatic: list[bool]
    X_tree: list[Array]
    phi: list[Array]
    phi_base: Array
    links: dict[str, Frame]


def build_mechanism(description: RobotDescription) -> Mechanism:
    """The mechanism of a checked description."""
    tree = _tree(description)
    frames, loops = _frames(description, tree)
    tool = next(frame for frame in frames if frame.name == TOOL)
    if description.payload is not None and tool.body != BASE:
        load = payload_inertia(description.payload)
        X_body_tool = tool.X_body_frame @ _tool_displacement(description)  # it hangs on the tool as built
        tree.phi[tool.body] = add_payload(tree.phi[tool.body], X_body_tool, *load)
    active = description.joint_names
    following = {coupling.joint for coupling in description.couplings}
    passive = tuple(name for name in tree.names if name not in following and name not in active)
    home = description.home
    coupling = _coupling(description, tree.names, active + passive)
    nominal = Mechanism(
        name=description.name,
        tree_joint_names=tuple(tree.names),
        parent=np.array(tree.parent, dtype=np.int64),
        prismatic=np.array(tree.prismatic, dtype=np.bool_),
        X_tree=np.array(tree.X_tree) + 0.0,  # no negative zeros
        phi=np.array(tree.phi) + 0.0,
        frames=tuple(frames),
        tool=TOOL,
        gravity=np.array(description.gravity) + 0.0,
        joint_names=active,
        coupling=coupling,
        limits=_limits(description),
        rotors=_rotors(description, tree),
        loops=tuple(loops),
        passive_names=passive,
        passive_home=np.array([home.get(name, 0.0) for name in passive]),
        q_home=_home(description),
        quantities=_quantities(description, coupling, tree.names),
        frame_quantities=_frame_quantities(description),
        phi_base=tree.phi_base + 0.0,
        family=description.kinematics or "",
    )
    return with_deviations(nominal, stated_deviations(description))


def _tool_displacement(description: RobotDescription) -> Array:
    stated = description.tool.deviation if description.tool is not None else None
    if stated is None:
        return np.eye(4)
    return displacement(np.array(stated.position), np.array(stated.rotation))


def stated_deviations(description: RobotDescription) -> dict[str, Deviation]:
    """What the file says about deviations, by place."""
    stated: dict[str, Any] = {
        "base": description.base.deviation if description.base is not None else None,
        TOOL: description.tool.deviation if description.tool is not None else None,
    }
    stated.update((name, axis.deviation) for name, axis in description.axes.items())
    for loop in description.loops:
        stated.update(
            (f"{loop.name}.{side}", frame.deviation) for side, frame in zip("ab", loop.between, strict=True)
        )
    return {
        name: Deviation(**part.model_dump(include=set(FIELDS)))
        for name, part in stated.items()
        if part is not None
    }


def _tree(description: RobotDescription) -> _Tree:
    """The bodies in an order where parents come first."""
    parents = description.parent_names
    link_names = description.link_names
    base = description.base
    phi_base = np.zeros(10) if base is None else phi_from(*base_inertia(base))
    tree = _Tree([], [], [], [], [], phi_base, {"base": Frame(description.base_name, BASE, np.eye(4))})
    for name in _parents_first(parents):
        axis = description.axes[name]
        carrier = tree.links[parents[name]]
        X_body_joint = chain(carrier.X_body_frame, joint_frame(axis))
        if axis.fixed:
            body, X_body_link = carrier.body, chain(X_body_joint, link_frame(axis))
        else:
            turn = transform(rotation_from_z(joint_direction(axis)))
            body, X_body_link = len(tree.names), chain(turn.T, link_frame(axis))
            tree.names.append(name)
            tree.parent.append(carrier.body)
            tree.prismatic.append(axis.prismatic)
            tree.X_tree.append(chain(X_body_joint, turn))
            tree.phi.append(np.zeros(10))
        tree.links[name] = Frame(link_names[name], body, X_body_link + 0.0)
        own = transform_phi(X_body_link, phi_from(*link_inertia(axis)))
        if body != BASE:
            tree.phi[body] = tree.phi[body] + own
        else:  # what is fixed to the base never moves
            tree.phi_base = tree.phi_base + own
    return tree


def _parents_first(parents: dict[str, str]) -> list[str]:
    """The axes, each after its parent, otherwise in the order given."""
    names = list(parents)
    children: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        children.setdefault(parents[name], []).append(i)
    ready = list(children.get("base", ()))
    order = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for i in children.get(name, ()):
            heapq.heappush(ready, i)
    return order


def _frames(description: RobotDescription, tree: _Tree) -> tuple[list[Frame], list[LoopClosure]]:
    """All named frames (base, links in file order, tool, sides of loops) and the loop closures."""
    frames = [tree.links["base"], *(tree.links[name] for name in description.axes)]
    if not any(frame.name == TOOL for frame in frames):
        carrier = tree.links[description.tool_parent]
        X = carrier.X_body_frame
        if description.tool is not None:
            X = chain(X, placement(description.tool))
        frames.append(Frame(TOOL, carrier.body, X + 0.0))
    loops = []
    for loop in description.loops:
        # a dot cannot stand in the name of a link, so these names are free
        sides = [f"{loop.name}.a", f"{loop.name}.b"]
        for name, side in zip(sides, loop.between, strict=True):
            carrier = tree.links[side.link]
            frames.append(Frame(name, carrier.body, chain(carrier.X_body_frame, placement(side)) + 0.0))
        loops.append(LoopClosure(loop.name, CutKind(loop.type), sides[0], sides[1]))
    return frames, loops


def _coupling(description: RobotDescription, names: list[str], free: tuple[str, ...]) -> Coupling:
    """G and q0 of q_tree = G x + q0, with x the active and then the passive joints."""
    row = {name: i for i, name in enumerate(names)}
    column = {name: i for i, name in enumerate(free)}
    G, q0 = np.zeros((len(names), len(free))), np.zeros(len(names))
    for name in free:
        G[row[name], column[name]] = 1.0
    for coupling in description.couplings:
        q0[row[coupling.joint]] = coupling.offset
        for name, factor in coupling.of.items():
            G[row[coupling.joint], column[name]] = factor
    return Coupling(G, q0)


def _home(description: RobotDescription) -> Array:
    """The stated pose; joints of which nothing is said stand at zero, or at the limit nearest to it."""
    limits = _limits(description)
    stated = [description.home.get(name) for name in description.joint_names]
    near = np.clip(0.0, limits.q_min, limits.q_max)
    return np.array([rest if value is None else value for value, rest in zip(stated, near, strict=True)])


def _limits(description: RobotDescription) -> Limits:
    """Limits of the independent joints, infinite where none is stated."""
    stated = [description.axes[name].limits for name in description.joint_names]

    def largest(values: list[float | None]) -> Array:
        return np.array([math.inf if value is None else value for value in values])

    return Limits(
        q_min=np.array([-math.inf if s.position is None else s.position[0] for s in stated]),
        q_max=np.array([math.inf if s.position is None else s.position[1] for s in stated]),
        qd_max=largest([s.speed for s in stated]),
        qdd_max=largest([s.acceleration for s in stated]),
        tau_max=largest([s.effort for s in stated]),
    )


def _quantities(description: RobotDescription, coupling: Coupling, names: list[str]) -> Quantities:
    """Sums of joints as sums of the independent ones; joints that follow others count through them."""
    stated, n = description.quantities, len(description.joint_names)
    A, b = np.zeros((len(stated), n)), np.zeros(len(stated))
    for k, quantity in enumerate(stated.values()):
        b[k] = quantity.offset
        for name, factor in quantity.of.items():
            row = names.index(name)
            A[k] += factor * coupling.G[row, :n]
            b[k] += factor * coupling.q0[row]
    ranges = [quantity.limits or (-math.inf, math.inf) for quantity in stated.values()]
    low, high = (np.array([each[side] for each in ranges]) for side in (0, 1))
    lengths = tuple(all(description.axes[name].prismatic for name in q.of) for q in stated.values())
    return Quantities(tuple(stated), A, b, low, high, lengths)


def _frame_quantities(description: RobotDescription) -> FrameQuantities:
    """Angles and distances between the frames of links, the base and the tool."""
    stated = description.frame_quantities
    frame_of = {**description.link_names, "base": description.base_name, TOOL: TOOL}
    frames, axes = [], []
    for quantity in stated.values():
        words = [word.rpartition(".") for word in quantity.angle or ()]
        axes.append(tuple("xyz".index(axis) for _, _, axis in words))
        named = [frame for frame, _, _ in words] or list(quantity.distance or ())
        frames.append(tuple(frame_of[name] for name in named))
    ranges = [quantity.limits or (-math.inf, math.inf) for quantity in stated.values()]
    low, high = (np.array([each[side] for each in ranges]) for side in (0, 1))
    radius = tuple(quantity.radius for quantity in stated.values())
    return FrameQuantities(tuple(stated), tuple(frames), tuple(axes), radius, low, high)


def _rotors(description: RobotDescription, tree: _Tree) -> Rotors:
    """Motors, their ratios, rotor inertias and friction; a motor without a stated inertia counts zero."""
    drives = [drive for drive in drives_of(description) if drive.driven]
    friction = [drive.shaft_friction for drive in drives]
    rotors = Rotors(
        tuple(drive.name for drive in drives),
        np.array([drive.ratios for drive in drives]).reshape(len(drives), len(description.joint_names)),
        np.array([drive.rotor_inertia for drive in drives]),
        f_m=np.array([curve.viscous for curve in friction]),
        tau_c=np.array([curve.coulomb for curve in friction]),
        kinds=tuple(drive.kind or DEFAULT.name for drive in drives),
    )
    return _mounted(description, tree, rotors, drives) if description.rotor_coupling == "full" else rotors


def _mounted(description: RobotDescription, tree: _Tree, rotors: Rotors, drives: list[DriveData]) -> Rotors:
    """The rotors with the bodies that carry them and their axes, whose spin is to be coupled."""
    bodies, axes = [], []
    for drive in drives:
        mount = drive.mount
        if mount is None:
            if drive.rotor_inertia:
                text = "missing: rotor_coupling full needs the link that carries the motor and the rotor's axis; "
                text += "expected mount: {link: base, axis: [0, 0, 1]}"
                raise refuse(description, f"axes.{drive.owner}.motor.mount", text)
            bodies.append(BASE)
            axes.append(np.array([0.0, 0.0, 1.0]))
            continue
        carrier = tree.links[mount.link]
        bodies.append(carrier.body)
        axes.append(carrier.X_body_frame[:3, :3] @ (np.array(mount.axis) / np.linalg.norm(mount.axis)))
    return replace(rotors, body=np.array(bodies, dtype=np.int64), axis=np.array(axes).reshape(-1, 3) + 0.0)
