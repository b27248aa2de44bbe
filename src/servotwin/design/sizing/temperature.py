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
    E = (1.0, 0.0, 0.0, 1.0)
    for step in steps:
        E = _after(step, E)
    f = _course(steps, 0.0, 0.0)
    t = np.concatenate([[0.0], np.cumsum(dt)])
    matrix = np.array(E).reshape(2, 2)
    if np.abs(np.linalg.eigvals(matrix)).max() >= 1.0:
        return Heating(math.inf, math.inf, math.inf, t, np.full(len(t), math.inf), math.inf)
    start = np.linalg.solve(np.eye(2) - matrix, f[-1])  # eq:steady-cycle
    x = _course(steps, float(start[0]), float(start[1]))
    w, h = around + x[:, 0], around + x[:, 1]
    means = [float(np.sum(0.5 * (y[1:] + y[:-1]) * dt) / t[-1]) for y in (w, h)]
    return Heating(float(w.max()), means[0], means[1], t, w, float(around + f[:, 0].max()))


Step = tuple[float, float, float, float, float, float]  # E_j by rows, then f_j
Matrix = tuple[float, float, float, float]


def _after(step: Step, E: Matrix) -> Matrix:
    """The product E_j E."""
    a, b, c, d = step[:4]
    return a * E[0] + b * E[2], a * E[1] + b * E[3], c * E[0] + d * E[2], c * E[1] + d * E[3]


def _course(steps: list[Step], w: float, h: float) -> Array:
    """Temperatures (k + 1, 2) above the surroundings, from a first one on."""
    rows = [(w, h)]
    for a, b, c, d, e, f in steps:
        w, h = a * w + b * h + e, c * w + d * h + f
        rows.append((w, h))
    return np.array(rows)


def _gathered(heat: Array, seconds: Array) -> tuple[Array, Array]:
    """Heat [J] and length [s] of at most ``BINS`` steps; a long rest is cut into many."""
    ends = np.cumsum(seconds)
    period = ends[-1]
    edges = np.linspace(0.0, period, BINS + 1)
    joules = np.interp(edges, np.concatenate([[0.0], ends]), np.concatenate([[0.0], np.cumsum(heat)]))
    return np.diff(joules), np.diff(edges)


def _steps(thermal: Thermal, power: Array, dt: Array, around: float) -> list[Step]:
    """The exact step of every span with constant loss at the reference temperature: exp(F h) and its integral."""
    C_w, C_h = thermal.winding_capacity, thermal.housing_capacity
    G_wh, G_ha = 1.0 / thermal.winding_to_housing, 1.0 / thermal.housing_to_ambient
    alpha, warm = thermal.temperature_coefficient, around - thermal.reference_temperature
    a, b = (alpha * power - G_wh) / C_w, np.full_like(power, G_wh / C_w)  # eq:thermal
    c, d = np.full_like(power, G_wh / C_h), np.full_like(power, -(G_wh + G_ha) / C_h)
    gain = power * (1.0 + alpha * warm) / C_w  # eq:resistance-drift
    root = np.sqrt(0.25 * (a - d) ** 2 + b * c)  # both eigenvalues are real
    l1, l2 = 0.5 * (a + d) + root, 0.5 * (a + d) - root
    e1, e2 = np.exp(l1 * dt), np.exp(l2 * dt)
    g1, g2 = (np.where(x == 0.0, dt, np.expm1(x * dt) / np.where(x == 0.0, 1.0, x)) for x in (l1, l2))
    span = l1 - l2
    p11, p12, p21, p22 = (a - l2) / span, b / span, c / span, (d - l2) / span  # projector of the slower mode
    rows = (
        e2 + (e1 - e2) * p11, (e1 - e2) * p12, (e1 - e2) * p21, e2 + (e1 - e2) * p22,
        (g2 + (g1 - g2) * p11) * gain, (g1 - g2) * p21 * gain,
    )  # fmt: skip
    return list(zip(*(row.tolist() for row in rows), strict=True))
