"""What the compiled axis controllers and servo drivers know and remember, one record per axis.

Everything here is the controller's: its gains, its idea of the motor, its measurements and its commands.
Angles and speeds are those of the motor; positions are counted in encoder pulses.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.control.servo.ports import MAX_AXES
from servotwin.description.error_parts import MOST_HARMONICS
from servotwin.description.vibration_parts import MOST_FILTERS


class Law(IntEnum):
    """Who computes the command of an axis."""

    CASCADE = 0
    COMPUTED_TORQUE = 1
    EXTERNAL = 2  # a Python object, between two calls of the compiled loop
    COMPILED = 3  # a compiled function, called by address
    STATE_FEEDBACK = 4
    COMMANDED = 5  # nobody here: speed or current comes from outside, such as over a bus


class Level(IntEnum):
    """What the servo driver of an axis takes; the loops below stay its own.

    Under the cascade a driver that takes currents leaves the speed loop to the axis controller.
    """

    SPEED = 0
    CURRENT = 1
    VOLTAGE = 2


class InnerLoop(IntEnum):
    """The innermost loop of an axis."""

    CURRENT = 0  # of a winding: current to voltage
    FIELD_ORIENTED = 1  # of three phases: currents d and q to a voltage vector
    VALVE = 2  # of a servovalve: its amplifier makes the current that the loop above asks for


class Task(IntEnum):
    """Tasks of the servo, in the order in which they run at one instant; rows of the table of tasks."""

    MAIN = 0  # takes the next setpoint of the main controller
    AXIS = 1
    SPEED = 2
    CURRENT = 3
    LAW = 4  # of the user; runs between AXIS and SPEED


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


_REAL, _WHOLE = np.float64, np.int64
_REALS = (
    # gains: position, speed and current loop
    "K_x K_xi K_n K_ni K_i K_ii "
    # limits and the controller's idea of the motor; filter of the speed (part of the new value)
    "i_max w_max u_max counts_per_rad J_hat K_hat f_hat L_d_hat L_q_hat psi_hat pole_pairs_hat filter "
    # current at the full scale of its sensor, as the controller believes; 0: none is known
    "current_range_hat "
    # of a valve (eq:valve-loop): current per commanded speed; pressure feedback, part of a new load pressure that its
    # slow part takes; areas over their mean; pressures that drive forward and backward, their mean, and the share of
    # the load that is counted in them; overlap that is jumped over [A]; its largest current; load pressure, and its
    # slow part
    "flow_share K_pressure slow_part area_a_hat area_b_hat head_forward head_backward head head_share overlap "
    "valve_max p_load p_slow "
    # what a master adds to commanded speed [rad/s] and current [A], and what it takes off the current limit each way
    "w_offset i_offset i_cut_high i_cut_low "
    # feed-forward shares
    "share_velocity share_acceleration "
    # twist of its gear as the model has it: rotor inertia, stiffness at the motor (0: stiff), angle now and before
    "J_rotor_hat k_hat twist twist_before "
    # voltage of the speed command that means w_max
    "command_voltage "
    # command of the main controller: at the last and the next of its instants, with speed and acceleration
    "from_counts to_counts from_speed to_speed from_acceleration to_acceleration "
    # interpolated: counts, speed [rad/s], acceleration [rad/s2]
    "counts_ref w_path a_path "
    # integrators, commands and measurements
    "sum_x sum_n sum_i sum_d w_command w_ref i_feedforward i_ref w_meas i_meas i_d_meas u_ref "
    # modulation now and the one that waits for the next period (d and q or alpha and beta for three phases), or the
    # current of a valve
    "m_a m_b next_a next_b "
    # commands that wait for the next period of their loop: speed, current and the current fed forward
    "next_w next_i next_feedforward "
    # encoder edges: time of the last one [s] and pulses per second, as the speed was found from them
    "edge_time edge_rate"
)
_WHOLES = (
    "count last_count fixed kp_x ki_x kp_n ki_n kp_i ki_i acc_x acc_n acc_i acc_d "
    # count at the last edge; saturation: limits that the loops met at their last samples
    "edge_count sensing saturation command_bits law level inner "
    # filters of the torque command in use
    "filters"
)
POSITIONS = 9  # of a gain that is scheduled over the stroke of a cylinder
AXIS = np.dtype(
    [(name, _REAL) for name in _REALS.split()]
    + [(name, _WHOLE) for name in _WHOLES.split()]
    # pressure feedback over the stroke, from the position stroke_from [m], stroke_step apart; 0: the same everywhere
    + [("stroke_from", _REAL), ("stroke_step", _REAL), ("K_stroke", _REAL, (POSITIONS,))]
    # filters of the torque command (eq:sampled-filter): b0 b1 b2 a1 a2 of each, and what each remembers
    + [("filter_taps", _REAL, (MOST_FILTERS, 5)), ("filter_memory", _REAL, (MOST_FILTERS, 2))]
    # harmonics of encoder and gear that are known (eq:corrected-reading), at the motor
    + [("known_waves", _WHOLE)]
    + [(f"known_{part}", _REAL, (MOST_HARMONICS,)) for part in ("order", "amplitude", "phase", "start")]
)

# What all axes of a robot share: periods [s], shares of the model, and where model and law of the user stand.
SERVO = np.dtype(
    [(name, _REAL) for name in ("T_main", "T_axis", "T_speed", "T_current")]
    + [(name, _REAL) for name in ("share_torque", "share_gravity", "K_p", "K_d")]
    + [(name, _REAL) for name in ("share_twist", "share_gravity_twist")]
    + [
        (name, _WHOLE)
        for name in (
            # axis periods in a main period, and those since the last setpoint; delays of the loops in periods
            *("ratio", "tick", "delay", "speed_delay", "axis_delay"),
            # computed: some axis runs under computed torque; feeds: some current is fed forward; closes_speed: the
            # axis controller closes the speed loop of some axis
            # twists: references are turned ahead by the twist of gears
            # state_feedback: all axes run under state feedback, whose record stands at feedback_at
            *("computed", "feeds", "twists", "closes_speed", "state_feedback", "feedback_at"),
            # due: tasks (bits) that are still to run at this instant; asking: a Python law has to answer first;
            # no_number: a law gave no number
            *("due", "asking", "no_number"),
            # user_law: none (0), EXTERNAL or COMPILED; addresses of the law, of its memory, of the model
            *("user_law", "law_at", "memory_at", "model", "model_data"),
            # of a closed chain: passive joints, kernel that closes its loops and the length of what it says, and where
            # its coordinates are kept (``model_based.closed_model``)
            *("passive", "track", "track_data", "track_n", "closure_at"),
            # addresses of the arrays below
            *("model_at", "signals_at", "command_at"),
        )
    ]
    + [
        ("model_buffer", _REAL, (6 * MAX_AXES,)),
        ("signals", _REAL, (6 * MAX_AXES,)),
        ("command", _REAL, (MAX_AXES,)),
    ]
)


def zeros(dtype: np.dtype[Any], count: int) -> Any:
    """``count`` records, every field zero."""
    return np.zeros(count, dtype=dtype)
