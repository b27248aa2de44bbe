"""``servotwin rig``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from servotwin.cli.arguments import read_overrides, read_quantity
from servotwin.cli.live import live_line
from servotwin.cli.output import print_json, print_line, print_note, working_or_compiling
from servotwin.description.nodes import quoted
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.hil.link.rig_server import Fault, RigServer, RigSession

DONE = 0


def rig(
    name: str,
    transport: str,
    *,
    sessions: int = 0,
    fault: str | None = None,
    firmware: str | None = None,
    seed: str | None = None,
    key: str | None = None,
    peer: str | None = None,
    allow_network: bool = False,
    cpu: int | None = None,
    overrides: Sequence[str] | None = None,
    overwrite: bool = False,
    json: bool = False,
) -> int:
    """Serve the twin of a rig, or write the firmware of one; the exit code."""
    if firmware is not None:
        return write_firmware(firmware, overwrite=overwrite, json=json)
    injected, number, changes = read_fault(fault), read_seed(seed), read_overrides(overrides)
    with working_or_compiling(f"preparing {name}"):
        from servotwin.workbench.rig import rig_server

        server = rig_server(
            name, transport, fault=injected, seed=number, key=key, peer=peer, allow_network=allow_network, cpu=cpu,
            overrides=changes,
        )  # fmt: skip
    found: list[RigSession] = []
    server.ready = lambda: print_note(f"rig {name} at {transport}: waiting for a simulator, Ctrl-C ends")
    try:
        with live_line(f"rig at {transport}: waiting for a simulator") as show:
            server.looked = lambda each: show(lambda: _words(each))
            server.serve(sessions, found)
    finally:
        _print(server, found, json=json)
    return DONE


def read_seed(text: str | None) -> int:
    """The option --seed."""
    if text is None:
        return 1
    if not text.isdigit() or len(text) > 9:
        raise InputError(f"{quoted(text)} is not accepted; expected a whole number from 0", field="--seed")
    return int(text)


def read_fault(text: str | None) -> Fault:
    """The option --fault: KIND@COMMAND or KIND@COMMAND=TIME."""
    from servotwin.hil.link.injected import Injected
    from servotwin.hil.link.rig_server import Fault

    if text is None:
        return Fault()
    kinds = [kind.name.lower() for kind in Injected if kind != Injected.NONE]
    kind, _, rest = text.partition("@")
    first, _, delay = rest.partition("=")
    if kind not in kinds or not first.isdigit() or len(first) > 9:
        raise InputError(
            f"{quoted(text)} is not accepted; expected KIND@COMMAND with one of {', '.join(kinds)}, such as nan@500",
            field="--fault",
        )
    span = read_quantity("--fault", delay, "s", example="5 ms") if delay else 5e-3
    return Fault(Injected[kind.upper()], int(first), int(span * 1e9))


def _words(server: RigServer) -> str:
    session = server.session()
    if not session.answered:
        return f"rig at {server.address}: waiting for a simulator"
    late, every = session.service, session.interval
    return (
        f"rig at {server.address}: {session.answered} commands answered, within {late['p50_us'] or 0:.3g} us (p99 "
        f"{late['p99_us'] or 0:.3g} us), every {every['p50_us'] or 0:.4g} us, {sum(session.counts.values())} refused"
    )


def _print(server: RigServer, found: list[RigSession], *, json: bool) -> None:
    if json:
        print_json({"sessions": [session.plain() for session in found], "system": server.grants.plain()})
        return
    from servotwin.hil.words import counted

    for session in found:
        trip = ", watchdog: safe state" if session.watchdog else ""
        refused = "".join(f", {count} x {cause}" for cause, count in session.counts.items())
        print_line(
            f"session: {counted(session.answered, 'command')} answered, ended by "
            f"{session.end.name.lower()}{trip}{refused}; within {session.service['p99_us'] or 0:.3g} us (p99)"
        )
    for line in server.grants.lines():
        print_note(line)


def write_firmware(path: str, *, overwrite: bool, json: bool) -> int:
    """Write the reference firmware."""
    from servotwin.description.file_write import export_text
    from servotwin.workbench.rig import rig_firmware

    export_text(path, rig_firmware(), overwrite=overwrite)
    if json:
        print_json({"firmware": path})
    else:
        print_line(f"firmware: {path}")
    return DONE
