"""``servotwin view``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from servotwin.cli.arguments import load, read_positions
from servotwin.cli.output import print_json, print_line, print_note, working
from servotwin.errors import InputError

PORTS = 65535


def view(
    name: str,
    overrides: Sequence[str] | None,
    *,
    q: str | None,
    browser: bool,
    address: str,
    port: int,
    json: bool,
) -> None:
    """Serve the page of a robot until Ctrl-C."""
    if not 0 <= port <= PORTS:
        raise InputError(f"{port} is no port; expected 0 (a free one) to {PORTS}", field="--port")
    robot = load(name, overrides)
    at = None if q is None else read_positions("--q", q, robot)
    with working("opening the page"):
        from servotwin.pendant.view.viewer import view as show

        viewer = show(robot, at, browser=False, address=address, port=port)
    with viewer:
        if json:
            print_json(
                {"robot": robot.name, "url": viewer.url, "address": address, "port": viewer.served.port}
            )
        else:
            print_line(viewer.url)
            print_note("Ctrl-C ends it.")
            if address not in ("127.0.0.1", "::1", "localhost"):
                print_note("note: whoever knows this address may look; it is sent unencrypted")
        sys.stdout.flush()
        if browser and not viewer.served.open_browser():
            print_note("note: no browser found; open the address by hand")
        viewer.wait()
