"""Periods of a job that the plan decides are carried out many at a time: the same to the last bit as one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import servotwin as st
from operators import JOB, LIMITS, PERIOD_NS, SCARA, Q, player
from servotwin.control.main.alarms import watch_of
from servotwin.control.main.exchange import Command, Stretch
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.pulses import Pulses
from servotwin.control.main.quick_watch import QuickWatch
from servotwin.control.main.states import Event, Mode, State
from servotwin.jobs.program import job_names
from servotwin.motion.limits import limits_of
from servotwin.simulation.clock import SimulatedClock, WallClock
from servotwin.simulation.job_plant import IdealPlant
from servotwin.simulation.job_run import JobFailedError, JobRun, JobSettings, Rehearsal, rehearse, run_job
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.scenario.io_script import parse_io_script
from servotwin.simulation.stepping import Stepper

CLOCKS = ("wall_s", "compile_s", "planning_s", "real_time_factor")
BEGIN = "format: servotwin-io/1\n"
SCRIPTS = {
    "override": BEGIN
    + """events:
  - {at: 0.5 s, press: override, percent: 30}
  - {at: 1.3 s, press: override, percent: 77}
  - {at: 2 s, press: pause}
  - {at: 2.6 s, press: resume}
  - {at: 3 s, press: override, percent: 100}
""",
    "emergency stop": BEGIN + "events:\n  - {at: 0.777 s, press: emergency stop}\n",
    "circuit": BEGIN + "events:\n  - {at: 1.111 s, circuit: open}\n",
    "stop": BEGIN + "events:\n  - {at: 0.6 s, press: stop}\n",
    "outputs": BEGIN
    + """inputs: {IN1: on}
events:
  - {at: 0.3 s, set: {IN2: on}}
  - {when: {OUT1: on}, after: 50 ms, set: {IN3: on}}
  - {when: {OUT1: on}, after: 150 ms, press: override, percent: 60}
""",
}
WEAK = {
    "voltage": {"power.bus_voltage": "6 V"},  # following error in the middle of a motion
    "torque": {"axes.A.motor.torque_constant": "0.01 N*m/A"},
    "heat": {"axes.A.motor.thermal.limit": "25.1 degC"},
}
Play = Callable[[], JobRun | Rehearsal]


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[Play], JobRun | Rehearsal]:
    """Play a job with and without stretches of periods, and compare all there is of it; the first is returned."""

    def compare(play: Play) -> JobRun | Rehearsal:
        steps, step = [0], MainController.step

        def counted(self: MainController, *arguments: Any) -> Command:
            steps[0] += 1
            return step(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(MainController, "step", counted)
            many = _played(play)
            few = steps[0]
            patch.setattr(Stepper, "follow_plan", lambda *_: False)
            single = _played(play)
        assert few < 0.95 * (steps[0] - few)  # otherwise nothing is compared
        _same(many, single)
        return many

    return compare


def _played(play: Play) -> JobRun | Rehearsal:
    try:
        return play()
    except JobFailedError as error:
        return error.run


def _same(one: JobRun | Rehearsal, other: JobRun | Rehearsal) -> None:
    assert one.log.plain() == other.log.plain()
    for name in ("t", "q", "qd", "qdd", "q_pulses", "motion", "motion_time"):
        a, b = getattr(one.commands, name), getattr(other.commands, name)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), name
    assert len(one.player.plans) == len(other.player.plans)
    if isinstance(one, JobRun):
        assert isinstance(other, JobRun)
        assert one.result.complete == other.result.complete
        assert [repr(event) for event in one.result.events] == [repr(event) for event in other.result.events]
        assert _timeless(one.result.summary) == _timeless(other.result.summary)
        for name, values in one.result.signals.items():
            assert values.tobytes() == other.result.signals[name].tobytes(), name


def _timeless(summary: dict[str, Any]) -> str:
    return repr({key: value for key, value in summary.items() if key not in CLOCKS})


@pytest.mark.parametrize("job", job_names())
def test_rehearsal_of_a_shipped_job_is_the_same(job: str, both_ways: Callable[[Play], Rehearsal]) -> None:
    assert both_ways(lambda: rehearse(job)).log.finished


@pytest.mark.parametrize("job", ["scara-palletising", "scara-circle", "palletizer-line"])
def test_simulation_of_a_shipped_job_is_the_same(job: str, both_ways: Callable[[Play], JobRun]) -> None:
    """One of them has a coupled transmission and limits of quantities."""
    assert both_ways(lambda: run_job(job)).log.finished


@pytest.mark.parametrize("job", ["puma-line", "manutec-move", "sixaxis-frame"])
def test_job_of_six_axes_that_is_stopped_is_the_same(job: str, both_ways: Callable[[Play], JobRun]) -> None:
    script = parse_io_script(SCRIPTS["stop"])
    assert (
        "'stop' was pressed" in both_ways(lambda: run_job(job, io_script=script, pwm="averaged")).log.reason
    )


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("job", ["scara-pick-and-place", "palletizer-line"])
def test_job_with_a_script_is_the_same(job: str, name: str, both_ways: Callable[[Play], JobRun]) -> None:
    script = parse_io_script(SCRIPTS[name])
    log = both_ways(lambda: run_job(job, io_script=script, pwm="averaged")).log
    assert log.changes


@pytest.mark.parametrize("name", WEAK)
def test_alarm_in_the_middle_of_a_motion_is_the_same(name: str, both_ways: Callable[[Play], JobRun]) -> None:
    log = both_ways(lambda: run_job("scara-palletising", settings=JobSettings(plant=WEAK[name]))).log
    assert ("overload" if name == "heat" else "following error") in log.reason
    assert log.state == "fault"


@pytest.mark.parametrize("settings", [JobSettings(override=50), JobSettings(time_limit=3.234)])
def test_other_settings_are_the_same(settings: JobSettings, both_ways: Callable[[Play], JobRun]) -> None:
    both_ways(lambda: run_job("scara-circle", settings=settings))


def test_job_that_uses_its_memory_up_ends_at_the_same_instruction(
    both_ways: Callable[[Play], Rehearsal], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("ENTRY_BYTES", 2e9 / 50.5), ("FEW", 8)):  # fifty instructions fill it
        monkeypatch.setattr(f"servotwin.simulation.job_play.{name}", value)
    log = both_ways(lambda: rehearse("scara-palletising")).log
    assert "its 51 instructions take 2 GB of memory" in log.reason


@pytest.mark.parametrize("at", [0.5, 1.504, 2.25])
def test_interrupted_job_is_the_same(
    at: float, both_ways: Callable[[Play], JobRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Machine.run

    def interrupted(self: Machine, until_ns: int) -> None:
        if until_ns > at * 1e9 and not self.world["record"]["closing"][0]:
            raise KeyboardInterrupt
        run(self, until_ns)

    monkeypatch.setattr(Machine, "run", interrupted)
    ran = both_ways(lambda: run_job("scara-circle"))
    assert not ran.result.complete
    assert "interrupted" in ran.log.reason
    assert abs(ran.commands.duration - at) <= 0.016 + 1e-9


# --- the controller by itself -----------------------------------------------------------------------
def _started(text: str) -> Stepper:
    controller = MainController(SCARA, LIMITS, PERIOD_NS, pulses=Pulses(np.eye(4) * 90.0, np.full(4, 1e3)))
    stepper = Stepper(controller, IdealPlant(Q.copy()))
    stepper.step()
    assert controller.press(Event.MODE, mode=Mode.PLAY)
    assert controller.press(Event.ENABLE)
    while controller.state is not State.READY:
        stepper.step()
    assert controller.press(Event.LOAD, program=player(text))
    assert controller.press(Event.RUN)
    return stepper


def _rows(given: list[Command | Stretch]) -> list[bytes]:
    """The references of single commands and of stretches, one entry for each period."""
    found = []
    for command in given:
        assert command.counts is not None
        columns = (command.q, command.qd, command.qdd, command.counts, np.array(command.motion_time))
        rows = range(len(command)) if isinstance(command, Stretch) else [None]
        found += [b"".join(np.asarray(c if i is None else c[i]).tobytes() for c in columns) for i in rows]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_keys_and_inputs_at_any_time_find_the_same_controller(seed: int) -> None:
    """At every key the controller that followed its plan is in the state of the one that took every step."""
    one, other = _started(JOB), _started(JOB)
    given: tuple[list[Command | Stretch], list[Command | Stretch]] = ([], [])
    rng = np.random.default_rng(seed)
    for _ in range(40):
        until = one.now_ns + int(rng.integers(1, 60)) * PERIOD_NS
        while one.now_ns < until:
            given[0].append(one.step())
            while one.follow_plan(until, given[0].append):
                pass
        while other.now_ns < until:
            given[1].append(other.step())
        assert one.now_ns == other.now_ns
        _same_controller(one.controller, other.controller)
        key = rng.choice(
            [Event.PAUSE, Event.RESUME, Event.RESUME, Event.OVERRIDE, Event.SINGLE_STEP, Event.RUN]
        )
        arguments = {"percent": int(rng.integers(1, 101))} if key is Event.OVERRIDE else {}
        signal, on = "IN1", bool(rng.integers(2))
        for stepper in (one, other):
            stepper.controller.press(key, **arguments)
            stepper.plant.surroundings.inputs[signal] = on  # type: ignore[attr-defined]
    assert _rows(given[0]) == _rows(given[1])
    assert len(given[0]) < 0.9 * len(given[1])


def _same_controller(one: MainController, other: MainController) -> None:
    assert one.state is other.state
    assert one.journal == other.journal
    assert one.outputs == other.outputs
    assert one.finished == other.finished
    for name in ("q", "qd", "qdd"):
        assert getattr(one.reference, name).tobytes() == getattr(other.reference, name).tobytes()
    assert one.reference.now_ns == other.reference.now_ns
    for name in ("q", "qd"):
        assert getattr(one.measured, name).tobytes() == getattr(other.measured, name).tobytes()
    a, b = one.reference.playback, other.reference.playback
    assert (a is None) == (b is None)
    if a is not None and b is not None:
        assert (a.place, a.label, a.instruction) == (b.place, b.label, b.instruction)


def test_time_that_passes_by_itself_is_stepped_period_by_period() -> None:
    for clock, many in ((SimulatedClock(), True), (WallClock(lambda: 0, lambda _: None), False)):
        stepper = _started(JOB)
        stepper = Stepper(stepper.controller, stepper.plant, clock, now_ns=stepper.now_ns)
        given: list[Stretch] = []
        if many:
            for _ in range(3):
                stepper.step()
        stepper.follow_plan(1 << 62, given.append)
        assert bool(given) == many


# --- what is clear raises no alarm ------------------------------------------------------------------
@pytest.mark.parametrize("robot", ["gsis-scara", "palletizer-4"])
def test_quick_watch_is_on_the_safe_side(robot: str) -> None:
    """The witness is ``Watch.look``, which makes the alarms; measurements lie at the bounds to the last digits."""
    arm, rng = st.load_robot(robot), np.random.default_rng(3)
    limits = limits_of(arm)
    watch = watch_of(arm.joint_names, limits, units=tuple(arm.joint_units))
    quick, T = QuickWatch(watch, 0.016), 0.016
    outside = np.zeros(len(limits.low), dtype=bool)
    verdicts = set()
    for _ in range(3000):
        share = rng.choice([0.5, 1.0 - 1e-8, 1.0, 1.0 + 1e-15, 1.0 + 1e-8, 1.5], size=(3, arm.n))
        middle, half = 0.5 * (limits.q_min + limits.q_max), 0.5 * (limits.q_max - limits.q_min)
        q = middle + rng.choice([-1.0, 0.1, 1.0]) * share[0] * (half + watch.margin[: arm.n])
        q_ref, before = q - share[1] * watch.following, q - share[2] * watch.speed * T
        if rng.random() < 0.6:
            q, q_ref, before = np.where(rng.random(arm.n) < 0.9, [middle] * 3, [q, q_ref, before])
        clear = quick.clear(q, before, q_ref)
        alarms = watch.look(q, (q - before) / T, q_ref, outside, 0)
        assert not (clear and alarms)
        verdicts.add((clear, bool(alarms)))
    assert {(True, False), (False, True)} <= verdicts
    assert not quick.clear(np.full(arm.n, np.nan), middle, middle)


def test_pulses_of_many_rows_are_those_of_each() -> None:
    rng = np.random.default_rng(1)
    for n in (2, 3, 4, 6):
        pulses = Pulses(rng.normal(size=(n, n)) * 100.0, rng.uniform(1e2, 1e5, n))
        q = rng.normal(size=(200, n))
        assert np.array_equal(pulses.counts(q), [pulses.counts(row) for row in q])
