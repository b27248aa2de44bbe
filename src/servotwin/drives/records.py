"""What a compiled loop knows about motors, power stage and sensors: parameters and state, one record each.

A record is a row of a NumPy structured array; compiled functions read and write
its fields by name (``motor.R``). SI throughout; angles, speeds and torques on the
motor's side.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.drives.table import KINDS


class ShaftMode(IntEnum):
    """What dry friction does to a shaft or a joint."""

    BACKWARD = -1  # it slides
    STUCK = 0  # friction or a closed brake holds it
    FORWARD = 1  # it slides
    FREE = 2  # it has no dry friction


class StopState(IntEnum):
    """Where a joint lies between its end stops."""

    LOW = -1
    BETWEEN = 0
    HIGH = 1


class Contact(IntEnum):
    """Which flank of a gear with play carries."""

    BACKWARD = -1
    NONE = 0
    FORWARD = 1


FREE, STUCK = int(ShaftMode.FREE), int(ShaftMode.STUCK)
SLIDES_FORWARD, SLIDES_BACKWARD = int(ShaftMode.FORWARD), int(ShaftMode.BACKWARD)
BETWEEN, AT_LOW, AT_HIGH = int(StopState.BETWEEN), int(StopState.LOW), int(StopState.HIGH)
NO_CONTACT = int(Contact.NONE)

_REAL, _WHOLE = np.float64, np.int64


MOST_WAVES = (
    18  # harmonics of one shaft: per turn of the motor, of the joint, and those that the controller knows
)
TABLE_POINTS = (
    34  # of a direction: two tables of 16 on one shaft, and one point more that carries their ends on
)
FALLS = 2  # Stribeck curves on one shaft: of the motor and of the joint

# friction of a shaft (eq:friction-curve): viscous, Coulomb; excesses that fall with speed and their Stribeck speeds;
# static torque, points of the table (speeds, torques) and their number, forward and backward
_FRICTION = [
    ("f", _REAL),
    ("tau_c", _REAL),
    ("tau_fall", _REAL, (FALLS,)),
    ("w_stribeck", _REAL, (FALLS,)),
    ("tau_s", _REAL, (2,)),
    ("table_w", _REAL, (2, TABLE_POINTS)),
    ("table_tau", _REAL, (2, TABLE_POINTS)),
    ("points", _WHOLE, (2,)),
]


def _waves(*names: str) -> list[Any]:
    """Harmonics of an angle (eq:harmonics), for each name their number, orders, amplitudes [rad], phases [rad] and the
    sines of these."""
    found: list[Any] = [(f"{name}_waves", _WHOLE) for name in names]
    parts = ("order", "amplitude", "phase", "start")
    return found + [(f"{name}_{part}", _REAL, (MOST_WAVES,)) for name in names for part in parts]


def _dtype(
    reals: str, wholes: str, *, friction: bool = False, more: list[Any] | None = None
) -> np.dtype[Any]:
    fields: list[Any] = [(name, _REAL) for name in reals.split()]
    fields += [(name, _WHOLE) for name in wholes.split()]
    return np.dtype(fields + (_FRICTION if friction else []) + (more or []))


MOTOR = _dtype(
    # winding: resistance now and at the reference temperature, both without the bridge; bridge resistance
    "R R_ref R_bridge L K L_d L_q psi pole_pairs "
    # rotor, brake
    "J brake_torque "
    # dry friction beside its curve, of seals under the pressures of the last evaluation (eq:seal-friction)
    "seal_torque "
    # gear: torsion at the motor side, half of the play, efficiency; g: motor torque per transmitted torque
    "stiffness damping half_play eta g "
    # where its stiffness changes, and by how much (eq:gear-stiffening); 0 where it does not
    "bend_1 bend_2 added_1 added_2 "
    # hysteresis of its torsion (eq:hysteresis): stiffness on a reversal, and twist beyond which it slips
    "hysteresis_stiffness hysteresis_limit "
    # thermal network
    "T_w T_h T_ref T_ambient R_wh R_ha C_w C_h alpha T_limit "
    # applied: switch state per volt of the bus (alpha, beta for three phases), torque of an ideal drive
    "s_a s_b torque_command current_command "
    # now: angle, speed, its derivatives at the start of the window, torque, its mean over the window, transmitted
    # torque, what friction must hold
    "theta w w_dot w_ddot tau tau_mean net transmitted slack "
    # cosine and sine of the electrical angle of a synchronous motor, and the angle of the rotor that they belong to
    "turn_cos turn_sin turn_theta "
    # extremes so far; integral of an ideal motor's squared torque; of the applied voltage since the last recorded row
    "i_peak tau_peak tau_mean_peak w_peak T_peak torque_square volt_seconds "
    # largest rate with which the states of an actuator of the user's could change so far [1/s] (eq:own-rate)
    "own_rate "
    # what the data sheet allows, infinite where it is silent
    "w_limit tau_limit",
    # exact: its states are known in closed form over a window; own_rates, own_parameters: addresses of an actuator of
    # the user's; loss_at: where the integral of its loss stands
    # feed: what the command becomes (``kind.Feed``), COMMAND where no bridge feeds it; valve: its current is that of a
    # servovalve; brake_delay: from the loss of its voltage until it has closed [ns], -1 without brake
    # width: states of its own, from current_at; charge_at: where the integral of a synchronous motor's i_q stands;
    # has_constant: K is stated, not a stand-in;
    # dry: the shaft has dry friction, or a stiff gear with losses, also while its brake is open
    # hysteresis_at: where the twist of its hysteresis stands in the state, -1 without; hysteresis_z: that of its loss
    # number: its place among the motors; rates, signals: addresses of code of its kind that is compiled apart, or 0
    # chambers_at: where the pressures of its two chambers stand in the state, -1 without; supplied_at: where the energy
    # stands that it took from a supply of its kind, -1 without
    "kind feed width exact own_rates own_parameters loss_at mode flexible current_at charge_at "
    "has_constant dry brake_closed contact open valve brake_delay "
    "number rates signals chambers_at supplied_at integrals hysteresis_at hysteresis_z",
    friction=True,
    # gear: transmission error of an elastic gear, counted at the motor (eq:transmission-error)
    more=[(kind.name, kind.record) for kind in KINDS.values() if kind.record is not None] + _waves("gear"),
)

POWER = _dtype(
    "u_source R_supply C u_on u_off R_brake dead_time storage_time "
    # voltage that the bus should not exceed; extremes so far, and the highest voltage with the resistor on
    "u_limit u_low u_high u_braking",
    # off: all bridges; over: times above u_limit, from, to, total [ns]
    "two_level braking off over_times over_from over_to over_ns",
)

# state: a StopState; touched: it has met one since the last window
# limits of the joint and the largest values so far; has_effort: a torque or force limit is stated
# has_friction: the joint has friction of its own beside that of its motor; mode (a ShaftMode), slack and what friction
# holds as of a shaft
STOP = _dtype(
    "low high reaction speed_limit effort_limit speed_peak effort_peak slack holding",
    "state touched has_effort has_friction mode",
    friction=True,
)

SENSOR = _dtype(
    # current_full_scale: the stated range, of which the sensor shows parts; 0: it shows amperes
    "counts_per_rad current_range current_full_scale current_offset current_noise "
    # of the chambers of a hydraulic axis
    "pressure_range pressure_offset pressure_noise "
    # of the angle: standard deviation [rad], and what the last reading had of it
    "angle_noise jitter",
    "current_bits pressure_bits count stuck lost",
    # of the encoder, and of a stiff gear: what stands between its shaft and the joint (eq:sensed-angle)
    more=_waves("encoder", "gear"),
)


def zeros(dtype: np.dtype[Any], count: int) -> Any:
    """``count`` records, every field zero."""
    return np.zeros(count, dtype=dtype)
