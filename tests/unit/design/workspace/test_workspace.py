"""What a workspace is asked for: maps, positions, limits by payload and between frames, cubes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.design.workspace.limits import limit_set
from servotwin.design.workspace.parallel import section_view
from servotwin.design.workspace.task_space import task_space
from servotwin.report.workspace_figures import solid_figure


@pytest.fixture(scope="module")
def reached():
    return st.workspace("palletizer-4", payload=0.0)


def test_inverse_puts_the_tool_where_it_was_asked(reached):
    rng = np.random.default_rng(0)
    low, high = reached.region.extent
    p = rng.uniform(low, high, (300, 2))
    q = reached.inverse(p)
    inside = reached.contains(p)
    far = reached.region.distance(p) > 1e-4
    assert (np.isfinite(q).all(axis=1) == inside)[far].all()
    good = np.isfinite(q).all(axis=1)
    assert reached.section.points(q[good][:, [1, 2]]) == pytest.approx(p[good], abs=1e-7)


def test_speed_map_is_what_joints_and_motors_allow_in_the_worst_direction(reached):
    """At each point all directions are tried: joint speeds of the file, and 83.33 turns per second at the motors."""
    robot = reached.robot
    p = np.array([[0.9, 0.3], [1.2, 0.6], [0.8, 0.8]])
    q = reached.inverse(p)
    angle = np.linspace(0.0, 2.0 * np.pi, 20_001)
    d = np.stack([np.cos(angle), np.sin(angle)])
    N = robot.mechanism.rotors.N
    motors = {drive.name: drive.ratings.speed_limit for drive in reached.drives}
    for k, value in enumerate(reached.maps(p)["speed"]):
        J = robot.jacob0(q[k])[[0, 2]][:, [1, 2]]
        qd = np.zeros((4, len(angle)))
        qd[[1, 2]] = np.linalg.solve(J, d)
        at_motor = np.abs(N @ qd) / np.array([motors[n] for n in robot.mechanism.rotors.names])[:, None]
        worst = np.maximum(
            (np.abs(qd) / robot.limits.qd_max[:, None]).max(axis=0), at_motor.max(axis=0)
        ).max()
        assert value == pytest.approx(1.0 / worst, rel=1e-6)


def test_acceleration_map_is_within_the_torques_of_the_worst_direction(reached):
    robot = reached.robot
    p = np.array([[0.9, 0.3], [1.2, 0.6]])
    q = reached.inverse(p)
    value = reached.maps(p)["acceleration"]
    angle = np.linspace(0.0, 2.0 * np.pi, 4001)
    d = np.stack([np.cos(angle), np.sin(angle)])
    N = robot.mechanism.rotors.N
    peak = {drive.name: drive.ratings.torque_limit for drive in reached.drives}
    for k in range(len(p)):
        qdd = np.zeros((len(angle), 4))
        qdd[:, [1, 2]] = np.linalg.solve(robot.jacob0(q[k])[[0, 2]][:, [1, 2]], value[k] * d).T
        tau = robot.rne(q[k], np.zeros(4), qdd, drives=True)
        share = np.abs(tau) / robot.limits.tau_max
        at_motor = np.abs(tau @ np.linalg.inv(N)) / [peak[n] for n in robot.mechanism.rotors.names]
        worst = max(share.max(), at_motor.max())
        assert worst == pytest.approx(1.0, rel=1e-6)


def test_sampled_maps_are_those_of_their_points(reached):
    points, maps = reached.sampled_maps(400)
    assert reached.contains(points).sum() >= 0.9 * len(points)  # those on limits may fall outside by rounding
    again = reached.maps(points)
    inner = reached.region.distance(points) > 1e-3
    for key in ("dexterity", "speed", "torque_margin"):
        assert again[key][inner] == pytest.approx(maps[key][inner], rel=1e-5)


def test_positions_are_within_all_limits(reached):
    q = reached.positions(500, seed=3)
    assert q.shape == (500, 4)
    assert (reached.limits.margins(q) >= 0.0).all()
    assert np.ptp(q[:, 0]) > 5.0  # the joint that turns the plane moves too


def test_heavy_payload_bounds_the_workspace_by_torque():
    """With 150 kg the motors' rated torques bind: just inside the margin is positive, outside it is not."""
    found = st.workspace("palletizer-4", payload=150.0)
    binding = found.views[0].binding()
    assert any("torque" in name for name in binding)
    assert found.area < 0.95 * st.workspace("palletizer-4").area
    n = 700
    th2, th3 = np.meshgrid(np.radians(np.linspace(30, 120, n)), np.radians(np.linspace(-150, -30, n)))
    q = np.zeros((n * n, 4))
    q[:, 1], q[:, 2] = th2.ravel(), th3.ravel()
    robot = st.load_robot("palletizer-4").with_payload(150.0)
    tau = robot.gravload(q)
    ok = (np.abs(tau) <= robot.limits.tau_max).all(axis=1)
    rated = {drive.name: drive.ratings.rated_torque for drive in found.drives}
    at_motor = np.abs(tau @ np.linalg.inv(robot.mechanism.rotors.N))
    ok &= (at_motor <= [rated[name] for name in robot.mechanism.rotors.names]).all(axis=1)
    ok &= (robot.quantities.beyond(q) <= 0.0).all(axis=1)
    cell = np.radians(90 / (n - 1)) * np.radians(120 / (n - 1))
    area = (0.7 * 0.65 * np.abs(np.sin(q[:, 2])) * ok).sum() * cell
    assert found.area == pytest.approx(area, rel=5e-3)


def test_cube_is_inside_and_a_larger_one_is_refused(reached):
    cube = reached.cube
    reached.require_cube(cube.center, 0.999 * cube.edge)
    with pytest.raises(st.InputError, match="is out of reach at"):
        reached.require_cube(cube.center, 1.05 * cube.edge)


def test_figure_names_the_limits(reached):
    names = {trace.name for trace in reached.plot().data}
    assert {"incidence-1 at most 150 deg", "th2 at least 30 deg", "arm at home"} <= names


def test_joints_that_span_no_plane_are_refused():
    with pytest.raises(st.UnsupportedError, match="do not move 'tool' in a plane"):
        st.workspace("puma560", joints=("j1", "j2"))


def test_loaded_robot_takes_no_changes():
    with pytest.raises(st.InputError, match="does not change"):
        st.workspace(st.load_robot("palletizer-4"), changes={"axes.th2.limits.position": "[40 deg, 50 deg]"})


def test_maps_leave_out_positions_at_which_a_closed_chain_is_singular(reached):
    def mapper(q):
        if (q[:, 0] == 3.0).any():
            raise st.KinematicsError("singular")
        return {"dexterity": q[:, 0]}

    ws = replace(reached)
    ws.__dict__["mapper"] = mapper
    q = np.arange(7.0)[:, None]
    found = ws._mapped(q, np.arange(7))
    assert np.concatenate([rows for rows, _ in found]).tolist() == [0, 1, 2, 4, 5, 6]
    assert np.concatenate([values["dexterity"] for _, values in found]).tolist() == [0, 1, 2, 4, 5, 6]


def test_cube_of_the_function_must_be_inside():
    with pytest.raises(st.InputError, match="a cube of 300 mm is out of reach at"):
        st.workspace("palletizer-4", cube=(2.0, 0.0, 0.0, 0.3), tolerance=1e-3)
    with pytest.raises(st.ServotwinError, match="expected x, y, z of its centre and its edge"):
        st.workspace("palletizer-4", cube=(1.0, 0.0, 0.3))


PLANAR = """format: servotwin/1
name: planar
axes:
  A: {type: revolute, dh: {a: 400 mm}, limits: {position: [-90 deg, 90 deg]}, link: {mass: 1 kg}}
  B: {type: revolute, dh: {a: 300 mm}, limits: {position: [10 deg, 90 deg]}, link: {mass: 1 kg}}
  C: {type: revolute, dh: {a: 100 mm}, limits: {position: [-90 deg, 90 deg]}, link: {mass: 1 kg}}
home: {B: 30 deg}
"""


def test_one_joint_that_stands_still_is_told_in_the_singular(tmp_path):
    (tmp_path / "planar.yaml").write_text(PLANAR)
    found = st.workspace(tmp_path / "planar.yaml", tolerance=1e-3)
    assert found.notes == ("C stands still; it would move 'tool' too",)


def test_scara_has_a_side_view_between_the_ends_of_its_stroke():
    found = st.workspace("gsis-scara", tolerance=1e-3)
    top, side = found.views
    assert (side.name, side.axis_names) == ("side view", ("x", "z"))
    low, high = side.region.extent
    assert (low[0], high[0]) == pytest.approx((top.region.extent[0][0], top.region.extent[1][0]))
    assert (low[1], high[1]) == found.heights
    width = high[0] - low[0]
    slide = [length for name, length in side.binding().items() if name.startswith("Z at")]
    assert slide == pytest.approx([width, width])
    robot = found.robot
    stroke = np.array([robot.limits.q_min[2], robot.limits.q_max[2]])
    q = np.zeros((2, 4))
    q[:, 2] = stroke
    assert sorted(robot.fkine(q)[:, 2, 3]) == pytest.approx(found.heights)
    assert found.plot(1).layout.yaxis.title.text == "z [mm]"


GANTRY = """format: servotwin/1
name: gantry
axes:
  X: {type: prismatic, origin: {}, axis: [1, 0, 0], limits: {position: [0 mm, 800 mm]}, link: {mass: 1 kg}}
  Z: {type: prismatic, origin: {}, axis: [0, 0, 1], limits: {position: [0 mm, 300 mm]}, link: {mass: 1 kg}}
  Y: {type: prismatic, origin: {}, axis: [0, 1, 0], limits: {position: [0 mm, 500 mm]}, link: {mass: 1 kg}}
"""


def test_plane_that_slides_sideways_makes_no_flat_solid(tmp_path):
    (tmp_path / "gantry.yaml").write_text(GANTRY)
    found = st.workspace(tmp_path / "gantry.yaml", tolerance=1e-3)
    assert found.area == pytest.approx(0.24)
    assert found.volume is None
    assert found.notes == ("Y stands still; it would move 'tool' too",)
    level = st.workspace(tmp_path / "gantry.yaml", joints=("X", "Y"), tolerance=1e-3)
    assert level.volume == pytest.approx(0.12)
    assert level.cube.edge == pytest.approx(0.3, rel=1e-6)


def test_picture_in_space_has_one_scale_within_the_length_that_the_camera_sees():
    found = st.workspace("gsis-scara", tolerance=1e-3)
    figure = solid_figure(found)
    scene = figure.layout.scene
    ranges = np.array([scene.xaxis.range, scene.yaxis.range, scene.zaxis.range])
    ratio = np.array([scene.aspectratio.x, scene.aspectratio.y, scene.aspectratio.z])
    per_unit = np.ptp(ranges, axis=1) / ratio
    assert per_unit == pytest.approx(per_unit[0])
    assert ratio.max() == 1.0
    for trace in figure.data:
        for values, (low, high) in zip((trace.x, trace.y, trace.z), ranges, strict=True):
            assert low < np.nanmin(np.array(values, dtype=float))
            assert np.nanmax(np.array(values, dtype=float)) < high


def test_limit_that_depends_on_the_slide_leaves_the_plane_without_a_volume():
    """Within 500 mm of the base the disc shrinks as the tool goes down: area times stroke would be 3 % too much."""
    changes = {"frame_quantities": "{near: {distance: [base, tool], limits: [0 mm, 500 mm]}}"}
    found = st.workspace("gsis-scara", changes=changes)
    assert found.volume is None
    assert found.notes == ("a limit depends on Z, which stands still: the plane has no volume",)
    assert st.workspace("gsis-scara").volume is not None


def test_limit_that_does_not_depend_on_the_turning_joint_keeps_the_volume():
    changes = {"frame_quantities": "{near: {distance: [base, tool], limits: [0 mm, 1400 mm]}}"}
    found = st.workspace("palletizer-4", changes=changes)
    assert 0.0 < found.volume < st.workspace("palletizer-4").volume


def test_picture_of_a_solid_in_parts_has_no_inner_walls_and_no_corner_twice():
    """The PUMA's plane passes beside its axis: parts of the solid touch where both sides of the axis reach a place."""
    found = st.workspace("puma560", tolerance=1e-3)
    surfaces = [trace for trace in solid_figure(found).data if trace.type == "mesh3d"]
    for trace in surfaces:
        corners = np.stack([trace.x, trace.y, trace.z], axis=1)
        faces = np.stack([trace.i, trace.j, trace.k], axis=1)
        assert set(faces.ravel().tolist()) == set(range(len(corners)))
        assert len(np.unique(corners, axis=0)) == len(corners)
        a, b, c = (1e-3 * corners[faces[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        size = np.linalg.norm(normal, axis=1)
        beyond = (a + b + c) / 3.0 + 0.01 * normal / np.maximum(size, 1e-12)[:, None]
        within = size[found.reaches(beyond)].sum()  # facets beside a re-entrant edge
        assert within < 0.03 * size.sum()


UPRIGHT = """format: servotwin/1
name: upright
axes:
  A: {type: revolute, origin: {}, axis: [0, 0, -1], limits: {position: [-30 deg, 80 deg]}, link: {mass: 1 kg}}
  B: {type: revolute, origin: {xyz: [0 mm, 0 mm, 300 mm]}, axis: [0, 1, 0],
      limits: {position: [-20 deg, 100 deg]}, link: {mass: 1 kg}}
  C: {type: revolute, origin: {xyz: [0 mm, 0 mm, 400 mm]}, axis: [0, 1, 0],
      limits: {position: [0 deg, 120 deg]}, link: {mass: 1 kg}}
tool: {xyz: [0 mm, 0 mm, 300 mm]}
home: {A: 0 deg, B: 0 deg, C: 0 deg}
"""
WRIST = """format: servotwin/1
name: wrist
axes:
  X: {type: revolute, origin: {}, axis: [1, 0, 0], limits: {position: [-60 deg, 60 deg]}, link: {mass: 1 kg}}
  Y: {type: revolute, origin: {}, axis: [0, 1, 0], limits: {position: [-60 deg, 60 deg]}, link: {mass: 1 kg}}
  Z: {type: revolute, origin: {}, axis: [0, 0, 1], limits: {position: [-90 deg, 90 deg]}, link: {mass: 1 kg}}
tool: {xyz: [0 mm, 0 mm, 100 mm]}
"""


def test_tool_on_the_axis_that_turns_the_plane_leaves_its_direction_known(tmp_path):
    """An arm that stands upright at home, and turns clockwise: every place that its joints reach is in the solid."""
    path = tmp_path / "upright.yaml"
    path.write_text(UPRIGHT)
    found = st.workspace(path, tolerance=1e-3)
    low, high = np.deg2rad([[-29.0, -19.0, 11.0], [79.0, 99.0, 119.0]])
    q = np.random.default_rng(0).uniform(low, high, (500, 3))
    assert found.reaches(found.robot.fkine(q)[:, :3, 3]).mean() > 0.99  # but for corners cut by chords


def test_tool_on_a_sphere_is_refused_though_it_moves_in_a_plane_at_home(tmp_path):
    path = tmp_path / "wrist.yaml"
    path.write_text(WRIST)
    with pytest.raises(st.UnsupportedError, match="do not move 'tool' in all directions, and not in a plane"):
        st.workspace(path)


def test_plane_of_y_and_z_has_their_names(tmp_path):
    path = tmp_path / "gantry.yaml"
    path.write_text(GANTRY)
    assert st.workspace(path, joints=("Y", "Z"), tolerance=1e-3).views[0].axis_names == ("y", "z")


def test_sum_of_joints_with_the_one_that_turns_leaves_a_closed_chain_without_a_volume():
    changes = {"quantities.twist": "{of: {th1: 1, th2: 1}, limits: [-60 deg, 200 deg]}"}
    found = st.workspace("palletizer-4-loops", changes=changes, tolerance=5e-3)
    assert found.volume is None
    assert "a limit depends on th1, which stands still: the plane has no volume" in found.notes


PILLAR = """format: servotwin/1
name: pillar
axes:
  X: {type: prismatic, origin: {}, axis: [1, 0, 0], limits: {position: [-100 mm, 500 mm]}, link: {mass: 1 kg}}
  Y: {type: prismatic, origin: {}, axis: [0, 1, 0], limits: {position: [-100 mm, 500 mm]}, link: {mass: 1 kg}}
  Z: {type: prismatic, origin: {}, axis: [0, 0, 1], limits: {position: [-300 mm, 300 mm]}, link: {mass: 1 kg}}
home: {X: 0 mm, Y: 0 mm, Z: -280 mm}
frame_quantities: {from-ball: {distance: [tool, base], limits: [200 mm, 3 m]}}
tool: {}
"""


def test_top_view_passes_what_stands_above_home(tmp_path):
    """Half way up above home there is a ball that the tool must not touch: the section begins beside it."""
    path = tmp_path / "pillar.yaml"
    path.write_text(PILLAR)
    robot = st.load_robot(path)
    space = task_space(robot, limit_set(robot, (), holding=False), "tool", np.eye(3))
    space.flood(0.03)
    top, _ = section_view(space, (0, 1), np.zeros(3), 0.6, 1e-4)
    d = top.origin[2]
    r, x, y = np.sqrt(0.04 - d**2), *np.meshgrid(*2 * [np.linspace(-0.1, 0.5, 2001)])
    assert abs(d) < 0.03
    assert top.region.area == pytest.approx(0.36 * np.mean(np.hypot(x, y) > r), rel=1e-3)
