"""Closed curves, unions, surfaces and what fits into them, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

import servotwin as st
from servotwin.design.workspace.arrangement import Polygon, Region, _rings, difference, intersection, union
from servotwin.design.workspace.cube_in_space import cube_in_space, face_points
from servotwin.design.workspace.inscribed import (
    _climbed,
    cube_in_drawn,
    cube_in_turned,
    largest_rectangle,
    rectangle_fits,
)
from servotwin.design.workspace.mesh import lattice_mesh, lattice_volume, quartered
from servotwin.design.workspace.parallel import _surface
from servotwin.design.workspace.swept_mesh import drawn, turned
from servotwin.design.workspace.trace import _chord_distance, trace
from servotwin.design.workspace.turned import side_of_drawn, top_view, turned_volume


def square(x: float, y: float, size: float, label: int = 0) -> Polygon:
    corners = np.array([[x, y], [x + size, y], [x + size, y + size], [x, y + size]])
    return Polygon(corners, np.full(4, label))


def circle(radius: float, x: float = 0.0, label: int = 0, count: int = 2000) -> Polygon:
    angle = np.arange(count) * 2.0 * np.pi / count
    points = np.stack([x + radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return Polygon(points, np.full(count, label))


def _left(a, b, p):
    """Which points (k, 2) lie to the left of the line a-b."""
    return (b[0] - a[0]) * (p[:, 1] - a[1]) - (b[1] - a[1]) * (p[:, 0] - a[0]) > 0.0


def reverse(polygon: Polygon) -> Polygon:
    return Polygon(polygon.points[::-1], polygon.labels[::-1])


def test_union_of_overlapping_squares_keeps_labels():
    region = union([[square(0.0, 0.0, 1.0, 0)], [square(0.5, 0.5, 1.0, 1)]])
    assert region.area == pytest.approx(1.75)
    assert len(region.rings) == 1
    edges = np.linalg.norm(np.roll(region.rings[0], -1, axis=0) - region.rings[0], axis=1)
    assert edges[region.labels[0] == 0].sum() == pytest.approx(3.0)
    assert edges[region.labels[0] == 1].sum() == pytest.approx(3.0)


def test_union_with_a_hole_and_apart():
    ring = union([[circle(1.0), reverse(circle(0.5))], [square(3.0, 0.0, 1.0)]])
    assert ring.area == pytest.approx(np.pi * 0.75 + 1.0, rel=1e-5)
    assert ring.contains(np.array([[0.0, 0.0], [0.75, 0.0], [3.5, 0.5], [2.0, 0.0]])).tolist() == [
        False,
        True,
        True,
        False,
    ]


def test_union_of_polygons_that_share_an_edge_has_none_inside():
    region = union([[square(0.0, 0.0, 1.0)], [square(1.0, 0.0, 1.0)]])
    assert region.area == pytest.approx(2.0)
    assert not (np.abs(region.rings[0][:, 0] - 1.0) + np.abs(region.rings[0][:, 1] - 0.5) < 0.4).any()


def test_union_of_two_pieces_folded_along_an_edge_that_a_third_crosses_is_closed():
    """As at a singular curve: both pieces lie on one side of the edge, and run along it in opposite directions."""
    rng = np.random.default_rng(1)
    for _ in range(150):
        a, b = rng.uniform(-1.0, -0.5, 2), rng.uniform(0.5, 1.0, 2)
        apex = [np.array([-0.2, 0.9]) + rng.uniform(-0.1, 0.1, 2) for _ in range(2)]
        through = np.array([[0.0, -1.0], [0.3, -1.0], [0.1, 1.5]]) + rng.uniform(-0.1, 0.1, (3, 2))
        rings = [np.stack([a, b, apex[0]]), np.stack([b, a, apex[1]]), through]
        labels = np.zeros(3, dtype=np.int64)
        whole = union([[Polygon(ring, labels)] for ring in rings])
        p = rng.uniform(-1.0, 1.5, (400, 2))
        inside = np.zeros(400, dtype=bool)
        for ring in rings:
            sides = [_left(ring[k], ring[k - 2], p) for k in range(3)]
            inside |= (np.array(sides).sum(axis=0) % 3) == 0
        assert (whole.contains(p) == inside).all()


def test_chord_between_one_point_and_itself_has_a_distance():
    point = np.array([[1.0, 2.0]])
    assert _chord_distance(np.array([[4.0, 6.0]]), point, point) == pytest.approx(5.0)


def test_union_orientation_does_not_matter():
    assert union([[reverse(square(0.0, 0.0, 1.0))]]).area == pytest.approx(1.0)


def test_trace_meets_corners_and_circles():
    def margins(s):  # a disc cut off at x = 0.5 and y = 0.3
        return np.stack([1.0 - (s**2).sum(axis=1), 0.5 - s[:, 0], 0.3 - s[:, 1]], axis=1)

    (loop,) = trace(margins, np.full(2, -1.3), np.full(2, 1.3), (37, 37), lambda s: s, 1e-6)
    x, y = np.meshgrid(*2 * [(np.arange(4000) + 0.5) / 4000 * 2.0 - 1.0])
    inside = (x**2 + y**2 <= 1.0) & (x <= 0.5) & (y <= 0.3)
    region = union([[Polygon(loop.points, loop.labels)]])
    assert region.area == pytest.approx(inside.mean() * 4.0, abs=2e-5)
    for corner in ((0.5, 0.3), (0.5, -np.sqrt(0.75)), (-np.sqrt(0.91), 0.3)):
        assert np.linalg.norm(loop.points - corner, axis=1).min() < 1e-9
    assert set(loop.labels) == {0, 1, 2}
    on_circle = loop.points[loop.labels == 0]
    assert np.hypot(*on_circle.T) == pytest.approx(1.0, abs=1e-9)


def test_trace_finds_nothing_in_an_empty_set():
    empty = trace(lambda s: -np.ones((len(s), 1)), np.zeros(2), np.ones(2), (10, 10), lambda s: s, 1e-6)
    assert empty == []


def test_largest_rectangle_of_a_circle_is_the_square():
    found = largest_rectangle(union([[circle(1.0)]]))
    assert found.area == pytest.approx(2.0, rel=1e-3)


def test_rectangle_does_not_cover_a_hole():
    ring = union([[circle(1.0), reverse(circle(0.2))]])
    assert not rectangle_fits(ring, np.array([-0.5, -0.5]), np.array([0.5, 0.5]))
    assert rectangle_fits(ring, np.array([0.25, -0.3]), np.array([0.7, 0.3]))


def test_volume_of_a_torus_and_of_a_part_of_it():
    region = union([[circle(0.3, x=1.0)]])
    full = 2.0 * np.pi**2 * 0.3**2
    assert turned_volume(region, 0.0, (-np.pi, np.pi)) == pytest.approx(full, rel=1e-4)
    assert turned_volume(region, 0.0, (0.0, 1.0)) == pytest.approx(full / (2.0 * np.pi), rel=1e-4)


def test_volume_of_a_ball_counts_overlapping_angles_once():
    """A disc about the axis turned by 180 deg or more fills the ball; by 90 deg half of it."""
    region = union([[circle(1.0)]])
    ball = 4.0 / 3.0 * np.pi
    assert turned_volume(region, 0.0, (-2.5, 2.5)) == pytest.approx(ball, rel=1e-4)
    assert turned_volume(region, 0.0, (0.0, np.pi / 2)) == pytest.approx(ball / 2, rel=1e-4)


def test_volume_beside_the_axis_as_sampling():
    """A disc in a plane 0.4 m beside the axis, turned by 200 deg."""
    region, d, turn = union([[circle(0.8)]]), 0.4, (0.0, np.radians(200.0))
    rng = np.random.default_rng(0)
    p = rng.uniform(-1.0, 1.0, (400_000, 3))
    far = np.hypot(p[:, 0], p[:, 1])
    r = np.sqrt(np.maximum(far**2 - d**2, 0.0))
    inside = np.zeros(len(p), dtype=bool)
    for sign in (1.0, -1.0):
        angle = (np.arctan2(p[:, 1], p[:, 0]) - np.arctan2(d, sign * r)) % (2.0 * np.pi)
        inside |= (far >= d) & (r**2 + p[:, 2] ** 2 <= 0.64) & (angle <= turn[1])
    assert turned_volume(region, d, turn) == pytest.approx(inside.mean() * 8.0, rel=1e-2)


@pytest.mark.parametrize("turn", [(-np.pi, np.pi), (-1.0, 0.7), (-2.0, 2.5), (-3.0, 3.1)])
@pytest.mark.parametrize("shift", [0.6, 0.1, -0.2, -0.6])
def test_surface_of_a_turned_region_encloses_its_volume(turn, shift):
    """Also where the region reaches across the axis, and ranges of angles overlap in part."""
    region = union([[circle(0.4, shift, count=200)]])
    mesh = turned(region, turn, 0.0, (1, 2))
    assert mesh.volume == pytest.approx(turned_volume(region, 0.0, turn), rel=4e-3)  # 72 facets around
    ends = {1, 2} if turn[1] - turn[0] < 6.28 else set()
    assert set(mesh.labels.tolist()) == {0} | ends


def test_surface_beside_the_axis_lies_where_the_region_turns():
    region = union([[square(0.3, 0.1, 0.2)]])
    mesh = turned(region, (0.2, 1.5), 0.15, (1, 2))
    assert mesh.volume == pytest.approx(turned_volume(region, 0.15, (0.2, 1.5)), rel=2e-3)
    far = np.hypot(mesh.points[:, 0], mesh.points[:, 1])
    assert (far.min(), far.max()) == pytest.approx((np.hypot(0.3, 0.15), np.hypot(0.5, 0.15)))


def net_edges(mesh) -> int:
    """Edges that triangles do not pass as often either way; corners within 1e-8 m are taken as one."""
    count = len(mesh.points)
    near = cKDTree(mesh.points).query_pairs(1e-8, output_type="ndarray")
    graph = coo_matrix((np.ones(len(near)), (near[:, 0], near[:, 1])), shape=(count, count))
    corner = connected_components(graph, directed=False)[1].astype(np.int64)[mesh.triangles]
    edges = np.concatenate([corner[:, [k, (k + 1) % 3]] for k in range(3)])
    edges = edges[edges[:, 0] != edges[:, 1]]
    passed = np.where(edges[:, 0] < edges[:, 1], 1, -1)
    _, number = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    return int(np.count_nonzero(np.bincount(number.ravel(), passed)))


SECTIONS = {
    "in front": [[circle(0.4, 0.9, count=80)]],
    "behind": [[circle(0.4, -0.9, count=80)]],
    "across": [[circle(0.6, 0.2, count=80)]],
    "ring": [[circle(0.7, 0.1, count=80), reverse(circle(0.3, 0.15, count=80))]],
    "two": [[circle(0.4, 0.6, count=80)], [circle(0.35, -0.7, count=80)]],
    "steps": [[square(-0.5, 0.0, 0.6)], [square(0.0, 0.0, 0.4)]],
}


@pytest.mark.parametrize("distance", [0.0, 0.15, -0.15, 0.5])
@pytest.mark.parametrize("section", SECTIONS)
def test_surface_is_closed_and_encloses_the_volume_however_far_it_turns(section, distance, monkeypatch):
    """Less and more than half a turn, half a turn, nearly and wholly around; beside the axis on either side."""
    monkeypatch.setattr("servotwin.design.workspace.turned.RADII", 1000)
    region = union(SECTIONS[section])
    for turn in ((-0.5, 0.6), (0.0, 3.0), (0.0, np.pi), (-0.2, 4.0), (-3.0, 2.9), (-np.pi, np.pi)):
        mesh = turned(region, turn, distance, (1, 2))
        assert net_edges(mesh) == 0
        assert mesh.volume == pytest.approx(
            turned_volume(region, distance, turn), rel=3e-3
        )  # 72 facets around


@pytest.mark.parametrize("distance", [0.25, -0.25])
@pytest.mark.parametrize("turn", [(-0.5, 1.2), (-0.2, 4.3)])
def test_surface_beside_the_axis_encloses_as_many_points_as_the_region_passes(turn, distance):
    """Points are turned back into the plane: they count if they lie in a ring at some angle of the turn."""
    region = union(SECTIONS["ring"])
    p = np.random.default_rng(3).uniform(-0.9, 0.9, (400_000, 3))
    far = np.hypot(p[:, 0], p[:, 1])
    inside = np.zeros(len(p), dtype=bool)
    for side in (1.0, -1.0):
        r = side * np.sqrt(np.maximum(far**2 - distance**2, 0.0))
        angle = (np.arctan2(p[:, 1], p[:, 0]) - np.arctan2(distance, r) - turn[0]) % (2.0 * np.pi)
        ring = (np.hypot(r - 0.1, p[:, 2]) <= 0.7) & (np.hypot(r - 0.15, p[:, 2]) >= 0.3)
        inside |= (far >= abs(distance)) & ring & (angle <= turn[1] - turn[0])
    assert turned(region, turn, distance, (1, 2)).volume == pytest.approx(1.8**3 * inside.mean(), rel=1.2e-2)


def test_surface_of_a_drawn_ring_is_closed():
    region = union([[circle(0.5, count=200), reverse(circle(0.2, count=200))]])
    mesh = drawn(region, (-0.1, 0.3), (1, 2))
    assert mesh.volume == pytest.approx(0.4 * region.area, rel=1e-3)
    assert net_edges(mesh) == 0


def test_intersection_and_difference_of_regions_make_up_the_first():
    one, other = (
        union([[circle(0.5, count=200), reverse(circle(0.2, count=200))]]),
        union([[square(0.0, -1.0, 2.0)]]),
    )
    common, rest = intersection(one, other), difference(one, other)
    assert common.area == pytest.approx(0.5 * one.area)
    assert rest.area == pytest.approx(0.5 * one.area)
    assert common.contains(np.array([[0.3, 0.0], [-0.3, 0.0], [0.1, 0.0]])).tolist() == [True, False, False]
    assert rest.contains(np.array([[0.3, 0.0], [-0.3, 0.0]])).tolist() == [False, True]
    assert intersection(one, Region((), ())).empty
    assert difference(one, Region((), ())).area == pytest.approx(one.area)


def test_cube_stands_where_the_arm_reaches_over_its_back():
    """A square behind the axis that turns by +-100 deg lies in front at 80 to 280 deg; one in front is smaller."""
    behind, front = square(-0.9, 0.0, 0.6), square(0.3, 0.0, 0.3)
    turn = (np.radians(-100.0), np.radians(100.0))
    found = cube_in_turned(union([[behind], [front]]), turn)
    mirror = cube_in_turned(union([[square(0.3, 0.0, 0.6)]]), (turn[0] + np.pi, turn[1] + np.pi))
    assert found.edge == pytest.approx(mirror.edge, rel=1e-5)
    assert found.center == pytest.approx(mirror.center, abs=1e-4)
    assert found.edge > 1.2 * cube_in_turned(union([[front]]), turn).edge


def test_top_view_is_a_sector():
    region = top_view(union([[square(0.5, 0.0, 0.5)]]), 0.0, (-1.0, 1.0), (7, 8), 1e-6)
    assert region.area == pytest.approx(0.5 * 2.0 * (1.0 - 0.25), rel=1e-4)
    assert set(region.labels[0]) == {0, 7, 8}


def test_cube_in_a_turned_square_touches_the_far_edge():
    """In r 0.5 .. 1.5, z 0 .. 1: hypot(0.5 + s, s / 2) = 1.5."""
    cube = cube_in_turned(union([[square(0.5, 0.0, 1.0)]]), (-np.pi, np.pi))
    assert np.hypot(0.5 + cube.edge, 0.5 * cube.edge) == pytest.approx(1.5, abs=1e-3)


@pytest.mark.parametrize("top", [(-0.3,), (0.3,), (-0.3, -0.4), (0.3, -0.4)])
def test_search_climbs_along_every_direction(top):
    place, value = _climbed(lambda v: -float(np.abs(v - top).max()), np.zeros(len(top)), 0.1)
    assert place == pytest.approx(np.array(top), abs=1e-6)
    assert value == pytest.approx(0.0, abs=1e-6)


def test_cube_in_a_drawn_circle():
    cube = cube_in_drawn(union([[circle(1.0)]]), (0.0, 3.0), np.zeros(2))
    assert cube.edge == pytest.approx(np.sqrt(2.0), rel=1e-3)
    assert cube_in_drawn(union([[circle(1.0)]]), (0.0, 0.5), np.zeros(2)).edge == pytest.approx(0.5)


@pytest.mark.parametrize("near", [(0.7, 0.0), (-0.7, 0.0), (0.0, 0.7), (0.0, -0.7)])
def test_cube_of_a_drawn_ring_stands_on_the_side_of_home(near):
    """Four squares of a ring 0.4 .. 1 are equal, hypot(0.4 + s, s / 2) = 1; the stroke leaves 0.2 of them."""
    ring = union([[circle(1.0, count=400), reverse(circle(0.4, count=400))]])
    s = (-0.8 + np.sqrt(0.64 + 4.0 * 1.25 * 0.84)) / 2.5
    high = cube_in_drawn(ring, (0.0, 3.0), np.array(near))
    assert high.edge == pytest.approx(s, abs=1e-3)
    low = cube_in_drawn(ring, (0.0, 0.2), np.array(near))
    assert low.edge == pytest.approx(0.2)
    # along the ring the square slides a little before it touches
    assert low.center[:2] == pytest.approx(np.array(near) / 0.7 * (0.4 + 0.5 * s), abs=5e-3)


def test_side_view_of_a_drawn_region_is_its_shadow():
    apart = union([[circle(1.0), reverse(circle(0.4))], [square(3.0, 0.0, 1.0, 1)]])
    side = side_of_drawn(apart, (0.5, 0.7), (5, 6))
    assert side.area == pytest.approx(0.2 * 3.0, rel=1e-6)
    assert [list(labels) for labels in side.labels] == [[5, 0, 6, 0], [5, 1, 6, 1]]


def test_ball_of_a_lattice_has_its_volume():
    h = 0.21
    axis = np.arange(-6, 7)
    nodes = {
        (i, j, k): n
        for n, (i, j, k) in enumerate((i, j, k) for i in axis for j in axis for k in axis)
        if (i**2 + j**2 + k**2) * h**2 <= 1.0
    }

    def margins(p):
        return (1.0 - (p**2).sum(axis=1))[:, None]

    ball = 4.0 / 3.0 * np.pi
    mesh = lattice_mesh(nodes, h, margins)
    finer = quartered(mesh, margins)
    assert np.linalg.norm(finer.points, axis=1) == pytest.approx(1.0, abs=2e-5)
    assert ball * 0.97 < mesh.volume < finer.volume < ball
    assert finer.volume == pytest.approx(ball, rel=5e-3)
    volume, error = lattice_volume(nodes, h, margins)
    assert volume == pytest.approx(ball, abs=error)
    assert error < 0.005 * ball


def lattice_of(inside, h, reach):
    places = np.stack(np.meshgrid(*3 * [np.arange(-reach, reach + 1)], indexing="ij"), axis=-1).reshape(-1, 3)
    return {tuple(row): n for n, row in enumerate(places[inside(places * h)].tolist())}


@pytest.mark.parametrize("shape", ["ball", "box", "octahedron", "lens"])
def test_stated_error_of_a_volume_is_not_smaller_than_the_real_one(shape):
    """Shapes with closed forms, turned and shifted at random on a lattice of about 18 steps across."""
    rng, h = np.random.default_rng(5), 0.11
    exact = {
        "ball": 4.0 / 3.0 * np.pi,
        "box": 1.4**3,
        "octahedron": 4.0 / 3.0 * 1.2**3,
        "lens": np.pi * 6.0 * 1.44 / 12.0,
    }
    for _ in range(20):
        R, c = (
            Rotation.random(random_state=int(rng.integers(1000))).as_matrix(),
            rng.uniform(-0.5, 0.5, 3) * h,
        )

        def margin(p, R=R, c=c):
            x = (p - c) @ R
            if shape == "ball":
                return 1.0 - (x**2).sum(axis=1)
            if shape == "box":
                return 0.7 - np.abs(x).max(axis=1)
            if shape == "octahedron":
                return 1.2 - np.abs(x).sum(axis=1)
            ends = [1.44 - ((x - [a, 0.0, 0.0]) ** 2).sum(axis=1) for a in (0.6, -0.6)]
            return np.minimum(*ends)

        nodes = lattice_of(lambda p: margin(p) >= 0.0, h, 14)
        volume, error = lattice_volume(nodes, h, lambda p: margin(p)[:, None])
        assert abs(volume - exact[shape]) < error
        assert abs(volume - exact[shape]) < 1e-3 * exact[shape]
        assert error < 4e-3 * exact[shape]


def test_open_boundary_is_an_error():
    a = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(st.KinematicsError, match="does not close"):
        _rings(a[:-1], a[1:], np.zeros(2, dtype=int), 0.0)


def test_rectangle_of_a_triangle_is_half_of_it():
    corners = np.array([[0.0, 0.0], [3.0, 0.0], [1.2, 2.0]])
    found = largest_rectangle(union([[Polygon(corners, np.zeros(3, dtype=int))]]))
    assert found.area == pytest.approx(1.5, rel=1e-5)


def test_cube_about_the_axis_of_a_turned_disc_and_along_the_base():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 2.0]])  # a cylinder: a square in its circle
    cube = cube_in_turned(union([[Polygon(corners, np.zeros(4, dtype=int))]]), (-np.pi, np.pi))
    assert (cube.edge, *cube.center[:2]) == pytest.approx((np.sqrt(2.0), 0.0, 0.0), abs=1e-5)
    away = cube_in_turned(union([[square(0.5, 0.0, 1.0)]]), (np.radians(20.0), np.radians(150.0)))
    assert away.center[0] == pytest.approx(0.0, abs=1e-9)
    assert away.center[1] > 0.5


def test_cube_in_space_of_a_ball_and_of_a_ball_with_a_dent():
    rng = np.random.default_rng(0)
    p = rng.normal(size=(3000, 3))
    p /= np.linalg.norm(p, axis=1, keepdims=True)
    known = rng.uniform(-0.5, 0.5, (500, 3))
    cube = cube_in_space(p, known, lambda x: (x**2).sum(axis=1) <= 1.0)
    assert cube.edge == pytest.approx(2.0 / np.sqrt(3.0), abs=1e-3)

    def dented(x):  # the dent is on no point of the surface that is given
        return ((x**2).sum(axis=1) <= 1.0) & (np.linalg.norm(x - [0.0, 0.0, 0.6], axis=1) >= 0.3)

    small = cube_in_space(p, known[dented(known)], dented)
    assert dented(face_points(small, 101)).mean() > 0.9999
    assert 0.7 < small.edge < cube.edge


def test_progress_of_a_surface_is_that_of_its_points():
    """Time is proportional to the points that are looked at: the bar neither jumps nor crawls."""
    seen: list[int] = []
    parts: list[float] = []

    class Ball:
        def margins(self, p):
            seen.append(len(p))
            return (1.0 - (p**2).sum(axis=1))[:, None]

    nodes = lattice_of(lambda p: (p**2).sum(axis=1) <= 1.0, 0.11, 10)
    _surface(Ball(), nodes, 0.11, parts.append)
    real = np.cumsum(seen) / sum(seen)
    assert (np.diff(parts) >= 0.0).all()
    # a smooth ball needs fewer looks than creased solids do
    assert np.array(parts) == pytest.approx(real, abs=0.25)


def test_cube_in_a_solid_that_the_search_leaves_has_no_edge():
    """A grain about the only point that is known; points of the surface are far apart."""
    surface = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    known = np.array([[0.3, 0.3, 0.3]])
    cube = cube_in_space(surface, known, lambda p: np.linalg.norm(np.asarray(p) - known, axis=1) < 1e-6)
    assert cube.edge == 0.0


@pytest.mark.parametrize(("seed", "axes", "count"), [(19, (1.0, 0.3, 0.05), 40), (37, (1.0, 1.0, 0.01), 200)])
def test_cube_search_that_passes_a_coarse_surface_ends_inside(seed, axes, count):
    """An ellipsoid: a cube of edge s about its middle has its corners on it where (s/2)^2 sum(1/a^2) = 1."""
    rng = np.random.default_rng(seed)
    surface, known = rng.normal(size=(count, 3)), rng.normal(size=(300, 3))
    surface /= np.linalg.norm(surface, axis=1, keepdims=True)
    known *= rng.uniform(0.0, 1.0, (300, 1)) ** (1.0 / 3.0) / np.linalg.norm(known, axis=1, keepdims=True)
    a = np.array(axes)
    cube = cube_in_space(surface * a, known * a, lambda p: ((np.asarray(p) / a) ** 2).sum(axis=-1) <= 1.0)
    most = 2.0 / float(np.sqrt((1.0 / a**2).sum()))
    assert 0.9 * most < cube.edge <= most
    corners = cube.center + 0.5 * cube.edge * np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 0.5 * cube.edge
    assert (((corners / a) ** 2).sum(axis=1) <= 1.0).all()
