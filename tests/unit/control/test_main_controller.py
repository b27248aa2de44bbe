"""Keys and their effects: teaching, playing back, pace, alarms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from operators import LIMITS, PERIOD_NS, SCARA, Bench, Q, T, enabled, player, running
from servotwin.control.main.alarms import REACTION, AlarmKind
from servotwin.control.main.jogging import Jog
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.states import (
    MODES_OF,
    PALLETIZER_MODES,
    TRANSITIONS,
    Event,
    Mode,
    State,
    table_text,
)
from servotwin.control.main.time_scaling import FIRM, GENTLE, Cursor

DOCS = Path(__file__).resolve().parents[3] / "docs" / "controller.md"
A = (1.0, 0.0, 0.0, 0.0)
LINE = "MOVEJ P1\nMOVEL P2 SPEED 0.4 m/s\nMOVEJ P1"


def tips(bench: Bench) -> np.ndarray:
    return SCARA.fkine(np.array([c.q for c in bench.commands]))[:, :3, 3]


def off_line(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    along = (b - a) / np.linalg.norm(b - a)
    away = (points - a) - np.outer((points - a) @ along, along)
    return float(np.linalg.norm(away, axis=1).max())


# --- the table --------------------------------------------------------------------------------------


def test_table_in_the_handbook_is_the_table_of_the_controller() -> None:
    text = DOCS.read_text(encoding="utf-8")
    printed = text.split("<!-- transitions -->")[1].split("<!-- end of transitions -->")[0].strip()
    assert printed == table_text()


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("event", list(Event))
def test_event_outside_the_table_is_refused_with_a_reason(state: State, event: Event) -> None:
    bench = enabled()
    bench.controller.state = state
    if (state, event) not in TRANSITIONS:
        reply = bench.press(event)
        assert not reply
        assert "expected" in reply.reason or "not a key" in reply.reason
        assert bench.controller.state is state


def test_events_of_other_modes_are_refused() -> None:
    bench = enabled(Mode.PROGRAM)
    for event in (Event.JOG, Event.RUN, Event.HOME, Event.RECORD):
        reply = bench.press(event)
        assert not reply
        assert "mode" in reply.reason
    assert set(MODES_OF) <= set(Event)


def test_unknown_key_and_wrong_arguments_are_refused() -> None:
    bench = enabled()
    assert "no event" in bench.press("dance").reason
    assert "not a key" in bench.press(Event.FINISHED).reason
    assert not bench.press(Event.OVERRIDE)
    assert not bench.press(Event.OVERRIDE, percent=0)
    assert not bench.press(Event.MODE, mode="party")


# --- power ------------------------------------------------------------------------------------------


def test_enable_takes_the_arm_over_where_it_stands() -> None:
    bench = Bench()
    bench.step()
    bench.q = Q + 0.01  # moved by hand
    bench.step(2)
    bench.must(Event.ENABLE)
    command = bench.step()
    assert command.enable
    np.testing.assert_array_equal(command.q, Q + 0.01)
    assert bench.until(State.READY).brakes_released


def test_enable_is_refused_before_the_first_measurement_while_moving_and_with_an_open_circuit() -> None:
    bench = Bench()
    assert "no measured" in bench.press(Event.ENABLE).reason
    bench.step()
    bench.q = Q + 0.01
    bench.step()
    assert "still moves" in bench.press(Event.ENABLE).reason
    bench.step(circuit_closed=False)
    assert bench.controller.state is State.EMERGENCY
    assert "circuit" in bench.press(Event.RESET).reason
    bench.step()
    bench.must(Event.RESET)
    bench.must(Event.ENABLE)


def test_disable_while_moving_is_refused() -> None:
    bench = enabled()
    bench.must(Event.JOG, jog=Jog("joint", A))
    bench.step(3)
    assert "stop" in bench.press(Event.DISABLE).reason


# --- jogging ----------------------------------------------------------------------------------------


def test_jog_stops_when_the_key_is_released() -> None:
    bench = enabled()
    for _ in range(30):
        bench.must(Event.JOG, jog=Jog("joint", A))
        command = bench.step()
    assert command.qd[0] == pytest.approx(0.25 * LIMITS.speed[0])
    bench.must(Event.RELEASE)
    following = bench.step()
    assert following.qd[0] == pytest.approx(command.qd[0] - LIMITS.acceleration[0] * T)  # brakes at once
    assert not bench.until(State.READY, most=20).qd.any()


def test_jog_key_that_is_not_pressed_again_counts_as_released() -> None:
    bench = enabled()
    bench.must(Event.JOG, jog=Jog("joint", A))
    hold = bench.controller.settings.hold_ns // PERIOD_NS
    assert bench.step(hold).state is State.JOGGING
    assert bench.step(2).state is State.STOPPING


def test_jog_without_enabling_switch_is_refused_and_stops() -> None:
    bench = enabled()
    bench.must(Event.JOG, jog=Jog("joint", A))
    bench.step(5)
    assert bench.step(dead_man=False).state is State.STOPPING
    bench.until(State.READY)
    bench.step(dead_man=False)
    assert "enabling switch" in bench.press(Event.JOG, jog=Jog("joint", A)).reason


def test_jog_by_joints_stops_before_the_limit() -> None:
    bench = enabled()
    for _ in range(400):
        bench.must(Event.JOG, jog=Jog("joint", A))
        command = bench.step()
    assert LIMITS.q_max[0] - 1e-6 < command.q[0] <= LIMITS.q_max[0]
    assert max(abs(c.qdd[0]) for c in bench.commands) <= LIMITS.acceleration[0] * (1 + 1e-9)


@pytest.mark.parametrize("frame", ["base", "tool"])
def test_jog_of_the_tool_is_straight_and_stops_before_the_end_of_the_workspace(frame: str) -> None:
    bench = enabled()
    start = SCARA.fkine(bench.q)
    for _ in range(200):
        if not bench.press(Event.JOG, jog=Jog(frame, (0.0, 1.0, 0.0, 0.0, 0.0, 0.0))):  # type: ignore[arg-type]
            break
        bench.step()
    way = start[:3, :3][:, 1] if frame == "tool" else np.array([0.0, 1.0, 0.0])
    points = tips(bench)
    assert off_line(points, start[:3, 3], start[:3, 3] + way) < 1e-6
    assert np.linalg.norm(points[-1] - points[0]) > 0.05
    assert not bench.controller.alarms
    np.testing.assert_allclose(SCARA.fkine(bench.q)[:3, :3], start[:3, :3], atol=1e-6)


def test_jog_that_the_arm_cannot_do_is_refused() -> None:
    bench = enabled()
    reply = bench.press(Event.JOG, jog=Jog("base", (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)))  # tilts the quill
    assert "cannot move so" in reply.reason
    assert "numbers" in bench.press(Event.JOG, jog=Jog("joint", (1.0, 0.0))).reason


def test_step_has_its_length() -> None:
    bench = enabled()
    q = bench.q.copy()
    bench.must(Event.NUDGE, jog=Jog("joint", (0.0, -1.0, 0.0, 0.0), length=0.02))
    bench.until(State.READY)
    np.testing.assert_allclose(bench.q, q - [0.0, 0.02, 0.0, 0.0], atol=1e-12)
    before = SCARA.fkine(bench.q)[:3, 3]
    bench.must(Event.NUDGE, jog=Jog("base", (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), length=0.005))
    bench.until(State.READY)
    np.testing.assert_allclose(SCARA.fkine(bench.q)[:3, 3], before + np.array([0.005, 0.0, 0.0]), atol=1e-8)


def test_step_beyond_a_limit_is_refused() -> None:
    bench = enabled()
    assert "axis Z" in bench.press(Event.NUDGE, jog=Jog("joint", (0.0, 0.0, 1.0, 0.0), length=0.2)).reason
    assert bench.controller.state is State.READY


def test_home_leads_home() -> None:
    bench = enabled()
    bench.must(Event.HOME)
    bench.until(State.READY)
    np.testing.assert_allclose(bench.q, SCARA.q_home, atol=1e-12)


def test_points_are_recorded_renamed_and_deleted() -> None:
    bench = enabled()
    bench.must(Event.RECORD, name="here")
    store = bench.controller.points
    assert store is not None
    np.testing.assert_allclose(store.points["here"].vector(SCARA.joint_names), bench.q, atol=1e-8)  # type: ignore[attr-defined]
    assert not bench.press(Event.RECORD, name="here")
    bench.must(Event.RECORD, name="here", replace_old=True)
    bench.must(Event.RENAME, name="here", new_name="there")
    bench.must(Event.DELETE, name="there")
    assert not bench.press(Event.DELETE, name="there")
    assert not bench.press(Event.RECORD, name="MOVEJ")


# --- play back --------------------------------------------------------------------------------------


def test_job_runs_to_its_end_and_is_written_down() -> None:
    bench = running()
    bench.until(State.READY)
    texts = [entry.text for entry in bench.controller.journal]
    assert texts == [
        "MOVEJ P1",
        "SET OUT1 ON",
        "MOVEL P2",
        "MOVEL P3",
        "WAIT 0.1 s",
        "WAITFOR IN1 ON",
        "SET OUT2 ON",
        "MOVEJ P1",
        "SET OUT1 OFF",
    ]
    ends = [entry.end_ns for entry in bench.controller.journal]
    begins = [entry.begin_ns for entry in bench.controller.journal]
    assert ends == sorted(ends)
    assert all(abs(b - e) <= PERIOD_NS for e, b in zip(ends, begins[1:], strict=False))
    assert bench.controller.outputs == {"OUT1": False, "OUT2": True}


def test_moves_and_waits_take_as_long_as_planned() -> None:
    source = player("MOVEJ P2\nWAIT 0.1 s\nMOVEJ P3\nMOVEJ P1\n")
    bench = enabled(Mode.PLAY)
    bench.must(Event.LOAD, program=source)
    bench.must(Event.RUN)
    bench.until(State.READY)
    planned = 0.1 + sum(p.trajectory.duration for p in source.plans)
    journal = bench.controller.journal
    assert (journal[-1].end_ns - journal[0].begin_ns) * 1e-9 == pytest.approx(planned, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_pause_resume_and_override_keep_the_path_and_the_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source = player(LINE)
    bench = enabled(Mode.PLAY)
    bench.must(Event.LOAD, program=source)
    bench.must(Event.RUN)
    begin, on_path, paused = len(bench.commands), [], 0
    for _ in range(3000):
        key = rng.random()
        if key < 0.05:
            bench.press(Event.PAUSE)
        elif key < 0.2:
            bench.press(Event.RESUME)
        elif key < 0.3:
            bench.must(Event.OVERRIDE, percent=int(rng.integers(1, 101)))
        command = bench.step()
        paused += command.state is State.PAUSED
        playback = bench.controller.reference.playback
        if command.state is State.READY:
            break
        if playback is not None and playback.cursor is not None:
            q = playback.cursor.trajectory.sample(np.array([playback.cursor.time]))[0][0]
            on_path.append(np.abs(command.q - q).max())
    assert command.state is State.READY
    assert paused
    assert max(on_path) < 1e-12
    line = next(e for e in bench.controller.journal if e.text == "MOVEL P2")
    rows = [c.q for c in bench.commands[begin:] if line.begin_ns <= c.time_ns <= line.end_ns]
    ends = [SCARA.fkine(source.plans[1].trajectory.sample(np.array([t]))[0][0])[:3, 3] for t in (0.0, 99.0)]
    assert off_line(SCARA.fkine(np.array(rows))[:, :3, 3], *ends) < 1e-6
    qd, qdd = (np.array([getattr(c, name) for c in bench.commands]) for name in ("qd", "qdd"))
    assert (np.abs(qd) <= LIMITS.speed * (1 + 1e-9)).all()
    assert (np.abs(qdd) <= LIMITS.acceleration * (1 + 1e-5)).all()
    assert (np.abs(np.diff(qd, axis=0)) / T <= 1.02 * LIMITS.acceleration).all()


def test_paused_arm_stands_and_resumes_where_it_stood() -> None:
    bench = running(LINE)
    bench.step(40)
    bench.must(Event.PAUSE)
    stood = bench.until(State.PAUSED, most=40)
    assert not bench.step(20).qd.any()
    np.testing.assert_array_equal(bench.commands[-1].q, stood.q)
    bench.must(Event.RESUME)
    assert np.abs(bench.step().q - stood.q).max() < 1e-3
    bench.until(State.READY)


def test_half_override_takes_twice_as_long() -> None:
    times = []
    for percent in (100, 50):
        bench = enabled(Mode.PLAY)
        bench.must(Event.OVERRIDE, percent=percent)
        bench.must(Event.LOAD, program=player("MOVEJ P3"))
        bench.must(Event.RUN)
        bench.until(State.READY)
        entry = bench.controller.journal[0]
        times.append(entry.end_ns - entry.begin_ns)
    assert times[1] == pytest.approx(2 * times[0], rel=1e-9)


def test_single_step_does_one_instruction_after_the_other() -> None:
    bench = enabled(Mode.PLAY)
    bench.must(Event.LOAD, program=player("MOVEL P1 SPEED 0.3 m/s BLEND 5 mm\nSET OUT1 ON\nMOVEJ P2"))
    for count in (1, 2, 3):
        bench.must(Event.SINGLE_STEP)
        bench.until(State.PAUSED)
        assert len(bench.controller.journal) == count
    bench.must(Event.SINGLE_STEP)
    bench.until(State.READY)


def test_stop_brakes_on_the_path_and_gives_the_job_up() -> None:
    bench = running("MOVEL P2 SPEED 0.4 m/s")
    bench.step(30)
    a, b = tips(bench)[[-20, -1]]
    bench.must(Event.STOP)
    count = len(bench.commands)
    bench.until(State.READY, most=20)
    assert off_line(tips(bench)[count:], a, b) < 1e-6
    assert not bench.press(Event.RESUME)


def test_emergency_stop_leaves_the_reference_where_it_was() -> None:
    bench = running(LINE)
    before = bench.step(30)
    bench.must(Event.EMERGENCY_STOP)
    command = bench.step(10)
    np.testing.assert_array_equal(command.q, before.q)
    assert not command.qd.any()
    assert not command.enable
    bench.must(Event.RESET)
    assert bench.controller.state is State.DISABLED


def test_input_that_comes_ends_the_wait() -> None:
    bench = running("WAITFOR IN1 ON TIMEOUT 5 s\nMOVEJ P2")
    bench.step(10)
    bench.inputs["IN1"] = True
    bench.until(State.READY)
    assert bench.controller.journal[0].end_ns - bench.controller.journal[0].begin_ns <= 11 * PERIOD_NS


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("WAIT 0.1 s\nWAITFOR IN1 ON TIMEOUT 0.1 s", AlarmKind.INPUT_TIMEOUT, 2),
        ('MOVEJ P1\nALARM "empty"', AlarmKind.PROGRAM_ERROR, 2),
        ("MOVEJ P1\nMOVEL P2 OFFSET 2000 mm, 0 mm, 0 mm", AlarmKind.PROGRAM_ERROR, 2),
        ("MOVEJ P1\nMOVEL P2 SPEED 1.5 m/s ACC 50 m/s2", AlarmKind.PROGRAM_ERROR, 2),
    ],
)
def test_soft_alarm_leads_to_rest_under_power_and_names_the_line(
    text: str, kind: AlarmKind, line: int
) -> None:
    bench = running(text)
    command = bench.until(State.ALARM)
    assert command.enable
    (alarm,) = command.alarms
    assert alarm.kind is kind
    assert alarm.line == line
    assert f"test.job:{line}" in alarm.text
    bench.must(Event.RESET)
    assert not bench.step().alarms
    assert bench.controller.state is State.READY


@pytest.mark.parametrize(
    ("feedback", "kind"),
    [
        ({"q": Q + 1.0, "qd": np.zeros(4)}, AlarmKind.FOLLOWING_ERROR),
        ({"q": Q - [0.0, 0.0, 0.06, 0.0], "qd": np.zeros(4)}, AlarmKind.POSITION_LIMIT),
        ({"q": Q, "qd": np.array([0.0, 9.0, 0.0, 0.0])}, AlarmKind.SPEED),
        ({"drive_fault": "too hot"}, AlarmKind.OVERLOAD),
        ({"q": np.array([0.0, np.nan, 0.0, 0.0])}, AlarmKind.FEEDBACK),
        ({"q": np.zeros(3)}, AlarmKind.FEEDBACK),
    ],
)
def test_hard_alarm_takes_the_power_at_once(feedback: dict[str, object], kind: AlarmKind) -> None:
    bench = enabled()
    command = bench.step(**feedback)
    assert command.state is State.FAULT
    assert not command.enable
    assert kind in [alarm.kind for alarm in command.alarms]
    bench.step(3)
    bench.must(Event.RESET)
    assert bench.controller.state is State.DISABLED


def test_every_alarm_leads_somewhere() -> None:
    assert set(REACTION) == set(AlarmKind)
    assert set(REACTION.values()) == {Event.SOFT_ALARM, Event.HARD_ALARM}


def test_motion_that_would_leave_the_limits_is_not_commanded() -> None:
    class Wild:
        duration, starts, owners = 10.0, np.zeros(1), (0,)

        def sample(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
            return (
                Q + np.outer(t, [0.0, 0.0, 0.4, 0.0]),
                np.tile([0.0, 0.0, 0.4, 0.0], (len(t), 1)),
                np.zeros((len(t), 4)),
            )

    bench = enabled()
    bench.controller.reference.cursor = Cursor(Wild(), LIMITS.acceleration)  # type: ignore[arg-type]
    bench.controller.state = State.MOVING
    command = bench.until(State.ALARM)
    assert command.alarms[0].kind is AlarmKind.REFERENCE
    assert max(c.q[2] for c in bench.commands) <= LIMITS.q_max[2]


def test_palletizer_modes_are_events_of_this_machinery() -> None:
    assert {number: name for number, (name, _, _) in PALLETIZER_MODES.items()} == {
        -1: "Disable", 0: "Home", 1: "Joint", 2: "Cartesian", 3: "Trajectory",
    }  # fmt: skip
    for _, mode, events in PALLETIZER_MODES.values():
        for event in events:
            assert mode is None or mode in MODES_OF.get(event, tuple(Mode))


def test_controller_runs_at_one_millisecond() -> None:
    controller = MainController(SCARA, LIMITS, 1_000_000)
    bench = Bench(controller)
    bench.step()
    bench.must(Event.ENABLE)
    bench.step(3)
    bench.must(Event.JOG, jog=Jog("joint", A))
    assert bench.step().qd[0] == pytest.approx(1e-3 * LIMITS.acceleration[0])


# --- pace -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pace", [GENTLE, FIRM])
def test_rate_reaches_its_goal_exactly_without_passing_it(pace: object) -> None:
    source = player("MOVEJ P3 SPEED 10%")
    task = source.next(Q, {}, single=True, timed_out=False)
    cursor = Cursor(task.trajectory, LIMITS.acceleration)  # type: ignore[union-attr]
    rates = []
    for goal in (1.0, 0.3, 0.0, 0.55):
        for _ in range(60):
            cursor.advance(T, goal, pace)  # type: ignore[arg-type]
            rates.append(cursor.rate)
        assert cursor.rate == goal
    assert min(rates) == 0.0
    assert max(rates) == 1.0
