"""A line of slaves: their memory, the compiled pass of frames, and what Python does between frames."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from servotwin.errors import ServotwinError
from servotwin.fieldbus.ethercat import registers as reg
from servotwin.fieldbus.ethercat.slave.device import Device
from servotwin.fieldbus.ethercat.slave.loop import idle_segment, process_frame, serve_segment
from servotwin.fieldbus.ethercat.slave.records import (
    FRAME_ROOM,
    MOST_SLAVES,
    REGISTERS,
    SEGMENT,
    SLAVE,
    ClockKind,
    Ended,
)
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.objects.dictionary import Dictionary

HOP = 600  # ns from one slave to the next: processing and a metre of cable
RECORD_ROOM = 1 << 20  # bytes of frames that wait for Python to write them
# Registers that a master may write: first address, and the one behind the last.
WRITABLE = (
    (reg.STATION_ADDRESS, reg.STATION_ADDRESS + 2),
    (reg.DL_CONTROL, reg.DL_CONTROL + 4),
    (reg.AL_CONTROL, reg.AL_CONTROL + 2),
    (reg.EVENT_MASK, reg.EVENT_MASK + 2),
    (reg.RX_ERRORS, reg.ERRORS_END),
    (reg.WATCHDOG_DIVIDER, reg.WATCHDOG_DIVIDER + 2),
    (reg.WATCHDOG_PDI, reg.WATCHDOG_PDI + 2),
    (reg.WATCHDOG_PROCESS_DATA, reg.WATCHDOG_PROCESS_DATA + 2),
    (reg.WATCHDOG_COUNT, reg.WATCHDOG_COUNT + 2),
    (reg.EEPROM_OWNER, reg.EEPROM_DATA + 8),
    (reg.FMMU, reg.FMMU + reg.FMMUS * reg.FMMU_SIZE),
    (reg.SYSTEM_TIME_OFFSET, reg.SYSTEM_TIME_OFFSET + 8),
    (reg.SYSTEM_TIME_DELAY, reg.SYSTEM_TIME_DELAY + 4),
    (reg.SPEED_COUNTER_START, reg.SPEED_COUNTER_START + 2),
    (0x0934, 0x0936),
    (0x0980, 0x0984),
    (reg.SYNC_START, reg.SYNC_START + 8),
    (reg.SYNC0_CYCLE, reg.SYNC0_CYCLE + 8),
)


@dataclass(frozen=True)
class Application:
    """What is behind the slaves: a compiled cycle, its context, and the objects of the axes of every slave.

    ``cycle_at``: address of ``int64 cycle(context, index, now)``, 0 for none; it returns 1 to have ``after`` called
    soon. ``operational``: whole numbers, one for each slave: 1 while its outputs are in force. ``after``: called
    between frames, with the segment. ``prepare``: called once with the dictionary of each slave.
    """

    axes: Sequence[Any]
    operational: Any
    cycle_at: int = 0
    context: Any = None
    after: Callable[[Segment], None] | None = None
    prepare: Callable[[Dictionary], None] | None = None


def writable_registers() -> Any:
    """1 for each register that a master may write."""
    table = np.zeros(REGISTERS, np.uint8)
    for first, end in WRITABLE:
        table[first:end] = 1
    for manager in range(reg.SYNC_MANAGERS):
        at = reg.SYNC_MANAGER + manager * reg.SYNC_MANAGER_SIZE
        table[at : at + reg.SM_STATUS] = 1
        table[at + reg.SM_ACTIVATE] = 1
    return table


@dataclass
class Segment:
    """Slaves in a line. ``drifts``: of the slaves' quartzes, shares.

    ``step_ns``: the period of the application until a slave is in SAFEOP; then that of SYNC0, or 1C32:02.
    """

    application: Application
    clock: ClockKind = ClockKind.WALL
    step_ns: int = 1_000_000
    hop_ns: int = HOP
    drifts: Sequence[float] = ()
    aliases: Sequence[int] = ()
    identity: Identity = field(default_factory=Identity)

    def __post_init__(self) -> None:
        count = len(self.application.axes)
        if not 1 <= count <= MOST_SLAVES:
            raise ServotwinError(f"a segment of {count} slaves; 1 to {MOST_SLAVES} are possible")
        self.slaves = np.zeros(count, SLAVE)
        self.record = np.zeros(1, SEGMENT)
        self.kept = np.zeros(0, np.uint8)
        self.recorded: Callable[[bytes], object] | None = None
        self.devices = [self._device(k, count) for k in range(count)]
        self._set_up(count)
        types = (ctypes.c_int64, ctypes.c_int64)
        self._at = self.record.ctypes.data  # the views below are made once: a frame has a few microseconds
        self._room = memoryview(self.record["frame"][0])
        self._now, self._attention = self.record["now"], self.record["attention"]
        self._process = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(process_frame.address)
        self._idle = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(idle_segment.address)
        self._serve = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(serve_segment.address)

    def _device(self, k: int, count: int) -> Device:
        from dataclasses import replace

        identity = replace(self.identity, serial=self.identity.serial + k)
        slave = self.slaves[k : k + 1]
        slave["operational_at"] = self.application.operational[k:].ctypes.data
        if self.drifts:
            slave["drift"] = slave["rate"] = self.drifts[k]
        slave["local_base"] = 1_000_000 * k  # clocks were not switched on at the same instant
        ports = 0b0011 if k < count - 1 else 0b0001
        alias = self.aliases[k] if self.aliases else 0
        objects = Dictionary(identity, self.application.axes[k])
        if self.application.prepare is not None:
            self.application.prepare(objects)
        return Device(slave, objects, alias=alias, ports=ports)

    def _set_up(self, count: int) -> None:
        record = self.record
        record["slaves_at"], record["count"] = self.slaves.ctypes.data, count
        record["clock"], record["step"], record["hop"] = self.clock, self.step_ns, self.hop_ns
        record["writable"] = writable_registers()
        record["cycle_at"] = self.application.cycle_at
        context = self.application.context
        record["context_at"] = 0 if context is None else context.ctypes.data
        start = time.monotonic_ns() if self.clock is ClockKind.WALL else 0
        record["now"] = record["cycled"] = start
        self.slaves["base"] = start
        record["fd"] = -1

    def start_recording(self, recorded: Callable[[bytes], object]) -> None:
        """Have every frame given to a function as packets of a pcap file: as it came, and as it left."""
        self.recorded, self.kept = recorded, np.zeros(RECORD_ROOM, np.uint8)
        self.record["record_at"], self.record["record_size"] = self.kept.ctypes.data, RECORD_ROOM
        self.record["record_epoch"] = time.time_ns() - self.now

    @property
    def now(self) -> int:
        """Instant of the last frame [ns]."""
        return int(self._now[0])

    def process(self, frame: bytes) -> bytes | None:
        """Let one Ethernet frame pass, without a socket; None if it is refused or lost."""
        length = len(frame)
        if length > FRAME_ROOM:
            return None
        self._room[:length] = frame
        answer = self._room[:length].tobytes() if self._process(self._at, length) else None
        if self._attention[0] or self.recorded is not None or any(device.waits for device in self.devices):
            self.attend()
        return answer

    def idle(self, now: int) -> None:
        """Let time pass until an instant [ns], without frames."""
        self._idle(self._at, now)
        self.record["now"] = max(self.now, now)
        self.attend()

    def live_on(self) -> None:
        """Let time pass on an interface that does not work; in lock-step only frames make it pass."""
        if self.clock is ClockKind.WALL:
            self.idle(time.monotonic_ns())

    def attend(self) -> None:
        """Do between frames what compiled code leaves to Python."""
        now = self.now
        self.record["attention"] = 0
        for device in self.devices:
            if device.record["events"][0] or device.waits:
                device.attend(now)
        cycles = [device.cycle_ns for device in self.devices if device.cycle_ns]
        if cycles:
            self.record["step"] = cycles[0]
        self._write_recorded()
        if self.application.after is not None:  # it raises what ended the plant
            self.application.after(self)

    def serve(self, fd: int, seconds: float) -> Ended:
        """Serve frames of a raw socket for a while; returns earlier if the interface is gone or the end is asked."""
        self.record["fd"] = fd
        end = time.monotonic_ns() + int(seconds * 1e9)
        while True:
            ended = Ended(self._serve(self._at, end))
            self.attend()
            if ended is not Ended.ATTENTION:
                return ended
            if time.monotonic_ns() >= end:
                return Ended.TIME

    def _write_recorded(self) -> None:
        used = int(self.record["record_used"][0])
        if used and self.recorded is not None:
            self.recorded(self.kept[:used].tobytes())
            self.record["record_used"] = 0
