"""A page whose messages are held up on their way, on a clock that is counted: late ones renew nothing.

Page, way, server and cell are stepped by hand. The page's clock is not the server's; every stage may hold messages up
and let all of them go at once: the browser's network process, buffers of the kernel, a busy server, a busy cell.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from servotwin.pendant.cell.enabling import LEASE, Lease
from servotwin.pendant.cell.messages import operator_state
from servotwin.pendant.page.seats import Seat
from servotwin.pendant.page.station import Station

MS = 1_000_000
RENEW, PERIOD = 20 * MS, 16 * MS
BEGIN = 50_000 * MS
HELD = {"switch": 1, "hold": True, "frame": "joint", "direction": [1.0], "token": "t"}


class Link:
    """Takes what the server hands on to the cell."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def hold(self, state: dict[str, Any], at_ns: int) -> None:
        self.sent.append({**state, "at": at_ns})


class HeldUp:
    """A page that holds a key until it is cut off at ``stall_ns``; what it sent before comes late or not at all."""

    def __init__(self, rng: random.Random, stage: str) -> None:
        self.rng, self.stage = rng, stage
        self.station = Station.__new__(Station)
        self.station.link = Link()  # type: ignore[assignment]
        self.station._stamps = {1: BEGIN + 3600 * 1000 * MS}  # pictures are not what is tested here
        self.seat = Seat(may_operate=True, name="page")
        self.seat.seen = 1
        self.lease = Lease()
        self.shift = rng.uniform(-1e7, 1e7)  # ms from the server's clock to the page's
        self.drift = 1.0 + rng.uniform(-1e-4, 1e-4)

    def message(self, sequence: int, at_ns: int) -> dict[str, Any]:
        switch = 0 if sequence < 3 else 1
        return {**HELD, "switch": switch, "sequence": sequence, "ms": at_ns / MS * self.drift + self.shift}

    def arrivals(self, stall_ns: int, free_ns: int) -> list[tuple[int, dict[str, Any]]]:
        """When messages come to the server. The page goes on sending through the stall: it does not know of it."""
        found, sequence, now = [], 0, BEGIN
        while now < free_ns + 500 * MS:
            sent = now
            comes = sent + int(self.rng.expovariate(1 / 2.0) * MS) + MS // 2
            if comes >= stall_ns:
                comes = max(comes, free_ns)
            found.append((comes, self.message(sequence, sent)))
            sequence, now = sequence + 1, now + RENEW + self.rng.randrange(3 * MS)
        return sorted(found, key=lambda pair: (pair[0], pair[1]["sequence"]))

    def run(self, stall_ns: int, free_ns: int) -> tuple[int, bool]:
        """Until when the switch allowed motion, and whether it did so again after the stall."""
        waiting = self.arrivals(stall_ns, free_ns)
        held_until, again, now = 0, False, BEGIN
        link: Any = self.station.link
        while now < free_ns + 400 * MS:
            now += PERIOD
            for comes, message in [pair for pair in waiting if pair[0] <= now]:
                read = comes
                if self.stage == "server":  # it was busy, and reads late: its own clock says so
                    read = max(comes, now - self.rng.randrange(PERIOD))
                self.station._held(self.seat, message, read)
            waiting = [pair for pair in waiting if pair[0] > now]
            if not (self.stage == "cell" and stall_ns <= now < free_ns):
                for state in link.sent:
                    self.lease.take(operator_state(state, state["at"]))
                link.sent.clear()
            self.lease.look(now)
            if self.lease.held and now < free_ns:
                held_until = now
            again = again or (self.lease.held and now >= free_ns)
        return held_until, again


@pytest.mark.parametrize("stage", ["way", "server", "cell"])
def test_messages_that_were_held_up_renew_nothing(stage: str) -> None:
    rng = random.Random(f"stalled {stage}")
    for _ in range(60):
        page = HeldUp(rng, stage)
        stall = BEGIN + rng.randrange(400, 3000) * MS
        free = stall + rng.randrange(150, 4000) * MS
        held_until, again = page.run(stall, free)
        assert stall - 2 * RENEW <= held_until  # it was held up to then: the test could fail
        assert held_until <= stall + LEASE + PERIOD
        assert not again  # the burst that came then, and all that follows, keep the switch where it was


def test_trickle_of_late_messages_lets_go_too() -> None:
    """A way that becomes longer and longer, as a buffer that fills does: messages come all the time, but old."""
    page = HeldUp(random.Random(5), "way")
    link: Any = page.station.link
    now = BEGIN
    for k in range(200):
        sent = BEGIN + k * RENEW
        late = max(0, k - 50) * 10 * MS  # each comes 10 ms later than the one before
        now = sent + MS + late
        page.station._held(page.seat, page.message(k, sent), now)
        for state in link.sent:
            page.lease.take(operator_state(state, state["at"]))
        link.sent.clear()
        page.lease.look(now)
        if late > LEASE + MS:
            assert not page.lease.held, late
        if 3 <= k <= 50:
            assert page.lease.held


def test_messages_out_of_order_or_twice_renew_nothing() -> None:
    page = HeldUp(random.Random(6), "way")
    link: Any = page.station.link
    for k in range(10):
        page.station._held(page.seat, page.message(k, BEGIN + k * RENEW), BEGIN + k * RENEW + MS)
    count = len(link.sent)
    for k in (9, 3, 9, 0):
        page.station._held(page.seat, page.message(k, BEGIN + 900 * MS), BEGIN + 900 * MS)
    assert len(link.sent) == count == 10
