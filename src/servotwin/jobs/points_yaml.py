"""The text of a points file as YAML nodes with their places, aliases and comments."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode
from ruamel.yaml.tokens import AliasToken, AnchorToken, ScalarToken

_FLOW_MARKS = re.compile(r"[,\[\]{}\n]")  # what a plain text between braces must not have


class NotEditable(Exception):  # noqa: N818 - not an error: another way is tried
    """The text has a form that is not edited in place, such as texts in blocks."""


class AliasNode(ScalarNode):
    """An alias in the place where it stands; YAML composes it as the node that it stands for."""


def composed(text: str) -> Any:
    """The nodes of a text; NotEditable if it is no YAML, or has an alias for a name."""
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except YAMLError:
        raise NotEditable from None
    _place_aliases(root, [token for token in _tokens(text) if isinstance(token, AliasToken)])
    return root


def _tokens(text: str) -> list[Any]:
    try:
        return list(YAML(typ="safe", pure=True).scan(text))
    except YAMLError:
        raise NotEditable from None


def _place_aliases(node: Any, aliases: list[Any]) -> None:
    """Let aliases below a node be nodes of their own; ``aliases`` are those of the text in their order."""
    if not isinstance(node, MappingNode):
        return
    for i, (key, value) in enumerate(node.value):
        if key.start_mark.index < node.start_mark.index:  # the name itself is an alias
            raise NotEditable
        if value.start_mark.index >= key.end_mark.index:
            _place_aliases(value, aliases)
            continue
        k = bisect_left(aliases, key.end_mark.index, key=_begin)
        if k == len(aliases):
            raise NotEditable
        found = aliases[k]
        alias = AliasNode(value.tag, f"*{found.value}", found.start_mark, found.end_mark)
        node.value[i] = (key, alias)


def _begin(token: Any) -> int:
    return int(token.start_mark.index)


def without_aliases(text: str) -> str:
    """The text with what aliases stand for in their places, and without the anchors; all else stays."""
    tokens = _tokens(text)
    if not any(isinstance(token, AliasToken) for token in tokens):
        raise NotEditable
    content: dict[str, str] = {}
    root = composed(text)
    _collect(root, text, content)
    for token in reversed(tokens):
        begin, end = token.start_mark.index, token.end_mark.index
        if isinstance(token, AliasToken):
            text = text[:begin] + content[token.value] + text[end:]
        elif isinstance(token, AnchorToken):
            rest = text[end:]
            text = text[:begin] + rest[len(rest) - len(rest.lstrip(" ")) :]
    return text


def _collect(node: Any, text: str, content: dict[str, str]) -> str:
    """A node on one line; ``content`` takes that of every anchor."""
    if isinstance(node, AliasNode):
        if node.value[1:] not in content:
            raise NotEditable
        return content[node.value[1:]]
    if isinstance(node, MappingNode):
        parts = [f"{key.value}: {_collect(value, text, content)}" for key, value in node.value]
        found = f"{{{', '.join(parts)}}}"
    elif isinstance(node, ScalarNode):
        found = (
            node.value
            if node.style is None and not _FLOW_MARKS.search(node.value)
            else json.dumps(node.value)
        )
    else:
        raise NotEditable
    if node.anchor:
        content[node.anchor] = found
    return found


def first_comment(text: str) -> int | None:
    """The line of the first comment; None if there is none."""
    try:
        texts = [token for token in _tokens(text) if isinstance(token, ScalarToken)]
    except NotEditable:
        texts = []
    for match in re.finditer(r"(?<!\S)#", text):
        k = bisect_right(texts, match.start(), key=_begin) - 1
        if k < 0 or match.start() >= texts[k].end_mark.index:
            return text.count("\n", 0, match.start()) + 1
    return None
