"""A main controller with an arm that follows exactly, and operators who press anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import servotwin as st
from servotwin.control.main.exchange import Command, Feedback, Reply
from servotwin.control.main.jogging import Jog
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.states import Event, Mode, State
from servotwin.jobs.language import parse
from servotwin.jobs.player import Player, TaughtPoints
from servotwin.jobs.points import Points
from servotwin.jobs.program import Program
from servotwin.motion.limits import limits_of

PERIOD_NS = 16_000_000
T = PERIOD_NS * 1e-9
SCARA = st.load_robot("gsis-scara")
LIMITS = limits_of(SCARA)
Q = np.radians([20.0, 40.0, 0.0, 10.0]) + np.array([0.0, 0.0, 0.05, 0.0])
TAUGHT = {
    "P1": [20.0, 40.0, 50.0, 10.0],
    "P2": [50.0, 30.0, 60.0, 0.0],
    "P3": [-30.0, 80.0, 40.0, 90.0],
    "far": [119.0, 0.0, 10.0, 0.0],
}


def points() -> Points:
    """Four points of the SCARA."""
    made = Points(robot="gsis-scara")
    for name, (a, b, z, w) in TAUGHT.items():
        q = [np.radians(a), np.radians(b), z * 1e-3, np.radians(w)]
        made = made.record(name, SCARA.joint_names, q, sliding=[False, False, True, False])
    return made


def player(text: str, **more: Any) -> Player:
    """A job on the SCARA."""
    return Player(Program(parse(text, "test.job"), points()), SCARA, LIMITS, period=T, **more)


JOB = """
MOVEJ P1
SET OUT1 ON
MOVEL P2 SPEED 0.4 m/s BLEND 10 mm
MOVEL P3 SPEED 0.4 m/s
WAIT 0.1 s
WAITFOR IN1 ON TIMEOUT 0.2 s ELSE
  SET OUT2 ON
END
MOVEJ P1 SPEED 60%
SET OUT1 OFF
"""


@dataclass
class Bench:
    """A controller and its arm; ``commands`` holds all that was commanded."""

    controller: MainController = field(default_factory=lambda: MainController(SCARA, LIMITS, PERIOD_NS))
    q: Any = field(default_factory=Q.copy)
    now: int = 0
    inputs: dict[str, bool] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)

    def step(self, count: int = 1, **feedback: Any) -> Command:
        """Some periods; what the arm is asked for it does."""
        for _ in range(count):
            seen = Feedback(**{"q": self.q, "inputs": self.inputs, **feedback})
            command = self.controller.step(self.now, seen)
            self.commands.append(command)
            if command.enable:
                self.q = command.q.copy()
            self.now += PERIOD_NS
        return command

    def press(self, event: Event | str, **arguments: Any) -> Reply:
        """A key."""
        return self.controller.press(event, **arguments)

    def must(self, event: Event | str, **arguments: Any) -> None:
        """A key that is taken."""
        reply = self.press(event, **arguments)
        assert reply, reply.reason

    def until(self, *states: State, most: int = 2000) -> Command:
        """Periods up to one of these states."""
        for _ in range(most):
            command = self.step()
            if command.state in states:
                return command
        raise AssertionError(f"{self.controller.state} after {most} periods; expected {states}")


def enabled(mode: Mode = Mode.TEACH, **more: Any) -> Bench:
    """A bench under power."""
    bench = Bench(**more)
    bench.controller.points = TaughtPoints(
        points(), SCARA.joint_names, [False, False, True, False], stamped=False
    )
    bench.step()
    bench.must(Event.MODE, mode=mode)
    bench.must(Event.ENABLE)
    bench.until(State.READY)
    return bench


def running(text: str = JOB, **more: Any) -> Bench:
    """A bench that plays a job back."""
    bench = enabled(Mode.PLAY)
    bench.must(Event.LOAD, program=player(text, **more))
    bench.must(Event.RUN)
    return bench


# --- an operator who presses anything ---------------------------------------------------------------


def random_jog(rng: np.random.Generator) -> Any:
    """A jog, now and then one that is none."""
    frame = rng.choice(["joint", "base", "tool"])
    size = 4 if frame == "joint" else 6
    direction = np.zeros(size)
    direction[rng.integers(size)] = rng.choice([-1.0, 1.0, 0.5])
    if rng.random() < 0.3:
        direction = rng.uniform(-1.0, 1.0, size)
    length = [None, 0.001, 0.02, -0.1, 5.0][rng.integers(5)]
    odd = rng.random()
    if odd < 0.05:
        return [None, "left", Jog("sideways", (1.0,)), Jog("joint", (np.nan,) * 4)][rng.integers(4)]  # type: ignore[arg-type]
    speed = 1.0 if odd > 0.4 else float(rng.uniform(-0.2, 1.2))
    return Jog(str(frame), tuple(direction.tolist()), speed, length)  # type: ignore[arg-type]


def random_key(rng: np.random.Generator, programs: list[Any]) -> tuple[Event | str, dict[str, Any]]:
    """An event with arguments that fit, mostly."""
    events: list[Event] = list(Event)
    event = events[rng.integers(len(events))]
    if rng.random() < 0.35:
        likely = [Event.ENABLE, Event.RUN, Event.JOG, Event.RESET, Event.RESUME, Event.NUDGE, Event.MODE]
        likely += [Event.SINGLE_STEP, Event.PAUSE]
        event = likely[rng.integers(len(likely))]
    names: list[Any] = ["P1", "P2", "new", "", "MOVEJ", None]
    arguments: dict[Event, Callable[[], dict[str, Any]]] = {
        Event.MODE: lambda: {"mode": [*Mode, "nonsense"][rng.choice(4, p=[0.4, 0.05, 0.5, 0.05])]},
        Event.JOG: lambda: {"jog": random_jog(rng)},
        Event.NUDGE: lambda: {"jog": random_jog(rng)},
        Event.GO_TO: lambda: {"name": names[rng.integers(6)]},
        Event.LOAD: lambda: {"program": programs[rng.integers(len(programs))]},
        Event.OVERRIDE: lambda: {"percent": [1, 5, 30, 100, 0, 101, 2.5, True][rng.integers(8)]},
        Event.RECORD: lambda: {"name": names[rng.integers(6)], "replace_old": bool(rng.integers(2))},
        Event.DELETE: lambda: {"name": names[rng.integers(6)]},
        Event.RENAME: lambda: {"name": names[rng.integers(6)], "new_name": names[rng.integers(6)]},
    }
    if rng.random() < 0.03:
        return event, {"what": 1}
    if rng.random() < 0.01:
        return "no such key", {}
    return event, arguments.get(event, dict)()
