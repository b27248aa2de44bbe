"""Statics against virtual work by finite differences, energy and closed forms."""

from __future__ import annotations

import json

import numpy as np
import pytest

import servotwin as st
from servotwin.design.statics import (
    actuator_jacobian,
    actuator_units,
    isotropic_acceleration,
    isotropic_speed,
    static_torques,
    without_noise,
)

ROBOTS = ("palletizer-4", "palletizer-4-loops", "gsis-scara", "puma560", "delta", "stewart", "five-bar")


@pytest.mark.parametrize("name", ROBOTS)
def test_force_does_the_work_of_the_torques(name):
    """tau_force . dq = F . dp for every joint, p by finite differences of the forward kinematics."""
    robot = st.load_robot(name)
    force = np.array([30.0, -20.0, 70.0])
    found = st.statics(robot, force=force)
    h = 1e-6
    steps = np.eye(robot.n) * h
    ahead, back = (robot.fkine(robot.q_home + sign * steps)[:, :3, 3] for sign in (1.0, -1.0))
    assert found.tau_force == pytest.approx((ahead - back) @ force / (2.0 * h), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_weight_is_the_slope_of_the_potential_energy(name):
    robot = st.load_robot(name)
    found = st.statics(robot)
    steps = np.eye(robot.n) * 1e-6
    still = np.zeros((robot.n, robot.n))
    ahead, back = (robot.energy(robot.q_home + sign * steps, still)[1] for sign in (1.0, -1.0))
    assert found.tau_gravity == pytest.approx((ahead - back) / 2e-6, rel=1e-5, abs=1e-4)


def test_palletizer_actuator_2_bears_the_difference():
    """Kim (2018): actuator 3 stands on the base, so that actuator 2 carries tau_2 - tau_3."""
    q = np.radians([10.0, 60.0, -100.0, 20.0])
    found = st.statics("palletizer-4", q, force=(50.0, 20.0, -196.0))
    tau = found.tau
    assert found.tau_actuator == pytest.approx([tau[0], tau[1] - tau[2], tau[2], tau[3]])


def test_palletizer_jacobian_is_that_of_the_paper():
    """Kim (2018), eq 8 and 9 with the palletizer's lengths."""
    th1, th2, th3, th5 = np.radians([25.0, 70.0, -80.0, 15.0])
    a1, a2, a3, a4 = 0.195, 0.7, 0.65, 0.12
    r = a1 + a2 * np.cos(th2) + a3 * np.cos(th2 + th3) + a4
    z2, z3 = a2 * np.sin(th2) + a3 * np.sin(th2 + th3), a3 * np.sin(th2 + th3)
    h2, h3 = a2 * np.cos(th2) + a3 * np.cos(th2 + th3), a3 * np.cos(th2 + th3)
    c, s = np.cos(th1), np.sin(th1)
    J = np.array([[-s * r, -c * z2, -c * z3, 0.0], [c * r, -s * z2, -s * z3, 0.0], [0.0, h2, h3, 0.0]])
    found = st.statics("palletizer-4", (th1, th2, th3, th5), force=(10.0, -30.0, 55.0))
    assert found.jacobian[:3] == pytest.approx(J, abs=1e-12)
    assert found.tau_force == pytest.approx(J.T @ (10.0, -30.0, 55.0), abs=1e-10)


def test_tool_stiffness_is_force_over_shift():
    """Each actuator yields by tau / k; the tool moves by J_a of that, and K times the shift is the force."""
    k = {"th1": 3e5, "th2": 2e5, "th3": 1e5, "th5": 5e4}
    robot = st.load_robot("palletizer-4")
    q = np.radians([10.0, 60.0, -100.0, 20.0])
    found = st.statics(robot, q, stiffness=k)
    J_a = actuator_jacobian(robot, q)[:3]
    force = np.array([100.0, 50.0, -200.0])
    shift = J_a @ ((J_a.T @ force) / np.array(list(k.values())))
    assert found.stiffness @ shift == pytest.approx(force)
    ellipsoid = found.stiffness_ellipsoid
    assert ellipsoid.lengths == pytest.approx(np.sort(np.linalg.eigvalsh(found.stiffness))[::-1])


def test_stiffness_of_the_gears_of_a_file():
    found = st.statics("sixaxis-5kg")
    J = found.jacobian[:3]
    C = J @ np.diag(1.0 / np.array([6e4, 6e4, 2.5e4, 9e3, 9e3, 5e3])) @ J.T
    assert found.stiffness == pytest.approx(np.linalg.inv(C), rel=1e-9)


def test_stretched_arm_is_singular():
    found = st.statics("gsis-scara", (0.3, 0.0, 0.05, 0.0))
    assert found.singular
    assert not st.statics("gsis-scara", (0.3, 1.0, 0.05, 0.0)).singular
    assert found.force.lengths[0] > 1e9


def test_isotropic_speed_and_acceleration_hold_in_every_direction():
    rng = np.random.default_rng(3)
    J, M = rng.normal(size=(2, 2)), np.diag([2.0, 1.0])
    qd_max, tau_max, g = np.array([1.0, 2.0]), np.array([30.0, 20.0]), np.array([5.0, -3.0])
    angle = np.linspace(0.0, 2.0 * np.pi, 100_001)
    d = np.stack([np.cos(angle), np.sin(angle)])
    qd = np.linalg.solve(J, d)
    assert isotropic_speed(J[None], qd_max)[0] == pytest.approx(
        (qd_max[:, None] / np.abs(qd)).min(), rel=1e-6
    )
    tau = M @ qd
    # torque along +-d and weight: the worse sign counts
    worst = ((tau_max - np.abs(g))[:, None] / np.abs(tau)).min()
    assert isotropic_acceleration(J[None], M[None], g[None], tau_max)[0] == pytest.approx(worst, rel=1e-6)


def test_batches_are_single_calls_in_a_row():
    robot = st.load_robot("puma560")
    q = robot.random_q(np.random.default_rng(0), 5)
    wrench = np.array([10.0, 20.0, -30.0, 1.0, 2.0, 3.0])
    rows = [static_torques(robot, each, wrench) for each in q]
    assert static_torques(robot, q, wrench) == pytest.approx(np.array(rows))


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"stiffness": {"th9": 1e5}}, "no actuator 'th9'; expected some of th1, th2, th3, th5"),
        ({"stiffness": {"th2": -1.0}}, "not above zero"),
        ({"force": (1.0, 2.0)}, "force has shape"),
        ({"frame": "elbow"}, "no frame 'elbow'"),
    ],
)
def test_bad_input_is_refused(wishes, message):
    with pytest.raises(st.ServotwinError, match=message):
        st.statics("palletizer-4", **wishes)


def test_summary_of_a_singular_pose_is_json():
    """The SCARA stands stretched at home: it bears any force along the arm."""
    found = st.statics("gsis-scara", force=(0.0, 10.0, 0.0))
    assert found.singular
    data = json.loads(json.dumps(found.summary(), allow_nan=False))
    assert None in data["force_ellipsoid"]["lengths"]


LOADED = {"payload.mass": "12 kg", "payload.center": "[0 mm, 0 mm, -50 mm]"}


def test_payload_takes_the_place_of_the_files():
    """The file's own mass changes nothing; 7 kg more weigh at the payload's mass centre, 9.81 m/s2 and J^T."""
    stated = st.statics("palletizer-4", changes=LOADED)
    same = st.statics("palletizer-4", changes=LOADED, payload=12.0)
    assert same.tau_gravity == pytest.approx(stated.tau_gravity, rel=1e-12)
    assert same.notes == ()
    more = st.statics("palletizer-4", changes=LOADED, payload=19.0)
    weight = 7.0 * np.linalg.norm(more.robot.mechanism.gravity)
    J = more.jacobian  # the tool does not pitch: what hangs below it weighs as at its origin
    assert more.tau_gravity - stated.tau_gravity == pytest.approx(J[2] * weight, abs=1e-9)
    assert more.notes == ("payload 19 kg in place of the file's 12 kg",)
    bare = st.statics("palletizer-4", changes={"payload": "{mass: 0 kg}"})
    none = st.statics("palletizer-4", changes=LOADED, payload=0.0)
    assert none.tau_gravity == pytest.approx(bare.tau_gravity, rel=1e-12)


def test_payload_of_another_mass_keeps_its_radii_of_gyration():
    tensor = "{tensor: {xx: 0.2 kg*m^2, yy: 0.3 kg*m^2, zz: 0.4 kg*m^2}}"
    twice = "{tensor: {xx: 0.4 kg*m^2, yy: 0.6 kg*m^2, zz: 0.8 kg*m^2}}"
    scaled = st.statics("palletizer-4", changes={**LOADED, "payload.inertia": tensor}, payload=24.0)
    stated = st.statics("palletizer-4", changes={**LOADED, "payload.mass": "24 kg", "payload.inertia": twice})
    assert scaled.robot.inertia(stated.q) == pytest.approx(stated.robot.inertia(stated.q), rel=1e-12)


def test_payload_of_a_loaded_robot_is_refused():
    with pytest.raises(st.InputError, match="does not tell its payload"):
        st.statics(st.load_robot("palletizer-4"), payload=5.0)


def test_actuators_without_stiffness_are_named():
    found = st.statics("palletizer-4", stiffness={"th2": 2e5, "th3": 2e5})
    assert found.notes == ("stiffness: th1, th5 without one, counted as rigid",)
    assert st.statics("palletizer-4").notes == ()  # nothing yields, and no stiffness is given
    assert st.statics("sixaxis-5kg").notes == ()


def test_units_of_actuators_are_those_of_their_joints():
    assert actuator_units(st.load_robot("gsis-scara")) == ("rad", "rad", "m", "rad")
    assert actuator_units(st.load_robot("stewart")) == ("m",) * 6


def test_rounding_is_zero_in_tables():
    assert without_noise([-1.471e-15, 30.0, 1e-9]).tolist() == [0.0, 30.0, 1e-9]
    assert without_noise([np.inf, 1.5e-8, 2e5]).tolist() == [np.inf, 0.0, 2e5]
    assert without_noise([]).tolist() == []


@pytest.mark.parametrize("asked", [st.statics, st.workspace])
def test_position_that_is_no_number_is_refused(asked):
    with pytest.raises(st.InputError, match="q: palletizer-4: th2, th5: expected finite positions"):
        asked("palletizer-4", q=[0.0, np.nan, -1.5, np.inf])
