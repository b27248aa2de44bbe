r"""A hydraulic axis as its sampled loops see it, and the gains that its linear model asks for.

The speed loop gives the current that the commanded speed takes, and a PI controller's correction of it; in the
innermost loop the swinging part of the load pressure takes current away,

.. math:: i = F\,\omega_{ref} + \mathrm{PI}(\omega_{ref} - \omega), \qquad
          i_v = i\,\sqrt{\frac{H_0}{H_\pm \mp \bar p_L}} - K_d\,(p_L - \bar p_L)                 (eq:valve-loop)

F [A s/m]: current per speed of the valve without load; p_L load pressure, its slow part with a bar; H: pressures
that drive the piston forward and backward, H_0 their mean: what the valve's square root makes of the load is undone.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from servotwin.control.tuning.gains import Gains, default_integral_time
from servotwin.control.tuning.sampled import Array, Sampled, Timing, exponential

LEAST_COSINE = (
    0.4  # of the lag of valve and sampling at the oil's frequency, from which a feedback still damps
)
SLOW = 0.2  # corner of the slow part of the load pressure over the oil's frequency
MOST_CORNER = 0.5  # of a current period: a faster corner would see nothing
DAMPING = 0.4  # that the pressure feedback brings about, where nothing else is asked for


@dataclass(frozen=True)
class ValveModel:
    """Valve, oil, load and feedback: x' = A x + B i with x = (position, speed, spool, spool speed, p_A, p_B)."""

    A: Array  # (6, 6)
    B: Array  # (6,)
    weights: Array  # (6,) of the states in the load pressure
    flow_share: float  # F [A s/m]
    J: float  # what it moves [kg]
    natural_frequency: float  # of oil and load [rad/s]
    damping: float
    valve_frequency: float  # [rad/s]
    valve_damping: float
    flow_gain: float  # K_q [m3/(s A)]
    area: float  # S [m2]
    friction: float  # viscous [N s/m]
    linearise: Callable[[float, float | None], ValveModel]  # with another load [kg], at another position [m]
    stroke: tuple[float, ...] = ()  # positions over the stroke [m]; none of a motor
    pressure_gain: float = 0.0  # K_d [A/Pa]
    pressure_corner: float = 0.0  # [rad/s]
    schedule: tuple[float, ...] = ()  # K_d at the positions of the stroke, where it follows them
    wanted_gain: float = 0.0  # K_d that the asked damping takes in mid stroke
    stiffness: float | None = None
    torque_constant: float = math.inf  # no current makes a torque by itself

    @property
    def J_m(self) -> float:
        """Its own inertia: the load's is all there is."""
        return 0.0

    def with_load(self, J: float, position: float | None = None) -> ValveModel:
        """The same valve and feedback with another load [kg], at another position of the piston [m]."""
        return replace(
            self.linearise(J, position),
            pressure_gain=self.gain_at(position),
            pressure_corner=self.pressure_corner,
            schedule=self.schedule,
            wanted_gain=self.wanted_gain,
        )

    def gain_at(self, position: float | None) -> float:
        """K_d at a position of the piston [A/Pa]."""
        if not self.schedule or position is None:
            return self.pressure_gain
        return float(np.interp(position, self.stroke, self.schedule))


def slow_part(model: ValveModel, T: float) -> float:
    """Part of a new load pressure that its slow part takes in a period T [s]."""
    return 1.0 - math.exp(-model.pressure_corner * T)


def sampled_valve(model: ValveModel, T: float) -> Sampled:
    """The axis under a current held for a period, and the slow part of its load pressure as a seventh state.

    Output: the swinging part of the load pressure.
    """
    n = len(model.A)
    block = np.zeros((n + 1, n + 1))
    scale = np.array(
        [1.0, 1.0, 1.0, 1.0, 1e7, 1e7]
    )  # pressures in 100 bar: the exponential stays well scaled
    block[:n, :n] = model.A * T * scale / scale[:, None]
    block[:n, n] = model.B * T / scale
    step = exponential(block)
    A, B = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    A[:n, :n] = step[:n, :n] * scale[:, None] / scale
    B[:n] = step[:n, n] * scale
    part = slow_part(model, T)
    A[n, :n], A[n, n] = part * model.weights, 1.0 - part
    return Sampled(A, B, np.append(model.weights, -1.0), T)


def damped_valve(model: ValveModel, timing: Timing) -> Sampled:
    """The same with its pressure feedback closed: the current that the speed loop asks for in, the speed out."""
    plant, delay = sampled_valve(model, timing.T_current), timing.current_delay
    n = len(plant.A)
    A, B = np.zeros((n + delay, n + delay)), np.zeros(n + delay)
    A[:n, :n] = plant.A
    command = -model.pressure_gain * np.append(plant.C, np.zeros(delay))
    if delay == 0:
        A += np.outer(plant.B, command)
        B[:] = plant.B
    else:
        A[:n, n] = plant.B
        A[n], B[n] = command, 1.0
    return Sampled(A, B, np.eye(n + delay)[1], timing.T_current)


def pressure_feedback(model: ValveModel, timing: Timing, damping: float = DAMPING) -> tuple[float, float]:
    r"""Gain [A/Pa] and corner [rad/s] of the pressure feedback that brings the oil's swing to a damping ratio.

    .. math:: K_d = \frac{2 (\zeta^* - \zeta)\,\omega_h\,S^2}{c_h\,K_q\,|G_v|\,\cos\varphi_v}, \qquad
              G_v = \frac{\omega_v^2\,e^{-j \omega_h T}}{\omega_v^2 - \omega_h^2 + 2 j \zeta_v \omega_v \omega_h}
              (eq:pressure-feedback)

    T: half a current period, and what is computed for. Where valve and sampling lag so much at the oil's frequency
    that the feedback would drive the swing instead of damping it, there is none.
    """
    w, r = model.natural_frequency, model.natural_frequency / model.valve_frequency
    T = timing.T_current * (0.5 + timing.current_delay)
    lag = cmath.exp(-1j * w * T) / complex(1.0 - r * r, 2.0 * model.valve_damping * r)
    corner = min(SLOW * w, MOST_CORNER / timing.T_current)
    helps = lag.real / abs(lag)
    missing = 2.0 * (damping - model.damping) * w
    if helps < LEAST_COSINE or missing <= 0.0:
        return 0.0, corner
    stiffness = model.J * w * w
    return missing * model.area**2 / (stiffness * model.flow_gain * lag.real), corner  # eq:pressure-feedback


def valve_gains(
    model: ValveModel,
    *,
    speed_bandwidth: float,
    position_bandwidth: float,
    integral_time: float | None = None,
    **_unused: float,
) -> Gains:
    r"""Gains of the loops around a valve.

    .. math:: K_x = \omega_x, \qquad K_n = 0, \qquad K_{ni} = F / T_i                             (eq:valve-gains)

    The commanded speed goes to the valve at once; the integral part makes up for leakage, load and null shift.
    """
    T_i = default_integral_time(speed_bandwidth) if integral_time is None else integral_time
    return Gains(position_bandwidth, 0.0, 0.0, model.flow_share / T_i, 0.0, 0.0)  # eq:valve-gains
