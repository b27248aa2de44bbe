"""A network of our own, without root: a user and network namespace with a pair of virtual interfaces.

It must be entered before the process has threads, so nothing here imports NumPy.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from servotwin.errors import UnsupportedError
from servotwin.processes import run_program

NEW_USER, NEW_NET = 0x10000000, 0x40000000
DRIVES_SIDE, MASTER_SIDE = "stdrives", "stmaster"


def enter_namespace() -> None:
    """Put this process into a network of its own with the interfaces ``stdrives`` and ``stmaster``, both up.

    Root needs no user namespace. Programs that it starts are inside, others join by ``join_hint``.
    """
    library = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    flags = NEW_NET | (0 if user == 0 else NEW_USER)
    if library.unshare(flags) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise UnsupportedError(
            f"a network namespace cannot be made here: {reason}; name an interface instead"
        )
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
    _ip("link", "add", DRIVES_SIDE, "type", "veth", "peer", "name", MASTER_SIDE)
    for name in (DRIVES_SIDE, MASTER_SIDE):
        _ip("link", "set", name, "addrgenmode", "none")
        _ip("link", "set", name, "up")


def _ip(*words: str) -> None:
    complaint = run_program("ip", *words)
    if complaint is None:
        raise UnsupportedError("the program 'ip' (package iproute2) is needed to make a virtual network")
    if complaint:
        raise UnsupportedError(f"ip {' '.join(words)}: {complaint}")


def join_hint(process: int | None = None) -> str:
    """How another program gets into the namespace of a process.

    >>> join_hint(17)
    'nsenter --target 17 --user --net --preserve-credentials COMMAND --interface stmaster'
    """
    number = os.getpid() if process is None else process
    user = "--user " if process is not None or os.geteuid() != 0 or _own_user() else ""
    keep = "--preserve-credentials " if user else ""
    return f"nsenter --target {number} {user}--net {keep}COMMAND --interface {MASTER_SIDE}"


def _own_user() -> bool:
    """Whether this process is in a user namespace of its own."""
    try:
        mapped = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
    except OSError:
        return False
    return mapped[2:3] == ["1"]
