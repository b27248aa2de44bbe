"""Windings of DC motors behind stiff gears side by side, by eq:current-series: what ``stiff_lanes`` asks of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper
from servotwin.drives.dc.interval import BRIEF, current_terms, quick_mean_square, series_tails
from servotwin.drives.friction import friction_moments

__all__ = ["BRIEF", "keep_dc", "wind_dc"]


@helper
def wind_dc(world: Any, h: float, width: np.uint64) -> None:
    """Currents of DC motors after ``h`` seconds (eq:current-series), impulse and moment of torque less friction."""
    lanes = world.stiff_lanes
    for r in range(np.uint64(0), width):
        i, K, slope, x = lanes.i[r], lanes.K[r], h * lanes.per_L[r], h * lanes.decay[r]
        alpha, jerk = lanes.moves[r] * lanes.now[r], lanes.moves[r] * lanes.now_rate[r]
        c1, c2, c3 = current_terms(x, slope, K, lanes.u_a[r], i, lanes.w[r], alpha, jerk, h)
        last, middle = series_tails(x)
        i_end = i + c1 + c2 + c3 * (1.0 - x * middle)
        charge = h * (i + c1 / 2.0 + c2 / 3.0 + c3 * middle)
        lever = h * h * (i / 2.0 + c1 / 3.0 + c2 / 4.0 + c3 * (middle - last))
        rubbing, rubbing_lever = friction_moments(
            lanes.friction[r], lanes.slope[r], lanes.bend[r], alpha, jerk, h
        )
        lanes.impulse[r], lanes.moment[r] = K * charge - rubbing, K * lever - rubbing_lever
        lanes.i_end[r], lanes.charge[r], lanes.tau_end[r] = i_end, charge, K * i_end
        lanes.terms[0, r], lanes.terms[1, r], lanes.terms[2, r] = c1, c2, c3


@helper
def keep_dc(world: Any, h: float, width: np.uint64) -> None:
    """Take the currents of a step, with what the end of the speed changes in them (eq:late-speed)."""
    lanes = world.stiff_lanes
    for r in range(np.uint64(0), width):
        K, x, u, i = lanes.K[r], h * lanes.decay[r], lanes.u_a[r], lanes.i_end[r]
        rest, g = lanes.rest[r], -K * lanes.per_L[r]
        area = h * h * rest * g / (20.0 + x * (10.0 / 3.0))  # eq:late-speed
        square = h * quick_mean_square(lanes.i[r], lanes.terms[0, r], lanes.terms[1, r], lanes.terms[2, r], x)
        charge = lanes.charge[r] + area
        lanes.sum_torque[r] += K * charge
        lanes.sum_square[r] += square + (5.0 * i + lanes.i[r]) / 3.0 * area
        lanes.sum_energy[r] += u * charge
        lanes.sum_charge[r] += charge
        i += h * rest * g / (4.0 + 0.8 * x)
        lanes.i[r], lanes.tau[r] = i, K * i
        lanes.most[r], lanes.high[r] = max(lanes.most[r], i * i), max(lanes.high[r], abs(K * i))
