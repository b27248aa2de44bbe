"""Gains of the three nested servo loops from motor data and bandwidths, as floats and as integers over 256."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

# The one place where the default integral time of the speed loop is decided: T_i = 5 / bandwidth.
# It costs atan(1/5) = 11 deg of phase at the crossover. 4 / bandwidth would cost 14 deg and leave less than 55 deg
# of phase margin at 150 rad/s and 1 ms when every loop computes for a period: docs/theory/servo-loops.md.
INTEGRAL_TIME_FACTOR = 5.0
GAIN_SHIFT = 8  # fixed-point gains count in 1/256
GAIN_ONE = 1 << GAIN_SHIFT  # a fixed-point gain of this value is 1
FULL_SCALE = 2**15  # the current limit and the bus voltage as integers


@dataclass(frozen=True)
class Gains:
    """Gains of one axis, at the motor side; field names are those of ``controller.gains`` in robot files."""

    position: float  # [1/s]
    position_integral: float  # [1/s^2]
    speed_proportional: float  # [A s/rad]
    speed_integral: float  # [A/rad]
    current_proportional: float  # [V/A]
    current_integral: float  # [V/(A s)]


@dataclass(frozen=True)
class FixedGains:
    """The same gains as integers over 256 (``fixed_gains`` states the scaling)."""

    position: int
    position_integral: int
    speed_proportional: int
    speed_integral: int
    current_proportional: int
    current_integral: int


@dataclass(frozen=True)
class Scaling:
    """What the integers of a fixed-point controller count in."""

    counts_per_turn: float  # encoder counts per motor turn, after counting edges [1]
    current_limit: float  # driver's current limit [A], FULL_SCALE counts
    bus_voltage: float  # [V], FULL_SCALE counts
    axis_period: float  # [s]
    speed_period: float  # [s]
    current_period: float  # [s]

    @property
    def counts_per_speed(self) -> float:
        """Encoder counts per speed period at 1 rad/s [s/rad]."""
        return self.counts_per_turn * self.speed_period / (2.0 * math.pi)


def current_gains(R: float, L: float, bandwidth: float) -> tuple[float, float]:
    r"""PI gains (K_p [V/A], K_i [V/(A s)]) that cancel the pole of the winding.

    .. math:: K_p = \omega_i L_a, \quad K_i = \omega_i R_a               (eq:current-gains)

    ``R`` R_a [ohm], ``L`` L_a [H], ``bandwidth`` omega_i [rad/s]. The open loop is
    then omega_i/s; a winding without inductance gets an integrator alone.
    Theory: docs/theory/servo-loops.md.

    >>> current_gains(R=0.5, L=1e-3, bandwidth=1000.0)
    (1.0, 500.0)
    """
    return bandwidth * L, bandwidth * R  # eq:current-gains


def default_integral_time(bandwidth: float) -> float:
    r"""Integral time of the speed loop [s] where none is stated.

    .. math:: T_i = 5 / \omega_n                                          (eq:integral-time)

    >>> default_integral_time(125.0)
    0.04
    """
    return INTEGRAL_TIME_FACTOR / bandwidth  # eq:integral-time


def speed_gains(
    J: float, K_t: float, bandwidth: float, integral_time: float | None = None
) -> tuple[float, float]:
    r"""PI gains (K_p [A s/rad], K_i [A/rad]) of the speed loop.

    .. math:: K_p = \omega_n J / K_t, \quad K_i = K_p / T_i               (eq:speed-gains)

    ``J`` inertia at the motor shaft, rotor and load [kg m2]; ``K_t`` [N m/A];
    ``bandwidth`` omega_n [rad/s]; ``integral_time`` T_i [s], default
    ``default_integral_time``; ``math.inf`` switches the integral part off.

    >>> speed_gains(J=1e-3, K_t=0.1, bandwidth=100.0, integral_time=0.05)
    (1.0, 20.0)
    """
    K_p = bandwidth * J / K_t  # eq:speed-gains
    T_i = default_integral_time(bandwidth) if integral_time is None else integral_time
    return K_p, K_p / T_i


def position_gain(bandwidth: float) -> float:
    r"""Proportional gain of the position loop [1/s]: motor speed per motor angle.

    .. math:: K_v = \omega_x                                              (eq:position-gain)

    >>> position_gain(30.0)
    30.0
    """
    return bandwidth  # eq:position-gain


def axis_gains(
    R: float,
    L: float,
    K_t: float,
    J: float,
    *,
    current_bandwidth: float,
    speed_bandwidth: float,
    position_bandwidth: float,
    integral_time: float | None = None,
) -> Gains:
    """All gains of one axis (``current_gains``, ``speed_gains``, ``position_gain``).

    >>> axis_gains(0.4, 6e-4, 0.12, 5e-4, current_bandwidth=1200.0, speed_bandwidth=150.0,
    ...            position_bandwidth=30.0).current_integral
    480.0
    """
    K_pi, K_ii = current_gains(R, L, current_bandwidth)
    K_pn, K_in = speed_gains(J, K_t, speed_bandwidth, integral_time)
    return Gains(position_gain(position_bandwidth), 0.0, K_pn, K_in, K_pi, K_ii)


def gain_units(scaling: Scaling) -> Gains:
    r"""What an integer gain of 256 is worth in SI units, gain by gain.

    Position error and speed command in encoder counts and counts per second;
    speed error in counts per speed period; current in 1/2^15 of the driver's
    limit, voltage in 1/2^15 of the bus. The integral parts add up error times
    integer gain once per period of their loop.

    .. math:: K = \frac{\mathrm{integer}}{256} \, U,\quad
              U_n = \frac{I_{max}}{2^{15}} \frac{N_c T_n}{2 \pi},\quad
              U_i = \frac{U_{bus}}{I_{max}},\quad U_x = 1                (eq:fixed-point)

    and U / T for the integral gains.
    """
    speed = scaling.current_limit / FULL_SCALE * scaling.counts_per_speed  # eq:fixed-point
    current = scaling.bus_voltage / scaling.current_limit
    return Gains(
        position=1.0,
        position_integral=1.0 / scaling.axis_period,
        speed_proportional=speed,
        speed_integral=speed / scaling.speed_period,
        current_proportional=current,
        current_integral=current / scaling.current_period,
    )


def fixed_gains(gains: Gains, scaling: Scaling) -> FixedGains:
    """The integers over 256 nearest to float gains.

    >>> scaling = Scaling(4000.0, 16.0, 75.0, 1.6e-3, 1e-3, 0.2e-3)
    >>> fixed_gains(Gains(30.0, 0.0, 0.6, 18.0, 0.72, 480.0), scaling)
    FixedGains(position=7680, position_integral=0, speed_proportional=494130, speed_integral=14824,
               current_proportional=39, current_integral=5)
    """
    units = gain_units(scaling)
    return FixedGains(
        **{f.name: round(GAIN_ONE * getattr(gains, f.name) / getattr(units, f.name)) for f in fields(Gains)}
    )


def float_gains(integers: FixedGains, scaling: Scaling) -> Gains:
    """The float gains that integers over 256 stand for, the inverse of ``fixed_gains`` up to rounding."""
    units = gain_units(scaling)
    return Gains(
        **{f.name: getattr(integers, f.name) / GAIN_ONE * getattr(units, f.name) for f in fields(Gains)}
    )
