"""The parts of a job: what the parser makes, the formatter writes and the interpreter carries out.

Everything is frozen and compares by what is written, not by where: two jobs
are equal if they differ only in layout. ``place`` says where a part stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from servotwin.jobs.amounts import NOWHERE, Amount, Name, Place, place_of

__all__ = [
    "NOWHERE",
    "Amount",
    "Name",
    "Place",
    "place_of",
]  # parts of a job that stand in a module of their own


# --- targets of moves ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Offset:
    """A shift along the axes of the work frame, or of the tool."""

    x: Amount
    y: Amount
    z: Amount
    tool: bool = False

    @property
    def xyz(self) -> tuple[float, float, float]:
        """The shift [m]."""
        return self.x.si, self.y.si, self.z.si


@dataclass(frozen=True)
class PointTarget:
    """A taught point, shifted or not."""

    point: str
    offset: Offset | None = None


@dataclass(frozen=True)
class PalletTarget:
    """The current place of a pallet, ``above`` it or not."""

    pallet: str
    above: Amount | None = None
    offset: Offset | None = None


Target = PointTarget | PalletTarget


@dataclass(frozen=True)
class Manner:
    """How a move is made; None where the job says nothing."""

    speed: Amount | None = None
    time: Amount | None = None
    acc: Amount | None = None
    blend: Amount | None = None
    profile: str | None = None
    optimal: bool = False
    energy: Amount | None = None


# --- instructions ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What stands in a line, with the comment behind it (without its mark)."""

    comment: str = ""
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Nothing(Statement):
    """An empty line, or one with only a comment."""


@dataclass(frozen=True)
class MoveJ(Statement):
    """All axes start and end together on the way to the target."""

    target: Target
    manner: Manner = Manner()


@dataclass(frozen=True)
class MoveL(Statement):
    """The tool goes straight to the target."""

    target: Target
    manner: Manner = Manner()


@dataclass(frozen=True)
class MoveC(Statement):
    """The tool goes on a circle through ``via`` to the target."""

    via: Target
    target: Target
    manner: Manner = Manner()


@dataclass(frozen=True)
class Spline(Statement):
    """The tool goes on a smooth curve through all points."""

    points: tuple[str, ...]
    manner: Manner = Manner()


Move = MoveJ | MoveL | MoveC | Spline


@dataclass(frozen=True)
class SpeedDefault(Statement):
    """The share of full speed of the moves that follow and state none."""

    speed: Amount


@dataclass(frozen=True)
class ProfileDefault(Statement):
    """The velocity profile of the moves that follow and state none."""

    profile: str


@dataclass(frozen=True)
class ShaperDefault(Statement):
    """The input shaper of the moves that follow; None: they are not shaped."""

    shaper: str | None


@dataclass(frozen=True)
class UseTool(Statement):
    """Poses are those of this tool from here on; None: of the robot's own tool frame."""

    tool: str | None


@dataclass(frozen=True)
class UseFrame(Statement):
    """Poses without a frame of their own are in this frame from here on; None: in the base."""

    frame: str | None


@dataclass(frozen=True)
class Wait(Statement):
    """Rest for a time."""

    time: Amount


@dataclass(frozen=True)
class SetOutput(Statement):
    """Switch an output."""

    output: str
    on: bool


@dataclass(frozen=True)
class WaitFor(Statement):
    """Rest until an input is on or off; ``otherwise`` is done on timeout, None: an alarm."""

    signal: str
    on: bool
    timeout: Amount | None = None
    otherwise: tuple[Statement, ...] | None = None
    end_comment: str = ""


@dataclass(frozen=True)
class Let(Statement):
    """Give a variable a whole number, or the value of another variable."""

    variable: str
    value: int | str


@dataclass(frozen=True)
class Inc(Statement):
    """Add to a variable."""

    variable: str
    by: int | str = 1


@dataclass(frozen=True)
class Next(Statement):
    """Go on to the next place of a pallet."""

    pallet: str


@dataclass(frozen=True)
class Reset(Statement):
    """Go back to the first place of a pallet."""

    pallet: str


@dataclass(frozen=True)
class Call(Statement):
    """Carry out a subprogram of this file."""

    name: str


@dataclass(frozen=True)
class CallFile(Statement):
    """Carry out another job file, named relative to this one."""

    path: str


@dataclass(frozen=True)
class Alarm(Statement):
    """Stop with an alarm."""

    text: str


@dataclass(frozen=True)
class Break(Statement):
    """Leave the innermost loop."""


@dataclass(frozen=True)
class Return(Statement):
    """Leave the subprogram."""


@dataclass(frozen=True)
class Stop(Statement):
    """End the job."""


# --- blocks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Repeat(Statement):
    """Do the body ``times`` times; None: for ever; the name of a pallet: once for each of its places."""

    times: int | str | None
    body: tuple[Statement, ...]
    end_comment: str = ""


@dataclass(frozen=True)
class SignalIs:
    """True if an input or output is on, or off."""

    signal: str
    on: bool


Comparison = Literal["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Compare:
    """True if a variable compares so with a whole number or another variable."""

    variable: str
    sign: Comparison
    value: int | str


@dataclass(frozen=True)
class PalletFull:
    """True when every place of a pallet has been passed."""

    pallet: str


Condition = SignalIs | Compare | PalletFull


@dataclass(frozen=True)
class If(Statement):
    """Do the body if the condition holds, ``otherwise`` (None: nothing) if not."""

    condition: Condition
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] | None = None
    else_comment: str = ""
    end_comment: str = ""


@dataclass(frozen=True)
class Sub(Statement):
    """A subprogram."""

    name: str
    body: tuple[Statement, ...]
    end_comment: str = ""


@dataclass(frozen=True)
class Pallet(Statement):
    """A pattern of rows x columns x layers places, taught by its corners.

    ``origin`` is the first place, ``row`` the one in the last row of the first
    column, ``column`` the one in the last column of the first row; ``layer`` is
    the height of a layer.
    """

    name: str
    origin: str
    rows: int = 1
    columns: int = 1
    layers: int = 1
    row: str | None = None
    column: str | None = None
    layer: Amount | None = None

    @property
    def places(self) -> int:
        """How many places there are."""
        return self.rows * self.columns * self.layers


@dataclass(frozen=True)
class Job:
    """A job file: its lines and blocks in order, subprograms and pallets among them."""

    body: tuple[Statement, ...]
    file: str = field(default="", compare=False)

    @cached_property
    def subs(self) -> dict[str, Sub]:
        """The subprograms by name, the first of each name."""
        found: dict[str, Sub] = {}
        for statement in self.body:
            if isinstance(statement, Sub):
                found.setdefault(statement.name, statement)
        return found

    @cached_property
    def pallets(self) -> dict[str, Pallet]:
        """The pallets by name, the first of each name."""
        found: dict[str, Pallet] = {}
        for statement in self.body:
            if isinstance(statement, Pallet):
                found.setdefault(statement.name, statement)
        return found


def blocks_of(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The bodies within a statement."""
    if isinstance(statement, Repeat | Sub):
        return (statement.body,)
    if isinstance(statement, If):
        return (statement.body, statement.otherwise or ())
    if isinstance(statement, WaitFor):
        return (statement.otherwise or (),)
    return ()
