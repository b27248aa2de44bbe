"""Drives on a bus as the plant of the main controller: CSP targets out, counted positions in, every cycle checked.

Limits are enforced here once more, beneath the controller: a target outside the joints' ranges, or further from the
last one than the joints' speeds allow, is not sent, and the drives stop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.control.main.exchange import Command, Feedback
from servotwin.control.main.states import POWERED, State
from servotwin.errors import ServotwinError
from servotwin.fieldbus.cia402.states import Mode
from servotwin.fieldbus.cia402.states import State as DriveState
from servotwin.fieldbus.controller import axes as objects
from servotwin.fieldbus.controller.axes import BusAxis, error_text, next_word
from servotwin.fieldbus.controller.clock import BusClock, LockStepClock
from servotwin.fieldbus.controller.cycle_log import CycleLog
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.fieldbus.ethercat.master.master import Master
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.simulation.job_plant import feedback_of
from servotwin.simulation.scenario.io_script import Surroundings

SPEED_ROOM = 1.5  # of the speed limit, that a target may move in a period
SHORT_WAIT = 200_000  # ns for an answer on a bus that was lost
EDGE = 1e-4  # rad or m beyond a joint's range that rounding may take
HOLDING = POWERED - {State.ENABLING}  # states in which every drive must be enabled
STATES = {state: k for k, state in enumerate(State)}


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
        self._outputs = memoryview(self.image.outputs).cast("B")
        self.fault = ""
        self.log = CycleLog(len(axes), len(self._inverse))
        self.positions = np.zeros(len(axes))
        self.states: list[DriveState | None] = [None] * len(axes)
        self._last: Array | None = None  # joints of the last target under power
        self._resetting = 0
        self.emergencies: list[str] = []
        self._trip = 0
        self._image = b""
        self._timeout = self.image.number("timeout")

    # --- what the controller sees --------------------------------------------------------------------
    def feedback(self) -> Feedback:
        """See ``Plant``."""
        return feedback_of(self.q, self.fault, self.surroundings)

    @property
    def q(self) -> Array:
        """Joint positions (n,) as the drives count them."""
        found: Array = self._inverse @ (self.positions / self._per_rad)
        return found

    # --- every period ----------------------------------------------------------------------------------
    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """See ``Plant``; it always carries on: a bus that fails is a fault that the controller is told of."""
        enable = command.enable and not self.fault
        targets = self._targets(command) if enable else None
        self._write(targets, command, enable=enable and targets is not None)
        self._exchange()
        if not self.fault:
            self._watch(command)
        self._note(command, now_ns, targets)
        return True

    def idle(self) -> None:
        """One cycle without power, for the way to OP."""
        self._write(None, None, enable=False)
        outcome = self.image.cycle()
        if outcome is Outcome.WELL:
            self._read()

    def _targets(self, command: Command) -> Any:
        """Targets (m,) in user units; None if they are beyond the limits, which is a fault."""
        q = np.asarray(command.q)
        low, high, last = self.limits.q_min - EDGE, self.limits.q_max + EDGE, self._last
        outside = ~((q >= np.minimum(low, self.q - EDGE)) & (q <= np.maximum(high, self.q + EDGE)))
        fast = np.zeros_like(outside) if last is None else ~(
            np.abs(q - last) <= SPEED_ROOM * self.limits.speed * self.period + EDGE
        )  # fmt: skip
        if outside.any() or fast.any():
            k = int(np.argmax(outside | fast))
            how = "outside of its range" if outside[k] else "too far from the last one"
            self.fault = f"the target of joint {k + 1}, {q[k]:.6g}, is {how}: not sent"
            return None
        counts = self._N @ q * self._per_rad if command.counts is None else command.counts * self._scale
        targets = np.rint(counts)
        if not (np.abs(targets) <= objects.LARGEST).all():
            self.fault = "a target is beyond the 32 bits of 607A: not sent"
            return None
        self._last = q
        return targets.astype(np.int64)

    def _write(self, targets: Any, command: Command | None, *, enable: bool) -> None:
        speeds = None
        if targets is not None and command is not None:
            speeds = np.clip(np.rint(self._N @ command.qd * self._per_rad), -objects.LARGEST, objects.LARGEST)
        if not enable:
            self._last = None
        for j, axis in enumerate(self.axes):
            state = self.states[j]
            word = next_word(state, enable=enable)
            if self._resetting > 0 and state is DriveState.FAULT:
                word = objects.RESET if self._resetting % 2 else objects.VOLTAGE_OFF
            moving = enable and targets is not None and state is DriveState.ENABLED
            axis.put(self._outputs, objects.CONTROLWORD, word)
            axis.put(self._outputs, objects.MODE, Mode.CSP)
            axis.put(self._outputs, objects.TARGET, int(targets[j] if moving else self.positions[j]))
            axis.put(
                self._outputs, objects.SPEED_OFFSET, int(speeds[j]) if moving and speeds is not None else 0
            )
        self._resetting = max(self._resetting - 1, 0)

    def _exchange(self) -> None:
        before = int(self.image.record["round_trip"]["sum"][0])
        outcome = self.image.cycle()
        self._trip = int(self.image.record["round_trip"]["sum"][0]) - before
        if outcome is Outcome.WELL:
            self._read()
            if self.master.reference is not None:
                self.clock.follow(self.image.number("clock"), self.master.first_sync)
        elif outcome is Outcome.LOST and self.image.number("lost_now") <= self.tolerance:
            return
        elif not self.fault:
            self.fault = str(self.master.diagnose(outcome))
            if outcome in (
                Outcome.LOST,
                Outcome.INTERFACE,
            ):  # stop commands still go out; nobody waits for answers
                self.image.record["timeout"] = SHORT_WAIT

    def _read(self) -> None:
        image = self.image.inputs.tobytes()
        self._image = image
        for j, axis in enumerate(self.axes):
            self.positions[j] = axis.get(image, objects.POSITION)
            self.states[j] = axis.state(image)

    def _watch(self, command: Command) -> None:
        """Faults of drives, and drives that are not as the controller believes."""
        for j, axis in enumerate(self.axes):
            state = self.states[j]
            if state in (DriveState.FAULT, DriveState.FAULT_REACTION):
                if self._resetting == 0:
                    self.fault = f"{axis.label}: {self._why(axis)}"
                    return
            elif command.state in HOLDING and state is not DriveState.ENABLED:
                name = "unknown" if state is None else state.name.lower().replace("_", " ")
                self.fault = f"{axis.label}: is not enabled but '{name}'"
                return

    def _why(self, axis: BusAxis) -> str:
        """What a drive in fault reports: 603F, and the emergency message behind it."""
        code = axis.get(self._image, objects.ERROR_CODE)
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

    def _note(self, command: Command, now_ns: int, targets: Any) -> None:
        row = self.log.next_row()
        image = self._image
        row["time_ns"], row["outcome"] = now_ns, self.image.record["outcome"][0]
        row["counter"], row["late_ns"] = self.image.record["counter"][0], self.clock.late_ns
        row["round_trip_ns"], row["phase_ns"] = self._trip, self.clock.phase_ns
        row["state"] = STATES[command.state]
        row["target"] = self.positions if targets is None else targets
        row["position"] = self.positions
        row["q_ref"], row["q"] = command.q, self.q
        if image:
            for j, axis in enumerate(self.axes):
                row["speed"][j] = axis.get(image, objects.SPEED)
                row["torque"][j] = axis.get(image, objects.TORQUE)
                row["statusword"][j] = axis.get(image, objects.STATUSWORD)
                row["error"][j] = axis.get(image, objects.ERROR_CODE)

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
                self.fault = f"{axis.label}: {self._why(axis)}"
        if not self.fault and self.image.number("outcome") != Outcome.WELL:
            self.fault = str(self.master.diagnose(Outcome(self.image.number("outcome"))))
        return self.fault
