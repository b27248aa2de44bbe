"""Entries, constants and whole equations as strings of a dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from servotwin.equations.readable.dialects import Dialect
from servotwin.equations.readable.model import Equations
from servotwin.equations.readable.terms import Entry, Factor, Form, Function

Term = tuple[float, list[str]]  # number, factors already written


@dataclass(frozen=True)
class Writer:
    """Writes the parts of one robot's equations in one dialect."""

    equations: Equations
    dialect: Dialect

    # --- pieces -----------------------------------------------------------------------------------
    def angle(self, weights: Sequence[int]) -> str:
        """q2 + 2 q3."""
        names = self.equations.coordinates
        terms: list[Term] = [(float(w), [self.dialect.symbol(names[k])]) for k, w in enumerate(weights) if w]
        return self._sum(terms)

    def factor(self, factor: Factor) -> list[str]:
        """cos(q2 + q3), or travels."""
        if factor.kind != "pow":
            return [self.dialect.function(factor.kind, self.angle(factor.weights))]
        names = self.equations.coordinates
        return [
            self.dialect.power(self.dialect.symbol(names[k]), w) for k, w in enumerate(factor.weights) if w
        ]

    def function(self, function: Function) -> list[str]:
        """Factors of a product of sines, cosines and travels."""
        return [text for factor in function for text in self.factor(factor)]

    def terms(self, entry: Entry, extra: Sequence[str] = ()) -> list[Term]:
        """Terms of an entry, multiplied by further factors."""
        return [
            (number, [*([self.dialect.symbol(name)] if name else []), *self.function(function), *extra])
            for (name, function), number in entry.items()
        ]

    def _sum(self, terms: Iterable[Term]) -> str:
        out = []
        for number, factors in terms:
            size = abs(number)
            lead = [] if size == 1.0 and factors else [self.dialect.number(size)]
            out.append((number < 0, self.dialect.product([*lead, *factors])))
        return self.dialect.sum(out)

    # --- equations --------------------------------------------------------------------------------
    def entry(self, entry: Entry) -> str:
        """An entry of M, H or G."""
        return self._sum(self.terms(entry))

    def coriolis_entry(self, i: int, j: int) -> str:
        """C_ij with its velocities."""
        names = self.equations.coordinates
        terms: list[Term] = []
        for k, entry in self.equations.coriolis[i][j].items():
            terms += self.terms(entry, [self.dialect.rate(names[k], 1)])
        return self._sum(terms)

    def torque(self, i: int) -> str:
        """tau_i written out: accelerations, velocities, gravity."""
        e, names = self.equations, self.equations.coordinates
        terms: list[Term] = []
        for j in range(e.n):
            terms += self._times(e.M[i][j], [self.dialect.rate(names[j], 2)])
        for j in range(e.n):
            for k in range(j, e.n):
                rates = [self.dialect.rate(names[j], 1), self.dialect.rate(names[k], 1)]
                if j == k:
                    rates = [self.dialect.power(rates[0], 2)]
                weight = 1 if j == k else 2
                terms += self._times({key: weight * v for key, v in e.christoffel[i][j][k].items()}, rates)
        terms += self.terms(e.gravity[i])
        return self._sum(terms)

    def _times(self, entry: Entry, extra: list[str]) -> list[Term]:
        """An entry times further factors; several terms go into one bracket."""
        if len(entry) < 2:
            return self.terms(entry, extra)
        first = next(iter(entry.values()))
        sign = -1.0 if first < 0 else 1.0
        inner = self.entry({key: sign * value for key, value in entry.items()})
        return [(sign, [self.dialect.bracket(inner), *extra])]

    def plain(self, parts: Mapping[Function, Form]) -> str:
        """A sum of functions with their factors written out, nothing named."""
        terms: list[Term] = []
        for function, form in parts.items():
            factors = self.function(function)
            if len(form) == 1:
                ((what, number),) = form.items()
                terms.append((number, [*self._product(what), *factors]))
            else:
                inner = self.form(form)
                terms.append((1.0, [self.dialect.bracket(inner), *factors] if factors else [inner]))
        return self._sum(terms)

    def _product(self, what: tuple[tuple[int, ...], str]) -> list[str]:
        powers, atom = what
        factors = [
            self.dialect.power(self.dialect.symbol(symbol.name), power)
            for symbol, power in zip(self.equations.symbols.geometry, powers, strict=False)
            if power
        ]
        return [*factors, *([self.dialect.symbol(atom)] if atom else [])]

    def form(self, form: Form) -> str:
        """Definition of a constant."""
        return self._sum((number, self._product(what)) for what, number in form.items())

    def kinetic_energy(self) -> str:
        """T = 1/2 qd^T M qd, written out."""
        e, names = self.equations, self.equations.coordinates
        terms: list[Term] = []
        for i in range(e.n):
            for j in range(i, e.n):
                weight = 0.5 if i == j else 1.0
                rates = [self.dialect.rate(names[i], 1), self.dialect.rate(names[j], 1)]
                if i == j:
                    rates = [self.dialect.power(rates[0], 2)]
                terms += self.terms({k: weight * v for k, v in e.M[i][j].items()}, rates)
        return self._sum(terms)

    def potential_energy(self) -> str:
        """V(q)."""
        return self._sum(self.terms(self.equations.V))
