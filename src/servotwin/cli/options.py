"""Options that many commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

RobotName = Annotated[
    str, typer.Argument(metavar="ROBOT", help="Name in the catalogue, or path of a .yaml or .urdf file.")
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON: SI units and radians, units in the names of the keys.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the file; may be repeated."),
]
Position = Annotated[
    str, typer.Option("--q", metavar="LIST", help="Joint positions, such as '30 deg, 60 deg, 50 mm, 20 deg'.")
]
Start = Annotated[
    str | None,
    typer.Option("--q", metavar="LIST", help="Where the arm stands, '30 deg, 60 deg, ...'; default home."),
]
RobotOption = Annotated[
    str | None,
    typer.Option("--robot", metavar="ROBOT", help="The robot; default the one of the points file."),
]
Folder = Annotated[
    str | None, typer.Option("--out", metavar="FOLDER", help="Where the result goes; default out/NAME.")
]
Plant = Annotated[
    list[str] | None,
    typer.Option(
        "--plant",
        metavar="FIELD=VALUE",
        help="Change the robot in truth only, unknown to the controller; may be repeated.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Signals and summary only.")]
PLAIN: dict[str, Any] = {  # help is plain text, so that it needs no further library and appears at once
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}
