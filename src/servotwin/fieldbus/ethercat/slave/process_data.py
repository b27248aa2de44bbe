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
from servotwin.fieldbus.ethercat.slave.records import ClockKind, Event, Outputs
from servotwin.realtime.cycle_call import call_cycle

SAFEOP, OP = 4, 8
TICK = 40  # ns: unit of the watchdog divider
OUTPUTS = SYNC_MANAGER + 2 * SYNC_MANAGER_SIZE
BYTE = np.dtype(np.uint8)
FLAG = np.dtype(np.int64)
MOST_OWED = 1_000_000_000  # ns of a pause that frames may still ask for
LONGEST_PAUSE = 20_000_000  # ns for which SYNC0 may stay away, or two periods where those are longer
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
def _take_outputs(slave: Any, lock_step: bool) -> None:
    """Outputs that are in force go to their objects; in lock-step a cycle is one because outputs have come."""
    memory = slave.memory
    in_force = memory[AL_STATUS] & (0x0F | ACKNOWLEDGE) == OP
    if memory[OUTPUTS + SM_CONTROL] & SM_WATCHDOG != 0 and memory[WATCHDOG_STATUS] & 1 == 0:
        in_force = False
    if slave.operational_at != 0:
        fresh = Outputs.FRESH.value if lock_step or slave.fresh_outputs != 0 else Outputs.IN_FORCE.value
        table_at(slave.operational_at, (1,), FLAG)[0] = fresh if in_force else Outputs.NONE.value
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
def run_application(segment: Any, slaves: Any, now: int, span: int) -> None:
    """One cycle of what is behind the slaves, which lives on by a span [ns]: outputs in, application, inputs out."""
    segment.lived += span
    for i in range(segment.count):
        _take_outputs(slaves[i], segment.clock == ClockKind.LOCK_STEP)
    if segment.cycle_at != 0:
        news = call_cycle(segment.cycle_at, segment.context_at, segment.cycles, segment.lived)
        segment.attention |= 1 if news != 0 else 0
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
    """Run the application if the frame brought outputs and nothing else sets the pace.

    A frame that waited while this process did not run gets the period that it was sent for: set-points that come in a
    bunch are followed one after the other, and not by one jump.
    """
    if segment.outputs_in_frame == 0:
        return
    segment.outputs_in_frame = 0
    if segment.clock == ClockKind.LOCK_STEP:
        run_application(segment, slaves, segment.cycled + segment.step, segment.step)
        segment.now = max(segment.now, segment.cycled)
        return
    if _sync_source(segment, slaves) < 0:
        _count_pause(segment, segment.now)
        passed = segment.now - segment.cycled
        given = min(segment.owed, max(segment.step - passed, 0))
    else:
        passed, given = 0, min(segment.owed, segment.step)
        if given < segment.step:
            return
    segment.owed -= given
    run_application(segment, slaves, segment.now, passed + given)


@helper
def _count_pause(segment: Any, now: int) -> None:
    """Time by which this process came too late to its look is no time of the application, unless frames ask for it."""
    late = now - segment.due
    if segment.due != 0 and late > segment.step:
        segment.owed = min(segment.owed + late, MOST_OWED)
        segment.cycled += late
        segment.due = now


@helper
def forget_pause(segment: Any) -> None:
    """No frame waits any more: what is left of a pause is left out."""
    segment.left_out += segment.owed
    segment.owed = 0


@part
def keep_pace(segment: Any, slaves: Any, now: int) -> int:
    """Run the application where the wall clock sets the pace; the instant of the next look [ns].

    That is SYNC0 of the first slave that generates it; without any, the application runs freely when frames stay away.
    It does so too when SYNC0 stays away, because it begins later or is set too long: a watchdog must have its effect.
    Of several SYNC0 that passed while this process did not run, one is for now and the others for frames that wait.
    """
    if segment.clock == ClockKind.LOCK_STEP or segment.cycle_at == 0:
        return NEVER
    source, longest = _sync_source(segment, slaves), max(LONGEST_PAUSE, 2 * segment.step)
    if source < 0:
        _count_pause(segment, now)
        segment.due = segment.cycled + 2 * segment.step
        if now >= segment.due:
            run_application(segment, slaves, now, min(now - segment.cycled, longest))
            segment.due = now + segment.step
        return segment.due  # type: ignore[no-any-return]
    segment.due = 0
    before = slaves[source].sync0_count
    due = next_sync0(slaves[source], now)
    passed = slaves[source].sync0_count - before
    if passed > 0:
        run_application(segment, slaves, now, segment.step)
        segment.owed = min(segment.owed + (passed - 1) * segment.step, MOST_OWED)
    if now >= segment.cycled + longest:
        run_application(segment, slaves, now, longest)
    return min(due, segment.cycled + longest)  # type: ignore[no-any-return]
