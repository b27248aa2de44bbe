"""The catalogue against the papers: printed numbers, and what follows from them by the corrected physics.

Lee 1989, Perez 1987, Kim 2018, Song 1995, NASA MET; Corke 2011 and Armstrong 1986 for the PUMA 560.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from servotwin.description.load import catalogue_names, read_description
from servotwin.dynamics.ik import delta_fkine, delta_tree_positions
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array, Mechanism
from tests.validation.catalogue_dynamics import body_frames, gravity_torque, mass_matrix, tool_pose

ROBOTS = ("daiv-1", "daiv-1-simplified", "delta", "gsis-scara", "met-two-link", "palletizer-4", "puma560")
RPM = 60.0 / (2.0 * math.pi)
ROUNDING = 1e-12  # relative: the same arithmetic in another order


def mechanism(name: str, **variables: str) -> Mechanism:
    return build_mechanism(read_description(name, {f"variables.{k}": v for k, v in variables.items()}))


def test_catalogue_all_names_are_present() -> None:
    assert set(ROBOTS) <= set(catalogue_names())


@pytest.mark.parametrize("name", ROBOTS)
def test_catalogue_every_number_has_a_source_or_is_marked_assumed(name: str) -> None:
    description = read_description(name)
    assert description.tree is not None
    bare = [
        path
        for path, node in description.tree.walk()
        if isinstance(node.value, str)
        and any(character.isdigit() for character in node.value)
        and not path.startswith(("format", "name", "title", "references"))
        and not (node.origin.source or node.origin.assumed)
    ]
    # Structure, not numbers: names with digits, and the sense of a joint.
    assert [p for p in bare if not p.endswith((".parent", ".direction", "link.name"))] == []


@pytest.mark.parametrize("name", ROBOTS)
def test_catalogue_home_lies_inside_the_limits(name: str) -> None:
    robot = mechanism(name)
    assert np.all(robot.q_home >= robot.limits.q_min)
    assert np.all(robot.q_home <= robot.limits.q_max)


# ------------------------------------------------------------------------------------------------ GSIS SCARA


def test_gsis_tool_pose_follows_equation_1() -> None:
    robot = mechanism("gsis-scara", d2="120 mm")
    th1, th2, d3, th4 = q = np.array([0.4, -1.1, 0.07, 2.0])
    total = th1 + th2 + th4
    expected = np.eye(4)
    expected[:2, :2] = [[-math.sin(total), -math.cos(total)], [math.cos(total), -math.sin(total)]]
    expected[0, 3] = 0.35 * math.cos(th1) + 0.3 * math.cos(th1 + th2)
    expected[1, 3] = 0.35 * math.sin(th1) + 0.3 * math.sin(th1 + th2)
    expected[2, 3] = -0.12 - d3
    np.testing.assert_allclose(tool_pose(robot, q), expected, atol=1e-15)


def test_gsis_largest_joint_speeds_need_the_known_motor_speeds() -> None:
    robot = mechanism("gsis-scara")
    rpm = np.abs(robot.rotors.N @ robot.limits.qd_max) * RPM
    # Table 1 speeds times Table 3 ratios: 3333, 3333, 3750 and 998 rpm, whole numbers.
    np.testing.assert_allclose(rpm, [3333, 3333, 3750, 998], atol=0.5)


def test_gsis_torque_and_voltage_constants_agree_after_conversion() -> None:
    for name in "ABZW":
        motor = read_description("gsis-scara").axes[name].motor
        assert motor is not None
        assert motor.torque_constant is not None
        assert motor.voltage_constant is not None
        # In SI both are the same constant; Table 3 prints two to three digits.
        assert motor.torque_constant == pytest.approx(motor.voltage_constant, rel=4e-3)


def test_gsis_rated_powers_are_torque_times_speed() -> None:
    for name in "ABZW":
        motor = read_description("gsis-scara").axes[name].motor
        assert motor is not None
        assert motor.rated_torque is not None
        assert motor.rated_speed is not None
        # Rated torques have two digits, 1.9 kgf cm at the W axis: 3 %.
        assert motor.rated_output == pytest.approx(motor.rated_torque * motor.rated_speed, rel=0.03)


def scara_mass_matrix(reading: str, load: float, th2: float) -> Array:
    """Lagrange by hand for Table 2: masses, mass centres and radii of gyration of A, B, Z and W."""
    a1, a2 = 0.35, 0.3
    (mA, kA, cA), (mB, kB, cB) = (16.81, 0.290, 0.203), (8.71, 0.201, 0.162)
    if reading == "joint":
        IA, IB, xA, xB = mA * (kA**2 - cA**2), mB * (kB**2 - cB**2), cA, cB
    elif reading == "center":
        IA, IB, xA, xB = mA * kA**2, mB * kB**2, cA, cB
    else:
        IA, IB, xA, xB = mA * (kA**2 - cA**2), mB * (kB**2 - cB**2), a1 - cA, a2 - cB
    tip, spin = 0.3 + 0.97 + load, 0.97 * 0.009**2
    c = math.cos(th2)
    second = IB + mB * xB**2 + tip * a2**2 + spin
    mixed = (mB * xB + tip * a2) * a1 * c
    first = IA + mA * xA**2 + (mB + tip) * a1**2 + second + 2.0 * mixed
    return np.array(
        [
            [first, second + mixed, 0.0, spin],
            [second + mixed, second, 0.0, spin],
            [0.0, 0.0, tip, 0.0],
            [spin, spin, 0.0, spin],
        ]
    )


@pytest.mark.parametrize("reading", ["joint", "center", "distal"])
@pytest.mark.parametrize("load", [0.0, 4.0])
def test_gsis_mass_matrix_equals_lagrange_by_hand(reading: str, load: float) -> None:
    robot = mechanism("gsis-scara", reading=reading, load=f"{load} kg")
    q = np.array([0.3, 0.8, 0.05, -1.0])
    expected = scara_mass_matrix(reading, load, 0.8)
    np.testing.assert_allclose(mass_matrix(robot, q), expected, rtol=ROUNDING, atol=1e-14)


def test_gsis_readings_of_table_2_move_the_inertia_of_axis_a_as_the_file_says() -> None:
    readings = ("joint", "center", "distal")
    base, *others = (mass_matrix(mechanism("gsis-scara", reading=r), np.zeros(4))[0, 0] for r in readings)
    # The file says -12 and +21 % for the stretched arm: whole percents.
    np.testing.assert_allclose([100 * (other / base - 1) for other in others], [21, -12], atol=0.5)


def test_gsis_gravity_acts_on_the_quill_only() -> None:
    robot = mechanism("gsis-scara", load="4 kg")
    tau = gravity_torque(robot, np.array([0.3, 0.8, 0.05, -1.0]))
    # d3 grows downwards, so holding takes a force upwards, which is negative.
    np.testing.assert_allclose(tau, [0, 0, -(0.3 + 0.97 + 4.0) * 9.80665, 0], rtol=ROUNDING, atol=1e-12)


# ---------------------------------------------------------------------------------------------------- DAIV-1

N1, N2, I_R = 100, 110, 4.5e-4
I_1, M_R2, L, D = 1.1, 1.0, 0.4, 0.225


def daiv_simplified(th2: float) -> Array:
    """Lagrange by hand for section 3 with I_3 = I_2 + M_2 d^2, which the printed example gets wrong."""
    I_2, M_2 = 0.4, 12.15
    I_3, I_5 = I_2 + M_2 * D**2, M_2 * L * D
    I_4 = I_1 + I_3 + (M_R2 + M_2) * L**2
    c = math.cos(th2)
    return np.array([[I_4 + 2 * I_5 * c, I_3 + I_5 * c], [I_3 + I_5 * c, I_3]])


def daiv_basic(th2: float, I_3_long: float = 7.6e-4) -> Array:
    """Lagrange by hand for section 4: all of element three (M_t3) swings with bar two, M_p3 of it slides."""
    I_2, M_2, M_t3, M_p3 = 0.3, 10.0, 2.15, 1.15
    c = math.cos(th2)
    second = I_2 + M_2 * D**2 + I_3_long + M_t3 * L**2
    mixed = (M_2 * D + M_t3 * L) * L * c
    first = I_1 + (M_R2 + M_2 + M_t3) * L**2 + second + 2.0 * mixed
    return np.array([[first, second + mixed, 0], [second + mixed, second, 0], [0, 0, M_p3]])


@pytest.mark.parametrize("th2", [0.0, 0.7, 2.5])
def test_daiv_mass_matrices_equal_lagrange_by_hand(th2: float) -> None:
    basic, simplified = mechanism("daiv-1"), mechanism("daiv-1-simplified")
    q = np.array([0.2, th2, -0.1])
    np.testing.assert_allclose(mass_matrix(basic, q), daiv_basic(th2), rtol=ROUNDING, atol=1e-14)
    np.testing.assert_allclose(mass_matrix(simplified, q[:2]), daiv_simplified(th2), rtol=ROUNDING)


def test_daiv_rotors_count_with_the_square_of_the_ratio() -> None:
    expected = np.diag([N1**2 * I_R, N2**2 * I_R])
    np.testing.assert_allclose(
        mechanism("daiv-1-simplified").rotors.reflected_inertia, expected, rtol=ROUNDING
    )
    basic = mechanism("daiv-1").rotors.reflected_inertia
    np.testing.assert_allclose(basic, np.diag([*np.diag(expected), 0.0]), rtol=ROUNDING)


def test_daiv_printed_basic_matrix_excludes_the_printed_inertia_of_element_three() -> None:
    # The authors' own terms (d = 0.2254, M_p3 = 0.15, their formulas): H_22 is printed, truncated, as 6.449.
    def h22(I_3_long: float) -> float:
        I_3 = 0.3 + 10 * 0.2254**2
        return I_3 + N2**2 * I_R + 0.15 * L**2 + I_3_long + 0.25 * 2.15 * (L**2 + L**2)

    assert math.floor(1000 * h22(7.6e-4)) == 6449
    assert math.floor(1000 * h22(0.76)) != 6449
    assert math.floor(1000 * h22(1e-3)) != 6449


def test_daiv_gripper_hangs_500_mm_high_and_its_weight_acts_on_q3() -> None:
    robot = mechanism("daiv-1")
    np.testing.assert_allclose(tool_pose(robot, np.zeros(3))[:3, 3], [0.8, 0, 0.5], atol=1e-15)
    assert tool_pose(robot, np.array([0, 0, -0.15]))[2, 3] == pytest.approx(0.35)
    np.testing.assert_allclose(gravity_torque(robot, np.zeros(3)), [0, 0, 1.15 * 9.80665], atol=1e-12)


def test_daiv_both_configurations_weigh_the_same() -> None:
    # 10 + 2.15 kg of bar two and element three in one, 12.15 kg in the other.
    total = [float(mechanism(name).phi[:, 0].sum()) for name in ("daiv-1", "daiv-1-simplified")]
    assert total[0] == pytest.approx(total[1], rel=ROUNDING)


# ------------------------------------------------------------------------------------------------ palletizer


def test_palletizer_pose_follows_equation_1_and_stays_level() -> None:
    robot = mechanism("palletizer-4")
    th1, th2, th3, th5 = q = np.array([0.4, 1.2, -1.7, 0.9])
    radius = 0.195 + 0.7 * math.cos(th2) + 0.65 * math.cos(th2 + th3) + 0.12
    expected = np.eye(4)
    c, s = math.cos(th1 + th5), math.sin(th1 + th5)
    expected[:2, :2] = [[c, -s], [s, c]]
    height = 0.7 * math.sin(th2) + 0.65 * math.sin(th2 + th3)
    expected[:3, 3] = radius * math.cos(th1), radius * math.sin(th1), height
    np.testing.assert_allclose(tool_pose(robot, q), expected, atol=1e-15)


def test_palletizer_actuator_2_carries_the_difference_of_joint_torques() -> None:
    robot = mechanism("palletizer-4", load="20 kg")
    tau = gravity_torque(robot, robot.q_home)
    tau_m = np.linalg.solve(robot.rotors.N.T, tau)  # tau = N^T tau_m
    ratios = np.array([121.119, 114.05, 120.965, 50.0])
    np.testing.assert_allclose(
        ratios * tau_m, [tau[0], tau[1] - tau[2], tau[2], tau[3]], rtol=1e-10, atol=1e-9
    )


def test_palletizer_static_torques_equal_lever_arms_by_hand() -> None:
    robot = mechanism("palletizer-4", load="20 kg")
    g, tip = 9.80665, 6.53 + 20.0  # link 4 and the load shift with the wrist
    tau2, tau3 = gravity_torque(robot, np.array([0.0, math.radians(30), math.radians(-30), 0.0]))[1:3]
    c2 = math.cos(math.radians(30))
    assert tau3 == pytest.approx(g * (19.26 * 0.325 + tip * 0.65), rel=ROUNDING)
    assert tau2 - tau3 == pytest.approx(g * c2 * (31.32 * 0.35 + (19.26 + tip) * 0.7), rel=ROUNDING)


def test_palletizer_load_shaft_speeds_of_table_3_follow_from_motor_speeds() -> None:
    description = read_description("palletizer-4")
    # Table 3 prints turns per second with three digits.
    for name, ratio, printed in (("th1", 121.119, 0.688), ("th2", 114.05, 0.730), ("th3", 120.965, 0.689)):
        motor = description.axes[name].motor
        assert motor is not None
        assert motor.max_speed is not None
        assert motor.max_speed / ratio / (2 * math.pi) == pytest.approx(printed, abs=6e-4)


# ----------------------------------------------------------------------------------------------------- DELTA


def test_delta_tree_is_the_father_array_of_table_3() -> None:
    robot = mechanism("delta")
    # 1-based, the base is 0; the plate (link 10 on link 3) has two joints here, so one entry more.
    assert (robot.parent + 1).tolist() == [0, 1, 2, 0, 4, 5, 0, 7, 8, 3, 10]
    assert float(robot.phi[:, 0].sum()) == 10.0


def test_delta_plate_starts_sqrt_3_below_the_base_and_never_turns() -> None:
    robot = mechanism("delta")
    expected = np.eye(4)
    expected[2, 3] = -math.sqrt(3.0)
    np.testing.assert_allclose(delta_fkine(robot, np.zeros(3)), expected, atol=1e-15)
    opened = robot.opened
    x = np.random.default_rng(3).uniform(-1, 1, opened.n_q)
    np.testing.assert_allclose(tool_pose(opened, x)[:3, :3], np.eye(3), atol=1e-15)


@pytest.mark.parametrize("t", [0.0, 1.0, 3.0])
def test_delta_vertical_motion_follows_equations_11_and_12(t: float) -> None:
    robot = mechanism("delta")
    turn = math.pi / 9 * t
    q_tree = delta_tree_positions(robot, [-turn] * 3)
    place = dict(zip(robot.tree_joint_names, q_tree, strict=True))
    elbow = (math.pi / 2 + turn) + math.asin(0.5 * math.sin(math.pi / 2 + turn))
    for i in (1, 2, 3):
        assert place[f"elbow{i}"] == pytest.approx(elbow, rel=1e-12)
        assert place[f"fore{i}"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("t", [0.3, 1.0, 1.9])
def test_delta_horizontal_motion_follows_equations_13_and_14_corrected(t: float) -> None:
    robot = mechanism("delta")
    q1 = math.pi / 2 - math.acos(t**2 / (2 * math.sqrt(t**2 + 3))) - math.acos(math.sqrt(3 / (t**2 + 3)))
    root = math.sqrt(-(t**4) + t**2 + 12)
    q4 = math.atan2(math.sqrt(3), -0.5 * t) - math.atan2(root, t**2)
    T = delta_fkine(robot, [q1, q4, q4])
    np.testing.assert_allclose(T[:3, 3], [t, 0.0, -math.sqrt(3.0)], atol=1e-12)
    place = dict(zip(robot.tree_joint_names, delta_tree_positions(robot, [q1, q4, q4]), strict=True))
    fore = math.atan(-math.sqrt(3 / (16 - 3 * t**2)) * t)  # the factor t and the opposite signs are restored
    assert place["elbow1"] == pytest.approx(math.pi - math.acos((2 - t**2) / 4), rel=1e-12)
    assert place["fore1"] == pytest.approx(0.0, abs=1e-12)
    assert place["fore2"] == pytest.approx(fore, rel=1e-12)
    assert place["fore3"] == pytest.approx(-fore, rel=1e-12)
    assert place["elbow2"] == pytest.approx(math.atan2(root, t**2 - 2), rel=1e-12)


def test_delta_loops_close_at_arbitrary_arm_angles() -> None:
    robot = mechanism("delta")
    opened = robot.opened
    q_tree = delta_tree_positions(robot, [0.4, -0.3, 0.2])
    x, *_ = np.linalg.lstsq(opened.coupling.G, q_tree - opened.coupling.q0, rcond=None)
    frames = body_frames(opened, x)
    for loop in robot.loops:
        a, b = (robot.frame(name) for name in (loop.frame_a, loop.frame_b))
        ends = [(frames[f.body] @ f.X_body_frame)[:3, 3] for f in (a, b)]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-14)


# ------------------------------------------------------------------------------------------------------- MET


def test_met_inertias_are_those_of_slender_links_within_one_percent() -> None:
    description = read_description("met-two-link")
    for name, length in (("J1", 0.89), ("J2", 0.64)):
        link = description.axes[name].link
        assert link.inertia is not None
        assert link.inertia.tensor is not None
        assert link.inertia.tensor.zz == pytest.approx(link.mass * length**2 / 12, rel=0.01)


def test_met_arm_is_straight_at_zero_and_feels_no_gravity() -> None:
    robot = mechanism("met-two-link")
    np.testing.assert_allclose(tool_pose(robot, np.zeros(2))[:3, 3], [1.53, 0, 0], atol=1e-15)
    assert not robot.gravity.any()
    assert not gravity_torque(robot, np.array([0.3, 0.4])).any()


def test_met_mass_matrix_equals_lagrange_by_hand_and_is_dominated_by_the_rotor() -> None:
    robot = mechanism("met-two-link")
    th2 = 0.6
    mixed = 26.4 * 0.89 * 0.32 * math.cos(th2)
    second = 0.9 + 26.4 * 0.32**2
    first = 2.78 + 41.7 * 0.445**2 + 26.4 * 0.89**2 + second + 2 * mixed
    expected = np.array([[first, second + mixed], [second + mixed, second]])
    np.testing.assert_allclose(mass_matrix(robot, np.array([0.1, th2])), expected, rtol=ROUNDING)
    np.testing.assert_allclose(
        robot.rotors.reflected_inertia, np.diag([1570**2 * 6.38e-5] * 2), rtol=ROUNDING
    )
    assert robot.rotors.reflected_inertia[0, 0] > first


# -------------------------------------------------------------------------------------------------- PUMA 560

NOMINAL = np.array([0, math.pi / 4, math.pi, 0, math.pi / 4, 0])


def test_puma_inertia_and_gravity_equal_the_published_values_at_the_nominal_pose() -> None:
    # P. Corke, Robotics, Vision and Control (2011), section 9.2: inertia(qn) and gravload(qn), four decimals.
    robot = mechanism("puma560")
    published = np.diag([3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941])
    published[0, 1:4] = published[1:4, 0] = -0.4044, 0.1006, -0.0025
    published[1, 2] = published[2, 1] = 0.3509
    published[1, 4] = published[4, 1] = 0.0024
    published[2, 4] = published[4, 2] = 0.0015
    M = mass_matrix(robot, NOMINAL) + robot.rotors.reflected_inertia
    np.testing.assert_allclose(M, published, atol=6e-5)
    np.testing.assert_allclose(gravity_torque(robot, NOMINAL), [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=6e-5)


def test_puma_inertia_counted_across_joint_3_changes_no_joint_torque() -> None:
    shifted, more = mechanism("puma560"), mechanism("puma560", shift="0.05 kg*m^2")
    q = np.random.default_rng(1).uniform(-3, 3, 6)
    assert not np.allclose(shifted.phi, more.phi)
    np.testing.assert_allclose(mass_matrix(shifted, q), mass_matrix(more, q), rtol=1e-12, atol=1e-14)
