"""What was measured last: positions, speeds, and the surroundings of the arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from servotwin.control.main.exchange import Feedback
from servotwin.description.frames import Array

NANO = 1e-9


class Measured:
    """Positions and speeds (n,) of the last valid measurement, and the feedback it came with."""

    def __init__(self, n: int) -> None:
        self.q, self.qd = np.zeros(n), np.zeros(n)
        self.feedback: Feedback | None = None
        self._at_ns = 0

    @property
    def held(self) -> bool:
        """Whether the enabling switch is held."""
        return self.feedback is not None and bool(self.feedback.dead_man)

    def take(self, now_ns: int, feedback: object) -> str:
        """Take the measurement of an instant; the text says what is wrong with it, and the last valid one is kept."""
        n = self.q.size
        if not isinstance(feedback, Feedback):
            return f"{type(feedback).__name__} came instead of measurements"
        q, qd = _vector(feedback.q, n), _vector(feedback.qd, n)
        if q is None:
            return f"measured positions are not valid; expected {n} finite numbers [rad, m]"
        inputs: object = feedback.inputs
        if not isinstance(inputs, Mapping):
            return f"inputs are of type {type(inputs).__name__}; expected names with on or off"
        if qd is not None:
            self.qd = qd
        elif self.feedback is not None and now_ns > self._at_ns:
            self.qd = (q - self.q) / ((now_ns - self._at_ns) * NANO)
        self.q, self.feedback, self._at_ns = q, feedback, now_ns
        return ""

    def skip(self, now_ns: int, period_ns: int, positions: Sequence[Array]) -> None:
        """Take measurements a period apart, the last one at ``now_ns``; of their ``positions`` the last two are enough.

        Everything else is as it was in the last feedback.
        """
        if self.feedback is None:
            return
        before = positions[-2] if len(positions) > 1 else self.q
        self.q = positions[-1]
        self.qd = (self.q - before) / (period_ns * NANO)
        self.feedback, self._at_ns = replace(self.feedback, q=self.q), now_ns


def _vector(value: object, n: int) -> Array | None:
    """Finite numbers (n,), or None if they are not."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array if array.shape == (n,) and np.isfinite(array).all() else None
