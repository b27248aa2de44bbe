"""The record of a rig's twin: parameters and state of one shaft with its two motors, amplifiers and sensors.

A rig is an array of RIG records, one for each shaft, with its random numbers inside: the same bytes give the same
run in every process. SI throughout, everything at the motor shaft.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_REAL, _WHOLE = np.float64, np.int64
STATES = 7  # angle, rate, drive voltage, drive current, load current, filtered rate and its derivative
ANGLE, RATE, VOLTAGE, DRIVE_CURRENT, LOAD_CURRENT, FILTERED, FILTERED_DOT = range(STATES)
FREE, STUCK = 2, 0  # modes of the shaft, besides -1 and 1: it slides

_REALS = (
    # inertia of both rotors; friction: viscous, Coulomb, static; brake; what misalignment (once and twice a turn) and
    # cogging do at most, phase of the misalignment
    "J f tau_c tau_s brake_torque misaligned_once misaligned_twice misaligned_at cogging "
    # drive motor and its amplifier: torque constant, ripple as a share of the torque; resistance with that of the
    # amplifier, inductance (0: none); limits, bandwidth [rad/s] (0: none)
    "K_d ripple_d R_d L_d u_limit u_bandwidth i_d_limit "
    # load motor and its amplifier: the same; R_l and u_l_limit give the headroom, 0: not known
    "K_l ripple_l i_l_limit i_l_bandwidth R_l u_l_limit "
    # tachometer: gain (1: true), ripple as a share of the rate, density of its noise [rad/s/sqrt(Hz)] and
    # its RMS in samples that no filter precedes [rad/s]; its filter
    "gain tacho_ripple noise_density noise_rms w_filter damping "
    # encoder counts per radian (0: none); noise of the currents' sensors [A]
    "counts_per_rad current_noise "
    # full scale of the converters
    "rate_range voltage_range load_range current_range "
    # what trips the rig; longest step of the twin [s]; by which share of a period samples are taken before its end
    "w_trip i_trip longest_step sample_delay "
    # commands as the converters gave them; noise of the present step; last encoder angle; last rate shown
    "u_command i_command noise angle_last rate_shown"
)
_WHOLES = (
    # per revolution
    "ripples_d ripples_l tacho_ripples coggings "
    "rate_bits voltage_bits load_bits current_bits has_tachometer "
    # instant [ns], mode of the shaft (-1, STUCK, 1, FREE), amplifiers on, brake closed, latched ``RigFault``
    "now mode enabled brake_closed fault"
)

RIG: np.dtype[Any] = np.dtype(
    [(name, _REAL) for name in _REALS.split()]
    + [(name, _WHOLE) for name in _WHOLES.split()]
    + [
        ("x", _REAL, (STATES,)),  # the state
        ("xs", _REAL, (STATES,)),  # at a stage of a step
        ("k", _REAL, (4, STATES)),  # slopes of a step
        ("random", np.uint64, (1,)),
    ]
)
