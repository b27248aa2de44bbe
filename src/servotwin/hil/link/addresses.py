"""Addresses of rigs as people write them: udp://127.0.0.1:47010, serial:/dev/ttyUSB0, shm:NAME, in-process."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from servotwin.description.nodes import quoted
from servotwin.errors import InputError
from servotwin.hil.link.endpoint import Transport
from servotwin.hil.link.frames import Kind, frame_size

OPTION = "--transport"
FORMS = "udp://127.0.0.1:PORT, serial:/dev/NAME or serial:/dev/NAME?baud=RATE, shm:NAME, or in-process (without a rig)"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
BAUD = 115200
BITS, CODED = (
    10,
    2,
)  # bits of a byte on the line with start and stop; bytes that COBS and its zero add at least
KEY_SIZES = range(16, 65)  # bytes
SECRET = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Address:
    """Where a rig is: ``host`` and ``port`` of UDP, ``path`` and ``baud`` of a line, ``path`` of shared memory."""

    transport: Transport
    text: str
    host: str = ""
    port: int = 0
    path: str = ""
    baud: int = BAUD

    @property
    def loopback(self) -> bool:
        """Whether only processes of this machine can reach it."""
        return self.transport != Transport.UDP or ipaddress.ip_address(self.host).is_loopback

    def __str__(self) -> str:
        return self.text


def read_address(text: str) -> Address:
    """The address that a text gives; InputError with what would be accepted.

    >>> read_address("udp://127.0.0.1:47010").port
    47010
    """
    kind, _, rest = text.partition(":")
    if kind == "udp":
        return _udp(text)
    if kind == "serial" and rest:
        return _serial(text, rest)
    if kind == "shm" and NAME.fullmatch(rest):
        return Address(Transport.SHARED_MEMORY, text, path=f"/dev/shm/servotwin-{rest}")
    if text == "in-process":
        return Address(Transport.IN_PROCESS, text)
    raise _refusal(text)


def _refusal(text: str, why: str = "is not a transport") -> InputError:
    return InputError(f"{quoted(text)} {why}; expected {FORMS}", field=OPTION)


def _udp(text: str) -> Address:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _refusal(text) from None
    if (
        not text.startswith("udp://")
        or not host
        or port is None
        or parts.path
        or parts.query
        or parts.username
    ):
        raise _refusal(text)
    host = "127.0.0.1" if host == "localhost" else host
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise _refusal(text, "does not give an address in numbers") from None
    if port == 0:
        raise _refusal(text, "does not give a port from 1 to 65535")
    return Address(Transport.UDP, text, host=host, port=port)


def _serial(text: str, rest: str) -> Address:
    path, _, query = rest.partition("?")
    baud = BAUD
    if query:
        name, _, value = query.partition("=")
        if name != "baud" or not value.isdigit() or len(value) > 8:
            raise _refusal(text)
        baud = int(value)
        if baud == 0:
            raise _refusal(text, "gives a rate of 0 baud, which hangs a line up")
    if not path.startswith("/dev/"):
        raise _refusal(text, "is not a device")
    return Address(Transport.SERIAL, text, path=path, baud=baud)


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key that frames are authenticated with: a file of the user's that nobody else may read."""
    place = Path(path)
    try:
        fd = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(fd)  # of what is read, whatever the name comes to mean meanwhile
            data = os.read(fd, max(KEY_SIZES) + 1) if stat.S_ISREG(status.st_mode) else b""
        finally:
            os.close(fd)
    except OSError as error:
        raise InputError(f"{error.strerror or error}; expected a file with a key", file=str(place)) from None
    if status.st_uid != os.geteuid() or status.st_mode & SECRET:
        raise InputError(
            f"mode {stat.S_IMODE(status.st_mode):04o}, user id {status.st_uid}; expected a key that only you can "
            "read ('chmod 600')",
            file=str(place),
        )
    if len(data) not in KEY_SIZES:
        raise InputError(
            f"{status.st_size} bytes; expected a key of {KEY_SIZES.start} to {KEY_SIZES.stop - 1} random bytes, such "
            "as 'head -c 32 /dev/urandom > FILE' writes",
            file=str(place),
        )
    return data


def check_line(address: Address, shafts: int, key: bytes | None, period_ns: int) -> None:
    """InputError if a serial line is too slow for a command and its answer in one period (10 bits for a byte)."""
    if address.transport != Transport.SERIAL:
        return
    both = sum(frame_size(kind, shafts, key is not None) + CODED for kind in (Kind.COMMAND, Kind.FEEDBACK))
    needed = BITS * both / (period_ns * 1e-9)
    if address.baud < needed:
        raise InputError(
            f"{quoted(address.text)}: a cycle of {both} bytes takes {BITS * both / address.baud * 1e3:.3g} ms at "
            f"{address.baud} baud; expected {needed:.0f} baud or more for a period of {period_ns * 1e-6:g} ms",
            field=OPTION,
        )


def check_reach(address: Address, *, network: bool, key: bytes | None) -> None:
    """Other machines only if it is asked for, and with a key."""
    if address.loopback:
        return
    if not network:
        raise InputError(
            f"{quoted(address.text)} is not on this machine; expected a loopback address, or --allow-network with "
            "--key FILE",
            field=OPTION,
        )
    if key is None:
        raise InputError(
            f"{quoted(address.text)} is not on this machine; expected --key FILE, with which frames are authenticated",
            field=OPTION,
        )
