r"""Winding temperature in the steady cycle: the periodic state of the two-body network that the drives have.

.. math:: x' = F x + b\,(P(t) + \dots), \quad P = c\,R_\mathrm{ref}\,i^2\,(1 + \alpha(T_w - T_\mathrm{ref}))

The network (eq:thermal) with a resistance that grows with temperature (eq:resistance-drift) is linear in the
temperatures x = (T_w, T_h) above the surroundings: over every sample x_{j+1} = E_j x_j + f_j, over a cycle
x_1 = E x_0 + f, and in the steady cycle

.. math:: x_0 = (1 - E)^{-1} f                                                            (eq:steady-cycle)

If the spectral radius of E is 1 or more, the winding heats itself without end. Samples of a motion are gathered in
short spans of constant loss; a rest, however long, is a span of its own. Within a span x and its integral are exact,

.. math:: \int_0^h x\,dt = G x_0 + H b\,P, \quad G = \int_0^h e^{F t} dt, \quad H = \int_0^h G\,dt   (eq:span-integral)

so that means do not depend on the length of spans.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.description.drive_parts import Thermal
from servotwin.mechanism.model import Array

BINS = 512  # spans that the heat of a motion is gathered in
PASSES = 8  # in which long samples are told from short ones
PIECES = 24  # of a long span, short ones first: the winding cools fastest at its beginning
SMALL = 1e-4  # of eigenvalue times span, below which a series takes the place of a quotient


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
    heat, dt = _spans(loss * seconds, seconds)
    # a winding that heats without end leaves the numbers' range
    with np.errstate(over="ignore", invalid="ignore"):
        steps, integrals = _steps(thermal, heat / dt, dt, around)
        E = (1.0, 0.0, 0.0, 1.0)
        for step in steps:
            E = _after(step, E)
        f = _course(steps, 0.0, 0.0)
    t = np.concatenate([[0.0], np.cumsum(dt)])
    matrix = np.array(E).reshape(2, 2)
    known = bool(np.isfinite(matrix).all() and np.isfinite(f).all())
    if not known or np.abs(np.linalg.eigvals(matrix)).max() >= 1.0:
        return Heating(math.inf, math.inf, math.inf, t, np.full(len(t), math.inf), math.inf)
    start = np.linalg.solve(np.eye(2) - matrix, f[-1])  # eq:steady-cycle
    x = _course(steps, float(start[0]), float(start[1]))
    area = np.einsum("kij,kj->i", integrals, np.column_stack([x[:-1], np.ones(len(dt))]))
    w, (w_mean, h_mean) = around + x[:, 0], around + area / t[-1]
    return Heating(float(w.max()), float(w_mean), float(h_mean), t, w, float(around + f[:, 0].max()))


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


def _spans(heat: Array, seconds: Array) -> tuple[Array, Array]:
    """Heat [J] and length [s] of spans: samples of a motion gathered in ``BINS``, long ones each cut into pieces."""
    long = np.zeros(len(seconds), dtype=np.bool_)
    for _ in range(PASSES):  # a sample is long beside the spans of those that are not
        more = seconds > seconds[~long].sum() / BINS
        if (more == long).all():
            break
        long = more
    width = max(float(seconds[~long].sum()) / BINS, 1e-300)  # short samples alone are gathered by it
    ends = np.cumsum(np.where(long, 0.0, seconds))
    number = np.floor((ends - 0.5 * seconds) / width)
    fresh = np.ones(len(seconds), dtype=np.bool_)
    fresh[1:] = long[1:] | long[:-1] | (number[1:] != number[:-1])
    first = np.flatnonzero(fresh)
    joules, length = np.add.reduceat(heat, first), np.add.reduceat(seconds, first)
    cut = length > PIECES / BINS * seconds.sum()  # a rest that is a good part of the cycle
    share = np.diff((np.arange(PIECES + 1) / PIECES) ** 3)
    parts = [share if one else np.ones(1) for one in cut]
    count = [len(part) for part in parts]
    along = np.concatenate(parts)
    return np.repeat(joules, count) * along, np.repeat(length, count) * along


def _steps(thermal: Thermal, power: Array, dt: Array, around: float) -> tuple[list[Step], Array]:
    """Every span with constant loss at the reference temperature: its exact step, and its integral (eq:span-integral).

    The integrals (k, 2, 3) act on (T_w, T_h, 1) at the begin of a span.
    """
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
    k1, k2 = (_twice_integrated(x, g, dt) for x, g in ((l1, g1), (l2, g2)))
    span = l1 - l2
    p11, p12, p21, p22 = (a - l2) / span, b / span, c / span, (d - l2) / span  # projector of the slower mode

    def matrix(one: Array, other: Array) -> tuple[Array, Array, Array, Array]:
        """f(F) of a function with the values ``one`` and ``other`` at both eigenvalues."""
        gap = one - other
        return other + gap * p11, gap * p12, gap * p21, other + gap * p22

    E, G, H = matrix(e1, e2), matrix(g1, g2), matrix(k1, k2)
    rows = (*E, G[0] * gain, G[2] * gain)
    integrals = np.stack([G[0], G[1], H[0] * gain, G[2], G[3], H[2] * gain], axis=1)  # eq:span-integral
    return list(zip(*(row.tolist() for row in rows), strict=True)), integrals.reshape(-1, 2, 3)


def _twice_integrated(rate: Array, once: Array, dt: Array) -> Array:
    """The integral of (exp(rate t) - 1)/rate from 0 to dt, of which ``once`` is the value at dt."""
    x = rate * dt
    small = np.abs(x) < SMALL
    return np.where(small, dt**2 * (0.5 + x / 6.0), (once - dt) / np.where(small, 1.0, rate))
