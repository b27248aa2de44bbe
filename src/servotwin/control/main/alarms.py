"""Alarms of the main controller, what each leads to, and the watch over measured positions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from servotwin.control.main.states import Event
from servotwin.description.display import of_unit
from servotwin.description.frames import Array
from servotwin.motion.limits import MotionLimits

BoolArray = NDArray[np.bool_]


class AlarmKind(Enum):
    """What may go wrong."""

    FOLLOWING_ERROR = "following error"
    POSITION_LIMIT = "position limit"
    SPEED = "speed"
    OVERLOAD = "overload"
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
    joint or quantity the arm may stand; ``speed`` (n,): largest measured speed.
    """

    names: tuple[str, ...]
    limits: MotionLimits
    following: Array
    margin: Array
    speed: Array
    units: tuple[str, ...]  # of each axis: rad or m

    def look(self, q: Array, qd: Array, q_ref: Array, outside: BoolArray, now_ns: int) -> list[Alarm]:
        """Alarms of this instant; what already stood ``outside`` (n + k,) when power came may find its way back."""
        beyond = self.limits.beyond(q) > self.margin
        lag, pace = np.abs(q - q_ref), np.abs(qd)
        if not (((lag > self.following) | (pace > self.speed)).any() or beyond.any()):
            return []
        found = []
        for i in map(int, np.flatnonzero(lag > self.following)):
            far, most = self._shown(lag, i), self._shown(self.following, i)
            text = f"axis {self.names[i]} is {far} from its reference; expected at most {most}"
            found.append(Alarm(AlarmKind.FOLLOWING_ERROR, text, now_ns, self.names[i]))
        for i in map(int, np.flatnonzero(beyond & ~outside)):
            found.append(self._beyond(q, i, now_ns))
        for i in map(int, np.flatnonzero(pace > self.speed)):
            fast, most = self._shown(pace, i, "/s"), self._shown(self.speed, i, "/s")
            text = f"axis {self.names[i]} moves at {fast}; expected at most {most}"
            found.append(Alarm(AlarmKind.SPEED, text, now_ns, self.names[i]))
        return found

    def _beyond(self, q: Array, i: int, now_ns: int) -> Alarm:
        """The alarm of joint or quantity i."""
        n, quantities = len(self.names), self.limits.quantities
        if i < n:
            name, unit, what = self.names[i], self.units[i], f"axis {self.names[i]} stands at"
        else:
            name, unit = quantities.names[i - n], "m" if quantities.lengths[i - n] else "rad"
            what = f"{name} is"
        values = (self.limits.positions(q)[i], self.limits.low[i], self.limits.high[i])
        stands, low, high = (shown(float(value), unit) for value in values)
        text = f"{what} {stands}; expected {low} to {high}"
        return Alarm(AlarmKind.POSITION_LIMIT, text, now_ns, name)

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
) -> Watch:
    r"""The usual bounds: twice the lag of a position loop at full speed, half a percent beyond a position limit.

    .. math:: e_\mathrm{max} = 2 V / K_p                                                   (eq:following-bound)

    ``units``: rad or m for each axis, rad if they are not given.
    """
    stroke = np.where(np.isfinite(limits.high - limits.low), limits.high - limits.low, 0.0)
    lag = 2.0 * limits.speed / position_bandwidth  # eq:following-bound
    return Watch(
        names, limits, lag if following is None else following, 0.005 * stroke, overspeed * limits.speed,
        units or ("rad",) * len(names),
    )  # fmt: skip
