"""A control law of the user's in the place of position and speed loops."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from servotwin.control.servo.records import Law, Saturation, Task
from servotwin.control.servo.user_laws import LEVELS, CompiledLaw, PythonLaw, Signals, UserLaw
from servotwin.drives.kind import Feed
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.row_layout import lay_out_rows


class LawError(Exception):
    """A law has raised, or its answer cannot be used; the text says which and when."""


def attach_law(machine: Machine, law: UserLaw) -> None:
    """Put a control law of the user's in the place of position and speed loops."""
    servo, axes, tasks = machine.servo.servo[0], machine.axes, machine.servo.tasks
    if law.level == "voltage" and (machine.motors["feed"] == Feed.THREE_PHASE).any():
        raise InputError(
            "'voltage' is not there for synchronous motors, whose driver turns it with the rotor; expected speed "
            "or current",
            field="level",
        )
    axes["level"] = LEVELS[law.level]
    tasks[Task.LAW] = (0, round(law.period * 1e9), 0, 0)
    kind = Law.EXTERNAL if isinstance(law, PythonLaw) else Law.COMPILED
    axes["law"] = servo["user_law"] = kind
    servo["computed"] = 0
    lay_out_rows(machine)
    if isinstance(law, PythonLaw):
        return
    m = len(machine.motors)
    if law.motors != m:
        raise InputError(f"the law is for {law.motors} motors; expected {m}", field="motors")
    memory = np.zeros(max(law.memory, 1))
    servo["law_at"], servo["memory_at"] = compiled_address(law), memory.ctypes.data
    machine.servo.kept += [law.compiled, memory]


def compiled_address(law: CompiledLaw) -> int:
    """Where the loop calls a compiled law; InputError where numba cannot compile it."""
    try:
        return int(law.compiled.address)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        told = next((line for line in lines if "non-precise" not in line and "pipeline" not in line), "")
        said = " ".join(f"{type(error).__name__}: {told}".split())[:200]
        place = re.search(r'File "([^"]+)", line (\d+)', str(error))
        where = f", {Path(place[1]).name}:{place[2]}" if place else ""
        raise InputError(f"numba cannot compile it{where}: {said}", field="law") from error


def answer(machine: Machine, law: PythonLaw, motors: tuple[str, ...]) -> None:
    """Let a Python law see its signals and hand over its commands."""
    servo, world, axes = machine.servo.servo[0], machine.world[0], machine.axes
    command = ask(law, int(world["state"]["now"]) * 1e-9, servo["signals"], motors)
    field, most, bit = {
        "speed": ("w_command", "w_max", Saturation.SPEED_COMMAND),
        "current": ("i_ref", "i_max", Saturation.CURRENT),
        "voltage": ("u_ref", "u_max", Saturation.VOLTAGE),
    }[law.level]
    limited = np.clip(command, -axes[most], axes[most])
    axes[field] = limited
    axes["saturation"] = (axes["saturation"] & ~int(bit)) | np.where(limited != command, bit, 0)
    servo["asking"] = world["state"]["status"] = 0


def ask(law: PythonLaw, time: float, signals: Array, motors: tuple[str, ...]) -> Array:
    """The commands (m,) of a law at an instant; LawError where it gives none that a drive could follow."""
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
    if np.isnan(command).any():
        which = ", ".join(name for name, value in zip(motors, command, strict=True) if np.isnan(value))
        raise LawError(
            f"the control law returned a value that is not a number at {time:.6g} s for motor {which}"
        )
    return command
