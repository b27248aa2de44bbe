"""Answers of slaves that are not what a master expects: bits that were changed, data of other lengths, silence."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

STEPS = 400  # frames after which a slave is silent for good


def make_answers(rng: Random) -> bytes:
    """A seed, and the share of answers that are changed."""
    return struct.pack("<Qd", rng.getrandbits(64), rng.choice((0.002, 0.02, 0.2, 1.0)))


def read_answers(data: bytes) -> int:
    """A master scans, sets up, reads objects and exchanges process data with such slaves; frames that it sent."""
    from servotwin.fieldbus.cia402.application import Drives, ideal_plant
    from servotwin.fieldbus.ethercat.master import mail, master
    from servotwin.fieldbus.ethercat.master.master import Master
    from servotwin.fieldbus.ethercat.master.port import SegmentPort
    from servotwin.fieldbus.ethercat.master.slaves import Expected
    from servotwin.fieldbus.ethercat.slave.records import ClockKind
    from servotwin.fieldbus.ethercat.slave.segment import Segment

    seed, share = struct.unpack("<Qd", data)
    rng = Random(seed)
    mail.PATIENCE = master.PATIENCE = 0.02  # a stranger's silence is not waited for

    class Stranger(SegmentPort):
        sent = 0

        def exchange(self, frame: bytes, timeout: float, wanted: Callable[[bytes], bool]) -> bytes | None:
            answer = super().exchange(frame, timeout, lambda _: True)
            self.sent += 1
            if answer is None or self.sent > 20 * STEPS:
                return None
            changed = _changed(answer, rng) if rng.random() < share else answer
            return changed if wanted(changed) else None

    drives = Drives((1, 2))
    drives.attach(ideal_plant(drives))
    port = Stranger(Segment(drives.application(), clock=ClockKind.LOCK_STEP))
    line = Master(port)
    try:
        slaves = line.scan()
        line.to_preop()
        for slave in slaves[:2]:
            slave.sdo.read(0x1008)
            slave.sdo.read(0x1600, 0, complete=True)
            slave.sdo.described(0x607D, 1)
            slave.sdo.listed()
        expected = [Expected(s.sii.vendor, s.sii.product) for s in slaves]
        image = line.to_safeop(expected=expected, period_ns=1_000_000, clocks=rng.random() < 0.2)
        line.operate(lambda: image.cycle() and None)
        for _ in range(50):
            outcome = image.cycle()
            if outcome:
                str(line.diagnose(outcome))
    finally:
        line.close()
        moved = drives.drives["feedback"]["position"].any()
    assert not moved, "an axis moved without the enable sequence"
    return port.sent


def _changed(data: bytes, rng: Random) -> bytes:
    """An answer with other bytes, mostly behind its headers; sometimes of another length."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        low = rng.choice((12, 16, 26, 26, 26))
        changed[rng.randrange(min(low, len(changed) - 1), len(changed))] = rng.choice(
            (0, 0xFF, rng.randrange(256))
        )
    if rng.random() < 0.1:
        return bytes(changed[: rng.randrange(len(changed))])
    return bytes(changed) + (rng.randbytes(8) if rng.random() < 0.05 else b"")
