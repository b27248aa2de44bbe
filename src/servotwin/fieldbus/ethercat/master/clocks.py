"""Distributed clocks as a master sets them up: delays along the line, offsets to one system time, drift, SYNC0.

A frame is received by slave k at its port 0 at the local time t0, and on its way back at port 1 at t1; the last slave
turns it round. The way from k to the next one takes

    d_k = ((t1_k - t0_k) - (t1_{k+1} - t0_{k+1})) / 2,

with t1 - t0 = 0 for the last slave. The delay of a slave is the sum of those before it, its offset what makes its own
time the system time t_ref + delay.
"""

from __future__ import annotations

import struct
import time

from servotwin.fieldbus.ethercat import registers as reg
from servotwin.fieldbus.ethercat.frames import Command, physical
from servotwin.fieldbus.ethercat.master.port import BusError
from servotwin.fieldbus.ethercat.master.slaves import Slave
from servotwin.fieldbus.ethercat.master.wire import Wire

EPOCH_2000 = 946_684_800_000_000_000  # ns from 1970 to 2000, where system time begins
FILTER = 0x1000  # start of the speed counter
SETTLED = 1_000  # ns of difference that are good enough
MOST_FRAMES, BATCH = 15_000, 100
SYNC0_ON = 0x03
LEAD = 20_000_000  # ns until the first SYNC0


def set_up_clocks(wire: Wire, slaves: list[Slave]) -> Slave | None:
    """Give the slaves with a clock one system time; the reference, the first of them; None if there is none."""
    clocked = [slave for slave in slaves if slave.sii.has_clock]
    if not clocked:
        return None
    (found,) = wire.ask(physical(Command.BWR, 0, reg.RECEIVE_TIME, bytes(4)))
    if found.counter < len(clocked):
        raise BusError(f"{found.counter} of {len(clocked)} clocks note the time of a frame")
    spans = []
    for slave in clocked:
        ports = _read(wire, slave, reg.RECEIVE_TIME, 16)
        slave.local_ns = int.from_bytes(_read(wire, slave, reg.PROCESSING_TIME, 8), "little")
        t0, t1 = struct.unpack_from("<II", ports)
        spans.append((t1 - t0) % (1 << 32) if 1 in slave.open_ports else 0)
    delay = 0
    reference = clocked[0]
    zero = time.time_ns() - EPOCH_2000
    for k, slave in enumerate(clocked):
        if k:
            delay += max(spans[k - 1] - spans[k], 0) // 2
        slave.delay_ns = delay
        wire.write(slave.station, reg.SPEED_COUNTER_START, struct.pack("<H", FILTER))
        wire.write(slave.station, reg.SYSTEM_TIME_OFFSET, struct.pack("<q", zero + delay - slave.local_ns))
        wire.write(slave.station, reg.SYSTEM_TIME_DELAY, struct.pack("<I", delay))
    return reference


def settle_clocks(wire: Wire, slaves: list[Slave], reference: Slave) -> dict[int, int]:
    """Distribute the reference's time until the others follow it; remaining differences [ns] by position."""
    others = [slave for slave in slaves if slave.sii.has_clock and slave is not reference]
    found: dict[int, int] = {}
    for _ in range(MOST_FRAMES // BATCH):
        for _ in range(BATCH):
            wire.ask(physical(Command.FRMW, reference.station, reg.SYSTEM_TIME, bytes(8)))
        found = {slave.position: difference(wire, slave) for slave in others}
        if all(abs(d) <= SETTLED for d in found.values()):
            return found
    return found


def difference(wire: Wire, slave: Slave) -> int:
    """How far a slave's clock is from the reference [ns]."""
    value = int.from_bytes(_read(wire, slave, reg.SYSTEM_TIME_DIFFERENCE, 4), "little")
    size = value & 0x7FFFFFFF
    return -size if value & 0x80000000 else size


def system_time(wire: Wire, slave: Slave) -> int:
    """System time at a slave [ns]."""
    return int.from_bytes(_read(wire, slave, reg.SYSTEM_TIME, 8), "little")


def start_sync(wire: Wire, slaves: list[Slave], reference: Slave, period_ns: int) -> int:
    """Have all clocks generate SYNC0 with a period; the system time of the first [ns]."""
    start = (system_time(wire, reference) + LEAD) // period_ns * period_ns
    for slave in slaves:
        if not slave.sii.has_clock:
            continue
        wire.write(slave.station, reg.SYNC_ACTIVATION, b"\0")
        wire.write(slave.station, 0x0980, b"\0")
        wire.write(slave.station, reg.SYNC0_CYCLE, struct.pack("<I", period_ns))
        wire.write(slave.station, reg.SYNC_START, struct.pack("<Q", start))
        wire.write(slave.station, reg.SYNC_ACTIVATION, bytes([SYNC0_ON]))
    return start


def _read(wire: Wire, slave: Slave, register: int, size: int) -> bytes:
    data = wire.read(slave.station, register, size)
    if data is None:
        raise slave.fail(f"register {register:04X} cannot be read")
    return data
