"""What a motion does between its nodes: walls that it would jump over, powers, peaks that are shown."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("casadi")

import servotwin as st
from servotwin.description.load import read_description
from servotwin.motion.errors import PathError
from servotwin.motion.optimal.dense_check import depths
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.guess import currents
from servotwin.motion.optimal.task import Region
from tests.unit.motion.optimal.test_one_axis import axis

NODES = 40  # fewer than usual are quicker, and leave more between them

START, GOAL = (
    np.append(np.radians([-60.0, 80.0]), [0.0, 0.0]),
    np.append(np.radians([70.0, -60.0]), [0.1, 1.5]),
)


def tool(q):
    """Of a SCARA with links of 350 and 300 mm."""
    one, two = q[:, 0], q[:, 0] + q[:, 1]
    return 0.35 * np.cos(one) + 0.3 * np.cos(two), 0.35 * np.sin(one) + 0.3 * np.sin(two)


def test_chord_through_a_thin_wall_is_seen_and_one_beside_it_is_not():
    wall = Region(x=(0.0, 1.0), y=(0.0, 0.01))
    through = np.array([[[0.5, -1.0, 0.0], [0.5, 1.0, 0.0]]])
    assert depths(wall, through)[0, 0] == pytest.approx(0.005)
    beside = through + np.array([0.6, 0.0, 0.0])
    assert depths(wall, beside)[0, 0] < 0.0
    along = np.array([[[0.2, 0.004, 0.0], [0.8, 0.004, 0.0]]])
    assert depths(wall, along)[0, 0] == pytest.approx(0.004)


@pytest.mark.parametrize(("x", "thickness"), [(0.58, 0.0002), (0.55, 0.09)])
def test_wall_is_gone_around_between_nodes_as_well(x, thickness):
    wall = Region(x=(x, 0.75), y=(0.03, 0.03 + thickness))
    motion = st.optimise_motion("gsis-scara", START, GOAL, keep_out=(wall,))
    p = np.stack(tool(motion.sample(np.linspace(0.0, motion.duration, 200_001))[0]), axis=1)
    inside = (p[:, 0] > x) & (p[:, 1] > 0.03) & (p[:, 1] < 0.03 + thickness)
    assert not inside.any()


def test_wall_across_the_straight_line_is_gone_around_where_a_gap_is():
    """Between wall and base the folded arm passes: no tool point of the motion, seen from outside, is in the wall."""
    wall = Region(x=(0.3, 0.9), y=(-0.03, 0.03))
    motion = st.optimise_motion("gsis-scara", START, GOAL, keep_out=(wall,), intervals=NODES)
    x, y = tool(motion.sample(np.linspace(0.0, motion.duration, 100_001))[0])
    assert not ((x > 0.3 + 1e-4) & (np.abs(y) < 0.03 - 1e-4)).any()
    assert x[np.argmin(np.abs(y))] < 0.3
    assert motion.duration < 1.5  # a motion, not an iterate that never came to rest


def test_wall_between_start_and_goal_that_separates_them_is_refused():
    wall = Region(y=(0.03, 0.031))
    with pytest.raises(PathError, match=r"passes through region 1 \(by .* mm\); no way round was found"):
        st.optimise_motion("gsis-scara", START, GOAL, keep_out=(wall,), intervals=NODES)


@pytest.mark.parametrize("power", [(-20.0, np.inf), (-np.inf, 40.0)])
def test_power_of_the_bus_is_kept_between_nodes(power):
    """By inverse dynamics of the played motion, with sharp signs of the speeds in friction."""
    motion = st.optimise_motion("gsis-scara", START, GOAL, bus_power=power, intervals=NODES)
    robot = st.load_robot("gsis-scara")
    t = np.linspace(0.0, motion.duration, 20_001)
    q, qd, qdd = motion.sample(t)
    drives = drive_model(robot, read_description("gsis-scara", {}))
    i = currents(robot, drives, q, qd, qdd)
    loss = (drives.phases * (drives.R + drives.R_bridge) * i**2).sum(axis=1)
    taken = loss + (drives.K * i * (qd @ drives.N.T)).sum(axis=1)
    assert not motion.notes
    assert taken.min() > 1.001 * power[0]
    assert taken.max() < 1.001 * power[1]


def test_voltage_that_a_falling_current_gives_back_is_no_excess(tmp_path):
    """With a long electrical time constant R i + K w exceeds the bus while L di/dt is negative."""
    motion = axis(tmp_path, kind="dc", more="inductance: 1 mH", bus=60.0, intervals=200)
    assert not any("voltage" in note for note in motion.notes)
    assert motion.t.size == 201
