"""Modes of operation with a whole robot behind the drives: what the loops are told is what the shafts do."""

from __future__ import annotations

import numpy as np
import pytest

from one_drive import DISABLED, ENABLED, ON, QUICK, READY
from robot_bus import ENABLE, SHUTDOWN, SWITCH_ON, RobotBus
from servotwin.control.servo.axis_data import HEADROOM
from servotwin.errors import InputError
from servotwin.fieldbus.cia402.drive import OFF_LIMIT
from servotwin.fieldbus.robot.build import axes_of_slaves, following_window, robot_drives
from servotwin.robot.load import load_robot

TURN = 1 << 20
PP, PV, TQ, HM, CSP, CSV, CST = 1, 3, 4, 6, 8, 9, 10


@pytest.fixture(scope="module")
def bus() -> RobotBus:
    return RobotBus()


def begin(bus: RobotBus, mode: int = CSP, axis: int = 0) -> None:
    """All axes at rest and enabled, one of them in a mode; options and limits as they were."""
    bus.modes = [CSP] * bus.m
    bus.cycle(0, 300)
    for name, value in (
        ("quick_stop_option", 2),
        ("max_torque", 3000),
        ("disable_option", 1),
        ("path_speed", 0),
    ):
        bus.set_object(name, value)
    bus.enable(settle=200)
    bus.modes[axis] = mode
    assert bus.states() == [ENABLED] * bus.m, [f"{code:04X}" for code in bus.codes()]


def test_csv_is_the_speed_of_the_shaft(bus: RobotBus) -> None:
    begin(bus, CSV)
    speed = 2 * TURN  # a second
    for k in range(400):
        bus.targets[0][1] = min(k, 200) * speed // 200
        bus.cycle(ENABLE)
    start = bus.counts[0]
    bus.cycle(ENABLE, 500)
    assert bus.counts[0] - start == pytest.approx(speed / 2, rel=2e-3)
    assert bus.inputs[0][3] == pytest.approx(speed, rel=0.02)
    begin(bus, CSV)
    bus.cycle(ENABLE, 300)
    assert abs(bus.inputs[0][3]) < TURN // 50


def test_cst_accelerates_the_reflected_inertia(bus: RobotBus) -> None:
    """Against J w' = tau - friction with the inertia of the model, rotor included; th1 carries no weight."""
    begin(bus, CST)
    robot, machine = bus.robot.robot, bus.robot.machine
    q = robot.q_home
    N = robot.mechanism.rotors.N
    J = robot.inertia(q, drives=True)[0, 0] / N[0, 0] ** 2
    rated = bus.object(0, "rated_torque") * 1e-3
    share = 400  # 0.1 %
    bus.targets[0][2] = share
    bus.cycle(ENABLE, 20)
    before = float(machine.motors["w"][0])
    bus.cycle(ENABLE, 50)
    gained = float(machine.motors["w"][0]) - before
    friction = 0.05  # N m, of the motor's file
    assert bus.inputs[0][4] == pytest.approx(share, abs=8)
    assert J * gained / 0.05 == pytest.approx(share * 1e-3 * rated - friction, rel=0.05)
    bus.targets[0][2] = -share
    bus.cycle(ENABLE, 70)
    bus.targets[0][2] = 0


def test_tq_follows_its_slope(bus: RobotBus) -> None:
    begin(bus, TQ)
    bus.set_object("torque_slope", 2000, 0)  # 0.1 %/s: 200 in 100 ms
    bus.targets[0][2] = 200
    seen = [bus.cycle(ENABLE)[0][4] for _ in range(100)]
    assert seen[49] == pytest.approx(100, abs=6)
    assert seen[99] == pytest.approx(200, abs=6)
    bus.targets[0][2] = -200
    bus.cycle(ENABLE, 200)
    bus.targets[0][2] = 0


def test_pp_arrives_and_says_so(bus: RobotBus) -> None:
    begin(bus, PP)
    bus.set_object("profile_velocity", 4 * TURN, 0)
    bus.set_object("profile_acceleration", 20 * TURN, 0)
    bus.set_object("profile_deceleration", 20 * TURN, 0)
    goal = int(bus.counts[0]) + 2 * TURN
    bus.targets[0][0] = goal
    bus.words = [ENABLE | 0x10, *[ENABLE] * 3]
    bus.cycle(times=1)
    bus.cycle(ENABLE, 1200)
    assert bus.counts[0] == pytest.approx(goal, abs=TURN // 360)
    assert bus.inputs[0][0] & 0x0400


def test_pv_follows_its_ramp(bus: RobotBus) -> None:
    begin(bus, PV)
    bus.set_object("profile_acceleration", 10 * TURN, 0)
    bus.targets[0][1] = TURN
    bus.cycle(ENABLE, 50)
    assert bus.inputs[0][3] == pytest.approx(0.5 * TURN, rel=0.15)
    bus.cycle(ENABLE, 300)
    assert bus.inputs[0][3] == pytest.approx(TURN, rel=0.03)
    assert bus.inputs[0][0] & 0x0400


def test_torque_limits_of_both_sides_hold(bus: RobotBus) -> None:
    """A jump of the target: the speed loop asks for all it can get."""
    begin(bus)
    bus.set_object("torque_limit_positive", 500, 0)
    bus.set_object("torque_limit_negative", 200, 0)
    seen = []
    for side in (1, -1):
        bus.targets[0][0] += side * TURN // 4
        seen.append([bus.cycle(ENABLE)[0][4] for _ in range(60)])
    bus.set_object("torque_limit_positive", 3000, 0)
    bus.set_object("torque_limit_negative", 3000, 0)
    assert 480 < max(seen[0]) < 530
    assert -230 < min(seen[1]) < -180


def test_velocity_offset_takes_the_lag_away(bus: RobotBus) -> None:
    """Without feed-forward a position loop of gain K trails by v/K; 60B1 gives it the speed."""
    lags = []
    for fed in (False, True):
        begin(bus)
        step = 2000
        for k in range(400):
            bus.targets[0][0] += step * min(k, 100) // 100
            bus.targets[0][4] = step * 1000 if fed and k >= 100 else 0
            bus.cycle(ENABLE)
        lags.append(bus.inputs[0][6])
        bus.targets[0][4] = 0
    gain = float(bus.robot.machine.axes["K_x"][0])
    assert lags[0] == pytest.approx(2_000_000 / gain, rel=0.05)
    assert abs(lags[1]) < 0.1 * lags[0]


def test_quick_stop_stops_and_brakes_hold(bus: RobotBus) -> None:
    begin(bus, CSV)
    bus.targets[0][1] = 2 * TURN
    bus.cycle(ENABLE, 400)
    bus.cycle(0x02)
    assert bus.states()[0] == QUICK
    bus.cycle(0x02, 300)
    assert bus.states() == [DISABLED] * bus.m
    assert bus.robot.machine.motors["brake_closed"].all()
    place = bus.counts
    bus.cycle(0x02, 200)
    assert np.abs(bus.counts - place).max() <= 2


@pytest.mark.parametrize("mode", [PP, PV, TQ, HM, CSP, CSV, CST])
def test_lines_follow_the_states_in_every_mode(bus: RobotBus, mode: int) -> None:
    """Bridge and brake of the plant: on in operation enabled, off elsewhere."""
    begin(bus, mode)
    bus.hold()
    bus.set_object("disable_option", 0)
    lines = bus.robot.machine.servo.command["enable"][0]
    way = (
        (ENABLE, ENABLED),
        (SWITCH_ON, ON),
        (SHUTDOWN, READY),
        (SWITCH_ON, ON),
        (0x00, DISABLED),
        (SHUTDOWN, READY),
    )
    for word, state in way:
        bus.cycle(word, 2)
        assert bus.states()[0] == state
        assert lines[0] == int(state == ENABLED)
        assert bus.robot.machine.motors["brake_closed"][0] == int(state != ENABLED)


def test_homing_on_a_limit_switch_of_the_joint() -> None:
    """Method 17: the home position is where the joint limit of the file is."""
    robot = load_robot("palletizer-4")
    low, start = robot.limits.q_min[0], robot.q_home.copy()
    start[0] = low + 0.05
    bus = RobotBus(q=start)
    bus.enable(settle=100)
    bus.modes[0] = HM
    bus.set_object("homing_method", 17, 0)
    bus.cycle(ENABLE)
    bus.words[0] = ENABLE | 0x10
    for _ in range(8000):
        bus.cycle()
        if bus.inputs[0][0] & 0x3000:
            break
    assert bus.inputs[0][0] & 0x3400 == 0x1400
    machine, axes = bus.robot.machine, bus.robot.machine.axes
    home = machine.servo.feedback["count"][0, 0] - bus.inputs[0][2]
    joint = home / float(axes["counts_per_rad"][0]) * machine.inverse[0, 0]
    slow = float(bus.object(0, "homing_speed_zero")) / TURN * 2 * np.pi * machine.inverse[0, 0]
    assert joint == pytest.approx(low, abs=3 * slow * 1e-3)


def test_period_of_the_bus_is_that_of_the_interpolation() -> None:
    """At 2 ms the same ramp in twice as large steps: the shaft moves as smoothly as at 1 ms."""
    found = []
    for period in (1, 2):
        bus = RobotBus()
        for k in range(4):
            for state in (4, 2):
                bus.ask(k, state)
            assert bus.download(k, 0x1C32, 2, (period * 1_000_000).to_bytes(4, "little")) == 0
            bus.ask(k, 4)
        bus.cycle(0)
        for k in range(4):
            bus.ask(k, 8)
        bus.cycle(0, 2)
        bus.enable(settle=200 // period)
        start = bus.targets[0][0]
        for k in range(300 // period):
            bus.targets[0][0] = start + 1000 * period * (k + 1)
            bus.cycle(ENABLE)
        found.append((bus.counts[0] - start, bus.inputs[0][3]))
    assert found[0][0] == pytest.approx(found[1][0], abs=300)
    assert found[0][1] == pytest.approx(found[1][1], rel=0.02)


def test_several_axes_on_a_slave_are_the_same_robot() -> None:
    found = []
    for per_slave in (1, 3):
        bus = RobotBus(axes_per_slave=per_slave)
        assert len(bus.segment.devices) == (4 if per_slave == 1 else 2)
        bus.enable(settle=100)
        for _ in range(50):
            for target in bus.targets:
                target[0] += 500
            bus.cycle(ENABLE)
        found.append(bus.counts)
    assert (found[0] == found[1]).all()


def test_objects_know_the_robot(bus: RobotBus) -> None:
    assert bus.object(0, "encoder_increments") == TURN
    assert bus.object(0, "rated_torque") == pytest.approx(6370, abs=1)
    assert bus.object(0, "max_torque") == pytest.approx(19.1 / 6.37 * 1000, abs=2)
    assert bus.object(0, "max_motor_speed") > 3000
    assert bus.object(0, "bus_voltage") == pytest.approx(310_000, rel=0.05)
    assert bus.object(0, "temperature") > 200


@pytest.mark.parametrize("robot", ["palletizer-4", "gsis-scara", "puma560", "sixaxis-5kg"])
def test_window_of_the_following_error_is_twice_the_lag_at_full_speed(robot: str) -> None:
    """It was one turn of the motor, of up to four that a loop lags: jobs ended with 8611 at half their speed."""
    made, arm = robot_drives(robot, lock_step=True), load_robot(robot)
    windows = np.array([made.drives.objects[k]["following_window"][n] for k, n in made.drives.places])
    axes, fastest = made.machine.axes, np.abs(arm.mechanism.rotors.N) @ arm.limits.qd_max
    lag = fastest * axes["counts_per_rad"] / axes["K_x"]
    np.testing.assert_allclose(windows / lag, 2.0 * HEADROOM, rtol=1e-3)
    assert following_window(1e6, 0.0) == OFF_LIMIT


def test_robots_that_have_no_such_drives_are_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="--axes-per-slave"):
        axes_of_slaves(6, 9)
    with pytest.raises(InputError, match="expected cascade"):
        robot_drives("sixaxis-5kg", {"controller.law": "computed-torque"})
