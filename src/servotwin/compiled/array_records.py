"""Records of arrays and numbers that compiled code gets by one address.

Numba passes a named tuple of arrays by value, some eight numbers for each array: a function that is given a few dozen
takes a second to compile, once for every caller. Here a record is a table of 64-bit entries in memory: the address of
an array, a number, or the address of another record. In compiled code ``record.field`` is the number, the record or a
pointer to the array's numbers, row by row, which has indices but no shape.
"""

from __future__ import annotations

import servotwin.compiled.numba_start  # noqa: F401 -- before numba

# isort: split
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic


class Kind(NamedTuple):
    """A number, or an array of numbers, of a NumPy type."""

    dtype: str
    array: bool


Whole = Annotated[int, Kind("int64", False)]
Real = Annotated[float, Kind("float64", False)]
Vector = Annotated[Any, Kind("float64", True)]
Flags = Annotated[Any, Kind("uint8", True)]
Places = Annotated[Any, Kind("int32", True)]
Wholes = Annotated[Any, Kind("int64", True)]


def word() -> Any:
    """LLVM's type of an entry."""
    return ir.IntType(64)


class RecordType(types.Type):  # type: ignore[misc,unused-ignore]
    """Numba's type of a record: its fields by name, each with its entry and its type."""

    def __init__(self, layout: type[Any]) -> None:
        kinds = _kinds(layout)
        self.fields = {name: (at, _type(kind)) for at, (name, kind) in enumerate(kinds.items())}
        super().__init__(name=f"record {layout.__name__} {self.fields}")


def _kinds(layout: type[Any]) -> dict[str, Any]:
    """What each field of a named tuple is: a ``Kind``, or another named tuple."""
    hints = get_type_hints(layout, include_extras=True)
    return {
        name: hint.__metadata__[0] if hasattr(hint, "__metadata__") else hint for name, hint in hints.items()
    }


def _type(kind: Any) -> Any:
    if not isinstance(kind, Kind):
        return RecordType(kind)
    number = getattr(types, kind.dtype)
    return types.CPointer(number) if kind.array else number


class Packed:
    """A named tuple as a record in memory; it keeps all arrays alive whose addresses stand there."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.inner: list[Packed] = []
        kinds = _kinds(type(values))
        self.table = np.array(
            [self._entry(name, kind, getattr(values, name)) for name, kind in kinds.items()], dtype=np.int64
        )

    def _entry(self, name: str, kind: Any, value: Any) -> int:
        if not isinstance(kind, Kind):
            self.inner.append(Packed(value))
            return self.inner[-1].address
        if not kind.array:
            return int(np.array(value, dtype=kind.dtype).view(np.int64))
        if value.dtype != kind.dtype or not value.flags.c_contiguous:
            raise TypeError(f"{name}: an array of {value.dtype}; expected {kind.dtype}, row by row")
        return int(value.ctypes.data)

    @property
    def address(self) -> int:
        """Where the record stands."""
        return int(self.table.ctypes.data)


def reader_of(layout: type[Any]) -> Any:
    """The compiled function that takes the address of a record of this kind for the record."""
    record = RecordType(layout)

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    def at(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], word().as_pointer())

        assert callable(read_field)  # named, so that its code counts for the digest of whoever uses records
        return record(types.int64), generate

    return at


@register_default(RecordType)
class RecordModel(models.PrimitiveModel):  # type: ignore[misc,unused-ignore]
    """A record is a pointer to its entries."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, word().as_pointer())


@infer_getattr
class RecordAttributes(AttributeTemplate):  # type: ignore[misc,unused-ignore]
    """Types of the fields."""

    key = RecordType

    def generic_resolve(self, record: Any, name: str) -> Any:
        """Of one of them."""
        return record.fields[name][1] if name in record.fields else None


def read_entry(builder: Any, record: Any, at: int) -> Any:
    """An entry of a record; none changes while compiled code runs."""
    entry = builder.load(builder.gep(record, [word()(at)], inbounds=True))
    entry.set_metadata("invariant.load", builder.module.add_metadata([]))
    return entry


def read_field(context: Any, builder: Any, record: Any, value: Any, name: str) -> Any:
    """A field of a record."""
    at, kind = record.fields[name]
    entry = read_entry(builder, value, at)
    if kind is types.int64:
        return entry
    if kind is types.float64:
        return builder.bitcast(entry, ir.DoubleType())
    return builder.inttoptr(entry, context.get_value_type(kind))  # a pointer, or another record


lower_getattr_generic(RecordType)(read_field)
