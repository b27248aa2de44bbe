"""The speed of the measured arm's fastest point, as the mean over some milliseconds: what T1 is supervised with."""

from __future__ import annotations

from collections import deque

from servotwin.control.main.point_speed import FastestPoint
from servotwin.mechanism.model import Array

SPAN_NS = 10_000_000  # over which a speed is taken, one period at least
EVERY_NS = 5_000_000  # between two looks


class SpeedWatch:
    """Measured positions of the last milliseconds; ``speed`` [m/s] and the frame ``point`` of the fastest point."""

    def __init__(self) -> None:
        self.point, self.speed = "", 0.0
        self._rows: deque[tuple[int, Array]] = deque()
        self._looked = 0

    def look(self, now_ns: int, q: Array, fastest: FastestPoint) -> bool:
        """Take the positions (n,) at an instant; whether the speed was taken anew."""
        rows = self._rows
        rows.append((now_ns, q))
        while len(rows) > 2 and now_ns - rows[1][0] >= SPAN_NS:
            rows.popleft()
        since, before = rows[0]
        if now_ns - since < SPAN_NS or now_ns - self._looked < EVERY_NS:
            return False
        self._looked = now_ns
        self.point, self.speed = fastest.between(before, q, (now_ns - since) * 1e-9)
        return True
