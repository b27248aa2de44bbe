"""The tree that a URDF file describes: checked, joints sorted parents first, names made usable."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from servotwin.description.nodes import quoted
from servotwin.description.urdf_xml import Element

_FINE = re.compile(r"[^\s.#=,]{1,100}")  # as in description.parts
_SUPPORTED = ("revolute", "continuous", "prismatic", "fixed")
# words that mean something to the description format where names of axes stand
_RESERVED_AXES = {"base", "source", "assumed", "include", "choose", "extends", "replace", "value"}
_RESERVED_LINKS = {"tool"}


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint element with the names it connects, as the file writes them."""

    element: Element
    name: str
    kind: str
    parent: str
    child: str

    @property
    def moves(self) -> bool:
        """False for a fixed joint."""
        return self.kind != "fixed"

    @property
    def unit(self) -> str:
        """The unit of the joint's position."""
        return "m" if self.kind == "prismatic" else "rad"


@dataclass(frozen=True, slots=True)
class Robot:
    """The checked tree: links by name, joints parents first, the names ServoTwin gives them."""

    element: Element
    links: dict[str, Element]
    joints: list[Joint]
    root: str  # name of the link that does not move
    axis_names: dict[str, str]  # by URDF joint name
    link_names: dict[str, str]  # by URDF link name
    carriers: dict[str, Joint]  # by URDF link name, the joint that moves it


# --- the tree ---------------------------------------------------------------------------------------


def checked_robot(element: Element) -> Robot:
    """The tree in a <robot> element; an input error if it is not one tree with a moving joint."""
    links = _by_name(element.all("link"))
    joints = [_joint(name, joint, links) for name, joint in _by_name(element.all("joint")).items()]
    if not links:
        raise element.error("<robot> has no <link>")
    if not any(joint.moves for joint in joints):
        raise element.error("no joint moves; expected at least one revolute, continuous or prismatic joint")
    ordered = _parents_first(links, joints)
    carriers = {joint.child: joint for joint in ordered}
    [root] = [link for link in links if link not in carriers]
    # a massless leaf or a link that is the tool may be called so: it is the tool frame
    reserved = set() if _carries_tool_frame(ordered) else _RESERVED_LINKS
    return Robot(
        element,
        links,
        ordered,
        root,
        _readable((joint.name for joint in ordered), _RESERVED_AXES, "joint"),
        _readable([root, *carriers], reserved, "link"),
        carriers,
    )


def _carries_tool_frame(joints: list[Joint]) -> bool:
    """True if a leaf behind a moving joint is called ``tool``."""
    carriers = {joint.child: joint for joint in joints}
    parents = {joint.parent for joint in joints}
    joint = carriers.get("tool")
    if joint is None or "tool" in parents:
        return False
    while joint is not None and not joint.moves:
        joint = carriers.get(joint.parent)
    return joint is not None


def _by_name(elements: list[Element]) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in elements:
        name = element.text("name")
        if name in found:
            first = found[name].line
            raise element.error(f"this <{element.tag}> name is used twice; the first is in line {first}")
        found[name] = element
    return found


def _joint(name: str, element: Element, links: dict[str, Element]) -> Joint:
    kind = element.text("type")
    if kind not in _SUPPORTED:
        raise element.error(f"type {quoted(kind)} is not supported; supported are {', '.join(_SUPPORTED)}")
    ends = []
    for tag in ("parent", "child"):
        end = element.required(tag)
        ends.append(end.text("link"))
        if ends[-1] not in links:
            raise end.error(f"the {tag} link {quoted(ends[-1])} does not exist")
    return Joint(element, name, kind, ends[0], ends[1])


def _parents_first(links: dict[str, Element], joints: list[Joint]) -> list[Joint]:
    """The joints in file order, but none before the joint that carries its parent link."""
    carrier: dict[str, Joint] = {}
    outgoing: dict[str, list[int]] = {link: [] for link in links}
    for index, joint in enumerate(joints):
        if joint.child in carrier:
            other = carrier[joint.child].element
            raise joint.element.error(
                f"link {quoted(joint.child)} is the child of two joints; the first is in line {other.line}"
            )
        carrier[joint.child] = joint
        outgoing[joint.parent].append(index)
    roots = [link for link in links if link not in carrier]
    if len(roots) > 1:
        raise links[roots[1]].error(
            f"a second root beside {quoted(roots[0])}; expected all links but one to be children of joints"
        )
    ready = list(outgoing[roots[0]]) if roots else []
    ordered = []
    while ready:
        joint = joints[heapq.heappop(ready)]
        ordered.append(joint)
        for index in outgoing[joint.child]:
            heapq.heappush(ready, index)
    if len(ordered) < len(joints):
        reached = {joint.name for joint in ordered}
        lost = next(joint for joint in joints if joint.name not in reached)
        raise lost.element.error("the joint is part of a cycle of links; expected a tree")
    return ordered


# --- names ------------------------------------------------------------------------------------------


def _readable(names: Iterable[str], reserved: set[str], kind: str) -> dict[str, str]:
    """Names the description format accepts; those that are fine already are kept as they are."""
    wanted = {name: name if _FINE.fullmatch(name) else _clean(name) or kind for name in names}
    given = {name: name for name, clean in wanted.items() if clean == name and name not in reserved}
    taken = set(given) | reserved
    used: Counter[str] = Counter()  # so that a thousand equal names do not search a million times
    for name, clean in wanted.items():
        if name in given:
            continue
        candidate = stem = f"{clean}-{kind}" if clean in reserved else clean
        while candidate in taken:
            used[stem] += 1
            candidate = f"{stem}-{used[stem] + 1}"
        given[name] = candidate
        taken.add(candidate)
    return given


def _clean(name: str) -> str:
    """The name with dashes for what names must not hold (blanks, dots, ...), at most 80 characters."""
    return re.sub(r"[^\w/:+()-]+", "-", name).strip("-")[:80]
