"""Open arms: what they reach is what their joints reach, by every branch and with any orientation of the tool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from own_robots import ARM, GANTRY, LIFT, TRACK, written
from servotwin.design.workspace.limits import limit_set
from servotwin.design.workspace.parallel import _orientation
from servotwin.design.workspace.task_space import task_space

SWING = 4.0  # rad of the lift
STROKE = 0.6  # m


def lift_volume() -> float:
    """The lift's tool: r = 0.5 + 0.2 cos w from the swing, z by the stroke and up or down by 0.2 sin w."""
    w = np.linspace(0.0, 1.5, 100_001)
    r, height = 0.5 + 0.2 * np.cos(w), STROKE + 2.0 * 0.2 * np.sin(w)
    return float(SWING * np.trapezoid((height * r)[::-1], r[::-1]))


def lift_file(folder, turn: str = ""):
    """The lift on its base, which may be turned."""
    text = LIFT.replace('<origin xyz="0 0 0.1"/>', f'<origin xyz="0 0 0.1" {turn}/>')
    return written(folder, "lift.urdf", text)


@pytest.fixture(scope="module")
def lift(tmp_path_factory):
    return st.workspace(lift_file(tmp_path_factory.mktemp("lift")))


def test_lift_with_a_swing_and_a_wrist_reaches_by_the_wrist_up_and_down(lift):
    assert lift_volume() == pytest.approx(0.40631, abs=1e-5)
    assert lift.volume == pytest.approx(lift_volume(), rel=1e-4)
    assert lift.mesh.volume == pytest.approx(lift.volume, rel=5e-3)
    assert lift.notes == ("r counts from the axis of swing at x = 250.0 mm, y = 0.0 mm",)
    assert [view.name for view in lift.views] == ["side view", "top view"]


def test_lift_is_measured_from_the_axis_of_its_swing(lift):
    """The swing stands 250 mm in front of the base: radii from there, places in the base."""
    low, high = lift.region.extent
    assert (low[0], high[0]) == pytest.approx((0.5 + 0.2 * np.cos(1.5), 0.7), abs=1e-4)
    top = lift.views[1].region.extent
    assert top[1] == pytest.approx([0.95, 0.7], abs=1e-3)
    assert top[0] == pytest.approx([0.25 + 0.7 * np.cos(2.0), -0.7], abs=1e-3)
    assert lift.mesh.extent[1] == pytest.approx([0.95, 0.7, 0.15 + STROKE + 0.2 * np.sin(1.5)], abs=2e-3)
    assert lift.views[0].in_space(np.array([[0.7, 0.15]])) == pytest.approx(np.array([[0.95, 0.0, 0.15]]))


def test_lift_reaches_what_its_joints_reach_and_no_more(lift):
    rng = np.random.default_rng(0)
    robot = lift.robot
    q = rng.uniform(robot.limits.q_min, robot.limits.q_max, (500, 3))
    assert lift.reaches(robot.fkine(q)[:, :3, 3]).mean() > 0.99  # but for chords
    p = rng.uniform([-0.2, -0.8, -0.2], [1.1, 0.8, 1.1], (2000, 3))
    r, swing = np.hypot(p[:, 0] - 0.25, p[:, 1]), np.arctan2(p[:, 1], p[:, 0] - 0.25)
    w = np.arccos(np.clip((r - 0.5) / 0.2, -1.0, 1.0))
    up, down = p[:, 2] - 0.15 + 0.2 * np.sin(w), p[:, 2] - 0.15 - 0.2 * np.sin(w)
    stroke = ((up >= 0.0) & (up <= STROKE)) | ((down >= 0.0) & (down <= STROKE))
    expected = (np.abs(r - 0.5) <= 0.2) & (w <= 1.5) & (np.abs(swing) <= 2.0) & stroke
    assert (lift.reaches(p) == expected).mean() > 0.999


def test_cube_of_the_lift_is_inside(lift):
    lift.require_cube(lift.cube.center, 0.999 * lift.cube.edge)
    assert lift.cube.edge == pytest.approx(0.18, abs=1e-3)  # (r + s)^2 + s^2/4 = 0.7^2 from r = 0.5141


def test_lift_that_lies_down_is_followed_in_space_by_all_branches(tmp_path):
    """Along x no vertical axis turns a plane; the solid is that of the lift that stands."""
    found = st.workspace(lift_file(tmp_path, 'rpy="0 1.5707963267948966 0"'), tolerance=1e-3)
    assert found.section is None
    assert found.volume == pytest.approx(lift_volume(), abs=2.0 * found.volume_error)
    assert found.volume == pytest.approx(lift_volume(), rel=0.01)
    (note,) = found.notes
    assert note.endswith("the tool turns with the arm, and all branches count")
    robot = found.robot
    q = np.random.default_rng(1).uniform(robot.limits.q_min, robot.limits.q_max, (500, 3))
    assert found.reaches(robot.fkine(q)[:, :3, 3]).all()
    inside = found.region.extent[0] + np.ptp(found.region.extent, axis=0) * np.random.default_rng(2).random(
        (200, 2)
    )
    at = found.inverse(inside)
    good = np.isfinite(at).all(axis=1)
    assert (good == found.contains(inside))[found.region.distance(inside) > 1e-3].all()
    back = found.robot.fkine(at[good])[:, :3, 3]
    assert back == pytest.approx(found.views[0].in_space(inside[good]), abs=1e-6)
    assert np.isfinite(found.maps(inside[good])["dexterity"]).all()


def test_arm_that_swings_little_has_the_volume_of_its_thin_solid(tmp_path):
    """A sheet of 12 mm across a lattice of 40 mm: most of it meets no node, but the joints' positions lie in it."""
    thin = LIFT.replace('lower="-2" upper="2"', 'lower="-0.01" upper="0.01"')
    thin = thin.replace('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0 0.1" rpy="0.5 1.2 0.4"/>')
    found = st.workspace(written(tmp_path, "thin.urdf", thin), tolerance=1e-3)
    assert found.section is None
    expected = lift_volume() * 0.02 / SWING
    assert found.volume == pytest.approx(expected, rel=0.05)
    assert found.volume == pytest.approx(expected, abs=2.0 * found.volume_error)
    share = 100.0 * found.mesh.volume / found.volume
    assert share < 50.0
    assert found.notes[0].startswith(f"the surface encloses {share:.0f} % of the volume: it leaves out parts")


SHIFTED = """format: servotwin/1
name: shifted
axes:
  A: {type: revolute, origin: {xyz: PLACE}, axis: [0, 0, 1], limits: {position: [-30 deg, 80 deg]}, link: {mass: 1 kg}}
  B: {type: revolute, origin: {xyz: [0 mm, 60 mm, 300 mm]}, axis: [0, 1, 0],
      limits: {position: [20 deg, 60 deg]}, link: {mass: 1 kg}}
  C: {type: revolute, origin: {xyz: [0 mm, 0 mm, 400 mm]}, axis: [0, 1, 0],
      limits: {position: [20 deg, 60 deg]}, link: {mass: 1 kg}}
tool: {xyz: [0 mm, 0 mm, 300 mm]}
home: {A: 0 deg, B: 40 deg, C: 40 deg}
"""


def test_arm_that_stands_beside_the_origin_of_the_base_has_the_same_solid(tmp_path):
    shift = np.array([-1.5, -0.2, 0.0])
    found = []
    for name, place in (("here", "[0 mm, 0 mm, 0 mm]"), ("there", "[-1500 mm, -200 mm, 0 mm]")):
        path = written(tmp_path, f"{name}.yaml", SHIFTED.replace("PLACE", place))
        found.append(st.workspace(path, tolerance=1e-3))
    here, there = found
    assert there.volume == pytest.approx(here.volume, rel=1e-9)
    assert there.region.extent[1] == pytest.approx(here.region.extent[1], abs=1e-9)
    assert there.mesh.extent[0] == pytest.approx(here.mesh.extent[0] + shift, abs=1e-9)
    p = np.random.default_rng(0).uniform(*here.mesh.extent, (2000, 3))
    assert (there.reaches(p + shift) == here.reaches(p)).all()
    robot = there.robot
    q = np.random.default_rng(1).uniform(robot.limits.q_min, robot.limits.q_max, (500, 3))
    assert there.reaches(robot.fkine(q)[:, :3, 3]).mean() > 0.99  # but for chords


FOUR = """format: servotwin/1
name: four
axes:
  A: {type: revolute, origin: {rpy: [10 deg, 0 deg, 0 deg]}, axis: [0, 0, 1],
      limits: {position: [-100 deg, 100 deg]}, link: {mass: 1 kg}}
  B: {type: revolute, origin: {xyz: [100 mm, 0 mm, 0 mm], rpy: [70 deg, 0 deg, 0 deg]}, axis: [0, 0, 1],
      limits: {position: [-60 deg, 60 deg]}, link: {mass: 1 kg}}
  C: {type: revolute, origin: {xyz: [300 mm, 0 mm, 0 mm], rpy: [50 deg, 0 deg, 0 deg]}, axis: [0, 0, 1],
      limits: {position: [-90 deg, 90 deg]}, link: {mass: 1 kg}}
  D: {type: revolute, origin: {xyz: [80 mm, 0 mm, 0 mm], rpy: [60 deg, 0 deg, 0 deg]}, axis: [0, 0, 1],
      limits: {position: [-90 deg, 90 deg]}, link: {mass: 1 kg}}
tool: {xyz: [70 mm, 0 mm, 20 mm]}
home: {A: 0 deg, B: 20 deg, C: 0 deg, D: 10 deg}
"""


def test_joint_beyond_three_stands_still_where_it_is_asked_to(tmp_path):
    """All that A, B and C reach while D stands at q belongs to the solid."""
    path = written(tmp_path, "four.yaml", FOUR)
    q = np.deg2rad([0.0, 0.0, 0.0, -50.0])
    found = st.workspace(path, q=q, tolerance=5e-3)
    assert found.notes[0] == "D stands still; it would move 'tool' too"
    low, high = found.robot.limits.q_min, found.robot.limits.q_max
    moved = np.random.default_rng(3).uniform(low, high, (500, 4))
    moved[:, 3] = q[3]
    assert found.reaches(found.robot.fkine(moved)[:, :3, 3]).all()
    with pytest.raises(st.InputError, match="joint 'D' stands still outside of its limits"):
        st.workspace(path, q=np.deg2rad([0.0, 0.0, 0.0, 120.0]))


def test_gantry_reaches_its_box(tmp_path):
    found = st.workspace(written(tmp_path, "gantry.yaml", GANTRY), tolerance=1e-3)
    assert found.volume == pytest.approx(2.5 * 1.2 * 0.8, rel=1e-6)
    assert found.notes == ()


CYLINDER = """format: servotwin/1
name: cylinder
axes:
  FIRST
  R: {type: prismatic, origin: {xyz: [300 mm, 0 mm, 0 mm]}, axis: [1, 0, 0], limits: {position: [0 mm, 400 mm]},
      link: {mass: 1 kg}}
tool: {xyz: [50 mm, 0 mm, 0 mm]}
home: {Z: 100 mm, S: 0 deg, R: 100 mm}
"""
Z = "Z: {type: prismatic, origin: {}, axis: [0, 0, 1], limits: {position: [0 mm, 500 mm]}, link: {mass: 1 kg}}"
S = "S: {type: revolute, origin: {}, axis: [0, 0, 1], limits: {position: [-60 deg, 150 deg]}, link: {mass: 1 kg}}"


@pytest.mark.parametrize("order", [(Z, S), (S, Z)])
def test_cylinder_robot_reaches_an_annular_sector_times_its_stroke(order, tmp_path):
    text = CYLINDER.replace("FIRST", "\n  ".join(order))
    found = st.workspace(written(tmp_path, "cylinder.yaml", text))
    sector = 0.5 * np.deg2rad(210.0) * (0.75**2 - 0.35**2)
    assert found.volume == pytest.approx(0.5 * sector, rel=1e-4)
    assert found.notes == ()


SCARA = """format: servotwin/1
name: scara
axes:
  TRACK
  A: {origin: {}, limits: {position: [-120 deg, 120 deg]}, link: {mass: 9 kg}}
  B: {origin: {xyz: [0.4 m, 0 m, 0 m]}, limits: {position: [-140 deg, 140 deg]}, link: {mass: 5 kg}}
  Z: {type: prismatic, origin: {xyz: [0.3 m, 0 m, 0 m]}, limits: {position: [0 m, 0.2 m]}, link: {mass: 1 kg}}
"""


@pytest.mark.parametrize(
    ("text", "joints", "still"),
    [(ARM, "shoulder elbow", "track, wrist stand"), (SCARA, "A B", "track stands")],
)
def test_arm_on_a_track_has_the_workspace_of_the_arm(text, joints, still, tmp_path):
    """The track shifts the whole solid: which plane the arm moves the tool in does not depend on it."""
    found = st.workspace(written(tmp_path, "on.yaml", text.replace("TRACK", TRACK)), tolerance=1e-3)
    alone = st.workspace(written(tmp_path, "alone.yaml", text.replace("  TRACK\n", "")), tolerance=1e-3)
    assert [found.robot.joint_names[k] for k in found.section.joints] == joints.split()
    assert (found.area, found.volume) == pytest.approx((alone.area, alone.volume), rel=1e-9)
    assert found.notes[0].startswith(still)
    assert not any("counts from" in note for note in found.notes)  # home: the track stands at zero


def test_arm_on_a_track_is_measured_from_its_axis_where_the_track_stands(tmp_path):
    path = written(tmp_path, "on.yaml", ARM.replace("TRACK", TRACK))
    found = st.workspace(path, q=np.array([0.4, 0.0, 1.0, -1.5, 0.0]), tolerance=1e-3)
    assert found.notes[1] == "r counts from the axis of yaw at x = 0.0 mm, y = 400.0 mm"
    q = found.positions(100, seed=0)
    q[:, 0] = 0.4
    assert (
        found.reaches(found.robot.fkine(q)[:, :3, 3]).mean() > 0.95
    )  # those on limits may fall outside by rounding


def test_gantry_with_a_swing_keeps_the_plane_of_its_slides(tmp_path):
    path = written(
        tmp_path, "gantry.yaml", GANTRY.replace("xyz: [0 mm, 0 mm, 150 mm]", "xyz: [50 mm, 0 mm, 150 mm]")
    )
    found = st.workspace(path, tolerance=1e-3)
    assert found.section.joints == (0, 1)
    assert found.volume == pytest.approx(2.5 * 1.2 * 0.8, rel=1e-6)


def test_note_on_the_orientation_is_that_of_the_robot():
    robot = st.load_robot("delta")
    space = task_space(robot, limit_set(robot, ()), "tool", np.eye(3))
    space.flood(0.2)
    assert _orientation(space) == "the tool keeps the orientation of the home pose"
    turned = replace(space, rotation=np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    assert _orientation(turned) == "the tool turns with the robot, which stays on the branch of its home pose"
