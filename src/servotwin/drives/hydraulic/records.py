"""Records of hydraulic axes and of the supply that they share: numbers that compiled functions read by name (SI)."""

from __future__ import annotations

from typing import Any

import numpy as np

_REAL, _WHOLE = np.float64, np.int64


def _dtype(reals: str, wholes: str) -> np.dtype[Any]:
    return np.dtype([(name, _REAL) for name in reals.split()] + [(name, _WHOLE) for name in wholes.split()])


# A valve with its cylinder or motor. Openings in strokes of the spool at rated current; k: flow of a fully open edge
# over ``laws.throttle``; ends: positions of the piston at which chamber a or b is smallest; inertia: what the
# actuator moves, for the longest stable step; extremes so far: of the pressures, of the opening
AXIS = _dtype(
    "rated_current natural_frequency damping slew underlap clearance k laminar "
    "area_a area_b volume_a volume_b end_a end_b cushion_length cushion_resistance leakage drain seal inertia "
    "p_a_low p_a_high p_b_low p_b_high opening_peak",
    # cavitated_ns: time with a chamber below the cavitation pressure; limited_ns: with a command of the rated current
    "rotary check_valve cavitated_ns cavitated_from limited_ns",
)

# pressure: constant, or what the run begins with; relief_gain: flow per pressure above relief_pressure; precharge,
# cavitation: from the surroundings, as all pressures
SUPPLY = _dtype(
    "pressure tank density bulk gas exponent cavitation "
    "pump_flow pump_efficiency relief_pressure relief_gain line_volume "
    "accumulator precharge accumulator_exponent "
    "p_low p_high relief_peak",
    # has_state: the pressure is a state of the plant
    "axes has_state",
)

SPOOL, SPOOL_SPEED, PRESSURE_A, PRESSURE_B = range(4)  # states of an axis, in their order
# integrals of an axis: energy from the supply, losses of the valve's edges, of leakage, of cushions [J]; oil from the
# supply, to the tank and out of the seals [m3 at the surroundings]
SUPPLIED, THROTTLED, LEAKED, CUSHIONED, FROM_SUPPLY, TO_TANK, DRAINED = range(7)
PER_AXIS = 7
# integrals of the supply: energy of the pump's shaft, losses of pump and relief valve [J]; oil pumped and relieved
PUMP_ENERGY, PUMP_LOSS, RELIEF_LOSS, PUMPED, RELIEVED = range(5)
PER_SUPPLY = 5
