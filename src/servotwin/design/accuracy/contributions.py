r"""What sources contribute to a quantity that depends on which of them act: steps over orders of switching them on.

Let v(S) be a quantity with the sources S alone. In an order each source contributes the step of v that it makes; over
the orders O the mean of its steps is taken, so that with the sources N

.. math:: v(N) = v(\emptyset) + \sum_{s \in N} \phi_s, \quad
          \phi_s = \frac{1}{|O|} \sum_{o \in O} \left( v(o_{<s} \cup s) - v(o_{<s}) \right)     (eq:error-budget)

for any orders: contributions add up. Sources of a gear build on each other (``LADDER``): flanks with play and a
hysteresis need a gear that twists, and one that twists without friction swings through its rest, which no robot does.
They stand side by side in every order and in this sequence; all others come before and after them. Orders come in
pairs, one the reverse of the other: for sources that interact in pairs at most, one pair gives the mean over all
such orders exactly (Shapley's value where no source builds on another).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.model import Array

Sources = frozenset[str]
MOST_ORDERS = 100  # pairs of them
LADDER = ("friction", "torsion", "hysteresis", "play")  # of a gear: each acts on one that has those before it


def check_orders(name: str, pairs: int) -> None:
    """Refuse a number of pairs of orders that says nothing, or that nobody waits for."""
    if not 1 <= pairs <= MOST_ORDERS:
        raise InputError(f"{pairs}; expected 1 to {MOST_ORDERS} pairs of orders", field=name)


def paired_orders(names: Sequence[str], pairs: int, seed: int) -> list[tuple[str, ...]]:
    """Orders of the sources: as listed and reversed, then random ones, each with its reverse; LADDER upwards in all."""
    rng = np.random.default_rng(seed)
    ladder = tuple(name for name in LADDER if name in names)
    blocks: list[tuple[str, ...]] = []
    for name in names:
        if name not in ladder:
            blocks.append((name,))
        elif ladder not in blocks:
            blocks.append(ladder)
    orders = []
    for k in range(pairs):
        row = blocks if k == 0 else [blocks[i] for i in rng.permutation(len(blocks))]
        orders += [tuple(name for block in way for name in block) for way in (row, row[::-1])]
    return orders


def subsets(orders: Sequence[Sequence[str]]) -> list[Sources]:
    """All sets of sources that the orders pass through, each once, the empty one first."""
    found: dict[Sources, None] = {frozenset(): None}
    for order in orders:
        for k in range(1, len(order) + 1):
            found[frozenset(order[:k])] = None
    return list(found)


def weights(orders: Sequence[Sequence[str]], name: str) -> dict[Sources, float]:
    """The contribution of a source as a sum over sets: the weight of v(S) for every set S (eq:error-budget)."""
    found: dict[Sources, float] = {}
    for order in orders:
        place = list(order).index(name)
        for count, sign in ((place + 1, 1.0), (place, -1.0)):
            on = frozenset(order[:count])
            found[on] = found.get(on, 0.0) + sign / len(orders)
    return found


def contribution(values: Mapping[Sources, Array], orders: Sequence[Sequence[str]], name: str) -> Array:
    """Mean step that a source makes over the orders, eq:error-budget."""
    return np.asarray(sum(w * values[on] for on, w in weights(orders, name).items()))  # eq:error-budget


def standard_error(
    errors: Mapping[Sources, float], orders: Sequence[Sequence[str]], name: str, shared: Sources
) -> float:
    """Standard error of a contribution from those of v(S); sets that differ by ``shared`` alone are one sample."""
    together: dict[Sources, float] = {}
    for on, w in weights(orders, name).items():
        run = on - shared
        together[run] = together.get(run, 0.0) + w
    return float(np.sqrt(sum((w * errors[run]) ** 2 for run, w in together.items())))


def steps(values: Mapping[Sources, float], orders: Sequence[Sequence[str]], name: str) -> tuple[float, float]:
    """Least and largest step that a source makes over the orders."""
    found = []
    for order in orders:
        place = list(order).index(name)
        found.append(values[frozenset(order[: place + 1])] - values[frozenset(order[:place])])
    return min(found), max(found)
