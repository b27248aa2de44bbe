"""Raw sockets for EtherCAT: on the interface that was named and no other, and without rights once they are open."""

from __future__ import annotations

import ctypes
import socket
import struct
from pathlib import Path

from servotwin.errors import InputError
from servotwin.fieldbus.ethercat.frames import ETHERTYPE

IPV4_ADDRESS = 0x8915  # SIOCGIFADDR
GLOBAL_SCOPE, SITE_SCOPE = 0x00, 0x40  # of addresses in /proc/net/if_inet6
CAPABILITY_VERSION = 0x20080522
NET_ADMIN, NET_RAW, SYS_ADMIN = 12, 13, 21
DROP_FROM_BOUNDS = 24  # PR_CAPBSET_DROP
RECEIVE_ROOM = 1 << 20  # bytes of frames that wait
HINT = "start it with --namespace, as root, or give Python the capability: setcap cap_net_raw+ep PYTHON"


def check_interface(name: str) -> None:
    """Refuse an interface on which other traffic could be disturbed, or that does not exist."""
    try:
        socket.if_nametoindex(name)
    except (OSError, ValueError):
        known = ", ".join(n for _, n in socket.if_nameindex()) or "none"
        raise InputError(
            f"there is no network interface '{name}'; there are: {known}", field="interface"
        ) from None
    if name == "lo":
        raise InputError(
            "the loopback interface is for everything; name one that carries EtherCAT alone",
            field="interface",
        )
    address = _address(name)
    if address is not None:
        raise InputError(
            f"'{name}' has the address {address}; EtherCAT wants an interface of its own, without addresses",
            field="interface",
        )
    if _has_default_route(name):
        raise InputError(
            f"the default route goes through '{name}'; EtherCAT wants an interface of its own",
            field="interface",
        )


def _address(name: str) -> str | None:
    """An address of the Internet protocols that somebody gave to the interface; link-local ones are automatic."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            found = fcntl.ioctl(probe, IPV4_ADDRESS, struct.pack("16s240x", name.encode()[:15]))
            return socket.inet_ntoa(found[20:24])
        except OSError:
            pass
    for line in _lines("/proc/net/if_inet6"):
        number, _, _, scope, _, interface = line.split()
        if interface == name and int(scope, 16) in (GLOBAL_SCOPE, SITE_SCOPE):
            return socket.inet_ntop(socket.AF_INET6, bytes.fromhex(number))
    return None


def _has_default_route(name: str) -> bool:
    for line in _lines("/proc/net/route")[1:]:
        interface, destination, *_ = line.split()
        if interface == name and int(destination, 16) == 0:
            return True
    for line in _lines("/proc/net/ipv6_route"):
        destination, length, *_, interface = line.split()
        if interface == name and int(destination, 16) == 0 and int(length, 16) == 0:
            return True
    return False


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def open_raw(name: str) -> socket.socket:
    """A raw socket for frames of EtherType 0x88A4 on an interface that was checked; it hears nothing else."""
    check_interface(name)
    try:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    except PermissionError:
        raise InputError(f"raw sockets are not permitted here; {HINT}", field="interface") from None
    try:
        opened.bind((name, ETHERTYPE))
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_ROOM)
    except OSError as error:
        opened.close()
        raise InputError(f"'{name}' cannot be opened: {error.strerror}", field="interface") from None
    return opened


def drop_rights() -> list[str]:
    """Give the network capabilities away for good; names of those that this process still has, which is none."""
    dropped = {"CAP_NET_ADMIN": NET_ADMIN, "CAP_NET_RAW": NET_RAW, "CAP_SYS_ADMIN": SYS_ADMIN}
    library = ctypes.CDLL(None, use_errno=True)
    mask = sum(1 << number for number in dropped.values())
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    for number in dropped.values():
        library.prctl(DROP_FROM_BOUNDS, number, 0, 0, 0)
    if library.capget(header, sets) == 0:
        for k in range(3):  # effective, permitted, inheritable: the first 32 capabilities
            sets[k] &= ~mask & 0xFFFFFFFF
        library.capset(header, sets)
        library.capget(header, sets)
    return [name for name, number in dropped.items() if sets[1] >> number & 1]
