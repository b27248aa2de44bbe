r"""Winding temperature in the steady cycle: the periodic state of the two-body network that the drives have.

.. math:: x' = F x + b\,(P(t) + \dots), \quad P = c\,R_\mathrm{ref}\,i^2\,(1 + \alpha(T_w - T_\mathrm{ref}))

The network (eq:thermal) with a resistance that grows with temperature (eq:resistance-drift) is linear in the
temperatures x = (T_w, T_h) above the surroundings: over every sample x_{j+1} = E_j x_j + f_j, over a cycle
x_1 = E x_0 + f, and in the steady cycle

.. math:: x_0 = (1 - E)^{-1} f                                                            (eq:steady-cycle)

If the spectral radius of E is 1 or more, the winding heats itself without end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.description.drive_parts import Thermal
from servotwin.mechanism.model import Array

BINS = 512  # steps of a cycle that the heat is gathered in


@dataclass(frozen=True, eq=False)
class Heating:
    """Winding and housing in the steady cycle [degC]: largest and mean winding, mean housing, and the course."""

    winding_peak: float
    winding_mean: float
    housing_mean: float
    t: Array
    winding: Array
    first: float  # peak of the winding in the first cycle, from cold

    @property
    def runs_away(self) -> bool:
        """True if there is no steady cycle: heat raises resistance faster than it leaves."""
        return not math.isfinite(self.winding_peak)


def steady_cycle(thermal: Thermal, loss: Array, seconds: Array, ambient: float | None = None) -> Heating:
    """The steady cycle of a winding under the copper losses (k,) [W] at the reference temperature (eq:steady-cycle).

    ``seconds`` (k,) each sample stands for; ``ambient`` [degC], default the reference temperature of the data.
    """
    around = thermal.reference_temperature if ambient is None else ambient
    heat, dt = _gathered(loss * seconds, seconds)
    steps = _steps(thermal, heat / dt, dt, around)
    E, f = np.eye(2), np.zeros(2)
    for E_j, f_j in steps:
        E, f = E_j @ E, E_j @ f + f_j
    t = np.concatenate([[0.0], np.cumsum(dt)])
    if np.abs(np.linalg.eigvals(E)).max() >= 1.0:
        return Heating(math.inf, math.inf, math.inf, t, np.full(len(t), math.inf), math.inf)
    x = _course(steps, np.linalg.solve(np.eye(2) - E, f))  # eq:steady-cycle
    cold = _course(steps, np.zeros(2))
    w, h = around + x[:, 0], around + x[:, 1]
    period = t[-1]
    means = [float(np.sum(0.5 * (y[1:] + y[:-1]) * dt) / period) for y in (w, h)]
    return Heating(float(w.max()), means[0], means[1], t, w, float(around + cold[:, 0].max()))


def _course(steps: list[tuple[Array, Array]], x: Array) -> Array:
    rows = [x]
    for E_j, f_j in steps:
        rows.append(E_j @ rows[-1] + f_j)
    return np.array(rows)


def _gathered(heat: Array, seconds: Array) -> tuple[Array, Array]:
    """Heat [J] and length [s] of at most ``BINS`` steps; a long rest is cut into many."""
    ends = np.cumsum(seconds)
    period = ends[-1]
    edges = np.linspace(0.0, period, BINS + 1)
    joules = np.interp(edges, np.concatenate([[0.0], ends]), np.concatenate([[0.0], np.cumsum(heat)]))
    return np.diff(joules), np.diff(edges)


def _steps(thermal: Thermal, power: Array, dt: Array, around: float) -> list[tuple[Array, Array]]:
    """The exact step (E_j, f_j) of every span with constant loss at the reference temperature."""
    C_w, C_h = thermal.winding_capacity, thermal.housing_capacity
    G_wh, G_ha = 1.0 / thermal.winding_to_housing, 1.0 / thermal.housing_to_ambient
    a, warm = thermal.temperature_coefficient, around - thermal.reference_temperature
    F = np.zeros((len(power), 2, 2))
    F[:, 0, 0], F[:, 0, 1] = (a * power - G_wh) / C_w, G_wh / C_w  # eq:thermal
    F[:, 1, 0], F[:, 1, 1] = G_wh / C_h, -(G_wh + G_ha) / C_h
    b = np.stack([power * (1.0 + a * warm) / C_w, np.zeros_like(power)], axis=1)  # eq:resistance-drift
    return [_exact(F_j, b_j, h) for F_j, b_j, h in zip(F, b, dt, strict=True)]


def _exact(F: Array, b: Array, h: float) -> tuple[Array, Array]:
    """exp(F h) and its integral times b, for a 2 x 2 matrix with two real eigenvalues."""
    mean = 0.5 * (F[0, 0] + F[1, 1])
    root = math.sqrt(0.25 * (F[0, 0] - F[1, 1]) ** 2 + F[0, 1] * F[1, 0])
    l1, l2 = mean + root, mean - root
    P1 = (F - l2 * np.eye(2)) / (l1 - l2)
    P2 = np.eye(2) - P1
    e1, e2 = math.exp(l1 * h), math.exp(l2 * h)
    g1 = h if l1 == 0.0 else math.expm1(l1 * h) / l1
    g2 = h if l2 == 0.0 else math.expm1(l2 * h) / l2
    return e1 * P1 + e2 * P2, (g1 * P1 + g2 * P2) @ b
