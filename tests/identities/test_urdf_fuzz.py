"""Whatever a URDF file holds: it is read, or refused with one line."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servotwin.description.load import read_description
from servotwin.description.urdf import read_urdf
from servotwin.description.write import yaml_text
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.urdf_export import urdf_text

SMALL = """<?xml version="1.0"?>
<robot name="small">
<link name="world"/>
<link name="upper"><inertial>
<origin xyz="0 0 0.2" rpy="0.1 0 0"/>
<mass value="2.5"/>
<inertia ixx="0.03" ixy="0" ixz="-0.001" iyy="0.04" iyz="0" izz="0.02"/>
</inertial></link>
<link name="left"/>
<link name="right"/>
<link name="tool"/>
<joint name="turn" type="revolute">
<parent link="world"/>
<child link="upper"/>
<origin rpy="0 1.57 0" xyz="0 0 1"/>
<axis xyz="0 0 1"/>
<limit lower="-1" upper="2" velocity="3" effort="87"/>
</joint>
<joint name="grip" type="prismatic">
<parent link="upper"/>
<child link="left"/>
<axis xyz="0 1 0"/>
<limit lower="0" upper="0.05" velocity="0.1" effort="20"/>
</joint>
<joint name="follow" type="continuous">
<parent link="upper"/>
<child link="right"/>
<mimic joint="grip" multiplier="-1.5" offset="0.1"/>
</joint>
<joint name="end" type="fixed">
<parent link="upper"/>
<child link="tool"/>
</joint>
</robot>
"""
LINES = SMALL.splitlines()
VALUES = re.findall(r'"[^"]*"', SMALL)
ODD_VALUES = [
    "", " ", "nan", "inf", "-inf", "1e400", "1e308", "-1e308", "1e-320", "0", "-0", "-1", "0 0 0",
    "1e200 0 1e-200", "1e308 1e308 1e308", "0x10", "1,5", "1;2", "= 1/0", "=", "&lt;", "base", "tool",
    "world", "upper", "grip", "follow", "value", "source", "a.b", "a b", "\u4e2d", "\u0661", "x" * 200,
    "floating", "fixed", "prismatic", "continuous",
]  # fmt: skip


def outcome(data: bytes) -> str:
    """What reading gives: 'read', or the message, which must be one line with the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fuzz.urdf"
        path.write_bytes(data)
        try:
            read_urdf(path)
            description = read_description(path)
        except InputError as error:
            message = str(error)
            assert message.startswith(str(path))
            assert "\n" not in message
            assert len(message) < 1000
            return message
    yaml_text(description)
    urdf_text(build_mechanism(description))
    return "read"


@st.composite
def edited_lines(draw: st.DrawFn) -> bytes:
    """The small robot with lines dropped, repeated, moved, and values exchanged."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        # whole elements only: a lost end tag would hide everything else
        i = draw(st.sampled_from([k for k, line in enumerate(lines) if line.endswith("/>")]))
        match draw(st.sampled_from(["drop", "repeat", "move", "value", "value", "value"])):
            case "drop":
                lines[i] = ""
            case "repeat":
                lines.insert(i, lines[i])
            case "move":
                lines.insert(draw(st.integers(2, len(lines) - 1)), lines.pop(i))
            case "value":
                values = re.findall(r'"[^"]*"', lines[i])
                if values:
                    odd = st.sampled_from(ODD_VALUES).map(lambda value: f'"{value}"')
                    old, new = draw(st.sampled_from(values)), draw(odd | st.sampled_from(VALUES))
                    lines[i] = lines[i].replace(old, new, 1)
    return "\n".join(lines).encode()


@st.composite
def edited_bytes(draw: st.DrawFn) -> bytes:
    """The small robot with some pieces overwritten by random characters or bytes."""
    ascii_text = st.text(st.characters(max_codepoint=127), max_size=8).map(str.encode)
    piece = st.one_of(ascii_text, ascii_text, st.binary(max_size=8))
    data = SMALL.encode()
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        data = data[:start] + draw(piece) + data[start + draw(st.integers(0, 12)) :]
    return data


def test_small_robot_is_read() -> None:
    assert outcome(SMALL.encode()) == "read"


@given(edited_lines())
@settings(max_examples=400)
def test_edited_robot_is_read_or_refused_in_one_line(data: bytes) -> None:
    outcome(data)


@given(edited_bytes())
@settings(max_examples=200)
def test_damaged_robot_is_read_or_refused_in_one_line(data: bytes) -> None:
    outcome(data)


NUMBERS = [(i, value) for i, line in enumerate(LINES) for value in re.findall(r'"[-0-9. ]+"', line)]


@pytest.mark.parametrize("extreme", ["1e308", "-1e308", "1e-320", "1e155", "-1e-155"])
@pytest.mark.parametrize(("line", "value"), NUMBERS)
def test_extreme_numbers_are_read_or_refused_in_one_line(line: int, value: str, extreme: str) -> None:
    lines = list(LINES)
    words = value.strip('"').split()
    lines[line] = lines[line].replace(value, f'"{" ".join([extreme] * len(words))}"', 1)
    outcome("\n".join(lines).encode())


@given(st.binary(max_size=300))
def test_random_bytes_are_refused_in_one_line(data: bytes) -> None:
    assert outcome(data) != "read"


@given(st.text(max_size=200))
def test_random_text_inside_a_robot_is_refused_in_one_line(text: str) -> None:
    data = f"<robot name='r'>{text}</robot>".encode("utf-8", "surrogatepass")
    assert outcome(data) != "read"


@pytest.mark.parametrize(
    "text", ["<a>" * 200_000, "<robot>" * 100_000, "<robot>" + "<link name='a'>" * 100_000]
)
def test_deep_nesting_is_refused_in_one_line(text: str) -> None:
    assert "broken XML" in outcome(text.encode()) or "expected <robot>" in outcome(text.encode())
