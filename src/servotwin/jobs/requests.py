"""What the interpreter asks of the controller, one thing at a time, with the place in the job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from servotwin.description.frames import Array


@dataclass(frozen=True)
class Where:
    """File, line and column of an instruction."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, eq=False)
class Target:
    """A resolved target of a move.

    ``X`` (4, 4) is the pose of the robot's tool frame in the base: the selected
    tool is already taken off. ``q`` (n,) are the joint positions if the point was
    taught so and is not shifted; the pose is theirs then.
    """

    name: str
    X: Array
    q: Array | None = None


@dataclass(frozen=True)
class Rate:
    """How fast: a share of the limits (0 to 1), a tool value [m/s, m/s2], or a duration [s]."""

    kind: Literal["share", "tool", "time"]
    value: float


@dataclass(frozen=True, eq=False)
class Motion:
    """A move with resolved targets: one for MOVEJ and MOVEL, via and target for MOVEC, all of a SPLINE.

    ``blend`` [m] is the radius within which the next move may begin; zero: the
    move ends at rest, and so does a move before another shaper. ``X_tool`` (4, 4) is the selected tool in the robot's
    tool frame, whose tip draws the path.
    """

    where: Where
    kind: Literal["MOVEJ", "MOVEL", "MOVEC", "SPLINE"]
    targets: tuple[Target, ...]
    speed: Rate
    acceleration: Rate | None = None
    blend: float = 0.0
    profile: str | None = None
    tool: str | None = None
    X_tool: Array = field(default_factory=lambda: np.eye(4))
    optimal: bool = False
    energy_weight: float = 0.0  # [s/J]
    shaper: str | None = None  # 'none': not shaped; None: as the controller does it


@dataclass(frozen=True)
class Wait:
    """Rest for ``seconds``; zero: until the next control period."""

    where: Where
    seconds: float


@dataclass(frozen=True)
class SetOutput:
    """Switch an output."""

    where: Where
    output: str
    on: bool


@dataclass(frozen=True)
class WaitInput:
    """Rest until an input is on or off, at least one control period.

    After ``timeout`` [s] (None: never) the controller calls the interpreter with
    ``timed_out=True``; it answers with the ELSE block or with a ProgramAlarm.
    """

    where: Where
    signal: str
    on: bool
    timeout: float | None


@dataclass(frozen=True)
class ProgramAlarm:
    """The job cannot go on, or asks for an alarm; the interpreter has ended."""

    where: Where
    text: str


@dataclass(frozen=True)
class End:
    """The job has come to its end."""

    where: Where


Request = Motion | Wait | SetOutput | WaitInput | ProgramAlarm | End
