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
    left_out: int = 0  # ns that passed while this process did not run, and that no frame asked for
    pcap_failure: str = ""  # why the recording of frames ends early
    failure: str = ""  # what ended the simulation behind the slaves


def serve(
    segment: Segment,
    interface: str,
    *,
    pcap: Path | None = None,
    ready: Callable[[], None] | None = None,
    look: Callable[[Segment], None] | None = None,
    seconds: float = float("inf"),
) -> Served:
    """Serve frames until a KeyboardInterrupt, for so many seconds, or until the simulation behind them fails.

    On an interface that goes down the drives live on by themselves, in lock-step they wait: a cable that is pulled
    comes back. ``pcap``: a recording; ``ready`` is called when frames are answered, ``look`` ten times a second.
    """
    with ExitStack() as stack:
        failure = ""
        raw, writer = stack.enter_context(open_raw(interface)), None
        left = drop_rights()
        if left:
            raise SimulationError(f"the process could not give its rights away: {', '.join(left)}")
        if pcap is not None:
            writer = PcapWriter(stack.enter_context(open_recording(pcap)))
            segment.start_recording(writer.write_packets)
        if ready is not None:
            ready()
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                ended = segment.serve(raw.fileno(), min(LOOK, max(until - time.monotonic(), 0.0)))
                if ended is Ended.INTERFACE:
                    segment.live_on()
                    time.sleep(NAP)
                if look is not None:
                    look(segment)
            segment.attend()
        except KeyboardInterrupt:
            segment.attend()
        except SimulationError as error:
            failure = str(error)
        record = segment.record[0]
        return Served(
            frames=int(record["frames"]),
            refused=int(record["refused"]),
            unsent=int(record["unsent"]),
            cycles=int(record["cycles"]),
            left_out=int(record["left_out"]),
            pcap_failure="" if writer is None else writer.failure,
            failure=failure,
        )
