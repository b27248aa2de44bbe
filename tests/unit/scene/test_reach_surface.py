"""The surface of a workspace in pictures: closed, outwards, and as large as volumes that are known otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from own_robots import FIVE, GANTRY, lift_files, written
from servotwin.robot.load import load_robot
from servotwin.scene.mesh_read import Mesh
from servotwin.scene.reach_surface import reach_box, reach_surface, surface_net


def volume(mesh: Mesh) -> float:
    a, b, c = (mesh.points[mesh.triangles[:, k].astype(int)].astype(float) for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def open_edges(mesh: Mesh) -> int:
    """Directed edges that no neighbour runs along the other way."""
    t = mesh.triangles.astype(np.int64)
    edges = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    count: dict[tuple[int, int], int] = {}
    for a, b in edges.tolist():
        count[a, b] = count.get((a, b), 0) + 1
    return sum(number != count.get((b, a), 0) for (a, b), number in count.items())


def test_net_around_a_ball_is_closed_outwards_and_round() -> None:
    at = np.stack(np.meshgrid(*[np.arange(41.0) - 20.0] * 3, indexing="ij"), axis=-1)
    net = surface_net(15.0 - np.linalg.norm(at, axis=-1), 0.0)
    assert open_edges(net) == 0
    assert volume(net) == pytest.approx(4.0 / 3.0 * np.pi * 15.0**3, rel=0.01)
    np.testing.assert_allclose(np.linalg.norm(net.points - 20.0, axis=1), 15.0, rtol=0, atol=0.1)


def test_box_of_a_gantry_and_ring_of_a_lift_have_their_volumes(tmp_path: Path) -> None:
    gantry = load_robot(written(tmp_path, "gantry.yaml", GANTRY))
    found = reach_surface(gantry)
    assert found is not None
    assert open_edges(found) == 0
    assert volume(found) == pytest.approx(2.5 * 1.2 * 0.8, rel=0.06)  # rounded by half a cell at edges
    np.testing.assert_allclose(found.points.min(axis=0), [0.1, 0.0, 0.8], rtol=0, atol=0.03)
    np.testing.assert_allclose(found.points.max(axis=0), [2.6, 1.2, 1.6], rtol=0, atol=0.03)
    lift = load_robot(written(tmp_path, "lift.urdf", lift_files()["lift.urdf"].decode()))
    ring = reach_surface(lift)
    assert ring is not None
    # r = 0.5 + 0.2 cos w and heights from -0.2 |sin w| to 0.6 + 0.2 |sin w|, over 4 rad: both branches of the wrist
    w = np.linspace(0.0, 1.5, 2001)
    wanted = 4.0 * np.trapezoid(
        (0.5 + 0.2 * np.cos(w)) * (0.6 + 0.4 * np.sin(w)) * 0.2 * np.sin(w),
        w,
    )
    assert volume(ring) == pytest.approx(wanted, rel=0.06)


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4", "daiv-1"])
def test_volume_is_that_of_the_followed_boundary(name: str) -> None:
    found, exact = reach_surface(load_robot(name)), st.workspace(name).volume
    assert found is not None
    assert exact is not None
    assert volume(found) == pytest.approx(exact, rel=0.07)


def test_planes_and_closed_chains_have_a_surface_too() -> None:
    flat = reach_surface(load_robot("met-two-link"))
    assert flat is not None
    assert len(flat.triangles) > 100
    assert float(np.ptp(flat.points, axis=0).min()) == 0.0
    delta = reach_surface(load_robot("delta"))
    assert delta is not None
    assert volume(delta) > 1.0


THIN = {
    "arc": ("revolute", "0 0 1", "1 0 0", ""),
    "line": ("prismatic", "1 2 3", "0 0 0", ""),
    "shell": ("revolute", "0 0 1", "0 0 0", "0 1 0"),
}


@pytest.mark.parametrize("name", THIN)
def test_lines_and_shells_have_a_surface_around_them(name: str, tmp_path: Path) -> None:
    """A shell of radius 1 m about the origin, one of its arcs, or a line of 2 m: a closed surface near every place."""
    kind, axis, arm, second = THIN[name]
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    joints = [(kind, axis, "0 0 0"), *([("revolute", second, "0 0 0")] if second else [])]
    text = '<robot name="r"><link name="l0"/>'
    for i, (kind_, axis_, xyz) in enumerate(joints):
        text += f'<link name="l{i + 1}">{mass}</link><joint name="j{i}" type="{kind_}"><parent link="l{i}"/>'
        text += f'<child link="l{i + 1}"/><origin xyz="{xyz}"/><axis xyz="{axis_}"/>{limit}</joint>'
    tip = "1 0 0" if second else arm
    text += (
        f'<link name="tip"/><joint name="t" type="fixed"><parent link="l{len(joints)}"/><child link="tip"/>'
    )
    robot = load_robot(written(tmp_path, "thin.urdf", text + f'<origin xyz="{tip}"/></joint></robot>'))
    found = reach_surface(robot)
    assert found is not None
    assert len(found.triangles) > 100
    assert open_edges(found) == 0
    places = robot.fkine(robot.random_q(np.random.default_rng(2), 200))[:, :3, 3]
    off = np.linalg.norm(places[:, None] - found.points[None], axis=2)
    room = 0.08 * float(np.ptp(places, axis=0).max())
    assert off.min(axis=1).max() < room  # no place without a surface near it
    assert off.min(axis=0).max() < 2.0 * room  # nor a surface without a place


def test_sliders_of_the_tool_span_what_it_reaches(tmp_path: Path) -> None:
    five = load_robot(written(tmp_path, "five.yaml", FIVE))
    box = reach_box(five)
    assert box is not None
    low, high = box
    tips = five.fkine(five.random_q(np.random.default_rng(5), 20_000))[:, :3, 3]
    outside = ((tips < low) | (tips > high)).any(axis=1)
    assert outside.mean() < 0.001
    assert float((high - low).max()) < 1.2 * float(np.ptp(tips, axis=0).max())
