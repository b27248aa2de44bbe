"""Writes the tables of docs/fieldbus.md from the object dictionary: ``python tools/objects_page.py``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from servotwin.fieldbus.cia402.states import TRANSITIONS
from servotwin.fieldbus.objects.communication import Identity, communication_table
from servotwin.fieldbus.objects.drive_profile import AXIS_TABLE
from servotwin.fieldbus.objects.tables import Entry, ObjectCode, ObjectLine
from servotwin.fieldbus.robot.faults import KINDS

HEXADECIMAL = (0x1000, 0x1018, 0x67FF)  # objects whose numbers people know so
PAGE = Path(__file__).resolve().parents[1] / "docs" / "fieldbus.md"


def _row(place: str, name: str, entry: Entry) -> str:
    kind, default = entry.type.name.lower(), str(entry.default)
    if int(place[:4], 16) in HEXADECIMAL and isinstance(entry.default, int) and entry.bits == 32:
        default = f"{entry.default:08X}"
    cells = (place, name, kind, entry.access.value, entry.pdo.value, default, entry.unit)
    return "| " + " | ".join(cell or "-" for cell in cells) + " |"


def objects_table(lines: Iterable[ObjectLine]) -> str:
    """One row for each entry; repeated entries of mappings are left out."""
    rows = [
        "| object | name | type | SDO | PDO | default | unit |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for line in lines:
        if line.code is ObjectCode.VAR:
            rows.append(_row(f"{line.index:04X}", line.name, line.entries[0]))
            continue
        for entry in line.entries:
            if re.fullmatch(r"(Entry|PDO) \d+", entry.name) and not entry.default:
                continue
            value = f"{line.name}: {entry.name.lower()}" if entry.subindex else line.name
            row = _row(f"{line.index:04X}:{entry.subindex:02X}", value, entry)
            if entry.name.startswith("Entry "):
                row = row.replace(f"| {entry.default} |", f"| {entry.default:08X} |")
            elif entry.name.startswith("PDO "):
                row = row.replace(f"| {entry.default} |", f"| {entry.default:04X} |")
            rows.append(row)
    return "\n".join(rows)


def transitions_table() -> str:
    """The transitions of the drive's states."""
    rows = ["| number | from | to | by |", "| --- | --- | --- | --- |"]
    for t in TRANSITIONS:
        causes = ", ".join(c.name.lower().replace("_", " ") for c in t.commands)
        names = (s.name.lower().replace("_", " ") for s in (t.source, t.target))
        rows.append(f"| {t.number} | {' | '.join(names)} | {causes} |")
    return "\n".join(rows)


def faults_table() -> str:
    """Kinds of faults that can be injected."""
    rows = ["| number | kind | value in 2010:02 | code |", "| --- | --- | --- | --- |"]
    for kind in KINDS.values():
        unit = "-" if kind.unit is None else f"{kind.scale:g} {kind.unit}" if kind.unit else "count"
        rows.append(
            f"| {kind.number} | {kind.name} | {unit} | {f'{kind.code:04X}' if kind.code else 'as found'} |"
        )
    return "\n".join(rows)


def page(text: str) -> str:
    """The page with its tables renewed."""
    tables = {
        "communication": objects_table(communication_table(Identity(), 1)),
        "axis": objects_table(AXIS_TABLE),
        "transitions": transitions_table(),
        "faults": faults_table(),
    }
    for name, table in tables.items():
        marks = rf"(<!-- {name} -->\n).*?(\n<!-- end of {name} -->)"
        text = re.sub(marks, lambda found, t=table: found[1] + t + found[2], text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
