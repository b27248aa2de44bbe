"""Emergency messages: what a slave sends by itself when an error comes or goes."""

from __future__ import annotations

import struct

from servotwin.fieldbus.coe.mailbox import Message, Service, coe

NO_ERROR = 0x0000


def emergency(code: int, register: int, data: bytes = b"") -> Message:
    """An emergency message; ``code`` 0 says that the errors are gone. ``register``: object 1001.

    >>> emergency(0x8611, 0x21).body.hex()
    '00101186210000000000'
    """
    return coe(Service.EMERGENCY, struct.pack("<HB5s", code, register, data[:5]))
