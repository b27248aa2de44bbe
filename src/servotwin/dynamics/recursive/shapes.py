"""Leading shapes: arguments of any leading shape become one batch axis for the compiled loops, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import ShapeError
from servotwin.mechanism.model import Array

Shape = tuple[int, ...]


def floats(name: str, value: ArrayLike) -> Array:
    """``value`` as float64; ShapeError if it is not a regular array of real numbers."""
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


def batch(arguments: Mapping[str, tuple[ArrayLike, Shape]]) -> tuple[Shape, list[Array]]:
    """The common leading shape and every argument as a C-contiguous, writable (N, *tail) array.

    ``arguments`` maps a name to (value, trailing shape). One memory layout for
    all calls keeps the compiled functions at one specialisation each.
    """
    arrays = {name: (checked(name, value, tail), tail) for name, (value, tail) in arguments.items()}
    leads = {name: array.shape[: array.ndim - len(tail)] for name, (array, tail) in arrays.items()}
    try:
        lead = np.broadcast_shapes(*leads.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in leads.items())
        raise ShapeError(f"leading shapes do not fit together: {listed}") from None
    count = int(np.prod(lead))
    flat = [
        np.require(np.broadcast_to(array, lead + tail).reshape((count, *tail)), np.float64, ["C", "A", "W"])
        for array, tail in arrays.values()
    ]
    return lead, flat
