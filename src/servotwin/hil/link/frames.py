"""The layout of frames between simulator and rig: one table for the decoder, the reference firmware and the page.

All numbers are little-endian. A frame is a header, a payload (fields that stand once, then the fields of each shaft),
a CRC-32 and, where frames are authenticated, an HMAC-SHA256. Its length follows from kind, shafts and flags alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np

from servotwin.hil.ports import MAX_SHAFTS

MAGIC = 0x47_49_52_53  # the bytes "SRIG"
VERSION = 2
WORD = 8  # bytes; everything behind the first word of the header is made of words
CHECK = 4  # bytes of the CRC-32
MAC = 32  # bytes of the HMAC-SHA256


class Kind(IntEnum):
    """What a frame is."""

    HELLO = 1  # simulator to rig: opens a session
    WELCOME = 2  # rig to simulator: the session, and what the rig can
    REFUSAL = 3  # rig to simulator: why there is no session
    COMMAND = 4  # simulator to rig, once in a cycle
    FEEDBACK = 5  # rig to simulator, one for each command
    BYE = 6  # simulator to rig: the session ends, the rig goes to its safe state


class Flag(IntFlag):
    """Flags of a header."""

    AUTHENTICATED = 1  # an HMAC follows the CRC


class Refusal(IntEnum):
    """Why a rig gives no session; ``detail`` of the frame holds the number that it would accept."""

    NONE = 0
    VERSION = 1  # detail: the version that the rig speaks
    SHAFTS = 2  # detail: how many shafts the rig has
    PERIOD = 3  # detail: the shortest or the longest period [ns]
    ANGLE = 4  # an angle is not finite


@dataclass(frozen=True)
class Word:
    """A field of 8 bytes; ``kind`` is 'f8', 'i8' or 'u8'."""

    name: str
    kind: str
    meaning: str


@dataclass(frozen=True)
class Payload:
    """The fields of a payload: those that stand once, then those of each shaft, shaft by shaft."""

    once: tuple[Word, ...]
    shaft: tuple[Word, ...] = ()

    def words(self, shafts: int) -> int:
        """How many words it has."""
        return len(self.once) + len(self.shaft) * shafts


HEADER: tuple[tuple[str, str, str], ...] = (
    ("magic", "u4", "the bytes 'SRIG'"),
    ("version", "u1", "of this protocol"),
    ("kind", "u1", "what the frame is"),
    ("shafts", "u1", "of the session, 1 to 8; the first ones of the rig"),
    ("flags", "u1", "bit 0: an HMAC-SHA256 follows the CRC"),
    ("session", "u8", "number of the session that the rig gave; 0 in HELLO"),
    ("sequence", "u4", "of the sender, counted from 1 in each session"),
    (
        "echo",
        "u4",
        "feedback: sequence of the command that it answers; command: of the newest feedback; 0: none",
    ),
    ("sent", "i8", "instant of sending by the sender's monotonic clock [ns]"),
    ("echo_sent", "i8", "'sent' of the frame that 'echo' names [ns]"),
)
PAYLOADS: dict[Kind, Payload] = {
    Kind.HELLO: Payload(
        (
            Word("nonce", "u8", "random number of the simulator's"),
            Word("period", "i8", "between two commands [ns]"),
            Word("watchdog", "i8", "without a command for so long, the rig shall go to its safe state [ns]"),
        ),
        (Word("angle", "f8", "what the encoder of the shaft shall show where it stands now [rad]"),),
    ),
    Kind.WELCOME: Payload(
        (
            Word("nonce", "u8", "that of the HELLO"),
            Word("shortest_period", "i8", "between two commands [ns]"),
            Word("watchdog", "i8", "what the rig will use: what was asked for, or less [ns]"),
        ),
        (
            Word("voltage_limit", "f8", "of the drive amplifier [V]"),
            Word("torque_limit", "f8", "of the load motor [N m]"),
            Word("rate_limit", "f8", "a rate beyond is no measurement [rad/s]"),
            Word("current_limit", "f8", "a current beyond is no measurement [A]"),
            Word("encoder", "i8", "1: the rig measures the angle of this shaft; 0: 'angle' is NaN"),
        ),
    ),
    Kind.REFUSAL: Payload(
        (
            Word("nonce", "u8", "that of the HELLO"),
            Word("reason", "i8", "1 version, 2 shafts, 3 period, 4 angle"),
            Word("detail", "i8", "what the rig would accept"),
        )
    ),
    Kind.COMMAND: Payload(
        (Word("time", "i8", "instant of the command by the simulation's clock [ns]"),),
        (
            Word("drive_voltage", "f8", "to the drive amplifier [V]"),
            Word("load_torque", "f8", "on the shaft [N m]"),
            Word("enable", "i8", "0: both amplifiers off, 1: on"),
            Word("brake_released", "i8", "0: brake closed, 1: released"),
        ),
    ),
    Kind.FEEDBACK: Payload(
        (
            Word(
                "time", "i8", "instant of the samples by the rig's clock [ns]; it grows from frame to frame"
            ),
            Word(
                "applied",
                "i8",
                "instant at which the command took effect, by the same clock, not after 'time' [ns]",
            ),
        ),
        (
            Word("rate", "f8", "of the shaft [rad/s]"),
            Word("angle", "f8", "of the shaft, unwrapped [rad]; NaN without an encoder"),
            Word("drive_current", "f8", "A"),
            Word("load_current", "f8", "A"),
            Word("fault", "i8", "0 none, 1 watchdog, 2 over-speed, 3 over-current, 4 sensor"),
        ),
    ),
    Kind.BYE: Payload((Word("cause", "i8", "why the simulator ends the session; 0: it is complete"),)),
}
HEADER_SIZE = sum(int(kind[1]) for _, kind, _ in HEADER)
HEADER_WORDS = HEADER_SIZE // WORD
# Words that stand once, and words of each shaft, by kind; kind 0 is none
ONCE = np.array([0] + [len(PAYLOADS[kind].once) for kind in Kind], np.int64)
EACH = np.array([0] + [len(PAYLOADS[kind].shaft) for kind in Kind], np.int64)


def frame_size(kind: Kind, shafts: int, authenticated: bool = False) -> int:
    """Bytes of a frame."""
    return HEADER_SIZE + WORD * PAYLOADS[kind].words(shafts) + CHECK + (MAC if authenticated else 0)


LARGEST = max(frame_size(kind, MAX_SHAFTS, True) for kind in Kind)


def frame_dtype(kind: Kind, shafts: int, authenticated: bool = False) -> np.dtype[Any]:
    """The layout of a frame as a NumPy type without gaps, for code that is not in a hurry."""
    payload = PAYLOADS[kind]
    fields: list[Any] = [(name, f"<{code}") for name, code, _ in HEADER]
    fields += [(f"p_{word.name}", f"<{word.kind}") for word in payload.once]
    if payload.shaft:
        fields.append(("shaft", [(word.name, f"<{word.kind}") for word in payload.shaft], (shafts,)))
    fields.append(("crc", "<u4"))
    if authenticated:
        fields.append(("mac", "u1", (MAC,)))
    return np.dtype(fields)
