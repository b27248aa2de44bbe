"""What a plan may ask: speeds that are checked first, ramps, jerk, tool, durations, and play-back without a fault."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import servotwin as st
from measured_plans import top_tool_speed
from servotwin.control.main.exchange import Settings
from servotwin.control.main.reference import Reference
from servotwin.errors import InputError
from servotwin.motion.errors import PathError
from servotwin.motion.follow import Tracker
from servotwin.motion.laws import make_profile
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveC, MoveJ, MoveL, Rest, Speed, Spline
from servotwin.motion.tool_point import point_motion, point_places

SCARA = np.array([0.3, 0.9, 0.05, 0.2])
PUMA = np.array([0.0, 0.8, -2.6, 0.2, 0.9, 0.0])


@pytest.fixture(scope="module")
def scara():
    return st.load_robot("gsis-scara")


@pytest.fixture(scope="module")
def puma():
    return st.load_robot("puma560")


def shifted(robot, q, *step):
    X = robot.fkine(q)
    X[:3, 3] += step
    return X


def dense(way, count=20_001):
    return way.sample(np.sort(np.concatenate([np.linspace(0.0, way.duration, count), way.starts])))


def across(robot):
    """Start and end of a line of 500 mm in front of the SCARA."""
    left = robot.ikine(shifted(robot, np.array([0.9, 1.0, 0.05, 0.0]), 0.0, 0.0, 0.0))
    X = robot.fkine(left)
    X[:3, 3] = 0.35, 0.25, X[2, 3]
    right = X.copy()
    right[1, 3] = -0.25
    return robot.ikine(X, q0=left), right


@pytest.mark.parametrize("profile", [None, "cubic-ramp", "trapezoid", "s-curve", "quintic"])
@pytest.mark.parametrize("kind", ["line", "circle"])
def test_more_speed_never_takes_longer(scara, kind, profile) -> None:
    limits = limits_of(scara)
    if kind == "line":
        q, X = across(scara)
        moves = [MoveL(X, Speed("m/s", v), profile=profile) for v in np.geomspace(0.05, 5.0, 40)]
    else:
        q = SCARA
        via, end = shifted(scara, q, -0.05, 0.05, 0.0), shifted(scara, q, -0.05, -0.05, 0.0)
        moves = [MoveC(via, end, Speed("m/s", v), profile=profile) for v in np.geomspace(0.05, 5.0, 40)]
    times = np.array([plan(scara, q, [move], limits, fit=True).duration for move in moves])
    assert np.diff(times).max() <= 1e-6 * times.min()
    shares = [replace(moves[0], speed=Speed("fraction", share)) for share in np.linspace(0.05, 1.0, 20)]
    times = np.array([plan(scara, q, [move], limits).duration for move in shares])
    assert np.diff(times).max() <= 1e-6 * times.min()


@pytest.mark.parametrize("jerk", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("length", [0.02, 0.5])
def test_more_acceleration_in_mps2_never_takes_longer(scara, length, share, jerk) -> None:
    limits = limits_of(scara)
    limits = replace(limits, jerk=20.0 * limits.acceleration) if jerk else limits
    q, X = across(scara)
    X[1, 3] = 0.25 - length
    ways = {}
    for a in (0.5, 2.0, 4.0, 8.0, 16.0, 50.0, 5000.0):
        ways[a] = plan(scara, q, [MoveL(X, Speed("fraction", share), acceleration=a)], limits)
        _, qd, qdd = dense(ways[a])
        assert (np.abs(qd) / limits.speed).max() <= 1.0 + 1e-9
        assert (np.abs(qdd) / limits.acceleration).max() <= 1.0 + 1e-9
    times = [way.duration for way in ways.values()]
    assert all(b <= 1.003 * a for a, b in pairwise(times))
    assert times[-1] < 0.8 * times[0]
    assert ways[0.5].notes == ("",)
    assert ways[5000.0].notes[0].startswith("an acceleration of 5000 m/s2 was lowered to ")
    fitted = plan(scara, q, [MoveL(X, Speed("fraction", share), acceleration=5000.0)], limits, fit=True)
    assert fitted.duration == pytest.approx(times[-1])


def test_acceleration_that_there_is_not_is_lowered_for_a_time_and_refused_for_a_speed_in_mps(scara) -> None:
    limits = limits_of(scara)
    q, X = across(scara)
    way = plan(scara, q, [MoveL(X, Speed("s", 5.0), acceleration=5000.0)], limits)
    assert way.duration == pytest.approx(5.0)
    with pytest.raises(PathError, match="its largest acceleration"):
        plan(scara, q, [MoveL(X, Speed("m/s", 0.2), acceleration=5000.0)], limits)


def test_speed_that_an_axis_does_not_have_is_refused_with_place_and_axis(scara) -> None:
    limits = limits_of(scara)
    q, X = across(scara)
    for v in (5.0, 1e6):
        with pytest.raises(PathError, match="slow the move down or plan it with --fit") as caught:
            plan(scara, q, [MoveL(X, Speed("m/s", v))], limits)
        assert caught.value.axis in scara.joint_names
        assert 0.0 < caught.value.place_m < 0.5
    # A way that is too short for a speed is no reason to refuse it.
    near = scara.fkine(q)
    near[1, 3] -= 1e-3
    assert plan(scara, q, [MoveL(near, Speed("m/s", 1.0))], limits).duration < 0.2


def test_asked_speed_is_reached_where_axes_and_way_allow_it(scara) -> None:
    limits = limits_of(scara)
    q, X = across(scara)
    way = plan(scara, q, [MoveL(X, Speed("m/s", 0.4))], limits)
    assert top_tool_speed(way, scara) == pytest.approx(0.4, rel=1e-6)  # the joints follow the line to 1e-8 m


def test_speed_of_the_tool_may_be_its_limit(scara) -> None:
    limits = replace(limits_of(scara), tool_speed=0.4, tool_acceleration=2.0)
    q, X = across(scara)
    way = plan(scara, q, [MoveL(X, Speed("m/s", 0.4), 2.0, profile="trapezoid")], limits)
    assert way.duration == pytest.approx(0.5 / 0.4 + 0.4 / 2.0, rel=2e-6)
    assert way.slowed == (1.0,)


def test_acceleration_in_percent_is_a_share_of_what_the_axes_allow(scara) -> None:
    limits = limits_of(scara)
    q, X = across(scara)
    for profile, factor in (("trapezoid", 1.0), ("cubic-ramp", 1.5)):
        whole, half = (
            plan(
                scara, q, [MoveL(X, Speed("m/s", 0.2), profile=profile, acceleration_share=share)], limits
            ).segments[0].law
            for share in (1.0, 0.5)
        )  # fmt: skip
        assert half.times[0] == pytest.approx(2.0 * whole.times[0], rel=1e-9)
        assert whole.duration == pytest.approx(0.5 / 0.2 + whole.times[0], rel=1e-9)
        assert factor * 0.2 / whole.times[0] > 0.5  # m/s2
    with pytest.raises(InputError, match="an acceleration of 150 %"):
        plan(scara, q, [MoveL(X, acceleration_share=1.5)], limits)


@pytest.mark.parametrize("profile", [None, "trapezoid", "cubic-ramp", "s-curve", "quintic"])
def test_stated_jerk_holds_on_joint_moves_curves_and_blends(puma, profile) -> None:
    limits = limits_of(puma)
    limits = replace(limits, jerk=2.0 * limits.acceleration**2 / limits.speed)
    corner = shifted(puma, PUMA, 0.05, 0.1, 0.0)
    requests = [
        MoveJ(PUMA + 0.3, profile=profile),
        MoveJ(PUMA, profile=profile),
        MoveL(corner, profile=profile, blend=0.03),
        MoveL(shifted(puma, PUMA, -0.05, 0.1, 0.0), profile=profile, blend=0.03),
        MoveJ(PUMA, profile=profile),
        MoveC(corner, shifted(puma, PUMA, 0.0, 0.2, 0.0), profile=profile),
        Spline([corner, shifted(puma, PUMA, 0.02, 0.0, 0.05), puma.fkine(PUMA)], profile=profile),
    ]
    way = plan(puma, PUMA, requests, limits)
    t = np.linspace(0.0, way.duration, 40_001)
    qdd = way.sample(t)[2]
    used = np.abs(np.diff(qdd, axis=0)) / t[1] / limits.jerk
    assert used.max() <= 1.0 + 1e-6
    assert used.max() > 0.9


def test_trapezoid_with_a_jerk_is_an_s_curve() -> None:
    one, two = (make_profile(kind, 1.0, 0.5, 1.0, 4.0) for kind in ("trapezoid", "s-curve"))
    assert one == two


def test_tool_acceleration_counts_the_bend_of_a_circle(scara) -> None:
    """On a circle of radius r at the speed v the tool needs v^2/r."""
    limits = replace(limits_of(scara), tool_acceleration=2.0)
    r, v = 0.02, 0.3
    via, end = shifted(scara, SCARA, -r, r, 0.0), shifted(scara, SCARA, -2 * r, 0.0, 0.0)
    with pytest.raises(PathError) as caught:
        plan(scara, SCARA, [MoveC(via, end, Speed("m/s", v))], limits)
    assert caught.value.what == "tool acceleration"
    assert "of its largest acceleration" in str(caught.value)
    way = plan(scara, SCARA, [MoveC(via, end, Speed("m/s", v))], limits, fit=True)
    q, qd, qdd = dense(way)
    speed, push = (np.linalg.norm(x, axis=1) for x in point_motion(Tracker(scara), q, qd, qdd))
    assert push.max() <= 2.0 * (1 + 1e-9)
    assert speed.max() <= np.sqrt(2.0 * r) * (1 + 1e-9)
    assert speed.max() > 0.5 * np.sqrt(2.0 * r)


def test_tool_limits_hold_on_joint_moves_and_blends(puma) -> None:
    limits = replace(limits_of(puma), tool_speed=0.6, tool_acceleration=2.0)
    requests = [MoveJ(PUMA + 0.4, blend=0.05), MoveJ(PUMA - 0.3, blend=0.05), MoveL(puma.fkine(PUMA))]
    tool = np.eye(4)
    tool[:3, 3] = 0.05, 0.0, 0.15
    for X in (None, tool):
        moves = [replace(move, tool=X) for move in requests]
        moves[-1] = replace(moves[-1], target=puma.fkine(PUMA) @ (np.eye(4) if X is None else X))
        way = plan(puma, PUMA, moves, limits)
        assert [s.kind for s in way.segments].count("blend") == 2
        q, qd, qdd = dense(way)
        v, a = point_motion(Tracker(puma, np.eye(4) if X is None else X), q, qd, qdd)
        used = np.linalg.norm(v, axis=1).max() / 0.6, np.linalg.norm(a, axis=1).max() / 2.0
        assert max(used) <= 1.0 + 1e-9
        assert max(used) > 0.95


def test_tool_acceleration_is_the_second_rate_of_the_tool_point(puma) -> None:
    tool = np.eye(4)
    tool[:3, 3] = 0.05, 0.02, 0.15
    tracker = Tracker(puma, tool)
    way = plan(puma, PUMA, [MoveJ(PUMA + 0.4)], limits_of(puma))
    t, h = np.linspace(0.1, 0.9, 7) * way.duration, 1e-4
    before, now, after = (point_places(tracker, way.sample(x)[0]) for x in (t - h, t, t + h))
    v, a = point_motion(tracker, *way.sample(t))
    np.testing.assert_allclose(v, (after - before) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(a, (after - 2 * now + before) / h**2, atol=1e-3)


def test_duration_next_to_a_blend_is_refused(scara) -> None:
    limits = limits_of(scara)
    one, two = shifted(scara, SCARA, 0.0, -0.1, 0.0), shifted(scara, SCARA, -0.1, -0.1, 0.0)
    timed, quick = Speed("s", 2.0), Speed("m/s", 0.1)
    for first, second, index in ((timed, quick, 0), (quick, timed, 1)):
        with pytest.raises(PathError, match="a duration of 2 s and a blend") as caught:
            plan(scara, SCARA, [MoveL(one, first, blend=0.01), MoveL(two, second)], limits, fit=True)
        assert (caught.value.what, caught.value.index) == ("time", index)
    way = plan(scara, SCARA, [MoveL(one, timed, blend=0.01), Rest(0.1), MoveL(two, timed)], limits)
    assert way.duration == pytest.approx(4.1, rel=1e-12)


@pytest.mark.parametrize(
    "speed", [Speed("fraction", 1e-9), Speed("m/s", 1e-300), Speed("m/s", 1e-6), Speed("s", 3601.0)]
)
def test_moves_that_take_for_ever_are_refused_in_one_line(scara, speed) -> None:
    X = shifted(scara, SCARA, 0.0, -0.1, 0.0)
    moves = [MoveL(X, speed), MoveJ(SCARA + 0.3, speed)]
    for move in moves:
        with pytest.raises(PathError, match=r"the move would take .* s; expected at most 3600 s"):
            plan(scara, SCARA, [move], limits_of(scara))


def test_fitted_moves_are_played_back_without_a_fault(puma) -> None:
    """The main controller stops where a command is 1e-6 beyond a limit."""
    limits = limits_of(puma)
    rng = np.random.default_rng(5)
    played = 0
    for k in range(240):
        q, target = (PUMA + 0.5 * rng.uniform(-1, 1, 6) for _ in range(2))
        move = MoveL(puma.fkine(target), Speed("m/s", 2.0), 20.0) if k % 4 else MoveJ(target)
        reference = Reference(puma, limits, 16_000_000, Settings())
        reference.hold(q)
        try:
            reference.start_plan(move)
        except PathError as error:
            if error.what not in ("workspace", "singularity", "position"):
                raise
            continue
        played += 1
        while not reference.cursor.done:
            motion = reference.planned(1.0)
            assert reference.fault_of(motion) is None
            reference.become(motion)
    assert played > 200


class Motors:
    """Motors that hold 60 % of their torque at rest, and need the rest for half of the accelerations."""

    names = ("M1", "M2", "M3", "M4")

    def __init__(self, acceleration: np.ndarray) -> None:
        self.acceleration = acceleration

    @property
    def drive(self):
        return SimpleNamespace(has_valves=False)

    def shares(self, q, qd, qdd):
        return 0.6 + 0.8 * np.abs(qdd) / self.acceleration


def test_torques_of_motors_are_asked_for_and_fitted(scara) -> None:
    limits = limits_of(scara)
    object.__setattr__(limits, "motors", Motors(limits.acceleration))
    move = MoveJ(SCARA + np.array([1.0, 0.0, 0.0, 0.0]))
    with pytest.raises(PathError, match="140 % of the torque of motor M1 at its speed") as caught:
        plan(scara, SCARA, [move], limits)
    assert (caught.value.what, caught.value.axis) == ("motor torque", "M1")
    way = plan(scara, SCARA, [move], limits, fit=True)
    worst = limits.motors.shares(*dense(way)).max()
    assert 0.99 < worst <= 1.0 + 1e-9


# --- limits belong to what is allowed ------------------------------------------------------------------


def test_plan_to_the_very_limits_is_accepted_and_reaches_them(scara) -> None:
    limits = limits_of(scara)
    for move in (
        MoveJ(limits.q_max),
        MoveJ(limits.q_max, Speed("m/s", 0.5)),
    ):  # the short way and the long one
        way = plan(scara, limits.q_min, [move, replace(move, target=limits.q_min)], limits)
        np.testing.assert_array_equal(way.sample([0.0, way.duration])[0], [limits.q_min] * 2)
        np.testing.assert_array_equal(way.sample([way.spans()[0][1]])[0][0], limits.q_max)
    beyond = limits.q_max + np.array([0.0, 1e-6, 0.0, 0.0])
    with pytest.raises(PathError, match="axis B"):
        plan(scara, limits.q_min, [MoveJ(beyond)], limits)


def test_longest_move_full_shares_and_stated_tool_limits_are_accepted(scara) -> None:
    limits = replace(limits_of(scara), tool_speed=0.25, tool_acceleration=2.0)
    target = SCARA + 0.1
    way = plan(scara, SCARA, [MoveJ(target, Speed("s", 3600.0))], limits)
    assert way.duration == pytest.approx(3600.0)
    with pytest.raises(PathError, match="expected at most 3600 s"):
        plan(scara, SCARA, [MoveJ(target, Speed("s", 3600.1))], limits)
    full = plan(scara, SCARA, [MoveJ(target, Speed("fraction", 1.0), acceleration=1.0)], limits)
    assert full.duration == plan(scara, SCARA, [MoveJ(target)], limits).duration
    line = MoveL(shifted(scara, SCARA, 0.0, -0.1, 0.0), Speed("m/s", 0.25), acceleration=2.0)
    way = plan(scara, SCARA, [line], limits)
    assert way.duration == pytest.approx(0.1 / 0.25 + 1.5 * 0.25 / 2.0)
    for faster in (replace(line, speed=Speed("m/s", 0.2501)), replace(line, acceleration=2.001)):
        with pytest.raises(PathError, match="more than the tool's"):
            plan(scara, SCARA, [faster], limits)
