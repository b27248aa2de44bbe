"""EtherCAT frames: there and back, bounds, and the standard's layout."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from servotwin.errors import InputError
from servotwin.fieldbus.ethercat.frames import (
    MOST_DATA,
    Command,
    Datagram,
    Frame,
    FrameError,
    decode_frame,
    encode_frame,
    physical,
)
from servotwin.fieldbus.ethercat.pcap import PcapWriter, read_pcap

DATAGRAMS = some.builds(
    Datagram,
    command=some.sampled_from(list(Command)).map(int),
    address=some.integers(0, 2**32 - 1),
    data=some.binary(max_size=90),
    index=some.integers(0, 255),
    counter=some.integers(0, 0xFFFF),
    interrupts=some.integers(0, 0xFFFF),
    circulated=some.booleans(),
)


@given(some.lists(DATAGRAMS, min_size=1, max_size=12))
def test_frame_reads_back(datagrams: list[Datagram]) -> None:
    frame = Frame(tuple(datagrams))
    assert decode_frame(encode_frame(frame)) == frame


def test_frame_has_the_bytes_of_the_standard() -> None:
    """BRD of AL status with index 7, byte by byte after ETG.1000.4."""
    frame = encode_frame(Frame((physical(Command.BRD, 0, 0x0130, bytes(2), 7),)))
    assert frame[:6] == b"\xff" * 6
    assert (
        frame[12:].hex()
        == "88a4" + "0e10" + "0707" + "0000" + "3001" + "0200" + "0000" + "0000" + "0000" + "00" * 30
    )
    assert len(frame) == 60


@given(some.binary(max_size=1600))
def test_random_bytes_are_decoded_or_refused(data: bytes) -> None:
    with pytest.raises(FrameError):
        decode_frame(data[:12] + b"\x08\x00" + data[14:])
    for payload in (data, b"\xff" * 12 + b"\x88\xa4" + data[:1500]):
        with contextlib.suppress(FrameError):
            assert decode_frame(payload).datagrams


@pytest.mark.parametrize("cut", range(16, 42))
def test_frame_cut_short_is_refused(cut: int) -> None:
    whole = encode_frame(Frame((physical(Command.BRD, 0, 0, bytes(14)),)))
    with pytest.raises(FrameError):
        decode_frame(whole[:cut])
    decode_frame(whole[:42])


def test_bounds_are_kept() -> None:
    encode_frame(Frame((Datagram(Command.LRW, 0, bytes(MOST_DATA)),)))
    with pytest.raises(FrameError, match="at most 1486"):
        encode_frame(Frame((Datagram(Command.LRW, 0, bytes(MOST_DATA + 1)),)))
    with pytest.raises(FrameError, match="a frame holds"):
        encode_frame(Frame((Datagram(Command.LRW, 0, bytes(800)),) * 2))
    with pytest.raises(FrameError, match="does not fit"):
        encode_frame(Frame((Datagram(Command.LRW, 2**32, b""),)))
    with pytest.raises(FrameError, match="at least one"):
        encode_frame(Frame(()))


def test_pcap_reads_back_and_may_be_cut(tmp_path: Path) -> None:
    path, frames = tmp_path / "a.pcap", [(1_234_567_890_123_456_789, b"abc"), (2_000_000_001, bytes(60))]
    held = io.BytesIO()
    writer = PcapWriter(held)
    for instant, frame in frames:
        writer.write(frame, instant)
    path.write_bytes(held.getvalue())
    assert list(read_pcap(path)) == frames
    path.write_bytes(held.getvalue()[:-1])
    assert list(read_pcap(path)) == frames[:1]
    path.write_bytes(b"no pcap")
    with pytest.raises(InputError, match="no pcap file"):
        list(read_pcap(path))
