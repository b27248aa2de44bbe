"""Leading shapes: arguments of any leading shape become one batch axis for the compiled loops, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import ShapeError
from servotwin.mechanism.model import Array

Shape = tuple[int, ...]


def floats(name: str, value: ArrayLike) -> Array:
    """``value`` as float64; ShapeError if it is not a regular array of real numbers."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as problem:
        raise ShapeError(f"{name} must be an array of real numbers: {problem}") from None


def checked(name: str, value: ArrayLike, tail: Shape) -> Array:
    """``value`` as float64 with the trailing axes ``tail``, or a ShapeError."""
    array = floats(name, value)
    if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
        wanted = ", ".join(["...", *map(str, tail)])
        raise ShapeError(f"{name} has shape {array.shape}; expected ({wanted})")
    return array


def common_lead(leads: Mapping[str, Shape]) -> Shape:
    """The leading shape that all of the named ones broadcast to, or a ShapeError."""
    try:
        return np.broadcast_shapes(*leads.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in leads.items())
        raise ShapeError(f"leading shapes do not fit together: {listed}") from None


def batch(arguments: Mapping[str, tuple[ArrayLike, Shape]]) -> tuple[Shape, list[Array]]:
    """The common leading shape and every argument as a C-contiguous, writable (N, *tail) array.

    ``arguments`` maps a name to (value, trailing shape). One memory layout for
    all calls keeps the compiled functions at one specialisation each.
    """
    arrays = [(checked(name, value, tail), tail) for name, (value, tail) in arguments.items()]
    leads = [array.shape[: array.ndim - len(tail)] for array, tail in arrays]
    lead = leads[0]
    if any(other != lead for other in leads):
        lead = common_lead(dict(zip(arguments, leads, strict=True)))
        arrays = [(np.broadcast_to(array, lead + tail), tail) for array, tail in arrays]
    count = math.prod(lead)
    return lead, [plain(array.reshape((count, *tail))) for array, tail in arrays]


def plain(array: Array) -> Array:
    """The array itself if it is contiguous, aligned and writable, else such a copy."""
    return array if array.flags.carray else array.copy()
