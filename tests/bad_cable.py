"""A port whose frames are lost or changed at random, as a damaged cable does it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from servotwin.fieldbus.ethercat.master.port import SegmentPort

LOST = ("lost on the way out", "lost on the way back")
HEADERS = ("header changed on the way out", "header changed on the way back")
ANYWHERE = ("changed anywhere on the way back",)
HEADER = range(12, 26)  # EtherType, head of the frame, head of the first datagram


class BadCable(SegmentPort):
    """``share`` of the frames is disturbed while it is ``on``, at most ``most_in_a_row``; ``done`` were."""

    def __init__(
        self, segment: Any, seed: int, kinds: tuple[str, ...], share: float = 0.3, most_in_a_row: int = 3
    ) -> None:
        super().__init__(segment)
        self.rng, self.kinds, self.share, self.most = Random(seed), kinds, share, most_in_a_row
        self.on, self.done, self.row = False, 0, 0

    def exchange(self, frame: bytes, timeout: float, wanted: Callable[[bytes], bool]) -> bytes | None:
        if not self.on or self.row >= self.most or self.rng.random() >= self.share:
            self.row = 0
            return super().exchange(frame, timeout, wanted)
        self.done, self.row = self.done + 1, self.row + 1
        kind = self.rng.choice(self.kinds)
        if kind == LOST[0]:
            return None
        if kind == HEADERS[0]:
            return super().exchange(self.changed(frame, HEADER), timeout, wanted)
        answer = super().exchange(frame, timeout, lambda _: True)
        if answer is None or kind == LOST[1]:
            return None
        answer = self.changed(answer, HEADER if kind == HEADERS[1] else range(len(answer)))
        return answer if wanted(answer) else None

    def changed(self, frame: bytes, places: range) -> bytes:
        data = bytearray(frame)
        data[self.rng.choice(places)] ^= 1 << self.rng.randrange(8)
        return bytes(data)
