"""Drives on a bus as the plant of the main controller: CSP targets out, counted positions in, every cycle checked.

Limits are enforced here once more, beneath the controller: a target outside the joints' ranges, or further from the
last one than the joints' speeds allow, is not sent, and the drives stop.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from servotwin.control.main.alarms import AlarmKind
from servotwin.control.main.exchange import Command, Feedback, Stretch
from servotwin.control.main.quick_watch import QuickWatch
from servotwin.control.main.states import POWERED, State
from servotwin.errors import ServotwinError
from servotwin.fieldbus.cia402.states import Mode, state_of
from servotwin.fieldbus.cia402.states import State as DriveState
from servotwin.fieldbus.controller import axes as objects
from servotwin.fieldbus.controller.axes import BusAxis, error_text, next_word
from servotwin.fieldbus.controller.axis_numbers import AxisNumbers
from servotwin.fieldbus.controller.clock import BusClock, LockStepClock
from servotwin.fieldbus.controller.cycle_log import CycleLog
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.fieldbus.ethercat.master.master import Master
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.simulation.job_plant import BREATH, Followed
from servotwin.simulation.scenario.io_script import Surroundings

SPEED_ROOM = 1.5  # of the speed limit, that a target may move in a period
SHORT_WAIT = 200_000  # ns for an answer on a bus that was lost
EDGE = 1e-4  # rad or m beyond a joint's range that rounding may take
HOLDING = POWERED - {State.ENABLING}  # states in which every drive must be enabled
STATES = {state: k for k, state in enumerate(State)}
WRITTEN = (objects.CONTROLWORD, objects.MODE, objects.TARGET, objects.SPEED_OFFSET)  # rows of outputs
READ = (objects.STATUSWORD, objects.POSITION, objects.SPEED, objects.TORQUE, objects.ERROR_CODE)  # of inputs


class BusPlant:
    """Fills the ``Plant`` of the main controller; ``fault`` is what stopped it, empty while all is well.

    ``tolerance``: cycles in a row that may stay without an answer. A wrong working counter stops at once.
    """

    def __init__(
        self,
        master: Master,
        axes: list[BusAxis],
        ratios: Array,
        counts_per_rad: Array,
        limits: MotionLimits,
        period_ns: int,
        clock: BusClock | LockStepClock,
        surroundings: Surroundings | None = None,
        *,
        tolerance: int = 3,
    ) -> None:
        assert master.image is not None
        self.master, self.image, self.axes, self.clock = master, master.image, axes, clock
        self.surroundings, self.tolerance = surroundings or Surroundings(), tolerance
        self.limits, self.period = limits, period_ns * 1e-9
        self._N, self._inverse = ratios, np.linalg.inv(ratios)
        self._per_rad = np.array([axis.per_rad for axis in axes])
        self._scale = self._per_rad / counts_per_rad
        self._low, self._high = limits.q_min - EDGE, limits.q_max + EDGE
        self._farthest = SPEED_ROOM * limits.speed * self.period + EDGE  # that a target may move in a period
        self._outputs = AxisNumbers(WRITTEN, [axis.outputs for axis in axes])
        self._inputs = AxisNumbers(READ, [axis.inputs for axis in axes])
        self._found = self._inputs.table.copy()  # the inputs that came last, a row for each of ``READ``
        self._trips = self.image.record["round_trip"]["sum"]
        self.fault, self.fault_kind = "", AlarmKind.BUS
        self.log = CycleLog(len(axes), len(self._inverse))
        self.positions = np.zeros(len(axes))
        self.q: Array = np.zeros(len(self._inverse))  # joint positions (n,) as the drives count them
        self._speeds: Array | None = None  # of the joints, over the time between two measurements
        self._measured: tuple[int, Array] | None = None  # instant [ns] and joints of the last one
        self.states: list[DriveState | None] = [None] * len(axes)
        self._last: Array | None = None  # joints of the last target under power
        self._resetting = 0
        self.emergencies: list[str] = []
        self._trip = self._sent_before = self._noted_before = 0
        self._statuswords = b""
        self._all_enabled = False
        self._timeout = self.image.number("timeout")

    # --- what the controller sees --------------------------------------------------------------------
    def feedback(self) -> Feedback:
        """See ``Plant``."""
        around = self.surroundings
        return Feedback(
            self.q, self._speeds, self.fault, self.fault_kind, around.inputs, around.circuit, around.dead_man
        )

    def fail(self, kind: AlarmKind, text: str) -> None:
        """Stop the plant, with an alarm of a kind."""
        self.fault, self.fault_kind = text, kind

    # --- every period ----------------------------------------------------------------------------------
    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """See ``Plant``; it always carries on: a bus that fails is a fault that the controller is told of."""
        enable = command.enable and not self.fault
        targets = self._targets(command) if enable else None
        self._write(targets, command, enable=enable and targets is not None)
        self._exchange()
        if not self.fault:
            self._watch(command.state)
        self._note(command.state, command.q, now_ns, targets)
        return True

    def follow(self, followed: Followed, watch: QuickWatch, period_ns: int) -> None:
        """See ``FollowingPlant``: in lock-step, period by period what ``carry_on`` does, for ``BREATH`` at most.

        Whatever is not as it should be, before or after a cycle, is left to ``carry_on``.
        """
        stretch, self._noted_before = followed.stretch, self.log.noted
        count, targets, speeds = self._prepared(stretch)
        self._outputs.table[:2] = [[objects.ENABLE], [Mode.CSP]]
        before, q_ref, enough = stretch.q_measured, stretch.q_before, time.monotonic() + BREATH
        for k in range(count):
            well = self._all_enabled and not self.fault and watch.clear(self.q, before, q_ref)
            if not well or time.monotonic() > enough:
                return
            followed.positions.append(self.q)
            before, q_ref, self._last = self.q, stretch.q[k], stretch.q[k]
            self._outputs.table[2:] = targets[k], speeds[k]
            self._outputs.write(self.image.outputs)
            self._exchange()
            if not self.fault:
                self._watch(State.RUNNING)
            self._note(State.RUNNING, q_ref, followed.now_ns + k * period_ns, targets[k])
            followed.count = k + 1
            if self.image.record["outcome"][0] != Outcome.WELL:
                return

    def count_done(self, followed: Followed, period_ns: int) -> None:
        """See ``FollowingPlant``."""
        followed.count = self.log.noted - self._noted_before

    def _prepared(self, stretch: Stretch) -> tuple[int, Any, Any]:
        """How many commands of a stretch are within all limits, their targets and speeds (k, m) in user units."""
        if stretch.counts is None or self._last is None or self._resetting or not self._all_enabled:
            return 0, None, None
        targets = np.rint(stretch.counts * self._scale)
        moved = np.abs(np.diff(stretch.q, axis=0, prepend=self._last[None]))
        good = (stretch.q >= self._low) & (stretch.q <= self._high) & (moved <= self._farthest)
        well: Any = good.all(axis=1) & (np.abs(targets) <= objects.LARGEST).all(axis=1)
        count = len(well) if well.all() else int(np.argmin(well))
        # row by row: a product of matrices may round otherwise than that of a vector
        rates = np.matmul(self._N, stretch.qd[:count, :, None])[..., 0]
        return count, targets[:count].astype(np.int64), self._speed_offsets(rates).astype(np.int64)

    def _speed_offsets(self, rates: Array) -> Array:
        """Speeds (..., m) of the motors [rad/s] in user units, as far as 60B1 reaches."""
        found: Array = np.minimum(
            np.maximum(np.rint(rates * self._per_rad), -objects.LARGEST), objects.LARGEST
        )
        return found

    def idle(self) -> None:
        """One cycle without power, for the way to OP."""
        self._write(None, None, enable=False)
        outcome = self._cycle()
        if outcome is Outcome.WELL:
            self._read()

    def _targets(self, command: Command) -> Any:
        """Targets (m,) in user units; None if they are beyond the limits, which is a fault."""
        q, last = np.asarray(command.q), self._last
        low, high = np.minimum(self._low, self.q - EDGE), np.maximum(self._high, self.q + EDGE)
        outside = ~((q >= low) & (q <= high))
        fast = outside if last is None else ~(np.abs(q - last) <= self._farthest)
        if outside.any() or fast.any():
            k = int(np.argmax(outside | fast))
            how = "outside of its range" if outside[k] else "too far from the last one"
            kind = AlarmKind.POSITION_LIMIT if outside[k] else AlarmKind.SPEED
            self.fail(kind, f"the target of joint {k + 1}, {q[k]:.6g}, is {how}: not sent")
            return None
        counts = self._N @ q * self._per_rad if command.counts is None else command.counts * self._scale
        targets = np.rint(counts)
        if not (np.abs(targets) <= objects.LARGEST).all():
            self.fail(AlarmKind.POSITION_LIMIT, "a target is beyond the 32 bits of 607A: not sent")
            return None
        self._last = q
        return targets.astype(np.int64)

    def _write(self, targets: Any, command: Command | None, *, enable: bool) -> None:
        words, modes, places, speeds = self._outputs.table
        places[:], speeds[:], modes[:] = self.positions, 0, Mode.CSP
        words[:] = [self._word(state, enable=enable) for state in self.states]
        if not enable:
            self._last = None
        elif targets is not None and command is not None:
            asked = self._speed_offsets(self._N @ command.qd)
            moving = [state is DriveState.ENABLED for state in self.states]
            np.copyto(places, targets, where=moving)
            np.copyto(speeds, asked, where=moving, casting="unsafe")
        self._outputs.write(self.image.outputs)
        self._resetting = max(self._resetting - 1, 0)

    def _word(self, state: DriveState | None, *, enable: bool) -> int:
        if self._resetting > 0 and state is DriveState.FAULT:
            return objects.RESET if self._resetting % 2 else objects.VOLTAGE_OFF
        return next_word(state, enable=enable)

    def _cycle(self) -> Outcome:
        self._sent_before = self.image.number("sent_at")
        return self.image.cycle()

    def _exchange(self) -> None:
        before = int(self._trips[0])
        outcome = self._cycle()
        self._trip = int(self._trips[0]) - before
        if outcome is Outcome.WELL:
            self._read()
            if self.master.reference is not None:
                self.clock.follow(self.image.number("clock"), self.master.first_sync)
        elif outcome is Outcome.LOST and self.image.number("lost_now") <= self.tolerance:
            return
        elif not self.fault:
            self.fail(AlarmKind.BUS, str(self.master.diagnose(outcome)))
            if outcome in (
                Outcome.LOST,
                Outcome.INTERFACE,
            ):  # stop commands still go out; nobody waits for answers
                self.image.record["timeout"] = SHORT_WAIT

    def _read(self) -> None:
        self._found = self._inputs.read(self.image.inputs)
        self.positions = self._found[1].astype(np.float64)
        self.q = self._inverse @ (self.positions / self._per_rad)
        statuswords = self._found[0].tobytes()
        if statuswords != self._statuswords:
            self._statuswords = statuswords
            self.states = [state_of(word) for word in self._found[0].tolist()]
            self._all_enabled = all(state is DriveState.ENABLED for state in self.states)
        self._differentiate()

    def _differentiate(self) -> None:
        """Speeds from positions: cycles without an answer and deadlines that were left out are time, too.

        Drives measure at SYNC0, so the time between two positions is that of the SYNC0 between two frames.
        """
        q, at = self.q, self._instant()
        if self._measured is not None:
            before, last = self._measured
            if at == before:
                return
            self._speeds = (q - last) / ((at - before) * 1e-9)
        self._measured = at, q

    def forget_speeds(self) -> None:
        """The next measurement is the first."""
        self._speeds = self._measured = None

    def _instant(self) -> int:
        """When the drives measured what came last [ns], on a clock of the bus, of the machine, or of the cycles."""
        T = round(self.period * 1e9)
        if isinstance(self.clock, LockStepClock):
            return self.image.number("cycles") * T
        if self.master.reference is not None:
            return (self.image.number("clock") - self.master.first_sync) // T * T
        return self._sent_before  # drives measure when a frame has passed, for the next one to fetch

    def _watch(self, state_wanted: State) -> None:
        """Faults of drives, and drives that are not as the controller believes."""
        if self._all_enabled:
            return
        for axis, state in zip(self.axes, self.states, strict=True):
            if state in (DriveState.FAULT, DriveState.FAULT_REACTION):
                if self._resetting == 0:
                    self.fail(AlarmKind.DRIVE, f"{axis.label}: {self._why(axis)}")
                    return
            elif state_wanted in HOLDING and state is not DriveState.ENABLED:
                name = "unknown" if state is None else state.name.lower().replace("_", " ")
                self.fail(AlarmKind.DRIVE, f"{axis.label}: is not enabled but '{name}'")
                return

    def _why(self, axis: BusAxis) -> str:
        """What a drive in fault reports: 603F, and the emergency message behind it."""
        code = int(self._found[4, self.axes.index(axis)])
        text = error_text(code)
        mailbox = axis.slave.mailbox
        if mailbox is None:
            return text
        try:
            mailbox.fetch()
        except ServotwinError:
            return text
        for message in mailbox.emergencies:
            self.emergencies.append(
                f"{axis.slave.label}: emergency {error_text(message.code)}, register {message.register:02X}"
            )
        if mailbox.emergencies and not code:
            text = error_text(mailbox.emergencies[-1].code)
        mailbox.emergencies.clear()
        return text

    def _note(self, state: State, q_ref: Array, now_ns: int, targets: Any) -> None:
        row = self.log.next_row()
        row["time_ns"], row["outcome"] = now_ns, self.image.record["outcome"][0]
        row["counter"], row["late_ns"] = self.image.record["counter"][0], self.clock.late_ns
        row["round_trip_ns"], row["phase_ns"] = self._trip, self.clock.phase_ns
        row["state"] = STATES[state]
        row["target"] = self.positions if targets is None else targets
        row["position"] = self.positions
        row["q_ref"], row["q"] = q_ref, self.q
        row["statusword"], _, row["speed"], row["torque"], row["error"] = self._found

    # --- after a fault ---------------------------------------------------------------------------------
    def recover(self) -> str:
        """Try to clear what stopped the plant: reset drives in fault; why not, or empty.

        A bus that left OP is not set up again here: that is ``BusRobot.reconnect``.
        """
        self.fault = ""
        self.image.record["timeout"] = self._timeout
        self._resetting = 8
        for _ in range(16):
            self.idle()
        for axis, state in zip(self.axes, self.states, strict=True):
            if state in (DriveState.FAULT, DriveState.FAULT_REACTION):
                self.fail(AlarmKind.DRIVE, f"{axis.label}: {self._why(axis)}")
        if not self.fault and self.image.number("outcome") != Outcome.WELL:
            self.fail(AlarmKind.BUS, str(self.master.diagnose(Outcome(self.image.number("outcome")))))
        return self.fault
