r"""The linear model of a hydraulic axis, by differentiating its equations at an operating point.

Full model: x = (position, speed, spool, spool speed, p_A, p_B), x' = A x + b i + f F. The third-order one of Perez et
al. (1987) has the load pressure in the place of both pressures and a spool without lag,

.. math:: p_L = \frac{A_A p_A - A_B p_B}{S}, \qquad S = \tfrac12 (A_A + A_B)                    (eq:load-pressure)

.. math::

    \begin{pmatrix} \dot x \\ \dot v \\ \dot p_L \end{pmatrix} =
    \begin{pmatrix} 0 & 1 & 0 \\ 0 & -B/m & S/m \\ 0 & -c_h/S & -c_h (K_c + C)/S^2 \end{pmatrix}
    \begin{pmatrix} x \\ v \\ p_L \end{pmatrix} +
    \begin{pmatrix} 0 \\ 0 \\ c_h K_q/S^2 \end{pmatrix} i -
    \begin{pmatrix} 0 \\ 1/m \\ 0 \end{pmatrix} F, \qquad
    c_h = \frac{\beta_A A_A^2}{V_A} + \frac{\beta_B A_B^2}{V_B}                                 (eq:third-order)

With equal areas and the piston in the middle c_h = 4 beta S^2 / V, V the volume of both chambers: the paper's matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from servotwin.drives.hydraulic.data import Axis, Supply
from servotwin.drives.hydraulic.laws import (
    EVEN,
    carried_volume,
    cushion_resistance,
    edge_opening,
    edge_slope,
    throttle,
    throttle_slope,
)
from servotwin.drives.hydraulic.steady import OperatingPoint

Array = NDArray[np.float64]
POSITION, SPEED, SPOOL, SPOOL_SPEED, P_A, P_B = range(6)


@dataclass(frozen=True)
class LinearAxis:
    """Matrices of a hydraulic axis with its load at an operating point.

    ``A`` (6, 6), ``b`` (6,) per ampere of valve current, ``f`` (6,) per newton of external force against the piston.
    """

    point: OperatingPoint
    A: Array
    b: Array
    f: Array
    area: float  # S [m2]
    stiffness: float  # c_h [N/m]
    mass: float
    direction: tuple[float, float]  # of (p_A, p_B) per load pressure
    weights: tuple[float, float]  # of p_A and p_B in the load pressure
    rated_current: float

    @property
    def natural_frequency(self) -> float:
        """Of mass and oil [rad/s]."""
        return math.sqrt(self.stiffness / self.mass)

    def third_order(self) -> tuple[Array, Array, Array]:
        """A (3, 3), b (3,), f (3,) of position, speed and load pressure (eq:third-order)."""
        lift = np.zeros((6, 3))
        lift[POSITION, 0] = lift[SPEED, 1] = 1.0
        lift[P_A, 2], lift[P_B, 2] = self.direction
        watch = np.zeros((3, 6))
        watch[0, POSITION] = watch[1, SPEED] = 1.0
        watch[2, P_A], watch[2, P_B] = self.weights
        b = watch @ self.A[:, SPOOL] / self.rated_current  # the spool follows at once
        return np.asarray(watch @ self.A @ lift), np.asarray(b), np.asarray(watch @ self.f)

    @property
    def flow_gain(self) -> float:
        """K_q [m3/(s A)]: flow of the load per valve current."""
        return float(self.third_order()[1][2] * self.area**2 / self.stiffness)

    @property
    def flow_pressure(self) -> float:
        """K_c + C [m3/(s Pa)]: flow of the load that a load pressure takes away, at the valve and by leakage."""
        return float(-self.third_order()[0][2, 2] * self.area**2 / self.stiffness)

    @property
    def damping(self) -> float:
        """Damping ratio of mass and oil in the third-order model."""
        A, w = self.third_order()[0], self.natural_frequency
        return float(-(A[1, 1] + A[2, 2]) / (2.0 * w))


def linear_axis(
    axis: Axis, supply: Supply, point: OperatingPoint, mass: float, viscous: float = 0.0
) -> LinearAxis:
    """Differentiate the equations of an axis that moves ``mass`` [kg] against viscous friction [N s/m]."""
    pressures = (point.p_a, point.p_b)
    areas, signs = (axis.area_a, axis.area_b), (1.0, -1.0)
    volumes = axis.volumes(point.x)
    oils = [supply.oil(p) for p in pressures]
    A, b, f = np.zeros((6, 6)), np.zeros(6), np.zeros(6)
    w = axis.natural_frequency
    A[POSITION, SPEED] = A[SPOOL, SPOOL_SPEED] = 1.0
    A[SPEED, SPEED], f[SPEED] = -viscous / mass, -1.0 / mass
    A[SPEED, P_A], A[SPEED, P_B] = axis.area_a / mass, -axis.area_b / mass
    A[SPOOL_SPEED, SPOOL], A[SPOOL_SPEED, SPOOL_SPEED] = -w * w, -2.0 * axis.damping * w
    b[SPOOL_SPEED] = w * w / axis.rated_current
    by_spool, by_pressure, by_travel = _flow_slopes(axis, supply, point)
    stiffness = 0.0
    swept = axis.swept(supply, *pressures)
    for k, (phi, beta, _) in enumerate(oils):
        rate = beta / volumes[k]
        A[P_A + k, SPEED] = -rate * signs[k] * swept[k]
        A[P_A + k, SPOOL], A[P_A + k, POSITION] = rate * phi * by_spool[k], rate * phi * by_travel[k]
        A[P_A + k, P_A : P_B + 1] = rate * phi * np.asarray(by_pressure[k])
        # phi' = -phi / beta: oil that comes in at a higher pressure is smaller, the room that a piston leaves is not,
        # what a motor carries is
        by_motion = rate * signs[k] * swept[k] * point.v
        if axis.rotary:
            A[P_A + k, P_A : P_B + 1] += by_motion * _carried_slopes(pressures, oils)
        else:
            A[P_A + k, P_A + k] -= by_motion / beta
        stiffness += rate * areas[k] * swept[k]
    S = axis.mean_area
    lift = [S * oils[k][1] / volumes[k] * swept[k] * signs[k] / stiffness for k in range(2)]
    weights = (axis.area_a / S, -axis.area_b / S)
    return LinearAxis(point, A, b, f, S, stiffness, mass, (lift[0], lift[1]), weights, axis.rated_current)


def _carried_slopes(pressures: tuple[float, float], oils: Sequence[tuple[float, float, float]]) -> Array:
    """Derivatives of the logarithm of ``laws.carried_volume`` by both pressures."""
    (phi_a, beta_a, h_a), (phi_b, beta_b, h_b) = oils
    dp, dh, square = pressures[0] - pressures[1], h_a - h_b, EVEN * EVEN
    mean = carried_volume(dp, dh, phi_a, phi_b)
    by_a = phi_a * dp + dh - 0.5 * phi_a / beta_a * square - 2.0 * mean * dp
    by_b = -phi_b * dp - dh - 0.5 * phi_b / beta_b * square + 2.0 * mean * dp
    return np.array([by_a, by_b]) / (mean * (dp * dp + square))


def _flow_slopes(
    axis: Axis, supply: Supply, point: OperatingPoint
) -> tuple[list[float], list[list[float]], list[float]]:
    """Derivatives of both inflows by the spool, by both pressures, and by the position of the piston."""
    s, tank, p_s = point.opening, supply.tank, point.supply_pressure
    laps = (s + axis.underlap, -s + axis.underlap)
    opened = [axis.k * edge_opening(lap, axis.clearance) for lap in laps]
    opening = [axis.k * edge_slope(lap, axis.clearance) for lap in laps]
    _, _, *distances = axis.volumes(point.x)
    by_spool, by_pressure, by_travel = [], [], []
    for k, p in enumerate((point.p_a, point.p_b)):
        way = 1.0 - 2.0 * k  # a spool that moves forward opens P-A and B-T
        spool = slope = travel = 0.0
        # from the supply, and from the tank (against the return flow)
        for edge, port, sense in ((k, p_s, way), (1 - k, tank, -way)):
            dq_dk, dq_dp, dq_dx = _edge_slopes(axis, opened[edge], port - p, distances[k])
            if edge == k and axis.check_valve and p > p_s:
                dq_dk = dq_dp = dq_dx = 0.0
            spool += dq_dk * sense * opening[edge]
            slope -= dq_dp
            travel += dq_dx * way * (-1.0 if axis.end_a > axis.end_b else 1.0)
        by_spool.append(spool)
        by_travel.append(travel)
        own = slope - axis.leakage - axis.drain
        by_pressure.append([own, axis.leakage] if k == 0 else [axis.leakage, own])
    return by_spool, by_pressure, by_travel


def _edge_slopes(axis: Axis, k: float, drop: float, distance: float) -> tuple[float, float, float]:
    """Derivatives of the flow from a port into a chamber by its edge, by the drop, by the distance from the end."""
    r = cushion_resistance(distance, axis.cushion_length, axis.cushion_resistance) if drop < 0.0 else 0.0
    series = 1.0 + k * k * r
    k_all = k / math.sqrt(series)
    flow = throttle(drop, axis.laminar)
    by_distance = 0.0
    if r > 0.0:
        covered = 1.0 - distance / axis.cushion_length
        dr = -2.0 * axis.cushion_resistance * covered / axis.cushion_length
        by_distance = -0.5 * k**3 * dr / series**1.5 * flow
    return flow / series**1.5, k_all * throttle_slope(drop, axis.laminar), by_distance
