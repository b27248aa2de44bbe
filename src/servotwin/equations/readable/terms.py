"""From Laurent sums to what is printed: sines and cosines of angle sums, times named constants.

Joints with parallel axes turn in one plane; their angles add, and products of their sines and cosines
become sines and cosines of sums. Functions of different planes stay products. A constant is the whole
factor of one such function: it gets a name, and equal constants (up to a number) share it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from servotwin.equations.derivation import Numbers
from servotwin.equations.readable.energy import Linear
from servotwin.equations.readable.laurent import TINY, Poly, exponents, plus_terms
from servotwin.equations.readable.symbols import Symbol, Symbols
from servotwin.mechanism.model import Array


class Factor(NamedTuple):
    """cos or sin of a whole-number combination of coordinates, or a power product of travels ('pow')."""

    kind: str
    weights: tuple[int, ...]


Function = tuple[Factor, ...]  # product, in the order of the coordinates; () is 1
Entry = dict[tuple[str, Function], float]  # (constant, function) -> number
Form = dict[tuple[tuple[int, ...], str], float]  # (exponents of geometry, inertial symbol) -> number


def planes(numbers: Numbers) -> list[int]:
    """For every coordinate, the number of the set of parallel axes it belongs to."""
    tree, n = numbers.tree, len(numbers.tree.parent)
    leader = list(range(n))

    def find(i: int) -> int:
        while leader[i] != i:
            i = leader[i]
        return i

    for i in range(n):
        p = int(tree.parent[i])
        flat = abs(math.sin(float(tree.alpha[i]))) < 1e-13 and not tree.twist[i]
        if p >= 0 and flat:
            leader[find(i)] = find(p)
    for column in numbers.G.T:
        used = np.flatnonzero(column)
        for i in used[1:]:
            leader[find(int(i))] = find(int(used[0]))
    for row in numbers.G:  # coordinates that share a joint share its plane
        used = np.flatnonzero(row)
        owners = [int(np.flatnonzero(numbers.G[:, j])[0]) for j in used]
        for i in owners[1:]:
            leader[find(i)] = find(owners[0])
    return [find(int(np.flatnonzero(column)[0])) for column in numbers.G.T]


@dataclass
class Constants:
    """Named constants, each a sum of products of lengths and inertial symbols."""

    geometry: list[Symbol]
    atoms: Mapping[str, Symbol]
    numeric: bool = False  # write values instead of names
    forms: dict[str, Form] = field(default_factory=dict)
    _known: dict[tuple[tuple[tuple[tuple[int, ...], str], float], ...], str] = field(default_factory=dict)

    def name(self, form: Form) -> tuple[str, float]:
        """Name of a constant ('' for a plain number) and the number that stands before it."""
        if self.numeric:
            return "", self.form_value(form)
        items = sorted(form.items())
        scale = min((abs(value) for _, value in items))
        scale = math.copysign(scale, items[0][1])
        if len(items) == 1 and not any(items[0][0][0]) and items[0][0][1]:
            return items[0][0][1], items[0][1]
        key = tuple((what, round(value / scale, 9)) for what, value in items)
        if key not in self._known:
            name = f"K{len(self.forms) + 1}"
            self._known[key] = name
            self.forms[name] = {what: value / scale for what, value in items}
        return self._known[key], scale

    def value(self, name: str) -> float:
        """Value of a constant in the robot at hand."""
        if not name:
            return 1.0
        if name in self.forms:
            return self.form_value(self.forms[name])
        return self.atoms[name].value

    def vanishes(self, form: Form) -> bool:
        """True if the parts cancel in the robot at hand, as Ixx - Iyy of a symmetric body does."""
        parts = [abs(self.form_value({what: number})) for what, number in form.items()]
        return abs(self.form_value(form)) <= 1e-12 * sum(parts)

    def form_value(self, form: Form) -> float:
        """Value of a sum of products."""
        total = 0.0
        for (powers, atom), number in form.items():
            product = number * (self.atoms[atom].value if atom else 1.0)
            for symbol, power in zip(self.geometry, powers, strict=False):
                product *= symbol.value**power
            total += product
        return total


@dataclass
class Reader:
    """Turns Laurent sums into entries."""

    symbols: Symbols
    constants: Constants
    plane_of: list[int]

    @classmethod
    def of(cls, symbols: Symbols, atoms: Mapping[str, Symbol], *, numeric: bool = False) -> Reader:
        """Prepare for the symbols of one robot."""
        return cls(symbols, Constants(symbols.geometry, atoms, numeric), planes(symbols.numbers))

    def entry(self, linear: Linear, *, constant: bool = True) -> Entry:
        """Collect the factor of every function, and name it; ``constant`` False leaves out what is constant."""
        collected: dict[Function, Form] = {}
        for atom, poly in linear.items():
            for key, value in poly.items():
                powers = exponents(key, self.symbols.count)
                n = len(self.symbols.coordinates)
                for function, weight in self._functions(powers[:n]):
                    if not (function or constant):
                        continue
                    form = collected.setdefault(function, {})
                    place = (tuple(powers[n:]), atom)
                    form[place] = form.get(place, 0.0) + (value * weight).real
        return self._named(collected)

    def plain(self, poly: Poly) -> dict[Function, Form]:
        """A function of coordinates and lengths alone, such as an entry of a transform; nothing is named."""
        collected: dict[Function, Form] = {}
        n = len(self.symbols.coordinates)
        for key, value in poly.items():
            powers = exponents(key, self.symbols.count)
            for function, weight in self._functions(powers[:n]):
                form = collected.setdefault(function, {})
                place = (tuple(powers[n:]), "")
                form[place] = form.get(place, 0.0) + (value * weight).real
        kept = {f: {k: v for k, v in form.items() if abs(v) > TINY} for f, form in collected.items()}
        return {f: kept[f] for f in sorted(kept, key=function_order) if kept[f]}

    def _named(self, collected: Mapping[Function, Form]) -> Entry:
        out: Entry = {}
        for function in sorted(collected, key=function_order):
            form = {k: v for k, v in collected[function].items() if abs(v) > TINY}
            if form and (self.symbols.general or not self.constants.vanishes(form)):
                name, number = self.constants.name(form)
                out[name, function] = out.get((name, function), 0.0) + number
        return out

    def _functions(self, powers: Sequence[int]) -> Iterable[tuple[Function, complex]]:
        """exp(i sum e q) of every plane, multiplied out into cosines and sines; travels as powers."""
        prismatic = self.sliding()
        slides = tuple(p if slide else 0 for p, slide in zip(powers, prismatic, strict=True))
        terms: list[tuple[tuple[Factor, ...], complex]] = [((), 1.0 + 0j)]
        for plane in dict.fromkeys(self.plane_of):
            weights = tuple(
                p if self.plane_of[j] == plane and not prismatic[j] else 0 for j, p in enumerate(powers)
            )
            if not any(weights):
                continue
            sign = 1 if next(w for w in weights if w) > 0 else -1
            positive = tuple(sign * w for w in weights)
            terms = [
                ((*factors, Factor(kind, positive)), value * part)
                for factors, value in terms
                for kind, part in (("cos", 1.0 + 0j), ("sin", 1j * sign))
            ]
        if any(slides):
            terms = [((Factor("pow", slides), *factors), value) for factors, value in terms]
        return terms

    def sliding(self) -> list[bool]:
        """Which coordinates are travels."""
        return self.symbols.sliding()


def function_order(function: Function) -> tuple[int, int, Function]:
    """Constants first, then short products, then by coordinates."""
    return (len(function), sum(abs(w) for f in function for w in f.weights), function)


def plus(a: Entry, b: Entry, scale: float = 1.0) -> Entry:
    """a + scale b."""
    return plus_terms(a, b, scale)


def derivative(entry: Entry, j: int) -> Entry:
    """Partial derivative with respect to coordinate j."""
    out: Entry = {}
    for (name, function), value in entry.items():
        for k, factor in enumerate(function):
            weight = factor.weights[j]
            if not weight:
                continue
            rest, number = _differentiated(factor, j, weight)
            product = function[:k] + (() if rest is None else (rest,)) + function[k + 1 :]
            out = plus(out, {(name, product): value * number})
    return out


def _differentiated(factor: Factor, j: int, weight: int) -> tuple[Factor | None, float]:
    if factor.kind == "cos":
        return Factor("sin", factor.weights), -float(weight)
    if factor.kind == "sin":
        return Factor("cos", factor.weights), float(weight)
    lower = tuple(w - 1 if k == j else w for k, w in enumerate(factor.weights))
    return (Factor("pow", lower) if any(lower) else None), float(weight)


def evaluate(entry: Entry, constants: Constants, q: Array) -> Array:
    """Values (...) of an entry at q (..., n)."""
    total = np.zeros(q.shape[:-1])
    for (name, function), number in entry.items():
        total = total + number * constants.value(name) * evaluate_function(function, q)
    return total


def evaluate_function(function: Function, q: Array) -> Array:
    """Values (...) of a product of sines, cosines and powers at q (..., n)."""
    product = np.ones(q.shape[:-1])
    for factor in function:
        weights = np.array(factor.weights, dtype=np.float64)
        if factor.kind == "pow":
            product = product * np.prod(q**weights, axis=-1)
        else:
            product = product * (np.cos if factor.kind == "cos" else np.sin)(q @ weights)
    return product
