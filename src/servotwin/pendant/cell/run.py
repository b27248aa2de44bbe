"""The process of the cell: periods at absolute deadlines, messages in between, the latest picture for the server.

It alone decides about motion. When its server is gone it brings the arm to rest and ends.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from servotwin.control.main.alarms import Alarm, AlarmKind, shown_apart
from servotwin.control.main.states import MAY_MOVE, POWERED, Event
from servotwin.errors import InputError, ServotwinError
from servotwin.jobs.player import Player
from servotwin.pendant.cell.enabling import Lease
from servotwin.pendant.cell.folder import without_folder
from servotwin.pendant.cell.messages import Channel, Request, operator_state
from servotwin.pendant.cell.panel import OperatingMode, Panel
from servotwin.pendant.cell.picture import picture, warnings_of
from servotwin.pendant.cell.scope_signals import Scope
from servotwin.pendant.cell.setup import CellSettings, make_live
from servotwin.pendant.cell.shared import MOST_COLUMNS, SharedState
from servotwin.pendant.cell.speed_watch import SpeedWatch
from servotwin.pendant.cell.store import CellFiles

PICTURE_NS = 15_000_000  # between two pictures
SLOW_NS = 250_000_000  # between two looks at what changes slowly
MOST_LATE = 50_000_000  # ns that are made up for; beyond it time stands still for the arm
TO_REST = 2.0  # s
KEPT_PLANS = 64
URGENT = -10  # nice value of the process


class Cell:
    """A robot with its panel, stepped in real time; ``answer`` is given every reply."""

    def __init__(self, settings: CellSettings, answer: Callable[[dict[str, Any]], None]) -> None:
        self.files = CellFiles(Path(settings.folder))
        self.live = make_live(settings)
        self.files.attach(self.live, settings.robot)
        lease = Lease(settings.lease_ms * 1_000_000)
        self.panel = Panel(
            self.live, lease, self.files.player, self.files.reload, settings.stop_ms * 1_000_000
        )
        self.files.panel = self.panel
        self.scope = Scope(self.live)
        self.answer = answer
        self.period_ns = self.live.period_ns
        self.rest_ns = 0  # when the reference came to rest, of the monotonic clock
        self._moved = False
        self._watch = SpeedWatch()

    def take(self, message: dict[str, Any]) -> None:
        """Carry out a message of the server; what is none changes nothing."""
        try:
            if "switch" in message:
                self.panel.lease.take(operator_state(message, int(message.get("at", 0))))
            elif "key" in message:
                self._key(message)
        except (ServotwinError, TypeError, ValueError, OverflowError):
            return

    def _key(self, message: dict[str, Any]) -> None:
        arguments = message.get("with", {})
        if not isinstance(arguments, dict):
            raise InputError("expected words and numbers", field="with")
        number = int(message.get("number", 0))
        reply = self.panel.press(Request(number, str(message["key"]), arguments))
        text = without_folder(reply.reason, self.files.folder)
        self.answer({"number": number, "ok": reply.accepted, "text": text[:1000]})

    def period(self, now_ns: int) -> None:
        """One period: what is held, the controller, the plant."""
        self.panel.hold(now_ns)
        command = self.live.step()
        moves = bool(command.qd.any())
        if self._moved and not moves:
            self.rest_ns = time.monotonic_ns()
        self._moved = moves
        self._supervise()

    def _supervise(self) -> None:
        """In T1 the measured arm is watched too, whatever the reference says."""
        watch, panel, controller = self._watch, self.panel, self.live.controller
        if not watch.look(self.live.now_ns, self.live.q, panel.fastest):
            return
        panel.measured_speed = watch.speed
        if (
            panel.mode is OperatingMode.T1
            and controller.state in POWERED
            and watch.speed > panel.fastest.bound
        ):
            fast, most = shown_apart(watch.speed, panel.fastest.bound, "m", "/s")
            text = f"a point of {watch.point} was measured at {fast}; T1 allows {most}"
            controller.alarm(Alarm(AlarmKind.SPEED, text, self.live.now_ns))

    def tidy(self) -> None:
        """Keep no more than is needed of a job that runs for ever."""
        program = self.live.controller.program
        if isinstance(program, Player) and len(program.plans) > 2 * KEPT_PLANS:
            del program.plans[:-KEPT_PLANS]
        journal = self.live.controller.journal
        if len(journal) > 4096:
            del journal[:-1024]

    def stop(self) -> None:
        """Bring the arm to rest: nobody steers it any more."""
        self.panel.lease.drop()
        self.live.press(Event.STOP)
        for _ in range(int(TO_REST / (self.period_ns * 1e-9))):
            if self.live.controller.state not in MAY_MOVE:
                break
            self.live.step()
        self.live.press(Event.EMERGENCY_STOP)
        self.live.step()


class RealTime:
    """Deadlines of the monotonic clock; ``late_ns`` of the last, ``skipped``: periods that were left out."""

    def __init__(self, period_ns: int) -> None:
        self.period_ns, self.skipped, self.late_ns = period_ns, 0, 0
        self._next = time.monotonic_ns()

    def wait(self) -> int:
        """Return at the next deadline, at once if it is past; now [ns]."""
        self._next += self.period_ns
        now = time.monotonic_ns()
        if now - self._next > MOST_LATE:
            missed = (now - self._next) // self.period_ns
            self.skipped += missed
            self._next += missed * self.period_ns
        while (left := self._next - time.monotonic_ns()) > 0:
            time.sleep(left * 1e-9)
        now = time.monotonic_ns()
        self.late_ns = now - self._next
        return now


def operate(cell: Cell, channel: Channel, state: SharedState, ended: Callable[[], bool]) -> None:
    """Periods until the server is gone."""
    clock, number, shown, looked = RealTime(cell.period_ns), 0, 0, 0
    slow: dict[str, Any] = {}
    while not (channel.closed or ended()):
        now = clock.wait()
        for message in channel.receive():
            cell.take(message)
        cell.period(time.monotonic_ns())
        state.add(cell.scope.rows(cell.live.command, cell.live.now_ns))
        if now - looked >= SLOW_NS:
            looked = now
            found = [*warnings_of(cell.live.robot, cell.live.q), *cell.panel.slowed]
            slow = {"warnings": found, "skipped": clock.skipped}
            cell.tidy()
        if now - shown >= PICTURE_NS:
            shown, number = now, number + 1
            extra = {
                **slow,
                "points": cell.files.version,
                "rest": cell.rest_ns,
                "heard": cell.panel.lease.state.at_ns,
                "lost": cell.panel.lost_ns,
                "late": round(clock.late_ns * 1e-6, 2),
            }
            state.show(picture(cell.panel, number, time.monotonic_ns(), extra))
    cell.stop()


def main() -> None:
    """The process: settings as text, the numbers of the open socket and of the open memory."""
    settings, end, memory = CellSettings.of(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    channel = Channel(socket.socket(fileno=end))
    ending: list[int] = []

    def end_it(number: int, frame: FrameType | None) -> None:
        ending.append(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_it)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(0.0005)
    with suppress(OSError):  # granted to few; periods come late more often without it
        os.setpriority(os.PRIO_PROCESS, 0, URGENT)
    try:
        cell = Cell(settings, channel.send)
    except (ServotwinError, OSError) as error:
        channel.send({"failed": str(error)})
        return
    width = min(cell.scope.width, MOST_COLUMNS)
    state = SharedState(memory, width)
    names = [[signal.name, signal.unit, signal.group] for signal in cell.scope.signals]
    gc.collect()
    gc.freeze()
    channel.send({"ready": os.getpid(), "columns": width, "signals": names, "period_ns": cell.period_ns})
    operate(cell, channel, state, lambda: bool(ending))
    gc.unfreeze()
