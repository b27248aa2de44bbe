"""Profiles of a drive that plans by itself: speed ramps and trapezoids, one period at a time."""

from __future__ import annotations

from math import sqrt
from typing import Any

from servotwin.compiled.jit import helper


@helper
def toward(value: float, target: float, step: float) -> float:
    """Move a value toward a target by at most a step."""
    if value < target:
        return min(value + step, target)
    return max(value - step, target)


@helper
def stop_deceleration(objects: Any, option: int) -> float:
    """Deceleration of an option code: 1, 5 slow-down ramp; 2, 6 quick stop ramp; 3, 7 the most there is.

    Process data bring any number: a deceleration of 0, with which nothing ever stops, is replaced by the quick stop's.
    """
    kind = option % 4
    chosen = objects.stop_deceleration
    if kind == 3:
        chosen = objects.max_deceleration
    elif kind != 2:
        chosen = objects.profile_deceleration
    return float(chosen) if chosen > 0 else float(objects.stop_deceleration)


@helper
def brake_down(drive: Any, deceleration: float, dt: float) -> bool:
    """One period of a ramp to standstill; True when it stands."""
    before = drive.velocity
    drive.velocity = toward(before, 0.0, deceleration * dt)
    drive.position += 0.5 * (before + drive.velocity) * dt
    return drive.velocity == 0.0 and before == 0.0  # type: ignore[no-any-return]


@helper
def trapezoid(drive: Any, objects: Any, top: float, dt: float) -> None:
    """One period toward ``target``: as quick as allowed, and slow enough to stop there.

    A speed v can still be stopped within the distance d at a deceleration a if v^2 <= 2 a d; one period of travel is
    taken off the distance, so that sampling does not overshoot.
    """
    left = drive.target - drive.position
    deceleration = float(objects.profile_deceleration)
    side = 1.0 if left >= 0.0 else -1.0
    room = max(abs(left) - abs(drive.velocity) * dt, 0.0)
    wanted = side * min(top, sqrt(2.0 * deceleration * room))
    speeding = abs(wanted) > abs(drive.velocity) and wanted * drive.velocity >= 0.0
    rate = float(objects.profile_acceleration) if speeding else deceleration
    before = drive.velocity
    drive.velocity = toward(before, wanted, rate * dt)
    step = 0.5 * (before + drive.velocity) * dt
    near = abs(left) <= 1.0 + deceleration * dt * dt and abs(before) <= 2.0 * deceleration * dt
    if near or (abs(step) >= abs(left) and step * left > 0.0):
        drive.position, drive.velocity = drive.target, 0.0
    else:
        drive.position += step
