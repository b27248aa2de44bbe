r"""The axis as its sampled loops see it: exact discrete-time models, one nested in the other.

The winding and the shaft are linear between two samples, so a matrix
exponential steps them exactly; a loop that runs every m-th sample sees the
m-th power. States are ordered so that motor angle, speed and current come
first, whatever is appended behind them. Theory: docs/theory/servo-loops.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from servotwin.control.tuning.filters import Biquad, chained

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

ANGLE, SPEED, CURRENT = 0, 1, 2
_SHORTEST_WINDING = 1.0 / 30.0  # of a current period; exp(-30) is nothing, and the matrix stays well scaled


@dataclass(frozen=True)
class AxisModel:
    """A motor and its load at the motor side (SI)."""

    R: float  # winding resistance [ohm]
    L: float  # winding inductance [H]; 0 is allowed
    torque_constant: float  # [N m/A]
    voltage_constant: float  # [V s/rad]
    J_m: float  # rotor inertia [kg m2]
    J_load: float  # inertia of the load, seen at the motor [kg m2]
    friction: float = 0.0  # viscous, at the motor [N m s/rad]
    stiffness: float | None = None  # of the gear, seen at the motor [N m/rad]; None is rigid
    damping: float = 0.0  # of the gear, seen at the motor [N m s/rad]

    @property
    def J(self) -> float:
        """Rotor and load together [kg m2]."""
        return self.J_m + self.J_load

    @property
    def flow_share(self) -> float:
        """Current per commanded speed: none, it is a torque that a motor takes its current for."""
        return 0.0

    def with_load(self, J: float) -> AxisModel:
        """The same motor with another inertia of rotor and load [kg m2]."""
        return replace(self, J_load=max(J - self.J_m, 0.0))


@dataclass(frozen=True)
class Timing:
    """Clocks of the loops in integer nanoseconds; delays count periods of the loop they belong to."""

    current_ns: int
    speed_ns: int
    axis_ns: int
    current_delay: int = 0
    speed_delay: int = 0
    axis_delay: int = 0
    speed_filter: float = 0.0  # time constant of a first-order filter behind the sensor [s]
    torque_filters: tuple[Biquad, ...] = ()  # behind the speed controller

    @property
    def T_current(self) -> float:
        """Period of the current loop [s]."""
        return self.current_ns * 1e-9

    @property
    def T_speed(self) -> float:
        """Period of the speed loop [s]."""
        return self.speed_ns * 1e-9

    @property
    def T_axis(self) -> float:
        """Period of the position loop [s]."""
        return self.axis_ns * 1e-9

    @property
    def speed_ratio(self) -> int:
        """Current periods per speed period."""
        return self.speed_ns // self.current_ns

    @property
    def filter_pole(self) -> float:
        """Pole of the sampled speed filter, 0 where there is none."""
        return math.exp(-self.T_speed / self.speed_filter) if self.speed_filter > 0.0 else 0.0


@dataclass(frozen=True)
class Sampled:
    """x[k+1] = A x[k] + B u[k], y[k] = C x[k], every T seconds; one input, one output."""

    A: Array
    B: Array
    C: Array
    T: float

    def response(self, w: Array) -> Complex:
        r"""y/u (k,) at frequencies w (k,) [rad/s], z = exp(j w T).

        .. math:: P(z) = C (z E - A)^{-1} B                              (eq:sampled-response)
        """
        z = np.exp(1j * w * self.T)
        E = np.eye(len(self.A))
        states = np.linalg.solve(z[:, None, None] * E - self.A, self.B[None, :, None] + 0j)
        return np.asarray(states[:, :, 0] @ self.C)  # eq:sampled-response

    def watching(self, state: int) -> Sampled:
        """The same system with one of its states as output."""
        C = np.zeros(len(self.A))
        C[state] = 1.0
        return Sampled(self.A, self.B, C, self.T)


def continuous(model: AxisModel, shortest: float = 0.0) -> tuple[Array, Array]:
    r"""Matrices A, B of the axis: states angle, speed, current (and angle, speed of an elastic load).

    .. math:: L_a i' = u_a - R_a i - K_b \omega_m, \quad
              J \omega_m' = K_t i - f_m \omega_m                         (eq:axis-model)

    Behind an elastic gear the rotor alone carries the motor torque and a
    spring and damper push the load. ``shortest`` [s] is the least electrical
    time constant, for windings without inductance.
    """
    L = max(model.L, shortest * model.R)
    rigid = model.stiffness is None or model.J_load <= 0.0
    A = np.zeros((3, 3) if rigid else (5, 5))
    J = model.J if rigid else model.J_m
    A[ANGLE, SPEED] = 1.0
    A[SPEED, CURRENT] = model.torque_constant / J  # eq:axis-model
    A[SPEED, SPEED] = -model.friction / J
    A[CURRENT, CURRENT] = -model.R / L
    A[CURRENT, SPEED] = -model.voltage_constant / L
    if not rigid and model.stiffness is not None:
        k, d = model.stiffness, model.damping
        spring = np.array([k, d, 0.0, -k, -d])  # torque of the spring on the load, times the states
        A[SPEED] -= spring / J
        A[3, 4] = 1.0
        A[4] += spring / model.J_load
    B = np.zeros(len(A))
    B[CURRENT] = 1.0 / L
    return A, B


def exponential(X: Array) -> Array:
    """exp(X) of a small matrix by scaling, Taylor's series and squaring.

    Every simulation checks its loops; importing SciPy for this alone would take longer than the check.
    """
    halvings = 4 + max(0, int(np.ceil(np.log2(np.linalg.norm(X, 1) + 1e-300))))
    scaled = X / 2.0**halvings
    total = term = np.eye(len(X))
    for k in range(1, 13):
        term = term @ scaled / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def sampled_axis(model: AxisModel, T: float) -> Sampled:
    r"""The axis under a voltage that is held for a current period T [s]; output: the current.

    .. math:: \begin{pmatrix} A_d & B_d \\ 0 & 1 \end{pmatrix} =
              \exp \begin{pmatrix} A T & B T \\ 0 & 0 \end{pmatrix}     (eq:zero-order-hold)

    The pulses of the PWM lie symmetrically in their period and their mean is
    the voltage, so that the hold describes them.
    """
    A, B = continuous(model, shortest=_SHORTEST_WINDING * T)
    n = len(A)
    block = np.zeros((n + 1, n + 1))
    block[:n, :n], block[:n, n] = A * T, B * T
    step = exponential(block)  # eq:zero-order-hold
    return Sampled(step[:n, :n], step[:n, n], np.eye(n)[CURRENT], T)


def closed(plant: Sampled, K_p: float, K_i: float, delay: int = 0, ahead: float = 0.0) -> Sampled:
    r"""The plant in a loop with a PI controller; the input is the reference.

    .. math:: u_k = K_p e_k + K_i x_k, \quad x_{k+1} = x_k + T e_k        (eq:sampled-pi)

    The command acts ``delay`` periods after the sample it was computed from; ``ahead`` times the reference is in it.
    Appended states: the integrator, then the waiting commands, oldest first.
    """
    n, T = len(plant.A), plant.T
    size = n + 1 + delay
    A, B = np.zeros((size, size)), np.zeros(size)
    A[:n, :n] = plant.A
    A[n, :n], A[n, n], B[n] = -T * plant.C, 1.0, T  # eq:sampled-pi
    command = np.zeros(size)
    command[:n], command[n] = -K_p * plant.C, K_i
    if delay == 0:
        A[:n] += np.outer(plant.B, command)
        B[:n] = (K_p + ahead) * plant.B
    else:
        A[:n, n + 1] = plant.B
        for k in range(n + 1, size - 1):
            A[k, k + 1] = 1.0
        A[size - 1], B[size - 1] = command, K_p + ahead
    return Sampled(A, B, np.append(plant.C, np.zeros(1 + delay)), T)


def lifted(plant: Sampled, m: int) -> Sampled:
    r"""The plant seen every m-th sample, its input held in between.

    .. math:: A_m = A^m, \quad B_m = \sum_{k<m} A^k B                    (eq:lifting)
    """
    n = len(plant.B)
    step = np.eye(n + 1)
    step[:n, :n], step[:n, n] = plant.A, plant.B
    steps = np.linalg.matrix_power(step, m)  # eq:lifting
    return Sampled(steps[:n, :n], steps[:n, n], plant.C, m * plant.T)


def with_speed_sensor(plant: Sampled, timing: Timing) -> Sampled:
    r"""The plant with the measured speed as output: counts over one period, then the filter.

    .. math:: \omega_{meas,k} = \frac{\theta_k - \theta_{k-1}}{T} \;\Leftrightarrow\;
              \frac{1 - e^{-sT}}{sT}                                      (eq:counted-speed)

    Appended states: the angle one period ago, the filtered speed one period ago.
    """
    n, T, a = len(plant.A), plant.T, timing.filter_pole
    A = np.zeros((n + 2, n + 2))
    A[:n, :n] = plant.A
    A[n, ANGLE] = 1.0
    C = np.zeros(n + 2)
    C[ANGLE], C[n] = (1.0 - a) / T, -(1.0 - a) / T  # eq:counted-speed
    C[n + 1] = a
    A[n + 1] = C
    return Sampled(A, np.append(plant.B, np.zeros(2)), C, T)


def behind_filters(plant: Sampled, filters: Sequence[Biquad]) -> Sampled:
    """The plant with filters before its input, which run with its samples; appended states: theirs."""
    if not filters:
        return plant
    a, b, c, d = chained(filters)
    n = len(plant.A)
    A = np.zeros((n + len(a), n + len(a)))
    A[:n, :n], A[:n, n:], A[n:, n:] = plant.A, np.outer(plant.B, c), a
    return Sampled(A, np.append(d * plant.B, b), np.append(plant.C, np.zeros(len(a))), plant.T)
