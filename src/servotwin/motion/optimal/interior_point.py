r"""A primal-dual interior-point method with a filter, for motions between two points.

The method is that of Wächter and Biegler (Mathematical Programming 106, 25-57, 2006): a logarithmic barrier for
bounds and slacks of inequalities, Newton steps on the perturbed optimality conditions, a line search that accepts
what reduces the constraint violation or the barrier function, a second-order correction. The steps come from
``stage_solver``. It has no restoration phase: where it does not get on, it says so, and IPOPT takes over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from servotwin.compiled.jit import kernel, part
from servotwin.motion.optimal.block_values import (
    add_hessian_product,
    add_jacobian_product,
    add_slopes,
    add_transposed_product,
    add_values,
    store_curves,
)
from servotwin.motion.optimal.stage_solver import clear, equation_multipliers, factor, fill, forward

FIXED_WEIGHT = 1e8  # of a variable that is given
PUSH = 1e-2  # from bounds at the start, absolute and as part of their distance
MU_FACTOR, MU_POWER, MU_ERROR = 0.2, 1.5, 10.0  # how the barrier falls, and when
TO_BOUND = 0.99
SCALE_MAX = 100.0
GAMMA_THETA, GAMMA_PHI, ARMIJO = 1e-5, 1e-8, 1e-8
DELTA, S_THETA, S_PHI = 1.0, 1.1, 2.3
DUAL_CLIP = 1e10
FILTER = 400
FIRST_SHIFT, LEAST_SHIFT, MOST_SHIFT = 1e-4, 1e-20, 1e20
LARGE_Y = 1e3
# scalars of an iterate
ITERATION, OBJECTIVE, VIOLATION, DUAL, SHIFT, SHIFT_NOW, THETA, PHI, DESCENT = range(9)
THETA_MIN, THETA_MAX, TRIAL_F, IN_FILTER = range(9, 13)
SCALARS = 13
SOLVED, STUCK, TOO_MANY, SINGULAR = 0, 3, -1, -3


class Problem(NamedTuple):
    """Stages, bounds of variables and rows, what is given, and tolerances (error, violation, dual, complementarity)."""

    s: Any
    low: Any
    high: Any
    fixed: Any
    row_low: Any
    row_high: Any
    equation: Any
    tolerances: Any
    push: float  # from the bounds at the start; less than PUSH says that multipliers are known


class State(NamedTuple):
    """Iterate: variables x, slacks of inequalities, multipliers of rows, of bounds of both, and of given variables."""

    x: Any
    s: Any
    y: Any
    z_low: Any
    z_high: Any
    v_low: Any
    v_high: Any
    y_fixed: Any


class Memory(NamedTuple):
    """Vectors that the method needs, the filter, and ``scalars`` by the names above."""

    grad: Any
    d: Any
    d_2: Any
    work: Any
    trial: Any
    dz_low: Any
    dz_high: Any
    g: Any
    ds: Any
    ds_2: Any
    y_new: Any
    row_work: Any
    trial_s: Any
    trial_g: Any
    dv_low: Any
    dv_high: Any
    filter_theta: Any
    filter_phi: Any
    scalars: Any
    buffer_in: Any
    buffer_out: Any


@part
def evaluate(p, x, g, buffer_in, buffer_out):  # type: ignore[no-untyped-def]
    """Rows g; the objective."""
    s = p.s
    fill(g, 0.0)
    f = add_values(s.node, x, g, buffer_in, buffer_out)
    f += add_values(s.link, x, g, buffer_in, buffer_out)
    if s.h > 0:
        f += add_values(s.heat, x, g, buffer_in, buffer_out)
        f += add_values(s.rest, x, g, buffer_in, buffer_out)
    return f


@part
def slopes(p, m, x, grad, buffer_in, buffer_out):  # type: ignore[no-untyped-def]
    """Gradient and Jacobians."""
    s = p.s
    fill(grad, 0.0)
    add_slopes(s.node, x, grad, m.node_jac, buffer_in, buffer_out)
    add_slopes(s.link, x, grad, m.link_jac, buffer_in, buffer_out)
    if s.h > 0:
        add_slopes(s.heat, x, grad, m.heat_jac, buffer_in, buffer_out)
        add_slopes(s.rest, x, grad, m.rest_jac, buffer_in, buffer_out)


@part
def curves(p, m, x, y, buffer_in):  # type: ignore[no-untyped-def]
    """Hessians of the Lagrangian."""
    s = p.s
    store_curves(s.node, x, y, m.node_hess, buffer_in)
    store_curves(s.link, x, y, m.link_hess, buffer_in)
    if s.h > 0:
        store_curves(s.heat, x, y, m.heat_hess, buffer_in)
        store_curves(s.rest, x, y, m.rest_hess, buffer_in)


@part
def times_transposed(s, m, y, out):  # type: ignore[no-untyped-def]
    """Add J^T y to out."""
    add_transposed_product(s.node, m.node_jac, y, out)
    add_transposed_product(s.link, m.link_jac, y, out)
    if s.h > 0:
        add_transposed_product(s.heat, m.heat_jac, y, out)
        add_transposed_product(s.rest, m.rest_jac, y, out)


@part
def times(s, m, d, out):  # type: ignore[no-untyped-def]
    """Add J d to out."""
    add_jacobian_product(s.node, m.node_jac, d, out)
    add_jacobian_product(s.link, m.link_jac, d, out)
    if s.h > 0:
        add_jacobian_product(s.heat, m.heat_jac, d, out)
        add_jacobian_product(s.rest, m.rest_jac, d, out)


@part
def times_hessian(s, m, d, out):  # type: ignore[no-untyped-def]
    """Add H d to out."""
    add_hessian_product(s.node, m.node_hess, d, out)
    add_hessian_product(s.link, m.link_hess, d, out)
    if s.h > 0:
        add_hessian_product(s.heat, m.heat_hess, d, out)
        add_hessian_product(s.rest, m.rest_hess, d, out)


@part
def pushed(value, low, high, push):  # type: ignore[no-untyped-def]
    """A value moved into the interior of its bounds."""
    if np.isfinite(low):
        gap = push * max(1.0, abs(low))
        if np.isfinite(high):
            gap = min(gap, push * (high - low))
        value = max(value, low + gap)
    if np.isfinite(high):
        gap = push * max(1.0, abs(high))
        if np.isfinite(low):
            gap = min(gap, push * (high - low))
        value = min(value, high - gap)
    return value


@part
def infeasibility(p, g, s):  # type: ignore[no-untyped-def]
    """Sum and maximum of all violations of equations, slacks counted."""
    total, most = 0.0, 0.0
    for r in range(g.size):
        e = abs(g[r] - p.row_low[r]) if p.equation[r] else abs(g[r] - s[r])
        total += e
        most = max(most, e)
    return total, most


@part
def barrier(low, high, value, skip):  # type: ignore[no-untyped-def]
    """Sum of logarithms of the distances to bounds; minus infinity outside of them."""
    total = 0.0
    for i in range(value.size):
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            if value[i] <= low[i]:
                return -np.inf
            total += np.log(value[i] - low[i])
        if np.isfinite(high[i]):
            if value[i] >= high[i]:
                return -np.inf
            total += np.log(high[i] - value[i])
    return total


@part
def bound_terms(low, high, value, z_low, z_high, skip, mu, weight, slope):  # type: ignore[no-untyped-def]
    """Weights and slopes that bounds add to the model."""
    for i in range(value.size):
        weight[i] = 0.0
        slope[i] = 0.0
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            weight[i] += z_low[i] / (value[i] - low[i])
            slope[i] -= mu / (value[i] - low[i])
        if np.isfinite(high[i]):
            weight[i] += z_high[i] / (high[i] - value[i])
            slope[i] += mu / (high[i] - value[i])


@part
def dual_steps(low, high, value, d, z_low, z_high, skip, mu, dz_low, dz_high):  # type: ignore[no-untyped-def]
    """Steps of the multipliers of bounds."""
    for i in range(value.size):
        dz_low[i] = 0.0
        dz_high[i] = 0.0
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            gap = value[i] - low[i]
            dz_low[i] = (mu - z_low[i] * d[i]) / gap - z_low[i]
        if np.isfinite(high[i]):
            gap = high[i] - value[i]
            dz_high[i] = (mu + z_high[i] * d[i]) / gap - z_high[i]


@part
def to_bounds(low, high, value, d, skip, tau):  # type: ignore[no-untyped-def]
    """The longest step that keeps a part 1 - tau of the distance to all bounds."""
    step = 1.0
    for i in range(value.size):
        if skip[i]:
            continue
        if d[i] < 0.0 and np.isfinite(low[i]):
            step = min(step, -tau * (value[i] - low[i]) / d[i])
        if d[i] > 0.0 and np.isfinite(high[i]):
            step = min(step, tau * (high[i] - value[i]) / d[i])
    return step


@part
def to_zero(z, d, tau):  # type: ignore[no-untyped-def]
    """The same for multipliers."""
    step = 1.0
    for i in range(z.size):
        if d[i] < 0.0:
            step = min(step, -tau * z[i] / d[i])
    return step


@part
def advance(low, high, value, z_low, z_high, dz_low, dz_high, skip, step, mu):  # type: ignore[no-untyped-def]
    """Multipliers after a step, kept near mu over the distances."""
    for i in range(value.size):
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            centre = mu / (value[i] - low[i])
            z_low[i] = min(max(z_low[i] + step * dz_low[i], centre / DUAL_CLIP), centre * DUAL_CLIP)
        if np.isfinite(high[i]):
            centre = mu / (high[i] - value[i])
            z_high[i] = min(max(z_high[i] + step * dz_high[i], centre / DUAL_CLIP), centre * DUAL_CLIP)


@part
def complementarity(low, high, value, z_low, z_high, skip, mu):  # type: ignore[no-untyped-def]
    """The largest |distance * multiplier - mu|, the sum of multipliers and their number."""
    most, total, count = 0.0, 0.0, 0
    for i in range(value.size):
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            most = max(most, abs((value[i] - low[i]) * z_low[i] - mu))
            total += z_low[i]
            count += 1
        if np.isfinite(high[i]):
            most = max(most, abs((high[i] - value[i]) * z_high[i] - mu))
            total += z_high[i]
            count += 1
    return most, total, count


@part
def largest(values):  # type: ignore[no-untyped-def]
    """The largest magnitude of a vector."""
    most = 0.0
    for value in values:
        most = max(most, abs(value))
    return most


@part
def errors(p, m, q, grad, g, mu, work):  # type: ignore[no-untyped-def]
    """Scaled error of the barrier problem, and unscaled dual infeasibility, violation, complementarity."""
    for i in range(grad.size):
        work[i] = grad[i] - q.z_low[i] + q.z_high[i] + q.y_fixed[i]
    times_transposed(p.s, m, q.y, work)
    dual, all_y = largest(work), 0.0
    for r in range(g.size):
        all_y += abs(q.y[r])
        if not p.equation[r]:
            dual = max(dual, abs(-q.y[r] - q.v_low[r] + q.v_high[r]))
    _, violation = infeasibility(p, g, q.s)
    one, sum_1, n_1 = complementarity(p.low, p.high, q.x, q.z_low, q.z_high, p.fixed, mu)
    two, sum_2, n_2 = complementarity(p.row_low, p.row_high, q.s, q.v_low, q.v_high, p.equation, mu)
    count = n_1 + n_2
    s_d = max(SCALE_MAX, (all_y + sum_1 + sum_2) / (g.size + count)) / SCALE_MAX
    s_c = max(SCALE_MAX, (sum_1 + sum_2) / max(count, 1)) / SCALE_MAX
    compl = max(one, two)
    return max(dual / s_d, violation, compl / s_c), dual, violation, compl


@part
def set_model(p, m, q, grad, g, mu, shift, initial):  # type: ignore[no-untyped-def]
    """Weights and slopes of the quadratic model; ``initial``: that of the least-squares multipliers at the start."""
    bound_terms(p.low, p.high, q.x, q.z_low, q.z_high, p.fixed, mu, m.weight, m.slope)
    bound_terms(p.row_low, p.row_high, q.s, q.v_low, q.v_high, p.equation, mu, m.row_weight, m.row_slope)
    for i in range(q.x.size):
        if initial:
            m.weight[i] = 1.0
            m.slope[i] = q.z_high[i] - q.z_low[i]
        m.weight[i] += shift
        m.slope[i] += grad[i]
        if p.fixed[i]:
            m.weight[i] += FIXED_WEIGHT
            m.slope[i] += q.y_fixed[i] - FIXED_WEIGHT * (p.low[i] - q.x[i])
    for r in range(g.size):
        if initial:
            m.row_weight[r] = 1.0
            m.row_slope[r] = q.v_high[r] - q.v_low[r]
        if p.equation[r]:
            m.residual[r] = 0.0 if initial else g[r] - p.row_low[r]
        else:
            m.residual[r] = 0.0 if initial else g[r] - q.s[r]
            m.row_weight[r] += shift


@part
def finish_rows(p, m):  # type: ignore[no-untyped-def]
    """The slopes of rows after their slacks are eliminated."""
    for r in range(m.residual.size):
        if not p.equation[r]:
            m.row_slope[r] += m.row_weight[r] * m.residual[r]


@part
def newton_step(p, m, w, d, ds, y_new, work, row_work):  # type: ignore[no-untyped-def]
    """Steps of variables and slacks, and new multipliers of all rows; whether the model is convex."""
    if not factor(p.s, m, w):
        return False
    forward(p.s, m, w)
    for i in range(d.size):
        d[i] = w.step[i]
    fill(row_work, 0.0)
    times(p.s, m, d, row_work)
    for r in range(row_work.size):
        if p.equation[r]:
            y_new[r] = 0.0
            ds[r] = 0.0
        else:
            ds[r] = row_work[r] + m.residual[r]
            y_new[r] = m.row_weight[r] * row_work[r] + m.row_slope[r]
    for j in range(p.s.h):
        y_new[p.s.heat.row + j] = w.heat_y[j]
    for i in range(d.size):
        work[i] = m.slope[i] + m.weight[i] * d[i]
    times_hessian(p.s, m, d, work)
    times_transposed(p.s, m, y_new, work)
    equation_multipliers(p.s, m, work, y_new)
    return True


@part
def in_filter(filter_theta, filter_phi, count, theta, phi):  # type: ignore[no-untyped-def]
    """Whether a point is no better than one that the filter holds."""
    for i in range(count):
        if (
            theta >= (1.0 - GAMMA_THETA) * filter_theta[i]
            and phi >= filter_phi[i] - GAMMA_PHI * filter_theta[i]
        ):
            return True
    return False


@part
def first_bounds(low, high, value, z_low, z_high, skip, mu, known):  # type: ignore[no-untyped-def]
    """Multipliers of bounds to begin with: one, or ``mu`` over the distance near a solution that is known."""
    for i in range(value.size):
        z_low[i] = 0.0
        z_high[i] = 0.0
        if not skip[i] and np.isfinite(low[i]):
            z_low[i] = mu / (value[i] - low[i]) if known else 1.0
        if not skip[i] and np.isfinite(high[i]):
            z_high[i] = mu / (high[i] - value[i]) if known else 1.0


@part
def start(p, q, g, mu, buffer_in, buffer_out):  # type: ignore[no-untyped-def]
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
def barrier_descent(p, q, grad, d, ds, mu):  # type: ignore[no-untyped-def]
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
def switching(theta, theta_min, descent, step):  # type: ignore[no-untyped-def]
    """Whether the barrier function decides about a step, not the violation."""
    if theta > theta_min or descent >= 0.0:
        return False
    return step * (-descent) ** S_PHI > DELTA * theta**S_THETA


@part
def acceptable(theta, phi, new_theta, new_phi, descent, step, armijo_type, theta_max):  # type: ignore[no-untyped-def]
    """Whether a trial point is good enough compared with the current one."""
    if not np.isfinite(new_phi) or not np.isfinite(new_theta) or new_theta > theta_max:
        return False
    slack = 10.0 * 2.2e-16 * max(1.0, abs(phi))
    if armijo_type:
        return new_phi <= phi + ARMIJO * step * descent + slack
    return new_theta <= (1.0 - GAMMA_THETA) * theta or new_phi <= phi - GAMMA_PHI * theta + slack


@part
def least_step(theta, theta_min, descent):  # type: ignore[no-untyped-def]
    """The step below which the line search gives up."""
    least = GAMMA_THETA
    if descent < 0.0:
        least = min(least, GAMMA_PHI * theta / -descent)
        if theta <= theta_min:
            least = min(least, DELTA * theta**S_THETA / (-descent) ** S_PHI)
    return 0.05 * least


@part
def first_multipliers(p, q, m, w, k, grad, g):  # type: ignore[no-untyped-def]
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
def convex_step(p, q, m, w, k, mu):  # type: ignore[no-untyped-def]
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
def longest_step(p, q, d, ds, tau):  # type: ignore[no-untyped-def]
    """The longest step that variables and slacks allow."""
    return min(
        to_bounds(p.low, p.high, q.x, d, p.fixed, tau),
        to_bounds(p.row_low, p.row_high, q.s, ds, p.equation, tau),
    )


@part
def barrier_value(p, x, s, f, mu):  # type: ignore[no-untyped-def]
    """The barrier function."""
    return f - mu * (barrier(p.low, p.high, x, p.fixed) + barrier(p.row_low, p.row_high, s, p.equation))


@part
def tried_point(p, q, k, d, ds, step, mu, here):  # type: ignore[no-untyped-def]
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
def corrected_point(p, q, m, w, k, step, mu, tau):  # type: ignore[no-untyped-def]
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
def line_search(p, q, m, w, k, mu, tau):  # type: ignore[no-untyped-def]
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
def move(p, q, m, k, step, mu, tau):  # type: ignore[no-untyped-def]
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
def lowered(p, q, m, k, mu):  # type: ignore[no-untyped-def]
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
def solved(p, q, m, k, iteration):  # type: ignore[no-untyped-def]
    """Whether all tolerances are met."""
    error, dual, violation, compl = errors(p, m, q, k.grad, k.g, 0.0, k.work)
    k.scalars[ITERATION], k.scalars[VIOLATION], k.scalars[DUAL] = iteration, violation, dual
    t = p.tolerances
    return error <= t[0] and violation <= t[1] and dual <= t[2] and compl <= t[3]


@kernel
def solve(p, q, m, w, k, mu, most):  # type: ignore[no-untyped-def]
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
