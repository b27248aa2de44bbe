"""What validation found, as one line that points at the place in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from servotwin.description.nodes import Node, join, one_line, quoted
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.description.schema import RobotDescription

_EXPECTED = {
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "string_type": "a text",
    "float_type": "a number",
    "float_parsing": "a number",
}


def input_error(error: ValidationError, tree: Node) -> InputError:
    """The first problem, by line, of a validation of ``tree``."""
    found = [_located(item, tree) for item in error.errors(include_url=False)]
    _, _, node, path, message = min(found, key=lambda item: item[:2])
    return node.error(message, path)


def _located(item: Any, tree: Node) -> tuple[int, int, Node, str, str]:
    """Sort keys (unknown lines last, then depth), node, path and message of one problem."""
    names = [str(part) for part in item["loc"] if part != "[key]"]
    context = item.get("ctx") or {}
    if item["type"] == "servotwin":
        message = context["text"]
        names += [context["at"]] if context["at"] else []
    elif item["type"] in _EXPECTED:
        message = f"{_given(item['input'])}; expected {_EXPECTED[item['type']]}"
    else:
        message = f"{_given(item['input'])}: {one_line(item['msg'], 120)}"
    node = find(tree, names)
    path = ""
    for name in names:
        path = join(path, name)
    return node.origin.line or 10**9, len(path), node, path, message


def _given(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping stands here"
    if isinstance(value, list | tuple):
        return "a list stands here"
    return "nothing stands here" if value is None else quoted(value)


def find(tree: Node, names: list[str]) -> Node:
    """The node below ``tree`` that ``names`` (each possibly dotted) lead to, or the last that exists."""
    node = tree
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        child = node.child(name)
        if child is not None:
            node = child
        elif "." in name:
            head, _, tail = name.partition(".")
            waiting = [head, tail, *waiting]
        else:
            break
    return node


def refuse(description: RobotDescription, path: str, text: str) -> InputError:
    """An error at a field of a description, or at the nearest part of it that is stated."""
    if description.tree is None:
        return InputError(text, field=path)
    return find(description.tree, [path]).error(text, path)
