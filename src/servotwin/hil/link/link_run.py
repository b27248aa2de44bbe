"""Runs a compiled cycle against a rig, in real or in simulated time, and says how link and clock behaved."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from servotwin.hil.link.addresses import Address, check_line, check_reach
from servotwin.hil.link.causes import WORDS, Cause
from servotwin.hil.link.endpoint import Transport, new_endpoint
from servotwin.hil.link.handshake import compile_handshake, say_hello
from servotwin.hil.link.opening import opened
from servotwin.hil.link.session import (
    LINGER,
    LINK,
    LINK_ROW,
    REHEARSED_BYTES,
    link_cycle,
    link_finish,
    link_rehearse,
)
from servotwin.hil.link.supervision import TOLERANCE, check_tolerance
from servotwin.realtime.executive import MOST_LATE, Ending, Overrun, new_executive, run_loop
from servotwin.realtime.grants import Grants, check_cpu
from servotwin.realtime.histogram import bars, read_times
from servotwin.realtime.rehearsal import KeptMemory
from servotwin.realtime.thread import run_thread

GUARD_NS = 100_000  # before a deadline, in which the clock is polled: three times p99 of a sleep's end
GUARD_SHARE = 5  # the guard is at most a fifth of a period
WATCHDOG_MARGIN = 0.5  # cycles by which the rig is more patient than the simulator


@dataclass(frozen=True)
class Cycle:
    """What is run: a ``Piece`` called as (record, feedback, command, shafts, missed, period), with its record.

    ``missed``: time beside one period that went by for the rig since the last call [s].
    """

    address: int
    record: Any  # NumPy array; the piece gets its address
    shafts: int
    period_ns: int
    angles: tuple[float, ...] = ()  # of the shafts at the beginning [rad]; default zero
    status: Any = None  # array of a whole number in which the piece says that it gives up
    rehearsal: int = 0  # the same as a ``Piece`` that writes to ``memory`` alone; 0: it cannot be rehearsed
    memory: tuple[Any, ...] = ()  # arrays, ``record`` among them
    stamped: bool = False  # it takes the age of samples from their time stamps


@dataclass
class LinkRun:
    """A run of a cycle against a rig. ``rig``: records of the twin in process, with ``step_at`` of ``rig_piece``."""

    cycle: Cycle
    address: Address
    cycles: int
    key: bytes | None = None
    network: bool = False
    policy: Overrun | None = None
    paced: bool = True
    bare: bool = True
    guard_ns: int = GUARD_NS
    rehearse: bool = True
    tolerance: int = TOLERANCE
    cpu: int | None = None
    rig: Any = None
    step_at: int = 0
    record_rows: bool = True
    grants: Grants = field(default_factory=Grants)

    def __post_init__(self) -> None:
        check_reach(self.address, network=self.network, key=self.key)
        check_tolerance(self.tolerance)
        check_cpu(self.cpu)
        if self.policy is None:
            here = self.address.transport == Transport.IN_PROCESS
            self.policy = Overrun.HOLD if here else Overrun.SKIP
        self.link = np.zeros(1, LINK)
        link, cycle = self.link, self.cycle
        link["endpoint"][0] = new_endpoint(cycle.shafts, self.address.transport, self.key)
        link["endpoint"]["stamped"] = int(cycle.stamped)
        link["supervision"]["tolerance"], link["linger"] = self.tolerance, LINGER
        link["cycle_at"], link["record_at"] = cycle.address, cycle.record.ctypes.data
        if cycle.status is not None:
            link["status_at"] = cycle.status.ctypes.data
        link["shafts"], link["period"] = cycle.shafts, cycle.period_ns
        self.cycles += 1  # the first one samples the shafts
        room = self.cycles + self.tolerance  # the arm begins later if the first samples are lost
        self.rows = np.zeros(room if self.record_rows else 0, LINK_ROW)
        self.rows["age"] = 0  # touched before the run, so that no page is fetched during it
        link["rows_at"], link["room"] = self.rows.ctypes.data, len(self.rows)
        if self.rig is not None:
            link["rig_at"], link["rig_step_at"] = self.rig.ctypes.data, self.step_at
        self.executive = new_executive(
            cycle.period_ns,
            self.cycles,
            link_cycle.address,
            link.ctypes.data,
            policy=int(self.policy),
            paced=int(self.paced),
            bare=int(self.bare and self.paced),
            finish_at=link_finish.address,
            guard=min(self.guard_ns, cycle.period_ns // GUARD_SHARE),
        )
        link["executive_at"] = self.executive.ctypes.data
        if self.rehearse and self.paced and cycle.rehearsal:
            self._prepare_rehearsal()

    def _prepare_rehearsal(self) -> None:
        head = self.link.view(np.uint8)[:REHEARSED_BYTES]
        self.kept = KeptMemory.of((head, *self.cycle.memory))
        self.link["rehearsal_at"] = self.cycle.rehearsal
        self.link["regions_at"], self.link["regions"] = self.kept.regions.ctypes.data, len(self.kept.regions)
        self.executive["rehearse_at"] = link_rehearse.address

    def run(self, look: Callable[[LinkRun], None] | None = None) -> LinkReport:
        """Open a session and run; Ctrl-C and the like end it in the safe state and are raised again afterwards."""
        run_loop.address  # noqa: B018 -- compiled before the rig waits

        def looked() -> None:
            if look is not None:
                look(self)

        try:
            with self._open(looked):
                try:
                    self._loop(looked)
                finally:
                    self._finish()
        except KeyboardInterrupt:
            self.executive["end_asked"] = 1  # whatever it was that it interrupted
            raise
        return self.report()

    def _loop(self, look: Callable[[], None]) -> None:
        if self.paced:
            run_thread(run_loop.address, self.executive, grants=self.grants, cpu=self.cpu, look=look)
        else:
            run_unpaced(self.executive, look)

    def _finish(self) -> None:
        """The safe command and BYE of a session whose loop never came to them."""
        if self.executive["finish_at"][0] and not self.link["finished"][0]:
            done = int(self.executive["done"][0])
            ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(link_finish.address)(
                self.link.ctypes.data, done, 0
            )

    @contextlib.contextmanager
    def _open(self, look: Callable[[], None]) -> Iterator[None]:
        if self.address.transport == Transport.IN_PROCESS:
            yield
            return
        endpoint, period = self.link["endpoint"][0], self.cycle.period_ns
        angles, patience = (
            self.cycle.angles or (0.0,) * self.cycle.shafts,
            int((self.tolerance + WATCHDOG_MARGIN) * period),
        )
        compile_handshake()
        with opened(self.address, endpoint, rig=False):
            check_line(self.address, self.cycle.shafts, self.key, period)
            say_hello(self.address, endpoint, period, patience, angles, self.key, look=look)
            yield

    def report(self) -> LinkReport:
        """How link and clock behaved so far."""
        return LinkReport.of(self)


def run_unpaced(executive: Any, look: Callable[[], None]) -> None:
    """Simulated time: the same loop without waiting, in parts, so that progress is seen."""
    loop = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(run_loop.address)
    total, finish = int(executive["cycles"][0]), int(executive["finish_at"][0])
    executive["finish_at"] = 0
    part = max(total // 50, 1000)
    try:
        while int(executive["done"][0]) < total:
            executive["cycles"] = min(int(executive["done"][0]) + part, total)
            if loop(executive.ctypes.data) != Ending.COMPLETE:
                break
            look()
    except BaseException:
        executive["ending"] = Ending.ASKED  # a part is complete, the run is not
        raise
    finally:
        executive["cycles"], executive["finish_at"] = total, finish
        ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(finish)(
            int(executive["context_at"][0]), int(executive["done"][0]), 0
        )


@dataclass(frozen=True)
class LinkReport:
    """How a run went: why it ended, frames by cause, times of the loop."""

    transport: str
    period_s: float
    cause: Cause
    words: str
    ending: Ending
    numbers: dict[str, Any]
    figures: dict[str, tuple[list[float], list[int]]]
    grants: list[str]
    rows: Any  # LINK_ROW, one for each cycle

    @property
    def safe(self) -> bool:
        """Whether the run went to its safe state before its end."""
        return self.cause != Cause.NONE

    @classmethod
    def of(cls, run: LinkRun) -> LinkReport:
        """The report of a run."""
        link, executive = run.link[0], run.executive[0]
        supervision, endpoint = link["supervision"][0], link["endpoint"][0]
        ending = Ending(int(executive["ending"]))
        cause = _cause(supervision, executive)
        names = {
            "wake_up": executive["wake_up"],
            "bare_wake_up": executive["bare_wake_up"],
            "timer": executive["timer"],
            "bare_timer": executive["bare_timer"],
            "cycle": executive["compute"],
            "compute": link["compute"],
            "response": link["response"],
        }
        times = {name: read_times(histogram).plain() for name, histogram in names.items()}
        numbers = {
            "cycles": int(executive["done"]),
            "simulated_cycles": int(link["simulated"]),
            "overruns": int(executive["overruns"]),
            "skipped_deadlines": int(executive["skipped"]),
            "made_up_periods": int(link["made_up"]),
            "late_starts": int(executive["late"]),
            "guard_us": int(executive["guard"]) / 1e3,
            "rehearsals": int(executive["rehearsed"]),
            "late_rehearsals": int(executive["rehearsals_late"]),
            "rehearsals_ended": bool(executive["rehearsals_late_now"] >= MOST_LATE),
            "overrun_policy": Overrun(int(executive["policy"])).name.lower(),
            "limited_commands": int(link["limited"]),
            "clean_cycles": int(supervision["clean"]),
            "disturbed_cycles": int(supervision["disturbed"]),
            "longest_disturbance_cycles": int(supervision["longest_row"]),
            "disturbed_by": _by_name(supervision["cycle_causes"]),
            "frames": {
                "sent": int(endpoint["sent_frames"]),
                "accepted": int(endpoint["accepted"]),
                "not_accepted": _by_name(endpoint["counts"]),
            },
            "safe_state": None if cause == Cause.NONE else _safe_state(cause, supervision, ending),
            "times": times,
            "system": run.grants.plain(),
        }
        figures = {name: bars(histogram) for name, histogram in names.items()}
        return cls(
            str(run.address),
            run.cycle.period_ns * 1e-9,
            cause,
            WORDS[cause],
            ending,
            numbers,
            figures,
            run.grants.lines(),
            run.rows[: int(link["rows"])].copy(),
        )

    def columns(self) -> dict[str, Any]:
        """The cycles as columns of a table: when each began, what disturbed it, whether its command was safe."""
        first = self.rows["began"][:1]
        return {
            "began [s]": (self.rows["began"] - first) * 1e-9 if len(first) else np.zeros(0),
            "cause": self.rows["cause"],
            "safe": self.rows["safe"] != 0,
            "age [cycles]": self.rows["age"],
        }

    def lines(self) -> list[str]:
        """In words, for the terminal and the page."""
        n, times = self.numbers, self.numbers["times"]
        lines = [
            f"link {self.transport}: {n['frames']['sent']} commands sent, {n['frames']['accepted']} answers accepted, "
            f"{n['disturbed_cycles']} of {n['cycles']} cycles disturbed",
            f"deadlines: {n['overruns']} overruns, {n['skipped_deadlines']} left out, "
            f"{n['made_up_periods']} made up for, {n['late_starts']} late starts (policy {n['overrun_policy']})",
        ]
        for name, text in NAMES.items():
            if times[name]["count"]:
                t = times[name]
                lines.append(
                    f"{text}: p50 {t['p50_us']:.3g} us, p99 {t['p99_us']:.3g} us, p99.9 {t['p99.9_us']:.3g} us, "
                    f"max {t['max_us']:.4g} us"
                )
        if n["rehearsals_ended"]:
            lines.append(
                f"rehearsals ended after {n['rehearsals']}: {n['late_rehearsals']} did not fit into the guard of "
                f"{n['guard_us']:g} us; cycles found their caches cold"
            )
        if self.safe:
            lines.append(f"safe state: {self.words}")
        return lines


NAMES = {
    "compute": "compute time (simulation and encoding)",
    "response": "response (decoding, simulation and encoding)",
    "cycle": "cycle with the system's calls",
    "wake_up": "wake-up latency",
    "bare_wake_up": "wake-up latency of the bare clock",
    "timer": "end of the sleep, the guard before the deadline",
    "bare_timer": "end of the sleep of the bare clock",
}


def _by_name(counts: Any) -> dict[str, int]:
    return {cause.name.lower(): int(counts[cause]) for cause in Cause if counts[cause]}


ENDINGS = {
    Ending.COMPLETE: Cause.NONE,
    Ending.ASKED: Cause.ENDED,
    Ending.OVERRUN: Cause.OVERRUN,
    Ending.CLOCK: Cause.CLOCK,
}


def _cause(supervision: Any, executive: Any) -> Cause:
    """Why the run ended, NONE only if it is complete; a silence after which late answers came is a delay."""
    cause = Cause(int(supervision["failed"]))
    if cause == Cause.SILENCE and supervision["late"] > supervision["failed_late"]:
        return Cause.DELAY
    if cause != Cause.NONE:
        return cause
    return ENDINGS.get(
        Ending(int(executive["ending"])), Cause.ENDED if executive["end_asked"] else Cause.LOOP
    )


def _safe_state(cause: Cause, supervision: Any, ending: Ending) -> dict[str, Any]:
    cycle = int(supervision["failed_cycle"]) if supervision["failed"] else None
    return {
        "cause": cause.name.lower(),
        "words": WORDS[cause],
        "cycle": cycle,
        "disturbed_cycles_before": int(supervision["failed_row"]),
        "longest_answer_ms": round(float(supervision["delay"]) * 1e-6, 3),
        "ending": ending.name.lower(),
    }
