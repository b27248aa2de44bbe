"""What is asked of an optimal motion: objective, which limits count, where the tool may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from servotwin.description.nodes import quoted
from servotwin.errors import InputError

Range = tuple[float, float]
Objective = Literal["time", "energy", "copper"]
AXES = "xyz"
FEWEST, MOST = 10, 2000  # intervals


@dataclass(frozen=True)
class Region:
    """A box that the tool point stays out of, [m] in the base; a side that is None or infinite is open.

    ``Region(x=(0.2, 0.4), z=(None, 0.1))``: stay above 0.1 m while x is between 0.2 and 0.4 m.
    """

    x: tuple[float | None, float | None] = (None, None)
    y: tuple[float | None, float | None] = (None, None)
    z: tuple[float | None, float | None] = (None, None)

    def faces(self) -> list[tuple[int, float]]:
        """Its faces: 2 * axis, plus 1 for one that the region lies below; and the coordinate [m]."""
        out = []
        for axis, (low, high) in enumerate((self.x, self.y, self.z)):
            if low is not None and math.isfinite(low):
                out.append((2 * axis, float(low)))
            if high is not None and math.isfinite(high):
                out.append((2 * axis + 1, float(high)))
            if low is not None and high is not None and not low < high:
                raise InputError(
                    f"a region with {AXES[axis]} from {low:g} to {high:g} m; expected rising numbers"
                )
        if not out:
            raise InputError("a region without a face is everywhere; expected an interval of x, y or z")
        return out


@dataclass(frozen=True)
class Task:
    """Objective and limits of an optimal motion.

    ``objective``: 'time', 'energy' (copper loss plus mechanical work of the motors, and what servovalves take of their
    supply) or 'copper'; with ``energy_weight`` [s/J] the time plus that many seconds for each joule.
    ``duration`` [s] fixes the time,
    ``longest`` bounds it. ``current``, ``voltage``, ``flow`` of servovalves, ``effort``, ``jerk``, ``speed``: whether
    these limits of the robot file count; ``temperature``: whether the winding temperatures of the motion, repeated for
    ever with a ``rest`` [s] at the goal in between, stay below their limits. ``bus_power`` [W]: least (negative:
    fed back) and largest power that the motors take from the bus. ``modulation``: part of the bus
    voltage that the bridges reach. ``reserve``: part of the currents, and of force and opening of servovalves, that is
    left to the controller.
    ``within``: ranges of the tool point's coordinates [m], by 'x', 'y', 'z';
    ``keep_out``: regions it avoids.
    ``free_start``, ``free_end``: the speeds there are free instead of zero.
    """

    objective: Objective = "time"
    energy_weight: float = 0.0
    duration: float | None = None
    longest: float = math.inf
    intervals: int = 100
    current: bool = True
    voltage: bool = True
    flow: bool = True
    effort: bool = True
    speed: bool = True
    jerk: bool = True
    temperature: bool = False
    rest: float = 0.0
    bus_power: Range = (-math.inf, math.inf)
    modulation: float = 1.0
    reserve: float = 0.0
    within: Mapping[str, Range] = field(default_factory=dict)
    keep_out: tuple[Region, ...] = ()
    free_start: bool = False
    free_end: bool = False

    def __post_init__(self) -> None:
        if self.objective not in ("time", "energy", "copper"):
            text = f"{quoted(self.objective)}; expected 'time', 'energy' or 'copper'"
            raise InputError(text, field="objective")
        if not FEWEST <= self.intervals <= MOST:
            text = f"{self.intervals} intervals; expected {FEWEST} to {MOST}"
            raise InputError(text, field="intervals")
        self._check_times()
        if not 0.0 < self.modulation <= 1.0:
            raise InputError(
                f"a modulation of {self.modulation:g}; expected above 0 and at most 1", field="modulation"
            )
        if not 0.0 <= self.reserve < 1.0:
            raise InputError(
                f"a reserve of {self.reserve:g}; expected at least 0 and less than 1", field="reserve"
            )
        low, high = self.bus_power
        if math.isnan(low) or math.isnan(high) or not low <= 0.0 <= high or low == high:
            text = f"a bus power from {low:g} to {high:g} W; expected a range about 0 W, such as (-200, 1000)"
            raise InputError(text, field="bus_power")
        for name, (least, most) in self.within.items():
            if name not in AXES or not least < most:
                text = f"tool {name} from {least:g} to {most:g} m; expected x, y or z and rising numbers"
                raise InputError(text, field="within")

    def _check_times(self) -> None:
        for name in ("duration", "longest"):
            value = getattr(self, name)
            if value is not None and not value > 0.0:
                raise InputError(f"a {name} of {value:g} s; expected more than 0 s", field=name)
        if self.duration is not None and not math.isfinite(self.duration):
            raise InputError("an infinite duration; expected a time such as 0.8 s", field="duration")
        if not (self.rest >= 0.0 and math.isfinite(self.rest)):
            raise InputError(f"a rest of {self.rest:g} s; expected at least 0 s", field="rest")
        if not (self.energy_weight >= 0.0 and math.isfinite(self.energy_weight)):
            raise InputError(
                f"an energy weight of {self.energy_weight:g} s/J; expected at least 0", field="energy_weight"
            )
        if self.objective != "time":
            if self.energy_weight:
                text = "an energy weight goes with the objective 'time'; expected one of the two"
                raise InputError(text, field="energy_weight")
            if self.duration is None and math.isinf(self.longest):
                text = f"the least {self.objective} has no end: slower is cheaper; expected a duration"
                raise InputError(text, field="duration")
