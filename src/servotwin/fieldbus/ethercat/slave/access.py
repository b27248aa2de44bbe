"""Reading and writing the memory of a slave as datagrams do: registers, SyncManagers, EEPROM, watchdogs."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.fieldbus.ethercat.registers import (
    AL_CONTROL,
    AL_STATUS,
    EEPROM_ADDRESS,
    EEPROM_CONTROL,
    EEPROM_DATA,
    EEPROM_READ,
    EEPROM_REFUSED,
    EEPROM_RELOAD,
    EEPROM_WRITE,
    ERRORS_END,
    EVENT_AL_STATUS,
    EVENT_REQUEST,
    PROCESS_MEMORY,
    READS_8_BYTES,
    RECEIVE_TIME,
    RX_ERRORS,
    SM_ACTIVATE,
    SM_CONTROL,
    SM_ENABLED,
    SM_FULL,
    SM_LENGTH,
    SM_MAILBOX,
    SM_PDI,
    SM_REPEAT,
    SM_STATUS,
    SM_WATCHDOG,
    SM_WRITTEN_BY_MASTER,
    SYNC_MANAGER,
    SYNC_MANAGER_SIZE,
    SYNC_MANAGERS,
    SYSTEM_TIME,
    TWO_ADDRESS_BYTES,
    WATCHDOG_STATUS,
    WRITE_ENABLE,
)
from servotwin.fieldbus.ethercat.slave.clocks import compare_system_time, latch_receive_times, system_time
from servotwin.fieldbus.ethercat.slave.memory import get_half, get_long, get_word, put_number, touches
from servotwin.fieldbus.ethercat.slave.records import Event

READ, WRITE = 0, 1
OUTPUT_MANAGER = 2
PROCESS_DATA_MANAGERS = SYNC_MANAGER + OUTPUT_MANAGER * SYNC_MANAGER_SIZE  # 2 and 3
MEMORY_END = 0x10000


@helper
def notify(segment: Any, slave: Any, event: int) -> None:
    """Leave something for Python to do after this frame."""
    slave.events |= event
    segment.attention = 1


@part
def _eeprom_command(segment: Any, slave: Any) -> None:
    """Carry out the command in the EEPROM's control register; it is never busy, and refuses what it has not."""
    memory = slave.memory
    control = get_half(memory, EEPROM_CONTROL)
    at = 2 * get_word(memory, EEPROM_ADDRESS)
    status = READS_8_BYTES | TWO_ADDRESS_BYTES
    if control & EEPROM_READ != 0:
        for k in range(8):
            memory[EEPROM_DATA + k] = slave.eeprom[at + k] if at + k < slave.eeprom_size else 0xFF
    elif control & EEPROM_WRITE != 0:
        if control & WRITE_ENABLE != 0 and at + 2 <= slave.eeprom_size:
            slave.eeprom[at], slave.eeprom[at + 1] = memory[EEPROM_DATA], memory[EEPROM_DATA + 1]
            notify(segment, slave, Event.EEPROM_WRITTEN)
        else:
            status |= EEPROM_REFUSED
    elif control & EEPROM_RELOAD != 0:
        notify(segment, slave, Event.EEPROM_WRITTEN)
    put_number(memory, EEPROM_CONTROL, 2, status)


@helper
def _keep_sync_managers(slave: Any, address: int, length: int) -> None:
    """A SyncManager that is switched off forgets what was in its buffer."""
    for m in range(SYNC_MANAGERS):
        at = SYNC_MANAGER + m * SYNC_MANAGER_SIZE
        if (
            touches(address, length, at, SYNC_MANAGER_SIZE)
            and slave.memory[at + SM_ACTIVATE] & SM_ENABLED == 0
        ):
            slave.memory[at + SM_STATUS] &= 0xFF ^ SM_FULL
            slave.memory[at + SM_PDI] &= 0xFF ^ SM_REPEAT
            slave.open[m] = 0


@part
def _write_registers(
    segment: Any, slave: Any, position: int, now: int, address: int, length: int, data: Any, at: int
) -> int:
    """Write registers and do what they trigger; 1 if a master may write any of them."""
    memory, written = slave.memory, 0
    for k in range(length):
        if segment.writable[address + k] != 0:
            memory[address + k] = data[at + k]
            written = 1
    if touches(address, length, AL_CONTROL, 1):
        notify(segment, slave, Event.AL_CONTROL)
    if touches(address, length, EEPROM_CONTROL + 1, 1):
        _eeprom_command(segment, slave)
    if touches(address, length, SYNC_MANAGER, SYNC_MANAGERS * SYNC_MANAGER_SIZE):
        _keep_sync_managers(slave, address, length)
        if touches(address, length, PROCESS_DATA_MANAGERS, 2 * SYNC_MANAGER_SIZE):
            notify(segment, slave, Event.SYNC_MANAGERS)
        inbox = SYNC_MANAGER + SYNC_MANAGER_SIZE
        if (memory[inbox + SM_ACTIVATE] ^ memory[inbox + SM_PDI]) & SM_REPEAT != 0:
            notify(segment, slave, Event.REPEAT)
    if touches(address, length, RX_ERRORS, ERRORS_END - RX_ERRORS):
        for k in range(RX_ERRORS, ERRORS_END):
            memory[k] = 0
    if touches(address, length, RECEIVE_TIME, 1):
        latch_receive_times(segment, slave, position, now)
        written = 1
    if address == SYSTEM_TIME and length >= 4:
        reference = get_long(data, at) if length >= 8 else get_word(data, at)
        compare_system_time(slave, now, reference, length)
        written = 1
    return written


@helper
def _refresh_registers(slave: Any, now: int, address: int, length: int) -> None:
    """Put numbers into registers that are made when they are read, and take events that are read away."""
    memory = slave.memory
    if touches(address, length, SYSTEM_TIME, 8):
        put_number(memory, SYSTEM_TIME, 8, system_time(slave, now))
    if touches(address, length, AL_STATUS, 2):
        memory[EVENT_REQUEST] &= 0xFF ^ EVENT_AL_STATUS


@helper
def _is_denied(slave: Any, manager: int, address: int, way: int) -> bool:
    """Whether a SyncManager refuses an access: wrong direction, mailbox not ready, or not from its first byte on."""
    at = SYNC_MANAGER + manager * SYNC_MANAGER_SIZE
    memory = slave.memory
    control, status = memory[at + SM_CONTROL], memory[at + SM_STATUS]
    if (control & SM_WRITTEN_BY_MASTER != 0) != (way == WRITE):
        return True
    if control & 3 == SM_MAILBOX and (status & SM_FULL != 0) == (way == WRITE):
        return True
    return address > get_half(memory, at) and slave.open[manager] == 0


@helper
def _buffer_done(segment: Any, slave: Any, manager: int, way: int, now: int) -> None:
    """The last byte of a buffer was accessed: it changes hands."""
    at = SYNC_MANAGER + manager * SYNC_MANAGER_SIZE
    memory = slave.memory
    control = memory[at + SM_CONTROL]
    if control & 3 == SM_MAILBOX:
        if way == WRITE:
            memory[at + SM_STATUS] |= SM_FULL
            notify(segment, slave, Event.MAILBOX_WRITTEN)
        else:
            memory[at + SM_STATUS] &= 0xFF ^ SM_FULL
            notify(segment, slave, Event.MAILBOX_READ)
    elif way == WRITE and manager == OUTPUT_MANAGER:
        start, length = get_half(memory, at), get_half(memory, at + SM_LENGTH)
        if start != slave.outputs_at or length != slave.outputs_size:
            return  # moved since it was checked: these are no outputs
        for k in range(length):
            slave.latest[k] = memory[start + k]
        slave.fresh_outputs = 1
        slave.outputs_seen += 1
        segment.outputs_in_frame = 1
        if control & SM_WATCHDOG != 0:
            slave.watchdog_since = now
            memory[WATCHDOG_STATUS] |= 1
        if slave.awaits_outputs != 0:
            notify(segment, slave, Event.OUTPUTS)


@part
def claim_buffers(segment: Any, slave: Any, now: int, address: int, length: int, way: int) -> bool:
    """Whether the SyncManagers allow an access to process memory; buffers are opened, and closed by the last byte.

    A write is called before the bytes are there, so ``close_buffers`` follows it. What one of them refuses opens none.
    """
    met = 0
    for m in range(SYNC_MANAGERS):
        at = SYNC_MANAGER + m * SYNC_MANAGER_SIZE
        if slave.memory[at + SM_ACTIVATE] & SM_ENABLED != 0:
            start, size = get_half(slave.memory, at), get_half(slave.memory, at + SM_LENGTH)
            if touches(address, length, start, size):
                if _is_denied(slave, m, address, way):
                    return False
                met |= 1 << m
    for m in range(SYNC_MANAGERS):
        if met & (1 << m) != 0:
            slave.open[m] = 1
    return True


@helper
def close_buffers(segment: Any, slave: Any, now: int, address: int, length: int, way: int) -> None:
    """Buffers whose last byte was accessed change hands."""
    for m in range(SYNC_MANAGERS):
        at = SYNC_MANAGER + m * SYNC_MANAGER_SIZE
        if slave.memory[at + SM_ACTIVATE] & SM_ENABLED != 0 and slave.open[m] != 0:
            start, size = get_half(slave.memory, at), get_half(slave.memory, at + SM_LENGTH)
            if size > 0 and address <= start + size - 1 < address + length:
                slave.open[m] = 0
                _buffer_done(segment, slave, m, way, now)


@part
def write_memory(
    segment: Any, slave: Any, position: int, now: int, address: int, length: int, data: Any, at: int
) -> int:
    """Write bytes of a frame into a slave; 1 if it took them."""
    if length == 0 or address + length > MEMORY_END:
        return 0
    if address < PROCESS_MEMORY:
        if address + length > PROCESS_MEMORY:
            return 0
        return _write_registers(segment, slave, position, now, address, length, data, at)
    if not claim_buffers(segment, slave, now, address, length, WRITE):
        return 0
    for k in range(length):
        slave.memory[address + k] = data[at + k]
    close_buffers(segment, slave, now, address, length, WRITE)
    return 1


@part
def read_memory(
    segment: Any, slave: Any, now: int, address: int, length: int, data: Any, at: int, merge: int
) -> int:
    """Read bytes of a slave into a frame; ``merge`` 1: ORed to what is there. 1 if there was something to read."""
    if length == 0 or address + length > MEMORY_END:
        return 0
    if address < PROCESS_MEMORY:
        if address + length > PROCESS_MEMORY:
            return 0
        _refresh_registers(slave, now, address, length)
    elif not claim_buffers(segment, slave, now, address, length, READ):
        return 0
    for k in range(length):
        found = slave.memory[address + k]
        data[at + k] = data[at + k] | found if merge != 0 else found
    if address >= PROCESS_MEMORY:
        close_buffers(segment, slave, now, address, length, READ)
    return 1
