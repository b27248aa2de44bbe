"""A machine-code loop as a NumPy generalised ufunc, so that broadcasting costs nothing to write or to run.

The ufunc is made through NumPy's own C interface (the table behind
``_UFUNC_API``, stable across NumPy 1.x and 2.x).
"""

from __future__ import annotations

import ctypes
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
    pointer, number = ctypes.c_void_p, ctypes.c_int
    kinds = (pointer, pointer, pointer, number, number, number, number, pointer, pointer, number, pointer)
    return ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(address)


def signature(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> str:
    """NumPy's notation with fixed sizes, such as ``(6),(6)->(6,6)``."""

    def side(shapes: list[tuple[int, ...]]) -> str:
        return ",".join("(" + ",".join(map(str, shape)) + ")" for shape in shapes)

    return f"{side(inputs)}->{side(outputs)}"


_NAME_OFFSET, _OBJ_OFFSET = 56, 88  # fields of NumPy's ufunc object on 64-bit machines (ufuncobject.h)
_immortal: list[Any] = []


def make_ufunc(
    address: int,
    consts: Array,
    inputs: list[tuple[int, ...]],
    outputs: list[tuple[int, ...]],
    name: str,
    doc: str,
) -> np.ufunc:
    """Ufunc over a loop at ``address`` whose data pointer is ``consts``."""
    count = len(inputs) + len(outputs)
    loops = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(consts.ctypes.data)
    types = ctypes.create_string_buffer(bytes([_NPY_DOUBLE] * count), count)
    texts = [ctypes.create_string_buffer(text.encode()) for text in (name, doc, signature(inputs, outputs))]
    parts: list[Any] = [loops, data, types, *texts]
    at = [ctypes.addressof(part) for part in parts]
    made: np.ufunc = _maker()(*at[:3], 1, len(inputs), len(outputs), _UFUNC_NONE, *at[3:5], 0, at[5])
    _keep(made, at[3], (loops, data, types, texts, consts))
    return made


def _keep(made: np.ufunc, name: int, parts: tuple[Any, ...]) -> None:
    """Tie what NumPy only points to to the life of the ufunc: it releases its field ``obj`` when it dies."""
    fits = ctypes.c_void_p.from_address(id(made) + _NAME_OFFSET).value == name
    owner = ctypes.c_void_p.from_address(id(made) + _OBJ_OFFSET)
    if fits and owner.value is None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(parts))
        owner.value = id(parts)
    else:  # another layout than the one known here: rather keep them for ever
        _immortal.append((made, parts))
