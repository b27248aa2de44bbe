"""The variables of a description, evaluated when an expression first asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from servotwin.description.expressions import FUNCTIONS, Value, evaluate
from servotwin.description.nodes import Node, join, one_line, quoted
from servotwin.description.quantities import Quantity
from servotwin.description.units import did_you_mean, read_quantity, unit, unit_table

_RESERVED = {"pi", "and", "or", "not", *FUNCTIONS}


def is_expression(node: Node) -> bool:
    """True for a text that starts with ``=``."""
    return isinstance(node.value, str) and node.value.lstrip().startswith("=")


class Scope:
    """Values of variables and units by name; knows which variables an expression has used."""

    def __init__(self, variables: Node) -> None:
        self.nodes: dict[str, Node] = variables.value if isinstance(variables.value, dict) else {}
        self.origin = variables.origin
        self.values: dict[str, Value] = {}
        self.uses: dict[str, set[str]] = {}
        self.pending: list[str] = []
        self.used: set[str] = set()
        for name, node in self.nodes.items():
            _check_name(name, node)

    def value(self, node: Node, path: str) -> Value:
        """The value of the expression in ``node``, with or without its ``=``."""
        if not isinstance(node.value, str):
            raise node.error("expected an expression such as '= reading == \"joint\"'", path)
        text = node.value.strip()
        try:
            return evaluate(text.removeprefix("="), self.lookup)
        except ValueError as error:
            raise node.error(f"{quoted(text)}: {error}", path) from None

    def evaluated(self, node: Node, path: str) -> Node:
        """The node with its expression replaced by a text that reads back to the same value."""
        outer, self.used = self.used, set()
        value = self.value(node, path)
        used, self.used = self.used, outer
        if isinstance(value, bool):
            raise node.error(f"{quoted(node.value)} is a condition; expected a value", path)
        origin = node.origin
        # an assumption goes wherever the variable goes
        grounds = [self.nodes[name].origin for name in sorted(self._with_indirect(used))]
        if not origin.assumed:
            origin = replace(origin, assumed=_joined(o.assumed for o in grounds))
        if not origin.source:
            origin = replace(origin, source=_joined(o.source for o in grounds))
        text = value.text() if isinstance(value, Quantity) else value
        return Node(text, origin, self._reckoned(node.value, used))

    def _reckoned(self, expression: object, used: set[str]) -> str:
        """An expression with the variables behind it, as messages show it."""
        names = [
            name for name in sorted(self._with_indirect(used)) if isinstance(self.nodes[name].value, str)
        ]
        stated = [one_line(f"{join('variables', name)}: {self.nodes[name].value}", 60) for name in names[:3]]
        return " with ".join([quoted(expression), *([", ".join(stated)] if stated else [])])

    def lookup(self, name: str) -> Value:
        """The value of a variable, or of a unit."""
        self.used.add(name)
        if name in self.values:
            return self.values[name]
        if name not in self.nodes:
            self.used.discard(name)
            return self._unit(name)
        node, path = self.nodes[name], join("variables", name)
        if name in self.pending:
            cycle = " -> ".join([*self.pending[self.pending.index(name) :], name])
            raise node.error(f"the variables refer to each other in a circle: {one_line(cycle, 120)}", path)
        if len(self.pending) > 60:
            raise node.error("variables refer to each other over more than 60 steps", path)
        self.pending.append(name)
        outer, self.used = self.used, set()
        try:
            self.values[name] = self._variable(node, path)
            self.uses[name] = self.used
        finally:
            self.used = outer
            self.pending.pop()
        return self.values[name]

    def finished(self) -> Node:
        """All variables as texts; every one is evaluated, used or not."""
        texts: dict[str, Node] = {}
        for name, node in self.nodes.items():
            value = self.lookup(name)
            if isinstance(node.value, str) and not is_expression(node):
                texts[name] = node
            else:
                text = value.text() if isinstance(value, Quantity) else str(value)
                texts[name] = Node(text, node.origin)
        return Node(texts, self.origin)

    def _variable(self, node: Node, path: str) -> Value:
        if isinstance(node.value, dict):
            return _text_variable(node, path)
        if is_expression(node):
            return self.value(node, path)
        if not isinstance(node.value, str):
            raise node.error("expected a quantity, an expression, or {text: ..., choices: [...]}", path)
        try:
            return read_quantity(node.value)
        except ValueError as error:
            hint = "expected a quantity such as '350 mm', '= expression' or {text: ...}"
            raise node.error(f"{quoted(node.value)}: {error}; {hint}", path) from None

    def _unit(self, name: str) -> Quantity:
        try:
            return unit(name)
        except ValueError:
            hint = did_you_mean(name, list(self.nodes))
            raise ValueError(f"unknown name {quoted(name)}; expected a variable or a unit{hint}") from None

    def _with_indirect(self, names: set[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self.uses.get(name, ()))
        return found


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))


def _check_name(name: str, node: Node) -> None:
    path = join("variables", name)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", name):
        raise node.error("not a name for a variable; expected letters, digits and '_'", path)
    if name in _RESERVED or name in unit_table():
        what = "a word of the expressions" if name in _RESERVED else "a unit"
        raise node.error(f"{quoted(name)} is {what}; expected another name, such as '{name}_1'", path)


def _text_variable(node: Node, path: str) -> str:
    assert isinstance(node.value, dict)
    entries = node.value
    if "text" not in entries or entries.keys() - {"text", "choices"}:
        raise node.error("expected a quantity, an expression, or {text: ..., choices: [...]}", path)
    text = entries["text"]
    if not isinstance(text.value, str):
        raise text.error("expected a text", join(path, "text"))
    if "choices" in entries:
        choices = entries["choices"].plain()
        if not isinstance(choices, list) or not all(isinstance(c, str) for c in choices):
            raise entries["choices"].error("expected a list of texts", join(path, "choices"))
        if text.value not in choices:
            listed = ", ".join(one_line(c, 30) for c in choices[:12])
            hint = did_you_mean(text.value, choices)
            raise text.error(f"{quoted(text.value)} is not accepted; expected one of {listed}{hint}", path)
    return text.value
