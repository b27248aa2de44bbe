"""Alarms of the main controller, what each leads to, and the watch over measured positions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from servotwin.control.main.states import Event
from servotwin.description.display import of_unit
from servotwin.description.frames import Array
from servotwin.motion.limits import MotionLimits
from servotwin.robot.robot import Robot

BoolArray = NDArray[np.bool_]
CLOSE = 2e-3  # m: a distance may have a range of metres, of which half a percent is a collision


class AlarmKind(Enum):
    """What may go wrong."""

    FOLLOWING_ERROR = "following error"
    POSITION_LIMIT = "position limit"
    SPEED = "speed"
    OVERLOAD = "overload"
    DRIVE = "drive"  # reports a fault of its own
    BUS = "bus"  # does not carry what is sent, or a slave has left it
    FEEDBACK = "feedback"
    PROGRAM_ERROR = "program error"
    INPUT_TIMEOUT = "input timeout"
    REFERENCE = "reference"


# A hard alarm takes the power at once: the drives no longer do what they are told. After a soft one the
# arm comes to rest on its path and stands under power.
REACTION: Final = MappingProxyType(
    {
        AlarmKind.FOLLOWING_ERROR: Event.HARD_ALARM,
        AlarmKind.POSITION_LIMIT: Event.HARD_ALARM,
        AlarmKind.SPEED: Event.HARD_ALARM,
        AlarmKind.OVERLOAD: Event.HARD_ALARM,
        AlarmKind.DRIVE: Event.HARD_ALARM,
        AlarmKind.BUS: Event.HARD_ALARM,
        AlarmKind.FEEDBACK: Event.HARD_ALARM,
        AlarmKind.PROGRAM_ERROR: Event.SOFT_ALARM,
        AlarmKind.INPUT_TIMEOUT: Event.SOFT_ALARM,
        AlarmKind.REFERENCE: Event.SOFT_ALARM,
    }
)


@dataclass(frozen=True)
class Alarm:
    """Something that went wrong at an instant; ``axis`` and ``line`` (of the job) where they apply."""

    kind: AlarmKind
    text: str
    time_ns: int
    axis: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


@dataclass(frozen=True)
class Watch:
    """What measured positions are held against.

    ``following`` (n,): largest distance from the reference; ``margin`` (n + k,): how far beyond the limit of a
    joint or quantity the arm may stand; ``speed`` (n,): largest measured speed. ``robot``: its quantities between
    frames are watched too, ``frame_margin`` (m,) beyond their limits.
    """

    names: tuple[str, ...]
    limits: MotionLimits
    following: Array
    margin: Array
    speed: Array
    units: tuple[str, ...]  # of each axis: rad or m
    robot: Robot | None = None

    @cached_property
    def frame_margin(self) -> Array:
        """Half a percent of the range (m,), of lengths at most ``CLOSE``; zero without quantities between frames."""
        if self.robot is None:
            return np.zeros(0)
        z = self.robot.frame_quantities
        margin = _part_of_range(z.low, z.high)
        return np.where(z.lengths, np.minimum(margin, CLOSE), margin) if z.names else margin

    def beyond(self, q: Array) -> Array:
        """How far (n + k + m,) joints, their quantities and those between frames are beyond what is accepted."""
        joints = self.limits.beyond(q) - self.margin
        if self.robot is None or not self.frame_margin.size:
            return joints
        return np.append(joints, self.robot.frame_quantities_beyond(q) - self.frame_margin)

    def look(self, q: Array, qd: Array, q_ref: Array, outside: BoolArray, now_ns: int) -> list[Alarm]:
        """Alarms of this instant; what already stood ``outside`` (n + k + m,) when power came may find its way back."""
        beyond = self.beyond(q) > 0.0
        lag, pace = np.abs(q - q_ref), np.abs(qd)
        if not (((lag > self.following) | (pace > self.speed)).any() or beyond.any()):
            return []
        found = []
        for i in map(int, np.flatnonzero(lag > self.following)):
            far, most = self._shown(lag, i), self._shown(self.following, i)
            text = f"axis {self.names[i]} is {far} from its reference; expected at most {most}"
            found.append(Alarm(AlarmKind.FOLLOWING_ERROR, text, now_ns, self.names[i]))
        for i in map(int, np.flatnonzero(beyond & ~outside[: beyond.size])):
            found.append(self._beyond(q, i, now_ns))
        for i in map(int, np.flatnonzero(pace > self.speed)):
            fast, most = self._shown(pace, i, "/s"), self._shown(self.speed, i, "/s")
            text = f"axis {self.names[i]} moves at {fast}; expected at most {most}"
            found.append(Alarm(AlarmKind.SPEED, text, now_ns, self.names[i]))
        return found

    def _beyond(self, q: Array, i: int, now_ns: int) -> Alarm:
        """The alarm of joint or quantity i."""
        n, quantities = len(self.names), self.limits.quantities
        if i >= len(self.limits.low):
            return self._frames_beyond(q, i - len(self.limits.low), now_ns)
        if i < n:
            name, unit, what = self.names[i], self.units[i], f"axis {self.names[i]} stands at"
        else:
            name, unit = quantities.names[i - n], "m" if quantities.lengths[i - n] else "rad"
            what = f"{name} is"
        values = (self.limits.positions(q)[i], self.limits.low[i], self.limits.high[i])
        stands, low, high = (shown(float(value), unit) for value in values)
        text = f"{what} {stands}; expected {low} to {high}"
        return Alarm(AlarmKind.POSITION_LIMIT, text, now_ns, name)

    def _frames_beyond(self, q: Array, i: int, now_ns: int) -> Alarm:
        """The alarm of quantity i between frames."""
        assert self.robot is not None
        z = self.robot.frame_quantities
        values = (self.robot.frame_quantity_values(q)[i], z.low[i], z.high[i])
        stands, low, high = (shown(float(value), "m" if z.lengths[i] else "rad") for value in values)
        text = f"{z.names[i]} is {stands}; expected {low} to {high}"
        return Alarm(AlarmKind.POSITION_LIMIT, text, now_ns, z.names[i])

    def _shown(self, values: Array, i: int, per: str = "") -> str:
        return shown(float(values[i]), self.units[i], per)


def shown(value: float, unit: str, per: str = "", digits: int = 5) -> str:
    """A value [rad, m, or ``per`` time] as people read it: degrees and millimetres."""
    return of_unit(unit).text(value, f".{digits}g", per)


def shown_apart(value: float, limit: float, unit: str, per: str = "") -> tuple[str, str]:
    """A value and the limit that it exceeds, with as many digits as tell them apart.

    >>> shown_apart(0.0300001, 0.03, "m")
    ('30.0001 mm', '30 mm')
    """
    for digits in range(5, 16):
        texts = shown(value, unit, per, digits), shown(limit, unit, per, digits)
        if texts[0] != texts[1]:
            break
    return texts


def watch_of(
    names: tuple[str, ...],
    limits: MotionLimits,
    position_bandwidth: float = 30.0,
    *,
    following: Array | None = None,
    overspeed: float = 1.3,
    units: tuple[str, ...] = (),
    robot: Robot | None = None,
) -> Watch:
    r"""The usual bounds: twice the lag of a position loop at full speed, half a percent beyond a position limit.

    .. math:: e_\mathrm{max} = 2 V / K_p                                                   (eq:following-bound)

    ``units``: rad or m for each axis, rad if they are not given; ``robot``: has its quantities between frames watched.
    """
    lag = 2.0 * limits.speed / position_bandwidth  # eq:following-bound
    return Watch(
        names, limits, lag if following is None else following, _part_of_range(limits.low, limits.high),
        overspeed * limits.speed, units or ("rad",) * len(names), robot,
    )  # fmt: skip


def _part_of_range(low: Array, high: Array) -> Array:
    """Half a percent of ranges; zero where one is open."""
    return 0.005 * np.where(np.isfinite(high - low), high - low, 0.0)
