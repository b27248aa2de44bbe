"""The clock of a controller on a bus: absolute deadlines, moved so that frames come halfway between two SYNC0."""

from __future__ import annotations

import time
from collections.abc import Callable

from servotwin.simulation.clock import SimulatedClock

SHARE = 16  # of the phase error is corrected in each cycle
MOST_SHARE = 100  # of the period, at most, in each cycle


class BusClock:
    """Deadlines of the monotonic clock; those that are past are left out and counted, never made up for in a burst.

    ``follow`` moves them after the reference clock of the bus. ``late``: how late each cycle began [ns].
    """

    def __init__(
        self,
        period_ns: int,
        now_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.period_ns, self._now_ns, self._sleep = period_ns, now_ns, sleep
        self._zero_ns: int | None = None
        self.skipped = 0
        self.late_ns = 0  # of the last cycle
        self.phase_ns = 0  # of the last frame, from the middle between two SYNC0

    def wait_until(self, instant_ns: int) -> None:
        """Return at an instant [ns]; one that is more than a period past is now, and all later ones move with it."""
        if self._zero_ns is None:
            self._zero_ns = self._now_ns() - instant_ns
        due = self._zero_ns + instant_ns
        late = self._now_ns() - due
        if late > self.period_ns:
            missed = late // self.period_ns
            self.skipped += missed
            self._zero_ns += missed * self.period_ns
            due += missed * self.period_ns
        while (left := due - self._now_ns()) > 0:
            self._sleep(left * 1e-9)
        self.late_ns = self._now_ns() - due

    def follow(self, clock_ns: int, first_sync_ns: int) -> None:
        """Move the deadlines: ``clock_ns`` is the reference's time as the last frame passed it."""
        if self._zero_ns is None:
            return
        T = self.period_ns
        phase = (clock_ns - first_sync_ns) % T - T // 2
        self.phase_ns = phase
        step = -phase // SHARE
        self._zero_ns += max(-T // MOST_SHARE, min(step, T // MOST_SHARE))


class LockStepClock(SimulatedClock):
    """Every frame is a period: nobody waits."""

    late_ns = skipped = phase_ns = 0

    def follow(self, clock_ns: int, first_sync_ns: int) -> None:
        """See ``BusClock``."""
