"""Requests to the planner, one per motion instruction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.ramps import ProfileKind


@dataclass(frozen=True)
class Speed:
    """The speed of a request: a 'fraction' (0 to 1] of the limits, 'm/s' of the tool point, or its duration in 's'."""

    kind: Literal["fraction", "m/s", "s"] = "fraction"
    value: float = 1.0

    def __post_init__(self) -> None:
        most = 1.0 if self.kind == "fraction" else math.inf
        if not (0.0 < self.value <= most and math.isfinite(self.value)):
            expected = "above 0 and at most 100 %" if self.kind == "fraction" else f"above 0 {self.kind}"
            raise InputError(f"a speed of {self.value:g} {self.kind}; expected {expected}", field="speed")


@dataclass(frozen=True)
class MoveJ:
    """All joints straight to ``target`` q (n,), starting and ending together.

    ``acceleration``: share (0 to 1] of each joint's largest; ``blend`` [m]: radius about the target within
    which the motion may already turn to the next request; ``profile``: by default cubic ramps. Where a jerk is
    limited, an S-curve takes the place of the default and of a trapezoid. ``optimal``: the quickest motion that
    motors and supply can give, not straight in joint space; with a duration, the one that takes least energy; with
    ``energy_weight`` [s/J] that of the least time plus that many seconds for each joule.
    """

    target: Array
    speed: Speed = field(default_factory=Speed)
    acceleration: float | None = None
    blend: float = 0.0
    profile: ProfileKind | None = None
    tool: Array | None = None
    kind: str = "joint"
    optimal: bool = False
    energy_weight: float = 0.0


@dataclass(frozen=True)
class MoveL:
    """The tool point on a straight line to ``target`` (4, 4), a pose in the work frame.

    ``acceleration`` [m/s2] along the path; without it ``acceleration_share`` (0 to 1] of what axes and tool
    allow. ``tool`` (4, 4): the tool point in the robot's tool frame;
    ``work`` (4, 4): the work frame in the base; both default to no change. ``optimal``: along the line as quickly as
    motors and supply can, ``energy_weight`` as for ``MoveJ``.
    """

    target: Array
    speed: Speed = field(default_factory=Speed)
    acceleration: float | None = None
    blend: float = 0.0
    profile: ProfileKind | None = None
    tool: Array | None = None
    work: Array | None = None
    acceleration_share: float = 1.0
    kind: str = "line"
    optimal: bool = False
    energy_weight: float = 0.0


@dataclass(frozen=True)
class MoveC:
    """The tool point on the circle over ``via`` to ``target``, poses (4, 4); the orientation of via is not used."""

    via: Array
    target: Array
    speed: Speed = field(default_factory=Speed)
    acceleration: float | None = None
    blend: float = 0.0
    profile: ProfileKind | None = None
    tool: Array | None = None
    work: Array | None = None
    acceleration_share: float = 1.0
    kind: str = "circle"


@dataclass(frozen=True)
class Spline:
    """The tool point on a smooth curve through all ``targets``, poses (4, 4)."""

    targets: Sequence[Array]
    speed: Speed = field(default_factory=Speed)
    acceleration: float | None = None
    blend: float = 0.0
    profile: ProfileKind | None = None
    tool: Array | None = None
    work: Array | None = None
    acceleration_share: float = 1.0
    kind: str = "spline"


@dataclass(frozen=True)
class Rest:
    """Stand still for ``time`` [s]."""

    time: float
    kind: str = "rest"


Cartesian = MoveL | MoveC | Spline
Request = MoveJ | MoveL | MoveC | Spline | Rest


def in_base(X: Array, work: Array | None) -> Array:
    """A pose given in the work frame, in the base: X_base_point = X_base_work X_work_point."""
    return np.asarray(X, dtype=np.float64) if work is None else np.asarray(work @ X, dtype=np.float64)
