"""Worst case over the workspace and questions of how far, against random directions and direct evaluation."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.design.sizing.actuators import actuator_of
from servotwin.design.sizing.evaluate import Rules
from servotwin.design.sizing.size import size
from servotwin.design.sizing.sized_robot import _efforts
from servotwin.design.sizing.what_if import what_if, worst_of
from servotwin.design.sizing.worst_case import worst_case
from servotwin.design.workspace.workspace import workspace
from servotwin.errors import InputError
from servotwin.report.sizing_data import sizing_data
from servotwin.robot.load import load_robot
from tests.sizing_choices import job_load


def directions(rng, count):
    u = rng.normal(size=(count, 3))
    return u / np.linalg.norm(u, axis=1)[:, None]


@pytest.mark.parametrize("name", ["palletizer-4", "sixaxis-5kg"])
def test_worst_torque_is_reached_by_a_direction_and_exceeded_by_none(name):
    """At the worst pose of an actuator, thousands of random directions come close to the closed form from below."""
    robot, description = load_robot(name), read_description(name)
    drives = drives_of(description)
    v, a = 0.5, 4.0
    found = worst_case(robot, drives, [actuator_of(drive) for drive in drives], v, a, poses=300)
    rng = np.random.default_rng(3)
    A = robot.mechanism.rotors.N / np.array([d.gear.ratio for d in drives])[:, None]
    count = 40_000
    speeds, pushes = v * directions(rng, count), a * directions(rng, count)
    for j in (0, 1, 2):
        q = np.array(found.loads[j].output_pose)
        J = robot.jacob0(q)
        inverse = np.linalg.pinv(J)
        qd = speeds @ inverse[:, :3].T
        drift = np.einsum("kij,kj->ki", robot.jacob0_dot(np.broadcast_to(q, qd.shape), qd), qd)
        wanted = np.concatenate([pushes, np.zeros((count, 3))], axis=1)
        tau = robot.rne(np.broadcast_to(q, qd.shape), qd, (wanted - drift) @ inverse.T)
        largest = np.abs(tau @ np.linalg.inv(A))[:, j].max()
        assert largest <= found.loads[j].output_torque * (1.0 + 1e-9)
        assert largest > 0.97 * found.loads[j].output_torque


def test_no_drawn_pose_is_worse_than_the_worst_case():
    robot, description = load_robot("palletizer-4"), read_description("palletizer-4")
    drives = drives_of(description)
    actuators = [actuator_of(drive) for drive in drives]
    few, many = (worst_case(robot, drives, actuators, 1.0, 5.0, poses=n, seed=n) for n in (500, 8000))
    for one, other in zip(few.loads, many.loads, strict=True):
        assert one.output_torque == pytest.approx(other.output_torque, rel=2e-3, abs=1e-9)


def test_largest_speed_of_the_turning_axis_is_that_at_the_least_radius():
    """Across the arm the tool at 1 m/s turns the first axis with 1 m/s over r; the least r is the workspace's own."""
    changes = {"variables.load": "20 kg"}
    found = size("palletizer-4", tool_speed=1.0, tool_acceleration=5.0, overrides=changes).worst
    least = workspace("palletizer-4").region.extent[0][0]
    assert found.loads[0].output_speed == pytest.approx(1.0 / least, rel=1e-4)


def test_largest_held_torque_is_that_of_thousands_of_drawn_poses():
    robot, drives = load_robot("sixaxis-5kg"), drives_of(read_description("sixaxis-5kg"))
    actuators = [actuator_of(drive) for drive in drives]
    found = worst_case(robot, drives, actuators, 0.0, 0.0, poses=100)
    G = robot.gravload(robot.random_q(np.random.default_rng(5), 20_000))
    A = robot.mechanism.rotors.N / np.array([d.gear.ratio for d in drives])[:, None]
    drawn = np.abs(G @ np.linalg.inv(A)).max(axis=0)
    for load, most in zip(found.loads[1:4], drawn[1:4], strict=True):
        assert load.holding_torque >= most * (1.0 - 1e-9)


def test_worst_case_stays_within_limits_of_distances_between_frames(tmp_path):
    file = tmp_path / "short.yaml"
    file.write_text(
        "format: servotwin/1\nname: short\nextends: sixaxis-5kg\n"
        "frame_quantities: {reach: {distance: [J2, tool], limits: [0.1 m, 0.5 m]}}\n",
        encoding="utf-8",
    )
    robot, drives = load_robot(file), drives_of(read_description(file))
    found = worst_case(robot, drives, [actuator_of(drive) for drive in drives], 0.3, 2.0, poses=300)
    poses = np.array([pose for load in found.loads for pose in (load.output_pose, load.motor_pose)])
    reach = robot.frame_quantity_values(poses)[:, 0]
    assert reach.max() <= 0.5 + 1e-9
    assert reach.max() > 0.499  # the longest arm that is allowed is the worst of some actuator


def test_a_speed_that_no_pose_allows_is_refused():
    robot, description = load_robot("palletizer-4"), read_description("palletizer-4")
    drives = drives_of(description)
    with pytest.raises(InputError, match="nowhere in its workspace can the tool move at 80 m/s"):
        worst_case(robot, drives, [actuator_of(drive) for drive in drives], 80.0, 5.0, poses=200)


@pytest.mark.parametrize("question", ["payload", "speed"])
def test_what_if_ends_where_the_first_margin_breaks(question):
    description, load = read_description("palletizer-4"), job_load("palletizer-4", "palletizer-line")
    actuators = [actuator_of(drive) for drive in drives_of(description)]
    found = what_if(question, load, actuators, description.power, Rules())
    change = load.with_payload if question == "payload" else load.faster
    below, above = (
        worst_of(change(found.value * f), actuators, description.power, Rules()) for f in (0.999, 1.001)
    )
    assert below[0] <= 1.0 < above[0]
    assert (found.axis, found.check.name) == (above[1], above[2].name)


def test_what_if_goes_down_where_the_cycle_asks_too_much_already():
    description, load = (
        read_description("palletizer-4"),
        job_load("palletizer-4", "palletizer-line").faster(3.0),
    )
    actuators = [actuator_of(drive) for drive in drives_of(description)]
    found = what_if("speed", load, actuators, description.power, Rules())
    assert 0.5 < found.value < 0.7
    with pytest.raises(InputError, match="expected payload or speed"):
        what_if("colour", load, actuators, description.power, Rules())


@pytest.mark.parametrize("moving", [0.0, 0.6, 1.0])
def test_worst_case_is_the_rms_torque_and_temperature_of_working_and_holding_in_turn(moving):
    """Ten instants in the worst and in the heaviest pose of many; a steady loss in the thermal network by hand."""
    robot, drives, actuators = palletizer()
    found = worst_case(robot, drives, actuators, 1.0, 5.0, poses=500, moving=moving)
    q = robot.random_q(np.random.default_rng(2), 20_000)
    heaviest = np.abs(robot.gravload(q) @ np.linalg.inv(robot.mechanism.rotors.N)).max(axis=0)
    for j, load in enumerate(found.loads):
        held = heaviest[j] / actuators[j].gear.efficiency + actuators[j].friction.static[0]
        torque = np.repeat([load.motor_torque, held], [round(10 * moving), round(10 - 10 * moving)])
        assert load.rms_torque == pytest.approx(np.sqrt(np.mean(torque**2)), rel=0.03)  # poses are drawn
        heat, R = actuators[j].motor.thermal, actuators[j].motor.winding.resistance
        # a steady loss P raises the winding by P (R_wh + R_ha), with P = 3/2 R i^2 (1 + alpha dT)
        cold = 1.5 * R * (load.rms_torque / actuators[j].motor.winding.torque_constant) ** 2
        path = heat.winding_to_housing + heat.housing_to_ambient
        rise = cold * path / (1.0 - heat.temperature_coefficient * cold * path)
        assert load.winding - heat.reference_temperature == pytest.approx(rise, rel=1e-6)


def palletizer():
    changes = {"variables.load": "20 kg"}
    drives = drives_of(read_description("palletizer-4", changes))
    return load_robot("palletizer-4", changes), drives, [actuator_of(drive) for drive in drives]


def test_arm_is_held_in_every_pose_also_where_the_tool_cannot_move_as_asked():
    """Stretched out it is heaviest for its shoulder, and singular: there its tool cannot move in every direction."""
    robot, drives = load_robot("sixaxis-5kg"), drives_of(read_description("sixaxis-5kg"))
    actuators = [actuator_of(drive) for drive in drives]
    found = worst_case(robot, drives, actuators, 0.5, 4.0, poses=2000)
    weight = robot.gravload(robot.random_q(np.random.default_rng(5), 4000)) @ np.linalg.inv(
        robot.mechanism.rotors.N / np.array([drive.gear.ratio for drive in drives])[:, None]
    )
    assert found.left_out > 0.5
    assert found.loads[1].holding_torque == pytest.approx(np.abs(weight[:, 1]).max(), rel=0.03)


def test_reserve_counts_in_the_worst_case():
    plain, kept = (
        worst_case(*palletizer(), 0.5, 2.0, poses=200, rules=Rules(reserve=reserve)) for reserve in (1.0, 1.5)
    )
    assert [load.share for load in kept.loads] == pytest.approx([1.5 * load.share for load in plain.loads])


def test_effort_limit_goes_where_a_chosen_motor_has_no_largest_torque():
    robot, drives, actuators = palletizer()
    free = replace(actuators[0].motor, peak_torque=None, current_limit=None, peak_curve=())
    actuators[0] = replace(actuators[0], motor=free)
    sizing = SimpleNamespace(robot=robot, description=read_description("palletizer-4"))
    efforts = _efforts(sizing, drives, tuple(actuators))
    assert efforts["axes.th1.limits.effort"] == "null"
    assert "N*m" in efforts["axes.th3.limits.effort"]


def test_share_of_motion_needs_a_worst_case_and_lies_between_0_and_100_percent():
    with pytest.raises(InputError, match="120 % of the time; expected 0 to 100 %"):
        size("palletizer-4", tool_speed=1.0, tool_acceleration=5.0, moving=1.2)
    with pytest.raises(InputError, match="a cycle states by itself when it moves"):
        size("palletizer-4", job="palletizer-line", moving=0.5)


def test_worst_case_that_heats_without_end_is_written_as_json():
    found = size(
        "palletizer-4",
        tool_speed=1.3,
        tool_acceleration=25.0,
        moving=0.9,
        overrides={"variables.load": "20 kg"},
    )
    assert np.isinf(found.worst.loads[0].winding)
    assert not found.worst.passes
    assert "null" in json.dumps(sizing_data(found)["worst_case"], allow_nan=False)
