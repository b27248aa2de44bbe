"""Errors of planning: which limit, at which place of the path, of which axis."""

from __future__ import annotations

import math
from typing import NamedTuple

from servotwin.description.display import MM
from servotwin.errors import ServotwinError


class PathError(ServotwinError):
    """A path cannot be followed.

    ``index`` of the request in the plan (0-based), ``place`` along its path as a share of it (0 to 1),
    ``place_m`` the same in metres if it is a path of the tool, ``axis`` the name of the joint, and
    ``what``: 'workspace', 'singularity', 'position', 'speed', 'acceleration', 'jerk', 'torque', 'motor torque',
    'tool speed', 'tool acceleration', 'tool jerk' or 'time'.
    """

    def __init__(
        self,
        message: str,
        *,
        index: int,
        what: str,
        place: float = 0.0,
        place_m: float | None = None,
        axis: str | None = None,
    ) -> None:
        self.message, self.index, self.what = message, index, what
        self.place, self.place_m, self.axis = place, place_m, axis
        where = (
            f"{100.0 * place:.4g} % of the path"
            if place_m is None
            else f"{MM * place_m:.6g} mm along the path"
        )
        super().__init__(f"move {index + 1}, {where}: {message}")


class Demand(NamedTuple):
    """The largest share of a limit that a motion uses: of what, by which axis, where (share of the path)."""

    what: str
    share: float
    axis: str | None
    place: float
    doubt: float = 0.0
    slower: float | None = None  # the factor of torques: gravity and friction do not fall with the speed

    @property
    def factor(self) -> float:
        """How many times slower the motion must be to hold the limit."""
        if self.slower is not None:
            return self.slower
        if self.what.endswith("jerk"):
            return math.cbrt(self.share)
        return math.sqrt(self.share) if self.what.endswith("acceleration") else self.share


def share_text(share: float) -> str:
    """A share of a limit in the words that stand before it.

    >>> share_text(1.4), share_text(266.1), share_text(26610.0)
    ('140 % of', '266 times', '26600 times')
    """
    if share < 10.0:
        return f"{100.0 * share:.4g} % of"
    return f"{float(f'{share:.3g}'):.15g} times" if share < 1e6 else "more than a million times"


def refusal(index: int, demand: Demand, place_m: float | None) -> PathError:
    """The error for a demand of a request at a place of its path."""
    share, what = share_text(demand.share), demand.what.removeprefix("tool ")
    who = "the tool" if demand.axis is None else f"axis {demand.axis}"
    text = f"{who} would need {share} its largest {what}"
    if demand.what == "motor torque":
        text = f"the move would need {share} the torque of motor {demand.axis} at its speed"
    if demand.what == "valve force":
        text = f"the move would need {share} what the valve of {demand.axis} gives at its speed"
    return PathError(
        f"{text}; slow the move down or plan it with --fit",
        index=index,
        what=demand.what,
        axis=demand.axis,
        place=demand.place,
        place_m=place_m,
    )
