import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from servotwin.compiled.jit import callback
from servotwin.compiled.native_calls import numbers_at, records_at
from servotwin.realtime.clock import TIMESPEC, now_ns, sleep_until
from servotwin.realtime.cycle_times import UNKNOWN, CycleTime, new_rows
from servotwin.realtime.executive import (
    EXECUTIVE,
    MOST_LONG,
    Ending,
    Overrun,
    _rehearse,
    new_executive,
    run_loop,
)
from servotwin.realtime.grants import Grants
from servotwin.realtime.histogram import read_times
from servotwin.realtime.libc import SUPPORTED
from servotwin.realtime.thread import ThreadUse, run_thread

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="Linux only")
MS = 1_000_000
# context: [cycles seen, index at which to be slow, how slow in ns, index at which to end, finishes], then a timespec
COUNT, SLOW_AT, SLOW, END_AT, FINISHED, REHEARSED, LAST, WORDS = 0, 1, 2, 3, 4, 5, 6, 8


@callback("int64", "int64", "int64", result="int64")
def cycle(context: int, index: int, now: int) -> int:
    memory = numbers_at(context, np.int64)
    memory[COUNT] += 1
    if index == memory[SLOW_AT]:
        sleep_until(records_at(context + 8 * WORDS, 1, TIMESPEC), now + memory[SLOW])
    return 7 if index == memory[END_AT] else 0


@callback("int64", "int64", "int64", result="int64")
def finish(context: int, index: int, now: int) -> int:
    numbers_at(context, np.int64)[FINISHED] += 1
    return 0


@callback("int64", "int64", "int64", result="int64")
def rehearse(context: int, index: int, now: int) -> int:
    memory = numbers_at(context, np.int64)
    memory[REHEARSED] += 1
    memory[LAST] += 1 if index == memory[COUNT] else 0  # of the coming cycle, before it
    return 0


def _run(cycles, *, slow_at=-1, slow=0, end_at=-1, look=None, **settings):
    memory = np.zeros(WORDS + 2, np.int64)
    memory[[SLOW_AT, SLOW, END_AT]] = slow_at, slow, end_at
    settings.setdefault("finish_at", finish.address)
    executive = new_executive(2 * MS, cycles, cycle.address, memory.ctypes.data, **settings)
    grants = run_thread(run_loop.address, executive, look=look)
    return executive[0], memory, grants


def test_loop_runs_all_cycles_at_their_deadlines():
    begin = time.monotonic()
    executive, memory, _ = _run(100, policy=int(Overrun.HOLD))
    assert executive["ending"] == Ending.COMPLETE
    assert memory[COUNT] == executive["done"] == 100
    assert memory[FINISHED] == 1
    assert time.monotonic() - begin >= 99 * 2e-3  # no deadline comes early
    assert read_times(executive["wake_up"]).count + executive["late"] == 100
    assert read_times(executive["bare_wake_up"]).count <= 100


def test_guard_ends_the_sleep_early_and_never_the_wait():
    executive, memory, _ = _run(100, guard=MS // 4, rehearse_at=rehearse.address, policy=int(Overrun.HOLD))
    assert executive["ending"] == Ending.COMPLETE
    assert memory[REHEARSED] == memory[LAST] == executive["rehearsed"]
    assert 50 <= executive["rehearsed"] <= 100 - executive["late"]
    assert executive["wake_up"]["count"] == 100 - executive["late"]
    assert executive["timer"]["count"] <= executive["wake_up"]["count"]
    assert executive["bare_timer"]["count"] <= executive["bare_wake_up"]["count"]
    assert read_times(executive["wake_up"]).p50 < read_times(executive["timer"]).p50  # polled, not slept to


@pytest.mark.parametrize("settings", [{"guard": 0}, {"paced": 0, "guard": MS // 4}])
def test_without_a_guard_or_a_clock_nothing_is_rehearsed(settings):
    executive, memory, _ = _run(50, rehearse_at=rehearse.address, **settings)
    assert memory[COUNT] == 50
    assert executive["rehearsed"] == memory[REHEARSED] == 0


def test_rehearsal_that_takes_too_long_is_left_out_until_its_time_has_faded():
    executive, _, _ = _run(60, guard=MS // 4, rehearse_at=rehearse.address, rehearsal_time=MS)
    assert 0 < executive["rehearsed"] < 60 - 8  # (7/8)^k MS < MS/4 from k = 11 on


@callback("int64", "int64", "int64", result="int64")
def rehearse_slowly(context: int, index: int, now: int) -> int:
    numbers_at(context, np.int64)[REHEARSED] += 1
    sleep_until(records_at(context + 8 * WORDS, 1, TIMESPEC), now + MS)
    return 0


def test_rehearsal_that_does_not_fit_into_the_guard_is_given_up_and_all_cycles_run():
    executive, memory, _ = _run(
        300, guard=MS // 4, rehearse_at=rehearse_slowly.address, policy=int(Overrun.HOLD)
    )
    assert executive["ending"] == Ending.COMPLETE
    assert memory[COUNT] == 300
    assert 1 <= memory[REHEARSED] <= 12  # two at once, and two after 8, 16, 32, 64 and 128 cycles
    assert executive["rehearsals_late"] == executive["rehearsed"] == memory[REHEARSED]


@callback("int64", "int64", "int64", result="int64")
def rehearse_slowly_at_times(context: int, index: int, now: int) -> int:
    memory = numbers_at(context, np.int64)
    if index % 40 == 39:
        sleep_until(records_at(context + 8 * WORDS, 1, TIMESPEC), now + MS)
        memory[LAST] = index
    elif memory[LAST] > 0:  # the first one after a slow one
        gap = index - memory[LAST]
        memory[REHEARSED] = gap if memory[REHEARSED] == 0 else min(memory[REHEARSED], gap)
        memory[LAST] = 0
    return 0


def test_one_interrupted_rehearsal_does_not_end_those_of_the_next_cycles():
    executive, memory, _ = _run(
        400, guard=MS // 4, rehearse_at=rehearse_slowly_at_times.address, policy=int(Overrun.HOLD)
    )
    assert executive["rehearsals_late"] >= 5
    assert 1 <= memory[REHEARSED] <= 2  # cycles from a slow rehearsal to the next one, the fewest


@callback("int64", "int64", "int64", result="int64")
def rehearse_with_a_pause(context: int, index: int, now: int) -> int:
    """So short that it fits into the guard twice, and a few times nearly as long as the guard."""
    memory = numbers_at(context, np.int64)
    memory[REHEARSED] += 1
    if memory[REHEARSED] % 20 == 0:
        while now_ns(records_at(context + 8 * WORDS, 1, TIMESPEC)) < now + MS // 10:
            pass
        memory[LAST] = index
    elif memory[LAST] > 0:
        gap = index - memory[LAST]
        memory[SLOW] = gap if memory[SLOW] == 0 else min(memory[SLOW], gap)
        memory[LAST] = 0
    return 0


def test_time_expected_of_a_rehearsal_does_not_follow_one_that_was_interrupted():
    """A tenth of a millisecond within a guard of 0.11 ms: the next one, which is short, is not left out for it."""
    executive, memory, _ = _run(
        400, guard=MS * 11 // 100, rehearse_at=rehearse_with_a_pause.address, policy=int(Overrun.HOLD)
    )
    assert executive["rehearsed"] > 100
    assert memory[SLOW] == 1


def test_rows_have_the_times_that_the_histograms_count():
    rows = new_rows(60)
    executive, _, _ = _run(80, guard=MS // 4, rows_at=rows.ctypes.data, room=60, policy=int(Overrun.HOLD))
    assert executive["done"] == 80
    began = rows[:, CycleTime.BEGAN]
    assert (np.diff(began) > 0).all()
    for name, column in (("wake_up", CycleTime.WAKE_UP), ("reference", CycleTime.REFERENCE)):
        seen = rows[:, column][rows[:, column] != UNKNOWN]
        assert 0 < len(seen) <= executive[name]["count"]
        assert seen.max() <= executive[name]["max"]
    late = rows[:, CycleTime.WAKE_UP]
    deadline = began - late
    known = late != UNKNOWN
    apart = (deadline[known] - executive["start"]) % (2 * MS)
    assert np.median(np.minimum(apart, 2 * MS - apart)) < MS / 10  # a cycle begins when its deadline is seen
    np.testing.assert_array_equal(
        rows[:, CycleTime.COMPUTE], rows[:, CycleTime.CYCLE]
    )  # it names none of its own


def test_reference_takes_as_long_as_the_cycle():
    """The cycle says that 20 us of it are computation: half of the bursts are longer once they have found it."""
    rows = new_rows(600)
    memory = np.zeros(WORDS + 2, np.int64)
    executive = new_executive(MS // 2, 600, computing.address, memory.ctypes.data, guard=MS // 20, policy=0)
    executive["rows_at"], executive["room"] = rows.ctypes.data, 600
    memory[LAST] = executive.ctypes.data
    run_thread(run_loop.address, executive)
    assert (rows[:, CycleTime.COMPUTE] == 20_000).all()
    found = rows[300:, CycleTime.REFERENCE]
    assert np.median(found[found != UNKNOWN]) == pytest.approx(20_000, rel=0.2)


@callback("int64", "int64", "int64", result="int64")
def computing(context: int, index: int, now: int) -> int:
    executive = records_at(numbers_at(context, np.int64)[LAST], 1, EXECUTIVE)[0]
    executive.computed = 20_000
    return 0


def test_what_the_system_did_to_the_thread_is_counted():
    used = ThreadUse()
    used.measure(lambda: np.zeros(50_000_000, np.uint8).fill(1))  # 12 000 pages, fetched by the dozen
    assert used.measured
    assert used.page_faults > 20
    assert ThreadUse().plain() == {}


US = 1000
BAD_FROM, BAD_TO, COLD_TIME, PREVIOUS, LAST_LATE, CYCLES_ASKED, SLACK = 0, 1, 2, 3, 4, 5, 6


@callback("int64", "int64", "int64", result="int64")
def rehearse_by_plan(context: int, index: int, now: int) -> int:
    """60 us in a bad stretch, ``COLD_TIME`` where the cycle before was not rehearsed; otherwise next to nothing."""
    memory = numbers_at(context, np.int64)
    took = memory[COLD_TIME] if index > memory[PREVIOUS] + 1 else 0
    if memory[BAD_FROM] <= index < memory[BAD_TO]:
        took = 60 * US
    memory[PREVIOUS] = index
    while now_ns(records_at(context + 8 * WORDS, 1, TIMESPEC)) < now + took:
        pass
    return 0


@callback("int64", result="int64")
def rehearse_cycles(executive_at: int) -> int:
    """The rehearsals of a loop without its waiting: ``SLACK`` is left to every deadline."""
    executive = records_at(executive_at, 1, EXECUTIVE)[0]
    memory = numbers_at(executive.context_at, np.int64)
    for i in range(memory[CYCLES_ASKED]):
        executive.done = i
        if executive.rehearse_at != 0:
            _rehearse(executive, now_ns(executive.timespec) + memory[SLACK])
            if executive.rehearsals_late_now > 0:
                memory[LAST_LATE] = i
    return 0


def _rehearsals(cycles, *, guard_us, bad=(0, 0), cold_us=0, slack_us=30):
    memory = np.zeros(WORDS + 2, np.int64)
    memory[[BAD_FROM, BAD_TO]] = bad
    memory[[COLD_TIME, CYCLES_ASKED, SLACK]] = cold_us * US, cycles, slack_us * US
    settings = {"guard": guard_us * US, "rehearse_at": rehearse_by_plan.address}
    executive = new_executive(MS, cycles, 0, memory.ctypes.data, **settings)
    ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(rehearse_cycles.address)(executive.ctypes.data)
    return executive[0], memory


def test_rehearsals_go_on_after_a_bad_stretch_of_the_machine():
    """3000 cycles in which all end too late and take longer than the guard: pauses of 8 to 2048 cycles."""
    executive, memory = _rehearsals(10_000, guard_us=50, bad=(100, 3100))
    assert 10 <= executive["rehearsals_late"] < 40
    assert executive["rehearse_at"] != 0
    assert memory[PREVIOUS] == 9999
    assert executive["rehearsed"] > 5000


def test_rehearsals_come_back_though_the_first_one_after_a_pause_is_cold_and_too_long():
    executive, memory = _rehearsals(3000, guard_us=50, bad=(100, 140), cold_us=40)
    assert executive["rehearsals_late"] >= 4
    assert executive["rehearsed"] > 2500
    assert memory[LAST_LATE] < 1000


def test_rehearsals_shorter_than_the_guard_are_tried_again_for_ever_at_most_twice_in_a_long_pause():
    """Sleeps that end too late leave them too little time; the machine may do better later."""
    executive, _ = _rehearsals(200_000, guard_us=1000, bad=(0, 200_000))
    assert executive["rehearse_at"] != 0
    assert 80 <= executive["rehearsals_late"] <= 120


def test_rehearsals_longer_than_the_guard_end():
    executive, _ = _rehearsals(200_000, guard_us=50, bad=(0, 200_000))
    assert executive["rehearse_at"] == 0
    assert executive["rehearsed"] == executive["rehearsals_late"] == MOST_LONG


CLOCK_FAILS = """
import ctypes, errno, sys
import llvmlite.binding as llvm
count = 0
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def clock_nanosleep(clock, flags, until, rest):
    global count
    count += 1
    return errno.EINVAL if count > 20 else errno.EINTR if count % 2 else 0
llvm.add_symbol("clock_nanosleep", ctypes.cast(clock_nanosleep, ctypes.c_void_p).value)
import servotwin as st
from servotwin.hil.real_time import RealTime
from servotwin.realtime.executive import Ending
how = RealTime("in-process", guard=float(sys.argv[1]))
try:
    st.substitute("met-substituted", {"duration": "0.3 s"}, compare=False, real_time=how)
except st.SimulationError as error:
    link = error.partial.link
    assert link.ending == Ending.CLOCK and link.numbers["cycles"] < 20, link.ending
    assert link.numbers["safe_state"]["cause"] == "clock"
    print(error)
"""


@pytest.mark.parametrize("guard", ["0", "1e-4"])
def test_clock_that_cannot_be_waited_for_ends_in_the_safe_state_and_is_named(guard):
    """The C library's sleep is replaced by one that is interrupted at times, and then fails."""
    words = [sys.executable, "-W", "error", "-c", CLOCK_FAILS, guard]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "safe state at" in done.stdout
    assert "clock" in done.stdout


@pytest.mark.parametrize("policy", [Overrun.HOLD, Overrun.SKIP])
def test_overrun_is_counted_and_caught_up_or_left_out(policy):
    executive, memory, _ = _run(20, slow_at=5, slow=21 * MS, policy=int(policy))
    assert executive["ending"] == Ending.COMPLETE
    assert memory[COUNT] == 20
    assert executive["overruns"] >= 1
    if policy == Overrun.HOLD:
        assert executive["skipped"] == 0
        assert executive["late"] >= 9
    else:
        assert executive["skipped"] >= 9


def test_overrun_with_stop_ends_the_loop():
    executive, memory, _ = _run(20, slow_at=5, slow=9 * MS, policy=int(Overrun.STOP))
    assert executive["ending"] == Ending.OVERRUN
    assert memory[COUNT] <= 6
    assert memory[FINISHED] == 1


def test_overrun_of_the_last_cycle_is_counted():
    executive, _, _ = _run(6, slow_at=5, slow=50 * MS, policy=int(Overrun.HOLD))
    before, _, _ = _run(6, slow_at=5, slow=50 * MS, policy=int(Overrun.HOLD), paced=0)
    assert executive["ending"] == Ending.COMPLETE
    assert executive["overruns"] >= 1
    assert before["overruns"] == 0


def test_exception_of_the_thread_is_carried_to_the_caller(monkeypatch):
    def refuse(*_, **__):
        raise ValueError("negative CPU")

    monkeypatch.setattr("servotwin.realtime.thread.favour_thread", refuse)
    with pytest.raises(ValueError, match="negative CPU"):
        _run(3)


@pytest.mark.parametrize("when", ["before", "after"])
def test_interrupt_while_the_thread_starts_leaves_no_loop_behind(monkeypatch, when):
    memory = np.zeros(WORDS + 2, np.int64)
    memory[[SLOW_AT, END_AT]] = -1
    executive = new_executive(2 * MS, 0, cycle.address, memory.ctypes.data, finish_at=finish.address)
    plain, made = threading.Thread.start, []

    def start(self):
        made.append(self)
        if when == "before":
            raise KeyboardInterrupt
        plain(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        run_thread(run_loop.address, executive)
    monkeypatch.setattr(threading.Thread, "start", plain)
    done = memory.tolist()
    if when == "before":  # the thread comes after all: the loop must not run on memory that may be gone
        made[0].start()
    made[0].join(10)
    assert not made[0].is_alive()
    assert memory.tolist() == done


def test_cycle_that_returns_a_code_ends_the_loop():
    executive, memory, _ = _run(0, end_at=12, policy=int(Overrun.HOLD))
    assert (executive["ending"], executive["code"], memory[COUNT]) == (Ending.CYCLE, 7, 13)


def test_simulated_time_waits_for_nothing():
    begin = time.monotonic()
    executive, memory, _ = _run(20_000, paced=0)
    assert memory[COUNT] == 20_000
    assert time.monotonic() - begin < 20
    assert executive["wake_up"]["count"] == 0


def test_interrupt_ends_a_loop_without_end_in_its_safe_state():
    class Interrupted(Exception):
        pass

    def interrupted(number, frame):
        raise Interrupted

    def send():
        until = time.monotonic() + 60
        while memory[COUNT] < 5 and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupted)
    sender = threading.Thread(target=send)
    memory = np.zeros(WORDS + 2, np.int64)
    memory[[SLOW_AT, END_AT]] = -1
    executive = new_executive(2 * MS, 0, cycle.address, memory.ctypes.data, finish_at=finish.address)
    try:
        sender.start()
        with pytest.raises(Interrupted):
            run_thread(run_loop.address, executive)
        sender.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert executive["ending"][0] == Ending.ASKED
    assert memory[FINISHED] == 1
    assert memory[COUNT] > 0


def test_what_is_refused_is_said(monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    _, _, grants = _run(3)
    assert "Operation not permitted" in grants.refused["priority"]
    assert "processor" in grants.refused
    assert any(line.startswith("not granted: SCHED_FIFO") for line in grants.lines())
    assert isinstance(grants, Grants)
    assert grants.plain()["refused"]


def test_clock_of_compiled_code_is_that_of_python():
    from servotwin.compiled.jit import kernel

    @kernel
    def read(timespec):
        return now_ns(timespec)

    timespec = np.zeros(1, TIMESPEC)
    read(timespec)
    before = time.monotonic_ns()
    now = read(timespec)
    assert before <= now <= time.monotonic_ns()
