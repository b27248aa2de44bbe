"""``servotwin check``, ``schema`` and ``convert``."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from servotwin.cli.arguments import read_overrides, read_quantity
from servotwin.cli.output import print_json, print_line, print_note, working
from servotwin.description.file_write import export_text, refuse_existing
from servotwin.description.nodes import one_line, quoted
from servotwin.errors import InputError

REFUSED = 2


def check(
    files: Sequence[str], overrides: Sequence[str] | None, *, datasheets: bool = False, json: bool
) -> int:
    """Print a line for every file, those of refused ones on stderr; 0, or 2 if one is refused."""
    changes = read_overrides(overrides)
    with working(f"checking {len(files)} file{'s' if len(files) > 1 else ''}"):
        from servotwin.workbench.checks import check as run
        from servotwin.workbench.checks import contents_words

        found = run(*files, overrides=changes, datasheets=datasheets)
    for result in found:
        if not result["ok"]:
            print_note(result["error"]["text"])
        elif not json:
            print_line(f"{one_line(result['file'], 200)}: ok, {contents_words(result)}")
            _print_told(result["notes"], result["warnings"])
            _print_sheets(result.get("datasheets"))
    if json:
        print_json(list(found))
    return 0 if found.ok else REFUSED


def _print_sheets(found: dict[str, list[dict[str, Any]]] | None) -> None:
    """The data sheets of a robot's motors, if they were asked for."""
    if found is not None:
        from servotwin.cli.datasheets import print_datasheets

        print_datasheets(found)


def schema(kind: str, out: str | None, *, overwrite: bool = False, json: bool) -> None:
    """Print the JSON Schema of robot, scenario or catalogue files, or write it."""
    from servotwin.workbench.files import schema as run

    found = run(kind)
    if out is None:
        print_json(found)
        return
    export_text(out, json_module.dumps(found, indent=2) + "\n", overwrite=overwrite)
    if json:
        print_json({"output": out})
    else:
        print_line(f"wrote {out}")


def convert(
    source: str,
    target: str,
    overrides: Sequence[str] | None,
    *,
    overwrite: bool = False,
    json: bool,
    density: str | None = None,
    allow_code: bool = False,
    arguments: Sequence[str] | None = None,
) -> None:
    """Write a robot as YAML or URDF, by the name of the target.

    ``density`` fills the shapes of URDF links without inertia; ``allow_code`` runs a xacro file, with the
    ``name=value`` of ``arguments``.
    """
    from servotwin.workbench.files import convert as run

    filled, values = _density(density), _xacro_arguments(arguments, allow_code)
    if Path(target).suffix.lower() in (".yaml", ".yml", ".urdf"):
        refuse_existing(target, overwrite=overwrite)  # before anything else that may be wrong
    with working(f"converting {one_line(source)}"):
        changes = read_overrides(overrides)
        made = run(
            source,
            target,
            changes,
            density=filled,
            allow_code=allow_code,
            arguments=values,
            overwrite=overwrite,
        )
    if json:
        print_json(made.data())
        return
    print_line(f"wrote {target}")
    _print_told(made.notes, made.warnings)
    if made.payload is not None:
        print_note(f"note: payload: {made.payload['mass_kg']:.6g} kg is part of link {made.payload['link']}")
    if made.left_out:
        print_note(f"note: left out of the URDF file: {', '.join(made.left_out)}")


def _print_told(notes: Sequence[str], warnings: Sequence[str]) -> None:
    for note in notes:
        print_note(f"note: {note}")
    for warning in warnings:
        print_note(f"warning: {warning}")


def _density(text: str | None) -> float | None:
    """The density of ``--density`` [kg/m3], above zero."""
    if text is None:
        return None
    value = read_quantity("--density", text, "kg/m^3", example="2700 kg/m^3")
    if not value > 0.0:
        raise InputError(
            f"{quoted(text)} is not above zero; expected such as '2700 kg/m^3'", field="--density"
        )
    return value


def _xacro_arguments(pairs: Sequence[str] | None, allowed: bool) -> dict[str, str] | None:
    """The values of a xacro file's arguments; None if no code may run."""
    if pairs and not allowed:
        raise InputError(
            "belongs to a xacro file, which is run; expected --allow-code beside it", field="--arg"
        )
    found = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip(": "):
            raise InputError(f"{quoted(pair)} is not name=value, such as prefix=left_", field="--arg")
        found[name.strip(": ")] = value.strip()
    return found if allowed else None
