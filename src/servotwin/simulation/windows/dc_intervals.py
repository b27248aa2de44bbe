r"""A window of ``dc_window`` looked at interval by interval: its largest current, and the square of its current.

The exponential pieces of the current meet at the edges; there it is largest. From edge to edge it is that of
eq:exact-current under the speed of the window. The ripple of all torques :math:`\rho_k` beside their lines shakes the
speed too, and by way of it the current:

.. math:: \Delta i_j(t) = -\frac KL \sum_k B_{jk} \int_0^t\!\!\int_0^s \rho_k\,ds'\,ds               (eq:edge-current)
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.dc.interval import dc_interval


@helper
def update_current_peaks(world: Any, motors: Any, start: float, span: float) -> None:
    """Keep the largest current of every motor in a window that is about to be accepted.

    Most windows are far from it: what the speed adds to the answer at constant speed is bounded first.
    """
    for j in range(world.n):
        more = (
            span * span * (abs(world.prediction.alpha[j]) / 2.0 + span * abs(world.prediction.jerk[j]) / 6.0)
        )
        if world.dc.peak[j] + world.dc.emf_rate[j] * more > motors[j].i_peak:
            motors[j].i_peak = max(motors[j].i_peak, largest_at_edges(world, motors, j, start, span))


@part
def largest_at_edges(world: Any, motors: Any, j: int, start: float, span: float) -> float:
    """The largest current of motor j at the ends and the edges of the window [A]."""
    pattern = world.pattern
    most, t_old = abs(world.state.y[2 * world.n + j]), 0.0
    for s in range(pattern.edges[j] + 1):
        t = span if s == pattern.edges[j] else min(span, pattern.times[j, s] - start)
        if t <= t_old:
            continue
        shaken, i = 0.0, 0.0
        for k in range(world.n):
            at, twice = current_and_ripple(world, motors[k], k, start, span, t)
            shaken += world.prediction.B[j, k] * twice
            if k == j:
                i = at
        most = max(most, abs(i - world.dc.emf_rate[j] * shaken))  # eq:edge-current
        t_old = t
    return most  # type: ignore[no-any-return]


@part
def current_and_ripple(
    world: Any, motor: Any, k: int, start: float, span: float, until: float
) -> tuple[float, float]:
    """Current of motor k at a time of the window [A]; twice integrated, its torque beside its line [N m s2]."""
    pattern = world.pattern
    R, a0, a1 = motor.R + motor.R_bridge, world.line.a0[k], world.line.a1[k]
    i, t, once, twice = world.state.y[2 * world.n + k], 0.0, 0.0, 0.0
    alpha, jerk = world.prediction.alpha[k], world.prediction.jerk[k]
    edges = pattern.edges[k]
    for s in range(edges + 1):
        end = span if s == edges else min(span, pattern.times[k, s] - start)
        tau = min(end, until) - t
        if tau <= 0.0:
            continue
        u, w = pattern.level_a[k, s] * world.state.u_bus, motor.w + t * (alpha + 0.5 * t * jerk)
        i, first, moment, _ = dc_interval(R, motor.L, motor.K, u, i, w, alpha + jerk * t, jerk, tau)
        level = a0 + a1 * t
        twice += tau * once + motor.K * (tau * first - moment) - tau * tau * (level / 2.0 + a1 * tau / 6.0)
        once += motor.K * first - tau * (level + 0.5 * a1 * tau)
        t += tau
    return i, twice


@part
def interval_square(
    world: Any, motor: Any, j: int, i0: float, u_bus: float, start: float, span: float
) -> float:
    """Integral of i^2 over the window, interval by interval, but for the answer to the ripple [A2 s].

    It begins with the current ``i0``.
    """
    pattern = world.pattern
    R, alpha, jerk = motor.R + motor.R_bridge, world.prediction.alpha[j], world.prediction.jerk[j]
    i, t, total = i0, 0.0, 0.0
    edges = pattern.edges[j]
    for s in range(edges + 1):
        end = span if s == edges else min(span, pattern.times[j, s] - start)
        tau = end - t
        if tau <= 0.0:
            continue
        u, w = pattern.level_a[j, s] * u_bus, motor.w + t * (alpha + 0.5 * t * jerk)
        i, _, _, square = dc_interval(R, motor.L, motor.K, u, i, w, alpha + jerk * t, jerk, tau)
        total += square
        t = end
    return total
