"""Mutations of YAML trees: types, units, numbers, nesting, duplicated and renamed fields, anchors and aliases.

Mappings are lists of pairs, so that a key can stand twice; ``Raw`` is text that is written as it is.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from fuzz.values import TEXTS, changed_quantity, changed_text, encoded, nasty
from servotwin.description.nodes import parse_yaml


class Map(list[tuple[str, Any]]):
    """The pairs of a mapping in order."""


@dataclass
class Raw:
    """YAML text that is written without quotes."""

    text: str


def tree_of(path: Path) -> Any:
    """The tree of a file; sources and assumptions are taken out by the reader and do not come back."""
    text = path.read_text(encoding="utf-8").replace("include: parts/", "include: ")  # found in the catalogue
    return _pairs(parse_yaml(text, path.name).plain())


def _pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return Map((key, _pairs(child)) for key, child in value.items())
    return [_pairs(child) for child in value] if isinstance(value, list) else value


def text_of(tree: Any) -> str:
    """The tree in flow style, a field of the top per line."""
    if isinstance(tree, Map):
        return "\n".join(f"{_key(key)}: {_flow(value)}" for key, value in tree) + "\n"
    return _flow(tree) + "\n"


def _key(key: str) -> str:
    return json.dumps(key)


def _flow(value: Any) -> str:
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, Map):
        return "{" + ",\n  ".join(f"{_key(key)}: {_flow(child)}" for key, child in value) + "}"
    if isinstance(value, list):
        return "[" + ",\n  ".join(map(_flow, value)) + "]"
    return "null" if value is None else json.dumps(value)


def copied(value: Any) -> Any:
    """A copy that can be changed."""
    if isinstance(value, Map):
        return Map((key, copied(child)) for key, child in value)
    return [copied(child) for child in value] if isinstance(value, list) else value


def _places(value: Any, found: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Every place below ``value``: the list or mapping that holds it, and its index there."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            found.append((value, i))
            _places(item[1] if isinstance(value, Map) else item, found)
    return found


def _get(place: tuple[Any, int]) -> Any:
    holder, i = place
    return holder[i][1] if isinstance(holder, Map) else holder[i]


def _put(place: tuple[Any, int], value: Any) -> None:
    holder, i = place
    holder[i] = (holder[i][0], value) if isinstance(holder, Map) else value


def _nested(value: Any, depth: int) -> Any:
    for k in range(depth):
        value = [value] if k % 2 else Map([("a", value)])
    return value


def _laughs(rng: Random) -> Map:
    """Aliases that multiply."""
    width, levels = rng.choice(((2, 30), (10, 9), (9, 5), (3, 3)))
    pairs: list[tuple[str, Any]] = [("l0", Raw("&l0 [x, x]"))]
    for k in range(1, levels):
        pairs.append((f"l{k}", Raw(f"&l{k} [{', '.join([f'*l{k - 1}'] * width)}]")))
    return Map(pairs)


def mutated_tree(rng: Random, tree: Any, others: list[Any]) -> Any:
    """A copy of the tree with one to five changes; ``others`` lend parts."""
    tree = copied(tree)
    changes = (
        _GENTLE if rng.random() < 0.5 else _CHANGES
    )  # half of the files stay near to one that is accepted
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        places = _places(tree, [])
        if not places:
            return tree
        rng.choice(changes)(rng, tree, rng.choice(places), others)
    return tree


def _scaled(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    """Another number of the same unit."""
    numbers = [p for p in _places(tree, []) if isinstance(_get(p), str) and _get(p)[:1].isdigit()]
    if numbers:
        chosen = rng.choice(numbers)
        number, blank, unit = str(_get(chosen)).partition(" ")
        factor = rng.choice(("0", "1e-3", "0.5", "0.99", "1.5", "2", "10", "1e3", "1e6"))
        with contextlib.suppress(ValueError):
            _put(chosen, f"{float(number) * float(factor)!r}{blank}{unit}")


def _scalar(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    value = _get(place)
    if isinstance(value, str):
        _put(place, changed_quantity(rng, value) if rng.random() < 0.7 else nasty(rng))
    else:
        _scalar(rng, tree, rng.choice(_places(tree, [])), others) if rng.random() < 0.8 else _put(
            place, nasty(rng)
        )


def _type(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    value = _get(place)
    kinds = (
        None,
        [],
        Map(),
        [value],
        [value] * 3,
        Map([("value", value)]),
        Map([("a", value)]),
        nasty(rng),
        Raw("!!int 3"),
    )
    _put(place, rng.choice(kinds))


def _deleted(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    del place[0][place[1]]


def _renamed(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    holder, i = place
    if isinstance(holder, Map):
        names = [h[k][0] for h, k in _places(rng.choice(others), []) if isinstance(h, Map)]
        holder[i] = (rng.choice(names or [""]) if rng.random() < 0.7 else rng.choice(TEXTS), holder[i][1])


def _doubled(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    holder, i = place
    count = rng.choice((1, 1, 2, 200))
    if isinstance(holder, Map) and rng.random() < 0.8:
        key, value = holder[i]
        holder.extend((f"{key}{k}", copied(value)) for k in range(count))
    else:
        holder.extend([holder[i]] * count)


def _borrowed(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    lent = _places(rng.choice(others), [])
    if lent:
        holder, i = rng.choice(lent)
        if isinstance(holder, Map) and isinstance(place[0], Map) and rng.random() < 0.5:
            place[0].append((holder[i][0], copied(holder[i][1])))
        else:
            _put(place, copied(_get((holder, i))))


def _deeper(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    _put(place, _nested(_get(place), rng.choice((1, 2, 10, 41, 300, 2000))))


def _aliased(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    value = _get(place)
    _put(place, Raw(f"&n {_flow(value)}" if not isinstance(value, Raw) else "*n"))
    for other in _places(tree, [])[-3:]:
        if rng.random() < 0.6 and other != place:
            _put(other, Raw("*n"))


def _bomb(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    _put(place, _laughs(rng))


def _composed(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    """Fields with a meaning of their own: include, extends, choose, value, source, variables."""
    target = _get(place)
    holder = target if isinstance(target, Map) else tree
    if not isinstance(holder, Map):
        return
    names = [h[k][0] for h, k in _places(tree, []) if isinstance(h, Map)] or ["a"]
    name = rng.choice(names)
    pair: tuple[str, Any] = rng.choice(
        (
            ("include", f"#{name}"),
            ("include", "gsis-motors.yaml#" + name),
            ("include", nasty(rng)),
            ("extends", rng.choice(("gsis-scara", "delta", "other.yaml", "first.yaml", nasty(rng)))),
            ("choose", [Map([("when", nasty(rng)), ("then", copied(target))])]),
            ("choose", [Map([("otherwise", copied(target))])]),
            ("variables", Map([(name, f"= {name}"), ("b", f"= {name} + 1"), ("c", nasty(rng))])),
            ("source", nasty(rng)),
            ("assumed", nasty(rng)),
            ("value", nasty(rng)),
        )
    )
    holder.insert(rng.randint(0, len(holder)), pair)


def _expression(rng: Random, tree: Any, place: tuple[Any, int], others: list[Any]) -> None:
    words = [
        "1",
        "2 m",
        "pi",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "^",
        "sqrt(",
        "sin(",
        "a",
        "==",
        "<",
        "and",
        "not",
        "'x'",
        ",",
    ]
    _put(place, "= " + " ".join(rng.choice(words) for _ in range(rng.choice((1, 3, 5, 9)))))


_CHANGES = (
    *(_scalar,) * 8, _type, _type, _deleted, _renamed, _renamed, _doubled, _borrowed, _borrowed, _deeper, _aliased,
    _bomb, _composed, _composed, _expression,
)  # fmt: skip


_GENTLE = (_scaled, _scaled, _scaled, _scaled, _borrowed, _deleted)


def mutated_yaml(rng: Random, tree: Any, others: list[Any]) -> bytes:
    """The bytes of a file with a mutated tree, seldom with mutated text too."""
    try:
        text = text_of(mutated_tree(rng, tree, others))
    except RecursionError:
        text = "[" * 5000
    if rng.random() < 0.08:
        text = changed_text(rng, text)
    return encoded(rng, text)
