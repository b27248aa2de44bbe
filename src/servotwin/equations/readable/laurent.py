r"""Trigonometric polynomials in the one form in which equal expressions are equal.

With :math:`z = e^{iq}`, cosine and sine are :math:`(z + z^{-1})/2` and :math:`(z - z^{-1})/2i`, and every
polynomial in sines, cosines, joint travels and lengths is a sum of monomials with integer exponents.
Sums of angles, squares, products: no identity has to be found, because each function has exactly one such
sum (eq:laurent). Exponents are packed into one integer, eight bits each, so that multiplying monomials is
adding integers; coefficients are dyadic and therefore exact in floating point.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

from servotwin.errors import UnsupportedError

BITS = 8
HALF = 1 << (BITS - 1)
MASK = (1 << BITS) - 1
TINY = 1e-14
READABLE = 100_000  # products of one multiplication beyond which nobody would read the result

K = TypeVar("K", bound=Hashable)
Poly = dict[int, complex]  # packed exponents -> coefficient


def monomial(field: int, power: int = 1) -> int:
    """Packed exponents of one symbol."""
    return power << (BITS * field)


def exponents(key: int, count: int) -> list[int]:
    """Exponents of the first ``count`` symbols of a packed key."""
    out = []
    for _ in range(count):
        digit = ((key + HALF) & MASK) - HALF
        out.append(digit)
        key = (key - digit) >> BITS
    return out


def constant(value: complex) -> Poly:
    """A number."""
    return {0: complex(value)} if value else {}


def symbol(field: int) -> Poly:
    """A length or a travel."""
    return {monomial(field): 1.0 + 0.0j}


def cosine_sine(key: int, turn: complex = 1.0 + 0.0j) -> tuple[Poly, Poly]:
    """Cosine and sine of the angle with packed exponents ``key``, turned by a right angle ``turn`` = i^k."""
    back = turn.conjugate()
    return {key: 0.5 * turn, -key: 0.5 * back}, {key: -0.5j * turn, -key: 0.5j * back}


def plus_terms(a: dict[K, Any], b: dict[K, Any], scale: complex = 1.0) -> dict[K, Any]:
    """a + scale b of sums kept as key -> coefficient; what cancels disappears."""
    out = dict(a)
    for key, value in b.items():
        whole = out.get(key, 0.0) + scale * value
        if abs(whole) > TINY:
            out[key] = whole
        else:
            out.pop(key, None)
    return out


def add(a: Poly, b: Poly, scale: complex = 1.0) -> Poly:
    """a + scale b."""
    return plus_terms(a, b, scale)


def scaled(a: Poly, factor: complex) -> Poly:
    """factor a."""
    return {key: factor * value for key, value in a.items()} if factor else {}


def mul(a: Poly, b: Poly) -> Poly:
    """a b."""
    if len(a) > len(b):
        a, b = b, a
    if len(a) * len(b) > READABLE:
        raise UnsupportedError(
            "the closed form has too many terms to be read; export the numbered form instead"
        )
    out: Poly = {}
    get = out.get
    for key_a, value_a in a.items():
        for key_b, value_b in b.items():
            key = key_a + key_b
            out[key] = get(key, 0.0) + value_a * value_b
    return {key: value for key, value in out.items() if abs(value) > TINY}


def total(parts: Iterable[Poly]) -> Poly:
    """Sum of several."""
    out: Poly = {}
    for part in parts:
        out = add(out, part)
    return out


Vector = tuple[Poly, Poly, Poly]
Rows = tuple[Vector, Vector, Vector]

IDENTITY: Rows = (({0: 1.0 + 0j}, {}, {}), ({}, {0: 1.0 + 0j}, {}), ({}, {}, {0: 1.0 + 0j}))
ORIGIN: Vector = ({}, {}, {})


def dot(a: Sequence[Poly], b: Sequence[Poly]) -> Poly:
    """Inner product."""
    return total(mul(x, y) for x, y in zip(a, b, strict=True) if x and y)


def apply(R: Rows, v: Vector) -> Vector:
    """R v."""
    x, y, z = (dot(row, v) for row in R)
    return (x, y, z)


def times(A: Rows, B: Rows) -> Rows:
    """A B."""
    columns = [tuple(row[k] for row in B) for k in range(3)]
    rows = [tuple(dot(row, column) for column in columns) for row in A]
    return (rows[0], rows[1], rows[2])  # type: ignore[return-value]


def plus(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return (add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]))


def derivative(a: Poly, field: int, sliding: bool) -> Poly:
    """Partial derivative with respect to a coordinate: an angle (z = exp(iq)) or a travel."""
    out: Poly = {}
    for key, value in a.items():
        power = exponents(key, field + 1)[field]
        if power:
            where = key - monomial(field) if sliding else key
            out[where] = out.get(where, 0.0) + value * (power if sliding else 1j * power)
    return out
