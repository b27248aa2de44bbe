"""Frames between a simulator and a rig, for the fuzzer: what makes them, and all decoders that read them."""

from __future__ import annotations

import ctypes
import math
import struct
import zlib
from functools import cache
from random import Random
from typing import Any

import numpy as np

SESSION = 0x1122334455667788
KEY = bytes(range(32))
LENGTH = struct.Struct("<H")
STRANGE = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0)
WIDTHS = (1, 2, 4, 8)


def frames(rng: Random) -> bytes:
    """Some frames, each behind its length."""
    return b"".join(LENGTH.pack(len(frame)) + frame for frame in (_frame(rng) for _ in range(40)))


def _frame(rng: Random) -> bytes:
    from servotwin.hil.link.frames import PAYLOADS, Kind
    from servotwin.hil.link.handshake import build_frame

    if rng.random() < 0.2:
        return rng.randbytes(rng.choice((0, 1, 39, 40, 44, 92, 100, 124, 404, 512, 600)))
    kind, shafts, key = rng.choice(list(Kind)), rng.randint(1, 8), rng.choice((None, None, KEY))
    header = {"session": SESSION, "sequence": rng.choice((1, 2, 3, 70, 2**32 - 1)), "echo": rng.randint(0, 3)}
    if rng.random() < 0.2:
        header |= {"version": rng.randint(0, 255)}

    tame = rng.random() < 0.6

    def number(code: str) -> Any:
        if tame:
            return rng.choice((0, 1))
        return rng.choice(STRANGE) if code == "f8" else rng.choice((0, 1, 2, 3, 2**62))

    payload = PAYLOADS[kind]
    shaft = {word.name: [number(word.kind) for _ in range(shafts)] for word in payload.shaft}
    once = {word.name: number(word.kind) for word in payload.once}
    data = bytearray(build_frame(kind, shafts, key, header, shaft=shaft, **once))
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.5:
            body = bytes(data[:-4])
            data[-4:] = zlib.crc32(body).to_bytes(4, "little")
    return bytes(data[: rng.randint(0, len(data))] if rng.random() < 0.1 else data)


@cache
def _decoder() -> Any:
    """Both payload decoders and the line's, compiled: ``f(endpoint, feedback, command, line, length)``."""
    from servotwin.compiled.jit import callback
    from servotwin.compiled.native_calls import records_at
    from servotwin.hil.link.causes import Cause
    from servotwin.hil.link.cobs import decode_cobs
    from servotwin.hil.link.codec import (
        COMMAND,
        FEEDBACK,
        command_cause,
        feedback_cause,
        frame_cause,
        read_command,
        read_feedback,
        sequence_cause,
    )
    from servotwin.hil.link.endpoint import ENDPOINT, ROOM
    from servotwin.hil.ports import SHAFT_COMMAND, SHAFT_FEEDBACK

    @callback("int64", "int64", "int64", "int64", "int64", result="int64")
    def decode(endpoint_at: int, feedback_at: int, command_at: int, line_at: int, length: int) -> int:
        end = records_at(endpoint_at, 1, ENDPOINT)[0]
        decode_cobs(end.received.ctypes.data, length, line_at, ROOM)
        if frame_cause(end, length, FEEDBACK) == Cause.NONE:
            sequence_cause(end)
            if feedback_cause(end) == Cause.NONE:
                read_feedback(end, records_at(feedback_at, 1, SHAFT_FEEDBACK)[0])
                return 1
        if frame_cause(end, length, COMMAND) == Cause.NONE:
            sequence_cause(end)
            if command_cause(end) == Cause.NONE:
                read_command(end, records_at(command_at, 1, SHAFT_COMMAND)[0])
                return 1
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(decode.address)


def read_all(data: bytes) -> int:
    """How many frames are accepted; what is accepted is finite and within the limits."""
    from servotwin.hil.link.endpoint import ROOM, Transport, new_endpoint
    from servotwin.hil.link.frames import Kind
    from servotwin.hil.link.handshake import read_frame
    from servotwin.hil.ports import SHAFT_COMMAND, SHAFT_FEEDBACK

    feedback, command, line = (
        np.zeros(1, SHAFT_FEEDBACK),
        np.zeros(1, SHAFT_COMMAND),
        np.zeros(ROOM + 8, np.uint8),
    )
    accepted = at = 0
    while at + LENGTH.size <= len(data):
        (length,) = LENGTH.unpack_from(data, at)
        frame = data[at + LENGTH.size : at + LENGTH.size + length]
        at += LENGTH.size + length
        for key in (None, KEY):
            for kind in Kind:
                read_frame(frame, kind, key)
            shafts = frame[6] if len(frame) > 6 and 1 <= frame[6] <= 8 else 1
            end = new_endpoint(shafts, Transport.UDP, key)
            end["session"], end["sample_time"] = SESSION, -1
            for name in ("voltage_limit", "torque_limit", "rate_limit", "current_limit"):
                end[name] = 1e6
            cut = frame[:ROOM]
            end["received"][0] = np.frombuffer(cut.ljust(ROOM, b"\0"), np.int64)
            place = (feedback.ctypes.data, command.ctypes.data, line.ctypes.data)
            accepted += _decoder()(end.ctypes.data, *place, len(cut))
    numbers = [feedback["rate"], feedback["drive_current"], feedback["load_current"]]
    numbers += [command["drive_voltage"], command["load_torque"]]
    if any(not (np.abs(each) <= 1e6).all() for each in numbers) or line[ROOM:].any():
        raise AssertionError("a number beyond the limits was accepted, or bytes beyond the room were written")
    return accepted
