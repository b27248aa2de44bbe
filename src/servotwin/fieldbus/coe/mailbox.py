"""Mailbox messages: their header, the CoE header, and what is refused before anything reads further."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from servotwin.errors import ServotwinError

HEADER = struct.Struct("<HHBB")
COE = struct.Struct("<H")
CYCLE = 7  # counters of messages run from 1 to 7; 0 is never counted


class Protocol(IntEnum):
    """What a mailbox message carries."""

    ERROR = 0
    AOE = 1
    EOE = 2
    COE = 3
    FOE = 4
    SOE = 5
    VOE = 15


class Service(IntEnum):
    """What a CoE message is."""

    EMERGENCY = 1
    SDO_REQUEST = 2
    SDO_RESPONSE = 3
    TX_PDO = 4
    RX_PDO = 5
    SDO_INFORMATION = 8


class MailboxFault(IntEnum):
    """Details of a mailbox error reply."""

    SYNTAX = 1
    UNSUPPORTED_PROTOCOL = 2
    SERVICE_NOT_SUPPORTED = 4
    INVALID_HEADER = 5
    TOO_SHORT = 6
    INVALID_SIZE = 8


class MailboxError(ServotwinError):
    """Bytes that are no mailbox message; ``fault`` goes into the error reply."""

    def __init__(self, fault: MailboxFault, message: str) -> None:
        self.fault = fault
        super().__init__(message)


@dataclass(frozen=True)
class Message:
    """A mailbox message without its header."""

    protocol: int
    body: bytes
    counter: int = 0
    address: int = 0


def decode_message(data: bytes) -> Message:
    """The message at the beginning of a mailbox's buffer."""
    if len(data) < HEADER.size:
        raise MailboxError(MailboxFault.TOO_SHORT, f"a mailbox of {len(data)} bytes has no header")
    length, address, _, kind = HEADER.unpack_from(data)
    if HEADER.size + length > len(data):
        raise MailboxError(
            MailboxFault.INVALID_SIZE,
            f"a message of {length} bytes in a mailbox of {len(data) - HEADER.size}",
        )
    body = bytes(data[HEADER.size : HEADER.size + length])
    return Message(kind & 0x0F, body, (kind >> 4) & 0x07, address)


def encode_message(message: Message, size: int) -> bytes:
    """A message as the buffer of a mailbox of so many bytes."""
    data = HEADER.pack(len(message.body), message.address, 0, message.protocol | (message.counter << 4))
    if len(data) + len(message.body) > size:
        raise MailboxError(
            MailboxFault.INVALID_SIZE, f"a message of {len(message.body)} bytes for a mailbox of {size}"
        )
    return (data + message.body).ljust(size, b"\0")


def error_reply(fault: MailboxFault) -> Message:
    """What a slave answers to a message that it cannot take."""
    return Message(Protocol.ERROR, struct.pack("<HH", 1, fault))


def coe(service: Service, payload: bytes) -> Message:
    """A CoE message."""
    return Message(Protocol.COE, COE.pack(service << 12) + payload)


def coe_parts(body: bytes) -> tuple[int, bytes]:
    """Service and payload of a CoE message."""
    if len(body) < COE.size:
        raise MailboxError(MailboxFault.TOO_SHORT, f"a CoE message of {len(body)} bytes has no header")
    return COE.unpack_from(body)[0] >> 12, body[COE.size :]


def next_counter(counter: int) -> int:
    """The counter of the message after one.

    >>> [next_counter(c) for c in (0, 1, 7)]
    [1, 2, 1]
    """
    return counter % CYCLE + 1
