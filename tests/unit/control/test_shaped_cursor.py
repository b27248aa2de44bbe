"""The shaped path parameter: straight lines, limits, override, pause, stops in between, and stops at once."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from servotwin.control.main.exchange import Feedback
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.shaped_cursor import CLOSE, ShapedCursor
from servotwin.control.main.states import Event, Mode, State
from servotwin.control.main.time_scaling import FIRM, GENTLE, HARD, RAMP, Cursor, Pace, Planned
from servotwin.description.load import read_description
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, MoveL, Speed
from servotwin.robot.robot import Robot
from servotwin.simulation.live_robot import make_controller

T = 1e-3
CHANGES = {"variables.load": "20 kg", "controller.shaping.shaper": "zvd"}


@cache
def robot() -> Robot:
    return Robot(build_mechanism(read_description("palletizer-4-elastic", CHANGES)))


def controller() -> MainController:
    description = read_description("palletizer-4-elastic", CHANGES)
    return make_controller(robot(), limits_of(robot(), description), description)


def pose(y: float) -> Array:
    X = robot().fkine(robot().q_home).copy()
    X[:3, 3] = 0.915, y, 0.7
    return X


@cache
def line(*ys: float) -> Planned:
    start = np.asarray(robot().ikine(pose(-0.5)))
    moves = [MoveL(pose(y), Speed("m/s", 0.5)) for y in ys]
    return plan(robot(), start, moves, controller().limits, fit=True)


def shaped(trajectory: Planned) -> ShapedCursor:
    cursor = controller().reference.cursor_of(trajectory)
    assert isinstance(cursor, ShapedCursor)
    return cursor


def gone(cursor: Cursor, wanted: list[float], most: int = 20_000) -> tuple[Array, Array, Array]:
    """q, qd, qdd (k, n) period by period to the end; the last of the rates ``wanted`` goes on."""
    rows = []
    for k in range(most):
        rows.append(cursor.advance(T, wanted[min(k, len(wanted) - 1)], GENTLE)[0])
        if cursor.done:
            break
    return tuple(np.array(x) for x in zip(*rows, strict=True))  # type: ignore[return-value]


def test_shaped_line_stays_straight_and_arrives_later_by_the_shaper() -> None:
    trajectory = line(0.5)
    cursor = shaped(trajectory)
    q, qd, _ = gone(cursor, [1.0])
    tool = robot().fkine(q)[:, :3, 3]
    assert np.abs(tool[:, [0, 2]] - [0.915, 0.7]).max() < 1e-7  # m; 0.1 mm is what is asked for
    np.testing.assert_allclose(tool[-1], [0.915, 0.5, 0.7], atol=1e-9)
    assert not qd[-1].any()
    longer = cursor.modes[0].shaper.duration
    assert len(q) * T == pytest.approx(trajectory.duration + longer, abs=3 * T)
    assert cursor.added == pytest.approx(longer, abs=3 * T)


def test_shaped_line_keeps_limits_and_its_rates_are_those_of_its_positions() -> None:
    cursor = shaped(line(0.5))
    q, qd, qdd = gone(cursor, [1.0])
    limits = controller().limits
    assert (np.abs(qd) <= limits.speed * (1.0 + 1e-6)).all()
    assert (np.abs(qdd) <= limits.acceleration * (1.0 + 1e-6)).all()
    np.testing.assert_allclose(np.diff(q, axis=0) / T, 0.5 * (qd[1:] + qd[:-1]), atol=2e-4)


def swing(q: Array, w: float, damping: float) -> float:
    """Largest swing after the end of an oscillator that hangs on the first joint's command."""
    x, v, out = float(q[0, 0]), 0.0, 0.0
    fine = 10
    h = T / fine
    for k in range(len(q) + 400):
        u = float(q[min(k, len(q) - 1), 0])
        for _ in range(fine):
            v += h * (-w * w * (x - u) - 2.0 * damping * w * v)
            x += h * v
        if k >= len(q):
            out = max(out, abs(x - u))
    return out


def joint_move() -> Planned:
    q = robot().q_home
    return plan(
        robot(), q, [MoveJ(q + np.array([0.6, 0.0, 0.0, 0.0]), Speed("fraction", 0.5))], controller().limits
    )


@pytest.mark.parametrize("override", [1.0, 0.6, 0.35])
def test_shaper_works_in_real_time_at_every_override(override: float) -> None:
    """A trajectory that was shaped before it is slowed down would swing with impulses at the wrong times."""
    trajectory = joint_move()
    cursor = shaped(trajectory)
    mode = cursor.modes[0].shaper
    plain = Cursor(trajectory, controller().limits.acceleration)
    # quick enough for the oscillator to be excited: the move is read at the frequency of the mode
    left, without = (swing(gone(c, [override])[0], mode.frequency, mode.damping) for c in (cursor, plain))
    assert left < 0.05 * without + 2e-6


def test_pause_comes_to_rest_shaped_and_resumes_on_the_line() -> None:
    cursor = shaped(line(0.5))
    for _ in range(600):
        cursor.advance(T, 1.0, GENTLE)
    count = 0
    while not cursor.at_rest:
        cursor.advance(T, 0.0, GENTLE)
        count += 1
        assert count < 2000
    (q, qd, _), _ = cursor.advance(T, 0.0, GENTLE)
    assert not qd.any()
    q_after, _, qdd = gone(cursor, [1.0])
    assert np.abs(robot().fkine(q_after)[:, :3, 3][:, [0, 2]] - [0.915, 0.7]).max() < 1e-7
    assert np.abs(q_after[0] - q).max() < 1e-4
    assert (np.abs(qdd) <= controller().limits.acceleration * 1.02).all()


def test_corner_between_lines_is_a_stop_of_the_shaped_motion_too() -> None:
    cursor = shaped(line(0.0, 0.5))
    q, qd, _ = gone(cursor, [1.0])
    still = np.flatnonzero(~qd.any(axis=1))
    middle = still[(still > 100) & (still < len(q) - 100)]
    assert len(middle) >= 1
    np.testing.assert_allclose(robot().fkine(q[middle[0]])[:3, 3], [0.915, 0.0, 0.7], atol=1e-8)


def test_stop_is_not_shaped_and_keeps_path_and_limits() -> None:
    plain, cursor = Cursor(line(0.5), controller().limits.acceleration), shaped(line(0.5))
    counts = []
    for one in (plain, cursor):
        for _ in range(700):
            one.advance(T, 1.0, GENTLE)
        rows, before = [], None
        while not one.at_rest:
            (q, qd, _), _ = one.advance(T, 0.0, FIRM)
            if before is not None:
                assert (np.abs(qd - before) / T <= controller().limits.acceleration * 1.02).all()
            rows.append(q)
            before = qd
        counts.append(len(rows))
        assert np.abs(robot().fkine(np.array(rows))[:, :3, 3][:, [0, 2]] - [0.915, 0.7]).max() < 1e-7
    assert counts[1] <= counts[0]  # no impulse is waited for
    # and from there it can be resumed
    q, qd, _ = gone(cursor, [1.0])
    assert cursor.done
    np.testing.assert_allclose(robot().fkine(q[-1])[:3, 3], [0.915, 0.5, 0.7], atol=1e-9)


@pytest.mark.parametrize("pace", [FIRM, HARD])
def test_stop_that_is_called_off_while_the_arm_moves_comes_to_rest_first(pace: Pace) -> None:
    """A shaper begins with an arm that stands: what still moves brakes on, and no joint jumps."""
    cursor = shaped(line(0.5))
    for _ in range(600):
        before = cursor.advance(T, 1.0, GENTLE)[0][1]
    most = 1.02 * pace.share * controller().limits.acceleration
    for k in range(20_000):
        qd = cursor.advance(T, *((0.0, pace) if k < 3 else (1.0, GENTLE)))[0][1]
        assert (np.abs(qd - before) / T <= (most if k < 4 else most / pace.share)).all(), k
        assert k > 3 or qd.any()
        before = qd
        if cursor.done:
            break
    assert cursor.done


def test_emergency_stop_takes_power_away_without_waiting_for_the_shaper() -> None:
    main = controller()
    q = robot().q_home
    now = 0
    main.step(now, Feedback(q))
    assert main.press(Event.ENABLE)
    for _ in range(3):
        now += main.period_ns
        main.step(now, Feedback(q))
    main.press(Event.MODE, mode=Mode.TEACH)
    main.reference.cursor = main.reference.cursor_of(joint_move())
    main.state = State.MOVING
    for _ in range(50):
        now += main.period_ns
        main.step(now, Feedback(main.reference.q))
    assert main.reference.qd.any()
    now += main.period_ns
    command = main.step(now, Feedback(main.reference.q, circuit_closed=False))
    assert command.state is State.EMERGENCY
    assert not command.enable
    assert not command.qd.any()


def paces(seed: int) -> list[tuple[float, Pace]]:
    """An operator who changes the override, pauses, stops and goes on, at random periods."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[float, Pace]] = []
    for _ in range(8):
        wanted = float(rng.choice([1.0, 0.5, 0.0, 0.8]))
        pace = FIRM if wanted == 0.0 and rng.random() < 0.5 else GENTLE
        rows += [(wanted, pace)] * int(rng.integers(1, 300))
    return rows


@pytest.mark.parametrize(("pose", "modes"), [("end", "2"), ("path", "1")])
def test_blocks_of_periods_are_what_single_periods_give(
    monkeypatch: pytest.MonkeyPatch, pose: str, modes: str
) -> None:
    """Whatever the operator does between the periods of a block."""
    changes = {**CHANGES, "controller.shaping.pose": pose, "controller.shaping.modes": modes}
    description = read_description("palletizer-4-elastic", changes)
    main = make_controller(robot(), limits_of(robot(), description), description)
    trajectory = line(0.5)
    for seed in (1,) if pose == "path" else (1, 2):
        rows = []
        for single in (False, True):
            with monkeypatch.context() as patch:
                cursor = main.reference.cursor_of(trajectory)
                if single:
                    patch.setattr(ShapedCursor, "_find", lambda *_: False)
                told = []
                for wanted, pace in paces(seed) + [(1.0, GENTLE)] * 4000:
                    told.append(np.concatenate(cursor.advance(T, wanted, pace)[0]))
                    if cursor.done:
                        break
                rows.append(np.array(told))
                assert cursor.done
        assert abs(len(rows[0]) - len(rows[1])) <= 1  # rounding decides whether the last one is needed
        count = min(map(len, rows))
        np.testing.assert_allclose(rows[0][:count], rows[1][:count], rtol=1e-9, atol=1e-7)


def test_what_is_ahead_of_a_shaped_cursor_is_what_it_comes_to() -> None:
    asked, stepped = shaped(line(0.5)), shaped(line(0.5))
    rng = np.random.default_rng(4)
    most = 0
    for _ in range(5000):
        instants = asked.ahead(T, 1.0)
        count = int(rng.integers(0, len(instants.times) + 1))
        most = max(most, count)
        if not count:
            there = asked.advance(T, 1.0, GENTLE)[0]
            for a, b in zip(there, stepped.advance(T, 1.0, GENTLE)[0], strict=True):
                np.testing.assert_array_equal(a, b)
        else:
            asked.skip(count)
            for i in range(count):
                there = stepped.advance(T, 1.0, GENTLE)[0]
                for a, b in zip(instants[1:], there, strict=True):
                    np.testing.assert_array_equal(a[i], b)
        assert asked.time == stepped.time
        assert asked.at_rest == stepped.at_rest
        if stepped.done:
            break
    assert asked.done
    assert most > 50


def test_nothing_is_ahead_of_a_shaped_cursor_that_was_stopped() -> None:
    cursor = shaped(line(0.5))
    for _ in range(300):
        cursor.advance(T, 1.0, GENTLE)
    assert len(cursor.ahead(T, 1.0).times) > 0
    cursor.advance(T, 0.0, FIRM)
    assert len(cursor.ahead(T, 1.0).times) == 0


def test_stop_that_leads_begins_and_ends_its_braking_gently() -> None:
    cursor = shaped(line(0.5))
    for _ in range(700):
        cursor.advance(T, 1.0, GENTLE)
    cursor.stand_back(cursor.time, cursor.rate_now)
    pace = float(np.linalg.norm(cursor.path.motion_at(cursor.time, 1.0, 0.0)[1]))
    braking = float(np.linalg.norm(cursor.advance(T, 0.0, HARD)[0][1])) / pace / 0.2  # to rest in 0.2 s
    cursor.slopes = lambda *_: (-braking, np.inf)
    cursor.stand_back(cursor.time, cursor.rate_now)
    slowing = []
    while not cursor.at_rest:
        _, qd, qdd = cursor.advance(T, 0.0, HARD)[0]
        if not cursor.at_rest:
            slowing.append(-float(qdd @ qd) / float(np.linalg.norm(qd)) / pace)
    assert max(slowing) == pytest.approx(braking, rel=0.1)
    assert slowing[0] < 1.5 * braking * T / RAMP
    assert np.abs(np.diff(slowing)).max() < 0.1 * braking
    assert len(slowing) * T == pytest.approx(0.2 + RAMP, rel=0.15)


@cache
def scara() -> tuple[MainController, Planned]:
    """A SCARA whose period is long, 16 ms, with its limits, and a line that bends the ways of its joints."""
    shaping = {"shaper": "zvd", "frequency": "5 Hz", "damping": "0.05"}
    changes = {f"controller.shaping.{key}": value for key, value in shaping.items()}
    description = read_description("gsis-scara", changes)
    arm = Robot(build_mechanism(description))
    limits = limits_of(arm, description)
    start, end = np.radians([[-60.0, 60.0, 0.0, 0.0], [30.0, 90.0, 0.0, 90.0]])
    end[2] = 0.05
    main = make_controller(arm, limits, description)
    return main, plan(arm, start, [MoveL(arm.fkine(end))], limits, fit=True)


@pytest.mark.parametrize("pace", [FIRM, HARD])
def test_braking_keeps_the_accelerations_to_the_end_of_every_period(pace: Pace) -> None:
    """The path bends on within a period of 16 ms: what it allows at the begin took axes 3 % beyond their limits."""
    main, trajectory = scara()
    period, most = main.period_ns * 1e-9, 0.0
    for begin in range(5, 100, 2):
        cursor = main.reference.cursor_of(trajectory)
        assert isinstance(cursor, ShapedCursor)
        for _ in range(begin):
            before = cursor.advance(period, 1.0, GENTLE)[0][1]
        while not cursor.at_rest:
            _, qd, qdd = cursor.advance(period, 0.0, pace)[0]
            hardest = np.maximum(np.abs(qdd), np.abs(qd - before) / period)
            most = max(most, float((hardest / (pace.share * main.limits.acceleration)).max()))
            before = qd
    assert 0.9 < most <= CLOSE + 1e-4


@cache
def cornered(name: str, aside: float) -> tuple[MainController, Planned]:
    """A motion to and fro with rounded corners: back the way that it came, or ``aside`` rad, m beside it."""
    shaping = {"shaper": "zvd", "frequency": "5 Hz", "damping": "0.05"}
    description = read_description(
        name, {f"controller.shaping.{key}": value for key, value in shaping.items()}
    )
    arm = Robot(build_mechanism(description))
    limits = limits_of(arm, description)
    way = 0.1 * np.clip(limits.q_max - limits.q_min, 0.0, 3.0)
    there, back = arm.q_home + way, arm.q_home + aside * way[::-1]
    moves = [MoveJ(there, blend=0.02), MoveJ(back, blend=0.02), MoveJ(there)]
    return make_controller(arm, limits, description), plan(arm, arm.q_home, moves, limits, fit=True)


def share_of_accelerations(main: MainController, cursor: Cursor, wanted: list[float]) -> float:
    """The largest share of the accelerations on the way to the end, stated or in the mean of a period."""
    period, most = main.period_ns * 1e-9, 0.0
    before = np.zeros(main.robot.n)
    for k in range(20_000):
        _, qd, qdd = cursor.advance(period, wanted[min(k, len(wanted) - 1)], GENTLE)[0]
        hardest = np.maximum(np.abs(qdd), np.abs(qd - before) / period)
        most, before = max(most, float((hardest / main.limits.acceleration).max())), qd
        if cursor.done:
            break
    assert cursor.done
    return most


@pytest.mark.parametrize("aside", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("name", ["gsis-scara", "puma560", "sixaxis-5kg"])
def test_shaped_corners_keep_the_accelerations_at_every_override(name: str, aside: float) -> None:
    """Shaped copies are not in the corner together: their mean ran through the turn at the speed of straight ways."""
    main, trajectory = cornered(name, aside)
    changing = [rate for k in range(40) for rate in [(1.0, 0.5, 0.8, 0.0, 0.3)[k % 5]] * (7 + k)]
    for wanted in ([1.0], [0.85], [0.517], [0.3], [*changing, 1.0]):
        cursor = main.reference.cursor_of(trajectory)
        assert isinstance(cursor, ShapedCursor)
        assert share_of_accelerations(main, cursor, wanted) <= 1.0 + 1e-6
        assert cursor.plan_time == pytest.approx(trajectory.duration)
    delay = cursor.modes[0].shaper.duration
    assert cursor.duration < trajectory.duration + 3 * (delay + 0.15)  # rests, not a slow pace all the way


def test_times_of_a_shaped_motion_with_rests_are_those_of_its_plan() -> None:
    main, trajectory = cornered("gsis-scara", 0.05)
    period = main.period_ns * 1e-9
    asked, stepped = main.reference.cursor_of(trajectory), main.reference.cursor_of(trajectory)
    assert asked.plan is trajectory
    assert asked.trajectory.duration > trajectory.duration
    found = []
    while not stepped.done:
        instants = asked.ahead(period, 1.0)
        owners = asked.new_owners(instants.times)
        for time, q in zip(instants.times, instants.q, strict=True):
            stepped.advance(period, 1.0, GENTLE)
            assert stepped.plan_time == time
            np.testing.assert_allclose(trajectory.sample(np.array([time]))[0][0], q, atol=1e-9)
        found += [owner for _, owner in owners]
        if len(instants.times):
            asked.skip(len(instants.times))
            assert asked.owner == stepped.owner
        else:
            before = asked.owner
            asked.advance(period, 1.0, GENTLE)
            stepped.advance(period, 1.0, GENTLE)
            found += [asked.owner] if asked.owner != before else []
    assert list(dict.fromkeys([0, *found])) == [0, 1, 2]


@pytest.mark.parametrize("pace", [FIRM, HARD])
def test_stops_about_a_corner_and_what_follows_keep_the_accelerations(pace: Pace) -> None:
    main, trajectory = cornered("gsis-scara", 0.0)
    period, most = main.period_ns * 1e-9, 0.0
    for begin in range(4, int(trajectory.duration / period), 3):
        cursor = main.reference.cursor_of(trajectory)
        for _ in range(begin):
            before = cursor.advance(period, 1.0, GENTLE)[0][1]
        while not cursor.at_rest:
            _, qd, qdd = cursor.advance(period, 0.0, pace)[0]
            hardest = np.maximum(np.abs(qdd), np.abs(qd - before) / period)
            most, before = max(most, float((hardest / (pace.share * main.limits.acceleration)).max())), qd
        assert share_of_accelerations(main, cursor, [0.7]) <= 1.0 + 1e-6
    assert most <= CLOSE + 1e-4


def test_rate_of_a_shaped_motion_is_never_more_than_planned() -> None:
    """Where the plan nearly stands the shaped arm may still move: a rate without bound would be taken over."""
    for aside in (0.0, 0.05):
        main, trajectory = cornered("gsis-scara", aside)
        cursor, fastest = main.reference.cursor_of(trajectory), 0.0
        while not cursor.done:
            cursor.advance(main.period_ns * 1e-9, 1.0, GENTLE)
            fastest = max(fastest, cursor.rate_now)
        assert 0.5 < fastest <= 1.0
