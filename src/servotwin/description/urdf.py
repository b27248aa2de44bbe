"""URDF in: the raw tree of a robot file, as a YAML description of the same robot would give it.

Read are the tree of links and joints with their names, inertials, shapes, limits
and mimics; what is left out is said (``urdf_notes``). Three readings of the
format (https://wiki.ros.org/urdf/XML) are worth knowing:

- The root link becomes the ``base`` of the description, under its own name.
- A limit of zero for speed or effort, ``lower`` = ``upper`` = 0, and anything
  from 1e16 on are how URDF files say "not stated", so they are not limits here.
- The tool is the only leaf of the tree; of several, the one named most like a
  tool (see ``_TOOL_WORDS``), otherwise the one behind most moving joints, the
  first in the file if equal. A massless leaf called ``tool`` fixed to a moving
  link becomes the tool frame itself, which is how ServoTwin writes it.

Real files hold inertias that no body has, often only by rounding, so the tree
asks for a warning instead of an error (``inertia_check: warn``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from servotwin.description.nodes import Node, Origin, one_line, quoted
from servotwin.description.reach import Reach
from servotwin.description.urdf_notes import notes, warnings
from servotwin.description.urdf_shapes import UrdfShape, entries, shapes_of, solid, solid_shapes
from servotwin.description.urdf_tree import Joint, Robot, checked_robot
from servotwin.description.urdf_xml import MAX_NUMBER, Element, parse_robot, read_robot
from servotwin.description.xacro_file import expand, is_xacro
from servotwin.errors import located

UNLIMITED = 1e16  # what simulators write for "no limit"; the export uses it too
_ZERO = (0.0, 0.0, 0.0)
_URDF_AXIS = (1.0, 0.0, 0.0)
# best first; whole words, so that 'three' or 'handle' do not count
_TOOL_WORDS = ("tcp", "tool[0-9]*", "ee|eef|end[_-]?effector", "flange", "gripper", "hand")


class Imported(NamedTuple):
    """The raw tree of a URDF file, what it says and the tree does not hold, and what is missing in it."""

    tree: Node
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def read_urdf(path: str | Path) -> Node:
    """The raw tree of the URDF file at ``path``; ``InputError`` with file and line if it is broken."""
    return import_urdf(path).tree


def import_urdf(
    path: str | Path,
    *,
    density: float | None = None,
    allow_code: Mapping[str, str] | None = None,
    reach: Reach | None = None,
) -> Imported:
    """The tree of a URDF file, and what there is to say about it.

    ``density`` [kg/m3]: links without inertia get that of their shapes, marked as assumed. ``allow_code``:
    the file may be a xacro file, whose expressions are run; the values of its arguments. ``reach``: where
    meshes may lie; default the file's own folder, and the ROS package around it.
    """
    if allow_code is not None and is_xacro(path):
        element = parse_robot(expand(path, allow_code), str(path))
    else:
        element = read_robot(path)
    robot = checked_robot(element)
    meshes = Reach.of_package(path, reach or Reach.of(path))
    write = _Writer(f"URDF file {Path(path).name}", density, meshes)
    tree = _tree(robot, Path(path), write)
    return Imported(tree, (*notes(robot), *write.notes), tuple(warnings(robot, computed=density is not None)))


def _tree(robot: Robot, path: Path, write: _Writer) -> Node:
    tool = _tool_joint(robot)
    becomes_frame = _is_tool_frame(robot, tool)
    top = robot.element
    name, title = _robot_name(top, path.stem)
    fields: dict[str, Node | None] = {
        "format": write.text("servotwin/1", top),
        "name": write.text(name, top),
        "title": write.text(title, top) if title else None,
        "inertia_check": write.text("warn", top),
        "base": _base(robot, write),
        "axes": write.mapping(
            {
                robot.axis_names[joint.name]: _axis(robot, joint, write)
                for joint in robot.joints
                if not (becomes_frame and joint is tool)
            },
            top,
        ),
        "tool": _tool(robot, tool, write, becomes_frame),
        "couplings": _couplings(robot, write),
    }
    return write.mapping(fields, top)


class _Writer:
    """Makes nodes that point at URDF elements and name the file as their source.

    ``density`` [kg/m3]: links without inertia are filled with it; None: they stay without. ``reach``: where their
    meshes may lie. ``notes``: what there is to say about the filling.
    """

    def __init__(self, source: str, density: float | None, reach: Reach) -> None:
        self.source = one_line(source, 200)
        self.density, self.reach = density, reach
        self.assumed = ""
        self.notes: list[str] = []

    def _origin(self, place: Element) -> Origin:
        if self.assumed:
            return Origin(place.file, place.line, assumed=self.assumed)
        return Origin(place.file, place.line, source=self.source)

    @contextmanager
    def assuming(self, why: str) -> Iterator[None]:
        """What is made inside is assumed, for this reason."""
        self.assumed = why
        try:
            yield
        finally:
            self.assumed = ""

    def text(self, text: str, place: Element) -> Node:
        return Node(text, self._origin(place))

    def quantity(self, value: float, unit: str, place: Element) -> Node:
        """A number with its unit; ``repr`` keeps every bit. ``+ 0.0`` turns -0.0 into 0.0."""
        number = repr(value + 0.0).removesuffix(".0")
        return self.text(f"{number} {unit}" if unit else number, place)

    def quantities(self, values: Iterable[float], unit: str, place: Element) -> Node:
        return Node([self.quantity(value, unit, place) for value in values], self._origin(place))

    def items(self, nodes: list[Node], place: Element) -> Node:
        """A list of nodes."""
        return Node(list(nodes), self._origin(place))

    def mapping(self, fields: dict[str, Node | None] | dict[str, Node], place: Element) -> Node:
        """A mapping of the fields that are there."""
        kept = {key: node for key, node in fields.items() if node is not None}
        return Node(kept, self._origin(place))


def _robot_name(element: Element, stem: str) -> tuple[str, str]:
    """Catalogue-style name, and the original as the title if it says more."""
    original = one_line(element.attributes.get("name", ""), 100)
    for candidate in (original, stem):
        name = re.sub(r"[^a-z0-9]+", "-", candidate.lower()).strip("-")[:60].strip("-")
        if name:
            break
    # a text that starts with '=' would be read as an expression
    title = original.lstrip("= ")
    return name or "robot", "" if title == name else title


# --- the parts --------------------------------------------------------------------------------------


def _axis(robot: Robot, joint: Joint, write: _Writer) -> Node:
    element = joint.element
    fields: dict[str, Node | None] = {
        "type": write.text(joint.kind, element),
        "parent": write.text(_axis_of(robot, joint.parent), element),
        "origin": write.mapping(_placement(element, write), element),
        "axis": _direction(joint, write) if joint.moves else None,
        "limits": _limits(joint, write) if joint.moves else None,
        "link": _link(robot, joint.child, write),
    }
    return write.mapping(fields, element)


def _axis_of(robot: Robot, link: str) -> str:
    """The name of the axis that moves ``link``, ``base`` for the root link."""
    return robot.axis_names[robot.carriers[link].name] if link in robot.carriers else "base"


def _placement(element: Element, write: _Writer) -> dict[str, Node | None]:
    """``xyz`` and, if it turns, ``rpy`` of the <origin> in ``element``."""
    origin = element.only("origin")
    if origin is None:
        return {"xyz": write.quantities(_ZERO, "m", element), "rpy": None}
    rpy = origin.vector("rpy", _ZERO)
    return {
        "xyz": write.quantities(origin.vector("xyz", _ZERO), "m", origin),
        "rpy": write.quantities(rpy, "rad", origin) if any(rpy) else None,
    }


def _direction(joint: Joint, write: _Writer) -> Node:
    axis = joint.element.only("axis")
    if axis is None:
        return write.quantities(_URDF_AXIS, "", joint.element)
    direction = axis.vector("xyz", _URDF_AXIS)
    if not any(direction):
        raise axis.error("<axis xyz='0 0 0'>: the axis of a moving joint needs a direction")
    return write.quantities(direction, "", axis)


def _limits(joint: Joint, write: _Writer) -> Node | None:
    limit = joint.element.only("limit")
    if limit is None:
        return None
    # one of the two alone leaves the other at the format's default, zero
    lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
    open_ended = joint.kind == "continuous" or (upper >= UNLIMITED and lower <= -UNLIMITED)
    stated = not open_ended and (lower, upper) != (0.0, 0.0)
    fields: dict[str, Node | None] = {
        "position": write.quantities((lower, upper), joint.unit, limit) if stated else None,
        "speed": _bound(limit, "velocity", f"{joint.unit}/s", write),
        "effort": _bound(limit, "effort", "N" if joint.kind == "prismatic" else "N*m", write),
    }
    return write.mapping(fields, limit) if any(fields.values()) else None


def _bound(limit: Element, attribute: str, unit: str, write: _Writer) -> Node | None:
    value = limit.number(attribute, 0.0)
    return write.quantity(value, unit, limit) if value and value < UNLIMITED else None


def _link(robot: Robot, link: str, write: _Writer) -> Node:
    element = robot.links[link]
    name = write.text(robot.link_names[link], element)
    return write.mapping({"name": name, **_body(element, write)}, element)


def _base(robot: Robot, write: _Writer) -> Node | None:
    """The root link; nothing if it is called ``base`` and has no more to say."""
    element, name = robot.links[robot.root], robot.link_names[robot.root]
    fields = {"name": None if name == "base" else write.text(name, element), **_body(element, write)}
    return write.mapping(fields, element) if any(fields.values()) else None


def _body(element: Element, write: _Writer) -> dict[str, Node | None]:
    """Mass properties and shapes of a link."""
    fields: dict[str, Node | None] = {}
    inertial = element.only("inertial")
    if inertial is not None:
        mass, placement = inertial.required("mass"), _placement(inertial, write)
        if mass.number("value"):  # without mass there is no mass centre either
            fields["mass"] = write.quantity(mass.number("value"), "kg", mass)
            fields["center"] = placement["xyz"]
        fields["inertia"] = _inertia(inertial.required("inertia"), placement["rpy"], write)
    elif write.density is not None:
        fields |= _filled(element, write.density, write)
    shapes = shapes_of(element, "visual") or shapes_of(element, "collision")
    if shapes:
        fields["shapes"] = write.items([_shape(shape, write) for shape in shapes], element)
    return fields


def _filled(element: Element, density: float, write: _Writer) -> dict[str, Node | None]:
    """Mass properties of a link's shapes, filled with a density [kg/m3]."""
    found = solid(solid_shapes(element), density, write.reach)
    if found.mass == 0.0:
        return {}
    filled = "the shapes of the URDF file"
    if found.hulls:
        names = ", ".join(quoted(name) for name in found.hulls)
        text = (
            f"link {quoted(element.text('name'))}: the convex hull of {names} was filled, which is not closed, or has "
            "faces turned inwards beside others turned outwards"
        )
        write.notes.append(located(text, element.file, element.line, None))
        filled += ", convex hulls of open meshes,"
    with write.assuming(f"{filled} filled with {density:g} kg/m^3"):
        tensor = {k: write.quantity(v, "kg*m^2", element) for k, v in entries(found.inertia).items()}
        return {
            "mass": write.quantity(found.mass, "kg", element),
            "center": write.quantities(map(float, found.center), "m", element),
            "inertia": write.mapping({"tensor": write.mapping(tensor, element)}, element),
        }


def _shape(shape: UrdfShape, write: _Writer) -> Node:
    """A shape as the description writes it."""
    place = shape.geometry
    fields: dict[str, Node | None] = {}
    if place.tag == "mesh":
        fields["mesh"] = write.text(one_line(place.text("filename"), 1000), place)
        scale = place.vector("scale", (1.0, 1.0, 1.0))
        fields["scale"] = write.quantities(scale, "", place) if scale != (1.0, 1.0, 1.0) else None
    elif place.tag == "box":
        fields["box"] = write.quantities(place.vector("size", _ZERO), "m", place)
    elif place.tag == "cylinder":
        sizes = {key: write.quantity(place.number(key), "m", place) for key in ("radius", "length")}
        fields["cylinder"] = write.mapping(sizes, place)
    else:
        fields["sphere"] = write.quantity(place.number("radius"), "m", place)
    fields["xyz"] = write.quantities(shape.xyz, "m", place) if any(shape.xyz) else None
    fields["rpy"] = write.quantities(shape.rpy, "rad", place) if any(shape.rpy) else None
    return write.mapping(fields, place)


def _inertia(inertia: Element, rpy: Node | None, write: _Writer) -> Node | None:
    entries = {key: inertia.number(f"i{key}") for key in ("xx", "yy", "zz", "xy", "xz", "yz")}
    if not any(entries.values()):
        return None
    stated = {key: value for key, value in entries.items() if value or key[0] == key[1]}
    tensor = {key: write.quantity(value, "kg*m^2", inertia) for key, value in stated.items()}
    return write.mapping({"tensor": write.mapping(tensor, inertia), "rpy": rpy}, inertia)


# --- mimics -----------------------------------------------------------------------------------------


def _couplings(robot: Robot, write: _Writer) -> Node | None:
    joints = {joint.name: joint for joint in robot.joints}
    mimics = {joint.name: joint.element.only("mimic") for joint in robot.joints if joint.moves}
    rows = []
    for name, mimic in mimics.items():
        if mimic is None:
            continue
        leader, multiplier, offset = _resolve(name, mimics, joints)
        factor = _factor_unit(joints[name], joints[leader])
        of = write.mapping({robot.axis_names[leader]: write.quantity(multiplier, factor, mimic)}, mimic)
        row: dict[str, Node | None] = {
            "joint": write.text(robot.axis_names[name], mimic),
            "of": of,
            "offset": write.quantity(offset, joints[name].unit, mimic) if offset else None,
        }
        rows.append(write.mapping(row, mimic))
    return Node(rows, rows[0].origin) if rows else None


def _resolve(
    name: str, mimics: dict[str, Element | None], joints: dict[str, Joint]
) -> tuple[str, float, float]:
    """Leader, multiplier and offset of a mimic joint; a mimic of a mimic follows the first leader."""
    follower = joints[name].element
    multiplier, offset = 1.0, 0.0
    seen = {name}
    mimic = mimics[name]
    while mimic is not None:
        name = mimic.text("joint")
        if name not in joints:
            raise mimic.error(f"mimics the joint {quoted(name)}, which does not exist")
        if not joints[name].moves:
            raise mimic.error(f"mimics the joint {quoted(name)}, which is fixed; make this joint fixed too")
        if name in seen:
            raise mimic.error("mimics itself, directly or through other joints")
        seen.add(name)
        offset += multiplier * mimic.number("offset", 0.0)
        multiplier *= mimic.number("multiplier", 1.0)
        mimic = mimics[name]
    if not (abs(multiplier) <= MAX_NUMBER and abs(offset) <= MAX_NUMBER):
        raise follower.error("the chain of mimic joints multiplies to a number beyond 1e30")
    return name, multiplier, offset


def _factor_unit(follower: Joint, leader: Joint) -> str:
    return "" if follower.unit == leader.unit else f"{follower.unit}/{leader.unit}"


# --- the tool ---------------------------------------------------------------------------------------


def _tool_joint(robot: Robot) -> Joint:
    """The joint that carries the tool link, see the head of the module."""
    parents = {joint.parent for joint in robot.joints}
    leaves = [joint for joint in robot.joints if joint.child not in parents]
    moving = _moving_joints(robot)
    # a sensor post on the base is a leaf too, but never the tool
    leaves = [joint for joint in leaves if moving[joint.child]]
    for word in ("^tool$", *(f"(?<![a-z])({word})(?![a-z])" for word in _TOOL_WORDS)):
        for joint in leaves:
            if len(leaves) > 1 and re.search(word, joint.child.lower()):
                return joint
    return max(leaves, key=lambda joint: moving[joint.child])


def _moving_joints(robot: Robot) -> dict[str, int]:
    """By link, how many moving joints lie between it and the root."""
    count: dict[str, int] = {}
    for joint in robot.joints:
        count[joint.child] = count.get(joint.parent, 0) + joint.moves
    return count


def _is_tool_frame(robot: Robot, joint: Joint) -> bool:
    massless = robot.links[joint.child].only("inertial") is None
    return joint.child == "tool" and not joint.moves and massless


def _tool(robot: Robot, joint: Joint, write: _Writer, becomes_frame: bool) -> Node | None:
    """The tool section; a link that keeps the name ``tool`` needs none."""
    if becomes_frame:
        return _tool_frame(robot, joint, write)
    return None if robot.link_names[joint.child] == "tool" else _tool_link(robot, joint, write)


def _tool_frame(robot: Robot, joint: Joint, write: _Writer) -> Node:
    parent = write.text(_axis_of(robot, joint.parent), joint.element)
    return write.mapping({"parent": parent, **_placement(joint.element, write)}, joint.element)


def _tool_link(robot: Robot, joint: Joint, write: _Writer) -> Node:
    parent = write.text(robot.axis_names[joint.name], joint.element)
    return write.mapping({"parent": parent}, joint.element)
