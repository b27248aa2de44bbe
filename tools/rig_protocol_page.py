"""Writes the tables of docs/rig-protocol.md from the table of frames: ``python tools/rig_protocol_page.py``."""

from __future__ import annotations

from pathlib import Path

from servotwin.hil.link.causes import WORDS, Cause
from servotwin.hil.link.frames import HEADER, PAYLOADS, Kind, frame_size

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rig-protocol.md"


def header_table() -> str:
    """The fields of a header."""
    lines, at = ["| offset | field | type | meaning |", "| --- | --- | --- | --- |"], 0
    for name, code, meaning in HEADER:
        lines.append(f"| {at} | `{name}` | {code} | {meaning} |")
        at += int(code[1])
    return "\n".join(lines)


def payload_table() -> str:
    """The fields of the payloads."""
    lines = ["| frame | bytes, 1 shaft | once | each shaft |", "| --- | --- | --- | --- |"]
    for kind in Kind:
        payload = PAYLOADS[kind]
        parts = [
            "<br>".join(f"`{word.name}` {word.kind}: {word.meaning}" for word in words)
            for words in (payload.once, payload.shaft)
        ]
        lines.append(f"| {int(kind)} {kind.name} | {frame_size(kind, 1)} | {parts[0]} | {parts[1] or '-'} |")
    return "\n".join(lines)


def cause_table() -> str:
    """Causes by the numbers that BYE and ``link.parquet`` carry."""
    lines = ["| number | cause | in words |", "| --- | --- | --- |"]
    return "\n".join(
        [*lines, *(f"| {int(each)} | `{each.name.lower()}` | {WORDS[each]} |" for each in Cause)]
    )


def page(text: str) -> str:
    """The page with its tables, which stand behind their marks."""
    tables = {"header": header_table(), "payloads": payload_table(), "causes": cause_table()}
    for name, table in tables.items():
        mark = f"<!-- table: {name} -->\n"
        before, _, rest = text.partition(mark)
        after = rest.lstrip("\n")
        while after.startswith("|"):
            after = after.partition("\n")[2]
        text = f"{before}{mark}\n{table}\n\n{after.lstrip(chr(10))}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
