"""Overrides such as ``axes.A.gear.ratio=80``: values set on top of a tree by their dotted path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from servotwin.description.nodes import Node, Origin, one_line, parse_yaml, quoted
from servotwin.description.placed import Placed, override_mapping, override_text
from servotwin.description.plain_text import hidden_problem
from servotwin.description.units import did_you_mean

MAX_PARTS = 30


class Time(Enum):
    """The step of the composition that an override belongs to."""

    REPLACE = "before all others"
    INCLUDE = "before parts are included"
    VARIABLE = "before conditions are decided"
    VALUE = "after both"


@dataclass(frozen=True, slots=True)
class Override:
    """A path and the value to set there; an empty value deletes."""

    path: tuple[str, ...]
    node: Node

    @property
    def time(self) -> Time:
        """When it must be set."""
        if self.path[0] == "variables":
            return Time.VARIABLE
        if self.path[-1] == "replace" and says_true(self.node):
            return Time.REPLACE
        return Time.INCLUDE if self.path[-1] == "include" else Time.VALUE


def says_true(node: Node | None) -> bool:
    """Whether a value is ``true``, as files and options write it."""
    return node is not None and str(node.value).strip().lower() == "true"


def override_origin(field: str, text: str) -> Origin:
    """Where an override was written, for messages."""
    return text.origin if isinstance(text, Placed) else Origin(f"override {one_line(field, 120)}")


def parse_overrides(overrides: Mapping[str, str | None]) -> list[Override]:
    """The overrides of a mapping from dotted path to text; texts in [] or {} are read as YAML."""
    return [_parse(str(field), override_text(text)) for field, text in override_mapping(overrides).items()]


def _parse(field: str, text: str) -> Override:
    origin = override_origin(field, text)
    path = tuple(part.strip() for part in field.split("."))
    blank = Node(None, origin)
    if not all(path) or len(path) > MAX_PARTS:
        raise blank.error(f"{quoted(field)} is not a path; expected one such as axes.A.gear.ratio=80")
    problem = hidden_problem(text) or hidden_problem(field)
    if problem is not None:
        raise blank.error(problem)
    text = text.strip()
    if text[:1] in ("[", "{"):
        return Override(path, _moved(parse_yaml(text, origin.file), origin))
    return Override(path, Node(None if text in ("", "~", "null") else text, origin))


def _moved(node: Node, origin: Origin) -> Node:
    """``node`` with the place of ``origin`` and its own sources."""
    here = Origin(origin.file, origin.line, node.origin.source, node.origin.assumed)
    if isinstance(node.value, dict):
        fields = dict(node.value)
        if says_true(fields.get("replace")):  # an override takes the place of what stood there in any case
            fields.pop("replace")
        return Node({key: _moved(child, origin) for key, child in fields.items()}, here)
    if isinstance(node.value, list):
        return Node([_moved(child, origin) for child in node.value], here)
    return Node(node.value, here)


def set_override(tree: Node, override: Override) -> Node:
    """A copy of ``tree`` with the override in place; ``axes.A.motor.replace=true`` leaves nothing of that mapping."""
    path = override.path
    if override.time is Time.REPLACE:
        path, said = (
            path[:-1],
            {"replace": override.node},
        )  # which parts that are included take notice of, too
        override = Override(path, Node(said, override.node.origin))
    if path[0] in ("axes", "variables") and len(path) > 1:
        top = tree.value.get(path[0]) if isinstance(tree.value, dict) else None
        names = list(top.value) if top is not None and isinstance(top.value, dict) else []
        if path[1] not in names:
            what = "axis" if path[0] == "axes" else "variable"
            listed = ", ".join(names[:12]) or "none"
            hint = did_you_mean(path[1], names)
            raise override.node.error(f"there is no {what} {quoted(path[1])}; there are: {listed}{hint}")
    return _set(tree, path, override)


def _set(node: Node, path: tuple[str, ...], override: Override) -> Node:
    if not path:
        is_text_variable = isinstance(node.value, dict) and "text" in node.value
        if override.path[0] == "variables" and is_text_variable and isinstance(override.node.value, str):
            assert isinstance(node.value, dict)
            return Node({**node.value, "text": override.node}, override.node.origin)
        return override.node
    name, rest = path[0], path[1:]
    if isinstance(node.value, list):
        if not name.isascii() or not name.isdigit() or len(name) > 6 or int(name) >= len(node.value):
            raise override.node.error(f"{quoted(name)} is not an item; expected 0 to {len(node.value) - 1}")
        items = list(node.value)
        items[int(name)] = _set(items[int(name)], rest, override)
        return Node(items, node.origin)
    if isinstance(node.value, str):
        if path == ("value",):
            return override.node
        raise override.node.error(f"{quoted(name)} stands below {quoted(node.value)}, which has no fields")
    mapping = dict(node.value or {})
    mapping[name] = _set(mapping.get(name, Node(None, override.node.origin)), rest, override)
    return Node(mapping, node.origin)
