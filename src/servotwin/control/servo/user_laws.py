"""Control laws of the user: Python objects called at their rate, or compiled functions inside the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from servotwin.control.servo.records import Level
from servotwin.description.fields import is_period
from servotwin.errors import InputError

Array = Any
LEVELS = {"speed": Level.SPEED, "current": Level.CURRENT, "voltage": Level.VOLTAGE}


@dataclass(frozen=True)
class Signals:
    """What a law sees, motor side, one entry per motor: references and measurements (SI).

    ``position`` is the counted encoder position [rad], ``speed`` what the servo driver found from the
    pulses [rad/s], ``current`` the sensed current [A].
    """

    position_ref: Array
    speed_ref: Array
    acceleration_ref: Array
    position: Array
    speed: Array
    current: Array


@dataclass(frozen=True)
class PythonLaw:
    """A law in Python: ``compute(time [s], signals) -> one command per motor``, every ``period`` [s].

    ``level`` says what it commands: ``speed`` [rad/s], ``current`` [A] or ``voltage`` [V]; the loops below
    stay those of the servo driver. Levels by motor name those that it commands; the others keep the robot's
    cascade, and what the law gives for them is not used.
    """

    compute: Callable[[float, Signals], Any]
    period: float
    level: str | Mapping[str, str] = "current"

    def __post_init__(self) -> None:
        check(self.period, self.level)


@dataclass(frozen=True)
class CompiledLaw:
    """The same as a function that numba compiles: ``compute(time, signals, memory, command)``.

    ``signals`` (6, m) are references of position, speed, acceleration, then position, speed, current;
    ``memory`` keeps ``memory`` numbers from call to call; the law fills ``command`` (m,).
    """

    compute: Callable[..., None]
    period: float
    motors: int
    level: str | Mapping[str, str] = "current"
    memory: int = 1

    def __post_init__(self) -> None:
        check(self.period, self.level)

    @cached_property
    def compiled(self) -> Any:
        """The compiled callback; ``.address`` is what the loop calls."""
        from numba import carray, cfunc, njit, types

        law = self.compute if hasattr(self.compute, "py_func") else njit(self.compute)
        motors, memory = self.motors, max(self.memory, 1)
        pointer = types.CPointer(types.float64)

        @cfunc(types.void(types.float64, pointer, pointer, pointer))  # type: ignore[untyped-decorator,unused-ignore]
        def call(time: float, signals: Any, kept: Any, command: Any) -> None:
            law(time, carray(signals, (6, motors)), carray(kept, (memory,)), carray(command, (motors,)))

        return call


UserLaw = PythonLaw | CompiledLaw


def levels_of(law: UserLaw, motors: Sequence[str]) -> dict[str, str]:
    """What a law commands, by the motors that it commands."""
    if isinstance(law.level, str):
        return dict.fromkeys(motors, law.level)
    for name in law.level:
        if name not in motors:
            raise InputError(
                f"'{name}' is not a motor; expected some of {', '.join(motors[:12])}", field="level"
            )
    return dict(law.level)


def check(period: float, level: str | Mapping[str, str]) -> None:
    """Complain about a law that cannot run."""
    if not is_period(period):
        raise InputError(
            f"{period:g} s is no period; expected a whole number of nanoseconds, 1e-9 s or more, such as 1.6e-3",
            field="period",
        )
    levels = [level] if isinstance(level, str) else list(level.values())
    if not levels:
        raise InputError("no motor is commanded; expected levels by motor, {A: speed}", field="level")
    for one in levels:
        if one not in LEVELS:
            raise InputError(f"'{one}' is not accepted; expected one of {', '.join(LEVELS)}", field="level")
