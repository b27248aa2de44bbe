"""Mechanisms from descriptions: frames, bodies, order, couplings, limits, rotors, payload."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from servotwin.description.load import catalogue_names, read_description
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import BASE, CutKind, Mechanism
from servotwin.mechanism.spatial import mass_center_inertia
from small_robots import ALL, FOUR_BAR, GRIPPER, HEAD, PENDULUM, describe

# textbook placements, written out by hand and independent of the package


def Rz(t: float) -> np.ndarray:
    return np.array(
        [[np.cos(t), -np.sin(t), 0, 0], [np.sin(t), np.cos(t), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]
    )


def Rx(t: float) -> np.ndarray:
    return np.array(
        [[1, 0, 0, 0], [0, np.cos(t), -np.sin(t), 0], [0, np.sin(t), np.cos(t), 0], [0, 0, 0, 1.0]]
    )


def Ry(t: float) -> np.ndarray:
    return np.array(
        [[np.cos(t), 0, np.sin(t), 0], [0, 1, 0, 0], [-np.sin(t), 0, np.cos(t), 0], [0, 0, 0, 1.0]]
    )


def T(x: float, y: float, z: float) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


def poses(mechanism: Mechanism, q: np.ndarray) -> dict[str, np.ndarray]:
    """The pose of every frame, by the defining equation of the model."""
    q_tree = mechanism.coupling.G @ q + mechanism.coupling.q0
    bodies = {BASE: np.eye(4)}
    for i in range(mechanism.n_tree):
        motion = T(0, 0, q_tree[i]) if mechanism.prismatic[i] else Rz(q_tree[i])
        bodies[i] = bodies[int(mechanism.parent[i])] @ mechanism.X_tree[i] @ motion
    return {frame.name: bodies[frame.body] @ frame.X_body_frame for frame in mechanism.frames}


def build(folder: Path, text: str) -> Mechanism:
    return build_mechanism(describe(folder, text))


TABLE = """\
format: servotwin/1
name: table
axes:
  A: {KIND: {theta: 0.1 rad, d: 0.2 m, a: 0.3 m, alpha: 0.4 rad}, direction: DIR}
  B: {type: prismatic, KIND: {theta: 0.5 rad, d: 0.6 m, a: 0.7 m, alpha: 0.8 rad}, direction: DIR}
  C: {type: fixed, KIND: {theta: 0.9 rad, d: 1.0 m, a: 1.1 m, alpha: 1.2 rad}}
"""


@pytest.mark.parametrize("direction", [1, -1])
def test_standard_dh_gives_the_textbook_pose(tmp_path: Path, direction: int) -> None:
    mechanism = build(tmp_path, TABLE.replace("KIND", "dh").replace("DIR", str(direction)))
    q = np.array([0.7, -0.3])
    u, v = direction * q
    first = Rz(0.1 + u) @ T(0, 0, 0.2) @ T(0.3, 0, 0) @ Rx(0.4)
    second = first @ Rz(0.5) @ T(0, 0, 0.6 + v) @ T(0.7, 0, 0) @ Rx(0.8)
    third = second @ Rz(0.9) @ T(0, 0, 1.0) @ T(1.1, 0, 0) @ Rx(1.2)
    found = poses(mechanism, q)
    for name, expected in {"A-link": first, "B-link": second, "C-link": third, "tool": third}.items():
        np.testing.assert_allclose(found[name], expected, atol=1e-14)


@pytest.mark.parametrize("direction", [1, -1])
def test_modified_dh_gives_the_textbook_pose(tmp_path: Path, direction: int) -> None:
    mechanism = build(tmp_path, TABLE.replace("KIND", "mdh").replace("DIR", str(direction)))
    q = np.array([0.7, -0.3])
    u, v = direction * q
    first = Rx(0.4) @ T(0.3, 0, 0) @ Rz(0.1 + u) @ T(0, 0, 0.2)
    second = first @ Rx(0.8) @ T(0.7, 0, 0) @ Rz(0.5) @ T(0, 0, 0.6 + v)
    found = poses(mechanism, q)
    np.testing.assert_allclose(found["A-link"], first, atol=1e-14)
    np.testing.assert_allclose(found["B-link"], second, atol=1e-14)


@pytest.mark.parametrize(
    ("axis", "turn"),
    [("[1, 0, 0]", Rx), ("[0, 2, 0]", Ry), ("[0, 0, 3]", Rz), ("[0, 0, -1]", lambda t: Rz(-t))],
)
def test_origin_and_axis_turn_about_that_axis(tmp_path: Path, axis: str, turn: object) -> None:
    origin = "{xyz: [1 m, 2 m, 3 m], rpy: [0.1 rad, 0.2 rad, 0.3 rad]}"
    text = f"{HEAD}axes: {{A: {{origin: {origin}, axis: {axis}}}}}"
    mechanism = build(tmp_path, text)
    expected = T(1, 2, 3) @ Rz(0.3) @ Ry(0.2) @ Rx(0.1) @ turn(0.7)  # type: ignore[operator]
    np.testing.assert_allclose(poses(mechanism, np.array([0.7]))["A-link"], expected, atol=1e-14)


def test_oblique_axis_turns_about_itself(tmp_path: Path) -> None:
    mechanism = build(tmp_path, f"{HEAD}axes: {{A: {{axis: [1, -2, -3]}}}}")
    R = poses(mechanism, np.array([0.7]))["A-link"][:3, :3]
    unit = np.array([1.0, -2.0, -3.0]) / np.sqrt(14.0)
    np.testing.assert_allclose(R @ unit, unit, atol=1e-14)
    assert np.trace(R) == pytest.approx(1.0 + 2.0 * np.cos(0.7), rel=1e-14)


def test_right_angles_leave_exact_zeros(tmp_path: Path) -> None:
    text = f"{HEAD}axes:\n" + "".join(
        f"  J{i}: {{dh: {{alpha: {angle} deg, theta: {angle} deg, d: 0.1 m, a: 0.2 m}}}}\n"
        for i, angle in enumerate((90, -90, 180, 270, 0))
    )
    rotations = build(tmp_path, text).X_tree[:, :3, :3]
    assert set(np.unique(rotations)) <= {-1.0, 0.0, 1.0}
    assert not np.signbit(rotations[rotations == 0.0]).any()


def test_fixed_links_are_merged_into_their_carrier(tmp_path: Path) -> None:
    mechanism = build(tmp_path, GRIPPER)
    assert mechanism.tree_joint_names == ("lift", "left", "right")
    assert mechanism.parent.tolist() == [-1, 0, 0]
    mass, center, inertia = mass_center_inertia(mechanism.phi[0])
    # 5 kg at the origin and 2 kg at 0.2 m along x plus 0.1 m along the plate's x, which points along y
    assert mass == 7.0
    np.testing.assert_allclose(center, [0.4 / 7.0, 0.2 / 7.0, 0.0], rtol=1e-15)
    r = np.array([0.2, 0.1, 0.0])
    np.testing.assert_allclose(
        inertia, 5.0 * 2.0 / 7.0 * (r @ r * np.eye(3) - np.outer(r, r)), rtol=1e-14, atol=1e-16
    )
    assert [frame.name for frame in mechanism.frames] == [
        "base", "lift-link", "plate-link", "left-link", "right-link", "tool",
    ]  # fmt: skip


def test_links_fixed_to_the_base_do_not_move(tmp_path: Path) -> None:
    text = f"{HEAD}axes:\n  foot: {{type: fixed, origin: {{xyz: [0 m, 0 m, 1 m]}}, link: {{mass: 9 kg}}}}\n"
    mechanism = build(tmp_path, text + "  A: {dh: {}}\n")
    assert mechanism.frame("foot-link").body == BASE
    assert mechanism.X_tree[0][2, 3] == 1.0
    assert not mechanism.phi.any()


def test_bodies_keep_file_order_with_parents_first(tmp_path: Path) -> None:
    text = f"{HEAD}parents: [3, 0, 2, 0]\naxes: {{A: {{axis: [0,0,1]}}, B: {{axis: [0,0,1]}}, "
    text += "C: {axis: [0,0,1]}, D: {axis: [0,0,1]}}\n"
    mechanism = build(tmp_path, text)
    assert mechanism.tree_joint_names == ("B", "C", "A", "D")
    assert mechanism.parent.tolist() == [-1, 0, 1, -1]
    assert mechanism.joint_names == ("A", "B", "C", "D"), "q keeps the order of the file"
    np.testing.assert_array_equal(mechanism.coupling.G @ [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 1.0, 4.0])
    assert mechanism.coupled


def test_active_sets_the_order_of_q(tmp_path: Path) -> None:
    mechanism = build(tmp_path, PENDULUM + "active: [B, A]\n")
    assert mechanism.joint_names == ("B", "A")
    np.testing.assert_array_equal(mechanism.coupling.G, [[0.0, 1.0], [1.0, 0.0]])
    assert mechanism.limits.q_max.tolist() == [np.inf, np.pi / 2]


def test_coupling_ties_a_joint_to_others(tmp_path: Path) -> None:
    mechanism = build(tmp_path, GRIPPER)
    assert mechanism.joint_names == ("lift", "left")
    np.testing.assert_array_equal(mechanism.coupling.G, [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(mechanism.coupling.q0, [0.0, 0.0, 0.001])
    # both fingers slide outwards from the plate, whose x is the base's y
    found = poses(mechanism, np.array([0.1, 0.05]))
    np.testing.assert_allclose(found["left-link"][:3, 3], [0.2, 0.05, 1.1], rtol=1e-15)
    np.testing.assert_allclose(found["right-link"][:3, 3], [0.2, -0.051, 1.1], rtol=1e-15)


def test_closed_chain_has_passive_joints_after_the_active_ones(tmp_path: Path) -> None:
    mechanism = build(tmp_path, FOUR_BAR)
    assert mechanism.joint_names == ("crank",)
    assert mechanism.passive_names == ("coupler", "rocker")
    assert mechanism.q_home.tolist() == [np.pi / 2]
    assert mechanism.passive_home.tolist() == [0.0, np.radians(80.0)]
    np.testing.assert_array_equal(mechanism.coupling.G, np.eye(3))
    (loop,) = mechanism.loops
    assert (loop.name, loop.kind) == ("pin", CutKind.REVOLUTE)
    a, b = mechanism.frame(loop.frame_a), mechanism.frame(loop.frame_b)
    assert (a.body, b.body) == (1, 2)
    np.testing.assert_array_equal(a.X_body_frame, T(0.5, 0, 0))


def test_limits_are_infinite_where_nothing_is_stated(tmp_path: Path) -> None:
    limits = build(tmp_path, PENDULUM).limits
    assert limits.q_min.tolist() == [-np.pi / 2, -np.inf]
    assert limits.q_max.tolist() == [np.pi / 2, np.inf]
    assert limits.qd_max.tolist() == [np.pi, np.inf]
    assert limits.qdd_max.tolist() == [np.inf, np.inf]
    assert limits.tau_max.tolist() == [50.0, np.inf]


def test_rotors_come_from_gears(tmp_path: Path) -> None:
    text = (
        f"{HEAD}axes:\n"
        "  A: {dh: {}, gear: {ratio: -50}, motor: {rotor_inertia: 1e-4 kg*m^2}}\n"
        "  B: {dh: {}}\n"
        "  C: {dh: {}, motor: {rotor_inertia: 2e-4 kg*m^2}}\n"
        "  D: {type: prismatic, dh: {}, gear: {lead: 10 mm}, motor: {rotor_inertia: 3e-4 kg*m^2}}\n"
        "  E: {type: prismatic, dh: {}, motor: {kind: hydraulic}}\n"
    )
    rotors = build(tmp_path, text).rotors
    assert rotors.names == ("A", "C", "D", "E")
    np.testing.assert_allclose(
        rotors.N,
        [[-50, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 200 * np.pi, 0], [0, 0, 0, 0, 0]],
        rtol=1e-15,
    )
    assert rotors.J_m.tolist() == [1e-4, 2e-4, 3e-4, 0.0]


@pytest.mark.parametrize("names", ["[A, Z]", "[M1, M2]"])
def test_rotors_come_from_the_transmission_matrix(tmp_path: Path, names: str) -> None:
    text = (
        f"{HEAD}axes:\n"
        "  A: {dh: {}, motor: {rotor_inertia: 1e-4 kg*m^2}}\n"
        "  Z: {type: prismatic, dh: {}, motor: {rotor_inertia: 2e-4 kg*m^2}}\n"
        f"transmission: {{motors: {names}, matrix: [[10, 0], [10, 500 rad/m]]}}\n"
    )
    rotors = build(tmp_path, text).rotors
    np.testing.assert_array_equal(rotors.N, [[10.0, 0.0], [10.0, 500.0]])
    assert rotors.J_m.tolist() == [1e-4, 2e-4]


def test_tool_and_payload_ride_on_their_axis(tmp_path: Path) -> None:
    text = PENDULUM + (
        "tool: {parent: A, xyz: [0 m, 0.1 m, 0 m], rpy: [0 deg, 0 deg, 90 deg]}\n"
        "payload: {mass: 3 kg, center: [0.5 m, 0 m, 0 m]}\n"
    )
    plain, loaded = build(tmp_path, PENDULUM), build(tmp_path, text)
    tool = loaded.frame()
    assert (tool.name, tool.body) == ("tool", 0)
    np.testing.assert_allclose(tool.X_body_frame, T(0.4, 0.1, 0.0) @ Rz(np.pi / 2), atol=1e-15)
    mass, center, _ = mass_center_inertia(loaded.phi[0] - plain.phi[0])
    assert mass == 3.0
    # 0.5 m along the tool's x, which is the link's y
    np.testing.assert_allclose(center, [0.4, 0.6, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(loaded.phi[1], plain.phi[1])


def test_link_called_tool_is_the_tool(tmp_path: Path) -> None:
    text = f"{HEAD}axes:\n  A: {{dh: {{a: 1 m}}, link: {{name: tool}}}}\n  B: {{dh: {{a: 1 m}}}}\n"
    mechanism = build(tmp_path, text)
    assert [frame.name for frame in mechanism.frames] == ["base", "tool", "B-link"]
    assert mechanism.frame().body == 0


def test_link_inertia_about_its_joint_axis_is_kept(tmp_path: Path) -> None:
    # A rod of 2 kg and 0.6 m, given about its joint: Izz of the body about its own frame is m l^2 / 3.
    text = f"{HEAD}axes:\n  A:\n    dh: {{a: 0.6 m, alpha: 90 deg, theta: 30 deg, d: 0.1 m}}\n    link:\n"
    text += "      frame: joint\n      mass: 2 kg\n      center: [0.3 m, 0 m, 0 m]\n"
    text += "      inertia: {gyration: {radius: = (0.6 m)/sqrt(3), axes: [y, z]}, about: joint}\n"
    phi = build(tmp_path, text).phi[0]
    np.testing.assert_allclose(phi, [2, 0.6, 0, 0, 0, 0, 0.24, 0, 0, 0.24], rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("direction", [1, -1])
def test_body_frame_stands_on_the_joint_axis(tmp_path: Path, direction: int) -> None:
    mechanism = build(tmp_path, TABLE.replace("KIND", "dh").replace("DIR", str(direction)))
    before, after = poses(mechanism, np.zeros(2)), poses(mechanism, np.array([0.0, 0.1]))
    moved = (after["B-link"] - before["B-link"])[:3, 3]
    z = (mechanism.X_tree[0] @ mechanism.X_tree[1])[:3, 2]
    np.testing.assert_allclose(moved, 0.1 * z, atol=1e-15)


@pytest.mark.parametrize("name", catalogue_names())
def test_catalogue_robot_builds(name: str) -> None:
    check_shapes(build_mechanism(read_description(name)))


@pytest.mark.parametrize("name", ALL)
def test_test_robot_builds(tmp_path: Path, name: str) -> None:
    check_shapes(build(tmp_path, ALL[name]))


def check_shapes(mechanism: Mechanism) -> None:
    n, n_q, n_x = mechanism.n_tree, mechanism.n_q, mechanism.n_q + len(mechanism.passive_names)
    assert mechanism.X_tree.shape == (n, 4, 4)
    assert mechanism.phi.shape == (n, 10)
    assert mechanism.parent.dtype == np.int64
    assert all(mechanism.parent[i] < i for i in range(n))
    assert mechanism.coupling.G.shape == (n, n_x)
    assert mechanism.coupling.q0.shape == (n,)
    assert mechanism.q_home.shape == (n_q,)
    assert mechanism.rotors.N.shape == (len(mechanism.rotors.names), n_q)
    assert all(limit.shape == (n_q,) for limit in vars(mechanism.limits).values())
    names = [frame.name for frame in mechanism.frames]
    assert len(set(names)) == len(names)
    R = mechanism.X_tree[:, :3, :3]
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), R.shape), atol=1e-11)
    assert np.isfinite(mechanism.phi).all()
