"""XML files of vendors and configuration tools: the elements that are read, each with its line and its text.

Everything else, such as pictures and texts in many languages, is skipped while parsing. Document types are refused, and
with them entities, by which small files grow without bound.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from servotwin.description.nodes import one_line, quoted
from servotwin.description.regular_file import Kind, read_bytes
from servotwin.errors import InputError

MOST_ELEMENTS = 500_000  # of those that are read; large vendor files have some tens of thousands
MOST_DEPTH = 64
LONGEST_TEXT = 100_000  # characters of one element
_NUMBER = re.compile(r"(?:#x|0x)([0-9a-fA-F]{1,16})|([0-9]{1,20})")
_BYTES = re.compile(r"(?:[0-9a-fA-F]{2})*")

Read = Mapping[str, Sequence[str]]


@dataclass(slots=True)
class Element:
    """An element with the place that it was read from."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def error(self, message: str) -> InputError:
        """An input error that points at this element."""
        return InputError(message, file=self.file, line=self.line, field=self.tag)

    def all(self, *path: str) -> list[Element]:
        """The elements at the end of a path of tags, in file order."""
        found = [self]
        for tag in path:
            found = [child for element in found for child in element.children if child.tag == tag]
        return found

    def first(self, *path: str) -> Element | None:
        """The first of them."""
        found = self.all(*path)
        return found[0] if found else None

    def words(self, *path: str) -> str:
        """The text of the first of them, on one line; empty if there is none."""
        found = self.first(*path)
        return "" if found is None else one_line(" ".join(found.text.split()))[:200]

    def number(self, *path: str, bits: int = 32, default: int | None = None) -> int:
        """The whole number in the text of the first of them."""
        found = self.first(*path)
        if found is None:
            if default is None:
                raise self.error(f"no <{'/'.join(path)}>")
            return default
        return found.whole(found.text, bits)

    def attribute(self, name: str, *, bits: int = 32, default: int | None = None) -> int:
        """The whole number in an attribute."""
        if name not in self.attributes:
            if default is None:
                raise self.error(f"no attribute '{name}'")
            return default
        return self.whole(self.attributes[name], bits)

    def flag(self, name: str) -> bool:
        """Whether an attribute says yes."""
        return self.attributes.get(name, "").strip().lower() in ("1", "true")

    def whole(self, text: str, bits: int) -> int:
        """A number as these files write it: 17, #x11 or 0x11."""
        word = text.strip()
        match = _NUMBER.fullmatch(word)
        if match is None:
            raise self.error(f"{quoted(word)} is no whole number; expected such as 4660 or #x1234")
        value = int(match[1], 16) if match[1] else int(match[2])
        if value >= 1 << bits:
            raise self.error(f"{quoted(word)} is too large; expected at most {bits} bits")
        return value

    def data(self) -> bytes:
        """Its text as bytes in hexadecimal digits."""
        digits = "".join(self.text.split())
        if _BYTES.fullmatch(digits) is None:
            raise self.error(f"{quoted(digits)} is no row of bytes; expected pairs of hexadecimal digits")
        return bytes.fromhex(digits)


def read_xml(path: str | Path, kind: Kind, root: str, read: Read) -> Element:
    """The root element of a file; ``read``: which children of which elements are read."""
    return parse_xml(read_bytes(path, kind), str(path), root, read)


def parse_xml(data: bytes, file: str, root: str, read: Read) -> Element:
    """The same of bytes."""
    document = _Document(file, root, read)
    try:
        document.parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = one_line(expat.ErrorString(error.code))
        raise InputError(f"broken XML: {reason}", file=file, line=error.lineno) from None
    except (LookupError, ValueError):  # an encoding that Python does not have, or not for this
        raise InputError("broken XML: its encoding is not known; expected UTF-8", file=file) from None
    return document.top.children[0]


class _Document:
    """Builds elements from parser events, with a stack instead of recursion."""

    def __init__(self, file: str, root: str, read: Read) -> None:
        self.file, self.root, self.read = file, root, read
        self.top = Element("", {}, file, 1)
        self.stack: list[Element | None] = [self.top]  # None stands for a skipped element
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line, parent = self.parser.CurrentLineNumber, self.stack[-1]
        known = tag.rpartition(":")[2]
        if parent is self.top and known != self.root:
            raise InputError(
                f"the file holds <{one_line(tag)[:80]}>; expected <{self.root}>", file=self.file, line=line
            )
        if parent is None or (parent is not self.top and known not in self.read.get(parent.tag, ())):
            self.stack.append(None)
            return
        element = Element(known, attributes, self.file, line)
        self.count += 1
        if self.count > MOST_ELEMENTS or len(self.stack) > MOST_DEPTH:
            raise element.error(f"more than {MOST_ELEMENTS} elements, or deeper than {MOST_DEPTH}")
        parent.children.append(element)
        self.stack.append(element)

    def _end(self, _tag: str) -> None:
        self.stack.pop()

    def _text(self, text: str) -> None:
        element = self.stack[-1]
        if element is None or element is self.top:
            return
        if len(element.text) + len(text) > LONGEST_TEXT:
            raise element.error(f"more than {LONGEST_TEXT} characters")
        element.text += text

    def _doctype(self, *_details: object) -> None:
        raise InputError(
            "a document type declaration (<!DOCTYPE ...>); such files have none: remove it",
            file=self.file,
            line=self.parser.CurrentLineNumber,
        )
