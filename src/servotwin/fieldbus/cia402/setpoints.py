"""Set-points of CSP that are late, missing, or rarer than the periods of the drive.

A set-point is for the end of the interpolation time (60C2), and the demand goes there straight. Where the next one is
missing, the demand goes on at its speed for as many periods as 2006 says, and is then brought to rest by the ramp of a
quick stop; the axis stays enabled until its watchdog ends that. When set-points come again, the demand is taken to them
within the accelerations 60C5 and 60C6: a master that made a pause goes on from where its path stopped, one that went on
is ahead, and neither may become a jump. With the way e0 from the demand to where the set-point was a period T ago, and
the speed u of the demand against that of the set-points,

    |e0/T| <= a T and |e0/T - u| <= a T:  the set-point is followed again;
    otherwise  u -> sign(e0) sqrt(a (|e0| - |u| T)),  |du| <= a T.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.fieldbus.cia402.ramps import toward

MOST_PERIODS = 1e6  # 60C2 can say 255e127 s, which is no whole number of 64 bits


@helper
def _periods(objects: Any, dt: float) -> int:
    """Periods of the drive in the interpolation time."""
    time = objects.interpolation_time * 10.0**objects.interpolation_exponent
    return max(round(min(time / dt, MOST_PERIODS)), 1)  # type: ignore[no-any-return]


@helper
def forget_setpoints(drive: Any) -> None:
    """The next set-point is the first."""
    drive.missed = drive.catching_up = drive.periods_left = 0
    drive.wanted, drive.wanted_speed = drive.position, 0.0


@helper
def is_off_path(drive: Any, objects: Any) -> bool:
    """Whether the demand is where no set-point has sent it."""
    if drive.missed == 0:
        return drive.catching_up != 0  # type: ignore[no-any-return]
    return drive.missed > objects.extrapolated  # type: ignore[no-any-return]


@helper
def _without(drive: Any, objects: Any, dt: float) -> float:
    """The way of the demand in a period whose set-point is missing."""
    drive.missed += 1
    objects.setpoints_missed = min(objects.setpoints_missed + 1, 0xFFFFFFFF)
    drive.catching_up = 1
    if drive.missed <= objects.extrapolated:
        return drive.velocity * dt  # type: ignore[no-any-return]
    return toward(drive.velocity, 0.0, float(objects.stop_deceleration) * dt) * dt


@helper
def _catch_up(drive: Any, objects: Any, way: float, dt: float) -> float:
    """The way that brings the demand back to the set-points within the accelerations of the axis."""
    a = min(float(objects.max_acceleration), float(objects.max_deceleration))
    behind, u = way - drive.wanted_speed * dt, drive.velocity - drive.wanted_speed
    near = abs(behind / dt) <= a * dt and abs(behind / dt - u) <= a * dt
    if near or a <= 0.0:
        drive.catching_up = 0
        return way
    room = max(abs(behind) - abs(u) * dt, 0.0)
    goal = sqrt(a * room) if behind >= 0.0 else -sqrt(a * room)
    return (drive.wanted_speed + toward(u, goal, a * dt)) * dt  # type: ignore[no-any-return]


@part
def demand_step(drive: Any, objects: Any, fresh: bool, way: float, dt: float) -> float:
    """The way of the demand in this period; ``way`` leads from it to the last set-point [user units]."""
    if not fresh and drive.periods_left == 0:
        return _without(drive, objects, dt)
    if fresh:
        wanted = drive.position + way
        early = drive.periods_left > 0  # they come oftener than 60C2 says
        drive.periods_left = 1 if early else _periods(objects, dt)
        if drive.missed == 0:
            drive.wanted_speed = (wanted - drive.wanted) / (drive.periods_left * dt)
        drive.wanted, drive.missed = wanted, 0
    part = way / drive.periods_left
    drive.periods_left -= 1
    return _catch_up(drive, objects, part, dt) if drive.catching_up != 0 else part
