r"""A window of ``plain`` looked at interval by interval: its largest current, and the square of its current.

The exponential pieces of the current meet at the edges; there it is largest. From edge to edge it is that of
eq:exact-current under the speed of the window. The ripple of all torques :math:`\rho_k` beside their lines shakes the
speed too, and by way of it the current:

.. math:: \Delta i_j(t) = -\frac KL \sum_k B_{jk} \int_0^t\!\!\int_0^s \rho_k\,ds'\,ds               (eq:edge-current)
"""

from __future__ import annotations

from typing import Any

from servotwin.drives.exact import dc_interval
from servotwin.dynamics.recursive.jit import helper, part


@helper
def note_largest_currents(world: Any, motors: Any, start: float, span: float) -> None:
    """Keep the largest current of every motor in a window that is about to be accepted.

    Most windows are far from it: what the speed adds to the answer at constant speed is bounded first.
    """
    for j in range(world.n):
        more = span * span * (abs(world.alpha[j]) / 2.0 + span * abs(world.jerk[j]) / 6.0)
        if world.most[j, 0] + world.back_emf[j] * more > motors[j].i_peak:
            motors[j].i_peak = max(motors[j].i_peak, largest_at_edges(world, motors, j, start, span))


@part
def largest_at_edges(world: Any, motors: Any, j: int, start: float, span: float) -> float:
    """The largest current of motor j at the ends and the edges of the window [A]."""
    most, t_old = abs(world.y[2 * world.n + j]), 0.0
    for s in range(world.edges[j] + 1):
        t = span if s == world.edges[j] else min(span, world.times[j, s] - start)
        if t <= t_old:
            continue
        shaken, i = 0.0, 0.0
        for k in range(world.n):
            at, twice = current_and_ripple(world, motors[k], k, start, span, t)
            shaken += world.B[j, k] * twice
            if k == j:
                i = at
        most = max(most, abs(i - world.back_emf[j] * shaken))  # eq:edge-current
        t_old = t
    return most  # type: ignore[no-any-return]


@part
def current_and_ripple(
    world: Any, motor: Any, k: int, start: float, span: float, until: float
) -> tuple[float, float]:
    """Current of motor k at a time of the window [A]; twice integrated, its torque beside its line [N m s2]."""
    R, a0, a1 = motor.R + motor.R_bridge, world.a0[k], world.a1[k]
    i, t, once, twice = world.y[2 * world.n + k], 0.0, 0.0, 0.0
    alpha, jerk = world.alpha[k], world.jerk[k]
    edges = world.edges[k]
    for s in range(edges + 1):
        end = span if s == edges else min(span, world.times[k, s] - start)
        tau = min(end, until) - t
        if tau <= 0.0:
            continue
        u, w = world.level_a[k, s] * world.u_bus, motor.w + t * (alpha + 0.5 * t * jerk)
        i, first, moment, _ = dc_interval(R, motor.L, motor.K, u, i, w, alpha + jerk * t, jerk, tau)
        level = a0 + a1 * t
        twice += tau * once + motor.K * (tau * first - moment) - tau * tau * (level / 2.0 + a1 * tau / 6.0)
        once += motor.K * first - tau * (level + 0.5 * a1 * tau)
        t += tau
    return i, twice


@part
def interval_square(world: Any, motor: Any, j: int, start: float, span: float) -> float:
    """Integral of i^2 over the window, interval by interval, but for the answer to the ripple [A2 s]."""
    R, alpha, jerk = motor.R + motor.R_bridge, world.alpha[j], world.jerk[j]
    i, t, total = world.y[2 * world.n + j], 0.0, 0.0
    edges = world.edges[j]
    for s in range(edges + 1):
        end = span if s == edges else min(span, world.times[j, s] - start)
        tau = end - t
        if tau <= 0.0:
            continue
        u, w = world.level_a[j, s] * world.u_bus, motor.w + t * (alpha + 0.5 * t * jerk)
        i, _, _, square = dc_interval(R, motor.L, motor.K, u, i, w, alpha + jerk * t, jerk, tau)
        total += square
        t = end
    return total
