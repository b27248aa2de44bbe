"""One loop for controller and plant: clock from outside, whole feedback, plans between periods."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from operators import JOB, LIMITS, PERIOD_NS, SCARA, Q, player
from servotwin.control.main.exchange import Command, Feedback
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.states import Event, Mode, State
from servotwin.simulation.clock import WallClock
from servotwin.simulation.job_plant import IdealPlant
from servotwin.simulation.live_robot import LiveRobot
from servotwin.simulation.stepping import Beside, Stepper

BRANCHES = """
MOVEJ P1
REPEAT 2
  IF IN1 ON
    MOVEL P2 SPEED 0.4 m/s BLEND 10 mm
  ELSE
    MOVEJ P2
  END
  IF IN2 ON
    MOVEL P3 SPEED 0.4 m/s
  END
  MOVEJ P1 BLEND 5 mm
  WAITFOR IN3 ON TIMEOUT 0.1 s ELSE
    MOVEJ P2
    SET OUT1 ON
  END
END
MOVEJ P2
"""


class Phases:
    """A clock and a plant that note which phase it is: in a period from its instant up to its command."""

    def __init__(self) -> None:
        self.phase = "between"
        self.instants: list[int] = []
        self.plant = IdealPlant(Q.copy())

    def wait_until(self, instant_ns: int) -> None:
        self.instants.append(instant_ns)
        self.phase = "period"

    def feedback(self) -> Feedback:
        return self.plant.feedback()

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        self.phase = "between"
        return self.plant.carry_on(command, now_ns, until_ns)


def started(plant: Any, text: str = JOB, source: Any = None, *, ahead: bool = True, **more: Any) -> Stepper:
    controller = MainController(SCARA, LIMITS, PERIOD_NS)
    stepper = Stepper(controller, plant, **more)
    controller.plans_ahead = ahead
    stepper.step()
    assert controller.press(Event.MODE, mode=Mode.PLAY)
    assert controller.press(Event.ENABLE)
    while controller.state is not State.READY:
        stepper.step()
    assert controller.press(Event.LOAD, program=player(text) if source is None else source)
    assert controller.press(Event.RUN)
    return stepper


@pytest.mark.parametrize("text", [JOB, BRANCHES])
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_planned_between_the_start_of_a_period_and_its_command(
    text: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from servotwin.jobs import player as module

    phases = Phases()
    planned: list[str] = []
    plan = module.plan
    monkeypatch.setattr(module, "plan", lambda *a, **k: (planned.append(phases.phase), plan(*a, **k))[1])
    stepper = started(phases, text, clock=phases)
    rng, inputs = np.random.default_rng(seed), phases.plant.surroundings.inputs
    while not stepper.controller.finished:
        assert stepper.now_ns < 10_000 * PERIOD_NS
        if rng.random() < 0.2:
            inputs[f"IN{rng.integers(1, 4)}"] = bool(rng.integers(2))
        key = rng.random()
        if key < 0.02:
            stepper.controller.press(Event.PAUSE)
        elif key < 0.06:
            stepper.controller.press(Event.RESUME)
        elif key < 0.08:
            stepper.controller.press(Event.SINGLE_STEP)
        stepper.step()
    assert len(planned) >= 4
    assert set(planned) == {"between"}
    assert np.all(np.diff(phases.instants) == PERIOD_NS)


@pytest.mark.parametrize("seed", range(6))
def test_plans_ahead_change_no_command(seed: int) -> None:
    """A job that is planned ahead moves like one that is planned where it is asked for, whatever the inputs do."""

    def commands(ahead: bool) -> list[Command]:
        rng, plant = np.random.default_rng(seed), IdealPlant(Q.copy())
        stepper = started(plant, BRANCHES, ahead=ahead)
        given = []
        for _ in range(900):
            if rng.random() < 0.2:
                plant.surroundings.inputs[f"IN{rng.integers(1, 4)}"] = bool(rng.integers(2))
            given.append(stepper.step())
        assert stepper.controller.finished
        return given

    for one, other in zip(commands(True), commands(False), strict=True):
        np.testing.assert_array_equal(one.q, other.q)
        np.testing.assert_array_equal(one.qd, other.qd)
        assert (one.line, one.instruction, one.motion, one.outputs) == (
            other.line,
            other.instruction,
            other.motion,
            other.outputs,
        )


def test_arm_stands_until_its_next_motion_is_planned() -> None:
    """With plans in another thread a plan that is not ready costs periods at rest, never a jump."""
    gate = threading.Event()
    source = player(JOB)
    answer = source._answer

    def slow(*arguments: Any) -> Any:
        assert gate.wait(30.0)
        return answer(*arguments)

    source._answer = slow  # type: ignore[method-assign]
    beside = Beside()
    plant = IdealPlant(Q.copy())
    stepper = started(plant, source=source, planning=beside)
    for _ in range(5):
        command = stepper.step()
        assert command.state is State.RUNNING
        np.testing.assert_array_equal(command.q, Q)
    gate.set()
    for _ in range(3000):
        before, command = command, stepper.step()
        assert np.all(np.abs(command.q - before.q) <= LIMITS.speed * PERIOD_NS * 1.01e-9)
        if command.state is not State.RUNNING:
            break
        if not command.qd.any():  # give the thread its turn
            assert beside._last is not None
            beside._last.result(30.0)
    beside.close()
    assert stepper.controller.finished


def test_source_that_fails_ahead_is_an_alarm() -> None:
    source = player(JOB)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no plan")

    source.look_ahead = broken  # type: ignore[method-assign]
    stepper = started(IdealPlant(Q.copy()), source=source)
    for _ in range(3):
        command = stepper.step()
    assert command.state is State.ALARM
    assert "RuntimeError: no plan" in str(command.alarms[0])


def test_single_step_past_an_input_that_did_not_come_goes_to_its_else() -> None:
    stepper = started(
        IdealPlant(Q.copy()), "WAITFOR IN1 ON TIMEOUT 0.1 s ELSE\n  SET OUT2 ON\nEND\nMOVEJ P1\n"
    )
    controller = stepper.controller
    assert controller.press(Event.PAUSE)
    while controller.state is not State.PAUSED:
        stepper.step()
    for _ in range(2):
        assert controller.press(Event.SINGLE_STEP)
        while controller.state is State.STEPPING:
            command = stepper.step()
    assert command.outputs == {"OUT2": True}


@pytest.mark.parametrize("drives", [False, True])
def test_plant_gives_the_whole_feedback(drives: bool) -> None:
    live = LiveRobot("gsis-scara", drives=drives)
    live.surroundings.inputs["IN4"] = True
    live.surroundings.circuit = live.surroundings.dead_man = False
    found = live.plant.feedback()
    assert isinstance(found, Feedback)
    assert (found.inputs, found.circuit_closed, found.dead_man) == ({"IN4": True}, False, False)
    assert found.drive_fault == ""
    np.testing.assert_array_equal(found.q, live.q)
    assert live.step().state is State.EMERGENCY


def test_wall_clock_keeps_the_distance_of_instants() -> None:
    now, slept = [5_000_000_123], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += round(seconds * 1e9) + 1000

    clock = WallClock(lambda: now[0], sleep)
    clock.wait_until(-PERIOD_NS)  # the first one is now
    assert slept == []
    clock.wait_until(0)
    assert slept == [pytest.approx(PERIOD_NS * 1e-9)]
    now[0] += 3 * PERIOD_NS  # a period that took too long
    clock.wait_until(PERIOD_NS)
    assert len(slept) == 1
    assert clock.late_ns == 2 * PERIOD_NS + 1000
