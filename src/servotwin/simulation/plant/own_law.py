"""A control law of the user's in the place of position and speed loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from servotwin.compiled.complaints import complaint
from servotwin.control.servo.records import Law, Level, Saturation, Task
from servotwin.control.servo.user_laws import LEVELS, CompiledLaw, PythonLaw, Signals, UserLaw, levels_of
from servotwin.drives.kind import Feed
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.row_layout import lay_out_rows

# field of an axis that a law commands, its limit, and the bit of the saturation word
COMMANDED = {
    Level.SPEED: ("w_command", "w_max", Saturation.SPEED_COMMAND),
    Level.CURRENT: ("i_ref", "i_max", Saturation.CURRENT),
    Level.VOLTAGE: ("u_ref", "u_max", Saturation.VOLTAGE),
}


class LawError(Exception):
    """A law has raised, or its answer cannot be used; the text says which and when."""


def attach_law(machine: Machine, law: UserLaw, motors: Sequence[str]) -> None:
    """Put a control law of the user's in the place of position and speed loops, of the ``motors`` it commands."""
    servo, axes, tasks = machine.servo.servo[0], machine.axes, machine.servo.tasks
    levels = levels_of(law, motors)
    kind = Law.EXTERNAL if isinstance(law, PythonLaw) else Law.COMPILED
    if (servo["computed"] or servo["state_feedback"]) and len(levels) < len(motors):
        name = "computed torque" if servo["computed"] else "state feedback"
        raise InputError(
            f"{name} is one law of all motors together; expected a level for every motor, or the robot's law "
            "cascade",
            field="level",
        )
    for j, motor in enumerate(motors):
        if motor in levels:
            _check_level(machine, j, motor, levels[motor])
            axes["filter"][j] = driver_filter(servo, axes[j])
            axes["level"][j], axes["law"][j] = LEVELS[levels[motor]], kind
    tasks[Task.LAW] = (0, round(law.period * 1e9), 0, 0)
    servo["user_law"], servo["computed"], servo["state_feedback"] = kind, 0, 0
    servo["closes_speed"] = int(((axes["law"] == Law.CASCADE) & (axes["level"] == Level.CURRENT)).any())
    lay_out_rows(machine)
    if isinstance(law, PythonLaw):
        return
    m = len(machine.motors)
    if law.motors != m:
        raise InputError(f"the law is for {law.motors} motors; expected {m}", field="motors")
    memory = np.zeros(max(law.memory, 1))
    servo["law_at"], servo["memory_at"] = compiled_address(law), memory.ctypes.data
    machine.servo.kept += [law.compiled, memory]


def driver_filter(servo: Any, axis: Any) -> float:
    """Coefficient of the speed filter at the period of the servo driver, where the axis controller had run it."""
    if axis["law"] != Law.CASCADE or axis["level"] != Level.CURRENT:
        return float(axis["filter"])
    return float(1.0 - (1.0 - axis["filter"]) ** (servo["T_speed"] / servo["T_axis"]))


def _check_level(machine: Machine, j: int, motor: str, level: str) -> None:
    """Refuse a command that the servo driver of motor j does not take."""
    if level == "voltage" and machine.motors["feed"][j] == Feed.THREE_PHASE:
        raise InputError(
            "'voltage' is not there for synchronous motors, whose driver turns it with the rotor; expected speed "
            "or current",
            field="level",
        )
    axis = machine.axes[j]
    if level == "speed" and axis["law"] == Law.CASCADE and axis["level"] == Level.CURRENT:
        raise InputError(
            f"'speed': the driver of motor {motor} takes currents and closes no speed loop (controller.level of the "
            "robot); expected current or voltage",
            field="level",
        )


def compiled_address(law: CompiledLaw) -> int:
    """Where the loop calls a compiled law; InputError where numba cannot compile it."""
    try:
        return int(law.compiled.address)
    except Exception as error:
        raise InputError(f"numba cannot compile it{complaint(error)}", field="law") from error


def answer(machine: Machine, law: PythonLaw, motors: tuple[str, ...]) -> None:
    """Let a Python law see its signals and hand over its commands."""
    servo, world, axes = machine.servo.servo[0], machine.world[0], machine.axes
    own = axes["law"] == Law.EXTERNAL
    command = ask(law, int(world["state"]["now"]) * 1e-9, servo["signals"], motors, own)
    for j in range(len(motors)):
        if axes["law"][j] == Law.EXTERNAL:
            field, most, bit = COMMANDED[Level(axes["level"][j])]
            limited = min(max(float(command[j]), -axes[most][j]), axes[most][j])
            axes[field][j] = limited
            axes["saturation"][j] = (axes["saturation"][j] & ~int(bit)) | (
                bit if limited != command[j] else 0
            )
    servo["asking"] = world["state"]["status"] = 0


def ask(law: PythonLaw, time: float, signals: Array, motors: tuple[str, ...], own: Any) -> Array:
    """The commands (m,) of a law at an instant; LawError where it gives its ``own`` motors none to follow."""
    m = len(motors)
    rows = signals[: 6 * m].reshape(6, m).copy()
    try:
        command = np.asarray(law.compute(time, Signals(*rows)), dtype=np.float64)
    except Exception as error:
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise LawError(f"the control law failed at {time:.6g} s: {said}") from error
    if command.shape != (m,):
        raise LawError(
            f"the control law returned the shape {command.shape} at {time:.6g} s; expected ({m},), one command "
            "for each motor"
        )
    missing = np.isnan(command) & own
    if missing.any():
        which = ", ".join(name for name, lacks in zip(motors, missing, strict=True) if lacks)
        raise LawError(
            f"the control law returned a value that is not a number at {time:.6g} s for motor {which}"
        )
    return command
