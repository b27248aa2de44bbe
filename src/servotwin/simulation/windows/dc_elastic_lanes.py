"""DC motors behind elastic gears side by side: rotors of ``elastic_lanes``, currents by eq:current-series."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper
from servotwin.drives.dc.interval import BRIEF, current_terms, quick_mean_square, series_tails
from servotwin.simulation.windows.elastic_lanes import begin_rotor, holds_now, keep_rotor, step_rotor
from servotwin.simulation.windows.pmsm_lanes import LANES, fill_rows


@helper
def fill_dc_lane(world: Any, motor: Any, j: int, u: float, start: float, span: float) -> bool:
    """Winding and intervals of a DC motor into its lane; false if it cannot go there."""
    lanes, i = world.lanes, world.elastic_window.i[j]
    lanes.per_L[j], lanes.K[j], lanes.i[j] = 1.0 / motor.L, motor.K, i
    lanes.decay[j] = (motor.R + motor.R_bridge) * lanes.per_L[j]
    most = BRIEF / lanes.decay[j] if lanes.decay[j] * span > BRIEF else span
    lanes.count[j], longest = fill_rows(world, j, u, start, span, most)
    return longest * lanes.decay[j] <= 1.01 * BRIEF and holds_now(world, motor, j, motor.K * i)


@helper
def dc_elastic_interval(world: Any, first: int) -> None:
    """The present interval of the lanes from ``first`` on."""
    lanes = world.lanes
    for j in range(np.uint64(first), np.uint64(first + LANES)):
        h, w, u, i, K, decay = lanes.h[j], lanes.w[j], lanes.v_a[j], lanes.i[j], lanes.K[j], lanes.decay[j]
        slope_u, x = h * lanes.per_L[j], h * decay
        rate = K * (lanes.per_L[j] * (u - K * w) - decay * i)
        alpha, jerk, s_0, s_1, s_2, f_0, slope, bend = begin_rotor(world, j, K * i, rate)
        c1, c2, c3 = current_terms(x, slope_u, K, u, i, w, alpha, jerk, h)
        last, middle = series_tails(x)
        charge = h * (i + c1 / 2.0 + c2 / 3.0 + c3 * middle)
        lever = h * h * (i / 2.0 + c1 / 3.0 + c2 / 4.0 + c3 * (middle - last))
        square = h * quick_mean_square(i, c1, c2, c3, x)
        i_0, i = i, i + c1 + c2 + c3 * (1.0 - x * middle)
        w_1, turned, late = step_rotor(
            world, j, h, alpha, jerk, s_0, s_1, s_2, f_0, slope, bend, K * charge, K * lever
        )
        g = -K * lanes.per_L[j]
        area = h * h * late * g / (20.0 + x * (10.0 / 3.0))  # eq:late-speed
        lanes.T_0[j] += K * (charge + area)
        lanes.energy[j] += u * (charge + area)
        lanes.square[j] += square + (5.0 * i + i_0) / 3.0 * area
        lanes.charge[j] += charge + area
        i += h * late * g / (4.0 + 0.8 * x)
        lanes.i[j], lanes.most[j] = i, max(lanes.most[j], i * i)
        w_1 += K * area * lanes.per_J[j]
        keep_rotor(world, j, h, alpha, jerk, f_0, slope, bend, w_1, turned, K * i)
