r"""A primal-dual interior-point method with a filter, for motions between two points.

The method is that of Wächter and Biegler (Mathematical Programming 106, 25-57, 2006): a logarithmic barrier for
bounds and slacks of inequalities, Newton steps on the perturbed optimality conditions, a line search that accepts
what reduces the constraint violation or the barrier function, a second-order correction. The steps come from
``stage_solver``. It has no restoration phase: where it does not get on, it says so, and IPOPT takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import background_kernel, part
from servotwin.motion.optimal.barrier import (
    advance,
    barrier,
    dual_steps,
    first_bounds,
    largest,
    pushed,
    to_bounds,
    to_zero,
)
from servotwin.motion.optimal.newton_model import (
    FIXED_WEIGHT,
    curves,
    errors,
    evaluate,
    finish_rows,
    infeasibility,
    newton_step,
    set_model,
    slopes,
)
from servotwin.motion.optimal.stage_solver import clear

PUSH = 1e-2  # from bounds at the start, absolute and as part of their distance
MU_FACTOR, MU_POWER, MU_ERROR = 0.2, 1.5, 10.0  # how the barrier falls, and when
TO_BOUND = 0.99
GAMMA_THETA, GAMMA_PHI, ARMIJO = 1e-5, 1e-8, 1e-8
DELTA, S_THETA, S_PHI = 1.0, 1.1, 2.3
FILTER = 400
FIRST_SHIFT, LEAST_SHIFT, MOST_SHIFT = 1e-4, 1e-20, 1e20
LARGE_Y = 1e3
# scalars of an iterate
ITERATION, OBJECTIVE, VIOLATION, DUAL, SHIFT, SHIFT_NOW, THETA, PHI, DESCENT = range(9)
THETA_MIN, THETA_MAX, TRIAL_F, IN_FILTER, STOP = range(9, 14)
SCALARS = 14
SOLVED, STUCK, STOPPED, TOO_MANY, SINGULAR = 0, 3, 5, -1, -3


@part
def in_filter(filter_theta: Any, filter_phi: Any, count: Any, theta: Any, phi: Any) -> Any:
    """Whether a point is no better than one that the filter holds."""
    for i in range(count):
        if (
            theta >= (1.0 - GAMMA_THETA) * filter_theta[i]
            and phi >= filter_phi[i] - GAMMA_PHI * filter_theta[i]
        ):
            return True
    return False


@part
def barrier_descent(p: Any, q: Any, grad: Any, d: Any, ds: Any, mu: Any) -> Any:
    """Slope of the barrier function along a step."""
    total = 0.0
    for i in range(d.size):
        total += grad[i] * d[i]
        if not p.fixed[i]:
            if np.isfinite(p.low[i]):
                total -= mu * d[i] / (q.x[i] - p.low[i])
            if np.isfinite(p.high[i]):
                total += mu * d[i] / (p.high[i] - q.x[i])
    for r in range(ds.size):
        if not p.equation[r]:
            if np.isfinite(p.row_low[r]):
                total -= mu * ds[r] / (q.s[r] - p.row_low[r])
            if np.isfinite(p.row_high[r]):
                total += mu * ds[r] / (p.row_high[r] - q.s[r])
    return total


@part
def switching(theta: Any, theta_min: Any, descent: Any, step: Any) -> Any:
    """Whether the barrier function decides about a step, not the violation."""
    if theta > theta_min or descent >= 0.0:
        return False
    return step * (-descent) ** S_PHI > DELTA * theta**S_THETA


@part
def acceptable(
    theta: Any,
    phi: Any,
    new_theta: Any,
    new_phi: Any,
    descent: Any,
    step: Any,
    armijo_type: Any,
    theta_max: Any,
) -> Any:
    """Whether a trial point is good enough compared with the current one."""
    if not np.isfinite(new_phi) or not np.isfinite(new_theta) or new_theta > theta_max:
        return False
    slack = 10.0 * 2.2e-16 * max(1.0, abs(phi))
    if armijo_type:
        return new_phi <= phi + ARMIJO * step * descent + slack
    return new_theta <= (1.0 - GAMMA_THETA) * theta or new_phi <= phi - GAMMA_PHI * theta + slack


@part
def least_step(theta: Any, theta_min: Any, descent: Any) -> Any:
    """The step below which the line search gives up."""
    least = GAMMA_THETA
    if descent < 0.0:
        least = min(least, GAMMA_PHI * theta / -descent)
        if theta <= theta_min:
            least = min(least, DELTA * theta**S_THETA / (-descent) ** S_PHI)
    return 0.05 * least


@part
def longest_step(p: Any, q: Any, d: Any, ds: Any, tau: Any) -> Any:
    """The longest step that variables and slacks allow."""
    return min(
        to_bounds(p.low, p.high, q.x, d, p.fixed, tau),
        to_bounds(p.row_low, p.row_high, q.s, ds, p.equation, tau),
    )


@part
def barrier_value(p: Any, x: Any, s: Any, f: Any, mu: Any) -> Any:
    """The barrier function."""
    return f - mu * (barrier(p.low, p.high, x, p.fixed) + barrier(p.row_low, p.row_high, s, p.equation))


@part
def start(p: Any, q: Any, g: Any, mu: Any, buffer_in: Any, buffer_out: Any) -> Any:
    """Move the start into the interior; slacks and multipliers of bounds to begin with."""
    for i in range(q.x.size):
        q.x[i] = p.low[i] if p.fixed[i] else pushed(q.x[i], p.low[i], p.high[i], p.push)
    f = evaluate(p, q.x, g, buffer_in, buffer_out)
    for r in range(g.size):
        q.s[r] = 0.0 if p.equation[r] else pushed(g[r], p.row_low[r], p.row_high[r], p.push)
    known = p.push < PUSH
    first_bounds(p.low, p.high, q.x, q.z_low, q.z_high, p.fixed, mu, known)
    first_bounds(p.row_low, p.row_high, q.s, q.v_low, q.v_high, p.equation, mu, known)
    return f


@part
def first_multipliers(p: Any, q: Any, m: Any, w: Any, k: Any, grad: Any, g: Any) -> Any:
    """Multipliers of rows to begin with, by least squares; zero if they are large."""
    clear(m.node_hess)
    clear(m.link_hess)
    clear(m.heat_hess)
    clear(m.rest_hess)
    set_model(p, m, q, grad, g, 0.0, 0.0, True)
    if newton_step(p, m, w, k.d, k.ds, k.y_new, k.work, k.row_work) and largest(k.y_new) <= LARGE_Y:
        for r in range(g.size):
            q.y[r] = k.y_new[r]
        for i in range(grad.size):
            if p.fixed[i]:
                q.y_fixed[i] += FIXED_WEIGHT * k.d[i]


@part
def convex_step(p: Any, q: Any, m: Any, w: Any, k: Any, mu: Any) -> Any:
    """A Newton step, the model shifted until it is convex; whether there is one."""
    shift, tried, last = 0.0, 0, k.scalars[SHIFT]
    while True:
        set_model(p, m, q, k.grad, k.g, mu, shift, False)
        finish_rows(p, m)
        if newton_step(p, m, w, k.d, k.ds, k.y_new, k.work, k.row_work):
            break
        tried += 1
        if tried == 1:
            shift = FIRST_SHIFT if last == 0.0 else max(LEAST_SHIFT, last / 3.0)
        else:
            shift *= 100.0 if last == 0.0 else 8.0
        if shift > MOST_SHIFT:
            return False
    k.scalars[SHIFT_NOW] = shift
    if shift > 0.0:
        k.scalars[SHIFT] = shift
    dual_steps(p.low, p.high, q.x, k.d, q.z_low, q.z_high, p.fixed, mu, k.dz_low, k.dz_high)
    dual_steps(p.row_low, p.row_high, q.s, k.ds, q.v_low, q.v_high, p.equation, mu, k.dv_low, k.dv_high)
    return True


@part
def tried_point(p: Any, q: Any, k: Any, d: Any, ds: Any, step: Any, mu: Any, here: Any) -> Any:
    """Evaluate a trial point; whether it is acceptable to the filter. ``here``: THETA, PHI, DESCENT of the iterate."""
    c = k.scalars
    for i in range(d.size):
        k.trial[i] = q.x[i] + step * d[i]
    for r in range(ds.size):
        k.trial_s[r] = q.s[r] + step * ds[r]
    c[TRIAL_F] = evaluate(p, k.trial, k.trial_g, k.buffer_in, k.buffer_out)
    theta, _ = infeasibility(p, k.trial_g, k.trial_s)
    phi = barrier_value(p, k.trial, k.trial_s, c[TRIAL_F], mu)
    by_phi = switching(c[THETA], c[THETA_MIN], c[DESCENT], here)
    good = acceptable(c[THETA], c[PHI], theta, phi, c[DESCENT], here, by_phi, c[THETA_MAX])
    if not good or in_filter(k.filter_theta, k.filter_phi, int(c[IN_FILTER]), theta, phi):
        return False
    if not (by_phi and phi <= c[PHI] + ARMIJO * here * c[DESCENT]) and c[IN_FILTER] < FILTER:
        at = int(c[IN_FILTER])
        k.filter_theta[at] = (1.0 - GAMMA_THETA) * c[THETA]
        k.filter_phi[at] = c[PHI] - GAMMA_PHI * c[THETA]
        c[IN_FILTER] += 1
    return True


@part
def corrected_point(p: Any, q: Any, m: Any, w: Any, k: Any, step: Any, mu: Any, tau: Any) -> Any:
    """A second-order correction: a step with the violation of the trial point added to that of the iterate."""
    set_model(p, m, q, k.grad, k.g, mu, k.scalars[SHIFT_NOW], False)
    for r in range(k.g.size):
        at = p.row_low[r] if p.equation[r] else q.s[r]
        then = p.row_low[r] if p.equation[r] else k.trial_s[r]
        m.residual[r] = step * (k.g[r] - at) + k.trial_g[r] - then
    finish_rows(p, m)
    if not newton_step(p, m, w, k.d_2, k.ds_2, k.trial_g, k.work, k.row_work):
        return False
    return tried_point(p, q, k, k.d_2, k.ds_2, longest_step(p, q, k.d_2, k.ds_2, tau), mu, step)


@part
def line_search(p: Any, q: Any, m: Any, w: Any, k: Any, mu: Any, tau: Any) -> Any:
    """The step that the filter accepts; zero if there is none."""
    c = k.scalars
    c[THETA], _ = infeasibility(p, k.g, q.s)
    c[PHI] = barrier_value(p, q.x, q.s, c[OBJECTIVE], mu)
    c[DESCENT] = barrier_descent(p, q, k.grad, k.d, k.ds, mu)
    least = least_step(c[THETA], c[THETA_MIN], c[DESCENT])
    step, first = longest_step(p, q, k.d, k.ds, tau), True
    while step > least:
        if tried_point(p, q, k, k.d, k.ds, step, mu, step):
            return step
        if first:
            theta, _ = infeasibility(p, k.trial_g, k.trial_s)
            if theta >= c[THETA] and corrected_point(p, q, m, w, k, step, mu, tau):
                return step
        first = False
        step *= 0.5
    return 0.0


@part
def move(p: Any, q: Any, m: Any, k: Any, step: Any, mu: Any, tau: Any) -> Any:
    """Take the trial point; multipliers follow."""
    dual = min(
        to_zero(q.z_low, k.dz_low, tau),
        to_zero(q.z_high, k.dz_high, tau),
        to_zero(q.v_low, k.dv_low, tau),
        to_zero(q.v_high, k.dv_high, tau),
    )
    for i in range(q.x.size):
        if p.fixed[i]:
            q.y_fixed[i] += step * FIXED_WEIGHT * (k.d[i] - (p.low[i] - q.x[i]))
        q.x[i] = k.trial[i]
    for r in range(q.s.size):
        q.s[r] = k.trial_s[r]
        q.y[r] += step * (k.y_new[r] - q.y[r])
        k.g[r] = k.trial_g[r]
    k.scalars[OBJECTIVE] = k.scalars[TRIAL_F]
    advance(p.low, p.high, q.x, q.z_low, q.z_high, k.dz_low, k.dz_high, p.fixed, dual, mu)
    advance(p.row_low, p.row_high, q.s, q.v_low, q.v_high, k.dv_low, k.dv_high, p.equation, dual, mu)
    slopes(p, m, q.x, k.grad, k.buffer_in, k.buffer_out)


@part
def lowered(p: Any, q: Any, m: Any, k: Any, mu: Any) -> Any:
    """The barrier parameter for the next step: lower as soon as the barrier problem is solved well enough."""
    floor = p.tolerances[0] / (MU_ERROR + 1.0)
    while mu > floor:
        error, _, _, _ = errors(p, m, q, k.grad, k.g, mu, k.work)
        if error > MU_ERROR * mu:
            break
        mu = max(floor, min(MU_FACTOR * mu, mu**MU_POWER))
        k.scalars[IN_FILTER] = 0.0
    return mu


@part
def solved(p: Any, q: Any, m: Any, k: Any, iteration: Any) -> Any:
    """Whether all tolerances are met."""
    error, dual, violation, compl = errors(p, m, q, k.grad, k.g, 0.0, k.work)
    k.scalars[ITERATION], k.scalars[VIOLATION], k.scalars[DUAL] = iteration, violation, dual
    t = p.tolerances
    return error <= t[0] and violation <= t[1] and dual <= t[2] and compl <= t[3]


@background_kernel
def solve(p: Any, q: Any, m: Any, w: Any, k: Any, mu: Any, most: Any) -> Any:
    """Iterate from the start in q until the tolerances are met; the status."""
    k.scalars[OBJECTIVE] = start(p, q, k.g, mu, k.buffer_in, k.buffer_out)
    slopes(p, m, q.x, k.grad, k.buffer_in, k.buffer_out)
    if p.push >= PUSH:
        first_multipliers(p, q, m, w, k, k.grad, k.g)
    theta, _ = infeasibility(p, k.g, q.s)
    k.scalars[THETA_MIN], k.scalars[THETA_MAX] = 1e-4 * max(1.0, theta), 1e4 * max(1.0, theta)
    for iteration in range(most):
        if solved(p, q, m, k, iteration):
            return SOLVED
        if k.scalars[STOP] != 0.0:
            return STOPPED
        mu = lowered(p, q, m, k, mu)
        tau = max(TO_BOUND, 1.0 - mu)
        curves(p, m, q.x, q.y, k.buffer_in)
        if not convex_step(p, q, m, w, k, mu):
            return SINGULAR
        step = line_search(p, q, m, w, k, mu, tau)
        if step == 0.0:
            return STUCK
        move(p, q, m, k, step, mu, tau)
    return TOO_MANY
