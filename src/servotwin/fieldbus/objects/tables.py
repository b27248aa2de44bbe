"""What a line of the object dictionary says: types, access, default, unit, mapping to process data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum

AXIS_STEP = 0x800  # objects of the drive profile: axis n has its objects 0x800 n further
PDO_STEP = 0x10  # process data objects of axis n stand 0x10 n further


class DataType(IntEnum):
    """Types of entries with the numbers of the standard."""

    BOOLEAN = 0x0001
    INTEGER8 = 0x0002
    INTEGER16 = 0x0003
    INTEGER32 = 0x0004
    UNSIGNED8 = 0x0005
    UNSIGNED16 = 0x0006
    UNSIGNED32 = 0x0007
    VISIBLE_STRING = 0x0009
    INTEGER64 = 0x0015
    UNSIGNED64 = 0x001B

    @property
    def bits(self) -> int:
        """Size; 0 for strings, whose size their value gives."""
        return _BITS[self]

    @property
    def signed(self) -> bool:
        """Whether it has negative numbers."""
        return self.name.startswith("INTEGER")

    @property
    def code(self) -> str:
        """NumPy's name of the type."""
        return f"<{'i' if self.signed else 'u'}{self.bits // 8}"

    @property
    def esi_name(self) -> str:
        """Name in ESI files."""
        return _ESI_NAMES[self]

    def pack(self, value: int) -> bytes:
        """Bytes of a whole number."""
        return value.to_bytes(self.bits // 8, "little", signed=self.signed)

    def unpack(self, data: bytes) -> int:
        """The whole number of bytes."""
        return int.from_bytes(data, "little", signed=self.signed)


_BITS = {
    DataType.BOOLEAN: 8,
    DataType.INTEGER8: 8,
    DataType.INTEGER16: 16,
    DataType.INTEGER32: 32,
    DataType.INTEGER64: 64,
    DataType.UNSIGNED8: 8,
    DataType.UNSIGNED16: 16,
    DataType.UNSIGNED32: 32,
    DataType.UNSIGNED64: 64,
    DataType.VISIBLE_STRING: 0,
}
_ESI_NAMES = {
    DataType.BOOLEAN: "BOOL",
    DataType.INTEGER8: "SINT",
    DataType.INTEGER16: "INT",
    DataType.INTEGER32: "DINT",
    DataType.INTEGER64: "LINT",
    DataType.UNSIGNED8: "USINT",
    DataType.UNSIGNED16: "UINT",
    DataType.UNSIGNED32: "UDINT",
    DataType.UNSIGNED64: "ULINT",
}


class ObjectCode(IntEnum):
    """Shapes of objects."""

    VAR = 7
    ARRAY = 8
    RECORD = 9


class Access(Enum):
    """Who may do what by SDO."""

    RO = "ro"
    RW = "rw"
    RW_PREOP = "rw in PREOP"


class Pdo(Enum):
    """Whether process data may carry an entry: from the master (Rx), to it (Tx)."""

    NO = ""
    RX = "Rx"
    TX = "Tx"
    BOTH = "Rx, Tx"


READ_BITS, WRITE_BITS, WRITE_PREOP_BIT, RX_BIT, TX_BIT = 0x07, 0x38, 0x08, 0x40, 0x80


@dataclass(frozen=True)
class Entry:
    """One sub-index. ``field``: its name in the record of an axis; empty: it is kept with the slave."""

    subindex: int
    name: str
    type: DataType
    access: Access = Access.RO
    default: int | str = 0
    pdo: Pdo = Pdo.NO
    unit: str = ""
    low: int | None = None
    high: int | None = None
    field: str = ""

    @property
    def access_bits(self) -> int:
        """Access as SDO information gives it."""
        bits = READ_BITS
        if self.access is Access.RW:
            bits |= WRITE_BITS
        elif self.access is Access.RW_PREOP:
            bits |= WRITE_PREOP_BIT
        bits |= RX_BIT if self.pdo in (Pdo.RX, Pdo.BOTH) else 0
        return bits | (TX_BIT if self.pdo in (Pdo.TX, Pdo.BOTH) else 0)

    @property
    def bits(self) -> int:
        """Size."""
        return 8 * len(self.default) if isinstance(self.default, str) else self.type.bits

    def packed(self) -> bytes:
        """Bytes of the default."""
        if isinstance(self.default, str):
            return self.default.encode("ascii")
        return self.type.pack(self.default)


@dataclass(frozen=True)
class ObjectLine:
    """One index with its entries; sub-index 0 of arrays and records counts them."""

    index: int
    name: str
    code: ObjectCode
    entries: tuple[Entry, ...] = field(default_factory=tuple)

    def at(self, subindex: int) -> Entry | None:
        """The entry of a sub-index."""
        return next((entry for entry in self.entries if entry.subindex == subindex), None)

    def moved(self, offset: int) -> ObjectLine:
        """The same object at another index."""
        return replace(self, index=self.index + offset)


def var(
    index: int,
    name: str,
    kind: DataType,
    access: Access = Access.RO,
    default: int | str = 0,
    pdo: Pdo = Pdo.NO,
    unit: str = "",
    *,
    low: int | None = None,
    high: int | None = None,
    field: str = "",
) -> ObjectLine:
    """An object with one value."""
    entry = Entry(0, name, kind, access, default, pdo, unit, low, high, field)
    return ObjectLine(index, name, ObjectCode.VAR, (entry,))


def group(
    index: int,
    name: str,
    *entries: Entry,
    code: ObjectCode = ObjectCode.RECORD,
    count: Access = Access.RO,
    used: int | None = None,
) -> ObjectLine:
    """An array or record: the count of its entries is made here; ``used``: fewer than there are."""
    most = max(entry.subindex for entry in entries)
    head = Entry(
        0,
        "Highest sub-index",
        DataType.UNSIGNED8,
        count,
        most if used is None else used,
        low=0,
        high=most,
    )
    return ObjectLine(index, name, code, (head, *entries))
