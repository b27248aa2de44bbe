"""Options that many commands share."""

from __future__ import annotations

from typing import Annotated

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
