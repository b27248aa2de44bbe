"""Runs a compiled cycle against a rig, in real or in simulated time, and says how link and clock behaved."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from servotwin.hil.link.addresses import Address, check_line, check_reach
from servotwin.hil.link.endpoint import Transport, new_endpoint
from servotwin.hil.link.handshake import compile_handshake, say_hello
from servotwin.hil.link.link_report import LinkReport
from servotwin.hil.link.opening import opened
from servotwin.hil.link.session import (
    LAST_COMMANDS,
    LINGER,
    LINK,
    LINK_ROW,
    REHEARSED_BYTES,
    link_cycle,
    link_finish,
    link_rehearse,
)
from servotwin.hil.link.supervision import TOLERANCE, check_tolerance
from servotwin.realtime.cycle_times import new_rows
from servotwin.realtime.executive import Ending, Overrun, new_executive, run_loop
from servotwin.realtime.grants import Grants, check_cpu
from servotwin.realtime.rehearsal import KeptMemory
from servotwin.realtime.thread import ThreadUse, run_thread

GUARD_NS = 100_000  # before a deadline, in which the clock is polled: three times p99 of a sleep's end
GUARD_SHARE = 4  # the guard is at most a quarter of a period: cycle, bare clock and two guards share it
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
    joints: tuple[str, ...] = ()  # names of the joints that the shafts are, for messages


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
    used: ThreadUse = field(default_factory=ThreadUse)

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
        # the arm begins later if the first samples are lost
        room = self.cycles + self.tolerance + LAST_COMMANDS
        self.rows = np.zeros(room if self.record_rows else 0, LINK_ROW)
        self.rows["age"] = 0  # touched before the run, so that no page is fetched during it
        link["rows_at"], link["room"] = self.rows.ctypes.data, len(self.rows)
        if self.rig is not None:
            link["rig_at"], link["rig_step_at"] = self.rig.ctypes.data, self.step_at
        self.times = new_rows(len(self.rows))
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
            rows_at=self.times.ctypes.data,
            room=len(self.times),
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
            run_thread(
                run_loop.address, self.executive, grants=self.grants, used=self.used, cpu=self.cpu, look=look
            )
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
