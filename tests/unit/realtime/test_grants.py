"""A thread that never rests has no real-time priority for long."""

from __future__ import annotations

import os

import pytest

from servotwin.realtime import grants as module
from servotwin.realtime.grants import Grants, PriorityWatch
from servotwin.realtime.libc import SUPPORTED


class Clocks:
    """Time that passes, and time that the thread computes [s]."""

    def __init__(self) -> None:
        self.passed = self.computed = 100.0

    def monotonic(self) -> float:
        return self.passed

    def thread_time(self) -> float:
        return self.computed


@pytest.mark.skipif(not SUPPORTED, reason="priorities are those of Linux")
@pytest.mark.parametrize(("share", "kept"), [(0.5, True), (0.89, True), (0.95, False), (1.0, False)])
def test_priority_is_taken_back_from_a_thread_that_hardly_rests(
    monkeypatch: pytest.MonkeyPatch, share: float, kept: bool
) -> None:
    clocks, policies = Clocks(), []
    monkeypatch.setattr(module, "time", clocks)
    monkeypatch.setattr(os, "sched_setscheduler", lambda pid, policy, parameter: policies.append(policy))
    grants = Grants({"priority": "SCHED_FIFO priority 80", "processor": "bound to processor 0"})
    watch = PriorityWatch(grants)
    for _ in range(15):
        clocks.passed += 0.1
        clocks.computed += 0.1 * share
        watch.look()
    assert ("priority" in grants.granted) == kept
    assert policies == ([] if kept else [os.SCHED_OTHER])
    assert kept or "taken back" in grants.refused["priority"]


def test_thread_without_priority_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks()
    monkeypatch.setattr(module, "time", clocks)
    grants = Grants(refused={"priority": "SCHED_FIFO priority 80 (Operation not permitted)"})
    watch = PriorityWatch(grants)
    clocks.passed = clocks.computed = 110.0
    watch.look()
    assert grants.refused == {"priority": "SCHED_FIFO priority 80 (Operation not permitted)"}
