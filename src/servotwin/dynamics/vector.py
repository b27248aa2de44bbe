"""Three-vectors over any scalar: floats, graph nodes, dual numbers. Plain tuples, no arrays."""

from __future__ import annotations

from typing import Any

Scalar = Any  # float or a graph expression: whatever adds and multiplies
Vec = tuple[Scalar, Scalar, Scalar]
ZERO: Vec = (0.0, 0.0, 0.0)


def add(a: Vec, b: Vec) -> Vec:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vec, b: Vec) -> Vec:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(k: Scalar, a: Vec) -> Vec:
    """k a."""
    return (k * a[0], k * a[1], k * a[2])


def dot(a: Vec, b: Vec) -> Scalar:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec, b: Vec) -> Vec:
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def times(U: tuple[Vec, Vec, Vec], a: Vec) -> Vec:
    """Matrix of three rows times a vector."""
    return (dot(U[0], a), dot(U[1], a), dot(U[2], a))
