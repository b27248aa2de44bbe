"""Checksums, frames and line coding in compiled code against the standard library and plain Python."""

import ctypes
import hashlib
import hmac
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servotwin.compiled.jit import callback
from servotwin.compiled.native_calls import records_at
from servotwin.hil.link.causes import Cause
from servotwin.hil.link.checks import HASHER, crc32, hmac_sha256, put_mac, set_key
from servotwin.hil.link.cobs import decode_cobs, encode_cobs
from servotwin.hil.link.codec import (
    COMMAND,
    command_cause,
    feedback_cause,
    frame_cause,
    read_command,
    read_feedback,
    sequence_cause,
    write_command,
    write_feedback,
)
from servotwin.hil.link.endpoint import ENDPOINT, ROOM, Transport, new_endpoint
from servotwin.hil.link.frames import HEADER_SIZE, HEADER_WORDS, Kind, frame_dtype, frame_size
from servotwin.hil.link.handshake import build_frame
from servotwin.hil.ports import SHAFT_COMMAND, SHAFT_FEEDBACK

KEY = b"a key of twenty-four byt"
SESSION = 0x0123456789ABCDEF


@callback("int64", "int64", result="int64")
def _crc(at: int, length: int) -> int:
    return crc32(at, length)


@callback("int64", "int64", "int64", "int64", result="void")
def _mac(hasher: int, at: int, length: int, target: int) -> None:
    record = records_at(hasher, 1, HASHER)[0]
    hmac_sha256(record, at, length)
    put_mac(record, target)


@callback("int64", "int64", "int64", result="int64")
def _encode(at: int, length: int, target: int) -> int:
    return encode_cobs(at, length, target)


@callback("int64", "int64", "int64", "int64", result="int64")
def _decode(at: int, length: int, target: int, room: int) -> int:
    return decode_cobs(at, length, target, room)


@callback("int64", "int64", "int64", "int64", result="int64")
def _write(endpoint: int, record: int, kind: int, now: int) -> int:
    end = records_at(endpoint, 1, ENDPOINT)[0]
    if kind == COMMAND:
        return write_command(end, records_at(record, 1, SHAFT_COMMAND)[0], now)
    return write_feedback(end, records_at(record, 1, SHAFT_FEEDBACK)[0], now)


@callback("int64", "int64", "int64", "int64", result="int64")
def _read(endpoint: int, record: int, kind: int, length: int) -> int:
    end = records_at(endpoint, 1, ENDPOINT)[0]
    cause = frame_cause(end, length, kind)
    if cause == Cause.NONE:
        cause = sequence_cause(end)
    if cause == Cause.NONE:
        cause = command_cause(end) if kind == COMMAND else feedback_cause(end)
    if cause == Cause.NONE:
        if kind == COMMAND:
            read_command(end, records_at(record, 1, SHAFT_COMMAND)[0])
        else:
            read_feedback(end, records_at(record, 1, SHAFT_FEEDBACK)[0])
    return cause


def _call(function, *arguments):
    kinds = [ctypes.c_int64] * len(arguments)
    result = None if function.result == "void" else ctypes.c_int64
    return ctypes.CFUNCTYPE(result, *kinds)(function.address)(*arguments)


def _array(data: bytes) -> np.ndarray:
    return np.frombuffer(data + b"\0", np.uint8).copy()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_crc_and_hmac_of_any_bytes_are_those_of_the_library(data):
    given_bytes, target = _array(data), np.zeros(32, np.uint8)
    assert _call(_crc, given_bytes.ctypes.data, len(data)) == zlib.crc32(data)
    hasher = np.zeros(1, HASHER)
    set_key(hasher, KEY)
    _call(_mac, hasher.ctypes.data, given_bytes.ctypes.data, len(data), target.ctypes.data)
    assert target.tobytes() == hmac.digest(KEY, data, hashlib.sha256)


def _cobs(data: bytes) -> bytes:
    """The coding by its definition: each zero is replaced by the distance to the next one."""
    coded = b""
    for part in data.split(b"\0"):
        while len(part) >= 254:
            coded, part = coded + b"\xff" + part[:254], part[254:]
        coded += bytes((len(part) + 1,)) + part
    return coded


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400) | st.integers(0, 600).map(lambda n: b"\x07" * n))
def test_cobs_of_any_bytes_has_no_zero_and_reads_back(data):
    source, coded, back = _array(data), np.zeros(700, np.uint8), np.zeros(700, np.uint8)
    length = _call(_encode, source.ctypes.data, len(data), coded.ctypes.data)
    text = coded.tobytes()[:length]
    assert text[-1] == 0
    assert 0 not in text[:-1]
    assert length <= len(data) + len(data) // 254 + 2
    assert _call(_decode, coded.ctypes.data, length - 1, back.ctypes.data, 700) == len(data)
    assert back.tobytes()[: len(data)] == data
    if b"\x07" * 254 not in data:  # behind a run of just 254 the end may have a code of its own, or none
        assert text[:-1] == _cobs(data)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_cobs_of_garbage_never_writes_beyond_its_room(data):
    source, back = _array(data), np.full(64, 0xAA, np.uint8)
    found = _call(_decode, source.ctypes.data, len(data), back.ctypes.data, 32)
    assert -1 <= found <= 32
    assert (back[33:] == 0xAA).all()


def _end(shafts: int, key: bytes | None):
    endpoint = new_endpoint(shafts, Transport.UDP, key)
    endpoint["session"], endpoint["encoder"], endpoint["sample_time"] = SESSION, 1, np.iinfo(np.int64).min
    return endpoint


def _records(seed: int):
    rng = np.random.default_rng(seed)
    command, feedback = np.zeros(1, SHAFT_COMMAND), np.zeros(1, SHAFT_FEEDBACK)
    for record in (command, feedback):
        for name in record.dtype.names:
            shape = record[name].shape
            whole = record[name].dtype == np.int64
            record[name] = rng.integers(0, 2, shape) if whole else rng.normal(size=shape)
        record["time"] = 12345678901234
    return command, feedback


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("shafts", [1, 3, 8])
@pytest.mark.parametrize("kind", [Kind.COMMAND, Kind.FEEDBACK])
def test_compiled_frame_is_the_frame_of_the_table_bit_for_bit(kind, shafts, key):
    endpoint, record = _end(shafts, key), _records(shafts)[0 if kind == Kind.COMMAND else 1]
    endpoint["newest"], endpoint["newest_sent"] = 41, 7_000_000_000
    size = _call(_write, endpoint.ctypes.data, record.ctypes.data, int(kind), 123456789)
    assert size == frame_size(kind, shafts, key is not None)
    frame = endpoint["sending"][0].tobytes()[:size]
    header = {"session": SESSION, "sequence": 1, "echo": 41, "sent": 123456789, "echo_sent": 7_000_000_000}
    stamps = {name: record[name][0] for name in ("time", "applied") if name in record.dtype.names}
    fields = {name: record[name][0, :shafts] for name in record.dtype.names if name not in stamps}
    assert frame == build_frame(kind, shafts, key, header, **stamps, shaft=fields)

    other, back = _end(shafts, key), np.zeros_like(record)
    other["received"][0] = endpoint["sending"][0]
    assert _call(_read, other.ctypes.data, back.ctypes.data, int(kind), size) == Cause.NONE
    for name in record.dtype.names:
        part = (0,) if name in stamps else (0, slice(shafts))
        np.testing.assert_array_equal(back[name][part], record[name][part])


def _changed(kind, change, key=None, shafts=2, resealed=True, **limits):
    """What the decoder says about a frame in which something is changed, with a checksum that fits."""
    command, feedback = _records(1)
    record = command if kind == Kind.COMMAND else feedback
    endpoint = _end(shafts, key)
    size = _call(_write, endpoint.ctypes.data, record.ctypes.data, int(kind), 5)
    frame = np.frombuffer(
        endpoint["sending"][0].tobytes()[:size], frame_dtype(kind, shafts, key is not None)
    ).copy()
    change(frame)
    data = frame.tobytes()
    if resealed:
        body = data[: len(data) - 4 - (32 if key else 0)]
        data = body + zlib.crc32(body).to_bytes(4, "little")
        data += hmac.digest(key, data, hashlib.sha256) if key else b""
    other = _end(shafts, key)
    for name, value in limits.items():
        other[name] = value
    other["received"][0] = np.frombuffer(data.ljust(ROOM, b"\0"), np.int64)
    return Cause(_call(_read, other.ctypes.data, np.zeros_like(record).ctypes.data, int(kind), len(data)))


def _set(name, value, shaft=None):
    def change(frame):
        if shaft is None:
            frame[name] = value
        else:
            frame["shaft"][name][0, shaft] = value

    return change


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (_set("magic", 1), Cause.MAGIC),
        (_set("version", 1), Cause.VERSION),
        (_set("p_applied", np.iinfo(np.int64).max), Cause.RANGE),
        (_set("kind", 4), Cause.KIND),
        (_set("shafts", 3), Cause.KIND),
        (_set("flags", 2), Cause.KIND),
        (_set("session", 1), Cause.SESSION),
        (_set("sequence", 0), Cause.STALE),
        (_set("p_time", np.iinfo(np.int64).min), Cause.STALE),
        (_set("rate", np.nan, 0), Cause.NOT_FINITE),
        (_set("rate", np.inf, 1), Cause.NOT_FINITE),
        (_set("angle", np.nan, 1), Cause.NOT_FINITE),
        (_set("drive_current", np.nan, 1), Cause.NOT_FINITE),
        (_set("load_current", 1e9, 1), Cause.RANGE),
        (_set("rate", 1e9, 1), Cause.RANGE),
        (_set("fault", 5, 1), Cause.RANGE),
        (_set("fault", -1, 0), Cause.RANGE),
    ],
)
@pytest.mark.parametrize("key", [None, KEY])
def test_feedback_with_a_wrong_field_is_refused_for_that_field(change, cause, key):
    limits = {"rate_limit": 1e6, "current_limit": 1e6}
    assert _changed(Kind.FEEDBACK, change, key, **limits) == cause


@pytest.mark.parametrize(
    ("since", "stamped", "cause"),
    [
        (2_000_000, 1, Cause.NONE),
        (2_000_001, 1, Cause.RANGE),
        (2_000_001, 0, Cause.NONE),
        (10**18, 1, Cause.RANGE),
    ],
)
def test_command_that_took_effect_periods_ago_is_refused_where_stamps_give_the_age(since, stamped, cause):
    def change(frame):
        frame["p_applied"] = frame["p_time"] - since

    limits = {"rate_limit": 1e6, "current_limit": 1e6, "period": 1_000_000, "stamped": stamped}
    assert _changed(Kind.FEEDBACK, change, None, **limits) == cause


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (_set("drive_voltage", np.nan, 0), Cause.NOT_FINITE),
        (_set("load_torque", -np.inf, 1), Cause.NOT_FINITE),
        (_set("drive_voltage", 21.0, 1), Cause.RANGE),
        (_set("load_torque", -21.0, 0), Cause.RANGE),
        (_set("enable", 2, 0), Cause.RANGE),
        (_set("brake_released", -1, 1), Cause.RANGE),
    ],
)
def test_command_with_a_wrong_field_is_refused_for_that_field(change, cause):
    assert _changed(Kind.COMMAND, change, voltage_limit=20.0, torque_limit=20.0) == cause


def test_every_bit_of_a_frame_is_protected():
    size = frame_size(Kind.FEEDBACK, 2)
    for bit in range(8 * size):

        def flip(frame, bit=bit):
            frame.view(np.uint8).reshape(-1)[bit // 8] ^= 1 << (bit % 8)

        assert _changed(Kind.FEEDBACK, flip, resealed=False) != Cause.NONE


def test_authenticated_frame_with_a_right_checksum_and_another_key_is_refused():
    def spoil(frame):
        frame["mac"][0, 3] ^= 1

    assert _changed(Kind.FEEDBACK, spoil, KEY, resealed=False) == Cause.AUTHENTICATION


def test_sequence_numbers_name_duplicates_reordered_and_lost_frames():
    sender, receiver, record = _end(1, None), _end(1, None), _records(1)[1]
    frames = []
    for k in range(200):
        record["time"] += 1
        size = _call(_write, sender.ctypes.data, record.ctypes.data, int(Kind.FEEDBACK), k)
        frames.append(sender["sending"][0].copy())

    def arrives(k):
        receiver["received"][0] = frames[k]
        return Cause(_call(_read, receiver.ctypes.data, record.ctypes.data, int(Kind.FEEDBACK), size))

    lost = receiver["counts"][0, Cause.LOST : Cause.LOST + 1]
    assert arrives(0) == Cause.NONE
    assert arrives(0) == Cause.DUPLICATE
    assert arrives(3) == Cause.NONE
    assert lost[0] == 2
    assert arrives(1) == Cause.REORDERED
    assert lost[0] == 1
    assert arrives(1) == Cause.DUPLICATE
    assert arrives(3) == Cause.DUPLICATE
    assert arrives(199) == Cause.NONE
    assert lost[0] == 1 + 195
    assert arrives(5) == Cause.STALE  # too old to be remembered
    assert arrives(198) == Cause.REORDERED


def test_layout_of_the_table_has_no_gaps():
    assert HEADER_SIZE == 8 * HEADER_WORDS == 40
    for kind in Kind:
        for shafts in (1, 8):
            assert frame_dtype(kind, shafts).itemsize == frame_size(kind, shafts)
