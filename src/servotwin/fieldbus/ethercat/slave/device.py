"""One slave as Python sees it between frames: registers, mailboxes, objects, state machine."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from servotwin.errors import ServotwinError
from servotwin.fieldbus import sii
from servotwin.fieldbus.coe import sdo_information
from servotwin.fieldbus.coe.emergency import emergency
from servotwin.fieldbus.coe.mailbox import (
    COE,
    HEADER,
    MailboxError,
    MailboxFault,
    Message,
    Protocol,
    Service,
    coe,
    coe_parts,
    decode_message,
    encode_message,
    error_reply,
    next_counter,
)
from servotwin.fieldbus.coe.sdo import SdoServer
from servotwin.fieldbus.ethercat import registers as reg
from servotwin.fieldbus.ethercat.registers import AlCode, AlState
from servotwin.fieldbus.ethercat.slave.records import EEPROM_SIZE, MOST_COPIES, Event
from servotwin.fieldbus.ethercat.slave.state_machine import SHORTEST_SYNC, StateMachine
from servotwin.fieldbus.objects.communication import RX_ASSIGN, TX_ASSIGN
from servotwin.fieldbus.objects.dictionary import Dictionary
from servotwin.fieldbus.objects.process_data import check_mappings, process_data, process_data_size

OUT, IN = (
    reg.SYNC_MANAGER,
    reg.SYNC_MANAGER + reg.SYNC_MANAGER_SIZE,
)  # mailboxes: written by the master, read by it
LONGEST_CYCLE = 100_000_000  # ns: what a watchdog usually waits for
MOST_WAITING = 64  # messages to the master; a master that never reads them gets no more
GENERIC_ERROR, COMMUNICATION_ERROR = 0x01, 0x10  # bits of the error register


class Device:
    """``record``: its SLAVE record, (1,); ``objects``: its dictionary, whose numbers compiled code reads and writes."""

    def __init__(self, record: Any, objects: Dictionary, *, alias: int = 0, ports: int = 0b0011) -> None:
        self.record, self.objects = record, objects
        self.memory = record["memory"][0]
        self.machine = StateMachine(self)
        self.server = SdoServer(objects)
        self.waiting: deque[Message] = deque()
        self.counter = 0
        self.heard = 0  # counter of the last message from the master
        self.offered: bytes | None = None  # in the mailbox, or last there
        self.fetched: bytes | None = None  # the last that the master read
        self.put_back: bytes | None = None  # came after it, and had to give way to a repetition
        self.cycle_ns = 0  # the master's period, known from SAFEOP on
        check_mappings(objects)
        record["objects_at"] = objects.memory.ctypes.data
        self.load_eeprom(sii.build_sii(objects, alias))
        self._reset_registers(ports)
        self.show_state(AlState.INIT, AlCode.NONE)

    # --- registers --------------------------------------------------------------------------------

    def get(self, address: int, size: int) -> int:
        """A number in a register."""
        return int.from_bytes(self.memory[address : address + size].tobytes(), "little")

    def put(self, address: int, size: int, value: int) -> None:
        """Set a register."""
        self.memory[address : address + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)

    def _reset_registers(self, ports: int) -> None:
        self.put(reg.TYPE, 1, 0x11)
        self.put(reg.REVISION, 1, 0)
        self.put(reg.FMMU_COUNT, 1, reg.FMMUS)
        self.put(reg.SYNC_MANAGER_COUNT, 1, reg.SYNC_MANAGERS)
        self.put(reg.RAM_SIZE, 1, 60)
        self.put(reg.PORT_TYPES, 1, 0b00001111)  # ports 0 and 1 exist
        self.put(reg.FEATURES, 2, 0b0000_0000_0000_1100)  # distributed clocks of 64 bits, bit-wise FMMUs
        self.put(reg.DL_CONTROL, 4, 0x0001)
        self.put(reg.WATCHDOG_DIVIDER, 2, 2498)  # 100 us
        self.put(reg.WATCHDOG_PDI, 2, 1000)
        self.put(reg.WATCHDOG_PROCESS_DATA, 2, 1000)
        self.put(reg.EEPROM_CONTROL, 2, reg.READS_8_BYTES | reg.TWO_ADDRESS_BYTES)
        self.put(reg.SPEED_COUNTER_START, 2, 0x1000)
        self.put(reg.PDI_CONTROL, 2, sii.PDI_CONTROL)
        self.set_ports(ports)

    def set_ports(self, ports: int) -> None:
        """DL status: bit k of ``ports`` says that something is connected to port k."""
        status = 0x0001  # the application works
        for port in range(reg.PORTS):
            connected = bool(ports >> port & 1)
            self.record["ports"][0, port] = int(connected)
            status |= 1 << (4 + port) if connected else 0
            status |= (0b10 if connected else 0b01) << (8 + 2 * port)
        self.put(reg.DL_STATUS, 2, status)

    def load_eeprom(self, data: bytes) -> None:
        """Give the slave an EEPROM; registers that come from it follow."""
        if len(data) > EEPROM_SIZE:
            raise ServotwinError(f"an SII of {len(data)} bytes; at most {EEPROM_SIZE} have room")
        self.record["eeprom"][0, : len(data)] = np.frombuffer(data, np.uint8)
        self.record["eeprom_size"] = len(data)
        self._reload_eeprom()

    def _reload_eeprom(self) -> None:
        eeprom = self.record["eeprom"][0]
        self.put(reg.STATION_ALIAS, 2, int.from_bytes(eeprom[8:10].tobytes(), "little"))

    # --- states -----------------------------------------------------------------------------------

    def show_state(self, state: AlState, code: AlCode) -> None:
        """Write AL status and its code."""
        self.put(reg.AL_STATUS, 2, state | (reg.ACKNOWLEDGE if code else 0))
        self.put(reg.AL_STATUS_CODE, 2, code)
        self.put(reg.EVENT_REQUEST, 2, self.get(reg.EVENT_REQUEST, 2) | reg.EVENT_AL_STATUS)
        self.server.state = state

    def entered(self, state: AlState, before: AlState) -> None:
        """What a change of state brings along."""
        if state < AlState.PREOP:
            self.waiting.clear()
            self.server.transfer = None
            self.counter = self.heard = 0  # the next master counts from the beginning
            self.offered = self.fetched = self.put_back = None
        if state is AlState.PREOP and before < AlState.PREOP:
            self.server.mailbox = min(self.get(OUT + reg.SM_LENGTH, 2), self.get(IN + reg.SM_LENGTH, 2))
        if state is AlState.SAFEOP and before < AlState.SAFEOP:
            self._prepare_process_data()
            self.cycle_ns = self._cycle()
        if state is AlState.OP:
            self.put(reg.WATCHDOG_STATUS, 2, 1)
            self.record["fresh_outputs"] = 1

    def _cycle(self) -> int:
        """The period [ns] that the master set: of SYNC0, or the cycle time of the outputs; within what is possible."""
        given = self.get(reg.SYNC0_CYCLE, 4) if self.get(reg.SYNC_ACTIVATION, 1) & 2 else 0
        return min(max(given or self.objects.read_number(0x1C32, 2), SHORTEST_SYNC), LONGEST_CYCLE)

    def _prepare_process_data(self) -> None:
        """Tables by which compiled code copies process data from and to objects."""
        for name, assign in (("output", RX_ASSIGN), ("input", TX_ASSIGN)):
            copies = []
            for mapped in process_data(self.objects, assign):
                if mapped.index:
                    _, entry = self.objects.find(mapped.index, mapped.subindex)
                    copies.append(
                        (mapped.bit // 8, self.objects.offset(mapped.index, entry), mapped.bits // 8)
                    )
            self.record[f"{name}_copies"][0, : len(copies)] = copies[:MOST_COPIES]
            self.record[f"{name}_count"] = len(copies)
        outputs, inputs = (reg.SYNC_MANAGER + m * reg.SYNC_MANAGER_SIZE for m in (2, 3))
        self.record["outputs_at"] = self.get(outputs, 2)
        self.record["outputs_size"] = process_data_size(self.objects, RX_ASSIGN)
        self.record["inputs_at"] = self.get(inputs, 2)

    # --- events -----------------------------------------------------------------------------------

    def attend(self, now: int) -> None:
        """Do what frames left to do."""
        events = int(self.record["events"][0])
        self.record["events"] = 0
        if events & Event.EEPROM_WRITTEN:
            self._reload_eeprom()
        if events & Event.AL_CONTROL:
            self.machine.request(self.get(reg.AL_CONTROL, 2), now)
        if events & Event.OUTPUTS:
            self.machine.outputs_came()
        if events & Event.WATCHDOG:
            self.machine.fall(AlCode.WATCHDOG)
        if events & Event.SYNC_MANAGERS:
            self.machine.check_again()
        if self._has_mailboxes():
            if events & Event.MAILBOX_READ:
                self.fetched = self.offered
            if events & Event.MAILBOX_WRITTEN:
                self._read_mailbox()
            if events & Event.REPEAT:
                self._repeat()
            self._post()
        self.machine.look(now)

    def _has_mailboxes(self) -> bool:
        """Whether both are as PREOP wants them; a master that moves them later has none until they are again."""
        if self.machine.state < AlState.PREOP:
            return False
        sizes = min(self.get(manager + reg.SM_LENGTH, 2) for manager in (OUT, IN))
        good = self.machine.mailbox_code() is AlCode.NONE and sizes >= self.server.mailbox
        if not good:
            self.waiting.clear()
            self.put_back = None
        return good

    def _mailbox(self, manager: int) -> Any:
        start, length = self.get(manager, 2), self.get(manager + reg.SM_LENGTH, 2)
        return self.memory[start : start + length]

    def _read_mailbox(self) -> None:
        """Take the message that the master wrote, and empty the mailbox for the next."""
        data = self._mailbox(OUT).tobytes()
        self.put(OUT + reg.SM_STATUS, 1, self.get(OUT + reg.SM_STATUS, 1) & ~reg.SM_FULL & 0xFF)
        try:
            message = decode_message(data)
            if message.counter and message.counter == self.heard:
                return  # the master repeats what it does not know to have arrived
            self.heard = message.counter
            answers = self._answers(message)
        except MailboxError as error:
            answers = [error_reply(error.fault)]
        for answer in answers:
            self.post(answer)

    def _answers(self, message: Message) -> list[Message]:
        if message.protocol != Protocol.COE:
            return [error_reply(MailboxFault.UNSUPPORTED_PROTOCOL)]
        service, payload = coe_parts(message.body)
        if service == Service.SDO_REQUEST:
            answer = self.server.answer(payload)
            return [] if answer is None else [coe(Service.SDO_RESPONSE, answer)]
        if service == Service.SDO_INFORMATION:
            room = self.server.mailbox - HEADER.size - COE.size
            return [
                coe(Service.SDO_INFORMATION, part)
                for part in sdo_information.answers(self.objects, payload, room)
            ]
        return [error_reply(MailboxFault.SERVICE_NOT_SUPPORTED)]

    def post(self, message: Message) -> None:
        """Queue a message for the master; what a master does not fetch has an end."""
        if len(self.waiting) < MOST_WAITING:
            self.waiting.append(message)

    @property
    def waits(self) -> bool:
        """Whether messages wait for the mailbox to be empty, or the state machine for outputs on its way to OP."""
        return bool(self.waiting) or self.put_back is not None or self.machine.pending is not None

    def emergency(self, code: int, register: int, data: bytes = b"") -> None:
        """Tell the master of an error, or with code 0 that it is gone."""
        self.objects.set_number(0x1001, 0, register)
        if self.machine.state >= AlState.PREOP:
            self.post(emergency(code, register, data))

    def _post(self) -> None:
        """Put the next message into the mailbox if it is empty."""
        status = self.get(IN + reg.SM_STATUS, 1)
        if status & reg.SM_FULL:
            return
        if self.put_back is not None:
            data, self.put_back = self.put_back, None
            self._fill(data)
            return
        if not self.waiting:
            return
        message = self.waiting.popleft()
        self.counter = next_counter(self.counter)
        size = self.get(IN + reg.SM_LENGTH, 2)
        self._fill(encode_message(Message(message.protocol, message.body, self.counter), size))

    def _fill(self, data: bytes) -> None:
        self.offered = data
        self._mailbox(IN)[: len(data)] = np.frombuffer(data, np.uint8)
        self.put(IN + reg.SM_STATUS, 1, self.get(IN + reg.SM_STATUS, 1) | reg.SM_FULL)

    def _repeat(self) -> None:
        """The master lost the message that it read last: that one is put into the mailbox again, before any other."""
        asked = self.get(IN + reg.SM_ACTIVATE, 1) & reg.SM_REPEAT
        if self.fetched is not None and len(self.fetched) == self.get(IN + reg.SM_LENGTH, 2):
            if self.get(IN + reg.SM_STATUS, 1) & reg.SM_FULL and self.offered != self.fetched:
                self.put_back = self.offered  # a newer one waits there: it comes after
            self._fill(self.fetched)
        answered = self.get(IN + reg.SM_PDI, 1) & ~reg.SM_REPEAT & 0xFF
        self.put(IN + reg.SM_PDI, 1, answered | asked)


__all__ = ["COMMUNICATION_ERROR", "GENERIC_ERROR", "Device"]
