"""The command of the viewer; what it does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import AllowOutside, Json, RobotName, Set, Start

Address = Annotated[
    str,
    typer.Option(
        "--address", metavar="ADDRESS", help="Where the page is served; default this machine alone."
    ),
]
Port = Annotated[int, typer.Option("--port", metavar="NUMBER", help="Port of the page; default a free one.")]
NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Print the address of the page, open no browser.")
]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(view)


def view(
    robot: RobotName,
    q: Start = None,
    no_browser: NoBrowser = False,
    address: Address = "127.0.0.1",
    port: Port = 0,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Show a robot in the browser.

    In space, with sliders for joints and tool, all branches of the inverse kinematics, limits, singularities,
    ellipsoids, Jacobian and torques against gravity. A YAML or URDF file can be dropped onto the page. Ctrl-C ends it.
    """
    from servotwin.cli.view import view as run

    run(robot, overrides, q=q, browser=not no_browser, address=address, port=port, json=json)
