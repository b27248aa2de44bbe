"""Setting slaves up as an ESI or ENI file says, and refusing a bus that is not the one of the file."""

from __future__ import annotations

import struct

from servotwin.fieldbus.ethercat.master.port import BusError
from servotwin.fieldbus.ethercat.master.sdo import SdoRefusedError
from servotwin.fieldbus.ethercat.master.sii_read import Mapped
from servotwin.fieldbus.ethercat.master.slaves import Expected, Slave, mapped_of
from servotwin.fieldbus.files.esi_read import EsiFile
from servotwin.fieldbus.files.plan import TO_PREOP, TO_SAFEOP, FilePdo, InitCommand, LinePlan, SlavePlan

OUTPUTS, INPUTS = 2, 3  # SyncManagers of process data
ASSIGN = {OUTPUTS: 0x1C12, INPUTS: 0x1C13}


def plan_line(network: EsiFile | LinePlan, slaves: list[Slave]) -> LinePlan:
    """The plan of the slaves that are there; with an ESI file every one must be a device of it."""
    if isinstance(network, LinePlan):
        return network
    found = []
    for slave in slaves:
        sii = slave.sii
        device = network.find(sii.vendor, sii.product, sii.revision)
        if device is None:
            raise slave.fail(
                f"vendor {sii.vendor:08X}, product {sii.product:08X}, revision {sii.revision:08X} "
                f"is not described in {network.file}"
            )
        found.append(device)
    return LinePlan(network.file, tuple(found))


def expected_of(plan: LinePlan, network: EsiFile | LinePlan) -> list[Expected]:
    """What the slaves must be; an ESI file leaves their number and later revisions open."""
    exact = isinstance(network, LinePlan)
    return [Expected(s.vendor, s.product, s.revision if exact else None) for s in plan.slaves]


def check_period(plan: LinePlan, period_ns: int) -> None:
    """Refuse a file that was made for another period than the robot's."""
    if plan.period_ns is not None and plan.period_ns != period_ns:
        raise BusError(
            f"{plan.file}: CycleTime {plan.period_ns * 1e-3:g} us; the robot's main period is {period_ns * 1e-3:g} us"
        )


def set_up_line(plan: LinePlan, slaves: list[Slave]) -> None:
    """In PREOP: objects and process data as the file says; what is then in force must be what the file says."""
    for slave, wanted in zip(slaves, plan.slaves, strict=True):
        for command in wanted.commands:
            if not command.transitions or set(command.transitions) & {*TO_PREOP, *TO_SAFEOP}:
                _write(slave, command, plan.file)
        if slave.mailbox is not None and wanted.assigns:
            for manager, pdos in ((OUTPUTS, wanted.rx), (INPUTS, wanted.tx)):
                _assign(slave, wanted, manager, [p for p in pdos if p.manager == manager])
        mapped_of(slave)
        _compare(slave, wanted, plan.file)


def _write(slave: Slave, command: InitCommand, file: str) -> None:
    try:
        slave.sdo.write(command.index, command.subindex, command.data, complete=command.complete)
    except SdoRefusedError as error:
        comment = f" ('{command.comment}')" if command.comment else ""
        raise slave.fail(f"a command of {file}{comment}: {error}") from None


def _assign(slave: Slave, wanted: SlavePlan, manager: int, pdos: list[FilePdo]) -> None:
    """Mapping and assignment of one side, where they are not yet as the file says."""
    if not pdos:
        return
    sdo, assign = slave.sdo, ASSIGN[manager]
    try:
        for pdo in pdos:
            if wanted.maps and not pdo.fixed and _entries(slave, pdo.index) != pdo.entries:
                _write_list(slave, pdo.index, "<I", [_code(slave, entry) for entry in pdo.entries])
        there = [sdo.number(assign, k + 1) for k in range(sdo.number(assign, 0))]
        if there != [pdo.index for pdo in pdos]:
            _write_list(slave, assign, "<H", [pdo.index for pdo in pdos])
    except SdoRefusedError as error:
        raise slave.fail(f"its process data cannot be set as the file says: {error}") from None


def _write_list(slave: Slave, index: int, form: str, values: list[int]) -> None:
    slave.sdo.write(index, 0, b"\0")
    for k, value in enumerate(values):
        slave.sdo.write(index, k + 1, struct.pack(form, value))
    slave.sdo.write(index, 0, bytes([len(values)]))


def _entries(slave: Slave, pdo: int) -> tuple[Mapped, ...]:
    codes = [slave.sdo.number(pdo, k + 1) for k in range(slave.sdo.number(pdo, 0))]
    return tuple(Mapped(code >> 16, code >> 8 & 0xFF, code & 0xFF) for code in codes)


def _code(slave: Slave, entry: Mapped) -> int:
    if entry.bits > 0xFF:
        raise slave.fail(f"{entry.index:04X}:{entry.subindex:02X} has {entry.bits} bits; a mapping holds 255")
    return entry.index << 16 | entry.subindex << 8 | entry.bits


def _compare(slave: Slave, wanted: SlavePlan, file: str) -> None:
    """Refuse process data that are not those of the file, entry by entry where it lists them."""
    for what, found, pdos, manager, bits in (
        ("outputs", slave.outputs, wanted.rx, OUTPUTS, wanted.output_bits),
        ("inputs", slave.inputs, wanted.tx, INPUTS, wanted.input_bits),
    ):
        size = sum(entry.bits for entry in found)
        if bits is not None and -(-size // 8) != -(-bits // 8):
            raise slave.fail(f"{size} bits of {what}; {file} has {bits}")
        listed = tuple(entry for pdo in pdos if pdo.manager == manager for entry in pdo.entries)
        if not listed or listed == found:
            continue
        k = next(
            (i for i, (a, b) in enumerate(zip(found, listed, strict=False)) if a != b),
            min(len(found), len(listed)),
        )
        raise slave.fail(f"entry {k + 1} of its {what} is {_shown(found, k)}; {file} has {_shown(listed, k)}")


def _shown(entries: tuple[Mapped, ...], k: int) -> str:
    if k >= len(entries):
        return "none"
    return f"{entries[k].index:04X}:{entries[k].subindex:02X} with {entries[k].bits} bits"
