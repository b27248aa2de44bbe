"""Measure contenders in turn, so that a noisy machine is noisy for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Effort:
    """How much is measured. The short form takes one round of each: it shows that everything runs, not how fast."""

    short: bool = False

    def rounds(self, full: int) -> int:
        """How often something is measured."""
        return 1 if self.short else full


EFFORT = Effort()


@dataclass(frozen=True)
class Row:
    """One line of the table: ours and a peer's time, and the ratio that is aimed at."""

    what: str
    ours_s: float
    peer: str
    peer_s: float
    target: float  # ratio peer / ours to reach
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times faster we are."""
        return self.peer_s / self.ours_s


def best_of(contenders: dict[str, Callable[[], object]], calls: int, rounds: int = 15) -> dict[str, float]:
    """Seconds per call of each contender: the best of several rounds, taken in turn."""
    best = dict.fromkeys(contenders, float("inf"))
    for run in contenders.values():
        run()
    for _ in range(EFFORT.rounds(rounds)):
        for name, run in contenders.items():
            start = time.perf_counter()
            for _ in range(EFFORT.rounds(calls)):
                run()
            best[name] = min(best[name], (time.perf_counter() - start) / EFFORT.rounds(calls))
    return best
