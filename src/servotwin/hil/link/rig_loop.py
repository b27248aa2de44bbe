"""The compiled loop of a rig's twin: waits for commands, carries the shafts by one period for each, and answers.

Its watchdog is its own: without a valid command for so long it goes to its safe state, and stays there until the
session has ended. It answers nobody but the peer of its session.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.compiled.jit import callback, helper, part
from servotwin.compiled.native_calls import call_piece, records_at
from servotwin.hil.link.causes import Cause
from servotwin.hil.link.codec import command_cause, frame_cause, read_command, sequence_cause
from servotwin.hil.link.endpoint import BUDGET, ENDPOINT, ROOM
from servotwin.hil.link.frames import HEADER_WORDS, Kind
from servotwin.hil.link.injected import INJECTION, answer, next_due, send_due
from servotwin.hil.link.session import make_safe
from servotwin.hil.link.supervision import AGAIN
from servotwin.hil.link.wire import NOTHING, from_peer, receive_frame, send_frame, wait_frame
from servotwin.hil.ports import MAX_SHAFTS, SHAFT_COMMAND, SHAFT_FEEDBACK, RigFault
from servotwin.realtime.clock import now_ns
from servotwin.realtime.histogram import HISTOGRAM, add_time

COMMAND, BYE = int(Kind.COMMAND), int(Kind.BYE)
WATCHDOG = int(RigFault.WATCHDOG)
FIRST_COMMAND = 3_000_000_000  # ns that the peer has for its first command
IDLE = 500_000_000  # ns of silence after which a session is over
LOOK = 50_000_000  # ns between two looks at ``end_asked``


class SessionEnd(IntEnum):
    """How a session of the rig ended."""

    OPEN = 0
    BYE = 1  # the peer ended it
    SILENCE = 2  # the watchdog, and nothing came any more
    ASKED = 3  # the rig's user ended it
    TRANSPORT = 4  # the line was hung up, or its device is gone


RIG_SERVER: np.dtype[Any] = np.dtype(
    [
        ("endpoint", ENDPOINT, (1,)),
        ("feedback", SHAFT_FEEDBACK, (1,)),
        ("command", SHAFT_COMMAND, (1,)),
        ("injection", INJECTION, (1,)),
        ("rig_step_at", np.int64),  # ``rig_piece``
        ("rig_at", np.int64),  # records of the shafts
        ("hello", np.int64, (ROOM // 8,)),  # the HELLO that opened the session
        ("hello_size", np.int64),
        ("welcome_size", np.int64),  # of the WELCOME in ``sending``, with which the session begins
        ("period", np.int64),  # ns
        ("watchdog", np.int64),  # ns
        ("heard", np.int64),  # instant of the last valid command [ns]
        ("tripped", np.int64),  # 1: the watchdog has put the rig into its safe state
        ("trips", np.int64),  # of the watchdog, in all sessions
        ("answered", np.int64),  # commands of this session
        ("end_asked", np.int64),
        ("end", np.int64),  # a ``SessionEnd``
        ("bye", np.int64),  # why the peer ended it, a ``Cause``
        ("service", HISTOGRAM),  # from the arrival of a command to its answer
        ("interval", HISTOGRAM),  # between two commands
    ]
)


@helper
def _step(server: Any) -> None:
    """Carry the shafts by one period; the first command of a session only samples them."""
    endpoint = server.endpoint[0]
    at = (server.rig_at, server.command.ctypes.data, server.feedback.ctypes.data)
    span = server.period * 1e-9 if server.answered > 0 else 0.0
    call_piece(server.rig_step_at, at[0], at[1], at[2], endpoint.shafts, 0.0, span)
    if server.tripped != 0:
        for i in range(MAX_SHAFTS):
            server.feedback[0].fault[i] = WATCHDOG


@helper
def _is_same_hello(server: Any, endpoint: Any, length: int) -> bool:
    """Whether the frame in ``received`` is the HELLO of this session again, before its first command."""
    if server.answered > 0 or length != server.hello_size:
        return False
    words = (length + 7) // 8
    last = np.int64(-1) if length % 8 == 0 else (np.int64(1) << np.int64(8 * (length % 8))) - np.int64(1)
    for i in range(words):
        mask = last if i == words - 1 else np.int64(-1)
        if (endpoint.received[i] ^ server.hello[i]) & mask != 0:
            return False
    return True


@part
def _judge(server: Any, endpoint: Any, length: int) -> int:
    """What is wrong with a frame; a good command goes to ``command``, a good BYE ends the session."""
    if not from_peer(endpoint):
        return Cause.SOURCE
    if _is_same_hello(server, endpoint, length):
        send_frame(endpoint, server.welcome_size)  # the first one may have been lost; nothing was sent since
        return AGAIN
    cause = frame_cause(endpoint, length, COMMAND)
    if cause == Cause.KIND and frame_cause(endpoint, length, BYE) == Cause.NONE:
        server.end, server.bye = SessionEnd.BYE, endpoint.received[HEADER_WORDS]
        return Cause.NONE
    if cause == Cause.NONE:
        cause = sequence_cause(endpoint)
    if cause == Cause.NONE:
        cause = command_cause(endpoint)
    if cause == Cause.NONE:
        read_command(endpoint, server.command[0])
    return cause


@part
def _watch(server: Any, endpoint: Any, now: int) -> int:
    """The rig's own watchdog; the instant of its next look."""
    limit = server.watchdog if server.answered > 0 else FIRST_COMMAND
    silent = now - server.heard
    if silent >= limit and server.tripped == 0:
        server.tripped = 1
        server.trips += 1
        make_safe(server.command[0])
        _step(server)
    if silent >= limit + IDLE:
        server.end = SessionEnd.SILENCE
    following = limit if server.tripped == 0 else limit + IDLE
    return min(server.heard + following, now + LOOK)  # type: ignore[no-any-return]


@part
def _serve_command(server: Any, endpoint: Any, now: int) -> None:
    """Carry out the newest command and answer it; after a gap that the watchdog had not seen, the rig is safe."""
    _watch(server, endpoint, now)
    if server.answered > 0:
        add_time(server.interval, now - server.heard)
    server.heard = now
    if server.tripped != 0:
        make_safe(server.command[0])
    _step(server)
    answer(endpoint, server.feedback[0], server.injection[0])
    endpoint.accepted += 1
    server.answered += 1
    add_time(server.service, now_ns(endpoint.timespec) - now)


@part
def _receive_commands(server: Any, endpoint: Any, now: int) -> None:
    """Take all frames that wait, up to the budget of a turn."""
    for _ in range(BUDGET):
        length = receive_frame(endpoint)
        if length == NOTHING:
            return
        cause = _judge(server, endpoint, length)
        if server.end != SessionEnd.OPEN:
            return
        if cause == AGAIN:
            continue
        if cause == Cause.NONE:
            _serve_command(server, endpoint, now)
            now = now_ns(endpoint.timespec)
        else:
            endpoint.counts[cause] += 1
    endpoint.counts[Cause.FLOOD] += 1


@callback("int64", result="int64")
def serve_session(server_at: int) -> int:
    """Serve one session to its end; the rig is left in its safe state."""
    server = records_at(server_at, 1, RIG_SERVER)[0]
    endpoint, injection = server.endpoint[0], server.injection[0]
    server.heard = now_ns(endpoint.timespec)
    server.end = SessionEnd.OPEN
    send_frame(endpoint, server.welcome_size)
    while server.end == SessionEnd.OPEN:
        now = now_ns(endpoint.timespec)
        until = next_due(injection, _watch(server, endpoint, now))
        if server.end_asked != 0:
            server.end = SessionEnd.ASKED
        if server.end == SessionEnd.OPEN:
            wait_frame(endpoint, until)
            now = now_ns(endpoint.timespec)
            send_due(endpoint, injection, now)
            _receive_commands(server, endpoint, now)
            if endpoint.hung != 0 and server.end == SessionEnd.OPEN:
                server.end = SessionEnd.TRANSPORT
    make_safe(server.command[0])
    _step(server)
    return server.end  # type: ignore[no-any-return]
