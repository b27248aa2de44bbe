r"""Base parameters and the regressor: :math:`\tau = Y(q, \dot q, \ddot q)\, \pi` (eq:regressor).

The constants of a closed form are sums of products of lengths and inertial symbols. The functions they
multiply are linearly independent, so the torque depends on exactly as many combinations of inertial
symbols as the constants span: a largest independent set of them are the base parameters, the others
follow from it.

In a closed chain the loops tie the coordinates together, and functions that are independent of each other
on the opened tree need not be so on the motions that the loops allow. There the columns of the projected
regressor W over many such motions decide: constants whose columns are combinations of others are dropped
(eq:regressor-closed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.equations.readable.model import Equations
from servotwin.equations.readable.terms import Entry, Form, evaluate_function
from servotwin.mechanism.model import Array

INDEPENDENT = 1e-9
MEASURED = 1e-7  # the same for columns of numbers that come from closed loops, which close to 1e-13


@dataclass(frozen=True)
class BaseParameters:
    """Names of the base parameters, the regressor's columns and the parameters' values by constant."""

    names: tuple[str, ...]
    combination: dict[str, dict[str, float]]  # constant -> {base parameter: how its column counts in it}
    sums: dict[str, dict[str, float]]  # base parameter -> {constant: number}, what it is the sum of

    def values(self, equations: Equations) -> Array:
        """pi of the robot at hand."""
        value = equations.constants.value
        return np.array([sum(w * value(c) for c, w in self.sums[name].items()) for name in self.names])


def used_constants(equations: Equations) -> list[str]:
    """Constants of M and G in the order of their appearance."""
    entries = [e for row in equations.M for e in row] + list(equations.gravity)
    return list(dict.fromkeys(name for entry in entries for name, _ in entry))


def _form_of(equations: Equations, name: str) -> Form:
    """A constant as a sum over products; lengths count with their values."""
    if name in equations.constants.forms:
        return equations.constants.forms[name]
    return {((), name): 1.0}


def base_parameters(equations: Equations) -> BaseParameters:
    """Largest independent set of constants, short ones first."""
    names = used_constants(equations)
    atoms = sorted({atom for name in names for _, atom in _form_of(equations, name)})
    place = {atom: k for k, atom in enumerate(atoms)}
    geometry = [symbol.value for symbol in equations.symbols.geometry]
    rows = {}
    for name in names:
        row = np.zeros(len(atoms))
        for (powers, atom), number in _form_of(equations, name).items():
            lengths = [value**power for value, power in zip(geometry, powers, strict=False)]
            row[place[atom]] += number * float(np.prod(lengths))
        rows[name] = row
    chosen = _independent(rows, sorted(names, key=lambda name: len(_form_of(equations, name))))
    basis = np.array([rows[name] for name in chosen])
    combination = {}
    for name in names:
        weights = np.linalg.lstsq(basis.T, rows[name], rcond=None)[0]
        kept = {c: float(w) for c, w in zip(chosen, weights, strict=True) if abs(w) > INDEPENDENT}
        combination[name] = kept
    return BaseParameters(tuple(chosen), combination, {name: {name: 1.0} for name in chosen})


def on_motions(base: BaseParameters, W: Array) -> BaseParameters:
    r"""The fewest parameters P that the torques of the given motions depend on.

    .. math:: W = [T^T Y(x, \dot x, \ddot x)]_{k = 1, 2, \ldots}, \quad W_\mathrm{rest} = W_\mathrm{kept}\, B, \quad
       P = \pi_\mathrm{kept} + B\, \pi_\mathrm{rest}                            (eq:regressor-closed)

    ``W`` (torques, p) has one column for each of ``base.names``.
    """
    sizes = np.linalg.norm(W, axis=0)
    moving = [k for k, size in enumerate(sizes) if size > MEASURED * sizes.max(initial=0.0)]
    columns = {base.names[k]: W[:, k] / sizes[k] for k in moving}
    kept = _independent(columns, list(columns), MEASURED)
    size = dict(zip(base.names, sizes, strict=True))
    basis = np.array([columns[name] for name in kept]).T
    called = {name: f"P{k + 1}" for k, name in enumerate(kept)}
    sums: dict[str, dict[str, float]] = {called[name]: {name: 1.0} for name in kept}
    for rest in [name for name in columns if name not in called]:
        B = np.linalg.lstsq(basis, columns[rest], rcond=None)[0]  # eq:regressor-closed
        for name, part in zip(kept, B, strict=True):
            if abs(part) > MEASURED:
                sums[called[name]][rest] = float(part * size[rest] / size[name])
    combination = {
        constant: {called[name]: number for name, number in parts.items() if name in called}
        for constant, parts in base.combination.items()
    }
    return BaseParameters(tuple(sums), combination, sums)


def _independent(rows: dict[str, Array], order: Sequence[str], least: float = INDEPENDENT) -> list[str]:
    basis: list[Array] = []
    chosen = []
    for name in order:
        rest = rows[name].copy()
        for _ in range(2):  # once more takes out what rounding left
            for b in basis:
                rest -= (rest @ b) * b
        size = float(np.linalg.norm(rest))
        if size > least * float(np.linalg.norm(rows[name])):
            basis.append(rest / size)
            chosen.append(name)
    return chosen


def regressor(equations: Equations, base: BaseParameters, q: Array, qd: Array, qdd: Array) -> Array:
    """Y (..., n, p) with tau = Y pi."""
    n = equations.n
    lead = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1], qdd.shape[:-1])
    Y = np.zeros((*lead, n, len(base.names)))
    for i in range(n):
        for j in range(n):
            _add(Y, i, equations, base, equations.M[i][j], q, qdd[..., j])
            for k in range(n):
                _add(Y, i, equations, base, equations.christoffel[i][j][k], q, qd[..., j] * qd[..., k])
        _add(Y, i, equations, base, equations.gravity[i], q, np.ones(lead))
    return Y


def _add(
    Y: Array, i: int, equations: Equations, base: BaseParameters, entry: Entry, q: Array, rate: Array
) -> None:
    for (name, function), number in entry.items():
        factor = number * evaluate_function(function, q) * rate
        for parameter, weight in base.combination[name].items():
            Y[..., i, base.names.index(parameter)] += weight * factor
