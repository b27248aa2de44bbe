"""What IPOPT calls while it solves: values, derivatives and their places, all in compiled code.

A problem is a list of families of blocks (``block_nlp``). Its numbers stand in one table of integers, HEAD entries
about the whole and FAMILY entries about each family; addresses are integers among them. A block gathers its
variables, its data and its multipliers in ``inputs``, calls generated code by address, and its results are
added to, or stored in, what the solver asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import callback, helper
from servotwin.compiled.native_calls import call_address, numbers_at

HEAD, FAMILY = 16, 16  # entries
# of the head
FAMILIES, INPUTS, OUTPUTS, JAC_ROWS, JAC_COLUMNS, HESS_ROWS, HESS_COLUMNS, WATCH = range(8)
# of a family
COUNT, LOCALS, DATA, ROWS, JACOBIAN, HESSIAN, INDEX_AT, DATA_AT = range(8)
VALUE, SLOPE, CURVE, VALUE_DATA, SLOPE_DATA, CURVE_DATA, ROW, STRIDE = range(8, 16)
# of what a person who waits is told, and may ask
WATCHED = 8
ITERATION, OBJECTIVE, PRIMAL, DUAL, STOP, RESTORING, CALLS = range(7)


@helper
def gather(f: Any, j: int, x: Any, inputs: Any) -> None:
    """Variables and data of block j of a family, one after the other."""
    index = numbers_at(f[INDEX_AT], np.int32)
    data = numbers_at(f[DATA_AT], np.float64)
    n, d = f[LOCALS], f[DATA]
    for k in range(n):
        inputs[k] = x[index[j * n + k]]
    for k in range(d):
        inputs[n + k] = data[j * d + k]


@callback("int32", "int64", "uint8", "int64", "int64", result="uint8")
def eval_f(n: int, x_at: int, new: int, value_at: int, user: int) -> int:
    """The objective: the sum of the costs of all blocks, the first output of their values."""
    table = numbers_at(user, np.int64)
    x, value = numbers_at(x_at, np.float64), numbers_at(value_at, np.float64)
    inputs, outputs = numbers_at(table[INPUTS], np.float64), numbers_at(table[OUTPUTS], np.float64)
    total = 0.0
    for k in range(table[FAMILIES]):
        f = numbers_at(user + 8 * (HEAD + FAMILY * k), np.int64)
        for j in range(f[COUNT]):
            gather(f, j, x, inputs)
            call_address(f[VALUE], table[INPUTS], table[OUTPUTS], f[VALUE_DATA])
            total += outputs[0]
    value[0] = total
    return 1


@callback("int32", "int64", "uint8", "int64", "int64", result="uint8")
def eval_grad_f(n: int, x_at: int, new: int, grad_at: int, user: int) -> int:
    """Its gradient."""
    table = numbers_at(user, np.int64)
    x, grad = numbers_at(x_at, np.float64), numbers_at(grad_at, np.float64)
    inputs, outputs = numbers_at(table[INPUTS], np.float64), numbers_at(table[OUTPUTS], np.float64)
    for i in range(n):
        grad[i] = 0.0
    for k in range(table[FAMILIES]):
        f = numbers_at(user + 8 * (HEAD + FAMILY * k), np.int64)
        index = numbers_at(f[INDEX_AT], np.int32)
        for j in range(f[COUNT]):
            gather(f, j, x, inputs)
            call_address(f[SLOPE], table[INPUTS], table[OUTPUTS], f[SLOPE_DATA])
            for i in range(f[LOCALS]):
                grad[index[j * f[LOCALS] + i]] += outputs[i]
    return 1


@callback("int32", "int64", "uint8", "int32", "int64", "int64", result="uint8")
def eval_g(n: int, x_at: int, new: int, m: int, g_at: int, user: int) -> int:
    """The constraints; blocks of a family with stride 0 share their rows and add up."""
    table = numbers_at(user, np.int64)
    x, g = numbers_at(x_at, np.float64), numbers_at(g_at, np.float64)
    inputs, outputs = numbers_at(table[INPUTS], np.float64), numbers_at(table[OUTPUTS], np.float64)
    for i in range(m):
        g[i] = 0.0
    for k in range(table[FAMILIES]):
        f = numbers_at(user + 8 * (HEAD + FAMILY * k), np.int64)
        for j in range(f[COUNT]):
            gather(f, j, x, inputs)
            call_address(f[VALUE], table[INPUTS], table[OUTPUTS], f[VALUE_DATA])
            for i in range(f[ROWS]):
                g[f[ROW] + j * f[STRIDE] + i] += outputs[1 + i]
    return 1


@callback("int32", "int64", "uint8", "int32", "int32", "int64", "int64", "int64", "int64", result="uint8")
def eval_jac_g(n, x_at, new, m, count, rows_at, columns_at, values_at, user):  # type: ignore[no-untyped-def]
    """Their Jacobian, as triplets; the places at the first call."""
    table = numbers_at(user, np.int64)
    if values_at == 0:
        rows, columns = numbers_at(rows_at, np.int32), numbers_at(columns_at, np.int32)
        r, c = numbers_at(table[JAC_ROWS], np.int32), numbers_at(table[JAC_COLUMNS], np.int32)
        for i in range(count):
            rows[i], columns[i] = r[i], c[i]
        return 1
    x, values = numbers_at(x_at, np.float64), numbers_at(values_at, np.float64)
    inputs, outputs = numbers_at(table[INPUTS], np.float64), numbers_at(table[OUTPUTS], np.float64)
    at = 0
    for k in range(table[FAMILIES]):
        f = numbers_at(user + 8 * (HEAD + FAMILY * k), np.int64)
        for j in range(f[COUNT]):
            gather(f, j, x, inputs)
            call_address(f[SLOPE], table[INPUTS], table[OUTPUTS], f[SLOPE_DATA])
            for i in range(f[JACOBIAN]):
                values[at + i] = outputs[f[LOCALS] + i]
            at += f[JACOBIAN]
    return 1


@callback(
    *("int32", "int64", "uint8", "float64", "int32", "int64", "uint8"),
    *("int32", "int64", "int64", "int64", "int64"),
    result="uint8",
)
def eval_h(n, x_at, new, factor, m, lambda_at, new_l, count, rows_at, columns_at, values_at, user):  # type: ignore[no-untyped-def]
    """The Hessian of the Lagrangian, its lower triangle as triplets; the places at the first call."""
    table = numbers_at(user, np.int64)
    if values_at == 0:
        rows, columns = numbers_at(rows_at, np.int32), numbers_at(columns_at, np.int32)
        r, c = numbers_at(table[HESS_ROWS], np.int32), numbers_at(table[HESS_COLUMNS], np.int32)
        for i in range(count):
            rows[i], columns[i] = r[i], c[i]
        return 1
    x = numbers_at(x_at, np.float64)
    lam = numbers_at(lambda_at, np.float64)
    inputs = numbers_at(table[INPUTS], np.float64)
    at = 0
    for k in range(table[FAMILIES]):
        f = numbers_at(user + 8 * (HEAD + FAMILY * k), np.int64)
        if f[HESSIAN] == 0:
            continue
        first = f[LOCALS] + f[DATA]
        for j in range(f[COUNT]):
            gather(f, j, x, inputs)
            inputs[first] = factor
            for i in range(f[ROWS]):
                inputs[first + 1 + i] = lam[f[ROW] + j * f[STRIDE] + i]
            call_address(f[CURVE], table[INPUTS], values_at + 8 * at, f[CURVE_DATA])
            at += f[HESSIAN]
    return 1


@callback(
    *("int32", "int32", "float64", "float64", "float64", "float64", "float64", "float64"),
    *("float64", "float64", "int32", "int64"),
    result="uint8",
)
def intermediate(mode, iteration, objective, primal, dual, mu, step, reg, alpha_d, alpha_p, trials, user):  # type: ignore[no-untyped-def]
    """Told after every iteration: writes where the solver stands, and ends it if somebody asked for that."""
    table = numbers_at(user, np.int64)
    watch = numbers_at(table[WATCH], np.float64)
    watch[ITERATION], watch[OBJECTIVE], watch[PRIMAL], watch[DUAL] = iteration, objective, primal, dual
    watch[RESTORING] = mode
    return 1 if watch[STOP] == 0.0 else 0
