"""What the compiled axis controllers and servo drivers know and remember, one record per axis.

Everything here is the controller's: its gains, its idea of the motor, its measurements and its commands.
Angles and speeds are those of the motor; positions are counted in encoder pulses.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np


class Law(IntEnum):
    """Who computes the commands of the servo drivers."""

    CASCADE = 0
    COMPUTED_TORQUE = 1
    EXTERNAL = 2  # a Python object, between two calls of the compiled loop
    COMPILED = 3  # a compiled function, called by address


class Level(IntEnum):
    """What a law commands; the loops below it stay those of the servo driver."""

    SPEED = 0
    CURRENT = 1
    VOLTAGE = 2


class Sensing(IntEnum):
    """How the servo driver finds the speed."""

    COUNTED = 0
    INVERSE_TIME = 1
    FILTERED = 2


class Saturation(IntEnum):
    """Bits of the saturation word: limits that loops meet, what holds a shaft, limits that are exceeded."""

    VOLTAGE = 1
    CURRENT = 2
    SPEED_COMMAND = 4
    END_STOP = 8
    STUCK = 16
    MOTOR_SPEED = 32
    PEAK_TORQUE = 64
    JOINT_SPEED = 128
    EFFORT = 256


KINDS = len(Saturation)
SPANS = 256  # of one limit that are kept apart; later ones are counted with the last

_REAL, _WHOLE = np.float64, np.int64
_REALS = (
    # gains: position, speed and current loop
    "K_x K_xi K_n K_ni K_i K_ii "
    # limits and the controller's idea of the motor; filter of the speed (part of the new value)
    "i_max w_max u_max counts_per_rad J_hat K_hat f_hat L_d_hat L_q_hat psi_hat pole_pairs_hat filter "
    # current at the full scale of its sensor, as the controller believes; 0: none is known
    "current_range_hat "
    # feed-forward shares
    "share_velocity share_acceleration "
    # voltage of the speed command that means w_max
    "command_voltage "
    # command of the main controller: at the last and the next of its instants, with speed and acceleration
    "from_counts to_counts from_speed to_speed from_acceleration to_acceleration "
    # interpolated: counts, speed [rad/s], acceleration [rad/s2]
    "counts_ref w_path a_path "
    # integrators, commands and measurements
    "sum_x sum_n sum_i sum_d w_command w_ref i_feedforward i_ref w_meas i_meas i_d_meas u_ref "
    # modulation now and the one that waits for the next period (d and q or alpha and beta for three phases)
    "m_a m_b next_a next_b "
    # commands that wait for the next period of their loop: speed, current and the current fed forward
    "next_w next_i next_feedforward "
    # integral of the current reference since the last recorded row [A s]
    "charge_ref"
)
_WHOLES = (
    "count last_count fixed kp_x ki_x kp_n ki_n kp_i ki_i acc_x acc_n acc_i acc_d "
    # limits that the loops met at their last samples, all that were in force in a window, and since the last row
    "sensing saturation met seen_saturation command_bits"
)
AXIS = np.dtype(
    [(name, _REAL) for name in _REALS.split()]
    + [(name, _WHOLE) for name in _WHOLES.split()]
    # spans of every limit: from, to [ns], times, time at the limit [ns]; how many there are
    + [("spans", _WHOLE, (KINDS, SPANS, 4)), ("span_count", _WHOLE, (KINDS,))]
)
TIMING = np.dtype(
    [(name, _REAL) for name in ("T_main", "T_axis", "T_speed", "T_current")]
    + [(name, _REAL) for name in ("share_torque", "share_gravity", "K_p", "K_d")]
    + [
        (name, _WHOLE)
        for name in (
            *("ratio", "tick", "delay", "speed_delay", "axis_delay"),
            *("law", "level", "model", "model_data", "law_at", "feeds"),
        )
    ]
)


def zeros(dtype: np.dtype[Any], count: int) -> Any:
    """``count`` records, every field zero."""
    return np.zeros(count, dtype=dtype)
