"""Writing: YAML that reads back to the same tree, files that are whole or untouched."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.description.file_write import atomic_write_text
from servotwin.description.load import catalogue_names, read_description
from servotwin.description.nodes import Node, Origin, parse_yaml
from servotwin.description.plain_text import hidden_character
from servotwin.description.schema import RobotDescription
from servotwin.description.write import LINE_WIDTH, write_yaml, yaml_text
from servotwin.errors import InputError, UnsupportedError

EXAMPLE = """\
format: servotwin/1
name: example
source: Table 2
variables: {a1: 350 mm, half: = a1/2}

axes:
  A:
    type: revolute
    dh: {theta: 0 deg, d: 0 mm, a: 350 mm, alpha: 0 deg}
    link:
      mass: {value: 16.81 kg, assumed: weighed}
      center: [0.203 m, 0 m, 0 m]
      inertia:
        gyration: {radius: 0.29 m, axes: [z]}
tool: {parent: A, xyz: [0 m, 0 m, -0.1 m]}

references:
  lee1989: "A title of a publication: with a colon, long enough to fill a line of its own, and a half"

couplings:
  - {joint: th4, of: {th2: -1, th3: -1}, offset: 0 deg}
"""


def tree(text: str) -> Node:
    return parse_yaml(text, "test.yaml")


def attributed(node: Node) -> list[tuple[str, object, str, str]]:
    """Path, scalar, source and assumption of every scalar of a tree."""
    return [
        (path, n.value, n.origin.source, n.origin.assumed)
        for path, n in node.walk()
        if not isinstance(n.value, dict | list)
    ]


def test_yaml_text_of_readable_file_reads_like_it() -> None:
    assert yaml_text(tree(EXAMPLE)) == EXAMPLE


def test_yaml_text_is_stable() -> None:
    text = yaml_text(tree(EXAMPLE))
    assert yaml_text(tree(text)) == text


def test_yaml_text_keeps_lines_short_and_whole() -> None:
    entries = ", ".join(f"x{i}: {i / 7!r} kg*m^2" for i in range(9))
    lines = yaml_text(tree(f"a: {{b: {{{entries}}}}}")).splitlines()
    assert all(len(line) <= LINE_WIDTH for line in lines)
    assert lines[2] == "    x0: 0.0 kg*m^2"


@pytest.mark.parametrize(
    "text",
    ["null", "~", "", "true", "No", "=", "<<", "a: b", "# x", "- x", "[", "{", "'", '"', "*a", "&a", "!t",
     "%d", "@x", "`x`", "|", ">", "?", "1", "0x1F", "1e-05", "2001-01-01", "= a/2", "a\nb", "a\n\nb:\n",
     " a ", "\t", "é", "\u2028", "\U0001f916", "a #b", "---", "...", "a, b", "x]", "\ufeff"],
)  # fmt: skip
def test_yaml_text_of_awkward_text_reads_back(text: str) -> None:
    origin = Origin("x", 1)
    names = Node(text, origin)
    node = Node({"a": names, "b": Node([names, Node(None, origin)], origin), "c": names}, origin)
    assert tree(yaml_text(node)).plain() == node.plain()


# what is not visible is not read, so it is not written either
VISIBLE = st.characters(exclude_categories=["Cs", "Cc"]).filter(lambda c: hidden_character(c) is None)
SCALARS = st.none() | st.text(VISIBLE, max_size=20)
KEYS = st.text(VISIBLE, min_size=1, max_size=8).filter(lambda key: key not in ("source", "assumed", "value"))


def nodes(value: object, origin: Origin) -> Node:
    if isinstance(value, dict):
        return Node({key: nodes(child, origin) for key, child in value.items()}, origin)
    if isinstance(value, list):
        return Node([nodes(child, origin) for child in value], origin)
    assert value is None or isinstance(value, str)
    return Node(value, origin)


@given(
    st.dictionaries(
        KEYS,
        st.recursive(
            SCALARS,
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
            max_leaves=20,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_yaml_text_of_any_tree_reads_back(value: dict) -> None:
    assert tree(yaml_text(nodes(value, Origin("x")))).plain() == value


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE,
        "a: {value: 1, source: S}\nb: 2",
        "source: S\na: {value: 1, source: null}\nb: 2",
        "source: S\na: {assumed: A, b: [1, {value: 2, source: T}], c: {d: 1}}",
        "assumed: A\na: {source: S, assumed: B, b: 1}\nc: null",
    ],
)
def test_yaml_text_keeps_sources_and_assumptions(text: str) -> None:
    assert attributed(tree(yaml_text(tree(text)))) == attributed(tree(text))


def test_write_yaml_writes_the_text(tmp_path: Path) -> None:
    write_yaml(tree(EXAMPLE), tmp_path / "robot.yaml")
    assert (tmp_path / "robot.yaml").read_text(encoding="utf-8") == yaml_text(tree(EXAMPLE))


@pytest.mark.parametrize("name", catalogue_names())
def test_catalogue_robot_written_as_one_file_is_the_same_robot(tmp_path: Path, name: str) -> None:
    original = read_description(name)
    write_yaml(original, tmp_path / "robot.yaml")
    copy = read_description(tmp_path / "robot.yaml")
    assert copy == original.model_copy(update={"variables": {}})
    sources = {path: (origin.source, origin.assumed) for path, origin in original.origins.items()}
    for path, origin in copy.origins.items():
        assert (origin.source, origin.assumed) == sources[path]


def test_description_made_in_python_has_no_file_to_write() -> None:
    axis = {"type": "revolute", "origin": {}}
    description = RobotDescription.model_validate(
        {"format": "servotwin/1", "name": "made", "axes": {"j": axis}}
    )
    with pytest.raises(UnsupportedError, match="made was made in Python"):
        yaml_text(description)


# --- files ------------------------------------------------------------------------------------------


def test_atomic_write_leaves_only_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    atomic_write_text(path, "one\n")
    atomic_write_text(path, "zwei \u00e4\n")
    assert path.read_bytes() == "zwei \u00e4\n".encode()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_atomic_write_that_fails_keeps_the_file_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")

    def full_disk(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InputError, match=r"a\.txt: cannot be written: No space left on device"):
        atomic_write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("name", ["missing/a.txt", ".", "nul\x00.txt"])
def test_atomic_write_to_impossible_place_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be written") as caught:
        atomic_write_text(f"{tmp_path}/{name}", "x")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_atomic_write_keeps_permissions_and_links(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    atomic_write_text(link, "text")
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8") == "text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_atomic_write_of_text_that_has_no_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        atomic_write_text(tmp_path / "a.txt", "\ud800")
    assert list(tmp_path.iterdir()) == []
