"""Reading URDF: the tree it becomes, and the one line that broken files get."""

from __future__ import annotations

from pathlib import Path

import pytest

from servotwin.description.load import read_description
from servotwin.description.nodes import Node
from servotwin.description.urdf import read_urdf
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism

ARM = """<?xml version="1.0"?>
<robot name="Small Arm">
  <link name="world"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.2" rpy="0.1 0 0"/>
      <mass value="2.5"/>
      <inertia ixx="0.03" ixy="0" ixz="-0.001" iyy="0.04" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <link name="slide"/>
  <link name="tip"/>
  <joint name="lift" type="prismatic">
    <parent link="upper"/>
    <child link="slide"/>
    <origin xyz="0.1 0 0.089159"/>
    <axis xyz="0 0 -2"/>
    <limit lower="-0.2" upper="0.3" velocity="0.5" effort="40"/>
  </joint>
  <joint name="turn" type="revolute">
    <parent link="world"/>
    <child link="upper"/>
    <origin rpy="0 1.5707963267948966 0" xyz="0 0 1"/>
    <limit lower="-1" upper="2" velocity="3" effort="87"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="slide"/>
    <child link="tip"/>
  </joint>
</robot>
"""


def robot(*parts: str, links: str = "a b c d") -> str:
    """A URDF text with massless links and the given further elements."""
    declared = "".join(f'<link name="{name}"/>\n' for name in links.split())
    return f'<robot name="r">\n{declared}{"".join(parts)}</robot>\n'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>\n'


def read(tmp_path: Path, text: str, name: str = "robot.urdf") -> Node:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_urdf(path)


def plain(tmp_path: Path, text: str) -> dict:
    return read(tmp_path, text).plain()


def complaint(tmp_path: Path, text: str, name: str = "robot.urdf") -> str:
    """The error text from the line number on."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, name)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(tmp_path / name))
    return message.removeprefix(str(tmp_path / name))


def test_tree_of_small_arm_is_what_yaml_would_give(tmp_path: Path) -> None:
    assert plain(tmp_path, ARM) == {
        "format": "servotwin/1",
        "name": "small-arm",
        "title": "Small Arm",
        "inertia_check": "warn",
        "base": {"name": "world"},
        "axes": {
            "turn": {
                "type": "revolute",
                "parent": "base",
                "origin": {
                    "xyz": ["0 m", "0 m", "1 m"],
                    "rpy": ["0 rad", "1.5707963267948966 rad", "0 rad"],
                },
                "axis": ["1", "0", "0"],
                "limits": {"position": ["-1 rad", "2 rad"], "speed": "3 rad/s", "effort": "87 N*m"},
                "link": {
                    "name": "upper",
                    "mass": "2.5 kg",
                    "center": ["0 m", "0 m", "0.2 m"],
                    "inertia": {
                        "tensor": {
                            "xx": "0.03 kg*m^2",
                            "yy": "0.04 kg*m^2",
                            "zz": "0.02 kg*m^2",
                            "xz": "-0.001 kg*m^2",
                        },
                        "rpy": ["0.1 rad", "0 rad", "0 rad"],
                    },
                },
            },
            "lift": {
                "type": "prismatic",
                "parent": "turn",
                "origin": {"xyz": ["0.1 m", "0 m", "0.089159 m"]},
                "axis": ["0", "0", "-2"],
                "limits": {"position": ["-0.2 m", "0.3 m"], "speed": "0.5 m/s", "effort": "40 N"},
                "link": {"name": "slide"},
            },
            "flange": {
                "type": "fixed",
                "parent": "lift",
                "origin": {"xyz": ["0 m", "0 m", "0 m"]},
                "link": {"name": "tip"},
            },
        },
        "tool": {"parent": "flange"},
    }


def test_origins_of_values_point_at_urdf_lines_and_name_the_file(tmp_path: Path) -> None:
    nodes = dict(read(tmp_path, ARM).walk())
    assert nodes["axes.turn.link.mass"].origin.line == 7
    assert nodes["axes.lift.limits.speed"].origin.line == 18
    assert {node.origin.source for node in nodes.values()} == {"URDF file robot.urdf"}


def test_numbers_keep_every_digit(tmp_path: Path) -> None:
    inside = '<origin xyz="0.1234567890123456789 1e-300 -0.0"/>'
    axes = plain(tmp_path, robot(joint("j", "a", "b", inside=inside), links="a b"))["axes"]
    x, y, z = axes["j"]["origin"]["xyz"]
    assert float(x.removesuffix(" m")) == 0.1234567890123456789
    assert (y, z) == ("1e-300 m", "0 m")


# --- topology ---------------------------------------------------------------------------------------


def test_joints_in_any_order_come_parents_first_otherwise_as_in_the_file(tmp_path: Path) -> None:
    text = robot(joint("z", "c", "d"), joint("y", "a", "b"), joint("x", "a", "c"))
    assert list(plain(tmp_path, text)["axes"]) == ["y", "x", "z"]


def test_long_chain_is_read_without_recursion(tmp_path: Path) -> None:
    names = [f"l{i}" for i in range(3000)]
    joints = [joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in reversed(range(2999))]
    axes = plain(tmp_path, robot(*joints, links=" ".join(names)))["axes"]
    assert list(axes) == [f"j{i}" for i in range(2999)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (robot(joint("j", "a", "x")), "joint 'j': the child link 'x' does not exist"),
        (robot(joint("j", "x", "b")), "joint 'j': the parent link 'x' does not exist"),
        (robot(joint("j", "a", "b"), links="a b c"), "a second root beside 'a'"),
        (robot(joint("j", "a", "b"), joint("k", "b", "a"), links="a b"), "part of a cycle"),
        (
            robot(joint("j", "a", "b"), joint("k", "c", "d"), joint("l", "d", "c")),
            "joint 'k': the joint is part of a cycle",
        ),
        (robot(joint("j", "a", "b"), joint("k", "c", "b"), links="a b c"), "'b' is the child of two joints"),
        (robot(joint("j", "a", "a"), links="a b"), "cycle"),
        (robot(joint("j", "a", "b"), joint("j", "b", "c"), links="a b c"), "name is used twice"),
        (robot(joint("j", "a", "b"), links="a b a"), "link 'a': this <link> name is used twice"),
        (robot(links=""), "<robot> has no <link>"),
        (robot(links="a"), "no joint moves"),
        (robot(joint("j", "a", "b", "fixed"), links="a b"), "no joint moves"),
        (robot(joint("j", "a", "b", "floating"), links="a b"), "supported are revolute, continuous"),
        (robot(joint("j", "a", "b", "planar"), links="a b"), "type 'planar' is not supported"),
    ],
)
def test_wrong_topology_is_one_line_with_place(tmp_path: Path, text: str, expected: str) -> None:
    message = complaint(tmp_path, text)
    assert expected in message
    assert message.split(":")[1].isdigit()


# --- values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ('<origin xyz="0 0"/>', "<origin xyz='0 0'>: expected three numbers"),
        ('<origin xyz="0 0 nan"/>', "'nan' is not a finite number"),
        ('<origin rpy="0 inf 0"/>', "'inf' is not a finite number"),
        ('<origin xyz="0 1e999 0"/>', "'1e999' is not a finite number"),
        ('<origin xyz="0 1e155 0"/>', "'1e155' is too large"),
        ('<origin xyz="0 1_0 0"/>', "'1_0' is not a finite number"),
        ('<origin xyz="0 \u0661 0"/>', "is not a finite number"),
        ('<axis xyz="0 0 0"/>', "needs a direction"),
        ('<limit lower="low" upper="1"/>', "'low' is not a finite number"),
        ('<limit lower="" upper="1"/>', "<limit> needs the attribute 'lower'"),
        ('<mimic multiplier="2"/>', "<mimic> needs the attribute 'joint'"),
        ('<mimic joint="nobody"/>', "mimics the joint 'nobody', which does not exist"),
        ('<mimic joint="j"/>', "mimics itself"),
        ('<origin xyz="0 0 0"/><origin xyz="0 0 0"/>', "a second <origin>"),
        ('<parent link="b"/>', "a second <parent>"),
    ],
)
def test_wrong_value_in_joint_is_one_line_with_joint_name(tmp_path: Path, inside: str, expected: str) -> None:
    message = complaint(tmp_path, robot(joint("j", "a", "b", inside=inside), links="a b"))
    assert expected in message
    assert "joint 'j'" in message


def test_expression_in_a_value_is_a_xacro_file(tmp_path: Path) -> None:
    text = robot(joint("j", "a", "b", inside='<origin xyz="${length} 0 0"/>'), links="a b")
    assert ":4: a xacro file is a program that makes a URDF" in complaint(tmp_path, text)


@pytest.mark.parametrize(
    ("inertial", "expected"),
    [
        ("", "<inertial> has no <mass>"),
        ("<mass/>", "<mass> needs the attribute 'value'"),
        ('<mass value="heavy"/>', "'heavy' is not a finite number"),
        ('<mass value="1"/>', "<inertial> has no <inertia>"),
        ('<mass value="1"/><inertia ixx="1"/>', "<inertia> needs the attribute"),
    ],
)
def test_incomplete_inertial_is_one_line_with_link_name(tmp_path: Path, inertial: str, expected: str) -> None:
    link = f'<link name="heavy"><inertial>{inertial}</inertial></link>'
    message = complaint(tmp_path, robot(link, joint("j", "a", "heavy"), links="a"))
    assert expected in message
    assert "link 'heavy'" in message


def test_link_without_mass_keeps_its_inertia_and_drops_its_centre(tmp_path: Path) -> None:
    inertial = '<origin xyz="1 2 3"/><mass value="0"/>'
    inertial += '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    link = f'<link name="odd"><inertial>{inertial}</inertial></link>'
    axes = plain(tmp_path, robot(link, joint("j", "a", "odd"), links="a"))["axes"]
    assert axes["j"]["link"].keys() == {"name", "inertia"}


def test_inertia_of_no_body_is_a_warning(tmp_path: Path) -> None:
    inertial = '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="2.1"/>'
    link = f'<link name="odd"><inertial>{inertial}</inertial></link>'
    path = tmp_path / "odd.urdf"
    path.write_text(robot(link, joint("j", "a", "odd"), links="a"), encoding="utf-8")
    [warning] = read_description(path).warnings
    assert "odd.urdf:3: axes.j.link.inertia" in warning
    assert "triangle inequality" in warning


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        ("revolute", "", None),
        ("revolute", '<limit effort="0" velocity="0" lower="0" upper="0"/>', None),
        ("revolute", '<limit effort="1e16" velocity="1e16" lower="-1e16" upper="1e16"/>', None),
        ("revolute", '<limit upper="1"/>', {"position": ["0 rad", "1 rad"]}),
        ("revolute", '<limit effort="5" velocity="2"/>', {"speed": "2 rad/s", "effort": "5 N*m"}),
        (
            "continuous",
            '<limit effort="5" velocity="2" lower="-1" upper="1"/>',
            {"speed": "2 rad/s", "effort": "5 N*m"},
        ),
        (
            "prismatic",
            '<limit effort="0" velocity="2" lower="-1" upper="1"/>',
            {"position": ["-1 m", "1 m"], "speed": "2 m/s"},
        ),
    ],
)
def test_limits_that_say_nothing_are_left_out(
    tmp_path: Path, kind: str, limit: str, expected: dict | None
) -> None:
    axes = plain(tmp_path, robot(joint("j", "a", "b", kind, limit), links="a b"))["axes"]
    assert axes["j"].get("limits") == expected


# --- mimic ------------------------------------------------------------------------------------------


def test_mimic_of_mimic_follows_the_first_leader(tmp_path: Path) -> None:
    text = robot(
        joint("third", "c", "d", inside='<mimic joint="second" multiplier="-2" offset="0.5"/>'),
        joint("second", "b", "c", inside='<mimic joint="first" multiplier="3" offset="0.25"/>'),
        joint("first", "a", "b"),
    )
    assert plain(tmp_path, text)["couplings"] == [
        {"joint": "second", "of": {"first": "3"}, "offset": "0.25 rad"},
        {"joint": "third", "of": {"first": "-6"}},  # offset -2 * 0.25 + 0.5 = 0
    ]


def test_mimic_between_turning_and_sliding_has_a_unit(tmp_path: Path) -> None:
    text = robot(
        joint("screw", "a", "b"),
        joint("nut", "b", "c", "prismatic", '<mimic joint="screw" multiplier="0.008" offset="0.1"/>'),
        links="a b c",
    )
    assert plain(tmp_path, text)["couplings"] == [
        {"joint": "nut", "of": {"screw": "0.008 m/rad"}, "offset": "0.1 m"}
    ]


def test_mimic_on_fixed_joint_is_ignored(tmp_path: Path) -> None:
    text = robot(
        joint("j", "a", "b"), joint("k", "b", "c", "fixed", '<mimic joint="nobody"/>'), links="a b c"
    )
    assert "couplings" not in plain(tmp_path, text)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ('<mimic joint="k"/>', '<mimic joint="j"/>', "mimics itself"),
        ('<mimic joint="k" multiplier="1e20"/>', '<mimic joint="l" multiplier="1e20"/>', "beyond 1e30"),
        ('<mimic joint="f"/>', "", "which is fixed"),
    ],
)
def test_mimic_that_leads_nowhere_is_refused(tmp_path: Path, first: str, second: str, expected: str) -> None:
    text = robot(
        joint("j", "a", "b", inside=first),
        joint("k", "b", "c", inside=second),
        joint("l", "c", "d"),
        joint("f", "d", "e", "fixed"),
        links="a b c d e",
    )
    assert expected in complaint(tmp_path, text)


# --- names ------------------------------------------------------------------------------------------


def test_names_with_refused_characters_become_readable_and_unique(tmp_path: Path) -> None:
    text = robot(
        '<link name="l.1"/><link name="l 1"/><link name="base"/><link name="foot/FSR"/>',
        joint("j.1", "a", "l.1"),
        joint("j-1", "l.1", "l 1"),
        joint("base", "l 1", "base"),
        joint("source", "base", "foot/FSR"),
        links="a",
    )
    axes = plain(tmp_path, text)["axes"]
    assert list(axes) == ["j-1-2", "j-1", "base-joint", "source-joint"]
    assert [axis["link"]["name"] for axis in axes.values()] == ["l-1", "l-1-2", "base", "foot/FSR"]
    assert [axis["parent"] for axis in axes.values()] == ["base", "j-1-2", "j-1", "base-joint"]


@pytest.mark.parametrize(
    ("written", "name", "title"),
    [
        ("r2d2", "r2d2", None),
        ("Kuka LBR_iiwa", "kuka-lbr-iiwa", "Kuka LBR_iiwa"),
        ("= 1/0", "1-0", "1/0"),
        ("\u4e2d", "robot-file", "\u4e2d"),
        ("", "robot-file", None),
    ],
)
def test_robot_name_becomes_a_catalogue_name(
    tmp_path: Path, written: str, name: str, title: str | None
) -> None:
    text = robot(joint("j", "a", "b"), links="a b").replace('name="r"', f'name="{written}"')
    tree = read(tmp_path, text, "Robot_File.urdf").plain()
    assert (tree["name"], tree.get("title")) == (name, title)


# --- the tool ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leaves", "tool"),
    [
        (["finger", "camera"], "finger"),
        (["camera", "gripper_link"], "gripper_link"),
        (["handle", "left_hand"], "left_hand"),
        (["hand", "ee_link", "tool0"], "tool0"),
        (["tool0", "hand_tcp"], "hand_tcp"),
    ],
)
def test_tool_is_the_leaf_named_most_like_one(tmp_path: Path, leaves: list[str], tool: str) -> None:
    moved = [joint(f"to_{leaf}", "b", leaf) for leaf in leaves]
    text = robot(joint("j", "a", "b"), *moved, links=f"a b {' '.join(leaves)}")
    assert plain(tmp_path, text)["tool"] == {"parent": f"to_{tool}"}


def test_leaf_called_tool_is_the_tool_and_keeps_its_name(tmp_path: Path) -> None:
    moved = [joint(f"to_{leaf}", "b", leaf) for leaf in ("hand_tcp", "tool")]
    path = tmp_path / "robot.urdf"
    path.write_text(robot(joint("j", "a", "b"), *moved, links="a b hand_tcp tool"), encoding="utf-8")
    description = read_description(path)
    assert description.tool is None
    assert description.link_names["to_tool"] == "tool"
    assert build_mechanism(description).frame().body == 2


def test_tool_without_telling_name_is_behind_most_moving_joints(tmp_path: Path) -> None:
    text = robot(joint("short", "a", "b"), joint("long1", "a", "c"), joint("long2", "c", "d"))
    assert plain(tmp_path, text)["tool"] == {"parent": "long2"}


def test_tool_is_never_fixed_to_the_base(tmp_path: Path) -> None:
    text = robot(joint("stand", "a", "tool0", "fixed"), joint("j", "a", "b"), links="a b tool0")
    assert plain(tmp_path, text)["tool"] == {"parent": "j"}


def test_massless_leaf_called_tool_becomes_the_tool_frame(tmp_path: Path) -> None:
    inside = '<origin xyz="0 0 0.1" rpy="0 0 1"/>'
    text = robot(joint("j", "a", "b"), joint("t", "b", "tool", "fixed", inside), links="a b tool")
    tree = plain(tmp_path, text)
    assert tree["tool"] == {
        "parent": "j",
        "xyz": ["0 m", "0 m", "0.1 m"],
        "rpy": ["0 rad", "0 rad", "1 rad"],
    }
    assert list(tree["axes"]) == ["j"]


# --- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ":1: broken XML: no element found"),
        ("<robot>\n<link name='a'>\n</robot>", ":3: broken XML: mismatched tag"),
        ("<sdf/>", ":1: the file holds <sdf>; expected <robot>"),
        ("\x00\x01", "broken XML"),
        ("<robot><joint/></robot>", "joint '': <joint> needs the attribute 'name'"),
        ("<robot>\n<joint name='j'/></robot>", ":2: joint 'j': <joint> needs the attribute 'type'"),
        ("<robot><joint name='j' type='fixed'/></robot>", "<joint> has no <parent>"),
        ("<robot name='a\nb'><link name='x\ny'/><link name='x y'/></robot>", "used twice"),
        (
            "<robot>\n<xacro:property name='a' value='1'/></robot>",
            ":2: a xacro file is a program that makes a URDF",
        ),
    ],
)
def test_broken_file_is_one_line_with_place(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in complaint(tmp_path, text)


def test_xacro_file_name_says_how_to_expand_it(tmp_path: Path) -> None:
    said = complaint(tmp_path, ARM, "arm.urdf.xacro")
    assert "'servotwin convert arm.urdf.xacro arm.yaml --allow-code'" in said
    assert "'xacro arm.urdf.xacro > arm.urdf'" in said


def test_entities_are_refused_before_they_expand(tmp_path: Path) -> None:
    bomb = "".join(f'<!ENTITY x{i} "{f"&x{i - 1};" * 50}">' for i in range(1, 30))
    text = f'<!DOCTYPE robot [<!ENTITY x0 "ha">{bomb}]><robot name="&x29;"/>'
    assert "DOCTYPE" in complaint(tmp_path, text)


def test_garbage_of_10_megabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "garbage.urdf"
    path.write_bytes(bytes(range(256)) * 40_000)
    with pytest.raises(InputError, match="UTF-8"):
        read_urdf(path)


def test_file_beyond_the_size_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    path.write_bytes(b" " * 32_000_001)
    with pytest.raises(InputError, match=r"32\.000001 MB, larger than a URDF file may be \(32 MB\)"):
        read_urdf(path)


def test_file_with_too_many_elements_is_refused(tmp_path: Path) -> None:
    assert "more than 100000 elements" in complaint(tmp_path, robot(links="a " * 100_001))


def test_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_urdf(tmp_path / "none.urdf")


def test_shapes_transmissions_and_simulator_settings_are_skipped(tmp_path: Path) -> None:
    noise = (
        '<gazebo><link name="ghost"/><joint name="ghost"/></gazebo>'
        '<transmission name="t"><joint name="j"/></transmission>'
        '<material name="m"><color rgba="nonsense"/></material>'
    )
    text = robot(joint("j", "a", "b", inside='<dynamics damping="x"/>'), links="a b")
    assert plain(tmp_path, text.replace("</robot>", noise + "</robot>")) == plain(tmp_path, text)
