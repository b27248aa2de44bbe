"""Raw trees: places of values, sources, and files that are not robot files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from servotwin.description.nodes import MAX_BYTES, MAX_LINE, Node, parse_yaml, read_yaml
from servotwin.errors import InputError

TEXT = """\
a: 1 mm
b:
  c: [2, 3]
  d: "x: y"   # quoted
e:
f: ~
g: {source: Table 2, h: {value: 4 kg, assumed: a guess}, i: 5, j: {k: 6, source: Table 3}}
"""


def at(tree: Node, path: str) -> Node:
    return dict(tree.walk())[path]


def message(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_yaml(text, "f.yaml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_yaml_values_stay_texts() -> None:
    plain = parse_yaml(TEXT, "f.yaml").plain()
    assert plain["a"] == "1 mm"
    assert plain["b"] == {"c": ["2", "3"], "d": "x: y"}
    assert plain["e"] is None
    assert plain["f"] is None
    assert parse_yaml("x: [no, on, 0x10, 1_000, 2024-01-01, '']", "f").plain() == {
        "x": ["no", "on", "0x10", "1_000", "2024-01-01", ""]
    }


def test_yaml_values_know_their_lines() -> None:
    tree = parse_yaml(TEXT, "f.yaml")
    lines = {path: node.origin.line for path, node in tree.walk()}
    assert lines["a"] == 1
    assert lines["b"] == 2, "a mapping is found at its key"
    assert lines["b.c.1"] == 3
    assert lines["b.d"] == 4
    assert lines["g.j.k"] == 7


def test_source_covers_what_has_no_own_one() -> None:
    tree = parse_yaml(TEXT, "f.yaml")
    assert at(tree, "g.h").value == "4 kg"
    assert (at(tree, "g.h").origin.source, at(tree, "g.h").origin.assumed) == ("", "a guess")
    assert at(tree, "g.i").origin.source == "Table 2"
    assert at(tree, "g.j.k").origin.source == "Table 3"
    assert at(tree, "a").origin.source == ""
    assert "g.source" not in dict(tree.walk())


def test_alias_gives_the_value_again() -> None:
    tree = parse_yaml("a: &x {b: 1}\nc: *x", "f.yaml")
    assert tree.plain() == {"a": {"b": "1"}, "c": {"b": "1"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3: 'a' is given twice; the first is in line 1"),
        ("a: &x [*x]", "alias *x is not defined"),
        ("a: *x", "alias *x is not defined"),
        ("a: [1, 2", "f.yaml:1: broken YAML"),
        ("a: {b: 1\nc: 2", "broken YAML"),
        ("a:\n\t- b", "broken YAML"),
        ("a: b: c", "f.yaml:1: broken YAML: a second ':' in one line"),
        ("a: !!python/object:os.system x", "tags are not accepted"),
        ("a: !!str x", "tags are not accepted"),
        ("a: 1\n---\nb: 2", "f.yaml:2: a second YAML document"),
        ("", "the file is empty"),
        ("# only a comment", "the file is empty"),
        ("[a]: 1", "f.yaml:1: this key is not a name"),
        ("{a: 1}: 2", "this key is not a name"),
        ("'': 2", "this key is not a name"),
        ("a: {source: [1], b: 2}", "f.yaml:1: a.source: expected a text such as 'Table 2'"),
        ("a: " + "[" * 60 + "]" * 60, "nested deeper than 40 levels"),
        ("a: \x00", "broken YAML"),
        ("a: 'x" + "y" * MAX_LINE + "'", f"f.yaml:1: a line of more than {MAX_LINE} characters"),
        ("- a\n" * 60_000, "more than 50000 values"),
    ],
)
def test_yaml_that_cannot_be_read_says_why(text: str, expected: str) -> None:
    assert expected in message(text)


def test_aliases_that_multiply_are_stopped() -> None:
    levels = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 9):
        levels.append(f"{chr(97 + i)}: &{chr(97 + i)} [{', '.join(['*' + chr(96 + i)] * 10)}]")
    assert "after its aliases are expanded" in message("\n".join(levels))


def test_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.yaml: no such file; expected a robot file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="is a folder"):
        read_yaml(tmp_path)
    with pytest.raises(InputError, match=r"a\\x00b.yaml: no such file"):
        read_yaml("a\0b.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        read_yaml("x" * 5000 + ".yaml")


def test_file_with_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_yaml(tmp_path / "a.yaml").plain() == {"a": "1"}


def test_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(InputError, match=r"a\.yaml:2: not UTF-8 text"):
        read_yaml(tmp_path / "a.yaml")


@pytest.mark.parametrize("byte", [b"\x00", b"\xff", b"a", b"[", b"!"])
def test_file_of_ten_megabytes_is_refused_at_once(tmp_path: Path, byte: bytes) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(byte * 10_000_000)
    start = time.perf_counter()
    with pytest.raises(InputError, match=r"10 MB, larger than a robot file may be \(1 MB\)"):
        read_yaml(path)
    # a bound far above what reading the first megabyte takes, far below what parsing would
    assert time.perf_counter() - start < 1.0


@pytest.mark.parametrize("text", ["!", "&", "*", "'", "%", "[", "{", "? ", "- ", ": "])
def test_file_of_one_repeated_mark_is_answered_fast(text: str) -> None:
    start = time.perf_counter()
    message(text * (MAX_BYTES // len(text)))
    message((text * (MAX_LINE // len(text)) + "\n") * 50)
    # the scanner alone would need half a minute for some of these
    assert time.perf_counter() - start < 5.0
