"""The state machine of a slave: what it checks before it changes its state, and with which code it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from servotwin.fieldbus.ethercat.registers import (
    ACKNOWLEDGE,
    FMMU,
    FMMU_ACTIVATE,
    FMMU_LENGTH,
    FMMU_PHYSICAL,
    FMMU_READS,
    FMMU_SIZE,
    FMMU_TYPE,
    FMMUS,
    MEMORY_SIZE,
    PROCESS_MEMORY,
    SM_ACTIVATE,
    SM_CONTROL,
    SM_ENABLED,
    SM_LENGTH,
    SM_MAILBOX,
    SM_WRITTEN_BY_MASTER,
    SYNC0_CYCLE,
    SYNC_ACTIVATION,
    SYNC_MANAGER,
    SYNC_MANAGER_SIZE,
    AlCode,
    AlState,
)
from servotwin.fieldbus.ethercat.slave.records import MOST_PROCESS_DATA
from servotwin.fieldbus.objects.communication import RX_ASSIGN, TX_ASSIGN
from servotwin.fieldbus.objects.process_data import process_data_size

if TYPE_CHECKING:
    from servotwin.fieldbus.ethercat.slave.device import Device

INIT, PREOP, BOOT, SAFEOP, OP = AlState.INIT, AlState.PREOP, AlState.BOOT, AlState.SAFEOP, AlState.OP
NEIGHBOURS = {  # states that may be asked for, in each state
    INIT: (INIT, PREOP),
    PREOP: (INIT, PREOP, SAFEOP),
    SAFEOP: (INIT, PREOP, SAFEOP, OP),
    OP: (INIT, PREOP, SAFEOP, OP),
}
SHORTEST_MAILBOX, LONGEST_MAILBOX = 34, 1486
OUTPUT_PATIENCE = 1_000_000_000  # ns that a slave on its way to OP waits for outputs
SHORTEST_SYNC = 62_500  # ns


class StateMachine:
    """State of one slave; ``pending``: the instant [ns] until which it waits for outputs on its way to OP."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.state = INIT
        self.code = AlCode.NONE
        self.pending: int | None = None
        self.seen_before = 0

    def request(self, control: int, now: int) -> None:
        """What the master wrote to AL control."""
        wanted, acknowledged = control & 0x0F, bool(control & ACKNOWLEDGE)
        if self.code and not acknowledged and wanted >= self.state:
            return  # an error stands until it is acknowledged; downwards is always allowed
        self.pending = None
        self.device.record["awaits_outputs"] = 0
        if wanted == BOOT:
            self._show(self.state, AlCode.NO_BOOTSTRAP)
        elif wanted not in NEIGHBOURS:
            self._show(self.state, AlCode.UNKNOWN_STATE)
        elif wanted not in NEIGHBOURS[self.state]:
            self._show(self.state, AlCode.INVALID_CHANGE)
        else:
            self._change(AlState(wanted), now)

    def _change(self, wanted: AlState, now: int) -> None:
        steps: dict[AlState, Callable[[], AlCode]] = {
            PREOP: self.mailbox_code,
            SAFEOP: self._process_data_code,
            OP: self._sync_code,
        }
        if wanted > self.state:
            code = steps[wanted]()
            if code:
                self._show(self.state, code)
                return
            if wanted is OP and self._lacks_outputs():
                self.pending = now + OUTPUT_PATIENCE
                self.device.record["awaits_outputs"] = 1
                self.code = AlCode.NONE
                self.device.show_state(self.state, AlCode.NONE)
                return
        self._enter(wanted)

    def _enter(self, state: AlState) -> None:
        before, self.state = self.state, state
        if state is SAFEOP and before is not SAFEOP:
            self.seen_before = int(self.device.record["outputs_seen"][0])
        self.device.entered(state, before)
        self._show(state, AlCode.NONE)

    def _lacks_outputs(self) -> bool:
        size = process_data_size(self.device.objects, RX_ASSIGN)
        return size > 0 and int(self.device.record["outputs_seen"][0]) == self.seen_before

    def outputs_came(self) -> None:
        """The outputs that a slave on its way to OP waited for."""
        self.device.record["awaits_outputs"] = 0
        if self.pending is not None:
            self.pending = None
            self._enter(OP)

    def look(self, now: int) -> None:
        """Give up waiting for outputs."""
        if self.pending is not None and now > self.pending:
            self.pending = None
            self.device.record["awaits_outputs"] = 0
            self._show(self.state, AlCode.NO_VALID_OUTPUTS)

    def fall(self, code: AlCode) -> None:
        """Leave OP because of an error."""
        if self.state is OP:
            self.state = SAFEOP
            self.seen_before = int(self.device.record["outputs_seen"][0])
            self.device.entered(SAFEOP, OP)
            self._show(SAFEOP, code)

    def check_again(self) -> None:
        """The SyncManagers of process data were written: if they are no longer as SAFEOP wants them, it ends."""
        code = self._managers_code() if self.state >= SAFEOP else AlCode.NONE
        if code:
            before, self.state, self.pending = self.state, PREOP, None
            self.device.record["awaits_outputs"] = 0
            self.device.entered(PREOP, before)
            self._show(PREOP, code)

    def _show(self, state: AlState, code: AlCode) -> None:
        self.code = code
        self.device.show_state(state, code)

    # --- what is checked --------------------------------------------------------------------------

    def _manager(self, number: int) -> tuple[int, int, int, bool]:
        """Start, length, control and whether it is enabled."""
        at = SYNC_MANAGER + number * SYNC_MANAGER_SIZE
        get = self.device.get
        enabled = bool(get(at + SM_ACTIVATE, 1) & SM_ENABLED)
        return get(at, 2), get(at + SM_LENGTH, 2), get(at + SM_CONTROL, 1), enabled

    def mailbox_code(self) -> AlCode:
        """What is wrong with the SyncManagers of the mailboxes."""
        for number, written in ((0, True), (1, False)):
            start, length, control, enabled = self._manager(number)
            fits = PROCESS_MEMORY <= start <= MEMORY_SIZE - length
            sized = SHORTEST_MAILBOX <= length <= LONGEST_MAILBOX
            is_mailbox = control & 3 == SM_MAILBOX and bool(control & SM_WRITTEN_BY_MASTER) is written
            if not (enabled and fits and sized and is_mailbox):
                return AlCode.INVALID_MAILBOX
        (first, size, *_), (second, other, *_) = self._manager(0), self._manager(1)
        return AlCode.INVALID_MAILBOX if first < second + other and second < first + size else AlCode.NONE

    def _process_data_code(self) -> AlCode:
        return self._managers_code() or self._fmmu_code() or self._clock_code()

    def _managers_code(self) -> AlCode:
        """What is wrong with the SyncManagers of process data."""
        for number, assign, place, mapping, refused in (
            (2, RX_ASSIGN, "outputs_at", AlCode.INVALID_OUTPUT_MAPPING, AlCode.INVALID_OUTPUTS),
            (3, TX_ASSIGN, "inputs_at", AlCode.INVALID_INPUT_MAPPING, AlCode.INVALID_INPUTS),
        ):
            size = process_data_size(self.device.objects, assign)
            if size > MOST_PROCESS_DATA:
                return mapping
            start, length, control, enabled = self._manager(number)
            if size == 0:
                if enabled and length:
                    return refused
                continue
            buffered = control & 3 == 0 and bool(control & SM_WRITTEN_BY_MASTER) is (number == 2)
            fits = length == size and PROCESS_MEMORY <= start <= MEMORY_SIZE - size
            moved = self.state >= SAFEOP and start != int(self.device.record[place][0])
            if not (enabled and buffered and fits) or moved:
                return refused
        return AlCode.NONE

    def _fmmu_code(self) -> AlCode:
        """FMMUs that reach into process data go the right way and stay inside."""
        get = self.device.get
        for number in range(FMMUS):
            at = FMMU + number * FMMU_SIZE
            if not get(at + FMMU_ACTIVATE, 1) & 1:
                continue
            first, size = get(at + FMMU_PHYSICAL, 2), get(at + FMMU_LENGTH, 2)
            for manager, way in ((2, 2), (3, FMMU_READS)):
                start, length, _, enabled = self._manager(manager)
                if not enabled or not (first < start + length and start < first + size):
                    continue
                if not get(at + FMMU_TYPE, 1) & way or first < start or first + size > start + length:
                    return AlCode.INCONSISTENT_SETTINGS
        return AlCode.NONE

    def _clock_code(self) -> AlCode:
        get = self.device.get
        if get(SYNC_ACTIVATION, 1) & 1:
            cycle = get(SYNC0_CYCLE, 4)
            if get(SYNC_ACTIVATION, 1) & 2 and cycle < SHORTEST_SYNC:
                return AlCode.INVALID_SYNC_CYCLE
        elif self.device.objects.read_number(0x1C32, 1) == 2:
            return AlCode.INVALID_SYNC
        return AlCode.NONE

    def _sync_code(self) -> AlCode:
        """Settings may have changed since SAFEOP; SYNC0 that was promised must be there."""
        code = self._process_data_code()
        synced = self.device.objects.read_number(0x1C32, 1) == 2
        if not code and synced and not self.device.get(SYNC_ACTIVATION, 1) & 2:
            return AlCode.NO_SYNC
        return code
