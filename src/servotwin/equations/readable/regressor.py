r"""Base parameters and the regressor: :math:`\tau = Y(q, \dot q, \ddot q)\, \pi` (eq:regressor).

The constants of a closed form are sums of products of lengths and inertial symbols. The functions they
multiply are linearly independent, so the torque depends on exactly as many combinations of inertial
symbols as the constants span: a largest independent set of them are the base parameters, the others
follow from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.equations.readable.model import Equations
from servotwin.equations.readable.terms import Entry, Form, evaluate
from servotwin.mechanism.model import Array

INDEPENDENT = 1e-9


@dataclass(frozen=True)
class BaseParameters:
    """Names of the base parameters and every constant as a combination of them."""

    names: tuple[str, ...]
    combination: dict[str, dict[str, float]]  # constant -> {base parameter: number}

    def values(self, equations: Equations) -> Array:
        """pi of the robot at hand."""
        return np.array([equations.constants.value(name) for name in self.names])


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
    return BaseParameters(tuple(chosen), combination)


def _independent(rows: dict[str, Array], order: Sequence[str]) -> list[str]:
    basis: list[Array] = []
    chosen = []
    for name in order:
        rest = rows[name].copy()
        for b in basis:
            rest -= (rest @ b) * b
        size = float(np.linalg.norm(rest))
        if size > INDEPENDENT * float(np.linalg.norm(rows[name])):
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
        unit = {(name, function): number / equations.constants.value(name)}
        factor = evaluate(unit, equations.constants, q) * rate
        for parameter, weight in base.combination[name].items():
            Y[..., i, base.names.index(parameter)] += weight * factor
