"""The quadratic model of an interior-point method and its Newton step, with the errors of an iterate; compiled.

Functions, slopes, curvatures, factors, Newton steps and errors are compiled by themselves and called by address
(``MODEL_STEPS``): numba would optimise them once more for every caller on the way up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from servotwin.compiled.array_records import Flags, Real, Vector, Whole, Wholes, reader_of
from servotwin.compiled.jit import callback, part
from servotwin.compiled.native_calls import call_step, not_inlined
from servotwin.motion.optimal.barrier import bound_terms, complementarity, largest
from servotwin.motion.optimal.block_values import (
    add_hessian_product,
    add_jacobian_product,
    add_slopes,
    add_transposed_product,
    add_values,
    store_curves,
)
from servotwin.motion.optimal.stage_solver import (
    Model,
    Stages,
    Sweep,
    clear,
    equation_multipliers,
    factor,
    forward,
    solve_border,
)

FIXED_WEIGHT = 1e8  # of a variable that is given
SCALE_MAX = 100.0
# scalars of an iterate
ITERATION, OBJECTIVE, VIOLATION, DUAL, COMPLEMENTARITY, SHIFT, SHIFT_NOW, THETA, PHI, DESCENT = range(10)
THETA_MIN, THETA_MAX, TRIAL_F, IN_FILTER, STOP, MU, TAU = range(10, 17)
SCALARS = 17


class Problem(NamedTuple):
    """Stages, bounds of n variables and rows, what is given, tolerances (error, violation, dual, complementarity)."""

    s: Stages
    n: Whole
    rows: Whole
    low: Vector
    high: Vector
    fixed: Flags
    row_low: Vector
    row_high: Vector
    equation: Flags
    tolerances: Vector
    push: Real  # from the bounds at the start; less than PUSH says that multipliers are known


class State(NamedTuple):
    """Iterate: variables x, slacks of inequalities, multipliers of rows, of bounds of both, and of given variables."""

    x: Vector
    s: Vector
    y: Vector
    z_low: Vector
    z_high: Vector
    v_low: Vector
    v_high: Vector
    y_fixed: Vector


class Memory(NamedTuple):
    """Vectors that the method needs, the filter, and ``scalars`` by the names above."""

    grad: Vector
    d: Vector
    d_2: Vector
    work: Vector
    trial: Vector
    dz_low: Vector
    dz_high: Vector
    g: Vector
    ds: Vector
    ds_2: Vector
    y_new: Vector
    row_work: Vector
    trial_s: Vector
    trial_g: Vector
    dv_low: Vector
    dv_high: Vector
    filter_theta: Vector
    filter_phi: Vector
    scalars: Vector
    buffer_in: Vector
    buffer_out: Vector


class Method(NamedTuple):
    """All records of the method, and the addresses of its steps."""

    p: Problem
    q: State
    m: Model
    w: Sweep
    k: Memory
    steps: Wholes


method_at = reader_of(Method)


@callback("int64", "int64", result="float64")
def evaluate(at: int, trial: int) -> float:
    """Rows g of the iterate, or of the trial point; the objective."""
    a = method_at(at)
    s, k = a.p.s, a.k
    x, g = (k.trial, k.trial_g) if trial else (a.q.x, k.g)
    clear(a.p.rows, g)
    f = add_values(s.node, x, g, k.buffer_in, k.buffer_out)
    f += add_values(s.link, x, g, k.buffer_in, k.buffer_out)
    if s.h > 0:
        f += add_values(s.heat, x, g, k.buffer_in, k.buffer_out)
        f += add_values(s.rest, x, g, k.buffer_in, k.buffer_out)
    return f  # type: ignore[no-any-return]


@callback("int64", "int64", result="float64")
def slopes(at: int, _: int) -> float:
    """Gradient and Jacobians."""
    a = method_at(at)
    s, m, k, x = a.p.s, a.m, a.k, a.q.x
    clear(a.p.n, k.grad)
    add_slopes(s.node, x, k.grad, m.node_jac, k.buffer_in, k.buffer_out)
    add_slopes(s.link, x, k.grad, m.link_jac, k.buffer_in, k.buffer_out)
    if s.h > 0:
        add_slopes(s.heat, x, k.grad, m.heat_jac, k.buffer_in, k.buffer_out)
        add_slopes(s.rest, x, k.grad, m.rest_jac, k.buffer_in, k.buffer_out)
    return 0.0


@callback("int64", "int64", result="float64")
def curves(at: int, none: int) -> float:
    """Hessians of the Lagrangian; ``none``: set them to zero."""
    a = method_at(at)
    s, m, k, x, y = a.p.s, a.m, a.k, a.q.x, a.q.y
    if none:
        clear(s.node.blocks * s.node.n_hess, m.node_hess)
        clear(s.link.blocks * s.link.n_hess, m.link_hess)
        clear(s.heat.blocks * s.heat.n_hess, m.heat_hess)
        clear(s.rest.blocks * s.rest.n_hess, m.rest_hess)
        return 0.0
    store_curves(s.node, x, y, m.node_hess, k.buffer_in)
    store_curves(s.link, x, y, m.link_hess, k.buffer_in)
    if s.h > 0:
        store_curves(s.heat, x, y, m.heat_hess, k.buffer_in)
        store_curves(s.rest, x, y, m.rest_hess, k.buffer_in)
    return 0.0


@part
def times_transposed(s: Any, m: Any, y: Any, out: Any) -> Any:
    """Add J^T y to out."""
    not_inlined()
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
    """Sum and maximum of all violations of equations, slacks counted; infinite where a row is no number."""
    not_inlined()
    total, most = 0.0, 0.0
    for r in range(p.rows):
        e = abs(g[r] - p.row_low[r]) if p.equation[r] else abs(g[r] - s[r])
        total += e
        if not e <= most:
            most = e if e > most else np.inf
    return total, most


@callback("int64", "int64", result="float64")
def errors(at: int, _: int) -> float:
    """Scaled error of the barrier problem with MU; DUAL infeasibility, VIOLATION and COMPLEMENTARITY, not scaled."""
    a = method_at(at)
    p, q, k = a.p, a.q, a.k
    work, mu = k.work, k.scalars[MU]
    for i in range(p.n):
        work[i] = k.grad[i] - q.z_low[i] + q.z_high[i] + q.y_fixed[i]
    times_transposed(p.s, a.m, q.y, work)
    dual, all_y = largest(p.n, work), 0.0
    for r in range(p.rows):
        all_y += abs(q.y[r])
        if not p.equation[r]:
            dual = max(dual, abs(-q.y[r] - q.v_low[r] + q.v_high[r]))
    _, violation = infeasibility(p, k.g, q.s)
    for i in range(p.n):
        if p.fixed[i]:
            violation = max(violation, abs(q.x[i] - p.low[i]))
    one, sum_1, n_1 = complementarity(p.n, p.low, p.high, q.x, q.z_low, q.z_high, p.fixed, mu)
    two, sum_2, n_2 = complementarity(p.rows, p.row_low, p.row_high, q.s, q.v_low, q.v_high, p.equation, mu)
    count = n_1 + n_2
    s_d = max(SCALE_MAX, (all_y + sum_1 + sum_2) / (p.rows + count)) / SCALE_MAX
    s_c = max(SCALE_MAX, (sum_1 + sum_2) / max(count, 1)) / SCALE_MAX
    compl = max(one, two)
    k.scalars[DUAL], k.scalars[VIOLATION], k.scalars[COMPLEMENTARITY] = dual, violation, compl
    return max(dual / s_d, violation, compl / s_c)  # type: ignore[no-any-return]


@part
def set_model(p: Any, m: Any, q: Any, k: Any, mu: Any, shift: Any) -> Any:
    """Weights and slopes of the quadratic model."""
    not_inlined()
    bound_terms(p.n, p.low, p.high, q.x, q.z_low, q.z_high, p.fixed, mu, m.weight, m.slope)
    bound_terms(
        p.rows, p.row_low, p.row_high, q.s, q.v_low, q.v_high, p.equation, mu, m.row_weight, m.row_slope
    )
    for i in range(p.n):
        m.weight[i] += shift
        m.slope[i] += k.grad[i]
        if p.fixed[i]:
            m.weight[i] += FIXED_WEIGHT
            m.slope[i] += q.y_fixed[i] - FIXED_WEIGHT * (p.low[i] - q.x[i])
    for r in range(p.rows):
        if p.equation[r]:
            m.residual[r] = k.g[r] - p.row_low[r]
        else:
            m.residual[r] = k.g[r] - q.s[r]
            m.row_weight[r] += shift


@part
def set_first_model(p: Any, m: Any, q: Any, k: Any) -> Any:
    """The model whose multipliers are those of least squares at the start."""
    for i in range(p.n):
        m.weight[i] = 1.0
        m.slope[i] = q.z_high[i] - q.z_low[i] + k.grad[i]
        if p.fixed[i]:
            m.weight[i] += FIXED_WEIGHT
            m.slope[i] += q.y_fixed[i] - FIXED_WEIGHT * (p.low[i] - q.x[i])
    for r in range(p.rows):
        m.row_weight[r] = 1.0
        m.row_slope[r] = q.v_high[r] - q.v_low[r]
        m.residual[r] = 0.0


@part
def finish_rows(p: Any, m: Any) -> Any:
    """The slopes of rows after their slacks are eliminated."""
    for r in range(p.rows):
        if not p.equation[r]:
            m.row_slope[r] += m.row_weight[r] * m.residual[r]


@callback("int64", "int64", result="float64")
def factors(at: int, _: int) -> float:
    """Factors of the model, and the steps of first node and border; whether it is convex."""
    a = method_at(at)
    return call_step(a.steps[BORDER], at, 0) if factor(a.p.s, a.m, a.w) else 0.0


@callback("int64", "int64", result="float64")
def border(at: int, _: int) -> float:
    """The last of the factors: first node and what touches all of them."""
    a = method_at(at)
    return 1.0 if solve_border(a.p.s, a.w) else 0.0


@callback("int64", "int64", result="float64")
def newton_step(at: int, second: int) -> float:
    """Steps of variables and slacks, and new multipliers of all rows; ``second``: of the correction."""
    a = method_at(at)
    p, m, w, k = a.p, a.m, a.w, a.k
    d, ds, y_new = (k.d_2, k.ds_2, k.trial_g) if second else (k.d, k.ds, k.y_new)
    work, row_work = k.work, k.row_work
    forward(p.s, m, w)
    for i in range(p.n):
        d[i] = w.step[i]
    clear(p.rows, row_work)
    times(p.s, m, d, row_work)
    for r in range(p.rows):
        if p.equation[r]:
            y_new[r] = 0.0
            ds[r] = 0.0
        else:
            ds[r] = row_work[r] + m.residual[r]
            y_new[r] = m.row_weight[r] * row_work[r] + m.row_slope[r]
    for j in range(p.s.h):
        y_new[p.s.heat.row + j] = w.heat_y[j]
    for i in range(p.n):
        work[i] = m.slope[i] + m.weight[i] * d[i]
    times_hessian(p.s, m, d, work)
    times_transposed(p.s, m, y_new, work)
    equation_multipliers(p.s, m, work, y_new)
    return 0.0


MODEL_STEPS = (evaluate, slopes, curves, errors, factors, newton_step, border)
EVALUATE, SLOPES, CURVES, ERRORS, FACTORS, NEWTON, BORDER = range(len(MODEL_STEPS))
