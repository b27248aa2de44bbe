r"""A path in zones, each with a speed and ramps of its own, so that only its tight parts are slow.

Where two zones meet, the speed is at most that of both. The acceleration there is zero if the ramps begin and end
with zero acceleration. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from servotwin.motion.laws import Profile, Zoned, ramped
from servotwin.motion.ramps import RampLimits, reachable_speed


class Zone(NamedTuple):
    """A part of a path up to the parameter ``end``: its largest speed and its ramps."""

    end: float
    speed: float
    ramp: RampLimits

    def slower(self, factor: float) -> Zone:
        """The same at 1/factor of the speed, accelerations and jerk to match."""
        shape, acceleration, jerk = self.ramp
        return Zone(
            self.end, self.speed / factor, RampLimits(shape, acceleration / factor**2, jerk / factor**3)
        )

    def softer(self, factor: float) -> Zone:
        """The same with ramps of 1/factor of the acceleration."""
        shape, acceleration, jerk = self.ramp
        return Zone(self.end, self.speed, RampLimits(shape, acceleration / factor, jerk / factor**2))


Zones = tuple[Zone, ...]


def zones_between(zones: Zones, a: float, b: float) -> Zones:
    """The zones of the part a .. b of a path, counted from a."""
    kept = [zone._replace(end=min(zone.end, b) - a) for zone, before in _with_begin(zones) if before < b]
    kept = [zone for zone in kept if zone.end > 0.0]
    return (*kept[:-1], kept[-1]._replace(end=b - a))


def reachable_end(zones: Zones, v_from: float, v_most: float) -> float:
    """The largest speed up to ``v_most`` at the end of zones that begin at the speed ``v_from``."""
    v = v_from
    for k, (zone, begin) in enumerate(_with_begin(zones)):
        cap = v_most if k == len(zones) - 1 else min(zone.speed, zones[k + 1].speed)
        v = min(reachable_speed(v, zone.end - begin, cap, zone.ramp), cap)
    return v


def reversed_zones(zones: Zones) -> Zones:
    """The same path backwards."""
    length = zones[-1].end
    return tuple(zone._replace(end=length - begin) for zone, begin in reversed(_with_begin(zones)))


def zoned_law(zones: Zones, v_from: float, v_to: float) -> Profile:
    """The quickest law through zones with given end speeds, which must be reachable from each other."""
    lengths = [zone.end - begin for zone, begin in _with_begin(zones)]
    caps = [min(one.speed, two.speed) for one, two in pairwise(zones)]
    v = [v_from, *caps, v_to]
    for k, zone in enumerate(zones[:-1]):
        v[k + 1] = min(v[k + 1], reachable_speed(v[k], lengths[k], v[k + 1], zone.ramp))
    for k in range(len(zones) - 1, 0, -1):
        v[k] = min(v[k], reachable_speed(v[k + 1], lengths[k], v[k], zones[k].ramp))
    laws = tuple(
        ramped(length, v[k], v[k + 1], zone.speed, zone.ramp)
        for k, (zone, length) in enumerate(zip(zones, lengths, strict=True))
    )
    return laws[0] if len(laws) == 1 else Zoned(laws)


def _with_begin(zones: Zones) -> list[tuple[Zone, float]]:
    begins = [0.0, *(zone.end for zone in zones[:-1])]
    return list(zip(zones, begins, strict=True))
