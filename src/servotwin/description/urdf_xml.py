"""The XML side of URDF: the elements that ServoTwin reads, each with its line.

Everything else (materials, simulator settings) is skipped while parsing, and
counted. Document types and entities are refused: no URDF needs them, and they
are how small XML files grow without bound.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from servotwin.description.nodes import one_line, quoted
from servotwin.description.plain_text import hidden_problem
from servotwin.description.regular_file import URDF, read_text
from servotwin.description.xacro_file import is_xacro, refusal
from servotwin.errors import InputError

MAX_ELEMENTS = 100_000  # of those that are read; large robots have a few thousand
MAX_NUMBER = 1e30  # beyond every robot and every "unlimited", and no product of a few of them overflows
# ASCII digits only; float() would also take 'nan', 'inf', '1_0' and digits of other scripts
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_READ = {
    "": ("robot",),
    "robot": ("link", "joint"),
    "link": ("inertial", "visual", "collision"),
    "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry"),
    "collision": ("origin", "geometry"),
    "geometry": ("mesh", "box", "cylinder", "sphere"),
    "joint": ("origin", "parent", "child", "axis", "limit", "mimic", "dynamics"),
}


@dataclass(slots=True)
class Element:
    """An XML element with the place it was read from; ``label`` names the link or joint around it."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    label: str
    children: list[Element] = field(default_factory=list)
    skipped: Counter[str] = field(
        default_factory=Counter
    )  # of the whole file: 'parent/child' that were not read

    def error(self, message: str) -> InputError:
        """An input error that points at this element."""
        return InputError(message, file=self.file, line=self.line, field=self.label or None)

    def all(self, tag: str) -> list[Element]:
        """The children called ``tag``, in file order."""
        return [child for child in self.children if child.tag == tag]

    def only(self, tag: str) -> Element | None:
        """The child called ``tag`` if there is one; two are an error."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"a second <{tag}>; expected one")
        return found[0] if found else None

    def required(self, tag: str) -> Element:
        """The one child called ``tag``."""
        found = self.only(tag)
        if found is None:
            raise self.error(f"<{self.tag}> has no <{tag}>")
        return found

    def text(self, attribute: str) -> str:
        """The value of a required attribute, without blanks around it."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            raise self.error(f"<{self.tag}> needs the attribute '{attribute}'")
        return value

    def number(self, attribute: str, default: float | None = None) -> float:
        """The finite number in an attribute, ``default`` if the attribute is missing."""
        if default is not None and attribute not in self.attributes:
            return default
        return self._float(attribute, self.text(attribute))

    def vector(self, attribute: str, default: tuple[float, float, float]) -> tuple[float, float, float]:
        """The three numbers in an attribute, ``default`` if the attribute is missing."""
        if attribute not in self.attributes:
            return default
        words = self.attributes[attribute].split()
        if len(words) != 3:
            raise self.error(
                f"<{self.tag} {attribute}={quoted(self.attributes[attribute])}>: expected three numbers"
            )
        x, y, z = (self._float(attribute, word) for word in words)
        return x, y, z

    def _float(self, attribute: str, word: str) -> float:
        value = float(word) if _NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            raise self.error(f"<{self.tag} {attribute}=...>: {quoted(word)} is not a finite number")
        if abs(value) > MAX_NUMBER:
            raise self.error(
                f"<{self.tag} {attribute}=...>: {quoted(word)} is too large; expected up to 1e30"
            )
        return value


def read_robot(path: str | Path) -> Element:
    """The <robot> element of a URDF file, reduced to what ServoTwin reads."""
    if is_xacro(path):
        raise refusal(path)
    return parse_robot(read_text(path, URDF), str(path))


def parse_robot(text: str, file: str) -> Element:
    """The <robot> element of a URDF text; ``file`` is the name shown in messages."""
    document = _Document(file)
    try:
        document.parser.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"broken XML: {one_line(reason)}", file=file, line=error.lineno) from None
    except UnicodeEncodeError:  # lone surrogates
        raise InputError("broken XML: not a Unicode text", file=file) from None
    return document.root.children[0]


class _Document:
    """Builds elements from parser events, with a stack instead of recursion: depth costs nothing."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root = Element("", {}, file, 1, "")
        self.stack: list[Element | None] = [self.root]  # None stands for a skipped element
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if tag.startswith("xacro:"):
            raise refusal(self.file, line)
        parent = self.stack[-1]
        if parent is None or tag not in _READ.get(parent.tag, ()):
            if parent is self.root:
                message = f"the file holds <{one_line(tag)}>; expected <robot>"
                raise InputError(message, file=self.file, line=line)
            if parent is not None:
                self.root.skipped[f"{parent.tag}/{tag}"] += 1
            self.stack.append(None)
            return
        element = Element(tag, attributes, self.file, line, parent.label, skipped=self.root.skipped)
        if parent.tag == "robot":
            element.label = f"{tag} {quoted(attributes.get('name', ''))}"
        if any("${" in value or "$(" in value for value in attributes.values()):
            raise refusal(self.file, line)
        for name, value in attributes.items():
            problem = hidden_problem(value)
            if problem is not None:
                raise element.error(f"<{tag} {one_line(name)}=...>: {problem}")
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise element.error(f"more than {MAX_ELEMENTS} elements; this is not a robot file")
        parent.children.append(element)
        self.stack.append(element)

    def _end(self, _tag: str) -> None:
        self.stack.pop()

    def _doctype(self, *_details: object) -> None:
        message = "a document type declaration (<!DOCTYPE ...>); URDF has none: remove it"
        raise InputError(message, file=self.file, line=self.parser.CurrentLineNumber)
