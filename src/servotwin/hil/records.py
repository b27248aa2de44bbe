"""What the cycle of a simulated arm with substituted joints works in: ARM, and one JOINT for each joint.

Records hold parameters, state and scratch, so that a cycle makes no arrays. SI throughout. Joint quantities (q) on the
side of the joint, shaft quantities (theta, w) on that of the motor; ``N`` is the motor angle per joint angle.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.hil.ports import MAX_SHAFTS
from servotwin.simulation.plant.link_forces import MOST_COLUMNS

MOST = MOST_COLUMNS  # joints, with those that move the base
MOST_FREE = 64  # joints, and passive joints of closed chains
BLOCKS = 4  # of the state: q, qd, theta, w of every joint
STAGES = 4
POINTS = 64  # of a command over time
OBSERVED = 4  # states of an observer
MOST_HARMONICS = 4
AMPLITUDES = 2 * MOST_HARMONICS  # of a torque that repeats with the turns of a shaft
NODES = 10  # of Gauss's rule over a period
FLOW = 16  # parts of a period after which the flow of an observer is known
_REAL, _WHOLE = np.float64, np.int64


class Role(IntEnum):
    """Who moves a joint."""

    SIMULATED = 0  # its motor is simulated
    SUBSTITUTED = 1  # a shaft of the rig
    BASE = 2  # given by a table: the base moves


class Estimator(IntEnum):
    """How angle, rate and acceleration of a substituted shaft are found."""

    FILTER = 0  # Butterworth, integrated and differentiated, as the paper does
    OBSERVER = 1  # Kalman filter on the commanded torques


class CycleStatus(IntEnum):
    """Why a cycle stops commanding."""

    RUNNING = 0
    DIVERGED = 1  # a state is not finite, or beyond all machines
    RIG_FAULT = 2  # the rig reports a fault
    BAD_RATE = 3  # the rig's rate is not finite
    OPEN_LOOP = 4  # a closed chain cannot be closed any more
    BAD_ANGLE = 5  # the rig's angle, which is used, is not finite
    BAD_CURRENT = 6  # the rig's drive current, which is used, is not finite
    BAD_FORCE = 7  # a force of the environment is not finite
    BAD_COMMAND = 8  # a voltage or load torque is not finite


FREE, STUCK = 2, 0  # modes of a shaft beside -1 and 1, as in ``rig_record``

_JOINT_REALS = (
    # gear, motor: resistance, torque constant, back-EMF per rate, rotor inertia; friction of the shaft; limits;
    # gains of the servo
    "N R K K_e J f tau_c tau_s u_limit tau_limit Kp Ki "
    # gear that gives: stiffness and damping at the joint; friction of the joint itself that its shaft does not feel
    "stiffness damping f_joint c_joint "
    # of a substituted joint: largest load torque; rate below which its shaft counts as at rest
    "load_limit rest_rate "
    # now: joint, shaft; at the last step of the arm; acceleration of the shaft at the beginning of the next
    "q qd qdd theta w q_last qd_last qdd_last theta_last w_last "
    # servo: commanded shaft rate, integrator, voltage, that of the past period, that over the present step of the arm
    "w_ref integral u u_before u_held "
    # torques at the shaft: of the motor, of the load motor
    "tau_d tau_l "
    # Butterworth filter
    "b0 b1 b2 a1 a2 z1 z2 w_filtered w_hat alpha_hat "
    # observer: torque over the present period, over the one before; what the torque limit adds to the linear one, mean
    "tau_given tau_before tau_newest tau_more "
    # age of the samples when they are used, in periods
    "delay"
)
_JOINT_WHOLES = (
    # role: a ``Role``; estimator: an ``Estimator``; shaft: its number at the rig; measured_current: the drive's
    # torque is that of the sensed current; angle_measured: the observer takes the encoder's angle; stamped: ``delay``
    # comes with every sample; mode of the shaft; rests: the observer sees it at rest at the end of the present period;
    # still: at its beginning too
    "role compliant estimator shaft measured_current angle_measured stamped harmonics started mode rests still points"
)
JOINT: np.dtype[Any] = np.dtype(
    [(name, _REAL) for name in _JOINT_REALS.split()]
    + [(name, _WHOLE) for name in _JOINT_WHOLES.split()]
    + [
        ("times", _REAL, (POINTS,)),  # from which on the value of the same place holds [s]
        ("values", _REAL, (POINTS,)),  # joint rate; acceleration of a joint of the base
        ("A", _REAL, (OBSERVED, OBSERVED)),  # observer: see ``observer_design.Observer``
        ("B", _REAL, (OBSERVED,)),
        ("B_before", _REAL, (OBSERVED,)),
        ("A_ahead", _REAL, (OBSERVED, OBSERVED)),
        ("B_ahead", _REAL, (OBSERVED,)),
        ("F", _REAL, (OBSERVED, OBSERVED + 1)),  # rates of the states under states and torque
        ("flow", _REAL, (FLOW + 1, OBSERVED, OBSERVED + 1)),  # what becomes of them after parts of a period
        ("terms", _WHOLE),  # of the series between these parts
        ("L", _REAL, (OBSERVED,)),
        ("C", _REAL, (OBSERVED,)),
        ("orders", _WHOLE, (MOST_HARMONICS,)),  # observer of harmonics: times that they repeat in a turn
        ("amplitudes", _REAL, (AMPLITUDES,)),  # of their cosines and sines [N m]
        ("columns", _REAL, (OBSERVED, AMPLITUDES)),
        (
            "nodes",
            _REAL,
            (NODES,),
        ),  # of the rule over a period [s], and what a torque there does to the states
        ("weights", _REAL, (NODES, OBSERVED)),
        ("nodes_ahead", _REAL, (NODES,)),  # the same from the sample to now
        ("weights_ahead", _REAL, (NODES, OBSERVED)),
        ("W", _REAL, (OBSERVED, OBSERVED)),  # covariances that a period adds, and that of a sample
        ("W_harmonic", _REAL),
        ("V", _REAL),
        ("P", _REAL, (OBSERVED + AMPLITUDES, OBSERVED + AMPLITUDES)),
        ("P_next", _REAL, (OBSERVED + AMPLITUDES, OBSERVED + AMPLITUDES)),
        ("P_row", _REAL, (OBSERVED + AMPLITUDES,)),
        ("gain", _REAL, (OBSERVED + AMPLITUDES,)),
        ("x", _REAL, (OBSERVED,)),
        ("x_next", _REAL, (OBSERVED,)),
        ("x_term", _REAL, (OBSERVED,)),
        ("x_now", _REAL, (OBSERVED,)),  # x is the state at the sample, this one that of the present instant
    ]
)

_ARM_WHOLES = (
    # n: joints with those of the base; n_x: with passive joints; shafts: of the rig; forces: of the environment
    "n n_x shafts forces tick arm_every steps stages every_stage at_arm implicit rotor status "
    # addresses: records, kernels, their data and arguments
    "joints_at forces_at motion motion_data track track_data inputs_at outputs_at track_in_at track_out_at"
)
ARM: np.dtype[Any] = np.dtype(
    [(name, _WHOLE) for name in _ARM_WHOLES.split()]
    + [
        ("period", _REAL),  # of the servo [s]
        ("time", _REAL),
        ("step", _REAL),  # the present step of the integration [s]
        ("rk_a", _REAL, (STAGES, STAGES)),
        ("rk_b", _REAL, (STAGES,)),
        ("rk_c", _REAL, (STAGES,)),
        ("y", _REAL, (BLOCKS * MOST,)),
        ("ys", _REAL, (BLOCKS * MOST,)),
        ("y_begin", _REAL, (BLOCKS * MOST,)),  # state at which the present step began
        ("k", _REAL, (STAGES, BLOCKS * MOST)),
        ("q_closed", _REAL, (MOST,)),  # joints at which the passive ones close the loops
        ("passive", _REAL, (MOST_FREE,)),
        ("inputs", _REAL, (MOST_FREE + 2 * MOST,)),
        ("outputs", _REAL, (MOST * MOST + MOST + MOST_FREE,)),  # M row by row, h, rates of passive joints
        ("h", _REAL, (MOST,)),  # with the environment
        ("A", _REAL, (MOST, MOST)),
        ("X", _REAL, (MAX_SHAFTS + 1, MOST)),
        ("qdd", _REAL, (MOST,)),
        ("force", _REAL, (MOST,)),
        ("free", _WHOLE, (MOST,)),
        ("count", _WHOLE),  # of free joints
        ("J_eff", _REAL, (MAX_SHAFTS, MAX_SHAFTS)),
        ("bias", _REAL, (MAX_SHAFTS,)),
        ("S", _REAL, (MAX_SHAFTS, MAX_SHAFTS)),
        ("right", _REAL, (MAX_SHAFTS,)),
        ("rates_before", _REAL, (MAX_SHAFTS,)),  # samples of the cycle before, between which missed ones lie
        ("angles_before", _REAL, (MAX_SHAFTS,)),
    ]
)


def address_in(record: Any, name: str) -> int:
    """Address of a field of the first record of an array."""
    fields: Any = record.dtype.fields
    return int(record.ctypes.data) + int(fields[name][1])
