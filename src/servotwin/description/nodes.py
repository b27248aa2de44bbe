"""The raw tree of a description: every value with the file and line it comes from.

Reading never guesses types: a scalar stays the text that was written, an
empty one is None. ``source:`` and ``assumed:`` are taken out of the mappings
they stand in and kept with every value they cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from servotwin.description.plain_text import hidden_problem, one_line, quoted
from servotwin.description.regular_file import ROBOT, read_text
from servotwin.description.yaml_mistakes import NOT_UNDERSTOOD, yaml_mistake
from servotwin.errors import InputError

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_LINE",
    "MAX_NODES",
    "Node",
    "NodeValue",
    "Origin",
    "attribute",
    "fold_value",
    "join",
    "one_line",
    "parse_yaml",
    "quoted",
    "read_text",
    "read_yaml",
]

MAX_BYTES = ROBOT.limit
MAX_LINE = 10_000  # characters; the YAML scanner needs quadratic time for some endless tokens
MAX_NODES = 50_000  # after aliases are expanded
MAX_DEPTH = 40
_NULL = {"", "~", "null", "Null", "NULL"}
_ATTRIBUTION = {"source", "assumed"}

NodeValue = dict[str, "Node"] | list["Node"] | str | None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written (``line`` is 1-based, 0 if unknown), and what vouches for it."""

    file: str
    line: int = 0
    source: str = ""
    assumed: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the raw tree: a mapping, a list, the text of a scalar, or None for an empty one."""

    value: NodeValue
    origin: Origin
    reckoned: str = field(default="", compare=False)  # the expression of the value, and its variables

    def plain(self) -> Any:
        """The tree as dicts, lists, texts and None."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def children(self) -> Iterator[tuple[str, Node]]:
        """Name (or index as text) and node of everything directly below."""
        if isinstance(self.value, dict):
            yield from self.value.items()
        elif isinstance(self.value, list):
            yield from ((str(i), child) for i, child in enumerate(self.value))

    def child(self, name: str) -> Node | None:
        """The node directly below that has this name, or index as text; None if there is none."""
        if isinstance(self.value, dict):
            return self.value.get(name)
        if isinstance(self.value, list) and name.isascii() and name.isdigit() and len(name) < 10:
            return self.value[int(name)] if str(int(name)) == name and int(name) < len(self.value) else None
        return None

    def walk(self, path: str = "") -> Iterator[tuple[str, Node]]:
        """Dotted path and node of this node and of all below it, in file order."""
        yield path, self
        for name, child in self.children():
            yield from child.walk(join(path, name))

    def error(self, message: str, field: str = "") -> InputError:
        """An input error that points at this node."""
        told = f"{message}; the value is that of {self.reckoned}" if self.reckoned else message
        return InputError(
            told, file=self.origin.file, line=self.origin.line or None, field=one_line(field, 120) or None
        )


def join(path: str, name: str) -> str:
    """``path.name``, or ``name`` at the root."""
    return f"{path}.{name}" if path else name


def read_yaml(path: str | Path) -> Node:
    """The tree of a YAML file, sources attached."""
    return parse_yaml(read_text(path), str(path))


@lru_cache(maxsize=32)  # a robot and its parts are asked for again and again, as plant and as model
def parse_yaml(text: str, file: str) -> Node:
    """The tree of YAML ``text``; ``file`` is the name shown in messages."""
    for number, content in enumerate(text.split("\n"), 1):
        if len(content) > MAX_LINE:
            message = f"a line of more than {MAX_LINE} characters; this is not a robot file"
            raise InputError(message, file=file, line=number)
    try:
        raw = _TreeBuilder(file).build(text)
    except MarkedYAMLError as error:
        what, line = yaml_mistake(error, text)
        raise InputError(f"broken YAML: {one_line(what, 200)}", file=file, line=line) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        unseen = f"U+{ord(text[error.position]):04X}" if error.position < len(text) else "?"
        raise InputError(f"broken YAML: a control character ({unseen})", file=file, line=line) from None
    except (YAMLError, ValueError, OverflowError):
        raise InputError(f"broken YAML: {NOT_UNDERSTOOD}", file=file) from None
    return attribute(raw)


def attribute(node: Node) -> Node:
    """Attach ``source:`` and ``assumed:`` to the values they cover, and fold ``{value: x}`` to ``x``."""
    return _Attribution().apply(node, "", "", "")


class _TreeBuilder:
    """Builds nodes from YAML events, so that depth, size and aliases stay under control."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.anchors: dict[str, Node] = {}
        self.path: list[str] = []  # the names above the value that is built
        self.count = 0

    def build(self, text: str) -> Node:
        events = iter(YAML(typ="safe", pure=True).parse(text))
        root: Node | None = None
        for event in events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise self._error(event, "a second YAML document; expected one per file")
                root = self._node(next(events), events, 0)
        if root is None or root.value is None:
            raise InputError("the file is empty; expected a mapping", file=self.file)
        return root

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        self.count += 1
        if self.count > MAX_NODES:
            raise self._error(event, f"more than {MAX_NODES} values; this is not a robot file")
        if depth > MAX_DEPTH:
            raise self._error(event, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, AliasEvent):
            if event.anchor not in self.anchors:
                raise self._error(event, f"alias *{one_line(event.anchor)} is not defined before it is used")
            return self.anchors[event.anchor]
        if event.tag is not None:
            raise self._error(event, f"YAML tag {quoted(event.tag)}; tags are not accepted")
        node = Node(self._value(event, events, depth), self._origin(event))
        if event.anchor:
            # stored only when complete, so an alias inside its own anchor is undefined: no cycles
            self.anchors[event.anchor] = node
        return node

    def _value(self, event: Any, events: Iterator[Any], depth: int) -> NodeValue:
        if isinstance(event, MappingStartEvent):
            return self._mapping(events, depth)
        if isinstance(event, SequenceStartEvent):
            items = []
            for item in events:
                if isinstance(item, SequenceEndEvent):
                    break
                items.append(self._node(item, events, depth + 1))
            return items
        text: str = event.value
        self._check_visible(event)
        plain = event.style is None
        return None if plain and text in _NULL else text

    def _mapping(self, events: Iterator[Any], depth: int) -> dict[str, Node]:
        mapping: dict[str, Node] = {}
        for event in events:
            if isinstance(event, MappingEndEvent):
                break
            if not isinstance(event, ScalarEvent) or not event.value:
                raise self._error(event, "this key is not a name")
            key = event.value
            self._check_visible(event)
            if key in mapping:
                first = mapping[key].origin.line
                raise self._error(event, f"{quoted(key)} is given twice; the first is in line {first}")
            self.path.append(key)
            child = self._node(next(events), events, depth + 1)
            self.path.pop()
            if not isinstance(child.value, str):
                # the line of the key tells more than the line where its block starts
                child = Node(child.value, self._origin(event))
            mapping[key] = child
        return mapping

    def _check_visible(self, event: Any) -> None:
        """Names, titles and remarks reach terminals and files of other programs: what is not visible is refused."""
        problem = hidden_problem(event.value)
        if problem is not None:
            field = one_line(".".join(self.path), 120) or None
            line = event.start_mark.line + 1
            raise InputError(problem, file=self.file, line=line, field=field)

    def _origin(self, event: Any) -> Origin:
        return Origin(self.file, event.start_mark.line + 1)

    def _error(self, event: Any, message: str) -> InputError:
        return InputError(message, file=self.file, line=event.start_mark.line + 1)


class _Attribution:
    """One pass that moves ``source`` and ``assumed`` into the origins of what they cover."""

    def __init__(self) -> None:
        self.count = 0

    def apply(self, node: Node, path: str, source: str, assumed: str) -> Node:
        self.count += 1
        if self.count > MAX_NODES:
            raise node.error(f"more than {MAX_NODES} values after its aliases are expanded", path)
        value = node.value
        if isinstance(value, dict):
            if _ATTRIBUTION & value.keys():
                # the nearest statement counts, also when it replaces an assumption by a source
                source, assumed = (self._text(value, key, path) for key in ("source", "assumed"))
            origin = replace(node.origin, source=source, assumed=assumed)
            kept = {
                key: self.apply(child, join(path, key), source, assumed)
                for key, child in value.items()
                if key not in _ATTRIBUTION
            }
            return fold_value(Node(kept, origin))
        origin = replace(node.origin, source=source, assumed=assumed)
        if isinstance(value, list):
            items = [self.apply(child, join(path, str(i)), source, assumed) for i, child in enumerate(value)]
            return Node(items, origin)
        return Node(value, origin)

    @staticmethod
    def _text(mapping: dict[str, Node], key: str, path: str) -> str:
        node = mapping.get(key)
        if node is None or node.value is None:
            return ""
        if not isinstance(node.value, str):
            raise node.error("expected a text such as 'Table 2'", join(path, key))
        return " ".join(node.value.split())


def fold_value(node: Node) -> Node:
    """``{value: x}`` becomes ``x``; anything else stays."""
    if isinstance(node.value, dict) and node.value.keys() == {"value"}:
        return node.value["value"]
    return node
