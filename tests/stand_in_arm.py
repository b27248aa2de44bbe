"""A small cycle in place of a simulated arm, for tests of the link alone, and a rig's twin in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from servotwin.compiled.jit import piece
from servotwin.compiled.native_calls import records_at
from servotwin.hil.link.addresses import read_address
from servotwin.hil.link.link_run import Cycle, LinkRun
from servotwin.hil.link.rig_server import Fault, RigServer, RigSession
from servotwin.hil.ports import SHAFT_COMMAND, SHAFT_FEEDBACK
from servotwin.hil.rig_file import read_rig
from servotwin.hil.rig_model import rig_piece

ROOM = 20_000
LAW: np.dtype[Any] = np.dtype(
    [
        ("k", np.int64),
        ("sum", np.float64),
        ("bad_from", np.int64),
        ("rates", np.float64, (ROOM,)),
        ("torques", np.float64, (ROOM,)),
    ]
)


@piece
def law(at: int, feedback_at: int, command_at: int, shafts: int, t: float, period: float) -> None:
    """A PI speed loop on every shaft, with a viscous load; from ``bad_from`` on its command is not finite."""
    record = records_at(at, 1, LAW)[0]
    feedback = records_at(feedback_at, 1, SHAFT_FEEDBACK)[0]
    command = records_at(command_at, 1, SHAFT_COMMAND)[0]
    for i in range(shafts):
        error = 3.0 * np.sin(0.01 * record.k) - feedback.rate[i]
        record.sum += error * period
        command.drive_voltage[i] = 2.0 * error + 20.0 * record.sum
        command.load_torque[i] = -1e-4 * feedback.rate[i]
        if record.bad_from and record.k >= record.bad_from:
            command.load_torque[i] = np.nan
        command.enable[i] = command.brake_released[i] = 1
    if record.k < ROOM:
        record.rates[record.k], record.torques[record.k] = feedback.rate[0], command.load_torque[0]
    record.k += 1


def link_run(
    where: str, cycles: int, *, rate: int = 500, shafts: int = 1, **settings: Any
) -> tuple[Any, LinkRun]:
    """The record of the law, and a run of it."""
    record = np.zeros(1, LAW)
    record["bad_from"] = settings.pop("bad_from", 0)
    cycle = Cycle(law.address, record, shafts, 1_000_000_000 // rate)
    rig = read_rig("met-rig").records(1, shafts)
    return record, LinkRun(cycle, read_address(where), cycles, rig=rig, step_at=rig_piece.address, **settings)


@contextmanager
def rig_thread(where: str, fault: Fault = Fault(), **settings: Any) -> Iterator[list[RigSession]]:  # noqa: B008
    """The twin of met-rig behind a transport, in a thread of this process; its sessions, when they have ended."""
    found: list[RigSession] = []
    ready, enough = threading.Event(), threading.Event()

    class Enough(Exception):
        """Ends the rig."""

    def look(server: RigServer) -> None:
        if enough.is_set():
            raise Enough

    rig = read_rig("met-rig")
    server = RigServer(
        read_address(where), lambda: rig.records(1, 1), rig_piece.address, fault=fault, looked=look, ready=ready.set,
        **settings,
    )  # fmt: skip

    def serve() -> None:
        try:
            server.serve(0, found)
        except Enough:
            pass
        finally:
            ready.set()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert ready.wait(60)
        yield found
    finally:
        enough.set()
        thread.join(30)
        assert not thread.is_alive()
