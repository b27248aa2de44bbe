"""Lists of motors, gears or screws in CSV files: one row each, a field and its unit at the head of every column.

``rated_torque [N*m]`` heads plain numbers, ``rated_torque`` cells that have units of their own; dots lead into parts,
as in ``thermal.time_constant [min]``. Points are written ``0 3.8 | 3000 3.5`` under ``continuous.points [rpm, N*m]``,
or as a YAML list. Every message names the line of the list and the field.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from servotwin.description.fields import Part
from servotwin.description.nodes import MAX_BYTES, MAX_NODES, Node, Origin, join, one_line, parse_yaml, quoted
from servotwin.description.parts import NAME
from servotwin.description.plain_text import hidden_problem
from servotwin.description.regular_file import MB, Kind, read_text
from servotwin.description.sheets.catalogue import FORMAT, Catalogue, catalogue_from, catalogue_tree
from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.units import did_you_mean
from servotwin.description.write import yaml_text
from servotwin.errors import InputError

LIST = Kind("a CSV list of motors, gears or screws", 8 * MB)
MODELS: dict[str, type[Part]] = {"motors": MotorDatasheet, "gears": GearSheet, "screws": ScrewSheet}
_HEAD = re.compile(r"(?P<name>[^\[\]]+?)\s*(?:\[(?P<unit>[^\[\]]*)\])?\s*")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Column:
    """A column that is read: its place, the field that it gives and the unit of its numbers, '' if cells have them."""

    index: int
    field: str
    unit: str


@dataclass(frozen=True)
class Imported:
    """What a list becomes: the tree of a catalogue file, and the catalogue itself."""

    tree: Node
    catalogue: Catalogue
    skipped: tuple[str, ...]  # columns that were left out

    def yaml_text(self) -> str:
        """The text of the catalogue file; InputError if it were longer than a file that can be read."""
        text = yaml_text(self.tree)
        if len(text.encode()) > MAX_BYTES:
            size = f"{len(text.encode()) / MB:.3g} MB of YAML"
            limit = f"more than the {MAX_BYTES / MB:.3g} MB of a catalogue file"
            raise InputError(f"{size}, {limit}; expected several shorter lists", file=self.tree.origin.file)
        return text


def import_list(
    path: str | os.PathLike[str],
    kind: str = "motors",
    *,
    columns: Mapping[str, str] | None = None,
    common: Mapping[str, str] | None = None,
    skip: tuple[str, ...] = (),
    keep_contradictions: bool = False,
) -> Imported:
    """The catalogue of a CSV list of ``motors``, ``gears`` or ``screws``.

    ``columns`` maps fields to the names of columns, ``common`` gives fields that all rows share, conventions above
    all, ``skip`` names columns to leave out. A row that contradicts itself is refused, unless ``keep_contradictions``.
    """
    if kind not in MODELS:
        raise InputError(
            f"{quoted(kind)} is not accepted; expected one of {', '.join(MODELS)}", field="--kind"
        )
    file = one_line(str(path), 200)
    lines = list(_rows(read_text(path, LIST), file))
    if len(lines) < 2:
        raise InputError("no rows; expected a line of column names and a line for each entry", file=file)
    (head_line, heads), rows = lines[0], lines[1:]
    found, skipped = _columns(heads, kind, columns or {}, skip, Origin(file, head_line))
    entries = _entries(rows, found, dict(common or {}), kind, file)
    tree = _tree(entries, kind, Path(path), file)
    catalogue = catalogue_from(tree)
    if catalogue.warnings and not keep_contradictions:
        more = len(catalogue.warnings) - 1
        rest = f" ({more} more such line{'s' if more > 1 else ''})" if more else ""
        raise InputError(f"{catalogue.warnings[0]}; mend the list, or --keep-contradictions{rest}")
    return Imported(tree, catalogue, skipped)


def export_list(path: str | os.PathLike[str], kind: str = "motors") -> str:
    """The entries of one kind of a catalogue file as a CSV list, which ``import_list`` reads back.

    Cells carry their units as the file has them; sources are not part of a list.
    """
    if kind not in MODELS:
        raise InputError(
            f"{quoted(kind)} is not accepted; expected one of {', '.join(MODELS)}", field="--kind"
        )
    entries = catalogue_tree(path).child(kind)
    if entries is None or not isinstance(entries.value, dict) or not entries.value:
        raise InputError(f"has no {kind}", file=one_line(str(path), 200))
    table = {name: dict(_leaves(entry)) for name, entry in entries.value.items()}
    heads = list(dict.fromkeys(field for fields in table.values() for field in fields))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["name", *heads])
    writer.writerows([name, *(fields.get(head, "") for head in heads)] for name, fields in table.items())
    return stream.getvalue()


def _leaves(node: Node, path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted field and text of everything below; lists as YAML."""
    if isinstance(node.value, dict):
        for name, child in node.value.items():
            yield from _leaves(child, join(path, name))
    elif node.value is not None:
        yield path, _flow(node)


def _flow(node: Node) -> str:
    if isinstance(node.value, list):
        return f"[{', '.join(map(_flow, node.value))}]"
    return str(node.value)


def _rows(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of every row that is neither empty nor a remark (#)."""
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    reader = csv.reader(text.splitlines(), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            hidden = next((trouble for cell in cells if (trouble := hidden_problem(cell))), None)
            if hidden is not None:
                raise InputError(hidden, file=file, line=reader.line_num)
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"broken CSV: {one_line(error, 120)}", file=file, line=reader.line_num) from None


def fields_of(model: type[Part], path: str = "") -> Iterator[str]:
    """The dotted fields of a data sheet, those of its parts included."""
    for name, info in model.model_fields.items():
        parts = [
            kind for kind in _types(info.annotation) if isinstance(kind, type) and issubclass(kind, Part)
        ]
        if parts:
            yield from fields_of(parts[0], join(path, name))
        else:
            yield join(path, name)


def _types(annotation: object) -> tuple[object, ...]:
    return (annotation, *getattr(annotation, "__args__", ()))


def _columns(
    heads: list[str], kind: str, mapped: Mapping[str, str], skip: tuple[str, ...], origin: Origin
) -> tuple[list[Column], tuple[str, ...]]:
    """The columns that are read and the names of those that are not."""
    known = ["name", *fields_of(MODELS[kind])]
    by_column = {column: field for field, column in mapped.items()}
    for field in mapped:
        if field not in known:
            raise InputError(f"{quoted(field)} is no field{did_you_mean(field, known)}", field="--column")
    found: list[Column] = []
    for i, text in enumerate(heads):
        head = _HEAD.fullmatch(text)
        name, unit = (head["name"], head["unit"] or "") if head is not None else (text, "")
        if text in skip or name in skip or not text:
            continue
        field = by_column.get(text) or by_column.get(name) or name
        if field not in known:
            raise InputError(
                f"the column {quoted(text)} is no field of {kind}{did_you_mean(field, known)}; expected a field,"
                f" --column FIELD='{one_line(name, 40)}', or --skip '{one_line(name, 40)}'",
                file=origin.file,
                line=origin.line,
            )
        if any(column.field == field for column in found):
            raise InputError(f"two columns give {field}; expected one", file=origin.file, line=origin.line)
        found.append(Column(i, field, unit.strip()))
    _check_mapped(found, by_column, heads, origin)
    return found, tuple(text for i, text in enumerate(heads) if text and i not in {c.index for c in found})


def _check_mapped(
    found: list[Column], by_column: Mapping[str, str], heads: list[str], origin: Origin
) -> None:
    for column, field in by_column.items():
        if all(each.field != field for each in found):
            raise InputError(f"no column {quoted(column)}{did_you_mean(column, heads)}", field="--column")
    if all(column.field != "name" for column in found):
        raise InputError(
            "no column 'name'; expected one, or --column name=COLUMN", file=origin.file, line=origin.line
        )


def _entries(
    rows: list[tuple[int, list[str]]], columns: list[Column], common: dict[str, str], kind: str, file: str
) -> dict[str, Node]:
    """Name and tree of every row."""
    found: dict[str, Node] = {}
    count = 0
    known = list(fields_of(MODELS[kind]))
    for field in common:
        if field not in known:
            raise InputError(f"{quoted(field)} is no field{did_you_mean(field, known)}", field="--set")
    for line, cells in rows:
        origin = Origin(file, line, source=Path(file).name)
        name = _name(cells, columns, origin)
        if name in found:
            first = found[name].origin.line
            raise InputError(
                f"{quoted(name)} is given twice; the first is in line {first}",
                file=file,
                line=line,
                field="name",
            )
        entry: dict[str, Node] = {}
        for field, text in common.items():
            _place(entry, field, Node(text, origin))
        for column in columns:
            cell = cells[column.index] if column.index < len(cells) else ""
            if cell and column.field != "name":
                _place(entry, column.field, _value(cell, column, origin))
        found[name] = Node(entry, origin)
        count += len(columns) + len(common)
        if count > MAX_NODES:
            raise InputError(
                f"more than {MAX_NODES} values; expected several shorter lists", file=file, line=line
            )
    return found


def _name(cells: list[str], columns: list[Column], origin: Origin) -> str:
    index = next(column.index for column in columns if column.field == "name")
    name = cells[index] if index < len(cells) else ""
    if not re.fullmatch(NAME.pattern, name):
        raise InputError(
            f"{quoted(name)} is not accepted; expected {NAME.expected}",
            file=origin.file,
            line=origin.line,
            field="name",
        )
    return name


def _place(entry: dict[str, Node], field: str, value: Node) -> None:
    """Put a value at a dotted field of an entry."""
    *parts, last = field.split(".")
    for part in parts:
        inner = entry.setdefault(part, Node({}, value.origin)).value
        assert isinstance(inner, dict)
        entry = inner
    entry[last] = value


def _value(cell: str, column: Column, origin: Origin) -> Node:
    """The text of a cell with the unit of its column; points and YAML lists become lists."""
    if cell.startswith("["):
        return _listed(parse_yaml(cell, origin.file), origin)
    if "," in column.unit:
        units = [unit.strip() for unit in column.unit.split(",")]
        points = [point.split() for point in cell.split("|")]
        return Node(
            [
                Node([_quantity(x, u, origin) for x, u in _paired(p, units, column, origin)], origin)
                for p in points
            ],
            origin,
        )
    return _quantity(cell, column.unit, origin)


def _paired(values: list[str], units: list[str], column: Column, origin: Origin) -> list[tuple[str, str]]:
    if len(values) != len(units):
        text = f"{quoted(' '.join(values))} is no point of {len(units)} numbers; expected such as '0 3.8 | 3000 3.5'"
        raise InputError(text, file=origin.file, line=origin.line, field=column.field)
    return list(zip(values, units, strict=True))


def _quantity(text: str, unit: str, origin: Origin) -> Node:
    """A number with the unit of its column; a decimal comma is read as a point."""
    text = text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text
    return Node(f"{text} {unit}" if unit and _NUMBER.fullmatch(text) else text, origin)


def _listed(node: Node, origin: Origin) -> Node:
    """A tree with the place of the row that it stands in."""
    if isinstance(node.value, list):
        return Node([_listed(child, origin) for child in node.value], origin)
    return Node(node.value, origin)


def _tree(entries: dict[str, Node], kind: str, path: Path, file: str) -> Node:
    top = Origin(file, source=path.name)
    stem = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "list"
    fields: dict[str, Node] = {
        "format": Node(FORMAT, top),
        "name": Node(stem[:100], top),
        "title": Node(f"Imported from {path.name}", top),
        kind: Node(dict(entries), top),
    }
    return Node(fields, top)
