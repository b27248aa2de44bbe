"""Jobs on the drive-level plant, and the script of what happens around them."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest

from operators import SCARA, points, random_key
from servotwin.control.main.exchange import Command
from servotwin.control.main.jogging import Jog
from servotwin.control.main.states import Event, State
from servotwin.errors import InputError
from servotwin.jobs.language import parse
from servotwin.jobs.program import Program
from servotwin.simulation.job_plant import MachinePlant
from servotwin.simulation.job_run import JobSettings, rehearse, run_job
from servotwin.simulation.live_robot import LiveRobot
from servotwin.simulation.preflight.budget import Budget
from servotwin.simulation.scenario.io_script import Surroundings, parse_io_script
from servotwin.simulation.scenario.parts import Solver

HEAD = "format: servotwin-io/1\n"
START = dict(zip(SCARA.joint_names, [0.35, 0.7, 0.05, 0.17], strict=True))
SETTINGS = JobSettings(solver=Solver(pwm="averaged"), start=START)


def program(text: str) -> Program:
    return Program(parse(text, "test.job"), points())


SHORT = program(
    "MOVEJ P1\nSET OUT1 ON\nMOVEL P2 SPEED 0.4 m/s\nWAITFOR IN1 ON TIMEOUT 2 s\nMOVEJ P1 SPEED 60%"
)
SCRIPT = parse_io_script(HEAD + "events: [{when: {OUT1: on}, after: 1 s, set: {IN1: on}}]")


def test_job_on_the_plant_follows_its_commands() -> None:
    result, log, *_ = run_job(SHORT, settings=SETTINGS, io_script=SCRIPT)
    assert result.complete
    assert log.finished
    assert log.state == "ready"
    assert [e.text for e in log.entries] == [
        "MOVEJ P1",
        "SET OUT1 ON",
        "MOVEL P2",
        "WAITFOR IN1 ON",
        "MOVEJ P1",
    ]
    assert result.summary["tip_error_final_m"] < 5e-5
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-4
    line = log.entries[2]
    assert line.energy_J is not None
    assert line.energy_J > 0.0
    assert line.path_deviation_m is not None
    assert 0.0 < line.path_deviation_m < 2e-3
    assert {axis for axis, _, _ in line.limits} == set(SCARA.joint_names)
    assert all(v <= 1.0 and a <= 1.0 + 1e-6 for e in log.entries for _, v, a in e.limits)
    total = sum(e.energy_J or 0.0 for e in log.entries)
    assert total == pytest.approx(log.energy_J, abs=0.2)
    json.dumps(result.summary)
    assert {len(column) for column in result.signals.values()} == {len(result.signals["time_s"])}


def test_commands_of_rehearsal_and_run_are_the_same() -> None:
    """Nothing of the plant enters the commands of a job that runs without alarm."""
    result, log, *_ = run_job(SHORT, settings=SETTINGS, io_script=SCRIPT)
    rehearsed, commands, player = rehearse(SHORT, settings=SETTINGS, io_script=SCRIPT)
    assert [(e.text, e.start_s, e.end_s) for e in rehearsed.entries] == [
        (e.text, e.start_s, e.end_s) for e in log.entries
    ]
    assert len(player.plans) == 3
    t = result.signals["time_s"]
    rows = t <= commands.duration
    wanted = commands.sample(t[rows])[0][:, 0]
    # the reference begins at the counted position
    np.testing.assert_allclose(result.signals["joint_A_position_ref_rad"][rows], wanted, atol=1e-12)


def test_pause_and_override_of_a_script_keep_the_path_of_the_tool() -> None:
    slow = parse_io_script(
        HEAD
        + """
inputs: {IN1: on}
events:
  - {at: 0.3 s, press: override, percent: 40}
  - {at: 0.5 s, press: pause}
  - {at: 1.2 s, press: resume}
  - {at: 1.3 s, press: dance party}
""".replace("dance party", "run")
    )
    result, log, *_ = run_job(SHORT, settings=SETTINGS, io_script=slow)
    assert log.finished
    keys = [c.text for c in log.changes if c.kind == "key"]
    assert keys[:3] == ["override", "pause", "resume"]
    assert keys[3].startswith("run refused: ")
    assert "paused" in [c.text for c in log.changes if c.kind == "state"]
    assert result.summary["tip_error_across_max_m"] < 2e-3


def test_emergency_stop_takes_the_current() -> None:
    script = parse_io_script(HEAD + "events: [{at: 0.35 s, press: emergency stop}]")
    result, log, *_ = run_job(program("MOVEJ P3"), settings=SETTINGS, io_script=script)
    assert result.complete
    assert not log.finished
    assert log.state == "emergency"
    t = result.signals["time_s"]
    off = t > 0.352 + 0.002
    assert not result.signals["motor_A_current_A"][off].any()
    assert result.signals["motor_A_current_A"][~off].any()


def test_axis_that_is_stuck_raises_a_following_error() -> None:
    stuck = JobSettings(
        solver=SETTINGS.solver, start=START, plant={"axes.A.motor.coulomb_friction": "50 N*m"}
    )
    result, log, *_ = run_job(program("MOVEJ P3"), settings=stuck)
    assert log.state == "fault"
    assert log.alarms[0].startswith("following error: axis A")
    assert any("following error" in event.what for event in result.events)


def test_interrupted_run_gives_what_there_is() -> None:
    def interrupt(part: float) -> None:
        if part > 0.3:
            raise KeyboardInterrupt

    result, log, *_ = run_job(program("MOVEJ P3"), settings=SETTINGS, progress=interrupt)
    assert not result.complete
    assert not log.finished
    assert len(result.signals["time_s"])


def test_interrupted_run_keeps_the_command_of_its_last_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the reference would stand still for the last period, and the arm seem to run ahead of it."""
    carry_on = MachinePlant.carry_on

    def interrupted(self: MachinePlant, command: Command, now_ns: int, until_ns: int) -> bool:
        well = carry_on(self, command, now_ns, until_ns)
        if now_ns > 100_000_000:
            raise KeyboardInterrupt
        return well

    monkeypatch.setattr(MachinePlant, "carry_on", interrupted)
    monkeypatch.setattr(MachinePlant, "follow", lambda *_: None)
    ran = run_job(program("MOVEJ P3"), settings=SETTINGS)
    assert not ran.result.complete
    assert ran.commands.duration == pytest.approx(ran.result.signals["time_s"][-1], abs=1e-9)


@pytest.mark.parametrize("lines", range(14))
def test_interrupt_right_after_a_stretch_of_periods_does_not_lose_it(
    lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C so many lines of the loop after the plant has come back from a stretch."""
    follow, left = MachinePlant.follow, [lines]

    def trace(frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(("stepping.py", "job_play.py", "job_plant.py")):
            return None
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    def followed(self: MachinePlant, *arguments: Any) -> None:
        follow(self, *arguments)
        sys.settrace(trace)
        frame = sys._getframe(1)
        while frame is not None and "servotwin" in frame.f_code.co_filename:
            frame.f_trace, frame = trace, frame.f_back

    monkeypatch.setattr(MachinePlant, "follow", followed)
    try:
        ran = run_job(program("MOVEJ P3"), settings=SETTINGS)
    finally:
        sys.settrace(None)
    assert ran.result.summary["failure"] == "interrupted"
    assert ran.commands.duration == pytest.approx(ran.result.summary["simulated_s"], abs=1e-9)
    assert ran.log.reason == f"interrupted after {ran.commands.duration:.4g} s"


def test_job_that_the_checker_refuses_does_not_start() -> None:
    with pytest.raises(InputError, match=r"test\.job:1"):
        run_job(program("MOVEJ nowhere"), settings=SETTINGS)
    with pytest.raises(InputError, match="robot"):
        run_job(Program(parse("WAIT 1 s", "a.job"), type(points())()))
    with pytest.raises(InputError, match="no axis 'Q'"):
        rehearse(SHORT, settings=JobSettings(start={"Q": 0.0}))


def test_job_that_waits_for_nothing_ends() -> None:
    log, commands, _ = rehearse(program("MOVEJ P2\nWAITFOR IN3 ON\nMOVEJ P1"), settings=SETTINGS)
    assert not log.finished
    assert log.changes[-1].text == "waits for IN3 ON, which nothing switches"
    assert commands.duration < 2.0
    paused = parse_io_script(HEAD + "events: [{at: 0.1 s, press: pause}]")
    log, _, _ = rehearse(program("MOVEJ P2"), settings=SETTINGS, io_script=paused)
    assert log.changes[-1].kind == "stalled"
    endless = JobSettings(start=START, time_limit=3.0)
    log, commands, _ = rehearse(program("REPEAT FOREVER\nMOVEJ P2\nMOVEJ P1\nEND"), settings=endless)
    assert log.changes[-1].kind == "time limit"
    assert commands.duration == pytest.approx(3.0, abs=0.02)


@pytest.mark.parametrize(
    ("text", "events", "reason"),
    [
        ("MOVEJ P2\nWAITFOR IN3 ON", "", "the job waits for IN3 ON, which nothing switches"),
        ("MOVEJ P2", "{at: 0.1 s, press: pause}", "the job is paused, and nothing presses resume"),
        ("MOVEJ P2", "{at: 0.1 s, press: stop}", "'stop' was pressed after 0.112 s"),
        ("WAIT 1 s", "{at: 0.1 s, press: stop}", "'stop' was pressed after 0.112 s"),
        ("MOVEJ P2", "{at: 0.1 s, press: emergency stop}", "'emergency stop' was pressed after 0.112 s"),
        ("MOVEJ P2", "{at: 0.1 s, circuit: open}", "the safety circuit was opened after 0.112 s"),
        ('MOVEJ P2\nALARM "empty"', "", "program error: test.job:2:1: empty"),
        ("REPEAT FOREVER\nMOVEJ P2\nMOVEJ P1\nEND", "", "the job did not end within 3 s"),
    ],
)
def test_job_that_does_not_end_says_why(text: str, events: str, reason: str) -> None:
    script = parse_io_script(HEAD + f"events: [{events}]")
    log, _, _ = rehearse(program(text), settings=JobSettings(start=START, time_limit=3.0), io_script=script)
    assert not log.finished
    assert log.reason == reason


@pytest.mark.parametrize("key", ["stop", "emergency stop"])
def test_interrupted_instruction_is_in_the_log(key: str) -> None:
    script = parse_io_script(HEAD + f"events: [{{at: 0.35 s, press: {key}}}]")
    log, commands, _ = rehearse(program("MOVEJ P1\nMOVEJ P3"), settings=SETTINGS, io_script=script)
    assert [(entry.text, entry.complete) for entry in log.entries][-1] == ("MOVEJ P3", False)
    last = log.entries[-1]
    assert last.end_s >= 0.352
    after = commands.t > last.end_s
    assert not commands.qd[after].any()


def test_script_that_is_not_there_is_said() -> None:
    with pytest.raises(InputError, match="no such file; expected a script of inputs"):
        rehearse(SHORT, settings=SETTINGS, io_script="nofile.yaml")


def test_plant_is_given_the_pulses_of_the_controller() -> None:
    live = LiveRobot("gsis-scara", q=np.array(list(START.values())))
    pulses = live.controller.pulses
    assert pulses is not None
    command = live.step()
    assert command.counts is not None
    assert command.counts.dtype == np.int64
    # within half a pulse of every encoder
    motors = command.q @ pulses.N.T * pulses.per_rad
    assert np.abs(command.counts - motors).max() <= 0.5
    np.testing.assert_array_equal(pulses.counts(pulses.joints(command.counts)), command.counts)


# --- the script -------------------------------------------------------------------------------------


def test_script_reacts_to_outputs_each_time() -> None:
    script = parse_io_script(
        HEAD + "inputs: {IN2: on}\nevents: [{when: {OUT1: on}, after: 20 ms, set: {IN1: on, IN2: off}}]"
    )
    around = Surroundings(script)
    assert around.inputs == {"IN2": True}
    assert around.outputs(0, {"OUT1": True}) == [("OUT1", True)]
    assert not around.due(10_000_000)
    (action,) = around.due(20_000_000)
    assert around.inputs == {"IN1": True, "IN2": False} == {"IN2": True} | dict(action.inputs)
    around.outputs(30_000_000, {"OUT1": False})
    around.outputs(40_000_000, {"OUT1": True})
    assert len(around.due(60_000_000)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("events: []", "format"),
        (HEAD + "event: []", "did you mean"),
        (HEAD + "events: 3", "list"),
        (HEAD + "inputs: {IN1: maybe}", "on or off"),
        (HEAD + "events: [{set: {IN1: on}}]", "'at' or 'when'"),
        (HEAD + "events: [{at: 1 m, set: {IN1: on}}]", "1 m"),
        (HEAD + "events: [{at: 1 s}]", "nothing happens"),
        (HEAD + "events: [{at: 1 s, press: dance}]", "no key"),
        (HEAD + "events: [{at: 1 s, press: override, percent: 200}]", "1 to 100"),
        (HEAD + "events: [{at: 1 s, press: pause, percent: 20}]", "override"),
        (HEAD + "events: [{at: 1 s, circuit: ajar}]", "open or closed"),
        (HEAD + "events: [{when: {OUT1: on, OUT2: on}, set: {IN1: on}}]", "one output"),
        (HEAD + "inputs: {INN1: on}", "no input 'INN1'; expected IN1 to IN16; did you mean 'IN1'"),
        (HEAD + "events: [{at: 1 s, set: {OUT1: on}}]", "no input 'OUT1'"),
        (HEAD + "events: [{when: {IN1: on}, set: {IN1: on}}]", "no output 'IN1'"),
    ],
)
def test_script_with_a_mistake_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_io_script(text, "io.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("io.yaml")


# --- by hand ----------------------------------------------------------------------------------------

BRAKES = {f"axes.{axis}.brake.torque": "2 N*m" for axis in SCARA.joint_names}


@pytest.mark.parametrize("drives", [False, True])
def test_arm_driven_by_hand_survives_an_emergency_stop(drives: bool) -> None:
    live = LiveRobot("gsis-scara", BRAKES, drives=drives, q=np.array(list(START.values())))
    live.step()
    live.press("enable")
    live.step()
    assert live.step().state is State.READY
    jog = Jog("joint", (1.0, 0.0, 0.0, 0.0))
    for _ in range(30):
        assert live.press("jog", jog=jog)
        live.step()
    assert live.q[0] > START["A"] + 0.1
    live.press("emergency stop")
    for _ in range(40):
        assert not live.step().enable
    stood = live.q
    assert live.press("reset")
    assert live.press("enable"), live.press("enable").reason
    for _ in range(20):
        command = live.step()
    assert command.state is State.READY
    np.testing.assert_allclose(live.q, stood, atol=2e-4)
    assert live.press("jog", jog=Jog("base", (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)))
    for _ in range(10):
        live.step()
    assert live.q[2] < stood[2] - 1e-3  # up
    assert not command.alarms


def test_arm_without_power_does_not_move_whatever_is_pressed() -> None:
    live = LiveRobot("gsis-scara", BRAKES, drives=True, q=np.array(list(START.values())))
    for _ in range(10):
        live.step()
    stood = live.q
    rng = np.random.default_rng(1)
    for _ in range(200):
        event, arguments = random_key(rng, [None])
        if event is not Event.ENABLE:
            live.press(event, **arguments)
        assert not live.step().enable
    np.testing.assert_array_equal(live.q, stood)


def test_arm_that_never_had_power_hangs_in_its_brakes_however_slowly_they_close() -> None:
    slow = BRAKES | {f"axes.{axis}.brake.delay": "50 ms" for axis in SCARA.joint_names}
    live = LiveRobot("gsis-scara", slow, drives=True, q=np.array(list(START.values())))
    begun = live.q
    for _ in range(10):
        live.step()
    np.testing.assert_array_equal(live.q, begun)


def test_budget_of_the_settings_stays_where_the_call_states_only_the_other_limit() -> None:
    settings = JobSettings(budget=Budget(memory=1.0))
    with pytest.raises(InputError, match="expected at most 1 B:"):
        run_job("daiv-pick-and-place", settings=settings, max_time="1 h")
