"""Mutations of XML trees, for URDF and xacro files."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from random import Random

from fuzz.values import TEXTS, changed_quantity, changed_text, encoded, nasty

ET.register_namespace("xacro", "http://www.ros.org/wiki/xacro")
TAGS = (
    "robot", "link", "joint", "inertial", "origin", "mass", "inertia", "visual", "collision", "geometry", "mesh", "box",
    "cylinder", "sphere", "parent", "child", "axis", "limit", "mimic", "dynamics", "material", "gazebo",
)  # fmt: skip
ATTRIBUTES = (
    "name", "type", "link", "joint", "xyz", "rpy", "value", "ixx", "iyy", "izz", "ixy", "radius", "length", "size",
    "scale", "filename", "lower", "upper", "effort", "velocity", "multiplier", "offset", "axis",
)  # fmt: skip
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "ball")
ENTITIES = (
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>\n',
    '<!DOCTYPE r SYSTEM "file:///etc/passwd">\n',
    "<?xml-stylesheet href='x'?>\n",
    '<?xml version="1.1"?>\n',
    '<?xml version="1.0" encoding="utf-7"?>\n',
    "<!-- " + "-" * 100 + " -->\n",
)


def mutated_xml(rng: Random, source: str, *, code: bool = False) -> bytes:
    """The bytes of a mutated XML file; ``code``: values are not mutated into expressions that would run."""
    root = ET.fromstring(source)
    try:
        for _ in range(rng.choice((1, 1, 2, 3, 6))):
            _change(rng, root, code=code)
        text = ET.tostring(root, encoding="unicode")
    except (UnicodeError, ValueError, RecursionError):
        text = source
    if rng.random() < 0.1:
        text = rng.choice(ENTITIES) + text
    if rng.random() < 0.15 and not code:
        text = changed_text(rng, text)
    return encoded(rng, text)


def mutated_texts(rng: Random, source: str) -> bytes:
    """The bytes of an XML file whose values stand between the tags, mutated there and elsewhere."""
    root = ET.fromstring(source)
    filled = [element for element in root.iter() if element.text and element.text.strip()]
    for element in rng.sample(filled, rng.choice((0, 1, 1, 2, 4))):
        words = (
            element.text or "",
            "",
            "#x",
            "-1",
            "#xFFFFFFFF",
            "4294967296",
            "0x10",
            "65535",
            "0",
            "zz",
            "00" * 5000,
        )
        element.text = changed_text(rng, rng.choice(words))
    try:
        text = ET.tostring(root, encoding="unicode")
        ET.fromstring(text)
    except (ET.ParseError, UnicodeError, ValueError):
        text = source
    return mutated_xml(rng, text)


def _change(rng: Random, root: ET.Element, *, code: bool) -> None:
    elements = list(root.iter())
    element = rng.choice(elements)
    parents = [e for e in elements if len(e)]
    parent = rng.choice(parents) if parents else root
    way = rng.randrange(12)
    if way < 4 and element.attrib:
        name = rng.choice(list(element.attrib))
        element.set(name, _value(rng, element.attrib[name], code=code))
    elif way == 4:
        element.set(rng.choice(ATTRIBUTES), _value(rng, "1 2 3", code=code))
    elif way == 5 and element.attrib:
        del element.attrib[rng.choice(list(element.attrib))]
    elif way == 6 and len(parent):
        parent.remove(rng.choice(list(parent)))
    elif way == 7:
        element.tag = rng.choice(TAGS)
    elif way == 8:
        copies = [copy.deepcopy(element) for _ in range(rng.choice((1, 1, 2, 100)))]
        if element is not root or rng.random() < 0.1:
            parent.extend(copies[:3] if element is root else copies)
    elif way == 9 and len(parent) > 1:
        children = list(parent)
        rng.shuffle(children)
        parent[:] = children
    elif way == 10:
        inner = parent
        for _ in range(rng.choice((1, 5, 100, 900))):
            inner = ET.SubElement(inner, rng.choice(TAGS))
    else:
        names = [e.attrib["name"] for e in elements if "name" in e.attrib] or ["a"]
        element.set(rng.choice(("name", "link", "joint")), rng.choice(names))


def _value(rng: Random, value: str, *, code: bool) -> str:
    way = rng.random()
    words = value.split()
    if way < 0.5 and words:
        i = rng.randrange(len(words))
        words[i] = changed_quantity(rng, words[i])
        out = " ".join(words)
    elif way < 0.6:
        out = rng.choice(KINDS)
    elif way < 0.7:
        out = " ".join([value] * rng.choice((0, 2, 500)))
    else:
        out = rng.choice(TEXTS) if rng.random() < 0.5 else nasty(rng)
    if code and ("$" in out or "**" in out):
        return "1"
    return "".join(
        c
        for c in out
        if c in "\t\n" or 0x20 <= ord(c) < 0xD800 or 0xE000 <= ord(c) < 0xFFFE or ord(c) > 0xFFFF
    )
