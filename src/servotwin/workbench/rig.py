"""``st.serve_rig`` and ``st.rig_firmware``: the twin of a motor test bed as a process of its own."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from servotwin.description.nodes import quoted
from servotwin.description.placed import override_mapping
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.hil.link.rig_server import Fault, RigServer, RigSession


def rig_server(
    rig: str | Path,
    transport: str,
    *,
    fault: Fault | None = None,
    seed: int = 1,
    key: str | Path | None = None,
    peer: str | None = None,
    allow_network: bool = False,
    cpu: int | None = None,
    overrides: Mapping[str, str] | None = None,
) -> RigServer:
    """The twin of a rig behind a transport, ready to serve; arguments as for ``serve_rig``."""
    from servotwin.hil.link.addresses import read_address, read_key
    from servotwin.hil.link.endpoint import Transport

    address = read_address(transport)
    if address.transport == Transport.IN_PROCESS:
        raise InputError(
            "'in-process' is no place for a rig of its own; expected udp, serial or shm", field="--transport"
        )
    _check_peer(peer, address.loopback)
    from servotwin.hil.link.rig_server import Fault, RigServer
    from servotwin.hil.rig_file import read_rig
    from servotwin.hil.rig_model import rig_piece

    rig_data = read_rig(rig, override_mapping(overrides))
    return RigServer(
        address, lambda: rig_data.records(seed), rig_piece.address, key=None if key is None else read_key(key),
        peer=peer, network=allow_network, fault=fault or Fault(), cpu=cpu,
    )  # fmt: skip


def serve_rig(
    rig: str | Path,
    transport: str,
    *,
    sessions: int = 1,
    fault: Fault | None = None,
    seed: int = 1,
    key: str | Path | None = None,
    peer: str | None = None,
    allow_network: bool = False,
    cpu: int | None = None,
    overrides: Mapping[str, str] | None = None,
    ready: Callable[[], None] | None = None,
) -> list[RigSession]:
    """Serve the twin of a rig to a simulator, ``sessions`` of them (0: until Ctrl-C); what they were.

    ``rig``: name or file; ``transport``: such as ``udp://127.0.0.1:47010``; ``fault``: one that the twin shows;
    ``key``: file of the key that frames are signed with; ``peer``: the only address that is answered;
    ``allow_network``: addresses beyond this machine; ``cpu``: the processor to run on. ``ready`` is called when the rig
    can be reached. Blocks.
    """
    server = rig_server(
        rig, transport, fault=fault, seed=seed, key=key, peer=peer, allow_network=allow_network, cpu=cpu,
        overrides=overrides,
    )  # fmt: skip
    server.ready = ready
    return server.serve(sessions)


def rig_firmware() -> str:
    """The reference firmware of a rig, as the text of a C file."""
    from servotwin.hil.link.firmware import firmware_text

    return firmware_text()


def _check_peer(peer: str | None, loopback: bool) -> None:
    if peer is None and loopback:
        return
    try:
        ipaddress.ip_address(peer or "")
    except ValueError:
        given = "is missing" if peer is None else f"{quoted(peer)} is not an address in numbers"
        raise InputError(
            f"{given}; expected the address of the simulator, such as 192.168.7.2", field="--peer"
        ) from None
