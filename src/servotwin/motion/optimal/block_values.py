"""Values, slopes and curvatures of families of blocks, by their generated code, for compiled loops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from servotwin.compiled.jit import part
from servotwin.compiled.native_calls import call_address
from servotwin.motion.optimal.block_nlp import Family


class Blocks(NamedTuple):
    """A family for compiled code: variables (count, n), data (count, d), first row and stride, addresses of its code.

    ``jac_row``, ``jac_col``: local places of the Jacobian, sorted by row from ``jac_at[r]`` on; ``jac_of``: where the
    code stores each entry. ``hess_row``, ``hess_col``: local places of the Hessian's triangle.
    """

    index: Any
    data: Any
    row: int
    stride: int
    n_rows: int
    jac_at: Any
    jac_row: Any
    jac_col: Any
    jac_of: Any
    hess_row: Any
    hess_col: Any
    code: Any  # addresses of value, slope, curve and of their numbers


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
        np.array(addresses, dtype=np.int64),
    )  # fmt: skip


@part
def gather_block(f: Any, j: Any, x: Any, inputs: Any) -> Any:
    """Variables and data of block j, one after the other."""
    n = f.index.shape[1]
    for k in range(n):
        inputs[k] = x[f.index[j, k]]
    for k in range(f.data.shape[1]):
        inputs[n + k] = f.data[j, k]


@part
def add_values(f: Any, x: Any, g: Any, inputs: Any, outputs: Any) -> Any:
    """Add a family's rows to g; its cost."""
    cost = 0.0
    for j in range(f.index.shape[0]):
        gather_block(f, j, x, inputs)
        call_address(f.code[0], inputs.ctypes.data, outputs.ctypes.data, f.code[3])
        cost += outputs[0]
        for i in range(f.n_rows):
            g[f.row + j * f.stride + i] += outputs[1 + i]
    return cost


@part
def add_slopes(f: Any, x: Any, grad: Any, jac: Any, inputs: Any, outputs: Any) -> Any:
    """Add a family's gradient to grad, store its Jacobians (count, entries), sorted by row."""
    n = f.index.shape[1]
    for j in range(f.index.shape[0]):
        gather_block(f, j, x, inputs)
        call_address(f.code[1], inputs.ctypes.data, outputs.ctypes.data, f.code[4])
        for i in range(n):
            grad[f.index[j, i]] += outputs[i]
        for e in range(f.jac_of.size):
            jac[j, e] = outputs[n + f.jac_of[e]]


@part
def store_curves(f: Any, x: Any, y: Any, hess: Any, inputs: Any) -> Any:
    """The Hessians (count, entries) of cost + y^T rows."""
    first = f.index.shape[1] + f.data.shape[1]
    if f.hess_row.size == 0:
        return
    for j in range(f.index.shape[0]):
        gather_block(f, j, x, inputs)
        inputs[first] = 1.0
        for i in range(f.n_rows):
            inputs[first + 1 + i] = y[f.row + j * f.stride + i]
        call_address(f.code[2], inputs.ctypes.data, hess[j].ctypes.data, f.code[5])


@part
def add_hessian_product(f: Any, hess: Any, d: Any, out: Any) -> Any:
    """Add the product of a family's Hessians and d to out."""
    for j in range(f.index.shape[0]):
        for e in range(f.hess_row.size):
            a, b = f.index[j, f.hess_row[e]], f.index[j, f.hess_col[e]]
            out[a] += hess[j, e] * d[b]
            if f.hess_row[e] != f.hess_col[e]:
                out[b] += hess[j, e] * d[a]


@part
def add_jacobian_product(f: Any, jac: Any, d: Any, out: Any) -> Any:
    """Add the product of a family's Jacobians and d (n,) to out (m,)."""
    for j in range(f.index.shape[0]):
        for e in range(f.jac_col.size):
            out[f.row + j * f.stride + f.jac_row[e]] += jac[j, e] * d[f.index[j, f.jac_col[e]]]


@part
def add_transposed_product(f: Any, jac: Any, y: Any, out: Any) -> Any:
    """Add the product of a family's transposed Jacobians and y (m,) to out (n,)."""
    for j in range(f.index.shape[0]):
        for e in range(f.jac_col.size):
            out[f.index[j, f.jac_col[e]]] += jac[j, e] * y[f.row + j * f.stride + f.jac_row[e]]
