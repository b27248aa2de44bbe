"""Motors behind elastic gears through a window, side by side: which of them can go so, and how they come back."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.simulation.plant.actuators import is_dc
from servotwin.simulation.plant.event_steps import FAR
from servotwin.simulation.plant.records import MAX_EDGES
from servotwin.simulation.windows.dc_elastic_lanes import dc_elastic_interval, fill_dc_lane
from servotwin.simulation.windows.elastic_lanes import LEFT, fill_friction_lane, fill_gear_lane
from servotwin.simulation.windows.pmsm_elastic_lanes import (
    WIDE,
    fill_pmsm_lane,
    is_short,
    pmsm_elastic_interval,
    take_wide_row,
)
from servotwin.simulation.windows.pmsm_lanes import LANES, fill_up, take_row


@helper
def kind_of_lanes(world: Any, motors: Any) -> int:
    """1 if all motors behind elastic gears are DC; else synchronous ones have the lanes, and DC motors go alone."""
    for j in range(world.m):
        if motors[j].flexible >= 0 and not is_dc(motors[j]):
            return 0
    return 1


@part
def begin_elastic_lanes(world: Any, motors: Any, u: float, start: float, span: float) -> None:
    """Fill the lanes of all motors that can go side by side; the others get ``LEFT``."""
    lanes = world.lanes
    lanes.rows, lanes.dc = 0, kind_of_lanes(world, motors)
    for e in range(MAX_EDGES + 1):
        lanes.longest[e] = 0.0
    for j in range(world.m):
        motor = motors[j]
        lanes.count[j], lanes.margin[j] = 0, LEFT
        alone = (
            motor.flexible < 0
            or is_dc(motor) != (lanes.dc == 1)
            or motor.bend_1 > 0.0
            or motor.half_play > 0.0
        )
        if alone or not fill_friction_lane(world, motor, j):
            continue
        fill_gear_lane(world, motor, j)
        if lanes.dc:
            fits = fill_dc_lane(world, motor, j, u, start, span)
        else:
            fits = fill_pmsm_lane(world, motor, j, u, start, span)
        if fits:
            lanes.margin[j] = FAR
            lanes.rows = max(lanes.rows, lanes.count[j])
    for j in range(world.m):
        fill_up(world, j, lanes.count[j] if lanes.margin[j] > 0.0 else 0, lanes.rows)


@helper
def take_lane(world: Any, j: int) -> None:
    """Motor j at the end of its window, as its lane has it."""
    lanes, elastic = world.lanes, world.elastic_window
    if lanes.dc:
        elastic.i[j] = lanes.i[j]
    else:
        elastic.i[j], elastic.i_q[j] = lanes.g_d[j] * (lanes.D[j] - lanes.psi[j]), lanes.g_q[j] * lanes.Q[j]
    elastic.theta[j] += lanes.turned[j]
    elastic.w[j] = lanes.w[j]
    elastic.impulse[j], elastic.square[j] = lanes.T_0[j], lanes.square[j]
    elastic.electric[j], elastic.charge[j] = lanes.energy[j], lanes.charge[j]
    elastic.passed[j, 0], elastic.passed[j, 1] = lanes.passed[j], lanes.lever[j]
    elastic.friction[j], elastic.gear[j] = lanes.rubbed[j], lanes.damped[j]
    elastic.peak[j, 0], elastic.peak[j, 1] = lanes.most[j], lanes.high[j]


@part
def elastic_lanes(world: Any, motors: Any, u: float, start: float, span: float) -> None:
    """Carry over the window whatever can go side by side; the others keep their state, with a negative margin."""
    lanes, first = world.lanes, 0
    begin_elastic_lanes(world, motors, u, start, span)
    block = LANES if lanes.dc else WIDE
    while first < world.m:
        rows = 0
        for j in range(first, min(first + block, world.m)):
            rows = max(rows, lanes.count[j] if lanes.margin[j] > 0.0 else 0)
        for e in range(rows):
            if lanes.dc:
                take_row(world, e, first)
                dc_elastic_interval(world, first)
                continue
            take_wide_row(world, e, first)
            if is_short(world, e):
                pmsm_elastic_interval(world, first, True)
            else:
                pmsm_elastic_interval(world, first, False)
        first += block
    for j in range(world.m):
        if lanes.margin[j] >= 0.0:
            take_lane(world, j)
