"""The real-time executive: a compiled cycle at absolute deadlines of the monotonic clock.

A cycle is a compiled function that is called by its address, ``int64 f(context, index, now_ns)``; what it returns
other than 0 ends the loop. The loop itself is compiled too and runs in a thread that has released Python's lock.
Halfway between two deadlines the same thread wakes up once more and does nothing: the bare clock, to which the
wake-ups of the cycle are compared. Both have the same thread, processor, priority and length of sleep and the same
second; they differ in nothing but the work.

With a ``guard`` the thread sleeps until so long before an instant and polls the clock for the rest: a sleep ends some
10 us late, a poll 0.1 us. Within the guard of a deadline the cycle may be rehearsed (``rehearse_at``, which must leave
no trace), so that it finds its caches warm. The bare clock has the same guard and polls too, without the rehearsal.
Behind it comes a burst of arithmetic as long as the cycle's computation: what the machine adds to such a time.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.compiled.jit import callback, helper
from servotwin.compiled.native_calls import records_at
from servotwin.realtime.clock import TIMESPEC, now_ns, sleep_until
from servotwin.realtime.cycle_call import call_cycle
from servotwin.realtime.cycle_times import (
    FIRST_BURST,
    CycleTime,
    count_time,
    next_burst,
    note_time,
    run_burst,
)
from servotwin.realtime.histogram import HISTOGRAM

_WHOLE = np.int64
BEGAN, TIMER, WAKE_UP = int(CycleTime.BEGAN), int(CycleTime.TIMER), int(CycleTime.WAKE_UP)
COMPUTE, CYCLE, REFERENCE = int(CycleTime.COMPUTE), int(CycleTime.CYCLE), int(CycleTime.REFERENCE)
BARE_TIMER, BARE_WAKE_UP = int(CycleTime.BARE_TIMER), int(CycleTime.BARE_WAKE_UP)
# cycles without rehearsal after two in a row that ended too late, twice as many after the next two, and at most
FIRST_PAUSE, LONGEST_PAUSE = 8, 4096
MOST_LONG = 20  # in a row, over 4000 cycles, longer than the guard: it is the cycle that does not fit, not the machine


class Overrun(IntEnum):
    """What happens when a cycle ends after the next deadline; it is counted in any case."""

    HOLD = 0  # late cycles run at once until the schedule is caught up: none is left out
    SKIP = 1  # deadlines that are past are left out, and counted
    STOP = 2  # the run ends


class Ending(IntEnum):
    """Why the loop ended."""

    RUNNING = 0
    COMPLETE = 1  # all cycles are done
    ASKED = 2  # ``end_asked`` was set
    CYCLE = 3  # the cycle returned something other than 0 (``code``)
    OVERRUN = 4
    CLOCK = 5  # the clock could not be waited for (``code``)


EXECUTIVE: np.dtype[Any] = np.dtype(
    [
        ("period", _WHOLE),  # ns
        ("start", _WHOLE),  # instant of the first deadline on the monotonic clock [ns]
        ("cycles", _WHOLE),  # how many; 0: until it is ended
        ("policy", _WHOLE),  # an ``Overrun``
        ("paced", _WHOLE),  # 0: simulated time, every instant comes at once
        ("guard", _WHOLE),  # ns before an instant at which the sleep ends, and polling begins; 0: sleep only
        ("rehearse_at", _WHOLE),  # address of a rehearsal of the cycle that leaves no trace; 0: none
        ("bare", _WHOLE),  # 1: the bare clock is measured halfway between two deadlines
        ("cycle_at", _WHOLE),  # address of the cycle
        ("context_at", _WHOLE),  # its first argument
        (
            "finish_at",
            _WHOLE,
        ),  # address of what is called once when the loop ends, however it ends; 0: nothing
        (
            "end_asked",
            _WHOLE,
        ),  # 1: a signal handler, or whoever has enough, ends the loop before the next cycle
        ("ending", _WHOLE),  # an ``Ending``
        ("code", _WHOLE),  # of the cycle or of the clock that ended it
        ("done", _WHOLE),  # cycles that were run
        ("overruns", _WHOLE),  # cycles that ended after the next deadline
        ("skipped", _WHOLE),  # deadlines that were left out
        ("late", _WHOLE),  # cycles that began after their deadline without having slept
        ("rehearsed", _WHOLE),  # rehearsals
        ("rehearsal_time", _WHOLE),  # what a rehearsal is expected to take [ns]
        ("rehearsals_late", _WHOLE),  # that ended behind the deadline; how many of them in a row, now
        ("rehearsals_late_now", _WHOLE),
        ("rehearsals_long_now", _WHOLE),  # that took longer than the guard, in a row
        ("rehearsal_pause", _WHOLE),  # cycles until the next one
        ("computed", _WHOLE),  # compute time of the last cycle as the cycle sees it [ns]; 0: all of it counts
        ("burst", _WHOLE),  # length of the chain of the next reference
        ("burst_value", _WHOLE),  # what it came to
        ("rows_at", _WHOLE),  # ``cycle_times.new_rows``; room for so many cycles
        ("room", _WHOLE),
        ("row", _WHOLE),  # of the present cycle
        ("timespec", TIMESPEC, (1,)),
        (
            "timer",
            HISTOGRAM,
        ),  # end of the sleep behind the instant that it was to end at: the guard before a deadline
        ("bare_timer", HISTOGRAM),
        ("wake_up", HISTOGRAM),  # instant at which the cycle begins behind its deadline
        ("bare_wake_up", HISTOGRAM),
        ("compute", HISTOGRAM),  # from the beginning of the cycle to its end
        ("reference", HISTOGRAM),  # a burst of arithmetic as long as the cycle's computation
    ]
)


def new_executive(period_ns: int, cycles: int, cycle_at: int, context_at: int, **settings: int) -> Any:
    """The record of a loop, (1,); ``settings`` are further fields such as ``policy``."""
    executive = np.zeros(1, EXECUTIVE)
    defaults = {"paced": 1, "bare": 1, "policy": int(Overrun.SKIP), "burst": FIRST_BURST}
    given = {"period": period_ns, "cycles": cycles, "cycle_at": cycle_at, "context_at": context_at}
    for name, value in (defaults | given | settings).items():
        executive[name] = value
    return executive


@helper
def _sleep(executive: Any, timer: Any, column: int, instant: int) -> int:
    """Sleep until the guard before an instant, if it is still to come; 0, or an error of the clock."""
    timespec, until = executive.timespec, instant - executive.guard
    if now_ns(timespec) >= until:
        return 0
    error = sleep_until(timespec, until)
    count_time(executive, timer, column, now_ns(timespec) - until)
    return error


@helper
def _poll(executive: Any, wake_up: Any, column: int, instant: int) -> None:
    """Look at the clock until an instant has come, and count how late that is seen."""
    timespec = executive.timespec
    now = now_ns(timespec)
    while now < instant:
        now = now_ns(timespec)
    count_time(executive, wake_up, column, now - instant)


@helper
def _rehearse(executive: Any, deadline: int) -> None:
    """Rehearse the coming cycle, if there is time for it before the deadline.

    Expected is the longest of the last ones: a time that is not met again fades by an eighth in each cycle. One that
    the machine interrupts says nothing about the next, which may lack its caches for it: the time expected at most
    doubles at once, and only after two in a row that ended behind the deadline there is a pause, twice as long each
    time. Two, because the first one after a pause finds its caches cold and takes longer than all that follow.
    """
    if executive.rehearsal_pause > 0:
        executive.rehearsal_pause -= 1
        return
    begin = now_ns(executive.timespec)
    expected = executive.rehearsal_time
    executive.rehearsal_time -= expected // 8
    if begin + expected >= deadline:
        return
    call_cycle(executive.rehearse_at, executive.context_at, executive.done, begin)
    end = now_ns(executive.timespec)
    executive.rehearsed += 1
    if end < deadline:
        took = min(end - begin, 2 * expected) if expected > 0 else end - begin
        executive.rehearsal_time = max(executive.rehearsal_time, took)
        executive.rehearsals_late_now = executive.rehearsals_long_now = 0
        return
    _count_late(executive, end - begin)


@helper
def _count_late(executive: Any, took: int) -> None:
    """A rehearsal that ended behind the deadline: a pause, or the end of all if none would fit into the whole guard."""
    executive.rehearsals_late += 1
    executive.rehearsals_late_now += 1
    if executive.rehearsals_late_now % 2 == 0:
        doubled = min(executive.rehearsals_late_now // 2 - 1, 30)
        executive.rehearsal_pause = min(FIRST_PAUSE << doubled, LONGEST_PAUSE)
    executive.rehearsals_long_now = executive.rehearsals_long_now + 1 if took > executive.guard else 0
    if executive.rehearsals_long_now == MOST_LONG:
        executive.rehearse_at = 0


@helper
def _wait(executive: Any, deadline: int) -> int:
    """Wait for a deadline and count how late the cycle begins; 0, or an error of the clock."""
    if now_ns(executive.timespec) >= deadline:
        executive.late += 1
        return 0
    error = _sleep(executive, executive.timer, TIMER, deadline)
    if error == 0:
        if executive.rehearse_at != 0 and executive.guard > 0:
            _rehearse(executive, deadline)
        _poll(executive, executive.wake_up, WAKE_UP, deadline)
    return error


@helper
def _measure_burst(executive: Any, goal: int) -> None:
    """Arithmetic that takes as long as the computation of the cycle did, so long as nobody interrupts it."""
    begin = now_ns(executive.timespec)
    executive.burst_value = run_burst(begin, executive.burst)
    took = now_ns(executive.timespec) - begin
    count_time(executive, executive.reference, REFERENCE, took)
    executive.burst = next_burst(executive.burst, took, goal)


@helper
def _measure_bare(executive: Any, deadline: int, computed: int) -> None:
    """Wake up halfway to the next deadline, if it is still to come, and count how late that is; then the burst."""
    halfway = deadline + executive.period // 2
    if now_ns(executive.timespec) >= halfway:
        return
    if _sleep(executive, executive.bare_timer, BARE_TIMER, halfway) == 0:
        _poll(executive, executive.bare_wake_up, BARE_WAKE_UP, halfway)
        _measure_burst(executive, computed)


@helper
def _run_cycle(executive: Any) -> int:
    """One cycle and its times; its compute time [ns] is ``computed`` then."""
    begin = now_ns(executive.timespec)
    executive.computed = 0
    executive.code = call_cycle(executive.cycle_at, executive.context_at, executive.done, begin)
    took = now_ns(executive.timespec) - begin
    note_time(executive, BEGAN, begin)
    count_time(executive, executive.compute, CYCLE, took)
    if executive.computed == 0:
        executive.computed = took
    note_time(executive, COMPUTE, executive.computed)
    executive.done += 1
    return executive.code  # type: ignore[no-any-return]


@helper
def _next_deadline(executive: Any, deadline: int) -> int:
    """The deadline after this one; past ones are left out, or end the loop, as the policy says."""
    following = deadline + executive.period
    behind = now_ns(executive.timespec) - following
    if behind <= 0:
        return following  # type: ignore[no-any-return]
    executive.overruns += 1
    if executive.policy == Overrun.STOP:
        executive.ending = Ending.OVERRUN
    if executive.policy == Overrun.SKIP:
        missed = behind // executive.period + 1
        executive.skipped += missed
        following += missed * executive.period
    return following  # type: ignore[no-any-return]


@callback("int64", result="int64")
def run_loop(executive_at: int) -> int:
    """Run cycles until an ``Ending``."""
    executive = records_at(executive_at, 1, EXECUTIVE)[0]
    timespec = executive.timespec
    deadline, paced = executive.start, executive.paced != 0
    executive.ending = Ending.RUNNING
    while executive.ending == Ending.RUNNING:
        if executive.end_asked != 0:
            executive.ending = Ending.ASKED
            break
        executive.row = executive.done
        error = _wait(executive, deadline) if paced else 0
        if error != 0:
            executive.code, executive.ending = error, Ending.CLOCK
            break
        if _run_cycle(executive) != 0:
            executive.ending = Ending.CYCLE
        elif executive.done == executive.cycles:
            executive.ending = Ending.COMPLETE
        if executive.ending != Ending.RUNNING:
            if paced and now_ns(timespec) > deadline + executive.period:
                executive.overruns += 1  # of the last cycle: no deadline follows that it could miss
        elif paced:
            following = _next_deadline(executive, deadline)
            if executive.bare != 0 and following == deadline + executive.period:
                _measure_bare(executive, deadline, executive.computed)
            deadline = following
    if executive.finish_at != 0:
        call_cycle(executive.finish_at, executive.context_at, executive.done, now_ns(timespec))
    return executive.ending  # type: ignore[no-any-return]
