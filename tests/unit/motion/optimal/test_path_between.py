"""What a motion along a path does between its points, by inverse dynamics of the motion as it is played."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("casadi")

import servotwin as st
from servotwin.description.load import read_description
from servotwin.motion.errors import PathError
from servotwin.motion.limits import limits_of
from servotwin.motion.optimal import path_solving
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.optimise import optimise_motion

PALLETIZER = np.array(
    [[0.2, 1.1, -1.3, 0.1], [-0.1, 1.4, -1.6, -0.2], [-0.2, 1.0, -1.7, 0.2], [0.25, 1.45, -1.25, 0.0]]
)
PUMA = np.radians(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [30.0, 20.0, -20.0, 30.0, -20.0, 40.0],
        [60.0, -40.0, 30.0, 40.0, 50.0, -60.0],
    ]
)
SIX = np.array(
    [[0.0, 1.2, -0.6, 0.0, 0.5, 0.0], [0.8, 0.9, -0.2, 0.7, 0.9, 0.6], [-0.4, 1.4, -0.8, -0.6, 0.2, -0.9]]
)


def needed(name, motion, per_interval=33):
    """Shares of limits, from instants within every interval: currents by Newton and Euler with a sharp sign."""
    robot, description = st.load_robot(name), read_description(name, {})
    drives, limits = drive_model(robot, description), limits_of(robot, description)
    t = motion.t[:-1, None] + np.diff(motion.t)[:, None] * np.linspace(1e-6, 1.0 - 1e-6, per_interval)
    q, qd, qdd = motion.sample(t.ravel())
    tau, w = robot.rne(q, qd, qdd, drives=True), qd @ drives.N.T
    shaft = np.linalg.solve(drives.N.T, tau.T).T
    i = (shaft + drives.viscous * w + drives.coulomb * np.sign(w)) / drives.K
    tool = (robot.jacob0(q)[:, :3] @ qd[..., None])[..., 0]
    shares = {
        "torque": np.abs(tau) / limits.torque,
        "current": np.abs(i) / drives.current,
        "speed": np.abs(qd) / limits.speed,
        "motor speed": np.abs(w) / drives.speed,
        "acceleration": np.abs(qdd) / robot.limits.qdd_max,
        "tool speed": np.linalg.norm(tool, axis=1) / limits.tool_speed,
    }
    return {what: float(share.max()) for what, share in shares.items()}, i, t


@pytest.mark.parametrize(
    ("name", "points"), [("palletizer-4", PALLETIZER), ("puma560", PUMA), ("sixaxis-5kg", SIX)]
)
def test_limits_along_a_path_hold_between_its_points(name, points, monkeypatch):
    shares, _, _ = needed(name, optimise_motion(name, path=points))
    if name == "sixaxis-5kg":
        shares.pop("current")  # of friction curves the optimum counts the line above
    assert max(shares.values()) < 1.001
    monkeypatch.setattr(path_solving, "FINER", 0)
    coarse, _, _ = needed(name, optimise_motion(name, path=points))
    assert max(coarse.values()) > 1.001  # what the points alone would leave


def test_path_from_rest_begins_with_the_current_that_friction_takes():
    """A fifth of the first motor's current is dry friction, which acts as soon as it moves."""
    motion = optimise_motion("puma560", path=PUMA[[0, 2]])
    _, i, t = needed("puma560", motion)
    drives = drive_model(st.load_robot("puma560"), read_description("puma560", {}))
    assert (drives.coulomb / drives.K / drives.current).max() > 0.2
    given = np.stack([np.interp(t.ravel(), motion.t, column) for column in motion.current.T], axis=1)
    gap = np.abs(i - given) / drives.current
    assert gap.max() < 0.01
    assert motion.model_error == pytest.approx(gap.max(), rel=0.1, abs=2e-4)


def test_motor_that_turns_back_on_its_way_takes_the_friction_of_both_directions():
    """The first motor of this path reverses: its friction changes by two fifths of its current within the path."""
    motion = optimise_motion("puma560", path=PUMA[[0, 1, 0]] * [[1.0], [1.0], [-1.0]])
    assert motion.model_error < 0.021


@pytest.mark.parametrize("power", [(-40.0, 600.0), (-1.0, 500.0)])
def test_bus_power_along_a_path_holds_between_its_points(power):
    name, points = (
        "gsis-scara",
        np.array([[-1.0, 1.4, 0.0, 0.0], [0.3, 0.4, 0.05, 0.5], [1.2, -1.0, 0.1, 1.5]]),
    )
    motion = optimise_motion(name, path=points, bus_power=power)
    robot = st.load_robot(name)
    _, i, t = needed(name, motion)
    drives = drive_model(robot, read_description(name, {}))
    w = motion.sample(t.ravel())[1] @ drives.N.T
    taken = (drives.phases * (drives.R + drives.R_bridge) * i**2 + drives.K * i * w).sum(axis=1)
    assert taken.max() < 1.001 * power[1]
    assert taken.min() > 1.001 * power[0]


@pytest.mark.parametrize("along", [False, True], ids=["between points", "along a path"])
def test_motion_that_takes_an_angle_between_frames_out_of_its_range_is_refused(along):
    """The elbow's angle is -th3, 1.3 to 1.6 rad on the way; 80 deg are 1.396 rad."""
    field = {"frame_quantities": "{elbow: {angle: [th2.x, th3.x], limits: [80 deg, 110 deg]}}"}
    ends = PALLETIZER[:2]
    asked = {"path": ends} if along else {"start": ends[0], "goal": ends[1]}
    with pytest.raises(PathError, match="the range of elbow"):
        optimise_motion("palletizer-4", overrides=field, intervals=20, **asked)
