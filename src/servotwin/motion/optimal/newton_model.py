"""The quadratic model of an interior-point method and its Newton step, with the errors of an iterate; compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

from servotwin.compiled.jit import part
from servotwin.motion.optimal.barrier import bound_terms, complementarity, largest
from servotwin.motion.optimal.block_values import (
    add_hessian_product,
    add_jacobian_product,
    add_slopes,
    add_transposed_product,
    add_values,
    store_curves,
)
from servotwin.motion.optimal.stage_solver import equation_multipliers, factor, fill, forward

FIXED_WEIGHT = 1e8  # of a variable that is given
SCALE_MAX = 100.0


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
def evaluate(p: Any, x: Any, g: Any, buffer_in: Any, buffer_out: Any) -> Any:
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
def slopes(p: Any, m: Any, x: Any, grad: Any, buffer_in: Any, buffer_out: Any) -> Any:
    """Gradient and Jacobians."""
    s = p.s
    fill(grad, 0.0)
    add_slopes(s.node, x, grad, m.node_jac, buffer_in, buffer_out)
    add_slopes(s.link, x, grad, m.link_jac, buffer_in, buffer_out)
    if s.h > 0:
        add_slopes(s.heat, x, grad, m.heat_jac, buffer_in, buffer_out)
        add_slopes(s.rest, x, grad, m.rest_jac, buffer_in, buffer_out)


@part
def curves(p: Any, m: Any, x: Any, y: Any, buffer_in: Any) -> Any:
    """Hessians of the Lagrangian."""
    s = p.s
    store_curves(s.node, x, y, m.node_hess, buffer_in)
    store_curves(s.link, x, y, m.link_hess, buffer_in)
    if s.h > 0:
        store_curves(s.heat, x, y, m.heat_hess, buffer_in)
        store_curves(s.rest, x, y, m.rest_hess, buffer_in)


@part
def times_transposed(s: Any, m: Any, y: Any, out: Any) -> Any:
    """Add J^T y to out."""
    add_transposed_product(s.node, m.node_jac, y, out)
    add_transposed_product(s.link, m.link_jac, y, out)
    if s.h > 0:
        add_transposed_product(s.heat, m.heat_jac, y, out)
        add_transposed_product(s.rest, m.rest_jac, y, out)


@part
def times(s: Any, m: Any, d: Any, out: Any) -> Any:
    """Add J d to out."""
    add_jacobian_product(s.node, m.node_jac, d, out)
    add_jacobian_product(s.link, m.link_jac, d, out)
    if s.h > 0:
        add_jacobian_product(s.heat, m.heat_jac, d, out)
        add_jacobian_product(s.rest, m.rest_jac, d, out)


@part
def times_hessian(s: Any, m: Any, d: Any, out: Any) -> Any:
    """Add H d to out."""
    add_hessian_product(s.node, m.node_hess, d, out)
    add_hessian_product(s.link, m.link_hess, d, out)
    if s.h > 0:
        add_hessian_product(s.heat, m.heat_hess, d, out)
        add_hessian_product(s.rest, m.rest_hess, d, out)


@part
def infeasibility(p: Any, g: Any, s: Any) -> Any:
    """Sum and maximum of all violations of equations, slacks counted."""
    total, most = 0.0, 0.0
    for r in range(g.size):
        e = abs(g[r] - p.row_low[r]) if p.equation[r] else abs(g[r] - s[r])
        total += e
        most = max(most, e)
    return total, most


@part
def errors(p: Any, m: Any, q: Any, grad: Any, g: Any, mu: Any, work: Any) -> Any:
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
def set_model(p: Any, m: Any, q: Any, grad: Any, g: Any, mu: Any, shift: Any, initial: Any) -> Any:
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
def finish_rows(p: Any, m: Any) -> Any:
    """The slopes of rows after their slacks are eliminated."""
    for r in range(m.residual.size):
        if not p.equation[r]:
            m.row_slope[r] += m.row_weight[r] * m.residual[r]


@part
def newton_step(p: Any, m: Any, w: Any, d: Any, ds: Any, y_new: Any, work: Any, row_work: Any) -> Any:
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
