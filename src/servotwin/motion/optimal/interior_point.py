r"""A primal-dual interior-point method with a filter, for motions between two points.

The method is that of Wächter and Biegler (Mathematical Programming 106, 25-57, 2006): a logarithmic barrier for
bounds and slacks of inequalities, Newton steps on the perturbed optimality conditions, a line search that accepts
what reduces the constraint violation or the barrier function, a second-order correction. The steps come from
``stage_solver``. It has no restoration phase: where it does not get on, it says so, and IPOPT takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import background_kernel, callback, part
from servotwin.compiled.native_calls import call_step, not_inlined
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
    COMPLEMENTARITY,
    CURVES,
    DESCENT,
    DUAL,
    ERRORS,
    EVALUATE,
    FACTORS,
    FIXED_WEIGHT,
    IN_FILTER,
    ITERATION,
    MODEL_STEPS,
    MU,
    NEWTON,
    OBJECTIVE,
    PHI,
    SHIFT,
    SHIFT_NOW,
    SLOPES,
    STOP,
    TAU,
    THETA,
    THETA_MAX,
    THETA_MIN,
    TRIAL_F,
    VIOLATION,
    finish_rows,
    infeasibility,
    method_at,
    set_first_model,
    set_model,
)

PUSH = 1e-2  # from bounds at the start, absolute and as part of their distance
MU_FACTOR, MU_POWER, MU_ERROR = 0.2, 1.5, 10.0  # how the barrier falls, and when
TO_BOUND = 0.99
GAMMA_THETA, GAMMA_PHI, ARMIJO = 1e-5, 1e-8, 1e-8
DELTA, S_THETA, S_PHI = 1.0, 1.1, 2.3
FILTER = 400
FIRST_SHIFT, LEAST_SHIFT, MOST_SHIFT = 1e-4, 1e-20, 1e20
LARGE_Y = 1e3
SOLVED, ACCEPTED, STUCK, STOPPED, TOO_MANY, SINGULAR = 0, 1, 3, 5, -1, -3
GOOD_ENOUGH, FEASIBLE = 1e-5, 1e-6  # errors and violation within which a point is taken if no step leads on


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
    for i in range(p.n):
        total += grad[i] * d[i]
        if not p.fixed[i]:
            if np.isfinite(p.low[i]):
                total -= mu * d[i] / (q.x[i] - p.low[i])
            if np.isfinite(p.high[i]):
                total += mu * d[i] / (p.high[i] - q.x[i])
    for r in range(p.rows):
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
    not_inlined()
    return min(
        to_bounds(p.n, p.low, p.high, q.x, d, p.fixed, tau),
        to_bounds(p.rows, p.row_low, p.row_high, q.s, ds, p.equation, tau),
    )


@part
def barrier_value(p: Any, x: Any, s: Any, f: Any, mu: Any) -> Any:
    """The barrier function."""
    not_inlined()
    return f - mu * (
        barrier(p.n, p.low, p.high, x, p.fixed) + barrier(p.rows, p.row_low, p.row_high, s, p.equation)
    )


@part
def start(a: Any, at: Any) -> Any:
    """Move the start into the interior; slacks and multipliers of bounds to begin with."""
    p, q, k = a.p, a.q, a.k
    g, mu = k.g, k.scalars[MU]
    for i in range(p.n):
        q.x[i] = p.low[i] if p.fixed[i] else pushed(q.x[i], p.low[i], p.high[i], p.push)
    k.scalars[OBJECTIVE] = call_step(a.steps[EVALUATE], at, 0)
    for r in range(p.rows):
        q.s[r] = 0.0 if p.equation[r] else pushed(g[r], p.row_low[r], p.row_high[r], p.push)
    known = p.push < PUSH
    first_bounds(p.n, p.low, p.high, q.x, q.z_low, q.z_high, p.fixed, mu, known)
    first_bounds(p.rows, p.row_low, p.row_high, q.s, q.v_low, q.v_high, p.equation, mu, known)


@part
def first_multipliers(a: Any, at: Any) -> Any:
    """Multipliers of rows to begin with, by least squares; zero if they are large."""
    p, q, k = a.p, a.q, a.k
    call_step(a.steps[CURVES], at, 1)
    set_first_model(p, a.m, q, k)
    if call_step(a.steps[FACTORS], at, 0) == 0.0:
        return
    call_step(a.steps[NEWTON], at, 0)
    if largest(p.rows, k.y_new) <= LARGE_Y:
        for r in range(p.rows):
            q.y[r] = k.y_new[r]
        for i in range(p.n):
            if p.fixed[i]:
                q.y_fixed[i] += FIXED_WEIGHT * k.d[i]


@part
def convex_step(a: Any, at: Any, mu: Any) -> Any:
    """A Newton step, the model shifted until it is convex; whether there is one."""
    p, q, m, k = a.p, a.q, a.m, a.k
    shift, tried, last = 0.0, 0, k.scalars[SHIFT]
    while True:
        set_model(p, m, q, k, mu, shift)
        finish_rows(p, m)
        if call_step(a.steps[FACTORS], at, 0) != 0.0:
            break
        tried += 1
        if tried == 1:
            shift = FIRST_SHIFT if last == 0.0 else max(LEAST_SHIFT, last / 3.0)
        else:
            shift *= 100.0 if last == 0.0 else 8.0
        if shift > MOST_SHIFT:
            return False
    call_step(a.steps[NEWTON], at, 0)
    k.scalars[SHIFT_NOW] = shift
    if shift > 0.0:
        k.scalars[SHIFT] = shift
    dual_steps(p.n, p.low, p.high, q.x, k.d, q.z_low, q.z_high, p.fixed, mu, k.dz_low, k.dz_high)
    dual_steps(
        p.rows, p.row_low, p.row_high, q.s, k.ds, q.v_low, q.v_high, p.equation, mu, k.dv_low, k.dv_high
    )
    return True


@part
def tried_point(a: Any, at: Any, d: Any, ds: Any, step: Any, mu: Any, here: Any) -> Any:
    """Evaluate a trial point; whether it is acceptable to the filter. ``here``: THETA, PHI, DESCENT of the iterate."""
    not_inlined()
    p, q, k = a.p, a.q, a.k
    c = k.scalars
    for i in range(p.n):
        k.trial[i] = q.x[i] + step * d[i]
    for r in range(p.rows):
        k.trial_s[r] = q.s[r] + step * ds[r]
    c[TRIAL_F] = call_step(a.steps[EVALUATE], at, 1)
    theta, _ = infeasibility(p, k.trial_g, k.trial_s)
    phi = barrier_value(p, k.trial, k.trial_s, c[TRIAL_F], mu)
    by_phi = switching(c[THETA], c[THETA_MIN], c[DESCENT], here)
    good = acceptable(c[THETA], c[PHI], theta, phi, c[DESCENT], here, by_phi, c[THETA_MAX])
    if not good or in_filter(k.filter_theta, k.filter_phi, int(c[IN_FILTER]), theta, phi):
        return False
    if not (by_phi and phi <= c[PHI] + ARMIJO * here * c[DESCENT]) and c[IN_FILTER] < FILTER:
        last = int(c[IN_FILTER])
        k.filter_theta[last] = (1.0 - GAMMA_THETA) * c[THETA]
        k.filter_phi[last] = c[PHI] - GAMMA_PHI * c[THETA]
        c[IN_FILTER] += 1
    return True


@part
def corrected_point(a: Any, at: Any, step: Any, mu: Any, tau: Any) -> Any:
    """A second-order correction: a step with the violation of the trial point added to that of the iterate."""
    p, q, m, k = a.p, a.q, a.m, a.k
    set_model(p, m, q, k, mu, k.scalars[SHIFT_NOW])
    for r in range(p.rows):
        there = p.row_low[r] if p.equation[r] else q.s[r]
        then = p.row_low[r] if p.equation[r] else k.trial_s[r]
        m.residual[r] = step * (k.g[r] - there) + k.trial_g[r] - then
    finish_rows(p, m)
    if call_step(a.steps[FACTORS], at, 0) == 0.0:
        return False
    call_step(a.steps[NEWTON], at, 1)
    return tried_point(a, at, k.d_2, k.ds_2, longest_step(p, q, k.d_2, k.ds_2, tau), mu, step)


@callback("int64", "int64", result="float64")
def line_search(at: int, _: int) -> float:
    """The step that the filter accepts; zero if there is none."""
    a = method_at(at)
    p, q, k = a.p, a.q, a.k
    c = k.scalars
    mu, tau = c[MU], c[TAU]
    c[THETA], _ = infeasibility(p, k.g, q.s)
    c[PHI] = barrier_value(p, q.x, q.s, c[OBJECTIVE], mu)
    c[DESCENT] = barrier_descent(p, q, k.grad, k.d, k.ds, mu)
    least = least_step(c[THETA], c[THETA_MIN], c[DESCENT])
    step, first = longest_step(p, q, k.d, k.ds, tau), True
    while step > least:
        if tried_point(a, at, k.d, k.ds, step, mu, step):
            return step  # type: ignore[no-any-return]
        if first:
            theta, _ = infeasibility(p, k.trial_g, k.trial_s)
            if theta >= c[THETA] and corrected_point(a, at, step, mu, tau):
                return step  # type: ignore[no-any-return]
        first = False
        step *= 0.5
    return 0.0


@part
def move(a: Any, at: Any, step: Any, mu: Any, tau: Any) -> Any:
    """Take the trial point; multipliers follow."""
    p, q, k = a.p, a.q, a.k
    dual = min(
        to_zero(p.n, q.z_low, k.dz_low, tau),
        to_zero(p.n, q.z_high, k.dz_high, tau),
        to_zero(p.rows, q.v_low, k.dv_low, tau),
        to_zero(p.rows, q.v_high, k.dv_high, tau),
    )
    for i in range(p.n):
        if p.fixed[i]:
            q.y_fixed[i] += step * FIXED_WEIGHT * (k.d[i] - (p.low[i] - q.x[i]))
        q.x[i] = k.trial[i]
    for r in range(p.rows):
        q.s[r] = k.trial_s[r]
        q.y[r] += step * (k.y_new[r] - q.y[r])
        k.g[r] = k.trial_g[r]
    k.scalars[OBJECTIVE] = k.scalars[TRIAL_F]
    advance(p.n, p.low, p.high, q.x, q.z_low, q.z_high, k.dz_low, k.dz_high, p.fixed, dual, mu)
    advance(p.rows, p.row_low, p.row_high, q.s, q.v_low, q.v_high, k.dv_low, k.dv_high, p.equation, dual, mu)
    call_step(a.steps[SLOPES], at, 0)


@part
def lowered(a: Any, at: Any, mu: Any) -> Any:
    """The barrier parameter for the next step: lower as soon as the barrier problem is solved well enough."""
    floor = a.p.tolerances[0] / (MU_ERROR + 1.0)
    while mu > floor:
        a.k.scalars[MU] = mu
        if call_step(a.steps[ERRORS], at, 0) > MU_ERROR * mu:
            break
        mu = max(floor, min(MU_FACTOR * mu, mu**MU_POWER))
        a.k.scalars[IN_FILTER] = 0.0
    return mu


@part
def solved(a: Any, at: Any) -> Any:
    """Whether all tolerances are met."""
    c, t = a.k.scalars, a.p.tolerances
    c[MU] = 0.0
    error = call_step(a.steps[ERRORS], at, 0)
    return error <= t[0] and c[VIOLATION] <= t[1] and c[DUAL] <= t[2] and c[COMPLEMENTARITY] <= t[3]


@part
def good_enough(a: Any, at: Any) -> Any:
    """Whether an iterate from which no step leads on is a solution all the same, but for rounding."""
    c = a.k.scalars
    c[MU] = 0.0
    return call_step(a.steps[ERRORS], at, 0) <= GOOD_ENOUGH and c[VIOLATION] <= FEASIBLE


@callback("int64", "int64", result="float64")
def begin(at: int, _: int) -> float:
    """Start with slacks and multipliers to begin with, and what the filter allows at most."""
    a = method_at(at)
    p, q, k = a.p, a.q, a.k
    start(a, at)
    call_step(a.steps[SLOPES], at, 0)
    if p.push >= PUSH:
        first_multipliers(a, at)
    theta, _ = infeasibility(p, k.g, q.s)
    k.scalars[THETA_MIN], k.scalars[THETA_MAX] = 1e-4 * max(1.0, theta), 1e4 * max(1.0, theta)
    return 0.0


STEPS = (*MODEL_STEPS, line_search, begin)
SEARCH, BEGIN = len(STEPS) - 2, len(STEPS) - 1


@background_kernel
def solve(at: Any, mu: Any, most: Any) -> Any:
    """Iterate until the tolerances are met, from the barrier ``mu`` on; the status. ``at``: address of a Method."""
    a = method_at(at)
    k = a.k
    k.scalars[MU] = mu
    call_step(a.steps[BEGIN], at, 0)
    for iteration in range(most):
        k.scalars[ITERATION] = iteration
        if solved(a, at):
            return SOLVED
        if k.scalars[STOP] != 0.0:
            return STOPPED
        mu = lowered(a, at, mu)
        tau = max(TO_BOUND, 1.0 - mu)
        k.scalars[MU], k.scalars[TAU] = mu, tau
        call_step(a.steps[CURVES], at, 0)
        if not convex_step(a, at, mu):
            return SINGULAR
        step = call_step(a.steps[SEARCH], at, 0)
        if step == 0.0:
            return ACCEPTED if good_enough(a, at) else STUCK
        move(a, at, step, mu, tau)
    return TOO_MANY
