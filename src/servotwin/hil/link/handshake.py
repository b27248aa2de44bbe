"""Opens a session: HELLO and its answer. It is in no hurry, so it is plain Python with the libraries' CRC and HMAC."""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import secrets
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.compiled.jit import callback
from servotwin.compiled.native_calls import records_at
from servotwin.errors import InputError
from servotwin.hil.link.addresses import OPTION, Address
from servotwin.hil.link.endpoint import ENDPOINT, Transport
from servotwin.hil.link.frames import (
    CHECK,
    HEADER_SIZE,
    MAC,
    MAGIC,
    VERSION,
    Flag,
    Kind,
    Refusal,
    frame_dtype,
    frame_size,
)
from servotwin.hil.link.opening import set_peer, socket_address
from servotwin.hil.link.wire import from_peer, receive_frame, send_bytes, wait_frame
from servotwin.hil.words import counted

TRY_AGAIN = 0.2  # s
PATIENCE = (
    4.0  # s in which a rig must answer: longer than it waits for the first command of a peer that is gone
)
LONGEST_PERIOD = 1_000_000_000  # ns
LONGEST_WATCHDOG = 2_000_000_000  # ns: a rig is never left alone for longer, whatever HELLO asks for
NEVER = np.iinfo(np.int64).min
LIMITS = ("voltage_limit", "torque_limit", "rate_limit", "current_limit", "encoder")
HUNG_UP = "the line was hung up, or its device is gone"
IPV6_SIZE = 28  # bytes of a socket address


@dataclass(frozen=True)
class Opening:
    """What a simulator asks for: shafts, times [ns], angles of the encoders [rad]."""

    shafts: int
    period_ns: int
    watchdog_ns: int
    angles: Any
    hello: bytes
    welcome: bytes  # the answer, which the rig sends when it is ready for commands


@callback("int64", "int64", result="int64")
def _next_frame(endpoint_at: int, until: int) -> int:
    """Wait for a frame; its length, -1 for none."""
    endpoint = records_at(endpoint_at, 1, ENDPOINT)[0]
    length = receive_frame(endpoint)
    if length < 0:
        wait_frame(endpoint, until)
        length = receive_frame(endpoint)
    return length


@callback("int64", result="int64")
def _is_from_peer(endpoint_at: int) -> int:
    return 1 if from_peer(records_at(endpoint_at, 1, ENDPOINT)[0]) else 0


@callback("int64", "int64", "int64", result="void")
def _send(endpoint_at: int, frame_at: int, length: int) -> None:
    send_bytes(records_at(endpoint_at, 1, ENDPOINT)[0], frame_at, length)


def _called(function: Any, result: Any, *arguments: int) -> Any:
    return ctypes.CFUNCTYPE(result, *([ctypes.c_int64] * len(arguments)))(function.address)(*arguments)


def compile_handshake() -> None:
    """Compile what a handshake calls, before anyone waits for an answer."""
    for function in (_next_frame, _is_from_peer, _send):
        function.address  # noqa: B018


def next_frame(endpoint: Any, wait: float) -> bytes | None:
    """The next frame that comes within a time [s], whoever sent it."""
    until = time.monotonic_ns() + int(wait * 1e9)
    length = _called(_next_frame, ctypes.c_int64, endpoint.ctypes.data, until)
    return None if length < 0 else endpoint["received"][0].tobytes()[:length]


def send(endpoint: Any, frame: bytes) -> None:
    """Send bytes to the peer."""
    data = np.frombuffer(frame, np.uint8).copy()
    _called(_send, None, endpoint.ctypes.data, data.ctypes.data, len(data))


def build_frame(kind: Kind, shafts: int, key: bytes | None, header: dict[str, int], **payload: Any) -> bytes:
    """A frame; ``payload``: fields that stand once, and ``shaft``, a mapping of arrays."""
    made = np.zeros(1, frame_dtype(kind, shafts, key is not None))
    flags = Flag.AUTHENTICATED if key is not None else 0
    fixed = {"magic": MAGIC, "version": VERSION, "kind": kind, "shafts": shafts, "flags": flags}
    for name, value in (fixed | header).items():
        made[name] = value
    for name, values in payload.pop("shaft", {}).items():
        made["shaft"][name] = values
    for name, value in payload.items():
        made[f"p_{name}"] = value
    data = made.tobytes()
    body = data[: len(data) - CHECK - (MAC if key is not None else 0)]
    data = body + zlib.crc32(body).to_bytes(CHECK, "little")
    return data if key is None else data + hmac.digest(key, data, hashlib.sha256)


def read_frame(data: bytes, kind: Kind, key: bytes | None) -> Any:
    """The fields of a frame of a kind, whose version may differ; None if it is none, or not authentic."""
    if len(data) < HEADER_SIZE or int.from_bytes(data[:4], "little") != MAGIC:
        return None
    shafts, flags = data[6], data[7]
    authentic = key is not None
    if data[5] != kind or not 1 <= shafts <= 8 or flags != int(authentic):
        return None
    if len(data) != frame_size(kind, shafts, authentic):
        return None
    body, rest = data[: len(data) - CHECK - MAC * authentic], data[len(data) - CHECK - MAC * authentic :]
    if zlib.crc32(body).to_bytes(CHECK, "little") != rest[:CHECK]:
        return None
    if key is not None and not hmac.compare_digest(
        hmac.digest(key, body + rest[:CHECK], hashlib.sha256), rest[CHECK:]
    ):
        return None
    return np.frombuffer(data, frame_dtype(kind, shafts, authentic))[0]


def begin_session(endpoint: Any, session: int) -> None:
    """Sequence numbers and counts as they are before the first frame."""
    endpoint["session"] = session
    for name in ("sequence", "newest", "seen", "newest_sent", "arrived", "accepted", "sent_frames", "echoed"):
        endpoint[name] = 0
    endpoint["counts"] = 0
    endpoint["sample_time"] = NEVER


def say_hello(
    address: Address,
    endpoint: Any,
    period_ns: int,
    watchdog_ns: int,
    angles: Any,
    key: bytes | None = None,
    patience: float = PATIENCE,
    look: Callable[[], None] | None = None,
) -> None:
    """Ask a rig for a session; its limits stand in the endpoint then. InputError says why there is none.

    ``angles``: what the encoders of the shafts shall show at the beginning [rad].
    """
    shafts, nonce = int(endpoint["shafts"][0]), secrets.randbits(64)
    hello = build_frame(
        Kind.HELLO, shafts, key, {"sequence": 1},
        nonce=nonce, period=period_ns, watchdog=watchdog_ns, shaft={"angle": angles},
    )  # fmt: skip
    until = time.monotonic() + patience
    other = 0
    while time.monotonic() < until:
        if look is not None:
            look()
        send(endpoint, hello)
        again = time.monotonic() + TRY_AGAIN
        while (left := again - time.monotonic()) > 0.0:
            data = next_frame(endpoint, left)
            if data is None or not _called(_is_from_peer, ctypes.c_int64, endpoint.ctypes.data):
                continue
            if _answered(address, endpoint, data, nonce, period_ns, watchdog_ns, key):
                return
            other += 1
        if endpoint["hung"][0]:
            raise InputError(f"{address.text}: {HUNG_UP}", field=OPTION)
    heard = f"; {other} frames came that are no answer, or not of the same key" if other else ""
    raise InputError(
        f"{address.text}: no rig answers within {patience:g} s{heard}; start 'servotwin rig' with the same transport",
        field=OPTION,
    )


def _answered(
    address: Address,
    endpoint: Any,
    data: bytes,
    nonce: int,
    period_ns: int,
    watchdog_ns: int,
    key: bytes | None,
) -> bool:
    """Take a WELCOME; a REFUSAL raises."""
    refusal = read_frame(data, Kind.REFUSAL, key)
    if refusal is not None and int(refusal["p_nonce"]) == nonce:
        raise InputError(f"{address.text}: {_refusal_words(refusal, endpoint, period_ns)}", field=OPTION)
    welcome = read_frame(data, Kind.WELCOME, key)
    if welcome is None or int(welcome["p_nonce"]) != nonce:
        return False
    if welcome["version"] != VERSION or welcome["shafts"] != endpoint["shafts"][0]:
        raise InputError(
            f"{address.text}: the rig answers in version {welcome['version']} for "
            f"{counted(int(welcome['shafts']), 'shaft')}; expected version {VERSION} and {endpoint['shafts'][0]}",
            field=OPTION,
        )
    _check_welcome(address, welcome, period_ns, watchdog_ns)
    begin_session(endpoint, int(welcome["session"]))
    endpoint["period"] = period_ns
    for name in LIMITS:
        endpoint[name][0, : len(welcome["shaft"])] = welcome["shaft"][name]
    return True


def _check_welcome(address: Address, welcome: Any, period_ns: int, watchdog_ns: int) -> None:
    """InputError if the rig's limits would switch a check off, or its watchdog is not what was asked for."""
    for number, shaft in enumerate(welcome["shaft"]):
        for name in LIMITS:
            value = float(shaft[name])
            fits = value in (0.0, 1.0) if name == "encoder" else np.isfinite(value) and value > 0.0
            if not fits:
                expected = "0 or 1" if name == "encoder" else "a finite number above zero"
                raise InputError(
                    f"{address.text}: the rig's WELCOME gives {name} {value:g} for shaft {number + 1}; expected "
                    f"{expected}",
                    field=OPTION,
                )
    given = int(welcome["p_watchdog"])
    if not period_ns <= given <= max(watchdog_ns, period_ns):
        raise InputError(
            f"{address.text}: the rig's WELCOME gives a watchdog of {given * 1e-6:g} ms; expected "
            f"{period_ns * 1e-6:g} ms to the {watchdog_ns * 1e-6:g} ms that were asked for",
            field=OPTION,
        )


def _refusal_words(refusal: Any, endpoint: Any, period_ns: int) -> str:
    reason, detail = int(refusal["p_reason"]), int(refusal["p_detail"])
    if reason == Refusal.VERSION:
        return f"the rig speaks version {detail} of the protocol; this is version {VERSION}"
    if reason == Refusal.SHAFTS:
        asked = int(endpoint["shafts"][0])
        return f"the rig has {counted(detail, 'shaft')}; {asked} joints are substituted, expected no more"
    if reason == Refusal.ANGLE:
        return "the rig refuses the angles of the shafts; expected finite numbers"
    if reason != Refusal.PERIOD:
        return (
            f"the rig refuses the session for a reason that this version does not know: {reason} ({detail})"
        )
    bound = "more" if period_ns < detail else "less"
    return (
        f"a period of {period_ns * 1e-6:g} ms is refused by the rig; expected {detail * 1e-6:g} ms or {bound}"
    )


def hear_hello(
    endpoint: Any,
    limits: dict[str, Any],
    shortest_ns: int,
    key: bytes | None,
    wait: float,
    peer: str | None = None,
) -> Opening | None:
    """Take a HELLO that comes within ``wait`` [s]; None if there is none, or it is refused.

    ``peer``: the only address that is answered. Who is no peer, has another key or sends anything else gets no answer.
    """
    data = next_frame(endpoint, wait)
    hello = None if data is None else read_frame(data, Kind.HELLO, key)
    if data is None or hello is None:
        return None
    if int(endpoint["transport"][0]) == Transport.UDP and not _accept_peer(endpoint, peer):
        return None
    has, shafts, nonce = len(limits["encoder"]), int(hello["shafts"]), int(hello["p_nonce"])
    period, angles = int(hello["p_period"]), np.array(hello["shaft"]["angle"])
    header = {"sequence": 1, "echo": int(hello["sequence"]), "echo_sent": int(hello["sent"])}
    for wrong, reason, detail in (
        (hello["version"] != VERSION, Refusal.VERSION, VERSION),
        (shafts > has, Refusal.SHAFTS, has),
        (period < shortest_ns, Refusal.PERIOD, shortest_ns),
        (period > LONGEST_PERIOD, Refusal.PERIOD, LONGEST_PERIOD),
        (not np.isfinite(angles).all(), Refusal.ANGLE, 0),
    ):
        if wrong:
            send(
                endpoint,
                build_frame(Kind.REFUSAL, shafts, key, header, nonce=nonce, reason=reason, detail=detail),
            )
            return None
    watchdog = min(max(int(hello["p_watchdog"]), period), LONGEST_WATCHDOG)
    session = secrets.randbits(63) | 1
    header["session"] = session
    welcome = build_frame(
        Kind.WELCOME, shafts, key, header,
        nonce=nonce, shortest_period=shortest_ns, watchdog=watchdog,
        shaft={name: values[:shafts] for name, values in limits.items()},
    )  # fmt: skip
    endpoint["shafts"] = shafts
    begin_session(endpoint, session)
    return Opening(shafts, period, watchdog, angles, data, welcome)


def _accept_peer(endpoint: Any, peer: str | None) -> bool:
    """The sender becomes the peer, unless the user has named another one."""
    source = endpoint["source"][0].tobytes()[: int(endpoint["source_size"][0])]
    if peer is not None:
        named = socket_address(peer, 0)
        place = slice(8, 24) if len(named) == IPV6_SIZE else slice(4, 8)
        if len(source) != len(named) or source[place] != named[place]:
            return False
    set_peer(endpoint, source)
    return True
