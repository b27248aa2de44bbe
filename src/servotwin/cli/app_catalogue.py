"""The commands around catalogues of motors and gears; what a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import PLAIN, Json, OverwriteFile

catalogue_app = typer.Typer(
    name="catalogue", help="Motors, gears and screws: list, show, import and export.", **PLAIN
)
Files = Annotated[
    list[str] | None,
    typer.Option(
        "--in", metavar="FILE", help="A catalogue file, or 'generic'; may be repeated. Default generic."
    ),
]
ListKind = Annotated[str, typer.Option("--kind", metavar="motors|gears|screws", help="What the list holds.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(catalogue_app)


@catalogue_app.command("list")
def list_entries(
    files: Files = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="motors|gears|screws", help="Only these; default all.")
    ] = None,
    json: Json = False,
) -> None:
    """List the entries of a catalogue."""
    from servotwin.cli.datasheets import list_entries as run

    run(files, kind, json=json)


@catalogue_app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a motor, gear or screw.")],
    files: Files = None,
    json: Json = False,
) -> None:
    """Show a motor as printed and as models have it, or a gear with all of its fields."""
    from servotwin.cli.datasheets import show as run

    run(name, files, json=json)


@catalogue_app.command("import")
def import_csv(
    path: Annotated[
        str, typer.Argument(metavar="LIST.csv", help="One row for each entry, units in the head.")
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The catalogue file to write (.yaml).")],
    kind: ListKind = "motors",
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="FIELD=COLUMN", help="Name the column of a field; may be repeated."),
    ] = None,
    common: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="A field of all entries, such as conventions.current=rms; may be repeated.",
        ),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option("--skip", metavar="COLUMN", help="Leave out a column; may be repeated."),
    ] = None,
    keep_contradictions: Annotated[
        bool, typer.Option("--keep-contradictions", help="Warn of rows that contradict themselves only.")
    ] = False,
    overwrite: OverwriteFile = False,
    json: Json = False,
) -> None:
    """Make a catalogue file from a CSV list.

    The head of a column is a field with its unit, 'rated_torque [N*m]'. A row that cannot be right is refused.
    """
    from servotwin.cli.datasheets import import_csv as run

    run(
        path, out, kind, columns, common, skip,
        keep_contradictions=keep_contradictions, overwrite=overwrite, json=json,
    )  # fmt: skip


@catalogue_app.command("export")
def export_csv(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A catalogue file (.yaml).")],
    out: Annotated[str, typer.Option("--out", metavar="LIST.csv", help="The list to write.")],
    kind: ListKind = "motors",
    overwrite: OverwriteFile = False,
    json: Json = False,
) -> None:
    """Make a CSV list from a catalogue file; 'catalogue import' reads it back."""
    from servotwin.cli.datasheets import export_csv as run

    run(file, out, kind, overwrite=overwrite, json=json)
