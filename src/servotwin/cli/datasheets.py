"""``servotwin catalogue``, and the data sheets of ``servotwin check --datasheets``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from servotwin.cli.output import print_heading, print_json, print_line, print_note, print_table, working
from servotwin.description.display import RPM
from servotwin.description.fields import Celsius, Measure, Part, Points
from servotwin.description.nodes import one_line, quoted
from servotwin.description.sheets.both_ways import Row, rows
from servotwin.description.sheets.catalogue import Catalogue, read_catalogue
from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet, TemperatureFactors
from servotwin.description.sheets.motor_sheet import MotorSheet
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError

TITLES = ("quantity", "as printed", "usual on sheets", "in the models")
KINDS = ("motors", "gears", "screws")


def print_datasheets(found: dict[str, list[dict[str, Any]]]) -> None:
    """A table for every motor."""
    if not found:
        print_line("no electric motors with data")
    for name, table in found.items():
        print_heading(f"Motor of axis {name}")
        print_rows([Row(**row) for row in table])


def print_rows(table: Sequence[Row]) -> None:
    """The quantities of one motor side by side."""
    cells = [(row.field, row.printed or "-", row.usual, row.model) for row in table]
    print_table(TITLES, cells, text_columns=4)


def json_rows(table: Sequence[Row]) -> list[dict[str, Any]]:
    """The same for --json."""
    return [asdict(row) for row in table]


# --- the catalogue ----------------------------------------------------------------------------------


def _read(files: Sequence[str] | None) -> Catalogue:
    with working("reading the catalogue"):
        return read_catalogue(*(files or ()))


def list_entries(files: Sequence[str] | None, kind: str | None, *, json: bool) -> None:
    """Print the entries of a catalogue."""
    if kind is not None and kind not in KINDS:
        raise InputError(
            f"{quoted(kind)} is not accepted; expected one of {', '.join(KINDS)}", field="--kind"
        )
    catalogue = _read(files)
    wanted = KINDS if kind is None else (kind,)
    if json:
        entries = {name: [_line(entry) for entry in _named(catalogue, name)] for name in wanted}
        print_json(
            {"name": catalogue.name, "generic": catalogue.generic, **entries, "warnings": catalogue.warnings}
        )
        return
    print_line(f"{catalogue.title}{' (generic: no products)' if catalogue.generic else ''}")
    for name in wanted:
        entries_of = [_line(entry) for entry in _named(catalogue, name)]
        if entries_of:
            print_heading(f"{len(entries_of)} {name}")
            titles = list(entries_of[0])
            print_table(
                titles,
                [[_cell(e[t]) for t in titles] for e in entries_of],
                text_columns=2 if name == "gears" else 1,
            )
    for warning in catalogue.warnings:
        print_note(f"warning: {warning}")


def _named(catalogue: Catalogue, kind: str) -> list[tuple[str, Any]]:
    return list(getattr(catalogue, kind).items())


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _line(named: tuple[str, Any]) -> dict[str, Any]:
    """The main numbers of an entry, with their units in the keys."""
    name, entry = named
    if isinstance(entry, MotorSheet):
        return {
            "name": name, "power_W": entry.rated_output, "torque_N_m": entry.rated_torque,
            "peak_N_m": entry.peak_torque, "speed_rpm": _rpm(entry.rated_speed), "max_rpm": _rpm(entry.max_speed),
            "inertia_kg_cm2": None if entry.rotor_inertia is None else 1e4 * entry.rotor_inertia,
            "mass_kg": entry.mass, "price_index": entry.price_index,
        }  # fmt: skip
    if isinstance(entry, GearSheet):
        return {
            "name": name, "kind": entry.kind, "ratio": entry.ratio, "torque_N_m": entry.rated_torque,
            "repeated_N_m": entry.repeated_peak_torque, "momentary_N_m": entry.momentary_torque,
            "max_input_rpm": _rpm(entry.max_speed), "mass_kg": entry.mass, "price_index": entry.price_index,
        }  # fmt: skip
    assert isinstance(entry, ScrewSheet)
    return {
        "name": name, "lead_mm": 1e3 * entry.lead, "diameter_mm": 1e3 * entry.diameter,
        "dynamic_kN": None if entry.dynamic_load is None else 1e-3 * entry.dynamic_load,
        "max_rpm": _rpm(entry.max_speed), "mass_kg": entry.mass, "price_index": entry.price_index,
    }  # fmt: skip


def _rpm(speed: float | None) -> float | None:
    return None if speed is None else RPM * speed


def show(name: str, files: Sequence[str] | None, *, json: bool) -> None:
    """Print one entry of a catalogue: a motor side by side, a gear or screw with all of its fields."""
    catalogue = _read(files)
    if name in catalogue.motors:
        table = rows(catalogue.motors[name], catalogue.printed[name])
        if json:
            print_json(
                {"name": name, "kind": "motor", "generic": catalogue.generic, "rows": json_rows(table)}
            )
            return
        print_heading(f"Motor {name}{' (generic: no product)' if catalogue.generic else ''}")
        print_rows(table)
        return
    entry: GearSheet | ScrewSheet | None = catalogue.gears.get(name) or catalogue.screws.get(name)
    if entry is None:
        known = [*catalogue.motors, *catalogue.gears, *catalogue.screws]
        raise InputError(f"no entry {quoted(name)} in {one_line(catalogue.name)}{did_you_mean(name, known)}")
    fields = entry.model_dump(exclude_none=True)
    if json:
        print_json({"name": name, "generic": catalogue.generic, **fields})
        return
    print_heading(f"{name}{' (generic: no product)' if catalogue.generic else ''}")
    cells = [(field, unit_of(type(entry), field), _shown(value)) for field, value in fields.items()]
    print_table(("field", "unit", "value"), cells, text_columns=3)


def unit_of(model: type[Part], field: str) -> str:
    """The SI unit of a field, of both numbers of points; '' for plain numbers and words.

    >>> unit_of(GearSheet, "rated_torque"), unit_of(GearSheet, "no_load_torque")
    ('N*m', 'rad/s, N*m')
    """
    for kind in model.model_fields[field].metadata:
        if isinstance(kind, Points):
            return ", ".join(each.unit or "1" for each in (kind.first, kind.second))
        if isinstance(kind, TemperatureFactors):
            return "degC, 1"
        if isinstance(kind, Celsius):
            return "degC"
        if isinstance(kind, Measure):
            return kind.unit
    return "N*m/rad, N*m" if field == "torsion" else ""


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, tuple):
        return ", ".join(
            " ".join(_shown(x) for x in item) if isinstance(item, tuple) else _shown(item) for item in value
        )
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def import_csv(
    path: str,
    out: str,
    kind: str,
    columns: Sequence[str] | None,
    common: Sequence[str] | None,
    skip: Sequence[str] | None,
    *,
    keep_contradictions: bool,
    overwrite: bool,
    json: bool,
) -> None:
    """Write a CSV list as a catalogue file."""
    from servotwin.description.file_write import export_text, refuse_existing
    from servotwin.description.sheets.csv_list import import_list

    if not out.lower().endswith((".yaml", ".yml")):
        raise InputError(
            "not a catalogue; expected a .yaml or .yml file", file=one_line(out, 200), field="--out"
        )
    refuse_existing(out, overwrite=overwrite)
    with working(f"importing {one_line(path)}"):
        made = import_list(
            path, kind, columns=_pairs(columns, "--column"), common=_pairs(common, "--set"), skip=tuple(skip or ()),
            keep_contradictions=keep_contradictions,
        )  # fmt: skip
        export_text(out, made.yaml_text(), overwrite=overwrite)
    count = sum(len(getattr(made.catalogue, each)) for each in KINDS)
    if json:
        told = {"skipped": made.skipped, "warnings": made.catalogue.warnings}
        print_json({"input": path, "output": out, "kind": kind, "entries": count, **told})
        return
    print_line(f"wrote {out}: {count} {kind}")
    if made.skipped:
        print_note(f"note: left out the columns {', '.join(map(quoted, made.skipped))}")
    for warning in made.catalogue.warnings:
        print_note(f"warning: {warning}")


def export_csv(file: str, out: str, kind: str, *, overwrite: bool, json: bool) -> None:
    """Write the entries of one kind of a catalogue as a CSV list."""
    from servotwin.description.file_write import export_text, refuse_existing
    from servotwin.description.sheets.csv_list import export_list

    refuse_existing(out, overwrite=overwrite)
    with working(f"exporting {one_line(file)}"):
        text = export_list(file, kind)
        export_text(out, text, overwrite=overwrite)
    if json:
        print_json({"input": file, "output": out, "kind": kind})
    else:
        print_line(f"wrote {out}")


def _pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """The FIELD=TEXT of an option that may be repeated."""
    found = {}
    for text in texts or ():
        field, equals, value = text.partition("=")
        if not equals or not field.strip() or not value.strip():
            raise InputError(
                f"{quoted(text)} is not FIELD=TEXT, such as rated_torque='Mn [Nm]'", field=option
            )
        found[field.strip()] = value.strip()
    return found
