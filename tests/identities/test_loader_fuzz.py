"""Whatever stands in a file: a robot comes out, or one line that says what is wrong."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from servotwin.description.compose import resolve
from servotwin.description.load import CATALOGUE, description_from, read_description
from servotwin.description.nodes import Node, Origin, attribute, parse_yaml
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from small_robots import ALL

PARSED = {name: parse_yaml(text, f"{name}.yaml") for name, text in ALL.items()}
TEXTS = [*ALL.values(), *(path.read_text(encoding="utf-8") for path in sorted(CATALOGUE.glob("*.yaml")))]
MARKS = str.split(
    r"""
    : - [ ] { } , # &a *a ! | > ' " % = null -1 0 1e400 1e308 nan kg m deg base tool A ^99
    """
)
MARKS += ["", " ", "\n", "\t", "value: ", "source: ", "choose: ", "include: '#axes'", "extends: delta"]
MARKS += ["\x00", "\u2028", "é", "\ud7ff", "(" * 50]


def check_line(text: str) -> None:
    assert "\n" not in text
    assert text.isprintable()
    assert len(text) < 1500


def check(load: Any) -> None:
    """Only an InputError of one line may come out; a description that is accepted can be built."""
    try:
        description = load()
    except InputError as error:
        check_line(str(error))
        return
    assert isinstance(description, RobotDescription)
    assert all("\n" not in line for line in description.warnings)
    description.assumptions()
    mechanism = build_mechanism(description)
    assert mechanism.n_q > 0
    assert np.isfinite(mechanism.X_tree).all()
    assert np.isfinite(mechanism.phi).all()


def check_bytes(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.yaml"
        path.write_bytes(data)
        check(lambda: read_description(path))


@given(st.binary(max_size=400))
@example(b"\xff\xfe")
@example(b"---\n---\n")
@example(b"a: !!binary x")
@example(b"? ")
def test_any_bytes_give_an_input_error(data: bytes) -> None:
    check_bytes(data)


@given(st.text(max_size=200))
def test_any_text_gives_an_input_error(text: str) -> None:
    check_bytes(text.encode("utf-8", "surrogatepass"))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The text of a robot with a few pieces cut out, doubled, moved or replaced."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 1, 2, 5, 20, 100])))
        other = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from([*MARKS, text[start:end], text[other : other + 30]]))
        text = text[:start] + piece + text[end:]
    return text


@settings(max_examples=250)
@given(mutated())
def test_mutated_robot_gives_a_robot_or_an_input_error(text: str) -> None:
    check_bytes(text.encode("utf-8", "surrogatepass"))


WORDS = ["350 mm", "2 kg", "10 deg", "= a1", "= a1 > 2 m", "= half == a1", "= ((1", "", "#axes.A"]
WORDS += ["1e308 m", "1e300 kg", "1e-300 m", "1e29 m", "1e29 kg", "1e-300 kg", "1e29 kg*m^2"]
WORDS += str.split(
    r"""
    1 -1 0 A B base revolute prismatic fixed x servotwin/1 test joint delta []
    """
)
KEYS = str.split(
    r"""
    format name axes A B dh mdh origin axis type parent limits position link mass center inertia tensor
    gyration xx yy zz radius about gear ratio motor encoder tool payload couplings loops between joint
    of active home transmission motors matrix parents variables a1 half text choices choose when then
    otherwise include extends source assumed value gravity xyz rpy x.y é
    """
)

origins = st.builds(Origin, st.just("tree.yaml"), st.integers(0, 9))
scalars = st.one_of(st.none(), st.sampled_from(WORDS), st.text(max_size=8))
nodes = st.recursive(
    st.builds(Node, scalars, origins),
    lambda inner: st.one_of(
        st.builds(Node, st.lists(inner, max_size=4), origins),
        st.builds(Node, st.dictionaries(st.sampled_from(KEYS), inner, max_size=5), origins),
    ),
    max_leaves=25,
)


@settings(max_examples=250)
@given(nodes)
def test_any_tree_gives_a_robot_or_an_input_error(node: Node) -> None:
    check(lambda: description_from(resolve(attribute(node))))


def grafted(tree: Node, path: list[str], node: Node) -> Node:
    """``tree`` with ``node`` at ``path``."""
    if not path:
        return node
    if isinstance(tree.value, dict):
        child = tree.value.get(path[0], Node(None, tree.origin))
        return Node({**tree.value, path[0]: grafted(child, path[1:], node)}, tree.origin)
    if isinstance(tree.value, list):
        items = [grafted(c, path[1:], node) if str(i) == path[0] else c for i, c in enumerate(tree.value)]
        return Node(items, tree.origin)
    return node


@settings(max_examples=400)
@given(st.sampled_from(sorted(ALL)), st.data())
def test_robot_with_a_strange_branch_gives_a_robot_or_an_input_error(name: str, data: st.DataObject) -> None:
    tree = PARSED[name]
    path = data.draw(st.sampled_from([path for path, _ in tree.walk() if path])).split(".")
    path += data.draw(st.sampled_from([[], [], [data.draw(st.sampled_from(KEYS))]]))
    changed = grafted(tree, path, data.draw(nodes))
    check(lambda: description_from(resolve(attribute(changed))))


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([*KEYS, "0", "99", "Z", "", "a b"]), max_size=5).map(".".join),
    st.one_of(st.sampled_from([*WORDS, *MARKS]), st.text(max_size=10)),
)
def test_any_override_gives_a_robot_or_an_input_error(field: str, value: str) -> None:
    check(lambda: description_from(resolve(PARSED["composed"], {field: value})))


@given(st.text(max_size=40))
def test_any_name_gives_an_input_error(name: str) -> None:
    with pytest.raises(InputError) as caught:
        read_description(name)
    assert "\n" not in str(caught.value)
