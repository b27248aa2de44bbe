"""Gains and margins of whole robots; inertias at their motors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from servotwin.control.tuning.gains import speed_gains
from servotwin.description.load import read_description
from servotwin.description.schema import Quantity
from servotwin.design.inertia_range import heaviest, lightest
from servotwin.design.tuning import LOADS, tune
from servotwin.errors import InputError, KinematicsError
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.load import load_robot
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia

EXACT = 1e-9


@pytest.fixture(scope="module")
def scara():
    return tune(read_description("gsis-scara"), payload_max=4.0)


def test_motor_inertia_of_the_scara_is_that_of_the_paper():
    """Lee et al. 1989: D_e of eq 13 has J_m + D_ii / n_i^2 on its diagonal."""
    robot = load_robot("gsis-scara")
    q = np.array([0.3, 0.7, 0.05, 0.2])
    n = np.array([100.0, 80.0, 785.4, 13.3])
    expected = np.array([1.5e-4, 0.7e-4, 0.5e-4, 0.2e-4]) + np.diag(robot.inertia(q)) / n**2
    assert motor_inertia(robot, q, held=True) == pytest.approx(expected, rel=EXACT)


@pytest.mark.parametrize("name", ["gsis-scara", "puma560", "palletizer-4"])
def test_motor_inertia_is_less_when_the_other_motors_let_go(name):
    robot = load_robot(name)
    q = robot.random_q(np.random.default_rng(3), 50)
    held, free = motor_inertia(robot, q, held=True), motor_inertia(robot, q, held=False)
    assert (free <= held * (1.0 + EXACT)).all()
    assert (free >= robot.mechanism.rotors.J_m).all()  # the own rotor is always turned


@pytest.mark.parametrize("name", ["gsis-scara", "puma560", "palletizer-4"])
def test_extremes_are_not_passed_by_any_of_many_poses(name):
    robot = load_robot(name)
    q = robot.random_q(np.random.default_rng(4), 20_000)
    least = [extreme.J for extreme in lightest(robot, 0.0)]
    most = [extreme.J for extreme in heaviest(robot, 0.0)]
    slack = 1e-3  # the search ends at a distance of 1/500 of a range from the extreme
    assert (motor_inertia(robot, q, held=False).min(axis=0) >= np.array(least) * (1.0 - slack)).all()
    assert (motor_inertia(robot, q, held=True).max(axis=0) <= np.array(most) * (1.0 + slack)).all()


def test_scara_first_axis_is_heaviest_stretched_with_payload(scara):
    at = scara.axes[0].case("heaviest").at
    assert at.payload == 4.0
    assert at.q[1] == pytest.approx(0.0, abs=0.02)
    loaded = load_robot("gsis-scara", {"variables.load": "4 kg"})
    stretched = float(motor_inertia(loaded, np.zeros(4), held=True)[0])
    assert abs(at.J - stretched) < 1e-4 * stretched


def test_gains_are_those_of_the_design_pose(scara):
    robot = Robot(build_mechanism(scara.description))
    J = motor_inertia(robot, robot.q_home, held=True)
    for i, axis in enumerate(scara.axes):
        K_t = scara.description.axes[axis.motor].motor.torque_constant
        K_p, K_i = speed_gains(J[i], K_t, 150.0)
        assert axis.gains.speed_proportional == pytest.approx(K_p, rel=EXACT)
        assert axis.gains.speed_integral == pytest.approx(K_i, rel=EXACT)
        assert axis.gains.position == 30.0


def test_scara_keeps_55_degrees_in_every_loop_with_every_load(scara):
    for axis in scara.axes:
        for load in LOADS:
            for loop in axis.case(load).loops.all:
                assert loop.stable
                assert math.degrees(loop.phase_margin) > 55.0


def test_crossover_follows_the_inertia(scara):
    light, heavy = scara.axes[0].case("lightest"), scara.axes[0].case("heaviest")
    ratio = light.loops.speed.crossover / heavy.loops.speed.crossover
    # 1/J up to what the integral part and the winding add near the crossover
    assert ratio == pytest.approx(heavy.at.J / light.at.J, rel=0.1)


def test_bandwidths_asked_for_replace_those_of_the_file():
    tuning = tune(read_description("gsis-scara"), speed_bandwidth=75.0, position_bandwidth=12.0)
    reference = tune(read_description("gsis-scara"))
    for axis, other in zip(tuning.axes, reference.axes, strict=True):
        assert axis.gains.speed_proportional == pytest.approx(0.5 * other.gains.speed_proportional, rel=EXACT)
        assert axis.gains.position == 12.0
    assert tuning.integral_time == pytest.approx(5.0 / 75.0, rel=EXACT)


def test_gains_of_the_file_stand_until_their_bandwidth_is_asked_for():
    changes = {"controller.gains.A.position": "17 1/s"}
    assert tune(read_description("gsis-scara", changes)).axes[0].gains.position == 17.0
    asked = tune(read_description("gsis-scara", changes), position_bandwidth=25.0)
    assert asked.axes[0].gains.position == 25.0


def test_too_fast_speed_loop_is_warned_of_with_its_margin():
    tuning = tune(read_description("gsis-scara"), speed_bandwidth=900.0)
    line = next(line for line in tuning.warnings if "axis A, lightest load" in line)
    assert "speed loop" in line
    assert "phase margin" in line


def test_delay_of_computation_costs_the_phase_it_should():
    plain = tune(read_description("gsis-scara")).axes[0].case("design").loops.current
    changes = {"controller.computation_delay": "1"}
    delayed = tune(read_description("gsis-scara", changes)).axes[0].case("design").loops.current
    lost = plain.phase_margin - delayed.phase_margin
    assert lost == pytest.approx(plain.crossover * 0.2e-3, rel=1e-4)  # one current period


def test_robot_without_controller_is_refused_with_the_field():
    with pytest.raises(InputError, match="controller"):
        tune(read_description("met-two-link"))


@pytest.mark.parametrize("value", [0.0, -5.0, math.nan, math.inf])
def test_impossible_bandwidths_are_refused(value):
    with pytest.raises(InputError, match="speed_bandwidth"):
        tune(read_description("gsis-scara"), speed_bandwidth=value)


def test_negative_payload_is_refused():
    with pytest.raises(InputError, match="payload"):
        tune(read_description("gsis-scara"), payload_max=-1.0)


def test_loops_are_checked_up_to_the_largest_payload_of_the_file(scara):
    """Table 1 of Lee 1989: 4 kg; a heavier load that is stated counts more."""
    found = tune(read_description("gsis-scara"))
    assert found.payload_max == pytest.approx(4.0)
    assert found.axes[0].cases[-1].model.J_load == pytest.approx(scara.axes[0].cases[-1].model.J_load)
    assert tune(read_description("gsis-scara", {"variables.load": "6 kg"})).payload_max == pytest.approx(6.0)


def test_payload_beyond_the_largest_is_warned_of():
    assert not any("payload" in line for line in read_description("gsis-scara").warnings)
    (line,) = [
        w for w in read_description("gsis-scara", {"variables.load": "6 kg"}).warnings if "payload" in w
    ]
    assert "payload.mass" in line
    assert "6 kg is more than the largest payload, 4 kg" in line


def test_same_trouble_of_all_axes_is_one_warning():
    """Every axis and load has too slow a speed loop for this position loop: as many cases, one line."""
    tuning = tune(read_description("gsis-scara"), position_bandwidth=120.0)
    cases = [warning for axis in tuning.axes for warning in axis.loops if "crosses over" in warning.text]
    assert len(cases) >= 8
    lines = [line for line in tuning.warnings if "crosses over" in line]
    assert len(lines) == len({case.kind for case in cases}) < 3
    assert "axes A, B, Z, W" in lines[0]


# --- closed chains -----------------------------------------------------------------------------------
BASE, ARM, FOREARM, WIDTH, DENSITY, RATIO, ROTOR = 0.2, 0.25, 0.38, 0.02, 2700.0, 50.0, 1e-5
MOTORED = f"""\
format: servotwin/1
name: five-bar-with-motors
extends: five-bar
axes:
  left: &drive
    gear: {{ratio: {RATIO}}}
    motor: {{rotor_inertia: {ROTOR} kg*m^2, torque_constant: 0.05 N*m/A, resistance: 0.8 ohm, inductance: 0.7 mH,
            current_limit: 10 A, max_speed: 3000 rpm}}
    encoder: {{lines: 1000}}
    limits: {{speed: 180 deg/s}}
  right: *drive
power: {{bus_voltage: 60 V}}
controller: {{main_period: 10 ms, axis_period: 1 ms, speed_period: 0.4 ms, current_period: 0.2 ms,
             current_bandwidth: 1200 rad/s, speed_bandwidth: 150 rad/s, position_bandwidth: 30 1/s}}
"""


@pytest.fixture(scope="module")
def five_bar(tmp_path_factory):
    path = tmp_path_factory.mktemp("five-bar") / "five-bar-with-motors.yaml"
    path.write_text(MOTORED)
    return tune(read_description(path))


def five_bar_points(q):
    """Elbows (..., 2, 2) and tip (..., 2) of the five-bar from circles, elbows outward; and its transmission angle."""
    hips = np.array([[-BASE / 2, 0.0], [BASE / 2, 0.0]])
    elbows = hips + ARM * np.stack([np.cos(q), np.sin(q)], axis=-1)
    between = elbows[..., 1, :] - elbows[..., 0, :]
    half = np.linalg.norm(between, axis=-1) / 2
    up = np.stack([-between[..., 1], between[..., 0]], axis=-1) / (2 * half)[..., None]
    tip = elbows.mean(axis=-2) + up * np.sqrt(FOREARM**2 - half**2)[..., None]
    return elbows, tip, 2 * np.arcsin(half / FOREARM)


def five_bar_inertia(q):
    """Inertias (..., 2) at the motors: twice the kinetic energy of four bars at unit speed of one motor."""
    step = 1e-6
    mass = DENSITY * WIDTH**2 * np.array([ARM, FOREARM])
    about_end = mass[0] * (ARM**2 + WIDTH**2) / 12 + mass[0] * ARM**2 / 4
    about_middle = mass[1] * (FOREARM**2 + WIDTH**2) / 12
    out = []
    for i in range(2):
        d = step * np.eye(2)[i]
        (e_1, t_1, _), (e_0, t_0, _) = five_bar_points(q + d), five_bar_points(q - d)
        v_e, v_t = (e_1 - e_0) / (2 * step), (t_1 - t_0) / (2 * step)
        total = about_end
        for k in range(2):
            middle, spin = (
                (v_e[..., k, :] + v_t) / 2,
                np.sum((v_t - v_e[..., k, :]) ** 2, axis=-1) / FOREARM**2,
            )
            total = total + mass[1] * np.sum(middle**2, axis=-1) + about_middle * spin
        out.append(ROTOR + total / RATIO**2)
    return np.stack(out, axis=-1)


def test_five_bar_is_judged_in_regular_poses_and_says_how_near_to_a_singularity(five_bar):
    """At the singularity the forearms are in line; a transmission angle of 28 deg, tan 14 deg = 1/4, is kept."""
    keep = 2 * math.atan(0.25)
    for axis in five_bar.axes:
        for case in axis.cases:
            if case.load != "lightest":  # there the other motor lets go
                J = five_bar_inertia(case.at.q)[five_bar.axes.index(axis)]
                assert pytest.approx(J, rel=1e-6) == case.at.J
            angle = float(five_bar_points(case.at.q)[2])
            assert keep * 0.99 < angle < math.pi - 0.99 * keep
            assert case.loops.position.stable
            nearness = min(math.tan(angle / 2), 1 / math.tan(angle / 2))
            assert case.at.regularity == pytest.approx(nearness / five_bar.poses.best, rel=1e-6)
    assert "not judged" in five_bar.remarks[0]


def test_heaviest_five_bar_is_that_of_a_grid_over_all_regular_poses(five_bar):
    turn = np.linspace(-math.pi, math.pi, 361)
    q = np.stack(np.meshgrid(turn, turn, indexing="ij"), axis=-1).reshape(-1, 2)
    with np.errstate(invalid="ignore"):
        angle = five_bar_points(q)[2]
        J = five_bar_inertia(q)
    regular = np.minimum(np.tan(angle / 2), 1 / np.tan(angle / 2)) >= 0.25
    most = J[regular].max(axis=0)
    for k, axis in enumerate(five_bar.axes):
        assert (
            pytest.approx(most[k], rel=0.03) == axis.case("heaviest").at.J
        )  # a grid of 1 deg, a search of 1/500


def test_robot_whose_quantities_no_pose_keeps_is_refused_in_one_line():
    """The sum of two angles of at most 180 deg each is never 400 deg."""
    description = read_description("gsis-scara")
    z = Quantity(of={"A": 1.0, "B": 1.0}, limits=(math.radians(400.0), math.radians(410.0)))
    with pytest.raises(KinematicsError, match=r"gsis-scara: in none of \d+ poses in the joint ranges"):
        tune(description.model_copy(update={"quantities": {"z": z}}))


def test_design_pose_next_to_a_singularity_is_warned_of(five_bar):
    q = np.array([2.1, 0.4])
    near = tune(five_bar.description, q, regularity=0.95)
    assert "near a parallel singularity" in near.warnings[0]
    with pytest.raises(InputError, match="expected above 0, and 1 at most"):
        tune(five_bar.description, regularity=0.0)
