"""Workspaces against dense evaluations and closed forms that share no code with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

import servotwin as st
from servotwin.design.workspace.cube_in_space import face_points

A1, A2, A3, A4 = 0.195, 0.7, 0.65, 0.12  # Kim (2018), Table 2
ALPHA, BETA, GAMMA = np.radians([153.304, 62.354, 9.971])  # section 3.1


def kim_reaches(r, z):
    """Kim's equations 2 to 5 and the limits of section 3.1, with arccos of the bars' directions as printed."""
    p = r - (A1 + A4)
    kappa = (p**2 + z**2 - A2**2 - A3**2) / (2.0 * A2 * A3)
    ok = np.abs(kappa) <= 1.0
    th3 = -np.arccos(np.clip(kappa, -1.0, 1.0))
    c = p * (A2 + A3 * np.cos(th3)) + z * A3 * np.sin(th3)
    s = -p * A3 * np.sin(th3) + z * (A2 + A3 * np.cos(th3))
    th2 = np.arctan2(s, c)

    def between(a, b):
        return np.degrees(np.arccos(np.clip(np.cos(a - b), -1.0, 1.0)))

    th3a = th3 + th2 + np.pi + GAMMA
    incidence = (between(th3a, th2), between(ALPHA, th2), between(BETA, th2 + th3))
    for angle in incidence:
        ok &= (angle >= 30.0) & (angle <= 150.0)
    d2, d3 = np.degrees(th2), np.degrees(th3)
    return ok & (d2 >= 30.0) & (d2 <= 120.0) & (d3 >= -150.0) & (d3 <= -30.0)


@pytest.fixture(scope="module")
def palletizer():
    return st.load_robot("palletizer-4")


@pytest.fixture(scope="module")
def reached():
    return st.workspace("palletizer-4")


def test_palletizer_area_and_extent_as_a_dense_evaluation_of_the_paper(reached):
    step = 0.0005
    r, z = np.arange(0.2, 1.7, step) + step / 2, np.arange(-0.6, 1.4, step) + step / 2
    inside = kim_reaches(*np.meshgrid(r, z))
    # counting cells of 0.5 mm errs by less than half a cell along 3.9 m of boundary, in fact by far less
    assert reached.area == pytest.approx(inside.sum() * step**2, rel=1e-3)
    low, high = reached.region.extent
    columns, rows = np.flatnonzero(inside.any(axis=0)), np.flatnonzero(inside.any(axis=1))
    # an extreme may be a corner, which cells meet late: sagitta of the slimmest corner over one cell
    found = [r[columns[0]], z[rows[0]], r[columns[-1]], z[rows[-1]]]
    assert [*low, *high] == pytest.approx(found, abs=3 * step)


def test_palletizer_area_is_the_integral_of_the_jacobian(reached):
    """th3 keeps its sign, so that the map is one to one: the area is a2 a3 |sin th3| over the allowed angles."""
    th3 = np.radians(np.linspace(max(-150.0, 30.0 - 189.971), 150.0 - 189.971, 200_001))
    low = np.maximum(np.radians(30.0), BETA - np.radians(150.0) - th3)
    high = np.minimum(np.radians(120.0), BETA - np.radians(30.0) - th3)
    exact = np.trapezoid(A2 * A3 * np.abs(np.sin(th3)) * np.maximum(high - low, 0.0), th3)
    # chords of 0.01 mm at most, along 3.9 m
    assert reached.area == pytest.approx(exact, abs=3.9e-5)


def test_palletizer_boundary_is_within_a_tenth_of_a_millimetre(reached):
    """Just inside every edge the paper's equations reach, just outside they do not."""
    ring = reached.region.rings[0]
    after = np.roll(ring, -1, axis=0)
    middle, along = 0.5 * (ring + after), after - ring
    length = np.linalg.norm(along, axis=1)
    long = length > 5e-4  # beside a corner a step aside may pass the other edge
    left = np.stack([-along[:, 1], along[:, 0]], axis=1)[long] / length[long, None]
    assert kim_reaches(*(middle[long] + 1e-4 * left).T).all()
    assert not kim_reaches(*(middle[long] - 1e-4 * left).T).any()


@given(r=hs.floats(0.3, 1.7), z=hs.floats(-0.5, 1.2), yaw=hs.floats(-2.9, 2.9))
@settings(max_examples=200, deadline=None)
def test_inverse_kinematics_solves_inside_and_nowhere_outside(palletizer, reached, r, z, yaw):
    p = np.array([[r, z]])
    inside = bool(reached.contains(p)[0])
    if reached.region.distance(p)[0] < 1e-4:
        return
    T = palletizer.fkine(palletizer.q_home)
    T[:3, 3] = r * np.cos(yaw), r * np.sin(yaw), z
    if inside:
        q = palletizer.ikine(T)
        assert palletizer.fkine(q) == pytest.approx(T, abs=1e-9)
        assert np.allclose(np.abs(reached.section.points(q[None, [1, 2]])), np.abs(p), atol=1e-9)
    else:
        with pytest.raises(st.UnreachableError):
            palletizer.ikine(T)


def test_palletizer_volume_is_that_of_pappus(reached):
    """V = dtheta * integral of r over the side view, here by the angles: r a2 a3 |sin th3|."""
    n = 1500
    th3 = np.radians(np.linspace(-150.0, 150.0 - 189.971, n))
    u = (np.arange(n) + 0.5) / n
    low = np.maximum(np.radians(30.0), BETA - np.radians(150.0) - th3)
    high = np.minimum(np.radians(120.0), BETA - np.radians(30.0) - th3)
    th2 = low[:, None] + u * (high - low)[:, None]
    r = A1 + A4 + A2 * np.cos(th2) + A3 * np.cos(th2 + th3[:, None])
    inner = (r.mean(axis=1) * np.maximum(high - low, 0.0)) * A2 * A3 * np.abs(np.sin(th3))
    assert reached.volume == pytest.approx(np.radians(340.0) * np.trapezoid(inner, th3), rel=1e-4)


def test_closed_linkage_reaches_what_the_coupled_arm_reaches(reached):
    assert st.workspace("palletizer-4-loops").area == pytest.approx(reached.area, rel=1e-9)


def test_scara_with_one_elbow_has_the_area_of_the_closed_form():
    """One to one: area = l1 l2 (cos b_min - cos b_max) * range of A."""
    l1, l2 = 0.35, 0.3
    found = st.workspace(
        "gsis-scara", changes={"axes.B.limits.position": "[20 deg, 140 deg]", "home.B": "30 deg"}
    )
    exact = l1 * l2 * (np.cos(np.radians(20.0)) - np.cos(np.radians(140.0))) * np.radians(240.0)
    assert found.area == pytest.approx(exact, rel=2e-4)
    assert found.volume == pytest.approx(found.area * 0.15)


def test_scara_with_both_elbows_as_dense_evaluation():
    l1, l2, step = 0.35, 0.3, 0.0005
    x = np.arange(-0.7, 0.7, step) + step / 2
    X, Y = np.meshgrid(x, x)
    c = (X**2 + Y**2 - l1**2 - l2**2) / (2 * l1 * l2)
    inside = np.zeros(X.shape, dtype=bool)
    for sign in (1, -1):
        b = sign * np.arccos(np.clip(c, -1, 1))
        a = np.arctan2(Y, X) - np.arctan2(l2 * np.sin(b), l1 + l2 * np.cos(b))
        a = (a + np.pi) % (2 * np.pi) - np.pi
        inside |= (np.abs(c) <= 1) & (np.abs(a) <= np.radians(120)) & (np.abs(b) <= np.radians(140))
    found = st.workspace("gsis-scara")
    assert found.area == pytest.approx(inside.sum() * step**2, rel=1e-3)
    assert {"stretched or folded arm", "A at most 120 deg"} <= set(found.views[0].binding())


def delta_reaches(p, low, high):
    """Song's DELTA with R_A = R_B: |p - elbow| = 2 with the elbow turned outwards, in a closed form."""
    ok = np.ones(len(p), dtype=bool)
    for turn in np.radians([0.0, 120.0, 240.0]):
        x = p[:, 0] * np.cos(turn) + p[:, 1] * np.sin(turn)
        y = -p[:, 0] * np.sin(turn) + p[:, 1] * np.cos(turn)
        z = p[:, 2]
        C = 4.0 - 1.0 - x**2 - y**2 - z**2  # -2 x cos q + 2 z sin q = C
        R = 2.0 * np.hypot(x, z)
        q = np.arctan2(z, -x) + np.arccos(np.clip(C / R, -1.0, 1.0))
        q = (q + np.pi) % (2.0 * np.pi) - np.pi
        ok &= (np.abs(C) <= R) & (q >= low) & (q <= high)
    return ok


def cells(low, high, count):
    """Middles of the cells of a box, and the volume of one."""
    axes = [a + (np.arange(count) + 0.5) * (b - a) / count for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid, float(np.prod((np.array(high) - low) / count))


def test_delta_as_dense_sampling():
    changes = {f"axes.arm{i}.limits.position": "[-60 deg, 90 deg]" for i in (1, 2, 3)}
    found = st.workspace("delta", changes=changes)
    grid, cell = cells((-2.1, -2.1, -3.1), (2.1, 2.1, 0.0), 140)
    inside = delta_reaches(grid, np.radians(-60.0), np.radians(90.0))
    assert found.volume == pytest.approx(inside.sum() * cell, rel=1e-3)
    cube = found.cube
    assert delta_reaches(face_points(cube, 101), np.radians(-60.0), np.radians(90.0)).all()
    # differential evolution over the middle, faces sampled 9 x 9 with the closed form: 1.5432 m, a little too large
    assert cube.edge == pytest.approx(1.5432, rel=5e-3)
    view = found.views[0]
    x, z = np.meshgrid(np.linspace(-2.1, 2.1, 130), np.linspace(-3.1, 0.0, 130))
    p = np.stack([x.ravel(), z.ravel()], axis=1)
    far = view.region.distance(p) > 1e-4
    expected = delta_reaches(
        np.stack([p[:, 0], 0 * p[:, 0], p[:, 1]], axis=1), np.radians(-60), np.radians(90)
    )
    assert (view.region.contains(p) == expected)[far].all()


def test_stewart_as_dense_sampling():
    """Leg lengths in closed form, the platform level: 600 to 1200 mm each, above the base."""
    base = 0.6 * np.array([[np.cos(a), np.sin(a), 0.0] for a in np.radians([15, 105, 135, 225, 255, 345])])
    top = 0.4 * np.array([[np.cos(a), np.sin(a), 0.0] for a in np.radians([45, 75, 165, 195, 285, 315])])

    def legs_allow(p):
        length = np.linalg.norm(p[:, None] + top - base, axis=2)
        return ((length >= 0.6) & (length <= 1.2)).all(axis=1) & (p[:, 2] > 0.0)

    found = st.workspace("stewart")
    grid, cell = cells((-1.0, -1.0, 0.0), (1.0, 1.0, 1.2), 120)
    inside = legs_allow(grid)
    assert found.volume == pytest.approx(inside.sum() * cell, rel=5e-3)
    view = found.views[0]
    x, z = np.meshgrid(np.linspace(-1.0, 1.0, 120), np.linspace(0.01, 1.2, 120))
    p = np.stack([x.ravel(), z.ravel()], axis=1)
    far = view.region.distance(p) > 1e-4
    expected = legs_allow(np.stack([p[:, 0], 0 * p[:, 0], p[:, 1]], axis=1))
    assert (view.region.contains(p) == expected)[far].all()


def test_puma_side_view_as_dense_evaluation():
    """Positions of the wrist from a dense grid of the joints: all inside, and they fill the region."""
    robot = st.load_robot("puma560")
    found = st.workspace(robot)
    n = 1500
    a, b = np.meshgrid(np.linspace(*np.radians([-45, 225]), n), np.linspace(*np.radians([-225, 45]), n))
    q = np.zeros((n * n, robot.n))
    q[:, 1], q[:, 2] = a.ravel(), b.ravel()
    p = robot.fkine(q)[:, [0, 2], 3]
    step = 0.01  # samples are 1.6 mm apart at most in the radius of 0.9 m
    filled = np.zeros((200, 200), dtype=bool)
    filled[tuple(np.floor((p + 1.0) / step).astype(int).clip(0, 199).T)] = True
    middles = np.stack(np.meshgrid(*(2 * [-1.0 + step * (np.arange(200) + 0.5)]), indexing="ij"), axis=-1)
    flat = middles.reshape(-1, 2)
    away = found.region.distance(flat) > step
    assert (found.region.contains(flat) == filled.ravel())[away].all()
