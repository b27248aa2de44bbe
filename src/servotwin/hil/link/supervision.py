"""Supervision of a link: what each cycle brought, and when it is too much.

A cycle is clean if the answer to the newest command has come, and nothing odd came from the peer. A disturbed cycle
counts 8, a clean one takes 1 back; at 8 times the tolerance, which is 3, the link has failed: at the third disturbed
cycle in a row, or when more than one in nine are disturbed for long. A fault of the rig fails it at once. Frames from
other addresses disturb nothing: they are counted and dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.errors import InputError
from servotwin.hil.link.causes import CAUSES, Cause
from servotwin.hil.link.codec import (
    FEEDBACK,
    angle_cause,
    echo_of,
    feedback_cause,
    frame_cause,
    read_feedback,
    sequence_cause,
)
from servotwin.hil.link.endpoint import BUDGET
from servotwin.hil.link.frames import Kind
from servotwin.hil.link.wire import NOTHING, from_peer, receive_frame
from servotwin.realtime.clock import now_ns

WELCOME = int(Kind.WELCOME)
AGAIN = -1  # WELCOME once more, the answer to a HELLO that was repeated: it means nothing
TOLERANCE = 3  # disturbed cycles in a row that fail a link
MOST_TOLERANCE = 1000
DISTURBED, CLEAN = 8, 1  # what a cycle adds to, or takes from, the score

SUPERVISION: np.dtype[Any] = np.dtype(
    [
        ("tolerance", np.int64),
        ("score", np.int64),
        ("disturbed", np.int64),  # cycles up to the failure
        ("clean", np.int64),
        ("row", np.int64),  # disturbed cycles in a row, now
        ("longest_row", np.int64),
        ("cycle_causes", np.int64, (CAUSES,)),  # disturbed cycles by cause
        ("recent", np.int64, (CAUSES,)),  # the same since the score was zero
        ("failed", np.int64),  # the ``Cause`` that failed the link
        ("failed_cycle", np.int64),
        ("failed_row", np.int64),  # disturbed cycles in a row when it failed
        ("delay", np.int64),  # longest time from a command to its answer [ns]
        ("late", np.int64),  # answers to commands that were not the newest
        ("failed_late", np.int64),  # of them, when the link failed
        ("read_at", np.int64),  # instant at which the first frame of this cycle was read [ns]; 0: none
        ("transport", np.int64),  # failures of the transport up to the last cycle
    ]
)


def check_tolerance(tolerance: int) -> None:
    """InputError if a link could never fail, or fails at once."""
    if not 1 <= tolerance <= MOST_TOLERANCE:
        raise InputError(
            f"{tolerance} is not accepted; expected 1 to {MOST_TOLERANCE} cycles", field="--tolerance"
        )


@helper
def judge_frame(endpoint: Any, feedback: Any, length: int, now: int) -> int:
    """What is wrong with a frame; one that is accepted goes to ``feedback``."""
    if not from_peer(endpoint):
        return Cause.SOURCE
    cause = frame_cause(endpoint, length, FEEDBACK)
    if cause == Cause.KIND and frame_cause(endpoint, length, WELCOME) == Cause.NONE:
        return AGAIN
    if cause == Cause.NONE:
        cause = sequence_cause(endpoint)
    if cause == Cause.NONE and echo_of(endpoint) > endpoint.sequence:
        cause = Cause.STALE
    if cause == Cause.NONE:
        cause = feedback_cause(endpoint)
    if cause == Cause.NONE:
        cause = angle_cause(endpoint, feedback, now)
    if cause == Cause.NONE:
        read_feedback(endpoint, feedback)
        endpoint.accepted += 1
    return cause


@part
def receive_feedback(endpoint: Any, supervision: Any, feedback: Any, now: int) -> int:
    """Take all frames that wait; what disturbs this cycle, or ``NONE`` if the newest command is answered."""
    worst, answered, late, most, flood = Cause.NONE.value, False, False, 0, False
    supervision.read_at = 0
    for look in range(BUDGET + 1):
        length = receive_frame(endpoint)
        if length == NOTHING:
            break
        if look == 0:
            supervision.read_at = now_ns(endpoint.timespec)
        if look == BUDGET:
            endpoint.counts[Cause.FLOOD] += 1
            flood = True
            break
        cause = judge_frame(endpoint, feedback, length, now)
        if cause == AGAIN:
            continue
        if cause == Cause.NONE:
            endpoint.arrived = now
            if echo_of(endpoint) == endpoint.sequence:
                answered = True
                continue
            cause, late = Cause.DELAY, True
            supervision.late += 1
            most = max(most, now - endpoint.received[4])
        endpoint.counts[cause] += 1
        if cause not in (Cause.SOURCE, Cause.DELAY):
            worst = cause
    supervision.delay = max(supervision.delay, most)
    broken = endpoint.counts[Cause.TRANSPORT] > supervision.transport
    supervision.transport = endpoint.counts[Cause.TRANSPORT]
    if worst != Cause.NONE:
        return worst
    return Cause.NONE if answered else _why_unanswered(endpoint, flood, late, broken)


@helper
def _why_unanswered(endpoint: Any, flood: bool, late: bool, broken: bool) -> int:
    """The cause of a cycle in which nothing odd came, and the newest command is not answered."""
    if flood:
        return Cause.FLOOD
    if late:
        return Cause.DELAY
    if broken:
        return Cause.TRANSPORT
    endpoint.counts[Cause.SILENCE] += 1
    return Cause.SILENCE


@helper
def _main_cause(supervision: Any) -> int:
    """The cause of most of the recent disturbed cycles; silence only if there is no other."""
    found, most = Cause.SILENCE.value, 0
    for i in range(CAUSES):
        if i != Cause.SILENCE and supervision.recent[i] > most:
            found, most = i, supervision.recent[i]
    return found


@part
def fail(supervision: Any, cause: int, cycle: int) -> None:
    """Note why and when a link failed; the first time counts."""
    if supervision.failed == Cause.NONE:
        supervision.failed, supervision.failed_cycle = cause, cycle
        supervision.failed_row, supervision.failed_late = supervision.row, supervision.late


@part
def judge_cycle(supervision: Any, cause: int, cycle: int) -> None:
    """Count a cycle as clean or disturbed; fail the link if it was disturbed too often.

    Cycles after the failure are safe ones, and count as neither.
    """
    if supervision.failed != Cause.NONE:
        supervision.row = 0 if cause == Cause.NONE else supervision.row + 1
        return
    if cause == Cause.NONE:
        supervision.clean += 1
        supervision.row = 0
        supervision.score = max(supervision.score - CLEAN, 0)
        if supervision.score == 0:
            for i in range(CAUSES):
                supervision.recent[i] = 0
        return
    supervision.disturbed += 1
    supervision.row += 1
    supervision.longest_row = max(supervision.longest_row, supervision.row)
    supervision.score += DISTURBED
    supervision.cycle_causes[cause] += 1
    supervision.recent[cause] += 1
    if supervision.score >= DISTURBED * supervision.tolerance:
        fail(supervision, _main_cause(supervision), cycle)
