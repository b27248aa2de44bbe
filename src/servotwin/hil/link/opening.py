"""Opens transports: sockets, lines and shared memory, for the rig's side and for the simulator's."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.errors import InputError
from servotwin.hil.link.addresses import OPTION, Address
from servotwin.hil.link.endpoint import Transport
from servotwin.hil.link.rings import RING

TYPE_OF_SERVICE = 0xB8  # expedited forwarding
SHARED = 2 * RING  # bytes of shared memory: commands, then feedback


@contextmanager
def opened(address: Address, endpoint: Any, *, rig: bool) -> Iterator[None]:
    """The transport of an end for as long as the block runs; ``rig``: the side that listens."""
    with ExitStack() as stack:
        try:
            if address.transport == Transport.UDP:
                _open_udp(address, endpoint, rig, stack)
            elif address.transport == Transport.SERIAL:
                _open_serial(address, endpoint, stack)
            elif address.transport == Transport.SHARED_MEMORY:
                _open_shared(address, endpoint, rig, stack)
        except OSError as error:
            raise _explained(error, address, rig) from None
        yield


def _explained(error: OSError, address: Address, rig: bool) -> InputError:
    reasons = {
        errno.EADDRINUSE: "the port is in use; another rig may be running, or choose another port",
        errno.EADDRNOTAVAIL: "this machine has no such address",
        errno.EEXIST: "the shared memory exists; another rig may be running, or choose another name",
        errno.EBUSY: "another process has the line; end it, or choose another line",
        errno.ENOENT: "there is no such device; expected that of a serial line, such as /dev/ttyUSB0"
        if rig or address.transport == Transport.SERIAL
        else "there is no such rig; start 'servotwin rig' first",
    }
    why = reasons.get(error.errno or 0, error.strerror or str(error))
    return InputError(f"{address.text}: {why}", field=OPTION)


def socket_address(host: str, port: int) -> bytes:
    """An address as the system's calls want it."""
    if ":" in host:
        family = struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0)
        return family + socket.inet_pton(socket.AF_INET6, host) + struct.pack("=I", 0)
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)


def set_peer(endpoint: Any, address: bytes) -> None:
    """Whom an end sends to, and whom alone it hears."""
    endpoint["peer"][0, : len(address)] = np.frombuffer(address, np.uint8)
    endpoint["peer_size"] = len(address)


def _open_udp(address: Address, endpoint: Any, rig: bool, stack: ExitStack) -> None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    made = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
    made.setblocking(False)
    level, option = (
        (socket.IPPROTO_IP, socket.IP_TOS)
        if family == socket.AF_INET
        else (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
    )
    with contextlib.suppress(OSError):
        made.setsockopt(level, option, TYPE_OF_SERVICE)
    if rig:
        made.bind((address.host, address.port))
    else:
        # own address on the way to the rig, loopback for one on this machine; the kernel drops frames of strangers
        made.connect((address.host, address.port))
        set_peer(endpoint, socket_address(address.host, address.port))
    endpoint["fd"] = made.fileno()


def _open_serial(address: Address, endpoint: Any, stack: ExitStack) -> None:
    import fcntl
    import termios

    fd = os.open(address.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    stack.callback(os.close, fd)
    if not os.isatty(fd):
        raise InputError(f"{address.text}: not a serial line", field=OPTION)
    speed = getattr(termios, f"B{address.baud}", None)
    if speed is None:
        raise InputError(f"{address.text}: {address.baud} baud is not a rate of serial lines", field=OPTION)
    with contextlib.suppress(OSError):  # nobody else opens the line meanwhile
        fcntl.ioctl(fd, termios.TIOCEXCL)
        stack.callback(_share_line, fd)
    before = termios.tcgetattr(fd)
    stack.callback(_restore_line, fd, before)
    control = list(termios.tcgetattr(fd)[6])
    control[termios.VMIN], control[termios.VTIME] = 0, 0
    flags = termios.CS8 | termios.CREAD | termios.CLOCAL
    termios.tcsetattr(fd, termios.TCSANOW, [0, 0, flags, 0, speed, speed, control])
    termios.tcflush(fd, termios.TCIOFLUSH)
    endpoint["fd"] = fd


def _restore_line(fd: int, before: Any) -> None:
    import termios

    with contextlib.suppress(termios.error):
        termios.tcsetattr(fd, termios.TCSANOW, before)


def _share_line(fd: int) -> None:
    import fcntl
    import termios

    with contextlib.suppress(OSError):
        fcntl.ioctl(fd, termios.TIOCNXCL)


def _create_shared(path: str, stack: ExitStack) -> int:
    """Shared memory of one's own, locked for as long as it is used; what a rig that was killed has left is removed."""
    import fcntl

    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        _remove_stale(path, flags)
        fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    held = os.dup(fd)
    stack.callback(os.close, held)  # the lock goes with the last of its descriptors, however the process ends
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def _remove_stale(path: str, flags: int) -> None:
    """Remove shared memory of this user's that no living rig has locked; FileExistsError if one has."""
    import fcntl

    fd = os.open(path, flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_size != SHARED:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        if Path(path).stat().st_ino == status.st_ino:
            Path(path).unlink()
    finally:
        os.close(fd)


def _open_shared(address: Address, endpoint: Any, rig: bool, stack: ExitStack) -> None:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = _create_shared(address.path, stack) if rig else os.open(address.path, flags)
    try:
        status = os.fstat(fd)
        if rig:
            stack.callback(os.unlink, address.path)
            os.ftruncate(fd, SHARED)
        elif (
            not stat.S_ISREG(status.st_mode)
            or status.st_uid != os.geteuid()
            or status.st_mode & 0o077
            or status.st_size != SHARED
        ):
            raise InputError(f"{address.text}: not the shared memory of a rig of this user's", field=OPTION)
        memory = mmap.mmap(fd, SHARED)
    finally:
        os.close(fd)
    view = (ctypes.c_char * SHARED).from_buffer(memory)
    start = ctypes.addressof(view)
    endpoint["ring_in"], endpoint["ring_out"] = (start, start + RING) if rig else (start + RING, start)
    held = [view]
    stack.callback(memory.close)
    stack.callback(held.clear)
    del view
