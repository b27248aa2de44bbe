"""What a compiled loop knows about motors, power stage and sensors: parameters and state, one record each.

A record is a row of a NumPy structured array; compiled functions read and write
its fields by name (``motor.R``). SI throughout; angles, speeds and torques on the
motor's side.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np


class Kind(IntEnum):
    """Electrical models of a motor."""

    DC = 0
    DC_REDUCED = 1
    PMSM = 2
    IDEAL = 3


FREE, STUCK = 2, 0  # modes of a shaft: without dry friction; held by it; otherwise it slides, -1 or +1

_REAL, _WHOLE = np.float64, np.int64


def _dtype(reals: str, wholes: str) -> np.dtype[Any]:
    return np.dtype([(name, _REAL) for name in reals.split()] + [(name, _WHOLE) for name in wholes.split()])


MOTOR = _dtype(
    # winding: resistance now and at the reference temperature, both without the bridge; bridge resistance
    "R R_ref R_bridge L K L_d L_q psi pole_pairs "
    # rotor, friction (viscous, Coulomb, static, Stribeck speed), brake
    "J f tau_c tau_s w_stribeck brake_torque "
    # gear: torsion at the motor side, half of the play, efficiency; g: motor torque per transmitted torque
    "stiffness damping half_play eta g "
    # thermal network
    "T_w T_h T_ref T_ambient R_wh R_ha C_w C_h alpha "
    # applied: switch state per volt of the bus (alpha, beta for three phases), torque of an ideal drive
    "s_a s_b torque_command "
    # now: angle, speed, its derivatives at the start of the window, torque, its mean over the window, transmitted
    # torque, what friction must hold
    "theta w w_dot w_ddot tau tau_mean net transmitted slack "
    # extremes so far; integral of an ideal motor's squared torque; of the applied voltage since the last recorded row
    "i_peak tau_peak tau_mean_peak w_peak T_peak torque_square volt_seconds "
    # what the data sheet allows, infinite where it is silent
    "w_limit tau_limit",
    # charge_at: where the integral of a synchronous motor's i_q stands; has_constant: K is stated, not a stand-in
    "kind mode flexible current_at charge_at has_constant brake_closed contact open",
)

POWER = _dtype(
    "u_source R_supply C u_on u_off R_brake dead_time storage_time "
    # voltage that the bus should not exceed; extremes so far, and the highest voltage with the resistor on
    "u_limit u_low u_high u_braking",
    # off: all bridges; over: times above u_limit, from, to, total [ns]
    "two_level braking off over_times over_from over_to over_ns",
)

# state: -1, +1 while a joint lies at its low or high end; touched: it has met one since the last window
# limits of the joint and the largest values so far; has_effort: a torque or force limit is stated
STOP = _dtype("low high reaction speed_limit effort_limit speed_peak effort_peak", "state touched has_effort")

SENSOR = _dtype(
    # current_full_scale: the stated range, whose reading the controller converts by what it believes; 0: calibrated
    "counts_per_rad current_range current_full_scale current_offset current_noise "
    # last pulse [s], and the rate of pulses then [1/s]
    "last_edge_time last_rate",
    "current_bits count edge_count stuck lost",
)


def zeros(dtype: np.dtype[Any], count: int) -> Any:
    """``count`` records, every field zero."""
    return np.zeros(count, dtype=dtype)
