r"""Newton steps of a motion between two points, node by node: the linear algebra of the interior-point method.

A step d minimises a quadratic model under the linearised equations of motion,

.. math:: \min_d \tfrac12 d^T M d + m^T d, \qquad J_c d + c = 0                                 (eq:stage-newton)

All equations are explicit: the currents of a node follow from q, qd and qdd (eq:motor-torque), q and qd of the next
node from this one's and from the next acceleration (eq:spline-defect). They are put in, from the last node to the
first, and the accelerations are eliminated, a Riccati recursion. Duration, temperatures and the multipliers of the
heat balances touch all nodes; they form a border that is solved last. The model is convex where it counts if all
pivots are positive, those of the heat balances negative.

The matrix of a stage holds, in this order, the node (q, qd, qdd, i), the next node, the border, the multipliers of
the heat balances, and one for the linear terms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from servotwin.compiled.jit import part

LEAST_PIVOT = 1e-13
SOFT_HEAT = 1e-11  # regularisation of the heat balances


class Stages(NamedTuple):
    """Sizes and families of a program: n joints and motors, h temperatures, N intervals."""

    n: int
    h: int
    N: int
    node: Any
    link: Any
    heat: Any
    rest: Any
    node_map: Any  # local variables of each family to places in a stage matrix
    next_map: Any  # of a node as the next one
    link_map: Any
    heat_map: Any
    rest_map: Any


class Model(NamedTuple):
    """The quadratic model: Jacobians and Hessians of all families, weights of variables and rows, linear terms.

    ``weight`` (nx,), ``slope`` (nx,): of every variable, bounds counted; ``row_weight``, ``row_slope`` (m,): of
    inequalities, their slacks eliminated; ``residual`` (m,): of equations.
    """

    node_jac: Any
    link_jac: Any
    heat_jac: Any
    rest_jac: Any
    node_hess: Any
    link_hess: Any
    heat_hess: Any
    rest_hess: Any
    weight: Any
    slope: Any
    row_weight: Any
    row_slope: Any
    residual: Any


class Sweep(NamedTuple):
    """Memory of a recursion: stage matrix, the one after it, pivot rows of all stages, first node and border."""

    M: Any
    after: Any
    kept: Any
    first: Any
    step: Any
    heat_y: Any
    known: Any  # steps of a stage
    columns: Any
    values: Any


@part
def fill(values: Any, value: Any) -> Any:
    """Set all entries of a vector."""
    for i in range(values.size):
        values[i] = value


@part
def clear(M: Any) -> Any:
    """Set a matrix to zero."""
    for r in range(M.shape[0]):
        for c in range(M.shape[1]):
            M[r, c] = 0.0


@part
def add_block(
    M: Any, jac: Any, hess: Any, b: Any, k: Any, first_row: Any, place: Any, weight: Any, slope: Any
) -> Any:
    """Add block k of a family: its Hessian, and its rows from ``first_row`` on with weights and slopes."""
    one = M.shape[0] - 1
    for e in range(b.hess_row.size):
        r, c = place[b.hess_row[e]], place[b.hess_col[e]]
        M[r, c] += hess[k, e]
        if r != c:
            M[c, r] += hess[k, e]
    for i in range(first_row, b.n_rows):
        row = b.row + k * b.stride + i
        w, t = weight[row], slope[row]
        for e in range(b.jac_at[i], b.jac_at[i + 1]):
            r, v = place[b.jac_col[e]], jac[k, e]
            M[r, one] += t * v
            M[one, r] += t * v
            for e2 in range(b.jac_at[i], b.jac_at[i + 1]):
                M[r, place[b.jac_col[e2]]] += w * v * jac[k, e2]


@part
def add_heat_rows(M: Any, jac: Any, b: Any, k: Any, place: Any, heat_at: Any) -> Any:
    """Heat balances: their Jacobians stand between variables and multipliers."""
    for e in range(b.jac_col.size):
        r, c = place[b.jac_col[e]], heat_at + b.jac_row[e]
        M[r, c] += jac[k, e]
        M[c, r] += jac[k, e]


@part
def substitute(M: Any, e: Any, columns: Any, values: Any, count: Any) -> Any:
    """Replace variable e by the sum of values * variables in ``columns``: M <- P^T M P."""
    size = M.shape[0]
    for r in range(size):
        t = M[r, e]
        if t != 0.0:
            for p in range(count):
                M[r, columns[p]] += t * values[p]
    for p in range(count):
        c, v = columns[p], values[p]
        for r in range(size):
            M[c, r] += v * M[e, r]


@part
def substitute_row(
    M: Any, jac: Any, b: Any, k: Any, i: Any, e: Any, place: Any, residual: Any, columns: Any, values: Any
) -> Any:
    """Replace variable e by what equation i of block k says about it."""
    row, count, own = b.row + k * b.stride + i, 0, 1.0
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        if place[b.jac_col[p]] == e:
            own = jac[k, p]
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        if place[b.jac_col[p]] != e:
            columns[count], values[count] = place[b.jac_col[p]], -jac[k, p] / own
            count += 1
    columns[count], values[count] = M.shape[0] - 1, -residual[row] / own
    substitute(M, e, columns, values, count + 1)


@part
def pivot(M: Any, p: Any, low: Any, high: Any, negative: Any) -> Any:
    """Eliminate variable p from the rows and columns low to high; whether its pivot has the right sign."""
    d = M[p, p]
    if not (d < -LEAST_PIVOT if negative else d > LEAST_PIVOT):
        return False
    for r in range(low, high):
        f = M[r, p] / d
        if f != 0.0:
            for c in range(low, high):
                M[r, c] -= f * M[p, c]
    return True


@part
def add_node(s: Any, m: Any, M: Any, k: Any, columns: Any, values: Any) -> Any:
    """Add all that belongs to node k, then put in its currents."""
    n4 = 4 * s.n
    one = M.shape[0] - 1
    add_block(M, m.node_jac, m.node_hess, s.node, k, s.n, s.node_map, m.row_weight, m.row_slope)
    for j in range(n4):
        M[j, j] += m.weight[k * n4 + j]
        M[j, one] += m.slope[k * n4 + j]
        M[one, j] += m.slope[k * n4 + j]
    for j in range(s.n):
        substitute_row(
            M, m.node_jac, s.node, k, j, 3 * s.n + j, s.node_map, m.residual, columns, values
        )  # eq:motor-torque


@part
def add_link(s: Any, m: Any, M: Any, k: Any, columns: Any, values: Any) -> Any:
    """Add what ties nodes k and k + 1 together and put in the next node's currents, places and speeds."""
    n = s.n
    add_block(M, m.link_jac, m.link_hess, s.link, k, 2 * n, s.link_map, m.row_weight, m.row_slope)
    if s.h > 0:
        heat_at = 8 * n + 1 + s.h
        add_block(M, m.heat_jac, m.heat_hess, s.heat, k, s.h, s.heat_map, m.row_weight, m.row_slope)
        add_heat_rows(M, m.heat_jac, s.heat, k, s.heat_map, heat_at)
    for j in range(n):
        substitute_row(M, m.node_jac, s.node, k + 1, j, 7 * n + j, s.next_map, m.residual, columns, values)


@part
def put_motion(s: Any, m: Any, M: Any, k: Any, columns: Any, values: Any) -> Any:
    """Put in q and qd of node k + 1 (eq:spline-defect)."""
    for j in range(2 * s.n):
        substitute_row(M, m.link_jac, s.link, k, j, 4 * s.n + j, s.link_map, m.residual, columns, values)


@part
def factor(s: Any, m: Any, w: Any) -> Any:
    """Sweep from the last node to the first, then solve the border; whether all pivots have the right signs."""
    n, M, after = s.n, w.M, w.after
    size = M.shape[0]
    columns, values = w.columns, w.values
    clear(M)
    add_border(s, m, M)
    add_node(s, m, M, s.N, columns, values)
    for k in range(s.N - 1, -1, -1):
        for r in range(size):
            for c in range(size):
                after[r, c] = M[r, c]
                M[r, c] = 0.0
        add_link(s, m, M, k, columns, values)
        add_after(M, after, n)
        put_motion(s, m, M, k, columns, values)
        if not eliminate_next(M, n, w.kept[k]):
            return False
        add_node(s, m, M, k, columns, values)
    return solve_border(s, M, w)


@part
def add_border(s: Any, m: Any, M: Any) -> Any:
    """Add what belongs to duration, temperatures and heat balances, and the rest at the goal."""
    n, size = s.n, M.shape[0]
    tail = (s.N + 1) * 4 * n
    for j in range(1 + s.h):
        at = 8 * n + j
        M[at, at] += m.weight[tail + j]
        M[at, size - 1] += m.slope[tail + j]
        M[size - 1, at] += m.slope[tail + j]
    if s.h > 0:
        add_block(M, m.rest_jac, m.rest_hess, s.rest, 0, s.h, s.rest_map, m.row_weight, m.row_slope)
        add_heat_rows(M, m.rest_jac, s.rest, 0, s.rest_map, 8 * n + 1 + s.h)
        for j in range(s.h):
            at = 8 * n + 1 + s.h + j
            M[at, at] = -SOFT_HEAT
            M[at, size - 1] = m.residual[s.heat.row + j]
            M[size - 1, at] = m.residual[s.heat.row + j]


@part
def add_after(M: Any, after: Any, n: Any) -> Any:
    """Add the cost of all later nodes as a function of q, qd, qdd of the next one and of the border."""
    size = M.shape[0]
    for r in range(3 * n):
        for c in range(3 * n):
            M[4 * n + r, 4 * n + c] += after[r, c]
        for c in range(8 * n, size):
            M[4 * n + r, c] += after[r, c]
            M[c, 4 * n + r] += after[c, r]
    for r in range(8 * n, size):
        for c in range(8 * n, size):
            M[r, c] += after[r, c]


@part
def eliminate_next(M: Any, n: Any, kept: Any) -> Any:
    """Eliminate the accelerations of the next node, keep their rows; whether all pivots are positive."""
    size = M.shape[0]
    for j in range(n):
        p = 6 * n + j
        for c in range(size):
            kept[j, c] = M[p, c]
        d = M[p, p]
        if not d > LEAST_PIVOT:
            return False
        for r in range(size):
            if r < 4 * n or p < r < 7 * n or r >= 8 * n:
                f = M[r, p] / d
                if f != 0.0:
                    for c in range(4 * n):
                        M[r, c] -= f * kept[j, c]
                    for c in range(6 * n, size):
                        M[r, c] -= f * kept[j, c]
    return True


@part
def solve_border(s: Any, M: Any, w: Any) -> Any:
    """Eliminate the first node and the border; steps of both and the new multipliers of the heat balances."""
    n, size = s.n, M.shape[0]
    one, border, heat_at = size - 1, 8 * s.n, 8 * s.n + 1 + s.h
    V, at = w.first, 3 * n + 1 + 2 * s.h
    for r in range(at + 1):  # first node, heat balances, border, one
        for c in range(at + 1):
            V[r, c] = M[
                _first_place(r, n, s.h, border, heat_at, one), _first_place(c, n, s.h, border, heat_at, one)
            ]
    for p in range(at):
        if not pivot(V, p, p + 1, at + 1, 3 * n <= p < 3 * n + s.h):
            return False
    x = w.known
    x[at] = 1.0
    for p in range(at - 1, -1, -1):
        total = 0.0
        for c in range(p + 1, at + 1):
            total += V[p, c] * x[c]
        x[p] = -total / V[p, p]
    for j in range(3 * n):
        w.step[j] = x[j]
    for j in range(s.h):
        w.heat_y[j] = x[3 * n + j]
    tail = (s.N + 1) * 4 * n
    for j in range(1 + s.h):
        w.step[tail + j] = x[3 * n + s.h + j]
    return True


@part
def _first_place(r: Any, n: Any, h: Any, border: Any, heat_at: Any, one: Any) -> Any:
    if r < 3 * n:
        return r
    if r < 3 * n + h:
        return heat_at + r - 3 * n
    if r < 3 * n + h + 1 + h:
        return border + r - 3 * n - h
    return one


@part
def explicit_step(jac: Any, b: Any, k: Any, i: Any, e: Any, place: Any, residual: Any, known: Any) -> Any:
    """The step of variable e by equation i of block k; ``known`` (stage places) holds the others."""
    total, own = residual[b.row + k * b.stride + i], 1.0
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        at = place[b.jac_col[p]]
        if at == e:
            own = jac[k, p]
        else:
            total += jac[k, p] * known[at]
    return -total / own


@part
def forward(s: Any, m: Any, w: Any) -> Any:
    """The step of all nodes from that of the first node and of the border."""
    n, size = s.n, w.M.shape[0]
    n4, tail = 4 * n, (s.N + 1) * 4 * n
    d = w.known
    fill(d, 0.0)
    d[size - 1] = 1.0
    for j in range(1 + s.h):
        d[8 * n + j] = w.step[tail + j]
    for j in range(s.h):
        d[8 * n + 1 + s.h + j] = w.heat_y[j]
    for j in range(3 * n):
        d[j] = w.step[j]
    for j in range(n):
        d[3 * n + j] = explicit_step(m.node_jac, s.node, 0, j, 3 * n + j, s.node_map, m.residual, d)
    for j in range(n4):
        w.step[j] = d[j]
    for k in range(s.N):
        next_accelerations(w.kept[k], d, n)
        for j in range(2 * n):
            d[n4 + j] = explicit_step(m.link_jac, s.link, k, j, n4 + j, s.link_map, m.residual, d)
        for j in range(3 * n):
            d[j] = d[n4 + j]
        for j in range(n):
            d[3 * n + j] = explicit_step(m.node_jac, s.node, k + 1, j, 3 * n + j, s.node_map, m.residual, d)
        for j in range(n4):
            w.step[(k + 1) * n4 + j] = d[j]


@part
def next_accelerations(kept: Any, d: Any, n: Any) -> Any:
    """Steps of the next accelerations by the pivot rows that were kept; d (stage places) holds node and border."""
    for j in range(n - 1, -1, -1):
        p, total = 6 * n + j, 0.0
        for c in range(4 * n):
            total += kept[j, c] * d[c]
        for c in range(p + 1, 7 * n):
            total += kept[j, c] * d[c]
        for c in range(8 * n, d.size):
            total += kept[j, c] * d[c]
        d[p] = -total / kept[j, p]


@part
def equation_multipliers(s: Any, m: Any, slope: Any, y: Any) -> Any:
    """New multipliers of the equations of motion from the stationarity of currents, places and speeds.

    ``slope`` (nx,): the gradient of the model with all other multipliers, after the step; it is changed.
    """
    n, n4 = s.n, 4 * s.n
    for k in range(s.N, -1, -1):
        for j in range(n):
            take_row(s.node, m.node_jac, k, j, k * n4 + 3 * n + j, slope, y)
        if k > 0:
            for j in range(2 * n):
                take_row(s.link, m.link_jac, k - 1, j, k * n4 + j, slope, y)


@part
def take_row(b: Any, jac: Any, k: Any, i: Any, variable: Any, slope: Any, y: Any) -> Any:
    """The multiplier of equation i of block k with which the slope of a variable vanishes; counted elsewhere."""
    own = 1.0
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        if b.index[k, b.jac_col[p]] == variable:
            own = jac[k, p]
    value = -slope[variable] / own
    y[b.row + k * b.stride + i] = value
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        slope[b.index[k, b.jac_col[p]]] += value * jac[k, p]
