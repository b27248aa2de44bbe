"""Computed torque on one axis, sample by sample: is it stable, and up to which bandwidth.

With the right model every joint's error obeys its own second-order equation (eq:computed-torque); what may
make it oscillate are the clocks, the speed that is counted over a period, the current loop and a soft gear.
"""

from __future__ import annotations

import math

import numpy as np

from servotwin.control.tuning.gains import Gains
from servotwin.control.tuning.sampled import ANGLE, AxisModel, Timing, closed, sampled_axis
from servotwin.control.tuning.step_response import AxisRun

SAFE = 2.0  # times that the bandwidth should lie below the limit of stability
_SLOWEST = 1e-2  # 1/s
_HALVINGS = 20


def computed_torque_run(
    model: AxisModel, believed: AxisModel, gains: Gains, timing: Timing, bandwidth: float
) -> AxisRun:
    """The maps of an axis under computed torque; ``believed`` is the axis in the controller's model."""
    winding = sampled_axis(model, timing.T_current)
    loop = closed(winding, gains.current_proportional, gains.current_integral, timing.current_delay)
    n = len(loop.A)
    waiting = timing.axis_delay
    before, measured, i_ref, theta_ref = n, n + 1, n + 2, n + 3 + waiting
    unit = np.eye(n + 4 + waiting)
    current, speed, axis = unit.copy(), unit.copy(), unit.copy()
    current[:n, :n], current[:n, i_ref] = loop.A, loop.B
    counted = (unit[ANGLE] - unit[before]) / timing.T_speed  # eq:counted-speed
    pole = timing.filter_pole
    speed[before], speed[measured] = unit[ANGLE], pole * unit[measured] + (1.0 - pole) * counted
    error = unit[theta_ref] - unit[ANGLE]
    wanted = bandwidth**2 * error - 2.0 * bandwidth * unit[measured]  # eq:computed-torque
    for k in range(i_ref, i_ref + waiting):  # commands that wait, oldest first
        axis[k] = unit[k + 1]
    axis[i_ref + waiting] = (
        believed.J * wanted + believed.friction * unit[measured]
    ) / believed.torque_constant
    return AxisRun(axis, speed, current, timing, {"current": i_ref, "position": theta_ref})


def computed_torque_pole(
    model: AxisModel, believed: AxisModel, gains: Gains, timing: Timing, bandwidth: float
) -> float:
    """Growth of the slowest-dying motion over one beat of the clocks; < 1 dies."""
    beat = computed_torque_run(model, believed, gains, timing, bandwidth).beat()
    idle = len(sampled_axis(model, timing.T_current).A) if gains.current_integral == 0.0 else -1
    if not np.isfinite(beat).all():
        return math.inf
    keep = [k for k in range(len(beat) - 1) if k != idle]  # without the reference and an unused integrator
    return float(np.abs(np.linalg.eigvals(beat[np.ix_(keep, keep)])).max())


def stable_bandwidth(model: AxisModel, believed: AxisModel, gains: Gains, timing: Timing) -> float:
    """The least position bandwidth [1/s] that is unstable; 0 if none is stable."""
    low, high = _SLOWEST, math.pi / timing.T_axis
    if computed_torque_pole(model, believed, gains, timing, low) >= 1.0:
        return 0.0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if computed_torque_pole(model, believed, gains, timing, middle) < 1.0:
            low = middle
        else:
            high = middle
    return high


def computed_torque_warnings(
    axis: str, model: AxisModel, believed: AxisModel, gains: Gains, timing: Timing, bandwidth: float
) -> list[str]:
    """One line if the axis oscillates or nearly does; [] if all is well."""
    limit = stable_bandwidth(model, believed, gains, timing)
    place = f"axis {axis}, at the start, computed torque: position_bandwidth {bandwidth:.4g} 1/s"
    if bandwidth >= limit:
        return [f"{place} is unstable; expected less than {limit:.3g} 1/s, better half of that"]
    if SAFE * bandwidth > limit:
        return [
            f"{place} is only {limit / bandwidth:.2f} times below the limit of stability, {limit:.3g} 1/s; "
            f"expected at least {SAFE:g} times"
        ]
    return []
