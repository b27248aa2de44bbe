"""Changes of points in the text of their file: comments, layout and all that is not changed stay as they are written.

The text is read as YAML nodes with their places. What differs between the points that stand in it and those that shall
stand in it becomes edits of the text: (begin, end, new text).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode

from servotwin.jobs.points_yaml import AliasNode, NotEditable, composed

INDENT = 2

Fields = Mapping[str, "str | Fields"]  # what stands in a mapping: texts, and mappings of texts
Entry = Callable[[str, Fields], str]  # a field of the file on a line, or two


@dataclass
class TextEdits:
    """Edits of a text, applied together."""

    text: str
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def line_end(self) -> str:
        """How lines of the text end."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def put(self, begin: int, end: int, new: str) -> None:
        """Write ``new`` in the place of a part of the text."""
        self.edits.append((begin, end, new.replace("\n", self.line_end)))

    def line_begin(self, place: int) -> int:
        """Where the line of a place begins."""
        return self.text.rfind("\n", 0, place) + 1

    def line_stop(self, place: int) -> int:
        """Where the line of a place ends, before its line end."""
        found = self.text.find("\n", place)
        stop = len(self.text) if found < 0 else found
        return stop - 1 if self.text[stop - 1 : stop] == "\r" else stop

    def done(self) -> str:
        """The text with all edits."""
        ordered = sorted(self.edits)
        if any(a[1] > b[0] for a, b in pairwise(ordered)):
            raise NotEditable
        text = self.text
        for begin, end, new in reversed(ordered):
            text = text[:begin] + new + text[end:]
        return text


def edited(text: str, old: Fields, new: Fields, entry: Entry) -> str:
    """The text of a file whose fields were ``old``, with those that are ``new``; NotEditable if it cannot be.

    A point that has another name at the same place of the order is renamed. ``entry`` gives the text of what is added.
    """
    root = composed(text)
    if not isinstance(root, MappingNode) or root.flow_style:
        raise NotEditable
    edits = TextEdits(text)
    _edit_mapping(edits, root, old, new, entry)
    return edits.done()


def _edit_mapping(edits: TextEdits, node: MappingNode, old: Fields, new: Fields, entry: Entry) -> None:
    """Edit the fields of a mapping that are not the same any more."""
    pairs = {key.value: (key, value) for key, value in node.value}
    names = _renamed(old, new)
    for before, now in names.items():
        if before not in pairs:  # it stands below a ``value``
            raise NotEditable
        edits.put(pairs[before][0].start_mark.index, pairs[before][0].end_mark.index, now)
    gone = [name for name in pairs if name in old and name not in new and name not in names]
    added = [n for n in new if n not in pairs and n not in names.values() and old.get(n) != new[n]]
    kept = [name for name in pairs if name not in gone]
    if (not kept and added) or (node.flow_style and len(gone) > 1):
        edits.put(node.start_mark.index, _end(node), _flow(new))
        return
    for name in kept:
        was, shall = old.get(name), new.get(names.get(name, name))
        if shall is not None and was != shall:
            _edit_value(edits, pairs[name], was, shall, entry)
    for name in gone:
        _remove(edits, node, list(pairs).index(name))
    if added:
        _insert(edits, node, pairs[kept[-1]], {name: new[name] for name in added}, entry)


def _renamed(old: Fields, new: Fields) -> dict[str, str]:
    """The name that was exchanged for another one, which stands for the same at the same place."""
    pairs = [(a, b) for a, b in zip(old, new, strict=False) if a != b]
    if len(old) != len(new) or len(pairs) != 1:
        return {}
    before, now = pairs[0]
    return {before: now} if old[before] == new[now] and now not in old else {}


def _edit_value(
    edits: TextEdits, pair: tuple[Any, Any], before: str | Fields | None, now: str | Fields, entry: Entry
) -> None:
    key, value = pair
    if isinstance(now, str):
        gap = " " if value.start_mark.index == key.end_mark.index + 1 else ""
        edits.put(value.start_mark.index, _end(value), gap + now)
    elif isinstance(value, MappingNode) and isinstance(before, Mapping) and value.value:
        _edit_mapping(edits, value, before, now, entry)
    elif isinstance(value, MappingNode | AliasNode):
        edits.put(value.start_mark.index, _end(value), _flow(now))
    else:  # a section without entries: they go on the lines that follow
        begin = key.end_mark.index + 1
        edits.put(begin, _end(value) if value.value else begin, "")
        indent = " " * (key.start_mark.column + INDENT)
        lines = "".join(f"\n{indent}{_indented(entry(n, _as_fields(f)), indent)}" for n, f in now.items())
        place = edits.line_stop(begin)
        edits.put(place, place, lines)


def _insert(
    edits: TextEdits, node: MappingNode, after: tuple[Any, Any], fields: Fields, entry: Entry
) -> None:
    """Add fields behind a field of a mapping."""
    key, value = after
    if node.flow_style:
        place = max(_end(value), key.end_mark.index)
        edits.put(place, place, "".join(f", {name}: {_flow(content)}" for name, content in fields.items()))
        return
    indent = " " * key.start_mark.column
    place = edits.line_stop(max(_end(value), key.end_mark.index))
    new = ""
    for name, content in fields.items():
        if isinstance(content, str):
            new += f"\n{indent}{name}: {content}"
        elif not indent:  # a section
            lines = [f"{' ' * INDENT}{_indented(entry(n, _as_fields(f)), '  ')}" for n, f in content.items()]
            new += "\n\n" + "\n".join([f"{name}:", *lines])
        else:
            new += f"\n{indent}{_indented(entry(name, content), indent)}"
    edits.put(place, place, new)


def _remove(edits: TextEdits, node: MappingNode, index: int) -> None:
    """Remove a field: its lines, or its part of the line."""
    key, value = node.value[index]
    end = max(_end(value), key.end_mark.index)
    if not node.flow_style:
        stop = edits.line_stop(end)
        following = edits.text.find("\n", stop)
        edits.put(
            edits.line_begin(key.start_mark.index), len(edits.text) if following < 0 else following + 1, ""
        )
    elif index + 1 < len(node.value):
        edits.put(key.start_mark.index, node.value[index + 1][0].start_mark.index, "")
    else:
        begin = _end(node.value[index - 1][1]) if index else key.start_mark.index
        edits.put(begin, end, "")


def _end(node: Any) -> int:
    """Where a value ends; that of a mapping on lines of its own ends with its last field, not with what follows."""
    if isinstance(node, MappingNode) and not node.flow_style and node.value:
        key, value = node.value[-1]
        return max(_end(value), int(key.end_mark.index) + 1)
    if isinstance(node, ScalarNode) and node.style in ("|", ">"):
        raise NotEditable
    return int(node.end_mark.index)


def _flow(content: str | Fields) -> str:
    """A value on one line."""
    if isinstance(content, str):
        return content
    return f"{{{', '.join(f'{name}: {_flow(part)}' for name, part in content.items())}}}"


def _as_fields(content: str | Fields) -> Fields:
    if isinstance(content, str):
        raise NotEditable
    return content


def _indented(text: str, indent: str) -> str:
    """The lines that follow the first stand two places further in."""
    first, *more = text.split("\n")
    return "\n".join([first, *(f"{indent}  {line.strip()}" for line in more)])
