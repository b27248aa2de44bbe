"""The record a compiled loop works in, and the Runge-Kutta schemes it may use.

State, scratch and settings stand in one record with room for the largest robots: compiled functions pass one
address instead of forty arrays, which keeps them short to compile and quick to call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.kernels.emit_step import march_size

STAGES = 7
MAX_EDGES = 24  # of a motor in a period: six, and what dead time and the zeros of the current make of each
MAX_JOINTS = 16  # joints, and motors
MAX_FREE = 48  # joints and passive joints
MAX_STATES = MAX_FREE + 5 * MAX_JOINTS + 4
PER_MOTOR = 5  # quadratures of a motor: electrical energy, i^2, torque, friction, gear
PER_BUS = 3  # source, braking resistor, supply resistance; behind them i_q of every synchronous motor
MAX_INTEGRALS = PER_MOTOR * MAX_JOINTS + PER_BUS + MAX_JOINTS
_ROWS = 2 * MAX_JOINTS

_WHOLES = (
    "n n_x m elastic at_theta at_w at_bus n_y n_z diagonal simple smooth separate plain rubs joint_rubs held moving "
    "exact windows world_at power_at motors_at stops_at advance_piece fast_piece plain_piece rubbing_piece march_piece "
    "late_piece constrained_piece switch_piece closure_piece track track_data track_at track_n sound_at "
    "step_entry step_data march_at march_size "
    "accel accel_data motion motion_data inputs_at outputs_at signals_at memory_at command_at model_at "
    "now period_start intervals_max status events rows row_every row_next row_from log_rows log_every log_next closing "
    "zoom_from zoom_to zoom_rows "
    "method adaptive steps averaged pulses redo"
)
# flowed: energy from the source and back to it, window by window [J]
_REALS = "u_bus tolerance error missed impact_J flowed per_span per_cube reached since bus_step"
_ARRAYS = {
    "y": (MAX_STATES,),  # state
    "z": (MAX_INTEGRALS,),  # integrals of powers
    "y1": (MAX_STATES,),  # after a step
    "z1": (MAX_INTEGRALS,),
    "y0": (MAX_STATES,),  # before a window that may be redone
    "z0": (MAX_INTEGRALS,),
    "z_mark": (MAX_INTEGRALS,),  # when the window began
    "z_row": (MAX_INTEGRALS,),  # at the last recorded row
    "window": (MAX_INTEGRALS,),
    "next_i": (MAX_STATES,),
    "ys": (MAX_STATES,),
    "dy": (MAX_STATES,),
    "dz": (MAX_INTEGRALS,),
    "k": (STAGES, MAX_STATES),
    "inputs": (MAX_FREE + 2 * MAX_JOINTS,),  # arguments of the robot's kernels
    "outputs": (MAX_JOINTS * MAX_JOINTS + MAX_JOINTS + MAX_FREE,),
    "march": (2, march_size(MAX_JOINTS)),  # before and after a generated step
    "A": (MAX_JOINTS, MAX_JOINTS),
    "C": (_ROWS, MAX_JOINTS),  # constraints
    "X": (_ROWS * MAX_JOINTS,),
    "S": (_ROWS, _ROWS),
    "qdd": (MAX_JOINTS,),
    "force": (_ROWS,),
    "reaction": (_ROWS,),
    "N": (MAX_JOINTS, MAX_JOINTS),  # theta_m = N q
    "times": (MAX_JOINTS, MAX_EDGES),  # edges since the period began
    "level_a": (MAX_JOINTS, MAX_EDGES + 1),  # voltage between them, in bus voltages
    "level_b": (MAX_JOINTS, MAX_EDGES + 1),
    "mean_a": (MAX_JOINTS,),  # their mean over the period
    "mean_b": (MAX_JOINTS,),
    "asked": (4,),  # of a bridge: modulation and current, both components
    "saved": (_ROWS, 5),  # modes of motors and joints before a window that may be redone
    "slack": (_ROWS,),  # of stuck shafts and joints when a step began
    "heat": (MAX_JOINTS, 2),  # copper and bridge losses [J]
    "rk_a": (2, STAGES, STAGES),  # schemes: 0 for everything, 1 for the arm of the fast method
    "rk_b": (2, STAGES),
    "rk_e": (2, STAGES),
    "rk_c": (2, STAGES),
    "a0": (MAX_JOINTS,),  # torque a0 + a1 t of the motors over a window, as the exact currents give it
    "a1": (MAX_JOINTS,),
    # motors of the plain road, side by side, in joint speeds: gear, constant, torque per current, friction per
    # speed, and the current's rate per current, per speed, per voltage
    "ratio": (MAX_JOINTS,),
    "emf": (MAX_JOINTS,),
    "pull": (MAX_JOINTS,),
    "drag": (MAX_JOINTS,),
    "decay": (MAX_JOINTS,),
    "back": (MAX_JOINTS,),
    "slope": (MAX_JOINTS,),
    # the plain window, see plain.py: K / L, L / R, 1 / R, 1 / ratio, window functions, moments of voltage and of
    # the answer to it, B of the motors, as last seen, and its rate, drift, speed line and curvature of the window
    "back_emf": (MAX_JOINTS,),
    "slow": (MAX_JOINTS,),
    "conductance": (MAX_JOINTS,),
    "unratio": (MAX_JOINTS,),
    "G": (MAX_JOINTS, 8),
    "U": (MAX_JOINTS, 3),
    "V": (MAX_JOINTS, 5),
    "B": (MAX_JOINTS, MAX_JOINTS),
    "B_seen": (MAX_JOINTS, MAX_JOINTS),
    "B_rate": (MAX_JOINTS, MAX_JOINTS),
    "drift": (MAX_JOINTS, 2),
    "alpha": (MAX_JOINTS,),
    "jerk": (MAX_JOINTS,),
    "snap": (MAX_JOINTS,),
    "was": (MAX_JOINTS, 2),  # torque line before it is put right
    "at_edges": (MAX_JOINTS, MAX_EDGES + 1),  # the answer to the pulses at the end of every interval
    "most": (MAX_JOINTS, 2),  # current and torque of a window that is not accepted yet
    "unbalanced": (MAX_JOINTS,),  # energy that the fluxes of a synchronous motor leave over in a window
    "points": (4, 4),  # fluxes and voltages of a synchronous motor at the points of a step
    "cos": (MAX_JOINTS,),  # of a synchronous motor's electrical angle when the window began
    "sin": (MAX_JOINTS,),
    "missing": (MAX_JOINTS, 2),  # of impulse and moment of its torque in the guess
    "seen": (MAX_JOINTS, 2),  # acceleration and jerk under which the fluxes of a synchronous motor were found
    "pulse_end": (MAX_JOINTS,),
    "pulse_work": (MAX_JOINTS,),
    "pulse_decay": (MAX_JOINTS,),
    "Q": (MAX_JOINTS,),  # charge and moments of the current
    "M1": (MAX_JOINTS,),
    "M2": (MAX_JOINTS,),
    "beside": (MAX_JOINTS, 3),  # moments of the torque beside its line, what they do to speed and current
    "shake": (MAX_JOINTS,),
    "ripple": (MAX_JOINTS, 2),
    "ripple_square": (MAX_JOINTS,),
    "rubbed": (MAX_JOINTS,),  # work of dry friction in a window
    "model_buffer": (6 * MAX_JOINTS,),
    "signals": (6 * MAX_JOINTS,),
    "command": (MAX_JOINTS,),
}
_WHOLE_ARRAYS = {"row_of": (_ROWS,), "edges": (MAX_JOINTS,), "place": (MAX_JOINTS,), "rk_n": (2,)}

WORLD: np.dtype[Any] = np.dtype(
    [(name, np.int64) for name in _WHOLES.split()]
    + [(name, np.float64) for name in _REALS.split()]
    + [(name, np.float64, shape) for name, shape in _ARRAYS.items()]
    + [(name, np.int64, shape) for name, shape in _WHOLE_ARRAYS.items()]
)


def address_of(world: Any, field: str) -> int:
    """Address of an array inside a record (an array of one record)."""
    fields: Any = WORLD.fields
    return int(world.ctypes.data) + int(fields[field][1])


def tableau(method: str) -> tuple[np.ndarray[Any, Any], ...]:
    """Coefficients a, b, b - b_hat, c and the number of stages."""
    if method == "modified-euler":  # Heun: Euler predicts, the mean of both slopes corrects
        a, b, e, c = [[], [1.0]], [0.5, 0.5], [-0.5, 0.5], [0.0, 1.0]
    elif method == "rk4":
        a = [[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]]
        b, e, c = [1 / 6, 1 / 3, 1 / 3, 1 / 6], [0.0] * 4, [0.0, 0.5, 0.5, 1.0]
    elif method == "third":  # Bogacki and Shampine, embedded in the midpoint rule
        a, b = [[], [0.5], [0.0, 0.75]], [2 / 9, 1 / 3, 4 / 9]
        e, c = [2 / 9, 1 / 3 - 1.0, 4 / 9], [0.0, 0.5, 0.75]
    elif method == "third-to-the-end":  # the same with a look at the rates at its end
        a, b = [[], [0.5], [0.0, 0.75], [2 / 9, 1 / 3, 4 / 9]], [2 / 9, 1 / 3, 4 / 9, 0.0]
        e, c = [2 / 9, 1 / 3 - 1.0, 4 / 9, 0.0], [0.0, 0.5, 0.75, 1.0]
    else:  # Dormand and Prince, order 5 with an embedded order 4
        a = [
            [],
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
            [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        ]
        b = [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0]
        low = [5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40]
        e = [x - y for x, y in zip(b, low, strict=True)]
        c = [0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0]
    n = len(b)
    A = np.zeros((STAGES, STAGES))
    for i, row in enumerate(a):
        A[i, : len(row)] = row
    pad = [0.0] * (STAGES - n)
    return A, np.array(b + pad), np.array(e + pad), np.array(c + pad), np.array(n)
