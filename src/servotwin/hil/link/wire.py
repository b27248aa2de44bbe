"""Sending and receiving frames from compiled code, whatever they travel on; nothing here waits but ``wait_frame``."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.hil.link.causes import Cause
from servotwin.hil.link.cobs import decode_cobs, encode_cobs
from servotwin.hil.link.endpoint import ADDRESS, ROOM, STREAM, Transport
from servotwin.hil.link.rings import READ_AT, put_frame, take_frame
from servotwin.realtime.clock import SECOND, now_ns, sleep_until
from servotwin.realtime.libc import (
    DO_NOT_WAIT,
    ERROR,
    HUNG_UP,
    INTERRUPTED,
    INVALID,
    READABLE,
    REFUSED,
    WOULD_BLOCK,
    errno_at,
    load_acquire,
    ppoll,
    read_bytes,
    recvfrom,
    sendto,
    whole_32_at,
    write_bytes,
)

NOTHING = -1  # no frame has come
NAP = 20_000  # ns between two looks into shared memory
FAMILY_AND_PORT = 4  # bytes of a socket address that IPv4 and IPv6 have alike
IPV4_SIZE = 16
IPV4_USED = 8  # family, port, address; the rest is padding


@helper
def _errno() -> int:
    return whole_32_at(errno_at())  # type: ignore[no-any-return]


@part
def from_peer(endpoint: Any) -> bool:
    """Whether the last frame came from the peer; on a line and in shared memory nobody else can send."""
    if endpoint.transport != Transport.UDP:
        return True
    size = endpoint.peer_size
    if size == 0 or endpoint.source_size != size:
        return False
    used = IPV4_USED if size == IPV4_SIZE else size
    for i in range(used):
        flow = 4 <= i < 8 and size != IPV4_SIZE  # the flow label of IPv6 is no part of the address
        if not flow and endpoint.source[i] != endpoint.peer[i]:
            return False
    return True


@helper
def _receive_datagram(endpoint: Any) -> int:
    """One datagram to ``received``; longer ones are cut, which their length shows."""
    endpoint.shell[0] = ADDRESS
    length = recvfrom(
        endpoint.fd,
        endpoint.received.ctypes.data,
        ROOM,
        DO_NOT_WAIT,
        endpoint.source.ctypes.data,
        endpoint.shell.ctypes.data,
    )
    if length >= 0:
        endpoint.source_size = endpoint.shell[0] & 0xFFFFFFFF
        return length  # type: ignore[no-any-return]
    error = _errno()
    if error not in (WOULD_BLOCK, INTERRUPTED, REFUSED):
        endpoint.counts[Cause.TRANSPORT] += 1
    return NOTHING


@helper
def _drop_stream(endpoint: Any, count: int) -> None:
    for i in range(count, endpoint.filled):
        endpoint.stream[i - count] = endpoint.stream[i]
    endpoint.filled -= count


@helper
def _receive_line(endpoint: Any) -> int:
    """The next frame of a serial line to ``received``; bytes that are no frame have the length 0."""
    stream = endpoint.stream
    got = read_bytes(endpoint.fd, stream.ctypes.data + endpoint.filled, STREAM - endpoint.filled)
    if got > 0:
        endpoint.filled += got
    elif got < 0 and _errno() not in (WOULD_BLOCK, INTERRUPTED):
        endpoint.counts[Cause.TRANSPORT] += 1
    for i in range(endpoint.filled):
        if stream[i] == 0:
            length = decode_cobs(stream.ctypes.data, i, endpoint.received.ctypes.data, ROOM)
            _drop_stream(endpoint, i + 1)
            return max(length, 0)
    if endpoint.filled == STREAM:
        endpoint.filled = 0
        return 0
    return NOTHING


@part
def receive_frame(endpoint: Any) -> int:
    """The next frame that waits to ``received``: its length, or ``NOTHING``."""
    if endpoint.transport == Transport.UDP:
        return _receive_datagram(endpoint)
    if endpoint.transport == Transport.SERIAL:
        return _receive_line(endpoint)
    return take_frame(endpoint.ring_in, endpoint.received.ctypes.data, ROOM)


@part
def send_bytes(endpoint: Any, frame_at: int, length: int) -> None:
    """Send the bytes of a frame to the peer; what cannot be sent now is lost, and counted."""
    endpoint.sent_frames += 1
    if endpoint.transport == Transport.UDP:
        done = sendto(
            endpoint.fd, frame_at, length, DO_NOT_WAIT, endpoint.peer.ctypes.data, endpoint.peer_size
        )
        lost = done != length and _errno() != REFUSED
    elif endpoint.transport == Transport.SERIAL:
        coded = encode_cobs(frame_at, length, endpoint.coded.ctypes.data)
        lost = write_bytes(endpoint.fd, endpoint.coded.ctypes.data, coded) != coded
    else:
        lost = put_frame(endpoint.ring_out, frame_at, length) != length
    if lost:
        endpoint.counts[Cause.TRANSPORT] += 1


@helper
def send_frame(endpoint: Any, length: int) -> None:
    """Send the frame in ``sending``."""
    send_bytes(endpoint, endpoint.sending.ctypes.data, length)


@part
def wait_frame(endpoint: Any, until: int) -> None:
    """Wait until a frame may have come, at most until an instant [ns]."""
    timespec = endpoint.timespec
    if endpoint.transport == Transport.SHARED_MEMORY:
        now = now_ns(timespec)
        while now < until and load_acquire(endpoint.ring_in) <= load_acquire(endpoint.ring_in + READ_AT):
            sleep_until(timespec, min(now + NAP, until))
            now = now_ns(timespec)
        return
    left = max(until - now_ns(timespec), 0)
    endpoint.poll[0] = endpoint.fd | (READABLE << 32)
    timespec[0].seconds, timespec[0].nanoseconds = left // SECOND, left % SECOND
    ppoll(endpoint.poll.ctypes.data, 1, timespec.ctypes.data, 0)
    # an error of a datagram, such as a port that nobody has, is taken by the next call; that of a line stays
    broken = HUNG_UP | INVALID | (0 if endpoint.transport == Transport.UDP else ERROR)
    if (endpoint.poll[0] >> 48) & broken != 0:
        endpoint.hung = 1
