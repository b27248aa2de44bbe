"""``servotwin pendant``: the teach pendant in a browser."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from servotwin.cli.arguments import read_overrides, read_quantity
from servotwin.cli.output import print_json, print_line, print_note
from servotwin.errors import InputError

OPTIONS = ("plant", "stop-within")  # what the function's messages call them


def pendant(
    robot: str,
    overrides: Sequence[str] | None,
    *,
    plant: str,
    folder: str,
    address: str,
    port: int,
    stop_within: str,
    browser: bool,
    allow_code: bool,
    json: bool,
) -> None:
    """Serve the pendant until Ctrl-C, a signal, or the end of the cell."""
    changes = read_overrides(overrides)
    stop_ms = round(1e3 * read_quantity("--stop-within", stop_within, "s", example="200 ms"))
    from servotwin.pendant.page.pendant import teach_pendant

    try:
        opened = teach_pendant(
            robot,
            changes,
            plant=plant,
            folder=folder,
            address=address,
            port=port,
            stop_ms=stop_ms,
            allow_code=allow_code,
        )
    except InputError as error:
        if error.file is None and error.field in OPTIONS:
            raise InputError(error.message, field=f"--{error.field}") from None
        raise
    with opened as served:
        if json:
            print_json(
                {"operator": served.url, "viewer": served.viewer_url, "cell_pid": served.link.process.pid}
            )
        else:
            print_line(f"operator: {served.url}")
            print_line(f"viewers:  {served.viewer_url}")
            print_line("Ctrl-C ends it; the arm comes to rest. A simulation: no safety functions.")
        sys.stdout.flush()
        if browser and not served.open_browser():
            print_note("no browser was found; open the address above")
        served.wait()
