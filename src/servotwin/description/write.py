"""YAML descriptions that read back to the same tree, written whole or not at all."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)
from ruamel.yaml.tag import Tag

from servotwin.description.file_write import atomic_write_text
from servotwin.description.nodes import Node
from servotwin.errors import UnsupportedError

if TYPE_CHECKING:
    from servotwin.description.schema import RobotDescription

LINE_WIDTH = 100
_INDENT = 2
_UNWRAPPED = 2**30  # the layout is decided here; the emitter must not fold lines
_HEADING = ("format", "name", "title")
# texts that need no quotes anywhere in YAML: words, numbers, units, expressions
_PLAIN = re.compile(r"[\w(+./=-][\w()+./=^*%<> -]*")
# plain, these would be read as nothing, or as a truth value by other YAML tools
_NOT_PLAIN = re.compile(r"|~|null|true|false|yes|no|on|off|y|n|<<|=", re.IGNORECASE)
_TEXT = Tag(suffix="tag:yaml.org,2002:str")  # never written, since every scalar is declared implicit

Plain = dict[str, "Plain"] | list["Plain"] | str | None


def write_yaml(robot: RobotDescription | Node, path: str | Path) -> None:
    """Write a description, or a raw tree, as one YAML file that needs no other file.

    A description is written as composed: what it extends, includes and
    chooses has become part of it, expressions have become values, and the
    variables they used are gone. Sources and assumptions are kept.
    """
    atomic_write_text(path, yaml_text(robot))


def yaml_text(robot: RobotDescription | Node) -> str:
    """The YAML text that ``write_yaml`` writes."""
    tree = robot if isinstance(robot, Node) else _composed(robot)
    stream = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.width = _UNWRAPPED
    yaml.allow_unicode = True
    yaml.indent(mapping=_INDENT, sequence=2 * _INDENT, offset=_INDENT)
    yaml.emit(_document(_attributed(tree, ("", ""))), stream)
    # air between the sections of the file
    return re.sub(r"(?m)^(?=[^\s-].*:$)", "\n", stream.getvalue()).lstrip("\n")


def _composed(description: RobotDescription) -> Node:
    """The tree of a description without its variables, which no value refers to any more."""
    tree = description.tree
    if tree is None or not isinstance(tree.value, dict):
        raise UnsupportedError(f"{description.name} was made in Python and has no file tree to write")
    return Node({key: node for key, node in tree.value.items() if key != "variables"}, tree.origin)


def _attributed(node: Node, inherited: tuple[str, str]) -> Plain:
    """The tree as plain values, ``source`` and ``assumed`` put where they differ from what surrounds them."""
    value = node.value
    own = (node.origin.source, node.origin.assumed)
    stated = {} if own == inherited else _statement(*own)
    if isinstance(value, dict):
        fields = [(key, _attributed(child, own)) for key, child in value.items()]
        place = sum(key in _HEADING for key in value)
        return dict([*fields[:place], *stated.items(), *fields[place:]])
    plain: Plain = [_attributed(child, own) for child in value] if isinstance(value, list) else value
    return {"value": plain, **stated} if stated and plain is not None else plain


def _statement(source: str, assumed: str) -> dict[str, Plain]:
    stated = {"source": source, "assumed": assumed}
    # an empty source takes back what the surrounding mapping states
    return {key: text for key, text in stated.items() if text} or {"source": None}


def _document(tree: Plain) -> Iterator[Event]:
    yield StreamStartEvent()
    yield DocumentStartEvent(explicit=False)
    yield from _events(tree, 0, flow=False)
    yield DocumentEndEvent(explicit=False)
    yield StreamEndEvent()


def _events(tree: Plain, column: int, flow: bool) -> Iterator[Event]:
    """The YAML events of a value on lines that start at ``column``; ``flow`` puts it on one line."""
    if isinstance(tree, dict):
        yield MappingStartEvent(None, None, implicit=True, flow_style=flow)
        for key, child in tree.items():
            yield _scalar(key)
            yield from _events(child, column + _INDENT, flow or _fits(child, column + len(key) + 2))
        yield MappingEndEvent()
    elif isinstance(tree, list):
        yield SequenceStartEvent(None, None, implicit=True, flow_style=flow)
        for child in tree:  # behind its dash
            yield from _events(child, column + _INDENT, flow or _fits(child, column + _INDENT))
        yield SequenceEndEvent()
    else:
        yield _scalar(tree)


def _scalar(text: str | None) -> Event:
    if text is None:
        return ScalarEvent(None, _TEXT, (True, True), "null")
    plain = _PLAIN.fullmatch(text) and not _NOT_PLAIN.fullmatch(text)
    return ScalarEvent(None, _TEXT, (True, True), text, style=None if plain else '"')


def _fits(tree: Plain, column: int) -> bool:
    """True for an empty, or a small and flat value that fits on the rest of the line."""
    return not tree or (_height(tree) <= 2 and column + len(_inline(tree)) <= LINE_WIDTH)


def _height(tree: Plain) -> int:
    if isinstance(tree, dict | list):
        children = tree.values() if isinstance(tree, dict) else tree
        return 1 + max(map(_height, children), default=0)
    return 0


def _inline(tree: Plain) -> str:
    """About the text of a value in flow style, to measure its length."""
    if isinstance(tree, dict):
        return f"{{{', '.join(f'{key}: {_inline(child)}' for key, child in tree.items())}}}"
    if isinstance(tree, list):
        return f"[{', '.join(map(_inline, tree))}]"
    return tree or "null"
