"""The stop whose reference leads: what the controller believes of its loops, against their own equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from servotwin.control.main.leading_stop import USED, Following, LeadingStop, following_of, nearest_time
from servotwin.control.main.time_scaling import GENTLE, HARD, RAMP, Cursor, stoppable_rate
from servotwin.description.frames import Array
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.motion.limits import MotionLimits, limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, Speed
from servotwin.robot.robot import Robot
from servotwin.simulation.live_robot import make_controller

T = 0.004


def known(name: str, **overrides: str) -> tuple[Robot, MotionLimits, Following | None]:
    robot, limits, (following, _) = judged(name, **overrides)
    return robot, limits, following


def judged(name: str, **overrides: str) -> tuple[Robot, MotionLimits, tuple[Following | None, str]]:
    changes = {key.replace("__", "."): value for key, value in overrides.items()}
    description = read_description(name, changes)
    robot = Robot(build_mechanism(description), title=description.title)
    limits = limits_of(robot, description)
    return robot, limits, following_of(robot, limits, description)


def test_loops_that_feed_all_of_the_speed_forward_do_not_follow_late() -> None:
    assert judged("sixaxis-5kg")[2] == (None, "")
    assert judged("gsis-scara", controller__feedforward__velocity="100 %")[2] == (None, "")


def test_arm_that_nobody_knows_to_lead_says_why() -> None:
    assert judged("gsis-scara", controller__law="computed-torque")[2] == (None, "its law is computed-torque")
    integral = judged("gsis-scara", controller__gains__A__position_integral="5 1/s2")
    assert integral[2] == (None, "its position loops have an integral")
    robot, limits, _ = known("gsis-scara")
    without = replace(limits, motors=None)
    assert following_of(robot, without, read_description("gsis-scara")) == (
        None,
        "nothing is known of its motors",
    )


@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_lead_and_speed_are_those_of_each_motors_own_loop(share: float) -> None:
    robot, _, following = known(
        "palletizer-4",
        controller__feedforward__velocity=str(share),
        controller__axes__th2__position_bandwidth="25 1/s",
    )
    assert following is not None
    N = np.asarray(robot.mechanism.rotors.N)
    K = np.array([25.0 if name == "th2" else 40.0 for name in robot.mechanism.rotors.names])
    gap, path = np.array([0.02, -0.03, 0.01, 0.05]), np.array([0.3, -0.5, 0.7, 1.1])
    motors = K * (N @ gap) + share * (N @ path)  # eq:position-loop
    speed = np.linalg.solve(N, motors)
    np.testing.assert_allclose(following.speed(gap, path), speed, rtol=1e-12)
    np.testing.assert_allclose(following.lead(speed, path), gap, rtol=1e-9)
    assert following.farthest == pytest.approx(4.0 * (1.0 - share) / 25.0)


@pytest.mark.parametrize("duration", [0.25, 1.2])
def test_place_of_an_arm_that_lags_is_found_up_to_the_end_of_its_motion(duration: float) -> None:
    """Against a fine search, for an arm that comes after its reference with the time constant of its loops."""
    robot, limits, following = known("gsis-scara")
    assert following is not None
    start, weights = np.array([-1.0, 0.5, 0.02, 0.0]), 1.0 / limits.speed
    goal = start + duration * np.array([1.0, -0.8, 0.01, 1.0])
    cursor = Cursor(plan(robot, start, [MoveJ(goal, Speed("fraction", 1.0))], limits), limits.acceleration)
    x, far = start, 0.0
    for _ in range(2000):
        motion, _ = cursor.advance(T, 1.0, GENTLE)
        x = motion[0] - (motion[0] - x) * np.exp(-30.0 * T)
        if cursor.done and np.abs(motion[0] - x).max() < 1e-6:
            break
        span = following.farthest
        time = nearest_time(cursor, x, weights, cursor.time - span, cursor.time)
        times = np.linspace(max(cursor.time - span, 0.0), cursor.time, 4001)
        q = cursor.trajectory.sample(times)[0]
        best = q[np.argmin((((q - x) * weights) ** 2).sum(axis=1))]
        found = cursor.trajectory.sample(np.array([time]))[0][0]
        far = max(far, float(np.linalg.norm((robot.fkine(found) - robot.fkine(best))[:3, 3])))
    assert far < 5e-4


def test_arm_before_a_turn_is_not_met_on_the_way_back() -> None:
    robot, limits, following = known("gsis-scara")
    assert following is not None
    start = np.array([-1.0, 0.5, 0.02, 0.0])
    goal = start + np.array([0.5, 0.3, 0.0, 0.0])
    there_and_back = [MoveJ(goal, Speed("fraction", 1.0)), MoveJ(start, Speed("fraction", 1.0))]
    cursor = Cursor(plan(robot, start, there_and_back, limits), limits.acceleration)
    turn = float(cursor.trajectory.starts[cursor.trajectory.owners.index(1)])
    for after in (0.01, 0.03, 0.05):
        cursor.go_to(turn + after)
        q, qd, _ = cursor.trajectory.sample(np.array([turn - 0.04]))
        time = nearest_time(cursor, q[0], 1.0 / limits.speed, cursor.time - 0.13, cursor.time, qd[0])
        assert time == pytest.approx(turn - 0.04, abs=1e-3)


def test_rate_of_a_motion_is_never_negative() -> None:
    robot, limits, following = known("gsis-scara")
    assert following is not None
    start = np.array([-1.0, 0.5, 0.02, 0.0])
    goal = start + np.array([0.3, 0.3, 0.0, 0.3])
    motion = plan(robot, start, [MoveJ(goal, Speed("fraction", 1.0))], limits)
    assert stoppable_rate(motion, limits.acceleration, -0.01, following.braking_times) == 0.0


def test_motion_at_its_rate_is_braked_in_time_though_less_friction_helps() -> None:
    robot, limits, following = known("gsis-scara")
    assert following is not None
    rng, slowed = np.random.default_rng(1), 0
    for _ in range(20):
        start, goal = rng.uniform(limits.q_min, limits.q_max, (2, robot.n))
        motion = plan(robot, start, [MoveJ(goal, Speed("fraction", 1.0))], limits)
        rate = stoppable_rate(motion, limits.acceleration, 0.073, following.braking_times)
        q, qd, _ = motion.sample(np.linspace(0.0, motion.duration, 400))
        longest = following.braking_times(q, rate * qd).max()
        assert longest <= 0.0735
        slowed += rate < 0.7 and longest > 0.07
    assert slowed > 2


def test_motor_without_torque_at_some_speed_does_not_hide_the_time_to_brake() -> None:
    robot, limits, _ = known("gsis-scara")
    start = np.array([-1.0, 0.5, 0.02, 0.0])
    motion = plan(
        robot, start, [MoveJ(start + np.array([1.0, 1.0, 0.0, 1.0]), Speed("fraction", 1.0))], limits
    )
    top = float(np.abs(motion.sample(np.linspace(0.0, motion.duration, 999))[1]).max())

    def times(q: Array, qd: Array) -> Array:
        speeds = np.abs(qd).max(axis=1)
        return np.where(speeds > 0.7 * top, np.nan, 0.2 * speeds / top)

    rate = stoppable_rate(motion, 1e3 * limits.acceleration, 0.15, times)
    assert rate <= 0.7
    assert stoppable_rate(motion, 1e3 * limits.acceleration, 0.1, times) == pytest.approx(0.5, rel=2e-3)


def test_speed_beside_the_path_is_braked_within_what_motors_give() -> None:
    _, limits, following = known("gsis-scara")
    assert following is not None
    assert limits.motors is not None
    q, rest = np.array([0.4, 0.3, 0.02, 0.0]), np.zeros(4)
    wanted = np.array([0.5, -0.3, 0.0, 0.4]) * limits.speed
    leading = LeadingStop(following, None, q, q + following.lead(wanted, rest), limits, (q + 0.1, rest, rest))
    np.testing.assert_allclose(leading.surplus, wanted)
    np.testing.assert_array_equal(leading.path[0], q + 0.1)  # its reference stands there
    speeds = [wanted]
    for _ in range(200):
        leading.next((q, rest, rest), q, T)
        speeds.append(leading.surplus)
    assert not leading.surplus.any()
    assert leading.settled
    slowing = np.diff(np.array(speeds), axis=0) / T
    tau = limits.motors.motor_torques(np.tile(q, (200, 1)), np.array(speeds[:-1]), slowing)
    used = (np.abs(tau) / limits.motors.drive.torque).max(axis=1)
    usual = (np.abs(slowing) <= 1.001 * limits.acceleration).all(axis=1)
    assert ((used <= 1.001 * USED) | usual).all()
    steps = np.abs(np.diff(slowing[:4], axis=0, prepend=0.0)).max(axis=0)
    assert (steps[steps > 0.0] <= 1.1 * np.abs(slowing).max(axis=0)[steps > 0.0] * T / RAMP).all()


def test_braking_uses_the_stated_part_of_the_motor_that_limits_it() -> None:
    robot, limits, following = known("gsis-scara")
    assert following is not None
    assert limits.motors is not None
    rng = np.random.default_rng(5)
    q = rng.uniform(-1.0, 1.0, (20, robot.n)) * [1.5, 1.5, 0.05, 3.0]
    qd = rng.uniform(-1.0, 1.0, (20, robot.n)) * limits.speed
    times = following.braking_times(q, qd)
    tau = limits.motors.motor_torques(q, qd, -qd / times[:, None])
    np.testing.assert_allclose((np.abs(tau) / limits.motors.drive.torque).max(axis=1), USED, rtol=1e-9)
    assert following.braking_times(q, np.zeros_like(qd)).tolist() == [0.0] * 20


@pytest.mark.parametrize(
    ("velocity", "torque", "integrates"),
    [
        (0.0, 0.0, True),
        (0.4, 0.0, True),
        (0.9, 0.0, True),
        (0.0, 1.0, True),
        (0.5, 1.0, True),
        (0.0, 0.0, False),
    ],
)
def test_arm_behind_its_loops_brakes_with_the_path_and_stands_with_it(
    velocity: float, torque: float, *, integrates: bool
) -> None:
    """Against loops that are integrated here: position loop, PI speed loop, inertia of one motor at a time."""
    overrides = {"velocity": velocity, "torque": torque}
    changes = {f"controller__feedforward__{name}": str(value) for name, value in overrides.items()}
    if not integrates:
        changes["controller__gains__A__speed_integral"] = "0 A/rad"
    robot, limits, following = known("gsis-scara", **changes)
    assert following is not None
    assert limits.motors is not None
    start = np.array([-1.0, 0.5, 0.02, 0.0])
    goal = start + np.array(
        [1.5, 0.0, 0.0, 0.0]
    )  # joint A alone: its inertia does not change, and nothing couples
    cursor = Cursor(plan(robot, start, [MoveJ(goal, Speed("fraction", 1.0))], limits), limits.acceleration)
    n, K, K_n, K_ni = 100.0, 30.0, following.proportional[0], following.integral[0]
    assert (K_ni > 0.0) == integrates
    torques = limits.motors.motor_torques(start[None], np.zeros((1, 4)), np.eye(4)[:1])[0]
    J = float(torques[0]) / n  # at the shaft
    f = limits.motors.friction[0].viscous
    K_t = float(limits.motors.drive.torque_constant[0])
    x, w, held, ref = start[0] * n, 0.0, 0.0, start.copy()
    told = (start, np.zeros(4), np.zeros(4))
    leading, speeds = None, []
    for period in range(200):
        q = start + np.array([x / n - start[0], 0.0, 0.0, 0.0])
        if period == 60:
            before = ref.copy()
            leading = LeadingStop(following, cursor, q, ref, limits, told)
            begun = (leading.path[1] + leading.surplus)[0]
            assert begun == pytest.approx(w / n, abs=0.003 * limits.speed[0])
        motion, _ = cursor.advance(T, 0.0 if leading else 0.5, HARD)
        there = motion[0] if leading is None else leading.next(motion, q, T)
        for k in range(200):
            part = (k + 1) / 200
            target, w_path, a_path = (
                n * (a[0] + (b[0] - a[0]) * part)
                for a, b in ((ref, there), (told[1], motion[1]), (told[2], motion[2]))
            )
            error = K * (target - x) + velocity * w_path - w
            fed = torque * (J * a_path + f * w_path)
            w += T / 200 * (K_t * (K_n * error + held) + fed - f * w) / J
            held += K_ni * error * T / 200
            x += w * T / 200
        ref, told = there, motion
        if leading is not None:
            speeds.append(w / n - motion[1][0])
            if period == 60:
                assert abs(there[0] - before[0]) < limits.speed[0] * T  # no jump
    assert cursor.at_rest
    assert max(map(abs, speeds)) < 0.01 * limits.speed[0]  # it brakes with the path all the way
    assert max(map(abs, speeds[-100:])) < 1e-4 * limits.speed[0]


@pytest.mark.parametrize("changes", [{}, {"torque": "100 %"}, {"torque": "100 %", "acceleration": "50 %"}])
def test_arm_that_stands_under_its_weight_is_not_moved(changes: dict[str, str]) -> None:
    overrides = {f"controller__feedforward__{name}": value for name, value in changes.items()}
    robot, limits, following = known("palletizer-4", **overrides)
    assert following is not None
    q, rest = robot.q_home.copy(), np.zeros(robot.n)
    assert np.abs(following.currents(q, rest, rest)).max() > 0.1  # A that hold it
    leading = LeadingStop(following, None, q, q, limits, (q, rest, rest))
    for _ in range(10):
        np.testing.assert_allclose(leading.next((q, rest, rest), q, T), q, atol=1e-9)


def test_motion_that_a_motor_cannot_brake_as_it_holds_the_arm_is_refused() -> None:
    """It would stand still without a word: time to brake 1e12 s."""
    description = read_description("palletizer-4")
    robot = Robot(build_mechanism(description), title=description.title)
    limits = limits_of(robot, description)
    reference = make_controller(robot, limits, description).reference
    following, _ = following_of(robot, limits, description)
    assert following is not None
    start, goal = robot.q_home, robot.q_home + np.array([0.3, 0.2, 0.1, 0.0])
    motion = plan(robot, start, [MoveJ(goal, Speed("fraction", 1.0)), MoveJ(start)], limits)
    poses = motion.sample(np.linspace(0.0, motion.duration, 101))[0]
    still = np.zeros_like(poses)
    needed = np.abs(following.motors.motor_torques(poses, still, still)).max(axis=0)
    drive = following.motors.drive
    reference.braking_time = 0.1
    for share, refused in ((0.5, False), (0.95, True)):
        weak = np.where(np.arange(robot.n) == 1, needed[1] / share, drive.torque)
        motors = replace(following.motors, drive=replace(drive, torque=weak))
        reference.following = replace(following, motors=motors)
        assert reference.following.holding(poses) == ("th2", pytest.approx(share))
        if not refused:
            assert reference.cursor_of(motion).most > 1e-3
            continue
        with pytest.raises(InputError, match=r"motor th2 needs \d+% of its torque to hold the arm"):
            reference.cursor_of(motion)
        reference.braking_time = np.inf  # nobody asks for a time to brake
        assert reference.cursor_of(motion).most == 1.0
