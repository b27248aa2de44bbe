"""Frames in compiled code: written from the records of ``hil/ports.py``, checked and read back, without allocation.

A frame is accepted only if its length, magic number, version, kind, shafts, flags, checksum, authentication and
session fit, and every number of its payload is finite and within the limits of the rig. ``Cause`` says what did not.
Sequence numbers are looked at last (``sequence_cause``), when it is clear that the peer sent the frame.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import numbers_at
from servotwin.hil.link.causes import Cause
from servotwin.hil.link.checks import crc32, hmac_sha256, mac_fits, put_mac
from servotwin.hil.link.frames import (
    CHECK,
    EACH,
    HEADER_SIZE,
    HEADER_WORDS,
    MAC,
    MAGIC,
    ONCE,
    VERSION,
    WORD,
    Kind,
)

assert sys.byteorder == "little", "words of frames are read as they stand in memory"
SESSION, SEQUENCE, SENT, ECHO_SENT = range(1, HEADER_WORDS)  # words of the header
HALF = 0xFFFFFFFF
SAMPLES = 2  # words of a FEEDBACK before those of its first shaft
MOST_SINCE = (
    2  # periods from a command to the samples that answer it, where their age is taken from the time stamps
)
WINDOW = 64  # frames behind the newest whose arrival is remembered
COMMAND, FEEDBACK = int(Kind.COMMAND), int(Kind.FEEDBACK)


@helper
def size_of(kind: int, shafts: int, authenticated: int) -> int:
    """Bytes of a frame."""
    return HEADER_SIZE + WORD * (ONCE[kind] + EACH[kind] * shafts) + CHECK + (MAC if authenticated else 0)  # type: ignore[no-any-return]


@helper
def begin_frame(endpoint: Any, kind: int, echo: int, echo_sent: int, now: int) -> None:
    """The header of the next frame to be sent."""
    words = endpoint.sending
    endpoint.sequence += 1
    words[0] = (
        MAGIC | (VERSION << 32) | (kind << 40) | (endpoint.shafts << 48) | (endpoint.authenticated << 56)
    )
    words[SESSION] = np.int64(endpoint.session)
    words[SEQUENCE] = (endpoint.sequence & HALF) | ((echo & HALF) << 32)
    words[SENT], words[ECHO_SENT] = now, echo_sent


@part
def seal_frame(endpoint: Any, kind: int) -> int:
    """Checksum and authentication of the frame in ``sending``; its size."""
    size = size_of(kind, endpoint.shafts, endpoint.authenticated)
    at = endpoint.sending.ctypes.data
    body = size - CHECK - (MAC if endpoint.authenticated else 0)
    numbers_at(at + body, np.uint32)[0] = crc32(at, body)
    if endpoint.authenticated:
        hmac_sha256(endpoint.hasher, at, body + CHECK)
        put_mac(endpoint.hasher, at + body + CHECK)
    return size


@part
def write_command(endpoint: Any, command: Any, now: int) -> int:
    """A COMMAND in ``sending``; its size."""
    begin_frame(endpoint, COMMAND, endpoint.newest, endpoint.newest_sent, now)
    words, at = endpoint.sending, HEADER_WORDS
    reals = numbers_at(words.ctypes.data, np.float64)
    words[at] = command.time
    for i in range(endpoint.shafts):
        k = at + 1 + 4 * i
        reals[k], reals[k + 1] = command.drive_voltage[i], command.load_torque[i]
        words[k + 2], words[k + 3] = command.enable[i], command.brake_released[i]
    return seal_frame(endpoint, COMMAND)


@part
def write_feedback(endpoint: Any, feedback: Any, now: int) -> int:
    """A FEEDBACK in ``sending``, the answer to the newest command; its size."""
    begin_frame(endpoint, FEEDBACK, endpoint.newest, endpoint.newest_sent, now)
    words, at = endpoint.sending, HEADER_WORDS
    reals = numbers_at(words.ctypes.data, np.float64)
    words[at], words[at + 1] = feedback.time, feedback.applied
    for i in range(endpoint.shafts):
        k = at + SAMPLES + 5 * i
        reals[k], reals[k + 1] = feedback.rate[i], feedback.angle[i]
        reals[k + 2], reals[k + 3] = feedback.drive_current[i], feedback.load_current[i]
        words[k + 4] = feedback.fault[i]
    return seal_frame(endpoint, FEEDBACK)


@part
def header_cause(endpoint: Any, length: int, kind: int) -> int:
    """What is wrong with length and first word of the ``length`` bytes in ``received``."""
    if length < HEADER_SIZE + CHECK:
        return Cause.LENGTH
    head = endpoint.received[0]
    if head & HALF != MAGIC:
        return Cause.MAGIC
    if (head >> 32) & 0xFF != VERSION:
        return Cause.VERSION
    expected = kind | (endpoint.shafts << 8) | (endpoint.authenticated << 16)
    if (head >> 40) & 0xFFFFFF != expected:
        return Cause.KIND
    fits = length == size_of(kind, endpoint.shafts, endpoint.authenticated)
    return Cause.NONE if fits else Cause.LENGTH


@part
def frame_cause(endpoint: Any, length: int, kind: int) -> int:
    """What is wrong with the ``length`` bytes in ``received`` as a frame of a kind of this session."""
    cause = header_cause(endpoint, length, kind)
    if cause != Cause.NONE:
        return cause
    at = endpoint.received.ctypes.data
    body = length - CHECK - (MAC if endpoint.authenticated else 0)
    if numbers_at(at + body, np.uint32)[0] != crc32(at, body):
        return Cause.CHECKSUM
    if endpoint.authenticated:
        hmac_sha256(endpoint.hasher, at, body + CHECK)
        if not mac_fits(endpoint.hasher, at + body + CHECK):
            return Cause.AUTHENTICATION
    return Cause.NONE if endpoint.received[SESSION] == np.int64(endpoint.session) else Cause.SESSION


@helper
def sequence_of(endpoint: Any) -> int:
    """The sequence number of the frame in ``received``."""
    return endpoint.received[SEQUENCE] & HALF  # type: ignore[no-any-return]


@helper
def echo_of(endpoint: Any) -> int:
    """The sequence number that the frame in ``received`` answers."""
    return (endpoint.received[SEQUENCE] >> 32) & HALF  # type: ignore[no-any-return]


@part
def sequence_cause(endpoint: Any) -> int:
    """Whether the frame in ``received`` is newer than all before; notes that it came, and what it left out."""
    number = sequence_of(endpoint)
    ahead = number - endpoint.newest
    if ahead <= 0:
        bit = np.uint64(1) << np.uint64(min(-ahead, WINDOW - 1))
        if -ahead >= WINDOW or number == 0:
            return Cause.STALE
        if endpoint.seen & bit:
            return Cause.DUPLICATE
        endpoint.seen |= bit
        endpoint.counts[Cause.LOST] -= 1
        return Cause.REORDERED
    endpoint.counts[Cause.LOST] += ahead - 1
    endpoint.seen = (endpoint.seen << np.uint64(ahead)) if ahead < WINDOW else np.uint64(0)
    endpoint.seen |= np.uint64(1)
    endpoint.newest, endpoint.newest_sent = number, endpoint.received[SENT]
    return Cause.NONE


@helper
def number_cause(value: float, most: float) -> int:
    """What is wrong with a number that may be ``most`` at most, in either direction."""
    if not math.isfinite(value):
        return Cause.NOT_FINITE
    return Cause.RANGE if abs(value) > most else Cause.NONE


@part
def feedback_cause(endpoint: Any) -> int:
    """What is wrong with the payload of the FEEDBACK in ``received``."""
    words, at = endpoint.received, HEADER_WORDS
    reals = numbers_at(words.ctypes.data, np.float64)
    for i in range(endpoint.shafts):
        k = at + SAMPLES + 5 * i
        cause = number_cause(reals[k], endpoint.rate_limit[i])
        if cause == Cause.NONE and (endpoint.encoder[i] != 0) != math.isfinite(reals[k + 1]):
            cause = Cause.NOT_FINITE
        for j in (2, 3):
            if cause == Cause.NONE:
                cause = number_cause(reals[k + j], endpoint.current_limit[i])
        if cause == Cause.NONE and not 0 <= words[k + 4] <= 4:
            cause = Cause.RANGE
        if cause != Cause.NONE:
            return cause
    if words[at] <= endpoint.sample_time:
        return Cause.STALE
    since = words[at] - words[at + 1]  # from the command to the samples
    most = MOST_SINCE * endpoint.period
    if words[at + 1] > words[at] or (endpoint.stamped != 0 and not 0 <= since <= most):
        return Cause.RANGE
    return Cause.NONE


@part
def angle_cause(endpoint: Any, feedback: Any, now: int) -> int:
    """Whether an angle of the FEEDBACK in ``received`` is further from the last one than the limit of the rate allows.

    abs(q - q_last) <= w_limit (t - t_last + T n): instants t of arrival [s], period T [s], commands n since then.
    """
    if endpoint.accepted == 0:
        return Cause.NONE
    reals = numbers_at(endpoint.received.ctypes.data, np.float64)
    commands = max(echo_of(endpoint) - endpoint.echoed, 1)
    span = 1e-9 * (now - endpoint.arrived + endpoint.period * commands)
    for i in range(endpoint.shafts):
        step = reals[HEADER_WORDS + SAMPLES + 1 + 5 * i] - feedback.angle[i]
        if endpoint.encoder[i] != 0 and abs(step) > endpoint.rate_limit[i] * span:
            return Cause.RANGE
    return Cause.NONE


@part
def read_feedback(endpoint: Any, feedback: Any) -> None:
    """The payload of the FEEDBACK in ``received``, which has been checked."""
    words, at = endpoint.received, HEADER_WORDS
    reals = numbers_at(words.ctypes.data, np.float64)
    feedback.time = endpoint.sample_time = words[at]
    feedback.applied = words[at + 1]
    endpoint.echoed = echo_of(endpoint)
    for i in range(endpoint.shafts):
        k = at + SAMPLES + 5 * i
        feedback.rate[i], feedback.angle[i] = reals[k], reals[k + 1]
        feedback.drive_current[i], feedback.load_current[i] = reals[k + 2], reals[k + 3]
        feedback.fault[i] = words[k + 4]


@part
def command_cause(endpoint: Any) -> int:
    """What is wrong with the payload of the COMMAND in ``received``."""
    words, at = endpoint.received, HEADER_WORDS
    reals = numbers_at(words.ctypes.data, np.float64)
    for i in range(endpoint.shafts):
        k = at + 1 + 4 * i
        cause = number_cause(reals[k], endpoint.voltage_limit[i])
        if cause == Cause.NONE:
            cause = number_cause(reals[k + 1], endpoint.torque_limit[i])
        if cause == Cause.NONE and ((words[k + 2] | words[k + 3]) & ~1) != 0:
            cause = Cause.RANGE
        if cause != Cause.NONE:
            return cause
    return Cause.STALE if words[at] <= endpoint.sample_time else Cause.NONE


@part
def read_command(endpoint: Any, command: Any) -> None:
    """The payload of the COMMAND in ``received``, which has been checked."""
    words, at = endpoint.received, HEADER_WORDS
    reals = numbers_at(words.ctypes.data, np.float64)
    command.time = endpoint.sample_time = words[at]
    for i in range(endpoint.shafts):
        k = at + 1 + 4 * i
        command.drive_voltage[i], command.load_torque[i] = reals[k], reals[k + 1]
        command.enable[i], command.brake_released[i] = words[k + 2], words[k + 3]
