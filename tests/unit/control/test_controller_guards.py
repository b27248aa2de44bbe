"""What the controller guards: the enabling switch, its own inputs, accelerations, jerk, turns, the journal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from operators import LIMITS, PERIOD_NS, SCARA, Bench, Q, T, enabled, player, running
from servotwin.control.main.alarms import AlarmKind
from servotwin.control.main.jogging import Jog
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.pulses import Pulses
from servotwin.control.main.states import Event, Mode, State
from servotwin.control.main.time_scaling import Cursor
from servotwin.jobs.program import job_names
from servotwin.simulation.job_run import rehearse

TURN = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


# --- the enabling switch ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        (Event.HOME, {}),
        (Event.GO_TO, {"name": "P2"}),
        (Event.JOG, {"jog": Jog("joint", (1.0, 0.0, 0.0, 0.0))}),
        (Event.NUDGE, {"jog": Jog("joint", (1.0, 0.0, 0.0, 0.0), length=0.1)}),
    ],
)
def test_nothing_moves_while_teaching_without_the_enabling_switch(
    event: Event, arguments: dict[str, Any]
) -> None:
    bench = enabled()
    stood = bench.step(dead_man=False).q
    assert "enabling switch" in bench.press(event, **arguments).reason
    bench.step(20, dead_man=False)
    np.testing.assert_array_equal(bench.commands[-1].q, stood)
    # accepted, and let go before the first period: it does not begin
    bench.step()
    bench.must(event, **arguments)
    bench.step(20, dead_man=False)
    np.testing.assert_array_equal(bench.commands[-1].q, stood)
    assert bench.controller.state is State.READY


def test_home_in_play_back_needs_no_enabling_switch() -> None:
    bench = enabled(Mode.PLAY)
    bench.step(dead_man=False)
    bench.must(Event.HOME)
    for _ in range(2000):
        if bench.step(dead_man=False).state is State.READY:
            break
    np.testing.assert_allclose(bench.q, SCARA.q_home, atol=1e-12)


def test_go_to_point_leads_there() -> None:
    bench = enabled()
    bench.must(Event.GO_TO, name="P2")
    bench.until(State.READY)
    np.testing.assert_allclose(np.degrees(bench.q[[0, 1, 3]]), [50.0, 30.0, 0.0], atol=1e-9)
    assert "no point" in bench.press(Event.GO_TO, name="nowhere").reason
    assert "not a name" in bench.press(Event.GO_TO, name=None).reason


# --- turns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [180.0, 270.0, -270.0, 360.0])
def test_turn_of_half_a_turn_or_more_is_refused(degrees: float) -> None:
    bench = enabled()
    reply = bench.press(Event.NUDGE, jog=Jog("base", TURN, length=np.radians(degrees)))
    assert "less than half a turn" in reply.reason
    assert f"{abs(degrees):g} deg" in reply.reason


@pytest.mark.parametrize("degrees", [2.0, 28.6, 170.0, -170.0])
@pytest.mark.parametrize("speed", [1.0, 0.3])
def test_turn_has_its_sense_its_angle_and_at_most_the_speed_of_jogs(degrees: float, speed: float) -> None:
    bench = enabled()
    before = bench.q.copy()
    bench.must(Event.NUDGE, jog=Jog("base", TURN, speed, np.radians(degrees)))
    bench.until(State.READY)
    turned = np.degrees((bench.q - before) @ np.array([1.0, 1.0, 0.0, 1.0]))  # yaw is the sum of the joints
    assert abs(abs(turned) - abs(degrees)) < 1e-6
    yaw = [SCARA.fkine(c.q)[:2, 0] for c in bench.commands[-3:]]
    assert np.isfinite(yaw).all()
    twist = [SCARA.jacob0(c.q) @ c.qd for c in bench.commands]
    top = max(float(np.linalg.norm(t[3:])) for t in twist)
    assert top <= 0.5 * speed * (1.0 + 1e-5)
    if abs(degrees) > 20.0:
        assert top > 0.49 * speed  # and it is used


# --- what comes in ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "feedback",
    [
        {"q": "x"},
        {"q": None},
        {"q": [[1.0], [2.0, 3.0]]},
        {"q": np.array(["a", "b", "c", "d"])},
        {"inputs": None},
        {"inputs": 3},
    ],
)
def test_nonsense_for_measurements_is_an_alarm_not_an_exception(feedback: dict[str, Any]) -> None:
    bench = running("WAITFOR IN1 ON")
    bench.step(3)
    command = bench.step(**feedback)
    assert command.state is State.FAULT
    assert command.alarms[0].kind is AlarmKind.FEEDBACK
    assert bench.controller.step(bench.now, None).state is State.FAULT  # type: ignore[arg-type]


def test_speeds_that_are_none_are_taken_from_the_positions() -> None:
    bench = enabled()
    assert bench.step(qd="x").state is State.READY
    assert bench.step(qd=np.array([None] * 4)).state is State.READY


class Broken:
    """A program that fails where it is told to."""

    def __init__(self, where: str) -> None:
        self.where = where

    def start(self, outputs: object) -> None:
        if self.where == "start":
            raise RuntimeError("no tape")

    def next(self, *arguments: object, **more: object) -> object:
        if self.where == "next":
            raise KeyError("lost")
        return "nonsense"


def test_program_that_cannot_start_is_an_alarm() -> None:
    bench = enabled(Mode.PLAY)
    bench.must(Event.LOAD, program=Broken("start"))
    reply = bench.press(Event.RUN)
    assert "no tape" in reply.reason
    assert bench.controller.state is State.ALARM
    assert bench.controller.alarms[0].kind is AlarmKind.PROGRAM_ERROR
    bench.must(Event.RESET)


@pytest.mark.parametrize("where", ["next", "task"])
def test_program_that_fails_on_the_way_is_an_alarm(where: str) -> None:
    bench = enabled(Mode.PLAY)
    bench.must(Event.LOAD, program=Broken(where))
    bench.must(Event.RUN)
    command = bench.until(State.ALARM, most=5)
    assert command.alarms[0].kind is AlarmKind.PROGRAM_ERROR


def test_override_takes_any_whole_number() -> None:
    bench = enabled()
    bench.must(Event.OVERRIDE, percent=np.int64(30))
    assert type(bench.controller.override) is int
    assert not bench.press(Event.OVERRIDE, percent=np.bool_(True))


# --- play back --------------------------------------------------------------------------------------


def test_output_that_the_last_job_left_on_is_seen_by_the_next() -> None:
    bench = running("SET OUT1 ON")
    bench.until(State.READY)
    bench.must(Event.LOAD, program=player("IF OUT1 ON\nSET OUT2 ON\nELSE\nSET OUT3 ON\nEND"))
    bench.must(Event.RUN)
    bench.until(State.READY)
    assert bench.controller.outputs == {"OUT1": True, "OUT2": True}


@pytest.mark.parametrize("wait", [3, 30])
def test_single_step_that_is_paused_and_resumed_is_still_one_step(wait: int) -> None:
    bench = enabled(Mode.PLAY)
    bench.must(Event.LOAD, program=player("MOVEJ P2\nMOVEJ P3\nMOVEJ P1"))
    bench.must(Event.SINGLE_STEP)
    bench.step(10)
    bench.must(Event.PAUSE)
    bench.step(wait)
    bench.must(Event.RESUME)
    assert bench.controller.state is State.STEPPING
    bench.until(State.PAUSED)
    assert [entry.text for entry in bench.controller.journal] == ["MOVEJ P2"]
    bench.must(Event.RESUME)  # now the rest of the job
    assert bench.controller.state is State.RUNNING
    bench.until(State.READY)
    assert len(bench.controller.journal) == 3


@pytest.mark.parametrize("key", [Event.STOP, Event.EMERGENCY_STOP, None])
def test_instruction_that_is_interrupted_is_written_down_as_such(key: Event | None) -> None:
    bench = running("SET OUT1 ON\nMOVEJ P3")
    bench.step(30)
    if key is None:
        bench.step(drive_fault="too hot")
    else:
        bench.must(key)
    bench.step(60)
    done = [(entry.text, entry.complete) for entry in bench.controller.journal]
    assert done == [("SET OUT1 ON", True), ("MOVEJ P3", False)]
    last = bench.controller.journal[-1]
    assert 30 * PERIOD_NS <= last.end_ns - last.begin_ns < 60 * PERIOD_NS
    assert not bench.controller.finished


def test_command_says_the_file_of_its_line() -> None:
    bench = running("MOVEJ P3")
    command = bench.step(5)
    assert (command.file, command.line) == ("test.job", 1)


# --- pulses -----------------------------------------------------------------------------------------


def test_commands_are_the_nearest_pulses() -> None:
    pulses = Pulses(np.diag([100.0, -80.0, 400.0, 50.0]), np.full(4, 4000.0 / (2.0 * np.pi)))
    bench = Bench(MainController(SCARA, LIMITS, PERIOD_NS, pulses=pulses))
    bench.step()
    bench.must(Event.ENABLE)
    bench.until(State.READY)
    bench.must(Event.NUDGE, jog=Jog("base", (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), length=0.03))
    bench.until(State.READY)
    resolution = 2.0 * np.pi / 4000.0 / np.abs(np.diag(pulses.N))
    for command in bench.commands:
        assert command.counts is not None
        gap = np.abs(pulses.joints(command.counts) - command.q)
        assert (gap <= 0.5 * resolution * (1.0 + 1e-9)).all()
    assert enabled().step().counts is None  # no encoders are known


# --- limits -----------------------------------------------------------------------------------------


def test_motion_that_accelerates_too_much_is_not_commanded_and_said_with_its_limit() -> None:
    hard = 1.5 * LIMITS.acceleration[0]

    class Wild:
        duration, starts, owners = 0.2, np.zeros(1), (0,)

        def sample(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
            one = np.array([1.0, 0.0, 0.0, 0.0])
            return (
                Q + np.outer(0.5 * hard * t**2, one),
                np.outer(hard * t, one),
                np.outer(np.full(len(t), hard), one),
            )

    bench = enabled()
    bench.controller.reference.cursor = Cursor(Wild(), LIMITS.acceleration)  # type: ignore[arg-type]
    bench.controller.state = State.MOVING
    command = bench.until(State.ALARM)
    assert command.alarms[0].kind is AlarmKind.REFERENCE
    assert command.alarms[0].axis == "A"
    assert f"the limit is {np.degrees(LIMITS.acceleration[0]):.5g} deg/s2" in command.alarms[0].text
    np.testing.assert_array_equal(bench.commands[-1].q, Q)  # it was not begun


@pytest.mark.parametrize("name", job_names())
def test_shipped_jobs_stay_within_what_is_watched(name: str) -> None:
    log, _, _ = rehearse(name)
    assert log.finished, log.reason


@pytest.mark.parametrize(
    ("feedback", "words"),
    [
        ({"q": Q + 1.0, "qd": np.zeros(4)}, ["axis A is 57.296 deg from its reference", "axis Z is 1000 mm"]),
        (
            {"q": Q - [0.0, 0.0, 0.06, 0.0], "qd": np.zeros(4)},
            ["axis Z stands at -10 mm; expected 0 mm to 150 mm"],
        ),
        ({"q": Q, "qd": np.array([0.0, 9.0, 0.0, 0.0])}, ["axis B moves at 515.66 deg/s; expected at most"]),
    ],
)
def test_alarms_tell_value_unit_and_limit(feedback: dict[str, Any], words: list[str]) -> None:
    texts = " | ".join(alarm.text for alarm in enabled().step(**feedback).alarms)
    for word in words:
        assert word in texts


# --- jerk -------------------------------------------------------------------------------------------

JERK = replace(LIMITS, jerk=10.0 * LIMITS.acceleration)


@pytest.mark.parametrize("seed", range(3))
def test_jogs_by_joints_keep_the_limits_of_jerk_up_to_the_end_of_an_axis(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bench = Bench(MainController(SCARA, JERK, PERIOD_NS))
    bench.step()
    bench.must(Event.ENABLE)
    bench.until(State.READY)
    for _ in range(12):
        direction = tuple(rng.choice([-1.0, 0.0, 1.0], 4).tolist())
        if not any(direction):
            continue
        for _ in range(int(rng.integers(5, 150))):
            bench.must(Event.JOG, jog=Jog("joint", direction))
            bench.step()
        bench.must(Event.RELEASE)
        bench.until(State.READY, most=100)
    assert not bench.controller.alarms
    q, qd, qdd = (np.array([getattr(c, name) for c in bench.commands]) for name in ("q", "qd", "qdd"))
    assert (q >= JERK.q_min - 1e-9).all()
    assert (q <= JERK.q_max + 1e-9).all()
    assert (np.abs(qd) <= JERK.speed * (1.0 + 1e-9)).all()
    assert (np.abs(qdd) <= JERK.acceleration * (1.0 + 1e-9)).all()
    jerk = np.abs(np.diff(qdd, axis=0)) / T / JERK.jerk
    assert jerk.max() <= 1.0 + 1e-6
    assert jerk.max() > 0.99  # it is used


def test_stop_on_a_line_brakes_the_tool_within_its_acceleration() -> None:
    slow = replace(LIMITS, tool_acceleration=1.0)
    bench = Bench(MainController(SCARA, slow, PERIOD_NS))
    bench.step()
    bench.must(Event.MODE, mode=Mode.PLAY)
    bench.must(Event.ENABLE)
    bench.until(State.READY)
    bench.must(Event.LOAD, program=player("MOVEL P2 SPEED 0.4 m/s ACC 1 m/s2"))
    bench.must(Event.RUN)
    bench.step(35)
    begin = len(bench.commands)
    bench.must(Event.STOP)
    bench.until(State.READY)
    v = np.array([np.linalg.norm((SCARA.jacob0(c.q) @ c.qd)[:3]) for c in bench.commands[begin - 1 :]])
    assert v[0] > 0.3
    assert (np.abs(np.diff(v)) / T).max() <= 1.0 * 1.01


@pytest.mark.parametrize("length", [0.03, 0.05, 0.15, 0.2, 0.3])
def test_step_that_is_stopped_anywhere_brakes_without_an_alarm(length: float) -> None:
    """Where a motion began to slow down by itself, the mean over a period was beyond the limit of acceleration."""
    for periods in range(1, 30):
        bench = enabled()
        bench.must(Event.NUDGE, jog=Jog("joint", (1.0, 0.0, 0.0, 0.0), length=length))
        bench.step(periods)
        if bench.controller.state is not State.MOVING:
            break
        bench.must(Event.STOP)
        bench.until(State.READY, most=20)
        assert bench.controller.alarms == []
