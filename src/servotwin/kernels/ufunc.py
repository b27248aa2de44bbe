"""A machine-code loop as a NumPy generalised ufunc, so that broadcasting costs nothing to write or to run.

The ufunc is made through NumPy's own C interface (the table behind
``_UFUNC_API``, stable across NumPy 1.x and 2.x).
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from servotwin.mechanism.model import Array

_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31  # position in the table, fixed by NumPy's ABI
_NPY_DOUBLE = 12
_UFUNC_NONE = -1


@cache
def _maker() -> Any:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = get_pointer(_multiarray_umath._UFUNC_API, None)  # the only place where the table is published
    address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_FROM_FUNC_AND_DATA_AND_SIGNATURE]
    pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    kinds = (pointer, pointer, pointer, number, number, number, number, text, text, number, text)
    return ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(address)


def signature(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> str:
    """NumPy's notation with fixed sizes, such as ``(6),(6)->(6,6)``."""

    def side(shapes: list[tuple[int, ...]]) -> str:
        return ",".join("(" + ",".join(map(str, shape)) + ")" for shape in shapes)

    return f"{side(inputs)}->{side(outputs)}"


@dataclass(frozen=True)
class Bound:
    """A ufunc with what NumPy only points to: both must live equally long."""

    ufunc: np.ufunc
    kept: tuple[Any, ...]


def make_ufunc(
    address: int,
    consts: Array,
    inputs: list[tuple[int, ...]],
    outputs: list[tuple[int, ...]],
    name: str,
    doc: str,
) -> Bound:
    """Ufunc over a loop at ``address`` whose data pointer is ``consts``."""
    count = len(inputs) + len(outputs)
    loops = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(consts.ctypes.data)
    types = ctypes.create_string_buffer(bytes([_NPY_DOUBLE] * count), count)
    texts = [text.encode() for text in (name, doc, signature(inputs, outputs))]
    made: np.ufunc = _maker()(
        ctypes.addressof(loops),
        ctypes.addressof(data),
        ctypes.addressof(types),
        1,
        len(inputs),
        len(outputs),
        _UFUNC_NONE,
        texts[0],
        texts[1],
        0,
        texts[2],
    )
    return Bound(made, (loops, data, types, texts, consts))
