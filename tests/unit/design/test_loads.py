"""The loads that loops are judged with: inertias by brute force, payloads, ranges without limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from servotwin.description.load import read_description
from servotwin.design.inertia_range import heaviest, lightest
from servotwin.design.tuning import tune
from servotwin.robot.load import load_robot
from servotwin.robot.shafts import motor_inertia
from tests import small_drives as small


def test_lightest_load_is_the_empty_robot_and_the_heaviest_the_full_one() -> None:
    """With 3 kg in the file and 4 kg as its largest payload."""
    tuning = tune(read_description("gsis-scara", {"variables.load": "3 kg"}))
    for load, held, mass in (("lightest", False, "0 kg"), ("heaviest", True, "4 kg")):
        robot = load_robot("gsis-scara", {"variables.load": mass})
        # the inertia of the SCARA depends on joint B alone
        q = np.zeros((2001, 4))
        q[:, 1] = np.linspace(robot.limits.q_min[1], robot.limits.q_max[1], 2001)
        every = motor_inertia(robot, q, held=held)
        extreme = every.max(axis=0) if held else every.min(axis=0)
        for i, axis in enumerate(tuning.axes):
            assert pytest.approx(extreme[i], rel=1e-4) == axis.case(load).at.J, (load, axis.motor)
    design = motor_inertia(load_robot("gsis-scara", {"variables.load": "3 kg"}), np.zeros(4), held=True)
    for i, axis in enumerate(tuning.axes):
        assert pytest.approx(design[i], rel=1e-9) == axis.case("design").at.J


def test_loops_are_computed_with_the_inertia_of_their_load() -> None:
    description = read_description("gsis-scara")
    for axis in tune(description).axes:
        motor = description.axes[axis.motor].motor
        assert motor is not None
        for case in axis.cases:
            assert case.model.J_load + motor.rotor_inertia == pytest.approx(case.at.J, rel=1e-12)


@pytest.mark.parametrize("name", ["puma560", "palletizer-4"])
def test_no_neighbour_of_an_extreme_is_better(name: str) -> None:
    robot = load_robot(name)
    bounds = list(zip(robot.limits.q_min, robot.limits.q_max, strict=True))
    z = robot.quantities
    kept = [LinearConstraint(z.A, z.low - z.b, z.high - z.b)] if z.names else []
    for held, found, sign in ((True, heaviest(robot, 0.0), -1.0), (False, lightest(robot, 0.0), 1.0)):
        for i, extreme in enumerate(found):
            scale = extreme.J
            best = minimize(
                lambda q, i=i, held=held, sign=sign, scale=scale: (
                    sign * float(motor_inertia(robot, q, held=held)[i]) / scale
                ),
                extreme.q,
                bounds=bounds,
                constraints=kept,
                method="SLSQP" if kept else "L-BFGS-B",
            )
            # the search ends within 1/500 of a range of the extreme, where the inertia is flat: 1e-4; at the limit of a
            # quantity it may be steep
            assert abs(best.fun) == pytest.approx(1.0, abs=5e-3 if kept else 2e-4), (name, i, held)


def test_joint_without_limits_is_searched_to_both_sides(tmp_path) -> None:
    """The mass of the second link lies off its axis: joint 1 is heaviest with joint 2 at -60 deg."""
    inner = small.axis(link={"mass": "2 kg", "center": ["0.2 m", "0 m", "0 m"]})
    outer = small.axis(
        parent="A",
        origin={"xyz": ["0.5 m", "0 m", "0 m"]},
        link={
            "mass": "4 kg",
            "center": [f"{0.3 * np.cos(np.pi / 3)} m", f"{0.3 * np.sin(np.pi / 3)} m", "0 m"],
        },
    )
    outer["limits"] = {"speed": "4 rad/s"}
    path = small.write_case(tmp_path, small.robot(axes={"A": inner, "B": outer}))
    robot = load_robot(path.with_name("robot.yaml"))
    (first, _) = heaviest(robot, 0.0)
    assert np.degrees(first.q[1]) == pytest.approx(-60.0, abs=2.0)
    expected = small.J + (2.0 * 0.2**2 + 4.0 * (0.5 + 0.3) ** 2) / small.RATIO**2
    assert pytest.approx(expected, rel=2e-4) == first.J
