"""Optimal motions of whole robots: limits kept, refusals, paths, multipliers by differences."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("casadi")

import servotwin as st
from servotwin.description.load import read_description
from servotwin.errors import InputError, UnsupportedError
from servotwin.motion.errors import PathError
from servotwin.motion.limits import limits_of
from servotwin.motion.motor_limits import motor_limits_of
from servotwin.motion.optimal import ipopt, transcription
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.guess import best_s_curve, currents, straight_guess
from servotwin.motion.optimal.optimise import optimise_motion
from servotwin.motion.optimal.path_motion import optimal_along
from servotwin.motion.optimal.reading import read_answer
from servotwin.motion.optimal.solving import MotionProblem, solve_motion
from servotwin.motion.optimal.structured import solve_program
from servotwin.motion.optimal.task import Region, Task
from servotwin.motion.optimal.transcription import mesh_of
from servotwin.motion.requests import MoveL
from servotwin.motion.time_optimal import path_through, time_optimal

START, GOAL = np.radians([-60.0, 80.0, 0.0, 0.0]), np.array([1.2, -1.0, 0.1, 1.5])


@pytest.fixture(scope="module")
def scara() -> st.OptimalMotion:
    return optimise_motion("gsis-scara", START, GOAL)


def test_optimal_motion_between_nodes_stays_within_what_the_drives_have(scara):
    """The envelope of the drives is another implementation: with its own friction, torques and voltages."""
    robot, description = st.load_robot("gsis-scara"), read_description("gsis-scara", {})
    motors = motor_limits_of(robot, description)
    assert motors is not None
    q, qd, qdd = scara.sample(np.linspace(0.0, scara.duration, 2001))
    # the currents between nodes are straight lines, the torques are not: some parts in a thousand
    assert motors.shares(q, qd, qdd).max() < 1.01
    assert (np.abs(qd) / robot.limits.qd_max).max() < 1.0005
    assert q[0] == pytest.approx(START)
    assert q[-1] == pytest.approx(GOAL, abs=1e-6)
    assert np.abs(qd[[0, -1]]).max() < 1e-9


def test_optimal_motion_is_quicker_than_the_best_s_curve(scara):
    robot, description = st.load_robot("gsis-scara"), read_description("gsis-scara", {})
    limits, drives = limits_of(robot, description), drive_model(robot, description)
    assert scara.duration < 0.95 * best_s_curve(robot, drives, limits, (START, GOAL), Task())


def test_position_is_the_integral_of_speed_and_acceleration(scara):
    t = np.linspace(0.0, scara.duration, 20001)
    q, qd, qdd = scara.sample(t)
    step = np.diff(t)[:, None]
    assert np.cumsum(0.5 * (qd[1:] + qd[:-1]) * step, axis=0)[-1] == pytest.approx(q[-1] - q[0], abs=1e-6)
    assert np.cumsum(0.5 * (qdd[1:] + qdd[:-1]) * step, axis=0)[-1] == pytest.approx(qd[-1] - qd[0], abs=2e-4)


def test_multipliers_agree_with_differences(scara):
    """What a per cent more of a limit buys, from solutions with a little more and a little less of it."""
    for name, field, what in (
        ("A", "axes.A.limits.speed", "speed"),
        ("A", "axes.A.motor.current_limit", "current"),
    ):
        use = next(u for u in scara.limits if (u.what, u.who) == (what, name))
        unit = {"speed": "rad/s", "current": "A"}[what]
        times = [
            optimise_motion("gsis-scara", START, GOAL, overrides={field: f"{k * use.value} {unit}"}).duration
            for k in (0.995, 1.005)
        ]
        assert use.gain == pytest.approx((times[0] - times[1]) / (0.01 * use.value), rel=0.05)


def test_active_limits_are_named_at_every_instant(scara):
    assert len(scara.active) == scara.t.size
    assert sum(bool(names) for names in scara.active) > 0.9 * scara.t.size
    bound = {name for names in scara.active for name in names}
    assert {"speed A", "current A"} <= bound


def test_temperature_limit_holds_over_the_repeated_motion():
    start, goal = np.radians([-20.0, 60.0, -90.0, 0.0]), np.radians([20.0, 85.0, -95.0, 0.0])
    free = optimise_motion("palletizer-4", start, goal)
    cool = optimise_motion("palletizer-4", start, goal, temperature=True)
    assert np.nanmax(free.winding) > 160.0
    assert np.nanmax(cool.winding) < 155.5
    assert cool.duration > 1.005 * free.duration


def test_rest_between_repetitions_lets_a_motion_be_quicker():
    start, goal = np.radians([-20.0, 60.0, -90.0, 0.0]), np.radians([20.0, 85.0, -95.0, 0.0])
    times = [
        optimise_motion("palletizer-4", start, goal, temperature=True, rest=rest).duration
        for rest in (0.0, 1.0)
    ]
    assert times[1] < times[0]


def test_region_is_kept_out_of_and_costs_time():
    start, goal = np.radians([-60.0, 80.0, 0.0, 0.0]), np.radians([70.0, 60.0, 0.0, 90.0])
    free = optimise_motion("gsis-scara", start, goal)
    region = Region(x=(0.4, 0.6), y=(-0.1, 0.1))
    around = optimise_motion("gsis-scara", start, goal, keep_out=(region,))

    def inside(motion):
        x, y = st.load_robot("gsis-scara").fkine(motion.q)[:, :2, 3].T
        return ((x > 0.401) & (x < 0.599) & (y > -0.099) & (y < 0.099)).any()

    assert inside(free)
    assert not inside(around)
    assert around.duration > free.duration


def test_tool_stays_within_a_range_of_a_coordinate():
    start, goal = np.radians([-60.0, 0.0, 0.0, 0.0]), np.radians([60.0, 0.0, 0.0, 0.0])
    wide = optimise_motion("gsis-scara", start, goal)
    assert wide.tool[:, 0].max() > 0.55
    bound = optimise_motion("gsis-scara", start, goal, within={"x": (0.0, 0.5)})
    assert bound.tool[:, 0].max() <= 0.5 + 1e-6


def test_free_end_speeds_are_quicker():
    free = optimise_motion("gsis-scara", START, GOAL, free_start=True, free_end=True)
    rest = optimise_motion("gsis-scara", START, GOAL)
    assert free.duration < rest.duration
    assert np.abs(free.qd[-1]).max() > 0.1


# --- along a path -----------------------------------------------------------------------------------
def ideal(torque):
    robot = st.load_robot("gsis-scara")
    limits = replace(robot.mechanism.limits, tau_max=torque, qd_max=np.full(4, 1e3))
    return st.Robot(replace(robot.mechanism, limits=limits))


@pytest.mark.parametrize("seed", [3, 5])
def test_path_with_torque_limits_takes_as_long_as_reachability_says(seed):
    """The time-optimal planner works by reachability on a grid, without any solver."""
    robot = ideal(np.array([100.0, 60.0, 100.0, 3.0]))
    middle = 0.5 * (robot.limits.q_min + robot.limits.q_max)
    rng = np.random.default_rng(seed)
    path = path_through(middle + 0.6 * (robot.random_q(rng, 4) - middle))
    limits = limits_of(robot)
    motion = optimal_along(
        robot, None, replace(limits, acceleration=np.full(4, 1e6)), path, Task(intervals=200)
    )
    wide = replace(limits, acceleration=np.full(4, 1e6), torque=robot.limits.tau_max)
    assert motion.duration == pytest.approx(time_optimal(robot, path, wide, grid=2000).duration, rel=1e-3)


def test_path_with_torque_limits_takes_as_long_as_toppra_says():
    import toppra as ta  # an extra of the tests: its absence is a failure, not a skip

    robot = ideal(np.array([100.0, 60.0, 100.0, 3.0]))
    middle = 0.5 * (robot.limits.q_min + robot.limits.q_max)
    points = middle + 0.6 * (robot.random_q(np.random.default_rng(3), 4) - middle)
    knots = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    path = ta.SplineInterpolator(knots / knots[-1], points, bc_type="natural")
    most = robot.limits.tau_max
    bound = ta.constraint.JointTorqueConstraint(
        lambda q, v, a: np.asarray(robot.rne(q, v, a, drives=True)),
        np.stack([-most, most], axis=1),
        np.zeros(4),
        discretization_scheme=ta.constraint.DiscretizationType.Interpolation,
    )
    peer = ta.algorithm.TOPPRA(
        [bound], path, gridpoints=np.linspace(0.0, 1.0, 1001), parametrizer="ParametrizeConstAccel"
    )
    limits = limits_of(robot)
    motion = optimal_along(robot, None, limits, path_through(points), Task(intervals=200))
    assert motion.duration == pytest.approx(peer.compute_trajectory(0.0, 0.0).duration, rel=1e-3)


def test_straight_path_takes_no_less_than_the_free_motion(scara):
    along = optimise_motion("gsis-scara", path=np.array([START, GOAL]))
    assert along.duration > scara.duration
    q, qd, _ = along.sample(np.linspace(0.0, along.duration, 501))
    share = (q - START) @ (GOAL - START) / ((GOAL - START) @ (GOAL - START))
    assert np.abs(q - START - share[:, None] * (GOAL - START)).max() < 1e-9
    assert (np.abs(qd) / st.load_robot("gsis-scara").limits.qd_max).max() < 1.002


@pytest.mark.parametrize("straight", [False, True])
def test_jerk_and_tool_limits_of_the_file_hold(straight):
    """The six-axis arm states jerks and a tool speed; both hold between nodes, by differences of the motion."""
    robot, description = st.load_robot("sixaxis-5kg"), read_description("sixaxis-5kg", {})
    limits = limits_of(robot, description)
    goal = robot.q_home + 0.5 * np.array([1.0, -0.6, 0.5, -1.0, 1.0, 2.0])
    ends = {"path": np.array([robot.q_home, goal])} if straight else {"start": robot.q_home, "goal": goal}
    motion = optimise_motion("sixaxis-5kg", **ends)
    t = np.linspace(0.0, motion.duration, 4001)
    q, qd, qdd = motion.sample(t)
    jerk = np.diff(motion.qdd, axis=0) / np.diff(motion.t)[:, None]
    assert (np.abs(jerk) / limits.jerk).max() < 1.001
    speed = np.linalg.norm((robot.jacob0(q)[:, :3] @ qd[..., None])[..., 0], axis=1)
    assert speed.max() < 1.005 * limits.tool_speed
    assert (np.abs(qdd) / robot.limits.qdd_max).max() < 1.005
    assert "jerk" in {use.what for use in motion.limits if use.peak > 0.999}


def test_path_of_a_closed_chain_takes_as_long_as_that_of_its_coupled_twin():
    points = np.array(
        [[0.0, math.pi / 2, -math.pi / 2, 0.0], [0.2, math.pi / 2 - 0.2, 0.2 - math.pi / 2, -0.2]]
    )
    times = [optimise_motion(name, path=points).duration for name in ("palletizer-4", "palletizer-4-loops")]
    assert times[0] == pytest.approx(times[1], rel=1e-6)


# --- refusals ---------------------------------------------------------------------------------------
def test_start_outside_its_range_is_refused_with_the_range():
    with pytest.raises(InputError, match=r"axis A would stand at 170 deg.*-120 to 120 deg"):
        optimise_motion("gsis-scara", np.radians([170.0, 0.0, 0.0, 0.0]), GOAL)


def test_duration_that_is_too_short_is_refused_with_the_quickest(scara):
    with pytest.raises(PathError, match=f"too short; the quickest is {scara.duration:.4g} s"):
        optimise_motion("gsis-scara", START, GOAL, duration=0.5 * scara.duration)


def test_motor_that_cannot_hold_the_arm_is_named():
    weak = {"axes.j2.motor.current_limit": "0.5 A"}
    with pytest.raises(InputError, match=r"motor j2 needs .* A to hold the arm there; it has 0.5 A"):
        optimise_motion("puma560", np.zeros(6), np.radians([30.0, 10.0, 0.0, 0.0, 0.0, 0.0]), overrides=weak)


def test_voltage_too_small_for_the_arm_is_refused_with_the_limit():
    weak = {"power.bus_voltage": "0.6 V"}
    with pytest.raises((PathError, InputError), match=r"voltage|torque|current"):
        optimise_motion(
            "puma560", np.zeros(6), np.radians([30.0, 10.0, 0.0, 0.0, 0.0, 0.0]), overrides=weak, intervals=20
        )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"objective": "fun"}, "expected 'time', 'energy' or 'copper'"),
        ({"objective": "energy"}, "slower is cheaper; expected a duration"),
        ({"duration": -1.0}, "expected more than 0 s"),
        ({"intervals": 3}, "expected 10 to"),
        ({"modulation": 1.5}, "at most 1"),
        ({"bus_power": (10.0, 5.0)}, "expected a range about 0 W"),
        ({"energy_weight": math.nan}, "at least 0"),
        ({"within": {"w": (0.0, 1.0)}}, "expected x, y or z"),
    ],
)
def test_task_that_makes_no_sense_is_refused(options, text):
    with pytest.raises(InputError, match=text):
        optimise_motion("gsis-scara", START, GOAL, **options)


def test_same_start_and_goal_are_refused():
    with pytest.raises(InputError, match="same position"):
        optimise_motion("gsis-scara", START, START)


def test_goal_inside_a_region_is_refused():
    with pytest.raises(InputError, match="inside region 1"):
        optimise_motion("gsis-scara", START, GOAL, keep_out=(Region(x=(-2.0, 2.0), y=(-2.0, 2.0)),))


def test_path_through_a_singularity_is_refused():
    from servotwin.motion.requests import MoveL

    robot = st.load_robot("gsis-scara")
    target = robot.fkine(np.radians([0.0, 0.0, 0.0, 0.0]))
    target[0, 3] -= 0.9  # from one side of the base to the other
    with pytest.raises(PathError, match=r"singular|reach|branch|workspace|limits"):
        optimise_motion("gsis-scara", np.radians([0.0, 30.0, 0.0, 0.0]), path=MoveL(target))


def test_closed_chain_between_points_is_refused():
    robot = st.load_robot("five-bar")
    with pytest.raises((UnsupportedError, InputError)):
        optimise_motion("five-bar", robot.q_home, robot.q_home + 0.1)


def test_missing_solver_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(ipopt, "find_spec", lambda name: None)
    ipopt.library.cache_clear()
    try:
        with pytest.raises(UnsupportedError, match=r"pip install 'servotwin\[optimal\]'"):
            optimise_motion("gsis-scara", START, GOAL)
    finally:
        ipopt.library.cache_clear()


def test_s_curve_keeps_the_acceleration_limits_that_bind_the_optimum():
    """The optimum has more freedom than any S-curve, so it cannot be slower."""
    robot, description = st.load_robot("manutec-r3-axis"), read_description("manutec-r3-axis", {})
    ends = np.zeros(1), np.radians([30.0])
    motion = optimise_motion(robot, *ends, description=description, intervals=20)
    limits, drives = limits_of(robot, description), drive_model(robot, description)
    duration = best_s_curve(robot, drives, limits, ends, Task())
    # a cubic ramp of speed takes at least sqrt(6 s / a) from rest to rest (its mean acceleration is 2/3 of the largest)
    assert duration == pytest.approx(math.sqrt(6.0 * ends[1][0] / robot.limits.qdd_max[0]), rel=1e-3)
    assert motion.duration < duration


def test_torque_limit_of_a_joint_holds_without_limits_of_current():
    changes = {"axes.A.limits.effort": "60 N*m"}
    motion = optimise_motion("gsis-scara", START, GOAL, overrides=changes, intervals=40, current=False)
    assert np.abs(motion.torque[:, 0]).max() == pytest.approx(60.0, rel=1e-4)


def test_motion_that_nothing_limits_is_refused():
    with pytest.raises(InputError, match="nothing limits this motion"):
        optimise_motion(
            "gsis-scara", START, GOAL, intervals=20, current=False, voltage=False, speed=False, effort=False
        )


@pytest.mark.parametrize("along", [False, True])
@pytest.mark.parametrize("fed_back", [0.0, 20.0])
def test_power_that_may_be_fed_back_is_a_limit_of_its_own(along, fed_back):
    """With more room for power that is taken, the other side is still seen to bind."""
    ends = {"path": np.array([START, GOAL])} if along else {"start": START, "goal": GOAL}

    def motion(power: float) -> st.OptimalMotion:
        return optimise_motion(
            "gsis-scara", **ends, intervals=40 if along else 100, bus_power=(-power, 2000.0)
        )

    one = motion(fed_back)
    use = next(u for u in one.limits if u.what == "regeneration")
    assert use.value == pytest.approx(fed_back)
    assert use.peak == pytest.approx(1.0, rel=2e-3)
    assert one.bus_power.min() > -1.001 * fed_back - 0.05
    if fed_back and along:
        less, more = motion(fed_back - 1.0), motion(fed_back + 1.0)
        assert use.gain == pytest.approx((less.duration - more.duration) / 2.0, rel=0.02)
    assert next(u for u in one.limits if u.what == "bus power").peak < 0.5


def test_price_of_power_fed_back_is_what_a_little_more_of_it_buys():
    """Limits that part the motions into branches: a neighbour on the same mesh starts from the first one's answer."""
    robot, description = st.load_robot("gsis-scara"), read_description("gsis-scara", {})
    limits, drives, task = (
        limits_of(robot, description),
        drive_model(robot, description),
        Task(bus_power=(-20.0, 2e3)),
    )
    guess = straight_guess(robot, drives, limits, (START, GOAL), mesh_of(100, True), None, 2e3)
    program, solution = solve_motion(MotionProblem(robot, drives, limits, task, (START, GOAL)), guess)
    uses = read_answer(robot, drives, limits, task, program, solution)["limits"]
    (gain,) = [use.gain for use in uses if use.what == "regeneration"]
    first = [low.copy() for low in program.nlp.low]

    def objective(watts: float) -> float:
        flat = np.concatenate(first)
        for group in ("bus power", "bus power between"):
            begin, stride, count, who = program.rows[group]
            rows = begin + stride * np.arange(count)[:, None] + np.arange(len(who))
            flat[rows] -= watts / program.table["oP"]
        program.nlp.low[:] = np.split(flat, np.cumsum([low.size for low in first])[:-1])
        answer = solve_program(program, solution.x, {"mu_init": 1e-6}, None, solution)
        assert answer.solved
        return answer.objective * program.objective_scale

    assert gain == pytest.approx((objective(-0.02) - objective(0.02)) / 0.04, rel=0.02)


def test_no_power_fed_back_is_a_limit_that_can_be_met():
    motion = optimise_motion("gsis-scara", START, GOAL, intervals=40, bus_power=(0.0, math.inf))
    assert motion.bus_power.min() > -0.05


def test_model_error_of_a_path_is_that_of_its_played_motion():
    """The currents at the middle of every interval, from inverse dynamics of the motion as it is played."""
    robot, description = st.load_robot("gsis-scara"), read_description("gsis-scara", {})
    drives = drive_model(robot, description)
    motion = optimise_motion(robot, path=np.array([START, GOAL]), description=description)
    q, qd, qdd = motion.sample(0.5 * (motion.t[1:] + motion.t[:-1]))
    tau = np.linalg.solve(drives.N.T, robot.rne(q, qd, qdd, drives=True).T).T
    w = qd @ drives.N.T
    needed = (tau + drives.viscous * w + drives.coulomb * np.sign(w)) / drives.K
    gap = np.abs(needed - 0.5 * (motion.current[1:] + motion.current[:-1])) / drives.current
    assert motion.model_error >= gap.max() * 0.999
    assert motion.model_error > 0.0


def test_tool_path_without_a_start_is_refused():
    with pytest.raises(InputError, match="start: missing"):
        optimise_motion("gsis-scara", path=MoveL(np.eye(4)))


def test_currents_along_a_path_do_not_ring_from_point_to_point():
    """Only sums of neighbouring accelerations move the path; what is reported is what the played motion needs."""
    robot, description = st.load_robot("gsis-scara"), read_description("gsis-scara", {})
    drives = drive_model(robot, description)
    motion = optimise_motion(robot, path=np.array([START, GOAL]), description=description)
    needed = currents(robot, drives, *motion.sample(0.75 * motion.t[1:] + 0.25 * motion.t[:-1]))
    gap = np.abs(needed - 0.75 * motion.current[1:] - 0.25 * motion.current[:-1]) / drives.current
    assert np.median(gap.max(axis=1)) < 2e-3


def test_range_that_a_motion_begins_on_has_no_gain():
    """The nodes beside such an end are near the limit, but no wider range would make the motion quicker."""
    robot = st.load_robot("gsis-scara")
    start, goal = [robot.limits.q_min[0], 0.5, 0.05, 0.0], [0.8, -0.5, 0.1, 1.0]
    (use,) = [
        u for u in optimise_motion("gsis-scara", start, goal).limits if (u.what, u.who) == ("range", "A")
    ]
    assert abs(use.gain) < 1e-4
    assert use.active == 0.0


@pytest.mark.parametrize(("name", "axis"), [("gsis-scara", 2), ("puma560", 5), ("daiv-1", 2)])
def test_axis_with_nowhere_to_go_that_helps_no_other_stands_still(name, axis, monkeypatch):
    """No inertia or torque couples it to the others; the time is that without holding it.

    To 1e-4: the nodes about reversals of other motors may settle on another side of their dry friction.
    """
    ends = {
        "gsis-scara": ([-1.0, 1.2, 0.05, 0.3], [1.0, -0.6, 0.05, 1.3]),
        "puma560": (np.zeros(6), [0.6, -0.5, 0.4, 0.0, 0.0, 0.0]),
        "daiv-1": ([0.0, 0.0, -0.1], [0.8, 0.5, -0.1]),
    }[name]
    held = optimise_motion(name, *ends)
    q = held.sample(np.linspace(0.0, held.duration, 1001))[0]
    assert np.abs(q[:, axis] - ends[0][axis]).max() < 1e-5
    monkeypatch.setattr(transcription, "IDLE", 1.0)
    assert held.duration == pytest.approx(optimise_motion(name, *ends).duration, rel=1e-4)


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
def test_motion_nearby_is_found_in_fewer_iterations_from_a_solved_one(name):
    """And is the same motion to what sharp friction leaves open."""
    n = st.load_robot(name).n
    first, second = np.linspace(0.5, 0.1, n), np.linspace(0.52, 0.08, n)
    if name == "gsis-scara":
        first[2], second[2] = 0.1, 0.09  # m
    solved = optimise_motion(name, np.zeros(n), first)
    cold = optimise_motion(name, np.zeros(n), second)
    warm = optimise_motion(name, np.zeros(n), second, near=solved)
    assert warm.iterations < cold.iterations
    assert warm.duration == pytest.approx(cold.duration, rel=5e-4)
    np.testing.assert_allclose(warm.q[-1], second, atol=1e-9)


def test_motion_of_another_arm_is_no_start():
    other = optimise_motion("gsis-scara", START, GOAL)
    with pytest.raises(InputError, match="near: a motion of A, B, Z, W; expected one of j1"):
        optimise_motion("puma560", np.zeros(6), 0.1 * np.ones(6), near=other)
    with pytest.raises(InputError, match="near: a motion to start from serves between two points only"):
        optimise_motion("gsis-scara", path=[START, GOAL], near=other)
