"""Values, slopes and curvatures of families of blocks, by their generated code, for compiled loops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from servotwin.compiled.array_records import Places, Vector, Whole, Wholes
from servotwin.compiled.jit import part
from servotwin.compiled.native_calls import address_of, call_address, not_inlined
from servotwin.motion.optimal.block_nlp import Family


class Blocks(NamedTuple):
    """A family for compiled code: variables (blocks, n), data (blocks, n_data), rows, addresses of its code.

    ``jac_row``, ``jac_col``: local places of the Jacobian, sorted by row from ``jac_at[r]`` on; ``jac_of``: where the
    code stores each entry. ``hess_row``, ``hess_col``: local places of the Hessian's triangle.
    """

    index: Places
    data: Vector
    row: Whole
    stride: Whole
    n_rows: Whole
    jac_at: Places
    jac_row: Places
    jac_col: Places
    jac_of: Places
    hess_row: Places
    hess_col: Places
    blocks: Whole
    n: Whole
    n_data: Whole
    n_jac: Whole
    n_hess: Whole
    code: Wholes  # addresses of value, slope, curve and of their numbers


def blocks_of(family: Family) -> Blocks:
    """The record of a family."""
    code = family.code
    rows, columns = code.jacobian
    order = np.argsort(rows, kind="stable").astype(np.int32)
    at = np.searchsorted(rows[order], np.arange(code.n_rows + 1)).astype(np.int32)
    entries = (code.value, code.slope, code.curve or code.value)
    addresses = [e.address for e in entries] + [e.data.ctypes.data for e in entries]
    return Blocks(
        family.index, family.data, family.row, family.stride, code.n_rows,
        at, rows[order], columns[order], order, code.hessian[0], code.hessian[1],
        len(family.index), family.index.shape[1], family.data.shape[1], rows.size, code.hessian[0].size,
        np.array(addresses, dtype=np.int64),
    )  # fmt: skip


@part
def gather_block(f: Any, j: Any, x: Any, inputs: Any) -> Any:
    """Variables and data of block j, one after the other."""
    n, d = f.n, f.n_data
    for k in range(n):
        inputs[k] = x[f.index[j * n + k]]
    for k in range(d):
        inputs[n + k] = f.data[j * d + k]


@part
def add_values(f: Any, x: Any, g: Any, inputs: Any, outputs: Any) -> Any:
    """Add a family's rows to g; its cost."""
    not_inlined()
    cost = 0.0
    for j in range(f.blocks):
        gather_block(f, j, x, inputs)
        call_address(f.code[0], address_of(inputs), address_of(outputs), f.code[3])
        cost += outputs[0]
        for i in range(f.n_rows):
            g[f.row + j * f.stride + i] += outputs[1 + i]
    return cost


@part
def add_slopes(f: Any, x: Any, grad: Any, jac: Any, inputs: Any, outputs: Any) -> Any:
    """Add a family's gradient to grad, store its Jacobians (blocks, n_jac), sorted by row."""
    not_inlined()
    n = f.n
    for j in range(f.blocks):
        gather_block(f, j, x, inputs)
        call_address(f.code[1], address_of(inputs), address_of(outputs), f.code[4])
        for i in range(n):
            grad[f.index[j * n + i]] += outputs[i]
        for e in range(f.n_jac):
            jac[j * f.n_jac + e] = outputs[n + f.jac_of[e]]


@part
def store_curves(f: Any, x: Any, y: Any, hess: Any, inputs: Any) -> Any:
    """The Hessians (blocks, n_hess) of cost + y^T rows."""
    not_inlined()
    first = f.n + f.n_data
    if f.n_hess == 0:
        return
    for j in range(f.blocks):
        gather_block(f, j, x, inputs)
        inputs[first] = 1.0
        for i in range(f.n_rows):
            inputs[first + 1 + i] = y[f.row + j * f.stride + i]
        call_address(f.code[2], address_of(inputs), address_of(hess) + 8 * j * f.n_hess, f.code[5])


@part
def add_hessian_product(f: Any, hess: Any, d: Any, out: Any) -> Any:
    """Add the product of a family's Hessians and d to out."""
    not_inlined()
    for j in range(f.blocks):
        for e in range(f.n_hess):
            a, b = f.index[j * f.n + f.hess_row[e]], f.index[j * f.n + f.hess_col[e]]
            out[a] += hess[j * f.n_hess + e] * d[b]
            if f.hess_row[e] != f.hess_col[e]:
                out[b] += hess[j * f.n_hess + e] * d[a]


@part
def add_jacobian_product(f: Any, jac: Any, d: Any, out: Any) -> Any:
    """Add the product of a family's Jacobians and d (n,) to out (m,)."""
    not_inlined()
    for j in range(f.blocks):
        for e in range(f.n_jac):
            out[f.row + j * f.stride + f.jac_row[e]] += (
                jac[j * f.n_jac + e] * d[f.index[j * f.n + f.jac_col[e]]]
            )


@part
def add_transposed_product(f: Any, jac: Any, y: Any, out: Any) -> Any:
    """Add the product of a family's transposed Jacobians and y (m,) to out (n,)."""
    not_inlined()
    for j in range(f.blocks):
        for e in range(f.n_jac):
            out[f.index[j * f.n + f.jac_col[e]]] += (
                jac[j * f.n_jac + e] * y[f.row + j * f.stride + f.jac_row[e]]
            )
