"""Distributed clocks of a slave: its own quartz with drift, times of frames, the loop that follows a reference.

A slave's local clock runs at 1 + drift of the true time. System time is local time plus the offset that the master
wrote. Every system time of the reference clock that comes by is compared with it: the clock is moved by a small step at
once, and what an integrator learns is the drift between the two quartzes. A difference that is far outside what drift
can do, as when a master clears the register, moves the clock by one small step and teaches nothing.
"""

from __future__ import annotations

from math import floor
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.fieldbus.ethercat.registers import (
    PROCESSING_TIME,
    RECEIVE_TIME,
    SPEED_COUNTER_DIFFERENCE,
    SYNC0_CYCLE,
    SYNC_ACTIVATION,
    SYNC_START,
    SYSTEM_TIME_DELAY,
    SYSTEM_TIME_DIFFERENCE,
    SYSTEM_TIME_OFFSET,
)
from servotwin.fieldbus.ethercat.slave.memory import get_long, get_word, put_number

FOLLOW = 100.0  # 1/s: proportional gain of the clock loop
LEARN = 2500.0  # 1/s2: FOLLOW^2/4, two equal poles at -50 1/s
LARGEST_SHARE = 0.5  # of a difference that one step takes away
FASTEST = 1e-3  # the clock is never made faster or slower than by this share
LONGEST_GAP = 0.01  # s between two comparisons that count
LOCKED = 1e-5  # s: differences up to this teach the integrator
SPEED_UNIT = 1e-7  # of the register of the learned drift, as a share of the rate


@helper
def local_time(slave: Any, now: int) -> int:
    """Local time [ns] at an instant."""
    passed = now - slave.base
    return slave.local_base + passed + floor(passed * slave.rate + slave.fraction)  # type: ignore[no-any-return]


@helper
def system_time(slave: Any, now: int) -> int:
    """Local time with the master's offset [ns]."""
    return local_time(slave, now) + get_long(slave.memory, SYSTEM_TIME_OFFSET)


@helper
def set_rate(slave: Any, now: int, rate: float) -> None:
    """From an instant on, the clock runs at another rate; its reading does not jump."""
    gained = (now - slave.base) * slave.rate + slave.fraction
    slave.local_base = local_time(slave, now)
    slave.fraction = gained - floor(gained)
    slave.base, slave.rate = now, rate


@part
def latch_receive_times(segment: Any, slave: Any, position: int, now: int) -> None:
    """Local times of the frame at the ports: at port 0 on its way out, at port 1 on its way back."""
    outward = local_time(slave, now)
    put_number(slave.memory, RECEIVE_TIME, 4, outward)
    put_number(slave.memory, PROCESSING_TIME, 8, outward)
    if slave.ports[1] != 0:
        beyond = segment.count - 1 - position
        put_number(slave.memory, RECEIVE_TIME + 4, 4, local_time(slave, now + 2 * beyond * segment.hop))


@part
def compare_system_time(slave: Any, now: int, reference: int, size: int) -> None:
    """Follow the reference clock, whose system time was ``reference`` when the frame passed it.

    d = t_sys - (t_ref + t_delay); with the time T since the last comparison the clock steps by -FOLLOW T d, and its
    learned rate changes by -LEARN T d.
    """
    delay = get_word(slave.memory, SYSTEM_TIME_DELAY)
    difference = system_time(slave, now) - (reference + delay)
    if size < 8:  # the low 32 bits alone, with the sign of the shorter way round
        difference = ((difference + 0x80000000) & 0xFFFFFFFF) - 0x80000000
    d = difference * 1e-9
    gap = min(max((now - slave.compared) * 1e-9, 0.0), LONGEST_GAP)
    slave.compared = now
    if abs(d) <= LOCKED:
        slave.correction = min(max(slave.correction - LEARN * gap * d, -FASTEST), FASTEST)
    set_rate(slave, now, slave.drift + slave.correction)
    step = min(FOLLOW * gap, LARGEST_SHARE) * d
    slave.fraction -= min(max(step, -FASTEST * gap), FASTEST * gap) * 1e9
    size_of = min(abs(difference), 0x7FFFFFFF)
    put_number(slave.memory, SYSTEM_TIME_DIFFERENCE, 4, size_of | (0x80000000 if difference < 0 else 0))
    put_number(slave.memory, SPEED_COUNTER_DIFFERENCE, 2, int(slave.correction / SPEED_UNIT))


@helper
def sync0_active(slave: Any) -> bool:
    """Whether SYNC0 is generated: cyclic operation and SYNC0 are switched on, with a cycle."""
    return slave.memory[SYNC_ACTIVATION] & 3 == 3 and get_word(slave.memory, SYNC0_CYCLE) > 0


@part
def next_sync0(slave: Any, now: int) -> int:
    """The instant of the next SYNC0 [ns]; the ones that have passed are counted."""
    cycle = get_word(slave.memory, SYNC0_CYCLE)
    time, start = max(system_time(slave, now), 0), max(get_long(slave.memory, SYNC_START), 0)
    if time < start:
        return now + (start - time)
    passed = (time - start) // cycle
    last = start + passed * cycle
    if last + 2 * cycle < slave.sync0_last:  # a master has set the clock back: it counts anew
        slave.sync0_last = 0
    if last > slave.sync0_last:
        slave.sync0_count += 1 if slave.sync0_last == 0 else max(1, (last - slave.sync0_last) // cycle)
        slave.sync0_last = last
    return now + (last + cycle - time)
