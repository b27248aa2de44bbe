"""The cycle of the simulator's side: read the shafts, simulate, write voltages and torques; and its safe state.

``link_cycle`` is what the real-time executive calls. It takes what the rig sent, judges the link, calls the
substitution's own compiled cycle by its address, and sends the command. The first commands of a session are the safe
one, until an answer has come: it is the first sample of the shafts, before anything moves. Once the link has failed it
sends the safe command (amplifiers off, no torque, brakes closed) for a while and ends the run; the arm is not carried
on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import callback, helper, part
from servotwin.compiled.native_calls import call_piece, numbers_at, records_at
from servotwin.hil.link.causes import Cause
from servotwin.hil.link.codec import (
    FEEDBACK,
    begin_frame,
    seal_frame,
    sequence_of,
    size_of,
    write_command,
)
from servotwin.hil.link.endpoint import ENDPOINT, Transport
from servotwin.hil.link.frames import HEADER_WORDS, Kind
from servotwin.hil.link.supervision import SUPERVISION, fail, judge_cycle, judge_frame, receive_feedback
from servotwin.hil.link.wire import send_frame
from servotwin.hil.ports import MAX_SHAFTS, SHAFT_COMMAND, SHAFT_FEEDBACK
from servotwin.realtime.clock import now_ns
from servotwin.realtime.executive import EXECUTIVE, Ending
from servotwin.realtime.histogram import HISTOGRAM, add_time
from servotwin.realtime.rehearsal import keep_memory, put_back

BYE = int(Kind.BYE)
LINGER = 20  # cycles in which the safe command is repeated: a frame may be lost, and late ones name the cause
LAST_COMMANDS = 3  # safe ones at the end of a run, and as many BYE
LATE_SAMPLES = 3  # fresh samples in which a left-out deadline shows in the rig's clock, or not at all
FINISHED = 1  # what ``link_cycle`` returns when the run shall end

LINK: np.dtype[Any] = np.dtype(
    [
        ("endpoint", ENDPOINT, (1,)),
        ("supervision", SUPERVISION, (1,)),
        ("feedback", SHAFT_FEEDBACK, (1,)),
        ("command", SHAFT_COMMAND, (1,)),
        ("cycle_at", np.int64),  # the substitution's cycle, a ``Piece``
        ("record_at", np.int64),  # its record
        ("status_at", np.int64),  # address of a whole number that the cycle sets when it gives up; 0: none
        ("rehearsal_at", np.int64),  # a rehearsal of the same, a ``Piece``
        ("regions_at", np.int64),  # memory that a rehearsal may write to, REGION
        ("regions", np.int64),
        ("rig_step_at", np.int64),  # in process: ``rig_piece``, and its records
        ("rig_at", np.int64),
        ("executive_at", np.int64),  # the loop that calls the cycle
        ("finished", np.int64),  # 1: ``link_finish`` was called
        ("shafts", np.int64),
        ("period", np.int64),  # ns
        ("linger", np.int64),  # cycles that the safe command is still repeated
        ("simulated", np.int64),  # cycles in which the arm was carried
        ("late_samples", np.int64),  # fresh ones in which skipped deadlines may still show
        ("skipped", np.int64),  # deadlines left out up to the last cycle
        ("due", np.int64),  # of them, not made up for yet
        ("sampled", np.int64),  # instant of the last samples by the rig's clock [ns]
        ("unsampled", np.int64),  # cycles since then without fresh ones
        ("missed", np.int64),  # periods that this cycle makes up for
        ("made_up", np.int64),  # and all cycles
        ("faults", np.int64, (MAX_SHAFTS,)),  # of the rig's shafts, by which the link failed
        ("limited", np.int64),  # cycles in which a command was beyond the rig's limits and cut
        ("rows_at", np.int64),  # LINK_ROW, one for each cycle; 0: none
        ("room", np.int64),
        ("rows", np.int64),
        ("compute", HISTOGRAM),  # simulation and encoding, without the calls of the system
        ("response", HISTOGRAM),  # from the first frame read to the command ready to be sent: decoding too
    ]
)
_FIELDS: Any = LINK.fields
REHEARSED_BYTES = int(_FIELDS["compute"][1])  # of a LINK, what a rehearsal may write to: all but histograms
LINK_ROW: np.dtype[Any] = np.dtype(
    [
        ("began", np.int64),  # instant of the cycle on the monotonic clock [ns]
        ("cause", np.int64),  # what disturbed it
        ("safe", np.int64),  # 1: the command was the safe one
        ("age", np.int64),  # of the samples: cycles since the newest feedback
    ]
)


@helper
def make_safe(command: Any) -> None:
    """Both amplifiers off, no torque, brake closed, on all shafts."""
    for i in range(MAX_SHAFTS):
        command.drive_voltage[i] = command.load_torque[i] = 0.0
        command.enable[i] = command.brake_released[i] = 0


@helper
def _limited(value: float, most: float) -> float:
    return min(max(value, -most), most)


@part
def limit_command(link: Any, endpoint: Any, command: Any) -> bool:
    """Cut a command to the limits of the rig; False if it is not finite."""
    cut = 0
    for i in range(endpoint.shafts):
        u, tau = command.drive_voltage[i], command.load_torque[i]
        if not (math.isfinite(u) and math.isfinite(tau)):
            return False
        command.drive_voltage[i] = _limited(u, endpoint.voltage_limit[i])
        command.load_torque[i] = _limited(tau, endpoint.torque_limit[i])
        if command.drive_voltage[i] != u or command.load_torque[i] != tau:
            cut = 1
    link.limited += cut
    return True


@part
def _rig_fault(endpoint: Any, feedback: Any) -> bool:
    found = 0
    for i in range(endpoint.shafts):
        found |= feedback.fault[i]
    return found != 0


@part
def _receive(link: Any, endpoint: Any, supervision: Any, index: int, now: int) -> int:
    """What came from the rig since the last cycle; the cause that disturbs this one."""
    feedback = link.feedback[0]
    cause = Cause.NONE.value
    if index == 0:
        return cause
    if endpoint.transport != Transport.IN_PROCESS:
        cause = receive_feedback(endpoint, supervision, feedback, now)
        judge_cycle(supervision, cause, index)
    if _rig_fault(endpoint, feedback):
        if supervision.failed == Cause.NONE:  # the safe command may take the fault away
            for i in range(endpoint.shafts):
                link.faults[i] = feedback.fault[i]
        fail(supervision, Cause.RIG_FAULT, index)
    return cause


@part
def _count_missed(link: Any, index: int) -> None:
    """``missed``: periods that went by for the rig because deadlines were left out, and not yet for the arm.

    Left-out deadlines are known at once, and show in the rig's clock one answer later. A rig that has no time of its
    own, as the twin, which goes on by a period for each command, has missed nothing.
    """
    executive, feedback = records_at(link.executive_at, 1, EXECUTIVE)[0], link.feedback[0]
    link.missed = 0
    if executive.skipped > link.skipped:
        link.due += executive.skipped - link.skipped
        link.skipped, link.late_samples = executive.skipped, LATE_SAMPLES
    if feedback.time == link.sampled:
        link.unsampled += 1
        return
    passed = (2 * (feedback.time - link.sampled) + link.period) // (2 * link.period) - 1 - link.unsampled
    link.sampled, link.unsampled = feedback.time, 0
    if link.simulated == 0:
        link.due = 0
    if link.due == 0:
        return
    link.missed = max(0, min(link.due, passed, executive.cycles - index - 1))
    link.due -= link.missed
    link.late_samples -= 1
    if link.late_samples == 0:
        link.due = 0
    link.made_up += link.missed
    executive.cycles -= link.missed  # the run ends at the same time


@part
def _simulate(link: Any, endpoint: Any, supervision: Any, index: int) -> None:
    """The command of this cycle: that of the substitution, or the safe one."""
    command = link.command[0]
    if index == 0:
        make_safe(command)
    elif endpoint.transport != Transport.IN_PROCESS and endpoint.accepted == 0:
        make_safe(command)  # the first sample is still to come: the arm is not carried, and begins later
        records_at(link.executive_at, 1, EXECUTIVE)[0].cycles += 1
    elif supervision.failed == Cause.NONE:
        at = (link.feedback.ctypes.data, link.command.ctypes.data)
        period = link.period * 1e-9
        call_piece(link.cycle_at, link.record_at, at[0], at[1], link.shafts, link.missed * period, period)
        link.simulated += 1
        stopped = link.status_at != 0 and numbers_at(link.status_at, np.int64)[0] != 0
        if stopped or not limit_command(link, endpoint, command):
            fail(supervision, Cause.COMMAND, index)
    if supervision.failed != Cause.NONE:
        make_safe(command)
    command.time = index * link.period


@part
def _note(link: Any, supervision: Any, cause: int, safe: int, now: int) -> None:
    """One row about this cycle, while there is room."""
    if link.rows >= link.room:
        return
    row = records_at(link.rows_at, link.room, LINK_ROW)[link.rows]
    row.began, row.cause, row.safe = now, cause, safe
    row.age = supervision.row
    link.rows += 1


@part
def _step_twin(link: Any, span: float) -> None:
    """In process: the twin carries out the command."""
    at = (link.rig_at, link.command.ctypes.data, link.feedback.ctypes.data)
    call_piece(link.rig_step_at, at[0], at[1], at[2], link.shafts, 0.0, span)


@helper
def _count_compute(link: Any, time_ns: int) -> None:
    """The compute time of this cycle, for the histogram and for the loop's reference."""
    add_time(link.compute, time_ns)
    records_at(link.executive_at, 1, EXECUTIVE)[0].computed = time_ns


@callback("int64", "int64", "int64", result="int64")
def link_cycle(link_at: int, index: int, now: int) -> int:
    """One cycle: receive, judge, simulate, send; ``FINISHED`` when the safe command has been repeated enough."""
    link = records_at(link_at, 1, LINK)[0]
    endpoint, supervision = link.endpoint[0], link.supervision[0]
    cause = _receive(link, endpoint, supervision, index, now)
    received = now_ns(endpoint.timespec)
    if endpoint.transport != Transport.IN_PROCESS and endpoint.accepted > 0:
        _count_missed(link, index)
    _simulate(link, endpoint, supervision, index)
    if endpoint.transport == Transport.IN_PROCESS:
        _count_compute(link, now_ns(endpoint.timespec) - received)
        _step_twin(link, link.period * 1e-9 if index > 0 else 0.0)
    else:
        size = write_command(endpoint, link.command[0], now_ns(endpoint.timespec))
        ready = now_ns(endpoint.timespec)
        _count_compute(link, ready - received)
        if supervision.read_at != 0:
            add_time(link.response, ready - supervision.read_at)
        send_frame(endpoint, size)
    _note(link, supervision, cause, 1 if supervision.failed != Cause.NONE else 0, now)
    if supervision.failed != Cause.NONE:
        link.linger -= 1
        if link.linger <= 0:
            return FINISHED
    return 0


@part
def _rehearse_receive(link: Any, endpoint: Any, now: int) -> None:
    """Judge the last frame once more, as if it had just come."""
    endpoint.newest = sequence_of(endpoint) - 1
    endpoint.sample_time = endpoint.received[HEADER_WORDS] - 1
    length = size_of(FEEDBACK, endpoint.shafts, endpoint.authenticated)
    judge_frame(endpoint, link.feedback[0], length, now)


@callback("int64", "int64", "int64", result="int64")
def link_rehearse(link_at: int, index: int, now: int) -> int:
    """The coming cycle with the last samples, from decoding to encoding: nothing is sent, read or remembered."""
    link = records_at(link_at, 1, LINK)[0]
    endpoint, supervision = link.endpoint[0], link.supervision[0]
    if link.simulated == 0 or supervision.failed != Cause.NONE:
        return 0
    keep_memory(link.regions_at, link.regions)
    remote = endpoint.transport != Transport.IN_PROCESS
    if remote:
        _rehearse_receive(link, endpoint, now)
    link.cycle_at, link.missed = link.rehearsal_at, 0
    _simulate(link, endpoint, supervision, index)
    if remote:
        write_command(endpoint, link.command[0], now)
    put_back(link.regions_at, link.regions)
    return 0


@part
def end_cause(link: Any) -> int:
    """Why a run ended: what failed the link, otherwise what ended the loop; NONE only if it is complete."""
    failed, executive = link.supervision[0].failed, records_at(link.executive_at, 1, EXECUTIVE)[0]
    if failed != Cause.NONE or executive.ending == Ending.COMPLETE:
        return failed  # type: ignore[no-any-return]
    if executive.ending == Ending.OVERRUN:
        return Cause.OVERRUN
    if executive.ending == Ending.CLOCK:
        return Cause.CLOCK
    return Cause.ENDED if executive.ending == Ending.ASKED or executive.end_asked != 0 else Cause.LOOP


@callback("int64", "int64", "int64", result="int64")
def link_finish(link_at: int, index: int, now: int) -> int:
    """The end of a run, whatever ended it: the safe command and BYE, each three times, for frames may be lost.

    Where the run is not complete, these commands have rows of their own: a recording shows how it was made safe.
    """
    link = records_at(link_at, 1, LINK)[0]
    endpoint, cause = link.endpoint[0], end_cause(link)
    remote, incomplete = endpoint.transport != Transport.IN_PROCESS, cause != Cause.NONE
    link.finished = 1
    make_safe(link.command[0])
    for i in range(LAST_COMMANDS):
        link.command[0].time, began = (index + i) * link.period, now_ns(endpoint.timespec)
        if remote:
            send_frame(endpoint, write_command(endpoint, link.command[0], began))
        elif incomplete:
            _step_twin(link, link.period * 1e-9)
        if incomplete:
            _note(link, link.supervision[0], cause, 1, began)
    for _ in range(LAST_COMMANDS if remote else 0):
        begin_frame(endpoint, BYE, endpoint.newest, endpoint.newest_sent, now_ns(endpoint.timespec))
        endpoint.sending[HEADER_WORDS] = cause
        send_frame(endpoint, seal_frame(endpoint, BYE))
    return 0
