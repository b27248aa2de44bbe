"""Times of every cycle of a loop, one row each, and a burst of arithmetic that shows what the machine adds to them.

Histograms say how often a loop was slow; rows say when, and whether cycle and reference were slow together. The burst
is a chain of shifts in registers: it takes no memory, calls nobody and branches one way, so whatever it takes longer
than usual was taken by the machine (interrupts, a hypervisor that runs something else, a slower clock).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper
from servotwin.compiled.native_calls import table_at
from servotwin.realtime.histogram import add_time

UNKNOWN = -1  # a time that was not measured in a cycle
FIRST_BURST = 500  # links of the chain, until their time is that of the cycle
MOST_BURST = 1 << 20
COLUMNS = 8  # of a row


class CycleTime(IntEnum):
    """Columns of a row, in ns."""

    BEGAN = 0  # instant at which the cycle began, on the monotonic clock
    TIMER = 1  # end of the sleep behind the instant that it was to end at
    WAKE_UP = 2  # beginning of the cycle behind its deadline
    COMPUTE = 3  # what the cycle calls its compute time, otherwise all of it
    CYCLE = 4  # from its beginning to its end
    BARE_TIMER = 5  # the same of the bare clock, halfway to the next deadline
    BARE_WAKE_UP = 6
    REFERENCE = 7  # of the burst that follows it


def new_rows(room: int) -> Any:
    """Rows for ``room`` cycles, (room, 8); all memory is touched."""
    return np.full((room, COLUMNS), UNKNOWN, np.int64)


@helper
def note_time(executive: Any, column: int, value: int) -> None:
    """Enter a value in the row of the present cycle, while there is room."""
    if executive.row < executive.room:
        table_at(executive.rows_at, (executive.room, COLUMNS), np.int64)[executive.row, column] = value


@helper
def count_time(executive: Any, histogram: Any, column: int, value: int) -> None:
    """A time in its histogram and in the row of the present cycle."""
    add_time(histogram, value)
    note_time(executive, column, value)


@helper
def run_burst(seed: int, count: int) -> int:
    """A chain of ``count`` xorshifts; its result must be used, or the compiler leaves it out."""
    value = seed | 1
    for _ in range(count):
        value ^= value << 13
        value ^= (value >> 7) & 0x1FFFFFFFFFFFFFF  # of the bits without their sign
        value ^= value << 17
    return value


@helper
def next_burst(count: int, took: int, goal: int) -> int:
    """Length of the next burst: a little more after one shorter than ``goal``, otherwise a little less.

    So half of the bursts are shorter than the cycle's computation beside them: both have the same median, and single
    long ones count no more than others.
    """
    step = count // 64 + 1
    return min(max(count + (step if took < goal else -step), 1), MOST_BURST)
