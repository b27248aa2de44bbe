"""Serving a segment of slaves on an interface, until a signal ends it: the body of a process of drives."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from servotwin.errors import SimulationError
from servotwin.fieldbus.ethercat.pcap import PcapWriter, open_recording
from servotwin.fieldbus.ethercat.slave.records import Ended
from servotwin.fieldbus.ethercat.slave.segment import Segment
from servotwin.fieldbus.interface import drop_rights, open_raw

LOOK = 0.1  # s between two looks
NAP = 0.001  # s between two tries on an interface that does not work


@dataclass(frozen=True)
class Served:
    """What was served."""

    frames: int
    refused: int
    unsent: int
    cycles: int


def serve(
    segment: Segment,
    interface: str,
    *,
    pcap: Path | None = None,
    ready: Callable[[], None] | None = None,
    look: Callable[[Segment], None] | None = None,
    seconds: float = float("inf"),
) -> Served:
    """Serve frames until an exception such as KeyboardInterrupt, or for so many seconds.

    On an interface that goes down the drives live on by themselves: a cable that is pulled comes back. ``pcap``: a
    recording; ``ready`` is called when frames are answered, ``look`` ten times a second.
    """
    with ExitStack() as stack:
        raw = stack.enter_context(open_raw(interface))
        left = drop_rights()
        if left:
            raise SimulationError(f"the process could not give its rights away: {', '.join(left)}")
        if pcap is not None:
            file = stack.enter_context(open_recording(pcap))
            PcapWriter(file)
            segment.start_recording(file.write)
        if ready is not None:
            ready()
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                ended = segment.serve(raw.fileno(), min(LOOK, max(until - time.monotonic(), 0.0)))
                if ended is Ended.INTERFACE:
                    segment.idle(time.monotonic_ns())
                    time.sleep(NAP)
                if look is not None:
                    look(segment)
        except KeyboardInterrupt:
            pass
        segment.attend()
        record = segment.record[0]
        return Served(*(int(record[name]) for name in ("frames", "refused", "unsent", "cycles")))
