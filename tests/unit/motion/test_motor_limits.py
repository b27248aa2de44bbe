"""The limits of the motors: against the circuit and the friction that the simulation integrates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

import servotwin as st
from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.load import read_description
from servotwin.description.motors import current_limit
from servotwin.drives.dc.model import dc_current_rate
from servotwin.drives.friction import friction_torque
from servotwin.drives.pmsm.model import pmsm_current_rates
from servotwin.errors import InputError
from servotwin.motion.limits import limits_of
from servotwin.motion.motor_limits import drive_limits, motor_limits_of
from servotwin.simulation.plant.drive_records import motor_records

# helpers of compiled loops are called from compiled code only


@njit
def dc_rate(motors, j, u, i, w):
    return dc_current_rate(motors[j], u, i, w)


@njit
def pmsm_rates(motors, j, i_q, w):
    return pmsm_current_rates(motors[j], 0.0, 0.0, 0.0, i_q, w)


@njit
def shaft_friction(motors, j, w):
    return friction_torque(motors[j], w)


ROBOTS = ("gsis-scara", "puma560", "palletizer-4")


def made(name: str, **changes: str):
    description = read_description(name, changes)
    robot = st.load_robot(name, changes)
    motors = motor_limits_of(robot, description)
    assert motors is not None
    return description, robot, motors


@pytest.mark.parametrize("name", ROBOTS)
def test_torque_limit_is_that_of_the_simulated_driver(name: str) -> None:
    description, _, motors = made(name)
    for j, drive in enumerate(drives_of(description)):
        K = description.axes[drive.owner].motor.torque_constant
        assert motors.drive.torque[j] == pytest.approx(K * current_limit(description, drive), rel=1e-12)


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
def test_voltage_edge_is_a_steady_state_of_the_simulated_dc_motor(name: str) -> None:
    """On the edge the current neither rises nor falls with the whole bus voltage at the winding."""
    description, _, motors = made(name, **{"power.bridge.on_resistance": "0.2 ohm"})
    records = motor_records(description)
    U = description.power.bus_voltage
    for w in (0.0, 60.0, 250.0, -250.0, 900.0):  # the last beyond the ideal speed
        low, high = motors.drive.voltage_torques(np.full(len(records), w))
        for j, record in enumerate(records):
            scale = U / record["L"]
            for u, tau in ((U, high[j]), (-U, low[j])):
                assert dc_rate(records, j, u, tau / record["K"], w) == pytest.approx(0.0, abs=1e-9 * scale)


def test_voltage_edge_is_a_steady_state_of_the_simulated_synchronous_motor() -> None:
    description, _, motors = made("palletizer-4")
    records = motor_records(description)
    most = description.power.bus_voltage / math.sqrt(3.0)
    for w in (0.0, 200.0, -300.0):
        for tau in motors.drive.voltage_torques(np.full(len(records), w)):
            for j, record in enumerate(records):
                i_q = tau[j] / record["K"]
                # the voltages that keep the current: the rates without voltage, times the inductances
                d, q = pmsm_rates(records, j, i_q, w)
                u_d, u_q = -d * record["L_d"], -q * record["L_q"]
                assert math.hypot(u_d, u_q) == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_share_is_one_exactly_on_the_edges(name: str) -> None:
    _, _, motors = made(name)
    drive = motors.drive
    w = np.linspace(-0.99, 0.99, 41)[:, None] * np.minimum(
        drive.voltage / drive.voltage_constant, drive.speed
    )
    for edge in drive.torques(w):
        np.testing.assert_allclose(drive.share(edge, w), 1.0, rtol=1e-9)
        assert (drive.share(0.99 * edge, w) < 1.0).all()
        assert (drive.share(1.01 * edge, w) > 1.0).all()


def test_braking_has_the_whole_current_where_driving_has_none() -> None:
    _, _, motors = made("gsis-scara")
    drive = motors.drive
    w = drive.voltage / drive.voltage_constant  # ideal speed
    low, high = drive.torques(w)
    np.testing.assert_allclose(high, 0.0, atol=1e-9)
    np.testing.assert_allclose(low, -drive.torque, rtol=1e-12)
    low, high = drive.torques(1.05 * w)
    assert (high < 0.0).all()  # braking is all that is possible
    assert (drive.share(np.zeros(4), 1.05 * w) > 1.0).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_motor_torques_produce_the_motion(name: str) -> None:
    """Forward dynamics of arm and rotors under the torques, less the friction of the simulation, gives qdd back."""
    description, robot, motors = made(name)
    rng = np.random.default_rng(1)
    q = robot.random_q(rng, 20)
    qd, qdd = rng.uniform(-1, 1, (2, 20, robot.n)) * robot.limits.qd_max
    N = robot.mechanism.rotors.N
    records = motor_records(description)
    tau = motors.motor_torques(q, qd, qdd)
    w = motors.motor_speeds(qd)
    friction = np.zeros_like(tau)
    for j, record in enumerate(records):
        for k in range(len(q)):
            record["mode"] = int(np.sign(w[k, j]))
            friction[k, j] = shaft_friction(records, j, w[k, j])
    found = robot.accel(q, qd, (tau - friction) @ N, drives=True)
    np.testing.assert_allclose(found, qdd, rtol=1e-8, atol=1e-8)


def test_gear_losses_cost_the_driving_motor_and_help_the_braking_one() -> None:
    changes = {"axes.Z.gear.efficiency": "50 %", "axes.Z.motor.viscous_friction": "0 N*m*s/rad"}
    _, robot, motors = made("gsis-scara", **changes)
    q, still = np.array([[0.0, 0.5, 0.05, 0.0]]), np.zeros((1, 4))
    weight = robot.gravload(q[0])[2] / 785.4  # at the motor; q grows downwards
    for qd_z, factor in ((-0.1, 2.0), (0.1, 0.5)):
        qd = np.array([[0.0, 0.0, qd_z, 0.0]])
        assert motors.motor_torques(q, qd, still)[0, 2] == pytest.approx(factor * weight, rel=1e-9)
    assert motors.motor_torques(q, still, still)[0, 2] == pytest.approx(weight, rel=1e-9)


def test_coupled_motor_is_bound_by_its_own_speed() -> None:
    """The third motor of the palletizer turns with th2 + th3: within both joint limits it may be too fast."""
    _, robot, motors = made("palletizer-4")
    qd = robot.limits.qd_max * np.array([0.0, 0.8, 0.8, 0.0])
    shares = motors.shares(robot.q_home[None], qd[None], np.zeros((1, 4)))[0]
    w = 120.965 * (qd[1] + qd[2])
    assert shares[2] == pytest.approx(w / (4998 * 2 * np.pi / 60), rel=1e-9)
    assert shares[2] > 1.5
    assert shares[1] < 1.0


def test_missing_data_limits_nothing() -> None:
    drive = drive_limits([DriveData("A", "A")], None)
    assert np.isinf([drive.torque, drive.speed, drive.voltage]).all()
    assert drive.share(np.ones(1), np.ones(1))[0] == 0.0
    assert motor_limits_of(st.load_robot("delta"), read_description("delta")) is None
    description, robot = read_description("gsis-scara"), st.load_robot("gsis-scara")
    assert limits_of(robot).motors is None
    assert limits_of(robot, description, motors=False).motors is None


def test_tool_limits_of_the_file_are_in_force() -> None:
    changes = {
        "tool.limits.speed": "80 cm/s",
        "tool.limits.acceleration": "4 m/s^2",
        "tool.limits.jerk": "50 m/s^3",
    }
    description, robot = read_description("gsis-scara", changes), st.load_robot("gsis-scara", changes)
    limits = limits_of(robot, description)
    assert (limits.tool_speed, limits.tool_acceleration, limits.tool_jerk) == (0.8, 4.0, 50.0)
    assert limits_of(robot, description, tool_speed=0.3).tool_speed == 0.3  # the lower of both
    assert limits_of(robot, description, tool_speed=3.0).tool_speed == 0.8
    with pytest.raises(InputError, match=r"tool\.limits\.speed.*'3 deg/s'.*m/s"):
        read_description("gsis-scara", {"tool.limits.speed": "3 deg/s"})
    with pytest.raises(InputError, match=r"tool\.limits\.jerk.*expected more than 0"):
        read_description("gsis-scara", {"tool.limits.jerk": "0 m/s^3"})


def test_effort_limits_of_the_file_are_in_force() -> None:
    description, robot = read_description("puma560"), st.load_robot("puma560")
    np.testing.assert_array_equal(limits_of(robot, description).torque, robot.limits.tau_max)
    assert np.isinf(limits_of(robot, description, torque=False).torque).all()
    assert np.isinf(limits_of(robot).torque).all()
