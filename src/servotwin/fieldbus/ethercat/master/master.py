"""The master: finds the slaves of a line, sets them up, brings them to OP, and says which one is wrong when one is."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

from servotwin.errors import ServotwinError
from servotwin.fieldbus.ethercat import registers as reg
from servotwin.fieldbus.ethercat.frames import Command, physical
from servotwin.fieldbus.ethercat.master.clocks import set_up_clocks, settle_clocks, start_sync
from servotwin.fieldbus.ethercat.master.eeprom import read_eeprom
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.fieldbus.ethercat.master.image import Image
from servotwin.fieldbus.ethercat.master.mail import Mailbox
from servotwin.fieldbus.ethercat.master.port import BusError, Port
from servotwin.fieldbus.ethercat.master.sii_read import parse_sii
from servotwin.fieldbus.ethercat.master.slaves import (
    FIRST_STATION,
    Expected,
    Slave,
    code_name,
    mapped_of,
    size_of,
    state_name,
    verify,
)
from servotwin.fieldbus.ethercat.master.wire import Wire
from servotwin.fieldbus.ethercat.registers import AlState
from servotwin.fieldbus.sii import INPUTS_CONTROL, MAILBOX_IN_CONTROL, MAILBOX_OUT_CONTROL, OUTPUTS_CONTROL

MOST_SLAVES = 1024
PATIENCE = 5.0  # s for a change of state
DIVIDER = 2498  # of the watchdog: (2498 + 2) x 40 ns = 100 us
MOST_LOOKS = 50_000


class Master:
    """One line of slaves behind a port. Nothing moves before ``operate``; ``close`` leaves all slaves in INIT."""

    def __init__(self, port: Port) -> None:
        self.port, self.wire = port, Wire(port)
        self.slaves: list[Slave] = []
        self.reference: Slave | None = None
        self.image: Image | None = None
        self.first_sync = 0  # system time of the first SYNC0 [ns]
        self.differences: dict[int, int] = {}

    # --- finding ----------------------------------------------------------------------------------
    def scan(self) -> list[Slave]:
        """All slaves, in INIT, with station addresses of their own and what their EEPROMs tell."""
        self.image = self.reference = None
        (found,) = self.wire.ask(physical(Command.BRD, 0, reg.TYPE, bytes(1)))
        if not found.counter:
            raise BusError("frames come back, but no slave has answered: what is plugged in is no EtherCAT")
        if found.counter > MOST_SLAVES:
            raise BusError(f"{found.counter} slaves; at most {MOST_SLAVES} are scanned")
        self.wire.ask(physical(Command.BWR, 0, reg.AL_CONTROL, bytes([AlState.INIT | reg.ACKNOWLEDGE, 0])))
        self.slaves = []
        for k in range(found.counter):
            station = FIRST_STATION + k
            (set_up,) = self.wire.ask(
                physical(Command.APWR, -k, reg.STATION_ADDRESS, struct.pack("<H", station))
            )
            if set_up.counter != 1:
                raise BusError(f"slave {k + 1}: it takes no station address", k + 1)
            self.slaves.append(self._found(k + 1, station))
        return self.slaves

    def _found(self, position: int, station: int) -> Slave:
        try:
            sii = parse_sii(read_eeprom(self.wire, station))
        except ServotwinError as error:
            raise BusError(f"slave {position}: {error}", position) from None
        return Slave(position, station, sii, self.wire.number(station, reg.DL_STATUS, 2) or 0)

    # --- states -----------------------------------------------------------------------------------
    def state(self, slave: Slave) -> tuple[int, int] | None:
        """AL status and status code; None if the slave does not answer."""
        data = self.wire.read(slave.station, reg.AL_STATUS, 6)
        if data is None:
            return None
        return int.from_bytes(data[:2], "little"), int.from_bytes(data[4:6], "little")

    def go_to(self, state: AlState, between: Callable[[], None] | None = None) -> None:
        """Bring all slaves to a state; ``between`` is called while they are on the way."""
        for slave in self.slaves:
            asked = state | reg.ACKNOWLEDGE if state is AlState.INIT else state
            if not self.wire.write(slave.station, reg.AL_CONTROL, struct.pack("<H", asked)):
                raise slave.fail(f"no answer to the request for {state.name}")
        for slave in self.slaves:
            self._await(slave, state, between)

    def _await(self, slave: Slave, state: AlState, between: Callable[[], None] | None) -> None:
        end = time.monotonic() + PATIENCE
        for _ in range(MOST_LOOKS):
            found = self.state(slave)
            if found is None:
                raise slave.fail(f"no answer on the way to {state.name}")
            status, code = found
            if status & 0x0F == state and not status & reg.ACKNOWLEDGE:
                return
            if status & reg.ACKNOWLEDGE:
                raise slave.fail(f"refuses {state.name}, is in {state_name(status)}: {code_name(code)}")
            if time.monotonic() > end:
                break
            if between is not None:
                between()
        raise slave.fail(f"does not reach {state.name} within {PATIENCE:g} s")

    # --- set-up -----------------------------------------------------------------------------------
    def to_preop(self) -> None:
        """Mailboxes for all slaves that have them."""
        self.go_to(AlState.INIT)
        for slave in self.slaves:
            for k in range(reg.FMMUS):
                self.wire.write(slave.station, reg.FMMU + k * reg.FMMU_SIZE, bytes(reg.FMMU_SIZE))
            for k in range(reg.SYNC_MANAGERS):
                self._manager(slave, k, 0, 0, 0, on=False)
            self.wire.write(slave.station, reg.SYNC_ACTIVATION, b"\0")
            sii = slave.sii
            if sii.has_coe and sii.mailbox_out[1] >= 16 and sii.mailbox_in[1] >= 16:
                self._manager(slave, 0, *sii.mailbox_out, MAILBOX_OUT_CONTROL)
                self._manager(slave, 1, *sii.mailbox_in, MAILBOX_IN_CONTROL)
                slave.mailbox = Mailbox(self.wire, slave.station, sii.mailbox_out, sii.mailbox_in)
        self.go_to(AlState.PREOP)

    def _manager(self, slave: Slave, k: int, start: int, size: int, control: int, *, on: bool = True) -> None:
        data = struct.pack("<HHBBBB", start, size, control, 0, int(on), 0)
        at = reg.SYNC_MANAGER + k * reg.SYNC_MANAGER_SIZE
        if not self.wire.write(slave.station, at, data) and on:
            raise slave.fail(f"SyncManager {k} cannot be set")

    def to_safeop(
        self,
        *,
        expected: list[Expected],
        period_ns: int,
        clocks: bool = True,
        watchdog_ms: int = 100,
    ) -> Image:
        """Verify the line, map its process data, set its clocks up; all slaves are in SAFEOP then."""
        verify(self.slaves, expected)
        for slave in self.slaves:
            mapped_of(slave)
            self.wire.write(slave.station, reg.WATCHDOG_DIVIDER, struct.pack("<H", DIVIDER))
            self.wire.write(slave.station, reg.WATCHDOG_PROCESS_DATA, struct.pack("<H", 10 * watchdog_ms))
        if clocks:
            self.reference = set_up_clocks(self.wire, self.slaves)
        self.image = Image(self.port, self.slaves, self.reference)
        for slave in self.slaves:
            self._map(slave, self.image)
        if self.reference is not None:
            self.differences = settle_clocks(self.wire, self.slaves, self.reference)
            self.first_sync = start_sync(self.wire, self.slaves, self.reference, period_ns)
        self.go_to(AlState.SAFEOP)
        return self.image

    def _map(self, slave: Slave, image: Image) -> None:
        """SyncManagers and FMMUs of the process data."""
        sii = slave.sii
        starts = {m.use: (k, m.start, m.control) for k, m in enumerate(sii.managers)}
        out, into = size_of(slave.outputs), size_of(slave.inputs)
        units = []
        if out:
            k, start, control = starts.get(3, (2, 0, OUTPUTS_CONTROL))
            self._manager(slave, k, start, out, control)
            units.append((image.outputs_at[slave.position], out, start, reg.FMMU_WRITES))
        if into:
            k, start, control = starts.get(4, (3, 0, INPUTS_CONTROL))
            self._manager(slave, k, start, into, control)
            logical = image.outputs_size + image.inputs_at[slave.position]
            units.append((logical, into, start, reg.FMMU_READS))
        for k, (logical, size, start, kind) in enumerate(units):
            data = struct.pack("<IHBBHBBB3x", logical, size, 0, 7, start, 0, kind, 1)
            if not self.wire.write(slave.station, reg.FMMU + k * reg.FMMU_SIZE, data):
                raise slave.fail(f"FMMU {k} cannot be set")

    def operate(self, between: Callable[[], None]) -> None:
        """Bring all slaves from SAFEOP to OP; ``between`` exchanges process data, which they need for it."""
        assert self.image is not None
        between()
        self.go_to(AlState.OP, between)
        self.image.record["state"] = AlState.OP

    # --- diagnosis --------------------------------------------------------------------------------
    def diagnose(self, outcome: Outcome) -> BusError:
        """What a cycle that did not go well is about: the first slave that does not answer or is in a wrong state."""
        if outcome is Outcome.INTERFACE:
            return BusError("frames cannot be sent: the interface is down or gone")
        try:
            for slave in self.slaves:
                found = self.state(slave)
                if found is None:
                    return slave.fail("does not answer; it lost its address, its power or its cable")
                status, code = found
                if status & reg.ACKNOWLEDGE or status & 0x0F != AlState.OP:
                    return slave.fail(f"is in {state_name(status)}: {code_name(code)}")
        except BusError as error:
            first = self.slaves[0].label if self.slaves else "the first slave"
            if outcome is Outcome.LOST:
                return BusError(f"frames are lost between the master and {first}: {error}", 1)
            return error
        return self._all_in_op(outcome)

    def _all_in_op(self, outcome: Outcome) -> BusError:
        """What a cycle was about when all slaves answer again and are in OP."""
        image, count = self.image, len(self.slaves)
        if image is None:
            return BusError("process data are not set up")
        if outcome is Outcome.LOST:
            return BusError(
                f"{image.number('lost')} frames were lost on the way through {count} slaves, which all answer again; "
                f"the first is {self.slaves[0].label}", 1,
            )  # fmt: skip
        if outcome is Outcome.STATE:
            said, status = image.number("answered"), state_name(image.number("al_status"))
            return BusError(
                f"{said} of {count} slaves told their state, together {status}; all are in OP again"
            )
        counter, wanted = image.number("counter"), image.number("expected")
        return BusError(f"working counter {counter}, {wanted} is expected; all slaves are in OP again")

    def close(self) -> None:
        """Zeros as outputs, and all slaves to INIT, as far as they hear it."""
        try:
            if self.image is not None:
                self.image.outputs[:] = 0
                self.image.record["state"] = 0
                for _ in range(3):
                    self.image.cycle()
            asked = bytes([AlState.INIT | reg.ACKNOWLEDGE, 0])
            self.wire.go(physical(Command.BWR, 0, reg.AL_CONTROL, asked))
        except ServotwinError:
            pass
        self.image = None
