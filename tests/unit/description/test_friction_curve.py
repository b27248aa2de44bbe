"""Friction as files state it: units of the joint, contradictions, sums of curves and what plans ask of motors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.description.friction_curve import FrictionCurve, friction_curve
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.motion.limits import limits_of
from servotwin.motion.motor_limits import motor_limits_of
from servotwin.motion.path_limits import path_limits
from servotwin.robot.load import load_robot
from tests import small_drives as small

TABLE = [(-50.0, -3.0), (0.0, -2.0), (0.0, 1.0), (20.0, 0.5), (60.0, 2.5)]
FALLING = [(5.0, 4.0), (60.0, 1.0)]
CURVES = [
    friction_curve(0.02, 0.4, 0.9, 3.0, None),
    friction_curve(None, None, 2.5, None, TABLE),
    friction_curve(None, None, None, None, FALLING),
    FrictionCurve(),
]


def table(*points: tuple[float, float]) -> dict[str, Any]:
    """The field of a file with these points [rad/s, N m]."""
    return {"table": [[f"{w} rad/s", f"{tau} N*m"] for w, tau in points]}


def read(folder: Path, axis: small.Tree) -> Any:
    path = folder / "robot.yaml"
    path.write_text(json.dumps(small.robot(axes={"A": axis})), encoding="utf-8")
    return read_description(path)


@pytest.mark.parametrize("first", CURVES)
@pytest.mark.parametrize("second", CURVES)
def test_sum_of_curves_has_the_sum_of_their_torques(first: FrictionCurve, second: FrictionCurve) -> None:
    """Up to far beyond the last points, where one table goes on and another stays."""
    w = np.concatenate([-np.geomspace(1e-3, 1e3, 97), np.geomspace(1e-3, 1e3, 97)])
    np.testing.assert_allclose((first + second).torque(w), first.torque(w) + second.torque(w), rtol=1e-12)


@pytest.mark.parametrize("ratio", [80.0, -80.0, 0.3])
@pytest.mark.parametrize("curve", CURVES)
def test_curve_at_the_motor_takes_the_same_power(curve: FrictionCurve, ratio: float) -> None:
    qd = np.linspace(-100.0, 100.0, 401)
    at_motor = curve.at_motor(ratio)
    np.testing.assert_allclose(at_motor.torque(ratio * qd) * ratio * qd, curve.torque(qd) * qd, rtol=1e-12)
    assert sorted(at_motor.static) == pytest.approx(sorted(tau / abs(ratio) for tau in curve.static))


def test_curve_of_a_table_is_the_one_drawn_through_its_points() -> None:
    """Values read off the lines by hand; beyond the ends the rising line goes on, the falling one stays."""
    w = np.array([-100.0, -50.0, -25.0, -1e-9, 1e-9, 10.0, 40.0, 100.0])
    expected = [-4.0, -3.0, -2.5, -2.0, 1.0, 0.75, 1.5, 4.5]
    np.testing.assert_allclose(CURVES[1].torque(w), expected, rtol=1e-8)
    np.testing.assert_allclose(CURVES[2].torque([1.0, 5.0, 60.0, 600.0, -600.0]), [4.0, 4.0, 1.0, 1.0, -1.0])
    assert CURVES[1].static == (2.5, 2.5)


def test_friction_of_a_sliding_joint_is_a_force(tmp_path: Path) -> None:
    lift = small.merged(small.LIFT, {"friction": {"coulomb": "20 N", "viscous": "3 N*s/m"}})
    friction = read(tmp_path, lift).axes["A"].friction
    assert (friction.coulomb, friction.viscous) == (20.0, 3.0)
    with pytest.raises(InputError, match=r"axes\.A\.friction\.coulomb: '20 N\*m' is"):
        read(tmp_path, small.merged(small.LIFT, {"friction": {"coulomb": "20 N*m"}}))


@pytest.mark.parametrize(
    ("friction", "text"),
    [
        (
            {"table": [["0 rad/s", "1 N*m"]], "coulomb": "1 N*m"},
            "friction.table: says what coulomb says as well",
        ),
        ({"table": []}, "0 points; expected 1 to 16 points"),
        ({"table": "2 N*m"}, "expected a list of 1 to 16 points"),
        ({"dry": "1 N*m"}, "friction.dry: unknown field"),
        (table((0, 1), (0, 3), (1, 2)), "friction.table: speeds that do not rise"),
        (table((-1, -2), (0, 0), (0, 3)), "friction.table: speeds that do not rise"),
        (table((-1, -2), (0, -3), (0, 0), (0, 3), (1, 2)), "friction.table: speeds that do not rise"),
        (table((-1, -2), (0, -1)), "friction.table: no point forwards"),
        (table((-1, -2), (0, 0)), "friction.table: no point forwards"),
    ],
)
def test_friction_of_a_joint_that_is_none_is_refused(tmp_path: Path, friction: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        read(tmp_path, small.axis(friction=friction))


def test_static_friction_below_what_slides_is_warned_of(tmp_path: Path) -> None:
    table = [["0 rad/s", "0.3 N*m"], ["9 rad/s", "0.4 N*m"]]
    motor = {key: value for key, value in small.DC.items() if key != "viscous_friction"}
    axis = small.axis(
        friction={"coulomb": "3 N*m", "static": "2 N*m"},
        motor={**motor, "friction_table": table, "static_friction": "0.2 N*m"},
    )
    warnings = read(tmp_path, axis).warnings
    assert any("axes.A.friction.static: 2 N*m is below what slides, 3 N*m" in line for line in warnings)
    assert any("motor.static_friction: 0.2 N*m is below the torque at rest" in line for line in warnings)


def test_plans_ask_the_motor_for_the_friction_of_joint_and_table(tmp_path: Path) -> None:
    """Torque of a steady motion about the vertical: friction alone, 5 + 0.8 qd at the joint and the table."""
    motor = {key: value for key, value in small.DC.items() if key != "viscous_friction"}
    table = [["0 rad/s", "0.1 N*m"], ["100 rad/s", "0.3 N*m"]]
    axis = small.axis(
        friction={"coulomb": "5 N*m", "viscous": "0.8 N*m*s/rad"}, motor={**motor, "friction_table": table}
    )
    description = read(tmp_path, axis)
    robot = load_robot(tmp_path / "robot.yaml")
    motors = motor_limits_of(robot, description)
    assert motors is not None
    qd = np.array([[1.5], [-1.5]])
    torque = motors.motor_torques(np.zeros((2, 1)), qd, np.zeros((2, 1)))
    expected = (5.0 + 0.8 * 1.5) / 50.0 + 0.1 + 0.2 * 75.0 / 100.0
    np.testing.assert_allclose(torque, [[expected], [-expected]], rtol=1e-12)
    limits = path_limits(
        robot, np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), limits_of(robot, description), True
    )
    rest, moving = limits.room[0, -2], limits.room_at(np.array([1.5]))[0, -2]
    most = motors.drive.torque[0]
    assert rest == pytest.approx(most - 5.0 / 50.0 - 0.1)
    low, high = motors.drive.torques(np.array([75.0]))
    assert moving == pytest.approx(min(most, high[0]) - expected)
    assert low[0] < 0.0
