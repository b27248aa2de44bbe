"""Options that many commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from servotwin.errors import InputError


def override_percent(text: str | int) -> int:
    """The whole percentage of ``--override``."""
    percent = _percent(text)
    if percent is None or not percent.is_integer() or not 1.0 <= percent <= 100.0:
        raise InputError(
            f"'{text}' is not accepted; expected a whole percentage from 1 to 100, such as '50 %'",
            field="--override",
        )
    return int(percent)


def jog_percent(text: str | float) -> float:
    """The percentage of ``--speed`` of a jog."""
    percent = _percent(text)
    if percent is None or not 0.0 < percent <= 100.0:
        raise InputError(
            f"'{text}' is not accepted; expected a percentage above 0 and up to 100, such as '50 %'",
            field="--speed",
        )
    return percent


def _allow_outside(context: typer.Context, wanted: bool) -> None:
    """Allow it while the command runs."""
    if wanted:
        from servotwin.description.reach import outside

        context.with_resource(outside())


def _percent(text: str | float) -> float | None:
    """The number before a percent sign, which may be left out; None if there is none."""
    try:
        return float(str(text).strip().removesuffix("%"))
    except ValueError:
        return None


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
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace files that are there though servotwin did not write them."),
]
OverwriteFile = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")]
Plant = Annotated[
    list[str] | None,
    typer.Option(
        "--plant",
        metavar="FIELD=VALUE",
        help="Change the robot in truth only, unknown to the controller; may be repeated.",
    ),
]
Method = Annotated[
    str | None, typer.Option("--method", metavar="METHOD", help="fast, rk4, modified-euler or adaptive.")
]
Pwm = Annotated[str | None, typer.Option("--pwm", metavar="PWM", help="switched or averaged.")]
Seed = Annotated[str | None, typer.Option("--seed", metavar="NUMBER", help="Seed of all noise; default 1.")]
RecordEvery = Annotated[
    str | None,
    typer.Option("--record", metavar="TIME", help="Time between two rows of the signals; default '1 ms'."),
]
MaxMemory = Annotated[
    str | None,
    typer.Option("--max-memory", metavar="AMOUNT", help="Refuse what takes more memory; default '2 GB'."),
]
MaxTime = Annotated[
    str | None,
    typer.Option("--max-time", metavar="TIME", help="Refuse what takes longer to compute; default '1 h'."),
]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Run the Python code of laws and actuators that files name.")
]
AllowOutside = Annotated[
    bool,
    typer.Option(
        "--allow-outside",
        callback=_allow_outside,
        expose_value=False,
        help="Let files name files outside of the folder of the first one.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Signals and summary only.")]
PLAIN: dict[str, Any] = {  # help is plain text, so that it needs no further library and appears at once
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}
