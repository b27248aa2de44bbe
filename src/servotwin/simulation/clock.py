"""Clocks that a main controller and its plant are stepped by: simulated time, and that of the wall."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Says when an instant has come."""

    def wait_until(self, instant_ns: int) -> None:
        """Return at an instant [ns], at once if it is past."""


class SimulatedClock:
    """Time that passes as soon as all is done: every instant comes at once."""

    def wait_until(self, instant_ns: int) -> None:
        """See ``Clock``."""


class WallClock:
    """Time that passes by itself; the first instant that is waited for is now.

    ``late_ns``: by how much an instant was missed at most. ``now_ns`` and ``sleep`` [s] can be given.
    """

    def __init__(
        self,
        now_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._now_ns, self._sleep = now_ns, sleep
        self._zero_ns: int | None = None
        self.late_ns = 0

    def wait_until(self, instant_ns: int) -> None:
        """See ``Clock``."""
        if self._zero_ns is None:
            self._zero_ns = self._now_ns() - instant_ns
        due = self._zero_ns + instant_ns
        self.late_ns = max(self.late_ns, self._now_ns() - due)
        while (left := due - self._now_ns()) > 0:
            self._sleep(left * 1e-9)
