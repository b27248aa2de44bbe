"""The servo of one robot as an object: its records, its ports, and one call for every instant of its clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from servotwin.compiled.numeric import Stream, random_stream
from servotwin.control.servo.ports import DRIVE_COMMAND, FEEDBACK, Sample
from servotwin.control.servo.records import SERVO, Task
from servotwin.control.servo.tasks import servo_tasks, step_servo

NEVER = 1 << 62
# fields of an axis that are zero when its drive is enabled: integrators, and commands that act or wait
BEGIN_EMPTY = (
    *("sum_x", "sum_n", "sum_i", "sum_d", "acc_x", "acc_n", "acc_i", "acc_d"),
    *("i_ref", "w_command", "next_i", "next_w", "next_feedforward", "next_a", "next_b", "filter_memory"),
)
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass
class ServoUnit:
    """Everything that the servo of a robot knows, believes and remembers, and the two records of its border.

    ``servo``: one record (SERVO); ``axes`` (m,): AXIS; ``tasks``: next instant, period, jitter [ns] and runs of every
    task; ``setpoints`` (rows, m, 3): counts, speed [rad/s], acceleration [rad/s2] of the main controller, one row for
    each of its periods, the last one kept; ``inverse`` (n, m): joints of motor angles; ``random``: state of the jitter.
    """

    servo: Any
    axes: Any
    tasks: Any
    setpoints: Array
    inverse: Array
    random: Any
    feedback: Any
    command: Any
    kept: list[Any] = field(default_factory=list)  # kernels and memory whose addresses the records hold
    feedback_law: Any = None  # record of the law state-feedback

    def __setattr__(self, name: str, value: Any) -> None:
        """Compiled code takes the tables by their addresses, so they stand in memory row by row."""
        if name in ("setpoints", "inverse"):
            value = np.ascontiguousarray(value, dtype=np.float64)
            if value.shape[1] != len(self.axes):
                raise ValueError(f"{name} for {value.shape[1]} axes; expected {len(self.axes)}")
        super().__setattr__(name, value)

    def step(self, now_ns: int) -> None:
        """Run what is due at an instant, on ``feedback``; ``command`` tells when the next one is."""
        step_servo(
            servo_tasks.address, self.servo, self.axes, self.tasks, self.setpoints, self.inverse, self.random,
            self.feedback, self.command, now_ns,
        )  # fmt: skip

    def enable(self, on: bool | Sequence[bool] = True, counts: Array | None = None) -> None:
        """Enable the drives that are ``on``, all or by axis, with their brakes released; switch the others off.

        Drives that were off begin at the reference ``counts`` (m,), by default where they stand, with empty
        integrators.
        """
        m = len(self.axes)
        wanted = np.broadcast_to(np.asarray(on, dtype=np.int64), m)
        enable, released = self.command["enable"][0, :m], self.command["brake_released"][0, :m]
        begins = (wanted != 0) & (enable == 0)
        enable[:] = released[:] = wanted
        for name in BEGIN_EMPTY:
            self.axes[name][begins] = 0
        stand = self.feedback["count"][0, :m] if counts is None else counts
        for name in ("from_counts", "to_counts", "counts_ref"):
            self.axes[name][begins] = stand[begins]

    @property
    def enabled(self) -> bool:
        """Whether any drive is enabled."""
        return bool(self.command["enable"][0, : len(self.axes)].any())

    @property
    def faults(self) -> Any:
        """What the drives report (m,): a ``DriveFault`` for each axis."""
        return self.feedback["fault"][0, : len(self.axes)]

    @property
    def asks(self) -> bool:
        """Whether a law in Python has to answer before the loops below it run."""
        return bool(self.servo["asking"][0])


def servo_unit(
    servo: Any, axes: Any, tasks: Any, inverse: Array, seed: int, ports: tuple[Any, Any] | None = None
) -> ServoUnit:
    """A servo that begins at the instant 0 and samples everything then.

    ``ports``: arrays of one FEEDBACK and one DRIVE_COMMAND to use, such as in shared memory.
    """
    feedback, command = ports or (np.zeros(1, FEEDBACK), np.zeros(1, DRIVE_COMMAND))
    feedback["time"] = command["period_start"] = -1
    command["enable"][0, : len(axes)] = command["brake_released"][0, : len(axes)] = 1
    command["next"], command["samples"] = 0, Sample.COUNT | Sample.EDGE | Sample.CURRENT
    fields: Any = SERVO.fields
    for name, array in (("model_at", "model_buffer"), ("signals_at", "signals"), ("command_at", "command")):
        servo[name] = servo.ctypes.data + fields[array][1]
    random = random_stream(seed, Stream.JITTER)
    return ServoUnit(servo, axes, tasks, np.zeros((1, len(axes), 3)), inverse, random, feedback, command)


def task_table(periods: dict[Task, int], jitter: int) -> Any:
    """Next instant, period, jitter [ns] and number of runs of every task; those without a period never run.

    The current loop is locked to the carrier of the bridge and has no jitter.
    """
    tasks = np.zeros((len(Task), 4), dtype=np.int64)
    tasks[:, 0] = NEVER
    for task, period in periods.items():
        tasks[task] = (0, period, 0 if task in (Task.CURRENT, Task.LAW) else jitter, 0)
    return tasks
