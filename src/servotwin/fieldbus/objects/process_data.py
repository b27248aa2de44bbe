"""Process data from the dictionary: what is mapped, where it lies in the buffer, and what may be mapped."""

from __future__ import annotations

from dataclasses import dataclass

from servotwin.fieldbus.coe.abort import AbortCode, SdoAbortError
from servotwin.fieldbus.objects.communication import (
    MOST_AXES,
    RX_ASSIGN,
    RX_PDO,
    TX_ASSIGN,
    TX_PDO,
)
from servotwin.fieldbus.objects.dictionary import Dictionary
from servotwin.fieldbus.objects.tables import PDO_STEP, Entry, Pdo

ALLOWED = {RX_ASSIGN: (Pdo.RX, Pdo.BOTH), TX_ASSIGN: (Pdo.TX, Pdo.BOTH)}


@dataclass(frozen=True)
class Mapped:
    """One entry in the process data of a SyncManager; ``index`` 0 fills bits."""

    index: int
    subindex: int
    bits: int
    bit: int  # where it begins in the buffer


def pdo_entries(objects: Dictionary, pdo: int) -> list[Mapped]:
    """What a PDO maps, from its first bit on."""
    found, bit = [], 0
    for k in range(objects.read_number(pdo, 0)):
        number = objects.read_number(pdo, k + 1)
        entry = Mapped(number >> 16, (number >> 8) & 0xFF, number & 0xFF, bit)
        found.append(entry)
        bit += entry.bits
    return found


def assigned_pdos(objects: Dictionary, assign: int) -> list[int]:
    """PDOs of a SyncManager, in order."""
    return [objects.read_number(assign, k + 1) for k in range(objects.read_number(assign, 0))]


def process_data(objects: Dictionary, assign: int) -> list[Mapped]:
    """All that the buffer of a SyncManager holds; ``assign``: 1C12 or 1C13."""
    found, bit = [], 0
    for pdo in assigned_pdos(objects, assign):
        for entry in pdo_entries(objects, pdo):
            found.append(Mapped(entry.index, entry.subindex, entry.bits, bit))
            bit += entry.bits
    return found


def process_data_size(objects: Dictionary, assign: int) -> int:
    """Bytes of the buffer of a SyncManager."""
    return (sum(entry.bits for entry in process_data(objects, assign)) + 7) // 8


def check_mappings(objects: Dictionary) -> None:
    """Have the dictionary refuse mappings that cannot be."""
    for n in range(len(objects.axes)):
        objects.checks[RX_PDO + n * PDO_STEP] = lambda i, s, v: _check_mapping(objects, RX_ASSIGN, i, s, v)
        objects.checks[TX_PDO + n * PDO_STEP] = lambda i, s, v: _check_mapping(objects, TX_ASSIGN, i, s, v)
    objects.checks[RX_ASSIGN] = lambda i, s, v: _check_assignment(objects, RX_PDO, i, s, v)
    objects.checks[TX_ASSIGN] = lambda i, s, v: _check_assignment(objects, TX_PDO, i, s, v)


def _check_mapping(objects: Dictionary, assign: int, index: int, subindex: int, value: int) -> None:
    if subindex == 0:
        for k in range(1, value + 1):
            _check_mapped(objects, assign, index, k, objects.read_number(index, k))
        return
    if objects.read_number(index, 0) != 0:
        raise SdoAbortError(AbortCode.SUBINDEX_0_NOT_0, index, subindex)
    _check_mapped(objects, assign, index, subindex, value)


def _check_mapped(objects: Dictionary, assign: int, index: int, subindex: int, value: int) -> None:
    target, part, bits = value >> 16, (value >> 8) & 0xFF, value & 0xFF
    if bits == 0 or bits % 8:
        raise SdoAbortError(AbortCode.NOT_MAPPABLE, index, subindex)
    if target == 0:
        return
    entry = _entry_of(objects, target, part)
    if entry is None or entry.pdo not in ALLOWED[assign] or entry.bits != bits:
        raise SdoAbortError(AbortCode.NOT_MAPPABLE, index, subindex)


def _entry_of(objects: Dictionary, index: int, subindex: int) -> Entry | None:
    line = objects.lines.get(index)
    return None if line is None else line.at(subindex)


def _check_assignment(objects: Dictionary, first: int, index: int, subindex: int, value: int) -> None:
    if subindex == 0:
        chosen = [objects.read_number(index, k) for k in range(1, value + 1)]
        if len(set(chosen)) < len(chosen) or any(pdo not in objects.lines for pdo in chosen):
            raise SdoAbortError(AbortCode.VALUE, index, subindex)
        return
    if objects.read_number(index, 0) != 0:
        raise SdoAbortError(AbortCode.SUBINDEX_0_NOT_0, index, subindex)
    known = value in objects.lines and first <= value < first + MOST_AXES * PDO_STEP
    if not known and value != 0:
        raise SdoAbortError(AbortCode.VALUE, index, subindex)
