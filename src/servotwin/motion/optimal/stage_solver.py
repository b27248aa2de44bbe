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

from servotwin.compiled.array_records import Vector, Whole, Wholes
from servotwin.compiled.jit import part
from servotwin.compiled.native_calls import not_inlined
from servotwin.motion.optimal.block_values import Blocks

LEAST_PIVOT = 1e-13
SOFT_HEAT = 1e-11  # regularisation of the heat balances


class Stages(NamedTuple):
    """Sizes and families of a program: n joints and motors, h temperatures, N intervals."""

    n: Whole
    h: Whole
    N: Whole
    node: Blocks
    link: Blocks
    heat: Blocks
    rest: Blocks
    node_map: Wholes  # local variables of each family to places in a stage matrix
    next_map: Wholes  # of a node as the next one
    link_map: Wholes
    heat_map: Wholes
    rest_map: Wholes


class Model(NamedTuple):
    """The quadratic model: Jacobians and Hessians of all families, block by block, weights, linear terms.

    ``weight`` (nx,), ``slope`` (nx,): of every variable, bounds counted; ``row_weight``, ``row_slope`` (m,): of
    inequalities, their slacks eliminated; ``residual`` (m,): of equations.
    """

    node_jac: Vector
    link_jac: Vector
    heat_jac: Vector
    rest_jac: Vector
    node_hess: Vector
    link_hess: Vector
    heat_hess: Vector
    rest_hess: Vector
    weight: Vector
    slope: Vector
    row_weight: Vector
    row_slope: Vector
    residual: Vector


class Sweep(NamedTuple):
    """Memory of a recursion: stage matrix (size, size), the one after it, pivot rows, first node and border."""

    size: Whole
    M: Vector
    after: Vector
    kept: Vector
    first: Vector
    step: Vector
    heat_y: Vector
    known: Vector  # steps of a stage
    columns: Wholes
    values: Vector


@part
def clear(count: Any, values: Any) -> Any:
    """Set a vector to zero."""
    for i in range(count):
        values[i] = 0.0


@part
def add_multiple(factor: Any, x: Any, x_at: Any, y: Any, y_at: Any, count: Any) -> Any:
    """Add a multiple of the entries of x from x_at on to those of y from y_at on."""
    not_inlined()
    for i in range(count):
        y[y_at + i] += factor * x[x_at + i]


@part
def add_block(
    M: Any,
    size: Any,
    jac: Any,
    hess: Any,
    b: Any,
    k: Any,
    first_row: Any,
    place: Any,
    weight: Any,
    slope: Any,
) -> Any:
    """Add block k of a family: its Hessian, and its rows from ``first_row`` on with weights and slopes."""
    not_inlined()
    one = size - 1
    for e in range(b.n_hess):
        r, c = place[b.hess_row[e]], place[b.hess_col[e]]
        M[r * size + c] += hess[k * b.n_hess + e]
        if r != c:
            M[c * size + r] += hess[k * b.n_hess + e]
    for i in range(first_row, b.n_rows):
        row = b.row + k * b.stride + i
        w, t = weight[row], slope[row]
        for e in range(b.jac_at[i], b.jac_at[i + 1]):
            r, v = place[b.jac_col[e]], jac[k * b.n_jac + e]
            M[r * size + one] += t * v
            M[one * size + r] += t * v
            for e2 in range(b.jac_at[i], b.jac_at[i + 1]):
                M[r * size + place[b.jac_col[e2]]] += w * v * jac[k * b.n_jac + e2]


@part
def add_heat_rows(M: Any, size: Any, jac: Any, b: Any, k: Any, place: Any, heat_at: Any) -> Any:
    """Heat balances: their Jacobians stand between variables and multipliers."""
    not_inlined()
    for e in range(b.n_jac):
        r, c = place[b.jac_col[e]], heat_at + b.jac_row[e]
        M[r * size + c] += jac[k * b.n_jac + e]
        M[c * size + r] += jac[k * b.n_jac + e]


@part
def substitute(M: Any, size: Any, e: Any, columns: Any, values: Any, count: Any) -> Any:
    """Replace variable e by the sum of values * variables in ``columns``: M <- P^T M P."""
    not_inlined()
    for r in range(size):
        t = M[r * size + e]
        if t != 0.0:
            for p in range(count):
                M[r * size + columns[p]] += t * values[p]
    for p in range(count):
        add_multiple(values[p], M, e * size, M, columns[p] * size, size)


@part
def substitute_row(
    M: Any,
    size: Any,
    jac: Any,
    b: Any,
    k: Any,
    i: Any,
    e: Any,
    place: Any,
    residual: Any,
    columns: Any,
    values: Any,
) -> Any:
    """Replace variable e by what equation i of block k says about it."""
    not_inlined()
    row, count, own = b.row + k * b.stride + i, 0, 1.0
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        if place[b.jac_col[p]] == e:
            own = jac[k * b.n_jac + p]
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        if place[b.jac_col[p]] != e:
            columns[count], values[count] = place[b.jac_col[p]], -jac[k * b.n_jac + p] / own
            count += 1
    columns[count], values[count] = size - 1, -residual[row] / own
    substitute(M, size, e, columns, values, count + 1)


@part
def pivot(M: Any, size: Any, p: Any, low: Any, high: Any, negative: Any) -> Any:
    """Eliminate variable p from the rows and columns low to high; whether its pivot has the right sign."""
    not_inlined()
    d = M[p * size + p]
    if not (d < -LEAST_PIVOT if negative else d > LEAST_PIVOT):
        return False
    for r in range(low, high):
        f = M[r * size + p] / d
        if f != 0.0:
            add_multiple(-f, M, p * size + low, M, r * size + low, high - low)
    return True


@part
def add_node(s: Any, m: Any, M: Any, size: Any, k: Any, columns: Any, values: Any) -> Any:
    """Add all that belongs to node k, then put in its currents."""
    not_inlined()
    n4 = 4 * s.n
    one = size - 1
    add_block(M, size, m.node_jac, m.node_hess, s.node, k, s.n, s.node_map, m.row_weight, m.row_slope)
    for j in range(n4):
        M[j * size + j] += m.weight[k * n4 + j]
        M[j * size + one] += m.slope[k * n4 + j]
        M[one * size + j] += m.slope[k * n4 + j]
    for j in range(s.n):
        substitute_row(
            M, size, m.node_jac, s.node, k, j, 3 * s.n + j, s.node_map, m.residual, columns, values
        )  # eq:motor-torque


@part
def add_link(s: Any, m: Any, M: Any, size: Any, k: Any, columns: Any, values: Any) -> Any:
    """Add what ties nodes k and k + 1 together and put in the next node's currents, places and speeds."""
    n = s.n
    add_block(M, size, m.link_jac, m.link_hess, s.link, k, 2 * n, s.link_map, m.row_weight, m.row_slope)
    if s.h > 0:
        heat_at = 8 * n + 1 + s.h
        add_block(M, size, m.heat_jac, m.heat_hess, s.heat, k, s.h, s.heat_map, m.row_weight, m.row_slope)
        add_heat_rows(M, size, m.heat_jac, s.heat, k, s.heat_map, heat_at)
    for j in range(n):
        substitute_row(
            M, size, m.node_jac, s.node, k + 1, j, 7 * n + j, s.next_map, m.residual, columns, values
        )


@part
def put_motion(s: Any, m: Any, M: Any, size: Any, k: Any, columns: Any, values: Any) -> Any:
    """Put in q and qd of node k + 1 (eq:spline-defect)."""
    for j in range(2 * s.n):
        substitute_row(
            M, size, m.link_jac, s.link, k, j, 4 * s.n + j, s.link_map, m.residual, columns, values
        )


@part
def factor(s: Any, m: Any, w: Any) -> Any:
    """Sweep from the last node to the first, before ``solve_border``; whether all pivots are positive."""
    n, size, M, after = s.n, w.size, w.M, w.after
    columns, values = w.columns, w.values
    clear(size * size, M)
    add_border(s, m, M, size)
    add_node(s, m, M, size, s.N, columns, values)
    for k in range(s.N - 1, -1, -1):
        for i in range(size * size):
            after[i] = M[i]
            M[i] = 0.0
        add_link(s, m, M, size, k, columns, values)
        add_after(M, size, after, n)
        put_motion(s, m, M, size, k, columns, values)
        if not eliminate_next(M, size, n, w.kept, k * n):
            return False
        add_node(s, m, M, size, k, columns, values)
    return True


@part
def add_border(s: Any, m: Any, M: Any, size: Any) -> Any:
    """Add what belongs to duration, temperatures and heat balances, and the rest at the goal."""
    n = s.n
    tail = (s.N + 1) * 4 * n
    for j in range(1 + s.h):
        at = 8 * n + j
        M[at * size + at] += m.weight[tail + j]
        M[at * size + size - 1] += m.slope[tail + j]
        M[(size - 1) * size + at] += m.slope[tail + j]
    if s.h > 0:
        for k in range(s.rest.blocks):  # one; compiled for any k
            add_block(M, size, m.rest_jac, m.rest_hess, s.rest, k, s.h, s.rest_map, m.row_weight, m.row_slope)
            add_heat_rows(M, size, m.rest_jac, s.rest, k, s.rest_map, 8 * n + 1 + s.h)
        for j in range(s.h):
            at = 8 * n + 1 + s.h + j
            M[at * size + at] = -SOFT_HEAT
            M[at * size + size - 1] = m.residual[s.heat.row + j]
            M[(size - 1) * size + at] = m.residual[s.heat.row + j]


@part
def add_after(M: Any, size: Any, after: Any, n: Any) -> Any:
    """Add the cost of all later nodes as a function of q, qd, qdd of the next one and of the border."""
    for r in range(3 * n):
        add_multiple(1.0, after, r * size, M, (4 * n + r) * size + 4 * n, 3 * n)
        add_multiple(1.0, after, r * size + 8 * n, M, (4 * n + r) * size + 8 * n, size - 8 * n)
    for r in range(8 * n, size):
        add_multiple(1.0, after, r * size, M, r * size + 4 * n, 3 * n)
        add_multiple(1.0, after, r * size + 8 * n, M, r * size + 8 * n, size - 8 * n)


@part
def eliminate_next(M: Any, size: Any, n: Any, kept: Any, row: Any) -> Any:
    """Eliminate the accelerations of the next node, keep their rows from ``row`` on; whether they are positive."""
    for j in range(n):
        p = 6 * n + j
        for c in range(size):
            kept[(row + j) * size + c] = M[p * size + c]
        d = M[p * size + p]
        if not d > LEAST_PIVOT:
            return False
        for r in range(size):
            if r < 4 * n or p < r < 7 * n or r >= 8 * n:
                f = M[r * size + p] / d
                if f != 0.0:
                    at = (row + j) * size
                    add_multiple(-f, kept, at, M, r * size, 4 * n)
                    add_multiple(-f, kept, at + 6 * n, M, r * size + 6 * n, size - 6 * n)
    return True


@part
def solve_border(s: Any, w: Any) -> Any:
    """Eliminate the first node and the border; steps of both and the new multipliers of the heat balances."""
    n, M, size = s.n, w.M, w.size
    one, border, heat_at = size - 1, 8 * s.n, 8 * s.n + 1 + s.h
    V, at = w.first, 3 * n + 1 + 2 * s.h
    for r in range(at + 1):  # first node, heat balances, border, one
        for c in range(at + 1):
            place = _first_place(r, n, s.h, border, heat_at, one)
            V[r * size + c] = M[place * size + _first_place(c, n, s.h, border, heat_at, one)]
    for p in range(at):
        if not pivot(V, size, p, p + 1, at + 1, 3 * n <= p < 3 * n + s.h):
            return False
    x = w.known
    x[at] = 1.0
    for p in range(at - 1, -1, -1):
        total = 0.0
        for c in range(p + 1, at + 1):
            total += V[p * size + c] * x[c]
        x[p] = -total / V[p * size + p]
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
    not_inlined()
    total, own = residual[b.row + k * b.stride + i], 1.0
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        at = place[b.jac_col[p]]
        if at == e:
            own = jac[k * b.n_jac + p]
        else:
            total += jac[k * b.n_jac + p] * known[at]
    return -total / own


@part
def forward(s: Any, m: Any, w: Any) -> Any:
    """The step of all nodes from that of the first node and of the border."""
    n, size = s.n, w.size
    n4, tail = 4 * n, (s.N + 1) * 4 * n
    d = w.known
    clear(size, d)
    d[size - 1] = 1.0
    for j in range(1 + s.h):
        d[8 * n + j] = w.step[tail + j]
    for j in range(s.h):
        d[8 * n + 1 + s.h + j] = w.heat_y[j]
    for j in range(3 * n):
        d[j] = w.step[j]
    for k in range(s.N + 1):
        if k > 0:
            next_accelerations(w.kept, (k - 1) * n, d, n, size)
            for j in range(2 * n):
                d[n4 + j] = explicit_step(m.link_jac, s.link, k - 1, j, n4 + j, s.link_map, m.residual, d)
            for j in range(3 * n):
                d[j] = d[n4 + j]
        for j in range(n):
            d[3 * n + j] = explicit_step(m.node_jac, s.node, k, j, 3 * n + j, s.node_map, m.residual, d)
        for j in range(n4):
            w.step[k * n4 + j] = d[j]


@part
def next_accelerations(kept: Any, row: Any, d: Any, n: Any, size: Any) -> Any:
    """Steps of the next accelerations by the pivot rows that were kept; d (stage places) holds node and border."""
    for j in range(n - 1, -1, -1):
        p, total = 6 * n + j, 0.0
        for c in range(4 * n):
            total += kept[(row + j) * size + c] * d[c]
        for c in range(p + 1, 7 * n):
            total += kept[(row + j) * size + c] * d[c]
        for c in range(8 * n, size):
            total += kept[(row + j) * size + c] * d[c]
        d[p] = -total / kept[(row + j) * size + p]


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
    not_inlined()
    own = 1.0
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        if b.index[k * b.n + b.jac_col[p]] == variable:
            own = jac[k * b.n_jac + p]
    value = -slope[variable] / own
    y[b.row + k * b.stride + i] = value
    for p in range(b.jac_at[i], b.jac_at[i + 1]):
        slope[b.index[k * b.n + b.jac_col[p]]] += value * jac[k * b.n_jac + p]
