"""A servo in a process of its own, which knows the robot by its description only and exchanges two records."""

from __future__ import annotations

from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from servotwin.control.servo.ports import DRIVE_COMMAND, FEEDBACK
from servotwin.control.servo.unit import ServoUnit
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.fit import square_transmission
from servotwin.simulation.plant.servo_records import build_servo
from servotwin.simulation.run import Run
from servotwin.simulation.scenario.scenario import read_scenario

STOP = -2  # as the instant of a feedback
PATIENCE = 600.0  # s; a busy machine may have to compile first


def ports(memory: SharedMemory) -> tuple[Any, Any]:
    """The two records in a shared memory."""
    feedback = np.ndarray((1,), FEEDBACK, memory.buf)
    return feedback, np.ndarray((1,), DRIVE_COMMAND, memory.buf, FEEDBACK.itemsize)


def serve(
    name: str, scenario: str, changes: dict[str, str], axes: bytes, setpoints: Any, switches: dict[int, bool],
    asked: Any, done: Any,
) -> None:  # fmt: skip
    """The other process: one step of the servo for every feedback; drives are switched at their instants [ns]."""
    belief = read_scenario(scenario, changes).description
    model = Robot(build_mechanism(belief))
    memory = SharedMemory(name)
    feedback, command = ports(memory)
    seed = read_scenario(scenario, changes).seed
    unit = build_servo(belief, model, square_transmission(model), seed, (feedback, command))
    unit.axes[...] = np.frombuffer(axes, unit.axes.dtype)
    unit.setpoints = setpoints
    done.release()
    while asked.acquire(timeout=PATIENCE) and feedback["time"][0] != STOP:
        now = int(feedback["time"][0])
        if now in switches:
            unit.enable(switches[now])
        unit.step(now)
        done.release()
    unit.feedback = unit.command = feedback = command = None
    memory.close()


@dataclass
class Elsewhere:
    """The servo of a run, in another process until the block ends; ``exchanges`` counts its steps."""

    run: Run
    scenario: str
    changes: dict[str, str]
    switches: dict[int, bool] = field(default_factory=dict)  # drives enabled or disabled, by instant [ns]
    exchanges: int = 0

    def __enter__(self) -> Elsewhere:
        context = get_context("spawn")
        self.memory = SharedMemory(create=True, size=FEEDBACK.itemsize + DRIVE_COMMAND.itemsize)
        self.asked, self.done = context.Semaphore(0), context.Semaphore(0)
        unit = self.run.machine.servo
        arguments = (
            self.memory.name,
            self.scenario,
            self.changes,
            unit.axes.tobytes(),
            unit.setpoints,
            self.switches,
        )
        self.process = context.Process(target=serve, args=(*arguments, self.asked, self.done))
        self.process.start()
        assert self.done.acquire(timeout=PATIENCE), "the servo does not start"
        unit.feedback, unit.command = ports(self.memory)
        unit.axes["K_x"] = np.nan  # nothing here may compute with the records that stay behind
        self.run.machine.hand_over(self.exchange)
        return self

    def exchange(self, unit: ServoUnit) -> None:
        """One step in lock-step."""
        self.exchanges += 1
        self.asked.release()
        assert self.done.acquire(timeout=PATIENCE), "the servo does not answer"

    def __exit__(self, *_: object) -> None:
        unit = self.run.machine.servo
        unit.feedback["time"] = STOP
        self.asked.release()
        self.process.join(PATIENCE)
        unit.feedback, unit.command = unit.feedback.copy(), unit.command.copy()
        self.memory.close()
        self.memory.unlink()
