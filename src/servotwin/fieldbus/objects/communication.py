"""Objects of a slave beside its axes: identity, process data mapping, synchronisation, with the standard's numbers."""

from __future__ import annotations

from dataclasses import dataclass

from servotwin.fieldbus.objects.tables import (
    PDO_STEP,
    Access,
    DataType,
    Entry,
    ObjectCode,
    ObjectLine,
    group,
    var,
)

U8, U16, U32 = DataType.UNSIGNED8, DataType.UNSIGNED16, DataType.UNSIGNED32
STRING = DataType.VISIBLE_STRING
RO, RW, PREOP = Access.RO, Access.RW, Access.RW_PREOP

# No vendor has this number: the highest of them are not assigned. It says "servotwin, simulated" to a person.
FICTITIOUS_VENDOR = 0xFFFF5457
FICTITIOUS_NAME = "ServoTwin (fictitious vendor, simulated devices)"
DRIVE_TYPE = 0x00020192  # 1000: servo drive, profile 402
RX_PDO, TX_PDO = 0x1600, 0x1A00
RX_ASSIGN, TX_ASSIGN = 0x1C12, 0x1C13
MOST_MAPPED = 16  # entries of a PDO
MOST_AXES = 8  # of a slave
PADDING = 0x0000_00_00  # a mapping to index 0 fills bits

# index of the entry, sub-index, bits; axis n adds 0x800 n
DEFAULT_RX = (
    (0x6040, 0, 16),
    (0x6060, 0, 8),
    (0, 0, 8),
    (0x607A, 0, 32),
    (0x60FF, 0, 32),
    (0x6071, 0, 16),
    (0x60B2, 0, 16),
    (0x60B1, 0, 32),
)
DEFAULT_TX = (
    (0x6041, 0, 16),
    (0x6061, 0, 8),
    (0, 0, 8),
    (0x6064, 0, 32),
    (0x606C, 0, 32),
    (0x6077, 0, 16),
    (0x603F, 0, 16),
    (0x60F4, 0, 32),
    (0x60FD, 0, 32),
)


@dataclass(frozen=True)
class Identity:
    """Who a slave says it is."""

    name: str = "ServoTwin drive"
    vendor: int = FICTITIOUS_VENDOR
    product: int = 0x00000402
    revision: int = 0x00010000
    serial: int = 1
    hardware: str = "none"
    software: str = "1.0"


def mapping(index: int, subindex: int, bits: int) -> int:
    """A mapped entry as its number in a PDO object.

    >>> hex(mapping(0x6040, 0, 16))
    '0x60400010'
    """
    return (index << 16) | (subindex << 8) | bits


def _pdo(index: int, name: str, mapped: tuple[tuple[int, int, int], ...], offset: int) -> ObjectLine:
    numbers = [mapping(i + offset if i else 0, s, bits) for i, s, bits in mapped]
    numbers += [0] * (MOST_MAPPED - len(numbers))
    entries = (Entry(k + 1, f"Entry {k + 1}", U32, PREOP, n) for k, n in enumerate(numbers))
    return group(index, name, *entries, count=PREOP, used=len(mapped))


def _assign(index: int, name: str, first: int, axes: int) -> ObjectLine:
    entries = [
        Entry(k + 1, f"PDO {k + 1}", U16, PREOP, first + k * PDO_STEP if k < axes else 0)
        for k in range(MOST_AXES)
    ]
    return group(index, name, *entries, code=ObjectCode.ARRAY, count=PREOP, used=axes)


def _sync(index: int, name: str) -> ObjectLine:
    return group(
        index,
        name,
        Entry(1, "Synchronisation type", U16, RW, 1, high=0x22),
        Entry(2, "Cycle time", U32, RW, 1_000_000, unit="ns"),
        Entry(3, "Shift time", U32, RO, 0, unit="ns"),
        Entry(4, "Synchronisation types supported", U16, RO, 0x0007),
        Entry(5, "Minimum cycle time", U32, RO, 62_500, unit="ns"),
        Entry(6, "Calc and copy time", U32, RO, 10_000, unit="ns"),
        Entry(9, "Delay time", U32, RO, 0, unit="ns"),
        Entry(10, "Sync0 cycle time", U32, RW, 0, unit="ns"),
        Entry(11, "SM event missed", U16, RO, 0),
        Entry(12, "Cycle time too small", U16, RO, 0),
        Entry(32, "Sync error", DataType.BOOLEAN, RO, 0),
    )


def communication_table(identity: Identity, axes: int) -> tuple[ObjectLine, ...]:
    """The objects of a slave with so many axes."""
    types = ("mailbox out", "mailbox in", "outputs", "inputs")
    pdos: list[ObjectLine] = []
    for n in range(axes):
        pdos.append(_pdo(RX_PDO + n * PDO_STEP, f"RxPDO axis {n}", DEFAULT_RX, 0x800 * n))
    for n in range(axes):
        pdos.append(_pdo(TX_PDO + n * PDO_STEP, f"TxPDO axis {n}", DEFAULT_TX, 0x800 * n))
    return (
        var(0x1000, "Device type", U32, RO, DRIVE_TYPE),
        var(0x1001, "Error register", U8),
        var(0x1008, "Manufacturer device name", STRING, RO, identity.name),
        var(0x1009, "Manufacturer hardware version", STRING, RO, identity.hardware),
        var(0x100A, "Manufacturer software version", STRING, RO, identity.software),
        group(
            0x1018,
            "Identity",
            Entry(1, "Vendor ID", U32, RO, identity.vendor),
            Entry(2, "Product code", U32, RO, identity.product),
            Entry(3, "Revision", U32, RO, identity.revision),
            Entry(4, "Serial number", U32, RO, identity.serial),
        ),
        group(
            0x10F1,
            "Error settings",
            Entry(1, "Local error reaction", U32, RW, 1),
            Entry(2, "Sync error counter limit", U16, RW, 4),
        ),
        *pdos,
        group(
            0x1C00,
            "SyncManager types",
            *(Entry(k + 1, f"SyncManager {k}: {name}", U8, RO, k + 1) for k, name in enumerate(types)),
            code=ObjectCode.ARRAY,
        ),
        _assign(RX_ASSIGN, "SyncManager 2 assignment", RX_PDO, axes),
        _assign(TX_ASSIGN, "SyncManager 3 assignment", TX_PDO, axes),
        _sync(0x1C32, "Output synchronisation"),
        _sync(0x1C33, "Input synchronisation"),
    )
