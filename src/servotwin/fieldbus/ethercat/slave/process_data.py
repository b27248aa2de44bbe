"""Process data between buffers and objects, the watchdogs, and the call of the application behind the slaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import table_at
from servotwin.fieldbus.ethercat.registers import (
    ACKNOWLEDGE,
    AL_STATUS,
    SM_CONTROL,
    SM_WATCHDOG,
    SYNC_MANAGER,
    SYNC_MANAGER_SIZE,
    WATCHDOG_COUNT,
    WATCHDOG_DIVIDER,
    WATCHDOG_PROCESS_DATA,
    WATCHDOG_STATUS,
)
from servotwin.fieldbus.ethercat.slave.access import notify
from servotwin.fieldbus.ethercat.slave.clocks import next_sync0, sync0_active
from servotwin.fieldbus.ethercat.slave.memory import get_half
from servotwin.fieldbus.ethercat.slave.records import ClockKind, Event
from servotwin.realtime.cycle_call import call_cycle

SAFEOP, OP = 4, 8
TICK = 40  # ns: unit of the watchdog divider
OUTPUTS = SYNC_MANAGER + 2 * SYNC_MANAGER_SIZE
BYTE = np.dtype(np.uint8)
FLAG = np.dtype(np.int64)
MOST_AT_ONCE = 100  # periods that are made up for after a pause
LONGEST_PAUSE = 20_000_000  # ns for which SYNC0 may stay away
NEVER = 1 << 62


@helper
def watchdog_time(slave: Any) -> int:
    """Of process data [ns]; 0: it is switched off."""
    if slave.memory[OUTPUTS + SM_CONTROL] & SM_WATCHDOG == 0:
        return 0
    unit = (get_half(slave.memory, WATCHDOG_DIVIDER) + 2) * TICK
    return get_half(slave.memory, WATCHDOG_PROCESS_DATA) * unit


@part
def watch_process_data(segment: Any, slaves: Any, now: int) -> None:
    """A slave in OP without outputs for its watchdog time takes them out of force at once; Python changes its state."""
    for i in range(segment.count):
        slave = slaves[i]
        if slave.memory[AL_STATUS] & 0x0F != OP or slave.memory[WATCHDOG_STATUS] & 1 == 0:
            continue
        limit = watchdog_time(slave)
        if limit > 0 and now - slave.watchdog_since > limit:
            slave.memory[WATCHDOG_STATUS] &= 0xFE
            slave.memory[WATCHDOG_COUNT] = min(slave.memory[WATCHDOG_COUNT] + 1, 255)
            notify(segment, slave, Event.WATCHDOG)


@part
def _take_outputs(slave: Any) -> None:
    """Outputs that are in force go to their objects."""
    memory = slave.memory
    in_force = memory[AL_STATUS] & (0x0F | ACKNOWLEDGE) == OP
    if memory[OUTPUTS + SM_CONTROL] & SM_WATCHDOG != 0 and memory[WATCHDOG_STATUS] & 1 == 0:
        in_force = False
    if slave.operational_at != 0:
        table_at(slave.operational_at, (1,), FLAG)[0] = 1 if in_force else 0
    if not in_force or slave.fresh_outputs == 0:
        return
    slave.fresh_outputs = 0
    for c in range(slave.output_count):
        copy = slave.output_copies[c]
        target = table_at(slave.objects_at + copy.memory, (copy.size,), BYTE)
        for k in range(copy.size):
            target[k] = slave.latest[copy.buffer + k]


@part
def _give_inputs(slave: Any) -> None:
    """Objects go to the inputs, which the next frame reads."""
    memory = slave.memory
    if memory[AL_STATUS] & 0x0F < SAFEOP:
        return
    start = slave.inputs_at
    for c in range(slave.input_count):
        copy = slave.input_copies[c]
        source = table_at(slave.objects_at + copy.memory, (copy.size,), BYTE)
        for k in range(copy.size):
            memory[start + copy.buffer + k] = source[k]


@part
def run_application(segment: Any, slaves: Any, now: int) -> None:
    """One cycle of what is behind the slaves: outputs in, application, inputs out."""
    for i in range(segment.count):
        _take_outputs(slaves[i])
    if segment.cycle_at != 0 and call_cycle(segment.cycle_at, segment.context_at, segment.cycles, now) != 0:
        segment.attention = 1
    segment.cycles += 1
    segment.cycled = now
    for i in range(segment.count):
        _give_inputs(slaves[i])


@part
def _sync_source(segment: Any, slaves: Any) -> int:
    """The first slave that generates SYNC0; -1: none does."""
    for i in range(segment.count):
        if sync0_active(slaves[i]):
            return i
    return -1


@part
def after_frame(segment: Any, slaves: Any) -> None:
    """Run the application if the frame brought outputs and nothing else sets the pace."""
    if segment.outputs_in_frame == 0:
        return
    segment.outputs_in_frame = 0
    if segment.clock == ClockKind.LOCK_STEP:
        run_application(segment, slaves, segment.cycled + segment.step)
        segment.now = max(segment.now, segment.cycled)
    elif _sync_source(segment, slaves) < 0:
        run_application(segment, slaves, segment.now)


@part
def keep_pace(segment: Any, slaves: Any, now: int) -> int:
    """Run the application where the wall clock sets the pace; the instant of the next look [ns].

    That is SYNC0 of the first slave that generates it; without any, the application runs freely when frames stay away.
    It does so too when SYNC0 stays away, because it begins later or is set too long: a watchdog must have its effect.
    """
    if segment.clock == ClockKind.LOCK_STEP or segment.cycle_at == 0:
        return NEVER
    source = _sync_source(segment, slaves)
    if source < 0:
        due = segment.cycled + 2 * segment.step
        if now >= due:
            run_application(segment, slaves, now)
            due = now + segment.step
        return due  # type: ignore[no-any-return]
    before = slaves[source].sync0_count
    due = next_sync0(slaves[source], now)
    for _ in range(min(slaves[source].sync0_count - before, MOST_AT_ONCE)):
        run_application(segment, slaves, now)
    if now >= segment.cycled + LONGEST_PAUSE:
        run_application(segment, slaves, now)
    return min(due, segment.cycled + LONGEST_PAUSE)  # type: ignore[no-any-return]
