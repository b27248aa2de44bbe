"""Packets of a stranger against both ends of a running link, and spoilt ones from the simulator's own address."""

from __future__ import annotations

import contextlib
import os
import socket
from types import TracebackType
from urllib.parse import urlsplit

import numpy as np

from servotwin.hil.link.link_run import LinkRun

A_LOOK = 300  # packets in a tenth of a second, each way


class Flood:
    """A socket of its own that sends random bytes, and copies of good frames with a few bits turned over."""

    def __init__(self, where: str, packets: int) -> None:
        parts = urlsplit(where)
        self.rig = (parts.hostname, parts.port)
        self.packets, self.sent = packets, 0
        self.rng = np.random.default_rng(1)

    def __enter__(self) -> Flood:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def look(self, run: LinkRun) -> None:
        """Send some packets to the rig and to the simulator."""
        endpoint = run.link["endpoint"][0, 0]
        if int(run.executive["done"][0]) == 0:  # the session is not open yet
            return
        frames = [endpoint[name].tobytes()[:140] for name in ("sending", "received")]
        with socket.socket(fileno=os.dup(int(endpoint["fd"]))) as own:
            ways = ((self.socket, self.rig), (self.socket, own.getsockname()), (own, self.rig))
            for k in range(min(A_LOOK * len(ways), self.packets - self.sent)):
                sender, target = ways[k % len(ways)]
                with contextlib.suppress(OSError):
                    sender.sendto(self._packet(frames), target)
                self.sent += 1

    def _packet(self, frames: list[bytes]) -> bytes:
        if self.rng.random() < 0.5:
            return self.rng.bytes(int(self.rng.integers(0, 600)))
        data = bytearray(frames[int(self.rng.integers(len(frames)))])
        for _ in range(int(self.rng.integers(0, 4))):
            data[int(self.rng.integers(len(data)))] ^= 1 << int(self.rng.integers(8))
        return bytes(data[: int(self.rng.integers(1, len(data) + 1))])

    def answers(self) -> int:
        """How many packets came back."""
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                self.socket.recv(2048)
                count += 1
        return count
